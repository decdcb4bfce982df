"""The private channel on which results leave the test process.

A named pipe, opened before any conftest and kept at a high descriptor: no test prints to it by
accident. A test that closes every descriptor costs nothing: the pipe is opened again by name,
and a descriptor that meanwhile became another file is never written to.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Mapping
from typing import Any

from repro_gate_pytest import wire

_open, _write, _fstat, _close, _getpid, _exit = os.open, os.write, os.fstat, os.close, os.getpid, os._exit
_fcntl = fcntl.fcntl
_encode = wire.encode
_HIGH = 400


class Channel:
    """Frames out. Safe to use after a test did what it liked to ``os`` and to descriptors."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._owner = _getpid()
        self._fd = -1
        self._identity: tuple[int, int] | None = None
        self._connect()

    def send(self, event: str, **fields: Any) -> None:
        """Send one frame."""
        self.send_frames(dict(fields, ev=event))

    def send_frames(self, *frames: Mapping[str, Any]) -> None:
        """Send frames in one write; ends the process if the channel cannot be had back.

        A test forked and its child came out of the test: it would run the rest once more, with
        every side effect. It ends here.
        """
        if _getpid() != self._owner:
            _exit(0)
        data = b"".join([_encode(frame) for frame in frames])
        if not self._alive():
            self._reconnect()
        while data:
            try:
                data = data[_write(self._fd, data) :]
            except InterruptedError:
                continue
            except OSError:
                self._reconnect()

    def close(self) -> None:
        """Give the descriptor back."""
        if self._alive():
            _close(self._fd)
        self._identity = None

    def _connect(self) -> None:
        fd = _open(self._path, os.O_WRONLY | os.O_CLOEXEC)
        try:
            self._fd = _fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _HIGH)
            _close(fd)
        except (OSError, ValueError):  # a low limit on descriptors
            self._fd = fd
        stat = _fstat(self._fd)
        self._identity = (stat.st_dev, stat.st_ino)

    def _alive(self) -> bool:
        try:
            stat = _fstat(self._fd)
        except OSError:
            return False
        return (stat.st_dev, stat.st_ino) == self._identity

    def _reconnect(self) -> None:
        try:
            self._connect()
        except OSError:
            _exit(wire.EXIT_CHANNEL_LOST)
