"""The coverage gate: the tests of head run what the change adds, and what base's tests ran they still run.

Belongs here: what the measured lines mean for the change. Does not belong here: running (runs), and states of lines
(lines).
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from repro_gate.gates.coverage.lines import Believed, Measured, measure
from repro_gate.gates.coverage.lost import Names, Texts, lost_lines
from repro_gate.gates.coverage.rules import Rules
from repro_gate.gates.coverage.runs import Runs
from repro_gate.gates.coverage.sameness import ChangedFile, Same
from repro_gate.model import (
    ChangedLine,
    CoverageOfChange,
    Finding,
    GateResult,
    GateVerdict,
    LineState,
    LostLine,
    Recording,
)

GATE = "coverage"


class Reason(enum.StrEnum):
    """Why the gate came to its verdict, and what a finding is about."""

    COVERED = "covered"
    ENOUGH = "enough_covered"
    UNCOVERED = "uncovered_lines"
    BRANCHES = "uncovered_branches"
    LOST_COVERAGE = "lost_coverage"
    NOT_WHOLE = "run_not_whole"
    UNREADABLE = "unreadable"
    NO_CODE = "no_code_changed"
    NOTHING_TO_JUDGE = "nothing_to_judge"


NEXT_STEP = {
    Reason.UNCOVERED: "Add a test that runs it, or mark it `# pragma: no cover` if no test should.",
    Reason.BRANCHES: "Add a test that goes the other way, or mark it `# pragma: no branch`.",
    Reason.LOST_COVERAGE: "Keep a test for it, or remove the code if nothing needs it.",
    Reason.NOT_WHOLE: "Mend what ended the run (or give it more time), and run the check again.",
    Reason.UNREADABLE: "Run repro-gate on a Python that can read this file.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """A change as this gate sees it; ``same`` is what of it is no new code. ``text_of`` has the texts of the product's
    unchanged files, ``module_of`` the name that a file of it is imported by.

    ``matters``: the change touches the product, tests or settings, so that coverage can differ. ``flaky`` are tests
    that were found to be so; ``minimum`` is the share of changed statements that is asked for, in percent.
    """

    files: tuple[ChangedFile, ...]
    same: Same
    rules: Rules
    text_of: Texts
    module_of: Names
    matters: bool
    minimum: float = 100.0
    flaky: frozenset[str] = frozenset()


def judge(subject: Subject, runs: Runs) -> GateResult:
    """The gate's result. Raises CollectionFailed where pytest gives no list of tests."""
    if not subject.matters:
        return GateResult(gate=GATE, verdict=GateVerdict.NEUTRAL, reason=Reason.NOTHING_TO_JUDGE)
    head, base = Believed(runs.head, subject.flaky), Believed(runs.base, subject.flaky)
    same = subject.same
    measured = measure(subject.files, same, head, subject.rules)
    lost = _lost(subject, same, measured, base, head)
    if lost and head.recording.whole:
        lost = _lost_again(subject, same, measured, lost, runs)
    result = _counted(subject, measured, lost)
    return _decided(result, head.recording, tuple(_notes(subject, head, base)))


def _lost(subject: Subject, same: Same, measured: Measured, base: Believed, head: Believed) -> tuple[LostLine, ...]:
    return lost_lines(
        base=base,
        head=head,
        files=subject.files,
        same=same,
        rules=subject.rules,
        judged=measured.lines,
        text_of=subject.text_of,
        module_of=subject.module_of,
    )


def _lost_again(
    subject: Subject, same: Same, measured: Measured, lost: Sequence[LostLine], runs: Runs
) -> tuple[LostLine, ...]:
    """What is lost a second time: coverage that comes and goes by itself is nobody's loss."""
    tests = tuple(dict.fromkeys(test for line in lost for test in line.tests))
    base, head = runs.again(tests)
    again = _lost(subject, same, measured, Believed(base, subject.flaky), Believed(head, subject.flaky))
    places = {(line.path, line.line, line.branch) for line in again}
    return tuple(line for line in lost if (line.path, line.line, line.branch) in places) if head.whole else ()


def _counted(subject: Subject, measured: Measured, lost: tuple[LostLine, ...]) -> CoverageOfChange:
    """Statements, each once; one with a branch that was not taken is not covered."""
    states: dict[tuple[str, int], LineState] = {}
    for line in measured.lines:
        if line.state.measured:
            states.setdefault((line.path, line.statement), line.state)
    return CoverageOfChange(
        lines=tuple(measured.lines),
        uncovered_branches=tuple(measured.missed),
        lost=lost,
        covered=sum(state is LineState.COVERED for state in states.values()),
        statements=len(states),
        taken=measured.taken,
        branches=measured.ways,
        minimum=subject.minimum,
    )


def _decided(found: CoverageOfChange, head: Recording, notes: tuple[str, ...]) -> GateResult:
    unreadable = [line for line in found.lines if line.state is LineState.UNREADABLE]
    findings = [
        *_uncovered(found),
        *_branches(found),
        *_of_lost(found),
        *_of_lost_branches(found),
        *_unreadable(unreadable),
    ]
    verdict, reason = GateVerdict.PASS, Reason.COVERED
    if not found.enough or found.lost:
        verdict = GateVerdict.FAIL
        reason = Reason.LOST_COVERAGE
        if not found.enough:
            reason = Reason.UNCOVERED if found.uncovered_lines else Reason.BRANCHES
        if not head.whole:
            # What was not run could have run these lines.
            verdict, reason = GateVerdict.INCONCLUSIVE, Reason.NOT_WHOLE
            text = f"The run of head is not whole: {head.why}."
            findings.insert(0, Finding(reason=reason, text=text, next_step=NEXT_STEP[reason]))
    elif unreadable:
        verdict, reason = GateVerdict.INCONCLUSIVE, Reason.UNREADABLE
    elif not found.statements:
        verdict, reason = GateVerdict.NEUTRAL, Reason.NO_CODE
    elif found.uncovered_lines or found.uncovered_branches:
        reason = Reason.ENOUGH
    return GateResult(
        gate=GATE,
        verdict=verdict,
        reason=reason,
        findings=tuple(findings),
        notes=notes,
        summary=_summary(found),
        coverage=found,
    )


