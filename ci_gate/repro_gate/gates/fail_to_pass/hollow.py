"""Hollow head: head's source with the bodies of new and changed functions taken out. Pure.

A text edit: every line keeps its number, so lines, frames and fingerprints outside of the
bodies stay what they were. Belongs here: which functions, and what stands in for their bodies.
Does not belong here: running the result.
"""

from __future__ import annotations

import ast
import difflib
import enum
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from repro_gate.gates.fail_to_pass.symbols import Function, functions, parse

_ALIKE = 0.75  # of two bodies: one was made of the other, or it does no harm to take it for that
# It takes any use, and is neither less nor more than anything: a test that compares it fails by its own check.
_ABSORB = (
    "return __import__('unittest.mock', fromlist=['MagicMock'])"
    ".MagicMock(**{'__%s__.return_value' % _name: False for _name in ('lt', 'le', 'gt', 'ge')})"
)


class Filling(enum.StrEnum):
    """What stands in for a body.

    BASE: base's body where there is one with the same qualified name, else NOTHING. NOTHING
    returns None, ABSORB an object that takes any use.
    """

    BASE = "base"
    NOTHING = "nothing"
    ABSORB = "absorb"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Edit:
    """Replace a body: from (line, column) to (line, column), columns in UTF-8 bytes, lines from 1."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Elsewhere:
    """Bodies of base by qualified name: of all changed files, and those that head no longer has where they were.

    ``constants`` are base's assignments to plain names, as syntax without positions.
    """

    named: Mapping[str, list[str]] = field(default_factory=dict)
    gone: Mapping[str, list[str]] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()

    @classmethod
    def of(cls, texts: Iterable[tuple[str | None, str | None]]) -> Elsewhere:
        """From base's and head's text of each changed file."""
        named: dict[str, list[str]] = {}
        gone: dict[str, list[str]] = {}
        constants: set[str] = set()
        for base, head in texts:
            before, after = parse(base), parse(head)
            nodes = ast.walk(before) if before is not None else ()
            constants |= {ast.dump(node) for node in nodes if isinstance(node, ast.Assign | ast.AnnAssign)}
            there = {name for name, _ in functions(after)} if after is not None else set()
            for name, body in _bodies(base).items():
                named.setdefault(name, body)
                if name not in there:
                    gone[name] = body
        return cls(named={**named, **gone}, gone=gone, constants=frozenset(constants))

    def body_of(self, name: str, function: Function) -> list[str]:
        """The body that a new function was made of: that of the same name, else the one most like it, or none."""
        if name in self.named:
            return self.named[name]
        own = "\n".join(_lines_of(function))
        most: float = _ALIKE
        likest: list[str] = []
        for old in self.gone.values():
            matcher = difflib.SequenceMatcher(None, "\n".join(old), own)
            # The exact ratio takes long; these are upper bounds of it.
            if min(matcher.real_quick_ratio(), matcher.quick_ratio()) >= most and matcher.ratio() >= most:
                most, likest = matcher.ratio(), old
        return likest


def hollow(
    head: str,
    changed: Iterable[int],
    filling: Filling,
    base: str | None = None,
    elsewhere: Elsewhere | None = None,
) -> str | None:
    """Head's source with the functions on changed lines hollowed; None where there is none, or no syntax.

    Functions that are new have all of their lines changed. Nested functions go with the outer one. BASE also finds
    bodies that base has ``elsewhere``: a function that was moved or renamed, and mended, is nothing new.
    """
    tree = parse(head)
    if tree is None:
        return None
    lines = frozenset(changed)
    bodies = _bodies(base) if filling is Filling.BASE else {}
    others = elsewhere if elsewhere is not None and filling is Filling.BASE else Elsewhere()
    edits: list[_Edit] = []
    for name, function in functions(tree):
        if not lines & set(_extent(function)) or is_only_declared(function):
            continue
        if any(edit.start <= (function.lineno, function.col_offset) < edit.end for edit in edits):
            continue  # inside of one that is hollow already
        old = bodies.get(name) or others.body_of(name, function)
        edits.append(_edit(function, filling, old))
    text = _apply(head, edits) if edits else None
    return text if parse(text) is not None else None


def _edit(function: Function, filling: Filling, old: list[str]) -> _Edit:
    body = real_body(function)
    first, last = body[0], body[-1]
    start = (_first_line(first), first.col_offset)
    end = (last.end_lineno or last.lineno, last.end_col_offset or 0)
    own_line = start[0] > function.lineno and not _shares_line(function, start[0])
    if old and len(old) <= (end[0] - start[0] + 1 if own_line else 1):
        text = f"\n{' ' * start[1]}".join(old)
    else:
        text = stand_in(function, filling)
    return _Edit(start=start, end=end, text=text)


def stand_in(function: Function, filling: Filling) -> str:
    """What takes the place of a function's body where base's own does not."""
    if filling is Filling.ABSORB and function.name not in ("__init__", "__init_subclass__", "__set_name__"):
        body = _ABSORB
    else:
        body = "return None"
    # What makes it a generator must stay, or a loop over it fails by itself and not by the test's check.
    if not is_generator(function):
        return body
    if filling is Filling.ABSORB:
        return f"yield {_ABSORB.removeprefix('return ')}"
    bare = "return" if body == "return None" and isinstance(function, ast.AsyncFunctionDef) else body
    # A context manager or a fixture made of a generator needs one value to come out.
    return "yield None" if _is_once(function) else f"{bare}; yield"


def _is_once(function: Function) -> bool:
    names = {ast.unparse(each).rpartition(".")[2].partition("(")[0] for each in function.decorator_list}
    return bool(names & {"contextmanager", "asynccontextmanager", "fixture"})


def _bodies(base: str | None) -> dict[str, list[str]]:
    """Qualified name -> the lines of the body on base; without comments, so they mostly fit into head's."""
    tree = parse(base)
    if tree is None:
        return {}
    return {name: _lines_of(function) for name, function in functions(tree) if not is_only_declared(function)}


