"""The command line: refusals in two lines, numbers read in one place, and no layout where nobody looks."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from repro_gate import __version__
from repro_gate.cli import main as command
from repro_gate.cli import replaying
from repro_gate.cli.scanning import Order, _rest, again
from repro_gate.cli.session import below_the_top, guarded, place_in_repository, terminal
from repro_gate.config import load

LONG = "word " * 60 + "end"


@pytest.fixture(autouse=True)
def our_own_children(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the tests has children that are not the command's."""
    monkeypatch.setattr("repro_gate.cli.session.end_descendants", lambda: 0)
    monkeypatch.setattr("repro_gate.cli.session.adopt_orphans", lambda: False)


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[str, str]:
    """Error and next step of a command line that must be refused with exit code 2."""
    monkeypatch.setattr(sys, "argv", ["anything", *arguments])
    with pytest.raises(SystemExit) as left:
        command.main()
    assert left.value.code == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    error, following = printed.err.splitlines()
    assert error.startswith("error: ")
    assert following.startswith("next:  ")
    return error.removeprefix("error: "), following.removeprefix("next:  ")


@pytest.mark.parametrize(
    ("arguments", "error", "following"),
    [
        (
            ["scan", "--rums", "3"],
            "There is no option --rums; did you mean --runs?",
            "See `repro-gate scan --help`; options of pytest go behind ` -- `.",
        ),
        (["check", "--gates", "zzz", "--gates", "network"], "'zzz' is no gate.", "Gates are fail-to-pass"),
        (["scan", "--zzz"], "There is no option --zzz.", "See `repro-gate scan --help`; options of pytest"),
        (["scan", "-k", "x"], "There is no option -k", "See `repro-gate scan --help`; options of pytest"),
        (["replay", "--time", "2", "c.zip"], "There is no option --time; did you mean --times?", "See `repro-gate re"),
        (["--verison"], "There is no option --verison; did you mean --version?", "See `repro-gate --help`."),
        (["scna"], "No such command 'scna'. Did you mean 'scan'?", "See `repro-gate --help`."),
        (["capsule", "shw"], "No such command 'shw'. Did you mean 'show'?", "See `repro-gate capsule --help`."),
        (["replay"], "Missing argument", "See `repro-gate replay --help`."),
        (["capsule", "show", "a", "b"], "Got unexpected extra argument", "See `repro-gate capsule show --help`."),
        (["replay", "c.zip", "--times", "x"], "Invalid value for '--times'", "See `repro-gate replay --help`."),
        (["scan", "--seed"], "Option '--seed' requires an argument.", "See `repro-gate"),
        (["scan", "--runs", "abc"], '--runs = "abc": must be whole number, at least 2', "See `repro-gate --help`."),
        (["scan", "--budget", "x"], '--budget = "x": must be seconds, more than 0', "See `repro-gate --help`."),
        (["scan", "--jobs=0"], "--jobs = 0: must be whole number, at least 1", "See `repro-gate --help`."),
        (["scan", "no/such/path"], "'no/such/path' does not exist", "Name a file, a directory or a test id"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_two_lines(
    arguments: list[str],
    error: str,
    following: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    said, step = refused(monkeypatch, capsys, *arguments)
    assert said.startswith(error)
    assert step.startswith(following)


def test_without_a_word_the_help_is_the_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["repro-gate", "capsule"])
    with pytest.raises(SystemExit) as left:
        command.main()
    printed = capsys.readouterr()
    assert left.value.code == 2
    assert "Usage: repro-gate capsule" in printed.out + printed.err
    assert "error:" not in printed.err


def test_as_a_module_it_is_the_same_command() -> None:
    script = Path(sys.executable).with_name("repro-gate")
    for arguments, code in ((["--version"], 0), (["scan", "--help"], 0), (["scan", "--rums"], 2)):
        ways = [
            subprocess.run([*way, *arguments], capture_output=True, text=True, timeout=120, check=False)
            for way in ([sys.executable, "-m", "repro_gate"], [str(script)])
        ]
        assert [(done.returncode, done.stdout, done.stderr) for done in ways[:1]] == [
            (done.returncode, done.stdout, done.stderr) for done in ways[1:]
        ]
        assert ways[0].returncode == code
        assert ways[0].stdout + ways[0].stderr
    assert __version__ in subprocess.run([str(script), "--version"], capture_output=True, text=True, check=True).stdout


# --- the command that repeats a campaign -----------------------------------------------------


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        (
            Order(directory=Path(), arguments=("a b.py",), overrides={}, door=("repro-gate", "scan", "--runs=4")),
            "repro-gate scan --runs=4 --seed=7 'a b.py'",
        ),
        (
            Order(directory=Path(), arguments=("t", "-k", "x"), overrides={}, door=("repro-gate", "scan")),
            "repro-gate scan --seed=7 -- t -k x",
        ),
        (
            Order(
                directory=Path(),
                arguments=("-k", "x"),
                overrides={},
                door=("python", "-m", "pytest", "--repro-flake-check"),
                by_pytest=True,
                options={"seed": "--repro-seed"},
            ),
            "python -m pytest --repro-flake-check --repro-seed=7 -k x",
        ),
    ],
)
def test_a_campaign_is_repeated_by_one_whole_command(order: Order, expected: str) -> None:
    assert again(order, 7, load(Path("/nowhere"), {}, {}), {}) == expected


def repeated(environ: dict[str, str], options: dict[str, object] | None = None, python: str | None = None) -> str:
    """How a scan is repeated that was started with these variables and options."""
    order = Order(directory=Path(), arguments=("t.py",), overrides={}, door=("repro-gate", "scan"), python=python)
    return again(order, 7, load(Path("/nowhere"), options or {}, environ), environ)


def test_what_variables_set_stands_before_the_command_that_repeats_it() -> None:
    environ = {
        "REPRO_GATE_RUNS": "4",
        "REPRO_GATE_EXCLUDE": " *.mp4 'a b' ",
        "REPRO_GATE_GATE_COVERAGE": "block",
        "REPRO_GATE_VERSION_OF_OURS": "1",  # no key
        "REPRO_GATE_JOBS": "",  # not set
        "REPRO_GATE_SEED": "9",  # the command has the seed that was drawn
        "OTHER": "x",
    }
    assert repeated(environ) == (
        "REPRO_GATE_EXCLUDE='*.mp4 '\"'\"'a b'\"'\"'' REPRO_GATE_GATE_COVERAGE=block REPRO_GATE_RUNS=4 "
        "repro-gate scan --seed=7 t.py"
    )


def test_a_variable_over_which_an_option_won_is_not_repeated() -> None:
    environ = {"REPRO_GATE_RUNS": "4", "REPRO_GATE_PYTHON": "python3"}
    assert repeated(environ, {"runs": 5}, python="python3.12") == "repro-gate scan --seed=7 t.py"
    assert "REPRO_GATE_PYTHON=python3 REPRO_GATE_RUNS=4 repro-gate" in repeated(environ)


def test_a_value_that_holds_a_secret_is_named_and_not_shown() -> None:
    address = "https://bot:Xk3v9QpL2mWz7RtY@packages.invalid/simple"
    assert repeated({"REPRO_GATE_INSTALL": f"python -m pip install -i {address} x", "REPRO_GATE_RUNS": "4"}) == (
        'REPRO_GATE_INSTALL="$REPRO_GATE_INSTALL" REPRO_GATE_RUNS=4 repro-gate scan --seed=7 t.py'
    )
    environ = {"REPRO_GATE_PYTEST_ARGS": "--key Xk3v9QpL2mWz7RtY", "LICENCE_TOKEN": "Xk3v9QpL2mWz7RtY"}
    assert repeated(environ).startswith('REPRO_GATE_PYTEST_ARGS="$REPRO_GATE_PYTEST_ARGS" repro-gate')


@pytest.mark.parametrize("value", ['make it\necho "it\'s" \\\\ $HOME', "echo caf\u00e9 \u202e\t!"])
def test_a_value_that_a_line_cannot_show_is_read_back_by_a_shell(value: str) -> None:
    line = repeated({"REPRO_GATE_INSTALL": value})
    assert line.isprintable()
    script = line.replace("repro-gate scan", "printenv REPRO_GATE_INSTALL #")
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == f"{value}\n"


def test_a_subdirectory_is_said_with_the_projects_top_and_the_top_is_not(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "src" / "shop").mkdir(parents=True)
    (said,) = below_the_top(tmp_path / "src" / "shop")
    assert said.startswith("There was no test to judge in src/shop, a subdirectory of the project.")
    assert f"The project's top is {tmp_path}:" in said
    assert below_the_top(tmp_path) == ()


@pytest.mark.parametrize(
    ("by_pytest", "report", "expected"),
    [
        (False, None, "`--report-json FILE` lists all"),
        (True, None, "`repro-gate scan --report-json FILE` lists all"),
        (False, Path("out/r.json"), "all are in out/r.json"),
    ],
)
def test_what_is_not_shown_is_where_it_really_is(by_pytest: bool, report: Path | None, expected: str) -> None:
    order = Order(directory=Path(), arguments=(), overrides={}, door=("x",), by_pytest=by_pytest, report_json=report)
    assert _rest(order) == expected


# --- where nobody looks ----------------------------------------------------------------------


def test_what_goes_to_a_pipe_is_neither_wrapped_nor_padded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("FORCE_COLOR", "1")
    consoles = terminal(quiet=False, color=None)
    for console in (consoles.out, consoles.err):
        console.print(LONG, markup=False, style="bold")
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert text.count("\n") == 1
        assert LONG in text


class Screen(io.StringIO):
    """A terminal of 60 columns."""

    def isatty(self) -> bool:
        return True


def test_what_goes_to_a_terminal_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "dumb")
    screen = Screen()
    monkeypatch.setattr(sys, "stdout", screen)
    terminal(quiet=False, color=False).out.print(LONG)
    assert screen.getvalue().count("\n") > 2


