"""The mutants of a file's changed lines, and for each other changed line why it has none.

Belongs here: which candidates are mutants (they compile, to other code, once), whether a live function can be given
their code, and ids. Does not belong here: making candidates (walk), running mutants, deciding on them.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING

from repro_gate.model import Mutant, Site
from repro_gate.mutants import compiled
from repro_gate.mutants.identity import identity
from repro_gate.mutants.reasons import Reason
from repro_gate.mutants.source import Edit, Source, Unit, comments, read
from repro_gate.mutants.waivers import explained
from repro_gate.mutants.worth import rank

if TYPE_CHECKING:
    from repro_gate.mutants.walk import AridSpan, Candidate, Walked

_SILENT = frozenset({tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})

# Each mutant is compiled with its function or statement, and has a text of its own: a table of some thousand rows,
# which a tool wrote in a second, would take days and all memory.
_MOST_COMPILED = 4_000_000  # characters, of one function or statement
_MOST_HELD = 256_000_000  # characters, of one file
_EACH = 500  # what compiling takes however short the code is, in characters


def mutants_of(
    path: str, text: str, lines: frozenset[int], *, own: bool = True
) -> tuple[tuple[Mutant, ...], dict[int, str]]:
    """All mutants whose span meets one of the lines, in the file's order, and the reason of each line without one.

    ``own`` False: those of mutmut's operators alone. Ids and the choice among equal mutants do not depend on ``lines``.
    Nothing raises: a file that cannot be read has that as the reason of each line.
    """
    # Imported late: libcst takes as long to import as the rest of the gate.
    from repro_gate.mutants.walk import walk

    if not lines:
        return (), {}
    source = read(path, text)
    walked = source if isinstance(source, str) else walk(source, source.away_from(lines), own=own)
    if isinstance(source, str) or isinstance(walked, str):
        return (), dict.fromkeys(sorted(lines), str(walked))
    waived = frozenset(explained(comments(text)))
    numbered = _numbered(path, walked.candidates)
    judged = _reached(source, numbered, lines, len(text))
    found = [
        mutant
        for unit, within in _by_unit(source, judged).items()
        if unit.meets(lines)
        for mutant in _Judge(source, unit).mutants(within, waived)
    ]
    asked = [mutant for mutant in found if lines.intersection(range(mutant.line, mutant.end_line + 1))]
    asked.sort(key=lambda mutant: (mutant.line, mutant.end_line))
    return tuple(asked), _reasons(lines, found, walked, waived, source, set(numbered).difference(judged))


@dataclass(frozen=True, slots=True)
class _Numbered:
    candidate: Candidate
    id: str
    nth: int


def _numbered(path: str, candidates: Iterable[Candidate]) -> list[_Numbered]:
    """Each edit once, with its number among those that read alike in the same function."""
    seen: Counter[tuple[str, str, str]] = Counter()
    once: dict[Edit, Candidate] = {}
    for each in sorted(candidates, key=lambda each: rank(each.operator)):
        once.setdefault(each.edit, each)
    found = []
    for each in sorted(once.values(), key=lambda each: (each.edit.start, each.edit.end, each.edit.text)):
        alike = (each.qualname, each.original, each.mutated)
        seen[alike] += 1
        found.append(_Numbered(each, identity(path, *alike, seen[alike]), seen[alike]))
    return found


def _reached(source: Source, numbered: list[_Numbered], lines: AbstractSet[int], length: int) -> list[_Numbered]:
    """Those that can be compiled and held; in a file of any usual size all."""
    found = _within(_MOST_HELD // max(1, length), numbered, lines)
    by_unit = _by_unit(source, found)
    long = {unit: _MOST_COMPILED // (_EACH + source.length(unit)) for unit in by_unit if unit.meets(lines)}
    left = {
        each
        for unit, most in long.items()
        for each in set(by_unit[unit]).difference(_within(most, by_unit[unit], lines))
    }
    return [each for each in found if each not in left] if left else found


def _within(most: int, numbered: list[_Numbered], lines: AbstractSet[int]) -> list[_Numbered]:
    """All, or of too many those that meet the lines: each line's best one, then each line's next, as far as it goes."""
    if len(numbered) <= most:
        return numbered
    turns: Counter[int] = Counter()
    waiting: list[tuple[int, int, _Numbered]] = []
    for each in sorted(numbered, key=lambda each: rank(each.candidate.operator)):
        line = each.candidate.line
        if not lines.isdisjoint(range(line, each.candidate.end_line + 1)):
            waiting.append((turns[line], len(waiting), each))
            turns[line] += 1
    return [each for *_, each in sorted(waiting, key=lambda one: one[:2])[: max(1, most)]]


def _by_unit(source: Source, numbered: Iterable[_Numbered]) -> dict[Unit, list[_Numbered]]:
    """The candidates of each unit."""
    unit_at: dict[int, Unit] = {}
    for unit in reversed(source.units):  # the first unit of a line is the one that counts
        unit_at.update(dict.fromkeys(range(unit.first, unit.last + 1), unit))
    found: dict[Unit, list[_Numbered]] = {}
    for each in numbered:
        if each.candidate.line in unit_at:
            found.setdefault(unit_at[each.candidate.line], []).append(each)
    return found


class _Judge:
    """One unit's code as it is, and what of its candidates makes other code."""

    def __init__(self, source: Source, unit: Unit) -> None:
        self._source = source
        self._unit = unit
        self._code = source.compiled(unit)
        self._function = compiled.inner(self._code, unit.path) if self._code and unit.path else None
        self._key = compiled.key(self._code) if self._code else None
        self._around = compiled.key(self._code, without=self._function) if self._code and self._function else None

    def mutants(self, numbered: Iterable[_Numbered], waived: AbstractSet[int]) -> Iterator[Mutant]:
        """One mutant for each code that differs: of equal ones that of the better operator, then the first."""
        best: dict[compiled.Key, Mutant] = {}
        for each in sorted(numbered, key=lambda each: rank(each.candidate.operator)):
            candidate = each.candidate
            if waived.isdisjoint(range(candidate.line, candidate.end_line + 1)):
                judged = self._judged(candidate)
                if judged is not None:
                    best.setdefault(judged[0], self._mutant(each, judged[1]))
        yield from best.values()

    def _judged(self, candidate: Candidate) -> tuple[compiled.Key, Site] | None:
        """What a candidate compiles to and when that runs; None where it is no mutant."""
        code = self._source.compiled(self._unit, candidate.edit)
        if code is None or self._key is None:
            return None
        key = compiled.key(code)
        if key == self._key:
            return None
        function = compiled.inner(code, self._unit.path) if self._function else None
        in_call = (
            self._function is not None
            and function is not None
            and compiled.key(code, without=function) == self._around
            and compiled.swappable(self._function, function)
        )
        return key, Site.CALL if in_call else Site.IMPORT

    def _mutant(self, each: _Numbered, site: Site) -> Mutant:
        candidate = each.candidate
        return Mutant(
            id=each.id,
            file=self._source.path,
            line=candidate.line,
            end_line=candidate.end_line,
            operator=candidate.operator,
            qualname=candidate.qualname,
            original=candidate.original,
            mutated=candidate.mutated,
            nth=each.nth,
            site=site,
            text=self._source.head.edited(candidate.edit),
            first_line=self._unit.first if site is Site.CALL else 0,
            hint=candidate.hint,
        )


