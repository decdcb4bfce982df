"""Reworded head: other text and bytecode, the same program, lines where they were."""

from __future__ import annotations

import ast
import dis
import inspect
from pathlib import Path
from typing import Any

import pytest

from repro_gate.gates.fail_to_pass.reword import reworded
from repro_gate.gates.fail_to_pass.symbols import parse

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


BASE = """\
import os


def total(prices, first=0):
    \"\"\"Doc.\"\"\"
    return round(os.fspath(prices[first + 1:]), 7)


class Till:
    def add(self, price):
        super().add(price)
        yield "sixpence"
"""


def test_what_base_said_is_there_too_and_never_runs() -> None:
    head = BASE.replace("round(os.fspath(prices[first + 1:]), 7)", "sum(prices)").replace(
        'yield "sixpence"', "return 3"
    )
    found = reworded(head, BASE)
    assert found is not None
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    exec(head, before)
    exec(found, after)
    one, other = before["total"], after["total"]
    assert one([1, 2]) == other([1, 2]) == 3
    assert "round(os.fspath(prices[first + 1:]), 7)" in found
    assert 7 not in one.__code__.co_consts
    assert 7 in other.__code__.co_consts
    assert {"round", "fspath"} <= set(other.__code__.co_names) - set(one.__code__.co_names)
    assert "sixpence" in str(after["Till"].add.__code__.co_consts)
    assert not after["Till"].add.__code__.co_flags & inspect.CO_GENERATOR


def test_what_base_did_is_in_the_bytecode_too_but_for_what_would_change_the_function() -> None:
    base = (
        "class Till:\n    def add(self, x):\n        y = {x: -x}\n        super().add(x[1:])\n"
        "        return [(z := x) for x in y] or (yield y < x)\n"
    )
    head = "class Till:\n    def add(self, x):\n        return x\n"
    found = reworded(head, base)
    assert found is not None
    space: dict[str, Any] = {}
    exec(found, space)
    add = space["Till"].add
    assert add(None, 3) == 3
    assert {each.opname for each in dis.get_instructions(add)} >= {"BUILD_MAP", "UNARY_NEGATIVE"}
    assert not add.__code__.co_flags & inspect.CO_GENERATOR
    assert (add.__code__.co_freevars, add.__code__.co_varnames) == ((), ("self", "x"))


def test_docstrings_that_base_has_not_are_the_same_and_not_in_the_text() -> None:
    base = '"""Shop."""\n\n\nclass Till:\n    """Old."""\n\n    def add(self): "Kept."\n'
    head = base.replace("Old.", "New\n    \N{EURO SIGN}.").replace("Shop.", "Shops.")
    found = reworded(head, base)
    assert found is not None
    kept, _, _ = found.partition("__name__ or")
    for part, said in (("Shops", False), ("New", False), ("Kept.", True)):
        assert (part in kept) is said
    space: dict[str, Any] = {"__name__": "shop"}
    own: dict[str, Any] = {"__name__": "shop"}  # from Python 3.13 on the compiler takes indents away
    exec(found, space)
    exec(head, own)
    assert (space["__doc__"], space["Till"].__doc__) == ("Shops.", own["Till"].__doc__)
    assert own["Till"].__doc__.split() == ["New", "\N{EURO SIGN}."]
    assert space["Till"].add.__code__.co_firstlineno == 8


def test_a_function_that_did_not_change_says_nothing_of_base() -> None:
    found = reworded(HEAD + "\n\nA = 1\n", HEAD)
    assert found is not None
    assert found.count("__name__ or") == 1  # the module's


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_whatever_base_says_the_result_is_python(path: Path) -> None:
    text = path.read_text()
    base = text.replace("return ", "return not ").replace("    if ", "    if not ").replace(" = ", " = 5 - ")
    found = reworded(text, base if parse(base) is not None else text + "A = 1\n")
    assert parse(found) is not None


def test_what_cannot_be_read_is_left_out() -> None:
    assert reworded(None) is None
    assert reworded("def (") is None