def test_an_interrupt_claims_nothing_and_says_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    def stop() -> int:
        raise KeyboardInterrupt

    assert guarded(stop, terminal(quiet=False, color=False).err) == 130
    assert capsys.readouterr().err.splitlines() == [
        "error: Interrupted before there was a result.",
        "next:  Run the same command again.",
    ]


def test_where_a_capsule_was_unpacked_is_said_without_detours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    monkeypatch.setattr("repro_gate.capsule.read", lambda _: SimpleNamespace(members={}))
    assert replaying.run_unpack(Path("c.zip"), Path("../capsule"), terminal(quiet=False, color=False)) == 0
    assert f" {tmp_path.resolve()}/capsule/repro.sh --repo ." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("configured", "started_in", "place"),
    [
        (["packages/one/pyproject.toml"], "packages/one", "packages/one"),
        (["packages/one/pyproject.toml"], "packages/one/tests", "packages/one"),
        (["pyproject.toml"], "packages/one", ""),
        (["pyproject.toml"], ".", ""),
        ([], ".", ""),
    ],
)
def test_the_place_of_a_project_in_its_repository_is_where_its_ids_begin(
    tmp_path: Path, configured: list[str], started_in: str, place: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "packages/one/tests").mkdir(parents=True)
    for name in configured:
        (tmp_path / name).write_text("[tool.pytest.ini_options]\n", encoding="utf-8")
    assert place_in_repository(tmp_path / started_in) == place
