"""What the gate is given: the mutants of a change, what is known of the tests, and how much may be run.

Belongs here: the gate's inputs as values, and the choice of tests for a mutant. Does not belong here: where they come
from (pipeline).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from repro_gate.model import Finding, Mutant, Outcome, Site, Waiver, Way

GATE = "mutation"
_MOST_BESIDE = (
    100  # tests of the change that a mutant is also tried on: more of them are asked in the run of the whole suite
)
_ENDED = (Outcome.TIMEOUT, Outcome.CRASHED, Outcome.NOT_RUN)
_COMPANY_SECONDS = 0.25
SILENT = (Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A change as the gate sees it. Paths are relative to the tree and posix.

    ``mutants`` stand in the order in which they are to be tried; ``beyond`` are further ones, without texts, for which
    there is no room. ``covering`` gives the tests that run a mutant's lines (of one that runs at import: any line of
    its file), in collection order. ``outcomes`` and ``seconds`` are the instrumented run's, in collection order;
    ``covered`` are whole statements that tests ran in it, ``lines_at_import`` those that ran while modules were
    imported, ``lines_in_children`` those that only child processes ran. ``texts`` are head's; ``changed`` the changed
    lines with their text, and ``unmutated`` why some of them got no mutant; ``statements`` are by line all lines of
    its statement, where it has several. ``remarks`` are findings of the waivers' readers. ``report`` is where
    report.json will be, seen from where the user is, or empty. ``partial`` says why the instrumented run is not whole,
    or is empty.
    """

    mutants: tuple[Mutant, ...]
    beyond: tuple[Mutant, ...] = ()
    covering: Callable[[Mutant], tuple[str, ...]]
    outcomes: Mapping[str, Outcome]
    seconds: Mapping[str, float]
    texts: Mapping[str, str]
    changed: Mapping[str, Mapping[int, str]]
    covered: Mapping[str, frozenset[int]] = field(default_factory=dict)
    lines_at_import: Mapping[str, frozenset[int]] = field(default_factory=dict)
    lines_in_children: Mapping[str, frozenset[int]] = field(default_factory=dict)
    unmutated: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    statements: Mapping[str, Mapping[int, frozenset[int]]] = field(default_factory=dict)
    new_tests: frozenset[str] = frozenset()
    flaky: frozenset[str] = frozenset()
    waivers: tuple[Waiver, ...] = ()
    remarks: tuple[Finding, ...] = ()
    seed: str = ""
    command: str = ""
    report: str = ""
    partial: str = ""

    def statement(self, mutant: Mutant) -> int:
        """The first line of the statement that a mutant changes."""
        return min(self.statements.get(mutant.file, {}).get(mutant.line, ()), default=mutant.line)

    def may_tell(self, test: str) -> bool:
        """Whether a failure of a test says anything: it passed in the instrumented run and is not known as flaky."""
        return self.outcomes.get(test) is Outcome.PASSED and test not in self.flaky

    def may_break_its_silence(self, test: str) -> bool:
        """Whether a test that says nothing on head, since it is skipped or expected to fail, can only be heard by
        failing.
        """
        return self.outcomes.get(test) in SILENT and test not in self.flaky

    def is_heard(self, test: str) -> bool:
        """Whether a test that fails with a mutant says anything of it."""
        return self.may_tell(test) or self.may_break_its_silence(test)

    def runs_at_import(self, mutant: Mutant) -> bool:
        """Whether code of a mutant runs while its module is imported: then no exchange in a fork is early enough."""
        at_import = self.lines_at_import.get(mutant.file, frozenset())
        return mutant.site is Site.IMPORT or not at_import.isdisjoint(mutant.lines)

    def seen_to_run(self, mutant: Mutant) -> bool:
        """Whether any of it, or of what its module does when it is imported, ran in the instrumented run."""
        return bool(self.covering(mutant) or self.lines_at_import.get(mutant.file))

    def runs_in_children(self, mutant: Mutant) -> bool:
        """Whether only child processes of tests run it: they read the file, whatever a fork exchanges."""
        return not self.lines_in_children.get(mutant.file, frozenset()).isdisjoint(mutant.lines)

    def selection(self, mutant: Mutant, way: Way) -> tuple[str, ...]:
        """The tests that a mutant is tried on, in order."""
        if way is Way.SUITE:
            return self.suite
        covering = self.covering(mutant)
        beside = self.new_tests if way is Way.DISK and len(self.new_tests) <= _MOST_BESIDE else ()
        return self.ordered({*covering, *beside})

    @property
    def suite(self) -> tuple[str, ...]:
        """All tests in collection order, as a run of the suite has them: what each leaves, the next may read.

        Those that ended their process on head are not among them, nor are those that flake.
        """
        return tuple(
            test for test, outcome in self.outcomes.items() if outcome not in _ENDED and test not in self.flaky
        )

    def in_company(self, tests: Sequence[str], last: str, way: Way, spared: Iterable[str] = ()) -> tuple[str, ...]:
        """A test behind those of ``tests`` and its neighbours that the suite has before it; of these as many as are
        cheap.

        On disk a process collects the files of ``tests`` alone: others may be long in coming. ``spared`` are no
        company.
        """
        suite = self.suite
        before = suite[: suite.index(last)] if last in suite else ()
        files = {test.partition("::")[0] for test in tests}
        wanted, left_out, seconds = set(tests), frozenset(spared), 0.0
        for test in reversed(before):
            if test in left_out or (way is not Way.FORK and test.partition("::")[0] not in files):
                continue
            seconds += self.seconds.get(test, 0.0)
            if seconds > _COMPANY_SECONDS:
                break
            wanted.add(test)
        return (*(test for test in before if test in wanted), last)

    def ordered(self, tests: Iterable[str]) -> tuple[str, ...]:
        """Those that may tell, in collection order, the change's own last: then older tests get the kill."""
        wanted = frozenset(tests)
        told = [test for test in self.outcomes if test in wanted and self.may_tell(test)]
        return tuple(sorted(told, key=lambda test: test in self.new_tests))


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """How much is run and how strict the answer is. ``clock`` tells monotonic seconds, ``today`` judges waivers.

    ``allowed_survivors`` None: any number, which are shown; ``min_score`` is a share from 0 to 1 or None. A test may
    take ``factor`` times what it took, and at least ``least_seconds``. ``batch`` mutants are in flight at a time.
    """

    today: datetime.date
    clock: Callable[[], float]
    budget_seconds: float = 600.0
    allowed_survivors: int | None = 0
    min_score: float | None = None
    max_waivers: int = 5
    max_timeouts: int = 3
    most_inconclusive: float = 0.05
    least_for_score: int = 10
    least_seconds: float = 10.0
    factor: float = 10.0
    memory_bytes: int = 0
    batch: int = 8
