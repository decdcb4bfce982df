"""``repro-gate check`` on small repositories: verdicts, reports, policies, and every way to be stopped."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from repro_gate.pipeline.check_request import GATES
from tests.e2e.conftest import Done, Shell
from tests.gitrepo import Repo

SCHEMA = Path(__file__).parents[2] / "docs" / "report.schema.json"
BASE = {
    "pyproject.toml": '[project]\nname = "till"\nversion = "1"\n',
    "till.py": "def total(prices, discount=0):\n    return sum(prices) - 2 * discount\n",
    "tests/test_till.py": "from till import total\n\n\ndef test_plain():\n    assert total([1, 2]) == 3\n",
}
FIXED = {"till.py": BASE["till.py"].replace("2 * ", "")}
NEW_TEST = "\n\ndef test_discount():\n    assert total([1, 2], discount=1) == 2\n"
HEAD = {**FIXED, "tests/test_till.py": BASE["tests/test_till.py"] + NEW_TEST}
QUICK = ("--python", sys.executable, "--gates", "fail-to-pass", "--report-json", "r.json")
TEST = "tests/test_till.py::test_discount"


@pytest.fixture
def sandbox(bubblewrap_why_not: str) -> tuple[str, ...]:
    """The option for a sandbox that isolates."""
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    return ("--sandbox", "bubblewrap")


def change(place: Path, head: dict[str, str], message: str = "Fix the discount", base: dict[str, str] = BASE) -> Path:
    """A repository with base's commit on main and head's on another branch, which is checked out."""
    place.mkdir(exist_ok=True)
    repo = Repo(path=place)
    repo.git("init", "--quiet", "--initial-branch=main")
    repo.commit(base, message="Start")
    repo.git("checkout", "--quiet", "-b", "change")
    repo.commit(head, message=message)
    return place


def checked(shell: Shell, place: Path, *arguments: str, env: dict[str, str] | None = None) -> Done:
    return shell.gate("check", "--base", "main", *arguments, cwd=place, env={"REPRO_GATE_REPLAYS": "1", **(env or {})})


def report_of(place: Path) -> dict[str, Any]:
    report = dict(json.loads((place / "r.json").read_text(encoding="utf-8")))
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8"))).validate(report)
    return report


def test_a_fix_with_its_test_is_proved_and_the_printed_command_repeats_it(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    place = change(tmp_path, HEAD)
    done = checked(shell, place, *QUICK, *sandbox, "--summary", "s.md")
    assert done.code == 0, done
    report = report_of(place)
    (gate,) = report["gates"]
    assert (report["verdict"], gate["verdict"], gate["reason"]) == ("pass", "pass", "proved")
    assert [(each["id"], each["reason"]) for each in gate["proved"]] == [(TEST, "assertion")]
    assert gate["proved"][0]["failure"]["message"].startswith("assert 1 == 2")
    assert report["environment"]["sandbox"]["hermetic"] is True
    assert "test_discount" in (place / "s.md").read_text(encoding="utf-8")
    command = next(line.removeprefix("Repeat: ") for line in done.out.splitlines() if line.startswith("Repeat: "))
    assert command.startswith("REPRO_GATE_REPLAYS=1 repro-gate check ")
    again = shell.run("sh", "-c", command, cwd=place)
    assert again.code == 0, again
    assert f"proved   {TEST}" in again.out


@pytest.mark.deep
def test_all_gates_pass_on_an_honest_fix(shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]) -> None:
    place = change(tmp_path, HEAD)
    done = checked(shell, place, "--python", sys.executable, "--report-json", "r.json", *sandbox)
    assert done.code == 0, done
    report = report_of(place)
    assert [(gate["gate"], gate["verdict"]) for gate in report["gates"]] == [
        ("fail-to-pass", "pass"),
        ("network", "pass"),
        ("flaky", "pass"),
        ("coverage", "pass"),
    ]
    assert [(test["id"], test["verdict"]) for test in report["tests"]] == [(TEST, "stable")]


@pytest.mark.slow
def test_a_new_test_that_is_flaky_or_reaches_out_blocks(shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]) -> None:
    tests = (
        HEAD["tests/test_till.py"]
        + "\n\ndef test_coin():\n    import random\n    assert random.random() < 0.5\n"
        + "\n\ndef test_reaches_out():\n    import socket\n    try:\n"
        + '        socket.create_connection(("192.0.2.1", 80), 1)\n    except OSError:\n        pass\n'
    )
    place = change(tmp_path, {**FIXED, "tests/test_till.py": tests})
    done = checked(
        shell, place, "--python", sys.executable, "--gates", "network flaky", "--report-json", "r.json", *sandbox
    )
    assert done.code == 1, done
    network, flaky = report_of(place)["gates"]
    assert (network["verdict"], network["reason"]) == ("fail", "network_attempt")
    assert [finding["test"] for finding in network["findings"]] == ["tests/test_till.py::test_reaches_out"]
    assert (flaky["verdict"], flaky["reason"]) == ("fail", "flaky-tests")
    assert [finding["test"] for finding in flaky["findings"]] == ["tests/test_till.py::test_coin"]
    said = flaky["findings"][0]["next_step"]
    found = re.search(r"`(repro-gate replay [^`]+)` shows the failure again", said)
    assert found is not None, said
    replayed = shell.run(*shlex.split(found[1]), "--times", "2", "--sandbox", "host", cwd=place)
    assert replayed.code == 0, replayed


@pytest.mark.deep
@pytest.mark.parametrize(
    "named", [pytest.param("tests/test_new.py", marks=pytest.mark.deep), "tests/test_new.py::test_discount"]
)
def test_a_file_that_only_head_has_may_be_named(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...], named: str
) -> None:
    place = change(tmp_path, {**FIXED, "tests/test_new.py": "from till import total\n" + NEW_TEST})
    done = checked(shell, place, *QUICK, *sandbox, named)
    assert done.code == 0, done
    (gate,) = report_of(place)["gates"]
    assert [each["id"] for each in gate["proved"]] == ["tests/test_new.py::test_discount"]
    assert gate["findings"] == []


def test_a_test_that_fails_on_head_blocks(shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]) -> None:
    place = change(tmp_path, {"tests/test_till.py": HEAD["tests/test_till.py"]} | {"till.py": BASE["till.py"] + "# \n"})
    done = checked(shell, place, *QUICK, *sandbox)
    assert done.code == 1, done
    (gate,) = report_of(place)["gates"]
    assert gate["reason"] == "fails_on_head"
    assert [each["id"] for each in gate["refused"]] == [TEST]


def test_the_policy_is_that_of_base_and_what_the_change_alters_of_it_is_said(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    weaker = BASE["pyproject.toml"] + '[tool.repro-gate]\ngate-fail-to-pass = "off"\n'
    place = change(tmp_path, {**HEAD, "pyproject.toml": weaker, ".github/workflows/ci.yml": "on: push\n"})
    done = checked(shell, place, *QUICK, *sandbox)
    assert done.code == 0, done
    assert [gate["level"] for gate in report_of(place)["gates"]] == ["block"]
    altered = 'This change alters the policy, and was judged by base\'s: gate-fail-to-pass: "block"'
    assert altered in done.words
    of_settings, of_files = report_of(place)["policy"]
    assert of_settings.startswith(altered)
    assert of_files == "This change edits .github/workflows/ci.yml: what runs on it is decided there."


MISSPELT = BASE["pyproject.toml"] + '[tool.repro-gate]\ngate-fail-to-pas = "off"\n'


def test_a_change_that_brings_a_configuration_that_cannot_be_read_is_told_before_anything_runs(
    shell: Shell, tmp_path: Path
) -> None:
    place = change(tmp_path, {**HEAD, "pyproject.toml": MISSPELT})
    done = checked(shell, place, *QUICK)
    assert done.code == 2, done
    assert "error: This change: pyproject.toml: " in done.words
    assert 'unknown key "gate-fail-to-pas"; did you mean "gate-fail-to-pass"?' in done.words
    assert not (place / "r.json").exists()


def test_the_change_that_mends_a_configuration_is_judged_by_defaults(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    place = change(
        tmp_path, {**HEAD, "pyproject.toml": BASE["pyproject.toml"]}, base={**BASE, "pyproject.toml": MISSPELT}
    )
    done = checked(shell, place, *QUICK, *sandbox)
    assert done.code == 0, done
    [said] = report_of(place)["policy"]
    assert said.startswith("The configuration of base cannot be read, and defaults were used: pyproject.toml: ")


@pytest.mark.parametrize("python", ["no-such-python", "/bin/true"])
def test_an_interpreter_that_is_none_says_which_option_names_another(shell: Shell, tmp_path: Path, python: str) -> None:
    place = change(tmp_path, HEAD)
    done = checked(shell, place, "--python", python, "--report-json", "r.json")
    assert done.code == 3, done
    trouble = report_of(place)["trouble"]
    assert trouble["slug"] == "missing-tool"
    assert python in trouble["text"]
    assert "`--python`" in trouble["next_step"]


@pytest.mark.deep
def test_a_gate_that_only_warns_blocks_nothing(shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]) -> None:
    base = {**BASE, "repro-gate.toml": 'gate-fail-to-pass = "warn"\n'}
    place = change(tmp_path, {"till.py": BASE["till.py"].replace("2 *", "3 *")}, base=base)
    done = checked(shell, place, *QUICK, *sandbox)
    assert done.code == 0, done
    (gate,) = report_of(place)["gates"]
    assert (gate["level"], gate["verdict"]) == ("warn", "fail")


def test_what_is_said_of_the_change_decides_where_nothing_is_proved(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    place = change(tmp_path, FIXED, message="Rename things")
    verdicts = {}
    for title in ("Refactor the till", "Fix the discount"):
        (place / "event.json").write_text(json.dumps({"title": title, "body": "", "labels": [], "author": "a"}))
        done = checked(shell, place, *QUICK, *sandbox, "--event", "event.json")
        verdicts[title] = (done.code, report_of(place)["gates"][0]["verdict"])
    assert verdicts == {"Refactor the till": (0, "neutral"), "Fix the discount": (1, "fail")}


def test_no_difference_is_nothing_to_judge(shell: Shell, tmp_path: Path) -> None:
    place = change(tmp_path, HEAD)
    done = shell.gate("check", "--base", "change", "--report-json", "r.json", cwd=place)
    assert done.code == 0, done
    assert report_of(place)["verdict"] == "neutral"


@pytest.mark.parametrize("there", ["nothing", "its first version"])
def test_a_change_of_a_project_in_a_subdirectory_is_judged_from_there(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...], there: str
) -> None:
    top = {"pyproject.toml": '[project]\nname = "top"\nversion = "1"\n', "top.py": "x = 1\n"}
    own = {"pyproject.toml": BASE["pyproject.toml"] + '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'}
    own |= {"till/__init__.py": BASE["till.py"], "tests/test_till.py": BASE["tests/test_till.py"]}
    first = {f"shop/{path}": text for path, text in own.items()}
    head = {**first, "shop/till/__init__.py": FIXED["till.py"], "shop/tests/test_till.py": HEAD["tests/test_till.py"]}
    place = change(tmp_path, head, base=top if there == "nothing" else {**top, **first})
    arguments = ("--python", sys.executable, "--gates", "fail-to-pass,flaky", "--report-json", "r.json", *sandbox)
    done = checked(shell, place / "shop", *arguments)
    assert done.code == 0, done
    proof, flaky = report_of(place / "shop")["gates"]
    assert flaky["verdict"] == "pass"
    proved = {each["id"]: each["reason"] for each in proof["proved"]}
    plain = {"tests/test_till.py::test_plain": "missing_symbol", TEST: "missing_symbol"}
    assert proved == (plain if there == "nothing" else {TEST: "assertion"})


def test_a_check_in_a_subdirectory_says_where_the_projects_top_is(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    place = change(tmp_path, HEAD, base={**BASE, "src/a.py": "x = 1\n"})
    said = f"no test to judge in src, a subdirectory of the project. The project's top is {place.resolve()}:"
    done = checked(shell, place / "src", "--python", sys.executable, "--gates", "fail-to-pass,network", *sandbox)
    assert done.code == 1, done
    assert "fail-to-pass: fail (no_items)" in done.out
    assert said in done.words
    quiet = checked(shell, place / "src", "--python", sys.executable, "--gates", "network", *sandbox)
    assert quiet.code == 0, quiet
    assert "network: neutral (nothing_to_judge)" in quiet.out
    assert said in quiet.words


@pytest.mark.parametrize("base", ["other", "other~1"])
def test_without_a_commit_to_compare_with_every_gate_says_so_and_reports_are_written(
    shell: Shell, tmp_path: Path, base: str
) -> None:
    place = change(tmp_path, HEAD)
    repo = Repo(path=place)
    repo.git("checkout", "--quiet", "--orphan", "other")
    repo.commit({"a.py": "1\n"}, message="Another history")
    repo.git("checkout", "--quiet", "change")
    done = shell.gate("check", "--base", base, "--report-json", "r.json", "--summary", "s.md", cwd=place)
    assert done.code == 3, done
    report = report_of(place)
    assert [(gate["verdict"], gate["reason"]) for gate in report["gates"]] == [("inconclusive", "no_base")] * len(GATES)
    assert "no_base" in (place / "s.md").read_text(encoding="utf-8")
    assert "next:" in done.out
    assert f"Repeat: repro-gate check {shlex.quote(f'--base={base}')}" in done.out


def test_a_base_that_is_ahead_of_head_is_said(shell: Shell, tmp_path: Path) -> None:
    place = change(tmp_path, HEAD)
    Repo(path=place).git("checkout", "--quiet", "main")
    done = shell.gate("check", "--base", "change", cwd=place)
    assert done.code == 0, done
    assert "is ahead of head" in done.words


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--base", "mian"), "mian"),
        (("--base", "main", "--gates", "flakey"), "did you mean flaky?"),
        (("--base", "main", "--event", "nothing.json"), "nothing.json"),
        (("--base", "main", "--sandbox", "jail"), "sandbox"),
        (("--base", "main", "--report-json", "nowhere/deep/r.json"), "There is no directory 'nowhere/deep'"),
        (("--base", "main", "--summary", "nowhere/s.md"), "There is no directory 'nowhere'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(
    shell: Shell, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    place = change(tmp_path, HEAD)
    done = shell.gate("check", *arguments, cwd=place)
    assert done.code == 2, done
    assert words in done.words
    assert "next:" in done.err


def test_outside_of_a_repository_it_says_so(shell: Shell, tmp_path: Path) -> None:
    done = shell.gate("check", cwd=tmp_path)
    assert done.code == 2, done
    assert "next:" in done.err


def test_a_daemon_that_is_not_there_is_inconclusive(shell: Shell, tmp_path: Path) -> None:
    place = change(tmp_path, HEAD)
    env = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    done = checked(shell, place, *QUICK, "--sandbox", "docker", env=env)
    assert done.code == 3, done
    report = report_of(place)
    assert (report["verdict"], report["exit_code"]) == ("inconclusive", 3)
    assert report["trouble"]["next_step"]
    assert "next:" in done.out


@pytest.mark.parametrize(
    ("install", "words"),
    [
        (["false"], "false"),
        pytest.param(
            ["sh -c \"echo error: command \\'gcc\\' failed: No such file or directory; exit 1\""],
            "compiler",
            marks=pytest.mark.deep,
        ),
    ],
)
def test_an_install_step_that_fails_is_inconclusive(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...], install: list[str], words: str
) -> None:
    toml = BASE["pyproject.toml"] + f"[tool.repro-gate]\ninstall = {json.dumps(install)}\n"
    place = change(tmp_path / "p", HEAD, base={**BASE, "pyproject.toml": toml})
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = checked(shell, place, "--gates", "fail-to-pass", "--report-json", "r.json", *sandbox, env=env)
    assert done.code == 3, done
    report = report_of(place)
    assert report["trouble"]["slug"] == "prepare-failed"
    assert words in f"{report['trouble']['text']} {report['trouble']['next_step']}"
    assert report["gates"] == []


def test_an_interrupt_of_a_campaign_ends_the_check_and_not_that_gate_alone(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    slow = HEAD["tests/test_till.py"] + "\n\ndef test_slow():\n    import time\n    time.sleep(600)\n"
    place = change(tmp_path, {**FIXED, "tests/test_till.py": slow})
    words = ("--python", sys.executable, "--gates", "flaky,mutation", "--report-json", "r.json", *sandbox)
    process = shell.start("repro-gate", "check", "--base", "main", *words, cwd=place)
    time.sleep(12)
    os.killpg(process.pid, signal.SIGINT)
    done = shell.end(process)
    assert done.code == 130, done
    report = report_of(place)
    assert report["trouble"]["slug"] == "interrupted"
    assert [(gate["gate"], gate["reason"]) for gate in report["gates"]] == [("flaky", "incomplete")]


def test_an_interrupt_ends_everything_and_writes_what_was_found(
    shell: Shell, tmp_path: Path, sandbox: tuple[str, ...]
) -> None:
    slow = HEAD["tests/test_till.py"] + "\n\ndef test_slow():\n    import time\n    time.sleep(600)\n"
    place = change(tmp_path, {**FIXED, "tests/test_till.py": slow})
    process = shell.start("repro-gate", "check", "--base", "main", *QUICK, *sandbox, cwd=place)
    time.sleep(12)
    os.killpg(process.pid, signal.SIGINT)
    done = shell.end(process)
    assert done.code == 130, done
    report = report_of(place)
    assert report["trouble"]["slug"] == "interrupted"
    assert report["verdict"] == "inconclusive"
