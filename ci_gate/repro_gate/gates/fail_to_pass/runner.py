"""Asks the bench, and believes only what can be believed.

Belongs here: controls, lost experiments, limits, and the record of what was seen. Does not belong
here: what a run means for a test (judging, repeats).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from repro_gate.experiment import arrange, start_of
from repro_gate.gates.fail_to_pass.case import Bench, Collection, Policy, Request, Stage
from repro_gate.gates.fail_to_pass.runs import contradicted, forged, lost, worst
from repro_gate.model import (
    Conditions,
    Experiment,
    ExperimentResult,
    Limits,
    Mode,
    Outcome,
    ReasonCode,
    Side,
    TestRun,
)

NEUTRAL = Conditions()


class Stopped(Exception):
    """Nothing further can be learnt: the answer for the whole change is this reason;
    ``details`` is what pytest said.
    """

    def __init__(self, reason: ReasonCode, text: str, details: str = "") -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text
        self.details = details


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """These tests on a stage under conditions. ``seconds`` bounds each test; 0: the policy's first bound."""

    stage: Stage
    tests: tuple[str, ...]
    conditions: Conditions = NEUTRAL
    mode: Mode = Mode.FORK
    seconds: float = 0.0
    files: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Runner:
    """Runs asks; remembers each believed run by side and test, and which had no believable result.

    ``files`` hold all tests of the change: a process that must be started anew collects no more.
    """

    bench: Bench
    policy: Policy
    seen: defaultdict[tuple[Side, str], list[TestRun]] = field(default_factory=lambda: defaultdict(list))
    without_result: set[tuple[Side, str]] = field(default_factory=set)
    seeds: set[int] = field(default_factory=set)
    files: tuple[str, ...] = ()
    _collected: set[tuple[Stage, Conditions]] = field(default_factory=set, init=False)

    def expect(self, stage: Stage, conditions: Conditions = NEUTRAL) -> None:
        """Let the bench start on a collection that will be asked for."""
        self.bench.expect(stage, conditions)

    def collect(self, stage: Stage, conditions: Conditions = NEUTRAL) -> Collection:
        """Collect on a stage; whoever stands in for the product there is an answer by itself."""
        found = self.bench.collect(stage, conditions)
        self._collected.add((stage, start_of(conditions)))
        if found.strays:
            raise Stopped(ReasonCode.WRONG_TREE, f"not imported from the tested tree: {', '.join(found.strays)}")
        return found

    def run(self, asks: Sequence[Ask]) -> list[dict[str, TestRun]]:
        """The worst report of each asked test, per ask. Raises Stopped where controls did not hold twice."""
        asks = [ask for ask in asks if ask.tests]
        results = self.bench.run([self._request(ask, ask.mode) for ask in asks]) if asks else []
        doubtful = [place for place, result in enumerate(results) if forged(result) or lost(result)]
        if doubtful:
            again = self.bench.run([self._request(asks[place], Mode.FRESH) for place in doubtful])
            for place, result in zip(doubtful, again, strict=True):
                results[place] = result
        return [self._believed(ask, result) for ask, result in zip(asks, results, strict=True)]

    def one(self, ask: Ask) -> dict[str, TestRun]:
        """One ask alone; empty for no tests."""
        found = self.run([ask])
        return found[0] if found else {}

    def history(self, side: Side, test: str) -> list[TestRun]:
        """Every believed run of a test on a side."""
        return self.seen[side, test]

    def budget(self, tests: Iterable[str]) -> float:
        """Seconds for each of these tests: so many times what head needed, and never too few."""
        needed = [run.seconds for test in tests for run in self.seen[Side.HEAD, test] if run.outcome is Outcome.PASSED]
        return max([self.policy.least_seconds, *(self.policy.head_factor * seconds for seconds in needed)])

    def _request(self, ask: Ask, mode: Mode) -> Request:
        self.seeds.add(ask.conditions.hash_seed)
        limits = Limits(test_seconds=ask.seconds or self.policy.first_seconds, total_seconds=self.policy.total_seconds)
        # A list of tests is run as it is given: the order axis is ours to apply.
        tests = tuple(ask.tests[index] for index in arrange(ask.tests, ask.conditions.order))
        experiment = Experiment(tests=tests, conditions=ask.conditions, limits=limits)
        return Request(stage=ask.stage, experiment=experiment, mode=mode, files=ask.files or self._narrowed(ask, mode))

    def _narrowed(self, ask: Ask, mode: Mode) -> tuple[str, ...]:
        """The change's files where no server has collected all tests: most suites are far larger than a change.

        Always the same files, so that later rounds find the same server.
        """
        there = (ask.stage, start_of(ask.conditions)) in self._collected
        inside = all(test.partition("::")[0] in self.files for test in ask.tests)
        return () if mode is not Mode.FORK or there or not inside else self.files

    def _believed(self, ask: Ask, result: ExperimentResult) -> dict[str, TestRun]:
        if forged(result):
            # On base as it is, no one of this change can have forged anything.
            reason = ReasonCode.BASE_BROKEN if ask.stage.side is Side.CONTROL else ReasonCode.TAMPERED
            raise Stopped(reason, f"a control test did not do what it must ({ask.stage.side})")
        if lost(result):
            self.without_result.update((ask.stage.side, test) for test in ask.tests)
            return {test: TestRun(id=test, outcome=Outcome.NOT_RUN, seconds=0.0) for test in ask.tests}
        if against := contradicted(result, ask.tests):
            reason = ReasonCode.BASE_BROKEN if ask.stage.side is Side.CONTROL else ReasonCode.TAMPERED
            raise Stopped(reason, f"{against.id}: {against.contradiction} ({ask.stage.side})")
        found = {test: worst(result.runs, test) for test in ask.tests}
        for test, run in found.items():
            self.seen[ask.stage.side, test].append(run)
        return found
