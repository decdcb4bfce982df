"""A proof on its way: packed by a check of the bundled example, replayed in a colleague's clone, red and green."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest

from tests.corpus.driver import run
from tests.corpus.every import named
from tests.e2e.conftest import Done, Shell
from tests.gitrepo import Repo

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
TEST = "tests/test_warranty.py::test_goods_bought_on_a_leap_day"
HOLDS = "red on base 2 of 2, green on head 2 of 2"


@dataclass(frozen=True, kw_only=True)
class Proved:
    """The example with its pull request, and the capsule that a check of it wrote."""

    repo: Repo
    base: str
    head: str
    capsule: Path
    done: Done


@pytest.fixture(scope="module")
def proved(shell: Shell, tmp_path_factory: pytest.TempPathFactory, bubblewrap_why_not: str) -> Proved:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    place = tmp_path_factory.mktemp("proved")
    shutil.copytree(
        SHOP, place / "shop", ignore=shutil.ignore_patterns("__pycache__", ".*_cache", "var", ".repro-gate")
    )
    repo = Repo(place / "shop")
    repo.git("init", "--quiet", "--initial-branch=main")
    base = repo.commit({}, message="The shop")
    repo.git("switch", "--quiet", "-c", "warranty")
    repo.git("am", "--quiet", str(SHOP.parent / "pull-request.patch"))
    arguments = ("--base", "main", "--gates", "fail-to-pass", "--python", sys.executable, "--sandbox", "bubblewrap")
    reports = ("--report-json", "../report.json", "--summary", "../summary.md")
    done = shell.gate("check", *arguments, *reports, cwd=repo.path, env={"REPRO_GATE_REPLAYS": "2"})
    assert done.code == 0, done
    (capsule,) = (repo.path / ".repro-gate" / "capsules").glob("*.zip")
    return Proved(repo=repo, base=base, head=repo.head(), capsule=capsule, done=done)


@pytest.fixture
def clone(proved: Proved, tmp_path: Path) -> Repo:
    """A colleague's clone, with main checked out: the proof's trees come out of its objects."""
    return proved.repo.clone(tmp_path / "clone", "--branch=main")


def replayed(shell: Shell, proved: Proved, place: Path, *more: str) -> Done:
    where = ("--sandbox", "bubblewrap", "--python", sys.executable)
    return shell.gate("replay", str(proved.capsule), *where, *more, cwd=place)


def test_the_check_names_each_capsule_and_how_to_replay_it(proved: Proved) -> None:
    place = proved.repo.path.parent
    report = json.loads((place / "report.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(SCHEMA).validate(report)
    ((entry,),) = ([proof for proof in gate["proved"] if proof["capsule"]] for gate in report["gates"])
    assert entry["id"] == TEST
    assert proved.repo.path / entry["capsule"]["path"] == proved.capsule
    assert (entry["capsule"]["pinned"], entry["capsule"]["replays"]) == (True, [2, 2])
    for text in (proved.done.out, (place / "summary.md").read_text(encoding="utf-8")):
        assert f"repro-gate replay {shlex.quote(entry['capsule']['path'])}" in text
    assert entry["replay"] == f"repro-gate replay {entry['capsule']['path']}"
    assert proved.repo.git("status", "--porcelain") == ""


def test_in_another_clone_it_is_red_on_base_and_green_on_head(shell: Shell, proved: Proved, clone: Repo) -> None:
    before = clone.state()
    done = replayed(shell, proved, clone.path / "tests")  # as often as it was verified, from anywhere in the clone
    assert done.code == 0, done
    assert HOLDS in done.out
    assert done.out.count("base red  failed: ") == done.out.count("head green  passed") == 2
    assert clone.state() == before


def test_without_the_fix_the_proof_does_not_hold_and_the_exit_code_says_so(
    shell: Shell, proved: Proved, clone: Repo
) -> None:
    clone.switch("tampered", proved.head)
    clone.git("checkout", "--quiet", proved.base, "--", "shop/orders.py")
    tampered = clone.commit({}, message="Take the fix back")
    done = replayed(shell, proved, clone.path, "--head", "tampered")
    assert done.code == 1, done
    assert "red on base 2 of 2, green on head 0 of 2" in done.out
    assert "head NOT GREEN (failed where it must pass)" in done.out
    assert "next:" in done.err
    alone = repro_sh(shell, proved, clone, "--head", tampered)
    assert alone.code == 1, alone
    assert "red on base 2 of 2, green on head 0 of 2" in alone.out


def test_a_commit_that_is_not_there_is_named_with_what_fetches_it(shell: Shell, proved: Proved, tmp_path: Path) -> None:
    cut = proved.repo.clone(tmp_path / "cut", "--branch=main", "--single-branch", "--depth=1")
    done = replayed(shell, proved, cut.path)
    assert done.code == 3, done
    assert f"head {proved.head} is not in" in done.words
    assert f"`git fetch origin {proved.head}`" in done.words
    alone = repro_sh(shell, proved, cut)
    assert alone.code == 3, alone
    assert f"`git fetch origin {proved.head}`" in alone.err
    cut.git("fetch", "--quiet", "origin", proved.head)
    assert replayed(shell, proved, cut.path, "--times", "1").code == 0


def repro_sh(shell: Shell, proved: Proved, clone: Repo, *more: str) -> Done:
    """The capsule's own program, unpacked beside the clone."""
    place = clone.path.parent / "unpacked"
    if not place.exists():
        assert shell.gate("capsule", "unpack", str(proved.capsule), str(place), cwd=clone.path).code == 0
    env = {"PYTHON": sys.executable, "PYTHONPATH": ""}
    return shell.run(str(place / "repro.sh"), "--repo", str(clone.path), *more, cwd=place, env=env)


