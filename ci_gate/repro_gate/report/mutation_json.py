"""What report.json has of mutants: each once, as an edit of the text that it was made of.

Belongs here: names and shapes of that part. Does not belong here: reading it (reading_mutation), and the format that
viewers of mutants read (as_mutation_elements).
"""

from __future__ import annotations

from typing import Any

from repro_gate.model import Control, Mutant, MutantResult, MutationReport, NotTested
from repro_gate.model.edit import Edit
from repro_gate.report.as_json import capsule_entry
from repro_gate.report.words import replay_command


def entry(report: MutationReport) -> dict[str, Any]:
    """The report as a JSON object. Mutants of the same lines share a list of tests: each list is there once."""
    places: dict[tuple[str, ...], int] = {}
    for each in report.tested:
        places.setdefault(each.selection, len(places))
    return {
        "tested": [_tested(each, report, places[each.selection]) for each in report.tested],
        "survivors": [each.mutant.id for each in report.survivors],
        "shown": list(report.shown),
        "not_tested": [_not_tested(each, report) for each in report.not_tested],
        "beyond": {str(reason): count for reason, count in report.beyond.items() if count},
        "measured": len(report.measured),
        "testable": report.testable,
        "score": report.score,
        "interval": list(report.interval) if report.interval else None,
        "controls": [_control(each) for each in report.controls],
        "account": [
            {"file": each.file, "line": each.line, "text": each.text, "state": str(each.state), "why": each.why or None}
            for each in report.account
        ],
        "selections": [list(tests) for tests in places],
        "sources": dict(report.sources),
        "seed": report.seed,
        "seconds": report.seconds,
    }


def _mutant(mutant: Mutant, report: MutationReport) -> dict[str, Any]:
    edit = Edit.between(report.sources.get(mutant.file, ""), mutant.text)
    return {
        "id": mutant.id,
        "file": mutant.file,
        "line": mutant.line,
        "end_line": mutant.end_line,
        "operator": mutant.operator,
        "qualname": mutant.qualname,
        "original": mutant.original,
        "mutated": mutant.mutated,
        "nth": mutant.nth,
        "site": str(mutant.site),
        "first_line": mutant.first_line,
        "hint": mutant.hint or None,
        "edit": {"start": edit.start, "end": edit.end, "text": edit.text},
    }


def _tested(result: MutantResult, report: MutationReport, selection: int) -> dict[str, Any]:
    return {
        **_mutant(result.mutant, report),
        "outcome": str(result.outcome),
        "killed_by": list(result.killed_by),
        "by_new_test": result.by_new_test,
        "confirmed": result.confirmed,
        "tests": result.tests,
        "why": result.why or None,
        "selection": selection,
        "capsule": capsule_entry(result.capsule) if result.capsule else None,
        "replay": replay_command(result.capsule.path) if result.capsule else None,
    }


def _not_tested(left: NotTested, report: MutationReport) -> dict[str, Any]:
    return {**_mutant(left.mutant, report), "reason": str(left.reason), "why": left.why or None}


def _control(control: Control) -> dict[str, Any]:
    return {
        "kind": str(control.kind),
        "file": control.file,
        "way": str(control.way),
        "tests": control.tests,
        "held": control.held,
        "why": control.why or None,
        "exposed": list(control.exposed),
    }
