"""Reworded head: other text and bytecode, the same program, lines where they were."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from repro_gate.gates.fail_to_pass.reword import reworded

HERE = Path(__file__).parents[2]
FILES = sorted((HERE / "ci_gate" / "repro_gate" / "gates").rglob("*.py"))
HEAD = '''\
# Sums.
import os


def total(prices, first=0):  # of all
    """Doc."""
    return sum(prices[first:])


def several(prices):
    for price in prices:
        yield f"{price!r:>{3}} €"


def one(): return 1
'''


class _WithoutInert(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Name) and node.value.id == "__name__" else node


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_the_same_program(path: Path) -> None:
    text = path.read_text()
    found = reworded(text)
    assert found is not None
    assert ast.dump(_WithoutInert().visit(ast.parse(found))) == ast.dump(ast.parse(text))


def test_text_and_bytecode_differ_and_what_it_does_does_not() -> None:
    found = reworded(HEAD)
    assert found is not None
    for part in ("sum(prices", "of all", "prices[first:]", "return sum"):
        assert part in HEAD
        assert part not in found
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    exec(HEAD, before)
    exec(found, after)
    for name, arguments in (("total", [[1, 2]]), ("one", [])):
        one, other = before[name], after[name]
        assert one(*arguments) == other(*arguments)
        assert one.__code__.co_code != other.__code__.co_code
        assert one.__doc__ == other.__doc__
        assert one.__code__.co_firstlineno <= other.__code__.co_firstlineno <= one.__code__.co_firstlineno + 1


def test_what_cannot_be_read_is_left_out() -> None:
    assert reworded(None) is None
    assert reworded("def (") is None
