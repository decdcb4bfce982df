"""A test on its way to a proof, and what its first runs say of it.

Belongs here: one test's state, and the judgement of single runs with the re-runs that a doubtful
outcome asks for. Does not belong here: repeating (repeats) or the whole change (protocol).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from repro_gate.gates.fail_to_pass.case import Case, Stage
from repro_gate.gates.fail_to_pass.reasons import (
    API,
    RIGHT,
    Context,
    classify,
    ends_by_network,
    ends_by_time,
    network,
    through_product,
)
from repro_gate.gates.fail_to_pass.runner import NEUTRAL, Ask, Runner
from repro_gate.model import Conditions, Failure, ItemFacts, Mode, Outcome, ReasonCode, Refused, Side, TestRun

HEAD = Stage(side=Side.HEAD)
# These end a process: they are run alone, and the others without them.
DISRUPTIVE = frozenset({ReasonCode.TIMEOUT, ReasonCode.CRASH})

# As the plugin reads it of the test's own code.
_ASKING = {
    "docs": re.compile(r"__doc__|\bgetdoc\b|\bpydoc\b|\b(?:help|vars|dir|getmembers)\("),
    "annotations": re.compile(r"__annotations__|\bget_annotations\b|\bget_type_hints\b|\binspect\.signature\b"),
    "code": re.compile(r"__code__|\bco_[a-z]+"),
}

_ON_HEAD = {
    Outcome.SKIPPED: (ReasonCode.SKIPPED_ON_HEAD, "skipped on head"),
    Outcome.XFAILED: (ReasonCode.XFAIL, "expected to fail on head"),
    Outcome.XPASSED: (ReasonCode.XPASS, "marked as expected to fail, and passes on head"),
}
_ON_BASE = {
    Outcome.SKIPPED: (ReasonCode.NOT_RUN, "skipped on base"),
    Outcome.XFAILED: (ReasonCode.XFAIL, "expected to fail on base"),
    Outcome.XPASSED: (ReasonCode.XPASS, "marked as expected to fail, and passes on base"),
}


@dataclass(kw_only=True, slots=True)
class Suspect:
    """A test that failed on base and passed on head so far. ``conditions`` are those it fails under."""

    id: str
    file: str
    stage: Stage
    code: ReasonCode
    failure: Failure | None
    conditions: Conditions = NEUTRAL
    by_dependency: bool = False
    failed_on_base: int = 0
    ran_on_base: int = 0
    passed_on_head: int = 0
    refused: Refused | None = None

    @property
    def open(self) -> bool:
        """Whether nothing speaks against it yet."""
        return self.refused is None

    def refuse(self, reason: ReasonCode, why: str, *, on_head: Failure | None = None) -> None:
        """It proves nothing. The first reason stays."""
        if self.refused is None:
            self.refused = Refused(id=self.id, reason=reason, why=why, on_base=self.failure, on_head=on_head)


@dataclass(kw_only=True, slots=True)
class Judge:
    """Judges first runs; asks for more where one run cannot tell."""

    case: Case
    runner: Runner
    context: Context
    items: Mapping[str, ItemFacts] = field(default_factory=dict)
    confirmed: int = 0

    def asks(self, suspect: Suspect, kind: str) -> bool:
        """Whether the test's own code asks for ``docs``, ``annotations``, ``code`` or ``files``,
        or what the change has it read.
        """
        item = self.items.get(suspect.id)
        return (item is not None and kind in item.asks) or kind in self._asked_by_texts(suspect)

    def _asked_by_texts(self, suspect: Suspect) -> set[str]:
        """What the documentation and data of the change ask for that a test reads: it may run them."""
        runs = self.runner.history(Side.HEAD, suspect.id)
        read = {path for run in runs if run.evidence is not None for path in run.evidence.opened}
        texts = [self.case.text(path) or "" for path in read & (self.case.documents | self.case.test_data)]
        return {kind for kind, words in _ASKING.items() if any(words.search(text) for text in texts)}

    def on_head(self, run: TestRun, *, file: str, company: tuple[str, ...], on_base: Failure | None) -> Refused | None:
        """Why this test is no proof by what head does, or None where it passes."""
        if run.outcome is Outcome.TIMEOUT or ends_by_time(run.failure):
            run = self._patiently(run, file)
        if run.outcome is Outcome.PASSED:
            return None
        if ends_by_time(run.failure):
            reason, why = ReasonCode.BUSY, f"a limit of time ends it on head: {in_words(run.failure)}"
        else:
            reason, why = self._why_on_head(run, file, company)
        return Refused(id=run.id, reason=reason, why=why, on_base=on_base, on_head=run.failure)

    def on_base(self, run: TestRun, *, file: str, stage: Stage, conditions: Conditions = NEUTRAL) -> Suspect:
        """A suspect, perhaps refused at once, of a run on base that did not pass."""
        code = classify(run, self.context) or ReasonCode.UNEXPLAINED
        suspect = Suspect(id=run.id, file=file, stage=stage, code=code, failure=run.failure, conditions=conditions)
        if run.outcome in _ON_BASE:
            suspect.refuse(*_ON_BASE[run.outcome])
        elif code is ReasonCode.NOT_RUN:
            suspect.refuse(*self._no_result(Side.BASE, run.id))
        elif code is ReasonCode.NETWORK:
            suspect.refuse(*self.network_on_base(run))
        elif code in DISRUPTIVE:
            self._confirm_disruption(suspect)
        elif code not in RIGHT | API:
            suspect.refuse(code, f"fails on base for a reason outside of the product: {in_words(run.failure)}")
        return suspect

    def network_code(self, test: str, otherwise: ReasonCode) -> ReasonCode:
        """The code of a network attempt: some tests are allowed to."""
        return ReasonCode.NETWORK_ALLOWED if test in self.case.network_allowed else otherwise

    def network_on_base(self, run: TestRun) -> tuple[ReasonCode, str]:
        """A test that passes on head needs no network; if it does not end by its absence on base either, it goes on."""
        if ends_by_network(run.failure):
            return self.network_code(run.id, ReasonCode.NETWORK), "it needs the network on base"
        why = "it tries to reach the network, and goes on without it"
        return self.network_code(run.id, ReasonCode.NETWORK_ATTEMPT), why

    def _why_on_head(self, run: TestRun, file: str, company: tuple[str, ...]) -> tuple[ReasonCode, str]:
        if run.outcome in _ON_HEAD:
            return _ON_HEAD[run.outcome]
        if run.outcome is Outcome.NOT_RUN:
            return self._no_result(Side.HEAD, run.id)
        if network(run):
            return self.network_code(run.id, ReasonCode.NETWORK), "it needs the network"
        if self.confirmed >= self.runner.policy.most_confirmed:
            return ReasonCode.FAILS_ON_HEAD, f"fails on head, like others that were run again: {in_words(run.failure)}"
        self.confirmed += 1
        alone = self.runner.one(Ask(stage=HEAD, tests=(run.id,), mode=Mode.FRESH, files=(file,)))[run.id]
        if alone.outcome is not Outcome.PASSED:
            return ReasonCode.FAILS_ON_HEAD, f"fails on head: {in_words(run.failure)}"
        again = self.runner.one(Ask(stage=HEAD, tests=company))[run.id]
        if again.outcome is Outcome.PASSED:
            return ReasonCode.FLAKY_ON_HEAD, "failed on head, and passed when it was run again"
        return ReasonCode.ORDER_DEPENDENT, "passes on head alone, and fails after other tests"

    def _patiently(self, run: TestRun, file: str) -> TestRun:
        """A busy machine is no fault of the test: it gets twice the time, alone."""
        seconds = 2 * self.runner.policy.first_seconds
        ask = Ask(stage=HEAD, tests=(run.id,), mode=Mode.FRESH, files=(file,), seconds=seconds)
        return self.runner.one(ask)[run.id]

    def _confirm_disruption(self, suspect: Suspect) -> None:
        """A hang or crash must come again alone, and must be seen to happen in the product."""
        ask = Ask(
            stage=suspect.stage,
            tests=(suspect.id,),
            conditions=suspect.conditions,
            mode=Mode.FRESH,
            files=(suspect.file,),
            seconds=self.runner.budget([suspect.id]),
        )
        codes = []
        for _ in range(2):
            run = self.runner.one(ask)[suspect.id]
            codes.append(classify(run, self.context))
            if codes[-1] is suspect.code:
                if not through_product(suspect.failure):
                    suspect.failure = run.failure or suspect.failure
                break
        if suspect.code not in codes:
            if suspect.code is ReasonCode.TIMEOUT:
                suspect.refuse(ReasonCode.BUSY, "took too long on base once, and not when it was run alone")
            else:
                suspect.refuse(ReasonCode.FLAKY_ON_BASE, "ended its process on base once, and not alone")
        elif not through_product(suspect.failure):
            suspect.refuse(suspect.code, "no frame of the product was seen: it cannot be told whose fault it is")

    def _no_result(self, side: Side, test: str) -> tuple[ReasonCode, str]:
        if (side, test) in self.runner.without_result:
            return ReasonCode.LOST, f"its process was lost twice on {side}"
        return ReasonCode.NOT_RUN, f"was not run on {side}"


def in_words(failure: Failure | None) -> str:
    """The exception's type and the first line of its message."""
    if failure is None:
        return "no exception was seen"
    first = failure.message.strip().split("\n", 1)[0][:200]
    return f"{failure.type}: {first}" if first else failure.type
