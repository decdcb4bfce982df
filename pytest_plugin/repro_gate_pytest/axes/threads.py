"""threads: a tiny switch interval, and seeded delays before a thread's body begins.

Both only choose among schedules that any machine may choose. Under some seeds the delays are those
of a busy machine: longer than what other work on the processor adds, so that they decide there, too.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, Callable

from repro_gate_pytest.axes.base import Axis, fraction

_sleep = time.sleep
_DELAYS = (0.0, 0.0, 0.0005, 0.002, 0.006)
_STRETCHED = 1 / 3  # the share of seeds, for each test, under which delays are longer
_STRETCH = 8
_MOST_PER_TEST = 0.3  # seconds of added delays


class Threads(Axis):
    """Axis ``threads``."""

    name = "threads"

    def __init__(self) -> None:
        self._seed = 0
        self._key = ""
        self._started = 0
        self._stretch = 1
        self._added = 0.0

    def install(self) -> list[str]:
        original = threading.Thread.start
        axis = self

        @functools.wraps(original)
        def start(self: threading.Thread) -> None:
            axis._started += 1
            if axis._seed and not self._started.is_set():  # type: ignore[attr-defined]
                axis._delay(self)
            original(self)

        threading.Thread.start = start  # type: ignore[method-assign]
        return []

    def apply(self, conditions: Mapping[str, Any]) -> None:
        self._seed = conditions["threads"]
        sys.setswitchinterval(1e-6 if self._seed else 0.005)

    def before_test(self, key: str) -> None:
        self._key = key
        self._started = 0
        self._stretch = _STRETCH if fraction(self._seed, key, "stretch") < _STRETCHED else 1
        self._added = 0.0

    def touched(self) -> bool:
        return self._started > 0

    def _delay(self, thread: threading.Thread) -> None:
        """Let the thread's body begin later; the attribute is gone before the body runs."""
        index = int(fraction(self._seed, self._key, "thread", self._started) * len(_DELAYS))
        seconds = _DELAYS[index] * self._stretch
        if not seconds or self._added + seconds > _MOST_PER_TEST:
            return
        self._added += seconds
        run: Callable[[], None] = thread.run

        def delayed() -> None:
            del thread.__dict__["run"]
            _sleep(seconds)
            run()

        if "run" not in thread.__dict__:
            thread.__dict__["run"] = delayed
