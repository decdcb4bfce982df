"""What became of each changed line, and which unchanged ones no test runs any more."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class LineState(enum.StrEnum):
    """What is said of a changed line. Only the first three are measurements."""

    COVERED = "covered"
    UNCOVERED = "uncovered"
    BRANCH_MISSED = "branch-missed"
    EXCLUDED = "excluded"
    NOT_EXECUTABLE = "not-executable"
    MOVED = "moved"
    WHITESPACE = "whitespace"
    UNREADABLE = "unreadable"

    @property
    def measured(self) -> bool:
        """Whether it was asked of the line if it runs."""
        return self in (LineState.COVERED, LineState.UNCOVERED, LineState.BRANCH_MISSED)


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedLine:
    """A line that the change added, as of head.

    ``statement`` is the first line of its statement; ``why`` a sentence's end where it takes one.
    """

    path: str
    line: int
    state: LineState
    text: str = ""
    statement: int = 0
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class MissedBranch:
    """A way to go on from a changed line that no test took; ``target`` 0 is the end of the function."""

    path: str
    line: int
    target: int
    text: str
    why: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LostLine:
    """A line that the change leaves as it is: base's tests ran it (``tests``; none: only imports),
    head's do not, twice. With ``branch``, in words, it runs, and what no test does any more is go on that way.
    """

    path: str
    line: int
    base_path: str
    base_line: int
    text: str
    tests: tuple[str, ...]
    branch: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverageOfChange:
    """The measured change. Statements are counted, each once, however many lines it has.

    ``covered`` of ``statements`` ran with every branch taken; ``taken`` of ``branches`` are ways to go on from
    changed lines. ``minimum`` is the share (percent) that is asked for.
    """

    lines: tuple[ChangedLine, ...] = ()
    uncovered_branches: tuple[MissedBranch, ...] = ()
    lost: tuple[LostLine, ...] = ()
    covered: int = 0
    statements: int = 0
    taken: int = 0
    branches: int = 0
    minimum: float = 100.0

    @property
    def uncovered_lines(self) -> tuple[ChangedLine, ...]:
        """The changed lines that no test ran."""
        return tuple(line for line in self.lines if line.state is LineState.UNCOVERED)

    @property
    def percent(self) -> float | None:
        """The share of changed statements that are covered; None where there is none to measure."""
        return 100.0 * self.covered / self.statements if self.statements else None

    @property
    def enough(self) -> bool:
        """Whether the share is what is asked for; nothing to measure is enough."""
        return 100.0 * self.covered >= self.minimum * self.statements
