"""SARIF: what the official schema and code scanning ask for, and nothing of a test that could be more than text."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.model import (
    Cause,
    CheckReport,
    Failure,
    Finding,
    FlakeReport,
    Frame,
    GateResult,
    GateVerdict,
    Level,
    ReasonCode,
    Refused,
    Sandboxing,
    TestVerdict,
    Trouble,
    Verdict,
    Zone,
)
from repro_gate.report import as_sarif

SCHEMA = jsonschema.Draft4Validator(
    json.loads((Path(__file__).parents[1] / "data" / "sarif-2.1.0.json").read_text(encoding="utf-8")),
    format_checker=jsonschema.Draft4Validator.FORMAT_CHECKER,
)
FAILURE = Failure(
    phase="call",
    type="AssertionError",
    bases=(),
    message="assert 1 == 2",
    chain=(),
    frames=(Frame(zone=Zone.PRODUCT, path="src/späte tür.py", line=7, function="f"),),
    fingerprint="f",
)
FLAKY = TestVerdict(
    id="tests/test_a.py::test_a[1]",
    verdict=Verdict.FLAKY,
    runs=20,
    failures=3,
    seconds=1.0,
    cause=Cause(axis="clock", detail="fails at midnight"),
    failure=FAILURE,
)
REFUSED = Refused(
    id="tests/test_a.py::test_b", reason=ReasonCode.FAILS_ON_HEAD, why="fails with the change", on_head=FAILURE
)
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def scan(*tests: TestVerdict, **facts: Any) -> FlakeReport:
    usual: dict[str, Any] = {
        "seed": 42,
        "runs": 20,
        "sandbox": Sandboxing(name="host", hermetic=False),
        "mode": "fork",
        "mode_reason": "",
        "python": "3.12",
        "pytest": "9.0",
        "seconds": 3.0,
        "commit": "c" * 40,
        "started_at": "2026-01-02T03:04:05Z",
    }
    return FlakeReport(tests=tests, **{**usual, **facts})


def gate(verdict: GateVerdict = GateVerdict.FAIL, **facts: Any) -> GateResult:
    usual: dict[str, Any] = {"gate": "fail-to-pass", "reason": ReasonCode.FAILS_ON_HEAD}
    return GateResult(verdict=verdict, **{**usual, **facts})


def check(*gates: GateResult, **facts: Any) -> CheckReport:
    usual: dict[str, Any] = {"base": "b" * 40, "head": "a" * 40, "how": "given", "levels": {}, "command": "c"}
    return CheckReport(gates=gates, **{**usual, **facts})


def run_of(report: CheckReport | FlakeReport, prefix: str = "", **more: Any) -> dict[str, Any]:
    """The one run of the file, which the schema accepts."""
    stream = io.StringIO()
    if isinstance(report, CheckReport):
        as_sarif.write_check(report, stream, prefix, **more)
    else:
        as_sarif.write_scan(report, stream, prefix, **more)
    document = json.loads(stream.getvalue().encode("ascii"))
    SCHEMA.validate(document)
    [run] = document["runs"]
    return dict(run)


def test_a_finding_stands_where_it_failed_with_level_rule_and_test() -> None:
    run = run_of(check(gate(refused=(REFUSED,))))
    [result] = run["results"]
    assert (result["ruleId"], result["level"]) == ("fail-to-pass/fails_on_head", "error")
    place = result["locations"][0]
    assert unquote(place["physicalLocation"]["artifactLocation"]["uri"]) == "src/späte tür.py"
    assert place["physicalLocation"]["artifactLocation"]["uri"].isascii()
    assert place["physicalLocation"]["region"] == {"startLine": 7}
    assert place["logicalLocations"][0]["fullyQualifiedName"] == REFUSED.id
    assert "fails with the change" in result["message"]["text"]


def test_each_rule_says_what_to_do_and_each_result_points_to_its_own() -> None:
    steps = {"fails_on_head": "Make the test pass on head."}
    other = dataclasses.replace(REFUSED, id="tests/test_a.py::test_c", reason=ReasonCode.NETWORK)
    run = run_of(check(gate(refused=(REFUSED, other, REFUSED))), steps=steps)
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["fail-to-pass/fails_on_head", "fail-to-pass/network"]
    assert "Make the test pass on head." in rules[0]["help"]["text"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


@pytest.mark.parametrize(
    ("level", "verdict", "expected"),
    [
        (Level.BLOCK, GateVerdict.FAIL, "error"),
        (Level.WARN, GateVerdict.FAIL, "warning"),
        (Level.BLOCK, GateVerdict.INCONCLUSIVE, "error"),
        (Level.BLOCK, GateVerdict.PASS, "note"),
    ],
)
def test_the_level_is_that_of_the_gate_and_its_verdict(level: Level, verdict: GateVerdict, expected: str) -> None:
    finding = Finding(reason=ReasonCode.TIME_BOMB, text="t", id="tests/test_a.py::test_a")
    run = run_of(check(gate(verdict, findings=(finding,)), levels={"fail-to-pass": level}))
    assert [result["level"] for result in run["results"]] == [expected]


def test_what_has_no_place_is_told_of_the_run_since_readers_refuse_a_result_without_one() -> None:
    bare = gate(reason=ReasonCode.NO_TEST, summary="no test")
    run = run_of(check(bare, trouble=Trouble(slug="s", text="No daemon.", next_step="Start it."), policy=("p",)))
    assert run["results"] == []
    told = run["invocations"][0]["toolExecutionNotifications"]
    assert [each["level"] for each in told] == ["error", "error", "warning"]
    assert [each["associatedRule"]["id"] for each in told] == ["fail-to-pass/no_test", "trouble", "policy"]
    assert "No daemon. Next: Start it." in told[1]["message"]["text"]


def test_a_run_without_an_answer_was_not_successful_and_one_that_found_something_was() -> None:
    failed = run_of(check(gate(refused=(REFUSED,))))["invocations"][0]
    assert (failed["executionSuccessful"], failed["exitCode"]) == (True, 1)
    lost = run_of(check(gate(GateVerdict.INCONCLUSIVE)))["invocations"][0]
    assert (lost["executionSuccessful"], lost["exitCode"]) == (False, 3)
    stopped = run_of(scan(incomplete="budget"))["invocations"][0]
    assert (stopped["executionSuccessful"], stopped["exitCode"]) == (False, 3)
    assert run_of(scan())["invocations"][0]["executionSuccessful"] is True


def test_a_scan_tells_its_findings_and_what_could_not_be_confirmed_and_nothing_else() -> None:
    doubtful = dataclasses.replace(FLAKY, verdict=Verdict.NOT_JUDGED, detail="failed and passed", cause=None)
    broken = dataclasses.replace(FLAKY, verdict=Verdict.ALWAYS_FAILING, failures=20)
    run = run_of(scan(FLAKY, doubtful, broken), command="repro-gate scan --seed=42")
    assert [(each["ruleId"], each["level"]) for each in run["results"]] == [
        ("scan/flaky", "error"),
        ("scan/unconfirmed", "warning"),
    ]
    assert "clock: fails at midnight" in run["results"][0]["message"]["text"]
    assert run["invocations"][0]["commandLine"] == "repro-gate scan --seed=42"
    assert run["invocations"][0]["startTimeUtc"] == "2026-01-02T03:04:05Z"
    assert run["properties"]["commit"] == "c" * 40


def test_two_projects_of_one_repository_have_categories_of_their_own() -> None:
    assert run_of(scan(), "packages/one")["automationDetails"]["id"] == "repro-gate/scan/packages/one/"
    assert run_of(check())["automationDetails"]["id"] == "repro-gate/check/"


def test_the_fingerprint_stays_when_the_line_moves_and_changes_with_test_and_failure() -> None:
    def fingerprint(test: TestVerdict) -> str:
        return str(run_of(scan(test))["results"][0]["partialFingerprints"]["reproGate/v1"])

    frame = dataclasses.replace(FAILURE.frames[0], line=99)
    moved = dataclasses.replace(FLAKY, failure=dataclasses.replace(FAILURE, frames=(frame,)))
    other = dataclasses.replace(FLAKY, failure=dataclasses.replace(FAILURE, fingerprint="g"))
    assert fingerprint(moved) == fingerprint(FLAKY)
    assert len({fingerprint(FLAKY), fingerprint(other), fingerprint(dataclasses.replace(FLAKY, id="a.py::b"))}) == 3


def test_more_than_code_scanning_shows_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_sarif, "MOST_RESULTS", 2)
    run = run_of(scan(*(dataclasses.replace(FLAKY, id=f"tests/t.py::test_{n}") for n in range(5))))
    assert len(run["results"]) == 2
    [told] = run["invocations"][0]["toolExecutionNotifications"]
    assert told["message"]["text"] == "3 more findings are in the report."


HOSTILE = st.text(st.sampled_from("a[]()\\{}%#?:/.\x1b\u202e\u200b\ud800\n é") | st.characters(), max_size=40)


@unhurried
@given(HOSTILE, HOSTILE, HOSTILE)
def test_text_of_a_test_is_text_whatever_it_is(name: str, message: str, path: str) -> None:
    frame = dataclasses.replace(FAILURE.frames[0], path=path)
    failure = dataclasses.replace(FAILURE, message=message, fingerprint=message, frames=(frame,))
    test = dataclasses.replace(FLAKY, id=f"tests/t.py::{name}", detail=message, cause=None, failure=failure)
    refusal = dataclasses.replace(REFUSED, id=f"tests/t.py::{name}", why=message, on_head=failure)
    for run in (run_of(scan(test)), run_of(check(gate(refused=(refusal,)), command=message))):
        [result] = run["results"]
        text = result["message"]["text"]
        assert not re.search(r"(?<!\\)\]\(", text)
        assert not re.search("[\x00-\x1f\u200b\u202e\ud800-\udfff]", text)
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
        assert not uri.startswith("/")
        assert ".." not in unquote(uri).split("/")


def test_the_schema_refuses_what_is_no_sarif() -> None:
    """The instrument: it must be able to say no."""
    stream = io.StringIO()
    as_sarif.write_scan(scan(FLAKY), stream)
    document = json.loads(stream.getvalue())
    document["runs"][0]["results"][0]["level"] = "fatal"
    with pytest.raises(jsonschema.ValidationError, match="fatal"):
        SCHEMA.validate(document)
    del document["runs"][0]["results"][0]["level"], document["runs"][0]["results"][0]["message"]
    with pytest.raises(jsonschema.ValidationError, match="message"):
        SCHEMA.validate(document)
