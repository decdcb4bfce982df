"""From what became of each mutant to the verdict on the change, and to what a reviewer is shown. Pure.

Belongs here: the policy. A survivor that is confirmed is true whatever else could not be measured; a score is a claim
about all mutants and needs nearly all of them. Does not belong here: trying anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from repro_gate.flake.statistics import upper_bound
from repro_gate.gates.mutation.case import GATE, Case, Policy
from repro_gate.gates.mutation.reasons import NEXT_STEP, Reason
from repro_gate.gates.mutation.waiving import Waived
from repro_gate.gates.mutation.wording import counted, next_step_of, outline, sentence, survivor
from repro_gate.model import (
    Finding,
    GateResult,
    GateVerdict,
    Mutant,
    MutantOutcome,
    MutantResult,
    MutationReport,
    Untested,
)

MOST_SHOWN = 7
_CONFIDENCE = 0.95

# What a reviewer can act on first comes first, in the makers' own names; an operator that is not named comes last.
_PREFERRED = (
    "relational",
    "boolean",
    "return",
    "condition",
    "boundary",
    "statement",
    "exception",
    "constant",
    "arithmetic",
    "assignment",
    "loop",
    "case",
    "decorator",
    "method",
    "argument",
    "string",
)
_PLACES = {operator: place for place, operator in enumerate(_PREFERRED)}


def decide(report: MutationReport, case: Case, policy: Policy, waived: Waived) -> GateResult:
    """The gate's result, with the report that it rests on."""
    chosen = shown(report.survivors, case.statement)
    report = replace(report, shown=tuple(each.mutant.id for each in chosen), interval=interval(report.measured))
    verdict, reason, text = _verdict(report, case, policy, waived)
    findings = [
        *_survivors(report, chosen, case),
        *(_whole(reason, text) if text else ()),
        *case.remarks,
        *waived.findings,
        *_timeouts(report),
        *_unclear(report),
    ]
    return GateResult(
        gate=GATE,
        verdict=verdict,
        reason=reason,
        findings=tuple(findings),
        notes=tuple(_notes(report, case)),
        summary=outline(report),
        command=case.command,
        mutation=report,
    )


def interval(measured: Sequence[MutantResult]) -> tuple[float, float] | None:
    """Between which shares detected mutants lie, two-sided at 95 % (Clopper & Pearson 1934); None without any."""
    if not measured:
        return None
    missed = sum(not each.outcome.detected for each in measured)
    one_sided = (1 + _CONFIDENCE) / 2
    detected = len(measured) - missed
    return 1 - upper_bound(missed, len(measured), one_sided), upper_bound(detected, len(measured), one_sided)


def lines_of(survivors: Sequence[MutantResult]) -> int:
    """The unit of the decision: lines with at least one survivor."""
    return len({_line(each) for each in survivors})


def shown(
    survivors: Sequence[MutantResult], statement: Callable[[Mutant], int] = lambda mutant: mutant.line
) -> tuple[MutantResult, ...]:
    """At most one survivor of a line and seven in all: of each statement one before a second one, of each definition
    the first of those before the next, and then those of the most telling operators.

    ``statement`` gives a statement's first line. A table of data is one, however many survivors it has.
    """
    best: dict[tuple[str, int], MutantResult] = {}
    for each in survivors:
        place = _line(each)
        if place not in best or rank(each) < rank(best[place]):
            best[place] = each
    of_statement: Counter[tuple[str, int]] = Counter()
    of_definition: Counter[tuple[str, str, int]] = Counter()
    turns: dict[tuple[str, int], tuple[int, int]] = {}
    for place, each in sorted(best.items(), key=lambda item: rank(item[1])):
        its_statement = each.mutant.file, statement(each.mutant)
        turn = of_statement[its_statement]
        its_definition = each.mutant.file, each.mutant.qualname, turn
        turns[place] = turn, of_definition[its_definition]
        of_statement[its_statement] += 1
        of_definition[its_definition] += 1
    return tuple(
        best[place] for place in sorted(best, key=lambda place: (turns[place], rank(best[place])))[:MOST_SHOWN]
    )


