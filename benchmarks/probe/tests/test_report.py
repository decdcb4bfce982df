import os
import tempfile
import time

import pytest

from probe.cli import parser, rule

SPOOL = os.path.join(tempfile.gettempdir(), "probe-spool.txt")


def test_daily_report():
    try:
        with open(SPOOL, "w", encoding="ascii") as file:
            file.write("daily report")
        time.sleep(0.1)
        with open(SPOOL, encoding="ascii") as file:
            assert file.read() == "daily report"
    finally:
        if os.path.exists(SPOOL):
            os.remove(SPOOL)


def test_handover_note(project):
    note = project / "handover.txt"
    note.write_text("morning shift", encoding="ascii")
    time.sleep(0.1)
    text = note.read_text(encoding="ascii")
    note.unlink()
    assert text == "morning shift"


def test_usage_is_one_line():
    usage = parser().format_usage().strip()
    assert len(usage.splitlines()) == 1


def test_rule_length():
    assert len(rule()) == 80


def test_arguments():
    options = parser().parse_args(["--subject", "a b"])
    assert options.subject == "a b" and options.recipient is None


def test_printed(capsys):
    print("total", 5)
    assert capsys.readouterr().out == "total 5\n"


@pytest.fixture
def broken_printer():
    raise RuntimeError("out of paper")


def test_printer(broken_printer):
    assert broken_printer is None
