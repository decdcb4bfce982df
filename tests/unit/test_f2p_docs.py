"""docs/gates/fail-to-pass.md says what the code says: every reason code, its next step and its verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.gates.fail_to_pass.advice import NEXT_STEP
from repro_gate.gates.fail_to_pass.reasons import API, RIGHT
from repro_gate.gates.fail_to_pass.verdict import BLOCKING, EMPTY, SILENT, UNDECIDED
from repro_gate.model import GateVerdict, ReasonCode

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "gates" / "fail-to-pass.md").read_text(encoding="utf-8")


def rows(page: str) -> dict[str, list[str]]:
    """Code -> the further cells of its row, over all tables whose first column is `code`."""
    found: dict[str, list[str]] = {}
    inside = False
    for line in page.splitlines():
        inside = line.startswith("| code |") or (inside and line.startswith("|"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if inside and cells[0].startswith("`"):
            assert cells[0] not in found, "a code has two rows"
            found[cells[0].strip("`")] = cells[1:]
    return found


def differences(page: str) -> list[str]:
    """Where the page does not say what the code says."""
    said = rows(page)
    found = [f"order or set of codes: {code}" for code in set(said) ^ set(ReasonCode)]
    found += [f"next step of {code}" for code in ReasonCode if code in said and said[code][2] != NEXT_STEP[code]]
    return found


def test_every_code_has_its_row_and_its_next_step() -> None:
    assert differences(PAGE) == []
    assert list(rows(PAGE)) == list(ReasonCode)
    assert set(NEXT_STEP) == set(ReasonCode)


@pytest.mark.parametrize("change", [("| `assertion` |", "| `asertion` |"), ("Make the test pass on head.", "Do not.")])
def test_a_page_that_says_otherwise_is_noticed(change: tuple[str, str]) -> None:
    assert differences(PAGE.replace(*change)) != []


def test_right_reasons_are_marked_as_such() -> None:
    marks = {code: cells[1] for code, cells in rows(PAGE).items()}
    assert {code for code, mark in marks.items() if mark.startswith(("yes", "if its stack"))} == RIGHT
    assert {code for code, mark in marks.items() if mark == "only as new API"} == API


def test_codes_that_decide_are_in_one_group_and_documented_with_its_verdict() -> None:
    groups = (BLOCKING, UNDECIDED, EMPTY, SILENT)
    assert len({code for group in groups for code in group}) == sum(map(len, groups))
    said = {code: cells[1] for code, cells in rows(PAGE).items()}
    verdicts = {verdict.value for verdict in GateVerdict}
    for code in BLOCKING:
        if code is not ReasonCode.NETWORK:  # listed among the reasons of failures
            assert said[code] == "fail"
    for code in UNDECIDED:
        if said[code] in verdicts:
            assert said[code] == "inconclusive"
    assert all(f"`{code}`" in PAGE.partition("whatever else is proved")[2].partition(".")[0] for code in BLOCKING)