def rank(result: MutantResult) -> tuple[int, str, int]:
    """The place of a survivor among others: by operator, then where it is."""
    mutant = result.mutant
    return _PLACES.get(mutant.operator, len(_PLACES)), mutant.file, mutant.line


def _verdict(report: MutationReport, case: Case, policy: Policy, waived: Waived) -> tuple[GateVerdict, Reason, str]:
    """Verdict, reason, and a sentence where no other finding says it."""
    survivors = lines_of(report.survivors)
    if case.partial and (survivors or (not report.tested and report.left(Untested.NOT_COVERED))):
        # What was not run could have run these lines, and noticed.
        return GateVerdict.INCONCLUSIVE, Reason.NOT_WHOLE, f"The run of head is not whole: {case.partial}."
    if policy.allowed_survivors is not None and survivors > policy.allowed_survivors:
        return GateVerdict.FAIL, Reason.SURVIVORS, ""
    if len(waived.used) > policy.max_waivers:
        text = f"{counted(len(waived.used), 'waiver')} in use, and at most {policy.max_waivers} allowed"
        return GateVerdict.FAIL, Reason.TOO_MANY_WAIVERS, text
    if not report.tested:
        return _nothing(report)
    unclear = len(report.tested) - len(report.measured)
    if not report.measured or unclear > policy.most_inconclusive * len(report.tested):
        text = f"{unclear} of {counted(len(report.tested), 'mutant')} came to no result"
        return GateVerdict.INCONCLUSIVE, Reason.UNMEASURED, text
    timeouts = sum(each.outcome is MutantOutcome.TIMEOUT for each in report.tested)
    if timeouts > policy.max_timeouts:
        text = f"{counted(timeouts, 'mutant')} noticed only by tests that did not end, and at most {policy.max_timeouts} allowed"
        return GateVerdict.INCONCLUSIVE, Reason.TOO_MANY_TIMEOUTS, text
    return _score(report, policy, survivors)


def _score(report: MutationReport, policy: Policy, survivors: int) -> tuple[GateVerdict, Reason, str]:
    partly = len(report.tested) < report.testable
    if policy.min_score is not None and report.interval is not None:
        low, high = report.interval
        if high < policy.min_score and len(report.measured) >= policy.least_for_score:
            text = f"at most {high:.0%} of such mutants are noticed, and {policy.min_score:.0%} must be"
            return GateVerdict.FAIL, Reason.LOW_SCORE, text
        if low < policy.min_score:
            return GateVerdict.NEUTRAL, Reason.SCORE_UNCLEAR, ""
    if partly:
        return GateVerdict.NEUTRAL, Reason.PARTLY_TESTED, ""
    if policy.min_score is not None:
        return GateVerdict.PASS, Reason.SCORE, ""
    if not survivors:
        return GateVerdict.PASS, Reason.ALL_DETECTED, ""
    if policy.allowed_survivors is None:
        return GateVerdict.NEUTRAL, Reason.SURVIVORS, ""
    return GateVerdict.PASS, Reason.WITHIN_ALLOWANCE, ""


def _nothing(report: MutationReport) -> tuple[GateVerdict, Reason, str]:
    """No mutant was tried: that is never green."""
    reasons = {each for each in Untested if report.left(each)}
    if Untested.BUDGET in reasons:
        first = next((each.why for each in report.not_tested if each.reason is Untested.BUDGET and each.why), "")
        return (
            GateVerdict.INCONCLUSIVE,
            Reason.BUDGET,
            f"there was no time for any mutant{first and f' (of the first: {first})'}",
        )
    if Untested.NO_STABLE_TEST in reasons:
        text = "no test that runs the mutants passes on head without them and is not flaky"
        return GateVerdict.INCONCLUSIVE, Reason.UNMEASURED, text
    if Untested.NOT_COVERED in reasons:
        return GateVerdict.NEUTRAL, Reason.NOT_COVERED, "no test runs what could be mutated"
    if Untested.WAIVED in reasons:
        return GateVerdict.NEUTRAL, Reason.ALL_WAIVED, "every mutant is waived"
    return GateVerdict.NEUTRAL, Reason.NOTHING_TO_MUTATE, f"0 mutants: {_states(report)}"


