"""The mutation and coverage gates on suites and files that are unlike most: what is said of them is known by hand."""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.e2e.conftest import Shell
from tests.gitrepo import Repo

HERE = ("--sandbox", "host", "--python", sys.executable)


def checked(
    shell: Shell, place: Path, base: Mapping[str, str], head: Mapping[str, str], gates: str = "mutation"
) -> dict[str, Any]:
    """By gate, what report.json says of a change. ``place`` becomes its repository."""
    place.mkdir()
    repo = Repo(place)
    repo.git("init", "--quiet", "--initial-branch=main")
    before = repo.commit({path: textwrap.dedent(text) for path, text in base.items()}, message="base")
    repo.commit({path: textwrap.dedent(text) for path, text in head.items()}, message="head")
    done = shell.gate("check", "--base", before, "--gates", gates, *HERE, "--report-json", "out.json", cwd=place)
    assert done.code in (0, 1), done
    report = json.loads((place / "out.json").read_text(encoding="utf-8"))
    return {gate["gate"]: gate for gate in report["gates"]}


def test_what_only_a_new_doctest_notices_is_noticed_by_a_test_of_the_change(shell: Shell, tmp_path: Path) -> None:
    base = {
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--doctest-modules"\n',
        "shop/__init__.py": "",
        "shop/size.py": "def small(x):\n    return x < 5\n",
        "tests/test_size.py": "from shop.size import small\n\ndef test_small():\n    assert small(1)\n",
    }
    new = 'def small(x):\n    """Small.\n\n    >>> small(4), small(3)\n    (False, True)\n    """\n    return x < 4\n'
    gate = checked(shell, tmp_path / "shop", base, {"shop/size.py": new})["mutation"]
    told = {(each["mutated"], *each["killed_by"], each["by_new_test"]) for each in gate["mutation"]["tested"]}
    assert told == {
        ("return not (x < 4)", "tests/test_size.py::test_small", False),
        ("x <= 4", "shop/size.py::shop.size.small", True),
        ("x < 5", "shop/size.py::shop.size.small", True),
    }
    assert "1 killed by old tests, 2 killed only by tests of this change" in gate["summary"]


def test_lines_that_end_as_on_old_machines_are_counted_as_python_counts_them(shell: Shell, tmp_path: Path) -> None:
    base = {
        "shop/__init__.py": "",
        "shop/size.py": "def small(x):\r    return x < 5\r",
        "tests/test_size.py": "from shop.size import small\n\ndef test_small():\n    assert small(1)\n",
    }
    new = "def small(x):\r    return x < 4\r\rdef never():\r    return 1\r"
    gates = checked(shell, tmp_path / "shop", base, {"shop/size.py": new}, "mutation,coverage")
    states = {each["line"]: each["state"] for each in gates["mutation"]["mutation"]["account"]}
    assert states == {2: "mutated", 3: "no-operator", 4: "import-time", 5: "not-covered"}
    lines = {each["line"]: (each["state"], each["text"]) for each in gates["coverage"]["coverage"]["lines"]}
    assert lines == {
        2: ("covered", "return x < 4"),
        3: ("not-executable", ""),
        4: ("covered", "def never():"),
        5: ("uncovered", "return 1"),
    }


CLI = """\
    import sys

    from shop.size import small


    def main():
        if small(int(sys.argv[1])):
            return 0
        return 3


    if __name__ == "__main__":  # pragma: no branch
        sys.exit(main())
    """
RUNS = """\
    import subprocess
    import sys

    from shop.size import small


    def run(number):
        return subprocess.run([sys.executable, "-m", "shop.cli", number], env={}).returncode


    def test_small():
        assert small(1)


    def test_cli():
        assert run("1") == 0
        assert run("9") != 0
    """


def test_what_only_child_processes_run_is_covered_and_its_mutants_meet_them_on_disk(
    shell: Shell, tmp_path: Path
) -> None:
    base = {
        "shop/__init__.py": "",
        "shop/size.py": "def small(x):\n    return x < 5\n",
        "tests/test_cli.py": "from shop.size import small\n\ndef test_small():\n    assert small(1)\n",
    }
    head = {"shop/cli.py": CLI, "tests/test_cli.py": RUNS}
    gates = checked(shell, tmp_path / "shop", base, head, "mutation,coverage")
    assert (gates["coverage"]["verdict"], gates["coverage"]["reason"]) == ("pass", "covered"), gates["coverage"]
    assert "8 of 8 changed statements covered (100 %), 4 of 4 branches taken" in gates["coverage"]["summary"]
    mutation = gates["mutation"]["mutation"]
    told = {(each["original"], each["mutated"]): each for each in mutation["tested"]}
    killed = told["small(int(sys.argv[1]))", "not (small(int(sys.argv[1])))"]
    assert (killed["outcome"], killed["killed_by"], killed["confirmed"]) == (
        "killed",
        ["tests/test_cli.py::test_cli"],
        True,
    )
    # Any other code than 0 will do for the test.
    assert told["return 3", "return 4"]["outcome"] == "survived"
    assert told["return 3", "return None"]["outcome"] == "killed"
    assert mutation["not_tested"] == []


