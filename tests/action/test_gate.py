"""A pull request's job, end to end: `act` runs the action, the API is a stand-in, the gate is the real one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.action.conftest import FIXED, parents
from tests.action.stage import CHECKOUT, ROOT, Stage
from tests.github_api import events
from tests.github_api.memory import READONLY, WRITE
from tests.github_api.server import GitHub

Merged = Callable[[dict[str, str]], Path]

GATE = f"""
on: [pull_request, merge_group, push, schedule, workflow_dispatch, workflow_run, pull_request_target]
jobs:
  gate:
    runs-on: ubuntu-24.04
    steps:
      - uses: {CHECKOUT}
      - id: gate
        uses: org/repro-gate@v1
        with:
          isolation: bubblewrap
          python: {sys.executable}
          github-token: ${{{{ secrets.GITHUB_TOKEN }}}}
"""


def gate(**inputs: str) -> str:
    return GATE + "".join(f"          {name}: {value}\n" for name, value in inputs.items())


@pytest.mark.slow
def test_a_real_fix_passes_and_the_page_says_how_to_see_it_again(run_action: Stage, merged: Merged) -> None:
    project = merged(FIXED)
    base, head = parents(project)
    with GitHub() as github:
        github.add_pull(7, head)
        event = events.pull_request(head, base, title="Fix half a cent")
        played = run_action.play(
            gate(comment="always", **{"check-run": "auto"}), "pull_request", event, project, api=github.url, token=WRITE
        )
        assert played.status == 0, played.log
        [comment] = github.state.comments.values()
        [run] = github.state.check_runs.values()
    assert github.faults == []
    assert played.outputs["verdict"] == "pass"
    assert (played.outputs["base-sha"], played.outputs["reason"]) == (base, "proved")
    assert (played.outputs["repro-base-failed"], played.outputs["repro-head-passed"]) == ("1/1", "1/1")
    assert played.outputs["reporter"] == "check-run"
    assert (run["conclusion"], run["head_sha"]) == ("success", head)
    assert played.outputs["comment-url"] == comment["html_url"]
    capsule = "repro-gate replay capsules/capsule-"
    for page in (played.summary, comment["body"], run["output"]["summary"]):
        assert "passed" in page
        assert "test_half_a_cent" in page
        assert capsule in page
        assert "git fetch origin pull/7/merge" in page
        assert str(run_action.place) not in page
    assert played.artifact("report.json")["verdict"] == "pass"
    assert len(list(played.artifacts.rglob("capsule-*.zip"))) == int(played.outputs["capsule-count"]) == 1


@pytest.mark.slow
def test_a_test_that_proves_nothing_fails_the_job_and_a_token_that_may_only_read_changes_nothing(
    run_action: Stage, merged: Merged
) -> None:
    files = {**FIXED, "tests/test_till.py": "from till import total\n\n\ndef test_new():\n    assert total([4]) == 4\n"}
    project = merged(files)
    base, head = parents(project)
    with GitHub() as github:
        github.add_pull(7, head)
        event = events.pull_request(head, base, title="Fix half a cent", fork=True)
        played = run_action.play(
            gate(gates="fail-to-pass", **{"check-run": "auto"}),
            "pull_request",
            event,
            project,
            api=github.url,
            token=READONLY,
        )
        assert github.wrote() == []
    assert github.faults == []
    assert played.status == 1, played.log
    assert (played.outputs["verdict"], played.outputs["reason"]) == ("fail", "passes_on_base")
    assert played.outputs["reporter"] == "annotations"
    assert played.artifact("report.json")["exit_code"] == 1
    errors = [(about.get("file"), text) for name, about, text in played.commands if name == "error"]
    assert any(file == "tests/test_till.py" and "passes_on_base" in text for file, text in errors)
    assert "No comment: GitHub refuses it to this token" in played.log


def test_an_input_that_is_none_names_itself_and_the_job_is_red(run_action: Stage, merged: Merged) -> None:
    project = merged({})
    base, head = parents(project)
    played = run_action.play(gate(gates="flakey"), "pull_request", events.pull_request(head, base), project)
    assert played.status == 1
    assert (played.outputs["verdict"], played.outputs["reason"]) == ("error", "usage")
    assert "did you mean" in played.log
    assert "the input 'gates' is 'flakey'" in played.log.lower()


def test_an_event_that_hands_out_secrets_is_refused(run_action: Stage, merged: Merged) -> None:
    project = merged({})
    base, head = parents(project)
    played = run_action.play(gate(), "pull_request_target", events.pull_request(head, base), project)
    assert played.status == 1
    assert "gives a stranger's code this repository's secrets" in played.log


def test_text_of_an_input_is_never_run(run_action: Stage, merged: Merged, tmp_path: Path) -> None:
    """The negative control of passing inputs by variables: pasted into a shell's text, this makes the file."""
    project = merged({})
    base, head = parents(project)
    pwned = tmp_path / "pwned"
    evil = f'"x$(touch {pwned})`touch {pwned}`; touch {pwned}"'
    inputs = {"pytest-args": f"'{evil}'", "working-directory": f"'{evil}'"}
    run_action.play(gate(**inputs), "pull_request", events.pull_request(head, base), project)
    assert not pwned.exists()
    pasted = f"on: push\njobs: {{x: {{runs-on: ubuntu-24.04, steps: [{{run: 'echo \"$(touch {pwned})\"'}}]}}}}\n"
    run_action.play(pasted, "push", events.push(base, head), project)
    assert pwned.exists()


def test_no_directory_of_the_checkout_is_a_wrong_use(run_action: Stage, merged: Merged) -> None:
    project = merged({})
    base, head = parents(project)
    workflow = gate(**{"working-directory": "no-such"})
    played = run_action.play(workflow, "pull_request", events.pull_request(head, base), project)
    assert played.status == 1
    assert "'no-such', which is not in the checkout" in played.log


def test_the_action_names_every_third_party_step_by_its_commit() -> None:
    uses = [line.split("uses:")[1] for line in (ROOT / "action.yml").read_text().splitlines() if "uses:" in line]
    assert uses
    for each in uses:
        name, _, comment = each.strip().partition(" # v")
        assert len(name.partition("@")[2]) == 40
        assert comment
