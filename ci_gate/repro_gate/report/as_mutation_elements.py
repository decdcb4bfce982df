"""Mutation testing elements: the JSON that viewers of mutants read, whoever made these.

Belongs here: our mutants in the words of that schema (version 2). Does not belong here: what they mean for a change. A
mutant without a result is `Pending`: readers leave it out of their score, as we do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TextIO

from repro_gate import __version__
from repro_gate.model import CheckReport, Mutant, MutantOutcome, MutantResult, MutationReport, NotTested, Site, Untested
from repro_gate.model.edit import Edit
from repro_gate.model.lines import with_line_feeds

# Where viewers turn from red to yellow to green; our own verdict knows no such shares.
THRESHOLDS = {"high": 80, "low": 60}

_STATUS = {
    MutantOutcome.KILLED: "Killed",
    MutantOutcome.SURVIVED: "Survived",
    MutantOutcome.TIMEOUT: "Timeout",
    MutantOutcome.INCONCLUSIVE: "Pending",
}
_LEFT = {
    Untested.NOT_COVERED: "NoCoverage",
    Untested.NO_STABLE_TEST: "Pending",
    Untested.WAIVED: "Ignored",
    Untested.BUDGET: "Pending",
}


def write(report: CheckReport, stream: TextIO) -> None:
    """Write what a check found of mutants; without the gate, a report of no file."""
    found = next((gate.mutation for gate in report.gates if gate.mutation is not None), MutationReport())
    json.dump(document(found), stream, indent=1, allow_nan=False)
    stream.write("\n")


def document(report: MutationReport) -> dict[str, Any]:
    """The report as a JSON object of the schema."""
    files: dict[str, list[dict[str, Any]]] = {file: [] for file in report.sources}
    for tested in report.tested:
        files[tested.mutant.file].append(_tested(tested, report.sources[tested.mutant.file]))
    for left in report.not_tested:
        files[left.mutant.file].append(_left(left, report.sources[left.mutant.file]))
    return {
        "schemaVersion": "2",
        "thresholds": THRESHOLDS,
        "framework": {"name": "repro-gate", "version": __version__},
        "files": {
            file: {"language": "python", "source": report.sources[file], "mutants": mutants}
            for file, mutants in files.items()
        },
        "testFiles": _test_files(test for each in report.tested for test in (*each.selection, *each.killed_by)),
    }


def _tested(result: MutantResult, source: str) -> dict[str, Any]:
    return {
        **_mutant(result.mutant, source),
        "status": _STATUS[result.outcome],
        "coveredBy": list(result.selection),
        "killedBy": list(result.killed_by),
        "testsCompleted": result.tests,
        **({"statusReason": result.why} if result.why else {}),
    }


def _left(left: NotTested, source: str) -> dict[str, Any]:
    return {
        **_mutant(left.mutant, source),
        "status": _LEFT[left.reason],
        "statusReason": left.why or str(left.reason),
    }


def _mutant(mutant: Mutant, source: str) -> dict[str, Any]:
    edit = _whole(mutant, source)
    return {
        "id": mutant.id,
        "mutatorName": mutant.operator,
        "replacement": edit.text,
        "location": {"start": _position(source, edit.start), "end": _position(source, edit.end)},
        "static": mutant.site is Site.IMPORT,
        **({"description": mutant.hint} if mutant.hint else {}),
    }


def _whole(mutant: Mutant, source: str) -> Edit:
    """The edit as the mutant tells it, ``a < b`` for ``a <= b``, and else the smallest one: a lone ``=``."""
    small = Edit.between(source, mutant.text)
    at = source.find(mutant.original, max(0, small.end - len(mutant.original))) if mutant.original else -1
    told = Edit(start=at, end=at + len(mutant.original), text=mutant.mutated)
    return told if 0 <= at <= small.start and told.applied(source) == mutant.text else small


def _position(source: str, place: int) -> dict[str, int]:
    """From 1; columns as JavaScript counts characters."""
    before = with_line_feeds(source[:place])
    line = before[before.rfind("\n") + 1 :]
    return {"line": before.count("\n") + 1, "column": len(line.encode("utf-16-le", "surrogatepass")) // 2 + 1}


def _test_files(tests: Iterable[str]) -> dict[str, Any]:
    files: dict[str, list[dict[str, str]]] = {}
    for test in dict.fromkeys(tests):
        file, _, name = test.partition("::")
        files.setdefault(file, []).append({"id": test, "name": name or test})
    return {file: {"tests": tests} for file, tests in files.items()}
