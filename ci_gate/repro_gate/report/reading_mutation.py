"""What a stranger's report.json has of mutants: read strictly, or refused.

Belongs here: the shape of that part. Does not belong here: the rest of the file (reading). Texts of mutants are made
again from their edits, so that no text can claim to be a mutant of another.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from repro_gate.model import (
    AccountLine,
    AccountState,
    Control,
    ControlKind,
    Mutant,
    MutantOutcome,
    MutantResult,
    MutationReport,
    NotTested,
    Site,
    Untested,
    Way,
)
from repro_gate.model.edit import Edit
from repro_gate.report.strict import MANY, Capsule, Part, Texts, Whole

_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
_Line = Annotated[int, Field(ge=1, le=2**31)]


class _Edit(Part):
    start: Whole
    end: Whole
    text: str


class _Mutant(Part):
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    file: str
    line: _Line
    end_line: _Line
    operator: str
    qualname: str
    original: str
    mutated: str
    nth: Whole
    site: str
    first_line: Whole
    hint: str | None
    edit: _Edit

    def mutant(self, sources: dict[str, str]) -> Mutant:
        if self.file not in sources:
            raise ValueError(f"there is no source of {self.file!r}")
        edit = Edit(start=self.edit.start, end=self.edit.end, text=self.edit.text)
        return Mutant(
            id=self.id,
            file=self.file,
            line=self.line,
            end_line=self.end_line,
            operator=self.operator,
            qualname=self.qualname,
            original=self.original,
            mutated=self.mutated,
            nth=self.nth,
            site=Site(self.site),
            text=edit.applied(sources[self.file]),
            first_line=self.first_line,
            hint=self.hint or "",
        )


class _Tested(_Mutant):
    outcome: str
    killed_by: Texts
    by_new_test: bool
    confirmed: bool
    tests: Whole
    why: str | None
    selection: Whole
    capsule: Capsule | None
    replay: str | None

    def made(self, sources: dict[str, str], selections: list[tuple[str, ...]]) -> MutantResult:
        if self.selection >= len(selections):
            raise ValueError(f"there is no selection {self.selection}")
        return MutantResult(
            mutant=self.mutant(sources),
            outcome=MutantOutcome(self.outcome),
            killed_by=tuple(self.killed_by),
            by_new_test=self.by_new_test,
            confirmed=self.confirmed,
            tests=self.tests,
            why=self.why or "",
            selection=selections[self.selection],
            capsule=self.capsule.made() if self.capsule else None,
        )


class _NotTested(_Mutant):
    reason: str
    why: str | None

    def made(self, sources: dict[str, str]) -> NotTested:
        return NotTested(mutant=self.mutant(sources), reason=Untested(self.reason), why=self.why or "")


class _Control(Part):
    kind: str
    file: str
    way: str
    tests: Whole
    held: bool
    why: str | None
    exposed: Texts

    def made(self) -> Control:
        return Control(
            kind=ControlKind(self.kind),
            file=self.file,
            way=Way(self.way),
            tests=self.tests,
            held=self.held,
            why=self.why or "",
            exposed=tuple(self.exposed),
        )


class _AccountLine(Part):
    file: str
    line: _Line
    text: str
    state: str
    why: str | None

    def made(self) -> AccountLine:
        return AccountLine(
            file=self.file, line=self.line, text=self.text, state=AccountState(self.state), why=self.why or ""
        )


class Mutation(Part):
    """The part ``mutation`` of a gate.

    Counts and lists that follow from the mutants are not believed, but made again.
    """

    tested: Annotated[list[_Tested], Field(max_length=MANY)]
    survivors: Texts
    shown: Texts
    not_tested: Annotated[list[_NotTested], Field(max_length=MANY)]
    beyond: dict[str, Whole]
    measured: Whole
    testable: Whole
    score: _Share | None
    interval: Annotated[list[_Share], Field(min_length=2, max_length=2)] | None
    controls: Annotated[list[_Control], Field(max_length=MANY)]
    account: Annotated[list[_AccountLine], Field(max_length=MANY)]
    selections: Annotated[list[Texts], Field(max_length=MANY)]
    sources: dict[str, str]
    seed: str
    seconds: _Seconds

    def made(self) -> MutationReport:
        """The report. Raises ValueError where its parts do not fit each other."""
        selections = [tuple(tests) for tests in self.selections]
        return MutationReport(
            tested=tuple(each.made(self.sources, selections) for each in self.tested),
            not_tested=tuple(each.made(self.sources) for each in self.not_tested),
            controls=tuple(each.made() for each in self.controls),
            account=tuple(each.made() for each in self.account),
            shown=tuple(self.shown),
            interval=(self.interval[0], self.interval[1]) if self.interval else None,
            sources=self.sources,
            seed=self.seed,
            seconds=self.seconds,
            beyond={Untested(reason): count for reason, count in self.beyond.items()},
        )
