"""What one experiment says, if it can be believed. Pure.

Belongs here: the worst report of an id, controls, what was lost. Does not belong here: why a
test failed (reasons).
"""

from __future__ import annotations

from collections.abc import Iterable

from repro_gate.model import Ending, ExperimentResult, Outcome, TestRun

# pytest reports a failing subtest and then the test itself as passed: the last report is not the truth.
_WORST_FIRST = (
    Outcome.CRASHED,
    Outcome.TIMEOUT,
    Outcome.ERROR,
    Outcome.FAILED,
    Outcome.NOT_RUN,
    Outcome.SKIPPED,
    Outcome.XPASSED,
    Outcome.XFAILED,
    Outcome.PASSED,
)


def worst(runs: Iterable[TestRun], test: str) -> TestRun:
    """The worst report of one test, whatever their order; NOT_RUN where there is none."""
    own = [run for run in runs if run.id == test]
    if not own:
        return TestRun(id=test, outcome=Outcome.NOT_RUN, seconds=0.0)
    return min(own, key=lambda run: (_WORST_FIRST.index(run.outcome), run.failure is None, _key(run)))


def fine(run: TestRun) -> bool:
    """Does not speak against base: passed, skipped, or failed as expected."""
    return run.outcome.good or run.outcome is Outcome.SKIPPED


def forged(result: ExperimentResult) -> bool:
    """The process went to its end and a control test still did not do what it must."""
    return result.ending is Ending.DONE and not result.controls_held


def lost(result: ExperimentResult) -> bool:
    """It did not go to its end, so its controls say nothing and tests may be without a report."""
    return result.ending is not Ending.DONE and not result.controls_held


def contradicted(result: ExperimentResult, tests: Iterable[str]) -> TestRun | None:
    """The first of these tests whose report says otherwise than what was seen, so that it could count."""
    asked = frozenset(tests)
    counts = (run for run in result.runs if run.contradiction and run.outcome is not Outcome.XFAILED)
    return next((run for run in counts if run.id in asked), None)


def _key(run: TestRun) -> str:
    """Makes the choice between equally bad reports independent of their order."""
    return run.failure.fingerprint if run.failure is not None else ""
