"""A commit's files come out byte for byte, whatever attributes, filters, names and modes say."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.change.trees import Kind, entries, materialise
from repro_gate.errors import GitFailed, TreeRefused, TreeTooLarge
from tests.gitrepo import Repo, commit_tree, hostile_commit, on_disk

LIMIT = 1 << 30
ATTRIBUTES = b"* text eol=crlf ident filter=loud export-ignore working-tree-encoding=UTF-16\nsub export-subst\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository whose configuration would change what is checked out in every way that git has."""
    made = Repo.new(tmp_path / "repo")
    made.git("config", "core.autocrlf", "true")
    made.git("config", "filter.loud.smudge", "tr a-z A-Z")
    made.git("config", "core.symlinks", "false")
    made.git("config", "core.fileMode", "false")
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return Repo.new(tmp_path_factory.mktemp("shared") / "repo")


NAMES = st.one_of(
    st.sampled_from([b"a", b"B.py", b"tests", b".gitattributes", b"a b", b'"q"', b"new\nline", b"\xff\xfe", b"tab\t"]),
    st.binary(min_size=1, max_size=8)
    .map(lambda name: name.replace(b"/", b"_").replace(b"\0", b"_"))
    .filter(lambda name: name not in (b".", b"..") and name.lower() != b".git"),
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map(b"/".join)
BLOBS = st.one_of(st.sampled_from([b"", b"\r\n\n", b"$Id$\n", b"$Format:%H$\n", ATTRIBUTES]), st.binary(max_size=60))
LINKS = st.binary(min_size=1, max_size=20).filter(lambda text: b"\0" not in text)
CONTENTS = st.one_of(st.tuples(st.sampled_from(["100644", "100755"]), BLOBS), st.tuples(st.just("120000"), LINKS))


def without_conflicts(tree: dict[bytes, tuple[str, bytes]]) -> dict[bytes, tuple[str, bytes]]:
    """Leave out what lies below a file."""
    return {path: content for path, content in tree.items() if not any(path.startswith(other + b"/") for other in tree)}


TREES = st.dictionaries(PATHS, CONTENTS, max_size=8).map(without_conflicts)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES)
def test_any_tree_comes_out_as_its_objects_say(
    shared: Repo, tmp_path_factory: pytest.TempPathFactory, tree: dict[bytes, tuple[str, bytes]]
) -> None:
    commit = commit_tree(shared, tree)
    target = tmp_path_factory.mktemp("target")
    done = materialise(shared.opened, commit, target, max_bytes=LIMIT)
    written = on_disk(target)
    assert written == tree
    assert done.files == len(tree)
    listed = shared.git("ls-tree", "-r", "-z", "--full-tree", commit)
    assert {
        (mode, hashlib.sha1(b"blob %d\0%s" % (len(content), content)).hexdigest(), os.fsdecode(path))
        for path, (mode, content) in written.items()
    } == {(line.split()[0], line.split()[2], line.partition("\t")[2]) for line in listed.split("\0") if line}


def test_attributes_filters_and_configuration_have_no_say(repo: Repo, tmp_path: Path) -> None:
    tree = {
        b".gitattributes": ("100644", ATTRIBUTES),
        b"unix.txt": ("100644", b"abc\n$Id$\n"),
        b"dos.txt": ("100644", b"abc\r\n"),
        b"sub": ("100644", b"$Format:%H$\n"),
        b"run.sh": ("100755", b"#!/bin/sh\n"),
        b"link": ("120000", b"run.sh"),
        b"out": ("120000", b"/etc/passwd"),
    }
    commit = commit_tree(repo, tree)
    before = repo.state()
    old = os.umask(0o077)
    try:
        materialise(repo.opened, commit, tmp_path / "t", max_bytes=LIMIT)
    finally:
        os.umask(old)
    assert on_disk(tmp_path / "t") == tree
    assert repo.state() == before


def test_submodules_and_lfs_pointers_are_said(repo: Repo, tmp_path: Path) -> None:
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    tree = {
        b"vendor/sub": ("160000", b"1" * 40),
        b"data/model.bin": ("100644", pointer),
        b"data/text": ("100644", pointer + b"x" * 2000),
    }
    commit = commit_tree(repo, tree)
    done = materialise(repo.opened, commit, tmp_path / "t", max_bytes=LIMIT)
    assert (done.submodules, done.lfs_pointers) == (("vendor/sub",), ("data/model.bin",))
    assert ["vendor/sub" in note for note in done.notes] == [True, False]
    assert on_disk(tmp_path / "t")[b"vendor/sub"] == ("40000", b"")
    assert not materialise(repo.opened, repo.commit({"a": "a"}), tmp_path / "u", max_bytes=LIMIT).notes


