"""Mutants on a reviewer's page: each survivor in one line that says what would kill it, and what was not seen.

Belongs here: the words around code, with whatever comes from the change escaped. Does not belong here: which survivors
are shown (gates).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from repro_gate.model import AccountState, MutantResult, MutationReport
from repro_gate.report.words import counted

_LONGEST = 120
_MOST = 10
_STATES = {
    AccountState.MUTATED: "mutated",
    AccountState.COVERED_ONLY: "covered, without a result",
    AccountState.NO_OPERATOR: "nothing to mutate",
    AccountState.IMPORT_TIME: "run at import",
    AccountState.PRAGMA: "waived",
    AccountState.ARID: "arid",
    AccountState.NOT_COVERED: "not covered",
    AccountState.MOVED: "moved as it was",
    AccountState.WHITESPACE: "written in other white space",
}
Quoting = Callable[[str], str]


def lines(report: MutationReport, code: Quoting, sentence: Quoting, step: str) -> Iterator[str]:
    """The part of a page; ``code`` quotes code, ``sentence`` a sentence of ours that may hold some;
    ``step`` comes next.
    """
    by_id = {each.mutant.id: each for each in report.tested}
    for name in report.shown:
        if name in by_id:
            yield f"- {_survivor(by_id[name], code, sentence)}"
    if report.shown:
        yield ""
    if step:
        yield f"**Next:** {sentence(step)}"
        yield ""
    failed = [each for each in report.controls if not each.held]
    if failed:
        yield "| control that did not hold | file | way | why |"
        yield "|---|---|---|---|"
        for each in failed[:_MOST]:
            why = each.why or f"{counted(len(each.exposed), 'test')} did not pass without a mutant"
            yield f"| {each.kind} | {code(each.file)} | {each.way} | {sentence(why)} |"
        yield ""
    if report.account:
        counts = Counter(each.state for each in report.account)
        told = ", ".join(f"{counts[state]} {words}" for state, words in _STATES.items() if counts[state])
        yield f"Changed lines: {told}."
        yield ""


def _survivor(result: MutantResult, code: Quoting, sentence: Quoting) -> str:
    mutant = result.mutant
    where = f"line {mutant.line}" if mutant.line == mutant.end_line else f"lines {mutant.line} to {mutant.end_line}"
    example = f" ({'' if result.tests == 1 else 'e.g. '}{code(result.selection[-1])})" if result.selection else ""
    hint = f" **{sentence(mutant.hint[:1].upper() + mutant.hint[1:])}.**" if mutant.hint else ""
    change = f"{_snippet(mutant.original, code)} -> {_snippet(mutant.mutated, code)}"
    return f"{code(mutant.file)} {where}: {change} passed {counted(result.tests, 'test')}{example}.{hint} ID {code(mutant.id)}"


def _snippet(text: str, code: Quoting) -> str:
    line = " ".join(text.split())
    return code(line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…") if line else "nothing"
