"""Whatever the project's own options ask of pytest, an experiment collects, forks, and runs each test once."""

from __future__ import annotations

from typing import Any

import pytest

from repro_gate.model import Mode
from tests.conftest import MakeLab, MakeProject, TestLab, outcomes

TESTS = '''\
"""A mix.

>>> 1 + 1
2
"""
import os
import pathlib
import pytest
import pkg

COUNTER = pathlib.Path(os.environ["TMPDIR"]) / "runs"

def count(name):
    with COUNTER.open("a") as file:
        file.write(name + "\\n")

def test_first_fails():
    count("first")
    assert pkg.one() == 2

def test_passes(tmp_path):
    count("passes")
    assert pkg.one() == 1

@pytest.mark.skip(reason="not today")
def test_skipped():
    raise AssertionError

@pytest.mark.xfail(reason="known")
def test_xfails():
    count("xfails")
    assert 0

@pytest.fixture
def broken():
    count("broken")
    raise RuntimeError("no fixture")

def test_error(broken):
    raise AssertionError

def test_last_fails():
    count("last")
    raise ValueError("last")

def test_counts():
    """Each test ran once."""
    names = COUNTER.read_text().split()
    assert sorted(names) == sorted(set(names))
'''
EXPECTED = {
    "test_first_fails": "failed",
    "test_passes": "passed",
    "test_skipped": "skipped",
    "test_xfails": "xfailed",
    "test_error": "error",
    "test_last_fails": "failed",
    "test_counts": "passed",
}
MARKED = TESTS.replace("def test_first_fails", "@pytest.mark.flaky(reruns=2)\ndef test_first_fails")

OPTIONS = [
    "-n auto",
    "-n 2 --dist loadfile",
    "--reruns 3",
    "--reruns 3 --only-rerun AssertionError",
    "--cov=pkg --cov-fail-under=99",
    "--cov --cov-report=xml --cov-branch",
    "-p randomly",
    "-p randomly -p no:cacheprovider",
    "-x",
    "--maxfail=1",
    "--timeout=5",
    "--timeout=5 --timeout-method=thread",
    "--lf",
    "--ff",
    "--nf",
    "--stepwise",
    "-p no:cacheprovider",
    "-p no:terminal",
    "--import-mode=importlib",
    "--import-mode=append",
    "-W error",
    "--pdb",
    "-s",
    "--capture=sys",
    "--capture=tee-sys",
    "--color=yes",
    "--durations=5",
    "--junitxml=out.xml",
    "-vv",
    "-q",
    "-qq",
    "--tb=no",
    "--tb=native",
    "--strict-markers --strict-config",
    "--setup-show",
    "--runxfail",
    "--showlocals",
    "-p no:logging --disable-warnings",
    "--log-cli-level=DEBUG",
    "--basetemp=base",
    "--assert=plain",
    "--continue-on-collection-errors",
    "-p no:faulthandler",
    "-p no:assertion",
    "-p no:capture",
    "--collect-only",
    "--co -q",
    "--setup-only",
    "--setup-plan",
    "--cache-clear",
    (
        "--exitfirst --verbose --cov=pkg --reruns 2 -n 2 --timeout=60 --junitxml=o.xml --durations=3 --color=yes -W error "
        "--import-mode=importlib --strict-markers --lf --stepwise --maxfail=1 --pdb -p randomly"
    ),
]


IN_BOTH = ("-x", "--lf", "--pdb", "-s", "--collect-only", "--setup-only", "-p no:terminal", "-p no:capture", "-W error")
assert set(IN_BOTH) <= set(OPTIONS)


def needs_plugins(options: str) -> bool:
    """Whether an option is a plugin's; the others are quicker without them."""
    return any(word in options for word in ("-n ", "reruns", "cov", "timeout", "randomly"))


def files(options: str, tests: str = TESTS) -> dict[str, str]:
    beside = "asyncio_default_fixture_loop_scope = function\n" if needs_plugins(options) else ""
    return {
        "pytest.ini": f"[pytest]\n{beside}addopts = {options}\n",
        "pkg/__init__.py": "def one():\n    return 1\n",
        "test_mix.py": tests,
    }


