"""report.json, ``repro-gate/report/v1``: the one machine result, described by docs/report.schema.json.

Belongs here: names and shapes of that file. Does not belong here: what any value means to a
person. Non-ASCII is escaped, so that any file encoding, and any id, survives.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from repro_gate.model import CapsuleRef, Conditions, Failure, FlakeReport, Intervention, TestVerdict
from repro_gate.report import words
from repro_gate.report.outcome import decide, findings

SCHEMA = "repro-gate/report/v1"
LONGEST_TEXT = 16_000
# An order is a list of all tests that ran before; the ones right before the victim tell most.
MOST_TESTS = 20


def write(report: FlakeReport, stream: TextIO) -> None:
    """Write the report as JSON, a test at a time. Raises ValueError on a number that JSON has not."""
    stream.writelines(_pieces(report))


def _pieces(report: FlakeReport) -> Iterator[str]:
    decision = decide(report)
    head: dict[str, object] = {
        "schema": SCHEMA,
        "verdict": decision.verdict,
        "exit_code": int(decision.exit_code),
        "base": None,
        "head": report.commit or None,
        "environment": _environment(report),
        "campaign": campaign_entry(report),
    }
    yield "{\n"
    for name, value in head.items():
        yield f"{_dumped(name)}: {_dumped(value)},\n"
    yield f'"gates": [{{"gate": "flaky", "verdict": "{decision.verdict}", "reason": "{decision.reason}", "findings": '
    yield from _array(_finding(test) for test in findings(report))
    yield '}],\n"tests": '
    yield from _array(test_entry(test) for test in report.tests)
    yield f',\n"notes": {_dumped(report.notes)}\n}}\n'


def _array(items: Iterable[object]) -> Iterator[str]:
    """A JSON array with one item per line."""
    separator = "[\n"
    for item in items:
        yield separator + _dumped(item)
        separator = ",\n"
    yield "[]" if separator == "[\n" else "\n]"


def _dumped(value: object) -> str:
    return json.dumps(value, allow_nan=False)


def _environment(report: FlakeReport) -> dict[str, object]:
    sandbox = report.sandbox
    return {
        "python": report.python,
        "pytest": report.pytest,
        "sandbox": {"name": sandbox.name, "hermetic": sandbox.hermetic, "notes": sandbox.notes},
        "mode": report.mode,
        "mode_reason": report.mode_reason,
    }


def campaign_entry(report: FlakeReport) -> dict[str, object]:
    """The campaign's numbers."""
    return {
        "seed": report.seed,
        "runs": report.runs,
        "directed_runs": report.directed_runs,
        "hash_seeds": report.hash_seeds,
        "seconds": report.seconds,
        "started_at": report.started_at or None,
        "incomplete": report.incomplete or None,
        "skipped_files": [
            {"file": each.file, "reason": each.reason, "skipped": each.skipped, "starts": each.starts}
            for each in report.skipped_files
        ],
    }


def _finding(test: TestVerdict) -> dict[str, object]:
    """What a reader must act on; the rest is in the test's own entry."""
    return {
        "test": test.id,
        "verdict": test.verdict,
        "cause": test.cause.axis if test.cause else None,
        "message": words.cause(test),
        "replay": words.replay_command(test.capsule.path) if test.capsule else None,
    }


def test_entry(test: TestVerdict) -> dict[str, object]:
    """One test with its verdict, cause and capsule."""
    cause = test.cause
    return {
        "id": test.id,
        "verdict": test.verdict,
        "cause": cause.axis if cause else None,
        "detail": (cause.detail if cause else "") or test.detail,
        "role": cause.role if cause else "",
        "others": cause.others if cause else (),
        "interventions": [_intervention(row) for row in cause.table] if cause else [],
        "runs": test.runs,
        "failures": test.failures,
        "rate": test.rate,
        "interval": test.interval,
        "upper_bound": test.upper_bound,
        "seconds": test.seconds,
        "failure": failure_entry(test.failure) if test.failure else None,
        "output": words.clip(test.output, LONGEST_TEXT),
        "capsule": capsule_entry(test.capsule) if test.capsule else None,
    }


def _intervention(row: Intervention) -> dict[str, object]:
    """Only what differs from neutral; of a long order only the last tests, with the count of all."""
    neutral = Conditions.baseline().to_json()
    return {
        "what": row.what,
        "conditions": {key: value for key, value in row.conditions.to_json().items() if value != neutral[key]},
        "tests": row.tests[-MOST_TESTS:],
        "test_count": len(row.tests),
        "failed": row.failed,
        "of": row.of,
    }


def failure_entry(failure: Failure) -> dict[str, Any]:
    """A failure, its message clipped."""
    return {**failure.to_json(), "message": words.clip(failure.message, LONGEST_TEXT)}


def capsule_entry(capsule: CapsuleRef) -> dict[str, object]:
    """Where a capsule is and how it was verified."""
    return {
        "path": capsule.path,
        "id": capsule.id,
        "determinism": capsule.determinism,
        "pinned": capsule.pinned,
        "replays": (capsule.replayed, capsule.of),
    }
