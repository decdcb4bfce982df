"""Everything that was learnt -> one GateResult. Pure; the order of what was learnt does not matter.

Belongs here: which reason decides, the line of numbers, and joining the legs of a matrix. Does not
belong here: how a test came to its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from repro_gate.flake.statistics import upper_bound
from repro_gate.gates.fail_to_pass.advice import NEXT_STEP
from repro_gate.gates.fail_to_pass.case import GATE, Case, Claimed
from repro_gate.model import Finding, GateResult, GateVerdict, Numbers, Proved, ReasonCode, Refused
from repro_gate.model.check import abbreviated

# These stop a change whatever else it proves; the first that is there is the reason.
BLOCKING = (
    ReasonCode.TAMPERED,
    ReasonCode.FAILS_ON_HEAD,
    ReasonCode.NETWORK,
    ReasonCode.NETWORK_ATTEMPT,
    ReasonCode.ORDER_DEPENDENT,
    ReasonCode.FLAKY_ON_HEAD,
    ReasonCode.FLAKY_ON_BASE,
)
# Another run, or another machine, could still bring a proof.
UNDECIDED = (
    ReasonCode.BASE_BROKEN,
    ReasonCode.LOST,
    ReasonCode.BUSY,
    ReasonCode.TIMEOUT,
    ReasonCode.CRASH,
    ReasonCode.ENV,
    ReasonCode.EXERCISE_UNSEEN,
    ReasonCode.HOLLOW_UNCLEAR,
)
# They look like proofs and are none: where nothing else is proved, that is said loudly.
EMPTY = (
    ReasonCode.DOES_NOT_EXERCISE,
    ReasonCode.IMPORT_ONLY,
    ReasonCode.USAGE,
    ReasonCode.CONFTEST,
    ReasonCode.COLLECT,
    ReasonCode.FIXTURE,
    ReasonCode.UNEXPLAINED,
)
# No evidence: they decide only where there is no other test.
SILENT = (
    ReasonCode.SKIPPED_ON_HEAD,
    ReasonCode.NOT_RUN,
    ReasonCode.XFAIL,
    ReasonCode.XPASS,
    ReasonCode.UNSTABLE_ID,
)
_STOPPED_FAIL = frozenset({ReasonCode.TAMPERED, ReasonCode.FAILS_ON_HEAD, ReasonCode.NO_ITEMS})
_KINDS = {
    ReasonCode.ASSERTION: "assertion",
    ReasonCode.TEST_EXCEPTION: "assertion",
    ReasonCode.REPRO_ONLY: "repro",
    ReasonCode.MISSING_SYMBOL: "new-API",
    ReasonCode.SIGNATURE_MISMATCH: "new-API",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Situation:
    """What the protocol learnt. ``stopped`` ended it early; ``broken`` are base's own red tests;
    ``own``: a candidate is new or changed in itself or its data, not only through what it uses."""

    stopped: tuple[ReasonCode, str] | None = None
    candidates: int = 0
    own: bool = False
    new: int = 0
    broken: tuple[str, ...] = ()
    proved: tuple[Proved, ...] = ()
    refused: tuple[Refused, ...] = ()
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()


def decide(situation: Situation, case: Case, claims: Claimed) -> GateResult:
    """The gate's answer for one change on one machine."""
    verdict, reason = _answer(situation, case, claims)
    certified = verdict is GateVerdict.PASS
    proved = tuple(sorted(situation.proved, key=lambda each: each.id))
    refused = tuple(sorted(situation.refused, key=lambda each: (each.id, each.reason, each.why)))
    numbers = _numbers(situation, case, proved)
    return GateResult(
        gate=GATE,
        verdict=verdict,
        reason=reason,
        findings=_findings(situation, case, reason, refused, certified=certified),
        proved=proved,
        refused=refused,
        notes=tuple(sorted(situation.notes)),
        numbers=numbers,
        summary=_summary(numbers),
        command=case.command,
    )


def merge_legs(legs: Mapping[str, GateResult]) -> GateResult:
    """The answer over the legs of a matrix: one must prove it, and none may contradict.

    A leg on which the bug does not show contradicts nothing. Raises ValueError for no legs.
    """
    if not legs:
        raise ValueError("no legs to merge")
    ordered = sorted(legs.items())
    deciding = min(ordered, key=lambda leg: (_rank(leg[1]), leg[0]))
    proved = {proof.id: proof for _, result in reversed(ordered) for proof in result.proved}
    refused = {each.id: each for _, result in reversed(ordered) for each in result.refused}
    open_ids = [each for test, each in sorted(refused.items()) if test not in proved or each.reason in BLOCKING]
    return replace(
        deciding[1],
        proved=tuple(proof for _, proof in sorted(proved.items())),
        refused=tuple(open_ids),
        findings=tuple(dict.fromkeys(each for _, result in ordered for each in result.findings)),
        notes=tuple(f"{name}: {result.verdict} ({result.reason}); {result.summary}" for name, result in ordered),
    )


def _rank(result: GateResult) -> int:
    """Which leg decides: a contradiction, a proof, a doubt, a plain no, nothing to say."""
    contradicts = result.verdict is GateVerdict.FAIL and result.reason in (*BLOCKING, ReasonCode.NO_ITEMS)
    order = (GateVerdict.PASS, GateVerdict.INCONCLUSIVE, GateVerdict.FAIL, GateVerdict.NEUTRAL)
    return 0 if contradicts else 1 + order.index(result.verdict)


