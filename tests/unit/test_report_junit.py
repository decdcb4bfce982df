"""JUnit XML: always well-formed, and each verdict where a dashboard looks for it."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.model import (
    CapsuleRef,
    Cause,
    Failure,
    FlakeReport,
    Frame,
    Sandboxing,
    SkippedFile,
    TestVerdict,
    Verdict,
    Zone,
)
from repro_gate.report import as_junit

# A machine that is busy with something else is no bug.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

pytest_plugins = ["pytester"]

FAILURE = Failure(
    phase="call",
    type="KeyError",
    bases=(),
    message="'b' <&> \"q\"",
    chain=(),
    frames=(Frame(zone=Zone.TEST, path="tests/t.py", line=3, function="test_x"),),
    fingerprint="f",
)


def verdict(kind: Verdict, **facts: Any) -> TestVerdict:
    usual: dict[str, Any] = {"id": "tests/t.py::TestA::test_x[1]", "runs": 20, "failures": 0, "seconds": 1.25}
    return TestVerdict(verdict=kind, **{**usual, **facts})


def parsed(*tests: TestVerdict, **facts: Any) -> ElementTree.Element:
    """The testsuite element of the report, as a consumer reads it from bytes."""
    usual: dict[str, Any] = {
        "seed": 42,
        "runs": 20,
        "sandbox": Sandboxing(name="host", hermetic=False),
        "mode": "fork",
        "mode_reason": "",
        "python": "3.12",
        "pytest": "9.0",
        "seconds": 3.0,
    }
    stream = io.StringIO()
    as_junit.write(FlakeReport(tests=tests, **{**usual, **facts}), stream)
    root = ElementTree.fromstring(stream.getvalue().encode())
    assert root.tag == "testsuites"
    (suite,) = root
    return suite


def child(element: ElementTree.Element, tag: str) -> ElementTree.Element:
    (found,) = element.findall(tag)
    return found


def test_the_suite_counts_and_dates_its_tests() -> None:
    tests = [verdict(kind) for kind in Verdict]
    suite = parsed(*tests, started_at="2026-01-02T03:04:05Z")
    assert suite.attrib == {
        "name": "repro-gate",
        "tests": "5",
        "failures": "3",
        "errors": "0",
        "skipped": "1",
        "time": "3.000",
        "timestamp": "2026-01-02T03:04:05Z",
    }
    assert len(suite.findall("testcase")) == 5
    assert len(suite.findall("testcase/failure")) == 3
    assert len(suite.findall("testcase/skipped")) == 1


def test_the_properties_tell_the_verdict_of_the_scan_and_how_to_repeat_it() -> None:
    properties = child(parsed(verdict(Verdict.STABLE), incomplete="budget", directed_runs=6), "properties")
    assert {entry.attrib["name"]: entry.attrib["value"] for entry in properties} == {
        "verdict": "inconclusive",
        "reason": "incomplete",
        "seed": "42",
        "runs": "20",
        "directed_runs": "6",
        "incomplete": "budget",
    }


@pytest.mark.parametrize("kind", [Verdict.FLAKY, Verdict.CONDITION_DEPENDENT])
def test_a_finding_is_a_failure_with_cause_and_replay_command(kind: Verdict) -> None:
    test = verdict(
        kind,
        failures=3,
        rate=0.15,
        interval=(0.05, 0.36),
        cause=Cause(axis="clock", detail="fails on 29 February"),
        failure=FAILURE,
        output="printed <b>",
        capsule=CapsuleRef(path="a b.zip", id="i", pinned=True, determinism="D2", replayed=5, of=5),
    )
    case = child(parsed(test), "testcase")
    failure = child(case, "failure")
    assert failure.attrib == {
        "type": kind.value,
        "message": f"{kind.value}, failed 15 % (5 to 36 %): clock: fails on 29 February; "
        "replay: repro-gate replay 'a b.zip'",
    }
    assert failure.text == "tests/t.py:3: in test_x (Test)\nKeyError in call: 'b' <&> \"q\""
    assert child(case, "system-out").text == "printed <b>"


def test_without_a_capsule_no_replay_is_promised() -> None:
    failure = child(child(parsed(verdict(Verdict.FLAKY, failures=1)), "testcase"), "failure")
    assert failure.attrib["message"] == "flaky, failed 1 of 20: cause not looked for"


def test_a_test_that_always_fails_is_a_failure_of_that_type() -> None:
    failure = child(child(parsed(verdict(Verdict.ALWAYS_FAILING, failures=20, failure=FAILURE)), "testcase"), "failure")
    assert failure.attrib == {"type": "always-failing", "message": "always-failing: KeyError: 'b' <&> \"q\""}


def test_a_test_that_was_not_judged_is_skipped_with_the_reason() -> None:
    skipped = child(child(parsed(verdict(Verdict.NOT_JUDGED, detail="skipped: no database")), "testcase"), "skipped")
    assert skipped.attrib == {"type": "not-judged", "message": "skipped: no database"}


def test_a_test_that_passed_and_failed_without_being_confirmed_is_an_error_with_the_reason() -> None:
    why = "failed and passed; not confirmed: interrupted"
    suite = parsed(verdict(Verdict.NOT_JUDGED, failures=3, detail=why, failure=FAILURE), verdict(Verdict.STABLE))
    assert (suite.attrib["errors"], suite.attrib["skipped"], suite.attrib["failures"]) == ("1", "0", "0")
    case = suite.findall("testcase")[0]
    error = child(case, "error")
    assert error.attrib == {"type": "unconfirmed", "message": f"{why} (failed 3 of 20)"}
    assert "KeyError in call" in (error.text or "")
    assert case.find("skipped") is None


@pytest.mark.parametrize("facts", [{"failures": 20}, {"failures": 0}, {"failures": 3, "own_doing": True}])
def test_what_did_not_both_pass_and_fail_of_itself_is_only_skipped(facts: dict[str, Any]) -> None:
    suite = parsed(verdict(Verdict.NOT_JUDGED, **facts))
    assert (suite.attrib["errors"], suite.attrib["skipped"]) == ("0", "1")
    assert child(suite, "testcase").find("error") is None


def test_a_stable_test_is_a_bare_testcase() -> None:
    case = child(parsed(verdict(Verdict.STABLE)), "testcase")
    assert case.attrib == {"classname": "tests.t.TestA", "name": "test_x[1]", "time": "1.250"}
    assert len(case) == 0


def test_long_texts_are_clipped() -> None:
    failure = dataclasses.replace(FAILURE, message="m" * 100_000)
    case = child(parsed(verdict(Verdict.FLAKY, failure=failure, output="o" * 100_000)), "testcase")
    for tag in ("failure", "system-out"):
        assert "84000 characters left out" in (child(case, tag).text or "")


SUITE = """
import pytest

