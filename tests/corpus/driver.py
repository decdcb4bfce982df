"""Runs the gate on a shape: real git, real pytest, a real sandbox, and compares it with the answer.

Belongs here: one shape, one sandbox, one report, and what differs. Does not belong here: which
shapes there are, and counting.
"""

from __future__ import annotations

import dataclasses
import datetime
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.config import load
from repro_gate.gates.fail_to_pass import GATE, Policy
from repro_gate.model import CheckReport, Conditions, GateResult, ReasonCode
from repro_gate.pipeline.check import check, resolve_change
from repro_gate.pipeline.check_request import CheckRequest
from repro_gate.pipeline.request import system_effects
from tests.corpus.shape import Shape


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the gate came to for one shape; ``trouble``: why there is no result at all."""

    result: GateResult | None
    trouble: str
    seconds: float

    @property
    def words(self) -> str:
        """Verdict and reason, or the trouble."""
        return f"{self.result.verdict} {self.result.reason}" if self.result is not None else self.trouble


def ask(shape: Shape, place: Path, sandbox: str, *, jobs: int = 2) -> Answer:
    """Write the shape below ``place`` and run the fail-to-pass gate on it."""
    repo, base, head = shape.write(place / "repo")
    return answer_of(run(shape, repo.path, base, head, sandbox, jobs=jobs))


def run(
    shape: Shape,
    directory: Path,
    base: str | None,
    head: str | None,
    sandbox: str,
    *,
    jobs: int = 2,
    python: str | None = sys.executable,
    more: Mapping[str, str] | None = None,
    capsules: Path | None = None,
) -> CheckReport:
    """The report on two commits. With the interpreter named (ours), no environment is made.

    ``more`` variables are added to the few that the gate sees; ``capsules`` is where proofs are packed.
    """
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": os.environ.get("HOME", "/"),
        "DOCKER_HOST": os.environ.get("DOCKER_HOST", ""),
        # The plugins beside ours in this environment cost a second for each process.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **(more or {}),
    }
    effects = dataclasses.replace(system_effects(), environ=environ)
    event = {"title": shape.title, **shape.event}
    request = CheckRequest(
        directory=directory,
        event=event,
        gates=(GATE,),
        settings=load(directory, {"sandbox": sandbox, "jobs": jobs, "replays": 1}, environ),
        arguments=shape.arguments,
        python=python,
        command="repro-gate check",
        policy=policy_of(shape),
        capsules=capsules,
    )
    return check(request, resolve_change(directory, base, head, event, environ), effects)


def policy_of(shape: Shape) -> Policy:
    """How often the gate repeats on this shape."""
    rigour = shape.rigour
    return Policy(
        today=datetime.datetime.now(tz=datetime.UTC).date(),
        same_seed=rigour.same_seed,
        varied=rigour.varied,
        first_seconds=30.0,
        least_seconds=rigour.least_seconds,
    )


def answer_of(report: CheckReport) -> Answer:
    """The one gate's result."""
    trouble = f"{report.trouble.slug}: {report.trouble.text}" if report.trouble is not None else ""
    return Answer(result=report.gates[0] if report.gates else None, trouble=trouble, seconds=report.seconds)


def differences(shape: Shape, answer: Answer) -> list[str]:
    """What the gate said otherwise than the shape's answer; nothing if it agrees."""
    result = answer.result
    if result is None:
        return [f"no result: {answer.trouble}"]
    proved = {proof.id: str(proof.reason) for proof in result.proved}
    refused = {_stable(each.id, each.reason): str(each.reason) for each in result.refused}
    # Left are the warnings: what stands in the way is said by the reason and by what is refused.
    known = {result.reason, *(each.reason for each in result.refused)}
    findings = sorted({str(each.reason) for each in result.findings if each.reason not in known})
    conditions = sorted({axis for proof in result.proved for axis in proof.conditions.differences(Conditions())})
    pairs: list[tuple[str, object, object]] = [
        ("verdict", str(shape.verdict), str(result.verdict)),
        ("reason", shape.reason, str(result.reason)),
        ("proved", dict(shape.proved), proved),
        ("refused", dict(shape.refused), refused),
        ("findings", sorted(shape.findings), findings),
        ("conditions", sorted(shape.conditions), conditions),
    ]
    return [f"{what}: {wanted!r} is right, {said!r} was said" for what, wanted, said in pairs if wanted != said]


def _stable(test: str, reason: str) -> str:
    """An id that is another one in each run, without what changes."""
    return test.partition("[")[0] if reason == ReasonCode.UNSTABLE_ID else test
