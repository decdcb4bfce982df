"""Which changed statements are the same code as before: moved, or written with other white space and comments.

Belongs here: comparing texts by logical lines, as the tokenizer sees them. Does not belong here: coverage, and which
whole definitions and statements moved (units). A line is the same in its place if it stands in the same order among
those that are, and in the same blocks; a line that moved is the same only with the unit that it belongs to.
"""

from __future__ import annotations

import ast
import bisect
import difflib
import io
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from repro_gate.gates.coverage.units import Module, between, within
from repro_gate.model.lines import lines_of, with_line_feeds

_SILENT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_MOST_COMPARED = 250_000  # pairs of lines; from there on a line that is everywhere is no place to begin at
_LONGEST_PARSED = 10_000  # characters of a logical line
_MOST_PARSED = 20_000  # lines of a hunk; tokens are compared in a longer one
_ARMS = frozenset({"else", "finally"})  # headers that belong to the statement before


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


Block = tuple[int, str]


@dataclass(frozen=True, kw_only=True, slots=True)
class Logical:
    """A logical line of a text: its lines, its tokens as text, and the function or class that it is in or begins.

    ``within``: the blocks around it, from the outermost: the first line of the header of each, and ``else`` or
    ``finally`` where it is that part of the statement. ``same`` is equal for what is the same code, however it is
    written.
    """

    first: int
    last: int
    key: str
    scope: str = ""
    within: tuple[Block, ...] = ()

    @property
    def lines(self) -> range:
        """The numbers of its lines."""
        return range(self.first, self.last + 1)

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

    ``unchanged`` are the lines that git shows as they are: head's number -> base's; ``displaced`` are those of them
    that are other code all the same, since the block that they are in is another one.
    """

    origins: dict[str, dict[int, Origin]] = field(default_factory=dict)
    unchanged: dict[str, dict[int, int]] = field(default_factory=dict)
    displaced: dict[str, set[int]] = field(default_factory=dict)
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
    blocks: list[Block] = []
    openers = [0]  # of each depth, the line that may begin a statement with several blocks
    begun = arm = ""
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.INDENT:
                around.append(begun)
                blocks.append(found[-1].within[-1] if arm else (found[-1].first if found else 0, ""))
                openers.append(0)
            elif token.type == tokenize.DEDENT:
                around.pop()
                blocks.pop()
                openers.pop()
            elif token.type not in _SILENT:
                pending.append(token)
            elif token.type in (tokenize.NEWLINE, tokenize.ENDMARKER) and pending:
                words = [each.string for each in pending]
                begun = _defined(words)
                scope = ".".join(name for name in (*around, begun) if name)
                first, last = pending[0].start[0], pending[-1].end[0]
                arm = words[0] if words[0] in _ARMS else ""
                inside = (*blocks, (openers[-1], arm)) if arm else tuple(blocks)
                found.append(Logical(first=first, last=last, key=" ".join(words), scope=scope, within=inside))
                openers[-1] = openers[-1] if arm or words[0] == "except" else first
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
    logical: dict[str, list[Logical]] = {}
    modules: list[tuple[Module, Module]] = []
    for file in files:
        before, after = logical_lines(file.base or ""), logical_lines(file.head or "")
        logical[file.base_path], same.logical[file.path] = before, after
        same.unchanged[file.path], hunks = _aligned(file)
        same.origins[file.path], same.displaced[file.path] = _in_place(
            file, before, after, same.unchanged[file.path], hunks
        )
        modules.append((Module(file.base_path, file.module, file.base), Module(file.path, file.module, file.head)))
    for moved in (*(each for pair in modules for each in within(*pair)), *between(modules)):
        old, new = _lines_in(logical[moved.base_path], moved.was), _lines_in(same.logical[moved.path], moved.now)
        if len(old) == len(new):
            for was, now in zip(old, new, strict=True):
                origin = Origin(path=moved.base_path, line=was.first, moved=True)
                same.origins[moved.path].setdefault(now.first, origin)
                same.displaced[moved.path].difference_update(now.lines)
    _forget_unchanged(files, same)
    return same


def regrouped(files: Sequence[ChangedFile]) -> tuple[ChangedFile, ...]:
    """The files with lines as changed ones that git shows as they are, and that stand in another block than before."""
    same = compare(files)
    return tuple(
        replace(
            file,
            added=file.added | lines,
            removed=file.removed | {same.unchanged[file.path][line] for line in lines if line not in file.added},
        )
        if (lines := same.displaced[file.path])
        else file
        for file in files
    )


def _forget_unchanged(files: Iterable[ChangedFile], same: Same) -> None:
    """Leave out origins of lines that are as they were, where they were."""
    for file in files:
        origins, unchanged = same.origins[file.path], same.unchanged[file.path]
        for each in same.logical[file.path]:
            origin = origins.get(each.first)
            stays = origin is not None and all(line in unchanged for line in each.lines)
            if stays and origin == Origin(path=file.base_path, line=unchanged[each.first], moved=True):
                del origins[each.first]


def _lines_in(lines: Sequence[Logical], span: tuple[int, int]) -> list[Logical]:
    first, last = (bisect.bisect_left(lines, number, key=lambda each: each.first) for number in (span[0], span[1] + 1))
    return list(lines[first:last])


def _in_place(
    file: ChangedFile,
    before: Sequence[Logical],
    after: Sequence[Logical],
    unchanged: dict[int, int],
    hunks: Sequence[tuple[set[int], set[int]]],
) -> tuple[dict[int, Origin], set[int]]:
    """Changed lines that are the same where they were, and unchanged ones that are in another block than before."""
    pairs: dict[int, Logical] = {}
    for removed, added in hunks:
        pairs |= {now.first: was for was, now in _matched(_touched(before, removed), _touched(after, added))}
    begins = {each.first: each for each in before}
    origins: dict[int, Origin] = {}
    displaced: set[int] = set()
    blocks = _Blocks()
    for now in after:
        stays = file.base is not None and file.added.isdisjoint(now.lines)
        was = begins.get(unchanged[now.first]) if stays else pairs.get(now.first)
        if was is not None and (not stays or was.key == now.key) and blocks.alike(was, now):
            blocks.keep(was, now)
            if not stays:
                origins[now.first] = Origin(path=file.base_path, line=was.first, moved=False)
        elif stays:
            displaced.update(now.lines)
    return origins, displaced


class _Blocks:
    """Whether a line stands in the same blocks as before, of those whose headers are the same on both sides.

    In Python white space says what belongs to an `if`: a line that leaves it is other code. Told line by line, in
    order.
    """

    def __init__(self) -> None:
        self._kept: dict[int, int] = {}  # header of head -> of base
        self._headers: set[int] = set()

    def keep(self, was: Logical, now: Logical) -> None:
        """Take two lines for the same one, which may be a header."""
        self._kept[now.first] = was.first
        self._headers.add(was.first)

    def alike(self, was: Logical, now: Logical) -> bool:
        """A block that comes, or comes in another's place, is told by its header; one that goes, by what was in it.

        `else` and `finally` have no header that could be measured: what comes into one is other code.
        """
        old = [block if block[0] in self._headers else (0, block[1]) for block in was.within]
        new = [(self._kept.get(line, 0), arm) for line, arm in now.within]
        if [block for block in old if block[0]] != [block for block in new if block[0]]:
            return False
        return all(
            gone[""] <= came[""] and all(gone[arm] == came[arm] for arm in _ARMS)
            for gone, came in zip(_between(old), _between(new), strict=True)
        )


def _between(blocks: Iterable[Block]) -> list[Counter[str]]:
    """How many blocks of each kind there are before, between and after those whose headers are kept."""
    found = [Counter[str]()]
    for line, arm in blocks:
        if line:
            found.append(Counter())
        else:
            found[-1][arm] += 1
    return found


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
    return [each for each in lines if any(number in numbers for number in each.lines)]
