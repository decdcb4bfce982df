"""Which interpreter runs the tests, and what a report's file is when it cannot be written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

import pytest

from repro_gate.cli.scanning import Order, interpreter_for
from repro_gate.cli.session import guarded, terminal, write_file
from repro_gate.config import load
from repro_gate.errors import UsageError
from repro_gate.pipeline.provision import activated


def chosen(directory: Path, environ: dict[str, str], python: str | None = None, configured: str | None = None) -> str:
    order = Order(directory=directory, arguments=(), overrides={}, door=("repro-gate", "scan"), python=python)
    return interpreter_for(order, load(directory, {"python": configured}, {}), environ)


@pytest.fixture
def active(tmp_path: Path) -> Path:
    """A virtual environment, as far as anybody looks."""
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n", encoding="utf-8")
    python.chmod(0o755)
    return python


def test_the_option_wins_over_the_configuration_and_that_over_the_active_environment(
    tmp_path: Path, active: Path
) -> None:
    environ = {"VIRTUAL_ENV": str(active.parents[1])}
    assert chosen(tmp_path, environ, "/opt/python", "/etc/python") == "/opt/python"
    assert chosen(tmp_path, environ, None, "/etc/python") == "/etc/python"
    assert chosen(tmp_path, environ) == str(active)


def test_without_an_active_environment_it_is_the_interpreter_that_runs_repro_gate(tmp_path: Path) -> None:
    assert chosen(tmp_path, {}) == sys.executable
    assert chosen(tmp_path, {"VIRTUAL_ENV": ""}) == sys.executable
    assert chosen(tmp_path, {"VIRTUAL_ENV": sys.prefix}) == sys.executable


def test_an_active_environment_that_is_gone_or_broken_is_not_used(tmp_path: Path, active: Path) -> None:
    assert chosen(tmp_path, {"VIRTUAL_ENV": str(tmp_path / "gone")}) == sys.executable
    active.chmod(0o644)
    active.unlink()
    assert chosen(tmp_path, {"VIRTUAL_ENV": str(active.parents[1])}) == sys.executable


def test_programs_of_a_made_environment_are_found_before_those_of_the_machine() -> None:
    variables = {"PATH": "/usr/bin:/bin", "TERM": "dumb"}
    assert activated(variables, "/env/bin/python") == {"PATH": "/env/bin:/usr/bin:/bin", "TERM": "dumb"}
    assert activated({}, "/env/bin/python") == {"PATH": "/env/bin"}


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "r.json"

    def write_all(stream: TextIO) -> None:
        stream.write("new")

    write_file(path, write_all)
    assert path.read_text(encoding="utf-8") == "new"

    def break_off(stream: TextIO) -> None:
        stream.write("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, break_off)
    assert path.read_text(encoding="utf-8") == "new"
    assert [one.name for one in path.parent.iterdir()] == ["r.json"]


def test_a_report_that_cannot_be_written_there_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(UsageError, match="Cannot write"):
        write_file(tmp_path / "file" / "r.json", lambda _stream: None)


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (UsageError("That cannot be.", next_step="Do this."), 2, ["error: That cannot be.", "next:  Do this."]),
        (KeyboardInterrupt(), 130, ["Interrupted"]),
        (ZeroDivisionError("by zero"), 70, ["this is a bug of repro-gate", "ZeroDivisionError: by zero"]),
    ],
    ids=["expected", "interrupt", "bug"],
)
def test_every_way_to_fail_becomes_a_sentence_and_an_exit_code(
    error: BaseException,
    code: int,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Our own process has children that are not the command's.
    monkeypatch.setattr("repro_gate.cli.session.end_descendants", lambda: 0)
    monkeypatch.setattr("repro_gate.cli.session.adopt_orphans", lambda: False)

    def command() -> int:
        raise error

    assert guarded(command, terminal(quiet=False, color=False).err) == code
    said = capsys.readouterr().err
    assert [word for word in words if word not in said] == []
    assert not isinstance(error, ZeroDivisionError) or "next:" not in said
