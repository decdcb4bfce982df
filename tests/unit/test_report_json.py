"""report.json: what is written is what its published schema says, whatever a test reports."""

from __future__ import annotations

import dataclasses
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.model import (
    AXES,
    CapsuleRef,
    Cause,
    Conditions,
    Failure,
    FlakeReport,
    Frame,
    GateVerdict,
    Intervention,
    Sandboxing,
    SkippedFile,
    TestVerdict,
    Verdict,
    Zone,
)
from repro_gate.report import as_json
from repro_gate.report.outcome import Reason, decide

# A machine that is busy with something else is no bug.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "report.schema.json").read_text(encoding="utf-8")
)
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


def texts() -> st.SearchStrategy[str]:
    return st.text(max_size=8)


def some(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=2).map(tuple)


SHARES = st.floats(0, 1)
COUNTS = st.integers(0, 500)
SECONDS = st.floats(0, 1e6)
FRAMES = st.builds(Frame, zone=st.sampled_from(Zone), path=texts(), line=COUNTS, function=texts())
FAILURES = st.builds(
    Failure,
    phase=texts(),
    type=texts(),
    bases=some(texts()),
    message=texts(),
    chain=some(texts()),
    frames=some(FRAMES),
    fingerprint=texts(),
)
CONDITIONS = st.builds(Conditions, hash_seed=COUNTS, order=texts(), clock=texts(), parallel=COUNTS)
INTERVENTIONS = st.builds(
    Intervention, what=texts(), conditions=CONDITIONS, tests=some(texts()), failed=COUNTS, of=COUNTS
)
CAUSES = st.builds(
    Cause,
    axis=st.sampled_from([None, *AXES]),
    detail=texts(),
    role=st.sampled_from(["", "victim", "brittle"]),
    others=some(texts()),
    table=some(INTERVENTIONS),
)
CAPSULES = st.builds(
    CapsuleRef, path=texts(), id=texts(), pinned=st.booleans(), determinism=texts(), replayed=COUNTS, of=COUNTS
)
TESTS = st.builds(
    TestVerdict,
    id=texts(),
    verdict=st.sampled_from(Verdict),
    runs=COUNTS,
    failures=COUNTS,
    seconds=SECONDS,
    detail=texts(),
    cause=st.none() | CAUSES,
    rate=st.none() | SHARES,
    interval=st.none() | st.tuples(SHARES, SHARES),
    upper_bound=st.none() | SHARES,
    failure=st.none() | FAILURES,
    output=texts(),
    capsule=st.none() | CAPSULES,
)
REPORTS = st.builds(
    FlakeReport,
    seed=COUNTS,
    runs=COUNTS,
    tests=some(TESTS),
    sandbox=st.builds(Sandboxing, name=texts(), hermetic=st.booleans(), notes=some(texts())),
    mode=texts(),
    mode_reason=texts(),
    python=texts(),
    pytest=texts(),
    seconds=SECONDS,
    notes=some(texts()),
    incomplete=texts(),
    root=texts(),
    commit=texts(),
    started_at=texts(),
)

FAILURE = Failure(
    phase="call",
    type="KeyError",
    bases=("LookupError",),
    message="'b'",
    chain=(),
    frames=(Frame(zone=Zone.TEST, path="t.py", line=3, function="test_x"),),
    fingerprint="abc",
)
FULL = FlakeReport(
    seed=42,
    runs=20,
    skipped_files=(SkippedFile(file="t/test_opt.py", reason="no display", skipped=3, starts=4),),
    tests=(
        TestVerdict(id="t.py::test_ok", verdict=Verdict.STABLE, runs=20, failures=0, seconds=0.5, upper_bound=0.139),
        TestVerdict(
            id="t.py::test_x[é]",
            verdict=Verdict.CONDITION_DEPENDENT,
            runs=20,
            failures=3,
            seconds=1.5,
            detail="the verdict's own words",
            cause=Cause(
                axis="order",
                detail="after t.py::test_ok",
                role="victim",
                others=("t.py::test_ok",),
                table=(
                    Intervention(
                        what="after the polluter",
                        conditions=Conditions(order="list", import_random=3),
                        tests=tuple(f"t.py::test_{i}" for i in range(100)),
                        failed=5,
                        of=5,
                    ),
                ),
            ),
            rate=0.15,
            interval=(0.05, 0.36),
            failure=FAILURE,
            output="printed",
            capsule=CapsuleRef(path="a b.zip", id="0123", pinned=True, determinism="D2", replayed=5, of=5),
        ),
    ),
    sandbox=Sandboxing(name="host", hermetic=False, notes=("not hermetic",)),
    mode="fork",
    mode_reason="",
    python="3.12.1",
    pytest="9.0.0",
    seconds=12.5,
    notes=("a note",),
    commit="c0ffee",
    started_at="2026-01-02T03:04:05Z",
)


def written(report: FlakeReport) -> Any:
    stream = io.StringIO()
    as_json.write(report, stream)
    return json.loads(stream.getvalue())


@unhurried
@given(REPORTS)
def test_every_report_is_valid_by_the_published_schema(report: FlakeReport) -> None:
    data = written(report)
    VALIDATOR.validate(data)
    assert [test["id"] for test in data["tests"]] == [test.id for test in report.tests]
    assert (data["verdict"], data["exit_code"]) == (decide(report).verdict, decide(report).exit_code)


