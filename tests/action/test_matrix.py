"""Every event, every token, every mood of the API, by `act`: exit code, outputs, calls and summary of the whole action.

The gate itself ran for real once for each result, and is played back. Some run always, the others with `deep`.
"""

from __future__ import annotations

import itertools
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.action.conftest import FIXED, git, merge, parents
from tests.action.played_back import Record, playing_back, record
from tests.action.stage import Stage
from tests.action.test_gate import gate
from tests.action.test_reporting import zipped
from tests.github_api import events
from tests.github_api.memory import READONLY, WRITE
from tests.github_api.server import BROKEN, HANGING, LIMIT, GitHub, Trouble

TOKENS = {"write": WRITE, "read-only": READONLY, "none": ""}
TROUBLES = {"up": "", "rate limit": LIMIT, "server error": BROKEN, "hanging": HANGING}
PULLS = ("own", "fork", "dependabot")
SCANS = ("schedule", "dispatch")
RESULTS = {
    "own": "fail",
    "fork": "pass",
    "dependabot": "fail",
    "merge_group": "pass",
    "push": "fail",
    "schedule": "scan",
    "dispatch": "scan",
    "workflow_run": "fail",
}
# Each event, token and mood at least once.
ALWAYS = {
    ("own", "write", "hanging"),
    ("fork", "none", "server error"),
    ("dependabot", "read-only", "rate limit"),
    ("merge_group", "write", "up"),
    ("push", "write", "server error"),
    ("schedule", "write", "up"),
    ("dispatch", "read-only", "hanging"),
    ("workflow_run", "write", "up"),
}
ALL = list(itertools.product(RESULTS, TOKENS, TROUBLES))

UNPROVED = {**FIXED, "tests/test_till.py": "from till import total\n\n\ndef test_new():\n    assert total([4]) == 4\n"}
BRITTLE = {
    "tests/test_till.py": "BASKET = []\n\n\ndef test_add():\n    BASKET.append(1)\n\n\ndef test_total():\n    assert BASKET\n"
}
PAGES = {
    "fail": ("❌", "test_new", "passes_on_base"),
    "pass": ("✅", "test_half_a_cent", "repro-gate replay capsules/capsule-"),
    "scan": ("test_total", "order"),
}


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    base = tmp_path_factory.getbasetemp()
    return (base if worker_id == "master" else base.parent) / "records"


@pytest.fixture(scope="session")
def records(shared: Path, action: Path, venvs: Path) -> Callable[[str], Record]:
    """The record of a result: a gate that fails, one that passes, a scan that finds something."""
    head = {"fail": UNPROVED, "pass": FIXED, "scan": BRITTLE}

    def recorded(result: str) -> Record:
        def play(project: Path) -> Any:
            stage = Stage(place=shared / result / "stage", action=action, venvs=venvs, python=sys.executable)
            if result == "scan":
                return stage.play(gate(seeds="4", comment='"off"'), "schedule", events.schedule(), project)
            event = events.pull_request(*reversed(parents(project)), title="Fix half a cent")
            return stage.play(gate(gates="fail-to-pass", comment='"off"'), "pull_request", event, project)

        return record(shared / result, lambda top: merge(top, head[result]), play)

    return recorded


