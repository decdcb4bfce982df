"""Changes that prove what they claim, each in another way."""

from __future__ import annotations

import datetime

from tests.corpus.shape import (
    ALL,
    BROKEN,
    FIXED,
    NEW,
    OLD,
    PASS,
    PRICE,
    PROJECT,
    TESTS,
    THOROUGH,
    Rigour,
    Shape,
    fix,
    node,
    with_tests,
)

_NEXT_YEARS = datetime.datetime.now(tz=datetime.UTC).date() + datetime.timedelta(days=200)

SHAPES = (
    Shape(
        name="module-that-tests-make-with-a-time-of-its-own",
        row="5",
        verdict=PASS,
        reason="proved",
        base={
            "tests/conftest.py": """\
                import os
                import pathlib

                from shop.price import total

                MADE = pathlib.Path(__file__).with_name("made.py")
                MADE.write_text(f"VALUE = {total([1, 2])}\\n")
                os.utime(MADE, (0, 0))
            """
        },
        head={
            PRICE: FIXED,
            "tests/test_made.py": "from made import VALUE\n\n\ndef test_all():\n    assert VALUE == 3\n",
        },
        proved={node("test_all", "tests/test_made.py"): "assertion"},
    ),
    Shape(
        name="fix-with-test",
        row="1",
        verdict=PASS,
        reason="proved",
        head=fix(),
        proved={ALL: "assertion"},
        rigour=THOROUGH,
    ),
    Shape(
        name="fix-in-src-layout",
        row="src layout",
        verdict=PASS,
        reason="proved",
        shop=False,
        base={
            "pyproject.toml": PROJECT,
            "src/shop/__init__.py": "",
            "src/shop/price.py": BROKEN,
            TESTS: OLD,
        },
        head={"src/shop/price.py": FIXED, **with_tests(NEW)},
        proved={ALL: "assertion"},
    ),
    Shape(
        name="fix-in-flat-layout",
        row="flat layout",
        verdict=PASS,
        reason="proved",
        shop=False,
        base={"pyproject.toml": PROJECT, "price.py": BROKEN, "test_price.py": OLD.replace("shop.price", "price")},
        head={"price.py": FIXED, "test_price.py": (OLD + NEW).replace("shop.price", "price")},
        proved={node("test_all", "test_price.py"): "assertion"},
    ),
    Shape(
        name="proof-beside-characterisation",
        row="3",
        verdict=PASS,
        reason="proved",
        head=fix(NEW + "\n\ndef test_zero():\n    assert total([0, 0]) == 0\n"),
        proved={ALL: "assertion"},
        refused={node("test_zero"): "passes_on_base"},
    ),
    Shape(
        name="product-raises-on-base",
        row="product_exception",
        verdict=PASS,
        reason="proved",
        base={
            PRICE: "def total(prices):\n    return sum(prices) + 0 * prices[0]\n",
            TESTS: "from shop.price import total\n\n\ndef test_one():\n    assert total([1]) == 1\n",
        },
        head={
            PRICE: FIXED,
            TESTS: """\
                from shop.price import total


                def test_one():
                    assert total([1]) == 1


                def test_empty():
                    assert total([]) == 0
                """,
        },
        proved={node("test_empty"): "product_exception"},
    ),
    Shape(
        name="raised-by-a-double-that-the-product-calls",
        row="TPPPT",
        verdict=PASS,
        reason="proved",
        base={PRICE: BROKEN + "\n\ndef notify(send):\n    send('price', 1)\n"},
        head={
            PRICE: BROKEN + "\n\ndef notify(send):\n    send('price')\n",
            **with_tests(
                """\
                def test_notify():
                    from shop.price import notify
                    sent = []
                    def send(what):
                        sent.append(what)
                    notify(send)
                    assert sent == ["price"]
                """
            ),
        },
        proved={node("test_notify"): "product_exception"},
    ),
    Shape(
        name="did-not-raise",
        row="DID NOT RAISE",
        verdict=PASS,
        reason="proved",
        head={
            PRICE: "def total(prices):\n    if None in prices:\n        raise ValueError('no price')\n    return sum(prices[1:])\n",
            **with_tests(
                """\
                def test_refuses():
                    import pytest
                    with pytest.raises(ValueError):
                        total([None, 1])
                """
            ),
        },
        proved={node("test_refuses"): "assertion"},
    ),
    Shape(
        name="xfail-removed",
        row="10",
        verdict=PASS,
        reason="proved",
        base=with_tests("import pytest\n\n\n@pytest.mark.xfail\n" + NEW),
        head=fix("import pytest\n\n\n" + NEW),
        proved={ALL: "assertion"},
    ),
    Shape(
        name="loopback-and-sockets-are-allowed",
        row="17",
        verdict=PASS,
        reason="proved",
        head=fix(
            """\
            import asyncio
            import socket
            import tempfile
            import threading


            def test_served():
                server = socket.create_server(("127.0.0.1", 0))
                thread = threading.Thread(target=lambda: server.accept()[0].sendall(b"2"))
                thread.start()
                with socket.create_connection(server.getsockname()) as client:
                    price = int(client.recv(1))
                thread.join()
                server.close()
                with tempfile.TemporaryDirectory() as place, socket.socket(socket.AF_UNIX) as local:
                    local.bind(place + "/s")
                asyncio.run(asyncio.sleep(0))
                assert total([1, price]) == 3
            """
        ),
        proved={node("test_served"): "assertion"},
    ),
    Shape(
        name="time-bomb",
        row="18",
        verdict=PASS,
        reason="proved",
        head=fix(
            f"""\
            import datetime


            def test_offer():
                assert datetime.date.today() < datetime.date({_NEXT_YEARS.year}, {_NEXT_YEARS.month}, {_NEXT_YEARS.day})
                assert total([1, 2]) == 3
            """
        ),
        proved={node("test_offer"): "assertion"},
        findings=("time_bomb",),
    ),
    Shape(
        name="product-hangs-on-base",
        row="22",
        verdict=PASS,
        reason="proved",
        base={PRICE: "def total(prices):\n    while prices:\n        pass\n    return 0\n"},
        head=fix(),
        proved={ALL: "timeout"},
        rigour=Rigour(least_seconds=2.0),
    ),
    Shape(
        name="product-crashes-on-base-with-a-trace",
        row="21",
        verdict=PASS,
        reason="proved",
        base={PRICE: "import os\n\n\ndef total(prices):\n    if prices:\n        os.abort()\n    return 0\n"},
        head=fix(),
        proved={ALL: "crash"},
    ),
    Shape(
        name="product-ends-the-process-on-base-beside-another-proof",
        row="21",
        verdict=PASS,
        reason="proved",
        base={
            PRICE: """\
                import os


                def total(prices):
                    if len(prices) > 1:
                        os._exit(42)
                    return 0
                """
        },
        head=fix(NEW + "\n\ndef test_one():\n    assert total([4]) == 4\n"),
        proved={node("test_one"): "assertion"},
        refused={ALL: "crash"},
    ),
    Shape(
        name="new-data-for-a-parametrized-test",
        row="23",
        verdict=PASS,
        reason="proved",
        base={
            TESTS: """\
                import json
                import pathlib

                import pytest

                from shop.price import total

                CASES = sorted(pathlib.Path(__file__).parent.joinpath("data").glob("*.json"))


                @pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
                def test_case(case):
                    said = json.loads(case.read_text())
                    assert total(said["prices"]) == said["total"]
                """,
            "tests/data/none.json": '{"prices": [], "total": 0}',
        },
        head={PRICE: FIXED, "tests/data/two.json": '{"prices": [1, 2], "total": 3}'},
        proved={node("test_case[two]"): "assertion"},
    ),
    Shape(
        name="changed-data-that-one-test-reads",
        row="23",
        verdict=PASS,
        reason="proved",
        base={
            TESTS: """\
                import pathlib

                from shop.price import total

                DATA = pathlib.Path(__file__).parent / "data" / "prices.txt"


                def test_file():
                    *prices, expected = map(int, DATA.read_text().split())
                    assert total(prices) == expected


                def test_nothing():
                    assert total([]) == 0
                """,
            "tests/data/prices.txt": "0 2 2\n",
        },
        head={PRICE: FIXED, "tests/data/prices.txt": "1 2 3\n"},
        proved={node("test_file"): "assertion"},
    ),
    Shape(
        name="changed-fixture-in-conftest",
        row="24",
        verdict=PASS,
        reason="proved",
        base={
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [0, 2]\n",
            **with_tests("def test_sum(prices):\n    assert total(prices) == sum(prices)\n"),
        },
        head={
            PRICE: FIXED,
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2]\n",
        },
        proved={node("test_sum"): "assertion"},
    ),
    Shape(
        name="fixture-in-a-new-conftest",
        row="new conftest",
        verdict=PASS,
        reason="proved",
        head=fix(
            "def test_sum(prices):\n    assert total(prices) == 3\n",
            **{"tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2]\n"},
        ),
        proved={node("test_sum"): "assertion"},
    ),
    Shape(
        name="conftest-that-runs-tests-by-itself",
        row="20",
        verdict=PASS,
        reason="proved",
        base={
            "tests/conftest.py": """\
                import asyncio

                import pytest


                @pytest.hookimpl(hookwrapper=True)
                def pytest_runtest_makereport(item, call):
                    outcome = yield
                    setattr(item, "report_" + call.when, outcome.get_result())


                @pytest.hookimpl(tryfirst=True)
                def pytest_pyfunc_call(pyfuncitem):
                    if asyncio.iscoroutinefunction(pyfuncitem.obj):
                        asyncio.run(pyfuncitem.obj())
                        return True
                """
        },
        head=fix("async def test_all():\n    assert total([1, 2]) == 3\n"),
        proved={ALL: "assertion"},
    ),
    Shape(
        name="product-that-looks-at-its-callers",
        row="19",
        verdict=PASS,
        reason="proved",
        base={PRICE: "import inspect\n\n\ndef total(prices):\n    inspect.stack()\n    return sum(prices[1:])\n"},
        head=fix(
            NEW + "\n\ndef test_again():\n    import inspect\n    inspect.stack()\n    assert total([2, 2]) == 4\n",
            **{PRICE: "import inspect\n\n\ndef total(prices):\n    inspect.stack()\n    return sum(prices)\n"},
        ),
        proved={ALL: "assertion", node("test_again"): "assertion"},
    ),
    Shape(
        name="asks-git-for-the-files",
        row="19",
        verdict=PASS,
        reason="proved",
        head=fix(
            """\
            import pathlib
            import shutil
            import subprocess

            ROOT = pathlib.Path(__file__).parents[1]


            def git(*arguments):
                command = ["git", *arguments]
                return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()


            def test_all():
                if shutil.which("git"):  # a minimal image has none
                    assert "shop/price.py" in git("ls-files")
                    assert len(git("rev-parse", "HEAD")[0]) == 40
                    assert git("describe", "--always")
                    assert git("remote") == []
                assert total([1, 2]) == 3
            """
        ),
        proved={ALL: "assertion"},
    ),
    Shape(
        name="marker-that-only-head-registers",
        row="strict markers",
        verdict=PASS,
        reason="proved",
        base={"pyproject.toml": PROJECT + '[tool.pytest.ini_options]\naddopts = "--strict-markers"\n'},
        head=fix(
            "import pytest\n\n\n@pytest.mark.sums\n" + NEW,
            **{
                "pyproject.toml": PROJECT
                + '[tool.pytest.ini_options]\naddopts = "--strict-markers"\nmarkers = ["sums: adds up"]\n'
            },
        ),
        proved={ALL: "assertion"},
    ),
    Shape(
        name="locale-only-reproduction",
        row="C locale",
        verdict=PASS,
        reason="proved",
        base={PRICE: BROKEN + "\n\ndef read(path):\n    with open(path) as file:\n        return file.read()\n"},
        head={
            PRICE: BROKEN
            + '\n\ndef read(path):\n    with open(path, encoding="utf-8") as file:\n        return file.read()\n',
            **with_tests(
                """\
                def test_euro(tmp_path):
                    from shop.price import read
                    (tmp_path / "price").write_bytes("5 \\u20ac".encode())
                    assert read(tmp_path / "price") == "5 \\u20ac"
                """
            ),
        },
        proved={node("test_euro"): "product_exception"},
        conditions=("locale",),
    ),
    Shape(
        name="changed-module-constant",
        row="module constant",
        verdict=PASS,
        reason="proved",
        base={PRICE: "LEAST = 1\n" + BROKEN},
        head={
            PRICE: "LEAST = 0\n" + BROKEN,
            **with_tests("def test_least():\n    from shop import price\n    assert price.LEAST == 0\n"),
        },
        proved={node("test_least"): "assertion"},
    ),
    Shape(
        name="changed-package-data",
        row="package data",
        verdict=PASS,
        reason="proved",
        base={
            "shop/rates.json": '{"vat": 19}',
            "shop/rates.py": """\
                import json
                import pathlib


                def rate(name):
                    return json.loads(pathlib.Path(__file__).with_name("rates.json").read_text())[name]
                """,
        },
        head={
            "shop/rates.json": '{"vat": 20}',
            **with_tests("def test_vat():\n    from shop.rates import rate\n    assert rate('vat') == 20\n"),
        },
        proved={node("test_vat"): "assertion"},
    ),
    Shape(
        name="unittest-case",
        row="unittest",
        verdict=PASS,
        reason="proved",
        head=fix(
            """\
            import unittest


            class TestTotal(unittest.TestCase):
                def test_all(self):
                    self.assertEqual(total([1, 2]), 3)

                def test_parts(self):
                    for price in (1, 2):
                        with self.subTest(price=price):
                            self.assertEqual(total([price]), price)
            """
        ),
        proved={node("TestTotal::test_all"): "assertion", node("TestTotal::test_parts"): "assertion"},
    ),
    Shape(
        name="backport",
        row="31",
        verdict=PASS,
        reason="proved",
        title="[1.x] fix: count the first price (backport)",
        head=fix(),
        proved={ALL: "assertion"},
    ),
    Shape(
        name="reproduction-first",
        row="26",
        verdict=PASS,
        reason="repro_only",
        title="repro: the first price is lost",
        head=with_tests("import pytest\n\n\n@pytest.mark.xfail(strict=True)\n" + NEW),
        proved={ALL: "repro_only"},
    ),
)
