"""Experiments as the records of runs.jsonl.gz and logs.jsonl.gz."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from repro_gate.model import ExperimentResult, TestRun


def run_record(number: int, result: ExperimentResult) -> dict[str, Any]:
    """One experiment for runs.jsonl.gz: conditions, how it ended, and each test's outcome in order."""
    return {
        "run": number,
        "mode": str(result.mode),
        "ending": str(result.ending),
        "controls_held": result.controls_held,
        "conditions": result.experiment.conditions.to_json(),
        "notes": list(result.notes),
        "tests": [_test_record(test) for test in result.runs],
    }


def _test_record(test: TestRun) -> dict[str, Any]:
    record: dict[str, Any] = {"id": test.id, "outcome": str(test.outcome), "seconds": round(test.seconds, 6)}
    if test.failure is not None:
        record["fingerprint"] = test.failure.fingerprint
        record["failed_in"] = test.failure.phase
    if test.touched:
        record["touched"] = list(test.touched)
    return record


def log_records(number: int, result: ExperimentResult) -> Iterator[dict[str, Any]]:
    """Captured output for logs.jsonl.gz: one record per test that printed something."""
    for test in result.runs:
        if test.output:
            yield {"run": number, "id": test.id, "output": test.output}