def check(
    lab: TestLab, expected: dict[str, str], *, controls_held: bool = True, modes: tuple[Mode, ...] = tuple(Mode)
) -> None:
    facts = lab.collect()
    assert facts.ready["reason"] == ""
    assert facts.ready["fork"] is True
    for mode in modes:
        result = lab.run(mode, clean_order(facts))
        assert outcomes(result) == expected, (mode, result.notes, [run.output[-500:] for run in result.runs])
        assert result.controls_held is controls_held


def clean_order(facts: Any) -> tuple[str, ...]:
    """As written, whatever the options do to the order."""
    rank = {name: position for position, name in enumerate(EXPECTED)}
    ids = [test for test, _ in facts.tests]
    return tuple(sorted(ids, key=lambda test: rank.get(test.rpartition("::")[2], -1)))


# What only changes what is printed says least about forks.
LOOKS = (
    "--color",
    "--durations",
    "-v",
    "-q",
    "--tb",
    "--showlocals",
    "--setup-show",
    "--log-cli",
    "--capture",
    "--assert",
)


@pytest.mark.parametrize(
    "options",
    [pytest.param(each, marks=pytest.mark.deep if each.startswith(LOOKS) else ()) for each in OPTIONS],
)
def test_a_mix_of_outcomes_comes_out_right_with_addopts(project: MakeProject, host_lab: MakeLab, options: str) -> None:
    expected = dict(EXPECTED)
    if "--runxfail" in options:
        expected["test_xfails"] = "failed"
    order = "no:randomly" if "randomly" not in options else "no:xxx"
    # A fork has been through pytest's configuration already; where that could go wrong alone, both are tried.
    modes = tuple(Mode) if needs_plugins(options) or options in IN_BOTH else (Mode.FORK,)
    check(host_lab(project(files(options)), "-p", order, plugins=needs_plugins(options)), expected, modes=modes)


@pytest.mark.parametrize("options", ["--strict-markers", "--strict-markers --reruns 3", "-p no:rerunfailures"])
def test_a_mark_that_asks_for_retries_is_known_and_does_nothing(
    project: MakeProject, host_lab: MakeLab, options: str
) -> None:
    tests = MARKED
    if "no:rerunfailures" in options:
        options += " --strict-markers"
        tests = TESTS
    check(host_lab(project(files(options, tests)), "-p", "no:randomly", plugins=True), EXPECTED)


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ("-k passes", {"test_passes"}),
        ("-k 'passes or last'", {"test_passes", "test_last_fails"}),
        ("-m slow", set()),
        ("--deselect test_mix.py::test_error", set(EXPECTED) - {"test_error"}),
    ],
)
def test_the_projects_own_selection_holds(
    project: MakeProject, host_lab: MakeLab, options: str, kept: set[str]
) -> None:
    lab = host_lab(project(files(options)), "-p", "no:randomly", plugins=needs_plugins(options))
    facts = lab.collect()
    assert {test.rpartition("::")[2] for test, _ in facts.tests} == kept
    assert facts.ready["fork"] is True
    if kept:
        expected = {name: outcome for name, outcome in EXPECTED.items() if name in kept}
        if "test_counts" in expected and not kept & {"test_passes", "test_last_fails"}:
            del expected["test_counts"]
        assert outcomes(lab.run(Mode.FORK, clean_order(facts))) == expected


def test_doctests_of_modules_are_run_with_the_rest(project: MakeProject, host_lab: MakeLab) -> None:
    lab = host_lab(project(files("--doctest-modules")), "-p", "no:randomly")
    check(lab, {"test_mix": "passed", **EXPECTED})


def test_what_is_not_used_is_said(project: MakeProject, host_lab: MakeLab) -> None:
    facts = host_lab(project(files("-n 2 --reruns 3 --cov=pkg --maxfail=2")), plugins=True).collect()
    notes = " ".join(facts.notes)
    for name in ("numprocesses", "reruns", "maxfail"):
        assert name in notes


def test_reports_that_the_options_ask_for_are_not_written_by_forks(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import pathlib
        def test_one(): pass
        def test_nothing_was_written():
            assert not [p for p in pathlib.Path().glob("*") if p.suffix == ".xml" or p.name.startswith(".coverage")]
    """
    lab = host_lab(
        project(files("--cov=pkg --cov-report=xml --junitxml=out.xml", tests)), "-p", "no:randomly", plugins=True
    )
    lab.run(Mode.FORK)
    assert outcomes(lab.run(Mode.FORK)) == {"test_one": "passed", "test_nothing_was_written": "passed"}