# --- lines without a mutant ------------------------------------------------------------------


def _reasons(
    lines: AbstractSet[int],
    found: Iterable[Mutant],
    walked: Walked,
    waived: AbstractSet[int],
    source: Source,
    left: Iterable[_Numbered],
) -> dict[int, str]:
    """The reason of each line that no mutant meets. ``left`` are candidates that were too many."""
    having = {line for mutant in found for line in range(mutant.line, mutant.end_line + 1)}
    arid = _by_line(walked.arid)
    tried = {line for each in walked.candidates for line in range(each.line, each.end_line + 1)}
    waived_too = {
        line
        for each in walked.candidates
        if not waived.isdisjoint(range(each.line, each.end_line + 1))
        for line in range(each.line, each.end_line + 1)
    }
    too_many = {line for each in left for line in range(each.candidate.line, each.candidate.end_line + 1)}
    spoken, statements = _spoken(source), _statements(source)

    def reason(line: int) -> Reason:
        if not 0 < line <= len(source.plain.starts):
            return Reason.ABSENT
        if line not in spoken:
            return Reason.BLANK
        if line in waived:
            return Reason.PRAGMA
        if line in waived_too:
            return Reason.PRAGMA_NEARBY
        if line in too_many:
            return Reason.TOO_MANY
        if line in tried:
            return Reason.SAME
        if line in arid:
            return arid[line]
        return Reason.PART if not having.isdisjoint(statements.get(line, ())) else Reason.NO_OPERATOR

    return {line: str(reason(line)) for line in sorted(lines - having)}


def _by_line(arid: Iterable[AridSpan]) -> dict[int, Reason]:
    """The reason of each line, of the smallest span where several meet it."""
    found: dict[int, Reason] = {}
    for each in sorted(arid, key=lambda each: each.line - each.end_line):
        found.update(dict.fromkeys(range(each.line, each.end_line + 1), each.reason))
    return found


def _spoken(source: Source) -> frozenset[int]:
    """The lines that hold more than a comment or white space."""
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.plain.characters).readline):
        if token.type not in _SILENT and token.string.strip():
            found.update(range(token.start[0], token.end[0] + 1))
    return frozenset(found)


def _statements(source: Source) -> dict[int, range]:
    """By line, the lines of the statement without a block that it is part of."""
    found: dict[int, range] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and not hasattr(node, "body"):
            lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
            for line in lines:
                found.setdefault(line, lines)
    return found
