"""Correct programs that compare the wall clock with one that is read outside this interpreter's own functions.

They need the same care as prog_mtime.py: a child process, SQLite and libuuid ask the kernel.
"""

import sqlite3
import subprocess
import sys
import time
import uuid

CLOSE = 3.0


def test_child_process_agrees():
    before = time.time()
    done = subprocess.run(
        [sys.executable, "-c", "import time; print(repr(time.time()))"],
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert before - CLOSE <= float(done.stdout) <= time.time() + CLOSE


def test_sqlite_agrees():
    base = sqlite3.connect(":memory:")
    before = time.time()
    (stamp,) = base.execute("select strftime('%s', 'now')").fetchone()
    base.close()
    assert before - CLOSE <= int(stamp) <= time.time() + CLOSE


def test_uuid1_agrees():
    before = time.time()
    stamp = (uuid.uuid1().time - 0x01B21DD213814000) / 1e7
    assert before - CLOSE <= stamp <= time.time() + CLOSE
