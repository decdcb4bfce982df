"""``repro-gate plan``, ``shard`` and ``merge`` where somebody works:
what they leave in the checkout, and what they say of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repro_gate.capsule import read
from tests.e2e.conftest import FLAKY, Shell
from tests.gitrepo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """The flaky project, committed, with a plan of one shard."""
    repo = Repo.new(tmp_path / "checkout")
    repo.commit(FLAKY)
    return repo


def planned(shell: Shell, repo: Repo) -> None:
    done = shell.gate("plan", "--shards", "1", "--sandbox", "host", "--runs", "4", "--seed", "3", cwd=repo.path)
    assert done.code == 0, done


def capsules_in(file: Path) -> list[str]:
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    tests = report["tests"] if "tests" in report else [t for unit in report["units"] for t in unit["report"]["tests"]]
    return sorted(test["capsule"]["path"] for test in tests if test["capsule"])


@pytest.mark.slow
def test_a_shard_leaves_in_the_checkout_its_file_and_what_git_is_told_nothing_of(shell: Shell, repo: Repo) -> None:
    planned(shell, repo)
    done = shell.gate("shard", "--plan", "plan.json", "--index", "0", cwd=repo.path)
    assert done.code == 1, done
    assert repo.git("status", "--porcelain").split() == ["??", "plan.json", "??", "shard-0.json"]
    named = capsules_in(repo.path / "shard-0.json")
    assert len(named) == 2
    assert named == sorted(
        f".repro-gate/capsules/{path.name}" for path in (repo.path / ".repro-gate/capsules").iterdir()
    )
    assert not any(read(repo.path / name).manifest.project.dirty for name in named)
    merged = shell.gate("merge", "shard-0.json", "--report-json", "whole.json", cwd=repo.path)
    assert merged.code == 1, merged
    assert capsules_in(repo.path / "whole.json") == named


@pytest.mark.slow
def test_capsules_that_are_taken_along_with_the_file_are_named_from_it(
    shell: Shell, repo: Repo, tmp_path: Path
) -> None:
    planned(shell, repo)
    away = tmp_path / "away"
    away.mkdir()
    told = ("--out", str(away / "part.json"), "--capsules", str(away / "found"))
    done = shell.gate("shard", "--plan", "plan.json", "--index", "0", *told, cwd=repo.path)
    assert done.code == 1, done
    assert repo.git("status", "--porcelain").split() == ["??", "plan.json"]
    assert capsules_in(away / "part.json") == sorted(f"found/{path.name}" for path in (away / "found").iterdir())
