"""A report is read back as it was written, and a stranger's is refused by the name of what is wrong."""

from __future__ import annotations

import dataclasses
import io
import json
from typing import Any

import pytest

from repro_gate.errors import EvidenceRefused
from repro_gate.model import (
    CapsuleRef,
    Cause,
    CheckReport,
    Conditions,
    Failure,
    Finding,
    FlakeReport,
    Frame,
    GateResult,
    GateVerdict,
    Intervention,
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
from repro_gate.report import as_json, check_json
from repro_gate.report.reading import read
from tests.unit import coverage_values

FAILURE = Failure(
    phase="call",
    type="AssertionError",
    bases=("Exception",),
    message="assert 1 == 2 \ud800",
    chain=("ValueError: x",),
    frames=(Frame(zone=Zone.TEST, path="tests/test_a.py", line=5, function="test_a"),),
    fingerprint="f",
)
CAPSULE = CapsuleRef(path="capsules/c.zip", id="c", pinned=True, determinism="D1", replayed=5, of=5)
ROW = Intervention(
    what="clock", conditions=Conditions(clock="2026-01-01T00:00:00"), tests=("…",) * 10 + ("t",) * 20, failed=5, of=5
)
FLAKY = TestVerdict(
    id="tests/test_a.py::test_a",
    verdict=Verdict.FLAKY,
    runs=20,
    failures=3,
    seconds=0.1,
    cause=Cause(axis="order", detail="after b", role="victim", others=("b",), table=(ROW,)),
    rate=0.15,
    interval=(0.05, 0.36),
    failure=FAILURE,
    output="said",
    capsule=CAPSULE,
)
STABLE = TestVerdict(id="t", verdict=Verdict.STABLE, runs=20, failures=0, seconds=0.0, detail="d", upper_bound=0.139)
SANDBOX = Sandboxing(name="docker", hermetic=True, notes=("n",))
SCAN = FlakeReport(
    seed=7,
    runs=20,
    tests=(FLAKY, STABLE),
    sandbox=SANDBOX,
    mode="fork",
    mode_reason="",
    python="3.11.7",
    pytest="9",
    seconds=1.5,
    directed_runs=6,
    hash_seeds=4,
    notes=("note",),
    skipped_files=(SkippedFile(file="f", reason="r", skipped=1, starts=2),),
    incomplete="budget",
    commit="c" * 40,
    started_at="2026-01-01T00:00:00+00:00",
)
CHECK = CheckReport(
    base="b" * 40,
    head="c" * 40,
    how="given",
    gates=(
        GateResult(
            gate="fail-to-pass",
            verdict=GateVerdict.FAIL,
            reason=ReasonCode.FLAKY_ON_HEAD,
            findings=(Finding(reason="own_code", text="x", id="t", next_step="n", output="o"),),
            proved=(
                Proved(id="p", reason=ReasonCode.ASSERTION, failure=FAILURE, conditions=Conditions(locale="C"), runs=9),
            ),
            refused=(Refused(id="r", reason=ReasonCode.NETWORK, why="w", on_base=FAILURE),),
            notes=("n",),
            summary="s",
            command="repro-gate check",
        ),
        GateResult(gate="flaky", verdict=GateVerdict.PASS, reason="none-found", command="repro-gate check"),
        coverage_values.GATE,
    ),
    levels={"fail-to-pass": Level.BLOCK, "flaky": Level.WARN, "coverage": Level.WARN},
    command="repro-gate check",
    sandbox=SANDBOX,
    environment="e",
    python="3.11.7",
    pytest="9",
    campaign=dataclasses.replace(SCAN, notes=()),
    trouble=Trouble(slug="disk-full", text="t", next_step="n"),
    policy=("p",),
    notes=("n",),
    seconds=2.5,
    started_at="2026-01-01T00:00:00+00:00",
)


def written(report: CheckReport | FlakeReport) -> bytes:
    stream = io.StringIO()
    if isinstance(report, CheckReport):
        check_json.write(report, stream)
    else:
        as_json.write(report, stream)
    return stream.getvalue().encode()


@pytest.mark.parametrize(
    "report",
    [
        SCAN,
        CHECK,
        dataclasses.replace(CHECK, campaign=None, trouble=None, sandbox=None, gates=(), levels={}),
        dataclasses.replace(SCAN, tests=(), incomplete=""),
    ],
    ids=["scan", "check", "empty check", "empty scan"],
)
def test_what_was_written_is_read_and_would_be_written_again(report: CheckReport | FlakeReport) -> None:
    data = written(report)
    again = read(data)
    assert type(again) is type(report)
    assert written(again) == data


def changed(**changes: Any) -> bytes:
    return json.dumps({**json.loads(written(CHECK)), **changes}).encode()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "no strict JSON"),
        (b"[]", "has not the schema"),
        (b'{"schema": "repro-gate/report/v2"}', "has not the schema"),
        (b"[" * 100_000, "no strict JSON"),
        (b'{"schema": "repro-gate/report/v1", "schema": "x"}', "a key is there twice"),
        (b'{"schema": "repro-gate/report/v1", "seconds": NaN}', "NaN is no number"),
        (b"\xff", "no strict JSON"),
        (changed(seconds="1"), "seconds: Input should be a valid number"),
        (changed(seconds=1e300), "seconds: Input should be less"),
        (changed(extra=1), "extra: Extra inputs are not permitted"),
        (changed(notes=[1]), r"notes\.0: Input should be a valid string"),
        (changed(gates=[{}]), r"gates\.0\.gate: Field required"),
        (changed(tests=None), "tests: "),
        (changed(exit_code=-1), "exit_code: "),
    ],
)
def test_a_strangers_report_is_refused_by_name(data: bytes, said: str) -> None:
    with pytest.raises(EvidenceRefused, match=said):
        read(data)


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("verdict", "wonderful", "'wonderful' is not a valid"),
        ("reason", "<b>", "no reason code"),
        ("level", "x", "valid"),
    ],
)
def test_a_gate_has_only_words_that_gates_have(part: str, value: str, said: str) -> None:
    gates = json.loads(written(CHECK))["gates"]
    gates[0][part] = value
    with pytest.raises(EvidenceRefused, match=said):
        read(changed(gates=gates))


def test_more_than_anybody_needs_is_not_even_parsed() -> None:
    with pytest.raises(EvidenceRefused, match="more than 64 MiB"):
        read(b" " * (64 * 2**20 + 1))


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("uncovered_lines", [], "uncovered_lines are not the lines whose state is uncovered"),
        ("covered", 4, "more is covered than there is"),
        ("percent", 101, "less than or equal to 100"),
        ("lines", [{"file": "a"}], "Field required"),
        ("extra", 1, "Extra inputs are not permitted"),
    ],
)
def test_a_coverage_that_contradicts_itself_is_refused(part: str, value: Any, said: str) -> None:
    document = json.loads(written(CHECK))
    (gate,) = [gate for gate in document["gates"] if gate["gate"] == "coverage"]
    gate["coverage"][part] = value
    with pytest.raises(EvidenceRefused, match=said):
        read(json.dumps(document).encode())
