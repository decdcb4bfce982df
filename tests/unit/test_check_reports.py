"""What a check says: JSON by its schema, a page for reviewers that nothing can break out of, lines, exit codes."""

from __future__ import annotations

import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.model import (
    CheckReport,
    Conditions,
    Failure,
    Finding,
    Frame,
    GateResult,
    GateVerdict,
    Level,
    Proved,
    ReasonCode,
    Refused,
    Sandboxing,
    Trouble,
    Zone,
)
from repro_gate.report import as_markdown, check_json, check_terminal, remarks, words
from repro_gate.report.check_outcome import exit_code, headline
from tests.unit import coverage_values

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"
FAILURE = Failure(
    phase="call",
    type="AssertionError",
    bases=("Exception",),
    message="assert 1 == 2",
    chain=(),
    frames=(Frame(zone=Zone.TEST, path="tests/test_a.py", line=5, function="test_a"),),
    fingerprint="f",
)
PROVED = Proved(
    id="tests/test_a.py::test_a",
    reason=ReasonCode.ASSERTION,
    failure=FAILURE,
    conditions=Conditions(locale="C"),
    runs=9,
)
REFUSED = Refused(id="tests/test_a.py::test_b", reason=ReasonCode.PASSES_ON_BASE, why="passes on base")


def gate(verdict: GateVerdict, name: str = "fail-to-pass", **changes: Any) -> GateResult:
    return GateResult(gate=name, verdict=verdict, reason=ReasonCode.PROVED, **changes)


def report(*gates: GateResult, **changes: Any) -> CheckReport:
    return CheckReport(
        base="b" * 40,
        head="a" * 40,
        how="given",
        gates=gates,
        levels=changes.pop("levels", {}),
        command="repro-gate check --base=b --head=a",
        sandbox=Sandboxing(name="bubblewrap", hermetic=True),
        **changes,
    )


FULL = report(
    gate(GateVerdict.PASS, proved=(PROVED,), refused=(REFUSED,), summary="1 new, 1 proved"),
    gate(GateVerdict.FAIL, "network", findings=(Finding(reason=ReasonCode.NETWORK_ATTEMPT, text="connect", id="t"),)),
    environment="e" * 32,
    notes=("a note",),
)


def document(of: CheckReport) -> dict[str, Any]:
    stream = io.StringIO()
    check_json.write(of, stream)
    return dict(json.loads(stream.getvalue()))


@pytest.mark.parametrize(
    "of",
    [
        FULL,
        report(),
        report(coverage_values.GATE),
        report(trouble=Trouble(slug="prepare-failed", text="no compiler", next_step="Install one.")),
    ],
    ids=["full", "empty", "coverage", "trouble"],
)
def test_the_json_is_what_its_schema_says(of: CheckReport) -> None:
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(document(of))


def test_the_json_lists_proofs_and_refusals_with_their_reasons() -> None:
    first = document(FULL)["gates"][0]
    assert [(each["id"], each["reason"]) for each in first["proved"]] == [(PROVED.id, "assertion")]
    assert first["proved"][0]["conditions"] == {"locale": "C"}
    assert first["proved"][0]["failure"]["message"] == "assert 1 == 2"
    assert first["refused"][0]["why"] == "passes on base"


@pytest.mark.parametrize(
    ("verdicts", "levels", "code"),
    [
        ((GateVerdict.PASS,), {}, 0),
        ((GateVerdict.NEUTRAL,), {}, 0),
        ((GateVerdict.PASS, GateVerdict.FAIL), {}, 1),
        ((GateVerdict.PASS, GateVerdict.FAIL), {"network": Level.WARN}, 0),
        ((GateVerdict.PASS, GateVerdict.INCONCLUSIVE), {}, 3),
        ((GateVerdict.INCONCLUSIVE, GateVerdict.FAIL), {}, 1),
        ((), {}, 0),
    ],
)
def test_the_exit_code_is_that_of_the_worst_gate_that_blocks(
    verdicts: tuple[GateVerdict, ...], levels: dict[str, Level], code: int
) -> None:
    names = ("fail-to-pass", "network")
    gates = [gate(verdict, name) for verdict, name in zip(verdicts, names, strict=False)]
    of = report(*gates, levels=levels)
    assert exit_code(of) == code
    assert document(of)["exit_code"] == code


def test_where_nothing_blocks_there_may_have_been_much_to_judge() -> None:
    quiet = gate(GateVerdict.NEUTRAL)
    assert headline(report(quiet)).startswith("nothing to judge: ")
    found = gate(GateVerdict.FAIL, "coverage", findings=(Finding(reason=ReasonCode.NETWORK_ATTEMPT, text="line 3"),))
    assert headline(report(quiet, found, levels={"coverage": Level.WARN})).startswith("nothing blocks: ")
    passed = gate(GateVerdict.PASS, "mutation")
    assert headline(report(quiet, passed, levels={"mutation": Level.WARN})).startswith("nothing blocks: ")


def test_trouble_is_inconclusive_whatever_else_passed() -> None:
    of = report(gate(GateVerdict.PASS), trouble=Trouble(slug="s", text="The daemon is gone.", next_step="Start it."))
    assert exit_code(of) == 3
    said = "\n".join(check_terminal.lines(of))
    assert "The daemon is gone." in said
    assert "next: Start it." in said


def test_lines_say_what_was_proved_and_how_base_failed_and_how_to_repeat_it() -> None:
    said = check_terminal.lines(FULL)
    assert any(line.split() == ["proved", PROVED.id] for line in said)
    assert any("AssertionError: assert 1 == 2 (tests/test_a.py:5)" in line for line in said)
    assert any(REFUSED.id in line for line in said)
    assert said[-1] == f"Repeat: {FULL.command}"