class TestA:
    @pytest.mark.parametrize("value", ["a::b", "x/y.py", "[z]"], ids=str)
    def test_x(self, value):
        pass

def test_plain():
    pass
"""


def test_testcases_are_named_as_pytest_names_its_own(pytester: pytest.Pytester) -> None:
    folder = pytester.mkdir("some.folder")
    (folder / "test_a.py").write_text(SUITE, encoding="utf-8")
    quiet = ("-p", "no:cacheprovider", "-p", "no:randomly")
    result = pytester.runpytest_subprocess("--collect-only", "-q", *quiet)
    ids = [line for line in result.outlines if "::" in line]
    pytester.runpytest_subprocess("--junitxml=out.xml", *quiet)
    cases = ElementTree.parse(pytester.path / "out.xml").iter("testcase")
    assert [as_junit.names(test_id) for test_id in ids] == [
        (case.attrib["classname"], case.attrib["name"]) for case in cases
    ]
    assert len(ids) == 4


@unhurried
@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_gives_well_formed_xml_that_reads_back_the_same(text: str, other: str) -> None:
    failure = dataclasses.replace(FAILURE, message=other)
    test = verdict(Verdict.FLAKY, id=f"t.py::test[{text}]", detail=text, output=other, failure=failure)
    case = child(parsed(test, verdict(Verdict.NOT_JUDGED, detail=other)), "testcase[1]")
    assert case.attrib["name"] == as_junit.legal(f"test[{text}]")
    output = case.find("system-out")
    assert ((output.text or "") if output is not None else "") == as_junit.legal(other)


@unhurried
@given(st.text())
def test_legal_text_changes_only_what_xml_cannot_hold(text: str) -> None:
    clean = as_junit.legal(text)
    assert as_junit.legal(clean) == clean
    if text.isprintable() and "\uffff" not in text:
        assert clean == text


def test_illegal_characters_are_shown_as_escapes() -> None:
    assert as_junit.legal("\x1b[31m\x00\r\ud800\uffff\t\n漢") == r"\x1b[31m\x00\r\ud800\uffff" + "\t\n漢"


def test_a_file_in_any_encoding_will_do(tmp_path: Path) -> None:
    path = tmp_path / "out.xml"
    report = FlakeReport(
        seed=1,
        runs=2,
        tests=(verdict(Verdict.NOT_JUDGED, id="t.py::é漢", detail="…"),),
        sandbox=Sandboxing(name="host", hermetic=False),
        mode="fork",
        mode_reason="",
        python="3.12",
        pytest="9.0",
        seconds=1.0,
    )
    with path.open("w", encoding="ascii") as stream:
        as_junit.write(report, stream)
    case = next(ElementTree.parse(path).iter("testcase"))
    assert case.attrib["name"] == "é漢"
    assert child(case, "skipped").attrib["message"] == "…"


def test_a_file_that_skips_itself_is_a_skipped_testcase() -> None:
    skipped = SkippedFile(file="tests/test_opt.py", reason="no display", skipped=4, starts=4)
    suite = parsed(verdict(Verdict.STABLE), skipped_files=(skipped,))
    assert (suite.attrib["tests"], suite.attrib["skipped"]) == ("2", "1")
    case = suite.findall("testcase")[-1]
    assert (case.attrib["classname"], case.attrib["name"]) == ("", "tests.test_opt")
    assert child(case, "skipped").attrib["message"] == "skipped at collection in 4 of 4 starts: no display"
