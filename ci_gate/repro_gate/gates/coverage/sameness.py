"""Which changed statements are the same code as before: moved, or written with other white space and comments.

Belongs here: comparing texts by logical lines, as the tokenizer sees them. Does not belong here: coverage. A block
counts as moved by the measure of git's ``--color-moved``: as often as it was taken away elsewhere, and with at least
20 letters and digits; its own lines in another place of the same hunk need no such length.
"""

from __future__ import annotations

import ast
import bisect
import difflib
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from repro_gate.model.lines import lines_of, with_line_feeds

_SILENT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_LEAST_MOVED = 20  # letters and digits of a block, as git has it
_MOST_COMPARED = 250_000  # pairs of lines; from there on a line that is everywhere is no place to begin at
_LONGEST_PARSED = 10_000  # characters of a logical line
_MOST_PARSED = 20_000  # lines of a hunk; tokens are compared in a longer one
_MOST_TRIED = 50  # places of equal first lines that a block is compared with


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedFile:
    """A Python file of the product that differs. Texts are None where there is no such file; lines count from 1.

    ``removed`` and ``added`` are all lines that git shows, also those that only differ in white space.
    """

    path: str
    module: str
    base_path: str = ""
    base: str | None = None
    head: str | None = None
    removed: frozenset[int] = frozenset()
    added: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Logical:
    """A logical line of a text: its lines, its tokens as text, and the function or class that it is in or begins.

    ``within``: the first lines of the headers of all blocks around it, from the outermost. ``same`` is equal for what
    is the same code, however it is written.
    """

    first: int
    last: int
    key: str
    scope: str = ""
    within: tuple[int, ...] = ()

    @property
    def weight(self) -> int:
        """How many letters and digits it has."""
        return sum(letter.isalnum() for letter in self.key)

    @property
    def same(self) -> str:
        """Its syntax tree, without quotes, parentheses and commas that mean nothing; its tokens where it is none
        alone.
        """
        if len(self.key) > _LONGEST_PARSED:
            return self.key
        try:
            return ast.dump(ast.parse(f"{self.key} pass" if self.key.endswith(":") else self.key))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return self.key


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """Where a statement of head was on base; ``moved`` False: in the same place, in other white space."""

    path: str
    line: int
    moved: bool


@dataclass(kw_only=True)
class Same:
    """For each file of head: where the logical lines that are no new code came from, by their first line on head.

    ``unchanged`` are the lines that git shows as they are: head's number -> base's.
    """

    origins: dict[str, dict[int, Origin]] = field(default_factory=dict)
    unchanged: dict[str, dict[int, int]] = field(default_factory=dict)
    logical: dict[str, list[Logical]] = field(default_factory=dict)

    def origin(self, path: str, line: int) -> Origin | None:
        """Where the logical line that holds a line of head came from; None for one that is new."""
        logical = self.logical.get(path, ())
        place = bisect.bisect_right(logical, line, key=lambda each: each.first) - 1
        if place < 0 or line > logical[place].last:
            return None
        return self.origins.get(path, {}).get(logical[place].first)


def logical_lines(text: str) -> list[Logical]:
    """The logical lines of a text, in order; of one that is no Python, its lines."""
    text = with_line_feeds(text.removeprefix("\ufeff"))
    found: list[Logical] = []
    pending: list[tokenize.TokenInfo] = []
    around: list[str] = []  # a name for each block that is open; empty for one that is no definition
    headers: list[int] = []
    begun = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.INDENT:
                around.append(begun)
                headers.append(found[-1].first if found else 0)
            elif token.type == tokenize.DEDENT:
                around.pop()
                headers.pop()
            elif token.type not in _SILENT:
                pending.append(token)
            elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) and pending:
                words = [each.string for each in pending]
                begun = _defined(words)
                scope = ".".join(name for name in (*around, begun) if name)
                first, last = pending[0].start[0], pending[-1].end[0]
                found.append(Logical(first=first, last=last, key=" ".join(words), scope=scope, within=tuple(headers)))
                pending = []
    except (tokenize.TokenError, SyntaxError):
        plain = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
        return [Logical(first=number, last=number, key=line) for number, line in plain if line]
    return found


def _defined(words: Sequence[str]) -> str:
    """The name of the function or class that a logical line begins, or nothing."""
    words = words[1:] if words[0] == "async" else words
    return words[1] if len(words) > 1 and words[0] in ("def", "class") else ""


def compare(files: Sequence[ChangedFile]) -> Same:
    """What of a change's added lines is the same code as before."""
    same = Same()
    gone: list[tuple[ChangedFile, list[Logical]]] = []
    came: list[tuple[ChangedFile, list[Logical]]] = []
    for file in files:
        before, after = logical_lines(file.base or ""), logical_lines(file.head or "")
        same.logical[file.path] = after
        origins = same.origins.setdefault(file.path, {})
        left, anew = set[int](), set[int]()
        same.unchanged[file.path], hunks = _aligned(file)
        blocks = _Blocks(file, before, after, same.unchanged[file.path])
        for removed, added in hunks:
            old, new = _touched(before, removed), _touched(after, added)
            for was, now in _matched(old, new):
                left.add(was.first)
                if blocks.alike(was, now):
                    origins[now.first] = Origin(path=file.base_path, line=was.first, moved=False)
                else:
                    anew.add(now.first)
        gone.append((file, [each for each in _touched(before, file.removed) if each.first not in left]))
        came.append(
            (
                file,
                [each for each in _touched(after, file.added) if each.first not in origins and each.first not in anew],
            )
        )
    _find_moved(gone, came, same)
    return same


