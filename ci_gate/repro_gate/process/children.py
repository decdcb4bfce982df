"""Whatever our programs leave behind is ours to end: by id, never by name."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36
_PAGE = os.sysconf("SC_PAGE_SIZE")


def adopt_orphans() -> bool:
    """Become the parent of every orphan below this process (Linux); True if that worked."""
    try:
        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_bytes().split()]
    except OSError:
        return []


def descendants(pid: int) -> list[int]:
    """All processes below ``pid``, parents first."""
    found: list[int] = []
    queue = [pid]
    while queue:
        below = _children(queue.pop())
        found.extend(below)
        queue.extend(below)
    return found


def resident(pid: int) -> int:
    """Bytes of memory that a process and everything below it hold by themselves (not shared pages)."""
    total = 0
    for each in [pid, *descendants(pid)]:
        try:
            words = Path(f"/proc/{each}/statm").read_bytes().split()
            total += (int(words[1]) - int(words[2])) * _PAGE
        except (OSError, IndexError, ValueError):
            continue
    return total


def end_descendants(spare: frozenset[int] = frozenset(), seconds: float = 5.0) -> int:
    """Kill everything below this process except ``spare`` and its descendants; returns how many."""
    ended: set[int] = set()
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        spared = spare | {below for pid in spare for below in descendants(pid)}
        left = [pid for pid in descendants(os.getpid()) if pid not in spared]
        if not left:
            break
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
            ended.add(pid)
        _reap(left)
        time.sleep(0.01)
    return len(ended)


def _reap(pids: list[int]) -> None:
    for pid in pids:
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
