"""A campaign for a person at a terminal: what was found, how to replay it, what it rests on.

Belongs here: rich renderables and plain lines. Does not belong here: printing. The caller prints
with ``console.print(view(report), crop=False)``: only so are ids and commands left whole that
are longer than the terminal is wide. With ``soft_wrap`` nothing is wrapped, padded or in columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from repro_gate.model import FlakeReport, TestVerdict, Verdict
from repro_gate.report import words
from repro_gate.report.outcome import Reason, decide, findings, summary_line

# Narrower than this, a table of five columns is a heap of syllables: lines are used instead.
TABLE_FROM = 120
LIMIT = 10

_STYLES = {Verdict.FLAKY: "bold red", Verdict.CONDITION_DEPENDENT: "bold red", Verdict.ALWAYS_FAILING: "yellow"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Hints:
    """What only the door knows: the command that repeats the campaign, and where the rest of it is."""

    again: str = ""
    rest: str = "`--report-json FILE` lists all"


def view(report: FlakeReport, hints: Hints = Hints(), limit: int = LIMIT) -> Group:
    """Everything a scan says in the end, findings first. Print it with ``crop=False``."""
    parts: list[RenderableType] = []
    for part in (found(report, hints, limit), not_judged(report, hints, limit), replays(report, limit)):
        parts += [part, Text()] if part.renderables else []
    again = [_whole(f"Repeat: {words.visible(hints.again)}")] if hints.again else []
    return Group(*parts, *map(Text, summary(report)), *again)


def found(report: FlakeReport, hints: Hints = Hints(), limit: int = LIMIT) -> Group:
    """Flaky, condition-dependent and always-failing tests, at most ``limit`` of each."""
    shown: list[TestVerdict] = []
    more: list[Text] = []
    for verdict in _STYLES:
        tests = report.with_verdict(verdict)
        shown += tests[:limit]
        more += _more(len(tests) - limit, hints, f" {verdict.value}")
    return Group(_Found(shown), *more) if shown else Group()


def not_judged(report: FlakeReport, hints: Hints = Hints(), limit: int = LIMIT) -> Group:
    """Tests of which nothing can be said, by reason; at most ``limit`` reasons, and tests of each."""
    groups: dict[str, list[TestVerdict]] = {}
    for test in report.with_verdict(Verdict.NOT_JUDGED):
        groups.setdefault(words.visible(test.detail) or "no reason given", []).append(test)
    lines: list[Text] = []
    for reason, tests in list(groups.items())[:limit]:
        lines.append(Text(f"{len(tests)} not judged: {reason}", style="bold"))
        lines += [_whole(f"  {words.visible(test.id)}") for test in tests[:limit]]
        lines += _more(len(tests) - limit, hints, indent="  ")
    return Group(*lines, *_more(len(groups) - limit, hints, " reasons"))


def replays(report: FlakeReport, limit: int = LIMIT) -> Group:
    """For each capsule the exact command, whole on a line of its own, below its test as a comment."""
    lines: list[Text] = []
    for verdict in _STYLES:
        for test in report.with_verdict(verdict)[:limit]:
            if test.capsule is not None:
                lines.append(_whole(f"# {words.visible(test.id)}", style="dim"))
                lines.append(_whole(words.replay_command(test.capsule.path)))
    return Group(Text("Replay:", style="bold"), *lines) if lines else Group()


def summary(report: FlakeReport) -> list[str]:
    """The scan in plain lines: counts, what they rest on, and where it ran."""
    lines = [summary_line(report), words.stable_line(report), *_remarks(report)]
    where = f"sandbox {report.sandbox.name}" + ("" if report.sandbox.hermetic else " (not hermetic)")
    mode = f"{report.mode} mode" + (f" ({report.mode_reason})" if report.mode_reason else "")
    lines.append(f"Python {report.python}, pytest {report.pytest}, {where}, {mode}.")
    # What it does not give is told where that weakens the result, or may be why a test never passed.
    if not report.sandbox.hermetic or report.with_verdict(Verdict.ALWAYS_FAILING):
        lines += [f"Sandbox: {note}" for note in report.sandbox.notes]
    lines += [f"Note: {line}" for line in words.skipped_lines(report)]
    lines += [f"Note: {note}" for note in report.notes]
    return [words.visible(line) for line in lines if line]


def _remarks(report: FlakeReport) -> Iterator[str]:
    """What must be said so that the verdict is not misread."""
    reason = decide(report).reason
    if report.incomplete:
        yield f"Incomplete: {report.incomplete.rstrip('.')}.{_so_far(report)}"
    elif reason is Reason.NOTHING_JUDGED:
        yield "Not one test could be judged: inconclusive."
    if report.with_verdict(Verdict.ALWAYS_FAILING):
        yield "Tests that always fail do not make a scan red: nothing about them is flaky."


def _so_far(report: FlakeReport) -> str:
    """What an incomplete scan comes to."""
    if findings(report):
        return ""
    mixed = sum(test.unconfirmed for test in report.tests)
    if mixed:
        return f" {words.counted(mixed, 'test')} passed and failed without being confirmed: inconclusive."
    return " Nothing was found until then: inconclusive."


def _more(count: int, hints: Hints, of: str = "", indent: str = "") -> list[Text]:
    return [Text(f"{indent}… and {count} more{of}: {words.visible(hints.rest)}", style="dim")] if count > 0 else []


def _whole(line: str, style: str = "") -> Text:
    """A line that is never wrapped or cut, so that it can be copied."""
    return Text(line, style=style, no_wrap=True, overflow="ignore")


class _Found:
    """A table where there is room for one, else a few lines per test."""

    def __init__(self, tests: Sequence[TestVerdict]) -> None:
        self._tests = tests

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        if options.max_width >= TABLE_FROM and not options.no_wrap:
            yield _table(self._tests)
        else:
            yield from _lines(self._tests, wrapped=not options.no_wrap)


def _table(tests: Iterable[TestVerdict]) -> Table:
    table = Table(show_lines=True, expand=True)
    table.add_column("test", ratio=5, overflow="fold")
    table.add_column("verdict", no_wrap=True)
    table.add_column("cause", ratio=5, overflow="fold")
    table.add_column("failures", ratio=2, overflow="fold")
    table.add_column("capsule", ratio=3, overflow="fold")
    for test in tests:
        why = "\n".join(text for text in _why(test) if text)
        verdict = Text(test.verdict.value, style=_STYLES[test.verdict])
        table.add_row(Text(words.visible(test.id)), verdict, Text(why), Text(words.rate(test)), Text(_capsule(test)))
    return table


def _lines(tests: Iterable[TestVerdict], *, wrapped: bool) -> Iterator[RenderableType]:
    for test in tests:
        yield Text(test.verdict.value, style=_STYLES[test.verdict])
        yield _whole(f"  {words.visible(test.id)}")
        cause, failure = _why(test)
        facts = {"cause": cause, "failure": failure, "failures": words.rate(test), "capsule": _capsule(test)}
        for name, fact in facts.items():
            if fact:
                line = f"{name}: {fact}"
                # Padding fills the line with spaces: right where a line may be continued, wrong in a file.
                yield Padding.indent(Text(line, overflow="fold"), 2) if wrapped else Text(f"  {line}")


def _why(test: TestVerdict) -> tuple[str, str]:
    """Cause and failure; a test that always fails has no cause to name."""
    cause = "" if test.verdict is Verdict.ALWAYS_FAILING else words.cause(test)
    return words.visible(cause), words.visible(words.failure(test)) if test.failure else ""


def _capsule(test: TestVerdict) -> str:
    if test.capsule is None:
        return ""
    pinned = "" if test.capsule.pinned else "unpinned, "
    told = (
        f"{test.capsule.id} ({pinned}{test.capsule.determinism}, replays {test.capsule.replayed} of {test.capsule.of})"
    )
    return words.visible(told)
