"""A stand-in for GitHub's API with a memory: every request and every answer is checked against GitHub's description.

Belongs here: state, rights of tokens, rules that GitHub enforces, and trouble to order. Does not belong here: what
our product asks. Use it as a context manager; ``faults`` must be empty in the end.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.github_api.described import Operation, description

WRITE, READONLY, CLASSIC = "ghs_write", "ghs_readonly", "ghp_classic"
LIMIT, SECONDARY, BROKEN, HANGING = "rate limit", "secondary limit", "server error", "hanging"
LOST = "lost answer"  # what was asked is done, and the answer to it is that of a broken server
PERSON = "dev"  # whose the classic token is
_MOST_ANNOTATIONS, _COMMENT, _OUTPUT = 50, 65_536, 65_535


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


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request as it came, and the status of its answer."""

    method: str
    path: str
    query: Mapping[str, str]
    token: str
    body: Any
    status: int = 0


@dataclass(kw_only=True)
class State:
    """What is stored; numbers and names lead to objects as the API shows them."""

    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    check_runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    annotations: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[int, tuple[dict[str, Any], bytes]] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)


class Refusal(Exception):
    """An answer other than what was asked for."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class GitHub:
    """``enterprise``: a server of one's own, with its API below ``/api/v3``."""

    def __init__(self, repository: str = "owner/project", *, enterprise: bool = False) -> None:
        self.repository = repository
        self.prefix = "/api/v3" if enterprise else ""
        self.described = description("ghes-3.17" if enterprise else "api.github.com")
        self.state = State(refs={"refs/heads/main": "a" * 40})
        self.calls: list[Call] = []
        self.faults: list[str] = []
        self.trouble: list[Trouble] = []
        self._serial = 1000
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"github": self}))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.prefix}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()

    def wrote(self) -> list[tuple[str, str]]:
        """Method and path of every change that was made."""
        return [(each.method, each.path) for each in self.calls if each.method != "GET" and each.status < 300]

    # -- what is there before --------------------------------------------------------------

    def add_pull(self, number: int, head_sha: str, *, branch: str = "fix", owner: str | None = None) -> None:
        """An open pull request, of another owner's fork if ``owner`` says so."""
        pull = self._made("pull-request-simple", number=number, state="open", title="x")
        self._issue(number, title="x", body="", labels=[])
        pull["head"].update(ref=branch, sha=head_sha, label=f"{owner or self._owner}:{branch}")
        pull["base"].update(ref="main", sha="a" * 40)
        self.state.pulls[number] = pull

    def add_comment(self, number: int, body: str, *, login: str, bot: bool) -> int:
        """A comment of somebody's."""
        return int(self._comment(number, body, login, bot)["id"])

    def add_run(self, run_id: int, head_sha: str, *, branch: str, owner: str) -> None:
        """A run of a workflow for a branch of somebody's fork."""
        run = self._made("workflow-run", id=run_id, head_sha=head_sha, head_branch=branch, pull_requests=[])
        run.update(self._address("actions/runs", run_id))
        run["artifacts_url"] = f"{run['url']}/artifacts"
        run["head_repository"]["owner"].update(login=owner)
        run["head_repository"].update(full_name=f"{owner}/project")
        self.state.runs[run_id] = run

    def add_artifact(self, run_id: int, name: str, data: bytes) -> None:
        """A file that a run has uploaded."""
        number = self._next()
        address = f"{self.url}/repos/{self.repository}/actions/artifacts/{number}/zip"
        about = self._made("artifact", id=number, name=name, size_in_bytes=len(data), archive_download_url=address)
        about["workflow_run"] = {"id": run_id}
        self.state.artifacts[number] = (about, data)

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
                status, body, headers = _DO[operation.method, operation.path](self, call, operation)
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

    # -- making objects --------------------------------------------------------------------

    @property
    def _owner(self) -> str:
        return self.repository.partition("/")[0]

    def _next(self) -> int:
        self._serial += 1
        return self._serial

    def _made(self, schema: str, **values: Any) -> dict[str, Any]:
        made: dict[str, Any] = {**self.described.smallest(schema), **values}
        return made

    def _address(self, *parts: object) -> dict[str, str]:
        path = "/".join(map(str, parts))
        return {
            "url": f"{self.url}/repos/{self.repository}/{path}",
            "html_url": f"{self.url.removesuffix(self.prefix)}/{self.repository}/{path}",
        }

    def _user(self, login: str, *, bot: bool) -> dict[str, Any]:
        return self._made("simple-user", login=login, type="Bot" if bot else "User")

    def _comment(self, number: int, body: str, login: str, bot: bool) -> dict[str, Any]:
        key = self._next()
        where = self._address("issues/comments", key)
        made = self._made("issue-comment", id=key, body=body, user=self._user(login, bot=bot), **where)
        made["issue_url"] = f"{self.url}/repos/{self.repository}/issues/{number}"
        self.state.comments[key] = made
        return made

    def _issue(self, number: int, **values: Any) -> dict[str, Any]:
        user = self._user("github-actions[bot]", bot=True)
        made = self._made("issue", number=number, state="open", user=user, **self._address("issues", number), **values)
        self.state.issues[number] = made
        return made


