"""Rounds on both sides until something contradicts: fails on base each time, passes on head each time.

Belongs here: the repetitions and the meaning of a contradiction. A contradiction ends a test's
rounds at once. Forks repeat; one fresh process a side confirms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from repro_gate.gates.fail_to_pass.case import Stage
from repro_gate.gates.fail_to_pass.conditions import Round, combined, rounds, words
from repro_gate.gates.fail_to_pass.reasons import classify, ends_by_time, network
from repro_gate.gates.fail_to_pass.runner import Ask, Runner
from repro_gate.gates.fail_to_pass.suspects import DISRUPTIVE, HEAD, Judge, Suspect
from repro_gate.model import Conditions, Mode, Outcome, Proved, ReasonCode, Refused, Side, TestRun


@dataclass(kw_only=True, slots=True)
class Repeats:
    """Runs the rounds of suspects. ``company`` are all tests of the touched files, in order."""

    judge: Judge
    company: tuple[str, ...]

    def run(self, suspects: Iterable[Suspect]) -> None:
        """Repeat each suspect until it is contradicted or all rounds are done."""
        policy = self.judge.runner.policy
        pending = [suspect for suspect in suspects if suspect.open]
        for number in rounds(policy.same_seed, policy.varied):
            pending = [suspect for suspect in pending if suspect.open]
            if not pending:
                return
            for stage, found in dict.fromkeys((suspect.stage, suspect.conditions) for suspect in pending):
                group = [each for each in pending if (each.stage, each.conditions) == (stage, found)]
                self._round(number, stage, found, group)
        for suspect in pending:
            self._probability(suspect)

    def _round(self, this: Round, stage: Stage, found: Conditions, group: Sequence[Suspect]) -> None:
        by_order = "order" in found.differences(Conditions())
        if this.alone and by_order:
            return  # what base needs to fail is other tests before it
        conditions = combined(found, this.conditions)
        files = tuple(dict.fromkeys(suspect.file for suspect in group)) if this.mode is Mode.FRESH else ()
        seconds = self.judge.runner.budget([suspect.id for suspect in group])
        asks = [
            Ask(
                stage=side,
                tests=tests,
                conditions=conditions,
                mode=this.mode,
                seconds=seconds,
                files=() if by_order else files,
            )
            for side in (stage, HEAD)
            for tests in self._split(this, side, group, by_order)
        ]
        results = list(zip(asks, self.judge.runner.run(asks), strict=True))
        for ask, runs in results:
            for suspect in (each for each in group if each.id in runs):
                judge_run = self._on_head if ask.stage is HEAD else self._on_base
                judge_run(suspect, runs[suspect.id], replace(ask, tests=self._company_of(this, ask)), this)

    def _company_of(self, this: Round, ask: Ask) -> tuple[str, ...]:
        return self.company if this.alone and self.company else ask.tests

    def _split(self, this: Round, side: Stage, group: Sequence[Suspect], by_order: bool) -> list[tuple[str, ...]]:
        """Which tests share a process: all, but each alone where that is asked for or it ends processes."""
        apart = [s.id for s in group if this.alone or (side.side is Side.BASE and s.code in DISRUPTIVE)]
        joint = tuple(s.id for s in group if s.id not in apart)
        if by_order and joint:
            joint = self.company
        return [*([joint] if joint else []), *((test,) for test in apart)]

    def _on_head(self, suspect: Suspect, run: TestRun, ask: Ask, this: Round) -> None:
        suspect.passed_on_head += run.outcome is Outcome.PASSED
        if run.outcome is Outcome.PASSED or not suspect.open:
            return
        if ends_by_time(run.failure):
            suspect.refuse(ReasonCode.BUSY, "a limit of time ended it on head once", on_head=run.failure)
            return
        if run.outcome is Outcome.TIMEOUT:
            seconds = 2 * self.judge.runner.policy.first_seconds
            again = Ask(stage=HEAD, tests=(run.id,), conditions=ask.conditions, mode=Mode.FRESH, seconds=seconds)
            if self.judge.runner.one(again)[run.id].outcome is Outcome.PASSED:
                suspect.refuse(ReasonCode.BUSY, "took too long on head once, and not when it was run again")
                return
        if run.outcome is Outcome.NOT_RUN:
            lost = (Side.HEAD, run.id) in self.judge.runner.without_result
            suspect.refuse(ReasonCode.LOST if lost else ReasonCode.NOT_RUN, "had no result on head in a repetition")
        elif network(run):
            code = self.judge.network_code(run.id, ReasonCode.NETWORK_ATTEMPT)
            suspect.refuse(code, "it tries to reach the network", on_head=run.failure)
        else:
            reason, why = self._cause(suspect.id, ask, this, good=True)
            suspect.refuse(reason or ReasonCode.FLAKY_ON_HEAD, f"failed on head {why}", on_head=run.failure)

    def _on_base(self, suspect: Suspect, run: TestRun, ask: Ask, this: Round) -> None:
        suspect.ran_on_base += 1
        code = classify(run, self.judge.context)
        same = run.failure is None or suspect.failure is None or run.failure.type == suspect.failure.type
        if code is suspect.code and (same or code in DISRUPTIVE):
            suspect.failed_on_base += 1
            return
        if not suspect.open or (run.outcome is Outcome.PASSED and self.judge.runner.policy.probabilistic):
            return
        if run.outcome is Outcome.PASSED:
            reason, why = self._cause(suspect.id, ask, this, good=False)
            suspect.refuse(reason or ReasonCode.FLAKY_ON_BASE, f"passed on base {why}")
        elif run.outcome is Outcome.NOT_RUN:
            lost = (Side.BASE, run.id) in self.judge.runner.without_result
            suspect.refuse(ReasonCode.LOST if lost else ReasonCode.NOT_RUN, "had no result on base in a repetition")
        elif code is ReasonCode.NETWORK:
            suspect.refuse(*self.judge.network_on_base(run))
        elif code is ReasonCode.TIMEOUT or ends_by_time(run.failure):
            suspect.refuse(ReasonCode.BUSY, "took too long on base in a repetition")
        else:
            now = run.failure.type if run.failure else run.outcome
            suspect.refuse(
                ReasonCode.FLAKY_ON_BASE, f"fails on base for different reasons: {suspect.code}, then {code} ({now})"
            )

    def _cause(self, test: str, ask: Ask, this: Round, *, good: bool) -> tuple[ReasonCode | None, str]:
        """ORDER_DEPENDENT where company or order alone decides, by running the other way round and again."""
        under = "when it was run alone" if this.alone else f"under these conditions: {words(ask.conditions)}"
        joint = replace(ask, conditions=replace(ask.conditions, order="collected"))
        if this.alone:
            odd = replace(ask, tests=(test,))
        elif ask.conditions.order != "collected":
            odd = ask
        else:
            return None, under
        contradicts, agrees = (self.judge.runner.one(each)[test].outcome is Outcome.PASSED for each in (odd, joint))
        decides = contradicts is not good and agrees is good
        return (ReasonCode.ORDER_DEPENDENT if decides else None), under

    def _probability(self, suspect: Suspect) -> None:
        """With `probabilistic`, base may pass now and then: often enough failed is enough."""
        least = self.judge.runner.policy.probabilistic
        if suspect.open and suspect.failed_on_base < least * suspect.ran_on_base:
            suspect.refuse(
                ReasonCode.FLAKY_ON_BASE, f"failed on base {suspect.failed_on_base} of {suspect.ran_on_base} times"
            )


def repeat_expected(runner: Runner, tests: Iterable[str]) -> tuple[list[Proved], list[Refused]]:
    """Head alone, for a reproduction that a later change is to fix: it fails as expected in every round."""
    failed = dict.fromkeys(tests, 0)
    refused: list[Refused] = []
    for each in rounds(runner.policy.same_seed, runner.policy.varied):
        asks = [
            Ask(stage=HEAD, tests=together, conditions=each.conditions, mode=each.mode)
            for together in ([(test,) for test in failed] if each.alone else [tuple(failed)])
        ]
        for test, run in (pair for runs in runner.run(asks) for pair in runs.items()):
            if run.contradiction:
                del failed[test]
                refused.append(Refused(id=test, reason=ReasonCode.TAMPERED, why=run.contradiction))
            elif run.outcome is Outcome.XFAILED:
                failed[test] += 1
            else:
                del failed[test]
                why = f"is expected to fail and came to {run.outcome} with {words(each.conditions)}"
                refused.append(Refused(id=test, reason=ReasonCode.FLAKY_ON_HEAD, why=why))
    return [Proved(id=test, reason=ReasonCode.REPRO_ONLY, runs=runs) for test, runs in failed.items()], refused
