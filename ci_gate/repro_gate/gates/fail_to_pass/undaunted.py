"""A test file that goes on where something raises while it is imported: who passes there does not need what raised.
Pure.

Belongs here: the edit of one test file, by its syntax. Does not belong here: who is held to it (lookalikes). Lines do
not keep their numbers.
"""

from __future__ import annotations

import ast

from repro_gate.gates.fail_to_pass.symbols import parse


def undaunted(text: str | None) -> str | None:
    """The file with each statement of its top, and of its classes, on its own: what raises binds nothing.

    None where there is nothing to edit.
    """
    tree = parse(text)
    if tree is None or not tree.body:
        return None
    tree.body = _each_alone(tree.body)
    found = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    return found if parse(found) is not None else None


def _each_alone(body: list[ast.stmt]) -> list[ast.stmt]:
    return [
        statement if _stays(statement, first=not place) else _alone(statement) for place, statement in enumerate(body)
    ]


def _stays(statement: ast.stmt, *, first: bool) -> bool:
    """What must stand where it stands: a docstring, what speaks to the compiler, a class's own marks of scope."""
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return True
    if isinstance(statement, ast.Global | ast.Nonlocal | ast.Pass):
        return True
    return first and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _alone(statement: ast.stmt) -> ast.stmt:
    if isinstance(statement, ast.ClassDef):
        statement.body = _each_alone(statement.body)
    # Not what pytest ends a file by (`skip`, `importorskip`): these are no errors.
    caught = ast.ExceptHandler(type=ast.Attribute(value=_builtins(), attr="Exception"), name=None, body=[ast.Pass()])
    return ast.Try(body=[statement], handlers=[caught], orelse=[], finalbody=[])


def _builtins() -> ast.expr:
    return ast.parse("__import__('builtins')", mode="eval").body
