"""Name what a test depends on by intervention: that axis alone moved, both ways, k times.

Forks look for the cause, fresh processes confirm it. Nothing is concluded from the text of a
failure.
"""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from repro_gate.flake.confirm import IDENTICAL, SCHEDULES, Claim, Confirmer
from repro_gate.flake.moments import benign_ways, simpler
from repro_gate.flake.statistics import rates_differ
from repro_gate.flake.tally import Sample
from repro_gate.flake.trial import Count, Diagnosis, Setup, Suspect, Trials, with_axes
from repro_gate.model import AXES, Conditions, Mode, TestRun
from repro_gate.reduce.ddmin import NotInteresting, ddmin

# Axes that only shift how likely a failure is: one run says little, ten against ten say more.
_CHANCE = ("threads", "load", "asyncio", "gc")
_RATE_RUNS = 10
_PLACES = ("order", "parallel", "leftovers")  # axes that are more than a value in the process


@dataclass(kw_only=True)
class Detective:
    """Investigates one suspect at a time; safe to use from several threads.

    ``now`` is in the neutral zone, ``label`` says what is special about an axis's value.
    """

    trials: Trials
    confirmer: Confirmer
    now: datetime.datetime
    label: Callable[[str, str], str]
    axes: frozenset[str] = frozenset(AXES)
    known_culprits: list[str] = field(default_factory=list)

    @property
    def _neutral(self) -> Conditions:
        return self.trials.neutral

    def _count(self, setup: Setup, times: int, mode: Mode | None = None) -> Count:
        return self.trials.count(setup, times, mode)

    # -- the investigation ------------------------------------------------------------------

    def investigate(self, suspect: Suspect) -> Diagnosis:
        """Find the cause of one suspect, and confirm it. Raises Cancelled when time is up."""
        alone = Setup(tests=(suspect.id,), conditions=self._neutral)
        found = self._suspected(suspect, alone)
        by_chance = found.cause is not None and found.cause.axis is None
        return (self._by_schedule(alone) if by_chance and "threads" in self.axes else None) or found

    def _suspected(self, suspect: Suspect, alone: Setup) -> Diagnosis:
        at_rest = self._count(alone, 2)
        if at_rest.bad and at_rest.good:
            return self._chance(alone)
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
        values = [axis for axis in suspect.likely if axis in self._values_moved(seen)]
        first = suspect.likely[:1]
        if first == ("order",):
            found = self._order(sample, alone, ()) if sample.before else None
        else:
            likeliest = tuple(axis for axis in first if axis in values)
            found = self._single(alone, likeliest, self._without_imports(seen))
        return (
            found
            or self._by_values(alone, values, seen)
            or self._by_the_day_after(alone, values, seen)
            or self._by_place(suspect, sample, alone, tuple(values))
        )

    def _by_values(self, alone: Setup, values: list[str], seen: Conditions) -> Diagnosis | None:
        """What a fork can take on first: only where that is not it, processes are started."""
        source = self._without_imports(seen)
        forked = [axis for axis in values if self.trials.at_hand(self._neutral.with_axes((axis,), source))]
        there = with_axes(alone, forked, source)
        if forked and self._count(there, 2).bad:
            return self._axes(alone, there, tuple(forked))
        if not values or (self.trials.at_hand(seen) and {"hash-seed", "random"} & self.axes):
            return None  # no process began otherwise: each that does has a hash seed and draws of its own
        begun = dataclasses.replace(alone, fresh=True)
        there = with_axes(begun, values, seen)
        return self._axes(begun, there, tuple(values)) if self._count(there, 2).bad else None

    def _by_the_day_after(self, alone: Setup, values: list[str], seen: Conditions) -> Diagnosis | None:
        """An instant passed while others ran: it may fail on that day, and need no other test for it."""
        after = seen.clock.lstrip("~")
        if "clock" not in values or after == seen.clock:
            return None
        return self._single(alone, ("clock",), dataclasses.replace(self._without_imports(seen), clock=after))

    def _without_imports(self, seen: Conditions) -> Conditions:
        """The same draws in tests, but those of imports at rest: a fork can take that on."""
        return dataclasses.replace(seen, import_random=self._neutral.import_random)

    def _by_place(self, suspect: Suspect, sample: Sample, alone: Setup, values: tuple[str, ...]) -> Diagnosis | None:
        """Other tests before it, beside it, or its own earlier run."""
        if sample.conditions.leftovers:
            again = with_axes(alone, ("leftovers",), sample.conditions)
            if self._count(again, 2).bad:
                return self._claim("leftovers", again, alone, "fails when it runs again in the same directory")
        if sample.before and "order" in self.axes:
            found = self._order(sample, alone, values)
            if found is not None:
                return found
        if sample.conditions.parallel > 1 or suspect.users:
            return self._parallel(suspect, alone)
        return None

    def _values_moved(self, seen: Conditions) -> tuple[str, ...]:
        return tuple(axis for axis in seen.differences(self._neutral) if axis not in _PLACES)

    def _claim(
        self,
        axis: str | None,
        failing: Setup,
        passing: Setup,
        words: str,
        *,
        role: str = "",
        others: tuple[str, ...] = (),
    ) -> Diagnosis:
        return self.confirmer.confirm(
            Claim(axis=axis, failing=failing, passing=passing, words=words, role=role, others=others)
        )

    # -- one axis ---------------------------------------------------------------------------

    def _axes(self, base: Setup, failing: Setup, axes: tuple[str, ...]) -> Diagnosis:
        """Move each axis alone, the likeliest first: one that makes it fail each time is the cause."""
        found = self._single(base, axes, failing.conditions)
        if found is not None:
            return found
        if self._count(failing, 6).always_bad:
            return self._together(base, failing, axes)
        return self._chance(base, failing)

    def _single(self, base: Setup, axes: tuple[str, ...], seen: Conditions) -> Diagnosis | None:
        """The first of ``axes`` that, moved alone, makes it fail each time."""
        for axis in axes:
            setup = with_axes(base, (axis,), seen)
            if not self._count(setup, 2).always_bad:
                continue
            if axis in _CHANCE and not self._decides(setup, base):
                continue
            if axis == "clock":
                return _artefact(base) if self._is_artefact(base) else self._claim_clock(setup, base)
            return self._claim(axis, setup, base, self._words(axis, setup, base))
        return None

    def _claim_clock(self, failing: Setup, passing: Setup) -> Diagnosis:
        """With the part of the moment that decides, where it is one: the hour, the weekday, the year."""
        for moment in simpler(failing.conditions.clock, self.now):
            setup = self._at(failing, moment.value)
            if self._count(setup, 3).always_bad:
                words = self._words("clock", setup, passing, special=moment.label)
                return self._claim("clock", setup, passing, words)
        return self._claim("clock", failing, passing, self._words("clock", failing, passing))

    def _as_now(self, failing: Setup) -> Setup:
        """What fails today by the clock, with today's moment in it: a capsule is replayed on another day."""
        setup = self._at(failing, self.now.replace(microsecond=0).isoformat())
        return setup if self._count(setup, 3).always_bad else failing

    def _at(self, base: Setup, moment: str) -> Setup:
        return dataclasses.replace(base, conditions=dataclasses.replace(base.conditions, clock=moment))

    def _decides(self, failing: Setup, passing: Setup) -> bool:
        """Whether one side fails each time and the other never, five times each."""
        return self._count(failing, 5).always_bad and self._count(passing, 5).always_good

    def _together(self, base: Setup, failing: Setup, axes: tuple[str, ...]) -> Diagnosis:
        """No axis alone: the smallest set that together makes it fail."""
        try:
            kept = ddmin(
                axes,
                lambda some: self._count(with_axes(base, some, failing.conditions), 2).bad > 0,
                budget=40,
            ).items
        except NotInteresting:
            return self._chance(base, failing)
        setup = with_axes(base, kept, failing.conditions)
        if "clock" in kept and self._is_artefact(with_axes(setup, ("clock",), self._neutral)):
            return _artefact(base)
        if len(kept) == 1:
            return self._claim(kept[0], setup, base, self._words(kept[0], setup, base))
        values = ", ".join(f"{axis}={setup.conditions.axis(axis)}" for axis in kept)
        first = next((axis for axis in AXES if axis in kept), None)
        return self._claim(first, setup, base, f"fails only with {values} together")

    def _is_artefact(self, base: Setup) -> bool:
        """Whether it fails however far the clock goes one way, to the same hour of the same weekday.

        Within this day, too, or what is due on a day soon would look the same; a test that starts
        processes or opens a database has another clock there, and an hour may not show.
        """
        for way in benign_ways(self.now):
            runs: list[TestRun] = []
            for moment in way.far:
                count = self._count(self._at(base, moment), 2)
                if not count.always_bad:
                    break
                runs += count.runs
            else:
                if _has_another_clock(runs) or self._count(self._at(base, way.near), 2).always_bad:
                    return True
        return False

    # -- order ------------------------------------------------------------------------------

    def _order(self, sample: Sample, alone: Setup, values: tuple[str, ...]) -> Diagnosis | None:
        """It passes alone and failed after others: which of them?"""
        victim = alone.tests[-1]
        for culprit in [name for name in list(self.known_culprits) if name in sample.before]:
            pair = Setup(tests=(culprit, victim), conditions=self._neutral)
            if self._count(pair, 2).always_bad:
                return self._victim(pair, alone)
        after = Setup(tests=(*sample.before, victim), conditions=self._neutral)
        if not self._count(after, 1).bad:
            after = with_axes(after, values, sample.conditions)
            if not values or not self._count(after, 2).bad:
                return None
        try:
            reduction = ddmin(
                sample.before,
                lambda some: self._count(dataclasses.replace(after, tests=(*some, victim)), 1).bad > 0,
                budget=120,
            )
        except NotInteresting:
            return None
        self.known_culprits.extend(item for item in reduction.items[:1] if item not in self.known_culprits)
        failing = dataclasses.replace(after, tests=(*reduction.items, victim))
        failing = self._fewest_axes(failing)
        moved = failing.conditions.differences(self._neutral)
        without = dataclasses.replace(alone, conditions=failing.conditions)
        if moved and self._count(without, 4).bad:
            return self._axes(alone, without, moved)  # it was not the order
        # What a seed of these axes comes to may turn on what ran before: other seeds tell whether it takes that.
        chance = [axis for axis in moved if axis in _CHANCE and axis in self.axes]
        by_rate = self._by_rate(alone, chance, failing.conditions) if chance else None
        return by_rate or self._victim(failing, without)

    def _fewest_axes(self, failing: Setup) -> Setup:
        """The same tests with no more axes moved than it takes."""
        moved = failing.conditions.differences(self._neutral)
        bare = dataclasses.replace(failing, conditions=self._neutral)
        try:
            kept = ddmin(
                moved, lambda some: self._count(with_axes(bare, some, failing.conditions), 2).always_bad, budget=40
            )
        except NotInteresting:
            return failing
        return with_axes(bare, kept.items, failing.conditions)

    def _victim(self, failing: Setup, alone: Setup) -> Diagnosis:
        polluters = failing.tests[:-1]
        words = "fails after " + " and ".join(polluters)
        extra = failing.conditions.differences(self._neutral)
        if extra:
            words += " with " + ", ".join(f"{axis}={failing.conditions.axis(axis)}" for axis in extra)
        if not polluters:
            return self._claim(None, failing, alone, IDENTICAL)
        return self._claim("order", failing, alone, words, role="victim", others=polluters)

    def _fails_alone(self, suspect: Suspect, alone: Setup) -> Diagnosis:
        """It fails alone under neutral conditions: what makes it pass?"""
        for sample in suspect.passing[:2]:
            values = tuple(a for a in suspect.likely if a in self._values_moved(sample.conditions))
            before = Setup(tests=(*sample.before, suspect.id), conditions=self._neutral)
            if sample.before and "order" in self.axes and self._count(before, 1).good:
                found = self._brittle(sample, alone)
                if found is not None:
                    return found
            elsewhere = with_axes(alone, values, sample.conditions)
            if values and self._count(elsewhere, 2).good:
                return self._cured(alone, elsewhere, values)
            begun_there = dataclasses.replace(elsewhere, fresh=True)
            if values and self.trials.forks and self._count(begun_there, 2).good:
                return self._cured(dataclasses.replace(alone, fresh=True), begun_there, values)
        if suspect.passing:
            return self._rare(suspect, alone)
        return Diagnosis(id=suspect.id, kind="always-failing")

    def _brittle(self, sample: Sample, alone: Setup) -> Diagnosis | None:
        """Which test must run before it? None where running any is not what helps."""
        victim = alone.tests[-1]

        def passes_after(tests: Sequence[str]) -> bool:
            return self._count(Setup(tests=(*tests, victim), conditions=self._neutral), 1).good > 0

        try:
            setters = ddmin(sample.before, passes_after, budget=120).items
        except NotInteresting:
            return None
        if not setters or not self._count(alone, 3).always_bad:
            return None
        passing = Setup(tests=(*setters, victim), conditions=self._neutral)
        words = "fails alone, passes after " + " and ".join(setters)
        return self._claim("order", alone, passing, words, role="brittle", others=tuple(setters))

    def _cured(self, alone: Setup, elsewhere: Setup, axes: tuple[str, ...]) -> Diagnosis:
        """It fails neutral and passes elsewhere: which axis cures it?"""
        sometimes = ""
        for axis in axes:
            setup = with_axes(alone, (axis,), elsewhere.conditions)
            seen = self._count(setup, 2)
            if seen.always_good:
                failing = self._as_now(alone) if axis == "clock" else alone
                words = self._words(axis, failing, setup, special="now" if failing != alone else "")
                return self._claim(axis, failing, setup, words)
            sometimes = sometimes or (axis if seen.good else "")
        if sometimes:
            setup = with_axes(alone, (sometimes,), elsewhere.conditions)
            return self._claim(sometimes, alone, setup, self._words(sometimes, alone, setup))
        return self._claim(None, alone, elsewhere, "passes only where several axes are moved together")

    # -- several at once --------------------------------------------------------------------

    def _parallel(self, suspect: Suspect, alone: Setup) -> Diagnosis | None:
        """Another test at the same time in the same directory: those that share a file or port."""
        for other in suspect.users[:6]:
            company = Conditions(parallel=2, network=self.trials.network)
            setup = Setup(tests=alone.tests, conditions=company, partners=((other,),))
            if self._count(setup, 8).bad:
                words = f"fails while {other} runs in the same directory"
                return self._claim("parallel", setup, alone, words, others=(other,))
        return None

    # -- chance -----------------------------------------------------------------------------

    def _chance(self, alone: Setup, failing: Setup | None = None) -> Diagnosis:
        """Passed and failed under identical conditions: flaky, and perhaps an axis shifts the rate."""
        failing = failing or alone
        axes = [axis for axis in _CHANCE if axis in self.axes]
        found = self._by_rate(alone, axes, failing.conditions)
        return found or self._claim(None, failing, failing, IDENTICAL)

    def _by_schedule(self, alone: Setup) -> Diagnosis | None:
        """Two schedules of threads that decide, one each way: on a busy machine the neutral one is a coin."""
        bad = good = None
        for seed in SCHEDULES:
            setup = with_axes(alone, ("threads",), Conditions(threads=seed))
            seen = self._count(setup, 2)
            if bad is None and seen.always_bad and self._count(setup, 5).always_bad:
                bad = setup
            elif good is None and seen.always_good and self._count(setup, 5).always_good:
                good = setup
            if bad is not None and good is not None:
                return self._claim("threads", bad, good, self._words("threads", bad, good))
        return None

    def _by_rate(self, base: Setup, axes: Sequence[str], seen: Conditions) -> Diagnosis | None:
        """Axes that raise the rate of failure: each over several of its values, against the base.

        A seed of these axes is one schedule of many, so the axis is judged over seeds; the seed
        that fails most is then the one to replay.
        """
        rest = self._count(base, _RATE_RUNS)
        best = _Shift()
        for axis in axes:
            setups = [with_axes(base, (axis,), variant) for variant in _variants(axis, seen)]
            counts = [self._count(setup, max(2, _RATE_RUNS // len(setups))) for setup in setups]
            bad, of = sum(c.bad for c in counts), sum(c.of for c in counts)
            if bad > best.bad and rates_differ(bad, of, rest.bad, rest.of, alpha=0.05):
                worst = sorted(zip(counts, setups, strict=True), key=lambda pair: -pair[0].bad)
                best = _Shift(axis=axis, bad=bad, of=of, setups=tuple(s for c, s in worst if c.bad))
        if not best.axis:
            return None
        again = [(self._count(setup, 4).bad, setup) for setup in best.setups[:4]]
        setup = max(again, key=lambda pair: pair[0])[1]
        words = f"{self._words(best.axis, setup, base)} ({best.bad} of {best.of} against {rest.bad} of {rest.of})"
        return self._claim(best.axis, setup, base, words)

    def _rare(self, suspect: Suspect, alone: Setup) -> Diagnosis:
        """Nothing reproduced it at once: repeat the run that failed, then look for pure chance."""
        for sample in suspect.failing[:1]:
            conditions = sample.conditions.with_axes(_PLACES, self._neutral)
            there = Setup(tests=alone.tests, conditions=conditions)
            after = Setup(tests=(*sample.before, suspect.id), conditions=conditions)
            for setup in (there, after):
                if self._count(setup, _RATE_RUNS).bad:
                    base = dataclasses.replace(setup, conditions=self._neutral)
                    return self._chance(base, setup)
        seen = self._count(alone, 2 * _RATE_RUNS, Mode.FRESH)
        if seen.bad and seen.good:
            return self._chance(alone)
        return Diagnosis(
            id=suspect.id,
            kind="unconfirmed",
            detail=f"failed in a campaign's run, and in {seen.bad} of {seen.of} fresh processes since",
        )

    def _words(self, axis: str, failing: Setup, passing: Setup, *, special: str = "") -> str:
        """``fails with X, passes with Y`` for one axis, and what is ``special`` about X."""
        bad, good = failing.conditions.axis(axis), passing.conditions.axis(axis)
        name = {"hash-seed": "PYTHONHASHSEED", "timezone": "TZ"}.get(axis, axis)
        special = special or self.label(axis, bad)
        return f"fails with {name}={bad}{f' ({special})' if special else ''}, passes with {good}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shift:
    """The axis that raised the rate most, over all its values, and the setups that failed."""

    axis: str = ""
    bad: int = 0
    of: int = 0
    setups: tuple[Setup, ...] = ()


def _has_another_clock(runs: Sequence[TestRun]) -> bool:
    """Whether the test was seen to use what has a clock of its own."""
    return any(run.evidence is not None and (run.evidence.children or run.evidence.clocks) for run in runs)


def _artefact(setup: Setup) -> Diagnosis:
    return Diagnosis(
        id=setup.tests[-1],
        kind="artefact",
        detail="compares Python's clock with a clock that cannot be moved with it (file times, child processes)",
    )


def _variants(axis: str, seen: Conditions) -> list[Conditions]:
    """Several values of one axis, the one that was seen first."""
    fields: dict[str, tuple[object, ...]] = {
        "threads": (1, 2, 3, 4, 5, 6, 7),
        "asyncio": (1, 2, 3, 4, 5, 6, 7),
        "load": ("late", "burn", "one-core"),
        "gc": ("eager", "rare", "jitter:1", "jitter:2", "jitter:3"),
    }
    values = fields.get(axis, ())
    first = [seen] if seen.axis(axis) != Conditions().axis(axis) else []
    return [*first, *(dataclasses.replace(seen, **{axis: value}) for value in values)]  # type: ignore[arg-type]
