"""SARIF 2.1.0: findings where code scanning, editors and other readers of that format look for them.

Belongs here: how remarks become results, rules and notifications. Does not belong here: which remarks there are
(remarks). Only what has a place in the repository is a result: readers refuse the whole file for one that has none.
What has none is a notification of the run. Plain texts may hold links in SARIF, and those of tests must not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO
from urllib.parse import quote

from repro_gate import __version__
from repro_gate.model import CheckReport, FlakeReport, GateVerdict
from repro_gate.report import remarks, words
from repro_gate.report.check_outcome import exit_code
from repro_gate.report.outcome import decide
from repro_gate.report.remarks import Remark, Severity

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
MOST_RESULTS = 5000  # as many as GitHub's code scanning shows of a run
_LONGEST = 4000  # characters of a message
_ROOT = "%SRCROOT%"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_RULES = {
    "scan/flaky": "A test passes and fails although nothing that it may depend on has changed.",
    "scan/condition-dependent": "A test fails under conditions in which it should pass: a time, an order, a locale.",
    "scan/unconfirmed": "A test passed and failed, and it could not be confirmed.",
    remarks.TROUBLE: "There is no verdict, since something that the judgement needs was not there.",
    remarks.POLICY: "The change alters what it is judged by.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ended:
    """What a run of ours came to."""

    kind: str
    judged: bool
    exit_code: int
    command: str
    commit: str
    started_at: str


def write_check(report: CheckReport, stream: TextIO, prefix: str = "", steps: Mapping[str, str] | None = None) -> None:
    """Write a check.

    ``prefix`` is the project's directory in the repository, ``steps`` the next step of each reason.
    """
    ended = _Ended(
        kind="check",
        judged=report.verdict is not GateVerdict.INCONCLUSIVE,
        exit_code=int(exit_code(report)),
        command=report.command,
        commit=report.head,
        started_at=report.started_at,
    )
    _write(remarks.of_check(report, prefix), ended, stream, prefix, steps or {})


def write_scan(report: FlakeReport, stream: TextIO, prefix: str = "", command: str = "") -> None:
    """Write a scan; ``command`` repeats it."""
    decision = decide(report)
    ended = _Ended(
        kind="scan",
        judged=str(decision.verdict) != str(GateVerdict.INCONCLUSIVE),
        exit_code=int(decision.exit_code),
        command=command,
        commit=report.commit,
        started_at=report.started_at,
    )
    found = remarks.of_scan(report, prefix)
    if report.incomplete:
        text = words.visible(report.incomplete)
        left = Remark(severity=Severity.WARNING, rule=remarks.TROUBLE, title="incomplete", text=text)
        found = (*found, left)
    _write(found, ended, stream, prefix, {})


def _write(found: Sequence[Remark], ended: _Ended, stream: TextIO, prefix: str, steps: Mapping[str, str]) -> None:
    placed = [each for each in found if each.path]
    rules = {rule: number for number, rule in enumerate(dict.fromkeys(each.rule for each in found))}
    category = "/".join(filter(None, ("repro-gate", ended.kind, prefix.strip("./"))))
    run = {
        "tool": {
            "driver": {
                "name": "repro-gate",
                "version": __version__,
                "rules": [_rule(rule, steps) for rule in rules],
            }
        },
        "automationDetails": {"id": f"{words.visible(category)}/"},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The top of the repository."}}},
        "invocations": [_invocation(ended, list(_notifications(found, placed)), rules)],
        "results": [_result(each, rules) for each in placed[:MOST_RESULTS]],
        **({"properties": {"commit": words.visible(ended.commit)}} if ended.commit else {}),
    }
    json.dump({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, stream, indent=1, allow_nan=False)
    stream.write("\n")


def _rule(rule: str, steps: Mapping[str, str]) -> dict[str, Any]:
    gate, _, reason = rule.rpartition("/")
    about = _RULES.get(rule) or f"Gate {gate}: {reason.replace('_', ' ').replace('-', ' ')}."
    where = f"docs/gates/{gate}.md" if gate and gate != "scan" else "docs/flake-check.md"
    step = steps.get(rule) or steps.get(reason, "")
    told = " ".join(filter(None, (about, f"Next: {step}" if step else "", f"{where} of repro-gate says more.")))
    return {
        "id": _plain(rule),
        "name": "".join(part.capitalize() for part in re.split(r"[^A-Za-z0-9]+", rule)),
        "shortDescription": {"text": _plain(about)},
        "help": {"text": _plain(told)},
        "properties": {"tags": ["tests"]},
    }


def _result(each: Remark, rules: Mapping[str, int]) -> dict[str, Any]:
    place: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(each.path), "uriBaseId": _ROOT},
            "region": {"startLine": max(1, each.line)},
        }
    }
    if each.test:
        place["logicalLocations"] = [{"fullyQualifiedName": each.test, "kind": "function"}]
    return {
        "ruleId": _plain(each.rule),
        "ruleIndex": rules[each.rule],
        "level": _LEVELS[each.severity],
        "message": {"text": _plain(each.message)},
        "locations": [place],
        "partialFingerprints": {"reproGate/v1": _fingerprint(each)},
    }


def _notifications(found: Iterable[Remark], placed: Sequence[Remark]) -> Iterator[tuple[Severity, str, str]]:
    """What is no result: severity, rule, text."""
    for each in found:
        if not each.path:
            yield each.severity, each.rule, f"{each.title}: {each.message}"
    if len(placed) > MOST_RESULTS:
        yield Severity.WARNING, "", f"{len(placed) - MOST_RESULTS} more findings are in the report."


def _invocation(ended: _Ended, told: Sequence[tuple[Severity, str, str]], rules: Mapping[str, int]) -> dict[str, Any]:
    notes = []
    for severity, rule, text in told:
        note: dict[str, Any] = {"level": _LEVELS[severity], "message": {"text": _plain(text)}}
        if rule:
            note["associatedRule"] = {"id": _plain(rule), "index": rules[rule]}
        notes.append(note)
    facts: dict[str, Any] = {
        "executionSuccessful": ended.judged,
        "exitCode": ended.exit_code,
        "toolExecutionNotifications": notes,
    }
    if ended.command:
        facts["commandLine"] = words.visible(ended.command)
    if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", ended.started_at):
        facts["startTimeUtc"] = ended.started_at
    return facts


def _fingerprint(each: Remark) -> str:
    """The same for the same finding, wherever its line moves."""
    told = "\0".join((each.rule, each.test or ("" if each.failure else each.text), each.failure))
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _plain(text: str) -> str:
    """Text without links: `](` is what makes one in a message of SARIF."""
    return re.sub(r"\](?=\()", r"\\]", words.clip(words.visible(text), _LONGEST))
