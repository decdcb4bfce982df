"""Correct programs under any variables, umask, home, terminal, working directory and host name."""

import argparse
import configparser
import getpass
import importlib
import os
import platform
import shlex
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
import urllib.request
from pathlib import Path
from unittest import mock

import pytest

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def run(*code, **options):
    done = subprocess.run(
        [sys.executable, *code], stdout=subprocess.PIPE, encoding="utf-8", timeout=60, check=True, **options
    )
    return done.stdout.strip()


@pytest.fixture
def umask():
    before = os.umask(0)
    os.umask(before)
    return before


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode) & 0o777


@posix
def test_modes_follow_the_umask(tmp_path, umask):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    os.close(os.open(tmp_path / "raw", os.O_CREAT | os.O_WRONLY, 0o640))
    assert mode(tmp_path / "file") == 0o666 & ~umask
    assert mode(tmp_path / "folder") == 0o777 & ~umask
    assert mode(tmp_path / "raw") == 0o640 & ~umask


@posix
def test_modes_that_are_set(tmp_path):
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o604)
    assert mode(path) == 0o604
    shutil.copy(path, tmp_path / "copy")
    assert mode(tmp_path / "copy") == 0o604


@posix
def test_private_files_are_private(tmp_path):
    with tempfile.NamedTemporaryFile(dir=tmp_path) as file:
        assert mode(file.name) & 0o077 == 0
    assert mode(tempfile.mkdtemp(dir=tmp_path)) & 0o077 == 0


@posix
def test_program_chooses_its_umask(tmp_path, umask):
    os.umask(0o027)
    try:
        (tmp_path / "file").touch()
    finally:
        assert os.umask(umask) == 0o027
    assert mode(tmp_path / "file") == 0o640


@posix
def test_child_has_the_same_umask(umask):
    assert int(run("-c", "import os; print(os.umask(0))")) == umask


def test_home_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert Path.home() == tmp_path
    assert os.path.expanduser("~/x") == os.path.join(str(tmp_path), "x")
    assert Path("~/x").expanduser() == tmp_path / "x"


def test_home_agrees_with_expanduser():
    assert str(Path.home()) == str(Path(os.path.expanduser("~")))


def test_user_name(monkeypatch):
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "somebody")
    assert getpass.getuser() == "somebody"


def test_configuration_folder(monkeypatch, tmp_path):
    def folder():
        return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert folder() == tmp_path / ".config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "else"))
    assert folder() == tmp_path / "else"


def test_terminal_size():
    columns, lines = shutil.get_terminal_size((80, 24))
    assert columns > 0
    assert lines > 0


