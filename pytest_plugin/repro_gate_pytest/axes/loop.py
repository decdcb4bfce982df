"""asyncio: the order in which ready tasks are stepped, and timers that are a little late.

Only neighbouring steps of different tasks change places; plain callbacks, whose order asyncio
documents, stay where they are. An order that the default loop would not choose is still an
over-approximation: the finding says "depends on the order of ready tasks", which is what an
eager factory, another loop, or one more await changes.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Mapping
from typing import Any, Callable

from repro_gate_pytest.axes.base import Axis, fraction, number

_JITTER = 0.002


class Loop(Axis):
    """Axis ``asyncio``."""

    name = "asyncio"

    def __init__(self) -> None:
        self._seed = 0
        self._key = ""
        self._turn = 0
        self._timers = 0
        self._patched = False

    def apply(self, conditions: Mapping[str, Any]) -> None:
        self._seed = conditions["asyncio"]
        if self._seed:
            self._patch()

    def before_test(self, key: str) -> None:
        self._key = key
        self._turn = self._timers = 0
        self._loaded = "asyncio.base_events" in sys.modules

    def touched(self) -> bool:
        return self._turn > 0

    def _patch(self) -> None:
        if self._patched:
            return
        self._patched = True
        from asyncio import base_events

        base: Any = base_events.BaseEventLoop
        run_once: Callable[[Any], None] = base._run_once
        call_at: Callable[..., Any] = base.call_at

        @functools.wraps(run_once)
        def _run_once(loop: Any) -> None:
            if self._seed:
                self._turn += 1
                self._shuffle(loop._ready)
            run_once(loop)

        @functools.wraps(call_at)
        def _call_at(loop: Any, when: float, *args: Any, **kwargs: Any) -> Any:
            if self._seed:
                self._timers += 1
                when += _JITTER * fraction(self._seed, self._key, "timer", self._timers)
            return call_at(loop, when, *args, **kwargs)

        base._run_once = _run_once
        base.call_at = _call_at

    def _shuffle(self, ready: Any) -> None:
        handles = list(ready)
        start = 0
        changed = False
        while start < len(handles):
            end = start
            while end < len(handles) and _task_of(handles[end]) is not None:
                end += 1
            if end - start > 1:
                handles[start:end] = self._permute(handles[start:end], start)
                changed = True
            start = max(end, start + 1)
        if changed:
            ready.clear()
            ready.extend(handles)

    def _permute(self, handles: list[Any], start: int) -> list[Any]:
        if len({id(_task_of(handle)) for handle in handles}) != len(handles):
            return handles  # two steps of one task: their order is the task's own
        ranks = [number(self._seed, self._key, self._turn, start, index) for index in range(len(handles))]
        return [handle for _, handle in sorted(zip(ranks, handles), key=lambda pair: pair[0])]


def _task_of(handle: Any) -> Any:
    """The task whose step a handle is, or None for a plain callback."""
    callback = getattr(handle, "_callback", None)
    owner = getattr(callback, "__self__", None)
    return owner if owner is not None and hasattr(owner, "get_coro") else None
