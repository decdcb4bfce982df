"""One file's text, as an editor and as the compiler see it, and the pieces of it that compile alone.

Belongs here: newlines, byte order marks, form feeds, places, edits, units. Does not belong here: what to change.
"""

from __future__ import annotations
import __future__

import ast
import io
import re
import sys
import tokenize
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from types import CodeType

from repro_gate.model.lines import lines_of
from repro_gate.mutants import compiled

Place = tuple[int, int]  # line from 1, column from 0, in characters
_NEWLINE = re.compile(r"\r\n?|\n")
_BOM = "\ufeff"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
UNPARSABLE = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class Edit:
    """What lies between two places, and what takes its place (newlines are ``\\n``)."""

    start: Place
    end: Place
    text: str


@dataclass(frozen=True)
class Text:
    """Characters with the offset at which each line begins; ``newline`` is what an edit's newlines are written as."""

    characters: str
    starts: tuple[int, ...]
    newline: str = "\n"

    def offset(self, place: Place) -> int:
        """Where a place is among the characters; libcst ends each file by a newline, also one that has none."""
        if place[0] > len(self.starts):
            return len(self.characters)
        return self.starts[place[0] - 1] + place[1]

    def between(self, start: Place, end: Place) -> str:
        """The characters from one place to another."""
        return self.characters[self.offset(start) : self.offset(end)]

    def edited(self, edit: Edit, first: int = 0, last: int | None = None) -> str:
        """The characters from offset ``first`` to ``last``, with an edit that lies within."""
        new = edit.text if self.newline == "\n" else edit.text.replace("\n", self.newline)
        before = self.characters[first : self.offset(edit.start)]
        return before + new + self.characters[self.offset(edit.end) : last]


@dataclass(frozen=True, kw_only=True, slots=True)
class Unit:
    """Lines that compile alone behind ``head``, which stands for the blocks around them.

    ``path``: the names of classes and the function that lead to the code of a function that is not within
    another one, empty where the lines run at import; ``named``: the line of its ``def``.
    """

    first: int
    last: int
    named: int = 0
    head: str = ""
    path: tuple[str, ...] = ()

    def meets(self, lines: AbstractSet[int]) -> bool:
        """Whether one of the lines is the unit's."""
        return any(self.first <= line <= self.last for line in lines)


@dataclass(frozen=True)
class Source:
    """A file that this Python can parse. ``head`` is the text as given, ``plain`` the same without byte order mark,
    without form feeds that begin a line, and with ``\\n`` for every newline; both have the same places.
    ``reported``: the lines that the compiled file knows.
    """

    path: str
    head: Text
    plain: Text
    tree: ast.Module
    reported: frozenset[int]

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """Functions that are not within another one, then all statements of the module; a line is its first one's.

        Without those that the compiler leaves out, because they stand behind a ``raise`` or below ``if 0``.
        """
        every = (*self._functions(self.tree.body, ()), *self._statements())
        return tuple(unit for unit in every if unit.meets(self.reported))

    def length(self, unit: Unit) -> int:
        """How many characters a unit has."""
        starts = self.plain.starts
        last = starts[unit.last] if unit.last < len(starts) else len(self.plain.characters)
        return last - starts[unit.first - 1]

    def compiled(self, unit: Unit, edit: Edit | None = None) -> CodeType | None:
        """A unit's code, with an edit within it; None where that is no valid Python."""
        starts = self.plain.starts
        first = starts[unit.first - 1]
        last = starts[unit.last] if unit.last < len(starts) else len(self.plain.characters)
        piece = self.plain.characters[first:last] if edit is None else self.plain.edited(edit, first, last)
        return _compiled(unit.head + piece, self.path, self._flags)

    def away_from(self, lines: AbstractSet[int]) -> frozenset[int]:
        """The ``def`` lines of functions that meet none of the lines and share their name with no other definition."""
        functions = [unit for unit in self.units if unit.path]
        names = Counter(".".join(unit.path) for unit in functions)
        names.update(node.name for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef))
        return frozenset(unit.named for unit in functions if names[".".join(unit.path)] == 1 and not unit.meets(lines))

    @cached_property
    def _flags(self) -> int:
        """What the file imports from __future__, for code that is compiled without that import."""
        names = [
            alias.name
            for node in self.tree.body
            if isinstance(node, ast.ImportFrom) and node.module == "__future__"
            for alias in node.names
        ]
        return sum(set(map(_flag, names)))

    def _functions(self, body: Sequence[ast.AST], around: tuple[ast.AST, ...]) -> Iterator[Unit]:
        for node in body:
            if isinstance(node, _FUNCTIONS):
                unit = self._function(node, around)
                if self.compiled(unit) is not None:
                    yield unit
            elif isinstance(node, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                yield from self._functions(list(ast.iter_child_nodes(node)), (*around, node))

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, around: tuple[ast.AST, ...]) -> Unit:
        classes = tuple(each.name for each in around if isinstance(each, ast.ClassDef))
        return Unit(
            first=first_line(node),
            last=node.end_lineno or node.lineno,
            named=node.lineno,
            head="".join(self._stubs(around)),
            path=(*classes, node.name),
        )

    def _stubs(self, around: tuple[ast.AST, ...]) -> Iterator[str]:
        """A header for each level of indentation, so that names are mangled and cells made as in the file."""
        stubs: dict[str, str] = {}
        for node in around:
            line = getattr(node, "lineno", 0)
            if not line:
                continue
            text = self.plain.between((line, 0), (line + 1, 0) if line < len(self.plain.starts) else (line, 0))
            indent = text[: len(text) - len(text.lstrip())]
            stubs = {each: stub for each, stub in stubs.items() if len(each) < len(indent)}
            stubs[indent] = f"class {node.name}{_parameters(node)}:\n" if isinstance(node, ast.ClassDef) else "if 1:\n"
        for indent, stub in stubs.items():
            yield indent + stub

    def _statements(self) -> Iterator[Unit]:
        first = last = 0
        for node in self.tree.body:
            if last and first_line(node) > last:
                yield Unit(first=first, last=last)
                first = 0
            first = first or first_line(node)
            last = max(last, node.end_lineno or node.lineno)
        if last:
            yield Unit(first=first, last=last)


