"""The coverage of a change, as a user's shell would ask for it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.e2e.conftest import Shell
from tests.e2e.test_check import BASE, change, checked, report_of, sandbox  # noqa: F401  (a fixture)

TILL = """\
def total(prices, discount=0):
    result = sum(prices)
    if discount:
        result -= discount
    return result
"""
OTHER = "def spare(n):\n    if n:\n        return 1\n    return 2\n"
SPARE = "from till.other import spare\n\n\ndef test_spare():\n    assert spare(0) == 2\n"
DELETED = SPARE + "\n\ndef test_more():\n    assert spare(1) == 1\n"
PACKAGE = {
    "pyproject.toml": BASE["pyproject.toml"],
    "till/__init__.py": BASE["till.py"],
    "till/other.py": OTHER,
    "till/never.py": "X = 1\n",
    "tests/test_till.py": BASE["tests/test_till.py"],
    "tests/test_other.py": DELETED,
}


def test_lines_branches_and_lost_lines_are_named_and_written_for_other_tools(
    shell: Shell,
    tmp_path: Path,
    sandbox: tuple[str, ...],  # noqa: F811
) -> None:
    place = change(tmp_path, {"till/__init__.py": TILL, "tests/test_other.py": SPARE}, base=PACKAGE)
    files = ("--coverage-xml", "c.xml", "--coverage-lcov", "c.lcov", "--coverage-json", "c.json")
    options = ("--python", sys.executable, "--gates", "coverage", "--report-json", "r.json", *files)
    done = checked(shell, place, *options, *sandbox, env={"REPRO_GATE_GATE_COVERAGE": "block"})
    assert done.code == 1, done
    assert "till/__init__.py:4 (`result -= discount`) is run by no test" in done.words
    (repeat,) = [line.removeprefix("Repeat: ") for line in done.out.splitlines() if line.startswith("Repeat: ")]
    assert repeat.startswith("REPRO_GATE_GATE_COVERAGE=block REPRO_GATE_REPLAYS=1 repro-gate check ")
    assert shell.run("sh", "-c", repeat, cwd=place).code == 1
    (gate,) = report_of(place)["gates"]
    found = gate["coverage"]
    assert {line["line"]: line["state"] for line in found["lines"]} == {
        2: "covered",
        3: "branch-missed",
        4: "uncovered",
        5: "covered",
    }
    assert [(each["line"], each["to"]) for each in found["uncovered_branches"]] == [(3, 4)]
    assert [(each["file"], each["line"], each["tests"]) for each in found["lost"]] == [
        ("till/other.py", 3, ["tests/test_other.py::test_more"])
    ]
    written = json.loads((place / "c.json").read_text(encoding="utf-8"))["files"]
    assert sorted(written) == ["till/__init__.py", "till/never.py", "till/other.py"]
    assert written["till/__init__.py"]["contexts"]["5"] == ["tests/test_till.py::test_plain"]
    assert written["till/never.py"]["missing_lines"] == [1]
    lines = ElementTree.parse(place / "c.xml").iterfind(".//class[@filename='till/__init__.py']/lines/line")
    assert {int(line.get("number", "")): line.get("hits") for line in lines} == {
        1: "1",
        2: "1",
        3: "1",
        4: "0",
        5: "1",
    }
    assert "SF:till/__init__.py\n" in (place / "c.lcov").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_rules_are_those_of_base(shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]) -> None:  # noqa: F811
    rules = BASE["pyproject.toml"] + '[tool.coverage.run]\nomit = ["till.py"]\n'
    place = change(tmp_path, {"till.py": TILL, "pyproject.toml": rules})
    options = ("--python", sys.executable, "--gates", "coverage", "--report-json", "r.json")
    done = checked(shell, place, *options, *sandbox)
    assert done.code == 0, "it only warns"
    (gate,) = report_of(place)["gates"]
    assert (gate["verdict"], gate["coverage"]["covered"]) == ("fail", 2)
