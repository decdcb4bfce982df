"""A failure's fingerprint: equal for the same failure elsewhere, different for another failure."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro_gate.model import Failure
from repro_gate_pytest import failure, testfiles


@pytest.fixture
def describe(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Run source as a file of a tree, describe what it raises."""
    (tmp_path / "tests").mkdir()

    def run(source: str, name: str = "tests/test_it.py", phase: str = "call", root: str = "") -> dict[str, Any]:
        tree = tmp_path / root
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
        zones = failure.Zones(str(tree), frozenset({str(path)}))
        try:
            exec(compile(source, str(path), "exec"), {"__name__": "m"})
        except BaseException as raised:  # noqa: BLE001 - whatever the source raises
            return failure.describe(raised, phase, zones)
        raise AssertionError("nothing was raised")

    return run


def fingerprint(message: str) -> str:
    return failure.normalise(message)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("<Thing at 0x7f00aa11> is bad", "<Thing at 0x55deadbeef> is bad"),
        ("no file /tmp/pytest-of-me/pytest-3/x", "no file /tmp/pytest-of-root/pytest-12/x"),
        ("took 1.25 s", "took 17 s"),
        ("took 1e-05 s", "took 2.5e+3 s"),
        ("id 6fa459ea-ee8a-3ca4-894e-db77e160355e", "id 886313e1-3b8a-5372-9b90-0c9aee199e5d"),
        ("/srv/a/proj/x.py is gone", "/builds/long/name/x.py is gone"),
    ],
)
def test_messages_that_differ_by_run_or_machine_are_alike(one: str, other: str) -> None:
    assert fingerprint(one) == fingerprint(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("no such key: 'a'", "no such key: 'b'"),
        ("left is larger", "right is larger"),
        ("", "x"),
        ("a/b is missing", "a/c is missing"),
    ],
)
def test_messages_with_different_words_are_different(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_only_the_first_line_counts() -> None:
    assert fingerprint("same\nbut 1") == fingerprint("same\nelse")
    assert len(fingerprint("x" * 10_000)) <= 300


SOURCE = "def helper(n):\n    raise ValueError('bad thing at %s' % object())\nhelper(3)\n"


def test_the_same_failure_on_other_lines_and_in_another_tree_has_the_same_fingerprint(
    describe: Callable[..., dict[str, Any]],
) -> None:
    one = describe(SOURCE)
    assert describe("# a comment\n\n" + SOURCE)["fingerprint"] == one["fingerprint"]
    assert describe(SOURCE, root="elsewhere/deep")["fingerprint"] == one["fingerprint"]


@pytest.mark.parametrize(
    "changed",
    [
        {"source": SOURCE.replace("ValueError", "TypeError")},
        {"source": SOURCE.replace("bad thing", "good thing")},
        {"source": SOURCE.replace("helper", "other")},
        {"name": "tests/test_other.py"},
        {"phase": "setup"},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_another_type_word_function_file_or_phase_is_another_failure(
    describe: Callable[..., dict[str, Any]], changed: dict[str, str]
) -> None:
    assert describe(**{"source": SOURCE, **changed})["fingerprint"] != describe(SOURCE)["fingerprint"]


def test_a_description_survives_the_wire_and_names_zones(describe: Callable[..., dict[str, Any]]) -> None:
    raised = describe("import json\njson.loads('{')\n")
    found = Failure.from_json(raised)
    assert found.to_json() == raised
    assert found.type == "json.decoder.JSONDecodeError"
    assert found.bases[0] == "ValueError"
    assert [str(frame.zone) for frame in found.frames if frame.path.startswith(("tests/", "json/"))] == [
        "Test",
        "Stdlib",
        "Stdlib",
        "Stdlib",
    ]


def test_causes_are_kept_as_a_chain_even_where_it_is_a_ring(describe: Callable[..., dict[str, Any]]) -> None:
    chained = describe("try:\n    1/0\nexcept Exception as e:\n    raise KeyError('k') from e\n")
    assert chained["chain"] == ["ZeroDivisionError: division by zero"]
    ring = describe("a = ValueError('a'); b = KeyError('b')\na.__cause__ = b; b.__cause__ = a\nraise a\n")
    assert ring["chain"] == ["KeyError: 'b'"]
    assert describe("try:\n    1/0\nexcept Exception:\n    raise KeyError('k') from None\n")["chain"] == []


def test_exceptions_that_cannot_be_shown_are_described_all_the_same(describe: Callable[..., dict[str, Any]]) -> None:
    shy = describe("class Shy(Exception):\n    def __str__(self): raise KeyboardInterrupt\nraise Shy\n")
    assert shy["message"] == "<str() raised KeyboardInterrupt>"
    assert describe("raise ValueError('\\udc80')")["message"] == "\udc80"
    assert len(describe("raise ValueError('x' * 10**6)")["message"]) < 5000
    deep = describe("def f(n):\n    f(n + 1)\nf(0)\n")
    assert len(deep["frames"]) <= 60


@pytest.mark.parametrize(
    ("path", "zone"),
    [
        ("tests/test_x.py", "Test"),
        ("tests/helper.py", "Test"),
        ("conftest.py", "Test"),
        ("pkg/x_test.py", "Test"),
        ("pkg/core.py", "Product"),
        ("pkg/latest.py", "Product"),
        (".venv/lib/python3.11/site-packages/dep/a.py", "3rd party"),
    ],
)
def test_files_of_the_tree_are_sorted_into_zones(tmp_path: Path, path: str, zone: str) -> None:
    zones = failure.Zones(str(tmp_path), frozenset())
    assert zones.place(str(tmp_path / path))[0] == zone


def test_files_that_the_gate_names_are_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(testfiles._State, "named", frozenset())
    testfiles.name(["checks/helper.py"])
    zones = failure.Zones(str(tmp_path), frozenset())
    found = {path: zones.place(str(tmp_path / path))[0] for path in ("checks/helper.py", "helper.py", "tests/a.py")}
    assert found == {"checks/helper.py": "Test", "helper.py": "Product", "tests/a.py": "Test"}


def test_files_outside_the_tree_are_sorted_into_zones(tmp_path: Path) -> None:
    zones = failure.Zones(str(tmp_path), frozenset())
    assert zones.place(os.__file__) == ("Stdlib", "os.py")
    assert zones.place(pytest.__file__)[0] == "3rd party"
    assert zones.place("<frozen importlib._bootstrap>")[0] == "Stdlib"
    assert zones.place(failure.__file__)[0] == "3rd party"


def test_a_report_without_an_exception_is_described_by_its_last_line() -> None:
    found = failure.describe_text("first\n\nlast line \n\n", "call", "report")
    assert (found["message"], found["type"], found["phase"]) == ("last line", "report", "call")
    assert failure.describe_text("", "call", "report")["message"] == "report"


GROUP = """
class Group(Exception):
    def __init__(self, exceptions):
        self.exceptions = exceptions
Group.__name__ = "BaseExceptionGroup"
def caught(kind, text):
    try:
        raise kind(text)
    except kind as error:
        return error
"""


@pytest.mark.parametrize(
    ("raises", "kind", "message", "chain"),
    [
        ("raise Group([caught(ValueError, 'a'), caught(ValueError, 'b')])", "ValueError", "a", "m.Group: "),
        ("raise Group([Group([caught(KeyError, 'a')])])", "KeyError", "'a'", "m.Group: "),
        ("raise Group([caught(ValueError, 'a'), caught(KeyError, 'b')])", "m.Group", "", ""),
        ("raise Group(7)", "m.Group", "7", ""),
        (
            "import pytest\nraise pytest.PytestUnraisableExceptionWarning('in x') from caught(ValueError, 'a')",
            "ValueError",
            "a",
            "pytest.PytestUnraisableExceptionWarning: in x",
        ),
        (
            "import pytest\nraise pytest.PytestUnhandledThreadExceptionWarning('in x')",
            "pytest.PytestUnhandledThreadExceptionWarning",
            "in x",
            "",
        ),
    ],
)
def test_an_exception_that_stands_for_another_is_told_as_that_one(
    describe: Callable[..., dict[str, Any]], raises: str, kind: str, message: str, chain: str
) -> None:
    found = describe(GROUP + raises)
    assert found["type"] == kind
    assert found["message"].startswith(message)
    assert bool(chain) == bool(found["chain"])
    assert all(each.startswith(chain) for each in found["chain"])
    assert ("caught" in [frame["function"] for frame in found["frames"]]) == bool(chain)


@pytest.mark.parametrize(
    ("example", "kind", "message", "functions"),
    [
        (">>> 1 + 1\n3\n", "doctest.DocTestFailure", "expected '3\\n', got '2\\n'", ["<module>"]),
        (">>> int('x')\n3\n", "ValueError", "invalid literal", ["<module>", "<module>"]),
    ],
)
def test_a_doctest_is_told_by_what_it_got_or_what_was_raised_in_it(
    describe: Callable[..., dict[str, Any]], example: str, kind: str, message: str, functions: list[str]
) -> None:
    found = describe(
        f"import doctest\ntest = doctest.DocTestParser().get_doctest({example!r}, {{}}, 'x', 'x', 0)\n"
        "doctest.DebugRunner(verbose=False).run(test)\n"
    )
    assert found["type"] == kind
    assert found["message"].startswith(message)
    assert [frame["function"] for frame in found["frames"] if frame["zone"] == "Test"] == functions
