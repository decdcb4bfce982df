"""Code that is only moved: whole definitions in another order or file, and nothing that another place makes other."""

from __future__ import annotations

import difflib
import types
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from repro_gate.gates.coverage import ChangedFile, compare, regrouped

Text = str | None
Pairs = Sequence[tuple[str, Text, Text]]


def changed(name: str, base: Text, head: Text, apart: Sequence[bool] = ()) -> ChangedFile:
    """A file of package `pkg`; `apart` takes runs of equal lines for changed ones, as a diff of another tool may."""
    old, new = (base or "").split("\n"), (head or "").split("\n")
    removed, added = set[int](), set[int]()
    for place, (tag, a, b, c, d) in enumerate(difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()):
        if tag != "equal" or (place < len(apart) and apart[place]):
            removed.update(range(a + 1, b + 1))
            added.update(range(c + 1, d + 1))
    return ChangedFile(
        path=f"pkg/{name}.py",
        module=f"pkg.{name}",
        base_path=f"pkg/{name}.py",
        base=base,
        head=head,
        removed=frozenset(removed) if base is not None else frozenset(),
        added=frozenset(added) if head is not None else frozenset(),
    )


def told(files: Sequence[ChangedFile]) -> set[tuple[str, str]]:
    """The lines of code that are new, by file."""
    files = regrouped(files)
    same = compare(files)
    found = set()
    for file in files:
        texts = (file.head or "").split("\n")
        for line in file.added:
            if texts[line - 1].strip() and same.origin(file.path, line) is None:
                found.add((file.path[4:-3], texts[line - 1].strip()))
    return found


def new(pairs: Pairs) -> set[tuple[str, str]]:
    return told([changed(*each) for each in pairs])


def of_one(base: str, head: str) -> set[str]:
    return {text for _, text in new([("m", base, head)])}


PLUS, TIMES = "x = x + 1000000000000000000000", "x = x * 2000000000000000000000"


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (f"def f(x):\n    {PLUS}\n    {TIMES}\n    return x\n", f"def f(x):\n    {TIMES}\n    {PLUS}\n    return x\n"),
        (f"x = 1\n{PLUS}\n{TIMES}\n", f"x = 1\n{TIMES}\n{PLUS}\n"),
        (
            f"def f(x):\n    if x:\n        a()\n        {PLUS}\n    else:\n        b()\n    return x\n",
            f"def f(x):\n    if x:\n        a()\n    else:\n        {PLUS}\n        b()\n    return x\n",
        ),
        (
            f"def f(x):\n    for a in x:\n        b(a)\n        {PLUS}\n    return x\n",
            f"def f(x):\n    {PLUS}\n    for a in x:\n        b(a)\n    return x\n",
        ),
        (
            f"def f(x):\n    {PLUS}\n    with lock:\n        a()\n    return x\n",
            f"def f(x):\n    with lock:\n        {PLUS}\n        a()\n    return x\n",
        ),
        (
            f"def f(x):\n    try:\n        a()\n        {PLUS}\n    finally:\n        b()\n",
            f"def f(x):\n    try:\n        a()\n    finally:\n        {PLUS}\n        b()\n",
        ),
        (
            f"def f(x):\n    {PLUS}\n    return x\n\n\ndef g(x):\n    a()\n    return x\n",
            f"def f(x):\n    return x\n\n\ndef g(x):\n    {PLUS}\n    a()\n    return x\n",
        ),
    ],
)
def test_a_line_that_moved_within_code_is_other_code(base: str, head: str) -> None:
    found = of_one(base, head)
    assert found & {PLUS, TIMES}, found


