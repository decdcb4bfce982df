"""Null and must-die controls: whether the measurement measures anything, and which tests may speak in it.

Belongs here: when a control is owed, and what its failure means. A control that does not hold in a fork sends its
mutants to disk; one that does not hold there makes them inconclusive. Does not belong here: mutants (trials).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from repro_gate.gates.fail_to_pass.case import Bench
from repro_gate.gates.mutation.asking import Asking, outermost
from repro_gate.gates.mutation.observed import Observed, observe
from repro_gate.model import Control, ControlKind, Ending, Mutant, Site, Way

_Key = tuple[Way, str, str, int, tuple[str, ...]]
_Tried = tuple[Mutant, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Ground:
    """What a mutant stands on: its tests, and which of them may speak. ``why`` is why nothing can be learnt, or empty.

    ``eligible`` ones passed, ``silent`` ones were skipped or expected to fail: those tell something only by failing.
    ``exposed`` are tests that do not pass when so selected, though nothing is mutated; ``uncollected`` files that
    cannot be collected. ``unsteady``: a process has tests that head's run had not, so other ones are no sign.
    """

    tests: tuple[str, ...]
    eligible: frozenset[str] = frozenset()
    silent: frozenset[str] = frozenset()
    exposed: tuple[str, ...] = ()
    uncollected: frozenset[str] = frozenset()
    unsteady: bool = False
    why: str = ""

    @property
    def telling(self) -> frozenset[str]:
        """Whose failure tells something."""
        return self.eligible | self.silent


@dataclass(kw_only=True)
class Controls:
    """Runs controls when they are first needed, and keeps them. ``log`` has each of them."""

    bench: Bench
    asking: Asking
    log: list[Control] = field(default_factory=list)
    _grounds: dict[_Key, Ground] = field(default_factory=dict)
    _died: dict[tuple[Way, str], bool] = field(default_factory=dict)
    _ignored: set[tuple[Way, str]] = field(default_factory=set)

    def grounds(self, mutants: Sequence[Mutant], way: Way) -> dict[str, Ground]:
        """By mutant's id, after running what controls are missing."""
        tried = [(mutant, self.asking.case.selection(mutant, way)) for mutant in mutants]
        self._run_nulls(tried, way)
        self._run_must_die(tried, way)
        found: dict[str, Ground] = {}
        for mutant, tests in tried:
            ground = self._grounds[_key(mutant, tests, way)]
            if not ground.why and not self._died.get((way, mutant.file), False):
                ground = Ground(tests=tests, exposed=ground.exposed, why=f"no test notices that {mutant.file} raises")
            found[mutant.id] = ground
        return found

    def owed(self, tried: Sequence[_Tried], way: Way) -> tuple[float, float]:
        """Seconds of the null controls that these mutants still need on their tests, and of those that must die,
        should it take all of their tests.
        """
        nulls = {_key(*each, way=way): each[1] for each in tried}
        must_die = {mutant.file: tests for mutant, tests in tried if (way, mutant.file) not in self._died}
        missing = (tests for key, tests in nulls.items() if key not in self._grounds)
        return sum(map(self.asking.seconds, missing)), sum(map(self.asking.seconds, must_die.values()))

    def nobody_reads(self, file: str, way: Way) -> bool:
        """Whether each test did as on head though the whole file raised."""
        return (way, file) in self._ignored

    def spare_null(self, mutants: Iterable[Mutant], way: Way, seen: Observed) -> None:
        """Where every test passed with these mutants there is nothing that a null control could excuse.

        None is run then.
        """
        for mutant in mutants:
            tests = self.asking.case.selection(mutant, way)
            self._grounds.setdefault(_key(mutant, tests, way), self._ground(seen, tests))

    def _run_nulls(self, tried: Iterable[_Tried], way: Way) -> None:
        owed = {_key(*each, way=way): each for each in tried}
        owed = {key: each for key, each in owed.items() if key not in self._grounds}
        for _ in range(2):  # a process that is lost once says nothing
            pending = [key for key in owed if key not in self._grounds or self._grounds[key].why.startswith(_LOST)]
            requests = [self.asking.null(mutant, way, tests) for mutant, tests in map(owed.__getitem__, pending)]
            for key, result in zip(pending, self.bench.run(requests) if requests else [], strict=True):
                _, tests = owed[key]
                self._grounds[key] = self._ground(observe(result, tests), tests)
        for key, (mutant, tests) in owed.items():
            ground = self._grounds[key]
            kind = ControlKind.NULL
            self._note(kind, mutant, way, tests, not (ground.why or ground.exposed), ground.why, ground.exposed)

    def _run_must_die(self, tried: Sequence[_Tried], way: Way) -> None:
        """One function of each file after another, until one is missed: some may rightly be missed by nobody."""
        waiting = {mutant.file: self._candidates(mutant.file, tried, way) for mutant, _ in tried}
        waiting = {file: each for file, each in waiting.items() if (way, file) not in self._died}
        last: dict[str, tuple[Mutant, tuple[str, ...], str]] = {}
        while waiting:
            due = {file: each for file, candidates in waiting.items() if (each := next(candidates, None)) is not None}
            waiting = {file: each for file, each in waiting.items() if file in due}
            requests = [
                self.asking.raising(mutant, way, tests, self._grounds[_key(mutant, tests, way)].eligible)
                for mutant, tests in due.values()
            ]
            for (file, (mutant, tests)), result in zip(
                due.items(), self.bench.run(requests) if requests else [], strict=True
            ):
                seen = observe(result, tests)
                ground = self._grounds[_key(mutant, tests, way)]
                not_started = way is not Way.FORK and result.ending is Ending.NOT_STARTED
                died = not_started or (
                    seen.swapped
                    and not seen.broken
                    and any(test in ground.eligible and seen.outcome(test).bad for test in tests)
                )
                last[file] = mutant, tests, "" if died else seen.broken or "every test passed"
                if way is not Way.FORK and not (seen.broken or any(seen.outcome(test).bad for test in tests)):
                    self._ignored.add((way, file))
                if died:
                    self._died[way, file] = True
                    waiting.pop(file, None)
        for file, (mutant, tests, why) in last.items():
            self._died.setdefault((way, file), False)
            self._note(ControlKind.MUST_DIE, mutant, way, tests, not why, why)

    def _ground(self, seen: Observed, tests: tuple[str, ...]) -> Ground:
        if not seen.swapped:
            return Ground(tests=tests, why="its code could not be exchanged in a fork")
        if seen.broken:
            return Ground(tests=tests, why=_LOST + seen.broken)
        case = self.asking.case
        eligible = frozenset(test for test in tests if case.may_tell(test) and seen.passed(test))
        silent = frozenset(test for test in tests if case.may_break_its_silence(test) and seen.calm(test))
        exposed = tuple(test for test in tests if case.may_tell(test) and test not in eligible)
        why = "" if eligible else "no test passes when they are run for it, though nothing is mutated"
        return Ground(
            tests=tests,
            eligible=eligible,
            silent=silent,
            exposed=exposed,
            uncollected=seen.uncollected,
            unsteady=not case.outcomes.keys() >= frozenset(seen.others),
            why=why,
        )

    def _candidates(self, file: str, tried: Sequence[_Tried], way: Way) -> Iterator[_Tried]:
        """Mutants of a file, one for each function: those that are at hand first, then the case's others."""
        case = self.asking.case
        mutants = [mutant for mutant, _ in tried if mutant.file == file]
        if way is Way.FORK:
            mutants += [each for each in case.mutants if each.file == file and each.site is Site.CALL]
        seen: set[tuple[str, int]] = set()
        for mutant in mutants:
            place = (mutant.qualname, mutant.first_line) if way is Way.FORK else ("", 0)
            tests = case.selection(mutant, way)
            if place in seen or not tests:
                continue
            self._run_nulls([(mutant, tests)], way)
            if not self._grounds[_key(mutant, tests, way)].why:
                seen.add(place)
                yield mutant, tests

    def _note(
        self,
        kind: ControlKind,
        mutant: Mutant,
        way: Way,
        tests: tuple[str, ...],
        held: bool,
        why: str,
        exposed: tuple[str, ...] = (),
    ) -> None:
        file = mutant.file
        self.log.append(Control(kind=kind, file=file, way=way, tests=len(tests), held=held, why=why, exposed=exposed))


_LOST = "its null control could not be run: "


def _key(mutant: Mutant, tests: tuple[str, ...], way: Way) -> _Key:
    if way is Way.FORK:
        return way, mutant.file, outermost(mutant.qualname), mutant.first_line, tests
    return way, mutant.file, "", 0, tests
