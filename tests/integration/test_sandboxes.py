"""What tests can reach in each sandbox, and how the conditions of a start look from inside."""

from __future__ import annotations

import json
import os
import shutil
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from repro_gate.errors import MissingTool, SandboxUnavailable
from repro_gate.experiment import wiring
from repro_gate.model import Mode
from repro_gate.sandbox import Bubblewrap, Host, Sandbox, choose, probe
from tests.conftest import MakeLab, MakeProject, TestLab, outcomes

PLAIN = ("-p", "no:randomly")

NETWORK = """\
    import socket, subprocess, sys
    import pytest

    ATTEMPT = "import socket; socket.create_connection(('192.0.2.1', 80), 2)"

    def test_loopback_works():
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname(), 5):
                pass

    def test_leaving_fails_at_once():
        with pytest.raises(OSError, match="unreachable"):
            socket.create_connection(("192.0.2.1", 80), 20)

    def test_names_are_not_found():
        with pytest.raises(socket.gaierror):
            socket.getaddrinfo("example.org", 80)
"""
CHILD = """
    def test_a_child_cannot_leave_either():
        done = subprocess.run([sys.executable, "-c", ATTEMPT], capture_output=True, text=True)
        assert "unreachable" in done.stderr, done
"""


RENAMES = """\
    import os, pathlib, shutil
    import pytest

    HERE = pathlib.Path(__file__).parent

    def test_both_are_on_one_device(tmp_path):
        assert os.stat(HERE).st_dev == os.stat(tmp_path).st_dev

    @pytest.mark.parametrize("rename", [os.rename, os.replace, pathlib.Path.rename, pathlib.Path.replace])
    def test_there_and_back(rename, tmp_path):
        file, away = HERE / "settings.ini", tmp_path / "away.ini"
        file.write_text("one")
        file.chmod(0o640)
        os.utime(file, (1, 2))
        away.write_text("replaced")
        rename(file, away)
        assert (away.read_text(), away.stat().st_mode & 0o777, away.stat().st_mtime) == ("one", 0o640, 2)
        assert not file.exists()
        rename(away, file)
        assert (file.read_text(), os.listdir(tmp_path)) == ("one", [])

    def test_what_is_no_file(tmp_path):
        os.symlink("nowhere", HERE / "link")
        os.rename(HERE / "link", tmp_path / "link")
        assert (os.readlink(tmp_path / "link"), os.path.lexists(HERE / "link")) == ("nowhere", False)
        os.makedirs(HERE / "folder" / "below")
        os.symlink("below", HERE / "folder" / "link")
        os.makedirs(tmp_path / "there")
        os.rename(bytes(HERE / "folder"), bytes(tmp_path / "there"))
        assert sorted(os.listdir(tmp_path / "there")) == ["below", "link"]
        assert (os.path.islink(tmp_path / "there" / "link"), (HERE / "folder").exists()) == (True, False)

    def test_what_a_rename_refuses(tmp_path):
        (HERE / "a").write_text("a")
        (tmp_path / "full" / "b").mkdir(parents=True)
        with pytest.raises(IsADirectoryError) as told:
            os.rename(HERE / "a", tmp_path / "full")
        assert (told.value.filename, told.value.filename2) == (str(HERE / "a"), str(tmp_path / "full"))
        (HERE / "d").mkdir()
        with pytest.raises(OSError, match="not empty"):
            os.rename(HERE / "d", tmp_path / "full")
        with pytest.raises(FileNotFoundError):
            os.rename(HERE / "none", tmp_path / "x")
        with pytest.raises(FileNotFoundError):
            os.rename(HERE / "a", tmp_path / "none" / "x")
        assert ((HERE / "a").read_text(), (HERE / "d").is_dir(), os.listdir(tmp_path)) == ("a", True, ["full"])
"""


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_files_are_renamed_between_the_tree_and_temporary_ones(project: MakeProject, lab: MakeLab, mode: Mode) -> None:
    """In a sandbox they are mounted apart, which the kernel refuses; where tests run otherwise they are on one disk."""
    result = lab(project({"test_r.py": RENAMES}), *PLAIN).run(mode)
    assert set(outcomes(result).values()) == {"passed"}, [run.output[-600:] for run in result.runs if run.output]


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_nothing_but_loopback_is_reached_and_attempts_are_recorded(
    project: MakeProject, lab: MakeLab, mode: Mode
) -> None:
    one = lab(project({"test_n.py": NETWORK}), *PLAIN)
    result = one.run(mode)
    assert outcomes(result) == {
        "test_loopback_works": "passed",
        "test_leaving_fails_at_once": "passed",
        "test_names_are_not_found": "passed",
    }
    seen = {run.id.partition("::")[2]: run.evidence.network if run.evidence else () for run in result.runs}
    assert seen["test_loopback_works"] == ()
    assert seen["test_leaving_fails_at_once"] == ("connect 192.0.2.1:80",)
    assert seen["test_names_are_not_found"] == ("look up example.org",)


