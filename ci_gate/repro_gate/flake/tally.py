"""What a campaign has seen: a byte per test and run in memory, everything else on disk.

Memory stays flat however much tests print: failures, orders and evidence stream to one file per
run, and are read back only for the few tests that need a second look.
"""

from __future__ import annotations

import contextlib
import errno
import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from repro_gate.errors import DiskFull
from repro_gate.model import AXES, Conditions, Failure, Outcome, TestRun

_CODES = {outcome: code for code, outcome in enumerate(Outcome, start=1)}
_OUTCOMES = {code: outcome for outcome, code in _CODES.items()}
_MOST_SHARED_PATHS = 5000
_MOST_KEPT = 3


@dataclass(slots=True)
class Row:
    """One test: an outcome code per run (0: it was not part of that run)."""

    codes: bytearray = field(default_factory=bytearray)
    bad_at: list[tuple[int, int]] = field(default_factory=list)  # runs and offsets of failures on disk
    good: int = 0
    bad: int = 0
    longest: float = 0.0

    def outcomes(self) -> Iterator[tuple[int, Outcome]]:
        """Run numbers and outcomes, without runs it did not take part in."""
        return ((run, _OUTCOMES[code]) for run, code in enumerate(self.codes) if code)

    def count(self) -> tuple[int, int]:
        """Good and bad outcomes."""
        return self.good, self.bad

    def add(self, number: int, outcome: Outcome, seconds: float) -> None:
        """One outcome of one run; a second one of the same run replaces the first."""
        if len(self.codes) <= number:
            self.codes.extend(bytes(number + 1 - len(self.codes)))
        elif self.codes[number]:
            before = _OUTCOMES[self.codes[number]]
            self.good -= before.good
            self.bad -= before.bad
        self.codes[number] = _CODES[outcome]
        self.good += outcome.good
        self.bad += outcome.bad
        self.longest = max(self.longest, seconds)

    def forget(self, number: int) -> None:
        """A run that is not to be believed."""
        if number < len(self.codes) and self.codes[number]:
            before = _OUTCOMES[self.codes[number]]
            self.good -= before.good
            self.bad -= before.bad
            self.codes[number] = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A test in one run of the campaign: the conditions, and the tests before it in its process."""

    run: int
    conditions: Conditions
    before: tuple[str, ...]
    outcome: Outcome
    failure: Failure | None
    output: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Order:
    """Which tests one run ran, in order, and where each result lies in its file."""

    tests: list[str]
    offsets: array[int]
    starts: list[int]  # positions where a new process began
    positions: dict[str, int]

    @classmethod
    def read(cls, path: Path, known: Mapping[str, object]) -> _Order:
        names = {name: name for name in known}  # one string per test, however many runs
        tests: list[str] = []
        offsets = array("q")
        starts = [0]
        for offset, line in _lines(path):
            if line["o"] == Outcome.NOT_RUN:
                continue
            tests.append(names.get(line["id"], line["id"]))
            offsets.append(offset)
            if line["o"] in (Outcome.CRASHED, Outcome.TIMEOUT):
                starts.append(len(tests))  # the tests after it ran in a new process
        return cls(tests=tests, offsets=offsets, starts=starts, positions={test: at for at, test in enumerate(tests)})

    def before(self, position: int) -> tuple[str, ...]:
        start = max(start for start in self.starts if start <= position)
        return tuple(self.tests[start:position])


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Offset and content of each result, up to a line that was cut short."""
    if not path.exists():
        return
    with path.open("rb") as file:
        offset = 0
        for raw in file:
            try:
                line = json.loads(raw)
            except ValueError:
                return
            yield offset, line
            offset += len(raw)


