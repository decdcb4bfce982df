"""The plugin's doors in an ordinary pytest: the flake check that hands over, and the watch over retries."""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from repro_gate.cli import door
from repro_gate.errors import ReproGateError
from repro_gate_pytest import flake_check
from repro_gate_pytest.plugin import _Runs
from tests.conftest import MakeProject

OURS = "-prepro_gate_pytest.plugin"


def pytest_in(directory: Path, *arguments: str, before: str = "") -> subprocess.CompletedProcess[str]:
    """An ordinary run that loads only the plugins it is told to."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "COVERAGE_"))}
    program = f"import sys\n{before}\nimport pytest\nsys.exit(pytest.main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=directory,
        env={**env, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "COLUMNS": "120"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


# --- the flake check -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ([], []),
        (["--repro-flake-check"], []),
        (["--repro-flake-check", "tests"], ["tests"]),
        (["--repro-flake-check", "7", "tests"], ["tests"]),
        (["--repro-flake-check=7", "7"], ["7"]),
        (["tests", "--repro-flake-check"], ["tests"]),
        (["-x", "--repro-flake-check", "-q"], ["-x", "-q"]),
        (["--repro-seed", "4", "a.py"], ["a.py"]),
        (["--repro-seed=4", "a.py"], ["a.py"]),
        (["--repro-budget", "60", "--repro-capsules", "caps", "a.py"], ["a.py"]),
        (["--repro-budget=60", "--repro-capsules=caps", "a.py"], ["a.py"]),
        (["--repro-capsules", "--repro-flake-check"], []),
        (["-k", "a and b", "a.py::test[--x=1]", "--", "b.py"], ["-k", "a and b", "a.py::test[--x=1]", "--", "b.py"]),
        (["--repro-seeds=1", "--repro"], ["--repro-seeds=1", "--repro"]),
    ],
)
def test_our_options_are_taken_out_with_their_values_and_nothing_else(given: list[str], left: list[str]) -> None:
    assert flake_check.strip(given) == left


@pytest.mark.parametrize(
    ("given", "runs"),
    [
        ([], None),
        (["--repro-flake-check"], 0),
        (["--repro-flake-check=12"], 12),
        (["--repro-flake-check", "12"], 12),
        (["--repro-flake-check", "tests"], 0),
    ],
)
def test_a_number_of_runs_may_follow_and_any_other_word_is_no_number(given: list[str], runs: int | None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repro-flake-check", action=_Runs, nargs="?", const="0", default=None, dest="runs")
    assert parser.parse_known_args(given)[0].runs == runs


def config_of(*arguments: str) -> Any:
    options = SimpleNamespace(
        repro_flake_check=0, repro_seed="3", repro_budget=None, repro_capsules=None, verbose=-1, color="no"
    )
    return SimpleNamespace(option=options, invocation_params=SimpleNamespace(args=arguments, dir=Path("/x")))


def test_what_was_selected_and_asked_for_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: dict[str, object] = {}

    def check(**order: object) -> int:
        heard.update(order)
        return 3

    monkeypatch.setattr(door, "flake_check", check)
    assert flake_check.hand_over(config_of("--repro-flake-check", "-q", "tests")) == 3
    assert heard == {
        "directory": "/x",
        "arguments": ["-q", "tests"],
        "runs": None,
        "seed": "3",
        "budget": None,
        "capsules": None,
        "quiet": True,
        "color": "no",
    }


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("--repro-flake-check=many", '--repro-flake-check = "many": must be whole number, at least 2'),
        ("--repro-flake-check=", '--repro-flake-check = "nothing": must be whole number'),
        ("--repro-flake-check=1", "--repro-flake-check = 1: must be whole number, at least 2"),
        ("--repro-seed=x", '--repro-seed = "x": must be whole number, at least 0'),
        ("--repro-budget=x", '--repro-budget = "x": must be seconds, more than 0'),
    ],
)
def test_a_bad_value_is_refused_by_the_name_it_has_at_this_door(given: str, called: str, project: MakeProject) -> None:
    done = pytest_in(project({"test_a.py": "def test_a():\n    pass\n"}), OURS, "--repro-flake-check", given)
    assert done.returncode == 2, done
    error, following = done.stderr.splitlines()
    assert error.startswith(f"error: {called}")
    assert following == "next:  See `pytest --help` (group repro-gate)."


def test_every_next_step_names_only_what_can_be_typed_at_this_door() -> None:
    steps = [error.default_next_step for error in ReproGateError.__subclasses__()]
    assert any("`--" in step for step in steps)
    typed = [door.typed_here(step) for step in steps]
    options = {word for step in typed for word in re.findall(r"`(--[a-z-]+)", step)}
    assert options <= set(door.OPTIONS.values())
    assert not any("`repro-gate --help`" in step for step in typed)
    assert door.typed_here("or run with `--sandbox host` (x).") == "or run with `REPRO_GATE_SANDBOX=host` (x)."
    assert door.typed_here("Run with `--no-fork`; `--runs 3`.") == (
        "Run with `repro-gate scan --no-fork`; `--repro-flake-check=3`."
    )
    assert door.typed_here("Make `python -m pytest --collect-only` work.") == (
        "Make `python -m pytest --collect-only` work."
    )


def test_where_only_the_plugin_is_installed_pytest_refuses_the_option_and_says_what_to_install(
    project: MakeProject,
) -> None:
    place = project({"test_a.py": "def test_a():\n    raise AssertionError('was run')\n"})
    done = pytest_in(place, OURS, "--repro-flake-check", before="sys.modules['repro_gate'] = None")
    assert done.returncode == 4, done
    assert "--repro-flake-check needs the whole of repro-gate" in done.stderr
    assert "pip install repro-gate" in done.stderr
    assert "was run" not in done.stdout


# --- an ordinary run -------------------------------------------------------------------------

# Fails twice, then passes; the counter is outside of what a retry resets.
UNLUCKY = """\
    attempts = []

    def test_unlucky():
        attempts.append(1)
        assert len(attempts) > 2, "attempt %d" % len(attempts)

    def test_fine():
        pass

    def test_broken():
        raise ValueError("always")
    """
NAMES = """\
    def pytest_unconfigure(config):
        names = [name for name, _ in config.pluginmanager.list_name_plugin() if name.startswith("repro-gate")]
        print("OURS", names)
    """


def test_an_ordinary_run_has_none_of_our_parts_registered(project: MakeProject) -> None:
    place = project({"conftest.py": NAMES, "test_a.py": "def test_a():\n    pass\n"})
    done = pytest_in(place, OURS, "-s")
    assert done.returncode == 0, done
    assert "OURS []" in done.stdout
    with_retries = pytest_in(place, OURS, "-s", "-ppytest_rerunfailures")
    assert "OURS ['repro-gate-retries']" in with_retries.stdout


def test_a_test_that_passed_on_a_retry_is_named_in_summary_junit_file_and_cache(project: MakeProject) -> None:
    place = project({"test_a.py": UNLUCKY})
    done = pytest_in(
        place, OURS, "-ppytest_rerunfailures", "--reruns=3", "--junit-xml=j.xml", "-o", "junit_family=xunit2"
    )
    assert done.returncode == 1, done
    out = " ".join(done.stdout.split())
    assert "flaky: passed only on a retry" in out
    assert "test_a.py::test_unlucky (attempt 3) first failure: AssertionError: attempt 1" in out
    assert "pytest --repro-flake-check" in out
    assert out.count("(attempt ") == 1

    properties = {
        str(case.get("name")): {p.get("name"): p.get("value") for p in case.iter("property")}
        for case in ET.parse(place / "j.xml").getroot().iter("testcase")
    }
    assert properties == {
        "test_unlucky": {"repro-gate-flaky": "passed on attempt 3"},
        "test_fine": {},
        "test_broken": {},
    }

    (kept,) = json.loads((place / ".pytest_cache/v/repro-gate/retries").read_text(encoding="utf-8"))
    assert (kept["id"], kept["attempt"]) == ("test_a.py::test_unlucky", 3)
    assert [text.split("\n")[0] for text in kept["failures"]] == [
        "AssertionError: attempt 1",
        "AssertionError: attempt 2",
    ]


def test_a_run_whose_retries_did_not_help_or_were_not_needed_says_nothing(project: MakeProject) -> None:
    place = project({"test_a.py": UNLUCKY})
    done = pytest_in(place, OURS, "-ppytest_rerunfailures", "--reruns=1")
    assert done.returncode == 1, done
    assert "passed only on a retry" not in done.stdout
    assert not (place / ".pytest_cache/v/repro-gate").exists()


def test_a_test_whose_teardown_fails_in_the_end_did_not_pass_on_a_retry(project: MakeProject) -> None:
    teardown = """\
        import pytest

        attempts = []

        @pytest.fixture
        def place():
            yield
            assert not attempts[1:], "left something behind"

        def test_unlucky(place):
            attempts.append(1)
            assert attempts[1:]
        """
    done = pytest_in(project({"test_a.py": teardown}), OURS, "-ppytest_rerunfailures", "--reruns=1")
    assert done.returncode == 1, done
    assert "left something behind" in done.stdout
    assert "passed only on a retry" not in done.stdout


def test_without_a_cache_a_retry_is_still_named(project: MakeProject) -> None:
    place = project({"test_a.py": UNLUCKY})
    done = pytest_in(place, OURS, "-ppytest_rerunfailures", "--reruns=3", "-pno:cacheprovider")
    assert "flaky: passed only on a retry" in done.stdout
    assert "INTERNALERROR" not in done.stdout + done.stderr


@pytest.mark.slow
def test_under_xdist_a_retry_is_named_once_and_by_the_controller(project: MakeProject) -> None:
    place = project({"test_a.py": UNLUCKY})
    done = pytest_in(place, OURS, "-ppytest_rerunfailures", "-pxdist", "-n1", "--reruns=3")
    assert done.stdout.count("(attempt 3)") == 1, done
    (kept,) = json.loads((place / ".pytest_cache/v/repro-gate/retries").read_text(encoding="utf-8"))
    assert kept["attempt"] == 3


def test_the_next_campaign_begins_with_what_passed_on_a_retry(tmp_path: Path) -> None:
    from repro_gate.pipeline.scan import _passed_on_retry

    assert _passed_on_retry(tmp_path) == frozenset()
    place = tmp_path / ".pytest_cache/v/repro-gate"
    place.mkdir(parents=True)
    for text, found in (('[{"id": "a.py::t"}]', {"a.py::t"}), ("[{}]", set()), ("{", set()), ("7", set())):
        (place / "retries").write_text(text, encoding="utf-8")
        assert _passed_on_retry(tmp_path) == found