def test_the_page_holds_verdict_proof_refusal_and_command() -> None:
    page = as_markdown.page(FULL)
    for part in ("❌", PROVED.id, "assert 1 == 2", "passes on base", FULL.command):
        assert part in page


HOSTILE = st.text(st.sampled_from("ab`|\n\r<>&@#[]()!*_\\~$:\x1b\u202e/"), max_size=40)


@given(HOSTILE, HOSTILE)
def test_nothing_of_a_test_breaks_out_of_the_page(name: str, message: str) -> None:
    failure = dataclasses.replace(FAILURE, message=message, type="E")
    proof = dataclasses.replace(PROVED, id=f"t::{name}", failure=failure)
    refusal = dataclasses.replace(REFUSED, id=f"t::{name}", why=message)
    page = as_markdown.page(report(gate(GateVerdict.FAIL, proved=(proof,), refused=(refusal,))))
    assert "\x1b" not in page
    assert "\u202e" not in page
    for line in page.splitlines():
        if line.startswith("| `"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 4, line
    outside = re.sub(r"(`+)(?:(?!\1).)*?\1", "", page.replace("```console", ""))
    assert not re.search(r"(?<!\\)<(?!/?sub>|!-- -->)", outside), outside
    assert not re.search(r"(?<![\\\w])@", outside), outside


def test_output_of_a_finding_is_shown_everywhere_and_breaks_out_of_nothing() -> None:
    said = "E   TypeError: no\n```\n<script>\x1b[31m</script>"
    told = Finding(reason=ReasonCode.BASE_BROKEN, id="tests/test_a.py::test_a", text="TypeError: no", output=said)
    broken = report(gate(GateVerdict.INCONCLUSIVE, findings=(told,)))
    document = check_json.document(broken)
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert document["gates"][0]["findings"][0]["output"] == said
    assert "  | E   TypeError: no" in "\n".join(check_terminal.lines(broken))
    page = as_markdown.page(broken).splitlines()
    block = page[page.index("  ````text") + 1 : page.index("  ````")]
    assert block == ["  E   TypeError: no", "  ```", "  <script>\\x1b[31m</script>"]


def test_what_a_change_alters_of_its_policy_has_a_section_of_its_own() -> None:
    altered = report(gate(GateVerdict.PASS), policy=("gate-flaky: `off` <b>now",))
    page = as_markdown.page(altered)
    assert "### Policy\n\n- gate\\-flaky\\: \\`off\\` \\<b\\>now\n" in page
    assert check_json.document(altered)["policy"] == ["gate-flaky: `off` <b>now"]
    assert "policy: gate-flaky" in "\n".join(check_terminal.lines(altered))
    assert "### Policy" not in as_markdown.page(report(gate(GateVerdict.PASS)))


def test_each_changed_line_is_in_the_json_once_with_its_state() -> None:
    (gate,) = document(report(coverage_values.GATE))["gates"]
    found = gate["coverage"]
    assert [(line["line"], line["state"]) for line in found["lines"]] == [
        (1, "covered"),
        (2, "uncovered"),
        (3, "branch-missed"),
        (4, "excluded"),
        (5, "not-executable"),
        (6, "moved"),
        (7, "whitespace"),
        (8, "unreadable"),
    ]
    assert [line["line"] for line in found["uncovered_lines"]] == [2]
    assert found["uncovered_branches"][0]["to"] is None
    assert found["lost"][0]["tests"] == ["t.py::test_a"]
    assert found["percent"] == 33.3333


def test_a_line_without_a_test_is_remarked_on_beside_it_as_grave_as_its_gate() -> None:
    for level, severity in ((Level.BLOCK, "error"), (Level.WARN, "warning")):
        (remark,) = remarks.of_check(report(coverage_values.GATE, levels={"coverage": level}), prefix="sub")
        assert (remark.path, remark.line, str(remark.severity)) == ("pkg/mod.py", 2, severity)
        assert remark.rule == "coverage/uncovered_lines"


@pytest.mark.parametrize(
    ("about", "said"),
    [
        ({"text": "x", "path": "a.py", "line": 3}, "a.py:3"),
        ({"text": "a.py:3 (`y`) is run by no test", "path": "a.py", "line": 3}, ""),
        ({"text": "a.py:3-5 are run by no test", "path": "a.py", "line": 3}, ""),
        ({"text": "a.py:3: a pragma without a reason", "path": "a.py", "line": 3}, ""),
        ({"text": "a.py:33 is another line", "path": "a.py", "line": 3}, "a.py:3"),
        ({"text": "t.py::test::other is another test", "id": "t.py::test"}, "t.py::test"),
        ({"text": "x", "id": "t.py::test", "path": "a.py", "line": 3}, "t.py::test"),
        ({"text": "x", "path": "a.py"}, "a.py"),
        ({"text": " x"}, ""),
    ],
)
def test_what_a_finding_is_about_is_said_once(about: dict[str, Any], said: str) -> None:
    assert words.place_of(Finding(reason=ReasonCode.NO_ITEMS, **about)) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [("line 3: `x` -> `y`", "`x` -> `y`"), ("line 33: `x` -> `y`", "line 33: `x` -> `y`"), ("no line", "no line")],
)
def test_the_line_of_a_finding_is_said_once(text: str, said: str) -> None:
    finding = Finding(reason=ReasonCode.NO_ITEMS, text=text, path="a.py", line=3)
    assert words.text_behind(words.place_of(finding), finding) == said
    assert words.text_behind("", finding) == text


def test_code_of_a_finding_is_shown_as_code_and_breaks_out_of_nothing() -> None:
    page = as_markdown.page(report(coverage_values.GATE))
    assert "`line 2 \\| <b>`" in page
    assert "`# pragma: no cover`" in page