def test_with_nothing_but_git_and_pytest_it_does_the_same(shell: Shell, proved: Proved, clone: Repo) -> None:
    before = clone.state()
    done = repro_sh(shell, proved, clone)
    assert done.code == 0, done
    assert HOLDS in done.out
    assert clone.state() == before


def test_it_is_shown_and_verified(shell: Shell, proved: Proved, tmp_path: Path) -> None:
    shown = shell.gate("capsule", "show", str(proved.capsule), cwd=tmp_path)
    assert shown.code == 0, shown
    for words in (f"red on base {proved.base} (product_exception)", f"green on head {proved.head}, 2 of 2", TEST):
        assert words in shown.words
    checks = shell.gate("capsule", "verify", str(proved.capsule), cwd=tmp_path)
    assert checks.code == 0, checks
    assert f"ok proof: base {proved.base[:12]} under 1 file of head {proved.head[:12]}" in checks.words


def test_a_head_that_lacks_the_test_is_said_to_and_the_proofs_own_is_named(
    shell: Shell, proved: Proved, clone: Repo
) -> None:
    clone.switch("without", proved.head)
    clone.commit({TEST.partition("::")[0]: "def test_other():\n    pass\n"}, message="Another test")
    for head, why in (("without", "this commit has no such test"), (proved.base, "not found: tests/test_warranty.py")):
        done = replayed(shell, proved, clone.path, "--head", head, "--times", "1")
        assert done.code == 3, done
        assert why in done.words
        assert "next: Name a commit that has the test and can run it with `--head`, or leave it out" in done.words
        assert f"the proof's own is {proved.head[:12]}." in done.words


def test_head_is_for_proofs_and_a_directory_without_git_is_refused(
    shell: Shell, proved: Proved, tmp_path: Path
) -> None:
    done = replayed(shell, proved, tmp_path)
    assert done.code == 2, done
    assert "no git work tree" in done.words
    done = replayed(shell, proved, proved.repo.path, "--head", "nothing-like-it")
    assert done.code == 2, done
    assert "nothing-like-it" in done.words


@pytest.mark.deep
@pytest.mark.parametrize(
    "name",
    [
        "fix-in-src-layout",
        "new-module-beside-old-tests",
        "locale-only-reproduction",
        "product-crashes-on-base-with-a-trace",
        "product-hangs-on-base",
        "class-at-the-top-that-base-refuses",
    ],
)
def test_each_kind_of_proof_replays_by_both_programs(
    name: str, shell: Shell, tmp_path: Path, bubblewrap_why_not: str
) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    shape = named(name)
    repo, base, head = shape.write(tmp_path / "repo")
    report = run(shape, repo.path, base, head, "bubblewrap", capsules=tmp_path / "capsules")
    assert report.notes == ()
    (gate,) = report.gates
    for proof in gate.proved:
        assert proof.capsule is not None
        made = Proved(
            repo=repo, base=base, head=head, capsule=Path(proof.capsule.path), done=Done(code=0, out="", err="")
        )
        for done in (replayed(shell, made, repo.path), repro_sh(shell, made, repo)):
            assert done.code == 0, done
            assert "red on base 1 of 1, green on head 1 of 1" in done.out
        shutil.rmtree(tmp_path / "unpacked")
