"""Which of the watched lines ran: during each test, and while modules were imported.

Belongs here: tracing of watched files, and of no other. Python 3.12 and later have
``sys.monitoring``, where a line costs once per test; before that, trace functions, which share
their place with whatever the project itself traces with. Lines of child processes are not seen.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from types import CodeType, FrameType
from typing import Any, Callable

from repro_gate_pytest import patching

_realpath = os.path.realpath
_basename = os.path.basename
_TOOLS = (4, 3, 5, 2)  # ids of sys.monitoring that debuggers and coverage do not take first

Tracer = Callable[[FrameType, str, Any], Any]


class Lines:
    """Watches lines of files below ``root``; ``watch`` maps tree-relative paths to line numbers."""

    def __init__(self, root: str, watch: Mapping[str, Any]) -> None:
        below = _realpath(root)
        self._wanted = {os.path.join(below, *path.split("/")): (path, frozenset(watch[path])) for path in watch}
        self._names = frozenset(_basename(path) for path in self._wanted)
        self._seen: set[tuple[str, int]] = set()
        self._engine: _Monitoring | _Tracing | None = None

    def start(self) -> str:
        """Watch from now on; returns how (an empty string where nothing is watched)."""
        if not self._wanted:
            return ""
        monitoring = _Monitoring(self) if hasattr(sys, "monitoring") else None
        if monitoring is not None and monitoring.start():
            self._engine = monitoring
            return "monitoring"
        self._engine = _Tracing(self)
        self._engine.start()
        return "tracing"

    def begin(self) -> None:
        """A test begins."""
        self._seen.clear()
        if self._engine is not None:
            self._engine.rearm()

    def end(self) -> dict[str, Any]:
        """What ran since ``begin`` (or since the start), as lines by path."""
        ran: dict[str, list[int]] = {}
        for path, line in sorted(self._seen):
            ran.setdefault(path, []).append(line)
        return {"lines": ran} if ran else {}

    def of(self, filename: str) -> tuple[str, frozenset[int]] | None:
        """The path and the watched lines of a source file, or None."""
        if _basename(filename) not in self._names:
            return None
        return self._wanted.get(filename) or self._wanted.get(_realpath(filename))

    def ran(self, path: str, line: int) -> None:
        """A line ran."""
        self._seen.add((path, line))


class _Monitoring:
    """sys.monitoring: functions of watched files are noticed at their first start, once."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._api: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._disable = self._api.DISABLE
        self._tool = -1
        self._code: dict[CodeType, tuple[str, frozenset[int]]] = {}
        self._spent: set[CodeType] = set()

    def start(self) -> bool:
        for tool in _TOOLS:
            try:
                self._api.use_tool_id(tool, "repro-gate")
            except ValueError:  # taken
                continue
            self._tool = tool
            break
        else:
            return False
        events = self._api.events
        self._api.register_callback(self._tool, events.PY_START, self._function_starts)
        self._api.register_callback(self._tool, events.LINE, self._line_runs)
        self._api.set_events(self._tool, events.PY_START)
        return True

    def rearm(self) -> None:
        """A line is reported once; let those of the last test be reported again."""
        local = self._api.set_local_events
        for code in self._spent:
            local(self._tool, code, 0)
            local(self._tool, code, self._api.events.LINE)
        self._spent.clear()

    def _function_starts(self, code: CodeType, _offset: int) -> Any:
        found = self._lines.of(code.co_filename)
        if found is not None and code not in self._code:
            self._code[code] = found
            self._api.set_local_events(self._tool, code, self._api.events.LINE)
        return self._disable

    def _line_runs(self, code: CodeType, line: int) -> Any:
        path, wanted = self._code[code]
        if line in wanted:
            self._lines.ran(path, line)
            self._spent.add(code)
        return self._disable


class _Tracing:
    """Trace functions. One that a test sets is called as well as ours, and is what gettrace tells."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._local: dict[str, Tracer | None] = {}
        self._set: Callable[..., Any] = sys.settrace
        self._get: Callable[..., Any] = sys.gettrace
        self._theirs_in_threads: Any = None
        self._set_in_threads: Callable[..., Any] = threading.settrace

    def start(self) -> None:
        patching.replace_function(sys, "settrace", self._make_set)
        patching.replace_function(sys, "gettrace", self._make_get)
        threading.settrace = self._threads_set  # type: ignore[assignment]
        if hasattr(threading, "gettrace"):
            threading.gettrace = lambda: self._theirs_in_threads
        self._set_in_threads(self.trace)
        self._set(self.trace)

    def rearm(self) -> None:
        """Whatever the last test did to trace functions, ours is there again."""
        if self._get() is None:
            self._set(self.trace)
        if getattr(threading, "_trace_hook", None) is None:
            self._set_in_threads(self.trace)

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        filename = frame.f_code.co_filename
        try:
            return self._local[filename]
        except KeyError:
            found = self._lines.of(filename)
            local = self._local[filename] = None if found is None else self._tracer_of(*found)
            return local

    def _tracer_of(self, path: str, wanted: frozenset[int]) -> Tracer:
        seen = self._lines._seen  # one set for the life of the process: a call less per line

        def line_runs(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line" and frame.f_lineno in wanted:
                seen.add((path, frame.f_lineno))
            return line_runs

        return line_runs

    def _make_set(self, original: Callable[..., Any]) -> Callable[..., Any]:
        self._set = original

        def settrace(function: Any) -> None:
            original(self.trace if function is None else _Both(self.trace, function).trace)

        return settrace

    def _make_get(self, original: Callable[..., Any]) -> Callable[..., Any]:
        self._get = original

        def gettrace() -> Any:
            current = original()
            owner = getattr(current, "__self__", None)
            if owner is self:
                return None
            return owner.theirs if isinstance(owner, _Both) else current

        return gettrace

    def _threads_set(self, function: Any) -> None:
        self._theirs_in_threads = function
        self._set_in_threads(self.trace if function is None else _Both(self.trace, function).trace)


class _Both:
    """Our trace function and the project's own."""

    def __init__(self, ours: Tracer, theirs: Tracer) -> None:
        self._ours = ours
        self.theirs = theirs

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        ours = self._ours(frame, event, arg)
        theirs = self.theirs(frame, event, arg)
        if ours is None or theirs is None:
            return ours or theirs

        def both(frame: FrameType, event: str, arg: Any) -> Any:
            nonlocal theirs
            ours(frame, event, arg)
            theirs = theirs(frame, event, arg) or theirs
            return both

        return both
