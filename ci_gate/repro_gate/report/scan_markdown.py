"""A scan as Markdown for a job's summary: what was found, what each depends on, how to see it again.

Belongs here: one page, with everything that comes from a test escaped. Does not belong here: writing it.
"""

from __future__ import annotations

from collections.abc import Iterator

from repro_gate.model import FlakeReport, GateVerdict, TestVerdict, Verdict
from repro_gate.report import words
from repro_gate.report.as_markdown import SIGNS, code, console, escaped
from repro_gate.report.outcome import decide, findings, summary_line

_MOST = 25


def page(report: FlakeReport, command: str) -> str:
    """The whole page; ``command`` repeats the scan."""
    return "\n".join(_lines(report, command)) + "\n"


def of_one(report: FlakeReport, test: TestVerdict, command: str) -> str:
    """A page on one finding."""
    lines = ["| test | verdict | depends on | failed |", "|---|---|---|---|", _row(test), "", *_replays((test,))]
    lines += [escaped(summary_line(report)), "", "To repeat the scan in a checkout:", "", *console([command])]
    return "\n".join(lines) + "\n"


def _lines(report: FlakeReport, command: str) -> Iterator[str]:
    decision = decide(report)
    yield f"## {SIGNS[GateVerdict(decision.verdict)]} repro-gate: {escaped(summary_line(report))}"
    yield ""
    if report.incomplete:
        yield f"**Incomplete:** {escaped(report.incomplete)}"
        yield ""
    found = findings(report)
    if found:
        yield "| test | verdict | depends on | failed |"
        yield "|---|---|---|---|"
        yield from map(_row, found[:_MOST])
        yield ""
        yield from _replays(found)
    if len(found) > _MOST:
        yield f"… and {len(found) - _MOST} more in the report."
        yield ""
    for verdict, about in (
        (Verdict.ALWAYS_FAILING, "never passed: broken, not flaky"),
        (Verdict.NOT_JUDGED, "not judged"),
    ):
        yield from _others(report.with_verdict(verdict), about)
    stable = words.stable_line(report)
    if stable:
        yield escaped(stable) + "."
        yield ""
    yield from (f"<sub>{escaped(note)}</sub>  " for note in report.notes)
    yield ""
    yield "To repeat it in a checkout:"
    yield ""
    yield from console([command])


def _row(test: TestVerdict) -> str:
    failure = words.failure(test)
    told = f"{escaped(words.cause(test))}<br>{code(failure)}" if failure else escaped(words.cause(test))
    return f"| {code(test.id)} | {test.verdict} | {told} | {escaped(words.rate(test))} |"


def _replays(found: tuple[TestVerdict, ...]) -> Iterator[str]:
    packed = [test.capsule for test in found[:_MOST] if test.capsule is not None]
    if packed:
        yield "Each capsule shows its failure again, in a checkout of this commit:"
        yield ""
        yield from console([words.replay_command(capsule.path) for capsule in packed])
        yield ""


def _others(tests: tuple[TestVerdict, ...], about: str) -> Iterator[str]:
    for test in tests[:_MOST]:
        yield f"- {code(test.id)} {about}: {escaped(words.failure(test))}"
    if len(tests) > _MOST:
        yield f"- … and {len(tests) - _MOST} more {about}"
    if tests:
        yield ""
