"""What of a change is the same code as before: in Python white space says which block a line is in."""

from __future__ import annotations

import ast
import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.gates.coverage.sameness import ChangedFile, Same, compare


def compared(base: str, head: str) -> tuple[ChangedFile, Same]:
    """Both texts, and what is the same in them; what differs is what a diff by lines says."""
    removed: set[int] = set()
    added: set[int] = set()
    pairs = base.split("\n"), head.split("\n")
    for tag, a, b, c, d in difflib.SequenceMatcher(None, *pairs, autojunk=False).get_opcodes():
        if tag != "equal":
            removed.update(range(a + 1, b + 1))
            added.update(range(c + 1, d + 1))
    file = ChangedFile(
        path="m.py",
        module="m",
        base_path="m.py",
        base=base,
        head=head,
        removed=frozenset(removed),
        added=frozenset(added),
    )
    return file, compare([file])


def new_lines(base: str, head: str) -> set[int]:
    """The added lines that are no code of base."""
    file, same = compared(base, head)
    return {line for line in file.added if same.origin("m.py", line) is None}


LONG = "total_of_all_items = total_of_all_items + 1"


@pytest.mark.parametrize(
    ("base", "head", "new"),
    [
        ("if x:\n    y()\n    z()\n", "if x:\n    y()\nz()\n", {3}),
        (f"if x:\n    y()\n    {LONG}\n", f"if x:\n    y()\n{LONG}\n", {3}),
        ("if x:\n    y()\nz()\n", "if x:\n    y()\n    z()\n", {3}),
        ("for a in b:\n    if x:\n        y()\n        z()\n", "for a in b:\n    if x:\n        y()\n    z()\n", {4}),
        ("for a in b:\n    p()\n    if x:\n        y()\n", "for a in b:\n    p()\nif x:\n    y()\n", {3, 4}),
        # The block's own header is changed, and tells it.
        ("y()\nz()\n", "if x:\n    y()\n    z()\n", {1}),
        ("if x:\n    y()\n    z()\n", "with x:\n        y()\n        z()\n", {1}),
        ("if x:\n  y()\n  z()\n", "if x:\n    y()\n    z()\n", set()),
    ],
)
def test_a_line_that_leaves_its_block_is_other_code(base: str, head: str, new: set[int]) -> None:
    assert new_lines(base, head) == new


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("f(x, {'a': 1})\n", 'f(\n    x,\n    {"a": 1},\n)\n'),
        ("if (x and\n        y):\n    z()\n", "if x and y:\n    z()\n"),
        ("x = ('a'\n     'b')\n", "x = 'ab'\n"),
    ],
)
def test_what_a_formatter_writes_otherwise_is_the_same_code(base: str, head: str) -> None:
    assert new_lines(base, head) == set()


@pytest.mark.parametrize(
    ("base", "head"), [("x = (1)\n", "x = (1,)\n"), ("x[1]\n", "x[1,]\n"), ("x = 'a'\n", "x = b'a'\n")]
)
def test_what_is_written_almost_alike_is_not(base: str, head: str) -> None:
    assert new_lines(base, head) == {1}


def test_a_function_that_moved_with_another_shape_is_not_the_same() -> None:
    block = f"def first(items):\n    if items:\n        {LONG}\n        second()\n"
    flat = f"def first(items):\n    if items:\n        {LONG}\n    second()\n"
    middle = "def b():\n    c()\n    d()\n    e()\n    g()\n"
    assert new_lines(block + middle, middle + block) == set()
    assert new_lines(block + middle, middle + flat) == {6, 7, 8, 9}


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Short lines, indented at random; not all are valid."""
    depths = draw(st.lists(st.integers(0, 3), min_size=1, max_size=8))
    heads = st.sampled_from(["if x:", "for y in x:", "a()", "b()", "c(d)"])
    return "".join("    " * depth + draw(heads) + "\n" for depth in depths)


@settings(deadline=None, max_examples=300)
@given(programs(), st.data())
def test_a_file_of_which_nothing_is_new_and_nothing_gone_is_the_same_program(base: str, data: st.DataObject) -> None:
    lines = base.splitlines()
    moved = data.draw(st.lists(st.integers(-2, 2), min_size=len(lines), max_size=len(lines)))
    shifted = [
        " " * max(0, len(line) - len(line.lstrip()) + 4 * by) + line.lstrip()
        for line, by in zip(lines, moved, strict=True)
    ]
    head = "\n".join(shifted) + "\n"
    try:
        trees = [ast.dump(ast.parse(text)) for text in (base, head)]
    except SyntaxError:
        return
    file, same = compared(base, head)
    origins = same.origins["m.py"]
    if file.added and all(line in origins and not origins[line].moved for line in file.added):
        headers = {line for line in file.added if lines[line - 1].lstrip().startswith(("if", "for"))}
        assert headers or trees[0] == trees[1]
