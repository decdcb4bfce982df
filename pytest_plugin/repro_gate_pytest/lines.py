"""Which lines ran, and where branches led: during each test, and while modules were imported.

Belongs here: tracing of watched files (some of their lines) and of recorded ones (all lines, and the arcs from lines
that can branch), and of no other. Python 3.12 and later have ``sys.monitoring``, where a line costs once per test;
before that, trace functions (``tracing``). Child processes record by themselves (``offspring``). How code branches is
in ``arcs``.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from types import CodeType
from typing import Any, Callable

from repro_gate_pytest import native
from repro_gate_pytest.arcs import Branching
from repro_gate_pytest.tracing import Native, Tracing
from repro_gate_pytest.watching import File

_realpath = os.path.realpath
_basename = os.path.basename
_frame = sys._getframe
_id = id
_TOOLS = (4, 3, 5, 2)  # ids of sys.monitoring that debuggers and coverage do not take first
_MOST_FRAMES = 100_000  # of code that is followed line by line; those that ended by an exception are left behind

Ran = dict[str, tuple[frozenset[int], frozenset[tuple[int, int]]]]


class Lines:
    """Watches files below ``root``: of those in ``watch`` (path to lines) these lines, of those in ``record`` all.

    ``libraries`` are directories that may hold coverage.py's tracer, for a Python without ``sys.monitoring``.
    """

    def __init__(
        self, root: str, watch: Mapping[str, Any], record: Iterable[str] = (), libraries: Sequence[str] = ()
    ) -> None:
        below = _realpath(root)
        files = [File(path, frozenset(watch[path])) for path in watch] + [File(path, None) for path in record]
        self._wanted = {os.path.join(below, *file.path.split("/")): file for file in files}
        self._names = frozenset(_basename(file.path) for file in files)
        self._files = sorted(files, key=lambda file: file.path)
        self._libraries = libraries
        self._root = below
        self._engine: _Monitoring | Tracing | None = None
        self._handed_out = False

    def start(self) -> str:
        """Watch from now on; returns how (an empty string where nothing is watched)."""
        if not self._wanted:
            return ""
        monitoring = _Monitoring(self) if hasattr(sys, "monitoring") else None
        if monitoring is not None and monitoring.start():
            self._engine = monitoring
            return "monitoring"
        self._engine = self._tracing()
        self._engine.start()
        return self._engine.name

    def stop(self) -> None:
        """Watch no more: nobody will ask what runs from here on."""
        if self._engine is not None:
            self._engine.stop()
            self._engine = None

    @property
    def at_work(self) -> bool:
        """Whether anything is watched now."""
        return self._engine is not None

    def _tracing(self) -> Tracing:
        """By the fastest means that is there."""
        # The one in C tells what it saw when it is asked; a child process is asked by nobody.
        library = None if self._handed_out else native.find(self._libraries, self._root)
        return Tracing(self.of) if library is None else Native(self.of, library)

    def begin(self) -> None:
        """A test begins."""
        for file in self._files:
            file.lines.clear()
            file.arcs.clear()
        if self._engine is not None:
            self._engine.rearm()

    def end(self) -> dict[str, Any]:
        """What ran since ``begin`` (or since the start): lines by path; of recorded files as ranges, with arcs."""
        if self._engine is not None:
            self._engine.drain()
        ran = [file for file in self._files if file.lines]
        lines = {file.path: sorted(file.lines) for file in ran if file.wanted is not None}
        for file in ran:
            file.arcs.update(file.implied[line] for line in file.implied.keys() & file.lines)
        recorded = {file.path: [ranges(file.lines), _pairs(file.arcs)] for file in ran if file.wanted is None}
        return {**({"lines": lines} if lines else {}), **({"ran": recorded} if recorded else {})}

    def recorded(self) -> Ran:
        """What ran of recorded files since ``begin``, to be kept."""
        if self._engine is not None:
            self._engine.drain()
        ran = (file for file in self._files if file.wanted is None and file.lines)
        return {file.path: (frozenset(file.lines), frozenset(file.arcs)) for file in ran}

    def add(self, ran: Ran) -> None:
        """Have it run in this test, too."""
        for file in self._files:
            if file.wanted is None and file.path in ran:
                file.lines.update(ran[file.path][0])
                file.arcs.update(ran[file.path][1])

    def hand_out(self, sets: Callable[[File], tuple[set[int], set[tuple[int, int]]]]) -> None:
        """In another process than before: what runs of recorded files goes into these sets."""
        self._handed_out = True
        for file in self._files:
            if file.wanted is None:
                file.lines, file.arcs = sets(file)
        if self._engine is not None:
            self._engine = self._engine.gone_on()

    def of(self, filename: str) -> File | None:
        """The watched or recorded file that has this name, or None."""
        if _basename(filename) not in self._names:
            return None
        return self._wanted.get(filename) or self._wanted.get(_realpath(filename))


def ranges(lines: Iterable[int]) -> str:
    """Lines as ``1-3,7``: suites are large, and most lines run beside others."""
    runs: list[list[int]] = []
    for line in sorted(lines):
        if line <= 0:
            continue  # what the compiler adds to a module belongs to no line of it
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return ",".join("%d" % first if first == last else "%d-%d" % (first, last) for first, last in runs)


def _pairs(arcs: Iterable[tuple[int, int]]) -> str:
    """Arcs as ``3>4,3>-1``."""
    return ",".join("%d>%d" % arc for arc in sorted(arcs) if arc[1])


class _Monitoring:
    """sys.monitoring: functions of watched files are noticed at their first start, once.

    A line is reported once for each test. Of a branch both ways must be seen before it can be left alone. What can
    branch without an instruction that does (``arcs``) is followed line by line, frame by frame.
    """

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._api: Any = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        self._disable = self._api.DISABLE
        self._tool = -1
        # By identity: to hash a code object is to hash all of its bytes. ``_kept`` lets no identity be used twice.
        self._files: dict[int, File] = {}
        self._branching: dict[int, Branching] = {}
        self._kept: list[CodeType] = []
        self._spent: dict[int, CodeType] = {}
        self._ways: dict[tuple[int, int], int] = {}
        self._last: dict[int, int] = {}

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
        self._api.register_callback(self._tool, events.BRANCH, self._branches)
        self._api.register_callback(self._tool, events.PY_RETURN, self._function_returns)
        self._api.set_events(self._tool, events.PY_START)
        return True

    def stop(self) -> None:
        self._api.set_events(self._tool, 0)
        for code in self._kept:
            self._api.set_local_events(self._tool, code, 0)

    def drain(self) -> None:
        """Nothing is left to be brought anywhere: files are told at once."""

    def gone_on(self) -> _Monitoring:
        """In a forked process: what was reported before is new there."""
        self.rearm()
        return self

    def rearm(self) -> None:
        """A line is reported once; let those of the last test be reported again."""
        local = self._api.set_local_events
        for code in self._spent.values():
            local(self._tool, code, 0)
            local(self._tool, code, self._events(code))
        self._spent.clear()
        self._ways.clear()

    def _events(self, code: CodeType) -> int:
        events = self._api.events
        branching = self._branching.get(_id(code))
        if branching is None:
            return int(events.LINE)
        if branching.stepwise:
            return int(events.LINE | events.PY_START | events.PY_RETURN)
        return int(events.LINE | events.BRANCH) if branching.jumps else int(events.LINE)

    def _function_starts(self, code: CodeType, _offset: int) -> Any:
        key = _id(code)
        if key not in self._files:
            file = self._lines.of(code.co_filename)
            if file is None:
                return self._disable
            self._kept.append(code)
            if file.wanted is None:
                self._branching[key] = Branching(code)
                file.implied.update(self._branching[key].implied)
            self._files[key] = file
            self._api.set_local_events(self._tool, code, self._events(code))
        branching = self._branching.get(key)
        if branching is None or not branching.stepwise:
            return self._disable
        self._last[_id(_frame(1))] = 0
        return None

    def _line_runs(self, code: CodeType, line: int) -> Any:
        key = _id(code)
        file = self._files[key]
        branching = self._branching.get(key)
        if branching is not None and branching.stepwise:
            frame = _id(_frame(1))
            last = self._last.get(frame, 0)
            if last:
                file.arcs.add((last, line))
            elif len(self._last) > _MOST_FRAMES:
                self._last.clear()
            self._last[frame] = line
            file.lines.add(line)
            return None
        if file.wanted is None or line in file.wanted:
            file.lines.add(line)
            self._spent[key] = code
        return self._disable

    def _branches(self, code: CodeType, offset: int, destination: int) -> Any:
        key = _id(code)
        place = (key, offset)
        before = self._ways.get(place)
        if before == destination:
            return None
        self._ways[place] = destination
        branching = self._branching[key]
        arc = branching.arc(offset, destination)
        if arc is not None:
            self._files[key].arcs.add(arc)
        self._spent[key] = code
        return self._disable if before is not None or branching.settled(offset, destination) else None

    def _function_returns(self, code: CodeType, _offset: int, _value: object) -> Any:
        last = self._last.pop(_id(_frame(1)), 0)
        if last:
            self._files[_id(code)].arcs.add((last, -code.co_firstlineno))
