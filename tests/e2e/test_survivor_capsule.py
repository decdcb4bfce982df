"""A survivor on its way: packed by a check and by hand, replayed by both programs,
killed by the test that was missing.
"""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from repro_gate import capsule
from tests.e2e.conftest import Done, Shell
from tests.gitrepo import Repo

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
HERE = ("--sandbox", "host", "--python", sys.executable)
BEFORE = {
    "src/shop/__init__.py": "",
    "src/shop/size.py": "def small(x):\n    return x < 5\n",
    "tests/conftest.py": "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'src'))\n",
    "tests/test_size.py": "from shop.size import small\n\ndef test_small():\n    assert small(1)\n",
}
AFTER = {
    "src/shop/size.py": "LIMIT = 3\n\n\ndef small(x):\n    return x < LIMIT\n",
    "tests/test_size.py": BEFORE["tests/test_size.py"] + "    assert not small(99)\n",
}
KILLER = AFTER["tests/test_size.py"] + "    assert not small(3)\n"
HINT = "only a value where `x == LIMIT` can tell them apart"


WHERE = ("--base", "main", "--gates", "mutation", "--python", sys.executable, "--sandbox", "bubblewrap")


@dataclass(frozen=True, kw_only=True)
class Checked:
    repo: Repo
    done: Done
    report: dict[str, Any]

    @property
    def boundary(self) -> dict[str, Any]:
        """The survivor `<` -> `<=`."""
        (gate,) = self.report["gates"]
        (found,) = [each for each in gate["mutation"]["tested"] if each["operator"] == "boundary"]
        return dict(found)

    @property
    def capsule(self) -> Path:
        return self.repo.path / str(self.boundary["capsule"]["path"])


@pytest.fixture(scope="module")
def checked(shell: Shell, tmp_path_factory: pytest.TempPathFactory, bubblewrap_why_not: str) -> Checked:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    place = tmp_path_factory.mktemp("survivor") / "repo"
    place.mkdir()
    repo = Repo(place)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.commit(BEFORE, message="Before")
    repo.git("switch", "--quiet", "-c", "limit")
    repo.commit(AFTER, message="Name the limit")
    files = ("--report-json", "../report.json", "--summary", "../summary.md")
    done = shell.gate("check", *WHERE, *files, cwd=repo.path, env={"REPRO_GATE_REPLAYS": "2"})
    assert done.code == 0, done  # it only warns
    report = json.loads((repo.path.parent / "report.json").read_text(encoding="utf-8"))
    return Checked(repo=repo, done=done, report=report)


def test_the_check_packs_what_it_shows_and_says_how_to_replay_it(checked: Checked) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(checked.report)
    entry = checked.boundary
    assert (entry["capsule"]["pinned"], entry["capsule"]["replays"]) == (True, [2, 2])
    assert entry["replay"] == f"repro-gate replay {entry['capsule']['path']}"
    (gate,) = checked.report["gates"]
    assert {each["id"] for each in gate["mutation"]["tested"] if each["capsule"]} == set(gate["mutation"]["shown"])
    page = (checked.repo.path.parent / "summary.md").read_text(encoding="utf-8")
    for text in (checked.done.out, page):
        assert entry["replay"] in text
    assert checked.repo.git("status", "--porcelain") == ""
    waivers = checked.repo.path / ".repro-gate" / "waivers.toml"
    waivers.write_text("", encoding="utf-8")  # this one is a person's, to be committed
    try:
        told = checked.repo.git("status", "--porcelain", "--untracked-files=all")
        assert told.split() == ["??", ".repro-gate/waivers.toml"]
    finally:
        waivers.unlink()