@pytest.mark.parametrize(
    ("base", "head", "said"),
    [
        # Of what git shows here, only a header moved that nothing measures.
        ("if x:\n    a()\n    b()\nelse:\n    c()\n", "if x:\n    a()\nelse:\n    b()\n    c()\n", "b()"),
        ("for a in x:\n    a()\nb()\n", "for a in x:\n    a()\nelse:\n    b()\n", "b()"),
        ("try:\n    a()\n    b()\nfinally:\n    c()\n", "try:\n    a()\nfinally:\n    b()\n    c()\n", "b()"),
        ("if x:\n    a()\n", "a()\n", "a()"),
        ("def f():\n  if x:\n    a()\n    b()\n", "def f():\n    if x:\n        a()\n    b()\n", "b()"),
        ("def f():\n    a()\n    b()\n", "def f():\n    a()\n\n\ndef g():\n    b()\n", "b()"),
    ],
)
def test_a_line_whose_block_is_another_one_is_told(base: str, head: str, said: str) -> None:
    assert said in of_one(base, head)


F, G = "def f(x):\n    return x + 1\n", "def g(x):\n    return x * 2\n"


@pytest.mark.parametrize(
    ("base", "head"),
    [
        (F + G, G + F),
        (f"class A:\n    {F.replace('  r', '      r')}\n    {G.replace('  r', '      r')}", ""),
        ("import a\nimport b\n" + F, "import b\nimport a\n" + F),
        ("LIMIT = 3\n" + F, F + "LIMIT = 3\n"),
        ("class A(Exception):\n    pass\nclass B(A):\n    pass\n" + F, "class A(Exception):\n    pass\n" + F + "class B(A):\n    pass\n"),
        ("import functools\n@functools.cache\n" + F + "@functools.cache\n" + G, "import functools\n@functools.cache\n" + G + "@functools.cache\n" + F),
        ("@register\n" + F + G, G + "@register\n" + F),
    ],
)  # fmt: skip
def test_definitions_in_another_order_are_the_same_code(base: str, head: str) -> None:
    if not head:
        methods = base.split("\n    ", 1)[1]
        one, other = methods.split("\n\n    ")
        head = f"class A:\n    {other.rstrip()}\n\n    {one}\n"
    assert of_one(base, head) == set()


@pytest.mark.parametrize(
    ("base", "head"),
    [
        # The last one counts.
        (F + F.replace("1", "2"), F.replace("1", "2") + F),
        # What decorates them may keep them in order, as may what they are made from.
        ("@register\n" + F + "@register\n" + G, "@register\n" + G + "@register\n" + F),
        ("class A(Base):\n    a = 1\nclass B(Base):\n    b = 1\n", "class B(Base):\n    b = 1\nclass A(Base):\n    a = 1\n"),
        # It is read as the function is made.
        ("n = 1\nn = n + 1\ndef f(x=n):\n    return x\n", "n = 1\ndef f(x=n):\n    return x\nn = n + 1\n"),
        ("n = 1\ndef f(x=n):\n    return x\nn = 2\n", "n = 1\nn = 2\ndef f(x=n):\n    return x\n"),
        ("def print(x):\n    pass\nprint(1)\n", "print(1)\ndef print(x):\n    pass\n"),
        ("DEBUG = 1\nset_up()\n", "set_up()\nDEBUG = 1\n"),
        ("patch()\nimport a\n", "import a\npatch()\n"),
        # Fields of a class are in order.
        ("class A(NamedTuple):\n    a: int\n    b: str\n", "class A(NamedTuple):\n    b: str\n    a: int\n"),
    ],
)  # fmt: skip
def test_an_order_that_can_matter_is_a_change(base: str, head: str) -> None:
    assert of_one(base, head)


USER = "def f(x):\n    return helper(x) + LIMIT\n"
HELPER = "def helper(x):\n    return x\n"


@pytest.mark.parametrize(
    "pairs",
    [
        [("a", F + G, G), ("b", None, F)],
        [("a", F + G, "from pkg.b import f\n" + G), ("b", "from .a import f\n", F)],
        [("a", "LIMIT = 3\n" + HELPER + USER, "LIMIT = 3\n" + HELPER), ("b", None, "from .a import LIMIT, helper\n" + USER)],
        [("a", "LIMIT = 3\n" + HELPER + USER, None), ("b", None, HELPER + USER + "LIMIT = 3\n")],
        [("a", "class C(Base):\n    def f(self):\n        return 1\nfrom pkg.base import Base\n", None), ("b", "from .base import Base\n", "from .base import Base\nclass C(Base):\n    def f(self):\n        return 1\n")],
    ],
)  # fmt: skip
def test_a_definition_that_went_to_another_file_is_the_same_code(pairs: Pairs) -> None:
    assert {text for _, text in new(pairs)} <= {
        "from pkg.b import f",
        "from .a import LIMIT, helper",
    }


