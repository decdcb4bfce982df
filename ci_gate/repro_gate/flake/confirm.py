"""Confirmation: what forks nominated must fail, and pass, in fresh processes.

Belongs here: both sides of a suspected cause, k times, and what may be said afterwards. What is to
be called pinned must fail on a busy machine, too: whoever replays it seldom has an idle one.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from repro_gate.flake.statistics import rates_differ
from repro_gate.flake.trial import Count, Diagnosis, Setup, Trials
from repro_gate.model import Cause, Intervention, Mode

_PASSES = 3
_MORE = 10
_BY_CHANCE = 0.02
_RATES = ("threads", "load", "asyncio", "gc", "parallel")  # axes under which a test may fail only at times
_TIMED = ("threads", "asyncio", "gc", "parallel")  # axes whose effect the machine's speed could undo
SCHEDULES = range(1, 13)  # seeds of the thread axis that are tried in search of one that decides
IDENTICAL = "passes and fails under identical conditions"


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A suspected cause: one side should fail, the other pass. Equal sides claim pure chance."""

    axis: str | None
    failing: Setup
    passing: Setup
    words: str
    role: str = ""
    others: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Confirmer:
    """``replays``: fresh processes that must fail alike before a capsule may be called pinned."""

    trials: Trials
    replays: int = 5

    def confirm(self, claim: Claim) -> Diagnosis:
        """Both sides in fresh processes; if the tests' own files are not enough, with the whole suite."""
        fails = passes = Count(bad=0, good=0, runs=(), results=())
        failing, passing = claim.failing, claim.passing
        for whole in (False, True):
            failing = dataclasses.replace(claim.failing, whole=whole)
            passing = dataclasses.replace(claim.passing, whole=whole)
            fails, passes = self._both(failing, passing)
            if fails.bad and passes.good:
                break
        victim = claim.failing.tests[-1]
        if not fails.bad:
            return Diagnosis(
                id=victim,
                kind="unconfirmed",
                detail=f"failed in forks, and in 0 of {fails.of} fresh processes ({claim.words})",
                history=fails.results,
            )
        if not passes.good and not fails.good:
            return Diagnosis(
                id=victim,
                kind="unconfirmed",
                detail=f"passed in the campaign, and in 0 of {fails.of + passes.of} fresh processes ({claim.words})",
                history=fails.results,
            )
        return self._believed(claim, failing, passing, fails, passes)

    def _both(self, failing: Setup, passing: Setup) -> tuple[Count, Count]:
        fails = self.trials.count(failing, self.replays, Mode.FRESH)
        if not fails.bad:
            fails = fails.plus(self.trials.count(failing, _MORE, Mode.FRESH))
        if not fails.bad:
            return fails, fails
        if failing != passing:
            return fails, self.trials.count(passing, _PASSES, Mode.FRESH)
        if not fails.good:
            fails = fails.plus(self.trials.count(passing, _MORE, Mode.FRESH))
        return fails, fails

    def _believed(self, claim: Claim, failing: Setup, passing: Setup, fails: Count, passes: Count) -> Diagnosis:
        """It fails and it passes; the axis is named only if the two sides differ."""
        mixed = failing != passing and not (fails.always_bad and passes.always_good)
        if mixed and claim.axis not in _RATES:
            # Where one side should always fail and the other never, a few runs of a coin may look alike.
            fails = fails.plus(self.trials.count(failing, _MORE, Mode.FRESH))
            passes = passes.plus(self.trials.count(passing, _MORE, Mode.FRESH))
        by_rate = claim.axis in _RATES and not passes.bad
        if mixed and not by_rate and not rates_differ(fails.bad, fails.of, passes.bad, passes.of, 0.05):
            words = f"{IDENTICAL} ({passes.bad} of {passes.of} fresh processes where it was to pass)"
            claim = Claim(axis=None, failing=claim.failing, passing=claim.passing, words=words)
        busy = None
        if claim.axis in _TIMED:
            steady, fails, busy = self._beside_work(claim.axis, failing, fails)
            claim = dataclasses.replace(claim, words=_renamed(claim.words, claim.axis, failing, steady))
            failing = steady
        side = claim.axis or "identical conditions"
        table = tuple(
            Intervention(
                what=f"{side}: {name} side",
                conditions=setup.conditions,
                tests=setup.tests,
                failed=count.bad,
                of=count.of,
            )
            for name, setup, count in (("failing", failing, fails), ("passing", passing, passes))
        )
        cause = Cause(axis=claim.axis, detail=claim.words, role=claim.role, others=claim.others, table=table)
        return Diagnosis(
            id=failing.tests[-1],
            kind="flaky",
            cause=cause,
            detail=claim.words,
            failing=failing,
            fails=fails,
            busy=busy,
            passes=passes,
            history=tuple(
                result
                for count in (fails, busy, passes if passes is not fails else None)
                if count is not None
                for result in count.results
            ),
        )

    def _beside_work(self, axis: str, failing: Setup, fails: Count) -> tuple[Setup, Count, Count]:
        """The failing side beside other work; another schedule in its place if that one fails each time."""
        first = self._busy(failing)
        if axis != "threads" or (fails.always_bad and first.always_bad):
            return failing, fails, first
        for seed in SCHEDULES:
            other = dataclasses.replace(failing, conditions=dataclasses.replace(failing.conditions, threads=seed))
            if other == failing:
                continue
            busy = self._busy(other)
            if not busy.always_bad:
                continue
            calm = self.trials.count(other, self.replays, Mode.FRESH)
            if calm.always_bad:
                return other, calm, busy
        return failing, fails, first

    def _busy(self, setup: Setup) -> Count:
        """Replays beside a busy process per core; the first one that passes ends them."""
        conditions = dataclasses.replace(setup.conditions, load="burn")
        beside = dataclasses.replace(setup, conditions=conditions)
        count = self.trials.count(beside, 1, Mode.FRESH)
        # A schedule of threads is undone seldom, so it takes more replays to see that.
        more = (2 if setup.conditions.threads else 1) * self.replays - 1
        return count.plus(self.trials.count(beside, more, Mode.FRESH)) if count.always_bad else count


def _renamed(words: str, axis: str, before: Setup, after: Setup) -> str:
    """The claim's words with the value that was taken instead."""
    old, new = (f"{axis}={setup.conditions.axis(axis)}" for setup in (before, after))
    return words.replace(old, new)