@pytest.mark.slow
def test_a_second_check_finds_the_capsule_and_says_so(shell: Shell, checked: Checked) -> None:
    place = checked.repo.path / ".repro-gate" / "capsules"
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    assert "already" not in checked.done.words
    again = shell.gate("check", *WHERE, cwd=checked.repo.path, env={"REPRO_GATE_REPLAYS": "2"})
    assert again.code == 0, again
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    assert f"capsule: {checked.boundary['capsule']['id']} (survives, 2 replays; it was there already)" in again.words
    listed = shell.gate("mutant", "list", cwd=checked.repo.path)
    survivors = [each for each in checked.report["gates"][0]["mutation"]["tested"] if each["outcome"] == "survived"]
    assert len(listed.out.splitlines()) == len(survivors) >= len(before)


def test_its_manifest_is_the_mutant_and_its_tests(checked: Checked) -> None:
    manifest = capsule.read(checked.capsule).manifest
    assert manifest.mutant is not None
    assert manifest.mutant.patch.removed == ("    return x < LIMIT",)
    assert manifest.mutant.patch.added == ("    return x <= LIMIT",)
    assert (manifest.mutant.file, manifest.mutant.patch.line) == ("src/shop/size.py", 5)
    assert manifest.tests == ("tests/test_size.py::test_small",)
    assert manifest.project.commit == checked.repo.head()


def replayed(shell: Shell, checked: Checked, place: Path, *more: str) -> Done:
    return shell.gate("replay", str(checked.capsule), *HERE, *more, cwd=place)


def repro_sh(shell: Shell, checked: Checked, clone: Repo, *more: str, python: str = sys.executable) -> Done:
    place = clone.path.parent / "unpacked"
    if not place.exists():
        assert shell.gate("capsule", "unpack", str(checked.capsule), str(place), cwd=clone.path).code == 0
    env = {"PYTHON": python, "PYTHONPATH": ""}
    return shell.run(str(place / "repro.sh"), "--repo", str(clone.path), *more, cwd=place, env=env)


@pytest.fixture
def clone(checked: Checked, tmp_path: Path) -> Repo:
    return checked.repo.clone(tmp_path / "clone", "--branch=limit")


def test_in_another_clone_it_survives_by_both_programs(shell: Shell, checked: Checked, clone: Repo) -> None:
    before = clone.state()
    for done in (replayed(shell, checked, clone.path / "tests"), repro_sh(shell, checked, clone)):
        assert done.code == 0, done
        assert "the mutant survived 2 of 2 times" in done.out
        assert done.out.count("survives") == 2
        assert HINT in done.out
    assert clone.state() == before


def test_the_missing_assertion_kills_it_in_both_programs(shell: Shell, checked: Checked, clone: Repo) -> None:
    (clone.path / "tests" / "test_size.py").write_text(KILLER, encoding="utf-8")
    done = replayed(shell, checked, clone.path, "--times", "1")
    assert done.code == 1, done
    assert "the mutant survived 0 of 1 times: killed by tests/test_size.py::test_small" in done.words
    alone = repro_sh(shell, checked, clone, "--times", "1")
    assert alone.code == 1, alone
    assert "1/1 KILLED tests/test_size.py::test_small failed: " in alone.words
    assert "the mutant survived 0 of 1 times" in alone.out


def test_a_file_that_has_changed_and_a_head_are_refused(shell: Shell, checked: Checked, clone: Repo) -> None:
    done = replayed(shell, checked, clone.path, "--head", "main")
    assert done.code == 2, done
    assert "`--head` is for the capsule of a proof, and this is that of a mutant." in done.words
    clone.switch("older", "origin/main")
    done = replayed(shell, checked, clone.path)
    assert done.code == 2, done
    assert "src/shop/size.py is not the file that the mutant was made of" in done.words
    assert f"Check out the capsule's commit {checked.repo.head()}, without changes of your own." in done.words
    alone = repro_sh(shell, checked, clone)
    assert alone.code == 3, alone
    assert (
        f"is not the file that the mutant was made of: check out the capsule's commit {checked.repo.head()}"
        in alone.err
    )


