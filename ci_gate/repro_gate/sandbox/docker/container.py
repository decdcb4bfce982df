"""One container while it runs: drained, waited for, ended and removed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro_gate.errors import ReproGateError, SandboxLost, SandboxUnavailable
from repro_gate.process import Kept, resident
from repro_gate.sandbox.docker.engine import CORRECT, Engine, speaking

if TYPE_CHECKING:
    from docker import APIClient

_ERRORS = 2  # the number of a frame of standard error
_SETTLE = 5.0  # seconds for the daemon to tell of an end that it has been asked for


class Container:
    """A running container. A thread of its own reads its output, then waits for its status."""

    def __init__(self, engine: Engine, created: Mapping[str, Any], name: str) -> None:
        self.id = str(created["Id"])
        self.name = name
        self._engine = engine
        self._client: APIClient = engine.client()
        self._out, self._err = Kept(), Kept()
        self._status: int | None = None
        self._why = ""
        self._lost: ReproGateError | None = None
        self._removed = False
        self._pid: int | None = None
        self._over = threading.Event()
        self._over.set()  # until it begins, there is no end to wait for

    def begin(self) -> None:
        """Start it. Raises SandboxUnavailable with the daemon's words, and removes it, where that fails."""
        try:
            with speaking(self._engine, f"starting {self.name}"):
                socket = self._client.attach_socket(self.id)
                self._client.start(self.id)
        except SandboxLost as refused:
            self.end()
            raise SandboxUnavailable(str(refused), next_step=CORRECT) from refused
        self._over.clear()
        threading.Thread(target=self._follow, args=(socket,), name="container", daemon=True).start()

    def _follow(self, socket: Any) -> None:
        """What it prints, then how it ended."""
        from docker.utils.socket import frames_iter

        client = self._engine.client()
        try:
            with contextlib.suppress(Exception), _closing(socket):  # a stream that breaks is told of by what comes next
                for stream, data in frames_iter(socket, tty=False):  # type: ignore[no-untyped-call]
                    (self._err if stream == _ERRORS else self._out).add(data)
            with speaking(self._engine, f"waiting for {self.name}"):
                status = int(client.wait(self.id, timeout=None)["StatusCode"])
                state = client.inspect_container(self.id)["State"]
            if state.get("Status") == "removing":
                raise SandboxLost(f"The container {self.name} was removed while it ran.")
            self._why = "memory" if state.get("OOMKilled") and status else ""
            self._status = status
        except SandboxLost as lost:
            self._lost = lost
        except Exception as broken:  # noqa: BLE001 - a thread must not end without a word
            self._lost = SandboxLost(f"The status of {self.name} could not be read: {broken}.")
        finally:
            self._over.set()
            client.close()

    @property
    def pid(self) -> int:
        """Its first process on this machine, or 0 where it has none there."""
        if self._pid is None:
            with speaking(self._engine, f"looking at {self.name}"):
                found = int(self._client.inspect_container(self.id)["State"].get("Pid") or 0)
            self._pid = found if Path(f"/proc/{found}").exists() else 0
        return self._pid

    def poll(self) -> int | None:
        """The status as the daemon tells it, or None while it runs. Raises SandboxLost."""
        if not self._over.is_set():
            return None
        if self._lost is not None and not self._removed:
            raise self._lost
        return -9 if self._status is None else self._status

    def wait(self, seconds: float) -> int | None:
        """Wait at most so long for the status."""
        self._over.wait(seconds)
        return self.poll()

    def end(self, grace: float = 0.0) -> None:
        """Ask it to end, then make it, and remove it. A daemon that is gone has nothing left to end."""
        if self._removed:
            return
        if grace and not self._over.is_set():
            with contextlib.suppress(SandboxLost), speaking(self._engine, f"ending {self.name}"):
                self._client.kill(self.id, "SIGTERM")
            self._over.wait(grace)
        self._remove()
        self._over.wait(_SETTLE)
        self._client.close()

    def _remove(self) -> None:
        self._removed = True
        if not self._over.is_set():
            with contextlib.suppress(SandboxLost), speaking(self._engine, f"ending {self.name}"):
                self._client.kill(self.id, "SIGKILL")
            self._over.wait(_SETTLE)  # so that its status is known before it is gone
        with contextlib.suppress(SandboxLost), speaking(self._engine, f"removing {self.name}"):
            self._client.remove_container(self.id, force=True, v=True)

    def output(self) -> tuple[str, str]:
        """Standard output and error so far, each cut to head and tail."""
        return self._out.text(), self._err.text()

    def resident(self) -> int:
        """Bytes that its processes hold; 0 where they are not this machine's (then the kernel's limit holds)."""
        return resident(self.pid) if self.pid else 0

    def why(self) -> str:
        """``memory`` where the kernel ended it for the limit on memory."""
        return self._why


@contextlib.contextmanager
def _closing(stream: Any) -> Iterator[None]:
    """Close a connection that was taken over: it belongs to no pool, and the SDK hands out a view of its socket."""
    try:
        yield
    finally:
        for part in (getattr(stream, "_sock", None), stream):
            if part is not None:
                part.close()


def run_to_end(container: Container, seconds: float) -> tuple[int, str, str]:
    """Start a container, wait for its end, remove it: status (-9 after so long), output, errors."""
    container.begin()
    deadline = time.monotonic() + seconds
    try:
        status = container.wait(deadline - time.monotonic())
        return -9 if status is None else status, *container.output()
    finally:
        container.end()
