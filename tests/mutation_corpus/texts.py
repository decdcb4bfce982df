"""How a file is written and how it got there: encodings, line ends, moved and unchanged code,
changes of tests alone.
"""

from __future__ import annotations

from tests.mutation_corpus.shape import CODE, FAIL, NEUTRAL, PASS, TESTS, Shape, change

_SMALL = "def small(x):\n    return x < 3\n"
_LONG = "def small(x):\n    limit = 3\n    return x < limit\n"
_ONE = "from shop.code import small\n\n\ndef test_two():\n    assert small(2)\n"
_BOTH = _ONE + "    assert not small(3)\n"
_GREET = "def greet(x):\n    if x > 1:\n        return 'é%d' % x\n    return 'ü'\n"
_GREETED = "from shop.code import greet\n\n\ndef test_greet():\n    assert greet(2) == '\\xe92'\n    assert greet(0) == '\\xfc'\n"
_PLUS, _TIMES = "x = x + 1000000000000000000000", "x = x * 2000000000000000000000"
_ANY_SIZE = "from shop.code import size\n\n\ndef test_size():\n    assert size(1) > 0\n"
_EVEN = "def divisible_without_rest(x):\n    return x % 2 == 0\n"

SHAPES = (
    Shape(
        name="carriage-returns",
        trap="CRLF: the file must keep its line ends, and places must fit",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(_SMALL.replace("\n", "\r\n").encode(), _ONE),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="carriage-returns-alone",
        trap="old line ends: git has one line, and Python counts the lines that are there",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        base={CODE: _SMALL.replace("\n", "\r").replace("3", "5").encode()},
        head=change(_SMALL.replace("\n", "\r").encode(), _ONE),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
        states={2: "mutated"},
    ),
    Shape(
        name="a-carriage-return-among-line-feeds",
        trap="git counts fewer lines than Python from there on",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        base={CODE: ("# one\r# two\n" + _SMALL.replace("3", "5")).encode()},
        head=change(("# one\r# two\n" + _SMALL).encode(), _ONE),
        survivors=("4: x < 3 -> x <= 3", "4: x < 3 -> x < 4"),
        states={4: "mutated"},
    ),
    Shape(
        name="latin-1",
        trap="the text must be read and written in the encoding that it declares",
        verdict=FAIL,
        reason="survivors",
        tested=10,
        head=change(("# coding: latin-1\n" + _GREET).encode("latin-1"), _GREETED),
        # One is greeted by nobody.
        survivors=("3: x > 1 -> x >= 1",),
    ),
    Shape(
        name="byte-order-mark",
        trap="a second mark makes the file unreadable, and then every mutant seems killed",
        verdict=FAIL,
        reason="survivors",
        tested=10,
        head=change(_GREET.encode("utf-8-sig"), _GREETED),
        # One is greeted by nobody.
        survivors=("2: x > 1 -> x >= 1",),
    ),
    Shape(
        name="no-newline-at-the-end",
        trap="the last line is a line",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(_SMALL.rstrip("\n"), _ONE),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="all-on-one-line",
        trap="one line with many mutants is one line to a reader",
        verdict=FAIL,
        reason="survivors",
        tested=6,
        head=change("def small(x): y = x + 1; return y < 4\n", _ONE),
        # Only two is asked.
        survivors=("1: x + 1 -> x - 1", "1: y < 4 -> y < 5", "1: y < 4 -> y <= 4"),
    ),
    Shape(
        name="tabs-and-form-feeds",
        trap="columns are not characters",
        verdict=FAIL,
        reason="survivors",
        tested=4,
        head=change(b"\x0c\ndef small(x):\n\tif x:\n\t\treturn x < 3\n\treturn True\n", _ONE),
        # Only two is asked, which is small whether or not it is compared.
        survivors=("3: x -> not (x)", "4: x < 3 -> x < 4", "4: x < 3 -> x <= 3"),
        untested={"not-covered": 1},
    ),
    Shape(
        name="moved-code",
        trap="code that moved as it was is no change of it",
        verdict=NEUTRAL,
        reason="nothing_to_mutate",
        tested=0,
        base=change(_LONG + "\n\n" + _EVEN, _ONE),
        head={CODE: _EVEN + "\n\n" + _LONG},
    ),
    Shape(
        name="lines-in-another-order",
        trap="the same two lines, and other behaviour: what moved within a function is new",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        base=change(f"def size(x):\n    {_PLUS}\n    {_TIMES}\n    return x\n", _ANY_SIZE),
        head={CODE: f"def size(x):\n    {_TIMES}\n    {_PLUS}\n    return x\n"},
        # Any number above zero is taken for the right one.
        survivors=(
            "3: x + 1000000000000000000000 -> x + 1000000000000000000001",
            "3: x + 1000000000000000000000 -> x - 1000000000000000000000",
        ),
    ),
    Shape(
        name="from-the-if-to-its-else",
        trap="a line with the same indentation, below another `else`",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        base=change(
            "def size(x):\n    if x > 9:\n        x = x + 5\n        x = x * 2\n    else:\n        x = x * 3\n    return x\n",
            "from shop.code import size\n\n\ndef test_size():\n    assert size(20) == 50\n    assert size(1) == 3\n",
        ),
        head=change(
            "def size(x):\n    if x > 9:\n        x = x * 2\n    else:\n        x = x + 5\n        x = x * 3\n    return x\n",
            "from shop.code import size\n\n\ndef test_size():\n    assert size(20) == 40\n    assert size(1) == 18\n",
        ),
    ),
    Shape(
        name="renamed-file",
        trap="a file that only has another name has no changed line",
        verdict=NEUTRAL,
        reason="nothing_to_mutate",
        tested=0,
        base=change(_SMALL, _ONE),
        head={CODE: None, "shop/size.py": _SMALL, TESTS: _ONE.replace("shop.code", "shop.size")},
    ),
    Shape(
        name="white-space-only",
        trap="other indentation, other blanks: nothing that any test could notice",
        verdict=NEUTRAL,
        reason="nothing_to_mutate",
        tested=0,
        base=change(_SMALL, _ONE),
        head={CODE: "def small(x):\n\n      return  x<3\n"},
        states={2: "no-operator", 3: "whitespace"},
    ),
    Shape(
        name="indentation-that-says-something",
        trap="not a letter of the line is other, and it runs where it did not: it has left the `if`",
        verdict=PASS,
        reason="all_detected",
        tested=4,
        base=change(
            "def size(x):\n    if x > 9:\n        x -= 1\n        x *= 2\n    return x\n",
            "from shop.code import size\n\n\ndef test_size():\n    assert size(20) == 38\n    size(1)\n",
        ),
        head={CODE: "def size(x):\n    if x > 9:\n        x -= 1\n    x *= 2\n    return x\n"},
        states={4: "mutated"},
    ),
    Shape(
        name="comments-only",
        trap="a changed comment beside code is a changed line",
        verdict=NEUTRAL,
        reason="nothing_to_mutate",
        tested=0,
        base=change(_SMALL, _ONE),
        head={CODE: "# sizes\ndef small(x):\n    return x < 3  # three is big\n"},
        states={3: "whitespace"},
    ),
    Shape(
        name="tests-only",
        trap="no line of the product changed",
        verdict=NEUTRAL,
        reason="nothing_to_mutate",
        tested=0,
        base=change(_SMALL, _ONE),
        head={TESTS: _BOTH},
    ),
    Shape(
        name="deleted-test",
        trap="the test that would kill is gone in this change",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        base=change("def small(x):\n    return x <= 2\n", _ONE + "\n\ndef test_three():\n    assert not small(3)\n"),
        head={CODE: _SMALL, TESTS: _ONE},
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="one-line-of-many",
        trap="mutants of unchanged lines are nobody's business",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        base=change("def big(x):\n    return x > 9\n\n\n" + _SMALL.replace("3", "5"), _ONE),
        head={CODE: "def big(x):\n    return x > 9\n\n\n" + _SMALL},
        survivors=("6: x < 3 -> x <= 3", "6: x < 3 -> x < 4"),
    ),
    Shape(
        name="renamed-and-changed",
        trap="of a renamed file only the changed line counts",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        base=change(
            "def big(x):\n    return x > 9\n\n\ndef huge(x):\n    return x > 99\n\n\n" + _SMALL.replace("3", "5"), _ONE
        ),
        head={
            CODE: None,
            "shop/size.py": "def big(x):\n    return x > 9\n\n\ndef huge(x):\n    return x > 99\n\n\n" + _SMALL,
            TESTS: _BOTH.replace("shop.code", "shop.size"),
        },
    ),
)
