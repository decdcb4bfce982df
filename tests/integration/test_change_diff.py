"""Differences are read as git's objects have them, under any name and past any attribute."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.change.diff import Change, ChangeKind, Lines, added_lines, changed_lines, changes
from repro_gate.change.trees import Kind
from tests.gitrepo import Repo, Tree, commit_tree
from tests.integration.test_change_trees import NAMES

FILE = "100644"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo.new(tmp_path / "repo")
    # What would change the answers of a `git diff` typed by hand.
    for name, value in {
        "diff.noprefix": "true",
        "color.ui": "always",
        "diff.external": "false",
        "diff.renames": "copies",
        "diff.context": "9",
        "diff.interHunkContext": "9",
        "diff.ignoreSubmodules": "all",
        "diff.relative": "true",
        "core.quotePath": "true",
    }.items():
        made.git("config", name, value)
    return made


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return Repo.new(tmp_path_factory.mktemp("shared") / "repo")


def between(repo: Repo, base: Tree, head: Tree) -> dict[str, Change]:
    first = commit_tree(repo, base)
    return {change.path: change for change in changes(repo.opened, first, commit_tree(repo, head, first))}


def lines(repo: Repo, old: bytes, new: bytes, attributes: bytes = b"") -> Lines:
    base, head = {b"a.py": (FILE, old)}, {b"a.py": (FILE, new)}
    if attributes:
        base[b".gitattributes"] = head[b".gitattributes"] = (FILE, attributes)
    found = between(repo, base, head)
    return changed_lines(repo.opened, found["a.py"])


def numbers(found: Lines) -> tuple[list[int], list[int]]:
    return sorted(found.removed), sorted(found.added)


def test_every_kind_of_change_is_told_apart(repo: Repo) -> None:
    found = between(
        repo,
        {
            b"gone": (FILE, b"1\n"),
            b"same": (FILE, b"1\n"),
            b"edited": (FILE, b"1\n"),
            b"run": (FILE, b"r\n"),
            b"link": (FILE, b"l\n"),
            b"sub": ("160000", b"1" * 40),
        },
        {
            b"new": (FILE, b"2\n"),
            b"same": (FILE, b"1\n"),
            b"edited": (FILE, b"1\n2\n"),
            b"run": ("100755", b"r\n"),
            b"link": ("120000", b"same"),
            b"sub": ("160000", b"2" * 40),
        },
    )
    assert {path: change.kind for path, change in found.items()} == {
        "edited": ChangeKind.MODIFIED,
        "gone": ChangeKind.DELETED,
        "link": ChangeKind.TYPE_CHANGED,
        "new": ChangeKind.ADDED,
        "run": ChangeKind.MODIFIED,
        "sub": ChangeKind.MODIFIED,
    }
    assert {path for path, change in found.items() if change.mode_changed} == {"run"}
    assert {path for path, change in found.items() if change.submodule} == {"sub"}
    assert (found["link"].old, found["link"].new) == (Kind.FILE, Kind.LINK)
    assert changed_lines(repo.opened, found["run"]) == Lines()
    assert changed_lines(repo.opened, found["sub"]) == Lines()


def test_a_rename_is_a_deletion_and_an_addition_that_knows_its_origin(repo: Repo) -> None:
    old = b"".join(b"line %d\n" % number for number in range(20))
    new = old.replace(b"line 7\n", b"line seven\n")
    found = between(repo, {b"a.py": (FILE, old)}, {b"tests/b.py": (FILE, new)})
    assert {path: change.kind for path, change in found.items()} == {
        "a.py": ChangeKind.DELETED,
        "tests/b.py": ChangeKind.ADDED,
    }
    moved = found["tests/b.py"]
    assert moved.old_path == "a.py"
    assert 80 < moved.similarity < 100
    assert numbers(changed_lines(repo.opened, moved)) == ([8], [8])
    assert numbers(changed_lines(repo.opened, found["a.py"]))[0] == list(range(1, 21))


def test_a_copy_is_an_addition(repo: Repo) -> None:
    text = b"".join(b"line %d\n" % number for number in range(20))
    found = between(repo, {b"a": (FILE, text)}, {b"a": (FILE, text + b"x\n"), b"b": (FILE, text)})
    assert found["b"].old_path == ""
    assert len(changed_lines(repo.opened, found["b"]).added) == 20


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, st.sampled_from(["added", "modified", "deleted", "same"]), min_size=1, max_size=6))
def test_any_name_comes_back_as_it_is(shared: Repo, tree: dict[bytes, str]) -> None:
    # Contents that no two paths share, or an addition may be a rename.
    base = {name: (FILE, b"old " + name) for name, what in tree.items() if what != "added"}
    head = {
        name: (FILE, (b"new " if what == "modified" else b"old ") + name)
        for name, what in tree.items()
        if what != "deleted"
    }
    found = between(shared, base, head)
    assert {path.encode("utf-8", "surrogateescape"): str(change.kind) for path, change in found.items()} == {
        name: what for name, what in tree.items() if what != "same"
    }


@pytest.mark.parametrize(
    ("old", "new", "removed", "added"),
    [
        (b"1\n2\n3\n", b"1\n3\n", [2], []),
        (b"1\n3\n", b"1\n2\n3\n", [], [2]),
        (b"1\n2\n", b"1\n2 \n", [2], [2]),
        (b"1\n2\n", b"1\r\n2\r\n", [1, 2], [1, 2]),
        (b"1\n2", b"1\n2\n", [2], [2]),
        (b"1\n", b"1\n\n\n", [], [2, 3]),
        (b"-- a\n", b"++ b\n@@ -9 +9 @@\n", [1], [1, 2]),
        (b"x = 'a\xff'\n", b"x = 'b\xff'\n", [1], [1]),
        (b"1\n2\n3\n4\n5\n", b"a\n2\n3\n4\nb\n", [1, 5], [1, 5]),
    ],
)
def test_lines_are_those_that_differ(repo: Repo, old: bytes, new: bytes, removed: list[int], added: list[int]) -> None:
    assert numbers(lines(repo, old, new)) == (removed, added)


def test_added_and_deleted_files_differ_in_all_lines(repo: Repo) -> None:
    found = between(repo, {b"a": (FILE, b"1\n2"), b"e": (FILE, b"")}, {b"b": (FILE, b"x\ny\nz\n"), b"f": (FILE, b"\n")})
    assert numbers(changed_lines(repo.opened, found["a"])) == ([1, 2], [])
    assert numbers(changed_lines(repo.opened, found["b"])) == ([], [1, 2, 3])
    assert numbers(changed_lines(repo.opened, found["e"])) == ([], [])
    assert numbers(changed_lines(repo.opened, found["f"])) == ([], [1])


@pytest.mark.parametrize(
    ("old", "new", "removed", "added"),
    [
        (b"x = 1\ry = 2\rz = 3\r", b"x = 1\ry = 4\rz = 3\r", [2], [2]),
        (b"x = 1\ry = 2\rz = 3", b"x = 1\rz = 3", [2], []),
        (b"# a\r# b\nx = 1\n", b"# a\r# b\nx = 2\n", [3], [3]),
        (b"x = 1\r\ny = 2\r\n", b"x = 1\r\ny = 2\ry = 3\r\n", [2], [2, 3]),
        (b"x = 1\ry = 2\r", b"x = 1\ny = 2\n", [1, 2], [1, 2]),
    ],
)
def test_lines_of_python_end_where_python_ends_them(
    repo: Repo, old: bytes, new: bytes, removed: list[int], added: list[int]
) -> None:
    assert numbers(lines(repo, old, new)) == (removed, added)


@pytest.mark.parametrize("attributes", [b"* -diff\n", b"*.py binary\n", b"* diff=never\n"])
def test_a_change_cannot_hide_itself_by_attributes(repo: Repo, attributes: bytes) -> None:
    repo.git("config", "diff.never.command", "true")
    repo.git("config", "diff.never.textconv", "true")
    (repo.path / ".gitattributes").write_bytes(attributes)
    assert numbers(lines(repo, b"1\n", b"2\n", attributes)) == ([1], [1])


def test_binary_is_what_holds_zero_bytes_on_either_side(repo: Repo) -> None:
    found = between(
        repo,
        {b"a": (FILE, b"1\n"), b"b": (FILE, b"\0"), b"c": (FILE, b"x" * 9000)},
        {b"a": (FILE, b"\0\n"), b"b": (FILE, b"1\n"), b"c": (FILE, b"x" * 9000 + b"\0\n")},
    )
    assert {path: change.binary for path, change in found.items()} == {"a": True, "b": True, "c": False}
    assert changed_lines(repo.opened, found["a"]) == Lines()
    assert numbers(changed_lines(repo.opened, found["c"])) == ([1], [1])


def test_nothing_differs_between_a_commit_and_itself(repo: Repo) -> None:
    commit = repo.commit({"a": "1"})
    assert changes(repo.opened, commit, commit) == ()


def test_added_lines_are_told_of_the_files_that_are_asked_for(repo: Repo) -> None:
    base = {b"a.py": (FILE, b"1\n2\n"), b"b.py": (FILE, b"1\n")}
    head = {b"a.py": (FILE, b"1\nx\n2\n"), b"b.py": (FILE, b"y\n"), b"new.py": (FILE, b"1\n2\n")}
    first = commit_tree(repo, base)
    second = commit_tree(repo, head, first)
    asked = {"a.py", "new.py", "nowhere.py"}
    found = added_lines(repo.opened, first, second, asked)
    assert found == {"a.py": frozenset({2}), "new.py": frozenset({1, 2})}
    assert added_lines(repo.opened, first, second, set()) == {}
