"""What a reader is told of base's own failures, and of a head that pytest does not start on: pytest's own last words.
Pure.

Belongs here: a finding for each of the first few, and lists of ids that end. Does not belong
here: which failures break base (protocol).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from repro_gate.gates.fail_to_pass.suspects import in_words
from repro_gate.model import CollectFailure, Finding, ReasonCode, TestRun

_MOST = 3
_LINES = 15
_LETTERS = 2000


def some(ids: Sequence[str], most: int = 10) -> str:
    """The first of a list of ids, and how many more there are."""
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more


def of_base(uncollected: Iterable[CollectFailure], red: Iterable[TestRun]) -> list[Finding]:
    """What the first few said: of collection first, since it may explain the others."""
    found = [_finding(each.node, in_words(each.failure), each.text) for each in uncollected]
    found += [_finding(run.id, in_words(run.failure), run.output) for run in red]
    return found[:_MOST]


def of_start(details: str, reason: ReasonCode = ReasonCode.BASE_BROKEN) -> list[Finding]:
    """What pytest said where it gave no list of tests."""
    lines = [line for line in details.strip().splitlines() if line.strip()]
    return [_finding("", lines[-1].strip(), details, reason)] if lines else []


def _finding(place: str, text: str, output: str, reason: ReasonCode = ReasonCode.BASE_BROKEN) -> Finding:
    return Finding(reason=reason, id=place, text=text, output=_last_lines(output))


def _last_lines(text: str) -> str:
    lines = text.rstrip().splitlines()[-_LINES:]
    return "\n".join(line.rstrip() for line in lines)[-_LETTERS:]