@pytest.mark.parametrize(
    "pairs",
    [
        # Two of one name changed places between files.
        [("a", F, F.replace("1", "2")), ("b", F.replace("1", "2"), F)],
        # A name in it is another thing there.
        [("a", "LIMIT = 3\n" + HELPER + USER, "LIMIT = 3\n" + HELPER), ("b", "LIMIT = 4\n" + HELPER, "LIMIT = 4\n" + HELPER + USER)],
        [("a", "from x import helper\nLIMIT = 3\n" + USER, ""), ("b", "from y import helper\nLIMIT = 3\n", "from y import helper\nLIMIT = 3\n" + USER)],
        [("a", F, ""), ("b", "from x import *\n", "from x import *\n" + F)],
        [("a", "def f():\n    return __name__\n", ""), ("b", "", "def f():\n    return __name__\n")],
        [("a", "def f():\n    from .x import y\n    return y\n", ""), ("b", "", "def f():\n    from .x import y\n    return y\n")],
        # It was called, or registered, as its file was imported.
        [("a", "@register\n" + F, ""), ("b", "", "@register\n" + F)],
        # It is still there, too: the other one is a copy.
        [("a", F + G, G + F), ("b", None, F)],
        # From one class to another.
        [("a", "class A:\n    def f(self):\n        return 1\nclass B(A):\n    def g(self):\n        return 2\n", "class A:\n    pass\nclass B(A):\n    def g(self):\n        return 2\n    def f(self):\n        return 1\n")],
    ],
)  # fmt: skip
def test_a_definition_that_may_be_another_one_elsewhere_is_a_change(pairs: Pairs) -> None:
    assert any("return" in text for _, text in new(pairs))


def test_of_a_class_that_was_edited_on_its_way_the_other_methods_are_the_same() -> None:
    text = "class C:\n    def f(self):\n        return 1\n    def g(self):\n        return 2\n"
    assert new([("a", text, ""), ("b", None, text.replace("2", "3"))]) == {
        ("b", "class C:"),
        ("b", "def g(self):"),
        ("b", "return 3"),
    }


# -- laws ------------------------------------------------------------------------------------------

Tree = list[object]
_LEAVES = st.sampled_from(["x = x + 1", "x = x * 3", "x = x - y", "y = y + x", "log.append(x)", "y = 2"])


@st.composite
def statements(draw: st.DrawFn, depth: int) -> object:
    """A leaf, or a header with bodies: [header, body, header, body...]."""
    if depth == 0 or draw(st.integers(0, 2)):
        return draw(_LEAVES)
    headers = draw(
        st.sampled_from(
            [("if x > 4:", "else:"), ("if y > x:",), ("for _ in range(2):",), ("with noted():",), ("try:", "finally:")]
        )
    )
    whole: Tree = []
    for header in headers:
        whole += [header, draw(st.lists(statements(depth - 1), min_size=1, max_size=3))]
    return whole


@st.composite
def modules(draw: st.DrawFn) -> Tree:
    """A module with two functions, a class, and statements between them."""

    def function(name: str) -> Tree:
        body: Tree = draw(st.lists(statements(2), min_size=1, max_size=4))
        return [f"def {name}(x, y):", [*body, "return x, y"]]

    units: Tree = [function("f"), function("g"), ["class C:", [function("f"), function("h")]]]
    units += draw(st.lists(st.sampled_from(["x = x + 1", "y = x", "log.append(y)", "z = 3"]), max_size=3))
    return list(draw(st.permutations(units)))


def lists_of(tree: Tree) -> list[Tree]:
    """Every body in a tree, the whole one first."""
    found = [tree]
    for each in tree:
        if isinstance(each, list):
            for part in each[1::2]:
                found += lists_of(part)
    return found


