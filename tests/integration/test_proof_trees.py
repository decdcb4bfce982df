"""What ``repro.sh`` makes of a proof's overlay is what the gate makes of it, for every shape of a change."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from repro_gate.capsule.proof import LaidFile, LaidText, Proof
from repro_gate.change import Overlay, Repository, changes, layout_between, plan
from repro_gate.model import ReasonCode, Side
from repro_gate.pipeline.subject import write_trees
from repro_gate_pytest import gittree
from tests.corpus.every import SHAPES
from tests.corpus.shape import Shape
from tests.gitrepo import GIT_ENV, Repo, commit_tree, on_disk


def proof_of(overlay: Overlay, base: str) -> Proof:
    return Proof(
        base=base,
        reason=ReasonCode.ASSERTION,
        files=tuple(LaidFile(path=e.path, mode=str(e.kind), sha=e.sha) for e in overlay.writes),
        texts=tuple(LaidText(path=g.path, text=g.content.decode()) for g in overlay.grafts),
        removed=overlay.deletes,
    )


def git_of(place: Path) -> gittree.Git:
    def git(words: list[str], question: bytes) -> bytes:
        done = subprocess.run(["git", *words], cwd=place, env=GIT_ENV, input=question, capture_output=True, check=True)
        return done.stdout

    return git


def both(repository: Repository, base: str, head: str, place: Path) -> tuple[dict[Side, object], dict[Side, object]]:
    """The trees of the gate, and those of the capsule's own program."""
    layout = layout_between(repository, base, head)
    overlay = plan(repository, changes(repository, base, head), head=head, layout=layout)
    trees, _ = write_trees(repository, base, head, overlay, place / "gate", max_bytes=2**30)
    proof = proof_of(overlay, base)
    assert proof.problem() in ("", "proof.base must be the full name of a commit")
    git = git_of(repository.top)
    made = {side: place / "alone" / str(side) for side in (Side.BASE, Side.HEAD)}
    files = {
        Side.BASE: gittree.overlaid(gittree.listed(git, base), proof.to_json()["overlay"]),
        Side.HEAD: gittree.listed(git, head),
    }
    for side, target in made.items():
        target.mkdir(parents=True)
        gittree.write(git, files[side], str(target))
    for tree in (trees[side] for side in made):
        shutil.rmtree(tree / ".git")  # the gate's own addition, which repro.sh does without
    return {side: on_disk(trees[side]) for side in made}, {side: on_disk(made[side]) for side in made}


# In short, every eighth: files that are added, moved, removed, in every layout, are among them.
SOME = [
    pytest.param(shape, id=shape.name, marks=() if number % 8 == 0 else pytest.mark.deep)
    for number, shape in enumerate(SHAPES)
]


@pytest.mark.parametrize("shape", SOME)
def test_both_make_the_same_trees(shape: Shape, tmp_path: Path) -> None:
    repo, base, head = shape.write(tmp_path / "repo")
    gate, alone = both(repo.opened, base, head, tmp_path)
    assert alone == gate


def test_files_folders_and_links_that_change_places(tmp_path: Path) -> None:
    repo = Repo.new(tmp_path / "repo")
    base = commit_tree(
        repo,
        {
            b"shop/a.py": ("100644", b"A = 1\n"),
            b"tests/data": ("100644", b"a file\n"),
            b"tests/more/x.txt": ("100644", b"x\n"),
            b"tests/link": ("120000", b"../shop"),
            b"pyproject.toml": ("100644", b"[project]\nname = 's'\n"),
        },
    )
    head = commit_tree(
        repo,
        {
            b"shop/a.py": ("100644", b"A = 2\n"),
            b"tests/data/one.txt": ("100755", b"a folder\n"),
            b"tests/more": ("100644", b"a file now\n"),
            b"tests/link/test_a.py": ("100644", b"def test_a(): pass\n"),
            b"tests/other": ("120000", b"data/one.txt"),
            b"pyproject.toml": ("100644", b"[project]\nname = 's'\n[tool.pytest.ini_options]\naddopts = '-q'\n"),
        },
        base,
    )
    gate, alone = both(repo.opened, base, head, tmp_path)
    assert alone == gate
    assert len(on_disk(tmp_path / "alone" / "base")) == 6


@pytest.mark.parametrize("path", ["../x", "a/../b", "/etc/x", "a//b", ".git/hooks/post-checkout", "a/.GIT/config", ""])
def test_a_path_that_leads_astray_is_refused_before_anything_is_written(path: str, tmp_path: Path) -> None:
    files = {"fine.py": gittree.File("100644", "", "x"), path: gittree.File("100644", "", "x")}
    with pytest.raises(gittree.Refused):
        gittree.write(git_of(tmp_path), files, str(tmp_path / "tree"))
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    outside, tree = tmp_path / "outside", tmp_path / "tree"
    outside.mkdir()
    tree.mkdir()
    repo = Repo.new(tmp_path / "repo")
    sha = repo.git("hash-object", "-w", "--stdin", question=str(outside).encode())
    files = {"a": gittree.File("120000", sha), "a/x": gittree.File("100644", "", "x")}
    with pytest.raises((gittree.Refused, FileExistsError)):
        gittree.write(git_of(repo.path), files, str(tree))
    assert list(outside.iterdir()) == []
