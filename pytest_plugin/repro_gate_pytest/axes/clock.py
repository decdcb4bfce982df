"""clock: the wall clock moved to an instant and running on from there; monotonic clocks untouched.

``2028-02-29T12:00:00`` is a local time. A leading ``~`` lets the instant pass between two
readings of one test: its first reading comes half a millisecond before it, the second after it
(``~~``: the second and third, if they follow each other within 20 ms). Time between readings
passes as it really does, but for that step forward. No day has two midnights, so only the first
test of a process that reads the clock meets it; those after it go on from there. What is read before,
at import, is minutes before it, and the time of a new file that is seen first half a second
(``filetimes``). Not moved: child processes, SQLite's own clock; a finding that rests on the
difference is dropped by the gate's benign move.
"""

from __future__ import annotations

import datetime
import sys
import time
from collections.abc import Mapping
from typing import Any, Callable

from repro_gate_pytest import patching
from repro_gate_pytest.axes.base import Axis
from repro_gate_pytest.axes.filetimes import FileTimes

_mktime = time.mktime
# Nanoseconds before the instant at which the first reading stands, by the number of tildes.
_BEFORE = (0, 500_000, 20_000_000)
_SEEN = 500_000_000  # the same for the time of a file that is seen before the clock is read
_ANOTHER = "_time_machine"
_FUNCTIONS = (
    "time",
    "time_ns",
    "localtime",
    "gmtime",
    "ctime",
    "asctime",
    "strftime",
    "clock_gettime",
    "clock_gettime_ns",
)
_LEAD = 300 * 10**9  # nanoseconds from the start of the process to the instant, for what is read before


