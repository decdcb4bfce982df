"""docs/mutants.md says what waivers hold, and its own example is one."""

from __future__ import annotations

import datetime
import re
from pathlib import Path

from repro_gate.mutants import OPERATORS, Reason, identity, in_file
from repro_gate.mutants.reasons import MEANING
from repro_gate.mutants.waivers import KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mutants.md").read_text(encoding="utf-8")


def test_every_reason_has_a_meaning_and_a_row() -> None:
    assert list(MEANING) == list(Reason)
    assert all(f"| {reason} | " in PAGE for reason in Reason)


def test_every_operator_has_a_row() -> None:
    assert re.findall(r"^\| `(\w+)` \|", PAGE[: PAGE.index("## Lines")], re.MULTILINE) == list(OPERATORS)


def test_the_keys_of_a_waiver_are_those_of_the_table() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", PAGE[PAGE.index("| key |") :], re.MULTILINE)
    assert tuple(key for row in rows for key in re.findall(r"`(\w+)`", row)) == KEYS


def test_the_example_is_a_waiver_file() -> None:
    example = PAGE.split("```toml\n")[1].split("```")[0]
    found = in_file(example.encode(), datetime.date(2030, 12, 31))
    assert [each.mutant for each in found.waivers] == [
        "0123456789ab",
        identity("src/sizes.py", "natural", "exp < limit", "exp <= limit", 1),
    ]
    assert len(in_file(example.encode(), datetime.date(2031, 1, 1)).expired) == 1
