"""The gate's sentences: one mutant, one survivor, and the line of numbers. Pure.

Belongs here: plain text with code in backticks. Does not belong here: escaping for a format (report).
"""

from __future__ import annotations

import shlex

from repro_gate.gates.mutation.reasons import NEXT_STEP, Reason
from repro_gate.model import Mutant, MutantOutcome, MutantResult, MutationReport, Untested

DEFAULT_REPORT = "report.json"
FOUND_BY_ITSELF = (".repro-gate/report.json", DEFAULT_REPORT)  # where `repro-gate mutant` looks, in this order
_LONGEST = 80


def counted(number: int, thing: str) -> str:
    """``1 test``, ``2 tests``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def sentence(mutant: Mutant) -> str:
    """``line 104: `a < b` -> `a <= b```."""
    lines = f"line {mutant.line}" if mutant.line == mutant.end_line else f"lines {mutant.line} to {mutant.end_line}"
    return f"{lines}: {change(mutant)}"


def change(mutant: Mutant) -> str:
    """```a < b` -> `a <= b```."""
    return f"{_code(mutant.original)} -> {_code(mutant.mutated)}"


def survivor(result: MutantResult) -> str:
    """A survivor in one line: what was changed, which tests passed nevertheless, and what would tell the two apart."""
    example = f" ({'' if result.tests == 1 else 'e.g. '}{result.selection[-1]})" if result.selection else ""
    hint = f"; {result.mutant.hint}" if result.mutant.hint else ""
    return f"{sentence(result.mutant)} passed {counted(result.tests, 'test')}{example}{hint}"


def next_step_of(result: MutantResult, report: str) -> str:
    """What to do about a survivor, with commands as they can be typed where the report is."""
    if not report:
        where = f"With `--report-json {DEFAULT_REPORT}`, `repro-gate mutant show {result.mutant.id}` shows it."
        return f"{NEXT_STEP[Reason.SURVIVED]} {where}"
    option = "" if report in FOUND_BY_ITSELF else f" --report {shlex.quote(report)}"
    return f"{NEXT_STEP[Reason.SURVIVED]} `repro-gate mutant run {result.mutant.id}{option}` tries it again."


def outline(report: MutationReport) -> str:
    """The line of numbers: k of n, by whom, the interval, and what was left out."""
    measured = report.measured
    if not (report.tested or report.not_tested or report.beyond):
        return ""
    left = _left(report)
    parts = [f"{len(measured)} of {counted(len(report.tested) + sum(left.values()), 'mutant')} tested"]
    if left:
        parts[0] += f" ({', '.join(f'{count} {reason}' for reason, count in left.items())})"
    killed = [each for each in measured if each.outcome is MutantOutcome.KILLED]
    new = sum(each.by_new_test for each in killed)
    outside = sum(each.by_a_crash_outside for each in killed)
    counts = {
        "killed by old tests": len(killed) - new - outside,
        "killed only by tests of this change": new,
        "killed by a crash outside of any test": outside,
        "noticed by a timeout": sum(each.outcome is MutantOutcome.TIMEOUT for each in measured),
        "noticed by none": len(report.survivors),
        "inconclusive": len(report.tested) - len(measured),
    }
    if measured:
        parts.append(", ".join(f"{count} {words}" for words, count in counts.items() if count))
    if report.interval is not None and report.score is not None:
        low, high = report.interval
        parts.append(f"score {report.score:.0%} (95 %: {low:.0%} to {high:.0%})")
    return "; ".join(parts)


def _left(report: MutationReport) -> dict[str, int]:
    words = {
        Untested.NOT_COVERED: "covered by no test",
        Untested.NO_STABLE_TEST: "by no stable test",
        Untested.WAIVED: "waived",
        Untested.BUDGET: "left for want of time",
    }
    counts = {words[each]: report.left(each) for each in Untested}
    return {word: count for word, count in counts.items() if count}


def _code(text: str) -> str:
    line = " ".join(text.split())
    shown = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    return f"`{shown}`" if shown else "nothing"
