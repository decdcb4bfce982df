"""Which lines can change what a program does."""

from __future__ import annotations

import ast
import random
from pathlib import Path

import pytest

import repro_gate
from repro_gate.change.lines import executable_lines, statements

SOURCE = b'''\
"""Module
docstring."""

# comment
import os  # with a comment

X = {
    # inside
    "a": 1,

    "b": 2,
}


@property
def f(
    a,
    b=1,
):
    """Doc."""
    "another string"
    global Y
    if a:
        return """text

with lines"""
    elif b: return 2
    else:
        try:
            pass
        except (ValueError,
                KeyError):
            x = 1; y = 2
    z: int
    ...


class C:
    """Doc."""

    attribute: int = 1
'''


def test_comments_docstrings_blank_lines_and_declarations_are_not_executable() -> None:
    assert sorted(executable_lines(SOURCE)) == [
        5, 7, 9, 11, 12, 15, 16, 17, 18, 19, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 35, 38, 41,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (9, {7, 9, 11, 12}),
        (15, {15, 16, 17, 18, 19}),
        (18, {15, 16, 17, 18, 19}),
        (23, {23}),
        (28, {27, 28}),
        (25, {24, 25, 26}),
        (27, {27}),
        (29, {29}),
        (32, {31, 32}),
        (33, {33}),
    ],
)
def test_a_line_belongs_to_its_innermost_statement(line: int, lines: set[int]) -> None:
    assert statements(SOURCE)[line] == lines


def test_what_the_interpreter_reports_is_always_among_them() -> None:
    for path in random.Random(1).sample(sorted(Path(repro_gate.__file__).parent.rglob("*.py")), 25):
        source = path.read_bytes()
        pending = [compile(source, "x", "exec", dont_inherit=True, optimize=0)]
        reported: set[int] = set()
        while pending:
            code = pending.pop()
            reported |= {line for _, _, line in code.co_lines() if line}
            pending += [constant for constant in code.co_consts if hasattr(constant, "co_lines")]
        docstrings = {
            number
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            for number in range(node.lineno, (node.end_lineno or 0) + 1)
        }
        missing = reported - docstrings - executable_lines(source)
        assert not missing, (path, missing)


@pytest.mark.parametrize(
    "source", [b"print 'old'\n# c\n\nx = 1\n", b"\0a\n# c\n\nx = 1\n", b"# coding: nothing\n# c\n\nx = 1\n"]
)
def test_what_cannot_be_parsed_has_a_statement_per_line(source: bytes) -> None:
    lines = {number for number in (1, 4) if not source.split(b"\n")[number - 1].startswith(b"#")}
    assert statements(source) == {number: frozenset({number}) for number in lines}


@pytest.mark.parametrize("source", [b"", b"# only\n", b'"""doc"""\n', b"\n\n"])
def test_a_source_that_does_nothing_has_no_executable_line(source: bytes) -> None:
    assert executable_lines(source) == frozenset()


def test_an_odd_escape_is_no_warning_of_ours_and_line_ends_do_not_matter() -> None:
    assert executable_lines(b"x = '\\d'\r\n# c\r\ny = 1\r\n") == {1, 3}


def test_whose_a_name_is_holds_from_the_first_statement_that_runs() -> None:
    source = b"def f():\n    '''doc'''\n    global x, \\\n        y\n    x = 1\n\ndef g():\n    global x\n"
    found = statements(source)
    assert {line: found[line] for line in (3, 4, 5)} == dict.fromkeys((3, 4, 5), frozenset({5}))
    assert 8 not in found
