"""JUnit XML of a check, and of a scan by the same schema: what a dashboard shows red is what the gate says."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import xmlschema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.model import (
    CheckReport,
    Failure,
    Finding,
    FlakeReport,
    Frame,
    GateResult,
    GateVerdict,
    Level,
    Proved,
    ReasonCode,
    Refused,
    Sandboxing,
    SkippedFile,
    TestVerdict,
    Trouble,
    Verdict,
    Zone,
)
from repro_gate.report import as_junit, check_junit

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).parents[1] / "data" / "junit-10.xsd"))
FAILURE = Failure(
    phase="call",
    type="AssertionError",
    bases=(),
    message="assert 1 == 2",
    chain=(),
    frames=(Frame(zone=Zone.TEST, path="tests/test_a.py", line=5, function="test_a"),),
    fingerprint="f",
)
PROVED = Proved(id="tests/test_a.py::TestA::test_a[1]", reason=ReasonCode.ASSERTION, failure=FAILURE)
REFUSED = Refused(id="tests/test_a.py::test_b", reason=ReasonCode.FAILS_ON_HEAD, why="fails with it", on_head=FAILURE)
NOTE = Finding(reason=ReasonCode.TIME_BOMB, text="fails in a year", id=PROVED.id)
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def gate(verdict: GateVerdict, name: str = "fail-to-pass", **facts: Any) -> GateResult:
    usual: dict[str, Any] = {"reason": ReasonCode.PROVED, "summary": "1 new"}
    return GateResult(gate=name, verdict=verdict, **{**usual, **facts})


def suites(*gates: GateResult, **facts: Any) -> list[ElementTree.Element]:
    """The suites of the file, which the schema accepts."""
    usual: dict[str, Any] = {"base": "b" * 40, "head": "a" * 40, "how": "given", "levels": {}, "command": "c"}
    stream = io.StringIO()
    check_junit.write(CheckReport(gates=gates, **{**usual, **facts}), stream)
    SCHEMA.validate(stream.getvalue())
    return list(ElementTree.fromstring(stream.getvalue().encode()))


def states(suite: ElementTree.Element) -> dict[str, str]:
    """Name of each testcase, and what it came to."""
    return {
        f"{case.attrib['classname']}::{case.attrib['name']}": next(
            (child.tag for child in case if child.tag != "system-out"), "passed"
        )
        for case in suite.findall("testcase")
    }


OWN = "repro-gate.fail-to-pass::fail-to-pass"


def test_a_gate_that_passes_is_green_with_its_proofs_and_says_what_it_did_not_count() -> None:
    [suite] = suites(gate(GateVerdict.PASS, proved=(PROVED,), refused=(REFUSED,), findings=(NOTE,)))
    assert states(suite) == {
        OWN: "passed",
        "tests.test_a.TestA::test_a[1]": "passed",
        "tests.test_a::test_b": "skipped",
    }
    proof = suite.findall("testcase")[1].find("system-out")
    assert proof is not None
    assert proof.text == "failed on base: AssertionError: assert 1 == 2 (tests/test_a.py:5)\ntime_bomb: fails in a year"


def test_a_gate_that_fails_is_red_in_itself_and_in_the_tests_that_speak_against_the_change() -> None:
    [suite] = suites(gate(GateVerdict.FAIL, proved=(PROVED,), refused=(REFUSED,)))
    assert states(suite) == {
        OWN: "failure",
        "tests.test_a.TestA::test_a[1]": "passed",
        "tests.test_a::test_b": "failure",
    }
    assert (suite.attrib["tests"], suite.attrib["failures"], suite.attrib["errors"]) == ("3", "2", "0")
    red = suite.findall("testcase")[2].find("failure")
    assert red is not None
    assert red.attrib == {"type": "fails_on_head", "message": "fails with it"}
    assert "head: AssertionError: assert 1 == 2" in (red.text or "")


def test_a_test_that_is_proved_and_found_guilty_is_one_red_case() -> None:
    guilty = Finding(reason="flaky-tests", text="flaky", id=PROVED.id, next_step="replay it", output="said")
    [suite] = suites(gate(GateVerdict.FAIL, proved=(PROVED,), findings=(guilty, NOTE)))
    assert states(suite)["tests.test_a.TestA::test_a[1]"] == "failure"
    assert len(suite.findall("testcase")) == 2


@pytest.mark.parametrize(
    ("verdict", "level", "state"),
    [
        (GateVerdict.PASS, Level.BLOCK, "passed"),
        (GateVerdict.NEUTRAL, Level.BLOCK, "skipped"),
        (GateVerdict.INCONCLUSIVE, Level.BLOCK, "error"),
        (GateVerdict.FAIL, Level.BLOCK, "failure"),
        (GateVerdict.FAIL, Level.WARN, "skipped"),
        (GateVerdict.INCONCLUSIVE, Level.WARN, "skipped"),
        (GateVerdict.PASS, Level.WARN, "passed"),
    ],
)
def test_no_answer_is_an_error_and_a_gate_that_warns_turns_nothing_red(
    verdict: GateVerdict, level: Level, state: str
) -> None:
    [suite] = suites(gate(verdict), levels={"fail-to-pass": level})
    assert states(suite) == {OWN: state}


def test_trouble_is_an_error_beside_the_gates() -> None:
    trouble = Trouble(slug="prepare-failed", text="No compiler.", next_step="Install one.", details="cc: not found")
    first, second = suites(gate(GateVerdict.PASS), trouble=trouble, started_at="2026-01-02T03:04:05Z")
    assert first.attrib["timestamp"] == "2026-01-02T03:04:05Z"
    error = second.find("testcase/error")
    assert error is not None
    assert error.attrib == {"type": "prepare-failed", "message": "No compiler. Next: Install one."}
    assert error.text == "cc: not found"


def test_a_check_of_nothing_is_an_empty_file() -> None:
    assert suites() == []


HOSTILE = st.text(st.sampled_from("a<>&\"']]\x00\x1b\ud800\ufffe\n\r:[]") | st.characters(), max_size=30)


@unhurried
@given(HOSTILE, HOSTILE)
def test_the_file_fits_its_schema_whatever_tests_say(name: str, message: str) -> None:
    failure = dataclasses.replace(FAILURE, message=message, type=name)
    refusal = dataclasses.replace(REFUSED, id=f"t.py::{name}", why=message, on_base=failure)
    finding = Finding(reason="x", text=message, id=f"t.py::{name}x", output=message, next_step=name)
    trouble = Trouble(slug="s", text=message, next_step=name, details=message)
    told = gate(GateVerdict.FAIL, refused=(refusal,), findings=(finding,), summary=message)
    assert [suite.attrib["failures"] for suite in suites(told, trouble=trouble, command=message)] == ["3", "0"]


def test_the_file_of_a_scan_fits_the_same_schema() -> None:
    tests = [
        TestVerdict(
            id=f"t.py::{kind}", verdict=kind, runs=20, failures=3, seconds=1234.5678, failure=FAILURE, output="o"
        )
        for kind in Verdict
    ]
    report = FlakeReport(
        seed=1,
        runs=20,
        tests=tuple(tests),
        sandbox=Sandboxing(name="host", hermetic=False),
        mode="fork",
        mode_reason="",
        python="3.12",
        pytest="9.0",
        seconds=86400.0,
        skipped_files=(SkippedFile(file="tests/a.py", reason="r", skipped=1, starts=2),),
        started_at="2026-01-02T03:04:05Z",
    )
    stream = io.StringIO()
    as_junit.write(report, stream)
    SCHEMA.validate(stream.getvalue())


def test_the_schema_refuses_what_is_no_junit() -> None:
    """The instrument: it must be able to say no."""
    bad = '<testsuites><testsuite name="a" tests="0" failures="0" errors="0"><case/></testsuite></testsuites>'
    with pytest.raises(xmlschema.XMLSchemaValidationError, match="case"):
        SCHEMA.validate(bad)
