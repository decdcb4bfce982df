"""Changes whose shape is not in their files alone:
merges, cut histories, submodules, legs of a matrix, dependencies.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from repro_gate import capsule
from repro_gate.config import load
from repro_gate.errors import HistoryMissing
from repro_gate.gates.fail_to_pass import merge_legs
from repro_gate.model import CheckReport, GateResult, GateVerdict, ReasonCode
from repro_gate.pipeline.proofs import ProofReplay, opened, replay_proof
from repro_gate.pipeline.request import system_effects
from tests.corpus.driver import answer_of, differences, run
from tests.corpus.every import named
from tests.corpus.shape import ALL, BROKEN, FIXED, NEW, OLD, PASS, PRICE, PROJECT, SHOP, TESTS, Shape, commit, fix
from tests.gitrepo import Repo
from tests.integration.environments import make_wheel

PROVED = named("fix-with-test")
LEGS = PROJECT + '[tool.repro-gate]\npass-env = ["LEG"]\n'
ON_ONE_LEG = """\
    import os


    def total(prices):
        return sum(prices[1:]) if os.environ["LEG"] == "old" else sum(prices)
    """


@pytest.fixture(autouse=True)
def sandboxed(bubblewrap_why_not: str) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)


def pull_request(repo: Repo) -> tuple[str, str]:
    """A branch that mends the shop, and main that has moved on since; both tips. The merge is checked out."""
    commit(repo, SHOP, "base")
    repo.switch("mend", "main")
    head = commit(repo, fix(), "fix: count the first price")
    repo.switch("main")
    base = commit(
        repo, {"shop/other.py": "OTHER = 1\n", "tests/test_other.py": "def test_other():\n    pass\n"}, "other"
    )
    repo.switch("merged", "main")
    repo.merge("mend")
    return base, head


def test_a_merge_commit_is_compared_with_its_first_parent_though_the_base_moves_on(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    base, head = pull_request(repo)
    repo.switch("main")
    later = commit(repo, {PRICE: FIXED}, "the same fix, on main")  # a gate that looks there finds nothing to prove
    repo.switch("merged")
    event = {
        "pull_request": {
            "title": "fix: count the first price",
            "head": {"sha": head},
            "base": {"sha": later, "ref": "main"},
            "merge_commit_sha": repo.head(),
        }
    }
    shape = dataclasses.replace(PROVED, event=event, rigour=dataclasses.replace(PROVED.rigour, same_seed=1, varied=1))
    report = run(shape, repo.path, None, None, "bubblewrap")
    assert (report.base, report.how) == (base, "merge-commit")
    assert differences(shape, answer_of(report)) == []


def test_a_history_that_is_cut_before_the_base_is_no_answer(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    _, head = pull_request(repo)
    base = repo.git("rev-parse", f"{head}~1")
    clone = repo.clone(tmp_path / "clone", "--depth=1", "--branch=mend")
    clone.git("remote", "set-url", "origin", str(tmp_path / "gone"))
    with pytest.raises(HistoryMissing):
        run(PROVED, clone.path, base, head, "bubblewrap")


def reason_of(report: CheckReport) -> tuple[str, str]:
    (gate,) = report.gates
    assert gate.findings[0].next_step
    return str(gate.verdict), str(gate.reason)


@pytest.mark.deep
def test_a_change_that_is_merged_already_is_not_compared_with_itself(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    base, head = pull_request(repo)
    assert reason_of(run(PROVED, repo.path, "merged", head, "bubblewrap")) == ("inconclusive", "base_moved")
    named_by_the_finding = run(PROVED, repo.path, base, head, "bubblewrap")
    assert differences(PROVED, answer_of(named_by_the_finding)) == []


def test_a_target_branch_that_was_rewritten_is_no_answer(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    base, head = pull_request(repo)
    repo.git("checkout", "--quiet", "--detach", f"{head}~1")
    rewritten = commit(repo, {"shop/another.py": "ANOTHER = 1\n"}, "another history")
    repo.merge("mend")
    event = {
        "pull_request": {
            "title": "fix: count the first price",
            "head": {"sha": head},
            "base": {"sha": base, "ref": "main"},
            "merge_commit_sha": repo.head(),
        }
    }
    report = run(dataclasses.replace(PROVED, event=event), repo.path, None, None, "bubblewrap")
    assert reason_of(report) == ("inconclusive", "base_moved")
    assert rewritten[:12] in report.gates[0].findings[0].text


def test_a_submodule_that_moves_is_no_answer(tmp_path: Path) -> None:
    repo, base, _ = PROVED.write(tmp_path / "repo")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{base},vendored")
    repo.git("commit", "--quiet", "--message", "fix: count the first price")
    (repo.path / "vendored").mkdir()
    result = answer_of(run(PROVED, repo.path, base, repo.head(), "bubblewrap")).result
    assert result is not None
    assert (result.verdict, result.reason) == (GateVerdict.INCONCLUSIVE, ReasonCode.DATA_ABSENT)


def on_leg(leg: str, repo: Repo, base: str, head: str, shape: Shape) -> GateResult:
    result = answer_of(run(shape, repo.path, base, head, "bubblewrap", more={"LEG": leg})).result
    assert result is not None
    return result


@pytest.mark.deep
def test_one_leg_of_a_matrix_proves_and_none_may_contradict(tmp_path: Path) -> None:
    shape = Shape(
        name="legs",
        row="30",
        verdict=PASS,
        reason="proved",
        base={"pyproject.toml": LEGS, PRICE: ON_ONE_LEG},
        head=fix(),
        proved={ALL: "assertion"},
    )
    repo, base, head = shape.write(tmp_path / "repo")
    legs = {leg: on_leg(leg, repo, base, head, shape) for leg in ("old", "new")}
    assert [str(legs[leg].reason) for leg in ("old", "new")] == ["proved", "passes_on_base"]
    merged = merge_legs(legs)
    assert (merged.verdict, merged.reason) == (GateVerdict.PASS, ReasonCode.PROVED)
    broken = commit(repo, {PRICE: ON_ONE_LEG.replace('"old"', '"new"')}, "fix: on the other leg")
    contradicted = merge_legs({leg: on_leg(leg, repo, base, broken, shape) for leg in ("old", "new")})
    assert (contradicted.verdict, contradicted.reason) == (GateVerdict.FAIL, ReasonCode.FAILS_ON_HEAD)


DEPENDS = '[project]\nname = "shop"\nversion = "1.0"\ndependencies = ["alpha=={}"]\n'
SAME_VERSION = "import alpha\n\n\ndef test_version():\n    assert alpha.__version__ == '{}'\n\n\n"
BUMP = Shape(
    name="dependency-bump",
    row="29",
    verdict=PASS,
    reason="dependency",
    base={
        "pyproject.toml": DEPENDS.format("1.0"),
        PRICE: "import alpha\n\n\ndef total(prices):\n    return alpha.total(prices)\n",
    },
    head={"pyproject.toml": DEPENDS.format("2.0"), TESTS: OLD + NEW},
    proved={ALL: "product_exception"},
)
DELTA = Shape(
    name="base-needs-its-own-dependencies",
    row="28",
    verdict=PASS,
    reason="proved",
    base={"pyproject.toml": DEPENDS.format("1.0"), PRICE: BROKEN, TESTS: SAME_VERSION.format("1.0") + OLD},
    head={"pyproject.toml": DEPENDS.format("2.0"), PRICE: FIXED, TESTS: OLD + NEW},
    proved={ALL: "assertion"},
    findings=("env_delta", "test_deleted"),
)


def replayed_in(place: Path, path: Path, more: Mapping[str, str]) -> tuple[list[tuple[bool, bool]], tuple[str, ...]]:
    """Whether base was red and head green, and notes; the environments are made as in the check."""
    manifest = capsule.read(path).manifest
    assert manifest.proof is not None
    environ = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), **more}
    wanted = ProofReplay(
        manifest=manifest,
        proof=manifest.proof,
        directory=place,
        head=None,
        settings=load(place, {"sandbox": "bubblewrap"}, environ),
        python=None,
        effects=dataclasses.replace(system_effects(), environ=environ),
    )
    with opened(wanted) as (bench, notes):
        done = replay_proof(manifest, manifest.proof, bench, 1, lambda *_: None)
    return [(red.same, green.same) for red, green in done], notes


@pytest.mark.deep
def test_dependencies_that_differ_between_the_sides(tmp_path: Path) -> None:
    """Both shapes together: their environments are the same two."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    make_wheel(wheels, "alpha", "1.0", code="def total(prices):\n    return 1 // 0 if prices else 0\n")
    make_wheel(wheels, "alpha", "2.0", code="def total(prices):\n    return sum(prices)\n")
    more = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    more |= {"PIP_FIND_LINKS": str(wheels), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for shape in (BUMP, DELTA):
        repo, base, head = shape.write(tmp_path / shape.name)
        into = tmp_path / "capsules"
        report = run(shape, repo.path, base, head, "bubblewrap", python=None, more=more, capsules=into)
        answer = answer_of(report)
        if "prepare-failed" in answer.trouble and "alpha" not in answer.trouble:
            pytest.skip(f"pip cannot install pytest: {answer.trouble[-300:]}")
        assert differences(shape, answer) == []
        (proof,) = report.gates[0].proved
        assert proof.capsule is not None, report.notes
        done, notes = replayed_in(repo.path, Path(proof.capsule.path), more)
        assert done == [(True, True)]
        assert not [note for note in notes if "environment" in note]
