"""Reason codes by outcome, exception and zones of the traceback; names that a change adds, moves or reshapes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from repro_gate.gates.fail_to_pass.reasons import (
    API,
    RIGHT,
    Context,
    Missing,
    classify,
    missing,
    network,
    of_collection,
    stops_in_product,
    through_product,
    wanted,
)
from repro_gate.gates.fail_to_pass.symbols import Surface, surface
from repro_gate.model import CollectFailure, Evidence, Frame, Outcome, ReasonCode, TestRun, Zone
from tests.unit.simulated_bench import failure, product, run

SURFACE = Surface(
    packages=frozenset({"pkg"}),
    modules=frozenset({"pkg.new"}),
    symbols=frozenset({"pkg.mod:g", "pkg.mod:Box.size"}),
    signatures=frozenset({"f", "Box.put", "Box", "Box.__init__"}),
)
CONTEXT = Context(surface=SURFACE, is_test=lambda path: path.startswith("tests/"))
SETUP: dict[str, Any] = {"phase": "setup"}
BASES = {
    "KeyError": ("LookupError", "Exception"),
    "IndexError": ("LookupError", "Exception"),
    "UnboundLocalError": ("NameError", "Exception"),
    "SystemExit": ("BaseException",),
}
FIXTURE_ERROR = "_pytest.fixtures.FixtureLookupError"


def code(kind: str, zones: str, message: str = "x", context: Context = CONTEXT, **more: Any) -> str:
    found = classify(
        TestRun(id="t", outcome=Outcome.FAILED, seconds=0, failure=failure(kind, zones, message, **more)), context
    )
    return str(found)


@pytest.mark.parametrize(
    ("kind", "zones", "message", "expected"),
    [
        # the test's own check
        ("AssertionError", "T", "assert 1 == 2", "assertion"),
        ("AssertionError", "TS", "1 != 2", "assertion"),
        ("AssertionError", "T3", "arrays are not equal", "assertion"),
        ("AssertionError", "PT", "below the product's own decorator", "assertion"),
        ("Failed", "T3", "DID NOT RAISE <class 'ValueError'>", "assertion"),
        ("tests.checks.Mismatch", "TT", "left, right", "assertion"),
        ("nose.AssertionFailure", "T3", "x", "assertion"),
        # an exception that went through the product
        ("AssertionError", "TP", "assert self.ready", "product_exception"),
        ("ValueError", "TP", "x", "product_exception"),
        ("ValueError", "TPS", "x", "product_exception"),
        ("ValueError", "TP3", "x", "product_exception"),
        ("ValueError", "TPPPT", "raised by a double that the product called", "product_exception"),
        ("tests.checks.Mismatch", "TPT", "x", "product_exception"),
        ("UnicodeDecodeError", "TPS", "'ascii' codec can't decode byte 0xc3", "product_exception"),
        ("NameError", "TP", "name 'os' is not defined", "product_exception"),
        ("AttributeError", "TP", "module 'collections' has no attribute 'Mapping'", "product_exception"),
        ("TypeError", "TP", "f() got an unexpected keyword argument 'y'", "product_exception"),
        # a value of the product in the test's hands
        ("KeyError", "T", "'idle_for'", "test_exception"),
        ("IndexError", "T", "list index out of range", "test_exception"),
        ("AttributeError", "T", "'NoneType' object has no attribute 'x'", "test_exception"),
        ("TypeError", "T", "'NoneType' object is not subscriptable", "test_exception"),
        ("KeyError", "PT", "the product stands above, not below", "test_exception"),
        ("subprocess.CalledProcessError", "TS", "returned non-zero exit status 3", "test_exception"),
        ("StopIteration", "T", "", "test_exception"),
        ("struct.error", "T", "unpack requires a buffer of 2 bytes", "test_exception"),
        ("sqlite3.OperationalError", "T", "no such table: prices", "test_exception"),
        ("ExceptionGroup", "TS", "unhandled errors in a TaskGroup", "test_exception"),
        ("NameError", "T", "name 'undefined' is not defined", "unexplained"),
        ("UnboundLocalError", "T", "cannot access local variable 'x'", "unexplained"),
        ("MemoryError", "T", "", "unexplained"),
        ("SystemExit", "T", "3", "unexplained"),
        ("_pytest.outcomes.Exit", "T3", "enough", "unexplained"),
        ("doctest.DocTestFailure", "S3", "expected '3', got '2'", "assertion"),
        ("Exception", "3", "x", "unexplained"),
        # names that base does not have
        ("MissingSymbol", "T", "pkg.mod:g", "missing_symbol"),
        ("MissingSymbol", "TP", "pkg.mod:g", "missing_symbol"),
        ("ImportError", "T", "cannot import name 'g' from 'pkg.mod' (/pkg/mod.py)", "missing_symbol"),
        ("ModuleNotFoundError", "T", "No module named 'pkg.new'", "missing_symbol"),
        ("AttributeError", "T", "module 'pkg.mod' has no attribute 'g'", "missing_symbol"),
        ("AttributeError", "T3S", "<module 'pkg.mod' from '/p/pkg/mod.py'> does not have the attribute 'g'", "missing_symbol"),
        ("AttributeError", "T", "type object 'Box' has no attribute 'size'", "missing_symbol"),
        ("AttributeError", "T", "'Box' object has no attribute 'size'", "missing_symbol"),
        ("AttributeError", "T", "'Box' object has no attribute 'colour'", "test_exception"),
        ("NameError", "T", "name 'g' is not defined", "missing_symbol"),
        # parameters that base does not take
        ("TypeError", "T", "f() got an unexpected keyword argument 'y'", "signature_mismatch"),
        ("TypeError", "T", "Box.put() takes 2 positional arguments but 3 were given", "signature_mismatch"),
        ("TypeError", "T", "Box.__init__() missing 1 required positional argument: 'n'", "signature_mismatch"),
        ("TypeError", "T", "other() got an unexpected keyword argument 'y'", "test_exception"),
        # never
        ("ModuleNotFoundError", "T", "No module named 'left_pad'", "env"),
        ("ModuleNotFoundError", "TP", "No module named 'left_pad'", "env"),
        ("ImportError", "TP", "cannot import name 'Mapping' from 'collections'", "env"),
        ("locale.Error", "TS", "unsupported locale setting", "env"),
        ("_pytest.config.UsageError", "3", "x", "usage"),
        ("OSError", "TPS", "[Errno 101] Network is unreachable", "network"),
        ("socket.gaierror", "TPS", "[Errno -3] Temporary failure in name resolution", "network"),
    ],
)  # fmt: skip
def test_a_failure_in_the_test_has_a_reason(kind: str, zones: str, message: str, expected: str) -> None:
    bases = BASES.get(kind, ("Exception",))
    assert code(kind, zones, message, bases=bases) == expected


@pytest.mark.parametrize(
    ("kind", "zones", "message", "expected"),
    [
        ("ValueError", "TP", "x", "product_in_setup"),
        ("ValueError", "3P", "a fixture of the product's own plugin", "product_in_setup"),
        ("AssertionError", "TP", "x", "product_in_setup"),
        ("KeyError", "T", "x", "fixture"),
        ("AssertionError", "T", "x", "fixture"),
        ("ModuleNotFoundError", "T3S", "No module named 'pkg.new'", "missing_symbol"),
        (FIXTURE_ERROR, "3", "fixture 'self' not found", "product_in_setup"),
    ],
)
def test_a_failure_in_setup_has_a_reason(kind: str, zones: str, message: str, expected: str) -> None:
    assert code(kind, zones, message, **SETUP) == expected


def test_a_fixture_that_head_does_not_find_either_is_no_bug() -> None:
    assert code(FIXTURE_ERROR, "3", "fixture 'x' not found", Context(head_passes=False), **SETUP) == "fixture"


def test_a_fixture_that_the_product_brings_is_a_new_name() -> None:
    brought = Context(surface=SURFACE, fixtures={"g": "pkg/mod.py"}, is_test=lambda path: path.startswith("tests/"))
    assert code(FIXTURE_ERROR, "3", "fixture 'g' not found", brought, **SETUP) == "missing_symbol"
    in_tests = Context(surface=SURFACE, fixtures={"g": "tests/conftest.py"}, is_test=lambda _: True)
    assert code(FIXTURE_ERROR, "3", "fixture 'g' not found", in_tests, **SETUP) == "product_in_setup"


def test_a_conftest_that_fails_is_named() -> None:
    frames = (Frame(zone=Zone.TEST, path="tests/conftest.py", line=3, function="db"),)
    assert code("KeyError", "", "x", frames=frames, **SETUP) == "conftest"


def test_a_program_that_is_not_there_is_the_environment() -> None:
    frames = (
        Frame(zone=Zone.TEST, path="tests/test_a.py", line=1, function="t"),
        Frame(zone=Zone.STDLIB, path="subprocess.py", line=1, function="_execute_child"),
    )
    message = "[Errno 2] No such file or directory: 'convert'"
    assert code("FileNotFoundError", "", message, frames=frames) == "env"
    assert code("FileNotFoundError", "TP", "[Errno 2] No such file or directory: 'out.txt'") == "product_exception"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Outcome.PASSED, None),
        (Outcome.SKIPPED, "skip"),
        (Outcome.XFAILED, "xfail"),
        (Outcome.XPASSED, "xpass"),
        (Outcome.NOT_RUN, "not_run"),
        (Outcome.TIMEOUT, "timeout"),
        (Outcome.CRASHED, "crash"),
        (Outcome.FAILED, "unexplained"),
    ],
)
def test_an_outcome_without_an_exception_has_a_reason(outcome: Outcome, expected: str | None) -> None:
    assert classify(run(outcome), CONTEXT) == expected


@pytest.mark.parametrize(
    ("evidence", "tried"),
    [
        (Evidence(network=("connect 10.0.0.1:80",)), True),
        (Evidence(unrouted=1), True),
        (Evidence(unrouted=0, binds=("port 80",)), False),
        (None, False),
    ],
)
def test_network_is_seen_by_the_hook_or_by_the_counters(evidence: Evidence | None, *, tried: bool) -> None:
    assert network(TestRun(id="t", outcome=Outcome.PASSED, seconds=0, evidence=evidence)) is tried


def test_network_is_seen_in_the_chain_of_causes() -> None:
    chain = ("socket.gaierror: [Errno -2] Name or service not known",)
    assert code("pkg.errors.FetchError", "TP", "no answer", chain=chain) == "network"


@pytest.mark.parametrize(
    ("kind", "zones", "message", "node", "expected"),
    [
        ("ImportError", "T", "cannot import name 'g' from 'pkg.mod'", "tests/test_a.py", "missing_symbol"),
        ("ModuleNotFoundError", "T", "No module named 'pkg.new'", "tests/conftest.py", "missing_symbol"),
        ("ModuleNotFoundError", "T", "No module named 'left_pad'", "tests/test_a.py", "env"),
        ("AttributeError", "TP", "module 'collections' has no attribute 'Mapping'", "tests/test_a.py", "env"),
        ("ModuleNotFoundError", "T", "No module named 'tests.helpers'", "tests/test_a.py", "collect"),
        ("SyntaxError", "", "invalid syntax", "tests/test_a.py", "collect"),
        ("_pytest.config.exceptions.UsageError", "3", "unrecognized arguments", "tests/conftest.py", "usage"),
        ("ValueError", "TP", "the product raises while it is imported", "tests/test_a.py", "collect"),
        ("ValueError", "T", "x", "tests/conftest.py", "conftest"),
    ],
)
def test_a_file_that_cannot_be_collected_has_a_reason(
    kind: str, zones: str, message: str, node: str, expected: str
) -> None:
    failed = CollectFailure(node=node, failure=failure(kind, zones, message, phase="collect"))
    found = of_collection(failed, CONTEXT)
    assert found == expected
    assert found not in RIGHT


def test_an_error_of_collection_that_a_run_reports_is_no_reason_either() -> None:
    assert code("ValueError", "TP", phase="collect") == "collect"


def test_without_an_exception_no_product_frame_was_seen() -> None:
    assert not through_product(None)
    assert through_product(failure("ValueError", "TP"))


def test_a_missing_symbol_names_what_is_missing() -> None:
    assert missing(failure("MissingSymbol", "T", "pkg.mod:g")) == Missing(module="pkg.mod", name="g")
    assert missing(failure("AttributeError", "T", "no words that are known")) is None
    assert missing(failure("RuntimeError", "T", "No module named 'pkg.new'")) is None


def test_a_package_may_pass_on_a_new_name() -> None:
    failed = CollectFailure(node="t", failure=failure("ImportError", "T", "cannot import name 'g' from 'pkg' (x)"))
    assert wanted([failed]) == [("pkg", "g")]
    assert SURFACE.lenient(wanted([failed])).symbols == {"pkg.mod:g", "pkg.mod:Box.size", "pkg:g"}
    assert SURFACE.lenient([("pkg", "other")]).symbols == SURFACE.symbols


def test_what_the_plugin_found_in_the_causes_is_used() -> None:
    hidden = CollectFailure(
        node="tests/test_a.py",
        failure=failure("RuntimeError", "T", "no", phase="collect"),
        missing_symbols=("pkg.mod:g",),
    )
    assert of_collection(hidden, CONTEXT) is ReasonCode.MISSING_SYMBOL
    assert wanted([hidden]) == [("pkg.mod", "g")]


@pytest.mark.parametrize(("name", "code"), [("old", ReasonCode.COLLECT), ("g", ReasonCode.MISSING_SYMBOL)])
def test_a_circle_of_imports_lacks_no_name_that_is_there(name: str, code: ReasonCode) -> None:
    words = f"cannot import name '{name}' from partially initialized module 'pkg.mod' (most likely due to a circle) (x)"
    circle = CollectFailure(node="tests/test_a.py", failure=failure("ImportError", "TPP", words, phase="collect"))
    assert of_collection(circle, CONTEXT) is code
    assert stops_in_product(circle, CONTEXT) is (code is ReasonCode.COLLECT)


@pytest.mark.parametrize(
    ("kind", "zones", "message", "node", "stops"),
    [
        ("ValueError", "TP", "the product raises while it is imported", "tests/test_a.py", True),
        ("ImportError", "TP", "cannot import name 'olt' from 'pkg.mod' (x)", "tests/test_a.py", True),
        ("ImportError", "TP", "cannot import name 'g' from 'pkg.mod' (x)", "tests/test_a.py", False),
        ("ModuleNotFoundError", "TP", "No module named 'pkg.new'", "tests/test_a.py", False),
        ("ModuleNotFoundError", "TP", "No module named 'left_pad'", "tests/test_a.py", False),
        ("ValueError", "T", "the test file raises", "tests/test_a.py", False),
        ("ValueError", "TP", "the product raises", "tests/conftest.py", False),
    ],
)
def test_a_file_stops_in_the_product_where_that_raises_and_no_new_name_is_missing(
    kind: str, zones: str, message: str, node: str, stops: bool
) -> None:
    failed = CollectFailure(node=node, failure=failure(kind, zones, message, phase="collect"))
    assert stops_in_product(failed, CONTEXT) is stops
    everything_is_test = dataclasses.replace(CONTEXT, is_test=lambda _path: True)
    assert not stops_in_product(failed, everything_is_test)


def test_right_reasons_and_new_names_are_apart() -> None:
    assert not RIGHT & API


# --- symbols -----------------------------------------------------------------------------------


def differs(base: str | None, head: str | None, **more: Any) -> Surface:
    return surface([product(base, head, **more)], frozenset({"pkg"}))


@pytest.mark.parametrize(
    ("head", "added"),
    [
        ("def g(): pass\n", {"pkg.mod:g"}),
        ("async def g(): pass\n", {"pkg.mod:g"}),
        ("class C:\n    x = 1\n    def m(self): pass\n", {"pkg.mod:C", "pkg.mod:C.x", "pkg.mod:C.m"}),
        ("from os import path as p\nimport json.decoder\n", {"pkg.mod:p", "pkg.mod:json"}),
        ("if 1:\n    a = 1\nelse:\n    b: int = 2\n", {"pkg.mod:a", "pkg.mod:b"}),
        ("try:\n    import a\nexcept ImportError:\n    a = None\n", {"pkg.mod:a"}),
        ("try:\n    pass\nexcept E:\n    pass\nelse:\n    b = 1\nfinally:\n    c = 1\n", {"pkg.mod:b", "pkg.mod:c"}),
        ("with f() as g:\n    d = 1\n", {"pkg.mod:d"}),
        ("x, (y, z) = f()\n", {"pkg.mod:x", "pkg.mod:y", "pkg.mod:z"}),
        ("old = 2\n", set()),
        ("not python\n", set()),
    ],
)
def test_new_names_are_found(head: str, added: set[str]) -> None:
    assert differs("old = 1\n", head).symbols == added


def test_a_program_outside_of_the_packages_is_the_products_under_either_name() -> None:
    found = differs("", "def g(): pass\n", path="scripts/prices.py", module="scripts.prices")
    assert [found.owns(name) for name in ("pkg.mod", "scripts.prices", "prices", "json")] == [True, True, True, False]
    assert not differs("", "def g(): pass\n", path="pkg/json.py", module="pkg.json").owns("json")


def test_a_new_module_is_new_and_a_moved_one_is_moved() -> None:
    text = "def f(x):\n    return x\n\n\nLIMIT = 2\n"
    fresh = differs(None, text)
    assert fresh.modules == {"pkg.mod"}
    assert not fresh.moved
    assert fresh.new_module("pkg.mod")
    assert not fresh.new_module("pkg.mo")
    gone = product(text, None, path="pkg/old.py", module="pkg.old")
    moved = surface([gone, product(None, text)], frozenset({"pkg"}))
    assert moved.is_moved("pkg.mod")
    assert moved.is_moved("f")
    more = surface([gone, product(None, text + "def g(): pass\n")], frozenset({"pkg"}))
    assert not more.is_moved("pkg.mod")
    assert not more.is_moved("g")


@pytest.mark.parametrize(
    ("base", "head", "changed"),
    [
        ("def f(a): pass\n", "def f(a, b=1): pass\n", {"f"}),
        ("def f(a): pass\n", "def f(a): return 1\n", set()),
        ("class C:\n    def __init__(self): pass\n", "class C:\n    def __init__(self, n): pass\n", {"C.__init__", "C"}),
        ("class C:\n    a: int\n", "class C:\n    a: int\n    b: int\n", {"C", "C.__init__", "C.__new__"}),
        ("class C:\n    a = ib()\n", "class C:\n    a = ib()\n    b = ib()\n", {"C", "C.__init__", "C.__new__"}),
        ("class C:\n    a = 1\n", "class C:\n    a = 1\n    b = 2\n", set()),
    ],
)  # fmt: skip
def test_changed_parameters_are_found(base: str, head: str, changed: set[str]) -> None:
    assert differs(base, head).signatures == changed
