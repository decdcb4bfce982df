"""The repository that a commit's files get: git answers in it, and nothing else of the user's clone is there."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from repro_gate.change.own_repository import leave_unnoticed, own_repository
from repro_gate.change.trees import materialise
from tests.gitrepo import GIT_ENV, Repo

LIMIT = 2**20


def made(repo: Repo, commit: str, place: Path) -> Repo:
    materialise(repo.opened, commit, place, max_bytes=LIMIT)
    assert own_repository(repo.opened, commit, place) == ""
    return Repo(place)


def test_git_answers_in_it_as_in_a_checkout(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    repo.commit({"old": "old"})
    commit = repo.commit({"pkg/mod.py": "x = 1\n", "a b": "ä\n"}, remove=("old",))
    own = made(repo, commit, tmp_path / "tree")
    assert own.head() == commit
    assert own.git("ls-files", "-z").split("\0") == ["a b", "pkg/mod.py", ""]
    assert own.git("status", "--porcelain") == ""
    assert own.git("describe", "--always", "--dirty") == commit[:7]
    assert own.git("log", "--format=%H") == commit
    assert own.git("fsck", "--strict") == ""
    (own.path / "pkg/mod.py").write_text("x = 2\n")
    assert own.git("status", "--porcelain").strip() == "M pkg/mod.py"


def test_nothing_else_of_the_clone_is_there_and_the_clone_stays_as_it_is(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    secret = repo.commit({"secret": "secret"})
    commit = repo.commit({"a": "a"}, remove=("secret",))
    repo.git("tag", "v1")
    repo.git("remote", "add", "origin", "https://user:token@example.org/x.git")
    repo.git("config", "http.extraheader", "AUTHORIZATION: basic dG9rZW4=")
    (repo.path / ".git/hooks/post-checkout").write_text("#!/bin/sh\nexit 1\n")
    before = repo.state()
    own = made(repo, commit, tmp_path / "tree")
    assert repo.state() == before
    config = (own.path / ".git/config").read_text()
    assert "token" not in config
    assert own.git("remote") == ""
    assert own.git("for-each-ref") == ""
    assert not (own.path / ".git/hooks").exists()
    there = own.git("cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert secret not in there
    assert repo.git("rev-parse", f"{secret}:secret") not in there
    links = [path for path in (own.path / ".git").rglob("*") if path.is_file() and path.stat().st_nlink > 1]
    assert links == []


@pytest.mark.parametrize("depth", ["1", "50"])
def test_a_shallow_clone_and_a_merge_commit_will_do(depth: str, tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    first = repo.commit({"a": "a"})
    repo.switch("more", first)
    repo.commit({"b": "b"})
    repo.switch("main")
    repo.commit({"c": "c"})
    commit = repo.merge("more")
    clone = repo.fetched(tmp_path / "clone", "main:refs/remotes/origin/main", f"--depth={depth}")
    assert made(clone, commit, tmp_path / "tree").git("ls-files").split() == ["a", "b", "c"]


def test_where_it_cannot_be_made_that_is_said(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    commit = repo.commit({"a": "a"})
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / ".git").touch()
    note = own_repository(repo.opened, commit, tmp_path / "tree")
    assert note.startswith(f"The files of commit {commit[:12]} have no git repository around them: ")


def test_another_kind_of_names_is_told_to_git(tmp_path: Path) -> None:
    place = tmp_path / "repo"
    place.mkdir()
    done = subprocess.run(
        ["git", "init", "-q", "--object-format=sha256"], cwd=place, env=GIT_ENV, check=False, capture_output=True
    )
    if done.returncode:
        pytest.skip(os.fsdecode(done.stderr))
    repo = Repo(place)
    commit = repo.commit({"a": "a"})
    assert made(repo, commit, tmp_path / "tree").head() == commit


def test_the_clone_may_be_on_another_disk(tmp_path: Path) -> None:
    elsewhere = Path("/dev/shm")
    if not elsewhere.is_dir() or elsewhere.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system here")
    repo = Repo.new(tmp_path / 'a "quoted" place: here')
    commit = repo.commit({"a": "a"})
    with tempfile.TemporaryDirectory(dir=elsewhere) as place:
        own = made(repo, commit, Path(place) / "tree")
        assert own.git("ls-files") == "a"
        assert own.git("fsck", "--strict") == ""


def test_what_we_write_ourselves_is_nothing_that_git_finds(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    commit = repo.commit({"pkg/mod.py": "x = 1\n", "pkg/other.py": "", "pkg/[a].py": "a"})
    own = made(repo, commit, tmp_path / "tree")
    for path in ("pkg/mod.py", "pkg/[a].py", "pkg/new*.py", "pkg/also new.py"):
        (own.path / path).write_text("ours")
    leave_unnoticed(own.path, ["pkg/mod.py", "pkg/[a].py", "pkg/new*.py", "pkg/also new.py"], GIT_ENV)
    assert own.git("status", "--porcelain") == ""
    assert own.git("describe", "--always", "--dirty") == commit[:7]
    (own.path / "pkg/other.py").write_text("theirs")
    (own.path / "pkg/newer.py").write_text("theirs")
    assert sorted(own.git("status", "--porcelain").split()) == ["??", "M", "pkg/newer.py", "pkg/other.py"]
    plain = tmp_path / "plain"
    plain.mkdir()
    leave_unnoticed(plain, ["a"], GIT_ENV)
    assert list(plain.iterdir()) == []
