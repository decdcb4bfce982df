"""What a program printed, cut to a head and a tail."""

from __future__ import annotations

_HEAD = 8_000
_TAIL = 56_000


class Kept:
    """Takes in output piece by piece; keeps all of it, or its head and its tail."""

    def __init__(self, *, keep_all: bool = False) -> None:
        self._keep_all = keep_all
        self._head = bytearray()
        self._tail = bytearray()
        self._lost = 0

    def add(self, data: bytes) -> None:
        """The next piece."""
        if self._keep_all or len(self._head) < _HEAD:
            self._head += data
            return
        self._tail += data
        if len(self._tail) > 2 * _TAIL:
            self._lost += len(self._tail) - _TAIL
            del self._tail[:-_TAIL]

    def data(self) -> bytes:
        """What is kept, byte for byte."""
        return bytes(self._head + self._tail)

    def text(self) -> str:
        """What is kept, as text."""
        middle = f"\n[... {self._lost} bytes left out ...]\n" if self._lost else ""
        return self._head.decode("utf-8", "replace") + middle + self._tail.decode("utf-8", "replace")
