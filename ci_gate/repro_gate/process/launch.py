"""One program at a time: started in a session of its own, drained, bounded and ended as a group."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from repro_gate.errors import DiskFull, MissingTool
from repro_gate.process.children import resident
from repro_gate.process.output import Kept

_TO_WRITE = 60.0  # seconds for a program that is asked to end to write what it has


@dataclass(frozen=True, kw_only=True, slots=True)
class Completed:
    """A finished program. ``status`` is negative for a signal; output is cut to head and tail."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str
    timed_out: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What a finished program wrote, byte for byte; ``error`` is its standard error as text."""

    status: int
    output: bytes
    error: str
    timed_out: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How a program ended whose outputs were ours; ``status`` is negative for a signal."""

    status: int
    timed_out: bool = False
    interrupted: bool = False


class _Drain:
    """Reads one pipe to its end on a thread, so that the child never waits for us."""

    def __init__(self, pipe: IO[bytes], keep_all: bool) -> None:
        self._pipe = pipe
        self._kept = Kept(keep_all=keep_all)
        self._thread = threading.Thread(target=self._read, name="drain", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._pipe.fileno(), 65536)
            except (OSError, ValueError):
                return
            if not data:
                return
            self._kept.add(data)

    def text(self) -> str:
        """What is kept, as text."""
        return self._kept.text()

    def everything(self, seconds: float) -> bytes:
        """All bytes of a pipe that keeps all; the program has ended, so only the thread is waited for."""
        self.finish(seconds)
        return self._kept.data()

    def finish(self, seconds: float) -> None:
        """Wait for the end of the pipe; a grandchild that holds it open is not waited for."""
        self._thread.join(seconds)
        if not self._thread.is_alive():
            self._pipe.close()


_ENDED: set[int] = set()  # groups whose leader is gone, and of which this process may have adopted somebody


def _reap_groups() -> None:
    """Take leave of what those groups left to us: a long run must not fill the table of processes."""
    for group in list(_ENDED):
        try:
            while os.waitpid(-group, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            _ENDED.discard(group)


class Process:
    """A running program, the leader of its own process group."""

    def __init__(self, popen: subprocess.Popen[bytes], argv: Sequence[str], keep_all: bool) -> None:
        assert popen.stdout is not None
        assert popen.stderr is not None
        self.argv = tuple(argv)
        self.pid = popen.pid
        self._popen = popen
        _ENDED.discard(self.pid)
        self._out = _Drain(popen.stdout, keep_all)
        self._err = _Drain(popen.stderr, keep_all)

    def poll(self) -> int | None:
        """The exit status (negative for a signal), or None while it runs."""
        return self._popen.poll()

    def wait(self, seconds: float) -> int | None:
        """Wait at most so long for the exit status."""
        try:
            return self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self, grace: float = 0.0) -> None:
        """Ask the group to end, then make it; also when the leader is gone already."""
        if grace and self.poll() is None:
            _signal_group(self.pid, signal.SIGTERM)
            self.wait(grace)
        _signal_group(self.pid, signal.SIGKILL)
        self._popen.wait()
        _ENDED.add(self.pid)
        _reap_groups()
        self._out.finish(1.0)
        self._err.finish(1.0)

    def output_bytes(self) -> bytes:
        """All of standard output; for a program that has ended and was started with ``keep_all``."""
        return self._out.everything(60.0)

    def output(self) -> tuple[str, str]:
        """Standard output and error so far, each cut to head and tail."""
        if self.poll() is not None:
            self._out.finish(1.0)
            self._err.finish(1.0)
        return self._out.text(), self._err.text()

    def resident(self) -> int:
        """Bytes of memory that it and everything below it hold by themselves."""
        return resident(self.pid)

    def why(self) -> str:
        """Nothing but its status tells why it ended."""
        return ""


def _signal_group(pid: int, number: signal.Signals) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def start(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str],
    umask: int = -1,
    keep_all: bool = False,
    stdin: IO[bytes] | None = None,
) -> Process:
    """Start a program with both outputs drained, and no standard input but the file ``stdin``.

    Raises MissingTool where it is not there, DiskFull where there is no room to start it.
    """
    try:
        popen = subprocess.Popen(
            list(argv),
            env=dict(env),
            cwd=cwd,
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            umask=umask,
        )
    except FileNotFoundError as missing:
        if not Path(cwd).is_dir():
            raise MissingTool(f"The directory {os.fspath(cwd)!r} to run {argv[0]!r} in is not there.") from missing
        raise MissingTool(f"The program {argv[0]!r} is not there.") from missing
    except PermissionError as refused:
        raise MissingTool(f"The program {argv[0]!r} may not be run: {refused.strerror}.") from refused
    except OSError as broken:
        if broken.errno == 28:
            raise DiskFull(f"No space left to start {argv[0]!r}.") from broken
        raise
    return Process(popen, argv, keep_all)


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] = ".",
    timeout: float = 60.0,
) -> Completed:
    """Run a program to its end, or end it after ``timeout`` seconds. Raises MissingTool."""
    process = start(argv, env=os.environ if env is None else env, cwd=cwd, keep_all=True)
    status = process.wait(timeout)
    process.end()
    out, err = process.output()
    final = process.poll()
    return Completed(
        argv=tuple(argv),
        status=-9 if final is None else final,
        stdout=out,
        stderr=err,
        timed_out=status is None,
    )


def ask(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: str | os.PathLike[str],
    question: bytes = b"",
    timeout: float = 60.0,
) -> Answer:
    """Run a program to its end with ``question`` as its input; the answer in bytes. Raises MissingTool."""
    # A file and not a pipe: whoever writes a long question to a pipe must read the answer meanwhile.
    with tempfile.TemporaryFile() as file:
        file.write(question)
        file.seek(0)
        process = start(argv, env=env, cwd=cwd, keep_all=True, stdin=file)
    status = process.wait(timeout)
    process.end()
    final = process.poll()
    return Answer(
        status=-9 if final is None else final,
        output=process.output_bytes(),
        error=process.output()[1],
        timed_out=status is None,
    )


def quoted(argv: Sequence[str]) -> str:
    """The command as a shell would take it."""
    return shlex.join(argv)


def attend(argv: Sequence[str], *, env: Mapping[str, str], cwd: str | os.PathLike[str], seconds: float | None) -> Ended:
    """Run a program that speaks for itself: its outputs are ours. What interrupts us is passed on to it.

    After ``seconds`` it is asked to end, and ended if it does not within a minute. Raises MissingTool.
    """
    try:
        popen = subprocess.Popen(list(argv), env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, start_new_session=True)
    except (FileNotFoundError, NotADirectoryError, PermissionError) as missing:
        raise MissingTool(f"Cannot run {argv[0]!r} in {os.fspath(cwd)!r}: {missing.strerror}.") from missing
    try:
        return Ended(status=popen.wait(seconds))
    except (subprocess.TimeoutExpired, KeyboardInterrupt) as cut:
        popen.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            popen.wait(_TO_WRITE)
        _signal_group(popen.pid, signal.SIGKILL)
        status = popen.wait()
        if isinstance(cut, KeyboardInterrupt):
            return Ended(status=status, interrupted=True)
        return Ended(status=status, timed_out=True)