def _states(report: MutationReport) -> str:
    counts: dict[str, int] = {}
    for each in report.account:
        words = f"{each.state} ({each.why})" if each.why and each.why != str(each.state) else str(each.state)
        counts[words] = counts.get(words, 0) + 1
    return (
        ", ".join(f"{counted(count, 'line')} {words}" for words, count in counts.items())
        or "the change has no line of the product that could run"
    )


def _whole(reason: Reason, text: str) -> Iterator[Finding]:
    yield Finding(reason=reason, text=text, next_step=NEXT_STEP[reason])


def _survivors(report: MutationReport, chosen: Sequence[MutantResult], case: Case) -> Iterator[Finding]:
    alike = Counter(_statement(each, case) for each in {_line(each): each for each in report.survivors}.values())
    for each in chosen:
        others = alike[_statement(each, case)] - 1
        yield Finding(
            reason=Reason.SURVIVED,
            text=f"{survivor(each)}{_beside(others)}{_unasked(each, case)}",
            next_step=next_step_of(each, case.report),
            path=each.mutant.file,
            line=each.mutant.line,
        )
    rest = len(report.survivors) - len(chosen)
    if rest:
        lines = counted(lines_of(report.survivors), "line")
        text = f"{counted(rest, 'further mutant')} survived; there are survivors on {lines}"
        yield Finding(reason=Reason.MORE_SURVIVORS, text=text, next_step=NEXT_STEP[Reason.MORE_SURVIVORS])


def _line(result: MutantResult) -> tuple[str, int]:
    return result.mutant.file, result.mutant.line


def _statement(result: MutantResult, case: Case) -> tuple[str, int]:
    return result.mutant.file, case.statement(result.mutant)


def _beside(others: int) -> str:
    """What else is of the same statement."""
    return f"; {counted(others, 'further line')} of the same statement with survivors" if others else ""


def _unasked(survivor: MutantResult, case: Case) -> str:
    """Whose word is missing: a test that runs it might have noticed, and does not pass on head, or flakes."""
    mute = [test for test in case.covering(survivor.mutant) if not case.is_heard(test)]
    if not mute:
        return ""
    one = len(mute) == 1
    does, was = ("that runs it does", "was") if one else ("that run it do", "were")
    return f"; {counted(len(mute), 'test')} {does} not pass reliably on head and {was} not asked (e.g. {mute[0]})"


def _notes(report: MutationReport, case: Case) -> Iterator[str]:
    """Where something survived: who else might have noticed, had it passed on head."""
    mute = [test for test in case.outcomes if not case.is_heard(test)]
    if report.survivors and mute:
        more = f" and {len(mute) - 3} more" if len(mute) > 3 else ""
        yield f"tests that do not pass reliably on head were not asked: {', '.join(mute[:3])}{more}"


def _timeouts(report: MutationReport) -> Iterator[Finding]:
    for each in report.tested:
        if each.outcome is MutantOutcome.TIMEOUT:
            yield _of(each, Reason.TIMEOUT)


@dataclass(frozen=True, slots=True)
class _Cause:
    file: str
    why: str


def _unclear(report: MutationReport) -> Iterator[Finding]:
    """One finding for each file and cause, at its first line."""
    found: dict[_Cause, list[MutantResult]] = {}
    for each in report.tested:
        if each.outcome is MutantOutcome.INCONCLUSIVE:
            found.setdefault(_Cause(each.mutant.file, each.why), []).append(each)
    for cause, results in found.items():
        many = f" ({counted(len(results), 'mutant')})" if len(results) > 1 else ""
        yield replace(_of(results[0], Reason.INCONCLUSIVE), text=f"{cause.why}{many}")


def _of(result: MutantResult, reason: Reason) -> Finding:
    return Finding(
        reason=reason,
        text=f"{sentence(result.mutant)}: {result.why}",
        next_step=NEXT_STEP[reason],
        path=result.mutant.file,
        line=result.mutant.line,
    )
