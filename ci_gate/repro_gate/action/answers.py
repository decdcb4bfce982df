"""The action's outputs: numbers and names from a report. Pure.

Belongs here: what each output of ``action.yml`` holds. Does not belong here: writing them (steps).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from repro_gate.action.context import Context
from repro_gate.action.inputs import Mode

_VERDICTS = {0: "pass", 1: "fail", 3: "inconclusive"}
_ON_HEAD = ("fails_on_head", "flaky_on_head", "skipped_on_head", "xfail", "xpass")


def answers(
    *, mode: Mode, code: int, reason: str, document: Mapping[str, Any], into: Path, context: Context
) -> dict[str, str]:
    """Every output by its name."""
    capsules = sorted((into / "capsules").glob("*.zip"))
    verdict = str(document.get("verdict") or _VERDICTS.get(code, "error"))
    if verdict in ("pass", "neutral") and code:
        verdict = _VERDICTS.get(code, "error")  # the exit code is the verdict; a report cannot better it
    told = {
        "verdict": verdict,
        "reason": reason or _reason(document),
        "tested-sha": context.sha,
        "base-sha": document.get("base") or "",
        "head-sha": document.get("head") or "",
        "flaky-count": sum(test["verdict"] in ("flaky", "condition-dependent") for test in document.get("tests", ())),
        "capsule-count": len(capsules),
        "capsules": into / "capsules" if capsules else "",
        "report-json": into / "report.json" if document else "",
        "matrix": _matrix(into / "matrix.json") if mode is Mode.PLAN and not code else "",
        **_of_gates(document.get("gates", ())),
    }
    return {name: str(value) for name, value in told.items()}


def _reason(document: Mapping[str, Any]) -> str:
    """Of the gate that decided: the first with the verdict of the whole."""
    gates = [gate for gate in document.get("gates", ()) if gate["verdict"] == document["verdict"]]
    if document.get("trouble"):
        return str(document["trouble"]["slug"])
    return str(gates[0]["reason"]) if gates else ""


def _of_gates(gates: list[Mapping[str, Any]]) -> dict[str, object]:
    told: dict[str, object] = {"network-violations": "", "repro-base-failed": "", "repro-head-passed": ""}
    told |= {"mutation-score": "", "survivor-count": "", "diff-coverage": ""}
    for gate in gates:
        if gate["gate"] == "network":
            ids = {finding["test"] for finding in gate["findings"] if finding["test"]}
            told["network-violations"] = len(ids) if gate["verdict"] in ("fail", "inconclusive") else 0
        elif gate.get("mutation"):
            score = gate["mutation"]["score"]
            told["mutation-score"] = "" if score is None else f"{100 * score:.1f}"
            told["survivor-count"] = len(gate["mutation"]["survivors"])
        elif gate.get("coverage"):
            percent = gate["coverage"]["percent"]
            told["diff-coverage"] = "" if percent is None else f"{percent:.1f}"
        elif gate["gate"] == "fail-to-pass":
            refused = {each["id"]: each["reason"] for each in gate["refused"]}
            of = len(gate["proved"]) + len(refused)
            good = of - sum(reason in _ON_HEAD for reason in refused.values())
            told["repro-base-failed"], told["repro-head-passed"] = f"{len(gate['proved'])}/{of}", f"{good}/{of}"
    return told


def _matrix(path: Path) -> str:
    """On one line, as ``fromJSON`` takes it."""
    return json.dumps(json.loads(path.read_text(encoding="utf-8")), separators=(",", ":"))
