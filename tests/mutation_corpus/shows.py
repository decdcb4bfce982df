"""What is not tested, and what a reader is told of it:
waivers, arid code, lines that no test runs, equal mutants, limits.
"""

from __future__ import annotations

from tests.mutation_corpus.shape import CODE, FAIL, INCONCLUSIVE, NEUTRAL, PASS, Shape, change

_ONE = "from shop.code import small\n\n\ndef test_two():\n    assert small(2)\n"
_SMALL = "def small(x):\n    return x < 3\n"
_PRAGMA = "def small(x):\n    return x < 3  # pragma: no mutate -- three is never asked\n"
_BASE = "def small(x):\n    return True\n"


def _waiver(mutated: str, more: str = "") -> str:
    return (
        f'[[waiver]]\nfile = "{CODE}"\nqualname = "small"\noriginal = "x < 3"\nmutated = "{mutated}"\n'
        f'reason = "three is never asked"\n{more}\n'
    )


SHAPES = (
    Shape(
        name="waived-by-a-comment",
        trap="the comment is new in this change, and is shown",
        verdict=NEUTRAL,
        reason="nothing_to_mutate",
        tested=0,
        head=change(_PRAGMA, _ONE),
        states={2: "pragma"},
        findings=("waiver_new",),
    ),
    Shape(
        name="waived-by-a-comment-within-a-statement",
        trap="what is made of the whole statement is waived with its one line, and the other lines say so",
        verdict=FAIL,
        reason="survivors",
        tested=2,
        head=change(
            "def size(x):\n    return (\n        x,\n        x + 1,  # pragma: no mutate -- never asked\n        x * 2,\n    )\n",
            "from shop.code import size\n\n\ndef test_two():\n    size(2)\n",
        ),
        survivors=("5: x * 2 -> x * 3", "5: x * 2 -> x / 2"),
        states={2: "pragma", 3: "pragma", 4: "pragma", 5: "mutated", 6: "pragma"},
        findings=("waiver_new",),
    ),
    Shape(
        name="waived-without-a-reason",
        trap="a bare pragma waives nothing",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change("def small(x):\n    return x < 3  # pragma: no mutate\n", _ONE),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
        findings=("waiver_without_reason",),
    ),
    Shape(
        name="waived-by-the-file",
        trap="one of two survivors of a line is waived, the other is not",
        verdict=FAIL,
        reason="survivors",
        tested=2,
        base={".repro-gate/waivers.toml": _waiver("x <= 3"), **change(_BASE, _ONE)},
        head={CODE: _SMALL},
        survivors=("2: x < 3 -> x < 4",),
        untested={"waived": 1},
    ),
    Shape(
        name="waivers-of-the-same-change",
        trap="whoever adds a survivor adds its waiver: it counts, and is shown",
        verdict=PASS,
        reason="all_detected",
        tested=1,
        head={".repro-gate/waivers.toml": _waiver("x <= 3") + _waiver("x < 4"), **change(_SMALL, _ONE)},
        untested={"waived": 2},
        findings=("waiver_new",),
    ),
    Shape(
        name="waiver-that-has-expired",
        trap="its last day is over",
        verdict=FAIL,
        reason="survivors",
        tested=2,
        base={
            ".repro-gate/waivers.toml": _waiver("x <= 3", "expires = 2020-01-31")
            + _waiver("x < 4", "expires = 2999-12-31"),
            **change(_BASE, _ONE),
        },
        head={CODE: _SMALL},
        survivors=("2: x < 3 -> x <= 3",),
        untested={"waived": 1},
        findings=("waiver_expired",),
    ),
    Shape(
        name="more-waivers-than-allowed",
        trap="waiving is no way to green",
        verdict=FAIL,
        reason="too_many_waivers",
        tested=1,
        head={".repro-gate/waivers.toml": _waiver("x <= 3") + _waiver("x < 4"), **change(_SMALL, _ONE)},
        untested={"waived": 2},
        findings=("waiver_new",),
        settings={"max_waivers": 1},
    ),
    Shape(
        name="arid-code",
        trap="messages, logging, representations and type checking: nobody is to pin them by a test",
        verdict=PASS,
        reason="all_detected",
        tested=6,
        head=change(
            "import logging\nfrom typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from decimal import Decimal\n\nlog = logging.getLogger(__name__)\n\n\n"
            "class Box:\n    def __repr__(self):\n        return 'Box' + '()'\n\n    def fits(self, x):\n        log.debug('asked %d', x + 1)\n"
            "        if x < 0:\n            raise ValueError('negative: ' + str(x))\n        return True\n",
            "import pytest\nfrom shop.code import Box\n\n\ndef test_fits():\n    assert Box().fits(0) is True\n    repr(Box())\n    with pytest.raises(ValueError):\n        Box().fits(-1)\n",
        ),
        states={5: "arid", 12: "arid", 15: "arid", 16: "mutated", 17: "mutated"},
    ),
    Shape(
        name="lines-that-no-test-runs",
        trap="what nobody runs survives always: that is coverage's matter",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        head=change(_SMALL + "\n\ndef never(x):\n    return x > 5\n", _ONE + "    assert not small(3)\n"),
        untested={"not-covered": 3},
        states={2: "mutated", 5: "import-time", 6: "not-covered"},
    ),
    Shape(
        name="nothing-is-run-at-all",
        trap="no mutant is tested, and that is not green",
        verdict=NEUTRAL,
        reason="not_covered",
        tested=0,
        head=change(_SMALL, "def test_nothing():\n    pass\n"),
        states={2: "not-covered"},
        untested={"not-covered": 3},
    ),
    Shape(
        name="nothing-to-mutate",
        trap="no operator has anything to say",
        verdict=NEUTRAL,
        reason="nothing_to_mutate",
        tested=0,
        head=change(
            "class Empty:\n    pass\n\n\ndef nothing(x):\n    pass\n",
            "from shop.code import Empty, nothing\n\n\ndef test_nothing():\n    assert nothing(Empty()) is None\n",
        ),
    ),
    Shape(
        name="equal-mutants",
        trap="`round(x, )` and `round(x, None)` are written differently and may do the same",
        verdict=FAIL,
        reason="survivors",
        tested=6,
        head=change(
            "def cents(x):\n    return round(x, 2)\n",
            "from shop.code import cents\n\n\ndef test_cents():\n    assert cents(2.0) == 2\n",
        ),
        # A whole number is rounded, to itself: what is rounded and how far makes no difference.
        survivors=(
            "2: round(x, 2) -> round(2)",
            "2: round(x, 2) -> round(x, )",
            "2: round(x, 2) -> round(x, 3)",
            "2: round(x, 2) -> round(x, None)",
        ),
    ),
    Shape(
        name="equivalent-mutants",
        trap="no input tells them apart: they survive, and a person waives them",
        verdict=FAIL,
        reason="survivors",
        tested=4,
        head=change(
            "def larger(x, y):\n    if x > y:\n        return x\n    return y\n",
            "from shop.code import larger\n\n\ndef test_larger():\n    assert [larger(1, 2), larger(2, 1), larger(3, 3)] == [2, 2, 3]\n",
        ),
        survivors=("2: x > y -> x >= y",),
    ),
    Shape(
        name="survivors-on-more-lines-than-are-shown",
        trap="nine lines with survivors: seven are shown, all are counted",
        verdict=FAIL,
        reason="survivors",
        tested=25,
        head=change(
            "def cost(a, b, c):\n    x = a + 1\n    y = b + 1\n    z = c + 1\n    u = x + 1\n    v = y + 1\n    w = z + 1\n    p = u + v\n    q = p + w\n    return q > 0\n",
            "from shop.code import cost\n\n\ndef test_cost():\n    assert cost(9, 9, 9)\n",
        ),
        # That the cost is above zero is all that is asked.
        survivors=(
            "10: q > 0 -> q > 1",
            "10: q > 0 -> q >= 0",
            "2: a + 1 -> a + 2",
            "2: a + 1 -> a - 1",
            "3: b + 1 -> b + 2",
            "3: b + 1 -> b - 1",
            "4: c + 1 -> c + 2",
            "4: c + 1 -> c - 1",
            "5: x + 1 -> x + 2",
            "5: x + 1 -> x - 1",
            "6: y + 1 -> y + 2",
            "6: y + 1 -> y - 1",
            "7: z + 1 -> z + 2",
            "7: z + 1 -> z - 1",
            "8: u + v -> u - v",
            "9: p + w -> p - w",
        ),
    ),
    Shape(
        name="survivors-that-are-allowed",
        trap="as many as base's settings allow",
        verdict=PASS,
        reason="within_allowance",
        tested=3,
        head=change(_SMALL, _ONE),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
        settings={"allowed_survivors": 1},
    ),
    Shape(
        name="time-is-over",
        trap="not one mutant was tested: no answer, whatever the tests are like",
        verdict=INCONCLUSIVE,
        reason="budget",
        tested=0,
        head=change(_SMALL, _ONE),
        untested={"budget": 3},
        settings={"mutation_budget": 1e-9},
    ),
    Shape(
        name="file-that-does-not-parse",
        trap="a program of another Python beside the product",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        head=change(_SMALL, _ONE + "    assert not small(3)\n", **{"shop/old.py": "print 'x'\n"}),
        states={2: "mutated", "shop/old.py:1": "not-covered"},
    ),
    Shape(
        name="two-files-one-of-them-survives",
        trap="each file has controls of its own",
        verdict=FAIL,
        reason="survivors",
        tested=6,
        head=change(
            _SMALL,
            "from shop.code import small\nfrom shop.size import big\n\n\ndef test_both():\n    assert small(2)\n    assert not small(3)\n    assert big(9)\n",
            **{"shop/size.py": "def big(x):\n    return x > 5\n"},
        ),
        # Neither five nor six is asked of it.
        survivors=("shop/size.py:2: x > 5 -> x > 6", "shop/size.py:2: x > 5 -> x >= 5"),
    ),
    Shape(
        name="killed-by-a-test-of-base",
        trap="an old test notices, a new one does not even look",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        base=change(_BASE, _ONE),
        head={CODE: _SMALL, "tests/test_new.py": _ONE.replace("2", "3").replace("assert ", "assert not ")},
    ),
)
