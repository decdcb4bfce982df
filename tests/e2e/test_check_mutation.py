"""The mutation gate of a check, on real tests:
each mutant's fate is known by hand, and printed commands do what they say.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.e2e.conftest import Done, Shell
from tests.gitrepo import Repo

ROOT = Path(__file__).resolve().parents[2]
HERE = ("--sandbox", "host", "--python", sys.executable)
BEFORE = {
    "shop/__init__.py": "",
    "shop/size.py": "def small(x):\n    return x < 5\n",
    "tests/test_size.py": """\
        from shop.size import small

        def test_small():
            assert small(1)
            assert not small(99)
        """,
}
AFTER = {
    "shop/size.py": """\
        import logging

        LIMIT = 3


        def small(x):
            logging.getLogger(__name__).debug("asked")
            if x < 0:
                raise ValueError("negative")
            return x < LIMIT


        def never(x):
            return x + 1
        """,
    "tests/test_size.py": """\
        import pytest

        from shop.size import small

        def test_small():
            assert small(1)
            assert not small(99)

        def test_limit():
            assert small(2)
            assert not small(3)

        def test_negative():
            with pytest.raises(ValueError):
                small(-1)
        """,
}
SMALL, LIMIT, NEGATIVE = (f"tests/test_size.py::test_{name}" for name in ("small", "limit", "negative"))


@dataclass(frozen=True, kw_only=True)
class Checked:
    repo: Repo
    done: Done
    report: dict[str, Any]

    @property
    def mutation(self) -> dict[str, Any]:
        (gate,) = self.report["gates"]
        return dict(gate["mutation"])


@pytest.fixture(scope="module")
def checked(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Checked:
    repo = Repo(tmp_path_factory.mktemp("mutation") / "shop")
    repo.path.mkdir()
    repo.git("init", "--quiet", "--initial-branch=main")
    base = repo.commit({path: textwrap.dedent(text) for path, text in BEFORE.items()}, message="base")
    repo.commit({path: textwrap.dedent(text) for path, text in AFTER.items()}, message="fix: sizes")
    files = ("--report-json", "out.json", "--mutation-json", "elements.json", "--sarif", "x.sarif", "--summary", "s.md")
    done = shell.gate("check", "--base", base, "--gates", "mutation", *HERE, *files, cwd=repo.path)
    return Checked(repo=repo, done=done, report=json.loads((repo.path / "out.json").read_text(encoding="utf-8")))


def test_every_mutant_comes_to_what_a_person_says_of_it(checked: Checked) -> None:
    assert checked.done.code == 0, checked.done
    found = {(each["original"], each["mutated"]): each for each in checked.mutation["tested"]}
    fates = {key: (each["outcome"], each["killed_by"], each["by_new_test"]) for key, each in found.items()}
    assert fates["x < LIMIT", "x <= LIMIT"] == ("killed", [LIMIT], True)
    assert fates["LIMIT = 3", "LIMIT = 4"] == ("killed", [LIMIT], True)
    assert fates["LIMIT = 3", "LIMIT = None"] == ("killed", [SMALL], False)
    assert fates['raise ValueError("negative")', "pass"] == ("killed", [NEGATIVE], True)
    # Zero is asked of nobody, and so it makes no difference whether it is negative.
    survivors = {key for key, (outcome, _, _) in fates.items() if outcome == "survived"}
    assert survivors == {("x < 0", "x <= 0"), ("x < 0", "x < 1")}
    assert all(each["confirmed"] for each in found.values() if each["outcome"] == "survived")
    assert all(each["confirmed"] for each in found.values() if each["site"] == "import")
    assert all(each["held"] for each in checked.mutation["controls"])
    assert {each["reason"] for each in checked.mutation["not_tested"]} == {"not-covered"}


def test_each_changed_line_is_in_the_account_once(checked: Checked) -> None:
    account = checked.mutation["account"]
    said = {each["text"].strip(): each["state"] for each in account if each["text"].strip()}
    assert [each["line"] for each in account] == sorted({each["line"] for each in account})
    assert said == {
        "import logging": "import-time",
        "LIMIT = 3": "mutated",
        'logging.getLogger(__name__).debug("asked")': "arid",
        "if x < 0:": "mutated",
        'raise ValueError("negative")': "mutated",
        "return x < LIMIT": "mutated",
        "def never(x):": "import-time",
        "return x + 1": "not-covered",
    }


def test_the_files_are_of_their_schemas_and_the_page_shows_what_would_kill_it(checked: Checked) -> None:
    place = checked.repo.path
    schema = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(checked.report)
    theirs = json.loads((ROOT / "tests" / "data" / "mutation-testing-report.json").read_text(encoding="utf-8"))
    jsonschema.Draft7Validator(theirs).validate(json.loads((place / "elements.json").read_text(encoding="utf-8")))
    assert "**Only a value where `x == 0` can tell them apart.**" in (place / "s.md").read_text(encoding="utf-8")
    (run,) = json.loads((place / "x.sarif").read_text(encoding="utf-8"))["runs"]
    assert [each["ruleId"] for each in run["results"]] == ["mutation/survived"]


def test_the_printed_command_does_what_it_says(checked: Checked, shell: Shell) -> None:
    (command,) = re.findall(r"`(repro-gate mutant run [^`]+)`", checked.done.out)
    gate, *words = shlex.split(command)
    assert gate == "repro-gate"
    done = shell.gate(*words, *HERE, cwd=checked.repo.path)
    assert done.code == 1, done
    assert "survived: 3 tests passed with it" in done.words
    test = checked.repo.path / "tests" / "test_zero.py"
    test.write_text("from shop.size import small\n\ndef test_zero():\n    assert small(0)\n", encoding="utf-8")
    done = shell.gate(*words, "tests/test_zero.py", *HERE, cwd=checked.repo.path)
    test.unlink()
    assert done.code == 0, done
    assert "killed by tests/test_zero.py::test_zero" in done.words
