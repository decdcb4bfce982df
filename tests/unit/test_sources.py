"""Syntax compared without its layout, and which names it reads."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate_pytest import sources

NAMES = st.sampled_from(["alpha", "beta", "gamma"])
LITERALS = st.one_of(
    st.integers(-99, 99), st.booleans(), st.none(), st.text("ab'\"\\\n", max_size=4), st.floats(allow_nan=False),
    st.binary(max_size=3),
).map(repr)  # fmt: skip
EXPRESSIONS = st.recursive(
    NAMES | LITERALS,
    lambda inner: st.one_of(
        st.builds("({} + {})".format, inner, inner),
        st.builds("{}({}, key={})".format, NAMES, inner, inner),
        st.builds("[{}, {}]".format, inner, inner),
        st.builds("{{{}: {}}}".format, LITERALS, inner),
        st.builds("(lambda alpha: {})".format, inner),
        st.builds("[{} for beta in {}]".format, inner, inner),
        st.builds("{}.attr".format, NAMES),
    ),
    max_leaves=6,
)
STATEMENTS = st.one_of(
    st.builds("{} = {}".format, NAMES, EXPRESSIONS),
    st.builds("assert {}".format, EXPRESSIONS),
    st.builds("if {}:\n    {} = {}".format, EXPRESSIONS, NAMES, EXPRESSIONS),
    st.builds("def {}(x={}):\n    return {}".format, NAMES, EXPRESSIONS, EXPRESSIONS),
)
MODULES = st.lists(STATEMENTS, min_size=1, max_size=4).map("\n".join)


def digest(text: str) -> str:
    return sources.digest(ast.parse(text).body)


@given(MODULES, st.lists(st.sampled_from(["", "# why", "   ", "\t# \N{SNOWMAN}"]), max_size=5))
def test_comments_blank_lines_and_layout_do_not_matter(text: str, between: list[str]) -> None:
    filler = "\n".join(between)
    spread = "\n".join(f"{filler}\n{line}  # here" if not line.startswith(" ") else line for line in text.split("\n"))
    assert digest(spread) == digest(text)
    assert digest(ast.unparse(ast.parse(text))) == digest(text)


class _Change(ast.NodeTransformer):
    """Changes the one constant or name that it is told by its number."""

    def __init__(self, number: int) -> None:
        self.left = number
        self.changed = False

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.Constant, ast.Name)):
            if self.left == 0:
                self.changed = True
                if isinstance(node, ast.Name):
                    return ast.Name(id=node.id + "_", ctx=node.ctx)
                return ast.Constant(value=f"another {node.value!r}")
            self.left -= 1
        return self.generic_visit(node)


@given(MODULES, st.integers(0, 12))
def test_any_other_constant_or_name_matters(text: str, number: int) -> None:
    change = _Change(number)
    changed = change.visit(ast.parse(text))
    assert (sources.digest(changed.body) != digest(text)) is change.changed


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = True"),
        ("x = 1", "x = 1.0"),
        ("x = 0.0", "x = -0.0"),
        ("x = 'a'", "x = b'a'"),
        ("x = None", "x = 'None'"),
        ("x = ...", "x = None"),
        ("def f(a, /): pass", "def f(a): pass"),
        ("def f(*, a): pass", "def f(a): pass"),
        ("async def f(): pass", "def f(): pass"),
        ("f(a, *b)", "f(*a, b)"),
        ("x = a < b", "x = a <= b"),
        ("x = [a]; y = b", "x = [a, b]"),
        ("return_ = {}", "return_ = {**a}"),
        ("from a import b", "from .a import b"),
    ],
)
def test_what_means_something_else_is_something_else(one: str, other: str) -> None:
    assert digest(one) != digest(other)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = a + b.c.d + e().f", {("a",), ("b", "c", "d"), ("e",)}),
        ("def f(a, b=c): return a + d", {("c",), ("d",)}),
        ("def f():\n    a = 1\n    return a.b", set()),
        ("def f():\n    global a\n    a = 1\n    return a", {("a",)}),
        ("[x for x in y if z]", {("y",), ("z",)}),
        ("lambda x, *y, **z: x(y, z, w)", {("w",)}),
        ("@deco(a)\ndef f(x: T) -> R: pass", {("deco",), ("a",), ("T",), ("R",)}),
        ("class C(B, metaclass=M):\n    x = y\n    def m(self): return z", {("B",), ("M",), ("y",), ("z",)}),
        ("def f():\n    def g(): return a\n    a = 1\n    return g", set()),
        ("try: pass\nexcept E as e: print(e)", {("E",), ("print",), ("e",)}),
        ("def f():\n    try: pass\n    except E as e: g(e)", {("E",), ("g",)}),
        ("def f():\n    import a\n    return a.b", set()),
        ("(a := b)", {("b",)}),
        ("f'{a}'", {("a",)}),
        ("x[a].b = c", {("x",), ("a",), ("c",)}),
    ],
)
def test_the_names_that_code_reads(text: str, names: set[tuple[str, ...]]) -> None:
    assert sources.reads(ast.parse(text).body) == names


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("pytest.mark.parametrize('a', [1, 'x', (2.5, None)])", True),
        ("pytest.mark.parametrize('a', [pytest.param(1, marks=pytest.mark.slow, id='x')], ids=['b'])", True),
        ("mark.parametrize('a', [-1, {1: {2}}])", True),
        ("pytest.mark.parametrize('a', CASES)", False),
        ("pytest.mark.parametrize('a', [lambda: 1])", False),
        ("pytest.mark.parametrize('a', [f'{1}'])", False),
        ("pytest.mark.parametrize('a', [n for n in (1, 2)])", False),
        ("pytest.mark.parametrize('a', [1], ids=str)", False),
        ("pytest.mark.skipif('1')", False),
        ("parametrize('a', [1])", False),
    ],
)
def test_parameters_that_say_everything_themselves(text: str, plain: bool) -> None:
    assert sources.plain_parameters(ast.parse(text, mode="eval").body) is plain


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("import os", False),
        ("x = 1", False),
        ("'words'", False),
        ("def f(): g()", False),
        ("if TYPE_CHECKING:\n    import a", False),
        ("try:\n    import a\nexcept ImportError:\n    a = None", False),
        ("os.environ['x'] = '1'", True),
        ("a.b = 1", True),
        ("f()", True),
        ("for x in y: f(x)", True),
        ("if a:\n    f()", True),
        ("try:\n    import a\nexcept ImportError:\n    f()", True),
    ],
)
def test_statements_that_do_more_than_bind_names(text: str, acts: bool) -> None:
    assert bool(sources.Source("x.py", text.encode()).effects()) is acts


def test_a_file_knows_what_binds_each_name() -> None:
    source = sources.Source(
        "x.py",
        b"""
import a.b, c as d
from .e import f as g
from h import *
i = j, k = 1, 2
if i:
    def l(): pass
else:
    l = None
for m in (): pass
with n as o: pass
try: pass
except P as p: import q
class R:
    def s(self):
        def t(): pass
""",
    )
    assert set(source.bindings) == {*"ijklmoR"}
    assert len(source.bindings["l"]) == 2
    assert source.imports == {"a": (0, "a", ""), "d": (0, "c", ""), "g": (1, "e", "f"), "q": (0, "q", "")}
    assert source.stars == [(0, "h")]
    assert {name for name, _ in source.functions} == {"l", "s", "t"}
    assert set(source.classes) == {"R"}
