"""What one experiment with a mutant, or with a control, says of each test. Pure.

Belongs here: which results can be believed, and the first sign that a mutant was noticed. Does not belong here: doing
it twice (trials).
"""

from __future__ import annotations

import enum
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from repro_gate.gates.fail_to_pass.runs import contradicted, worst
from repro_gate.model import Ending, ExperimentResult, Outcome, TestRun

_ENDS_ITS_PROCESS = (Outcome.TIMEOUT, Outcome.CRASHED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Observed:
    """The worst report of each test. ``broken`` says why the experiment as a whole tells nothing, or is empty.

    ``gone``: since its process ended, and not since somebody wrote the reports. ``trusted`` are the tests until the
    first that ended its process: those after it ran in a new one, without what ran before. ``swapped`` False: the code
    was not exchanged, so the mutant was not there. ``others`` are tests that the process collected, and that nobody
    asked for; ``uncollected`` are files that it could not collect.
    """

    runs: Mapping[str, TestRun]
    trusted: frozenset[str]
    broken: str = ""
    gone: bool = False
    swapped: bool = True
    others: tuple[str, ...] = ()
    uncollected: frozenset[str] = frozenset()

    def outcome(self, test: str) -> Outcome:
        """What a test came to."""
        return self.runs[test].outcome

    def passed(self, test: str) -> bool:
        """Whether a test passed and could be expected to."""
        return test in self.trusted and self.outcome(test) is Outcome.PASSED

    def calm(self, test: str) -> bool:
        """Whether a test passed, was skipped, or failed as it is expected to."""
        return test in self.trusted and (self.outcome(test).good or self.outcome(test) is Outcome.SKIPPED)

    def failed(self, test: str) -> bool:
        """Whether a test failed by itself."""
        return test in self.trusted and self.outcome(test) in (Outcome.FAILED, Outcome.ERROR)


def observe(result: ExperimentResult, tests: Sequence[str]) -> Observed:
    """Read one experiment over these tests, which ran in this order."""
    runs = {test: worst(result.runs, test) for test in tests}
    trusted: list[str] = []
    for test in tests:
        trusted.append(test)
        if runs[test].outcome in _ENDS_ITS_PROCESS:
            break
    swapped = result.experiment.swap is None or bool(result.swapped)
    return Observed(
        runs=runs,
        trusted=frozenset(trusted),
        broken=_broken(result, tests),
        gone=result.ending is not Ending.DONE,
        swapped=swapped,
        others=result.others,
        uncollected=frozenset(result.uncollected),
    )


def all_of(result: ExperimentResult) -> tuple[str, ...]:
    """The tests that an experiment came to, in order, each once."""
    return tuple(dict.fromkeys(run.id for run in result.runs))


def _broken(result: ExperimentResult, tests: Sequence[str]) -> str:
    if result.ending is not Ending.DONE:
        note = f" ({result.notes[-1]})" if result.notes else ""
        return f"the process did not go to its end: {result.ending}{note}"
    if not result.controls_held:
        return "a control test in the process did not do what it must"
    against = contradicted(result, tests)
    return f"{against.id}: {against.contradiction}" if against else ""


class Sign(enum.Enum):
    """The first thing that a mutant's run shows."""

    FAILURE = enum.auto()
    HANG = enum.auto()
    CRASH = enum.auto()
    SILENCE = enum.auto()
    UNCLEAR = enum.auto()
    NOT_THERE = enum.auto()
    OTHER_TESTS = enum.auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A sign, and the tests that show it, in order; no test where the process itself ended."""

    sign: Sign
    tests: tuple[str, ...] = ()
    why: str = ""


def read(
    seen: Observed,
    tests: Sequence[str],
    eligible: frozenset[str],
    silent: frozenset[str] = frozenset(),
    known: Container[str] | None = None,
) -> Reading:
    """What a mutant's run over these tests shows; only ``eligible`` ones may speak, and ``silent`` ones by failing.

    ``known`` are all tests of head: where it is given, tests that come with the mutant are a sign.
    """
    telling = eligible | silent
    if not seen.swapped:
        return Reading(sign=Sign.NOT_THERE)
    if seen.broken:
        return Reading(sign=Sign.CRASH if seen.gone else Sign.UNCLEAR, why=seen.broken)
    failing = tuple(test for test in tests if test in telling and seen.failed(test))
    if failing:
        return Reading(sign=Sign.FAILURE, tests=failing)
    ended = next((test for test in tests if seen.outcome(test) in _ENDS_ITS_PROCESS), "")
    if ended:
        sign = Sign.HANG if seen.outcome(ended) is Outcome.TIMEOUT else Sign.CRASH
        if ended in telling:
            return Reading(sign=sign, tests=(ended,))
        return Reading(sign=Sign.UNCLEAR, why=f"{ended} ended the process, and may do so without the mutant")
    other = next((test for test in tests if test in eligible and not seen.passed(test)), "")
    if other and seen.outcome(other) is Outcome.NOT_RUN:
        return Reading(sign=Sign.OTHER_TESTS, tests=(other,), why=f"{other} is not collected with it")
    if other:
        return Reading(sign=Sign.UNCLEAR, why=f"{other} came to {seen.outcome(other)}, neither passed nor failed")
    new = next((test for test in seen.others if test not in known), "") if known is not None else ""
    if new:
        return Reading(sign=Sign.OTHER_TESTS, why=f"{new} is collected only with it")
    return Reading(sign=Sign.SILENCE)