def _summary(found: CoverageOfChange) -> str:
    """The one line of numbers."""
    if not found.statements:
        told = "no changed statement that can be measured"
    else:
        told = f"{found.covered} of {found.statements} changed statements covered ({_percent(found)})"
        if found.branches:
            told += f", {found.taken} of {found.branches} branches taken"
    others = {state: sum(line.state is state for line in found.lines) for state in LineState if not state.measured}
    rest = ", ".join(f"{count} {state.replace('-', ' ')}" for state, count in others.items() if count)
    if rest:
        told += f"; other changed lines: {rest}"
    ways = sum(bool(each.branch) for each in found.lost)
    for count, one, many in ((len(found.lost) - ways, "line", "lines"), (ways, "branch", "branches")):
        told += f"; {count} unchanged {one if count == 1 else many} lost" if count else ""
    return told


def _percent(found: CoverageOfChange) -> str:
    """Never rounded up to what it is not."""
    share = found.percent or 0.0
    return f"{int(share)} %" if share == int(share) else f"{int(share * 10) / 10} %"


def _uncovered(found: CoverageOfChange) -> Iterator[Finding]:
    """One finding for lines that follow each other and have the same reason."""
    lines = found.uncovered_lines
    keyed = groupby(enumerate(lines), key=lambda each: (each[1].path, each[1].line - each[0], each[1].why))
    for (path, _, why), group in keyed:
        block = [line for _, line in group]
        where = _where(path, block[0].line, block[-1].line)
        told = f"{where} ({_code(block[0].text)}) is run by no test"
        if why:
            told = f"{where} ({_code(block[0].text)}) does not count as covered, since {why}"
        yield Finding(
            reason=Reason.UNCOVERED, text=told, next_step=NEXT_STEP[Reason.UNCOVERED], path=path, line=block[0].line
        )


def _branches(found: CoverageOfChange) -> Iterator[Finding]:
    for missed in found.uncovered_branches:
        yield Finding(
            reason=Reason.BRANCHES,
            text=f"{_where(missed.path, missed.line)} ({_code(missed.text)}): {missed.why}",
            next_step=NEXT_STEP[Reason.BRANCHES],
            path=missed.path,
            line=missed.line,
        )


def _of_lost(found: CoverageOfChange) -> Iterator[Finding]:
    """One finding for each block that the same tests used to run, and for each branch that they used to take."""
    lines = [each for each in found.lost if not each.branch]
    keyed = groupby(enumerate(lines), key=lambda each: (each[1].path, each[1].line - each[0], each[1].tests))
    for (path, _, tests), group in keyed:
        block = [line for _, line in group]
        where = _where(path, block[0].line, block[-1].line)
        by = f"base's tests ran it ({', '.join(tests)})" if tests else "on base it ran while it was imported"
        yield Finding(
            reason=Reason.LOST_COVERAGE,
            text=f"{where} ({_code(block[0].text)}) did not change, and no test runs it any more; {by}",
            next_step=NEXT_STEP[Reason.LOST_COVERAGE],
            path=path,
            line=block[0].line,
        )


def _of_lost_branches(found: CoverageOfChange) -> Iterator[Finding]:
    for each in found.lost:
        if each.branch:
            by = f"base's tests went that way ({', '.join(each.tests)})" if each.tests else "on base it did"
            yield Finding(
                reason=Reason.LOST_COVERAGE,
                text=f"{_where(each.path, each.line)} ({_code(each.text)}) did not change, and with head's tests "
                f"{each.branch}; {by}",
                next_step=NEXT_STEP[Reason.LOST_COVERAGE],
                path=each.path,
                line=each.line,
            )


def _unreadable(lines: Iterable[ChangedLine]) -> Iterator[Finding]:
    for path, group in groupby(lines, key=lambda line: line.path):
        first = next(group)
        yield Finding(
            reason=Reason.UNREADABLE,
            text=f"{path} was not measured: {first.why}",
            next_step=NEXT_STEP[Reason.UNREADABLE],
            path=path,
            line=first.line,
        )


def _code(text: str) -> str:
    """Code inside of a sentence."""
    plain = text.replace("`", "'")
    return f"`{plain}`"


def _where(path: str, first: int, last: int = 0) -> str:
    return f"{path}:{first}" if last in (0, first) else f"{path}:{first}-{last}"


def _notes(subject: Subject, head: Believed, base: Believed) -> Iterator[str]:
    yield from subject.rules.notes
    if head.recording.whole and not head.recording.outcomes:
        yield "pytest collects no test on head: name the tests as arguments, or in the project's settings (`testpaths`, `python_files`)"
    if head.distrusted:
        most = ", ".join(head.distrusted[:3])
        more = f" and {len(head.distrusted) - 3} more" if len(head.distrusted) > 3 else ""
        yield f"the coverage of tests that failed or are flaky does not count: {most}{more}"
    if not base.recording.whole:
        yield f"the run of base is not whole, so more lines may have lost their coverage: {base.recording.why}"
