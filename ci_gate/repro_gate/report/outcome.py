"""What a whole scan comes to: verdict, reason code, exit code, and the one line that says it.

Belongs here: the policy of a scan. Does not belong here: verdicts on single tests (flake).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from repro_gate.errors import ExitCode
from repro_gate.model import FlakeReport, GateVerdict, TestVerdict, Verdict
from repro_gate.report import words


class Reason(enum.StrEnum):
    """Why the scan came to its verdict: a code for machines."""

    FLAKY_TESTS = "flaky-tests"
    CONDITION_DEPENDENT_TESTS = "condition-dependent-tests"
    INCOMPLETE = "incomplete"
    NOTHING_JUDGED = "nothing-judged"
    NO_TESTS = "no-tests"
    NONE_FOUND = "none-found"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The verdict of a scan, why, and what the process says to its caller."""

    verdict: GateVerdict
    reason: Reason
    exit_code: ExitCode


def decide(report: FlakeReport) -> Decision:
    """Flaky or condition-dependent tests fail a scan; tests that always fail do not: that is pytest's to say.

    A scan that found nothing is inconclusive where it is incomplete or could judge no test at all.
    """
    if report.with_verdict(Verdict.FLAKY):
        return Decision(verdict=GateVerdict.FAIL, reason=Reason.FLAKY_TESTS, exit_code=ExitCode.BLOCKED)
    if report.with_verdict(Verdict.CONDITION_DEPENDENT):
        return Decision(verdict=GateVerdict.FAIL, reason=Reason.CONDITION_DEPENDENT_TESTS, exit_code=ExitCode.BLOCKED)
    if report.incomplete:
        return Decision(verdict=GateVerdict.INCONCLUSIVE, reason=Reason.INCOMPLETE, exit_code=ExitCode.INCONCLUSIVE)
    if not report.tests:
        return Decision(verdict=GateVerdict.PASS, reason=Reason.NO_TESTS, exit_code=ExitCode.PASS)
    if all(test.verdict is Verdict.NOT_JUDGED for test in report.tests):
        return Decision(verdict=GateVerdict.INCONCLUSIVE, reason=Reason.NOTHING_JUDGED, exit_code=ExitCode.INCONCLUSIVE)
    return Decision(verdict=GateVerdict.PASS, reason=Reason.NONE_FOUND, exit_code=ExitCode.PASS)


def exit_code(report: FlakeReport) -> ExitCode:
    """The process's exit code for a scan (docs/exit-codes.md)."""
    return decide(report).exit_code


def findings(report: FlakeReport) -> tuple[TestVerdict, ...]:
    """The tests that make a scan fail."""
    return report.with_verdict(Verdict.FLAKY, Verdict.CONDITION_DEPENDENT)


def summary_line(report: FlakeReport) -> str:
    """The whole scan in one line: the counts, or why there is nothing to count."""
    early = " (incomplete)" if report.incomplete else ""
    if not report.tests:
        return f"No tests to judge{early}."
    counts = [f"{len(found)} {verdict.value}" for verdict in _ORDER if (found := report.with_verdict(verdict))]
    tests = words.counted(len(report.tests), "test")
    return f"{', '.join(counts)} of {tests} in {words.runs(report)}, {report.seconds:.1f} s{early}."


_ORDER = (
    Verdict.FLAKY,
    Verdict.CONDITION_DEPENDENT,
    Verdict.ALWAYS_FAILING,
    Verdict.NOT_JUDGED,
    Verdict.STABLE,
)
