"""Trials: one setup repeated, and what came of its last test.

Belongs here: turning setups into experiments and outcomes into counts. Which setups to try belongs
to ``diagnose``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from repro_gate.experiment import Job, start_of
from repro_gate.flake.tally import Sample
from repro_gate.model import AXES, Cause, Conditions, Experiment, ExperimentResult, Limits, Mode, TestRun

Ask = Callable[[Sequence[Job]], list[ExperimentResult]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """An experiment that is judged by its last test.

    ``fresh``: each time in a process that begins with these conditions, for what is read at import.
    """

    tests: tuple[str, ...]
    conditions: Conditions
    partners: tuple[tuple[str, ...], ...] = ()
    fresh: bool = False
    whole: bool = False  # collect everything that was selected, not only these tests' files


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """A test with mixed outcomes (or one that never passed, to be tried alone).

    ``likely``: every axis, those first that were moved where it failed and not where it passed;
    it only decides what is tried first.
    """

    id: str
    failing: tuple[Sample, ...]
    passing: tuple[Sample, ...]
    likely: tuple[str, ...] = AXES
    users: tuple[str, ...] = ()  # tests seen to use the same file or port


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """Outcomes of the judged test over equal experiments."""

    bad: int
    good: int
    runs: tuple[TestRun, ...]
    results: tuple[ExperimentResult, ...]

    @property
    def of(self) -> int:
        """How many experiments said anything."""
        return self.bad + self.good

    def plus(self, other: Count) -> Count:
        """Both together."""
        return Count(
            bad=self.bad + other.bad,
            good=self.good + other.good,
            runs=(*self.runs, *other.runs),
            results=(*self.results, *other.results),
        )

    @property
    def always_bad(self) -> bool:
        """Failed each time."""
        return self.bad > 0 and self.good == 0

    @property
    def always_good(self) -> bool:
        """Passed each time."""
        return self.good > 0 and self.bad == 0

    def fingerprints(self) -> dict[str, int]:
        """How often each failure was seen."""
        seen: dict[str, int] = {}
        for run in self.runs:
            if run.failure is not None:
                seen[run.failure.fingerprint] = seen.get(run.failure.fingerprint, 0) + 1
        return seen


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What an investigation found. ``confirmed``: fresh processes saw it fail, and saw it pass.

    ``kind`` is ``flaky`` (has a setup that fails), ``always-failing``, ``artefact`` (the
    perturbation's own doing) or ``unconfirmed`` (seen in forks only).
    """

    id: str
    kind: str
    cause: Cause | None = None
    detail: str = ""
    failing: Setup | None = None
    fails: Count | None = None
    busy: Count | None = None  # the failing setup again beside other work, where its speed could decide
    passes: Count | None = None
    history: tuple[ExperimentResult, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Runs setups through ``ask``; safe to use from several threads.

    ``limits`` and ``file_of`` answer for a test's id; ``forks``: whether fork servers may be used.
    """

    ask: Ask
    limits: Callable[[str], Limits]
    file_of: Callable[[str], str]
    forks: bool = True
    network: str = "blocked"

    @property
    def neutral(self) -> Conditions:
        """The neutral conditions of this campaign."""
        return Conditions(network=self.network)

    def count(self, setup: Setup, times: int, mode: Mode | None = None) -> Count:
        """Run one setup so many times and count what came of its last test."""
        mode = mode or self._mode(setup)
        victim = setup.tests[-1]
        files = () if setup.whole or mode is Mode.FORK else self.files_of(setup)
        jobs = [
            Job(
                experiment=Experiment(
                    tests=setup.tests,
                    conditions=setup.conditions,
                    partners=setup.partners,
                    limits=self.limits(victim),
                ),
                mode=mode,
                files=files,
            )
            for _ in range(times)
        ]
        results = self.ask(jobs)
        runs = [run for result in results if result.controls_held and (run := result.of(victim)) is not None]
        return Count(
            bad=sum(run.outcome.bad for run in runs),
            good=sum(run.outcome.good for run in runs),
            runs=tuple(runs),
            results=tuple(results),
        )

    def files_of(self, setup: Setup) -> tuple[str, ...]:
        """The files that must be collected for a setup, the first test's first."""
        lane = [*setup.tests, *(test for partner in setup.partners for test in partner)]
        return tuple(dict.fromkeys(self.file_of(test) for test in lane))

    def _mode(self, setup: Setup) -> Mode:
        """A fork where a server with these starting conditions is at hand: the neutral one."""
        forks = self.forks and not setup.fresh and self.at_hand(setup.conditions)
        return Mode.FORK if forks else Mode.FRESH

    def at_hand(self, conditions: Conditions) -> bool:
        """Whether the neutral server can be forked into these conditions."""
        return start_of(conditions) == self.neutral


def with_axes(base: Setup, axes: Sequence[str], source: Conditions) -> Setup:
    """``base`` with the named axes taken from ``source``."""
    return dataclasses.replace(base, conditions=base.conditions.with_axes(frozenset(axes), source))
