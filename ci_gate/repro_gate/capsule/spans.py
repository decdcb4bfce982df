"""Runs as spans: one per run, one per test phase, with the field names of OpenTelemetry's JSON.

Ids and times are derived from the content: a run that does not say when it started begins where the
one before it ended, at the latest at the capsule's own time. Only durations and order are evidence.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_PHASES = ("setup", "call", "teardown")
_OK, _ERROR, _UNSET = 1, 2, 0
_BAD = frozenset({"failed", "error", "timeout", "crashed"})


def spans(runs: Iterable[Mapping[str, Any]], created_at: str, seed: str) -> Iterator[dict[str, Any]]:
    """The spans of run records (``records.run_record``). ``seed`` makes the ids: a digest of the runs."""
    clock = _nanoseconds(created_at)
    for number, run in enumerate(runs):
        trace = _digest(seed, "trace", number)[:32]
        root = _digest(seed, "run", number)[:16]
        start = int(run.get("started_unix_nano") or clock)
        at = start
        children: list[dict[str, Any]] = []
        for place, test in enumerate(run.get("tests", ())):
            for phase, seconds in _phases(test):
                end = at + round(seconds * 1e9)
                own = _digest(seed, "phase", number, place, phase)[:16]
                children.append(_span(trace, own, root, f"{test['id']} [{phase}]", at, end, _about(test, phase)))
                at = end
        about = {"run": str(run.get("run", number)), "mode": str(run.get("mode", ""))}
        yield _span(trace, root, "", f"run {run.get('run', number)}", start, at, (about, _UNSET))
        yield from children
        clock = max(clock, at)


def _phases(test: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Phases with their seconds; a test whose phases were not timed is one span, called ``test``."""
    timed = test.get("phases") or {}
    if timed:
        yield from ((phase, float(timed[phase])) for phase in _PHASES if phase in timed)
    else:
        yield "test", float(test.get("seconds") or 0.0)


def _about(test: Mapping[str, Any], phase: str) -> tuple[dict[str, str], int]:
    outcome = str(test["outcome"])
    failed_in = str(test.get("failed_in") or "call")
    bad = outcome in _BAD and phase in ("test", failed_in)
    return {"test.id": str(test["id"]), "test.phase": phase, "test.outcome": outcome}, _ERROR if bad else _OK


def _span(
    trace: str, own: str, parent: str, name: str, start: int, end: int, about: tuple[dict[str, str], int]
) -> dict[str, Any]:
    attributes, code = about
    return {
        "traceId": trace,
        "spanId": own,
        "parentSpanId": parent,
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(end),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in sorted(attributes.items())],
        "status": {"code": code},
    }


def _nanoseconds(instant: str) -> int:
    """RFC 3339 as nanoseconds since 1970, exactly."""
    moment = datetime.datetime.fromisoformat(instant)
    past = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (past.days * 86_400 + past.seconds) * 1_000_000_000 + past.microseconds * 1000


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode("utf-8")).hexdigest()
