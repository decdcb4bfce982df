"""Every event, every token, every mood of the API: what is shown where, and that nothing of it changes a verdict."""

from __future__ import annotations

import io
import json
import re
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from repro_gate.action import reporting
from repro_gate.github.patience import Clock
from repro_gate.github.remote import connect
from repro_gate.github.surfaces import LABEL
from tests.github_api import events
from tests.github_api.memory import READONLY, WRITE
from tests.github_api.server import BROKEN, HANGING, LIMIT, GitHub, Trouble
from tests.unit.test_report_reading import CHECK, SCAN, written

HEAD, BASE = "c" * 40, "b" * 40
TOKENS = {"write": WRITE, "read-only": READONLY, "none": ""}
TROUBLES = {"up": None, "rate limit": LIMIT, "server error": BROKEN, "hanging": HANGING}
EVENTS: dict[str, tuple[str, dict[str, Any]]] = {
    "own": ("pull_request", events.pull_request(HEAD, BASE)),
    "fork": ("pull_request", events.pull_request(HEAD, BASE, fork=True)),
    "dependabot": ("pull_request", events.pull_request(HEAD, BASE, author="dependabot[bot]")),
    "merge_group": ("merge_group", events.merge_group(HEAD, BASE)),
    "push": ("push", events.push(BASE, HEAD)),
    "schedule": ("schedule", events.schedule()),
    "workflow_run": ("workflow_run", events.workflow_run(99, HEAD)),
    "dispatch": ("workflow_dispatch", events.workflow_dispatch()),
}
PULLS = ("own", "fork", "dependabot", "workflow_run")
SCANS = ("schedule", "dispatch")


@dataclass(frozen=True)
class Told:
    status: int
    outputs: dict[str, str]
    said: str


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[GitHub]:
    monkeypatch.setattr("repro_gate.github.patience.ONE_CALL", 1)
    monkeypatch.setattr("repro_gate.github.patience.TRIES", 2)
    with GitHub() as server:
        server.add_pull(7, HEAD, owner="stranger")
        server.add_run(99, HEAD, branch="fix", owner="stranger")
        yield server
    assert server.faults == []


def report(github: GitHub, tmp_path: Path, event: str, token: str, data: bytes, **inputs: str) -> Told:
    name, payload = EVENTS[event]
    (tmp_path / "report.json").write_bytes(data)
    (tmp_path / "event.json").write_text(json.dumps(payload))
    given = {"comment": "always", "check_run": "auto", **inputs}
    environ = {
        "GITHUB_EVENT_NAME": name,
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_REPOSITORY": github.repository,
        "GITHUB_API_URL": github.url,
        "GITHUB_SHA": HEAD,
        "GITHUB_RUN_ID": "5",
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GATE_TOKEN": token,
        "GATE_EVIDENCE": str(tmp_path),
        **{f"INPUT_{each.upper()}": value for each, value in given.items()},
    }
    out = io.StringIO()
    clock = Clock(sleep=lambda _: None, now=lambda: 0.0)
    status = reporting.report(
        reporting.Effects(
            environ=environ,
            out=out,
            token=lambda: "t",
            connect=lambda token, address, repository: connect(token, address, repository, clock),
        )
    )
    text = (tmp_path / "output").read_text() if (tmp_path / "output").exists() else ""
    return Told(status, dict(re.findall(r"([a-z-]+)<<end-t\n(.*?)\nend-t\n", text, re.DOTALL)), out.getvalue())


