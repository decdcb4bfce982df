"""Correct programs that compare the time of a file, which the kernel sets, with the wall clock.

They need special care: a clock moved inside the process does not move the kernel's.
"""

import importlib
import logging.handlers
import os
import shutil
import sys
import time

import pytest

DAY = 86400


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    path = tmp_path_factory.mktemp("shared") / "file"
    path.write_bytes(b"x")
    return path, path.stat().st_mtime_ns


def test_new_file_is_from_now(tmp_path):
    before = time.time()
    path = tmp_path / "file"
    path.write_bytes(b"x")
    after = time.time()
    assert before - 2 <= path.stat().st_mtime <= after + 2
    path.touch()
    assert abs(path.stat().st_mtime - time.time()) < 10


def test_only_old_files_are_swept(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.write_bytes(b"x")
    new.write_bytes(b"x")
    hour_ago = time.time() - 3600
    os.utime(old, (hour_ago, hour_ago))
    for path in tmp_path.iterdir():
        if time.time() - path.stat().st_mtime > 600:
            path.unlink()
    assert [p.name for p in tmp_path.iterdir()] == ["new"]


def test_log_file_is_not_rotated_at_once(tmp_path):
    handler = logging.handlers.TimedRotatingFileHandler(tmp_path / "app.log", when="H", encoding="utf-8")
    try:
        for text in ("one", "two"):
            handler.emit(logging.LogRecord("app", logging.INFO, __file__, 1, text, None, None))
    finally:
        handler.close()
    assert [p.name for p in tmp_path.iterdir()] == ["app.log"]
    assert (tmp_path / "app.log").read_text(encoding="utf-8").split() == ["one", "two"]


def test_cache_is_good_for_days(tmp_path):
    cache = tmp_path / "cache"
    cache.write_bytes(b"x")
    assert 0 <= time.time() - os.path.getmtime(cache) + 2 < 7 * DAY
    with cache.open("rb") as file:
        assert abs(os.fstat(file.fileno()).st_mtime - time.time()) < 2 * DAY
    assert abs(os.lstat(cache).st_ctime - time.time()) < 2 * DAY


@pytest.mark.parametrize("turn", range(3))
def test_a_file_that_nobody_touched_did_not_change(shared, turn):
    path, first = shared
    for _ in range(3):
        time.time()
        assert path.stat().st_mtime_ns == first


def test_a_time_that_was_set_is_kept(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x")
    for then in (0, 86400, int(time.time()) - DAY, int(time.time()), int(time.time()) + DAY):
        os.utime(path, (then, then))
        assert int(path.stat().st_mtime) == then
        assert path.stat().st_mtime_ns == then * 10**9
        assert path.stat()[8] == then


def test_a_copy_is_as_old(tmp_path):
    path, copy = tmp_path / "file", tmp_path / "copy"
    path.write_bytes(b"x")
    shutil.copy2(path, copy)
    assert abs(copy.stat().st_mtime - path.stat().st_mtime) < 0.001


def test_all_of_stat_is_there(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"four")
    info = os.stat(str(path), follow_symlinks=True)
    assert (info.st_size, info.st_nlink, oct(info.st_mode)[-3:]) == (4, 1, oct(path.lstat().st_mode)[-3:])
    assert len(info) == 10
    assert info.st_blksize > 0
    assert info == os.stat(path)
    with pytest.raises(FileNotFoundError):
        os.stat(tmp_path / "gone")


def test_a_module_written_just_now(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "written_just_now.py").write_text("VALUE = 1")
    importlib.invalidate_caches()
    try:
        assert importlib.import_module("written_just_now").VALUE == 1
    finally:
        sys.modules.pop("written_just_now", None)