def test_tests_that_never_see_the_copy_or_fail_without_the_mutant_prove_nothing(
    shell: Shell, checked: Checked, clone: Repo
) -> None:
    test = clone.path / "tests" / "test_size.py"
    test.write_text("def test_small():\n    pass\n", encoding="utf-8")
    done = replayed(shell, checked, clone.path, "--times", "1")
    assert done.code == 3, done
    assert "no test notices that src/shop/size.py raises" in done.words
    alone = repro_sh(shell, checked, clone, "--times", "1")
    assert alone.code == 3, alone
    assert "no test notices that src/shop/size.py raises: this Python imports another copy of it" in alone.err
    test.write_text("def test_small():\n    assert 0\n", encoding="utf-8")
    alone = repro_sh(shell, checked, clone, "--times", "1")
    assert alone.code == 3, alone
    assert "without the mutant tests/test_size.py::test_small failed: assert 0" in alone.err


def test_it_is_shown_and_verified(shell: Shell, checked: Checked, tmp_path: Path) -> None:
    shown = shell.gate("capsule", "show", str(checked.capsule), cwd=tmp_path)
    assert shown.code == 0, shown
    for words in (
        f"survives mutant {checked.boundary['id']} (boundary) of src/shop/size.py in small",
        "- return x < LIMIT",
        "+ return x <= LIMIT",
        HINT,
        "its one test, with the mutant as without it",
        "failed 0 of 2 with the mutant",
    ):
        assert words in shown.words
    checks = shell.gate("capsule", "verify", str(checked.capsule), cwd=tmp_path)
    assert checks.code == 0, checks
    assert f"ok mutant: {checked.boundary['id']} of src/shop/size.py, line 5" in checks.words


def test_by_hand_it_is_packed_from_the_report_or_refused_with_what_became_of_it(
    shell: Shell, checked: Checked, clone: Repo
) -> None:
    report = ("--report", str(checked.repo.path.parent / "report.json"))
    command = ("mutant", "capsule", checked.boundary["id"], *report, *HERE)
    done = shell.gate(*command, cwd=clone.path, env={"REPRO_GATE_REPLAYS": "2"})
    assert done.code == 0, done
    replay = shlex.split(done.out.splitlines()[-1])
    assert shell.gate(*replay[1:], *HERE, cwd=clone.path).code == 0
    (clone.path / "tests" / "test_size.py").write_text(KILLER, encoding="utf-8")
    done = shell.gate(*command, cwd=clone.path)
    assert done.code == 2, done
    assert "it did not survive each time: killed, by tests/test_size.py::test_small" in done.words


@pytest.mark.slow
def test_a_survivor_in_a_file_that_is_not_utf_8_is_packed_and_replayed_as_others_are(
    shell: Shell, tmp_path: Path, bubblewrap_why_not: str
) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    repo = Repo.new(tmp_path / "repo")
    repo.commit(BEFORE)
    repo.switch("limit", "main")
    text = AFTER["src/shop/size.py"].replace("x < LIMIT", "x < LIMIT  # das genügt")
    (repo.path / "src" / "shop" / "size.py").write_bytes(f"# coding: latin-1\n{text}".encode("latin-1"))
    repo.commit({"tests/test_size.py": AFTER["tests/test_size.py"]})
    done = shell.gate("check", *WHERE, "--report-json", "../r.json", cwd=repo.path, env={"REPRO_GATE_REPLAYS": "2"})
    assert done.code == 0, done
    assert "no capsule" not in done.words
    checked = Checked(repo=repo, done=done, report=json.loads((tmp_path / "r.json").read_text(encoding="utf-8")))
    manifest = capsule.read(checked.capsule).manifest
    assert manifest.mutant is not None
    assert manifest.mutant.patch.added == ("    return x <= LIMIT  # das genügt",)
    clone = repo.clone(tmp_path / "clone", "--branch=limit")
    for again in (replayed(shell, checked, clone.path), repro_sh(shell, checked, clone)):
        assert again.code == 0, again
        assert "the mutant survived 2 of 2 times" in again.out