def _lines_of(function: Function) -> list[str]:
    return "\n".join(ast.unparse(statement) for statement in real_body(function)).split("\n")


def _apply(text: str, edits: list[_Edit]) -> str:
    lines = list(io.StringIO(text, newline=""))  # the line ends that Python knows, and no others
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        (first, left), (last, right) = edit.start, edit.end
        before = lines[first - 1].encode()[:left].decode()
        after = lines[last - 1].encode()[right:].decode()
        blank = "\n" * (last - first - edit.text.count("\n"))
        lines[first - 1 : last] = [before + edit.text + after + blank]
    return "".join(lines)


def real_body(function: Function) -> list[ast.stmt]:
    """What is to be replaced: all but the docstring, unless there is nothing else."""
    return function.body[1:] if _has_docstring(function) and len(function.body) > 1 else function.body


def _shares_line(function: Function, line: int) -> bool:
    """Whether the body begins on a line of the header or behind the docstring's."""
    header = [node.end_lineno or 0 for node in ast.walk(function.args) if isinstance(node, ast.expr | ast.arg)]
    docstring = [function.body[0].end_lineno or 0] if _has_docstring(function) else []
    return line in (*header, *docstring)


def _extent(function: Function) -> Iterator[int]:
    """The lines of a function; its decorators are not its body."""
    yield from range(function.lineno, (function.end_lineno or function.lineno) + 1)


def _first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, Function | ast.ClassDef) else []
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _has_docstring(function: Function) -> bool:
    return ast.get_docstring(function, clean=False) is not None


def is_only_declared(function: Function) -> bool:
    """An overload or a protocol's method: a body of `...` is nothing that could be taken out."""
    body = function.body[1:] if _has_docstring(function) else function.body
    empty = all(isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) for each in body)
    overload = any(ast.unparse(each).rpartition(".")[2] == "overload" for each in function.decorator_list)
    return overload or (bool(body) and empty)


def is_generator(function: Function) -> bool:
    """Whether calling it makes a generator."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            pending.extend(ast.iter_child_nodes(node))
    return False
