"""From what a campaign saw to one verdict per test. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from repro_gate.flake.brief import Findings
from repro_gate.flake.statistics import upper_bound, wilson
from repro_gate.flake.tally import Row, Tally
from repro_gate.flake.trial import Diagnosis
from repro_gate.model import Failure, Outcome, TestVerdict, Verdict
from repro_gate.model.conditions import SELF_MOVING


def verdicts(findings: Findings) -> tuple[TestVerdict, ...]:
    """A verdict for every test that was ever collected, in the order of collection."""
    tally = findings.tally
    found = [_verdict(test, row, findings) for test, row in tally.rows.items()]
    found += [
        TestVerdict(
            id=node or "(collection)",
            verdict=Verdict.NOT_JUDGED,
            runs=0,
            failures=0,
            seconds=0.0,
            detail=f"collection error: {_last_line(text)}",
            output=text,
        )
        for node, text in findings.collect_errors
    ]
    return tuple(found)


def _verdict(test: str, row: Row, findings: Findings) -> TestVerdict:
    good, bad = row.count()
    runs = good + bad
    common = {"id": test, "runs": runs, "failures": bad, "seconds": round(row.longest, 4)}
    if test in findings.duplicates:
        return _not_judged(common, "its id is not unique")
    if test in findings.unstable:
        return _not_judged(common, "its id comes and goes from run to run")
    diagnosis = findings.diagnoses.get(test)
    if diagnosis is not None:
        return _from_diagnosis(common, diagnosis, findings.tally)
    if not runs:
        return _not_judged(common, _why_no_runs(row, findings))
    if bad and good:
        return _not_judged(
            common, f"failed and passed; {_why_unconfirmed(test, findings)}", findings.tally.failure(test)
        )
    if bad:
        return TestVerdict(
            **common,  # type: ignore[arg-type]
            verdict=Verdict.ALWAYS_FAILING,
            rate=1.0,
            interval=wilson(bad, runs),
            detail=_hint(test, findings.tally),
            failure=findings.tally.failure(test),
        )
    return TestVerdict(**common, verdict=Verdict.STABLE, upper_bound=upper_bound(0, runs))  # type: ignore[arg-type]


def _not_judged(common: Mapping[str, object], why: str, failure: Failure | None = None) -> TestVerdict:
    return TestVerdict(**common, verdict=Verdict.NOT_JUDGED, detail=why, failure=failure)  # type: ignore[arg-type]


def _from_diagnosis(common: Mapping[str, object], diagnosis: Diagnosis, tally: Tally) -> TestVerdict:
    failure = tally.failure(diagnosis.id)
    if diagnosis.kind == "always-failing":
        runs = int(str(common["runs"]))
        return TestVerdict(
            **common,  # type: ignore[arg-type]
            verdict=Verdict.ALWAYS_FAILING,
            rate=1.0,
            interval=wilson(runs, runs),
            detail=_hint(diagnosis.id, tally),
            failure=failure,
        )
    if diagnosis.kind == "artefact":
        return dataclasses.replace(_not_judged(common, diagnosis.detail, failure), own_doing=True)
    if diagnosis.kind == "unconfirmed":
        return _not_judged(common, diagnosis.detail, failure)
    axis = diagnosis.cause.axis if diagnosis.cause is not None else None
    fails = diagnosis.fails
    seen = next((run for run in fails.runs if run.outcome.bad), None) if fails is not None else None
    bad, runs = int(str(common["failures"])), int(str(common["runs"]))
    verdict = Verdict.FLAKY if axis is None or axis in SELF_MOVING else Verdict.CONDITION_DEPENDENT
    return TestVerdict(
        **common,  # type: ignore[arg-type]
        verdict=verdict,
        cause=diagnosis.cause,
        detail=diagnosis.detail,
        rate=bad / runs if runs else None,
        interval=wilson(bad, runs) if runs else None,
        failure=seen.failure if seen is not None else failure,
        output=seen.output if seen is not None else "",
    )


def _hint(test: str, tally: Tally) -> str:
    """For a test that never passed: whether the sandbox itself may be why."""
    failure = tally.failure(test)
    if failure is None:
        return ""
    text = f"{failure.type} {failure.message}"
    if any(word in text for word in ("Network is unreachable", "name resolution", "Name or service not known")):
        return "it needs the network, which experiments do not have"
    return ""


def _why_unconfirmed(test: str, findings: Findings) -> str:
    if test in findings.dropped:
        return "no time was left to confirm it"
    if findings.incomplete:
        return f"not confirmed: {findings.incomplete.rstrip('.')}"
    return "not investigated"


def _why_no_runs(row: Row, findings: Findings) -> str:
    outcomes = {outcome for _, outcome in row.outcomes()}
    if outcomes == {Outcome.SKIPPED}:
        return "skipped in every run"
    if findings.incomplete:
        return f"not run: {findings.incomplete}"
    return "not run in the time there was"


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    return lines[-1][:300] if lines else "no text"
