"""The API's client against a stand-in that checks every request and answer by GitHub's own description."""

from __future__ import annotations

import io
import time
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest

from repro_gate.errors import EvidenceRefused, GitHubRefused, GitHubUnavailable
from repro_gate.github import patience
from repro_gate.github.annotations import Annotation
from repro_gate.github.patience import Clock
from repro_gate.github.remote import CheckRun, Proposal, Remote, connect
from repro_gate.report.remarks import Severity
from tests.github_api.memory import CLASSIC, READONLY, WRITE
from tests.github_api.server import BROKEN, HANGING, LIMIT, LOST, SECONDARY, GitHub, Trouble

SHA = "b" * 40
MARK = "<!-- repro-gate: report -->"


@pytest.fixture(params=[False, True], ids=["github.com", "enterprise"])
def github(request: pytest.FixtureRequest) -> Iterator[GitHub]:
    with GitHub(enterprise=request.param) as server:
        yield server
    assert server.faults == []


def remote(github: GitHub, token: str = WRITE, slept: list[float] | None = None) -> Remote:
    kept: list[float] = [] if slept is None else slept
    return connect(token, github.url, github.repository, Clock(sleep=kept.append, now=lambda: 0.0))


def check_run(conclusion: str = "success", identity: str = "run-5-1") -> CheckRun:
    return CheckRun(identity=identity, sha=SHA, name="n", conclusion=conclusion, title="t", summary="s")


def beside_lines(number: int) -> list[Annotation]:
    return [
        Annotation(severity=Severity.ERROR, title="t", message=f"m{line}", path="a.py", line=line)
        for line in range(1, number + 1)
    ]


def zipped(**files: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "."), content)
    return data.getvalue()


def test_a_comment_is_made_once_and_then_kept_up_to_date(github: GitHub) -> None:
    github.add_pull(7, SHA)
    first = remote(github).comment(7, MARK, f"{MARK}\nred", create=True)
    again = remote(github).comment(7, MARK, f"{MARK}\ngreen", create=False)
    assert first == again
    assert [each["body"] for each in github.state.comments.values()] == [f"{MARK}\ngreen"]


def test_a_comment_is_found_on_a_later_page_and_one_of_a_person_is_not_taken_for_it(github: GitHub) -> None:
    github.add_pull(7, SHA)
    persons = github.add_comment(7, f"{MARK}\nforged", login="mallory", bot=False)
    for number in range(205):
        github.add_comment(7, f"talk {number}", login="somebody", bot=False)
    ours = github.add_comment(7, f"{MARK}\nold", login="github-actions[bot]", bot=True)
    remote(github).comment(7, MARK, f"{MARK}\nnew", create=True)
    assert github.state.comments[ours]["body"] == f"{MARK}\nnew"
    assert github.state.comments[persons]["body"] == f"{MARK}\nforged"
    assert len(github.state.comments) == 207


def test_no_comment_is_made_where_none_is_wanted(github: GitHub) -> None:
    github.add_pull(7, SHA)
    assert remote(github).comment(7, MARK, "x", create=False) == ""
    assert github.wrote() == []


def test_a_check_run_takes_as_many_requests_as_its_annotations_need(github: GitHub) -> None:
    address = remote(github).check_run(check_run("failure"), beside_lines(120))
    [(number, run)] = github.state.check_runs.items()
    assert run["html_url"] == address
    assert [each["start_line"] for each in github.state.annotations[number]] == list(range(1, 121))
    assert [method for method, _ in github.wrote()] == ["POST", "PATCH", "PATCH"]


def test_an_issue_is_opened_once_and_opened_again_when_it_was_closed(github: GitHub) -> None:
    first = remote(github).issue("<!-- f -->", "Flaky", "<!-- f -->\nold", "flaky-test")
    [issue] = github.state.issues.values()
    issue["state"] = "closed"
    assert remote(github).issue("<!-- f -->", "Flaky", "<!-- f -->\nnew", "flaky-test") == first
    assert (issue["state"], issue["body"]) == ("open", "<!-- f -->\nnew")
    assert remote(github).issue("<!-- g -->", "Other", "<!-- g -->\n", "flaky-test") != first


def test_the_pull_request_of_a_forks_run_is_what_github_says(github: GitHub) -> None:
    github.add_pull(7, SHA, branch="fix", owner="stranger")
    github.add_pull(8, "c" * 40, branch="fix", owner="other")
    github.add_run(5, SHA, branch="fix", owner="stranger")
    github.add_run(6, SHA, branch="main", owner="stranger")
    assert remote(github).pull_of(5) == (7, SHA)
    assert remote(github).pull_of(6) is None


def test_a_run_whose_branch_has_moved_on_is_reported_to_nobody(github: GitHub) -> None:
    github.add_pull(7, "d" * 40, branch="fix", owner="stranger")
    github.add_run(5, SHA, branch="fix", owner="stranger")
    assert remote(github).pull_of(5) is None


