"""From a diagnosis to a capsule: what it promises, and what happens where none can be written."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from repro_gate import capsule
from repro_gate.capsule.manifest import Manifest
from repro_gate.change import Head
from repro_gate.errors import DiskFull
from repro_gate.flake.trial import Count, Diagnosis, Setup
from repro_gate.model import (
    Cause,
    Conditions,
    Ending,
    Experiment,
    ExperimentResult,
    Failure,
    Mode,
    Outcome,
    TestRun,
)
from repro_gate.pipeline import Publisher
from repro_gate.pipeline.publish import _determinism, _expected
from repro_gate.sandbox import Host

WEST = Conditions(timezone="America/New_York")
TEST = "test_a.py::test_zone"
OTHER = "test_a.py::test_before"
F, P, CRASHED, SKIPPED = Outcome.FAILED, Outcome.PASSED, Outcome.CRASHED, Outcome.SKIPPED


def run_of(outcome: Outcome, message: str = "late", output: str = "") -> TestRun:
    failure = None
    if outcome.bad and message:
        failure = Failure(
            phase="call",
            type="AssertionError",
            bases=("Exception",),
            message=message,
            chain=(),
            frames=(),
            fingerprint=f"call:{message[:5].strip()}",
        )
    return TestRun(id=TEST, outcome=outcome, seconds=0.1, failure=failure, output=output)


def count(*runs: TestRun, conditions: Conditions = WEST) -> Count:
    results = tuple(
        ExperimentResult(
            experiment=Experiment(tests=(OTHER, TEST), conditions=conditions),
            mode=Mode.FRESH,
            runs=(run,),
            ending=Ending.DONE,
            controls_held=True,
        )
        for run in runs
    )
    return Count(
        bad=sum(run.outcome.bad for run in runs), good=sum(run.outcome.good for run in runs), runs=runs, results=results
    )


def diagnosis(fails: Count) -> Diagnosis:
    passes = count(run_of(P), run_of(P), conditions=Conditions())
    return Diagnosis(
        id=TEST,
        kind="flaky",
        cause=Cause(axis="timezone", detail="fails with TZ=America/New_York, passes with UTC"),
        detail="words",
        failing=Setup(tests=(OTHER, TEST), conditions=WEST),
        fails=fails,
        passes=passes,
        history=(*fails.results, *passes.results),
    )


FIVE = count(*(run_of(F) for _ in range(5)))


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    return Publisher(
        directory=tmp_path / "project" / "caps",
        here=tmp_path / "project",
        head=Head(commit="a" * 40, dirty=False, repository="https://example.invalid/x"),
        root="",
        sandbox=Host(),
        seed=7,
        environ={"LANG": "C", "API_TOKEN": "s3cr3t-v4lue-0123456789"},
        redact=(),
        key=b"k" * 32,
        now=lambda: "2025-03-03T10:00:00Z",
        distributions=("pytest==9.0",),
        interpreter={"implementation": "CPython", "version": "3.11.7"},
    )


# --- a capsule -------------------------------------------------------------------------------


def published(publisher: Publisher, fails: Count) -> Manifest:
    reference, why = publisher.publish(diagnosis(fails), ("test_a.py",), 3)
    assert why == ""
    assert reference is not None
    path = publisher.here / reference.path
    assert path.name == f"capsule-{reference.id}.zip"
    return capsule.read(path).manifest


def test_a_capsule_says_what_was_run_where_and_what_is_expected(publisher: Publisher) -> None:
    manifest = published(publisher, FIVE)
    assert (manifest.tests, manifest.victim, manifest.pytest_args) == ((OTHER, TEST), TEST, ("test_a.py",))
    assert manifest.conditions == WEST
    assert (manifest.expected.outcome, manifest.expected.fingerprint) == (F, "call:late")
    assert manifest.project.commit == "a" * 40
    assert (manifest.provenance.seed, manifest.provenance.run) == (7, 3)
    assert manifest.sandbox == capsule.Sandbox(name="host", hermetic=False)
    assert manifest.cause.axis == "timezone"


@pytest.mark.parametrize(("on_path", "started"), [(True, "python -m pytest"), (False, "pytest")])
def test_a_capsule_says_how_pytest_was_started(publisher: Publisher, on_path: bool, started: str) -> None:
    manifest = published(dataclasses.replace(publisher, cwd_on_path=on_path), FIVE)
    assert (manifest.invocation, manifest.cwd_on_path) == (started, on_path)


def test_the_same_finding_packed_twice_is_the_same_file(publisher: Publisher, tmp_path: Path) -> None:
    first, _ = publisher.publish(diagnosis(FIVE), ("test_a.py",), 3)
    other = dataclasses.replace(publisher, directory=tmp_path / "elsewhere")
    second, _ = other.publish(diagnosis(FIVE), ("test_a.py",), 3)
    assert first is not None
    assert second is not None
    assert first.id == second.id
    assert (publisher.here / first.path).read_bytes() == Path(second.path).read_bytes()


def test_a_capsule_that_an_earlier_run_left_is_known(publisher: Publisher) -> None:
    first, _ = publisher.publish(diagnosis(FIVE), ("test_a.py",), 3)
    again, _ = publisher.publish(diagnosis(FIVE), ("test_a.py",), 3)
    another, _ = publisher.publish(diagnosis(FIVE), ("test_a.py",), 4)
    assert first is not None
    assert another is not None
    assert (first.known, another.known) == (False, False)
    assert again == dataclasses.replace(first, known=True)


def test_the_path_is_shown_as_it_can_be_typed_where_the_scan_ran(publisher: Publisher, tmp_path: Path) -> None:
    assert publisher.shown(publisher.directory / "capsule-1.zip") == "caps/capsule-1.zip"
    assert publisher.shown(tmp_path / "capsule-1.zip") == str(tmp_path / "capsule-1.zip")


def test_what_fails_each_time_in_one_way_is_pinned(publisher: Publisher) -> None:
    determinism = published(publisher, FIVE).determinism
    assert determinism.pinned
    assert (determinism.verified.k, determinism.verified.of) == (5, 5)
    assert (determinism.rate, determinism.why) == (None, "")


@pytest.mark.parametrize(
    ("runs", "same", "why"),
    [
        ((run_of(F), run_of(F), run_of(P), run_of(F)), 3, "failed 3 of 4 times: something decides"),
        ((run_of(F), run_of(F, "other"), run_of(F)), 2, "failed 3 of 3 times, but only 2 times in the same way"),
    ],
    ids=["at times", "in two ways"],
)
def test_what_does_not_fail_each_time_in_one_way_is_not_pinned_and_says_why(
    runs: tuple[TestRun, ...], same: int, why: str
) -> None:
    fails = count(*runs)
    determinism = _determinism(_expected(fails), fails, None)
    assert not determinism.pinned
    assert why in determinism.why
    assert determinism.rate == round(fails.bad / fails.of, 4)
    assert determinism.verified.k == same


def test_what_other_work_on_the_processor_undoes_is_not_pinned() -> None:
    steady = _determinism(_expected(FIVE), FIVE, FIVE)
    assert (steady.pinned, steady.verified.k, steady.verified.of, steady.rate) == (True, 10, 10, None)
    for busy in (count(run_of(F), run_of(P)), count(run_of(F), run_of(F, "other"))):
        undone = _determinism(_expected(FIVE), FIVE, busy)
        assert not undone.pinned
        assert undone.why == "beside other work on the processor it failed so 1 of 2 times"
        assert (undone.verified.k, undone.verified.of) == (6, 7)


def test_the_failure_that_was_seen_most_often_is_the_expected_one() -> None:
    expected = _expected(count(run_of(F, "rare"), run_of(P), run_of(F), run_of(F)))
    assert (expected.fingerprint, expected.message, expected.type) == ("call:late", "late", "AssertionError")


def test_a_crash_without_a_traceback_is_expected_by_its_outcome() -> None:
    expected = _expected(count(run_of(SKIPPED), run_of(P), run_of(CRASHED, "")))
    assert (expected.outcome, expected.fingerprint) == (CRASHED, "")


# --- none ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [{"failing": None}, {"fails": None}, {"cause": None}, {"fails": count(run_of(P))}],
    ids=["no setup", "no count", "no cause", "never failed"],
)
def test_without_a_confirmed_failure_there_is_no_capsule_and_nothing_to_say(
    publisher: Publisher, changes: dict[str, None]
) -> None:
    assert publisher.publish(dataclasses.replace(diagnosis(FIVE), **changes), (), 0) == (None, "")  # type: ignore[arg-type]
    assert not publisher.directory.exists()


def test_a_secret_of_the_environment_is_in_no_byte_of_a_capsule(publisher: Publisher) -> None:
    secret = publisher.environ["API_TOKEN"]
    fails = count(*(run_of(F, f"late: token {secret} was old", output=f"using {secret}\n") for _ in range(5)))
    reference, why = publisher.publish(diagnosis(fails), ("test_a.py",), 3)
    assert reference is not None, why
    members = capsule.read(publisher.here / reference.path).members
    packed = b"".join(capsule_text(data) for data in members.values())
    assert b"late: token" in packed
    assert secret.encode() not in packed


def capsule_text(data: bytes) -> bytes:
    import gzip

    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def test_a_capsule_that_is_refused_is_a_reason_and_no_error(
    publisher: Publisher, monkeypatch: pytest.MonkeyPatch
) -> None:
    from repro_gate.errors import SecretFound

    def refuse(*_arguments: object) -> Path:
        raise SecretFound("a private key in logs.jsonl.gz")

    monkeypatch.setattr(capsule, "pack", refuse)
    assert publisher.publish(diagnosis(FIVE), (), 0) == (None, "no capsule: a private key in logs.jsonl.gz")


def test_a_full_disk_is_for_the_scan_to_hear_of(publisher: Publisher, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: object) -> Path:
        raise DiskFull("no space")

    monkeypatch.setattr(capsule, "pack", full)
    with pytest.raises(DiskFull):
        publisher.publish(diagnosis(FIVE), (), 0)
