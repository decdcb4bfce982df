"""Runs the mutation gate on a shape, and compares what it says with the answer and with the truth.

Belongs here: one shape, one sandbox, one report, and what differs. Does not belong here: which shapes there are, and
running mutants without the gate (truth).
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.config import load
from repro_gate.gates import mutation
from repro_gate.model import GateResult, Mutant, MutantOutcome, MutationReport
from repro_gate.pipeline.check import check, resolve_change
from repro_gate.pipeline.check_request import CheckRequest
from repro_gate.pipeline.request import system_effects
from tests.mutation_corpus.shape import CODE, Shape
from tests.mutation_corpus.truth import Truth, truth_of

_OF_ONE_MUTANT = ("survived", "more_survivors", "timeout", "inconclusive")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the gate came to, and what each tested mutant's file really does to the whole suite, by id.

    ``trouble``: why there is no result at all. ``seconds`` are the gate's own, ``seconds_of_truth`` the plain runs'.
    """

    result: GateResult | None
    trouble: str
    truth: Mapping[str, Truth]
    seconds: float
    seconds_of_truth: float

    @property
    def words(self) -> str:
        """Verdict and reason, or the trouble."""
        return f"{self.result.verdict} {self.result.reason}" if self.result is not None else self.trouble


def ask(shape: Shape, place: Path, sandbox: str, *, jobs: int = 2) -> Answer:
    """Write the shape below ``place``, run the gate on it, and then each tested mutant without the gate."""
    repo, base, head = shape.write(place)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "DOCKER_HOST": os.environ.get("DOCKER_HOST", ""),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # the plugins beside ours cost a second for each process
    }
    effects = dataclasses.replace(system_effects(), environ=environ)
    said = {"sandbox": sandbox, "jobs": jobs, "gate_mutation": "block", "memory_limit": 1024, **shape.settings}
    request = CheckRequest(
        directory=repo.path,
        event=None,
        gates=shape.gates,
        settings=load(repo.path, said, environ),
        arguments=shape.arguments,
        python=sys.executable,
        command="repro-gate check",
        mutant_seconds=3.0,
    )
    report = check(request, resolve_change(repo.path, base, head, None, environ), effects)
    result = next((each for each in report.gates if each.gate == mutation.GATE), None)
    trouble = f"{report.trouble.slug}: {report.trouble.text}" if report.trouble is not None else ""
    began = time.monotonic()
    found = result.mutation if result is not None else None
    truth = truth_of(shape, repo.path, [each.mutant for each in found.tested], place / "truth", jobs) if found else {}
    return Answer(
        result=result,
        trouble=trouble,
        truth=truth,
        seconds=report.seconds,
        seconds_of_truth=time.monotonic() - began,
    )


def differences(shape: Shape, answer: Answer) -> list[str]:
    """What the gate said otherwise than the shape's answer or the truth; nothing if all three agree."""
    result = answer.result
    if result is None or result.mutation is None:
        return [f"no result: {answer.trouble or answer.words}"]
    report = result.mutation
    told: list[tuple[str, object, object]] = [
        ("verdict", str(shape.verdict), str(result.verdict)),
        ("reason", shape.reason, str(result.reason)),
        ("tested", shape.tested, len(report.tested)),
        ("survivors", sorted(shape.survivors), _of(report, MutantOutcome.SURVIVED)),
        ("timeouts", sorted(shape.timeouts), _of(report, MutantOutcome.TIMEOUT)),
        ("inconclusive", sorted(shape.inconclusive), _of(report, MutantOutcome.INCONCLUSIVE)),
        ("untested", dict(shape.untested), dict(Counter(str(each.reason) for each in report.not_tested))),
        ("states", dict(shape.states), _states(report, shape.states)),
        ("findings", sorted(shape.findings), _findings(result)),
    ]
    said = [f"{what}: {wanted!r} is right, {was!r} was said" for what, wanted, was in told if wanted != was]
    return [*said, *_against_truth(report, answer.truth), *_odd(report)]


def written(mutant: Mutant) -> str:
    """A mutant as shapes write it."""
    before = "" if mutant.file == CODE else f"{mutant.file}:"
    return f"{before}{mutant.line}: {mutant.original} -> {mutant.mutated}"


def _of(report: MutationReport, outcome: MutantOutcome) -> list[str]:
    return sorted(written(each.mutant) for each in report.tested if each.outcome is outcome)


def _states(report: MutationReport, asked: Iterable[int | str]) -> dict[int | str, str]:
    account = {(each.file, each.line): str(each.state) for each in report.account}
    found: dict[int | str, str] = {}
    for where in asked:
        file, _, line = str(where).rpartition(":")
        found[where] = account.get((file or CODE, int(line)), "not in the account")
    return found


def _findings(result: GateResult) -> list[str]:
    known = {*_OF_ONE_MUTANT, str(result.reason)}
    return sorted({str(each.reason) for each in result.findings} - known)


def _against_truth(report: MutationReport, truth: Mapping[str, Truth]) -> list[str]:
    """False survivors and false kills, and tests that are named as killers and are not."""
    found = []
    for each in report.tested:
        fact = truth[each.mutant.id]
        if each.outcome is MutantOutcome.SURVIVED and fact.noticed:
            found.append(f"FALSE SURVIVOR {written(each.mutant)}: {fact.how}")
        elif each.outcome.detected and not fact.noticed:
            found.append(f"FALSE KILL {written(each.mutant)} by {', '.join(each.killed_by)}: {fact.how}")
    return found


def _odd(report: MutationReport) -> list[str]:
    """What must hold whatever the change is."""
    account = Counter((each.file, each.line) for each in report.account)
    found = [f"{file}:{line} is {times} times in the account" for (file, line), times in account.items() if times > 1]
    unconfirmed = [each for each in report.tested if each.outcome is MutantOutcome.SURVIVED and not each.confirmed]
    return found + [f"unconfirmed survivor {written(each.mutant)}" for each in unconfirmed]