def test_terminal_size_that_is_set(monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("LINES", "40")
    assert shutil.get_terminal_size() == (120, 40)


def test_help_text_of_a_fixed_width():
    parser = argparse.ArgumentParser(
        "prog", formatter_class=lambda prog: argparse.HelpFormatter(prog, width=60, max_help_position=20)
    )
    parser.add_argument("--name", metavar="NAME", help="a name that is explained at some length, in two lines")
    lines = parser.format_help().splitlines()
    assert lines[0] == "usage: prog [-h] [--name NAME]"
    assert max(map(len, lines)) <= 60


def test_wrapped_text():
    assert textwrap.fill("one two three", 8) == "one two\nthree"


def test_variables(monkeypatch):
    monkeypatch.setenv("CONTROL_NAME", "a value = with; signs")
    monkeypatch.delenv("CONTROL_ABSENT", raising=False)
    assert os.environ["CONTROL_NAME"] == os.getenv("CONTROL_NAME") == "a value = with; signs"
    assert os.path.expandvars("$CONTROL_NAME") == "a value = with; signs"
    assert os.path.expandvars("${CONTROL_ABSENT}") == "${CONTROL_ABSENT}"
    assert os.getenv("CONTROL_ABSENT", "default") == "default"
    with pytest.raises(KeyError):
        os.environ["CONTROL_ABSENT"]


def test_child_inherits_and_may_be_told():
    told = dict(os.environ, CONTROL_NAME="told")
    code = "import os; print(os.environ['CONTROL_NAME'], len(os.environ) > 0)"
    assert run("-c", code, env=told) == "told True"
    assert "CONTROL_NAME" not in os.environ


def test_cleared_environment():
    before = dict(os.environ)
    with mock.patch.dict(os.environ, {"ONLY": "this"}, clear=True):
        assert dict(os.environ) == {"ONLY": "this"}
    assert dict(os.environ) == before


def test_variable_that_nobody_knows_does_no_harm(monkeypatch):
    monkeypatch.setenv("CONTROL_UNKNOWN_VARIABLE", "\x01 \t odd")
    assert run("-c", "print(1)") == "1"


def test_working_directory():
    assert Path.cwd() == Path(os.getcwd())
    assert os.path.isabs(os.getcwd())
    assert Path(os.curdir).resolve() == Path.cwd().resolve()
    assert os.path.isdir(".")


def test_file_beside_this_one():
    here = Path(__file__).resolve()
    assert here.name in {p.name for p in here.parent.iterdir()}
    assert "A sentence to be found." in here.read_text(encoding="utf-8")


def test_folder_with_spaces(tmp_path, monkeypatch):
    folder = tmp_path / "with spaces & 'quotes' #1"
    folder.mkdir()
    monkeypatch.chdir(folder)
    Path("control_environment_module.py").write_text("NAME = 'spaced'\n", encoding="utf-8")
    assert run("-c", "import os; print(os.path.basename(os.getcwd()))") == folder.name
    assert run("control_environment_module.py") == ""
    monkeypatch.syspath_prepend(str(folder))
    assert importlib.import_module("control_environment_module").NAME == "spaced"
    monkeypatch.delitem(sys.modules, "control_environment_module")
    base = sqlite3.connect(str(folder / "data base.db"))
    base.execute("create table t (x)")
    base.close()
    assert {"control_environment_module.py", "data base.db"} <= set(os.listdir())


def test_address_of_a_file(tmp_path):
    path = tmp_path / "a b #1?.txt"
    path.write_bytes(b"content")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(path.as_uri()) as answer:
        assert answer.read() == b"content"


@posix
def test_shell_gets_quoted_words(tmp_path):
    folder = tmp_path / "it's here"
    folder.mkdir()
    done = subprocess.run(
        ["/bin/sh", "-c", f'cd {shlex.quote(str(folder))} && pwd && printf %s "$1"', "sh", "a  b"],
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert done.stdout.endswith(b"/it's here\na  b")


@posix
def test_programs_are_found():
    assert shutil.which("sh", path="/bin:/usr/bin")
    assert shutil.which("no-such-program-anywhere") is None
    assert os.access(sys.executable, os.X_OK)


def test_temporary_folder():
    folder = tempfile.gettempdir()
    assert os.path.isdir(folder)
    with tempfile.TemporaryFile() as file:
        assert file.write(b"x") == 1


def test_host_name():
    assert socket.gethostname()
    assert isinstance(platform.node(), str)
    with mock.patch("socket.gethostname", return_value="elsewhere"):
        assert socket.gethostname() == "elsewhere"


def test_proxies_that_are_set(monkeypatch):
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    assert urllib.request.getproxies_environment() == {}
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    assert urllib.request.getproxies_environment() == {"http": "http://proxy.example:3128"}


def test_configuration_without_interpolation(tmp_path):
    path = tmp_path / "a b.ini"
    path.write_text("[main]\nhome = %HOME%\n", encoding="utf-8")
    parser = configparser.ConfigParser(interpolation=None)
    assert parser.read(path, encoding="utf-8") == [str(path)]
    assert parser["main"]["home"] == "%HOME%"


# A sentence to be found.
