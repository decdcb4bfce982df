"""Changes whose tests are no proof: they look at something else, fail on head, or say nothing."""

from __future__ import annotations

from tests.corpus.shape import (
    ALL,
    BROKEN,
    FAIL,
    FIXED,
    INCONCLUSIVE,
    NEUTRAL,
    NEW,
    OLD,
    PRICE,
    TESTS,
    Rigour,
    Shape,
    fix,
    node,
    with_tests,
)

_ZERO = "def test_zero():\n    assert total([0, 2]) == 2\n"
_MARKED = "import pytest\n\n\n"
_EXTENSION = {
    "setup.py": 'from setuptools import Extension, setup\n\nsetup(ext_modules=[Extension("shop._fast", ["fast.c"])])\n',
    "fast.c": "/* not built here */\n",
}
_COMPILED = "from shop._fast import add\n\n\n"
_LATE = "def test_nothing():\n    from shop._fast import add\n\n    assert add(0, 0) == 0\n\n\n"
_LATE_TOO = "def test_all():\n    from shop._fast import add\n\n    assert add(1, 2) == 3\n"

SHAPES = (
    Shape(
        name="test-of-a-fix-passes-on-base",
        row="2",
        verdict=FAIL,
        reason="passes_on_base",
        head=fix(_ZERO),
        refused={node("test_zero"): "passes_on_base"},
    ),
    Shape(
        name="test-of-no-fix-passes-on-base",
        row="2",
        verdict=NEUTRAL,
        reason="passes_on_base",
        title="Round prices later",
        head=fix(_ZERO),
        refused={node("test_zero"): "passes_on_base"},
    ),
    Shape(
        name="base-does-not-import-here",
        row="6",
        verdict=INCONCLUSIVE,
        reason="base_broken",
        base={PRICE: "from collections import Mapping\n\n\ndef total(prices):\n    return sum(prices)\n"},
        head={
            PRICE: "from collections.abc import Mapping\n\n\ndef total(prices):\n    return sum(prices)\n",
            **with_tests(NEW),
        },
    ),
    Shape(
        name="old-tests-fail-on-base",
        row="6",
        verdict=INCONCLUSIVE,
        reason="base_broken",
        base=with_tests("def test_old():\n    assert total([1]) == 1\n"),
        head=fix("def test_old():\n    assert total([1]) == 1\n\n\n" + NEW),
    ),
    Shape(
        name="fails-on-head",
        row="7",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix("def test_all():\n    assert total([1, 2]) == 4\n"),
        refused={ALL: "fails_on_head"},
    ),
    Shape(
        name="fails-for-another-reason-on-head",
        row="8",
        verdict=FAIL,
        reason="fails_on_head",
        head={PRICE: "def total(prices):\n    return sum(prices) + (1 // 0 if prices else 0)\n", **with_tests(NEW)},
        refused={ALL: "fails_on_head"},
    ),
    Shape(
        name="misspelt-name",
        row="9",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix("def test_all():\n    from shop import price\n    assert price.totla([1, 2]) == 3\n"),
        refused={ALL: "fails_on_head"},
    ),
    Shape(
        name="misspelt-import",
        row="9",
        verdict=FAIL,
        reason="fails_on_head",
        head={PRICE: FIXED, "tests/test_more.py": "from shop.price import totla\n" + NEW},
        refused={"tests/test_more.py": "fails_on_head"},
    ),
    Shape(
        name="old-test-breaks",
        row="25",
        verdict=FAIL,
        reason="fails_on_head",
        title="refactor: totals",
        base=with_tests("def test_two():\n    assert total([0, 2]) == 2\n"),
        head={
            PRICE: "def total(prices):\n    return sum(prices[2:])\n",
            "tests/test_more.py": "def test_it():\n    pass\n",
        },
        refused={"tests/test_more.py::test_it": "passes_on_base", node("test_two"): "fails_on_head"},
    ),
    Shape(
        name="expected-to-fail",
        row="10",
        verdict=FAIL,
        reason="xfail",
        head=fix(_MARKED + "@pytest.mark.xfail\ndef test_all():\n    assert total([1, 2]) == 4\n"),
        refused={ALL: "xfail"},
    ),
    Shape(
        name="expected-to-fail-and-passes",
        row="10",
        verdict=FAIL,
        reason="xpass",
        head=fix(_MARKED + "@pytest.mark.xfail\n" + NEW),
        refused={ALL: "xpass"},
    ),
    Shape(
        name="skipped-on-head",
        row="11",
        verdict=FAIL,
        reason="skipped_on_head",
        head=fix(_MARKED + "@pytest.mark.skip(reason='later')\n" + NEW),
        refused={ALL: "skipped_on_head"},
    ),
    Shape(
        name="skipped-on-base-alone",
        row="11",
        verdict=FAIL,
        reason="not_run",
        head=fix(
            _MARKED + "@pytest.mark.skipif(total([1]) == 0, reason='old')\n" + NEW,
        ),
        refused={ALL: "not_run"},
    ),
    Shape(
        name="reads-the-source",
        row="19",
        verdict=FAIL,
        reason="does_not_exercise",
        head=fix("import inspect\n\n\ndef test_source():\n    assert 'sum(prices)' in inspect.getsource(total)\n"),
        refused={node("test_source"): "does_not_exercise"},
    ),
    Shape(
        name="reads-the-file",
        row="19",
        verdict=FAIL,
        reason="does_not_exercise",
        head=fix(
            "import pathlib\n\n\ndef test_source():\n"
            "    text = (pathlib.Path(__file__).parents[1] / 'shop' / 'price.py').read_text()\n"
            "    assert 'sum(prices)' in text\n"
        ),
        refused={node("test_source"): "does_not_exercise"},
    ),
    Shape(
        name="calls-the-change-and-reads-its-text",
        row="19",
        verdict=FAIL,
        reason="does_not_exercise",
        head=fix(
            """\
            import hashlib
            import inspect
            import os
            import pathlib
            import re

            from shop import price

            ONCE = inspect.getsource(total)


            def test_source():
                total([1])
                assert "sum(prices)" in inspect.getsource(total)

            def test_source_in_any_spacing():
                total([1])
                assert re.search(r"sum\\s*\\(\\s*prices\\s*\\)", pathlib.Path(price.__file__).read_text())

            def test_source_at_import():
                total([1])
                assert "sum(prices)" in ONCE

            def test_bytecode():
                total([1])
                assert hashlib.md5(total.__code__.co_code).hexdigest() == FIXED

            def test_size():
                total([1])
                assert os.path.getsize(price.__file__) == 42


            def _fixed():
                return compile("def total(prices):\\n    return sum(prices)\\n", "x", "exec").co_consts[0].co_code


            FIXED = hashlib.md5(_fixed()).hexdigest()
            """
        ),
        refused=dict.fromkeys(
            map(
                node,
                ("test_source", "test_source_in_any_spacing", "test_source_at_import", "test_bytecode", "test_size"),
            ),
            "does_not_exercise",
        ),
    ),
    Shape(
        name="version-string",
        row="19",
        verdict=FAIL,
        reason="does_not_exercise",
        base={"shop/__init__.py": '__version__ = "1.0"\n'},
        head=fix(
            "def test_version():\n    import shop\n    assert shop.__version__ == '1.1'\n",
            **{"shop/__init__.py": '__version__ = "1.1"\n'},
        ),
        refused={node("test_version"): "does_not_exercise"},
    ),
    Shape(
        name="process-ended-by-the-product-alone",
        row="21",
        verdict=INCONCLUSIVE,
        reason="crash",
        base={PRICE: "import os\n\n\ndef total(prices):\n    return os._exit(42) if prices else 0\n"},
        head=fix(),
        refused={ALL: "crash"},
    ),
    Shape(
        name="hangs-in-the-test-on-base",
        row="22",
        verdict=INCONCLUSIVE,
        reason="timeout",
        head=fix(
            """\
            import time


            def test_all():
                while total([1, 2]) != 3:
                    time.sleep(60)
            """
        ),
        refused={ALL: "timeout"},
        rigour=Rigour(least_seconds=2.0),
    ),
    Shape(
        name="fixture-missing-on-both-sides",
        row="fixture missing",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix("def test_sum(prices):\n    assert total(prices) == 3\n"),
        refused={node("test_sum"): "fails_on_head"},
    ),
    Shape(
        name="conftest-change-proves-nothing",
        row="24",
        verdict=NEUTRAL,
        reason="passes_on_base",
        title="Other prices",
        base={
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [0, 2]\n",
            **with_tests("def test_sum(prices):\n    assert total(prices) == sum(prices)\n"),
        },
        head={
            PRICE: FIXED,
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [0, 3]\n",
        },
        refused={node("test_sum"): "passes_on_base"},
    ),
    Shape(
        name="refactoring-without-tests",
        row="25",
        verdict=NEUTRAL,
        reason="refactor",
        title="refactor: a longer name",
        head={PRICE: "def total(prices):\n    rest = prices[1:]\n    return sum(rest)\n"},
    ),
    Shape(
        name="fix-without-test",
        row="25",
        verdict=FAIL,
        reason="no_test",
        head={PRICE: FIXED},
    ),
    Shape(
        name="no-fix-and-no-test",
        row="25",
        verdict=NEUTRAL,
        reason="not_a_fix",
        title="Sum all prices",
        head={PRICE: FIXED},
    ),
    Shape(
        name="tests-alone",
        row="26",
        verdict=NEUTRAL,
        reason="tests_only",
        title="test: zeros",
        head=with_tests(_ZERO),
    ),
    Shape(
        name="tests-alone-that-fail",
        row="26",
        verdict=FAIL,
        reason="fails_on_head",
        title="test: all prices",
        head=with_tests(NEW),
        refused={ALL: "fails_on_head"},
    ),
    Shape(
        name="deleted-test",
        row="27",
        verdict=FAIL,
        reason="no_test",
        base=with_tests(_ZERO),
        head={PRICE: FIXED, TESTS: OLD},
        findings=("test_deleted",),
    ),
    Shape(
        name="moved-test",
        row="27",
        verdict=FAIL,
        reason="no_test",
        base=with_tests(_ZERO),
        head={PRICE: FIXED, TESTS: None, "tests/test_totals.py": OLD + _ZERO},
    ),
    Shape(
        name="head-needs-what-is-not-installed",
        row="28",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix(**{"tests/conftest.py": "import a_distribution_that_nobody_has\n"}),
    ),
    Shape(
        name="revert",
        row="31",
        verdict=NEUTRAL,
        reason="revert",
        title='Revert "Count the first price"',
        base=fix(),
        head={PRICE: BROKEN, TESTS: OLD},
        findings=("test_deleted",),
    ),
    Shape(
        name="bot",
        row="31",
        verdict=NEUTRAL,
        reason="bot",
        title="Bump something",
        event={"author": "dependabot[bot]"},
        head={PRICE: FIXED},
    ),
    Shape(
        name="doctest-of-the-product",
        row="31",
        verdict=NEUTRAL,
        reason="unsupported",
        title="Show all prices",
        head={PRICE: 'def total(prices):\n    """\n    >>> total([1, 2])\n    3\n    """\n    return sum(prices)\n'},
        refused={"shop/price.py::shop.price.total": "unsupported"},
        arguments=("--doctest-modules",),
    ),
    Shape(
        name="nothing-collected",
        row="31",
        verdict=FAIL,
        reason="no_items",
        head={PRICE: FIXED, TESTS: "def check_all():\n    pass\n"},
    ),
    Shape(
        name="prose-alone",
        row="31",
        verdict=NEUTRAL,
        reason="nothing_to_judge",
        title="docs: prices",
        head={"README.md": "# Shop\n"},
    ),
    Shape(
        name="large-file-that-git-has-not",
        row="31",
        verdict=INCONCLUSIVE,
        reason="data_absent",
        head=fix(
            **{
                "tests/data/prices.bin": "version https://git-lfs.github.com/spec/v1\n"
                "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
            }
        ),
    ),
    Shape(
        name="extension-that-nothing-builds",
        row="31",
        verdict=INCONCLUSIVE,
        reason="needs_build",
        base={**_EXTENSION, PRICE: _COMPILED + BROKEN},
        head=fix(**{PRICE: _COMPILED + FIXED}),
    ),
    Shape(
        name="extension-that-a-conftest-imports",
        row="31",
        verdict=INCONCLUSIVE,
        reason="needs_build",
        base={**_EXTENSION, PRICE: _COMPILED + BROKEN, "tests/conftest.py": "import shop.price\n"},
        head=fix(**{PRICE: _COMPILED + FIXED}),
    ),
    Shape(
        name="extension-that-tests-import-late",
        row="31",
        verdict=INCONCLUSIVE,
        reason="needs_build",
        base={**_EXTENSION, TESTS: _LATE},
        head={PRICE: FIXED, TESTS: _LATE + _LATE_TOO},
    ),
    Shape(
        name="ids-of-the-hour",
        row="unstable ids",
        verdict=FAIL,
        reason="unstable_id",
        head=fix(
            """\
            import datetime

            import pytest


            @pytest.mark.parametrize("when", [str(datetime.datetime.now())])
            def test_now(when):
                assert total([1, 2]) == 3
            """
        ),
        refused={node("test_now"): "unstable_id"},
    ),
    Shape(
        name="subtest-fails-on-head",
        row="unittest",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix(
            """\
            import unittest


            class TestTotal(unittest.TestCase):
                def test_parts(self):
                    for price, said in ((1, 1), (2, 3)):
                        with self.subTest(price=price):
                            self.assertEqual(total([price]), said)
            """
        ),
        refused={node("TestTotal::test_parts"): "fails_on_head"},
    ),
)
