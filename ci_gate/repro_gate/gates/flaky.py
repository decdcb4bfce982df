"""The flaky gate: new and changed tests behave the same every time.

Belongs here: what a campaign's verdicts mean for a change. Does not belong here: campaigns (flake).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from repro_gate.model import Finding, FlakeReport, GateResult, GateVerdict, TestVerdict, Verdict

GATE = "flaky"


class Reason(enum.StrEnum):
    """Why the gate came to its verdict."""

    NONE_FOUND = "none-found"
    FLAKY = "flaky-tests"
    CONDITION_DEPENDENT = "condition-dependent-tests"
    NOT_NEW = "not-of-this-change"
    INCOMPLETE = "incomplete"
    NOTHING_TO_JUDGE = "nothing_to_judge"  # as the other gates have it; the rest are words of scans


_REASONS = {Verdict.FLAKY: Reason.FLAKY, Verdict.CONDITION_DEPENDENT: Reason.CONDITION_DEPENDENT}


def judge(report: FlakeReport | None, own: frozenset[str]) -> GateResult:
    """A campaign on head to a verdict: only the change's ``own`` tests block; None: it has none."""
    if report is None:
        return GateResult(gate=GATE, verdict=GateVerdict.NEUTRAL, reason=Reason.NOTHING_TO_JUDGE)
    found = [test for test in report.tests if test.verdict in _REASONS]
    findings = tuple(_findings(found, own))
    blocking = [finding for finding in findings if finding.reason is not Reason.NOT_NEW]
    if blocking:
        return GateResult(gate=GATE, verdict=GateVerdict.FAIL, reason=blocking[0].reason, findings=findings)
    unsure = [test for test in report.tests if test.id in own and test.unconfirmed]
    if report.incomplete or unsure:
        why = report.incomplete or f"{len(unsure)} tests passed and failed, and it could not be confirmed"
        doubt = Finding(reason=Reason.INCOMPLETE, text=why)
        return GateResult(
            gate=GATE, verdict=GateVerdict.INCONCLUSIVE, reason=Reason.INCOMPLETE, findings=(*findings, doubt)
        )
    return GateResult(gate=GATE, verdict=GateVerdict.PASS, reason=Reason.NONE_FOUND, findings=findings)


def _findings(found: Iterable[TestVerdict], own: frozenset[str]) -> Iterable[Finding]:
    for test in found:
        cause = (test.cause.axis or "no axis alone decides") if test.cause else "cause not known"
        detail = test.cause.detail if test.cause else test.detail
        yield Finding(
            reason=_REASONS[test.verdict] if test.id in own else Reason.NOT_NEW,
            id=test.id,
            text=f"{test.verdict}: {cause}: {detail}" if detail else f"{test.verdict}: {cause}",
            next_step=_next_step(test),
        )


def _next_step(test: TestVerdict) -> str:
    again = f" `repro-gate replay {test.capsule.path}` shows the failure again." if test.capsule else ""
    return f"Make the test independent of it.{again}"
