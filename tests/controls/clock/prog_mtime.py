"""Correct programs that compare the time of a file, which the kernel sets, with the wall clock.

They need special care: a clock moved inside the process does not move the kernel's.
"""

import logging.handlers
import os
import time


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
