"""Replay a capsule through the engine: the experiment that its manifest describes, k times.

Belongs here: what a run says of a manifest. Does not belong here: the trees of a proof (pipeline).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from repro_gate.capsule.manifest import Manifest
from repro_gate.errors import CapsuleRefused
from repro_gate.experiment import Job, Lab, leaves_checkout
from repro_gate.model import Ending, Experiment, ExperimentResult, Limits, Mode, Outcome, TestRun


@dataclass(frozen=True, kw_only=True, slots=True)
class Replay:
    """One replay: what the victim came to, and whether that is the expected failure."""

    run: TestRun | None
    same: bool
    why: str = ""

    @property
    def tried(self) -> bool:
        """Whether the victim was run at all."""
        return self.run is not None and self.run.outcome is not Outcome.NOT_RUN


def replayable(manifest: Manifest) -> Manifest:
    """The manifest, if pytest's arguments in it stay inside the checkout and write nothing.

    They come from a stranger and are given to pytest as they are. Raises CapsuleRefused.
    """
    for argument in manifest.pytest_args:
        if leaves_checkout(argument, manifest.project.root):
            raise CapsuleRefused(f"The capsule gives pytest the argument {argument!r}, which leaves the checkout.")
    return manifest


def replay(manifest: Manifest, lab: Lab, times: int, each: Callable[[Replay], None]) -> list[Replay]:
    """Replay in fresh processes, one after another; ``each`` hears of every one as it ends."""
    done: list[Replay] = []
    experiment = Experiment(
        tests=manifest.tests,
        conditions=manifest.conditions,
        partners=manifest.partners,
        limits=Limits(test_seconds=300.0),
    )
    for _ in range(times):
        (result,) = lab.run([Job(experiment=experiment, mode=Mode.FRESH)])
        one = red(manifest, result)
        done.append(one)
        each(one)
    return done


def green(manifest: Manifest, result: ExperimentResult) -> Replay:
    """Whether the victim passed: what a proof needs of head."""
    run = result.of(manifest.victim)
    if result.ending is Ending.NOT_STARTED or run is None:
        return Replay(run=None, same=False, why=" ".join(result.notes) or "the test was not run")
    if run.outcome is Outcome.NOT_RUN:
        return Replay(run=run, same=False, why="this commit has no such test")
    passed = run.outcome is Outcome.PASSED
    return Replay(run=run, same=passed, why="" if passed else f"{run.outcome} where it must pass")


def red(manifest: Manifest, result: ExperimentResult) -> Replay:
    """Whether the victim failed as expected."""
    run = result.of(manifest.victim)
    if result.ending is Ending.NOT_STARTED or run is None:
        return Replay(run=None, same=False, why=" ".join(result.notes) or "the test was not run")
    expected = manifest.expected
    fingerprint = run.failure.fingerprint if run.failure is not None else ""
    if run.outcome is Outcome.NOT_RUN:
        return Replay(run=run, same=False, why="this checkout has no such test")
    if run.outcome is not expected.outcome:
        return Replay(run=run, same=False, why=f"{run.outcome} where {expected.outcome} was expected")
    if expected.fingerprint and fingerprint != expected.fingerprint:
        return Replay(run=run, same=False, why="another failure")
    if expected.type and (run.failure is None or run.failure.type != expected.type):
        return Replay(run=run, same=False, why="another exception")
    return Replay(run=run, same=True)
