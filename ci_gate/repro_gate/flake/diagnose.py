"""Name what a test depends on by intervention: that axis alone moved, both ways, k times.

Forks look for the cause, fresh processes confirm it. Nothing is concluded from the text of a
failure.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from repro_gate.experiment import Job
from repro_gate.flake.statistics import rates_differ
from repro_gate.flake.tally import Sample
from repro_gate.model import (
    AXES,
    Cause,
    Conditions,
    Experiment,
    ExperimentResult,
    Intervention,
    Limits,
    Mode,
    TestRun,
)
from repro_gate.reduce.ddmin import NotInteresting, ddmin

Ask = Callable[[Sequence[Job]], list[ExperimentResult]]

# Axes that only shift how likely a failure is: one run says little, ten against ten say more.
_CHANCE = ("threads", "load", "asyncio", "gc")
_RATE_RUNS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Setup:
    """An experiment that is judged by its last test."""

    tests: tuple[str, ...]
    conditions: Conditions
    partners: tuple[tuple[str, ...], ...] = ()
    whole: bool = False  # collect everything that was selected, not only these tests' files


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspect:
    """A test with mixed outcomes (or one that never passed, to be tried alone)."""

    id: str
    failing: tuple[Sample, ...]
    passing: tuple[Sample, ...]
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
    passes: Count | None = None
    history: tuple[ExperimentResult, ...] = ()


@dataclass(kw_only=True)
class Detective:
    """Investigates one suspect at a time; safe to use from several threads.

    ``replays``: fresh processes that must fail alike before a capsule may be called pinned.
    """

    ask: Ask
    limits: Callable[[str], Limits]
    benign: tuple[str, str]
    label: Callable[[str, str], str]
    file_of: Callable[[str], str]
    forks: bool = True
    replays: int = 5
    axes: frozenset[str] = frozenset(AXES)
    known_culprits: list[str] = field(default_factory=list)
    network: str = "blocked"

    @property
    def neutral(self) -> Conditions:
        """The neutral conditions of this campaign."""
        return Conditions(network=self.network)

    # -- experiments ------------------------------------------------------------------------

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
        started_neutral = self.neutral.with_start_of(setup.conditions) == self.neutral
        return Mode.FORK if self.forks and started_neutral else Mode.FRESH

    # -- the investigation ------------------------------------------------------------------

    def investigate(self, suspect: Suspect) -> Diagnosis:
        """Find the cause of one suspect, and confirm it. Raises Cancelled when time is up."""
        alone = Setup(tests=(suspect.id,), conditions=self.neutral)
        at_rest = self.count(alone, 2)
        if at_rest.bad and at_rest.good:
            return self._chance(suspect, alone)
        if at_rest.always_bad:
            return self._fails_alone(suspect, alone)
        for sample in suspect.failing[:2]:
            found = self._from_sample(suspect, sample, alone)
            if found is not None:
                return found
        return self._rare(suspect, alone)

    def _from_sample(self, suspect: Suspect, sample: Sample, alone: Setup) -> Diagnosis | None:
        """It passes alone: which difference to the run in which it failed makes it fail?"""
        seen = sample.conditions
        still = ("order", "parallel", "leftovers")
        moved = tuple(axis for axis in seen.differences(self.neutral) if axis not in still)
        in_place = Setup(tests=(suspect.id,), conditions=self.neutral.with_axes(moved, seen))
        if moved and self.count(in_place, 2).bad:
            return self._axes(suspect, alone, in_place, moved)
        if seen.leftovers:
            again = Setup(tests=(suspect.id,), conditions=self.neutral.with_axes(("leftovers",), seen))
            if self.count(again, 2).bad:
                return self._confirm(suspect, "leftovers", again, alone, "fails when it runs again in the same directory")
        if sample.before and "order" in self.axes:
            found = self._order(suspect, sample, alone, moved)
            if found is not None:
                return found
        if seen.parallel > 1 or suspect.users:
            found = self._parallel(suspect, alone)
            if found is not None:
                return found
        return None

    # -- one axis ---------------------------------------------------------------------------

    def _axes(self, suspect: Suspect, base: Setup, moved_setup: Setup, moved: tuple[str, ...]) -> Diagnosis:
        """Move each axis alone; the first that makes it fail each time is the cause."""
        singles = {axis: self._with(base, (axis,), moved_setup.conditions) for axis in moved}
        counts = {axis: self.count(setup, 2) for axis, setup in singles.items()}
        sure = [axis for axis in AXES if axis in counts and counts[axis].always_bad]
        for axis in sure:
            if axis == "clock" and self._is_artefact(base):
                continue
            if axis in _CHANCE and not self._decides(singles[axis], base):
                continue
            return self._confirm(suspect, axis, singles[axis], base, self._words(axis, singles[axis], base))
        if sure == ["clock"]:
            return self._artefact(suspect)
        if self.count(moved_setup, 6).always_bad:
            return self._together(suspect, base, moved_setup, moved)
        return self._chance(suspect, base, moved_setup)

    def _decides(self, failing: Setup, passing: Setup) -> bool:
        """Whether one side fails each time and the other never, five times each."""
        return self.count(failing, 5).always_bad and self.count(passing, 5).always_good

    def _with(self, base: Setup, axes: tuple[str, ...], source: Conditions) -> Setup:
        return Setup(
            tests=base.tests,
            conditions=base.conditions.with_axes(axes, source),
            partners=base.partners,
            whole=base.whole,
        )

    def _by_rate(self, suspect: Suspect, base: Setup, axes: Sequence[str], seen: Conditions) -> Diagnosis | None:
        """Axes that shift the rate of failure: each over several of its values, against the base.

        A seed of these axes is one schedule of many, so the axis is judged over seeds; the seed
        that fails most is then the one to replay.
        """
        if not axes:
            return None
        rest = self.count(base, _RATE_RUNS)
        best: tuple[int, str, list[Setup]] | None = None
        for axis in axes:
            setups = [self._with(base, (axis,), variant) for variant in _variants(axis, seen)]
            counts = [self.count(setup, max(2, _RATE_RUNS // len(setups))) for setup in setups]
            bad, of = sum(c.bad for c in counts), sum(c.of for c in counts)
            if rates_differ(bad, of, rest.bad, rest.of, alpha=0.05) and (best is None or bad > best[0]):
                worst = sorted(zip(counts, setups, strict=True), key=lambda pair: -pair[0].bad)
                best = (bad, axis, [setup for count, setup in worst if count.bad])
                words_of = f"{bad} of {of} against {rest.bad} of {rest.of}"
        if best is None:
            return None
        _, axis, candidates = best
        again = {index: self.count(setup, 4).bad for index, setup in enumerate(candidates[:4])}
        setup = candidates[max(again, key=lambda index: again[index])]
        return self._confirm(suspect, axis, setup, base, f"{self._words(axis, setup, base)} ({words_of})")

    def _together(self, suspect: Suspect, base: Setup, failing: Setup, moved: tuple[str, ...]) -> Diagnosis:
        """No axis alone: the smallest set that together makes it fail."""
        try:
            kept = ddmin(
                moved,
                lambda axes: self.count(self._with(base, tuple(axes), failing.conditions), 2).bad > 0,
                budget=40,
            ).items
        except NotInteresting:
            return self._rare(suspect, base)
        setup = self._with(base, tuple(kept), failing.conditions)
        if "clock" in kept and self._is_artefact(base, self._with(base, tuple(a for a in kept if a != "clock"), failing.conditions)):
            return self._artefact(suspect)
        if len(kept) == 1:
            return self._confirm(suspect, kept[0], setup, base, self._words(kept[0], setup, base))
        values = ", ".join(f"{axis}={setup.conditions.axis(axis)}" for axis in kept)
        first = next((axis for axis in AXES if axis in kept), None)
        return self._confirm(suspect, first, setup, base, f"fails only with {values} together")

    def _is_artefact(self, base: Setup, rest: Setup | None = None) -> bool:
        """Whether it fails at any move of the clock, also at two that no calendar tells apart."""
        setups = [
            self._with(rest or base, ("clock",), Conditions(clock=moment, network=self.network)) for moment in self.benign
        ]
        return all(self.count(setup, 2).always_bad for setup in setups)

    def _artefact(self, suspect: Suspect) -> Diagnosis:
        return Diagnosis(
            id=suspect.id,
            kind="artefact",
            detail="compares Python's clock with a clock that cannot be moved with it (file times, child processes)",
        )

    # -- order ------------------------------------------------------------------------------

    def _order(self, suspect: Suspect, sample: Sample, alone: Setup, moved: tuple[str, ...]) -> Diagnosis | None:
        """It passes alone and failed after others: which of them?"""
        for culprit in [name for name in self.known_culprits if name in sample.before]:
            pair = Setup(tests=(culprit, suspect.id), conditions=self.neutral)
            if self.count(pair, 2).always_bad:
                return self._victim(suspect, pair, alone)
        after = Setup(tests=(*sample.before, suspect.id), conditions=self.neutral)
        conditions = self.neutral
        if not self.count(after, 1).bad:
            conditions = self.neutral.with_axes(moved, sample.conditions)
            after = Setup(tests=after.tests, conditions=conditions)
            if not moved or not self.count(after, 2).bad:
                return None
        reduction = ddmin(
            sample.before,
            lambda tests: self.count(Setup(tests=(*tests, suspect.id), conditions=conditions), 1).bad > 0,
            budget=120,
        )
        failing = Setup(tests=(*reduction.items, suspect.id), conditions=conditions)
        self.known_culprits.extend(item for item in reduction.items[:1] if item not in self.known_culprits)
        return self._victim(suspect, failing, alone)

    def _victim(self, suspect: Suspect, failing: Setup, alone: Setup) -> Diagnosis:
        polluters = failing.tests[:-1]
        words = "fails after " + " and ".join(polluters)
        extra = failing.conditions.differences(self.neutral)
        if extra:
            words += " with " + ", ".join(f"{axis}={failing.conditions.axis(axis)}" for axis in extra)
        return self._confirm(suspect, "order", failing, alone, words, role="victim", others=polluters)

    def _fails_alone(self, suspect: Suspect, alone: Setup) -> Diagnosis:
        """It fails alone under neutral conditions: what makes it pass?"""
        for sample in suspect.passing[:2]:
            seen = sample.conditions
            moved = tuple(a for a in seen.differences(self.neutral) if a not in ("order", "parallel", "leftovers"))
            before = Setup(tests=(*sample.before, suspect.id), conditions=self.neutral)
            if sample.before and "order" in self.axes and self.count(before, 1).good:
                return self._brittle(suspect, sample, alone)
            elsewhere = Setup(tests=alone.tests, conditions=self.neutral.with_axes(moved, seen))
            if moved and self.count(elsewhere, 2).good:
                return self._cured(suspect, alone, elsewhere, moved)
        if suspect.passing:
            return self._rare(suspect, alone)
        return Diagnosis(id=suspect.id, kind="always-failing")

    def _brittle(self, suspect: Suspect, sample: Sample, alone: Setup) -> Diagnosis:
        def passes_after(tests: Sequence[str]) -> bool:
            return self.count(Setup(tests=(*tests, suspect.id), conditions=self.neutral), 1).good > 0

        setters = ddmin(sample.before, passes_after, budget=120).items
        passing = Setup(tests=(*setters, suspect.id), conditions=self.neutral)
        words = "fails alone, passes after " + " and ".join(setters)
        return self._confirm(suspect, "order", alone, passing, words, role="brittle", others=tuple(setters))

    def _cured(self, suspect: Suspect, alone: Setup, elsewhere: Setup, moved: tuple[str, ...]) -> Diagnosis:
        """It fails neutral and passes elsewhere: which axis cures it?"""
        singles = {axis: self._with(alone, (axis,), elsewhere.conditions) for axis in moved}
        for axis in [axis for axis in AXES if axis in singles]:
            if self.count(singles[axis], 2).always_good:
                return self._confirm(suspect, axis, alone, singles[axis], self._words(axis, alone, singles[axis]))
        for axis in [axis for axis in AXES if axis in singles]:
            if self.count(singles[axis], 2).good:
                return self._confirm(suspect, axis, alone, singles[axis], self._words(axis, alone, singles[axis]))
        return self._confirm(suspect, None, alone, elsewhere, "passes only where several axes are moved together")

    # -- several at once --------------------------------------------------------------------

    def _parallel(self, suspect: Suspect, alone: Setup) -> Diagnosis | None:
        """Another test at the same time in the same directory; those that share a file first."""
        for other in suspect.users[:6]:
            setup = Setup(
                tests=(suspect.id,),
                conditions=Conditions(parallel=2, network=self.network),
                partners=((other,),),
            )
            if self.count(setup, 8).bad:
                words = f"fails while {other} runs in the same directory"
                return self._confirm(suspect, "parallel", setup, alone, words, others=(other,))
        return None

    # -- chance -----------------------------------------------------------------------------

    def _chance(self, suspect: Suspect, alone: Setup, failing: Setup | None = None) -> Diagnosis:
        """Passed and failed under identical conditions: flaky, and perhaps an axis shifts the rate."""
        failing = failing or alone
        axes = [axis for axis in _CHANCE if axis in self.axes]
        found = self._by_rate(suspect, alone, axes, failing.conditions)
        if found is not None:
            return found
        return self._confirm(suspect, None, failing, failing, "passes and fails under identical conditions")

    def _rare(self, suspect: Suspect, alone: Setup) -> Diagnosis:
        """Nothing reproduced it at once: repeat the run that failed, and the axes of chance."""
        sample = suspect.failing[0] if suspect.failing else None
        if sample is not None:
            conditions = sample.conditions.with_axes(("order", "parallel", "leftovers"), self.neutral)
            for setup in (
                Setup(tests=alone.tests, conditions=conditions),
                Setup(tests=(*sample.before, suspect.id), conditions=conditions),
            ):
                seen = self.count(setup, _RATE_RUNS)
                if seen.bad:
                    moved = tuple(a for a in conditions.differences(self.neutral) if a in _CHANCE)
                    base = Setup(tests=setup.tests, conditions=self.neutral)
                    found = self._by_rate(suspect, base, moved, conditions)
                    if found is not None:
                        return found
                    words = "passes and fails under identical conditions"
                    return self._confirm(suspect, None, setup, setup, words)
        seen = self.count(alone, 2 * _RATE_RUNS, Mode.FRESH)
        if seen.bad and seen.good:
            return self._chance(suspect, alone)
        return Diagnosis(
            id=suspect.id,
            kind="unconfirmed",
            detail=f"failed in a campaign's run, and in 0 of {seen.of} fresh processes since",
        )

    # -- confirmation -----------------------------------------------------------------------

    def _confirm(
        self,
        suspect: Suspect,
        axis: str | None,
        failing: Setup,
        passing: Setup,
        words: str,
        *,
        role: str = "",
        others: tuple[str, ...] = (),
    ) -> Diagnosis:
        """Both ways in fresh processes; if the tests' own files are not enough, with the whole suite."""
        for whole in (False, True):
            fail_setup, pass_setup = self._wide(failing, whole), self._wide(passing, whole)
            fails = self.count(fail_setup, self.replays, Mode.FRESH)
            if not fails.bad:
                fails = self._merged(fails, self.count(fail_setup, _RATE_RUNS, Mode.FRESH)) if not whole else fails
            if fails.bad:
                break
        else:
            return Diagnosis(
                id=suspect.id,
                kind="unconfirmed",
                detail=f"failed in forks, and in 0 of {fails.of} fresh processes ({words})",
                history=fails.results,
            )
        passes = fails if failing == passing else self.count(pass_setup, 3, Mode.FRESH)
        if failing == passing and not fails.good:
            passes = self._merged(fails, self.count(pass_setup, _RATE_RUNS, Mode.FRESH))
            fails = passes
        table = (
            Intervention(what=f"{axis or 'identical conditions'}: failing side", conditions=fail_setup.conditions, tests=fail_setup.tests, failed=fails.bad, of=fails.of),
            Intervention(what=f"{axis or 'identical conditions'}: passing side", conditions=pass_setup.conditions, tests=pass_setup.tests, failed=passes.bad, of=passes.of),
        )
        if failing != passing and not passes.good:
            if axis is not None and not suspect.passing:
                return Diagnosis(id=suspect.id, kind="always-failing")
            axis, words, role, others = None, "passes and fails, and no single axis decides it in fresh processes", "", ()
        cause = Cause(axis=axis, detail=words, role=role, others=others, table=table)
        return Diagnosis(
            id=suspect.id,
            kind="flaky",
            cause=cause,
            detail=words,
            failing=fail_setup,
            fails=fails,
            passes=passes,
            history=(*fails.results, *passes.results),
        )

    def _wide(self, setup: Setup, whole: bool) -> Setup:
        return Setup(tests=setup.tests, conditions=setup.conditions, partners=setup.partners, whole=whole)

    def _merged(self, one: Count, other: Count) -> Count:
        return Count(
            bad=one.bad + other.bad,
            good=one.good + other.good,
            runs=(*one.runs, *other.runs),
            results=(*one.results, *other.results),
        )

    def _words(self, axis: str, failing: Setup, passing: Setup) -> str:
        """``fails with X, passes with Y`` for one axis."""
        bad, good = failing.conditions.axis(axis), passing.conditions.axis(axis)
        name = {"hash-seed": "PYTHONHASHSEED", "timezone": "TZ"}.get(axis, axis)
        special = self.label(axis, bad)
        return f"fails with {name}={bad}{f' ({special})' if special else ''}, passes with {good}"


def _variants(axis: str, seen: Conditions) -> list[Conditions]:
    """Several values of one axis, the one that was seen first."""
    fields: dict[str, tuple[object, ...]] = {
        "threads": (1, 2, 3, 4, 5, 6, 7),
        "asyncio": (1, 2, 3, 4, 5, 6, 7),
        "load": ("burn", "one-core"),
        "gc": ("eager", "rare", "jitter:1", "jitter:2", "jitter:3"),
    }
    values = fields.get(axis, ())
    first = [seen] if seen.axis(axis) != Conditions().axis(axis) else []
    return [*first, *(dataclasses.replace(seen, **{axis: value}) for value in values)]  # type: ignore[arg-type]


__all__ = ["Count", "Detective", "Diagnosis", "Setup", "Suspect"]