def text_of(tree: Tree, depth: int = 0) -> str:
    lines = ""
    for each in tree:
        if isinstance(each, str):
            lines += "    " * depth + each + "\n"
        else:
            assert isinstance(each, list)
            for header, body in zip(each[::2], each[1::2], strict=True):
                lines += "    " * depth + f"{header}\n" + text_of(body, depth + 1)
    return lines


def copied(tree: Tree) -> Tree:
    return [copied(each) if isinstance(each, list) else each for each in tree]


class _Noted:
    def __init__(self, log: list[object]) -> None:
        self.log = log

    def __enter__(self) -> None:
        self.log.append("in")

    def __exit__(self, *_: object) -> None:
        self.log.append("out")


def behaviour(text: str) -> object:
    """What a module leaves behind as it is imported, and what its functions give; None if it cannot be imported."""
    log: list[object] = []
    module = types.ModuleType("m")
    names = vars(module)
    names |= {"x": 1, "y": 2, "log": log, "noted": lambda: _Noted(log)}
    try:
        exec(text, names)
    except (NameError, SyntaxError):
        return None
    seen: list[object] = [names["x"], names["y"], names.get("z"), list(log)]
    for function in ("f", "g"):
        for x in (0, 3, 7):
            log.clear()
            given = names[function](x, 4) if function in names else None
            seen.append((given, list(log)))
    for method in ("f", "h"):
        log.clear()
        inside = vars(names["C"]).get(method) if "C" in names else None
        seen.append((inside and inside(3, 4), list(log)))
    return seen


@settings(deadline=None, max_examples=150)
@given(modules(), st.data())
def test_a_program_that_moves_alone_have_changed_and_of_which_nothing_is_new_does_the_same(
    tree: Tree, data: st.DataObject
) -> None:
    before, after = text_of(tree), copied(tree)
    for _ in range(data.draw(st.integers(1, 2))):
        bodies = lists_of(after)
        source = data.draw(st.sampled_from([body for body in bodies if len(body) > 1]))
        unit = source.pop(data.draw(st.integers(0, len(source) - 1)))
        places = lists_of(after)
        target = data.draw(st.sampled_from(places))
        target.insert(data.draw(st.integers(0, len(target))), unit)
    head = text_of(after)
    assume(head != before)
    was, now = behaviour(before), behaviour(head)
    assume(was is not None and now is not None and was != now)
    apart = data.draw(st.lists(st.booleans(), max_size=12))
    assert told([changed("m", before, head, apart)]) - {("m", "else:"), ("m", "finally:")}


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(statements(2), min_size=1, max_size=4), min_size=2, max_size=5), st.data())
def test_functions_and_classes_in_any_order_are_the_same_code(bodies: list[Tree], data: st.DataObject) -> None:
    units = [[f"def f{number}(x, y):", body] for number, body in enumerate(bodies)]
    tree: Tree = [*units[2:], ["class C:", units[:2]]]
    shuffled = [["class C:", data.draw(st.permutations(units[:2]))], *units[2:]]
    head: Tree = list(data.draw(st.permutations(shuffled)))
    apart = data.draw(st.lists(st.booleans(), max_size=12))
    assert told([changed("m", text_of(tree), text_of(head), apart)]) == set()


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(statements(2), min_size=1, max_size=4), min_size=2, max_size=5), st.data())
def test_functions_that_went_to_another_file_are_the_same_code(bodies: list[Tree], data: st.DataObject) -> None:
    units: Tree = [[f"def f{number}(x, y):", body] for number, body in enumerate(bodies)]
    going = data.draw(st.sets(st.sampled_from(range(len(units))), min_size=1))
    rest = [unit for number, unit in enumerate(units) if number not in going]
    gone: Tree = list(data.draw(st.permutations([units[number] for number in going])))
    both = "import os\nfrom contextlib import nullcontext as noted\nlog = []\n"
    there = "import os\nfrom contextlib import nullcontext as noted\nfrom pkg.a import log\n"
    files = [changed("a", both + text_of(units), both + text_of(rest)), changed("b", there, there + text_of(gone))]
    assert told(files) == set()