def _answer(situation: Situation, case: Case, claims: Claimed) -> tuple[GateVerdict, ReasonCode]:
    if case.obstacles:
        return GateVerdict.INCONCLUSIVE, min(each.reason for each in case.obstacles)
    if situation.stopped is not None:
        reason = situation.stopped[0]
        return (GateVerdict.FAIL if reason in _STOPPED_FAIL else GateVerdict.INCONCLUSIVE), reason
    if situation.broken:
        return GateVerdict.INCONCLUSIVE, ReasonCode.BASE_BROKEN
    if not case.changes_product and not case.changes_tests:
        return GateVerdict.NEUTRAL, ReasonCode.NOTHING_TO_JUDGE
    reasons = {refused.reason for refused in situation.refused}
    if blocking := _first(BLOCKING, reasons):
        return GateVerdict.FAIL, blocking
    if situation.proved:
        return GateVerdict.PASS, _kind_of_pass(situation.proved)
    return _without_proof(situation, case, claims, reasons)


def _without_proof(
    situation: Situation, case: Case, claims: Claimed, reasons: set[ReasonCode]
) -> tuple[GateVerdict, ReasonCode]:
    if not case.changes_product:
        return GateVerdict.NEUTRAL, ReasonCode.TESTS_ONLY
    owes_nothing = (
        (claims.author_is_bot, ReasonCode.BOT),
        (claims.is_revert, ReasonCode.REVERT),
        (claims.is_refactor, ReasonCode.REFACTOR),
    )
    for holds, reason in owes_nothing:
        if holds:
            return GateVerdict.NEUTRAL, reason
    if undecided := _first(UNDECIDED, reasons):
        return GateVerdict.INCONCLUSIVE, undecided
    if empty := _first(EMPTY, reasons):
        return GateVerdict.FAIL, empty
    if ReasonCode.PASSES_ON_BASE in reasons:
        verdict = GateVerdict.FAIL if claims.is_fix else GateVerdict.NEUTRAL
        return verdict, ReasonCode.PASSES_ON_BASE
    if reasons & {ReasonCode.NETWORK_ALLOWED, ReasonCode.UNSUPPORTED}:
        return GateVerdict.NEUTRAL, min(reasons & {ReasonCode.NETWORK_ALLOWED, ReasonCode.UNSUPPORTED})
    silent = _first(SILENT, reasons)
    if silent and (situation.own or claims.is_fix or silent is ReasonCode.UNSTABLE_ID):
        return GateVerdict.FAIL, silent
    if claims.is_fix:
        return GateVerdict.FAIL, ReasonCode.NO_TEST
    return GateVerdict.NEUTRAL, ReasonCode.NOT_A_FIX


def _first(order: Sequence[ReasonCode], reasons: set[ReasonCode]) -> ReasonCode | None:
    return next((reason for reason in order if reason in reasons), None)


def _kind_of_pass(proved: Sequence[Proved]) -> ReasonCode:
    if all(proof.reason is ReasonCode.REPRO_ONLY for proof in proved):
        return ReasonCode.REPRO_ONLY
    if all(proof.by_dependency for proof in proved):
        return ReasonCode.DEPENDENCY
    return ReasonCode.NEW_API if all(proof.new_api for proof in proved) else ReasonCode.PROVED


def _findings(
    situation: Situation, case: Case, reason: ReasonCode, refused: Sequence[Refused], *, certified: bool
) -> tuple[Finding, ...]:
    """What stands in the way, each with its next step; beside a proof only what warns."""
    found = [
        each if each.output else replace(each, next_step=each.next_step or NEXT_STEP[ReasonCode(each.reason)])
        for each in situation.findings
    ]
    found += [_finding(each.reason, each.text) for each in case.obstacles]
    if situation.stopped is not None:
        found.append(_finding(*situation.stopped))
    if not certified:
        found += [_finding(each.reason, each.why, each.id) for each in refused]
    if reason is ReasonCode.NO_TEST:
        found.append(_finding(reason, "a fix, and no test that is new, changed or reads what changed"))
    return tuple(sorted(found, key=lambda each: (each.reason, each.id, each.text)))


def _finding(reason: ReasonCode, text: str, test: str = "") -> Finding:
    return Finding(reason=reason, text=text, id=test, next_step=NEXT_STEP[reason])


def _numbers(situation: Situation, case: Case, proved: Sequence[Proved]) -> Numbers:
    runs = min((proof.runs for proof in proved), default=0)
    kinds = Counter(_KINDS.get(proof.reason, "product") for proof in proved)
    return Numbers(
        new=situation.new,
        proved=dict(sorted(kinds.items())),
        runs=runs,
        seeds=tuple(sorted(situation.seeds)),
        bound=upper_bound(0, runs) if runs else 1.0,
        base_sha=case.base_sha,
        head_sha=case.head_sha,
        environment=case.environment,
        overlay=case.overlay,
    )


def _summary(numbers: Numbers) -> str:
    """The one line of numbers."""
    kinds = numbers.proved
    by_kind = " / ".join(f"{kind} {kinds.get(kind, 0)}" for kind in ("assertion", "product", "new-API"))
    if kinds.get("repro"):
        by_kind += f" / repro {kinds['repro']}"
    seeds = ",".join(map(str, numbers.seeds)) or "none"
    bound = f", flakes above {numbers.bound:.0%} excluded at 95 %" if numbers.runs else ""
    return (
        f"{numbers.new} new, {sum(kinds.values())} proved ({by_kind}), {numbers.runs} runs a side{bound}, "
        f"hash seeds {seeds}, base {numbers.base_sha[:12]}, environment {abbreviated(numbers.environment, 12) or 'unknown'}"
    )
