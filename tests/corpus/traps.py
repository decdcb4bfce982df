"""Changes whose tests deceive a naive grader: forged outcomes, hidden network, chance and order."""

from __future__ import annotations

from tests.corpus.shape import ALL, FAIL, FIXED, INCONCLUSIVE, NEUTRAL, PRICE, THOROUGH, Shape, fix, node, with_tests

_CONNECT = "import socket\nsocket.create_connection(('192.0.2.1', 80), 2)"

SHAPES = (
    Shape(
        name="forging-conftest",
        row="20",
        verdict=FAIL,
        reason="tampered",
        head=fix(
            "def test_all():\n    assert total([1, 2]) == 4\n",
            **{
                "tests/conftest.py": """\
                    import pytest


                    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
                    def pytest_runtest_makereport(item, call):
                        outcome = yield
                        report = outcome.get_result()
                        report.outcome = "passed"
                        report.longrepr = None
                    """
            },
        ),
    ),
    Shape(
        name="forging-conftest-that-swallows-calls",
        row="20",
        verdict=FAIL,
        reason="tampered",
        head=fix(
            "def test_all():\n    assert total([1, 2]) == 4\n",
            **{
                "tests/conftest.py": """\
                    import pytest


                    @pytest.hookimpl(hookwrapper=True)
                    def pytest_pyfunc_call(pyfuncitem):
                        outcome = yield
                        outcome.force_result(True)
                    """
            },
        ),
    ),
    Shape(
        name="forging-conftest-that-fails-one-test-on-base",
        row="20",
        verdict=FAIL,
        reason="tampered",
        head=fix(
            "def test_all():\n    total([1, 2])\n",
            **{
                "tests/conftest.py": """\
                    import pytest
                    from shop.price import total


                    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
                    def pytest_runtest_makereport(item, call):
                        outcome = yield
                        report = outcome.get_result()
                        if item.name == "test_all" and call.when == "call" and total([1]) == 0:
                            report.outcome = "failed"
                            report.longrepr = "AssertionError: assert 2 == 3"
                    """
            },
        ),
    ),
    Shape(
        name="forging-conftest-in-a-folder-where-settings-select",
        row="20",
        verdict=FAIL,
        reason="tampered",
        head={
            PRICE: FIXED,
            "pytest.ini": '[pytest]\naddopts = -k "all or nothing" --ignore=tests/more/test_repro_gate_canary.py\n',
            "tests/more/conftest.py": """\
                import pytest


                @pytest.hookimpl(hookwrapper=True, tryfirst=True)
                def pytest_runtest_makereport(item, call):
                    outcome = yield
                    if "all" in item.keywords or "test_all" in item.name or "control" in item.name:
                        outcome.get_result().outcome = "passed"
                """,
            "tests/more/test_all.py": "from shop.price import total\n\n\ndef test_all():\n    assert total([1, 2]) == 4\n",
            **with_tests("def test_nothing_more():\n    pass\n"),
        },
    ),
    Shape(
        name="forging-conftest-that-passes-one-test-on-head",
        row="20",
        verdict=FAIL,
        reason="tampered",
        head=fix(
            "def test_all():\n    assert total([1, 2]) == 4\n",
            **{
                "tests/conftest.py": """\
                    import pytest
                    from shop.price import total


                    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
                    def pytest_runtest_logreport(report):
                        if report.nodeid.endswith("test_all") and total([1]) == 1:
                            report.outcome, report.longrepr = "passed", None
                        yield
                    """
            },
        ),
    ),
    Shape(
        name="conftest-that-swallows-one-tests-failure-on-head",
        row="20",
        verdict=FAIL,
        reason="tampered",
        head=fix(
            "def test_all():\n    assert total([1, 2]) == 4\n",
            **{
                "tests/conftest.py": """\
                    from shop.price import total


                    def pytest_collection_modifyitems(items):
                        for item in items:
                            if item.name == "test_all" and total([1]) == 1:
                                item.runtest = lambda run=item.runtest: quiet(run)


                    def quiet(run):
                        try:
                            run()
                        except AssertionError:
                            pass
                    """
            },
        ),
    ),
    Shape(
        name="conftest-that-raises-for-one-test-on-base",
        row="20",
        verdict=FAIL,
        reason="conftest",
        head=fix(
            "def test_all():\n    total([1, 2])\n",
            **{
                "tests/conftest.py": """\
                    from shop.price import total


                    def pytest_runtest_call(item):
                        if item.name == "test_all":
                            assert total([1, 2]) == 3
                    """
            },
        ),
        refused={ALL: "conftest", node("test_nothing"): "passes_on_base"},
    ),
    Shape(
        name="forging-stdout",
        row="20",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix(
            """\
            import os
            import sys


            def test_all():
                said = "tests/test_price.py::test_all PASSED [100%]\\n===== 2 passed in 0.01s =====\\n"
                sys.__stdout__.write(said)
                os.write(1, said.encode())
                os.write(1, b'{"event": "test", "id": "tests/test_price.py::test_all", "outcome": "passed"}\\n')
                assert total([1, 2]) == 4
            """
        ),
        refused={ALL: "fails_on_head"},
    ),
    Shape(
        name="ends-the-process-with-success",
        row="os._exit(0)",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix("import os\n\n\ndef test_all():\n    os._exit(0)\n"),
        refused={ALL: "fails_on_head"},
    ),
    Shape(
        name="ends-the-process-with-success-on-base",
        row="os._exit(0)",
        verdict=INCONCLUSIVE,
        reason="crash",
        head=fix("import os\n\n\ndef test_all():\n    if total([1, 2]) != 3:\n        os._exit(0)\n"),
        refused={ALL: "crash"},
    ),
    Shape(
        name="ends-pytest-with-success",
        row="pytest.exit(0)",
        verdict=FAIL,
        reason="fails_on_head",
        head=fix("import pytest\n\n\ndef test_all():\n    pytest.exit('done', returncode=0)\n"),
        refused={ALL: "fails_on_head"},
    ),
    Shape(
        name="ends-pytest-with-success-on-base",
        row="pytest.exit(0)",
        verdict=FAIL,
        reason="unexplained",
        head=fix(
            """\
            import pytest


            def test_all():
                if total([1, 2]) != 3:
                    pytest.exit("done", returncode=0)
            """
        ),
        refused={ALL: "unexplained"},
    ),
    Shape(
        name="needs-the-network",
        row="15",
        verdict=FAIL,
        reason="network",
        head=fix(
            """\
            import socket


            def test_all():
                socket.create_connection(("shop.invalid", 80), 2)
                assert total([1, 2]) == 3
            """
        ),
        refused={ALL: "network"},
    ),
    Shape(
        name="may-use-the-network",
        row="15",
        verdict=NEUTRAL,
        reason="network_allowed",
        head=fix(
            """\
            import socket

            import pytest


            @pytest.mark.repro_network(reason="asks the shop")
            def test_all():
                socket.create_connection(("192.0.2.1", 80), 2)
                assert total([1, 2]) == 3
            """
        ),
        refused={ALL: "network_allowed"},
    ),
    Shape(
        name="swallows-a-network-error",
        row="16",
        verdict=FAIL,
        reason="network_attempt",
        head=fix(
            """\
            import socket


            def test_all():
                try:
                    socket.create_connection(("192.0.2.1", 80), 2)
                except OSError:
                    pass
                assert total([1, 2]) == 3
            """
        ),
        refused={ALL: "network_attempt"},
    ),
    Shape(
        name="swallows-a-network-error-in-a-child",
        row="16",
        verdict=FAIL,
        reason="network_attempt",
        head=fix(
            f"""\
            import subprocess
            import sys


            def test_all():
                subprocess.run([sys.executable, "-I", "-c", {_CONNECT!r}], env={{}}, capture_output=True)
                assert total([1, 2]) == 3
            """
        ),
        refused={ALL: "network_attempt"},
    ),
    Shape(
        name="swallows-a-network-error-below-python",
        row="16",
        verdict=FAIL,
        reason="network_attempt",
        head=fix(
            """\
            import ctypes
            import struct


            def test_all():
                libc = ctypes.CDLL(None)
                connection = libc.socket(2, 1, 0)
                address = struct.pack("<H", 2) + struct.pack(">H", 80) + bytes((192, 0, 2, 1)) + bytes(8)
                libc.connect(connection, address, len(address))
                libc.close(connection)
                assert total([1, 2]) == 3
            """
        ),
        refused={ALL: "network_attempt"},
    ),
    Shape(
        name="chance-on-head",
        row="12",
        verdict=FAIL,
        reason="flaky_on_head",
        head=fix(
            """\
            import random


            def test_all():
                assert total([1, 2]) == 3
                assert random.random() < 0.5  # holds under the neutral seed
            """
        ),
        refused={ALL: "flaky_on_head"},
        rigour=THOROUGH,
    ),
    Shape(
        name="chance-on-base",
        row="12",
        verdict=FAIL,
        reason="flaky_on_base",
        base={
            PRICE: """\
                import random


                def total(prices):
                    return sum(prices) if random.random() > 0.5 else 0
                """
        },
        head=fix(),
        refused={ALL: "flaky_on_base"},
        rigour=THOROUGH,
    ),
    Shape(
        name="hash-seed",
        row="13",
        verdict=FAIL,
        reason="flaky_on_head",
        head=fix(
            """\
            NAMES = {"apple", "pear", "plum", "fig", "lime", "kiwi", "date", "melon"}


            def test_all():
                assert total([1, 2]) == 3
                assert next(iter(NAMES)) == "apple"  # the first under seed 0, and not under 1
            """
        ),
        refused={ALL: "flaky_on_head"},
    ),
    Shape(
        name="order-of-the-file",
        row="14",
        verdict=FAIL,
        reason="order_dependent",
        head=fix(
            """\
            PRICES = []


            def test_fills():
                PRICES.extend([1, 2])


            def test_all():
                assert PRICES
                assert total(PRICES) == 3
            """
        ),
        refused={ALL: "order_dependent", node("test_fills"): "passes_on_base"},
    ),
)
