"""Head described as base is: another docstring, other annotations and code objects, and the same program."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from repro_gate.gates.fail_to_pass.describe import Extent, described
from repro_gate.gates.fail_to_pass.symbols import parse

FILES = sorted((Path(__file__).parents[2] / "ci_gate" / "repro_gate" / "gates").rglob("*.py"))
BASE = '''\
"""Prizes."""


def total(prices, first: int):
    """Sum."""
    return sum(prices[1:])


class Till:
    """A till."""

    def add(self, price):
        return price
'''
HEAD = '''\
"""Prices."""
import functools


def total(prices: list, first: str) -> int:
    """Sum of all."""
    whole = sum(prices)
    return whole


class Till:
    """Keeps prices."""

    @classmethod
    def add(cls, price):
        """Add one."""
        return price

    @functools.cached_property
    def each(self):
        yield from ()

    async def later(self):
        """Wait."""


def new() -> None:
    """New."""
'''


def run(text: str | None) -> dict[str, Any]:
    assert text is not None
    space: dict[str, Any] = {"__name__": "shop"}
    exec(compile(text, "shop.py", "exec", dont_inherit=True), space)
    return space


def test_what_both_have_is_described_as_on_base_and_does_what_it_does_on_head() -> None:
    space = run(described(HEAD, BASE))
    total, till = space["total"], space["Till"]
    assert (space["__doc__"], total.__doc__, till.__doc__, till.add.__doc__) == ("Prizes.", "Sum.", "A till.", None)
    assert total.__annotations__ == {"first": int}
    assert "whole" not in total.__code__.co_varnames
    assert total([1, 2], "") == 3
    assert till.add(5) == 5
    assert list(till().each) == []
    assert inspect.iscoroutinefunction(till.later)
    assert list(inspect.signature(total).parameters) == ["prices", "first"]


def test_what_is_new_keeps_its_docstring() -> None:
    assert run(described(HEAD, BASE))["new"].__doc__ == "New."


def test_docstrings_alone_leave_the_rest() -> None:
    total = run(described(HEAD, BASE, Extent.DOCSTRINGS))["total"]
    assert total.__doc__ == "Sum."
    assert total.__annotations__ == {"prices": list, "first": str, "return": int}
    assert "whole" in total.__code__.co_varnames


@pytest.mark.parametrize(
    ("head", "base"), [(None, BASE), (HEAD, None), ("def (", BASE), (HEAD, "def ("), ("A = 1\n", "A = 2\n")]
)
def test_where_nothing_differs_or_cannot_be_read_there_is_none(head: str | None, base: str | None) -> None:
    assert described(head, base) is None


def test_the_same_docstrings_are_no_difference() -> None:
    assert described(BASE.replace("[1:]", ""), BASE, Extent.DOCSTRINGS) is None


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_whatever_base_says_the_result_is_python(path: Path) -> None:
    text = path.read_text()
    base = re.sub(r'"""(?=\w)', '"""Not: ', text).replace(") -> ", ") -> not ")
    assert parse(base) is not None
    found = described(text, base)
    assert found is not None
    assert ast.get_docstring(ast.parse(found)) == ast.get_docstring(ast.parse(base))
