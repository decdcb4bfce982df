"""How many packets found no way out of the network namespace during a test.

The kernel counts for every process in the namespace, so also for C extensions and children that
the audit hook does not see.
"""

from __future__ import annotations

import os
from typing import Any

_open, _read, _close = os.open, os.read, os.close  # kept: a test may patch them
_V4, _V6 = "/proc/net/snmp", "/proc/net/snmp6"


class Unrouted:
    """Reads the counters before and after each test."""

    def __init__(self) -> None:
        self._before: int | None = None

    def begin(self) -> None:
        """A test begins."""
        self._before = unrouted()

    def end(self) -> dict[str, Any]:
        """The rise since ``begin``; nothing where the kernel does not tell."""
        now = unrouted()
        return {} if now is None or self._before is None else {"unrouted": now - self._before}


def unrouted() -> int | None:
    """OutNoRoutes and Ip6OutNoRoutes of this namespace, together; None without a /proc that has them."""
    try:
        return parse(_content(_V4), _content(_V6))
    except (OSError, ValueError):
        return None


def parse(snmp: str, snmp6: str) -> int:
    """The sum from both files' text. Raises ValueError where the first does not count."""
    rows = [line.split() for line in snmp.splitlines() if line.startswith("Ip:")]
    if len(rows) != 2:
        raise ValueError("no Ip: lines")
    total = int(rows[1][rows[0].index("OutNoRoutes")])
    for line in snmp6.splitlines():
        if line.startswith("Ip6OutNoRoutes"):
            total += int(line.split()[1])
    return total


def _content(path: str) -> str:
    try:
        fd = _open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        if path == _V6:
            return ""  # a kernel without IPv6
        raise
    try:
        parts: list[bytes] = []
        while True:
            part = _read(fd, 1 << 16)
            if not part:
                return b"".join(parts).decode("ascii", "replace")
            parts.append(part)
    finally:
        _close(fd)