class Clock(Axis):
    """Axis ``clock``."""

    name = "clock"

    def __init__(self) -> None:
        self._real: Callable[[], float] = time.time
        self._real_ns: Callable[[], int] = time.time_ns
        self._offset = 0  # nanoseconds
        self._moved = False
        self._reads = 0
        self._target = 0
        self._cross_after = 0  # readings of the test that crosses; 0 where none is to cross
        self._testing = False
        self._gave_way = False
        self._files = FileTimes(self._read_real, self._shown_offset)

    def install(self) -> list[str]:
        sys.meta_path.insert(0, _Lookout(_ANOTHER, self._give_way))
        timing = sys.modules.get("_pytest.timing")
        notes: list[str] = []
        in_place = patching.replace_function(time, "time", self._make_time)
        patching.replace_function(time, "time_ns", self._make_time_ns)
        for name in ("localtime", "gmtime", "ctime"):
            patching.replace_function(time, name, self._make_converter)
        patching.replace_function(time, "asctime", lambda original: self._make_formatter(original, 0))
        patching.replace_function(time, "strftime", lambda original: self._make_formatter(original, 1))
        patching.replace_function(time, "clock_gettime", lambda original: self._make_gettime(original, self._now))
        patching.replace_function(time, "clock_gettime_ns", lambda original: self._make_gettime(original, self._now_ns))
        if not patching.replace_classmethod(datetime.datetime, "now", self._make_now):
            notes.append("datetime.now cannot be moved on this interpreter: the clock axis is partial")
        patching.replace_classmethod(datetime.datetime, "utcnow", self._make_utcnow)
        if timing is not None and in_place:
            timing.time = self._real  # type: ignore[attr-defined]  # pytest's own readings are not the test's
        return notes

    def apply(self, conditions: Mapping[str, Any]) -> None:
        value = conditions["clock"] if not self._gave_way else "real"
        self._offset, self._moved, self._cross_after, self._testing = 0, False, 0, False
        self._files.end()
        _by_python(value != "real")
        if value == "real":
            return
        instant = datetime.datetime.fromisoformat(value.lstrip("~"))
        self._moved = True
        self._cross_after = min(len(value) - len(value.lstrip("~")), len(_BEFORE) - 1)
        self._target = int(_mktime(instant.timetuple())) * 10**9 + instant.microsecond * 1000
        self._offset = self._target - (_LEAD if self._cross_after else 0) - self._real_ns()
        self._files.begin()

    def notes(self) -> list[str]:
        return ["the clock is not moved: time-machine is there, which moves it as well"] if self._gave_way else []

    def _give_way(self) -> None:
        """time-machine keeps the C functions that it finds and calls them as such: they must be the real ones."""
        self._gave_way = True
        self._moved, self._offset = False, 0
        self._files.end()
        for name in _FUNCTIONS:
            patching.restore(time, name)
        for name in ("now", "utcnow"):
            patching.restore(datetime.datetime, name)

    def before_test(self, key: str) -> None:
        if self._testing and self._reads:
            self._cross_after = 0  # the test before this one had the instant
        self._reads = 0
        self._testing = True

    def touched(self) -> bool:
        return self._reads > 0

    def _now_ns(self) -> int:
        self._reads += 1
        if self._cross_after and self._testing:
            if self._reads == 1:
                # Just before the instant however long the test took to get here, but never backwards.
                self._pass(self._target - _BEFORE[self._cross_after])
            elif self._reads == self._cross_after + 1:
                self._pass(self._target + _BEFORE[1])
        return self._real_ns() + self._offset

    def _pass(self, instant: int) -> None:
        """Let time go on to an instant, unless it is over."""
        self._offset = max(self._offset, instant - self._real_ns())

    def _shown_offset(self) -> int:
        """By how much a file's time is moved. Who sees it soon reads the clock, but pytest looks at files, too."""
        if self._cross_after and self._testing and not self._reads:
            self._pass(self._target - _SEEN)
        return self._offset

    def _read_real(self) -> int:
        return self._real_ns()

    def _now(self) -> float:
        return self._now_ns() / 1e9

    def _make_time(self, original: Callable[[], float]) -> Callable[..., float]:
        self._real = original

        def read(*args: Any) -> float:
            self._reads += 1
            if self._moved and not args:
                self._reads -= 1
                return self._now()
            return original(*args)

        return read

    def _make_time_ns(self, original: Callable[[], int]) -> Callable[..., int]:
        self._real_ns = original

        def read(*args: Any) -> int:
            if self._moved and not args:
                return self._now_ns()
            self._reads += 1
            return original(*args)

        return read

    def _make_converter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def convert(*args: Any) -> Any:
            if args and args[0] is not None:
                return original(*args)
            if self._moved:
                return original(self._now())
            self._reads += 1
            return original()

        return convert

    def _make_formatter(self, original: Callable[..., Any], position: int) -> Callable[..., Any]:
        def form(*args: Any) -> Any:
            if self._moved and len(args) == position:
                return original(*args, time.localtime(self._now()))
            if len(args) == position:
                self._reads += 1
            return original(*args)

        return form

    def _make_gettime(self, original: Callable[..., Any], moved: Callable[[], Any]) -> Callable[..., Any]:
        def gettime(*args: Any) -> Any:
            if args != (time.CLOCK_REALTIME,):
                return original(*args)
            if self._moved:
                return moved()
            self._reads += 1
            return original(*args)

        return gettime

    def _make_now(self, descriptor: Any) -> Callable[..., Any]:
        from_timestamp = datetime.datetime.__dict__["fromtimestamp"]

        def now(cls: Any, *args: Any, **kwargs: Any) -> Any:
            tz = args[0] if args else kwargs.get("tz")
            usual = len(args) + len(kwargs) <= 1 and (args or "tz" in kwargs or not kwargs)
            if self._moved and usual and (tz is None or isinstance(tz, datetime.tzinfo)):
                return from_timestamp.__get__(None, cls)(self._now(), tz)
            self._reads += 1
            return descriptor.__get__(None, cls)(*args, **kwargs)

        return now

    def _make_utcnow(self, descriptor: Any) -> Callable[..., Any]:
        epoch = datetime.datetime(1970, 1, 1)

        def utcnow(cls: Any, *args: Any) -> Any:
            self._reads += 1
            real = descriptor.__get__(None, cls)(*args)  # also its DeprecationWarning, with our caller's line
            if not self._moved:
                return real
            self._reads -= 1
            then = epoch + datetime.timedelta(microseconds=self._now_ns() // 1000)
            return cls(then.year, then.month, then.day, then.hour, then.minute, then.second, then.microsecond)

        return utcnow


class _Lookout:
    """A finder that finds nothing: it says when a module is about to be looked for."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self._name = name
        self._then = then

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        """Leave it to the other finders."""
        if name == self._name:
            self._then()


def _by_python(moved: bool) -> None:
    """uuid1 asks a C library for the time; without that library it asks Python's clock."""
    uuid: Any = sys.modules.get("uuid")
    if uuid is not None and hasattr(uuid, "_generate_time_safe"):
        kept = uuid.__dict__.setdefault("_repro_gate_kept", uuid._generate_time_safe)
        uuid._generate_time_safe = None if moved else kept
