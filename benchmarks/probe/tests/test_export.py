import os
import tempfile
import time

import pytest

SPOOL = os.path.join(tempfile.gettempdir(), "probe-spool.txt")


@pytest.fixture(scope="module")
def exported():
    return []


class TestExport:
    def test_nothing_yet(self, exported):
        assert exported == []

    def test_one_row(self, exported):
        exported.append("row")
        assert "row" in exported


def test_weekly_export():
    try:
        with open(SPOOL, "w", encoding="ascii") as file:
            file.write("weekly export, all columns")
        time.sleep(0.1)
        with open(SPOOL, encoding="ascii") as file:
            assert file.read() == "weekly export, all columns"
    finally:
        if os.path.exists(SPOOL):
            os.remove(SPOOL)


def test_closing_note(project):
    note = project / "handover.txt"
    note.write_text("evening shift, till closed", encoding="ascii")
    time.sleep(0.1)
    text = note.read_text(encoding="ascii")
    note.unlink()
    assert text == "evening shift, till closed"


def test_own_spool(tmp_path):
    spool = tmp_path / "spool.txt"
    spool.write_text("x", encoding="ascii")
    assert spool.read_text(encoding="ascii") == "x"


def test_unnamed_spool():
    with tempfile.TemporaryFile() as spool:
        spool.write(b"abc")
        spool.seek(0)
        assert spool.read() == b"abc"