class Tally:
    """Rows of a campaign, with a directory of raw results."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.rows: dict[str, Row] = {}
        self.conditions: list[Conditions] = []
        self.users: dict[str, dict[str, bool]] = {}  # shared path or port -> test -> whether it writes
        self._files: dict[int, IO[bytes]] = {}
        self._sizes: dict[int, int] = {}
        self._orders: dict[int, _Order] = {}
        self.tainted: set[int] = set()  # runs whose controls did not hold

    def register(self, tests: list[str]) -> None:
        """Make a row for each test that was collected."""
        for test in tests:
            self.rows.setdefault(test, Row())

    def begin(self, conditions: Conditions) -> int:
        """A run begins; returns its number."""
        self.conditions.append(conditions)
        return len(self.conditions) - 1

    def end(self, number: int, *, believed: bool = True) -> None:
        """A run is over. One whose controls did not hold is forgotten."""
        file = self._files.pop(number, None)
        if file is not None:
            self._guard(file.close)
        if not believed:
            self.tainted.add(number)
            for row in self.rows.values():
                row.forget(number)

    def hash_seeds(self) -> int:
        """How many hash seeds the runs had that are believed."""
        believed = (each for number, each in enumerate(self.conditions) if number not in self.tainted)
        return len({conditions.hash_seed for conditions in believed})

    def record(self, number: int, run: TestRun) -> None:
        """Take in one result. Raises DiskFull; what was taken in before stays."""
        row = self.rows.setdefault(run.id, Row())
        if run.outcome is not Outcome.NOT_RUN:
            row.add(number, run.outcome, run.seconds)
        line = (json.dumps(_line(run), separators=(",", ":")) + "\n").encode("ascii")
        offset = self._sizes.get(number, 0)
        self._sizes[number] = offset + len(line)
        self._guard(lambda: self._file(number).write(line))
        if run.outcome.bad and len(row.bad_at) < _MOST_KEPT:
            row.bad_at.append((number, offset))

    def _file(self, number: int) -> IO[bytes]:
        if number not in self._files:
            self._files[number] = self._path(number).open("ab")
        return self._files[number]

    def _path(self, number: int) -> Path:
        return self._directory / f"run-{number}.jsonl"

    def _guard(self, write: Callable[[], object]) -> None:
        try:
            write()
        except OSError as broken:
            if broken.errno == errno.ENOSPC:
                raise DiskFull(f"No space left for results in {self._directory}.") from broken
            raise

    def note_users(self, run: TestRun, shared: dict[str, bool]) -> None:
        """Remember which paths and ports outside its own temporary directory a test used."""
        for name, writes in shared.items():
            if name in self.users or len(self.users) < _MOST_SHARED_PATHS:
                users = self.users.setdefault(name, {})
                users[run.id] = users.get(run.id, False) or writes

    def failure(self, test: str) -> Failure | None:
        """How the test failed first, read back from disk."""
        for number, offset in self.rows[test].bad_at:
            line = self._line_at(number, offset)
            if number not in self.tainted and line is not None and "f" in line:
                return Failure.from_json(line["f"])
        return None

    def _flushed(self, number: int) -> Path:
        if number in self._files:
            self._guard(self._files[number].flush)
        return self._path(number)

    def _line_at(self, number: int, offset: int) -> dict[str, Any] | None:
        try:
            with self._flushed(number).open("rb") as file:
                file.seek(offset)
                line = json.loads(file.readline())
        except (OSError, ValueError, DiskFull):
            return None  # a line that a full disk cut short, or that it keeps from being written
        return line if isinstance(line, dict) else None

    def _order(self, number: int) -> _Order:
        """The tests of one run in the order they ran; kept, for more than one suspect asks."""
        if number in self._orders:
            return self._orders[number]
        order = _Order.read(self._flushed(number), self.rows)
        if number not in self._files:  # a run that still goes on grows
            self._orders[number] = order
        return order

    def sample(self, test: str, number: int) -> Sample | None:
        """The test's result in one run, with what ran before it in the same process."""
        order = self._order(number)
        position = order.positions.get(test)
        if position is None:
            return None
        line = self._line_at(number, order.offsets[position]) or {}
        return Sample(
            run=number,
            conditions=self.conditions[number],
            before=order.before(position),
            outcome=Outcome(line.get("o", "not_run")),
            failure=Failure.from_json(line["f"]) if "f" in line else None,
            output=str(line.get("out", "")),
        )

    def samples(self, test: str, *, bad: bool, most: int = 3) -> list[Sample]:
        """Up to ``most`` runs in which the test failed (or passed), earliest first."""
        found = []
        for number, outcome in self.rows[test].outcomes():
            if number not in self.tainted and (outcome.bad if bad else outcome.good):
                sample = self.sample(test, number)
                if sample is not None:
                    found.append(sample)
            if len(found) == most:
                break
        return found

    def likely(self, test: str, neutral: Conditions) -> tuple[str, ...]:
        """All axes, by how much more often the test failed where they were moved."""
        moved: dict[str, list[int]] = {axis: [0, 0] for axis in AXES}
        still: dict[str, list[int]] = {axis: [0, 0] for axis in AXES}
        for number, outcome in self.rows[test].outcomes():
            if not (outcome.good or outcome.bad):
                continue
            differing = self.conditions[number].differences(neutral)
            for axis in AXES:
                side = (moved if axis in differing else still)[axis]
                side[0] += outcome.bad
                side[1] += 1

        def contrast(axis: str) -> float:
            (bad, of), (rest_bad, rest_of) = moved[axis], still[axis]
            return abs((bad + 0.5) / (of + 1) - (rest_bad + 0.5) / (rest_of + 1))

        return tuple(sorted(AXES, key=lambda axis: -contrast(axis)))

    def close(self) -> None:
        """Close what is open; on a full disk the last lines may be lost, and that is known by then."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.close()
        self._files.clear()


def _line(run: TestRun) -> dict[str, Any]:
    line: dict[str, Any] = {"id": run.id, "o": str(run.outcome), "s": run.seconds}
    if run.failure is not None:
        line["f"] = run.failure.to_json()
        line["out"] = run.output
    elif run.output and run.outcome is Outcome.SKIPPED:
        line["out"] = run.output
    if run.touched:
        line["x"] = run.touched
    return line
