"""Trace functions, for Python before 3.12: lines of watched files, lines and arcs of recorded ones.

Belongs here: following code line by line, in Python or by coverage.py's tracer in C (``native``), and sharing the one
place for trace functions with whatever the project itself traces with. Does not belong here: what is told (lines).
"""

from __future__ import annotations

import _thread
import os
import sys
import threading
from types import CodeType, FrameType
from typing import Any, Callable

from repro_gate_pytest import native, patching
from repro_gate_pytest.arcs import Branching, sources_of
from repro_gate_pytest.watching import File

_id = id
_frame = sys._getframe
_GREENLETS = os.sep + "greenlet" + os.sep

Tracer = Callable[[FrameType, str, Any], Any]


class Tracing:
    """Trace functions. One that a test sets is called as well as ours, and is what gettrace tells."""

    name = "tracing"

    def __init__(self, of: Callable[[str], File | None]) -> None:
        self._of = of
        self._local: dict[str, Tracer | None] = {}
        self._branching: dict[int, Branching] = {}
        self._kept: list[CodeType] = []
        self._set: Callable[..., Any] = sys.settrace
        self._get: Callable[..., Any] = sys.gettrace
        self._theirs_in_threads: Any = None
        self._set_in_threads: Callable[..., Any] = threading.settrace
        self._waiting = True
        self._stopped = False

    def start(self) -> None:
        """Trace as soon as code of these files can run: whatever is imported before costs nothing more."""
        patching.replace_function(sys, "settrace", self._make_set)
        patching.replace_function(sys, "gettrace", self._make_get)
        patching.replace_function(_thread, "start_new_thread", self._make_start)
        threading.settrace = self._threads_set  # type: ignore[assignment]
        if hasattr(threading, "gettrace"):
            threading.gettrace = lambda: self._theirs_in_threads
        self._set_in_threads(self.trace)
        sys.addaudithook(self._something_happens)

    def _something_happens(self, event: str, arguments: Any) -> None:
        """A module's code is run by exec, which says so before:
        functions of it are made by that and by nothing else.
        """
        if event == "exec" and self._waiting and self._of(getattr(arguments[0], "co_filename", "")) is not None:
            self.follow()

    def follow(self) -> None:
        """Trace this thread, in place of whatever traced it."""
        self._waiting = False
        self._set(self.trace)

    def stop(self) -> None:
        """Trace no more in this thread, and in none that it starts."""
        self._waiting = False
        self._stopped = True
        self._set_in_threads(self._theirs_in_threads)
        self._set(None)

    def drain(self) -> None:
        """Bring what was seen to the files that it belongs to."""

    def rearm(self) -> None:
        """Whatever the last test did to trace functions, ours is there again."""
        if self._get() is None and not self._waiting:
            self.follow()
        if getattr(threading, "_trace_hook", None) is None:
            self._set_in_threads(self.trace)

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The trace function."""
        filename = frame.f_code.co_filename
        try:
            local = self._local[filename]
        except KeyError:
            file = self._of(filename)
            if file is None:
                local = None
            else:
                local = self._tracer_of(file, file.wanted) if file.wanted is not None else self._recorder_of(file)
            self._local[filename] = local
        return local and local(frame, event, arg)

    def _tracer_of(self, file: File, wanted: frozenset[int]) -> Tracer:
        seen = file.lines  # one set for the life of the process: a call less per line

        def line_runs(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line" and frame.f_lineno in wanted:
                seen.add(frame.f_lineno)
            return line_runs

        return line_runs

    def _recorder_of(self, file: File) -> Tracer:
        """Begins to follow a frame: a function that is called, or a generator that goes on where it was."""
        lines, arcs, known = file.lines, file.arcs, self._branching

        def begins(frame: FrameType, event: str, arg: Any) -> Any:
            code = frame.f_code
            branching = known.get(_id(code))
            if branching is None:
                self._kept.append(code)
                branching = known[_id(code)] = Branching(code)
            if not branching.lines:
                return plain
            sources, returns = branching.lines, branching.returns
            last = 0 if branching.is_start(frame.f_lasti) else frame.f_lineno

            def follows(frame: FrameType, event: str, arg: Any) -> Any:
                nonlocal last
                if event == "line":
                    line = frame.f_lineno
                    if last in sources:
                        arcs.add((last, line))
                    lines.add(line)
                    last = line
                elif event == "return" and last in sources and frame.f_lasti in returns:
                    arcs.add((last, -code.co_firstlineno))
                return follows

            return follows

        def plain(frame: FrameType, event: str, arg: Any) -> Any:
            if event == "line":
                lines.add(frame.f_lineno)
            return plain

        return begins

    def gone_on(self) -> Tracing:
        """In a forked process: another one in its place, in Python, also for the calls that are under way."""
        after = Tracing(self._of)
        after._set, after._get, after._set_in_threads = self._set, self._get, self._set_in_threads
        after._set_in_threads(after.trace)
        self.stop()
        after.follow()
        frame: FrameType | None = _frame(1)
        while frame is not None:
            frame.f_trace = after.trace(frame, "call", None)
            frame = frame.f_back
        return after

    def _go_on_in_python(self, innermost: FrameType | None) -> None:
        """Frames that are under way have no trace function of their own yet."""
        frame = innermost
        while frame is not None:
            if frame.f_trace is None and self._of(frame.f_code.co_filename) is not None:
                frame.f_trace = self.trace(frame, "call", None)
            frame = frame.f_back

    def _make_set(self, original: Callable[..., Any]) -> Callable[..., Any]:
        self._set = original

        def settrace(function: Any) -> None:
            if function is None:
                self._alone_again()
            elif self._is_ours(function):  # a thread begins
                self.follow()
            else:
                self._share(function)

        return settrace

    def _make_get(self, original: Callable[..., Any]) -> Callable[..., Any]:
        self._get = original

        def gettrace() -> Any:
            current = original()
            owner = getattr(current, "__self__", None)
            if self._is_ours(current):
                return None
            return owner.theirs if isinstance(owner, _Both) else current

        return gettrace

    def _make_start(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Threads that are none of ``threading``'s, which asks for its trace function itself."""

        def start_new_thread(function: Any, args: Any, *kwargs: Any) -> Any:
            theirs = isinstance(getattr(function, "__self__", None), threading.Thread)
            good = callable(function) and [type(each) for each in (args, *kwargs)] in ([tuple], [tuple, dict])
            if theirs or not good or self._waiting or self._stopped:
                return original(function, args, *kwargs)
            return original(self._begin_thread, (function, args, *kwargs))

        return start_new_thread

    def _begin_thread(self, function: Any, args: Any, kwargs: Any = None) -> None:
        self.follow()
        function(*args, **(kwargs or {}))

    def _is_ours(self, function: Any) -> bool:
        return getattr(function, "__self__", None) is self

    def _alone_again(self) -> None:
        """The project traces no more."""
        self.follow()

    def _share(self, theirs: Tracer) -> None:
        """The project traces, too."""
        self._set(_Both(self.trace, theirs).trace)

    def _threads_set(self, function: Any) -> None:
        self._theirs_in_threads = function
        self._set_in_threads(self.trace if function is None else _Both(self.trace, function).trace)


