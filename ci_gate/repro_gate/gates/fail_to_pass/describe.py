"""Head described as base is, and base as head: for tests that look at docstrings, annotations or code objects. Pure.

Belongs here: the edit of one product file, by its syntax. Does not belong here: who is held to it (recovery), and
other words for the same code (reword). Lines do not keep their numbers.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator

from repro_gate.gates.fail_to_pass.hollow import is_generator, is_only_declared
from repro_gate.gates.fail_to_pass.symbols import Function, functions, parse

_Describable = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# Its code object is another one's, and all else is the function's own.
_WRAPPED = "lambda _of: __import__('functools').wraps(_of)(lambda *_by, **_named: _of(*_by, **_named))"


class Extent(enum.IntEnum):
    """How much of what describes code is another's; each with all before it. CODE: behind wrappers of its own."""

    DOCSTRINGS = 0
    ANNOTATIONS = 1
    CODE = 2


def described(text: str | None, other: str | None, extent: Extent = Extent.CODE) -> str | None:
    """A text that does the same and is described as another one is: docstrings and annotations that the other has.

    None where it would say the same. Lines do not keep their numbers.
    """
    after, before = parse(text), parse(other)
    if after is None or before is None:
        return None
    plain = ast.dump(after)
    _describe(after, before)
    olds = dict(functions(before))
    for name, function in functions(after) if extent > Extent.DOCSTRINGS else ():
        if name in olds:
            _annotate(function, olds[name])
        inside = "<locals>" in name or is_only_declared(function)
        if extent is Extent.CODE and not inside and _is_plain(function):
            function.decorator_list.append(ast.parse(_WRAPPED, mode="eval").body)
    if ast.dump(after) == plain:
        return None
    found = ast.unparse(ast.fix_missing_locations(after)) + "\n"
    return found if parse(found) is not None else None


def _describe(head: ast.Module, base: ast.Module) -> None:
    """Give what both have base's docstring, or none where base has none."""
    olds = dict(describable(base))
    for name, node in describable(head):
        if name not in olds:
            continue
        old = ast.get_docstring(olds[name], clean=False)
        said = ast.Expr(value=ast.Constant(value=old))
        if ast.get_docstring(node, clean=False) is not None:
            node.body[0] = said
        elif old is not None:
            node.body.insert(0, said)


def describable(tree: ast.Module) -> Iterator[tuple[str, _Describable]]:
    """Whatever may have a docstring, by qualified name; the module under an empty one."""
    pending: list[tuple[str, ast.AST]] = [("", tree)]
    while pending:
        name, node = pending.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield name, node
        for child in ast.iter_child_nodes(node):
            own = getattr(child, "name", "") if isinstance(child, ast.stmt) else ""
            pending.append((f"{name}.{own}" if own else name, child))


def _annotate(head: Function, base: Function) -> None:
    """Give parameters and result the annotations that base has."""
    olds = {each.arg: each.annotation for each in ast.walk(base.args) if isinstance(each, ast.arg)}
    for each in (each for each in ast.walk(head.args) if isinstance(each, ast.arg)):
        each.annotation = olds.get(each.arg, each.annotation)
    head.returns = base.returns


def _is_plain(function: Function) -> bool:
    """Neither a coroutine nor a generator: a function that calls it is the same to whoever calls that."""
    return isinstance(function, ast.FunctionDef) and not is_generator(function)
