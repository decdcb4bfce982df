"""``repro-gate scan`` and ``pytest --repro-flake-check``: findings, reports, exit codes."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.conftest import MakeProject
from tests.e2e.conftest import FLAKY, SHORT, Scanned, Shell, of

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"
SAID = {"test_draw": "flaky", "test_zone": "condition-dependent", "test_fine": "stable"}
GOOD = "def test_a():\n    pass\n\ndef test_b():\n    pass\n"


def report_of(project: Path) -> dict[str, Any]:
    return dict(json.loads((project / "r.json").read_text(encoding="utf-8")))


def verdicts(report: dict[str, Any]) -> dict[str, str]:
    return {test["id"].partition("::")[2]: test["verdict"] for test in report["tests"]}


# --- findings --------------------------------------------------------------------------------


def test_a_draw_and_a_zone_are_found_their_causes_named_and_the_exit_code_says_so(scanned: Scanned) -> None:
    assert scanned.done.code == 1, scanned.done
    assert verdicts(scanned.report) == SAID
    assert scanned.test("test_draw")["cause"] == "random"
    assert scanned.test("test_zone")["cause"] == "timezone"
    assert scanned.report["exit_code"] == 1


def test_what_was_found_is_printed_with_the_command_that_replays_it(scanned: Scanned) -> None:
    out = scanned.done.out
    for name in ("test_draw", "test_zone"):
        assert f"test_flaky.py::{name}" in out
        assert f"repro-gate replay {scanned.test(name)['capsule']['path']}" in out
    assert "1 flaky, 1 condition-dependent, 1 stable of 3 tests" in out
    assert "not hermetic" in out
    assert "written: out/report.json" in scanned.done.err
    assert out.splitlines()[-1] == "Repeat: repro-gate scan --runs=4 --sandbox=host --seed=3"
    assert "--seed" not in scanned.done.err


def test_the_report_is_what_its_schema_says(scanned: Scanned) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(scanned.report)


def test_the_junit_file_has_every_test_and_fails_those_that_were_found(scanned: Scanned) -> None:
    cases = {case.get("name"): case for case in ET.fromstring(scanned.junit).iter("testcase")}
    assert set(cases) == set(SAID)
    failed = {name for name, case in cases.items() if case.find("failure") is not None}
    assert failed == {"test_draw", "test_zone"}


def test_a_capsule_was_written_for_each_finding_and_replayed_each_time(scanned: Scanned) -> None:
    for name in ("test_draw", "test_zone"):
        capsule = scanned.test(name)["capsule"]
        assert scanned.capsule(name).is_file()
        assert capsule["pinned"]
        assert capsule["replays"] == [2, 2]
    assert scanned.test("test_fine")["capsule"] is None


def test_nothing_was_written_into_the_project_but_what_was_asked_for(scanned: Scanned) -> None:
    assert sorted(path.name for path in scanned.project.iterdir()) == [
        ".repro-gate",
        "out",
        "pyproject.toml",
        "test_flaky.py",
    ]


@pytest.mark.deep
@pytest.mark.slow
def test_what_uses_an_axis_meets_more_of_its_values_however_few_the_runs(shell: Shell, project: MakeProject) -> None:
    place = project(
        {
            "pyproject.toml": of("clock", "threads"),
            "test_days.py": """\
                import datetime
                import threading
                import pytest

                @pytest.mark.parametrize("day", [(1, 1), (2, 29), (12, 31)], ids="{0[0]}-{0[1]}".format)
                def test_not_on(day):
                    today = datetime.date.today()
                    assert (today.month, today.day) != day

                def test_starts_at_once():
                    begun = []
                    thread = threading.Thread(target=begun.append, args=(1,))
                    thread.start()
                    at_once = bool(begun)
                    thread.join()
                    assert at_once

                def test_in_this_decade():
                    assert datetime.datetime.now().year < 2038

                @pytest.mark.parametrize("n", range(200))
                def test_fine(n):
                    pass
                """,
        }
    )
    done = shell.gate("scan", "--sandbox", "host", "--runs", "4", "--seed", "5", "--report-json", "r.json", cwd=place)
    assert done.code == 1, done
    found = {test["id"]: test["cause"] for test in report_of(place)["tests"] if test["verdict"] != "stable"}
    days = [f"test_days.py::test_not_on[{day}]" for day in ("1-1", "2-29", "12-31")]
    by_clock = dict.fromkeys([*days, "test_days.py::test_in_this_decade"], "clock")
    assert found == {**by_clock, "test_days.py::test_starts_at_once": "threads"}


@pytest.mark.deep
@pytest.mark.slow
def test_without_forks_the_verdicts_and_causes_are_the_same(shell: Shell, scanned: Scanned, checkout: Path) -> None:
    done = shell.scan(checkout, "--no-fork", "--report-json", "r.json")
    report = report_of(checkout)
    assert done.code == 1, done
    assert verdicts(report) == SAID
    assert [test["cause"] for test in report["tests"]] == [test["cause"] for test in scanned.report["tests"]]
    assert "asked for with --no-fork" in done.words


@pytest.mark.slow
def test_pytest_itself_is_a_door_to_the_same_scan(shell: Shell, checkout: Path) -> None:
    done = shell.run(
        "pytest",
        "--repro-flake-check=4",
        "--repro-seed",
        "3",
        "--repro-capsules=caps",
        "test_flaky.py",
        cwd=checkout,
        env={"REPRO_GATE_SANDBOX": "host"},
        plugins=True,
    )
    assert done.code == 1, done
    assert "1 flaky, 1 condition-dependent, 1 stable of 3 tests" in done.out
    assert len(list((checkout / "caps").glob("capsule-*.zip"))) == 2
    assert "pytest --repro-flake-check=4 --repro-seed=3 test_flaky.py" in done.words


@pytest.mark.slow
def test_in_bubblewrap_a_zone_is_found_too(shell: Shell, project: MakeProject, bubblewrap_why_not: str) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    place = project({**FLAKY, "test_flaky.py": FLAKY["test_flaky.py"].replace("random.random() < 0.5", "True")})
    done = shell.gate("scan", "--sandbox", "bubblewrap", "--runs", "4", "--report-json", "r.json", cwd=place)
    assert done.code == 1, done
    assert verdicts(report_of(place)) == {**SAID, "test_draw": "stable"}
    assert report_of(place)["environment"]["sandbox"]["hermetic"] is True, report_of(place)["environment"]


def test_the_same_seed_repeats_every_draw_in_every_run(shell: Shell, project: MakeProject) -> None:
    files = {
        "pyproject.toml": '[tool.repro-gate]\nkeep-runs = "raw"\n',
        "test_tell.py": """\
            import os, random, sys, time, pytest

            @pytest.mark.parametrize("n", range(3))
            def test_tell(n):
                facts = time.tzname, os.environ.get("PYTHONHASHSEED"), random.random(), hash("x"), sorted(os.environ)
                assert not facts
            """,
    }

    def scanned(name: str) -> tuple[int, dict[str, list[tuple[str, str]]]]:
        place = project(files, name)
        done = shell.scan(place, "--no-causes", "--report-json", "r.json")
        assert done.code == 0, done
        runs = {}
        for path in sorted((place / "raw").glob("run-*.jsonl")):
            lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            runs[path.name] = [(line["id"], line["f"]["message"]) for line in lines]
        return report_of(place)["campaign"]["hash_seeds"], runs

    # How many starts there are depends on how long one takes, which a busy machine decides.
    pairs = ((scanned(f"one{attempt}"), scanned(f"two{attempt}")) for attempt in range(5))
    one, two = next(runs for runs in pairs if runs[0][0] == runs[1][0])
    assert len(one[1]) >= 4
    assert one == two
    assert len({str(run) for run in one[1].values()}) > 2


def test_a_path_with_spaces_and_other_scripts_is_a_path_like_any_other(shell: Shell, project: MakeProject) -> None:
    place = project({"tést dir/test_ü b.py": GOOD, "pytest.ini": "[pytest]\n"}, "a b'c ⌘ ж")
    done = shell.scan(place, "tést dir", "--report-json", "r.json")
    assert done.code == 0, done
    assert {test["id"] for test in report_of(place)["tests"]} == {
        "tést dir/test_ü b.py::test_a",
        "tést dir/test_ü b.py::test_b",
    }


# --- nothing found ---------------------------------------------------------------------------


def test_a_clean_suite_exits_with_0_and_says_what_that_rests_on(shell: Shell, project: MakeProject) -> None:
    done = shell.scan(project({"test_a.py": GOOD}))
    assert done.code == 0, done
    assert "2 stable of 2 tests" in done.out
    assert "at 95 % each" in done.words


def test_quiet_prints_nothing_but_findings_and_colours_are_left_out_when_told(
    shell: Shell, project: MakeProject
) -> None:
    done = shell.scan(project({"test_a.py": GOOD}), "--quiet", "--no-color", env={"FORCE_COLOR": "1"})
    assert done.code == 0, done
    assert done.err == ""
    assert "2 stable of 2 tests" in done.out
    assert "\x1b" not in done.out


def test_tests_that_always_fail_are_no_flakes_and_that_is_said(shell: Shell, project: MakeProject) -> None:
    done = shell.scan(project({"pyproject.toml": SHORT, "test_a.py": "def test_a():\n    assert 0\n"}))
    assert done.code == 0, done
    assert "1 always-failing of 1 test" in done.out
    assert "Tests that always fail do not make a scan red" in done.words


def test_no_tests_at_all_is_nothing_to_judge(shell: Shell, project: MakeProject) -> None:
    done = shell.scan(project({"test_a.py": "x = 1\n"}))
    assert done.code == 0, done
    assert "No tests to judge" in done.out
    assert "subdirectory" not in done.words


def test_no_tests_in_a_subdirectory_say_where_the_projects_top_is(shell: Shell, project: MakeProject) -> None:
    place = project({"pyproject.toml": SHORT, "test_a.py": GOOD, "src/shop.py": "x = 1\n"})
    done = shell.scan(place / "src")
    assert done.code == 0, done
    assert "No tests to judge." in done.out
    assert "no test to judge in src, a subdirectory of the project." in done.words
    assert f"The project's top is {place.resolve()}:" in done.words


def test_the_printed_command_repeats_what_variables_set(shell: Shell, project: MakeProject) -> None:
    place = project({"pyproject.toml": SHORT, "test_a.py": GOOD, "test_b.py": GOOD})
    first = shell.scan(place, env={"REPRO_GATE_PYTEST_ARGS": "-k 'not test_b'"})
    command = first.out.splitlines()[-1].removeprefix("Repeat: ")
    assert command.startswith("REPRO_GATE_PYTEST_ARGS=")
    again = shell.run("sh", "-c", command, cwd=place)
    assert (first.code, again.code) == (0, 0), again
    told = [line.split(" in ")[0] for done in (first, again) for line in done.out.splitlines() if "stable of" in line]
    assert len(told) == 2
    assert told[0] == told[1]


def test_a_file_that_cannot_be_imported_is_named_and_the_others_are_judged(shell: Shell, project: MakeProject) -> None:
    place = project({"test_a.py": GOOD, "test_b.py": "import not_there_at_all\n"})
    done = shell.scan(place, "--report-json", "r.json")
    assert done.code == 0, done
    assert "collection error: " in done.words
    assert "not_there_at_all" in done.words
    assert [test["verdict"] for test in report_of(place)["tests"]] == ["stable", "stable", "not-judged"]


def test_a_suite_of_which_nothing_can_be_imported_is_inconclusive(shell: Shell, project: MakeProject) -> None:
    done = shell.scan(project({"test_b.py": "import not_there_at_all\n"}))
    assert done.code == 3, done
    assert "Not one test could be judged" in done.words


# --- refused ---------------------------------------------------------------------------------


def test_a_broken_conftest_is_inconclusive_in_pytests_own_words(shell: Shell, project: MakeProject) -> None:
    done = shell.scan(project({"test_a.py": GOOD, "conftest.py": "import not_there_at_all\n"}))
    assert done.code == 3, done
    assert "before it had a list of tests" in done.words
    assert "not_there_at_all" in done.words
    assert "--collect-only" in done.words


@pytest.mark.parametrize("missing", ["nope/", "test_b.py", "test_b.py::test_a[x]"])
@pytest.mark.parametrize("door", [("repro-gate", "scan"), ("pytest", "--repro-flake-check")], ids=["scan", "pytest"])
def test_a_path_that_does_not_exist_is_a_usage_error_in_two_lines(
    door: tuple[str, ...], missing: str, shell: Shell, project: MakeProject
) -> None:
    done = shell.run(*door, missing, cwd=project({"test_a.py": GOOD}), plugins=True)
    assert done.code == 2, done
    assert done.out == ""
    error, following = done.err.splitlines()
    assert error.startswith(f"error: {missing!r} ")
    assert following.startswith("next:  Name a file, a directory or a test id")


def test_an_unknown_key_is_refused_with_file_key_and_the_name_that_was_meant(
    shell: Shell, project: MakeProject
) -> None:
    done = shell.scan(project({"pyproject.toml": "[tool.repro-gate]\nbugdet = 3\n", "test_a.py": GOOD}))
    assert done.code == 2, done
    for word in ("pyproject.toml", "bugdet", "budget"):
        assert word in done.words
    assert "next:" in done.err


@pytest.mark.parametrize("by", ["option", "active environment"])
def test_an_interpreter_without_pytest_is_named_with_the_next_step(
    by: str, shell: Shell, project: MakeProject, empty_python: Path
) -> None:
    option = ["--python", str(empty_python)] if by == "option" else []
    env = {} if option else {"VIRTUAL_ENV": str(empty_python.parents[1])}
    done = shell.scan(project({"test_a.py": GOOD}), *option, env=env)
    assert done.code == 3, done
    assert f"pytest is not installed for '{empty_python}'" in done.words
    assert f"{empty_python} -m pip install pytest" in done.words


def test_an_option_wins_over_the_active_environment(shell: Shell, project: MakeProject, empty_python: Path) -> None:
    import sys

    env = {"VIRTUAL_ENV": str(empty_python.parents[1])}
    done = shell.scan(project({"test_a.py": GOOD}), "--python", sys.executable, "--no-causes", env=env)
    assert done.code == 0, done


def test_a_test_that_is_not_in_its_file_is_named_with_what_was_meant(shell: Shell, checkout: Path) -> None:
    for door in (("repro-gate", "scan", "--sandbox", "host"), ("pytest", "--repro-flake-check")):
        env = {"REPRO_GATE_SANDBOX": "host"}
        done = shell.run(*door, "test_flaky.py::test_zoned", cwd=checkout, env=env, plugins=door[0] == "pytest")
        assert done.code == 2, done
        assert "'test_flaky.py::test_zoned' names no test: test_flaky.py has none of this name." in done.words
        assert "did you mean 'test_flaky.py::test_zone'?" in done.words