def read(path: str, text: str) -> Source | str:
    """A file's text ready for edits, or the sentence that says why it cannot be read."""
    plain = _plain(text)
    try:
        tree, reported = _parsed(plain.characters)
    except UNPARSABLE as error:
        line = f" in line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        message = error.msg if isinstance(error, SyntaxError) else type(error).__name__
        return f"Python {sys.version_info[0]}.{sys.version_info[1]} cannot parse the file{line}: {message}"
    return Source(path=path, head=_text(text), plain=plain, tree=tree, reported=reported)


def comments(text: str) -> dict[int, str]:
    """The comment of each line that has one; of a file that cannot be read, none."""
    found: dict[int, str] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(_plain(text).characters).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = token.string
    except (tokenize.TokenError, *UNPARSABLE):
        return {}
    return found


def first_line(node: ast.stmt) -> int:
    """The line of a statement's first decorator, or its own."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(each.lineno for each in decorators)])


def _text(text: str) -> Text:
    """The text as given, with the places that its plain form has."""
    starts = [1 if text.startswith(_BOM) else 0, *(found.end() for found in _NEWLINE.finditer(text))]
    newline = _NEWLINE.search(text)
    skipped = [start + _form_feeds(text, start) for start in starts]
    return Text(text, tuple(skipped), newline[0] if newline else "\n")


def _plain(text: str) -> Text:
    lines = [line[_form_feeds(line, 0) :] for line in lines_of(text.removeprefix(_BOM))]
    starts = [0]
    for line in lines[:-1]:
        starts.append(starts[-1] + len(line) + 1)
    return Text("\n".join(lines), tuple(starts))


def _form_feeds(text: str, start: int) -> int:
    """How many form feeds stand at an offset. The compiler starts the column anew behind them; libcst drops them."""
    end = start
    while text.startswith("\f", end):
        end += 1
    return end - start


def _parsed(plain: str) -> tuple[ast.Module, frozenset[int]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(plain)
        code = compile(plain, "<source>", "exec", dont_inherit=True, optimize=0)
    return tree, compiled.reported(code)


def _compiled(text: str, path: str, flags: int) -> CodeType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code: CodeType = compile(text, path, "exec", flags=flags, dont_inherit=True, optimize=0)
            return code
    except UNPARSABLE:
        return None


def _flag(name: str) -> int:
    """The compiler's flag of a name imported from __future__."""
    flag: int = getattr(getattr(__future__, name, None), "compiler_flag", 0)
    return flag


def _parameters(node: ast.ClassDef) -> str:
    """The type parameters of a class (Python 3.12), which its methods see as free variables."""
    parameters = getattr(node, "type_params", ())
    return f"[{', '.join(map(ast.unparse, parameters))}]" if parameters else ""