SIZES = {
    "shop/__init__.py": "",
    "shop/size.py": "def small(x):\n    return x < 5\n",
    "tests/test_size.py": "from shop.size import small\n\ndef test_small():\n    assert small(1)\n",
}


def test_a_check_without_a_report_leaves_what_the_commands_about_mutants_read(shell: Shell, tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "shop")
    base = repo.commit(SIZES)
    repo.commit({"shop/size.py": "def small(x):\n    return x < 4\n"})
    waivers = repo.path / ".repro-gate" / "waivers.toml"
    waivers.parent.mkdir()
    waivers.write_text("", encoding="utf-8")
    none = shell.gate("mutant", "show", "0123456789ab", cwd=repo.path)
    assert (none.code, "No check has left a report here." in none.words) == (2, True), none
    done = shell.gate("check", "--base", base, "--gates", "mutation", *HERE, cwd=repo.path)
    assert done.code == 0, done
    assert "waivers.toml is in the work tree and not in head's commit, so it waives nothing: commit it" in done.words
    command, *_ = re.findall(r"`(repro-gate mutant run [^`]+)`", done.out)
    assert "--report" not in command
    (mutant,) = re.findall("run ([0-9a-f]{12})", command)
    assert f"mutant   {mutant}  shop/size.py:2\n" in done.out, done.out
    shown = shell.gate("mutant", "show", mutant, cwd=repo.path)
    assert "-    return x < 4" in shown.out, shown
    ran = shell.gate(*shlex.split(command)[1:], *HERE, cwd=repo.path)
    assert (ran.code, "survived: 1 test passed with it" in ran.words) == (1, True), ran
    waivers.unlink()
    assert repo.git("status", "--porcelain") == ""
    # A later check of other gates tells of no mutants, and takes nothing away.
    shell.gate("check", "--base", base, "--gates", "network", *HERE, "--report-json", "report.json", cwd=repo.path)
    packed = shell.gate("mutant", "capsule", mutant, *HERE, cwd=repo.path)
    assert packed.code == 0, packed
    (capsule,) = re.findall(r"capsule: (\S+)", packed.out)
    assert "with local changes" not in shell.gate("capsule", "show", capsule, cwd=repo.path).out


def test_whose_doing_it_is_that_pytest_does_not_start(shell: Shell, tmp_path: Path) -> None:
    suite = {
        "shop/__init__.py": "",
        "shop/size.py": "def small(x):\n    return x < 5\n",
        "tests/test_size.py": "from shop.size import small\n\ndef test_small():\n    assert small(1)\n",
    }
    good, bad = {"conftest.py": ""}, {"conftest.py": "raise ValueError('not in the archive')\n"}
    edit = {"shop/size.py": "def small(x):\n    return x < 4\n"}

    def trouble(name: str, base: Mapping[str, str], head: Mapping[str, str]) -> tuple[str, str]:
        place = tmp_path / name
        place.mkdir()
        repo = Repo(place)
        repo.git("init", "--quiet", "--initial-branch=main")
        before = repo.commit({**suite, **base}, message="base")
        repo.commit({**edit, **head}, message="head")
        done = shell.gate("check", "--base", before, "--gates", "coverage", *HERE, "--report-json", "o.json", cwd=place)
        assert done.code == 3, done
        told = json.loads((place / "o.json").read_text(encoding="utf-8"))["trouble"]
        return told["text"], told["next_step"]

    text, step = trouble("of-base", bad, good)
    assert text.startswith("On base as it is")
    assert "not the change's doing:" in step
    text, step = trouble("of-head", good, bad)
    assert text.startswith("On head")
    assert "so it is the change's doing" in step
    text, step = trouble("of-both", bad, {})
    assert text.startswith("On head")
    assert "not the change's doing alone" in step
