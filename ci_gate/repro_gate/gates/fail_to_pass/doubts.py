"""The last doubts about tests that failed on base and passed on head each time.

Belongs here: which doubts there are, and in which order. Does not belong here: the experiments that settle
them (lookalikes) and the rule of what reaches a change (exercise).
"""

from __future__ import annotations

from collections.abc import Sequence

from repro_gate.gates.fail_to_pass.case import Collection
from repro_gate.gates.fail_to_pass.exercise import Exercise, exercise, looks_at_text
from repro_gate.gates.fail_to_pass.lookalikes import (
    check_descriptions,
    check_hollow,
    check_names,
    check_surroundings,
    check_unimported,
    check_wording,
    fail_by_docstrings,
    refuse_moved,
)
from repro_gate.gates.fail_to_pass.reasons import API, network, through_product
from repro_gate.gates.fail_to_pass.suspects import Judge, Suspect
from repro_gate.model import Outcome, ReasonCode, Refused, Side, TestRun


def doubt(judge: Judge, suspects: Sequence[Suspect], head: Collection, base: Collection) -> dict[str, Exercise]:
    """Refuse whoever is no proof after all; how each of the others reached the change."""
    refuse_moved(judge, suspects)
    check_unimported(judge, [each for each in suspects if each.open])
    reached: dict[str, Exercise] = {}
    for suspect in (each for each in suspects if each.open):
        heads = judge.runner.history(Side.HEAD, suspect.id)
        bases = judge.runner.history(Side.BASE, suspect.id)
        if any(network(run) for run in (*heads, *bases)):
            code = judge.network_code(suspect.id, ReasonCode.NETWORK_ATTEMPT)
            suspect.refuse(code, "it tries to reach the network, and goes on without it")
            continue
        found = exercise(judge.case, on_head=_passed(heads), on_base=bases, head=head, base=base)
        reached[suspect.id] = found
    _by_docstrings(judge, [each for each in suspects if each.open], reached)
    for suspect in (each for each in suspects if each.open and not each.by_dependency):
        _refuse_unreached(suspect, reached[suspect.id])
    left = [each for each in suspects if each.open and not each.by_dependency]
    unseen = [each for each in left if reached[each.id] is Exercise.UNSEEN]
    check_hollow(judge, [each for each in suspects if each.open and (each.code in API or each in unseen)])
    for suspect in unseen:
        if suspect.open:
            reached[suspect.id] = Exercise.HOLLOW
        elif suspect.code not in API and suspect.refused is not None:
            why = "the change runs, if at all, in processes that it starts, and hollow head showed nothing"
            suspect.refused = Refused(
                id=suspect.id, reason=ReasonCode.EXERCISE_UNSEEN, why=why, on_base=suspect.failure
            )
    check_surroundings(judge, [each for each in suspects if each.open], head)
    for check in (check_names, check_wording, check_descriptions):
        check(judge, [each for each in suspects if each.open])
    return reached


def _by_docstrings(judge: Judge, suspects: Sequence[Suspect], reached: dict[str, Exercise]) -> None:
    """Note who fails on head once its docstrings are base's, and leaves it to the product to look at them."""
    lost = [each for each in suspects if reached[each.id] in (Exercise.NONE, Exercise.UNSEEN)]
    asked = [each for each in lost if not (each.by_dependency or judge.asks(each, "docs") or _opens_text(judge, each))]
    reached.update(dict.fromkeys(fail_by_docstrings(judge, asked), Exercise.DOCSTRING))


def _opens_text(judge: Judge, suspect: Suspect) -> bool:
    heads = _passed(judge.runner.history(Side.HEAD, suspect.id))
    return looks_at_text(judge.case, [run.evidence for run in heads if run.evidence is not None])


def _refuse_unreached(suspect: Suspect, reached: Exercise) -> None:
    if reached is Exercise.NONE:
        suspect.refuse(ReasonCode.DOES_NOT_EXERCISE, "no changed line of the product runs in it")
    elif reached is Exercise.TEXT and not through_product(suspect.failure):
        suspect.refuse(ReasonCode.DOES_NOT_EXERCISE, "it reads the source of what changed")


def _passed(runs: Sequence[TestRun]) -> list[TestRun]:
    return [run for run in runs if run.outcome is Outcome.PASSED]
