"""Mutants tried in one way: seen failing twice, or alone beside a null run, or not at all.

Belongs here: from a first sign to what can be said of a mutant in this way. Does not belong here: which way comes next,
and the budget (protocol).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro_gate.gates.fail_to_pass.case import Bench
from repro_gate.gates.mutation.asking import ALONE, Asking
from repro_gate.gates.mutation.controls import Controls, Ground
from repro_gate.gates.mutation.observed import Observed, Reading, Sign, all_of, observe, read
from repro_gate.model import Mutant, MutantOutcome, MutantResult, Outcome, Way

_SILENT = (Outcome.SKIPPED, Outcome.XFAILED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """What one way says of a mutant: a ``result``, or that no test noticed it (``missed``), or neither, and why.

    ``exposed`` are tests that may not speak in this way, although they run the mutant's lines.
    """

    result: MutantResult | None = None
    missed: MutantResult | None = None
    exposed: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Trial:
    mutant: Mutant
    ground: Ground
    first: Observed
    reading: Reading

    @property
    def up_to(self) -> tuple[str, ...]:
        """The tests up to the one that showed the sign."""
        tests = self.ground.tests
        shown = self.reading.tests[0] if self.reading.tests else ""
        return tests[: tests.index(shown) + 1] if shown in tests else tests


@dataclass(kw_only=True)
class Trials:
    """Tries mutants through a bench; many at a time, but those alone whose sign depends on time."""

    bench: Bench
    asking: Asking
    controls: Controls

    def settle(self, mutants: Sequence[Mutant], way: Way) -> dict[str, Settled]:
        """By mutant's id."""
        grounds = self.controls.grounds(mutants, way)
        settled = {
            mutant.id: Settled(exposed=self._covering(mutant, grounds[mutant.id]), why=grounds[mutant.id].why)
            for mutant in mutants
            if grounds[mutant.id].why
        }
        standing = [(mutant, grounds[mutant.id]) for mutant in mutants if mutant.id not in settled]
        # The first failure tells; which others there are is not asked.
        requests = [
            self.asking.mutated(mutant, way, ground.tests, until=self._until(ground, way))
            for mutant, ground in standing
        ]
        trials = []
        for (mutant, ground), result in zip(standing, self.bench.run(requests) if requests else [], strict=True):
            seen = observe(result, ground.tests)
            reading = self._read(seen, ground, way)
            trials.append(_Trial(mutant=mutant, ground=ground, first=seen, reading=reading))
        settled |= self._again([trial for trial in trials if trial.reading.sign is Sign.FAILURE], way)
        for trial in trials:
            if trial.reading.sign is not Sign.FAILURE:
                settled[trial.mutant.id] = self._one(trial, way)
        return settled

    def all_missed(self, mutants: Sequence[Mutant]) -> dict[str, Settled]:
        """By id, where the whole suite misses all of these at once: then it misses each. Else nothing.

        Group testing (Dorfman 1943): most that come so far are missed, and a run of the suite is dear.
        """
        tests = self.asking.case.selection(mutants[0], Way.SUITE)
        request = self.asking.together(mutants, tests)
        if request is None:
            return {}
        (result,) = self.bench.run([request])
        seen = observe(result, tests)
        if self._as_on_head(seen, tests):
            self.controls.spare_null(mutants, Way.SUITE, seen)
        grounds = self.controls.grounds(mutants, Way.SUITE)
        if any(ground.why or ground.tests != tests for ground in grounds.values()):
            return {}
        found: dict[str, Settled] = {}
        for mutant in mutants:
            ground = grounds[mutant.id]
            trial = _Trial(mutant=mutant, ground=ground, first=seen, reading=self._read(seen, ground, Way.SUITE))
            if trial.reading.sign is Sign.SILENCE:
                found[mutant.id] = self._one(trial, Way.SUITE)
        return found if len(found) == len(mutants) else {}

    def _one(self, trial: _Trial, way: Way) -> Settled:
        exposed = self._covering(trial.mutant, trial.ground)
        match trial.reading.sign:
            case Sign.SILENCE:
                return Settled(missed=self._result(trial, MutantOutcome.SURVIVED, way), exposed=exposed)
            case Sign.NOT_THERE:
                return Settled(exposed=exposed, why="its code could not be exchanged in a fork")
            case Sign.UNCLEAR:
                return Settled(exposed=exposed, why=trial.reading.why)
            case Sign.OTHER_TESTS if way is Way.FORK:
                return Settled(exposed=exposed, why=trial.reading.why)
            case Sign.OTHER_TESTS:
                return self._as_collected(trial, way)
            case _:
                return self._alone(trial, way)

    def _again(self, trials: Sequence[_Trial], way: Way) -> dict[str, Settled]:
        """The second time, up to the test that failed, behind its neighbours. Where it passes now, all tests twice:
        others may fail both times.

        What only fails without the tests that the suite has before it is no kill: then the whole suite is asked.
        """
        settled: dict[str, Settled] = {}
        seconds = self._seen(trials, [self._behind(trial, way) for trial in trials], way)
        for trial, seen in zip(trials, seconds, strict=True):
            killer = trial.reading.tests[0]
            if killer in _failed_in(trial, seen):
                settled[trial.mutant.id] = Settled(result=self._killed(trial, self._credited(trial, seen, way), way))
        left = [trial for trial in trials if trial.mutant.id not in settled]
        whole = [self._seen(left, [trial.ground.tests for trial in left], way) for _ in range(2 if left else 0)]
        for trial, *both in zip(left, *whole, strict=True):
            one, other = (_failed_in(trial, seen) for seen in both)
            killers = tuple(test for test in one if test in other)
            if killers and way is not Way.SUITE and self._behind(trial, way) != trial.up_to:
                why = f"{killers[0]} fails with it, and not behind the tests that come before it"
                settled[trial.mutant.id] = Settled(exposed=killers, why=why)
            elif killers:
                settled[trial.mutant.id] = Settled(result=self._killed(trial, killers, way))
            else:
                why = f"{trial.reading.tests[0]} failed with it once, and not a second time"
                settled[trial.mutant.id] = Settled(result=self._unclear(trial, way, why))
        return settled

    def _credited(self, trial: _Trial, seen: Observed, way: Way) -> tuple[str, ...]:
        """Who has the kill: an older test before it that fails as well has it, though it runs none of the lines.

        It reads what another test left in a cache or a fixture. Nobody had tried it in this company: a null run says if
        it passes there.
        """
        case, killer = self.asking.case, trial.reading.tests[0]
        older = [test for test in seen.runs if case.may_tell(test) and not self._is_new(test) and seen.failed(test)]
        if not older or not self._is_new(killer):
            return (killer,)
        tests = self._behind(trial, way)
        requests = [self.asking.null(trial.mutant, way, tests), self.asking.mutated(trial.mutant, way, tests)]
        null, again = (observe(result, tests) for result in self.bench.run(requests))
        return next(((test,) for test in older if null.passed(test) and again.failed(test)), (killer,))

    def _as_on_head(self, seen: Observed, tests: Sequence[str]) -> bool:
        """Whether every test passed that passes on head, and each that says nothing there says nothing."""
        case = self.asking.case
        steady = case.outcomes.keys() >= frozenset(seen.others)
        return (
            steady
            and not (seen.broken or seen.uncollected)
            and all(
                seen.passed(test) if case.may_tell(test) else seen.calm(test) or not case.may_break_its_silence(test)
                for test in tests
            )
        )

    def _until(self, ground: Ground, way: Way) -> frozenset[str]:
        """Whose failure ends a run. In the suite's own order an older test may be behind the change's: it gets the
        kill.
        """
        return ground.telling.difference(self.asking.case.new_tests) if way is Way.SUITE else ground.telling

    def _read(self, seen: Observed, ground: Ground, way: Way) -> Reading:
        case = self.asking.case
        known = case.outcomes if way is Way.SUITE and not ground.unsteady else None
        reading = read(seen, ground.tests, ground.eligible, ground.silent, known)
        broken = _files_lost(seen, ground) if way is Way.SUITE else ()
        if broken and reading.sign in (Sign.SILENCE, Sign.OTHER_TESTS):
            return Reading(sign=Sign.FAILURE, tests=broken)
        return replace(reading, tests=tuple(sorted(reading.tests, key=lambda test: test in case.new_tests)))

    def _behind(self, trial: _Trial, way: Way) -> tuple[str, ...]:
        """What the test that showed a sign is run behind when it is looked at again.

        Not behind those that run the lines and were to come after it: one of them may hang.
        """
        if way is Way.SUITE:
            return trial.up_to
        later = trial.ground.tests[len(trial.up_to) :]
        return self.asking.case.in_company(trial.up_to, trial.reading.tests[0], way, later)

    def _seen(self, trials: Sequence[_Trial], runs: Sequence[tuple[str, ...]], way: Way) -> list[Observed]:
        """Each mutant once more, on some of its tests."""
        requests = [self.asking.mutated(trial.mutant, way, tests) for trial, tests in zip(trials, runs, strict=True)]
        results = self.bench.run(requests) if requests else []
        return [observe(result, tests) for result, tests in zip(results, runs, strict=True)]

    def _as_collected(self, trial: _Trial, way: Way) -> Settled:
        """Tests are gone with it, others may have come: then what pytest makes of those that are there is the
        answer.
        """
        exposed = self._covering(trial.mutant, trial.ground)
        mutant, tests, case = trial.mutant, trial.ground.tests, self.asking.case
        texts = (case.texts[mutant.file], mutant.text, mutant.text)
        requests = [self.asking.as_collected(mutant, way, tests, text) for text in texts]
        null, *both = (observe(each, all_of(each)) for each in self.bench.run(requests))
        if any(seen.broken or not seen.runs for seen in (null, *both)):
            why = next((seen.broken for seen in (null, *both) if seen.broken), "no test is left with it")
            return Settled(exposed=exposed, why=why)
        # Those that are no tests of head passed nowhere before; they are asked for what they say of the mutant.
        telling = [
            frozenset(test for test in seen.runs if test in null.runs and null.passed(test) and case.may_tell(test))
            | frozenset(test for test in seen.runs if test not in null.runs and test not in case.outcomes)
            for seen in both
        ]
        readings = [read(seen, tuple(seen.runs), may) for seen, may in zip(both, telling, strict=True)]
        one, other = (each.tests if each.sign is Sign.FAILURE else () for each in readings)
        killers = tuple(test for test in one if test in other)
        if killers:
            return Settled(result=self._killed(trial, killers, way))
        if all(_nothing_noticed(seen, may) for seen, may in zip(both, telling, strict=True)):
            return Settled(missed=self._result(trial, MutantOutcome.SURVIVED, way), exposed=exposed)
        why = next((each.why for each in readings if each.why), trial.reading.why)
        return Settled(result=self._unclear(trial, way, why))

    def _alone(self, trial: _Trial, way: Way) -> Settled:
        """A hang or a crash, with nothing beside it and more time, and then head's own code in the same slot."""
        tests = trial.up_to
        (result,) = self.bench.run([self.asking.mutated(trial.mutant, way, tests, ALONE)])
        again = observe(result, tests)
        (result,) = self.bench.run([self.asking.null(trial.mutant, way, tests, ALONE)])
        null = observe(result, tests)
        blamed = trial.reading.tests[0] if trial.reading.tests else ""
        what = "ran into its limit" if trial.reading.sign is Sign.HANG else "crashed"
        if null.broken or not null.swapped or (blamed and not null.passed(blamed)):
            why = f"{blamed or 'the process'} {what} with it, and does not pass without it in the same place either"
            return Settled(result=self._unclear(trial, way, why))
        if trial.reading.sign is Sign.HANG and not again.broken and again.outcome(blamed) is Outcome.TIMEOUT:
            why = f"{blamed} does not end with it in {ALONE:g} times its limit, and passes without it"
            return Settled(result=self._killed(trial, (blamed,), way, MutantOutcome.TIMEOUT, why))
        # What takes all memory may first run out of time: it crashes where it has more.
        crashed = again.outcome(blamed) is Outcome.CRASHED and not again.broken if blamed else again.gone
        if crashed:
            why = "killed: crash" if blamed else f"killed: crash ({again.broken})"
            return Settled(result=self._killed(trial, (blamed,) if blamed else (), way, MutantOutcome.KILLED, why))
        why = f"{blamed or 'the process'} {what} with it once, and not when it was tried alone"
        return Settled(result=self._unclear(trial, way, why))

    def _covering(self, mutant: Mutant, ground: Ground) -> tuple[str, ...]:
        """Of the tests that may not speak, those that run the mutant's lines: what they would say is missing."""
        return tuple(test for test in ground.exposed if test in frozenset(self.asking.case.covering(mutant)))

    def _killed(
        self,
        trial: _Trial,
        killers: tuple[str, ...],
        way: Way,
        outcome: MutantOutcome = MutantOutcome.KILLED,
        why: str = "",
    ) -> MutantResult:
        new = bool(killers) and all(self._is_new(test) for test in killers)
        result = self._result(trial, outcome, way, why=why)
        return replace(result, killed_by=killers, by_new_test=new)

    def _is_new(self, test: str) -> bool:
        """Whether the change brings a test; one that head does not have is as new as those of its function."""
        case = self.asking.case
        if test in case.outcomes:
            return test in case.new_tests
        function = test.partition("[")[0]
        alike = [each for each in case.outcomes if each.partition("[")[0] == function]
        return bool(alike) and all(each in case.new_tests for each in alike)

    def _unclear(self, trial: _Trial, way: Way, why: str) -> MutantResult:
        return self._result(trial, MutantOutcome.INCONCLUSIVE, way, why=why)

    def _result(self, trial: _Trial, outcome: MutantOutcome, way: Way, *, why: str = "") -> MutantResult:
        """Told of are the tests that run its lines, unless all were asked: the change's others are beside the point."""
        tests = trial.ground.tests
        if way is not Way.SUITE:
            covering = frozenset(self.asking.case.covering(trial.mutant))
            tests = tuple(test for test in tests if test in covering) or tests
        else:
            tests = tuple(test for test in tests if test in trial.ground.eligible)
        return MutantResult(
            mutant=trial.mutant,
            outcome=outcome,
            confirmed=way is not Way.FORK and outcome.measured,
            tests=sum(test in trial.ground.eligible for test in tests),
            why=why,
            selection=tests,
        )


def _nothing_noticed(seen: Observed, telling: frozenset[str]) -> bool:
    """Whether each test passed that may speak, or has nothing to say: one that came may be skipped."""
    return all(seen.passed(test) or seen.outcome(test) in _SILENT for test in telling) and telling <= seen.trusted


def _failed_in(trial: _Trial, seen: Observed) -> tuple[str, ...]:
    """The tests that may speak and failed, in order; none where the run as a whole tells nothing."""
    if not seen.swapped or seen.broken:
        return ()
    failed = tuple(test for test in seen.runs if test in trial.ground.telling and seen.failed(test))
    return failed or _files_lost(seen, trial.ground)


def _files_lost(seen: Observed, ground: Ground) -> tuple[str, ...]:
    """Files without a test that may speak, which cannot be imported any more: pytest makes an error of that."""
    speaking = {test.partition("::")[0] for test in ground.telling}
    return tuple(sorted(seen.uncollected - ground.uncollected - speaking))
