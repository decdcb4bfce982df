"""Suites that deceive a runner of mutants: leaks, order, chance, parameters, ids, reports of other plugins."""

from __future__ import annotations

from tests.mutation_corpus.shape import CODE, FAIL, INCONCLUSIVE, PASS, PLACE, PROJECT, STRICT, TESTS, Shape, change

_SMALL = "def small(x):\n    return x < 3\n"
_BOTH = "from shop.code import small\n\n\ndef test_both():\n    assert small(2)\n    assert not small(3)\n"
_ONE = "from shop.code import small\n\n\ndef test_two():\n    assert small(2)\n"

SHAPES = (
    Shape(
        name="boundary-with-its-value",
        trap="none: the plain case, everything noticed",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        head=change(_SMALL, _BOTH),
        states={1: "import-time", 2: "mutated"},
    ),
    Shape(
        name="boundary-without-its-value",
        trap="none: the plain case, the boundary is asked of nobody",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(_SMALL, _ONE),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="plugin-that-leaks-a-file-per-test",
        trap="a plugin that leaks one file per test turns every test red under filterwarnings = error, on head as well",
        verdict=INCONCLUSIVE,
        reason="unmeasured",
        tested=0,
        head=change(
            _SMALL,
            _ONE,
            **{
                "pyproject.toml": STRICT,
                "tests/conftest.py": """\
                    import pytest


                    @pytest.fixture(autouse=True)
                    def leaks():
                        kept = open(__file__)
                        yield
                        kept.__class__  # dropped without being closed
                    """,
            },
        ),
        untested={"no-stable-test": 3},
    ),
    Shape(
        name="file-left-open-at-collection",
        trap="what imports leave as garbage is collected in the first test of a fork, and its warning is an error",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            _SMALL,
            "import gc\n\nfrom shop.code import small\n\n\n"
            "class Cycle:\n    def __init__(self):\n        self.me = self\n        self.file = open(__file__)\n\n\n"
            "gc.disable()\nCycle()\n\n\n"
            "def test_two():\n    assert small(2)\n    gc.enable()\n",
            **{"pyproject.toml": STRICT},
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="product-that-leaks-where-it-is-mutated",
        trap="the mutant itself leaks, and only then is the failure the tests' own",
        verdict=PASS,
        reason="all_detected",
        tested=5,
        head=change(
            "def first(path):\n    file = open(path)\n    text = file.readline()\n    file.close()\n    return text\n",
            "import gc\n\nfrom shop.code import first\n\n\n"
            "def test_first(tmp_path):\n    (tmp_path / 'a').write_text('x')\n    assert first(tmp_path / 'a') == 'x'\n    gc.collect()\n",
            **{"pyproject.toml": STRICT},
        ),
    ),
    Shape(
        name="parameters-changed-by-their-tests",
        trap="a second run in one process, with the test module cached, sees other parameters",
        verdict=FAIL,
        reason="survivors",
        tested=9,
        head=change(
            "def double(x):\n    return x * 2 if x > 0 else 0\n",
            "import pytest\nfrom shop.code import double\n\n\n"
            "@pytest.mark.parametrize('pair', [[1, 2], [2, 4]])\n"
            "def test_double(pair):\n    assert double(pair[0]) == pair[1]\n    pair[0] *= -1\n",
        ),
        # Zero itself is no parameter, and -1, which is one, is only asked for by a second run.
        survivors=(
            "2: x > 0 -> x >= 0",
            "2: x * 2 if x > 0 else 0 -> x * 2 if (x > 0) or True else 0",
            "2: return x * 2 if x > 0 else 0 -> return x * 2 if x > 0 else 1",
        ),
    ),
    Shape(
        name="ids-beyond-ascii-with-brackets",
        trap="escapes and inner brackets in one id: selected by name it is not found, and all mutants seem killed",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            _SMALL,
            "import pytest\nfrom shop.code import small\n\n\n"
            "@pytest.mark.parametrize('text', ['[μ]', 'a[1]::b', 'é'])\n"
            "def test_two(text):\n    assert small(2), text\n",
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="flaky-test-that-would-kill",
        trap="a test that fails one time in three by itself is no witness",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            _SMALL,
            _ONE
            + "\n\ndef test_sometimes():\n    import time\n    assert small(2) and time.perf_counter_ns() // 1000 % 2\n",
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
        unreliable=("test_sometimes",),
        gates=("flaky", "mutation"),
    ),
    Shape(
        name="fails-once-with-each-mutant",
        trap="a failure that does not come back the second time is no kill; that the mutant lives is not sure, either",
        verdict=INCONCLUSIVE,
        reason="unmeasured",
        tested=3,
        head=change(
            _SMALL,
            _ONE
            + "\n\ndef test_once():\n    from pathlib import Path\n\n"
            + "    seen = Path('"
            + PLACE
            + "') / f'{small(0)}{small(3.5)}'\n"
            + "    if small(3) and not seen.exists():\n        seen.touch()\n        assert False\n",
        ),
        inconclusive=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
        unreliable=("test_once",),
    ),
    Shape(
        name="fails-on-head-already",
        trap="a test that fails without any mutant fails with each",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(_SMALL, _ONE + "\n\ndef test_wrong():\n    assert small(9)\n"),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="order-dependent-test",
        trap="selected without the test before it, it fails whatever the code is",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            _SMALL,
            "from shop.code import small\n\nseen = []\n\n\n"
            "def test_before():\n    seen.append(2)\n\n\n"
            "def test_after():\n    assert small(seen[0])\n",
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="order-dependent-test-that-kills",
        trap="the only test that can notice it fails when it is selected alone",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        head=change(
            _SMALL,
            "from shop.code import small\n\nseen = []\n\n\n"
            "def test_before():\n    seen.extend([2, 3])\n\n\n"
            "def test_after():\n    assert small(seen[0])\n    assert not small(seen[1])\n",
        ),
    ),
    Shape(
        name="unittest-sub-tests",
        trap="the killed test is reported as passed, only its sub-test failed",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            _SMALL,
            "import unittest\nfrom shop.code import small\n\n\n"
            "class Sizes(unittest.TestCase):\n    def test_all(self):\n        for x in (1, 2):\n"
            "            with self.subTest(x=x):\n                self.assertTrue(small(x))\n",
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="doctests",
        trap="an example in a docstring is the only test, and it is inside of the mutated file",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head={
            CODE: 'def small(x):\n    """Little.\n\n    >>> small(2)\n    True\n    """\n    return x < 3\n',
            "pyproject.toml": PROJECT + '[tool.pytest.ini_options]\naddopts = "--doctest-modules"\n',
        },
        survivors=("7: x < 3 -> x <= 3", "7: x < 3 -> x < 4"),
    ),
    Shape(
        name="expected-failures-and-skips",
        trap="a test that may fail, or did not run, kills nothing",
        verdict=FAIL,
        reason="survivors",
        tested=3,
        head=change(
            _SMALL,
            "import pytest\nfrom shop.code import small\n\n\n"
            "@pytest.mark.xfail\ndef test_three():\n    assert small(3)\n\n\n"
            "@pytest.mark.xfail\ndef test_two_by_luck():\n    assert small(2)\n\n\n"
            "def test_one():\n    assert small(1)\n    if not small(2):\n        pytest.skip('too big')\n",
        ),
        survivors=("2: x < 3 -> x <= 3", "2: x < 3 -> x < 4"),
    ),
    Shape(
        name="tests-parametrised-by-the-product",
        trap="a mutant takes tests away and brings others: what pytest makes of those is the answer",
        verdict=FAIL,
        reason="survivors",
        tested=4,
        head=change(
            "SIZES = (1, 2)\n\n\ndef fits(x):\n    return x in SIZES\n",
            "import pytest\nfrom shop.code import SIZES, fits\n\n\n"
            "@pytest.mark.parametrize('size', SIZES)\ndef test_fits(size):\n    assert fits(size)\n",
        ),
        survivors=("1: (1, 2) -> (1, 3)", "1: (1, 2) -> (2, 2)"),
    ),
    Shape(
        name="state-kept-outside-of-the-tree",
        trap="a test that remembers between runs: only its first run ever fails",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        head=change(
            _SMALL,
            _BOTH
            + "\n\ndef test_remembers():\n    from pathlib import Path\n\n"
            + f"    seen = Path('{PLACE}') / 'seen'\n    seen.write_text('x')\n    assert small(0)\n",
        ),
    ),
    Shape(
        name="fixture-of-the-session",
        trap="the lines run in the setup of the first test, and only the second test looks at what came of them",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        base={
            CODE: "def small(x):\n    return False\n",
            "tests/conftest.py": "import pytest\nfrom shop.code import small\n\n\n"
            "@pytest.fixture(scope='session')\ndef sizes():\n    return [small(2), small(3)]\n",
            "tests/test_a.py": "def test_first(sizes):\n    assert len(sizes) == 2\n",
            "tests/test_b.py": "def test_second(sizes):\n    assert sizes[1] is False\n    assert sizes[0] in (True, False)\n",
            "tests/test_c.py": "def test_third(sizes):\n    assert sizes[0] is not None\n",
        },
        head={CODE: _SMALL, "tests/test_c.py": "def test_third(sizes):\n    assert sizes[0]\n"},
    ),
    Shape(
        name="cache-between-tests",
        trap="the second test looks at what the first one had computed, and runs no line of it",
        verdict=PASS,
        reason="all_detected",
        tested=3,
        base={
            CODE: "import functools\n\n\n@functools.cache\ndef small(x):\n    return x in (1, 2)\n",
            TESTS: "from shop.code import small\n\n\ndef test_first():\n    small(2), small(3)\n\n\n"
            "def test_second():\n    assert small(3) is False\n",
        },
        head={CODE: "import functools\n\n\n@functools.cache\ndef small(x):\n    return x < 3\n"},
    ),
)
