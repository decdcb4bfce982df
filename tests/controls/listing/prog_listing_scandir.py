"""Correct programs that use os.scandir as it is documented."""

import os
import pickle
import stat
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "folder"
    root.mkdir()
    for name in ("one", "two", "three"):
        (root / name).write_bytes(name.encode("ascii"))
    (root / "sub").mkdir()
    os.symlink("sub", root / "link")
    return root


def test_context_manager(folder):
    with os.scandir(folder) as entries:
        assert {e.name for e in entries} == {"one", "two", "three", "sub", "link"}
    assert list(entries) == []


def test_entries_know_themselves(folder):
    with os.scandir(folder) as entries:
        by_name = {e.name: e for e in entries}
    assert all(isinstance(e, os.DirEntry) for e in by_name.values())
    one, sub, link = by_name["one"], by_name["sub"], by_name["link"]
    assert (one.is_file(), one.is_dir(), one.is_symlink()) == (True, False, False)
    assert (sub.is_file(), sub.is_dir(), sub.is_symlink()) == (False, True, False)
    assert (link.is_dir(), link.is_dir(follow_symlinks=False), link.is_symlink()) == (True, False, True)
    assert one.stat().st_size == 3
    assert stat.S_ISLNK(link.stat(follow_symlinks=False).st_mode)
    assert one.inode() == os.stat(folder / "one").st_ino
    assert one.path == os.path.join(str(folder), "one")
    assert os.fspath(one) == one.path
    assert Path(one) == folder / "one"
    assert repr(one) == "<DirEntry 'one'>"
    with open(one, "rb") as stream:
        assert stream.read() == b"one"
    with pytest.raises(TypeError):
        pickle.dumps(one)


def test_bytes(folder):
    with os.scandir(os.fsencode(folder)) as entries:
        found = {e.name: e.path for e in entries}
    assert set(found) == {b"one", b"two", b"three", b"sub", b"link"}
    assert found[b"one"] == os.path.join(os.fsencode(folder), b"one")


def test_working_directory(folder, monkeypatch):
    monkeypatch.chdir(folder)
    for arguments in ((), (None,), (".",)):
        with os.scandir(*arguments) as entries:
            assert {e.path for e in entries} == {os.path.join(".", n) for n in ("one", "two", "three", "sub", "link")}
    with os.scandir(path="sub") as entries:
        assert list(entries) == []


@pytest.mark.skipif(os.scandir not in os.supports_fd, reason="no scanning of descriptors here")
def test_descriptor(folder):
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with os.scandir(descriptor) as entries:
            found = {e.name: (e.path, e.is_dir()) for e in entries}
    finally:
        os.close(descriptor)
    assert found["one"] == ("one", False)
    assert found["sub"] == ("sub", True)
    assert len(found) == 5


def test_errors_come_at_once(folder):
    with pytest.raises(FileNotFoundError) as caught:
        os.scandir(folder / "missing")
    assert str(caught.value.filename) == str(folder / "missing")
    with pytest.raises(NotADirectoryError):
        os.scandir(folder / "one")
    with pytest.raises(TypeError):
        os.scandir(1.5)


def test_iterator(folder):
    entries = os.scandir(folder)
    assert iter(entries) is entries
    first = next(entries)
    rest = list(entries)
    assert first.name not in {e.name for e in rest}
    assert len(rest) == 4
    with pytest.raises(StopIteration):
        next(entries)
    entries.close()
    entries.close()


def test_first_entry_only(folder):
    with os.scandir(folder) as entries:
        assert next(entries).name in {"one", "two", "three", "sub", "link"}
    with pytest.raises(StopIteration):
        next(entries)
    assert any(os.scandir(folder / "sub")) is False


def test_closed_without_reading(folder):
    entries = os.scandir(folder)
    entries.close()
    assert list(entries) == []


def test_descriptors_are_given_back(folder):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("no /proc here")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(50):
        with os.scandir(folder) as entries:
            next(entries)
        list(os.scandir(folder))
        os.listdir(folder)
    assert len(os.listdir("/proc/self/fd")) == before


def test_nested_scans(folder):
    def size(path):
        total = 0
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    total += size(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    total += entry.stat().st_size
        return total

    (folder / "sub" / "more").write_bytes(b"12345")
    assert size(folder) == 16


def test_stat_is_of_the_moment_of_the_call(folder):
    with os.scandir(folder) as entries:
        one = next(e for e in entries if e.name == "one")
    (folder / "one").write_bytes(b"longer text")
    assert one.stat().st_size == 11
    (folder / "two").unlink()
    assert "two" not in os.listdir(folder)


def test_file_system_support_is_listed():
    if os.name == "posix":
        assert os.listdir in os.supports_fd
        assert os.scandir in os.supports_fd
