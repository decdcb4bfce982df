"""The network gate: no test tries to reach anything but loopback, whatever comes of the attempt.

Belongs here: which runs tell, and what attempts mean. Evidence is the audit hook's (which test,
which destination) and the namespace's counters (also C extensions and child processes). Does not
belong here: refusing the network (sandbox, axes). Loopback, unix sockets and asyncio's own pipes
are no attempts.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from repro_gate.gates.fail_to_pass.case import Bench, Request, Stage
from repro_gate.model import (
    Conditions,
    Experiment,
    Finding,
    GateResult,
    GateVerdict,
    Limits,
    Mode,
    Side,
    TestRun,
)

GATE = "network"
HEAD = Stage(side=Side.HEAD)
_MOST_ALONE = 40


class Reason(enum.StrEnum):
    """Why the gate came to its verdict."""

    QUIET = "quiet"
    ATTEMPT = "network_attempt"
    UNSEEN = "unseen_attempt"
    ALLOWED = "network_allowed"
    NOT_NEW = "not_of_this_change"
    UNATTRIBUTED = "unattributed"
    LOST = "lost"
    NO_COUNTERS = "no_counters"
    NOTHING_TO_JUDGE = "nothing_to_judge"


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    """What one test did: destinations that the hook saw, and packets that found no way out.

    ``alone`` False: packets were counted during its run, and none when it ran by itself.
    """

    id: str
    seen: tuple[str, ...] = ()
    unrouted: int = 0
    alone: bool = True

    @property
    def words(self) -> str:
        """For people."""
        if self.seen:
            return ", ".join(dict.fromkeys(self.seen))
        if not self.alone:
            return "packets found no way out while it ran with others, none when it ran alone"
        return f"{self.unrouted} packets of a C extension or a child process found no way out"


def judge(
    bench: Bench, tests: Mapping[str, str], *, own: frozenset[str], allowed: Mapping[str, str], seconds: float
) -> GateResult:
    """Run ``tests`` (id to file) once on head and judge what they tried to reach.

    ``own`` are the tests that the change adds or changes: only they block. ``allowed`` maps ids to
    the reason for which a test may use the network.
    """
    if not tests:
        return _result(GateVerdict.NEUTRAL, Reason.NOTHING_TO_JUDGE, ())
    limits = Limits(test_seconds=min(120.0, seconds), total_seconds=seconds)
    (first,) = bench.run([_request(tuple(tests), limits, Mode.FORK, ())])
    if not first.controls_held:
        text = "the run did not go to its end, or a control test did not do what it must"
        return _result(GateVerdict.INCONCLUSIVE, Reason.LOST, (Finding(reason=Reason.LOST, text=text),))
    attempts = [found for run in first.runs if (found := attempt_of(run)) is not None]
    unsure = [found.id for found in attempts if not found.seen][:_MOST_ALONE]
    alone = _alone(bench, unsure, tests, limits)
    measured = any(run.evidence is not None and run.evidence.unrouted is not None for run in first.runs)
    return decide([alone.get(found.id, found) for found in attempts], own=own, allowed=allowed, measured=measured)


def attempt_of(run: TestRun) -> Attempt | None:
    """What a run tried to reach, or None."""
    seen = run.evidence
    if seen is None or not (seen.network or seen.unrouted):
        return None
    return Attempt(id=run.id, seen=seen.network, unrouted=seen.unrouted or 0)


def decide(
    attempts: Iterable[Attempt], *, own: frozenset[str], allowed: Mapping[str, str], measured: bool
) -> GateResult:
    """Attempts to a verdict. Without counters (``measured`` False) silence proves only half."""
    findings = [
        Finding(reason=_reason(found, own, allowed), id=found.id, text=_text(found, allowed))
        for found in sorted(attempts, key=lambda each: each.id)
    ]
    blocking = [finding for finding in findings if finding.reason in (Reason.ATTEMPT, Reason.UNSEEN)]
    notes = (
        () if measured else ("the namespace's counters could not be read: children and C extensions are not covered",)
    )
    if blocking:
        return _result(GateVerdict.FAIL, Reason(blocking[0].reason), tuple(findings), notes)
    if any(finding.reason is Reason.UNATTRIBUTED for finding in findings):
        return _result(GateVerdict.INCONCLUSIVE, Reason.UNATTRIBUTED, tuple(findings), notes)
    if findings:
        return _result(GateVerdict.NEUTRAL, Reason(findings[0].reason), tuple(findings), notes)
    return _result(GateVerdict.PASS, Reason.QUIET if measured else Reason.NO_COUNTERS, (), notes)


def _reason(found: Attempt, own: frozenset[str], allowed: Mapping[str, str]) -> Reason:
    if found.id in allowed:
        return Reason.ALLOWED
    if found.id not in own:
        return Reason.NOT_NEW
    if not found.alone:
        return Reason.UNATTRIBUTED
    return Reason.ATTEMPT if found.seen else Reason.UNSEEN


def _text(found: Attempt, allowed: Mapping[str, str]) -> str:
    because = f" (allowed: {allowed[found.id]})" if found.id in allowed else ""
    return f"{found.words}{because}"


def _alone(bench: Bench, unsure: Sequence[str], tests: Mapping[str, str], limits: Limits) -> dict[str, Attempt]:
    """Counters count for the whole namespace: what rose during one test may be another's straggler."""
    requests = [_request((test,), limits, Mode.FRESH, (tests[test],)) for test in unsure]
    found: dict[str, Attempt] = {}
    for test, result in zip(unsure, bench.run(requests) if requests else [], strict=True):
        run = result.of(test) if result.controls_held else None
        again = attempt_of(run) if run is not None else None
        found[test] = again or Attempt(id=test, alone=False)
    return found


def _request(tests: tuple[str, ...], limits: Limits, mode: Mode, files: tuple[str, ...]) -> Request:
    return Request(
        stage=HEAD,
        experiment=Experiment(tests=tests, conditions=Conditions(), limits=limits),
        mode=mode,
        files=files,
    )


def _result(
    verdict: GateVerdict, reason: Reason, findings: tuple[Finding, ...], notes: tuple[str, ...] = ()
) -> GateResult:
    return GateResult(gate=GATE, verdict=verdict, reason=reason, findings=findings, notes=notes)