class _Blocks:
    """Whether a line stands in the same blocks as before, of those whose headers the change leaves as they are.

    In Python white space says what belongs to an `if`: a line that leaves it is other code.
    """

    def __init__(
        self, file: ChangedFile, before: Sequence[Logical], after: Sequence[Logical], unchanged: dict[int, int]
    ) -> None:
        self._old = {each.first for each in before if file.removed.isdisjoint(range(each.first, each.last + 1))}
        kept = (each.first for each in after if file.added.isdisjoint(range(each.first, each.last + 1)))
        self._new = {line: unchanged.get(line, 0) for line in kept}

    def alike(self, was: Logical, now: Logical) -> bool:
        """Blocks that the change brings, alters or takes away are told by their headers."""
        here = [self._new[header] for header in now.within if header in self._new]
        return [header for header in was.within if header in self._old] == here


def _matched(old: Sequence[Logical], new: Sequence[Logical]) -> Iterator[tuple[Logical, Logical]]:
    """Lines of a hunk that are the same on both sides, in order, and in the same function: else they moved."""
    few = len(old) + len(new) <= _MOST_PARSED
    mine, theirs = ([(each.scope, each.same if few else each.key) for each in side] for side in (old, new))
    begin = _equal(mine, theirs)
    end = _equal(mine[begin:][::-1], theirs[begin:][::-1])
    yield from zip(old[:begin], new[:begin], strict=True)
    mine, theirs = mine[begin : len(mine) - end], theirs[begin : len(theirs) - end]
    many = len(mine) * len(theirs) > _MOST_COMPARED
    for block in difflib.SequenceMatcher(None, mine, theirs, autojunk=many).get_matching_blocks():
        for offset in range(begin, begin + block.size):
            yield old[block.a + offset], new[block.b + offset]
    yield from zip(old[len(old) - end :], new[len(new) - end :], strict=True)


def _equal(mine: Sequence[object], theirs: Sequence[object]) -> int:
    """How many of the first are equal."""
    pairs = enumerate(zip(mine, theirs, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(mine), len(theirs)))


def _aligned(file: ChangedFile) -> tuple[dict[int, int], list[tuple[set[int], set[int]]]]:
    """Unchanged lines (head's number -> base's), and the hunks between them."""
    unchanged: dict[int, int] = {}
    hunks: list[tuple[set[int], set[int]]] = []
    if file.base is None or file.head is None:
        return unchanged, [(set(file.removed), set(file.added))]
    ends = len(lines_of(file.base)), len(lines_of(file.head))
    old = new = 1
    while old <= ends[0] or new <= ends[1]:
        removed, added = set[int](), set[int]()
        while old in file.removed:
            removed.add(old)
            old += 1
        while new in file.added:
            added.add(new)
            new += 1
        if removed or added:
            hunks.append((removed, added))
            continue
        unchanged[new] = old
        old, new = old + 1, new + 1
    return unchanged, hunks


def _touched(lines: Sequence[Logical], numbers: set[int] | frozenset[int]) -> list[Logical]:
    return [each for each in lines if any(number in numbers for number in range(each.first, each.last + 1))]


_Place = tuple[int, int]


def _find_moved(
    gone: Sequence[tuple[ChangedFile, list[Logical]]], came: Sequence[tuple[ChangedFile, list[Logical]]], same: Same
) -> None:
    """Longest blocks first come, first served; what was taken away once has moved once."""
    places: dict[str, list[_Place]] = {}
    for number, (_, lines) in enumerate(gone):
        for position, each in enumerate(lines):
            places.setdefault(each.key, []).append((number, position))
    used: set[_Place] = set()
    for file, lines in came:
        position = 0
        while position < len(lines):
            block = max(
                (
                    _run(gone, place, lines, position, used)
                    for place in places.get(lines[position].key, ())[:_MOST_TRIED]
                ),
                key=len,
                default=[],
            )
            if sum(lines[position + offset].weight for offset in range(len(block))) < _LEAST_MOVED:
                position += 1
                continue
            for offset, (number, at) in enumerate(block):
                origin = Origin(path=gone[number][0].base_path, line=gone[number][1][at].first, moved=True)
                same.origins[file.path][lines[position + offset].first] = origin
            used.update(block)
            position += len(block)


def _run(
    gone: Sequence[tuple[ChangedFile, list[Logical]]],
    place: _Place,
    lines: Sequence[Logical],
    position: int,
    used: set[_Place],
) -> list[_Place]:
    """How far two places go on alike, with the same blocks."""
    number, at = place
    before = gone[number][1]
    found: list[_Place] = []
    counterparts: dict[int, int] = {}
    theirs: set[int] = set()
    while (
        at < len(before)
        and position < len(lines)
        and before[at].key == lines[position].key
        and (number, at) not in used
        and [counterparts[line] for line in before[at].within if line in counterparts]
        == [line for line in lines[position].within if line in theirs]
    ):
        found.append((number, at))
        counterparts[before[at].first] = lines[position].first
        theirs.add(lines[position].first)
        at, position = at + 1, position + 1
    return found
