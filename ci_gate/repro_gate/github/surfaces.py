"""Where a result is shown beside the job itself: a comment, a check run, issues. What cannot be shown is a note.

Belongs here: which surface gets what, and what becomes of a refusal. Does not belong here: the API (remote), the
words of a report (report). Nothing here changes a verdict.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

from repro_gate.errors import GitHubRefused, GitHubUnavailable
from repro_gate.github.annotations import Annotation
from repro_gate.github.budget import CHECK_RUN, COMMENT, within
from repro_gate.github.remote import CheckRun, Remote
from repro_gate.model import FlakeReport, TestVerdict
from repro_gate.report import scan_markdown
from repro_gate.report.outcome import findings

NAME = "repro-gate report"
LABEL = "flaky-test"
_MARK = "<!-- repro-gate: {} -->"
_CONCLUSIONS = {"pass": "success", "neutral": "neutral", "fail": "failure"}
_MOST_ISSUES = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """Where it is shown. ``reporter`` is the best of them."""

    reporter: str = "none"
    comment_url: str = ""
    check_run_url: str = ""
    issues: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What is to be shown: a page, annotations, and the verdict in one word.

    ``place`` tells projects of one repository apart, ``identity`` this showing from every other.
    """

    page: str
    found: tuple[Annotation, ...]
    verdict: str
    title: str
    place: str = ""
    identity: str = ""

    @property
    def marker(self) -> str:
        """The first line of our comment, by which it is found again."""
        return _MARK.format(f"report {self.place}".strip())


def publish(
    remote: Callable[[], Remote],
    shown: Shown,
    *,
    pull: int | None,
    sha: str,
    comment: str,
    check_run: bool,
) -> Published:
    """Show a change's result as far as the token may. ``comment`` is `always`, `on-problem` or `off`."""
    notes: list[str] = []

    def tried(what: str, do: Callable[[], str]) -> str:
        try:
            return do()
        except GitHubRefused as refused:
            notes.append(f"No {what}: {refused} The job and its summary say the same.")
        except GitHubUnavailable as gone:
            notes.append(f"No {what}: {gone}")
        return ""

    run_url, comment_url = "", ""
    if check_run and sha:
        run_url = tried("check run", lambda: _check_run(remote(), shown, sha))
    if comment != "off" and pull is not None:
        problem = shown.verdict not in ("pass", "neutral")
        body = _comment(shown)
        wanted = comment == "always" or problem
        comment_url = tried("comment", lambda: remote().comment(pull, shown.marker, body, create=wanted))
    reporter = "check-run" if run_url else "comment" if comment_url else "annotations" if shown.found else "none"
    return Published(reporter=reporter, comment_url=comment_url, check_run_url=run_url, notes=tuple(notes))


def report_flakes(remote: Callable[[], Remote], report: FlakeReport, *, command: str, where: str) -> Published:
    """One issue for each finding of a scan, brought up to date where it is there. ``where`` is the run's address."""
    urls: list[str] = []
    found = findings(report)
    try:
        for test in found[:_MOST_ISSUES]:
            marker = _MARK.format(f"flake {fingerprint(test)}")
            body = _issue(report, test, marker, command, where)
            urls.append(remote().issue(marker, f"Flaky test: {test.id}"[:250], body, LABEL))
    except (GitHubRefused, GitHubUnavailable) as broken:
        note = f"{len(urls)} of {len(found)} issues are up to date: {broken}"
        return Published(reporter="issues" if urls else "none", issues=tuple(urls), notes=(note,))
    more = len(found) - _MOST_ISSUES
    notes = (
        (f"{more} more findings are in the summary; only {_MOST_ISSUES} issues are made a run.",) if more > 0 else ()
    )
    return Published(reporter="issues" if urls else "none", issues=tuple(urls), notes=notes)


def fingerprint(test: TestVerdict) -> str:
    """The same for the same test failing the same way, on any machine and day."""
    failure = test.failure.fingerprint if test.failure else ""
    return hashlib.sha256(f"{test.id}\0{failure}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _check_run(remote: Remote, shown: Shown, sha: str) -> str:
    conclusion = _CONCLUSIONS.get(shown.verdict, "action_required")
    # Bytes, and with room for what JSON and the note of what was cut need.
    run = CheckRun(
        identity=shown.identity,
        sha=sha,
        name=NAME,
        conclusion=conclusion,
        title=shown.title[:250],
        summary=within(shown.page, CHECK_RUN),
    )
    return remote.check_run(run, shown.found)


def _comment(shown: Shown) -> str:
    head = f"{shown.marker}\n"
    return head + within(shown.page, COMMENT - len(head), characters=True)


def _issue(report: FlakeReport, test: TestVerdict, marker: str, command: str, where: str) -> str:
    alone = scan_markdown.of_one(report, test, command)
    seen = f"Seen last in {where} at commit {report.commit[:12]}.\n\n" if where else ""
    head = f"{marker}\n{seen}"
    return head + within(alone, COMMENT - len(head), characters=True)
