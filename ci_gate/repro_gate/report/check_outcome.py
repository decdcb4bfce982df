"""What a check comes to for its caller: exit code, and the lines that every rendering shares.

Belongs here: words on a whole check. Does not belong here: deciding a gate (gates).
"""

from __future__ import annotations

from collections.abc import Iterator

from repro_gate.errors import ExitCode
from repro_gate.model import CheckReport, Failure, GateResult, GateVerdict, Level
from repro_gate.model.check import abbreviated
from repro_gate.report import words

_CODES = {
    GateVerdict.PASS: ExitCode.PASS,
    GateVerdict.NEUTRAL: ExitCode.PASS,
    GateVerdict.FAIL: ExitCode.BLOCKED,
    GateVerdict.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
}


def exit_code(report: CheckReport) -> ExitCode:
    """The process's exit code for a check (docs/exit-codes.md)."""
    return _CODES[report.verdict]


def headline(report: CheckReport) -> str:
    """The verdict in one line. Gates that only warn leave none, though they may have judged much."""
    judged = any(each.findings or each.verdict is not GateVerdict.NEUTRAL for each in report.gates)
    said = {
        GateVerdict.PASS: "passed",
        GateVerdict.NEUTRAL: "nothing blocks" if judged else "nothing to judge",
        GateVerdict.FAIL: "failed",
        GateVerdict.INCONCLUSIVE: "inconclusive",
    }[report.verdict]
    if not report.base:
        return f"{said}: no base to compare with"
    return f"{said}: {report.base[:12]} (base) to {report.head[:12]} (head), {report.how}"


def gate_line(gate: GateResult, report: CheckReport) -> str:
    """One gate in one line."""
    level = " (warns only)" if report.levels.get(gate.gate) is Level.WARN else ""
    summary = f": {gate.summary}" if gate.summary else ""
    return f"{gate.gate}: {gate.verdict} ({gate.reason}){level}{summary}"


def failure_line(failure: Failure | None) -> str:
    """A failure in one line: type, first line of its message, and the last frame of the project."""
    if failure is None:
        return ""
    message = words.first_line(failure.message)
    text = f"{failure.type}: {message}" if message else failure.type
    own = [frame for frame in failure.frames if frame.zone.value in ("Test", "Product")]
    return f"{text} ({own[-1].path}:{own[-1].line})" if own else text


def footnotes(report: CheckReport) -> Iterator[str]:
    """Where it ran, what to know, and how to repeat it."""
    if report.sandbox is not None:
        hermetic = "" if report.sandbox.hermetic else " (not hermetic)"
        python = f"Python {report.python}, pytest {report.pytest}, " if report.python else ""
        yield f"{python}sandbox {report.sandbox.name}{hermetic}, environment {abbreviated(report.environment, 16) or 'none'}."
    yield from (f"Note: {note}" for note in report.notes)
    yield f"Repeat: {report.command}"