def bubblewrapped(labs: Callable[..., TestLab], why_not: str) -> Callable[..., TestLab]:
    if why_not:
        pytest.skip(why_not)
    return lambda *arguments, **changes: labs(Bubblewrap(), *arguments, **changes)


def test_the_plugin_is_found_where_repro_gate_is_installed_below_the_project(
    project: MakeProject,
    labs: Callable[..., TestLab],
    bubblewrap_why_not: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one = bubblewrapped(labs, bubblewrap_why_not)
    test = "import os\ndef test_it(): assert os.path.isfile('.venv/lib/site-packages/repro_gate_pytest/wire.py')\n"
    place = project({"test_it.py": test})
    package = place / ".venv/lib/site-packages/repro_gate_pytest"
    shutil.copytree(wiring.plugin_package(), package)
    (place / ".venv/pyvenv.cfg").write_text("")  # the tests have another interpreter: a copy leaves this out
    monkeypatch.setattr(wiring, "plugin_package", lambda: package)
    assert outcomes(one(place).run()) == {"test_it": "passed"}


def test_nobody_takes_the_plugin_for_a_module_of_the_project(
    project: MakeProject, lab: MakeLab, tmp_path: Path
) -> None:
    """Hypothesis reads the constants of all modules that do not lie among installed packages."""
    venv.create(tmp_path / "venv", symlinks=True)  # where no repro-gate is installed
    packages = next((tmp_path / "venv").glob("lib/*/site-packages"))
    (packages / "more.pth").write_text(f"{Path(pytest.__file__).parent.parent}\n")
    test = """\
        import sys
        from hypothesis.internal.constants_ast import is_local_module_file
        import mine

        def test_it():
            ours = [each.__file__ for name, each in sys.modules.items() if name.startswith("repro_gate_pytest.")]
            assert len(ours) > 10 and not any(map(is_local_module_file, ours)), ours
            assert is_local_module_file(mine.__file__)
        """
    root = project({"test_it.py": test, "mine.py": ""})
    one = lab(root, interpreter=probe(str(tmp_path / "venv/bin/python"), os.environ, root))
    assert outcomes(one.run()) == {"test_it": "passed"}


def test_bubblewrap_hides_homes_and_other_processes_and_takes_writes_only_into_the_copy(
    project: MakeProject, labs: Callable[..., TestLab], bubblewrap_why_not: str, tmp_path: Path
) -> None:
    make = bubblewrapped(labs, bubblewrap_why_not)
    outside = tmp_path / "outside"
    outside.write_text("secret")
    tests = (
        NETWORK
        + CHILD
        + f"""
    import os, pathlib, pwd

    def test_files_outside_are_not_there():
        assert not pathlib.Path({str(outside)!r}).exists()

    def test_homes_are_empty():
        for home in ("/root", "/home"):
            found = [p for p in pathlib.Path(home).rglob("*") if p.is_file()] if os.path.isdir(home) else []
            assert not [p for p in found if not str(p).startswith(tuple(sys.path[1:]) + (sys.prefix, sys.base_prefix))]

    def test_the_system_is_read_only():
        for name in ("/usr/x", "/etc/x", sys.prefix + "/x"):
            with pytest.raises(OSError):
                open(name, "w")

    def test_the_machines_own_name_is_known_without_asking_anybody():
        import socket
        assert socket.gethostbyname(socket.gethostname()).startswith("127.")
        assert {{found[4][0] for found in socket.getaddrinfo(socket.gethostname(), 80)}} <= {{"127.0.0.1", "::1"}}

    def test_not_root_and_few_processes():
        assert os.getuid() == os.getgid() == 1000
        assert len([name for name in os.listdir("/proc") if name.isdigit()]) < 10

    def test_home_and_tmp_and_tree_are_writable():
        for path in (pathlib.Path.home(), pathlib.Path(os.environ["TMPDIR"]), pathlib.Path()):
            (path / "mine").write_text("x")

    def test_the_tree_is_where_the_project_is():
        assert os.getcwd() == {str(tmp_path / "proj")!r}
    """
    )
    root = project({"test_n.py": tests})
    one = make(root, *PLAIN)
    result = one.run(Mode.FRESH)
    bad = [(run.id, run.output) for run in result.runs if run.outcome != "passed"]
    assert bad == []
    assert not (root / "mine").exists()


@pytest.mark.parametrize(
    "environment",
    ["fixed", "path", "bare", *(pytest.param(name, marks=pytest.mark.deep) for name in ("user", "terminal", "extra"))],
)
def test_each_environment_is_what_its_name_says(project: MakeProject, lab: MakeLab, environment: str) -> None:
    tests = """\
        import json, os, socket
        def test_it():
            mask = os.umask(0); os.umask(mask)
            raise AssertionError("FACTS" + json.dumps([dict(os.environ), mask, os.getcwd(), socket.gethostname(), os.listdir("data")]))
    """
    one = lab(project({"test_e.py": tests, "data/x": ""}), *PLAIN, env={"EDITOR": "ed", "SHELL": "/bin/sh", "CI": "1"})
    seen = []
    for mode in Mode:
        (run,) = one.run(mode, environment=environment).runs
        assert run.failure is not None, run

        seen.append(json.loads(run.failure.message.partition("FACTS")[2].split("\n")[0]))
    variables, mask, here, _, files = seen[0]
    assert files == ["x"]
    assert mask == (0o077 if environment == "user" else 0o022)
    assert variables.get("USER") == {"user": "alice", "bare": None}.get(environment, "tester")
    assert variables.get("COLUMNS") == {"terminal": "40", "extra": "200", "bare": None}.get(environment, "80")
    assert ("EDITOR" in variables) is (environment != "bare")
    assert ("ZZ_UNKNOWN_VARIABLE" in variables) is (environment == "extra")
    assert variables["HOME"].endswith("alice" if environment == "user" else "home")
    assert (" " in here) is (environment == "path")
    if one.lab.sandbox.hermetic:
        assert seen[1][3] == ("ci-runner-7" if environment == "user" else "repro-gate")
    fresh = seen[1][0]
    same = {name for name in variables if name not in ("HOME", "TMPDIR", "PWD", "OLDPWD")}
    assert {name: variables[name] for name in same} == {name: fresh.get(name) for name in same}


def test_bubblewrap_is_found_out_by_trying(bubblewrap_why_not: str) -> None:
    sandbox, note = choose("auto", no_engine, order=("bubblewrap",))
    assert isinstance(sandbox, Host if bubblewrap_why_not else Bubblewrap)
    assert bubblewrap_why_not in note


def no_engine() -> Sandbox:
    raise SandboxUnavailable("No daemon answers.")


def test_exit_statuses_tell_signals_alike_in_each_sandbox() -> None:
    assert [Bubblewrap().exit_status(status) for status in (0, 1, 128, 139, 137, 255, -9)] == [
        0,
        1,
        128,
        -11,
        -9,
        255,
        -9,
    ]
    assert Host().exit_status(139) == 139


@pytest.mark.parametrize(("python", "words"), [("/bin/true", "does not answer"), ("no-such-python", "is not there")])
def test_what_is_no_interpreter_is_refused(tmp_path: Path, python: str, words: str) -> None:
    with pytest.raises(MissingTool, match=words):
        probe(python, os.environ, tmp_path)


def test_an_environment_inside_the_project_runs_the_copy(project: MakeProject, lab: MakeLab) -> None:
    """Installed in place, the project is on ``sys.path`` beside its own environment."""
    root = project({"src/mine.py": "", "test_it.py": "import mine\n\ndef test_it():\n    open(mine.__file__, 'a')\n"})
    venv.create(root / ".venv", symlinks=True)
    python = root / ".venv/bin/python"
    packages = next((root / ".venv").glob("lib/*/site-packages"))
    ours = Path(pytest.__file__).parent.parent
    (packages / "editable.pth").write_text(f"{root}\n{root}/src\n{ours}\n")
    one = lab(root, interpreter=probe(str(python), os.environ, root))
    result = one.run(Mode.FRESH)
    assert outcomes(result) == {"test_it": "passed"}, result