def test_many_files_and_large_ones_are_read_in_parts(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("repro_gate.change.repository._CHUNK_BYTES", 1000)
    monkeypatch.setattr("repro_gate.change.repository._CHUNK_BLOBS", 7)
    tree = {b"%d" % number: ("100644", b"\n%d" % number * (number % 5 * 400)) for number in range(50)}
    commit = commit_tree(repo, tree)
    materialise(repo.opened, commit, tmp_path / "t", max_bytes=LIMIT)
    assert on_disk(tmp_path / "t") == tree


@pytest.mark.parametrize("name", ["..", ".", ".git", ".GIT", "a/b", "../x", "/etc"])
def test_a_path_that_leaves_the_tree_is_refused(repo: Repo, tmp_path: Path, name: str) -> None:
    blob = repo.git("hash-object", "-w", "--stdin", question=b"x")
    commit = hostile_commit(repo, ("100644", "fine", blob), ("100644", name, blob))
    if name == "a/b":  # cannot be told from a folder, and does no harm
        materialise(repo.opened, commit, tmp_path / "in/t", max_bytes=LIMIT)
        assert set(on_disk(tmp_path / "in")) == {b"t/fine", b"t/a/b"}
        return
    with pytest.raises(TreeRefused):
        materialise(repo.opened, commit, tmp_path / "in/t", max_bytes=LIMIT)
    assert set(on_disk(tmp_path / "in")) == {b"t"}


def test_a_link_that_is_a_folder_too_does_not_lead_writes_away(repo: Repo, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    link = repo.git("hash-object", "-w", "--stdin", question=os.fsencode(outside))
    blob = repo.git("hash-object", "-w", "--stdin", question=b"x")
    folder = repo.git("mktree", question=f"100644 blob {blob}\tinside\n".encode())
    commit = hostile_commit(repo, ("120000", "a", link), ("40000", "a", folder))
    with pytest.raises(TreeRefused, match="both as a directory"):
        materialise(repo.opened, commit, tmp_path / "t", max_bytes=LIMIT)
    twice = hostile_commit(repo, ("120000", "a", link), ("100644", "a", blob))
    with pytest.raises(TreeRefused, match="twice"):
        materialise(repo.opened, twice, tmp_path / "t", max_bytes=LIMIT)
    assert on_disk(outside) == {}


def test_a_link_without_a_target_is_refused(repo: Repo, tmp_path: Path) -> None:
    for text in (b"", b"a\0b"):
        commit = commit_tree(repo, {b"l": ("120000", text)})
        with pytest.raises(TreeRefused, match="link"):
            materialise(repo.opened, commit, tmp_path / f"t{len(text)}", max_bytes=LIMIT)


def test_a_name_that_no_file_system_takes_is_refused(repo: Repo, tmp_path: Path) -> None:
    commit = commit_tree(repo, {b"x" * 300: ("100644", b"")})
    with pytest.raises(TreeRefused, match="too long"):
        materialise(repo.opened, commit, tmp_path / "t", max_bytes=LIMIT)


def test_limits_and_used_directories_are_refused_before_anything_is_written(repo: Repo, tmp_path: Path) -> None:
    commit = repo.commit({"a": b"x" * (2 << 20)})
    with pytest.raises(TreeTooLarge, match="2 MiB; the limit is 1 MiB"):
        materialise(repo.opened, commit, tmp_path / "t", max_bytes=1 << 20)
    assert not (tmp_path / "t").exists()
    (tmp_path / "used").mkdir()
    (tmp_path / "used/x").touch()
    with pytest.raises(GitFailed, match="not empty"):
        materialise(repo.opened, commit, tmp_path / "used", max_bytes=LIMIT)


def test_a_commit_whose_files_are_missing_is_an_error(repo: Repo, tmp_path: Path) -> None:
    blob = "1" * 40
    commit = hostile_commit(repo, ("100644", "gone", blob))
    with pytest.raises(GitFailed):
        materialise(repo.opened, commit, tmp_path / "t", max_bytes=LIMIT)


def test_a_partial_clone_gets_all_files_in_one_fetch(repo: Repo, tmp_path: Path) -> None:
    files = {f"f{number}": f"{number}\n" for number in range(20)}
    repo.commit({**files, "f0": "old\n"})
    commit = repo.commit(files)
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = repo.clone(tmp_path / "c", "--no-checkout", "--filter=blob:none")
    before = clone.state()
    materialise(clone.opened, commit, tmp_path / "t", max_bytes=LIMIT)
    assert on_disk(tmp_path / "t") == {name.encode(): ("100644", text.encode()) for name, text in files.items()}
    assert len(list((clone.path / ".git/objects/pack").glob("*.pack"))) == 2
    assert clone.state() == before


def test_entries_know_kind_and_size(repo: Repo) -> None:
    commit = commit_tree(repo, {b"d/x": ("100755", b"abc"), b"l": ("120000", b"d"), b"s": ("160000", b"1" * 40)})
    assert [(entry.path, entry.kind, entry.size) for entry in entries(repo.opened, commit)] == [
        ("d/x", Kind.EXECUTABLE, 3),
        ("l", Kind.LINK, 1),
        ("s", Kind.SUBMODULE, 0),
    ]
