"""The instrumented runs: one of head, one of base, and both again where something was lost.

Belongs here: asking a bench for them, and what makes one that can be believed. Does not belong here: what the lines
mean.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from repro_gate.gates.fail_to_pass.case import Bench, Request, Stage
from repro_gate.model import (
    CollectFailure,
    Conditions,
    Experiment,
    ExperimentResult,
    Limits,
    Mode,
    Outcome,
    Recording,
    Side,
    TestRun,
    Trace,
)

Lines = Mapping[str, Container[int]]
"""By file."""


class Runs(Protocol):
    """The runs that the gate reads, each made when it is first asked for."""

    @property
    def head(self) -> Recording:
        """All tests of head."""

    @property
    def base(self) -> Recording:
        """All tests of base as it is."""

    def again(self, of_base: Sequence[str]) -> tuple[Recording, Recording]:
        """These tests of base once more, and all of head."""


def record(bench: Bench, side: Side, limits: Limits, tests: Sequence[str] | None = None) -> Recording:
    """Run the tests of a side (None: all that it collects) and keep what each ran. Raises CollectionFailed."""
    stage = Stage(side=side, recorded=True)
    collected = bench.collect(stage, Conditions())
    chosen = tuple(collected.items) if tests is None else tuple(test for test in tests if test in collected.items)
    why = _not_collected(collected.failures)
    if not chosen:
        return Recording(at_import=collected.import_ran, whole=not why, why=why, python=collected.python)
    request = Request(
        stage=stage, experiment=Experiment(tests=chosen, conditions=Conditions(), limits=limits), mode=Mode.FORK
    )
    (result,) = bench.run([request])
    why = why or _why_not(result)
    runs = _undisturbed(bench, request, result.runs)
    return Recording(
        outcomes={run.id: run.outcome for run in runs},
        by_test={run.id: run.evidence.ran for run in runs if run.evidence is not None},
        away={run.id: run.evidence.away for run in runs if run.evidence is not None and run.evidence.away},
        at_import=collected.import_ran,
        seconds=sum(run.seconds for run in runs),
        seconds_of={run.id: run.seconds for run in runs},
        whole=not why,
        why=why,
        python=collected.python,
    )


def record_believed(
    bench: Bench, side: Side, limits: Limits, flaky: frozenset[str], asked: Lines | None = None
) -> Recording:
    """As ``record``; what only tests ran that failed or are ``flaky`` is asked of others again, without those.

    A fixture of the session or a cache runs its lines in the first test that needs it: if that one may not be
    believed, those that share it would seem never to have run them. Of files whose lines are ``asked`` for nothing else
    is looked for; None: everything is. Raises CollectionFailed.
    """
    first = record(bench, side, limits)
    good = tuple(test for test, outcome in first.outcomes.items() if not outcome.bad and test not in flaky)
    told = _places(first.at_import, *(first.by_test.get(test, ()) for test in good))
    missing = {
        (path, line)
        for path, line in _places(*first.by_test.values()) - told
        if asked is None or line in asked.get(path, ())
    }
    sharing = _later(first, good, missing)
    if not sharing:
        return first
    again = record(bench, side, limits, sharing)
    if missing - _places(*_believed(again).values()) and any(outcome.bad for outcome in again.outcomes.values()):
        again = record(bench, side, limits, good)  # some pass only behind those that were spared
    more = {test: (*first.by_test.get(test, ()), *traces) for test, traces in _believed(again).items()}
    return replace(first, by_test={**first.by_test, **more})


def _later(recording: Recording, good: Sequence[str], places: set[tuple[str, int]]) -> tuple[str, ...]:
    """The good tests after the first other one that ran one of these places.

    Before it nobody else had run them: whoever is not told of there does not run them.
    """
    trusted = frozenset(good)
    tests = list(recording.outcomes)
    for place, test in enumerate(tests):
        if test not in trusted and not places.isdisjoint(_places(recording.by_test.get(test, ()))):
            return tuple(later for later in tests[place + 1 :] if later in trusted)
    return ()


def _believed(recording: Recording) -> dict[str, tuple[Trace, ...]]:
    """What each test ran that did not fail."""
    return {test: traces for test, traces in recording.by_test.items() if not recording.outcomes[test].bad}


def _undisturbed(bench: Bench, request: Request, runs: Sequence[TestRun]) -> list[TestRun]:
    """The runs; who failed and started processes is asked again with these left alone:
    it may look at their environment.
    """
    failed = [run.id for run in runs if run.outcome is Outcome.FAILED and run.evidence and run.evidence.children]
    if not failed:
        return list(runs)
    experiment = replace(request.experiment, tests=tuple(failed))
    alone = replace(request, stage=replace(request.stage, offspring=False), experiment=experiment)
    (again,) = bench.run([alone])
    passed = {run.id: run for run in again.runs if run.outcome is Outcome.PASSED and again.controls_held}
    return [_joined(run, passed[run.id]) if run.id in passed else run for run in runs]


def _joined(first: TestRun, again: TestRun) -> TestRun:
    """The second run of a test, with what its child processes ran in the first."""
    if first.evidence is None or again.evidence is None:
        return again
    seen = replace(again.evidence, ran=(*again.evidence.ran, *first.evidence.away), away=first.evidence.away)
    return replace(again, evidence=seen)


def _places(*of_tests: Sequence[Trace]) -> set[tuple[str, int]]:
    """Files and lines that ran."""
    traces = {trace for each in of_tests for trace in each}
    return {(trace.path, line) for trace in traces for line in trace.numbers()}


def _not_collected(failures: Sequence[CollectFailure]) -> str:
    """Which files of tests say nothing, and what the first of them raised; empty if there are none."""
    if not failures:
        return ""
    first = failures[0]
    said = next(iter(first.failure.message.splitlines()), "")
    raised = f"{first.failure.type}: {said}" if said else first.failure.type
    more = f" (and {len(failures) - 1} more files of tests)" if len(failures) > 1 else ""
    return f"{first.file} cannot be collected: {raised}{more}"


def _why_not(result: ExperimentResult) -> str:
    """Why a run says nothing of what it did not run; empty if it is whole."""
    if not result.controls_held:
        return "a control test did not do what it must"
    left = sum(run.outcome is Outcome.NOT_RUN for run in result.runs)
    if left:
        return f"{left} tests were not run within the time"
    cut = [run.id for run in result.runs if run.outcome is Outcome.TIMEOUT]
    return f"{cut[0]} did not end within its time" if cut else ""
