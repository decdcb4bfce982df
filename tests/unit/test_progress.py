"""The lines of progress where there is no terminal."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from repro_gate.cli.progress import Bar


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> tuple[Bar, io.StringIO]:
    """A bar whose clock moves 20 s with each look at it, and what it prints."""
    seconds = iter(range(0, 1000, 20))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(seconds)))
    text = io.StringIO()
    return Bar(Console(file=text, width=100), quiet=False), text


def test_what_is_being_done_is_said_where_no_end_can_be_foreseen(said: tuple[Bar, io.StringIO]) -> None:
    bar, text = said
    bar.phase("preparing", 1)
    bar.advance(0.0, "installing")
    assert text.getvalue() == "preparing\n  preparing: installing, 20 s so far\n"


def test_the_time_left_is_told_from_what_is_done(said: tuple[Bar, io.StringIO]) -> None:
    bar, text = said
    bar.phase("running", 4)
    bar.advance(2.0, "any")
    assert text.getvalue() == "running (4)\n  running: 2 of 4, about 20 s left\n"


def test_at_the_end_no_time_is_left_to_tell(said: tuple[Bar, io.StringIO]) -> None:
    bar, text = said
    bar.phase("running", 4)
    bar.advance(4.0)
    assert text.getvalue() == "running (4)\n  running: 4 of 4\n"


def test_no_more_is_done_than_there_is(said: tuple[Bar, io.StringIO]) -> None:
    bar, text = said
    bar.phase("trying", 4)
    bar.advance(4.0)
    bar.advance()
    assert text.getvalue().splitlines()[-1] == "  trying: 4 of 4"