class Native(Tracing):
    """By coverage.py's tracer in C, which costs a fifth of one in Python.

    Its arcs are those of all lines; the ones from lines that can branch are kept. Where the project traces as well, or
    has greenlets, whose frames do not end in the order in which they began, the rest of a test is followed in Python.
    """

    name = "tracing in C"

    def __init__(self, of: Callable[[str], File | None], library: native.Library) -> None:
        super().__init__(of)
        self._library = library
        self._seen: dict[str, set[Any]] = {}  # by file: shared by the tracers of all threads, and never replaced
        self._rules: dict[str, Any] = {}
        self._files: dict[str, tuple[File, frozenset[int]]] = {}
        self._greenlets = False

    def follow(self) -> None:
        """Trace this thread in C, where that can be."""
        self._waiting = False
        if self._greenlets:
            super().follow()
        else:
            self._library.start(self._seen, self._rules, self._should_trace)

    def rearm(self) -> None:
        """Begin anew, and in C again if the last test left this thread with the slower way."""
        for seen in self._seen.values():
            seen.clear()
        if super()._is_ours(self._get()):
            self.follow()
        super().rearm()

    def drain(self) -> None:
        """Unpack what was seen."""
        for name, seen in self._seen.items():
            file, sources = self._files[name]
            for first, last in map(self._library.arc, seen.copy()):  # a thread may still add to it
                if last > 0 and (file.wanted is None or last in file.wanted):
                    file.lines.add(last)
                if first in sources:
                    file.arcs.add((first, last))

    def _should_trace(self, filename: str, frame: FrameType) -> Any:
        """Asked once for each name of a file."""
        if _GREENLETS in filename and not self._greenlets:
            self._greenlets = True
            self._go_on_in_python(frame)
            self._set(self.trace)
        file = self._of(filename)
        if file is not None and filename not in self._files:
            self._files[filename] = file, sources_of(frame.f_code, filename) if file.wanted is None else frozenset()
        return self._library.disposition(filename, file is not None)

    def _is_ours(self, function: Any) -> bool:
        return self._library.is_tracer(function) or super()._is_ours(function)

    def _alone_again(self) -> None:
        self._set(self.trace)  # some frames are followed in Python now: the rest of the test, too

    def _share(self, theirs: Tracer) -> None:
        self._go_on_in_python(_frame(2))
        super()._share(theirs)


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
