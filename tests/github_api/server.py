"""A stand-in for GitHub's API with a memory: every request and every answer is checked against GitHub's description.

Belongs here: requests and answers, rights of tokens, and trouble to order. Does not belong here: what a request does
(operations), and what our product asks. Use it as a context manager; ``faults`` must be empty in the end.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from tests.github_api.described import Operation
from tests.github_api.memory import CLASSIC, READONLY, WRITE, Call, Memory
from tests.github_api.operations import DO, Answer, Refusal

LIMIT, SECONDARY, BROKEN, HANGING = "rate limit", "secondary limit", "server error", "hanging"
LOST = "lost answer"  # what was asked is done, and the answer to it is that of a broken server


@dataclass(kw_only=True)
class Trouble:
    """What goes wrong instead of an answer, so many times (None: always), where the path has ``part`` in it."""

    kind: str
    times: int | None = None
    part: str = ""
    retry_after: int | None = 1
    writes_only: bool = False

    def hits(self, method: str, path: str) -> bool:
        """Whether it is this request's turn; counts it."""
        if self.part not in path or self.times == 0 or (self.writes_only and method == "GET"):
            return False
        if self.times is not None:
            self.times -= 1
        return True


class GitHub(Memory):
    """``enterprise``: a server of one's own, with its API below ``/api/v3``."""

    def __init__(self, repository: str = "owner/project", *, enterprise: bool = False) -> None:
        super().__init__(repository, enterprise=enterprise)
        self.calls: list[Call] = []
        self.faults: list[str] = []
        self.trouble: list[Trouble] = []
        self.over = threading.Event()
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"github": self}))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}{self.prefix}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._server.shutdown()
        self._server.server_close()

    def wrote(self) -> list[tuple[str, str]]:
        """Method and path of every change that was made."""
        return [(each.method, each.path) for each in self.calls if each.method != "GET" and each.status < 300]

    # -- one request -----------------------------------------------------------------------

    def answer(self, call: Call) -> tuple[int, Any, dict[str, str]]:
        """Status, body and headers."""
        operation = self.described.operation(call.method, call.path)
        if operation is None:
            self.faults.append(f"{call.method} {call.path} is not in the description")
            return 404, {"message": "Not Found"}, {}
        try:
            self._refuse(call, operation)
            with self._lock:
                status, body, headers = DO[operation.method, operation.path](self, call, operation)
        except Refusal as refused:
            return refused.status, {"message": refused.message, "documentation_url": "https://example.org/"}, {}
        if not isinstance(body, bytes):
            wrong = self.described.faults_of_answer(operation, status, body)
            self.faults += [f"our answer to {call.method} {call.path}: {each}" for each in wrong]
        return status, body, headers

    def _refuse(self, call: Call, operation: Operation) -> None:
        if call.token not in (WRITE, READONLY, CLASSIC):
            raise Refusal(401, "Bad credentials")
        if operation.path == "/user":
            if call.token != CLASSIC:
                raise Refusal(403, "Resource not accessible by integration")
            return
        if call.method != "GET" and (
            call.token == READONLY or (call.token == CLASSIC and "check-runs" in operation.path)
        ):
            raise Refusal(403, "Resource not accessible by integration")
        if f"{operation.names['owner']}/{operation.names['repo']}" != self.repository:
            raise Refusal(404, "Not Found")
        wrong = self.described.faults_of_request(operation, call.query, call.body)
        if wrong:
            raise Refusal(422, f"Invalid request. {wrong[0]}")


class _Handler(BaseHTTPRequestHandler):
    github: GitHub
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        github = self.github
        parts = urlsplit(self.path)
        path = parts.path
        length = int(self.headers.get("Content-Length") or 0)
        data = self.rfile.read(length) if length else b""
        if path.startswith("/blob/"):
            return self._send(200, github.state.artifacts[int(path.rpartition("/")[2])][1], {})
        body = json.loads(data) if data else None
        token = (self.headers.get("Authorization") or "").rpartition(" ")[2]
        call = Call(
            method=self.command,
            path=path.removeprefix(github.prefix),
            query=dict(parse_qsl(parts.query)),
            token=token,
            body=body,
        )
        trouble = next((each for each in github.trouble if each.hits(call.method, call.path)), None)
        if trouble is not None and trouble.kind == HANGING:
            github.calls.append(Call(**{**call.__dict__, "status": 504}))
            github.over.wait(120)
            return self._send(504, b'{"message": "late"}', {})
        if trouble is not None and trouble.kind != LOST:
            status, answer, headers = self._troubled(trouble)
        else:
            status, answer, headers = github.answer(call)
        github.calls.append(Call(**{**call.__dict__, "status": status}))
        if trouble is not None and trouble.kind == LOST:
            status, answer, headers = self._troubled(trouble)
        return self._send(status, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), headers)

    def _troubled(self, trouble: Trouble) -> Answer:
        if trouble.kind in (BROKEN, LOST):
            return 502, {"message": "Server Error"}, {}
        after = {} if trouble.retry_after is None else {"Retry-After": str(trouble.retry_after)}
        if trouble.kind == SECONDARY:
            return 403, {"message": "You have exceeded a secondary rate limit."}, after
        reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + (trouble.retry_after or 0))}
        return 403, {"message": "API rate limit exceeded for installation."}, reset

    def _send(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        with contextlib.suppress(OSError):  # who asked is gone
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _handle  # noqa: N815 - the base looks for these names

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: ``calls`` has it all."""
