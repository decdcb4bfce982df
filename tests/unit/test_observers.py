"""The small parts that watch a test, and how what they tell is read."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest

from repro_gate.experiment import Project
from repro_gate.experiment.worker import Facts, Worker
from repro_gate.model import CollectFailure, Conditions, Evidence, ItemFacts, Lenient
from repro_gate.sandbox import Host, Interpreter
from repro_gate_pytest import absence, counters, failure, standin, wire

SNMP = "Ip: Forwarding OutNoRoutes X\nIp: 1 7 9\nIcmp: InMsgs\nIcmp: 0\n"


def test_packets_of_both_families_are_added() -> None:
    assert counters.parse(SNMP, "Ip6InReceives  5\nIp6OutNoRoutes  \t 4\n") == 11
    assert counters.parse(SNMP, "") == 7


@pytest.mark.parametrize("text", ["", "Ip: A B\n", "Ip: A\nIp: 1\n", SNMP.replace("7", "x")])
def test_counters_that_are_none_are_not_taken_for_zero(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        counters.parse(text, "")


def raised(program: str) -> BaseException:
    try:
        exec(program, {})
    except BaseException as caught:  # noqa: BLE001 - whatever the program raises
        return caught
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize(
    ("program", "modules", "symbols"),
    [
        ("import no_such.thing", ["no_such"], []),
        ("import json.no_such", ["json.no_such"], []),
        ("from json import no_such", [], ["json:no_such"]),
        ("import json; json.no_such", [], ["json:no_such"]),
        ("import json; json.JSONDecoder.no_such", [], ["json.decoder:JSONDecoder.no_such"]),
        ("no_such", [], [":no_such"]),
        ("''.no_such", [], []),
        ("raise ImportError('words')", [], []),
        ("raise ValueError('cannot import name x')", [], []),
        ("try:\n    import no_such\nexcept ImportError as e:\n    raise RuntimeError from e", ["no_such"], []),
        ("try:\n    import no_such\nexcept ImportError:\n    raise RuntimeError from None", [], []),
    ],
)
def test_what_an_exception_names_as_missing(program: str, modules: list[str], symbols: list[str]) -> None:
    assert absence.missing(raised(program)) == (modules, symbols)


def test_before_python_3_10_the_words_alone_tell_what_is_missing() -> None:
    words = "type object 'Old' has no attribute 'new'", "module 'pkg.core' has no attribute 'new'"
    assert [absence.missing(AttributeError(text))[1] for text in words] == [[":Old.new"], ["pkg.core:new"]]


def test_a_ring_of_causes_ends() -> None:
    one, two = ImportError("a"), ModuleNotFoundError("b", name="b")
    one.__cause__, two.__cause__ = two, one
    assert absence.missing(one) == (["b"], [])


def test_the_projects_own_exception_is_found_below_pytests() -> None:
    class CollectError(Exception):
        pass

    class ConftestImportFailure(Exception):
        def __init__(self, cause: Exception) -> None:
            self.cause = cause

    class OldConftestImportFailure(Exception):
        def __init__(self, cause: Exception) -> None:
            self.excinfo = (type(cause), cause, None)

    inner = ModuleNotFoundError("No module named 'x'", name="x")
    wrapped = CollectError("long text")
    wrapped.__cause__ = inner
    for outer in (
        wrapped,
        ConftestImportFailure(inner),
        OldConftestImportFailure(inner),
        ConftestImportFailure(wrapped),
    ):
        described = absence.describe(outer, failure.Zones("/tree", frozenset()))
        assert (described["f"]["type"], described["modules"]) == ("ModuleNotFoundError", ["x"])
    alone = CollectError("said by pytest itself")
    assert absence.describe(alone, failure.Zones("/tree", frozenset()))["f"]["message"] == "said by pytest itself"


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """Lets a test say that a test is running."""
    return types.SimpleNamespace(now=lambda: monkeypatch.setattr(standin.State, "running", True))


def test_a_stand_in_is_shown_and_hashed_while_a_test_runs(running: types.SimpleNamespace) -> None:
    one = standin.for_symbol("pkg.mod:name")
    running.now()
    assert repr(one) == "<missing pkg.mod:name>"
    assert {one: 1}
    assert getattr(one, "__wrapped__", None) is None
    assert getattr(one, "pytest_mock_example_attribute_that_shouldnt_exist", None) is None


@pytest.mark.parametrize(
    "use",
    [
        lambda x: x(),
        lambda x: x.y,
        lambda x: x[0],
        lambda x: x + 1,
        lambda x: 1 + x,
        lambda x: -x,
        lambda x: x < 1,
        lambda x: x == 1,
        lambda x: x != 1,
        bool,
        str,
        lambda x: f"{x}",
        len,
        list,
        lambda x: 1 in x,
        int,
        float,
        range,
        lambda x: isinstance(1, x),
        lambda x: isinstance(x, int),
        lambda x: issubclass(int, x),
        lambda x: x.__enter__(),
        lambda x: setattr(x, "a", 1),
        next,
        lambda x: types.new_class("D", (x,)),
    ],
)
def test_every_use_is_absorbed_before_and_fails_in_a_running_test(use: Any, running: types.SimpleNamespace) -> None:
    one = standin.for_symbol("pkg.mod:name")
    try:
        use(one)
    except StopIteration:
        pass
    running.now()
    with pytest.raises(standin.MissingSymbol, match=r"^pkg\.mod:name$"):
        use(one)


def test_a_missing_symbol_is_no_exception() -> None:
    assert not issubclass(standin.MissingSymbol, Exception)
    raised_ = failure.describe(standin.MissingSymbol("a:b"), "call", failure.Zones("/tree", frozenset()))
    assert (raised_["type"], raised_["message"]) == ("MissingSymbol", "a:b")


def test_evidence_goes_there_and_back() -> None:
    plain = {"network": [], "children": [], "files": [], "binds": [], "more": 0}
    assert Evidence.from_json({}).to_json() == plain
    full = {**plain, "lines": {"a.py": [1, 2], "b.py": [1]}, "opened": ["x"], "unrouted": 0}
    evidence = Evidence.from_json(full)
    assert evidence.to_json() == full
    assert evidence.lines == (("a.py", 1), ("a.py", 2), ("b.py", 1))
    assert evidence.unrouted == 0


@pytest.mark.parametrize("bad", [{"lines": [1]}, {"lines": {"a": ["x"]}}, {"lines": {"a": 1}}, {"unrouted": "many"}])
def test_evidence_of_another_shape_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Evidence.from_json(bad)


ITEM = {"t": 0, "file": "a.py", "kind": "function", "original": "test_a", "span": [1, 2], "fingerprint": "f"}


def facts_of(*items: dict[str, Any], **table: Any) -> Facts:
    facts = Facts(tests=[("a.py::test_a", "a.py"), ("a.py::test_a", "a.py")])
    facts.add_items({"items": list(items), "fixtures": [["x", "conftest.py", 3]], "files": ["h.py"], **table})
    return facts


def test_facts_of_items_are_read_with_what_they_share() -> None:
    facts = facts_of({**ITEM, "fixtures": [0], "reads": [0], "params": "n=1", "index": 2}, {**ITEM, "t": 1})
    assert facts.items == {
        "a.py::test_a": ItemFacts(
            id="a.py::test_a",
            file="a.py",
            kind="function",
            original="test_a",
            params="n=1",
            index=2,
            span=(1, 2),
            fixtures=(("x", "conftest.py", 3),),
            fingerprint="f",
            reads_modules=("h.py",),
        )
    }


@pytest.mark.parametrize(
    "bad", [{"t": 9}, {"span": [1]}, {"span": None}, {"fixtures": [1]}, {"reads": ["x"]}, {"index": "one"}], ids=str
)
def test_facts_of_another_shape_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises((KeyError, TypeError, ValueError, IndexError)):
        facts_of({**ITEM, **bad})


def test_a_frame_of_another_shape_is_a_note_and_no_fact(tmp_path: Path, interpreter: Interpreter) -> None:
    project = Project(original=tmp_path, subdirectory="", pytest_args=(), interpreter=interpreter, environment={})
    worker = Worker(project, Host(), tmp_path / "w", Conditions(), ())
    bad = {"ev": wire.FACTS, "items": [{**ITEM, "t": 9}]}, {"ev": wire.IMPORTED, "lines": 3}, {"ev": wire.COLLECT_ERROR}
    for frame in bad:
        worker.take(frame)
    assert worker.facts.items == {}
    assert [note.partition(":")[0] for note in worker.facts.notes] == ["a frame that is none"] * 3


def test_imports_and_collection_failures_are_read() -> None:
    facts = Facts()
    facts.add_imports({"lines": {"a.py": [2, 1]}, "opened": ["d.json"], "origins": {"pkg": "pkg/__init__.py"}})
    assert facts.import_lines == {"a.py": frozenset({1, 2})}
    assert (facts.import_opened, facts.origins) == (("d.json",), {"pkg": "pkg/__init__.py"})
    described = absence.describe(raised("from json import no_such"), failure.Zones("/tree", frozenset()))
    cause = CollectFailure.from_json({"node": "a.py", **described})
    assert (cause.node, cause.failure.phase, cause.missing_symbols) == ("a.py", "collect", ("json:no_such",))


def test_nothing_lenient_is_nothing() -> None:
    assert not Lenient()
    assert Lenient(symbols=frozenset({"b:c", "a:b"})).to_json() == {"modules": [], "symbols": ["a:b", "b:c"]}
