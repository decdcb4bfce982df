"""The account of blind spots: each changed line once, with what mutation says of it. Pure.

Belongs here: one state for a line, the most telling one. Does not belong here: percentages.
"""

from __future__ import annotations

from collections.abc import Sequence

from repro_gate.gates.mutation.case import Case
from repro_gate.model import AccountLine, AccountState, Mutant, MutantResult, NotTested, Untested

# What the makers of mutants, and who compared both sides, say of a line, by its first words.
_SAID = {
    "pragma": AccountState.PRAGMA,
    "arid": AccountState.ARID,
    "type checking": AccountState.ARID,
    "docstring": AccountState.NO_OPERATOR,
    "comment": AccountState.NO_OPERATOR,
    "blank": AccountState.NO_OPERATOR,
    "moved": AccountState.MOVED,
    "whitespace": AccountState.WHITESPACE,
}
_NO_OPERATOR = "no operator"


def account(case: Case, tested: Sequence[MutantResult], not_tested: Sequence[NotTested]) -> tuple[AccountLine, ...]:
    """Every changed line of the case, in order of file and line."""
    results = {each.mutant.id: each for each in tested}
    left = {each.mutant.id: each for each in not_tested}
    on: dict[tuple[str, int], list[Mutant]] = {}
    for mutant in (*case.mutants, *case.beyond):
        for line in mutant.lines:
            on.setdefault((mutant.file, line), []).append(mutant)
    return tuple(
        AccountLine(file=file, line=line, text=text, state=state, why=why)
        for file, lines in sorted(case.changed.items())
        for line, text in sorted(lines.items())
        for state, why in (_state(case, file, line, on.get((file, line), ()), results, left),)
    )


def _state(
    case: Case,
    file: str,
    line: int,
    here: Sequence[Mutant],
    results: dict[str, MutantResult],
    left: dict[str, NotTested],
) -> tuple[AccountState, str]:
    if any(each.id in results and results[each.id].outcome.measured for each in here):
        return AccountState.MUTATED, ""
    untested = [left[each.id] for each in here if each.id in left]
    if here and len(untested) == len(here) and all(each.reason is Untested.WAIVED for each in untested):
        return AccountState.PRAGMA, untested[0].why
    said = case.unmutated.get(file, {}).get(line, "")
    state = next((state for words, state in _SAID.items() if said.startswith(words)), None)
    if state is not None and not here:
        return state, _reason_of_waiver(case, file, line) or said
    runs = line in case.covered.get(file, frozenset()) or any(case.covering(each) for each in here)
    if line in case.lines_at_import.get(file, frozenset()) and not (runs and here):
        return AccountState.IMPORT_TIME, _why(results, untested, here) or said
    if not runs:
        return AccountState.NOT_COVERED, ""
    if here:
        return AccountState.COVERED_ONLY, _why(results, untested, here)
    return AccountState.NO_OPERATOR, said or _NO_OPERATOR


def _reason_of_waiver(case: Case, file: str, line: int) -> str:
    return next((each.reason for each in case.waivers if each.file == file and line in each.lines), "")


def _why(results: dict[str, MutantResult], untested: Sequence[NotTested], here: Sequence[Mutant]) -> str:
    """Why the mutants of a line say nothing."""
    unclear = [results[each.id].why for each in here if each.id in results]
    return next((why for why in (*unclear, *(each.why or str(each.reason) for each in untested)) if why), "")
