"""The coverage of a change in a stranger's report.json, read strictly.

Belongs here: the shape of that part. Does not belong here: the rest of the file (reading).
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from repro_gate.model import ChangedLine, CoverageOfChange, LineState, LostLine, MissedBranch
from repro_gate.report.strict import MANY, Part, Texts, Whole


class _ChangedLine(Part):
    file: str
    line: Whole
    state: str
    statement: Whole | None
    text: str
    why: str | None

    def made(self) -> ChangedLine:
        return ChangedLine(
            path=self.file,
            line=self.line,
            state=LineState(self.state),
            text=self.text,
            statement=self.statement or 0,
            why=self.why or "",
        )


class _UncoveredLine(Part):
    file: str
    line: Whole
    text: str


class _MissedBranch(Part):
    file: str
    line: Whole
    to: Whole | None
    text: str
    why: str

    def made(self) -> MissedBranch:
        return MissedBranch(path=self.file, line=self.line, target=self.to or 0, text=self.text, why=self.why)


class _Lost(Part):
    file: str
    line: Whole
    base_file: str
    base_line: Whole
    text: str
    tests: Texts
    branch: str | None = None

    def made(self) -> LostLine:
        return LostLine(
            path=self.file,
            line=self.line,
            base_path=self.base_file,
            base_line=self.base_line,
            text=self.text,
            tests=tuple(self.tests),
            branch=self.branch or "",
        )


class Coverage(Part):
    """The key `coverage` of a gate."""

    covered: Whole
    statements: Whole
    percent: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)] | None
    minimum: Annotated[float, Field(ge=0, le=100, allow_inf_nan=False)]
    taken: Whole
    branches: Whole
    lines: Annotated[list[_ChangedLine], Field(max_length=MANY)]
    uncovered_lines: Annotated[list[_UncoveredLine], Field(max_length=MANY)]
    uncovered_branches: Annotated[list[_MissedBranch], Field(max_length=MANY)]
    lost: Annotated[list[_Lost], Field(max_length=MANY)]

    def made(self) -> CoverageOfChange:
        """What it says. Raises ValueError where it contradicts itself."""
        found = CoverageOfChange(
            lines=tuple(each.made() for each in self.lines),
            uncovered_branches=tuple(each.made() for each in self.uncovered_branches),
            lost=tuple(each.made() for each in self.lost),
            covered=self.covered,
            statements=self.statements,
            taken=self.taken,
            branches=self.branches,
            minimum=self.minimum,
        )
        # These two are told for readers; they say nothing that the rest does not.
        told = [(each.file, each.line) for each in self.uncovered_lines]
        if told != [(each.path, each.line) for each in found.uncovered_lines]:
            raise ValueError("uncovered_lines are not the lines whose state is uncovered")
        if self.covered > self.statements or self.taken > self.branches:
            raise ValueError("more is covered than there is")
        return found
