"""Correct programs that sort what they list, or do not care for its order."""

import filecmp
import glob
import importlib
import os
import pickle
import pkgutil
import shutil
import sys
import tarfile
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

FILES = ["a.txt", "b.txt", "c.py", "sub/d.txt", "sub/deep/e.txt", "sub/deep/f.py", "other/g.txt", ".hidden"]


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "tree"
    for name in FILES:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (root / "empty").mkdir()
    return root


def relative(root, paths):
    return sorted(Path(p).relative_to(root).as_posix() for p in paths)


def test_listdir(tree):
    assert sorted(os.listdir(tree)) == [".hidden", "a.txt", "b.txt", "c.py", "empty", "other", "sub"]
    assert type(os.listdir(tree)) is list
    assert os.listdir(tree / "empty") == []
    assert len(os.listdir(str(tree))) == len(os.listdir(path=tree)) == 7


def test_listdir_of_bytes(tree):
    names = os.listdir(os.fsencode(tree))
    assert sorted(names) == [b".hidden", b"a.txt", b"b.txt", b"c.py", b"empty", b"other", b"sub"]


def test_listdir_of_the_working_directory(tree, monkeypatch):
    monkeypatch.chdir(tree / "sub")
    assert sorted(os.listdir()) == sorted(os.listdir(".")) == sorted(os.listdir(None)) == ["d.txt", "deep"]
    assert sorted(os.listdir(b".")) == [b"d.txt", b"deep"]
    assert sorted(str(p) for p in Path().iterdir()) == ["d.txt", "deep"]
    assert sorted(glob.glob("*")) == ["d.txt", "deep"]


@pytest.mark.skipif(os.listdir not in os.supports_fd, reason="no listing of descriptors here")
def test_listdir_of_a_descriptor(tree):
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        assert sorted(os.listdir(descriptor)) == sorted(os.listdir(tree))
        assert sorted(os.listdir(descriptor)) == sorted(os.listdir(tree))
    finally:
        os.close(descriptor)


def test_refused_arguments(tree):
    with pytest.raises(FileNotFoundError) as caught:
        os.listdir(tree / "missing")
    assert str(caught.value.filename) == str(tree / "missing")
    with pytest.raises(NotADirectoryError) as caught:
        os.listdir(str(tree / "a.txt"))
    assert caught.value.filename == str(tree / "a.txt")
    for bad in (1.5, object(), ["a"]):
        with pytest.raises(TypeError):
            os.listdir(bad)
    with pytest.raises(ValueError):
        os.listdir("a\0b")
    with pytest.raises(TypeError):
        os.listdir(tree, tree)


def test_iterdir(tree):
    assert relative(tree, tree.iterdir()) == [".hidden", "a.txt", "b.txt", "c.py", "empty", "other", "sub"]
    with pytest.raises(FileNotFoundError):
        list((tree / "missing").iterdir())
    with pytest.raises(NotADirectoryError):
        list((tree / "a.txt").iterdir())


def test_glob(tree):
    assert relative(tree, glob.glob(str(tree / "*.txt"))) == ["a.txt", "b.txt"]
    everything = relative(tree, glob.glob(str(tree / "**" / "*.txt"), recursive=True))
    assert everything == ["a.txt", "b.txt", "other/g.txt", "sub/d.txt", "sub/deep/e.txt"]
    assert relative(tree, glob.iglob(str(tree / "sub" / "*" / "?.py"))) == ["sub/deep/f.py"]
    assert glob.glob(str(tree / "missing" / "*")) == []
    assert glob.glob(os.path.join(glob.escape(str(tree)), "a.txt")) == [str(tree / "a.txt")]


def test_rglob(tree):
    assert relative(tree, tree.rglob("*.py")) == ["c.py", "sub/deep/f.py"]
    assert relative(tree, tree.glob("*/*.txt")) == ["other/g.txt", "sub/d.txt"]
    assert relative(tree, (p for p in tree.rglob("*") if p.is_file())) == sorted(FILES)


def test_walk(tree):
    found = [os.path.join(top, name) for top, _, names in os.walk(tree) for name in names]
    assert relative(tree, found) == sorted(FILES)
    bottom_up = [top for top, _, _ in os.walk(tree, topdown=False)]
    assert bottom_up[-1] == str(tree)
    assert list(os.walk(tree / "missing")) == []
    errors = []
    assert list(os.walk(tree / "missing", onerror=errors.append)) == []
    assert isinstance(errors[0], FileNotFoundError)


def test_walk_with_pruning_and_sorting(tree):
    seen = []
    for top, folders, names in os.walk(tree):
        folders[:] = sorted(f for f in folders if f != "deep")
        seen.append((os.path.relpath(top, tree), sorted(names)))
    assert seen == [
        (".", [".hidden", "a.txt", "b.txt", "c.py"]),
        ("empty", []),
        ("other", ["g.txt"]),
        ("sub", ["d.txt"]),
    ]