def test_a_report_is_taken_from_the_newest_of_our_artifacts(github: GitHub) -> None:
    github.add_run(5, SHA, branch="fix", owner="stranger")
    github.add_artifact(5, "repro-gate-5-1-gate", zipped(report__json=b"old"))
    github.add_artifact(5, "repro-gate-5-2-gate", zipped(report__json=b"new", other=b""))
    github.add_artifact(5, "coverage", zipped(report__json=b"foreign"))
    assert remote(github).report_of(5, "report.json") == b"new"


@pytest.mark.parametrize("data", [b"no zip", zipped(other=b"x"), b""])
def test_an_artifact_without_a_report_is_named(github: GitHub, data: bytes) -> None:
    github.add_run(5, SHA, branch="fix", owner="stranger")
    github.add_artifact(5, "repro-gate-5-1-gate", data)
    with pytest.raises(EvidenceRefused, match=r"No artifact of run 5 holds a report\.json"):
        remote(github).report_of(5, "report.json")


def test_a_pull_request_is_proposed_once(github: GitHub) -> None:
    proposal = Proposal(branch="repro/x", base="main", title="t", body="b", files={"tests/test_x.py": b"pass\n"})
    first = remote(github).propose(proposal)
    assert remote(github).propose(proposal) == first
    assert github.state.refs["refs/heads/repro/x"] == "a" * 40
    assert list(github.state.files) == [("repro/x", "tests/test_x.py")]


@pytest.mark.parametrize("token", [READONLY, CLASSIC])
def test_a_token_that_may_not_write_is_refused_at_once(github: GitHub, token: str) -> None:
    slept: list[float] = []
    with pytest.raises(GitHubRefused, match="403 Resource not accessible by integration"):
        remote(github, token, slept).check_run(check_run(), [])
    assert slept == []


def test_without_a_token_nothing_is_asked(github: GitHub) -> None:
    with pytest.raises(GitHubRefused, match="There is no token"):
        remote(github, "")
    with pytest.raises(GitHubRefused, match="401 Bad credentials"):
        remote(github, "wrong").comment(7, MARK, "x", create=True)


@pytest.mark.parametrize(
    ("trouble", "waited"),
    [
        ({"kind": BROKEN, "times": 2}, [1.0, 2.0]),
        ({"kind": SECONDARY, "times": 1, "retry_after": 7}, [7.0]),
        ({"kind": SECONDARY, "times": 1, "retry_after": None}, [60.0]),
    ],
    ids=["server error", "secondary limit", "secondary limit without a time"],
)
def test_trouble_that_passes_is_waited_for(github: GitHub, trouble: dict[str, Any], waited: list[float]) -> None:
    github.add_pull(7, SHA)
    github.trouble.append(Trouble(**trouble))
    slept: list[float] = []
    remote(github, WRITE, slept).comment(7, MARK, f"{MARK}\nx", create=True)
    assert len(github.state.comments) == 1
    assert slept == waited


def test_a_limit_that_ends_too_late_is_not_waited_for(github: GitHub) -> None:
    github.trouble.append(Trouble(kind=LIMIT, retry_after=3600))
    slept: list[float] = []
    with pytest.raises(GitHubUnavailable, match="rate limit"):
        remote(github, WRITE, slept).comment(7, MARK, "x", create=True)
    assert slept == []


def test_trouble_without_an_end_is_given_up(github: GitHub) -> None:
    github.trouble.append(Trouble(kind=BROKEN))
    slept: list[float] = []
    with pytest.raises(GitHubUnavailable, match="502 Server Error"):
        remote(github, WRITE, slept).comment(7, MARK, "x", create=True)
    assert len(slept) == 3


# --- an answer that is lost: what was asked is done, and nobody says so ----------------------------


def losing(github: GitHub, times: int = 1, part: str = "") -> Remote:
    github.trouble.append(Trouble(kind=LOST, times=times, part=part, writes_only=True))
    return remote(github)


def test_a_comment_whose_answer_is_lost_is_looked_for_and_not_made_twice(github: GitHub) -> None:
    github.add_pull(7, SHA)
    address = losing(github).comment(7, MARK, f"{MARK}\nx", create=True)
    assert [each["html_url"] for each in github.state.comments.values()] == [address]


def test_a_comment_of_the_tokens_owner_is_kept_up_to_date_and_that_of_another_person_is_not(github: GitHub) -> None:
    github.add_pull(7, SHA)
    persons = github.add_comment(7, f"{MARK}\nforged", login="mallory", bot=False)
    first = losing(github).comment(7, MARK, f"{MARK}\nred", create=True)
    assert remote(github, CLASSIC).comment(7, MARK, f"{MARK}\nstill the bot's", create=True) == first
    bots = next(number for number, each in github.state.comments.items() if each["html_url"] == first)
    del github.state.comments[bots]
    own = remote(github, CLASSIC)
    github.trouble.append(Trouble(kind=LOST, times=1, writes_only=True))
    second = own.comment(7, MARK, f"{MARK}\nred", create=True)
    assert own.comment(7, MARK, f"{MARK}\ngreen", create=True) == second
    assert remote(github, CLASSIC).comment(7, MARK, f"{MARK}\ngreen", create=False) == second
    assert github.state.comments[persons]["body"] == f"{MARK}\nforged"
    assert len(github.state.comments) == 2


