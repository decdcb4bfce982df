"""A state for every changed line, from what ran and what the text is. Pure.

Belongs here: which changed lines count, and what became of them. Does not belong here: what that means for the change
(verdict), and lines that the change leaves alone (lost).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from repro_gate.gates.coverage.rules import Rules
from repro_gate.gates.coverage.sameness import ChangedFile, Same
from repro_gate.gates.coverage.structure import Structure, Unparsable
from repro_gate.model import ChangedLine, LineState, MissedBranch, Recording
from repro_gate.model.lines import lines_of

if TYPE_CHECKING:
    from coverage.results import Analysis

_DISTRUSTED = "only tests that failed or are flaky run it"


@dataclass(frozen=True)
class Believed:
    """A recording, and the tests of it whose coverage counts:
    those that did not fail, and are not known to be flaky.
    """

    recording: Recording
    flaky: frozenset[str] = frozenset()

    @cached_property
    def tests(self) -> frozenset[str]:
        """The tests whose coverage counts."""
        good = {test for test, outcome in self.recording.outcomes.items() if not outcome.bad}
        return frozenset(good) - self.flaky

    @cached_property
    def distrusted(self) -> tuple[str, ...]:
        """The tests whose coverage does not count although they ran something."""
        return tuple(test for test in self.recording.by_test if test not in self.tests)

    def analysis(self, structure: Structure, path: str) -> Analysis:
        """What the tests that count (and imports) ran of a file."""
        return structure.analysis(*self.recording.ran(path, self.tests))


@dataclass(kw_only=True)
class Measured:
    """The changed lines of all files, and the branches that count: ``ways`` of them, ``taken`` of these."""

    lines: list[ChangedLine]
    missed: list[MissedBranch]
    ways: int = 0
    taken: int = 0


def measure(files: Sequence[ChangedFile], same: Same, head: Believed, rules: Rules) -> Measured:
    """Every added line once, with its state."""
    found = Measured(lines=[], missed=[])
    for file in files:
        if file.head is not None and file.added:
            _measure_file(file, same, head, rules, found)
    return found


def _measure_file(file: ChangedFile, same: Same, head: Believed, rules: Rules, found: Measured) -> None:
    assert file.head is not None
    texts = dict(enumerate(lines_of(file.head), 1))
    numbers = sorted(line for line in file.added if line in texts)

    def said(line: int, state: LineState, statement: int = 0, why: str = "") -> ChangedLine:
        text = texts[line].strip()[:200]
        return ChangedLine(path=file.path, line=line, state=state, text=text, statement=statement, why=why)

    left_out = rules.leaves_out(file.path, file.module)
    if left_out:
        found.lines += [said(line, LineState.EXCLUDED, why=left_out) for line in numbers]
        return
    try:
        structure = Structure(file.head, rules, head.recording.python)
    except Unparsable as broken:
        found.lines += [said(line, LineState.UNREADABLE, why=str(broken)) for line in numbers]
        return
    analysis = head.analysis(structure, file.path)
    anyhow = structure.analysis(*head.recording.ran(file.path)).executed
    missing = analysis.missing_branch_arcs()
    for line in numbers:
        first = structure.first(line)
        state = _state(file, same, structure, line)
        why = ""
        if state is LineState.COVERED and first not in analysis.executed:
            state = LineState.UNCOVERED
            why = _DISTRUSTED if first in anyhow else ""
        elif state is LineState.COVERED and missing.get(first):
            state = LineState.BRANCH_MISSED
            why = "; ".join(structure.description((first, target)) for target in missing[first])
        found.lines.append(said(line, state, first if state.measured else 0, why))
    _count_branches(file, structure, analysis, texts, found)


def _state(file: ChangedFile, same: Same, structure: Structure, line: int) -> LineState:
    """What a line is, before it is asked whether it ran: COVERED stands for one of which that can be asked."""
    first = structure.first(line)
    origin = same.origin(file.path, line)
    if first in structure.excluded:
        return LineState.EXCLUDED
    if first not in structure.statements or line not in structure.spoken:
        return LineState.NOT_EXECUTABLE
    if origin is not None:
        return LineState.MOVED if origin.moved else LineState.WHITESPACE
    return LineState.COVERED


def _count_branches(
    file: ChangedFile, structure: Structure, analysis: Analysis, texts: Mapping[int, str], found: Measured
) -> None:
    """The ways out of changed statements, those that no test ran among them."""
    changed = {line.statement for line in found.lines if line.path == file.path and line.state.measured}
    for first, (ways, taken) in sorted(analysis.branch_stats().items()):
        if first in changed:
            found.ways += ways
            found.taken += taken if first in analysis.executed else 0
    for first, targets in sorted(analysis.missing_branch_arcs().items()):
        if first not in changed or first not in analysis.executed:
            continue
        for target in targets:
            found.missed.append(
                MissedBranch(
                    path=file.path,
                    line=first,
                    target=max(0, target),
                    text=texts[first].strip()[:200],
                    why=structure.description((first, target)),
                )
            )
