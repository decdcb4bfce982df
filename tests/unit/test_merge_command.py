"""``repro-gate merge``: the whole in each form that `check` and `scan` write,
and refused where there is nothing to write.
"""

from __future__ import annotations

import io
import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from rich.console import Console

from repro_gate.cli.session import Terminal
from repro_gate.cli.sharding import MergeOrder, run_merge
from repro_gate.errors import UsageError
from repro_gate.pipeline.shards import Done, Plan, Shard, Unit
from repro_gate.report import check_json
from tests.unit.test_mutation_reports import FILE, REPORT, SURVIVOR, check
from tests.unit.test_shards import CREATED, files, plan

KINDS = ("json", "junit", "sarif", "mutation", "summary")


def merged(place: Path, of: Plan, left: list[tuple[str, Shard]], *kinds: str) -> tuple[int, dict[str, str]]:
    """The exit code, and what was written in each form."""
    (place / "plan.json").write_text(of.model_dump_json(by_alias=True))
    for name, shard in left:
        (place / name).write_text(shard.model_dump_json(by_alias=True))
    reports = {kind: place / f"report.{kind}" for kind in kinds}
    order = MergeOrder(
        directory=place, plan=place / "plan.json", files=tuple(place / name for name, _ in left), reports=reports
    )
    heard = Console(file=io.StringIO())
    code = run_merge(order, Terminal(out=heard, err=heard, quiet=True))
    return code, {kind: path.read_text(encoding="utf-8") for kind, path in reports.items()}


def test_a_merged_check_is_written_in_each_form_that_a_check_is(tmp_path: Path) -> None:
    report = check(REPORT)
    told: dict[str, Any] = {"version": "1", "created_at": CREATED, "seed": 1, "base": report.base, "head": report.head}
    of = Plan(kind="check", units=[Unit(id="mutation", gate="mutation")], shards=[["mutation"]], **told)
    done = Done(id="mutation", report=check_json.document(report))
    left = [("s.json", Shard(plan=of.digest, index=0, attempt=1, complete=True, units=[done]))]
    code, found = merged(tmp_path, of, left, *KINDS)
    assert code == json.loads(found["json"])["exit_code"]
    [run] = json.loads(found["sarif"])["runs"]
    places = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]]
    assert quote(FILE) in places
    assert "repro-gate.mutation" in {case.get("classname") for case in ET.fromstring(found["junit"]).iter("testcase")}
    mutants = json.loads(found["mutation"])["files"][FILE]["mutants"]
    assert [each["status"] for each in mutants if each["id"] == SURVIVOR.mutant.id] == ["Survived"]
    assert SURVIVOR.mutant.id in found["summary"]


def test_a_merged_scan_is_written_in_each_form_that_a_scan_is(tmp_path: Path) -> None:
    of = plan()
    code, found = merged(tmp_path, of, files(of), "json", "junit", "sarif", "summary")
    assert code == json.loads(found["json"])["exit_code"]
    classes = [case.get("classname") for case in ET.fromstring(found["junit"]).iter("testcase")]
    assert [name for name in classes if name and name != "f"] == ["u0", "u1", "u2", "u3"]
    assert "repro-gate scan --seed=7" in found["sarif"]
    assert "repro-gate scan --seed=7" in found["summary"]


def test_a_scan_has_no_mutants_to_write(tmp_path: Path) -> None:
    of = plan()
    with pytest.raises(UsageError, match="no mutants"):
        merged(tmp_path, of, files(of), "mutation")
    assert not (tmp_path / "report.mutation").exists()
