"""A mutant of a changed line, what testing it came to, and what a whole change's mutants came to."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from repro_gate.model.verdict import CapsuleRef


class Site(enum.StrEnum):
    """When a mutant's code runs: in calls (its code object can be exchanged in a fork),
    or while the module is imported.
    """

    CALL = "call"
    IMPORT = "import"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One small change of one file. ``line`` to ``end_line`` is the span of what is replaced, from 1, as of head.

    ``id`` is made of file, ``qualname`` (``Outer.method``, empty at module level), ``original``, ``mutated`` and
    ``nth`` (its number among equal ones in that function): it stays when lines move. ``text`` is the whole file,
    mutated; ``first_line`` the line at which the outermost function that holds it begins in head's file (its
    ``co_firstlineno``, so decorators count), 0 where ``site`` is IMPORT. ``hint`` says what input tells it from the
    original.
    """

    id: str
    file: str
    line: int
    end_line: int
    operator: str
    qualname: str
    original: str
    mutated: str
    nth: int
    site: Site
    text: str
    first_line: int = 0
    hint: str = ""

    @property
    def lines(self) -> range:
        """The numbers of its lines."""
        return range(self.line, self.end_line + 1)


class MutantOutcome(enum.StrEnum):
    """What testing a mutant came to. Only KILLED, SURVIVED and TIMEOUT are measurements."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMEOUT = "timeout"
    INCONCLUSIVE = "inconclusive"

    @property
    def measured(self) -> bool:
        """Whether it says something about the tests."""
        return self is not MutantOutcome.INCONCLUSIVE

    @property
    def detected(self) -> bool:
        """Whether the tests notice the mutant."""
        return self in (MutantOutcome.KILLED, MutantOutcome.TIMEOUT)


@dataclass(frozen=True, kw_only=True, slots=True)
class MutantResult:
    """What became of one mutant. ``killed_by`` are tests that passed without it and failed with it, twice;
    empty where pytest itself crashes with it.

    ``by_new_test``: only tests of this change kill it. ``confirmed``: seen on disk in a fresh process. ``tests`` is
    how many tests ran against it, ``why`` a sentence where the outcome needs one; ``selection`` are those tests, in
    order: the ones that run its lines, or all, where only all can tell; ``capsule`` holds all of this, of a survivor.
    """

    mutant: Mutant
    outcome: MutantOutcome
    killed_by: tuple[str, ...] = ()
    by_new_test: bool = False
    confirmed: bool = False
    tests: int = 0
    why: str = ""
    selection: tuple[str, ...] = ()
    capsule: CapsuleRef | None = None

    @property
    def by_a_crash_outside(self) -> bool:
        """Whether no test has the kill: with the mutant pytest itself does not start, or ends between two tests."""
        return self.outcome is MutantOutcome.KILLED and not self.killed_by


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiver:
    """A mutant, or all on some lines of a file, that a person let live, with the reason.

    ``expires`` is an ISO date or empty.
    """

    file: str
    reason: str
    mutant: str = ""
    lines: frozenset[int] = frozenset()
    expires: str = ""
    new: bool = False


class Untested(enum.StrEnum):
    """Why a mutant was not tested."""

    NOT_COVERED = "not-covered"
    NO_STABLE_TEST = "no-stable-test"
    WAIVED = "waived"
    BUDGET = "budget"


@dataclass(frozen=True, kw_only=True, slots=True)
class NotTested:
    """A mutant that nobody tried, and why."""

    mutant: Mutant
    reason: Untested
    why: str = ""


class AccountState(enum.StrEnum):
    """What mutation says of one changed line."""

    MUTATED = "mutated"
    COVERED_ONLY = "covered-only"
    NO_OPERATOR = "no-operator"
    IMPORT_TIME = "import-time"
    PRAGMA = "pragma"
    ARID = "arid"
    NOT_COVERED = "not-covered"
    MOVED = "moved"
    WHITESPACE = "whitespace"


@dataclass(frozen=True, kw_only=True, slots=True)
class AccountLine:
    """A changed line and its state; ``why`` where the state does not say all."""

    file: str
    line: int
    text: str
    state: AccountState
    why: str = ""


class ControlKind(enum.StrEnum):
    """A control of the measurement: code as it is must pass, code that raises must fail."""

    NULL = "null"
    MUST_DIE = "must-die"


class Way(enum.StrEnum):
    """How mutants are tried: their code exchanged in a fork, or the file on disk in a fresh process,
    whose tests or all.
    """

    FORK = "fork"
    DISK = "disk"
    SUITE = "suite"


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """One control for one file: over how many ``tests``, whether it ``held``, and else why not.

    ``exposed`` are tests that do not pass when so selected, though nothing is mutated: they may not kill.
    """

    kind: ControlKind
    file: str
    way: Way
    tests: int
    held: bool
    why: str = ""
    exposed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class MutationReport:
    """All mutants of a change.

    ``tested`` and ``not_tested`` hold each of them once; ``account`` each changed line once. ``shown`` are ids of
    survivors that a reader is to look at first, ``interval`` that of the share detected (Clopper-Pearson, 95 %);
    ``sources`` are head's texts of mutated files; ``seed`` made the order. ``beyond`` counts, by why they were not
    tested, those that are in neither: a change has too many for a report of each.
    """

    tested: tuple[MutantResult, ...] = ()
    not_tested: tuple[NotTested, ...] = ()
    controls: tuple[Control, ...] = ()
    account: tuple[AccountLine, ...] = ()
    shown: tuple[str, ...] = ()
    interval: tuple[float, float] | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    seed: str = ""
    seconds: float = 0.0
    beyond: Mapping[Untested, int] = field(default_factory=dict)

    def left(self, reason: Untested) -> int:
        """How many were not tested for a reason."""
        return sum(each.reason is reason for each in self.not_tested) + self.beyond.get(reason, 0)

    @property
    def measured(self) -> tuple[MutantResult, ...]:
        """The results that say something about the tests."""
        return tuple(each for each in self.tested if each.outcome.measured)

    @property
    def survivors(self) -> tuple[MutantResult, ...]:
        """Those that no test notices, confirmed on disk."""
        return tuple(each for each in self.tested if each.outcome is MutantOutcome.SURVIVED and each.confirmed)

    @property
    def packed(self) -> tuple[MutantResult, ...]:
        """Those of which there is a capsule."""
        return tuple(each for each in self.tested if each.capsule is not None)

    @property
    def score(self) -> float | None:
        """The share of measured mutants that tests notice, 0 to 1; None where none was measured."""
        measured = self.measured
        return sum(each.outcome.detected for each in measured) / len(measured) if measured else None

    @property
    def testable(self) -> int:
        """How many mutants should have been tested: covered by tests that can tell, and not waived."""
        return len(self.tested) + self.left(Untested.BUDGET)