_Answer = tuple[int, Any, dict[str, str]]
_DO: dict[tuple[str, str], Callable[[GitHub, Call, Operation], _Answer]] = {}
_REPOSITORY = "/repos/{owner}/{repo}"


def _does(
    method: str, path: str, below: str = _REPOSITORY
) -> Callable[[Callable[[GitHub, Call, Operation], _Answer]], None]:
    def register(do: Callable[[GitHub, Call, Operation], _Answer]) -> None:
        _DO[method, below + path] = do

    return register


def _page(github: GitHub, call: Call, items: list[Any]) -> tuple[list[Any], dict[str, str]]:
    """One page, with the header that leads to the others."""
    size, page = int(call.query.get("per_page", 30)), int(call.query.get("page", 1))
    last = max(1, -(-len(items) // size))
    base = f"{github.url}{call.path}"
    rest = "".join(f"&{name}={value}" for name, value in call.query.items() if name != "page")
    links = [f'<{base}?page={number}{rest}>; rel="{name}"' for number, name in ((page + 1, "next"), (last, "last"))]
    return items[(page - 1) * size : page * size], {"Link": ", ".join(links)} if page < last else {}


def _there(found: Any) -> Any:
    if found is None:
        raise Refusal(404, "Not Found")
    return found


@_does("get", "/user", below="")
def _get_user(github: GitHub, _: Call, __: Operation) -> _Answer:
    return 200, github._made("private-user", login=PERSON, type="User", user_view_type="private"), {}


@_does("get", "")
def _get_repository(github: GitHub, _: Call, __: Operation) -> _Answer:
    made = github._made("full-repository", full_name=github.repository, default_branch="main")
    return 200, made, {}


@_does("get", "/issues")
def _list_issues(github: GitHub, call: Call, _: Operation) -> _Answer:
    wanted = set(filter(None, call.query.get("labels", "").split(",")))
    state = call.query.get("state", "open")
    found = [
        each
        for each in github.state.issues.values()
        if state in ("all", each["state"]) and wanted <= {label["name"] for label in each["labels"]}
    ]
    page, links = _page(github, call, found)
    return 200, page, links


@_does("post", "/issues")
def _create_issue(github: GitHub, call: Call, _: Operation) -> _Answer:
    labels = [{"name": name} for name in call.body.get("labels", ())]
    made = github._issue(github._next(), title=call.body["title"], body=call.body.get("body"), labels=labels)
    login, bot = _author(call)
    made["user"] = github._user(login, bot=bot)
    return 201, made, {}


@_does("get", "/issues/{issue_number}")
def _get_issue(github: GitHub, _: Call, operation: Operation) -> _Answer:
    return 200, _there(github.state.issues.get(int(operation.names["issue_number"]))), {}


@_does("patch", "/issues/{issue_number}")
def _edit_issue(github: GitHub, call: Call, operation: Operation) -> _Answer:
    issue = _there(github.state.issues.get(int(operation.names["issue_number"])))
    issue.update(call.body)
    return 200, issue, {}


@_does("get", "/issues/{issue_number}/comments")
def _list_comments(github: GitHub, call: Call, operation: Operation) -> _Answer:
    end = f"/issues/{operation.names['issue_number']}"
    found = [each for each in github.state.comments.values() if each["issue_url"].endswith(end)]
    page, links = _page(github, call, found)
    return 200, page, links


@_does("post", "/issues/{issue_number}/comments")
def _create_comment(github: GitHub, call: Call, operation: Operation) -> _Answer:
    if len(call.body["body"]) > _COMMENT:
        raise Refusal(422, "body is too long (maximum is 65536 characters)")
    number = int(operation.names["issue_number"])
    _there(github.state.issues.get(number))
    return 201, github._comment(number, call.body["body"], *_author(call)), {}


def _author(call: Call) -> tuple[str, bool]:
    return (PERSON, False) if call.token == CLASSIC else ("github-actions[bot]", True)


@_does("get", "/issues/comments/{comment_id}")
def _get_comment(github: GitHub, _: Call, operation: Operation) -> _Answer:
    return 200, _there(github.state.comments.get(int(operation.names["comment_id"]))), {}


@_does("patch", "/issues/comments/{comment_id}")
def _edit_comment(github: GitHub, call: Call, operation: Operation) -> _Answer:
    comment = _there(github.state.comments.get(int(operation.names["comment_id"])))
    if len(call.body["body"]) > _COMMENT:
        raise Refusal(422, "body is too long (maximum is 65536 characters)")
    comment["body"] = call.body["body"]
    return 200, comment, {}


@_does("post", "/check-runs")
def _create_check_run(github: GitHub, call: Call, _: Operation) -> _Answer:
    _refuse_check_run(call.body)
    number = github._next()
    return 201, _check_run(github, number, call.body, github._made("check-run", id=number, check_suite={"id": 1})), {}


@_does("get", "/check-runs/{check_run_id}")
def _get_check_run(github: GitHub, _: Call, operation: Operation) -> _Answer:
    return 200, _there(github.state.check_runs.get(int(operation.names["check_run_id"]))), {}


@_does("patch", "/check-runs/{check_run_id}")
def _edit_check_run(github: GitHub, call: Call, operation: Operation) -> _Answer:
    number = int(operation.names["check_run_id"])
    before = _there(github.state.check_runs.get(number))
    _refuse_check_run({**before, **call.body})
    return 200, _check_run(github, number, call.body, before), {}


def _refuse_check_run(body: Mapping[str, Any]) -> None:
    output = body.get("output") or {}
    if body.get("status") == "completed" and not body.get("conclusion"):
        raise Refusal(422, "conclusion is required where status is completed")
    if len(output.get("annotations") or ()) > _MOST_ANNOTATIONS:
        raise Refusal(422, "No more than 50 annotations")
    if any(len((output.get(part) or "").encode()) > _OUTPUT for part in ("summary", "text")):
        raise Refusal(422, "Only 65535 characters are allowed")


def _check_run(github: GitHub, number: int, body: Mapping[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    output = dict(body.get("output") or {})
    kept = github.state.annotations.setdefault(number, [])
    kept += output.pop("annotations", None) or ()
    told = {name: body[name] for name in ("name", "head_sha", "external_id", "status", "conclusion") if name in body}
    shown = {
        **before["output"],
        **output,
        "annotations_count": len(kept),
        "annotations_url": f"{github.url}/annotations",
    }
    made = {**before, **told, "output": shown, **github._address("check-runs", number)}
    github.state.check_runs[number] = made
    return made


@_does("get", "/commits/{ref}/check-runs")
def _list_check_runs(github: GitHub, call: Call, operation: Operation) -> _Answer:
    wanted = call.query.get("check_name")
    found = [
        each
        for each in github.state.check_runs.values()
        if each["head_sha"] == operation.names["ref"] and wanted in (None, each["name"])
    ]
    page, links = _page(github, call, found)
    return 200, {"total_count": len(found), "check_runs": page}, links


@_does("get", "/commits/{ref}")
def _get_commit(github: GitHub, _: Call, operation: Operation) -> _Answer:
    return 200, github._made("commit", sha=operation.names["ref"]), {}


@_does("get", "/pulls")
def _list_pulls(github: GitHub, call: Call, _: Operation) -> _Answer:
    state, head = call.query.get("state", "open"), call.query.get("head")
    found = [
        each
        for each in github.state.pulls.values()
        if state in ("all", each["state"]) and head in (None, each["head"]["label"])
    ]
    page, links = _page(github, call, found)
    return 200, page, links


@_does("post", "/pulls")
def _create_pull(github: GitHub, call: Call, _: Operation) -> _Answer:
    number = github._next()
    made = github._made("pull-request", number=number, state="open", title=call.body["title"])
    made.update(body=call.body.get("body"), **github._address("pulls", number))
    made["head"].update(ref=call.body["head"], label=f"{github._owner}:{call.body['head']}")
    github.state.pulls[number] = made
    return 201, made, {}


@_does("get", "/branches/{branch}")
def _get_branch(github: GitHub, _: Call, operation: Operation) -> _Answer:
    sha = _there(github.state.refs.get(f"refs/heads/{unquote(operation.names['branch'])}"))
    made = github._made("branch-with-protection", name=operation.names["branch"])
    made["commit"] = github._made("commit", sha=sha)
    return 200, made, {}


@_does("post", "/git/refs")
def _create_ref(github: GitHub, call: Call, _: Operation) -> _Answer:
    if call.body["ref"] in github.state.refs:
        raise Refusal(422, "Reference already exists")
    github.state.refs[call.body["ref"]] = call.body["sha"]
    made = github._made("git-ref", ref=call.body["ref"])
    made["object"].update(sha=call.body["sha"])
    return 201, made, {}


@_does("get", "/contents/{path}")
def _get_file(github: GitHub, call: Call, operation: Operation) -> _Answer:
    path = operation.names["path"]
    content = _there(github.state.files.get((call.query.get("ref", "main"), path)))
    made = github._made("content-file", name=path.rpartition("/")[2], path=path, content=content.decode())
    return 200, {**made, "type": "file", "encoding": "base64", "size": len(content)}, {}


@_does("put", "/contents/{path}")
def _put_file(github: GitHub, call: Call, operation: Operation) -> _Answer:
    if (call.body.get("branch", "main"), operation.names["path"]) in github.state.files and "sha" not in call.body:
        raise Refusal(422, 'Invalid request. "sha" wasn\'t supplied.')
    github.state.files[call.body.get("branch", "main"), operation.names["path"]] = call.body["content"].encode()
    return 201, github._made("file-commit"), {}


@_does("get", "/actions/runs/{run_id}")
def _get_run(github: GitHub, _: Call, operation: Operation) -> _Answer:
    return 200, _there(github.state.runs.get(int(operation.names["run_id"]))), {}


@_does("get", "/actions/runs/{run_id}/artifacts")
def _list_artifacts(github: GitHub, call: Call, operation: Operation) -> _Answer:
    run = int(operation.names["run_id"])
    found = [about for about, _ in github.state.artifacts.values() if about["workflow_run"]["id"] == run]
    page, links = _page(github, call, found)
    return 200, {"total_count": len(found), "artifacts": page}, links


@_does("get", "/actions/artifacts/{artifact_id}/{archive_format}")
def _download(github: GitHub, _: Call, operation: Operation) -> _Answer:
    number = int(operation.names["artifact_id"])
    _there(github.state.artifacts.get(number))
    return 302, b"", {"Location": f"{github.url.removesuffix(github.prefix)}/blob/{number}"}


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
            github._over.wait(120)
            return self._send(504, b'{"message": "late"}', {})
        if trouble is not None and trouble.kind != LOST:
            status, answer, headers = self._troubled(trouble)
        else:
            status, answer, headers = github.answer(call)
        github.calls.append(Call(**{**call.__dict__, "status": status}))
        if trouble is not None and trouble.kind == LOST:
            status, answer, headers = self._troubled(trouble)
        return self._send(status, answer if isinstance(answer, bytes) else json.dumps(answer).encode(), headers)

    def _troubled(self, trouble: Trouble) -> _Answer:
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
