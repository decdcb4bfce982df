"""Head described as base is: what a test that looks at docstrings, annotations or code objects cannot tell from base. Pure.

Belongs here: the edit of one product file, by its syntax. Does not belong here: who is held to it (recovery), and
other words for the same code (reword). Lines do not keep their numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from repro_gate.gates.fail_to_pass.hollow import is_generator, is_only_declared
from repro_gate.gates.fail_to_pass.symbols import Function, functions, parse

_Describable = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
# Its code object is another one's, and all else is the function's own.
_WRAPPED = "lambda _of: __import__('functools').wraps(_of)(lambda *_by, **_named: _of(*_by, **_named))"


def described(head: str | None, base: str | None, *, docstrings_alone: bool = False) -> str | None:
    """Head that does the same and is described as base is: docstrings and annotations that base has, code behind wrappers.

    None where it would say the same. Lines do not keep their numbers. With ``docstrings_alone`` all else is head's.
    """
    after, before = parse(head), parse(base)
    if after is None or before is None:
        return None
    plain = ast.dump(after)
    _describe(after, before)
    olds = dict(functions(before))
    for name, function in () if docstrings_alone else functions(after):
        if name in olds:
            _annotate(function, olds[name])
        if "<locals>" not in name and not is_only_declared(function) and _is_plain(function):
            function.decorator_list.append(ast.parse(_WRAPPED, mode="eval").body)
    if ast.dump(after) == plain:
        return None
    text = ast.unparse(ast.fix_missing_locations(after)) + "\n"
    return text if parse(text) is not None else None


def _describe(head: ast.Module, base: ast.Module) -> None:
    """Give what both have base's docstring, or none where base has none."""
    olds = dict(describable(base))
    for name, node in describable(head):
        if name in olds and ast.get_docstring(node, clean=False) is not None:
            old = ast.get_docstring(olds[name], clean=False)
            node.body[0] = ast.Expr(value=ast.Constant(value=old))


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
