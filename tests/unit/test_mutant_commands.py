"""`repro-gate mutant show` and `apply`: what a report says of a mutant,
and a work tree that is only changed if it fits.
"""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from repro_gate.cli.mutating import difference, find, run_apply, run_show
from repro_gate.cli.session import Terminal
from repro_gate.errors import EvidenceRefused, ReproGateError, UsageError
from repro_gate.model import MutantOutcome, MutationReport
from repro_gate.report import check_json
from tests.unit.test_mutation_reports import FILE, HINT, REPORT, SOURCE, SURVIVOR, check

ID = SURVIVOR.mutant.id


class Heard:
    """A terminal that keeps what was printed."""

    def __init__(self) -> None:
        self._out, self._err = io.StringIO(), io.StringIO()
        self.terminal = Terminal(
            out=Console(file=self._out, width=400), err=Console(file=self._err, width=400), quiet=True
        )

    @property
    def out(self) -> str:
        return self._out.getvalue()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A work tree with the file that the report is about, and the report outside of it."""
    (tmp_path / "tree" / "pkg").mkdir(parents=True)
    (tmp_path / "tree" / ".git").mkdir()
    (tmp_path / "tree" / FILE).write_bytes(SOURCE.encode())
    write_report(tmp_path / "report.json", REPORT)
    return tmp_path / "tree"


def write_report(path: Path, report: MutationReport | None) -> None:
    with path.open("w", encoding="utf-8") as stream:
        check_json.write(check(report), stream)


def test_show_prints_the_difference_and_the_hint(tree: Path, heard: Heard) -> None:
    assert run_show(ID, tree.parent / "report.json", heard.terminal) == 0
    assert heard.out.splitlines()[:3] == [
        f"mutant {ID} of {FILE}, line 5: `x < LIMIT` -> `x <= LIMIT`",
        "survived 68 tests",
        HINT,
    ]
    assert "-    return '🐍' if x < LIMIT and x < 9 else 'ü'" in heard.out.splitlines()
    assert "+    return '🐍' if x <= LIMIT and x < 9 else 'ü'" in heard.out.splitlines()
    assert f"--- a/{FILE}" in heard.out


def test_show_says_why_a_mutant_was_not_tested_and_who_killed_another(tree: Path, heard: Heard) -> None:
    run_show("waived", tree.parent / "report.json", heard.terminal)
    run_show("killed", tree.parent / "report.json", heard.terminal)
    assert "not tested: equal by design" in heard.out
    assert "killed by tests/test_f.py::test_f[é|1]" in heard.out


def test_show_credits_no_test_with_a_crash_outside_of_any(tree: Path, heard: Heard) -> None:
    why = "killed: crash (the process did not go to its end: not-started)"
    crashed = dataclasses.replace(SURVIVOR, outcome=MutantOutcome.KILLED, why=why)
    write_report(tree.parent / "crash.json", dataclasses.replace(REPORT, tested=(crashed,), shown=()))
    run_show(ID, tree.parent / "crash.json", heard.terminal)
    assert heard.out.splitlines()[1] == f"killed ({why})"


def test_the_difference_of_a_file_with_other_line_ends_has_but_one_line() -> None:
    changed = [
        line for line in difference(SURVIVOR.mutant, SOURCE) if line[:1] in "+-" and line[:3] not in ("---", "+++")
    ]
    assert len(changed) == 2


def test_apply_and_undo_change_the_file_byte_by_byte(tree: Path, heard: Heard) -> None:
    report, file = tree.parent / "report.json", tree / FILE
    assert run_apply(ID, report, False, tree, heard.terminal) == 0
    assert file.read_bytes() == SURVIVOR.mutant.text.encode()
    assert f"to take it out: repro-gate mutant apply {ID} --undo --report {report}" in heard.out
    assert run_apply(ID, report, False, tree / "pkg", heard.terminal) == 0
    assert f"mutant {ID} is already in {FILE}" in heard.out
    assert run_apply(ID, report, True, tree, heard.terminal) == 0
    assert file.read_bytes() == SOURCE.encode()
    assert run_apply(ID, report, True, tree, heard.terminal) == 0
    assert f"mutant {ID} is not in {FILE}" in heard.out


def test_a_file_keeps_the_encoding_that_it_declares(tmp_path: Path, heard: Heard) -> None:
    source = "# coding: latin-1\nNAME = 'é'\nLIMIT = 3\n"
    mutant = dataclasses.replace(SURVIVOR.mutant, file="m.py", text=source.replace("3", "4"))
    told = dataclasses.replace(SURVIVOR, mutant=mutant)
    write_report(tmp_path / "report.json", MutationReport(tested=(told,), sources={"m.py": source}))
    (tmp_path / ".git").mkdir()
    (tmp_path / "m.py").write_bytes(source.encode("latin-1"))
    run_apply(ID, tmp_path / "report.json", False, tmp_path, heard.terminal)
    assert (tmp_path / "m.py").read_bytes() == mutant.text.encode("latin-1")


def test_a_file_that_is_not_the_one_it_was_made_of_is_left_alone(tree: Path, heard: Heard) -> None:
    (tree / FILE).write_bytes(SOURCE.encode() + b"# more\n")
    with pytest.raises(
        UsageError, match="is not the file that the mutant was made of: it has changed since"
    ) as refused:
        run_apply(ID, tree.parent / "report.json", False, tree, heard.terminal)
    assert "Check out the commit" in refused.value.next_step
    assert (tree / FILE).read_bytes().endswith(b"# more\n")


def test_another_mutant_of_the_same_file_is_no_place_to_apply_one(tree: Path, heard: Heard) -> None:
    run_apply("killed", tree.parent / "report.json", False, tree, heard.terminal)
    with pytest.raises(UsageError, match="has changed since"):
        run_apply(ID, tree.parent / "report.json", False, tree, heard.terminal)


@pytest.mark.parametrize("path", ["../outside.py", "/etc/hostname", "gone.py", "link.py"])
def test_a_path_that_leads_out_of_the_tree_is_refused(tree: Path, heard: Heard, path: str) -> None:
    outside = tree.parent / "outside.py"
    outside.write_bytes(SOURCE.encode())
    (tree / "link.py").symlink_to(outside)
    told = dataclasses.replace(SURVIVOR, mutant=dataclasses.replace(SURVIVOR.mutant, file=path))
    write_report(tree.parent / "report.json", MutationReport(tested=(told,), sources={path: SOURCE}))
    with pytest.raises(UsageError, match="has no file"):
        run_apply(ID, tree.parent / "report.json", False, tree, heard.terminal)
    assert outside.read_bytes() == SOURCE.encode()


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (None, UsageError, "Cannot read .*No such file"),
        (b"{", EvidenceRefused, "no strict JSON"),
        ("nothing", UsageError, "tells of no mutants"),
        ("known", UsageError, "has no mutant 0a1b2c3d4e5e"),
    ],
)
def test_a_report_without_that_mutant_is_refused_by_name(
    tmp_path: Path, content: bytes | str | None, kind: type[ReproGateError], said: str
) -> None:
    path = tmp_path / "report.json"
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        write_report(path, REPORT if content == "known" else None)
    with pytest.raises(kind, match=said) as refused:
        find("0a1b2c3d4e5e", path)
    assert (content == "known") == (ID in refused.value.next_step)


def test_a_report_of_a_scan_has_no_mutants(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    write_report(path, REPORT)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["gates"] = []
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(UsageError, match="tells of no mutants"):
        find(ID, path)
