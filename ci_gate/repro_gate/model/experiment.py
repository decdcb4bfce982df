"""The one unit of work: these tests, in this order, under these conditions, on this tree."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from repro_gate.model.conditions import Conditions
from repro_gate.model.outcome import TestRun


class Mode(enum.StrEnum):
    """How an experiment was run: a fork nominates, a fresh process confirms."""

    FORK = "fork"
    FRESH = "fresh"


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Bounds of one experiment: seconds per test, seconds in all, bytes of memory."""

    test_seconds: float = 120.0
    total_seconds: float = 3600.0
    memory_bytes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Swap:
    """One function's code exchanged in the fork: that of the outermost function at ``first_line`` of ``path``.

    ``text`` is the whole file as it is compiled for it; head's own text is the null mutant. ``raising``: the code
    raises at once, whatever the text says (the mutant that must die).
    """

    path: str
    text: str
    qualname: str
    first_line: int
    raising: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Experiment:
    """Ordered test ids (None: all that are collected, arranged by the order axis) under conditions.

    ``partners`` are further lanes of tests, run at the same time in the same directory (the
    parallel axis); their results are not reported. ``swap`` is applied in a fork before its first test.
    It ends once one of the tests in ``until`` has failed; those after it are not run.
    """

    tests: tuple[str, ...] | None
    conditions: Conditions
    partners: tuple[tuple[str, ...], ...] = ()
    limits: Limits = Limits()
    swap: Swap | None = None
    until: frozenset[str] = frozenset()


class Ending(enum.StrEnum):
    """How the process of an experiment ended."""

    DONE = "done"
    TIMEOUT = "timeout"
    CRASHED = "crashed"
    MEMORY = "memory"
    KILLED = "killed"
    NOT_STARTED = "not-started"


@dataclass(frozen=True, kw_only=True, slots=True)
class ExperimentResult:
    """The runs in the order they ran, the process's end, and whether the controls held.

    ``swapped`` is how many live functions were given the swap's code; 0 or None: it did not take place. ``others`` are
    tests that a fresh process collected and that were not asked for, ``uncollected`` files that it could not collect.
    """

    experiment: Experiment
    mode: Mode
    runs: tuple[TestRun, ...]
    ending: Ending
    controls_held: bool
    swapped: int | None = None
    notes: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    uncollected: tuple[str, ...] = ()

    def of(self, test: str) -> TestRun | None:
        """The (last) run of one test, or None where it did not run."""
        for run in reversed(self.runs):
            if run.id == test:
                return run
        return None
