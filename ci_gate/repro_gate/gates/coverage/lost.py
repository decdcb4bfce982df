"""Lines and branches that the change leaves as they are, that base's tests ran and head's do not. Pure.

Belongs here: carrying base's lines over to head, and comparing what ran there. A line that moved, or of which only
white space changed, is carried over, too: so a change hides nothing by moving it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from repro_gate.gates.coverage.lines import Believed
from repro_gate.gates.coverage.rules import Rules
from repro_gate.gates.coverage.sameness import ChangedFile, Same
from repro_gate.gates.coverage.structure import Structure, Unparsable
from repro_gate.model import ChangedLine, LostLine
from repro_gate.model.lines import lines_of

if TYPE_CHECKING:
    from coverage.results import Analysis

Texts = Callable[[str], str | None]
Names = Callable[[str], str]
_MOST_TESTS = 5
_Carried = Mapping[int, tuple[str, int]]  # first line of a statement of base -> file and line of head


def lost_lines(
    *,
    base: Believed,
    head: Believed,
    files: Sequence[ChangedFile],
    same: Same,
    rules: Rules,
    judged: Iterable[ChangedLine],
    text_of: Texts,
    module_of: Names,
) -> tuple[LostLine, ...]:
    """The lost lines, in order. ``judged`` are changed lines: a statement of theirs is no unchanged one.

    ``text_of`` gives the text of an unchanged file of the product, by its path, ``module_of`` the name it is imported
    by.
    """
    taken = {(line.path, line.statement) for line in judged if line.statement}
    changed = {file.base_path: file for file in files if file.base is not None}
    paths = dict.fromkeys(
        trace.path for traces in (base.recording.at_import, *base.recording.by_test.values()) for trace in traces
    )
    structures: dict[str, Structure | None] = {}

    def structure_of(path: str) -> Structure | None:
        if path not in structures:
            here = next((file.head for file in files if file.path == path and file.head is not None), None)
            structures[path] = _structure(here if here is not None else text_of(path), rules, head.recording.python)
        return structures[path]

    found: list[LostLine] = []
    for path in sorted(paths):
        file = changed.get(path)
        before = _structure(file.base if file is not None else text_of(path), rules, base.recording.python)
        if before is None:
            continue
        ran = base.analysis(before, path).executed
        carried = _carried(path, file, same, ran)
        counted = {old: new for old, new in carried.items() if not rules.leaves_out(new[0], module_of(new[0]))}
        found += _of_file(path, before, counted, structure_of, base, head, taken)
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.branch)))


def _of_file(
    path: str,
    before: Structure,
    carried: _Carried,
    structure_of: Callable[[str], Structure | None],
    base: Believed,
    head: Believed,
    taken: set[tuple[str, int]],
) -> Iterator[LostLine]:
    analyses: dict[str, Analysis] = {}
    ways = base.analysis(before, path).executed_branch_arcs()
    for old, (place, new) in sorted(carried.items()):
        after = structure_of(place)
        if after is None:
            continue
        first = after.first(new)
        if first not in after.statements or (place, first) in taken:
            continue
        if place not in analyses:
            analyses[place] = head.analysis(after, place)
        tests = [test for test in base.recording.tests_of(path, before.span(old)) if test in base.tests]
        whole = LostLine(
            path=place,
            line=first,
            base_path=path,
            base_line=old,
            text=lines_of(after.text)[first - 1].strip()[:200],
            tests=tuple(tests[:_MOST_TESTS]),
        )
        if first not in analyses[place].executed:
            yield whole
            continue
        for taken_once, missing in _lost_ways(ways.get(old, ()), carried, after, analyses[place], first):
            by = [test for test in tests if _goes(base, test, path, before, (old, taken_once))]
            yield replace(whole, branch=_way(after, first, missing), tests=tuple(by[:_MOST_TESTS]))


def _lost_ways(
    ways: Iterable[int], carried: _Carried, after: Structure, analysis: Analysis, first: int
) -> Iterator[tuple[int, int]]:
    """Where base's tests went on to from a statement, and where that is on head, which no test goes to any more.

    Where nothing runs what is there, that is told as a lost line.
    """
    missing = analysis.missing_branch_arcs().get(first, [])
    for way in sorted(ways):
        if way < 0:  # the end of a function
            yield from ((way, target) for target in missing if target < 0)
        elif way in carried and (target := after.first(carried[way][1])) in missing and target in analysis.executed:
            yield way, target


def _way(after: Structure, first: int, target: int) -> str:
    """What a branch is called, also where coverage.py has no words for it."""
    to = f"to line {target}" if target > 0 else "to the end"
    return after.description((first, target)) or f"line {first} didn't go on {to}"


def _goes(base: Believed, test: str, path: str, before: Structure, arc: tuple[int, int]) -> bool:
    """Whether a test of base takes this way."""
    pairs = (pair for trace in base.recording.by_test.get(test, ()) if trace.path == path for pair in trace.pairs())
    return any((before.first(start), before.first(end) if end > 0 else end) == arc for start, end in pairs)


def _carried(path: str, file: ChangedFile | None, same: Same, statements: Iterable[int]) -> _Carried:
    """Where statements of base are on head; those that are gone are left out."""
    moved = {
        origin.line: (place, first)
        for place, origins in same.origins.items()
        for first, origin in origins.items()
        if origin.path == path
    }
    if file is None:
        return {line: (path, line) for line in statements}
    later = {old: new for new, old in same.unchanged.get(file.path, {}).items()}
    here = {old: (file.path, new) for old, new in later.items() if file.head is not None}
    return {line: place for line in statements if (place := moved.get(line) or here.get(line)) is not None}


def _structure(text: str | None, rules: Rules, python: str) -> Structure | None:
    if text is None:
        return None
    try:
        return Structure(text, rules, python)
    except Unparsable:
        return None