def zipped(data: bytes, name: str = "report.json") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(name, data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def archive_of(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w") as archive:
        warnings.simplefilter("ignore")  # names that are there twice
        for name, data in members:
            archive.writestr(name, data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def link(target: bytes) -> bytes:
    """A member that a careless unpacker makes a link of, and then reads what it leads to."""
    info = zipfile.ZipInfo("report.json")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return archive_of((info, target))


def encrypted(archive: bytes) -> bytes:
    """The flag of an encrypted member set in both of its headers."""
    directory = archive.rindex(b"PK\x01\x02")
    changed = bytearray(archive)
    for place in (6, directory + 8):
        changed[place] |= 1
    return bytes(changed)


def broken(archive: bytes) -> bytes:
    """The compressed bytes of an archive's first file made senseless; what surrounds them stays."""
    return archive[:41] + bytes(255 for _ in archive[41:60]) + archive[60:]


@pytest.mark.parametrize("trouble", TROUBLES)
@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("event", EVENTS)
def test_a_report_goes_as_far_as_it_may_and_never_changes_the_verdict(
    github: GitHub, tmp_path: Path, event: str, token: str, trouble: str
) -> None:
    data = written(SCAN if event in SCANS else CHECK)
    github.add_artifact(99, "repro-gate-99-1-gate", zipped(data))
    if (kind := TROUBLES[trouble]) is not None:
        github.trouble.append(Trouble(kind=kind, retry_after=3600))
    told = report(github, tmp_path, event, TOKENS[token], data)
    assert told.status == 0
    asked = event in (*PULLS, *SCANS) or token != "none"
    if token == "write" and trouble == "up":
        assert len(github.state.comments) == (event in PULLS)
        assert len(github.state.check_runs) == (event not in SCANS)
        assert len([each for each in github.state.issues.values() if each["labels"]]) == (event in SCANS)
        expected = "issues" if event in SCANS else "check-run"
        assert told.outputs["reporter"] == expected
    else:
        assert github.wrote() == []
        if asked:
            assert "No c" in told.said or "issues are up to date" in told.said or "::warning" in told.said, told.said
    assert "Traceback" not in told.said


def test_a_comment_that_said_red_says_green_later_and_none_is_made_for_green(github: GitHub, tmp_path: Path) -> None:
    green = replace(CHECK, gates=CHECK.gates[1:2], levels={}, trouble=None, policy=())
    quiet = {"comment": "on-problem", "check_run": "off"}
    assert report(github, tmp_path, "own", WRITE, written(green), **quiet).outputs["comment-url"] == ""
    assert github.state.comments == {}
    red = report(github, tmp_path, "own", WRITE, written(CHECK), **quiet)
    [comment] = github.state.comments.values()
    assert "failed" in comment["body"]
    again = report(github, tmp_path, "own", WRITE, written(green), **quiet)
    assert again.outputs["comment-url"] == red.outputs["comment-url"] == comment["html_url"]
    assert "passed" in comment["body"]
    assert "failed" not in comment["body"].split("\n")[1]


def test_one_issue_for_each_finding_is_kept_up_to_date_over_nights(github: GitHub, tmp_path: Path) -> None:
    report(github, tmp_path, "schedule", WRITE, written(SCAN))
    first = report(github, tmp_path, "schedule", WRITE, written(replace(SCAN, commit="d" * 40)))
    [issue] = [each for each in github.state.issues.values() if each["labels"]]
    assert [label["name"] for label in issue["labels"]] == [LABEL]
    assert issue["title"] == "Flaky test: tests/test_a.py::test_a"
    assert "d" * 12 in issue["body"]
    assert issue["html_url"] in first.said


# --- the second stage trusts nothing in the artifact ----------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"no zip at all",
        zipped(b"{}"),
        zipped(written(CHECK).replace(b'"seconds": 2.5', b'"seconds": NaN')),
        zipped(written(CHECK), "../report.json"),
        zipped(b" " * 10_000_000),
        zipped(b"[" * 1_000_000),
        zipped(written(CHECK).replace(b'"seconds": 2.5', b'"seconds": 1e999')),
        zipped(written(CHECK).replace(b'"seconds": 2.5', b'"seconds": ' + b"9" * 5000)),
        archive_of(("report.json", written(CHECK)), ("report.json", written(CHECK))),
        archive_of(
            ("/report.json", written(CHECK)), ("REPORT.JSON", written(CHECK)), ("a/report.json", written(CHECK))
        ),
        link(b"/etc/passwd"),
        encrypted(zipped(written(CHECK))),
        zipped(written(CHECK))[:-30],
        zipped(written(SCAN)),
        broken(zipped(b"x" * 100_000)),
    ],
    ids=[
        *("no zip", "no report", "no number", "another path", "a bomb", "brackets without an end"),
        *("a number that no float holds", "a number of many digits", "two reports", "names that are only alike"),
        *("a link", "encrypted", "cut off", "a scan's report", "a broken stream"),
    ],
)
def test_a_hostile_artifact_is_refused_and_nothing_is_written(github: GitHub, tmp_path: Path, data: bytes) -> None:
    github.add_artifact(99, "repro-gate-99-1-gate", data)
    told = report(github, tmp_path, "workflow_run", WRITE, b"")
    assert told.status == 0
    assert "::warning" in told.said
    assert "bug of repro-gate" not in told.said
    assert github.wrote() == []


def test_a_bug_of_the_report_is_a_warning_and_no_red_job(github: GitHub, tmp_path: Path) -> None:
    def connect(*_: str) -> Any:
        raise ZeroDivisionError("so it is")

    (tmp_path / "report.json").write_bytes(written(CHECK))
    out = io.StringIO()
    environ = {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_WORKSPACE": str(tmp_path),
        "GATE_EVIDENCE": str(tmp_path),
        "INPUT_CHECK_RUN": "auto",
        "GITHUB_SHA": HEAD,
    }
    effects = reporting.Effects(environ=environ, out=out, token=lambda: "t", connect=connect)
    assert reporting.report(effects) == 0
    assert "::warning" in out.getvalue()
    assert "ZeroDivisionError('so it is')" in out.getvalue()


def test_the_pull_request_is_the_one_that_github_names_whatever_the_artifact_says(
    github: GitHub, tmp_path: Path
) -> None:
    github.add_pull(8, "e" * 40, branch="victim")
    forged = json.loads(written(CHECK))
    forged["head"] = "e" * 40
    event = json.dumps({"number": 8, "pull_request": {"number": 8, "head": {"sha": "e" * 40}}}).encode()
    members = (("report.json", json.dumps(forged).encode()), ("event.json", event), ("pr-number", b"8"))
    github.add_artifact(99, "repro-gate-99-1-gate", archive_of(*members))
    report(github, tmp_path, "workflow_run", WRITE, b"")
    [comment] = github.state.comments.values()
    assert comment["issue_url"].endswith("/issues/7")
    [run] = github.state.check_runs.values()
    assert run["head_sha"] == HEAD


def test_what_tests_say_in_a_strangers_report_is_text_and_nothing_more(github: GitHub, tmp_path: Path) -> None:
    evil = "</td><img src=x> @everyone [x](https://evil.example) `::error::x`"
    gate = replace(CHECK.gates[0], summary=evil, refused=(replace(CHECK.gates[0].refused[0], id=evil, why=evil),))
    github.add_artifact(99, "repro-gate-99-1-gate", zipped(written(replace(CHECK, gates=(gate,)))))
    report(github, tmp_path, "workflow_run", WRITE, b"")
    [comment] = github.state.comments.values()
    rendered = MarkdownIt("commonmark").enable("table").render(comment["body"])
    assert "<img" not in rendered
    assert 'href="https://evil.example"' not in rendered
    assert "@<!-- -->everyone" in rendered
    assert "@everyone" not in re.sub(r"<code>.*?</code>", "", rendered.replace("\n", " "))
