"""Changes whose tests fail on base in an unusual way, and for the right reason all the same."""

from __future__ import annotations

from tests.corpus.shape import (
    ALL,
    BROKEN,
    FAIL,
    FIXED,
    NEW,
    OLD,
    PASS,
    PRICE,
    PROJECT,
    TESTS,
    Shape,
    fix,
    node,
    with_tests,
)

_STRICT = PROJECT + '\n[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n'
_PRODUCT = """\
import json


class Rates:
    def __init__(self, path):
        self.path = path

    def __del__(self):
        {ends}

    def text(self):
        return {text}


def total(prices):
    return sum(prices)


def command():
    return {command}


def rates():
    return iter({rates})
"""

# Modules that import each other, and no longer do.
_ROUND = {
    "shop/buy.py": "from shop.sell import sold\n\n\ndef bought(n):\n    return n\n",
    "shop/sell.py": "from shop.buy import bought\n\n\ndef sold(n):\n    return bought(-n)\n",
}
_STRAIGHT = {"shop/sell.py": "def sold(n):\n    from shop.buy import bought\n\n    return bought(-n)\n"}

SHAPES = (
    Shape(
        name="product-in-processes-of-multiprocessing",
        row="exercise unseen",
        verdict=PASS,
        reason="proved",
        head=fix(
            """\
            import concurrent.futures
            import multiprocessing

            import pytest


            @pytest.mark.parametrize("how", ["spawn", "forkserver", "fork"])
            def test_all(how):
                with multiprocessing.get_context(how).Pool(1) as pool:
                    assert pool.apply(total, ([1, 2],)) == 3

            def test_executor():
                context = multiprocessing.get_context("spawn")
                with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
                    assert pool.submit(total, [1, 2]).result() == 3
            """
        ),
        proved={
            **{f"{ALL}[{how}]": "assertion" for how in ("spawn", "forkserver", "fork")},
            node("test_executor"): "assertion",
        },
    ),
    Shape(
        name="test-stumbles-over-a-value-in-any-way",
        row="test_exception",
        verdict=PASS,
        reason="proved",
        base={
            PRICE: _PRODUCT.format(
                ends="pass", text="'{'", command="['python3', '-c', 'raise SystemExit(3)']", rates="[]"
            )
        },
        head={
            PRICE: _PRODUCT.format(ends="pass", text="'{}'", command="['python3', '-c', 'pass']", rates="[1]"),
            **with_tests(
                """\
                import asyncio
                import json
                import re
                import sqlite3
                import struct
                import subprocess

                from shop.price import Rates, command, rates


                class Wrong(Exception):
                    pass

                def test_program():
                    subprocess.run(command(), check=True)

                def test_next():
                    assert next(rates()) == 1

                def test_json():
                    assert json.loads(Rates(1).text()) == {}

                def test_pattern():
                    assert re.compile(Rates(1).text().replace("{", "(").replace("}", ")"))

                def test_bytes():
                    assert struct.unpack("2s", Rates(1).text().encode()) == (b"{}",)

                def test_query():
                    query = "select " + Rates(1).text().replace("{", "(1").replace("}", ")")
                    assert list(sqlite3.connect(":memory:").execute(query)) == [(1,)]

                def test_own_class():
                    if Rates(1).text() == "{":
                        raise Wrong

                def test_group():
                    async def checks():
                        async with asyncio.TaskGroup() as group:
                            group.create_task(check())
                    async def check():
                        assert Rates(1).text() == "{}"
                    asyncio.run(checks())
                """
            ),
        },
        proved={
            node("test_program"): "test_exception",
            node("test_next"): "test_exception",
            node("test_json"): "test_exception",
            node("test_pattern"): "test_exception",
            node("test_bytes"): "test_exception",
            node("test_query"): "test_exception",
            node("test_own_class"): "assertion",
            node("test_group"): "assertion",
        },
    ),
    Shape(
        name="doctest-in-a-text",
        row="31",
        verdict=PASS,
        reason="proved",
        head={PRICE: FIXED, "tests/test_price.txt": ">>> from shop.price import total\n>>> total([1, 2])\n3\n"},
        proved={node("test_price.txt", "tests/test_price.txt"): "assertion"},
    ),
    Shape(
        name="doctest-in-a-text-that-raises",
        row="31",
        verdict=PASS,
        reason="proved",
        base={PRICE: "def total(prices):\n    return 1 // 0 if prices else 0\n"},
        head={PRICE: FIXED, "tests/test_price.txt": ">>> from shop.price import total\n>>> total([1, 2])\n3\n"},
        proved={node("test_price.txt", "tests/test_price.txt"): "product_exception"},
    ),
    Shape(
        name="other-names-of-test-files",
        row="python_files",
        verdict=PASS,
        reason="proved",
        base={
            "pyproject.toml": PROJECT + '\n[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n',
            "shop/check_price.py": OLD,
            TESTS: None,
        },
        head={PRICE: FIXED, "shop/check_price.py": OLD + NEW},
        proved={node("test_all", "shop/check_price.py"): "assertion"},
    ),
    Shape(
        name="another-folder-of-tests",
        row="testpaths",
        verdict=PASS,
        reason="proved",
        base={
            "pyproject.toml": PROJECT
            + '\n[tool.pytest.ini_options]\ntestpaths = ["checks"]\npython_files = ["*.py"]\n',
            "checks/price.py": OLD,
            TESTS: None,
        },
        head={
            PRICE: FIXED,
            "checks/helper.py": "PRICES = [1, 2]\n",
            "checks/price.py": OLD + "def test_all():\n    from helper import PRICES\n    assert total(PRICES) == 3\n",
        },
        proved={node("test_all", "checks/price.py"): "assertion"},
    ),
    Shape(
        name="raises-where-nobody-listens",
        row="unraisable",
        verdict=PASS,
        reason="proved",
        base={
            "pyproject.toml": _STRICT,
            PRICE: _PRODUCT.format(ends="1 // 0", text="''", command="''", rates="[]")
            + "\n\ndef later():\n    import warnings\n    warnings.warn('old')\n",
        },
        head={
            PRICE: _PRODUCT.format(ends="pass", text="''", command="''", rates="[]") + "\n\ndef later():\n    pass\n",
            **with_tests(
                """\
                import threading

                from shop.price import Rates, later


                def test_ends():
                    Rates(1)

                def test_thread():
                    thread = threading.Thread(target=later)
                    thread.start()
                    thread.join()
                """
            ),
        },
        proved={node("test_ends"): "product_exception", node("test_thread"): "product_exception"},
    ),
    Shape(
        name="new-fields",
        row="signature change",
        verdict=PASS,
        reason="new_api",
        title="feat: currencies",
        base={
            PRICE: "import dataclasses\n\n\n@dataclasses.dataclass\nclass Price:\n    value: int\n\n\n" + BROKEN,
        },
        head={
            PRICE: "import dataclasses\n\n\n@dataclasses.dataclass\nclass Price:\n    value: int\n"
            "    currency: str = 'EUR'\n\n\n" + BROKEN,
            **with_tests(
                """\
                from shop.price import Price


                def test_default():
                    assert Price(1).currency == "EUR"

                def test_given():
                    assert Price(1, currency="USD").currency == "USD"

                def test_equal():
                    assert Price(1, currency="USD") != Price(1, currency="EUR")

                def test_takes():
                    assert Price(1, currency="USD")
                """
            ),
        },
        proved={
            node("test_default"): "missing_symbol",
            node("test_given"): "signature_mismatch",
            node("test_equal"): "signature_mismatch",
        },
        refused={node("test_takes"): "import_only"},
    ),
    Shape(
        name="says-that-it-is-typed",
        row="package data",
        verdict=PASS,
        reason="proved",
        title="fix: say that it is typed",
        head={
            "shop/py.typed": "",
            **with_tests(
                "def test_typed():\n    from importlib import resources\n"
                "    assert resources.files('shop').joinpath('py.typed').is_file()\n"
            ),
        },
        proved={node("test_typed"): "assertion"},
    ),
    Shape(
        name="fix-of-a-script",
        row="scripts",
        verdict=PASS,
        reason="proved",
        base={"scripts/prices.py": BROKEN},
        head={
            "scripts/prices.py": FIXED,
            "tests/test_scripts.py": """\
                import runpy
                from pathlib import Path

                def test_all():
                    found = runpy.run_path(str(Path(__file__).parents[1] / "scripts" / "prices.py"))
                    assert found["total"]([1, 2]) == 3
                """,
        },
        proved={node("test_all", "tests/test_scripts.py"): "assertion"},
    ),
    Shape(
        name="new-function-of-a-script",
        row="scripts",
        verdict=PASS,
        reason="new_api",
        title="feat: means",
        base={"scripts/prices.py": BROKEN},
        head={
            "scripts/prices.py": BROKEN + "\n\ndef mean(prices):\n    return sum(prices) / len(prices)\n",
            "tests/test_scripts.py": """\
                import sys
                from pathlib import Path

                sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

                from prices import mean


                def test_mean():
                    assert mean([1, 3]) == 2
                """,
        },
        proved={node("test_mean", "tests/test_scripts.py"): "missing_symbol"},
    ),
    Shape(
        name="git-says-that-nothing-is-changed",
        row="git state",
        verdict=PASS,
        reason="proved",
        base={".gitignore": "__pycache__\n.pytest_cache\n"},
        head=fix(
            """\
            import shutil
            import subprocess


            def test_all():
                assert total([1, 2]) == 3
                if shutil.which("git"):  # a minimal image has none
                    done = subprocess.run(["git", "status", "--porcelain"], capture_output=True, check=True)
                    assert done.stdout == b""
            """
        ),
        proved={ALL: "assertion"},
    ),
    Shape(
        name="subclass-that-base-does-not-take",
        row="signature change",
        verdict=PASS,
        reason="proved",
        base={
            PRICE: "class Price:\n    def __init_subclass__(cls, **more):\n        raise ValueError(more)\n\n\n"
            + BROKEN,
        },
        head={
            PRICE: "class Price:\n    def __init_subclass__(cls, **more):\n        cls.more = more\n\n\n" + BROKEN,
            **with_tests(
                """\
                from shop.price import Price


                def test_subclass():
                    class Dear(Price, least=5):
                        pass
                    assert Dear.more == {"least": 5}
                """
            ),
        },
        proved={node("test_subclass"): "product_exception"},
    ),
    Shape(
        name="class-at-the-top-that-base-refuses",
        row="5",
        verdict=PASS,
        reason="proved",
        base={
            "shop/item.py": """\
                class Item:
                    def __init_subclass__(cls):
                        if len(vars(cls)) > 3:
                            raise TypeError(cls)
            """
        },
        head={
            "shop/item.py": """\
                class Item:
                    def __init_subclass__(cls):
                        if len(vars(cls)) > 30:
                            raise TypeError(cls)
            """,
            **with_tests(
                """\
                from shop.item import Item


                class Dear(Item):
                    least = 5
                    most = 6


                @pytest.mark.parametrize("name", ["least", "most"])
                def test_dear(name):
                    assert hasattr(Dear, name)


                class TestDear:
                    def test_sum(self):
                        assert Dear.least + Dear.most == 11
            """,
                "import pytest\n\n" + OLD,
            ),
        },
        proved={
            node("test_dear[least]"): "product_in_setup",
            node("test_dear[most]"): "product_in_setup",
            node("TestDear::test_sum"): "product_in_setup",
        },
    ),
    Shape(
        name="modules-that-import-each-other",
        row="5",
        verdict=PASS,
        reason="proved",
        base=_ROUND,
        head={
            **_STRAIGHT,
            "tests/test_buy.py": "from shop.buy import bought\n\n\ndef test_bought():\n    assert bought(1) == 1\n",
        },
        proved={node("test_bought", "tests/test_buy.py"): "product_in_setup"},
    ),
    Shape(
        name="tests-beside-what-base-cannot-import",
        row="5",
        verdict=FAIL,
        reason="passes_on_base",
        base=_ROUND,
        head={
            **_STRAIGHT,
            **with_tests(
                """\
                from shop.buy import bought


                def test_true():
                    assert True


                class TestBought:
                    made = bought(1)

                    def test_other(self):
                        assert total([]) == 0
                """
            ),
            "tests/helper.py": "from shop.buy import bought\n\nFIVE = 5\n",
            "tests/test_five.py": "from helper import FIVE\n\n\ndef test_five():\n    assert FIVE == 5\n",
        },
        refused={
            node("test_true"): "passes_on_base",
            node("TestBought::test_other"): "passes_on_base",
            node("test_five", "tests/test_five.py"): "passes_on_base",
        },
    ),
    Shape(
        name="test-file-that-checks-at-its-top",
        row="5",
        verdict=FAIL,
        reason="collect",
        head={PRICE: FIXED, "tests/test_top.py": "from shop.price import total\n\nassert total([1]) == 1\n\n\n" + NEW},
        refused={node("test_all", "tests/test_top.py"): "collect"},
    ),
)