def test_the_published_schema_is_a_schema_and_knows_every_enum() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    definitions = SCHEMA["$defs"]
    assert SCHEMA["properties"]["schema"]["const"] == as_json.SCHEMA
    assert definitions["axis"]["enum"] == [*AXES, None]
    assert definitions["test_verdict"]["enum"] == list(Verdict)
    assert definitions["gate_verdict"]["enum"] == list(GateVerdict)
    code = SCHEMA["properties"]["gates"]["items"]["properties"]["reason"]["pattern"]
    assert all(re.search(code, reason) for reason in Reason)
    zones = definitions["failure"]["properties"]["frames"]["items"]["properties"]["zone"]["enum"]
    assert zones == list(Zone)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("verdict",), "flaky"),
        (("exit_code",), 2),
        (("surprise",), 1),
        (("tests", 1, "cause"), "weather"),
        (("tests", 1, "interval"), [0.1]),
        (("tests", 1, "rate"), 15),
        (("tests", 1, "capsule", "replays"), [5]),
        (("tests", 1, "interventions", 0, "of"), "5"),
    ],
)
def test_the_published_schema_refuses_what_is_not_a_report(path: tuple[str | int, ...], value: object) -> None:
    data = written(FULL)
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(data)


def test_the_head_of_a_report_says_what_ran_where() -> None:
    data = written(FULL)
    assert data["schema"] == "repro-gate/report/v1"
    assert (data["verdict"], data["exit_code"], data["base"], data["head"]) == ("fail", 1, None, "c0ffee")
    assert data["environment"] == {
        "python": "3.12.1",
        "pytest": "9.0.0",
        "sandbox": {"name": "host", "hermetic": False, "notes": ["not hermetic"]},
        "mode": "fork",
        "mode_reason": "",
    }
    assert data["campaign"] == {
        "seed": 42,
        "runs": 20,
        "directed_runs": 0,
        "hash_seeds": 0,
        "seconds": 12.5,
        "started_at": "2026-01-02T03:04:05Z",
        "incomplete": None,
        "skipped_files": [{"file": "t/test_opt.py", "reason": "no display", "skipped": 3, "starts": 4}],
    }
    assert data["notes"] == ["a note"]


def test_the_gate_lists_its_findings_with_the_command_to_replay_each() -> None:
    (gate,) = written(FULL)["gates"]
    assert (gate["gate"], gate["verdict"], gate["reason"]) == ("flaky", "fail", "condition-dependent-tests")
    assert gate["findings"] == [
        {
            "test": "t.py::test_x[é]",
            "verdict": "condition-dependent",
            "cause": "order",
            "message": "order (victim): after t.py::test_ok",
            "replay": "repro-gate replay 'a b.zip'",
        }
    ]


def test_a_test_carries_its_cause_its_numbers_and_its_capsule() -> None:
    test = written(FULL)["tests"][1]
    assert (test["cause"], test["role"], test["others"]) == ("order", "victim", ["t.py::test_ok"])
    assert test["detail"] == "after t.py::test_ok"
    assert (test["runs"], test["failures"], test["rate"], test["interval"]) == (20, 3, 0.15, [0.05, 0.36])
    assert Failure.from_json(test["failure"]) == FAILURE
    assert test["capsule"] == {"path": "a b.zip", "id": "0123", "determinism": "D2", "pinned": True, "replays": [5, 5]}


def test_an_intervention_tells_what_is_not_neutral_and_the_last_tests_of_a_long_order() -> None:
    (row,) = written(FULL)["tests"][1]["interventions"]
    assert row["conditions"] == {"order": "list", "import-random": 3}
    assert Conditions.from_json(row["conditions"]) == Conditions(order="list", import_random=3)
    assert row["tests"] == [f"t.py::test_{i}" for i in range(80, 100)]
    assert (row["test_count"], row["failed"], row["of"]) == (100, 5, 5)


def test_without_a_cause_the_reason_for_the_verdict_is_the_detail() -> None:
    test = dataclasses.replace(FULL.tests[0], verdict=Verdict.NOT_JUDGED, detail="skipped every time")
    data = written(dataclasses.replace(FULL, tests=(test,)))["tests"][0]
    assert (data["detail"], data["cause"], data["interventions"]) == ("skipped every time", None, [])


def test_long_output_and_messages_are_clipped() -> None:
    failure = dataclasses.replace(FAILURE, message="m" * 100_000)
    test = dataclasses.replace(FULL.tests[1], output="o" * 100_000, failure=failure)
    data = written(dataclasses.replace(FULL, tests=(test,)))["tests"][0]
    for text in (data["output"], data["failure"]["message"]):
        assert as_json.LONGEST_TEXT < len(text) < as_json.LONGEST_TEXT + 100
        assert "84000 characters left out" in text


def test_it_is_written_a_test_at_a_time() -> None:
    class Pieces(io.StringIO):
        longest = 0

        def write(self, text: str) -> int:
            self.longest = max(self.longest, len(text))
            return super().write(text)

    stream = Pieces()
    as_json.write(dataclasses.replace(FULL, tests=FULL.tests * 2000), stream)
    assert len(stream.getvalue()) > 1_000_000
    assert stream.longest < 5_000


def test_a_report_is_ascii_whatever_an_id_holds() -> None:
    stream = io.StringIO()
    test = dataclasses.replace(FULL.tests[0], id="t.py::test[\ud800-漢]")
    as_json.write(dataclasses.replace(FULL, tests=(test,)), stream)
    assert stream.getvalue().isascii()


def test_a_number_that_json_does_not_have_is_an_error_and_not_a_broken_file() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        written(dataclasses.replace(FULL, seconds=math.nan))