def test_an_issue_whose_answer_is_lost_is_not_opened_twice(github: GitHub) -> None:
    address = losing(github).issue("<!-- f -->", "Flaky", "<!-- f -->\nx", "flaky-test")
    assert [each["html_url"] for each in github.state.issues.values()] == [address]


def test_a_check_run_whose_answer_is_lost_is_this_one_and_not_an_earlier_one_of_its_name(github: GitHub) -> None:
    earlier = remote(github).check_run(check_run(identity="run-5-1"), [])
    address = losing(github).check_run(check_run(identity="run-5-2"), [])
    assert address != earlier
    assert [each["external_id"] for each in github.state.check_runs.values()] == ["run-5-1", "run-5-2"]


def test_a_check_run_that_was_not_stored_is_made_although_an_earlier_one_has_its_name(github: GitHub) -> None:
    earlier = remote(github).check_run(check_run(identity="run-5-1"), [])
    github.trouble.append(Trouble(kind=BROKEN, times=1, writes_only=True))
    assert remote(github).check_run(check_run(identity="run-5-2"), []) != earlier
    assert len(github.state.check_runs) == 2


@pytest.mark.parametrize("kind", [LOST, BROKEN])
def test_annotations_are_added_once_whatever_becomes_of_the_answer(github: GitHub, kind: str) -> None:
    github.trouble.append(Trouble(kind=kind, times=1, part="/check-runs/", writes_only=True))
    remote(github).check_run(check_run(), beside_lines(120))
    [number] = github.state.check_runs
    assert [each["start_line"] for each in github.state.annotations[number]] == list(range(1, 121))


@pytest.mark.parametrize("part", ["/git/refs", "/contents/", "/pulls", ""])
def test_a_pull_request_is_proposed_once_though_answers_are_lost(github: GitHub, part: str) -> None:
    files = {"tests/test_x.py": b"pass\n", "tests/y.zip": b"z"}
    proposal = Proposal(branch="repro/x", base="main", title="t", body="b", files=files)
    address = losing(github, 4 if part == "" else 1, part).propose(proposal)
    assert [each["html_url"] for each in github.state.pulls.values()] == [address]
    assert sorted(name for _, name in github.state.files) == sorted(files)


def test_a_proposal_that_broke_off_is_taken_up_again(github: GitHub) -> None:
    proposal = Proposal(branch="repro/x", base="main", title="t", body="b", files={"a": b"a", "b": b"b"})
    github.trouble.append(Trouble(kind=LIMIT, part="/contents/b", retry_after=3600, writes_only=True))
    with pytest.raises(GitHubUnavailable):
        remote(github).propose(proposal)
    github.trouble.clear()
    remote(github).propose(proposal)
    assert (len(github.state.files), len(github.state.pulls)) == (2, 1)


# --- one total for all ----------------------------------------------------------------------------


@pytest.mark.slow
def test_calls_that_hang_have_one_end_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "ONE_CALL", 1)
    monkeypatch.setattr(patience, "TOTAL", 5.5)
    clock = Clock(sleep=lambda _: None, now=time.time)
    with GitHub() as github:
        github.trouble.append(Trouble(kind=HANGING))
        client = connect(WRITE, github.url, github.repository, clock)
        begun = time.monotonic()
        for _ in range(5):
            with pytest.raises(GitHubUnavailable, match="does not answer"):
                client.comment(7, MARK, "x", create=True)
        assert 1 <= time.monotonic() - begun < 5.5
        asked = len(github.calls)
        with pytest.raises(GitHubUnavailable, match="seconds were lost on it before"):
            client.pull_of(5)
        assert len(github.calls) == asked


@pytest.mark.parametrize("retry_after", [None, 60])
def test_waiting_ends_with_the_total_also_over_many_calls(github: GitHub, retry_after: int | None) -> None:
    """Two waits of a minute are more than a report is worth; each by itself would not be."""
    slept: list[float] = []
    client = remote(github, WRITE, slept)
    for _ in range(2):
        github.trouble.append(Trouble(kind=SECONDARY, times=1, retry_after=retry_after))
    with pytest.raises(GitHubUnavailable, match="secondary rate limit"):
        client.comment(7, MARK, "x", create=True)
    assert slept == [60.0]


@pytest.mark.parametrize("number", [51])
def test_the_stand_in_refuses_what_github_refuses(number: int) -> None:
    """The instrument: with chunks too large it must say no."""
    with GitHub() as github, pytest.MonkeyPatch.context() as patch:
        patch.setattr("repro_gate.github.annotations.A_REQUEST", number)
        patch.setattr("repro_gate.github.remote.chunks", lambda found: [tuple(found)])
        with pytest.raises(GitHubUnavailable, match="422"):
            remote(github).check_run(check_run(), beside_lines(number))
        with pytest.raises(GitHubUnavailable, match="422"):
            remote(github).check_run(check_run("wonderful"), [])
