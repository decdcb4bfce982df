"""report.json of a check: the same schema as a scan's, with the gates' proofs.

Belongs here: names and shapes of that file. Does not belong here: what a value means to a person.
"""

from __future__ import annotations

import json
from typing import Any, TextIO

from repro_gate.model import CheckReport, Conditions, CoverageOfChange, Finding, GateResult, Proved, Refused
from repro_gate.report import mutation_json, words
from repro_gate.report.as_json import SCHEMA, campaign_entry, capsule_entry, failure_entry, test_entry
from repro_gate.report.check_outcome import exit_code


def write(report: CheckReport, stream: TextIO) -> None:
    """Write the report as JSON."""
    json.dump(document(report), stream, indent=1, allow_nan=False)
    stream.write("\n")


def document(report: CheckReport) -> dict[str, Any]:
    """The report as a JSON object."""
    sandbox = report.sandbox
    campaign = report.campaign
    return {
        "schema": SCHEMA,
        "verdict": str(report.verdict),
        "exit_code": int(exit_code(report)),
        "base": report.base,
        "head": report.head,
        "resolved": report.how,
        "command": report.command,
        "environment": {
            "python": report.python,
            "pytest": report.pytest,
            "hash": report.environment or None,
            "sandbox": {
                "name": sandbox.name if sandbox else "",
                "hermetic": sandbox.hermetic if sandbox else False,
                "notes": list(sandbox.notes) if sandbox else [],
            },
            "mode": campaign.mode if campaign else "",
            "mode_reason": campaign.mode_reason if campaign else "",
        },
        "campaign": campaign_entry(campaign) if campaign else None,
        "gates": [_gate(gate, report) for gate in report.gates],
        "trouble": (
            {"slug": report.trouble.slug, "text": report.trouble.text, "next_step": report.trouble.next_step}
            if report.trouble
            else None
        ),
        "tests": [test_entry(test) for test in campaign.tests] if campaign else [],
        "policy": list(report.policy),
        "seconds": report.seconds,
        "started_at": report.started_at or None,
        "notes": list(report.notes),
    }


def _gate(gate: GateResult, report: CheckReport) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "gate": gate.gate,
        "level": str(report.levels.get(gate.gate, "block")),
        "verdict": str(gate.verdict),
        "reason": str(gate.reason),
        "summary": gate.summary,
        "command": gate.command or report.command,
        "findings": [_finding(finding) for finding in gate.findings],
        "notes": list(gate.notes),
    }
    if gate.gate == "fail-to-pass":
        entry["proved"] = [_proved(proof) for proof in gate.proved]
        entry["refused"] = [_refused(refusal) for refusal in gate.refused]
    if gate.coverage is not None:
        entry["coverage"] = _coverage(gate.coverage)
    if gate.mutation is not None:
        entry["mutation"] = mutation_json.entry(gate.mutation)
    return entry


def _coverage(found: CoverageOfChange) -> dict[str, Any]:
    return {
        "covered": found.covered,
        "statements": found.statements,
        "percent": None if found.percent is None else round(found.percent, 4),
        "minimum": found.minimum,
        "taken": found.taken,
        "branches": found.branches,
        "lines": [
            {
                "file": line.path,
                "line": line.line,
                "state": str(line.state),
                "statement": line.statement or None,
                "text": line.text,
                "why": line.why or None,
            }
            for line in found.lines
        ],
        "uncovered_lines": [
            {"file": line.path, "line": line.line, "text": line.text} for line in found.uncovered_lines
        ],
        "uncovered_branches": [
            {"file": each.path, "line": each.line, "to": each.target or None, "text": each.text, "why": each.why}
            for each in found.uncovered_branches
        ],
        "lost": [
            {
                "file": each.path,
                "line": each.line,
                "base_file": each.base_path,
                "base_line": each.base_line,
                "text": each.text,
                "tests": list(each.tests),
                "branch": each.branch or None,
            }
            for each in found.lost
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "reason": str(finding.reason),
        "test": finding.id or None,
        "message": finding.text,
        "next_step": finding.next_step or None,
        **({"output": finding.output} if finding.output else {}),
        **({"file": finding.path, "line": finding.line} if finding.path else {}),
    }


def _proved(proof: Proved) -> dict[str, Any]:
    neutral = Conditions.baseline().to_json()
    return {
        "id": proof.id,
        "reason": str(proof.reason),
        "failure": failure_entry(proof.failure) if proof.failure else None,
        "runs": proof.runs,
        "exercise": proof.exercise,
        "conditions": {k: v for k, v in proof.conditions.to_json().items() if v != neutral[k]},
        "by_dependency": proof.by_dependency,
        "capsule": capsule_entry(proof.capsule) if proof.capsule else None,
        "replay": words.replay_command(proof.capsule.path) if proof.capsule else None,
    }


def _refused(refusal: Refused) -> dict[str, Any]:
    return {
        "id": refusal.id,
        "reason": str(refusal.reason),
        "why": words.clip(refusal.why, 4000),
        "on_base": failure_entry(refusal.on_base) if refusal.on_base else None,
        "on_head": failure_entry(refusal.on_head) if refusal.on_head else None,
    }
