"""A tree is copied as it is, put back as it was, and removed whatever was done to it."""

from __future__ import annotations

import os
import py_compile
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.errors import CollectionFailed, TreeTooLarge
from repro_gate.experiment import find_tree, tree
from repro_gate.experiment.coding import decoded
from tests.conftest import write_files

NO_LIMIT = 1 << 40


def copied(source: Path, target: Path, *, exclude: tuple[str, ...] = (), max_bytes: int = NO_LIMIT) -> Path:
    tree.copy_tree(source, target, exclude=exclude, max_bytes=max_bytes)
    return target


def listing(root: Path) -> dict[str, Any]:
    """Everything below ``root``: contents, link texts, modes."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if path.is_symlink():
            found[name] = ("link", os.readlink(path))  # noqa: PTH115 - the text itself
        elif path.is_dir():
            found[name] = ("folder", stat.S_IMODE(path.lstat().st_mode))
        else:
            found[name] = ("file", path.read_bytes(), stat.S_IMODE(path.lstat().st_mode))
    return found


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = write_files(tmp_path / "source", {"a.txt": "a", "dir/b.bin": b"\0\xff", "dir/deep/c": "c", "run.sh": "x"})
    (root / "run.sh").chmod(0o755)
    (root / "empty").mkdir()
    (root / "link").symlink_to("./dir//b.bin")
    (root / "broken").symlink_to("nowhere")
    (root / "folder-link").symlink_to("dir")
    (root / "outside").symlink_to("/etc")
    os.utime(root / "a.txt", ns=(10**18, 10**18))
    return root


def test_a_copy_has_the_same_files_links_modes_and_times(source: Path, tmp_path: Path) -> None:
    target = copied(source, tmp_path / "t" / "copy")
    assert listing(target) == listing(source)
    assert (target / "a.txt").stat().st_mtime_ns == 10**18
    assert tree.snapshot(target) == tree.snapshot(source)


def test_what_tests_never_need_is_left_out(source: Path, tmp_path: Path) -> None:
    write_files(
        source,
        {
            "node_modules/x": "",
            ".tox/x": "",
            ".pytest_cache/x": "",
            "myenv/pyvenv.cfg": "",
            "myenv/lib/x.py": "",
            "dir/__pycache__/test_a.cpython-311-pytest-9.2.0.pyc": b"",
            "dir/__pycache__/a.cpython-311.pyc": b"",
            "keep/node_modules.txt": "",
        },
    )
    names = set(listing(copied(source, tmp_path / "copy")))
    assert not {name for name in names if name.split("/")[0] in ("node_modules", ".tox", ".pytest_cache", "myenv")}
    assert "dir/__pycache__/a.cpython-311.pyc" in names
    assert "dir/__pycache__/test_a.cpython-311-pytest-9.2.0.pyc" not in names
    assert "keep/node_modules.txt" in names


@pytest.mark.parametrize(
    ("globs", "gone"),
    [
        (("dir",), {"dir", "dir/b.bin", "dir/deep", "dir/deep/c"}),
        (("*.bin",), {"dir/b.bin"}),
        (("dir/deep/*",), {"dir/deep/c"}),
        (("a.txt", "run.sh"), {"a.txt", "run.sh"}),
        (("nothing",), set()),
    ],
)
def test_globs_name_what_is_left_out(source: Path, tmp_path: Path, globs: tuple[str, ...], gone: set[str]) -> None:
    assert set(listing(source)) - set(listing(copied(source, tmp_path / "copy", exclude=globs))) == gone


def test_what_pytest_rewrote_is_copied_where_the_copy_is_known_by_the_same_path(source: Path, tmp_path: Path) -> None:
    rewritten = "dir/__pycache__/test_a.cpython-311-pytest-9.2.0.pyc"
    write_files(source, {rewritten: b""})
    tree.copy_tree(source, tmp_path / "copy", exclude=(), max_bytes=NO_LIMIT, rewritten=True)
    assert rewritten in listing(tmp_path / "copy")


@pytest.mark.parametrize(
    ("rewritten", "without", "kept"),
    [
        (False, (), {"a.cpython-311.pyc", "a.b.cpython-311.pyc"}),
        (True, (), {"a.cpython-311.pyc", "a.b.cpython-311.pyc", "test_a.cpython-311-pytest-9.2.0.pyc"}),
        (True, ("p/a.py",), {"test_a.cpython-311-pytest-9.2.0.pyc"}),  # a.b has to go with it: no name says which it is
        (True, ("p/test_a.py", "q/a.py"), {"a.cpython-311.pyc", "a.b.cpython-311.pyc"}),
        (True, ("p",), set()),
    ],
)
def test_bytecode_is_taken_over_but_for_files_that_differ(
    tmp_path: Path, rewritten: bool, without: tuple[str, ...], kept: set[str]
) -> None:
    names = ("a.cpython-311.pyc", "a.b.cpython-311.pyc", "test_a.cpython-311-pytest-9.2.0.pyc", "a.txt")
    write_files(tmp_path / "template", {"p/a.py": "", "p/a.b.py": "", "p/test_a.py": "", "q/a.py": ""})
    copied(tmp_path / "template", tmp_path / "used")
    write_files(tmp_path / "used", {f"p/__pycache__/{name}": b"made" for name in names})
    tree.keep_bytecode(tmp_path / "used", tmp_path / "template", rewritten=rewritten, without=without)
    assert {path.name for path in (tmp_path / "template").glob("p/__pycache__/*")} == kept


def test_bytecode_of_what_a_process_made_or_changed_is_not_taken_over(tmp_path: Path) -> None:
    write_files(tmp_path / "template", {"as_it_was.py": "", "larger.py": "", "later.py": "", "gone.py": ""})
    used = copied(tmp_path / "template", tmp_path / "used")
    (used / "larger.py").write_text("1", encoding="utf-8")
    os.utime(used / "later.py", ns=(0, 0))
    (used / "gone.py").unlink()
    (used / "made.py").touch()
    names = ("as_it_was", "larger", "later", "gone", "made")
    write_files(used, {f"__pycache__/{name}.cpython-311.pyc": b"made" for name in names})
    tree.keep_bytecode(used, tmp_path / "template")
    assert [path.stem for path in (tmp_path / "template").rglob("*.pyc")] == ["as_it_was.cpython-311"]


def test_bytecode_that_is_there_already_stays(tmp_path: Path) -> None:
    name = "p/__pycache__/a.cpython-311.pyc"
    write_files(tmp_path / "template", {name: b"ours", "p/a.py": ""})
    copied(tmp_path / "template", tmp_path / "used")
    write_files(tmp_path / "used", {name: b"theirs"})
    tree.keep_bytecode(tmp_path / "used", tmp_path / "template")
    assert (tmp_path / "template" / name).read_bytes() == b"ours"


def test_sockets_and_pipes_are_left_out(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(source / "pipe")
    monkeypatch.chdir(source)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert not {"pipe", "socket"} & set(listing(copied(source, tmp_path / "copy")))


def test_a_tree_that_is_too_large_is_refused_with_its_size(source: Path, tmp_path: Path) -> None:
    (source / "large").write_bytes(b"x" * (2 * 2**20))
    with pytest.raises(TreeTooLarge, match="more than 1 MiB"):
        copied(source, tmp_path / "copy", max_bytes=2**20)
    assert set(listing(copied(source, tmp_path / "other", exclude=("large",), max_bytes=2**20))) >= {"a.txt"}


def test_gits_objects_are_shared_and_everything_else_is_not(source: Path, tmp_path: Path) -> None:
    write_files(source, {".git/objects/ab/cdef": "object", ".git/index": "index"})
    target = copied(source, tmp_path / "copy")
    assert (target / ".git/objects/ab/cdef").samefile(source / ".git/objects/ab/cdef")
    assert not (target / ".git/index").samefile(source / ".git/index")
    assert not (target / "a.txt").samefile(source / "a.txt")


def hostile_removed(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "dir/deep/c").unlink()
    (root / "dir/deep").rmdir()


def hostile_added(root: Path) -> None:
    write_files(root, {"new": "", "dir/new/x/y": "", "empty/e": ""})
    (root / "new-link").symlink_to("/")
    os.mkfifo(root / "pipe")


def hostile_changed(root: Path) -> None:
    (root / "a.txt").write_text("b")
    (root / "run.sh").chmod(0o644)
    (root / "dir").chmod(0o700)


def hostile_same_size_and_time(root: Path) -> None:
    (root / "dir/b.bin").write_bytes(b"\1\2")


def hostile_swapped(root: Path) -> None:
    (root / "a.txt").unlink()
    (root / "a.txt").mkdir()
    (root / "a.txt/inside").write_text("")
    (root / "empty").rmdir()
    (root / "empty").write_text("now a file")
    (root / "link").unlink()
    (root / "link").symlink_to("elsewhere")
    tree.remove(root / "dir/deep")
    (root / "dir/deep").symlink_to("/etc")


def hostile_unreadable(root: Path) -> None:
    write_files(root, {"locked/in/x": ""})
    (root / "locked/in").chmod(0)
    (root / "locked").chmod(0)
    (root / "dir").chmod(0)
    (root / "a.txt").chmod(0)


def hostile_everything_gone(root: Path) -> None:
    tree.remove(root)


@pytest.mark.parametrize(
    "change",
    [
        hostile_removed,
        hostile_added,
        hostile_changed,
        hostile_same_size_and_time,
        hostile_swapped,
        hostile_unreadable,
        hostile_everything_gone,
    ],
    ids=lambda change: change.__name__.removeprefix("hostile_"),
)
def test_a_tree_is_put_back_as_it_was(source: Path, tmp_path: Path, change: Callable[[Path], None]) -> None:
    target = copied(source, tmp_path / "copy")
    before, seen = tree.snapshot(target), listing(target)
    change(target)
    assert tree.restore(target, before, source) is True
    assert listing(target) == seen
    assert tree.restore(target, before, source) is False
    assert any(Path("/etc").iterdir())


NAMES = st.sampled_from(["a.txt", "dir", "dir/b.bin", "dir/deep/c", "new", "dir/new", "link", "empty"])
STEPS = st.lists(st.tuples(st.sampled_from(["remove", "write", "folder", "link", "lock"]), NAMES), max_size=8)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(STEPS)
def test_any_sequence_of_changes_is_undone(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    base = tmp_path_factory.mktemp("t")
    source = write_files(base / "source", {"a.txt": "a", "dir/b.bin": "b", "dir/deep/c": "c"})
    (source / "link").symlink_to("dir")
    (source / "empty").mkdir()
    target = copied(source, base / "copy")
    before, seen = tree.snapshot(target), listing(target)
    for what, name in steps:
        path = target / name
        try:
            if what == "remove":
                tree.remove(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            elif what == "write":
                path.write_text(what)
            elif what == "folder":
                path.mkdir()
            elif what == "link":
                path.symlink_to("..")
            else:
                path.chmod(0)
        except OSError:
            continue
    tree.restore(target, before, source)
    assert listing(target) == seen


def test_removing_takes_what_was_made_unreadable_and_leaves_what_links_lead_to(source: Path, tmp_path: Path) -> None:
    target = copied(source, tmp_path / "copy")
    (target / "to-source").symlink_to(source)
    hostile_unreadable(target)
    tree.remove(target)
    assert not target.exists()
    assert (source / "a.txt").exists()
    tree.remove(target)


def test_wiping_keeps_the_directory_and_what_is_named(source: Path) -> None:
    tree.wipe(source, keep=frozenset({"dir", "link"}))
    assert {path.name for path in source.iterdir()} == {"dir", "link"}
    assert (source / "dir/deep/c").read_text() == "c"


def test_the_tree_of_a_directory_is_its_repository_or_its_project_or_itself(tmp_path: Path) -> None:
    inner = tmp_path / "repo/lib/pkg"
    inner.mkdir(parents=True)
    assert find_tree(inner) == (inner, "")
    (tmp_path / "repo/lib/pyproject.toml").touch()
    assert find_tree(inner) == (tmp_path / "repo/lib", "pkg")
    (tmp_path / "repo/.git").touch()
    assert find_tree(inner) == (tmp_path / "repo", "lib/pkg")
    assert find_tree(tmp_path / "repo") == (tmp_path / "repo", "")


@pytest.mark.parametrize("mode", list(py_compile.PycInvalidationMode))
def test_bytecode_of_the_text_before_is_not_run_though_size_and_time_are_equal(
    tmp_path: Path, mode: py_compile.PycInvalidationMode
) -> None:
    write_files(tmp_path, {"pkg/core.py": "answer = 1 < 2\n", "pkg/core_more.py": "", "pkg/__init__.py": ""})
    source = tmp_path / "pkg" / "core.py"
    os.utime(source, (10**9, 10**9))
    for optimize in (0, 1):
        py_compile.compile(str(source), invalidation_mode=mode, optimize=optimize)
    py_compile.compile(str(tmp_path / "pkg" / "core_more.py"))

    def answers() -> str:
        os.utime(source, (10**9, 10**9))
        commands = [
            [sys.executable, *option, "-c", "from pkg.core import answer; print(answer)"] for option in ([], ["-O"])
        ]
        said = [
            subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True) for command in commands
        ]
        return " ".join(each.stdout.strip() for each in said)

    source.write_text("answer = 1 > 2\n")
    stale = mode is not py_compile.PycInvalidationMode.CHECKED_HASH
    assert answers() == ("True True" if stale else "False False"), "the trap is there"
    tree.put_text(tmp_path, "pkg/core.py", "answer = 1 > 2\n")
    assert answers() == "False False"
    assert [path.name for path in (tmp_path / "pkg" / "__pycache__").glob("core_more.*")] != []


def test_a_text_is_put_where_nothing_was(tmp_path: Path) -> None:
    tree.put_text(tmp_path, "new/[a]/core.py", "a\r\n")
    assert (tmp_path / "new/[a]/core.py").read_bytes() == b"a\r\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfanswer = 1\r\n",
        b"# coding: latin-1\nanswer = '\xe9'\n",
        b"#!/x\n# -*- coding: cp1252 -*-\r\nanswer = '\x80'\r\n",
        "answer = 'é'\n".encode(),
    ],
)
def test_a_source_is_read_as_python_reads_it_and_put_back_as_it_was(tmp_path: Path, content: bytes) -> None:
    text = decoded(content)
    assert "\ufffd" not in text
    tree.put_text(tmp_path, "core.py", text)
    assert (tmp_path / "core.py").read_bytes() == content


@pytest.mark.parametrize(
    "head",
    [b"# coding: none-such\n", b"# coding: rot13\n", b"# coding: ascii\n", b"# coding: raw_unicode_escape\n\\ud800"],
)
def test_a_source_that_lies_about_its_encoding_is_read_as_utf_8(head: bytes) -> None:
    content = head + b"answer = '\xc3\xa9\xff'\n"
    assert decoded(content) == content.decode("utf-8", "replace")


def test_the_folder_that_tests_run_in_is_made_where_a_tree_lacks_it(source: Path, tmp_path: Path) -> None:
    place = copied(source, tmp_path / "copy")
    tree.make_place(place, "services/till")
    assert list((place / "services" / "till").iterdir()) == []
    before = listing(place)
    for there in ("", ".", "services", "services/till"):
        tree.make_place(place, there)
    assert listing(place) == before


@pytest.mark.parametrize("in_the_way", ["file", "link"])
def test_where_something_else_has_its_name_it_is_refused_and_nothing_is_made(tmp_path: Path, in_the_way: str) -> None:
    place = write_files(tmp_path / "copy", {"a.py": ""})
    if in_the_way == "file":
        (place / "services").touch()
    else:
        (place / "services").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(
        CollectionFailed, match=r"services is no folder .* tests were to run in services/till"
    ) as refused:
        tree.make_place(place, "services/till")
    assert "at the top of the repository" in refused.value.next_step
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy"]
