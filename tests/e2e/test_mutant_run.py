"""The commands that a check prints for a survivor, run as printed, in a small project with real tests."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from repro_gate.gates.mutation.wording import next_step_of
from repro_gate.model import (
    CheckReport,
    GateResult,
    GateVerdict,
    Level,
    Mutant,
    MutantOutcome,
    MutantResult,
    MutationReport,
    Site,
)
from repro_gate.report import check_json
from tests.conftest import write_files
from tests.e2e.conftest import Done, Shell

SOURCE = "LIMIT = 3\n\n\ndef small(x):\n    return x < LIMIT\n"
TEST = r"tests/test_shop.py::test_far[\xe4]"  # as pytest writes the id of ä
PROJECT = {
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--import-mode=importlib'\nfilterwarnings = ['error']\n",
    "shop/__init__.py": "",
    "shop/size.py": SOURCE,
    "tests/test_shop.py": """\
        import pytest
        from shop.size import small

        @pytest.mark.parametrize("x", [1], ids=["ä"])
        def test_far(x):
            assert small(x)
            assert not small(99)
        """,
    "tests/test_boundary.py": """\
        from shop.size import small

        def test_boundary():
            assert not small(3)
        """,
    "tests/test_deaf.py": """\
        def test_deaf():
            pass
        """,
}


def result(name: str, original: str, mutated: str, line: int, site: Site) -> MutantResult:
    mutant = Mutant(
        id=name,
        file="shop/size.py",
        line=line,
        end_line=line,
        operator="boundary",
        qualname="small" if site is Site.CALL else "",
        original=original,
        mutated=mutated,
        nth=1,
        site=site,
        text=SOURCE.replace(original, mutated, 1),
        first_line=4 if site is Site.CALL else 0,
        hint="a value where `x == LIMIT` would tell them apart",
    )
    return MutantResult(mutant=mutant, outcome=MutantOutcome.SURVIVED, confirmed=True, tests=1, selection=(TEST,))


BOUNDARY = result("0123456789ab", "x < LIMIT", "x <= LIMIT", 5, Site.CALL)
BROKEN = result("broken", "LIMIT = 3", "LIMIT = 3 / 0", 1, Site.IMPORT)
ENDLESS = result("endless", "return x < LIMIT", "while True: pass", 5, Site.CALL)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_files(tmp_path, PROJECT)
    report = MutationReport(tested=(BOUNDARY, BROKEN, ENDLESS), sources={"shop/size.py": SOURCE})
    gate = GateResult(gate="mutation", verdict=GateVerdict.FAIL, reason="survivors", mutation=report)
    checked = CheckReport(
        base="b" * 40, head="a" * 40, how="given", gates=(gate,), levels={"mutation": Level.BLOCK}, command="c"
    )
    (tmp_path / "out").mkdir()
    with (tmp_path / "out" / "report.json").open("w", encoding="utf-8") as stream:
        check_json.write(checked, stream)
    return tmp_path


def printed(shell: Shell, place: Path, command: str, *more: str) -> Done:
    """Run a command as it is printed; only where it runs is added."""
    gate, *words = shlex.split(command)
    assert gate == "repro-gate"
    return shell.gate(*words, *more, cwd=place, env={"REPRO_GATE_TEST_TIMEOUT": "20"})


HERE = ("--sandbox", "host", "--python", sys.executable)


def test_the_printed_command_says_that_the_survivor_survives_and_the_missing_test_kills_it(
    shell: Shell, place: Path
) -> None:
    (command,) = re.findall(r"`(repro-gate mutant run [^`]+)`", next_step_of(BOUNDARY, "out/report.json"))
    done = printed(shell, place, command, *HERE)
    assert done.code == 1, done
    assert "survived: 1 test passed with it a value where `x == LIMIT` would tell them apart" in done.words
    done = printed(shell, place, command, "tests/test_boundary.py", *HERE)
    assert done.code == 0, done
    assert "killed by tests/test_boundary.py::test_boundary" in done.words


def test_the_survivors_of_a_report_are_listed_with_their_places(shell: Shell, place: Path) -> None:
    done = shell.gate("mutant", "list", "--report", "out/report.json", cwd=place)
    assert done.code == 0, done
    assert done.out.splitlines() == [
        "0123456789ab  survived  shop/size.py:5  `x < LIMIT` -> `x <= LIMIT`",
        "broken  survived  shop/size.py:1  `LIMIT = 3` -> `LIMIT = 3 / 0`",
        "endless  survived  shop/size.py:5  `return x < LIMIT` -> `while True: pass`",
    ]
    none = shell.gate("mutant", "list", cwd=place)
    assert none.code == 2, none
    assert "No check has left a report here." in none.words


def test_the_mutant_is_tried_the_same_while_it_is_applied_and_the_work_tree_stays_as_it_is(
    shell: Shell, place: Path
) -> None:
    file = place / "shop" / "size.py"
    report = ("--report", "out/report.json")
    applied = shell.gate("mutant", "apply", BOUNDARY.mutant.id, *report, cwd=place)
    assert file.read_text(encoding="utf-8") == BOUNDARY.mutant.text
    done = shell.gate("mutant", "run", BOUNDARY.mutant.id, *report, *HERE, cwd=place)
    assert done.code == 1, done
    assert file.read_text(encoding="utf-8") == BOUNDARY.mutant.text
    (undo,) = re.findall(r"to take it out: (.+)", applied.out)
    assert printed(shell, place, undo).code == 0
    assert file.read_text(encoding="utf-8") == SOURCE


def test_a_mutant_that_breaks_the_import_and_one_that_never_ends_are_killed(shell: Shell, place: Path) -> None:
    report = ("--report", "out/report.json")
    done = shell.gate("mutant", "run", "broken", *report, *HERE, cwd=place)
    assert done.code == 0, done
    assert f"killed by {TEST}" in done.words
    short = {"REPRO_GATE_TEST_TIMEOUT": "2"}
    done = shell.gate("mutant", "run", "endless", *report, *HERE, cwd=place, env=short)
    assert done.code == 0, done
    assert f"timeout by {TEST}" in done.words


def test_tests_that_never_import_the_file_prove_nothing(shell: Shell, place: Path) -> None:
    (place / "tests" / "test_shop.py").write_text("def test_other():\n    pass\n", encoding="utf-8")
    report = ("--report", "out/report.json")
    done = shell.gate("mutant", "run", BOUNDARY.mutant.id, "tests/test_deaf.py", *report, *HERE, cwd=place)
    assert done.code == 3, done
    assert "inconclusive: no test notices that shop/size.py raises" in done.words
    assert f"1 of its tests are not here any more: {TEST}" in done.words


def test_without_any_test_there_is_nothing_to_run(shell: Shell, place: Path) -> None:
    (place / "tests" / "test_shop.py").unlink()
    done = shell.gate("mutant", "run", BOUNDARY.mutant.id, "--report", "out/report.json", *HERE, cwd=place)
    assert done.code == 2, done
    assert f"No test is known that runs mutant {BOUNDARY.mutant.id}." in done.words
    done = shell.gate("mutant", "run", BOUNDARY.mutant.id, "nope", "--report", "out/report.json", *HERE, cwd=place)
    assert done.code == 2, done
    assert "pytest collects no test 'nope' here." in done.words


def test_help_and_a_missing_report_are_as_for_every_command(shell: Shell, place: Path) -> None:
    assert "show" in shell.gate("mutant", "--help", cwd=place).out
    done = shell.gate("mutant", "show", BOUNDARY.mutant.id, cwd=place)
    assert done.code == 2
    assert "No check has left a report here." in done.words
    done = shell.gate("mutant", "show", BOUNDARY.mutant.id, "--report", "report.json", cwd=place)
    assert done.code == 2
    assert "Cannot read report.json: No such file or directory." in done.words
