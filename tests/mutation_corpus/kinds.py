"""Kinds of code: decorated, async, generators, dataclasses, enums, nested classes, closures, match, walrus."""

from __future__ import annotations

from tests.mutation_corpus.shape import FAIL, PASS, Shape, change

SHAPES = (
    Shape(
        name="lru-cache",
        trap="a cache filled at import answers in place of the mutant",
        verdict=FAIL,
        reason="survivors",
        tested=4,
        head=change(
            "import functools\n\n\n@functools.lru_cache\ndef double(x):\n    return x * 2\n",
            "from shop.code import double\n\nWARM = double(3)\n\n\ndef test_cached():\n    assert double(3) == 6\n\n\n"
            "def test_other():\n    assert double(0) == 0\n",
        ),
        # That it is cached at all is asked of nobody.
        survivors=("4: @functools.lru_cache -> ",),
    ),
    Shape(
        name="properties",
        trap="the function is held by a property, its setter by another",
        verdict=FAIL,
        reason="survivors",
        tested=10,
        head=change(
            "class Box:\n    def __init__(self):\n        self._size = 1\n\n    @property\n    def size(self):\n        return self._size + 1\n\n"
            "    @size.setter\n    def size(self, value):\n        if value < 0:\n            raise ValueError\n        self._size = value\n",
            "import pytest\nfrom shop.code import Box\n\n\ndef test_size():\n    box = Box()\n    assert box.size == 2\n"
            "    box.size = 4\n    assert box.size == 5\n    with pytest.raises(ValueError):\n        box.size = -1\n",
        ),
        # Zero is neither set nor refused.
        survivors=("11: value < 0 -> value < 1", "11: value < 0 -> value <= 0"),
    ),
    Shape(
        name="registry-of-commands",
        trap="functions that only a table holds, as click and flask have them",
        verdict=PASS,
        reason="all_detected",
        tested=9,
        head=change(
            "COMMANDS = {}\n\n\ndef command(name):\n    def note(function):\n        COMMANDS[name] = function\n        return None\n\n    return note\n\n\n"
            "@command('add')\ndef _(x, y):\n    return x + y\n",
            "from shop.code import COMMANDS\n\n\ndef test_add():\n    assert COMMANDS['add'](2, 3) == 5\n",
        ),
    ),
    Shape(
        name="context-manager",
        trap="a generator behind a decorator that runs it in two parts",
        verdict=PASS,
        reason="all_detected",
        tested=8,
        head=change(
            "import contextlib\n\n\n@contextlib.contextmanager\ndef noted(into):\n    into.append(1)\n    try:\n        yield into\n    finally:\n        into.append(2)\n",
            "import pytest\nfrom shop.code import noted\n\n\ndef test_noted():\n    found = []\n    with noted(found) as same:\n        assert same == [1]\n"
            "    assert found == [1, 2]\n\n\ndef test_raises():\n    found = []\n    with pytest.raises(KeyError), noted(found):\n        raise KeyError\n    assert found == [1, 2]\n",
        ),
    ),
    Shape(
        name="wrapped-with-functools",
        trap="the wrapper and the wrapped have one name",
        verdict=FAIL,
        reason="survivors",
        tested=11,
        head=change(
            "import functools\n\n\ndef twice(function):\n    @functools.wraps(function)\n    def wrapper(x):\n        return function(x) * 2\n\n    return wrapper\n\n\n"
            "@twice\ndef plus(x):\n    return x + 1\n",
            "from shop.code import plus\n\n\ndef test_plus():\n    assert plus(2) == 6\n",
        ),
        # Names of wrappers are looked at by nobody.
        survivors=("5: @functools.wraps(function) -> ", "5: functools.wraps(function) -> functools.wraps(None)"),
    ),
    Shape(
        name="static-and-class-methods",
        trap="functions behind descriptors",
        verdict=PASS,
        reason="all_detected",
        tested=4,
        head=change(
            "class Box:\n    @staticmethod\n    def area(x, y):\n        return x * y\n\n    @classmethod\n    def make(cls, n):\n        return [cls() for _ in range(n)]\n",
            "from shop.code import Box\n\n\ndef test_area():\n    assert Box.area(2, 2) == 4\n\n\ndef test_make():\n    assert len(Box.make(2)) == 2\n",
        ),
    ),
    Shape(
        name="coroutines",
        trap="an async function, an async generator and an async with",
        verdict=PASS,
        reason="all_detected",
        tested=9,
        head=change(
            "async def count(n):\n    for x in range(n):\n        yield x\n\n\n"
            "async def total(n):\n    found = 0\n    async for x in count(n):\n        found += x\n    return found\n",
            "import asyncio\nfrom shop.code import total\n\n\ndef test_total():\n    assert asyncio.run(total(4)) == 6\n",
        ),
    ),
    Shape(
        name="generators",
        trap="code of a generator runs when it is advanced, perhaps never",
        verdict=FAIL,
        reason="survivors",
        tested=7,
        head=change(
            "def evens(n):\n    for x in range(n):\n        if x % 2 == 0:\n            yield x\n    return n\n",
            "from shop.code import evens\n\n\ndef test_evens():\n    assert list(evens(5)) == [0, 2, 4]\n",
        ),
        # A value that a generator returns is lost in list().
        survivors=("5: return n -> return None",),
    ),
    Shape(
        name="dataclass",
        trap="fields are class bodies, methods are made by the decorator",
        verdict=FAIL,
        reason="survivors",
        tested=13,
        head=change(
            "from dataclasses import dataclass, field\n\n\n@dataclass(frozen=True)\nclass Box:\n    size: int = 3\n    names: list = field(default_factory=list)\n\n"
            "    def __post_init__(self):\n        if self.size < 0:\n            raise ValueError\n\n    def fits(self, x):\n        return x < self.size\n",
            "import pytest\nfrom shop.code import Box\n\n\ndef test_box():\n    assert Box().fits(2)\n    assert not Box(1).fits(1)\n    assert Box().names == []\n\n\n"
            "def test_negative():\n    with pytest.raises(ValueError):\n        Box(-1)\n",
        ),
        # Nobody changes a field, builds an empty box, or asks the usual one for three.
        survivors=(
            "10: self.size < 0 -> self.size < 1",
            "10: self.size < 0 -> self.size <= 0",
            "4: dataclass(frozen=True) -> dataclass(frozen=False)",
            "4: dataclass(frozen=True) -> dataclass(frozen=None)",
            "6: size: int = 3 -> size: int = 4",
        ),
    ),
    Shape(
        name="enum",
        trap="members are made once, by the class's body",
        verdict=PASS,
        reason="all_detected",
        tested=8,
        head=change(
            "import enum\n\n\nclass Size(enum.Enum):\n    SMALL = 1\n    BIG = 2\n\n    def more(self):\n        return Size(self.value + 1)\n",
            "from shop.code import Size\n\n\ndef test_more():\n    assert Size.SMALL.more() is Size.BIG\n",
        ),
    ),
    Shape(
        name="nested-classes",
        trap="methods two classes deep, and a class within a function",
        verdict=FAIL,
        reason="survivors",
        tested=7,
        head=change(
            "class Outer:\n    class Inner:\n        def fits(self, x):\n            return x < 3\n\n\n"
            "def make():\n    class Local:\n        def fits(self, x):\n            return x > 5\n\n    return Local()\n",
            "from shop.code import Outer, make\n\n\ndef test_inner():\n    assert Outer.Inner().fits(2)\n    assert not Outer.Inner().fits(3)\n\n\n"
            "def test_local():\n    assert make().fits(7)\n    assert not make().fits(5)\n",
        ),
        # Six is asked of nobody.
        survivors=("10: x > 5 -> x > 6",),
    ),
    Shape(
        name="closures-made-at-import",
        trap="inner functions that exist already, with cells of their own",
        verdict=PASS,
        reason="all_detected",
        tested=8,
        head=change(
            "def adder(n):\n    def add(x):\n        return x + n\n\n    return add\n\n\nADD2, ADD0 = adder(2), adder(0)\n",
            "from shop.code import ADD0, ADD2\n\n\ndef test_add():\n    assert ADD2(3) == 5\n    assert ADD0(0) == 0\n",
        ),
    ),
    Shape(
        name="lambdas",
        trap="functions without a name, at module level and within another",
        verdict=FAIL,
        reason="survivors",
        tested=10,
        head=change(
            "KEY = lambda pair: pair[1]\n\n\ndef ordered(pairs):\n    return sorted(pairs, key=lambda pair: pair[0])\n",
            "from shop.code import KEY, ordered\n\n\ndef test_key():\n    assert KEY((1, 2)) == 2\n\n\ndef test_ordered():\n    assert ordered([(2, 1), (1, 2)]) == [(1, 2), (2, 1)]\n",
        ),
        # Pairs sort by their first element anyhow.
        survivors=(
            "5: sorted(pairs, key=lambda pair: pair[0]) -> sorted(pairs, )",
            "5: sorted(pairs, key=lambda pair: pair[0]) -> sorted(pairs, key=None)",
        ),
    ),
    Shape(
        name="match-statement",
        trap="cases are removed, patterns are no expressions",
        verdict=FAIL,
        reason="survivors",
        tested=13,
        head=change(
            "def kind(x):\n    match x:\n        case [first, *rest]:\n            return first\n        case {'a': value}:\n            return value\n        case str():\n            return 'text'\n"
            "        case _:\n            return 'other'\n",
            "from shop.code import kind\n\n\ndef test_kind():\n    assert kind([1, 2]) == 1\n    assert kind({'a': 3}) == 3\n    assert kind('x') == 'text'\n    assert kind(5)\n",
        ),
        # What is said of others is only asked to be something.
        survivors=("10: return 'other' -> return 'OTHER'", "10: return 'other' -> return 'XXotherXX'"),
    ),
    Shape(
        name="walrus",
        trap="an assignment within a condition",
        verdict=FAIL,
        reason="survivors",
        tested=6,
        head=change(
            "def long(text):\n    if (n := len(text)) > 3:\n        return n\n    return 0\n",
            "from shop.code import long\n\n\ndef test_long():\n    assert long('abcd') == 4\n    assert long('ab') == 0\n",
        ),
        # No text of three letters is asked.
        survivors=("2: (n := len(text)) > 3 -> (n := len(text)) >= 3",),
    ),
    Shape(
        name="multi-line-statements",
        trap="the interpreter reports some lines of a long statement only",
        verdict=FAIL,
        reason="survivors",
        tested=21,
        head=change(
            "def price(count, each, *, tax=0):\n    return round(\n        count\n        * each\n        + tax,\n        2,\n    )\n\n\n"
            "def ask(x):\n    if (\n        x > 1\n        and x < 9\n    ):\n        return 'in'\n    return 'out'\n",
            "from shop.code import ask, price\n\n\ndef test_price():\n    assert price(2, 3) == 6\n\n\ndef test_ask():\n    assert ask(5) == 'in'\n    assert ask(0) == 'out'\n    assert ask(9) == 'out'\n",
        ),
        # There is no tax, nothing to round, and neither one nor two is asked.
        survivors=(
            "12: x > 1 -> x > 2",
            "12: x > 1 -> x >= 1",
            "4: * each + tax -> * each - tax",
            "6: 2 -> ",
            "6: 2 -> 3",
            "6: 2 -> None",
        ),
    ),
    Shape(
        name="comprehensions",
        trap="code of their own in some versions of Python, and not in others",
        verdict=FAIL,
        reason="survivors",
        tested=8,
        head=change(
            "def odd(numbers):\n    return [x for x in numbers if x % 2]\n\n\ndef by_name(pairs):\n    return {name: size for name, size in pairs if size > 0}\n",
            "from shop.code import by_name, odd\n\n\ndef test_odd():\n    assert odd([1, 2, 3]) == [1, 3]\n\n\ndef test_by_name():\n    assert by_name([('a', 2), ('b', -1)]) == {'a': 2}\n",
        ),
        # Neither zero nor one is a size that is asked.
        survivors=("6: size > 0 -> size > 1", "6: size > 0 -> size >= 0"),
    ),
    Shape(
        name="exception-handling",
        trap="a swallowed exception, a bare raise, an else and a finally",
        verdict=PASS,
        reason="all_detected",
        tested=16,
        head=change(
            "def number(text, into):\n    try:\n        value = int(text)\n    except ValueError:\n        into.append('bad')\n        raise\n    else:\n        into.append('good')\n    finally:\n        into.append('end')\n    return value\n",
            "import pytest\nfrom shop.code import number\n\n\ndef test_good():\n    found = []\n    assert number('3', found) == 3\n    assert found[0] == 'good'\n\n\n"
            "def test_bad():\n    found = []\n    with pytest.raises(ValueError):\n        number('x', found)\n    assert found == ['bad', 'end']\n",
        ),
    ),
)