@pytest.mark.skipif(not hasattr(os, "fwalk"), reason="no fwalk here")
def test_fwalk(tree):
    total = 0
    for _, _, names, descriptor in os.fwalk(tree):
        total += sum(os.stat(name, dir_fd=descriptor).st_size for name in names)
    assert total == sum(len(name) for name in FILES)


def test_copy_and_remove(tree, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(tree, copy, ignore=shutil.ignore_patterns("*.py"))
    assert relative(copy, (p for p in copy.rglob("*") if p.is_file())) == sorted(
        f for f in FILES if not f.endswith(".py")
    )
    compared = filecmp.dircmp(tree, copy)
    assert (compared.left_only, compared.right_only, compared.diff_files) == (["c.py"], [], [])
    shutil.rmtree(copy)
    assert not copy.exists()
    with pytest.raises(FileNotFoundError):
        shutil.rmtree(copy)


def test_removing_while_listing(tree):
    for name in os.listdir(tree / "sub" / "deep"):
        os.unlink(tree / "sub" / "deep" / name)
    for entry in os.scandir(tree / "other"):
        os.unlink(entry)
    assert os.listdir(tree / "sub" / "deep") == os.listdir(tree / "other") == []
    with pytest.raises(OSError):
        os.rmdir(tree)


def test_archives(tree, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(tree).as_posix())
    with zipfile.ZipFile(tmp_path / "a.zip") as archive:
        assert sorted(archive.namelist()) == sorted(FILES)
        assert archive.testzip() is None
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        archive.add(tree, "tree")
    with tarfile.open(tmp_path / "a.tar") as archive:
        assert sorted(m.name for m in archive.getmembers() if m.isfile()) == sorted("tree/" + f for f in FILES)


def test_import_from_a_fresh_directory(tmp_path, monkeypatch):
    package = tmp_path / "control_listing_package"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    for name in ("one", "two", "three"):
        (package / (name + ".py")).write_text(f"NAME = {name!r}\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    module = importlib.import_module("control_listing_package.two")
    assert module.NAME == "two"
    parent = sys.modules["control_listing_package"]
    assert sorted(m.name for m in pkgutil.iter_modules(parent.__path__)) == ["one", "three", "two"]
    for name in ("control_listing_package", "control_listing_package.two"):
        monkeypatch.delitem(sys.modules, name)


def test_module_made_later_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError):
        importlib.import_module("control_listing_later")
    (tmp_path / "control_listing_later.py").write_text("X = 1\n", encoding="utf-8")
    importlib.invalidate_caches()
    assert importlib.import_module("control_listing_later").X == 1
    monkeypatch.delitem(sys.modules, "control_listing_later")


def test_temporary_directory_is_removed():
    with tempfile.TemporaryDirectory() as folder:
        for index in range(30):
            os.makedirs(os.path.join(folder, str(index), "x"))
        assert len(os.listdir(folder)) == 30
    assert not os.path.exists(folder)


def test_many_files(tmp_path):
    for index in range(1500):
        (tmp_path / f"{index:04}").touch()
    assert sorted(os.listdir(tmp_path)) == [f"{i:04}" for i in range(1500)]
    with os.scandir(tmp_path) as entries:
        assert len({e.name for e in entries}) == 1500


class Folder:
    names = os.listdir
    entries = os.scandir


def test_listdir_as_a_value(tree):
    assert sorted(Folder().names(tree)) == sorted(os.listdir(tree))
    with Folder().entries(tree) as entries:
        assert len(list(entries)) == 7
    assert sorted(partial(os.listdir, tree)()) == sorted(os.listdir(tree))
    assert sorted(pickle.loads(pickle.dumps(os.listdir))(tree)) == sorted(os.listdir(tree))
    assert os.listdir.__name__ == "listdir"
    assert [len(names) for names in map(os.listdir, [tree, tree / "sub"])] == [7, 2]


def test_listing_in_threads(tree):
    with ThreadPoolExecutor(4) as pool:
        assert {tuple(sorted(names)) for names in pool.map(os.listdir, [tree] * 40)} == {
            tuple(sorted(os.listdir(tree)))
        }


def test_patched_listdir_is_restored(tree):
    before = os.listdir
    with mock.patch("os.listdir", return_value=["z", "a"]) as fake:
        assert os.listdir("anywhere") == ["z", "a"]
    fake.assert_called_once_with("anywhere")
    assert os.listdir is before
    with mock.patch("glob.glob", return_value=["z", "a"]):
        assert glob.glob("*") == ["z", "a"]
    with mock.patch.object(Path, "iterdir", return_value=iter([Path("z"), Path("a")])):
        assert [p.name for p in tree.iterdir()] == ["z", "a"]
    assert len(list(tree.iterdir())) == 7


def test_patched_until_teardown(monkeypatch):
    monkeypatch.setattr(os, "listdir", lambda path=".": ["second", "first"])
    assert os.listdir() == ["second", "first"]
