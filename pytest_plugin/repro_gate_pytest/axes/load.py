"""load: other work on the processor, and sleeps that end late, as on a busy machine.

``late`` lets sleeps end late and nothing else, which costs nothing. ``burn`` keeps a process
busy per core; ``one-core`` pins the test process to one core and lets a busy process share it.
The busy processes are not children of the test process (a test that waits for any child must
see only its own) and end with it.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Mapping
from typing import Any, Callable

from repro_gate_pytest import patching
from repro_gate_pytest.axes.base import Axis, fraction

# Kept: a project may replace them, and these processes are not its.
_fork, _waitpid, _pipe, _close, _exit = os.fork, os.waitpid, os.pipe, os.close, os._exit

_MOST_PER_TEST = 0.3  # seconds of added sleep
_LATE = 0.03


class Load(Axis):
    """Axis ``load``."""

    name = "load"

    def __init__(self) -> None:
        self._value = "none"
        self._key = ""
        self._sleeps = 0
        self._added = 0.0
        self._alive = -1

    def install(self) -> list[str]:
        patching.replace_function(time, "sleep", self._make_sleep)
        return []

    def apply(self, conditions: Mapping[str, Any]) -> None:
        self._value = conditions["load"]
        if self._alive != -1:
            os.close(self._alive)
            self._alive = -1
        if self._value in ("none", "late"):
            return
        cores = _cores()
        if self._value == "one-core" and hasattr(os, "sched_setaffinity"):
            cores = cores[:1]
            os.sched_setaffinity(0, cores)
        self._alive = _burn(len(cores) or 1)

    def before_test(self, key: str) -> None:
        self._key = key
        self._sleeps = 0
        self._added = 0.0

    def touched(self) -> bool:
        return self._sleeps > 0

    def _make_sleep(self, original: Callable[[float], None]) -> Callable[..., None]:
        def sleep(*args: Any) -> None:
            original(*args)
            self._sleeps += 1
            if self._value != "none" and self._added < _MOST_PER_TEST:
                late = _LATE * fraction(self._key, "sleep", self._sleeps)
                self._added += late
                original(late)

        return sleep


def _cores() -> list[int]:
    try:
        return sorted(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return list(range(os.cpu_count() or 1))


def _burn(count: int) -> int:
    """Start ``count`` busy processes; they end when the returned descriptor is closed everywhere."""
    watch, alive = _pipe()
    middle = _fork()
    if middle == 0:
        _close(alive)
        for _ in range(count):
            if _fork() == 0:
                _busy(watch)
        _exit(0)
    _waitpid(middle, 0)
    _close(watch)
    return alive


def _busy(watch: int) -> None:
    deadline = time.monotonic() + 600
    try:
        devnull = os.open(os.devnull, os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(devnull, fd)
        os.closerange(3, watch)
        os.closerange(watch + 1, 4096)
        while time.monotonic() < deadline and not select.select([watch], [], [], 0)[0]:
            for number in range(20000):
                number * number
    finally:
        _exit(0)
