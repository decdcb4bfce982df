"""What of a result stands beside the lines of a change, those that it changed first. Pure.

Belongs here: choosing and ordering annotations within GitHub's limits (10 of a level in a step, 50 in a
request). Does not belong here: sending them.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro_gate.github.commands import command
from repro_gate.model import CheckReport, Failure, FlakeReport, GateResult, GateVerdict, Level, Verdict, Zone
from repro_gate.report.words import cause, clip, visible

A_LEVEL = 10  # annotations of one level that a step may print
A_RUN = 50  # annotations that a run shows
A_REQUEST = 50  # annotations that the API takes at a time
_LONGEST = 4000  # characters; the API takes 64 KB

Changed = Mapping[str, frozenset[int]]


class Severity(enum.StrEnum):
    """How an annotation looks; the names are those of the workflow commands."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """A sentence beside a line. ``path`` is relative to the repository, or empty where there is no place."""

    severity: Severity
    title: str
    message: str
    path: str = ""
    line: int = 0

    @property
    def printed(self) -> str:
        """As a workflow command."""
        return command(
            str(self.severity),
            clip(self.message, _LONGEST),
            file=self.path,
            line=self.line or None,
            title=visible(self.title)[:255],
        )


def of_check(report: CheckReport, changed: Changed, prefix: str = "") -> tuple[Annotation, ...]:
    """What a reviewer of a change must see; ``prefix`` is the project's directory in the repository."""
    found = [each for gate in report.gates for each in _of_gate(gate, report, prefix)]
    if report.trouble is not None:
        text = f"{report.trouble.text} Next: {report.trouble.next_step}"
        found.append(Annotation(severity=Severity.ERROR, title="repro-gate could not judge this", message=text))
    found += [Annotation(severity=Severity.WARNING, title="repro-gate: policy", message=line) for line in report.policy]
    return ordered(found, changed)


def of_scan(report: FlakeReport, prefix: str = "") -> tuple[Annotation, ...]:
    """What a reader of a scan must see."""
    found = []
    for test in report.with_verdict(Verdict.FLAKY, Verdict.CONDITION_DEPENDENT):
        path, line = _place(test.failure, test.id, prefix)
        message = f"{test.id}: {cause(test)}"
        found.append(
            Annotation(
                severity=Severity.ERROR, title=f"{test.verdict} test", message=visible(message), path=path, line=line
            )
        )
    return ordered(found, {})


def ordered(found: Iterable[Annotation], changed: Changed) -> tuple[Annotation, ...]:
    """Without repetitions: errors before warnings, and in each those on changed lines, then on changed files, first."""

    def key(each: Annotation) -> tuple[int, bool, bool]:
        near = each.line in changed.get(each.path, frozenset())
        return list(Severity).index(each.severity), not near, each.path not in changed

    return tuple(sorted(dict.fromkeys(found), key=key))


def printable(found: Sequence[Annotation]) -> tuple[Annotation, ...]:
    """Those that a step may print; the last of a level says how many of it were left out."""
    kept: list[Annotation] = []
    for severity in Severity:
        level = [each for each in found if each.severity is severity]
        most = min(A_LEVEL, A_RUN - len(kept))
        if len(level) > most > 0:
            rest = f"{len(level) - most + 1} more are in the summary of this job."
            level = [*level[: most - 1], Annotation(severity=severity, title="repro-gate", message=rest)]
        kept += level[: max(0, most)]
    return tuple(kept)


def chunks(found: Sequence[Annotation]) -> Iterator[tuple[Annotation, ...]]:
    """What the API takes in one request: only those with a place."""
    placed = [each for each in found if each.path and each.line]
    yield from itertools.batched(placed, A_REQUEST) if hasattr(itertools, "batched") else _batched(placed)


def _batched(items: Sequence[Annotation]) -> Iterator[tuple[Annotation, ...]]:
    """As itertools has it since Python 3.12."""
    for start in range(0, len(items), A_REQUEST):
        yield tuple(items[start : start + A_REQUEST])


def _of_gate(gate: GateResult, report: CheckReport, prefix: str) -> Iterator[Annotation]:
    blocks = report.levels.get(gate.gate) is not Level.WARN
    bad = gate.verdict in (GateVerdict.FAIL, GateVerdict.INCONCLUSIVE)
    severity = Severity.NOTICE if not bad else Severity.ERROR if blocks else Severity.WARNING
    title = f"{gate.gate}: {gate.verdict}"
    for finding in gate.findings:
        step = f" Next: {finding.next_step}" if finding.next_step else ""
        path, line = _place(None, finding.id, prefix)
        text = f"{finding.id}: {finding.text}" if finding.id else finding.text
        yield Annotation(severity=severity, title=title, message=visible(text + step), path=path, line=line)
    for refusal in gate.refused if bad else ():
        path, line = _place(refusal.on_head or refusal.on_base, refusal.id, prefix)
        text = f"{refusal.id}: {refusal.reason}: {refusal.why}"
        yield Annotation(severity=severity, title=title, message=visible(text), path=path, line=line)
    if bad and not gate.findings and not gate.refused:
        yield Annotation(severity=severity, title=title, message=visible(f"{gate.reason}: {gate.summary}"))


def _place(failure: Failure | None, test: str | None, prefix: str) -> tuple[str, int]:
    """Where it failed in the project, or else the test's file; nothing for a path that leads out of it."""
    frames = [frame for frame in failure.frames if frame.zone in (Zone.TEST, Zone.PRODUCT)] if failure else []
    if frames and _inside(frames[-1].path):
        return _joined(prefix, frames[-1].path), max(0, frames[-1].line)
    file = (test or "").partition("::")[0]
    return (_joined(prefix, file), 1) if file.endswith(".py") and _inside(file) else ("", 0)


def _inside(path: str) -> bool:
    return bool(path) and not path.startswith("/") and ".." not in path.split("/") and path.isprintable()


def _joined(prefix: str, path: str) -> str:
    return f"{prefix.strip('/')}/{path}" if prefix.strip("./") else path
