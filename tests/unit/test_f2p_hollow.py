"""Hollow head: the right bodies are gone, every line keeps its number, and the result is Python."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.gates.fail_to_pass.hollow import Elsewhere, Filling, hollow


def emptied(head: str, *lines: int, filling: Filling = Filling.NOTHING, base: str | None = None) -> str:
    """The hollow source; each line outside of bodies is where it was."""
    text = hollow(head, lines or range(1, head.count("\n") + 2), filling, base)
    assert text is not None
    assert text.count("\n") == head.count("\n")
    return text


def loaded(head: str, *lines: int, filling: Filling = Filling.NOTHING, base: str | None = None) -> dict[str, Any]:
    space: dict[str, Any] = {"contextlib": contextlib}
    exec(emptied(head, *lines, filling=filling, base=base), space)
    return space


SHAPES = {
    "plain": "def f(x):\n    y = x + 1\n    return y\n",
    "one line": "def f(x): return x + 1\n",
    "one line, two statements": "def f(x): y = x; return y  # a comment\n",
    "docstring": 'def f(x):\n    """Kept.\n\n    Also kept.\n    """\n    return x\n',
    "docstring and body on one line": 'def f(x):\n    "Kept."; return x\n',
    "decorated": "import functools\n@functools.lru_cache(\n    maxsize=1,\n)\ndef f(x):\n    return x\n",
    "body begins decorated": "def f(x):\n    @staticmethod\n    def g():\n        return x\n    return g\n",
    "many lines in the header": "def f(\n    x,\n    *,\n    y=(\n        1\n    ),\n) -> int:\n    return (\n        x\n    )\n",
    "strings of many lines": 'def f(x):\n    z = """a\nb"""\n    return z\n',
    "wide letters": "def f(x):\n    ä = 'ü'; return 'ß' + ä\n",
    "windows lines": "def f(x):\r\n    y = x\r\n    return y\r\n",
    "form feed and a rare line end": "def g():\n    return '\u2028'\n\x0c\ndef f(x):\n    return x\n",
    "tabs": "def f(x):\n\tif x:\n\t\treturn x\n\treturn 2\n",
    "no newline at the end": "def f(x):\n    return x",
    "a body of comments": "def f(x):\n    # one\n    return x\n    # two\n",
    "a backslash": "def f(x):\n    return x + \\\n        1\n",
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("filling", Filling)
def test_a_function_of_any_shape_becomes_hollow(shape: str, filling: Filling) -> None:
    f = loaded(SHAPES[shape], filling=filling)["f"]
    if filling is Filling.ABSORB:
        assert f(5).anything.goes(1)
    else:
        assert f(5) is None


def test_the_docstring_and_the_lines_around_stay() -> None:
    head = "A = 1\n\n\ndef f():\n    '''Kept.'''\n    x = 1\n    y = 2\n    return x + y\n\n\nB = 2\n"
    lines = emptied(head).split("\n")
    before = head.split("\n")
    assert lines[:5] == before[:5]
    assert lines[9:] == before[9:]
    assert loaded(head)["f"].__doc__ == "Kept."


def test_only_functions_on_changed_lines_are_emptied() -> None:
    head = "def f():\n    return 1\n\n\ndef g():\n    return 2\n"
    space = loaded(head, 6)
    assert (space["f"](), space["g"]()) == (1, None)
    assert hollow(head, [3], Filling.NOTHING) is None
    assert hollow("A = 1\n", [1], Filling.NOTHING) is None
    assert hollow("def f(:\n", [1], Filling.NOTHING) is None


def test_a_decorator_is_no_body() -> None:
    head = "def d(g): return g\n@d\ndef f():\n    return 1\n"
    assert hollow(head, [2], Filling.NOTHING) is None


def test_a_nested_function_goes_with_the_outer_one() -> None:
    head = "def f():\n    def inner():\n        return 1\n    return inner\n"
    assert loaded(head, 3, 4)["f"]() is None
    methods = "class C:\n    def m(self):\n        return 1\n    def n(self):\n        return 2\n"
    space = loaded(methods, 5)
    assert (space["C"]().m(), space["C"]().n()) == (1, None)


def test_what_has_no_body_is_left_alone() -> None:
    head = (
        "from typing import overload\n@overload\ndef f(x: int) -> int: ...\n@overload\n"
        "def f(x: str) -> str:\n    'Doc.'\n    ...\ndef f(x):\n    return x\n"
    )
    text = emptied(head)
    assert text.split("\n")[:7] == head.split("\n")[:7]
    assert hollow("def f():\n    ...\n", [1, 2], Filling.NOTHING) is None


def test_properties_class_methods_and_constructors() -> None:
    head = (
        "class C:\n    def __init__(self):\n        self.x = 1\n    @property\n    def p(self):\n        return 1\n"
        "    @classmethod\n    def c(cls):\n        return 1\n    @staticmethod\n    def s():\n        return 1\n"
    )
    made = loaded(head)["C"]()
    assert (made.p, made.c(), made.s(), hasattr(made, "x")) == (None, None, None, False)
    loaded(head, filling=Filling.ABSORB)["C"]()  # a constructor must return None


def test_coroutines_and_generators_stay_what_they_are() -> None:
    head = (
        "async def co(x):\n    await x\n    return 1\n"
        "def gen(x):\n    for i in x:\n        yield i\n"
        "async def agen(x):\n    yield x\n    return\n"
        "def outer():\n    return [(yield_) for yield_ in (1,)]\n"
    )
    space = loaded(head)
    assert asyncio.run(space["co"](1)) is None
    assert list(space["gen"]([1, 2])) == []
    assert inspect.isasyncgenfunction(space["agen"])
    assert space["outer"]() is None
    for filling in Filling:
        again = loaded(head, filling=filling)
        assert inspect.isgeneratorfunction(again["gen"])
        assert inspect.isasyncgenfunction(again["agen"])
        assert inspect.iscoroutinefunction(again["co"])


def test_a_context_manager_can_still_be_entered() -> None:
    head = "@contextlib.contextmanager\ndef f():\n    try:\n        yield 5\n    finally:\n        pass\n"
    with loaded(head)["f"]() as value:
        assert value is None


def test_a_changed_function_gets_the_body_of_base() -> None:
    base = "def f(x):\n    # old\n    return x\n"
    head = "def f(x, y=1):\n    '''New.'''\n    z = x + y\n    return z\n"
    space = loaded(head, filling=Filling.BASE, base=base)
    assert space["f"](3, y=5) == 3
    assert space["f"].__doc__ == "New."


def test_a_body_of_base_that_has_no_room_is_replaced_by_nothing() -> None:
    base = "def f(x):\n    if x:\n        x += 1\n    return x\n"
    assert loaded("def f(x):\n    return x + 1\n", filling=Filling.BASE, base=base)["f"](1) is None
    assert loaded("def f(x): return 2\n", filling=Filling.BASE, base="def f(x):\n    return 1\n")["f"](1) == 1


def test_a_new_function_has_no_body_of_base() -> None:
    assert loaded("def g(x):\n    return x\n", filling=Filling.BASE, base="def f(x):\n    return 1\n")["g"](1) is None


BODIES = st.sampled_from(
    ["return 1", "x = 1; return x", "if a:\n    return 1\nelse:\n    return 2", "yield 1", "'''doc'''", "pass"]
)


def _indented(text: str, depth: int) -> Iterator[str]:
    for line in text.split("\n"):
        yield "    " * depth + line


@st.composite
def modules(draw: st.DrawFn) -> str:
    lines: list[str] = []
    for number in range(draw(st.integers(1, 4))):
        depth = draw(st.integers(0, 1))
        if depth:
            lines.append(f"class C{number}:")
        prefix = draw(st.sampled_from(["", "async "]))
        lines.extend(_indented(f"{prefix}def f{number}(a=None):", depth))
        if draw(st.booleans()):
            lines.extend(_indented('"""Doc.\n\nMore."""', depth + 1))
        for body in draw(st.lists(BODIES, min_size=1, max_size=3)):
            if "yield" in body and prefix:
                body = "pass"
            lines.extend(_indented(body, depth + 1))
        lines.extend([""] * draw(st.integers(0, 2)))
    return "\n".join(lines) + "\n"


def _outline(text: str) -> list[tuple[str, int, int]]:
    return [
        (node.name, node.lineno, len(node.decorator_list))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


@settings(max_examples=100, deadline=None)
@given(modules(), st.sampled_from(Filling))
def test_hollowing_keeps_names_and_line_numbers(head: str, filling: Filling) -> None:
    text = hollow(head, range(1, head.count("\n") + 2), filling, head)
    if text is not None:
        assert text.count("\n") == head.count("\n")
        assert _outline(text) == _outline(head)


MOVED = "def total(prices):\n    found = 0\n    for price in prices:\n        found += price\n    return found\n"
NEW_HOME = MOVED.replace("in prices", "in prices or ()")


@pytest.mark.parametrize(
    ("head", "called"),
    [(NEW_HOME, "total"), (NEW_HOME.replace("def total", "def sum_of"), "sum_of")],
    ids=["moved", "moved and renamed"],
)
def test_a_function_that_was_moved_and_mended_has_the_body_that_base_has_elsewhere(head: str, called: str) -> None:
    elsewhere = Elsewhere.of([(MOVED, None), (None, head)])
    text = hollow(head, range(1, 9), Filling.BASE, None, elsewhere)
    assert text is not None
    space: dict[str, Any] = {}
    exec(text, space)
    assert space[called]([1, 2]) == 3
    with pytest.raises(TypeError, match="not iterable"):
        space[called](None)


def test_a_function_that_is_like_none_of_bases_is_new() -> None:
    head = "def mean(prices):\n    return sum(prices) / len(prices)\n"
    elsewhere = Elsewhere.of([(MOVED, None), (None, head)])
    text = hollow(head, range(1, 9), Filling.BASE, None, elsewhere)
    assert text is not None
    assert "return None" in text


def test_only_what_head_no_longer_has_can_have_been_renamed() -> None:
    head = MOVED + NEW_HOME.replace("def total", "def sum_of")
    elsewhere = Elsewhere.of([(MOVED, head)])
    assert (set(elsewhere.named), dict(elsewhere.gone)) == ({"total"}, {})
    text = hollow(head, range(6, 12), Filling.BASE, MOVED, elsewhere)
    assert text is not None
    assert text.count("return None") == 1


def test_what_takes_any_use_is_neither_less_nor_more_than_anything() -> None:
    found = loaded("def f(x):\n    return x\n", filling=Filling.ABSORB)["f"](1)
    assert [found < 1, found <= 1, found > 1, found >= 1] == [False] * 4
    assert found.anything(2)[3].else_
