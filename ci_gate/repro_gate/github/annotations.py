"""What of a result stands beside the lines of a change, those that it changed first. Pure.

Belongs here: choosing and ordering annotations within GitHub's limits (10 of a level in a step, 50 in a
request). Does not belong here: sending them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro_gate.github.commands import command
from repro_gate.model import CheckReport, FlakeReport
from repro_gate.report import remarks
from repro_gate.report.remarks import Remark, Severity
from repro_gate.report.words import clip, visible

A_LEVEL = 10  # annotations of one level that a step may print
A_RUN = 50  # annotations that a run shows
A_REQUEST = 50  # annotations that the API takes at a time
_LONGEST = 4000  # characters; the API takes 64 KB

Changed = Mapping[str, frozenset[int]]


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
    return ordered(map(_beside, remarks.of_check(report, prefix)), changed)


def of_scan(report: FlakeReport, prefix: str = "") -> tuple[Annotation, ...]:
    """What a reader of a scan must see."""
    return ordered(map(_beside, remarks.of_scan(report, prefix)), {})


def _beside(remark: Remark) -> Annotation:
    return Annotation(
        severity=remark.severity, title=remark.title, message=remark.message, path=remark.path, line=remark.line
    )


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
    for start in range(0, len(placed), A_REQUEST):
        yield tuple(placed[start : start + A_REQUEST])
