"""What a reader must act on: verdicts, causes, and the report of a campaign."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from repro_gate.model.conditions import Conditions
from repro_gate.model.outcome import Failure


class Verdict(enum.StrEnum):
    """What a campaign says of one test (docs/flake-check.md defines each word)."""

    STABLE = "stable"
    FLAKY = "flaky"
    CONDITION_DEPENDENT = "condition-dependent"
    ALWAYS_FAILING = "always-failing"
    NOT_JUDGED = "not-judged"


@dataclass(frozen=True, kw_only=True, slots=True)
class Intervention:
    """One row of a cause's table: one axis at one value, everything else held, and what came out."""

    what: str
    conditions: Conditions
    tests: tuple[str, ...]
    failed: int
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Cause:
    """The axis a test depends on, named by intervention, or None where no axis alone decides.

    ``role`` is ``victim`` or ``brittle`` for the order axis, else empty; ``others`` are the
    polluters or state-setters; ``detail`` says in words what matters.
    """

    axis: str | None
    detail: str
    role: str = ""
    others: tuple[str, ...] = ()
    table: tuple[Intervention, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CapsuleRef:
    """A written capsule: where, whether it is pinned, and its replays k of n.

    ``known``: an earlier run had written it.
    """

    path: str
    id: str
    pinned: bool
    determinism: str
    replayed: int
    of: int
    known: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class TestVerdict:
    """What is said of one test. ``upper_bound`` is the failure rate excluded at 95 % (one-sided).

    ``rate`` is the observed failure rate with ``interval`` (Wilson, 95 %) over the runs under
    the conditions that matter; None where nothing failed. ``own_doing``: it fails only by what
    the check itself does.
    """

    __test__ = False

    id: str
    verdict: Verdict
    runs: int
    failures: int
    seconds: float
    detail: str = ""
    cause: Cause | None = None
    rate: float | None = None
    interval: tuple[float, float] | None = None
    upper_bound: float | None = None
    failure: Failure | None = None
    output: str = ""
    capsule: CapsuleRef | None = None
    own_doing: bool = False

    @property
    def unconfirmed(self) -> bool:
        """Passed and failed, and nobody could say why: no finding, and nothing to be silent about."""
        return self.verdict is Verdict.NOT_JUDGED and 0 < self.failures < self.runs and not self.own_doing


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandboxing:
    """Where the tests ran, and what that did not guarantee."""

    name: str
    hermetic: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SkippedFile:
    """A file none of whose tests was collected, since it skips itself, in so many of the ``starts`` that met it."""

    file: str
    reason: str
    skipped: int
    starts: int

    @property
    def sometimes(self) -> bool:
        """Whether other starts collected its tests."""
        return self.skipped < self.starts


INTERRUPTED = "interrupted"  # why a campaign is incomplete that somebody stopped


@dataclass(frozen=True, kw_only=True, slots=True)
class FlakeReport:
    """A whole campaign. ``incomplete`` says why there is less than was asked for, or is empty.

    ``runs`` are those under drawn conditions, ``directed_runs`` those made on purpose after them
    (each test alone, again in the same directories, in company, under load, at other moments, …).
    Forks share the hash seed of their process: ``hash_seeds`` is how many there were.
    """

    seed: int
    runs: int
    tests: tuple[TestVerdict, ...]
    sandbox: Sandboxing
    mode: str
    mode_reason: str
    python: str
    pytest: str
    seconds: float
    directed_runs: int = 0
    hash_seeds: int = 0
    notes: tuple[str, ...] = ()
    skipped_files: tuple[SkippedFile, ...] = ()
    incomplete: str = ""
    root: str = ""
    commit: str = ""
    started_at: str = ""

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it."""
        return self.incomplete == INTERRUPTED

    def with_verdict(self, *verdicts: Verdict) -> tuple[TestVerdict, ...]:
        """The tests that were given one of these verdicts."""
        return tuple(t for t in self.tests if t.verdict in verdicts)