@pytest.fixture(scope="session")
def plays_back(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return playing_back(tmp_path_factory.mktemp("plays-back"))


def event_of(name: str, base: str, head: str, tested: str) -> tuple[str, dict[str, Any]]:
    made: dict[str, tuple[str, dict[str, Any]]] = {
        "own": ("pull_request", events.pull_request(head, base)),
        "fork": ("pull_request", events.pull_request(head, base, fork=True)),
        "dependabot": ("pull_request", events.pull_request(head, base, author="dependabot[bot]")),
        "merge_group": ("merge_group", events.merge_group(tested, base)),
        "push": ("push", events.push(base, tested)),
        "schedule": ("schedule", events.schedule()),
        "dispatch": ("workflow_dispatch", events.workflow_dispatch()),
        "workflow_run": ("workflow_run", events.workflow_run(99, head)),
    }
    return made[name]


@dataclass(frozen=True)
class Case:
    event: str
    token: str
    trouble: str

    @property
    def result(self) -> str:
        return RESULTS[self.event]

    @property
    def may_write(self) -> bool:
        return self.token == "write" and self.trouble == "up"

    @property
    def surfaces(self) -> list[list[str]]:
        """What is asked for each place of a report, up to the change; `!` stands before what changes something."""
        check_run, comment = ["!POST /check-runs"], ["GET /issues/7/comments", "!POST /issues/7/comments"]
        if self.event in SCANS:
            return [["GET /issues", "!POST /issues"]]
        if self.event == "workflow_run":
            run = ["GET /actions/runs/99", "GET /pulls", "GET /actions/runs/99", "GET /actions/runs/99/artifacts"]
            return [[*run, "GET /actions/artifacts/N/zip", *check_run], comment]
        return [check_run, comment] if self.event in PULLS else [check_run]

    @property
    def calls(self) -> list[str]:
        """What GitHub is asked, without repetitions: nothing without a token, and nothing behind trouble."""
        if self.token == "none":
            return []
        if self.trouble == "up":
            return [call.removeprefix("!") for surface in self.surfaces for call in surface]
        # The second stage must know whose report it is, and asks no further.
        first, *rest = self.surfaces[:1] if self.event == "workflow_run" else self.surfaces
        lost = self.trouble in ("server error", "hanging") and first[0] == "!POST /check-runs"
        looked = ["GET /commits/SHA/check-runs"] if lost else []  # it may be there, for all that is known
        return [first[0].removeprefix("!"), *looked, *(surface[0] for surface in rest)]

    @property
    def reporter(self) -> str:
        if self.may_write:
            return "issues" if self.event in SCANS else "check-run"
        if self.event == "workflow_run" and not (self.token == "read-only" and self.trouble == "up"):
            return ""  # nothing was found out that could be shown
        return "annotations" if self.result == "fail" else "none"

    @property
    def note(self) -> str:
        """What the log says where something could not be shown."""
        if self.may_write:
            return ""
        if self.token == "none":
            return "There is no token"
        return {
            "up": "403 Resource not accessible by integration",
            "rate limit": "403 API rate limit exceeded",
            "server error": "502 Server Error",
            "hanging": "GitHub does not answer",
        }[self.trouble]


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [pytest.param(Case(*each), id="-".join(each), marks=() if each in ALWAYS else (pytest.mark.deep,)) for each in ALL],
)
def test_the_verdict_is_the_gates_and_the_report_goes_as_far_as_it_may(
    records: Callable[[str], Record], plays_back: Path, tmp_path: Path, venvs: Path, case: Case
) -> None:
    kept = records(case.result)
    base, head = parents(kept.project)
    tested = git(kept.project, "rev-parse", "HEAD")
    stage = Stage(place=tmp_path / "stage", action=plays_back, venvs=venvs, python=sys.executable)
    name, payload = event_of(case.event, base, head, tested)
    with GitHub() as github:
        github.add_pull(7, head, owner="stranger")
        github.add_run(99, head, branch="fix", owner="stranger")
        github.add_artifact(99, "repro-gate-99-1-gate", zipped((kept.files / "report.json").read_bytes()))
        if case.trouble != "up":
            github.trouble.append(Trouble(kind=TROUBLES[case.trouble], retry_after=3600))
        played = stage.play(
            gate(comment="always", **{"check-run": "auto"}),
            *(name, payload, kept.project),
            api=github.url,
            token=TOKENS[case.token],
            env={"TEST_RECORD": str(kept.files)},
        )
    assert github.faults == []
    calls = asked(github)
    if case.trouble in (
        "server error",
        "hanging",
    ):  # as far as patience goes: beyond the first call that is the clock's
        assert calls[:1] == case.calls[:1]
        assert calls == case.calls[: len(calls)]
    else:
        assert calls == case.calls
    assert {call.token for call in github.calls} <= {TOKENS[case.token]}
    shown(github, case, played.outputs, head if case.event in (*PULLS, "workflow_run") else tested)
    assert played.outputs.get("reporter", "") == case.reporter
    assert case.note in played.log
    assert "Traceback" not in played.log
    assert "bug of repro-gate" not in played.log
    if case.event == "workflow_run":
        assert (played.status, played.outputs["verdict"], played.summary) == (0, "neutral", "")
        return
    gates = kept.report.get("gates", [{}])
    assert played.status == (0 if case.result == "pass" else 1), played.log
    assert played.outputs["verdict"] == ("pass" if case.result == "pass" else "fail")
    assert played.outputs["reason"] == gates[0].get("reason", "")
    assert played.outputs["tested-sha"] == tested
    assert played.outputs["base-sha"] == ("" if case.result == "scan" else base)
    assert played.outputs["artifact-name"] == f"repro-gate-5-1-{'scan' if case.event in SCANS else 'gate'}"
    assert int(played.outputs["capsule-count"]) == len(list(kept.files.glob("capsules/*.zip")))
    assert played.artifact("report.json") == kept.report
    for part in PAGES[case.result]:
        assert part in played.summary.replace("\\", "")
    assert ("git fetch origin pull/7/merge" in played.summary) is (case.event in PULLS)


def asked(github: GitHub) -> list[str]:
    """The calls, those after each other that are alike as one, and without numbers of artifacts."""
    found = []
    for call in github.calls:
        path = call.path.removeprefix(f"/repos/{github.repository}")
        path = re.sub(
            r"(?<=/artifacts/)[0-9]+|(?<=/commits/)[0-9a-f]{40}", lambda m: "SHA" if len(m[0]) > 30 else "N", path
        )
        found.append(f"{call.method} {path}")
    return [call for call, _ in itertools.groupby(found)]


def shown(github: GitHub, case: Case, outputs: dict[str, str], sha: str) -> None:
    """What stands on GitHub in the end, and that the outputs lead there."""
    comments, runs = list(github.state.comments.values()), list(github.state.check_runs.values())
    issues = [each for each in github.state.issues.values() if each["labels"]]
    if not case.may_write:
        assert github.wrote() == []
        assert outputs.get("comment-url", "") == outputs.get("check-run-url", "") == ""
        return
    has_pull = case.event in (*PULLS, "workflow_run")
    assert [each["issue_url"].rpartition("/")[2] for each in comments] == ["7"] * has_pull
    assert outputs["comment-url"] == "".join(each["html_url"] for each in comments)
    assert outputs["check-run-url"] == "".join(each["html_url"] for each in runs)
    if case.event in SCANS:
        assert [each["title"] for each in issues] == ["Flaky test: tests/test_till.py::test_total"]
        return
    conclusion = "success" if case.result == "pass" else "failure"
    assert [(each["head_sha"], each["conclusion"]) for each in runs] == [(sha, conclusion)]
    for page in (*(each["body"] for each in comments), *(each["output"]["summary"] for each in runs)):
        for part in PAGES[case.result]:
            assert part in page.replace("\\", "")


def test_what_runs_always_has_every_event_token_and_mood() -> None:
    assert [set(found) for found in zip(*ALWAYS, strict=True)] == [set(RESULTS), set(TOKENS), set(TROUBLES)]
    assert set(ALL) >= ALWAYS
    assert len(ALL) == 96
