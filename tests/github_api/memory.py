"""What the stand-in for GitHub remembers: objects as the API shows them, and what was there before anybody asked.

Belongs here: state, and making objects that fit GitHub's description. Does not belong here: what a request does
(operations), and who may ask (server).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.github_api.described import description

WRITE, READONLY, CLASSIC = "ghs_write", "ghs_readonly", "ghp_classic"
PERSON = "dev"  # whose the classic token is


@dataclass(frozen=True, kw_only=True)
class Call:
    """One request as it came, and the status of its answer."""

    method: str
    path: str
    query: Mapping[str, str]
    token: str
    body: Any
    status: int = 0


@dataclass(kw_only=True)
class State:
    """What is stored; numbers and names lead to objects as the API shows them."""

    issues: dict[int, dict[str, Any]] = field(default_factory=dict)
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    check_runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    annotations: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    pulls: dict[int, dict[str, Any]] = field(default_factory=dict)
    runs: dict[int, dict[str, Any]] = field(default_factory=dict)
    artifacts: dict[int, tuple[dict[str, Any], bytes]] = field(default_factory=dict)
    files: dict[tuple[str, str], bytes] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)


class Memory:
    """One repository. ``url`` is the API's address; with ``enterprise`` it is below ``/api/v3``."""

    def __init__(self, repository: str = "owner/project", *, enterprise: bool = False) -> None:
        self.repository = repository
        self.prefix = "/api/v3" if enterprise else ""
        self.url = ""
        self.described = description("ghes-3.17" if enterprise else "api.github.com")
        self.state = State(refs={"refs/heads/main": "a" * 40})
        self._serial = 1000

    # -- what is there before --------------------------------------------------------------

    def add_pull(self, number: int, head_sha: str, *, branch: str = "fix", owner: str | None = None) -> None:
        """An open pull request, of another owner's fork if ``owner`` says so."""
        pull = self.made("pull-request-simple", number=number, state="open", title="x")
        self.issue(number, title="x", body="", labels=[])
        pull["head"].update(ref=branch, sha=head_sha, label=f"{owner or self.owner}:{branch}")
        pull["base"].update(ref="main", sha="a" * 40)
        self.state.pulls[number] = pull

    def add_comment(self, number: int, body: str, *, login: str, bot: bool) -> int:
        """A comment of somebody's."""
        return int(self.comment(number, body, login, bot)["id"])

    def add_run(self, run_id: int, head_sha: str, *, branch: str, owner: str) -> None:
        """A run of a workflow for a branch of somebody's fork."""
        run = self.made("workflow-run", id=run_id, head_sha=head_sha, head_branch=branch, pull_requests=[])
        run.update(self.address("actions/runs", run_id))
        run["artifacts_url"] = f"{run['url']}/artifacts"
        run["head_repository"]["owner"].update(login=owner)
        run["head_repository"].update(full_name=f"{owner}/project")
        self.state.runs[run_id] = run

    def add_artifact(self, run_id: int, name: str, data: bytes) -> None:
        """A file that a run has uploaded."""
        number = self.next_number()
        address = f"{self.url}/repos/{self.repository}/actions/artifacts/{number}/zip"
        about = self.made("artifact", id=number, name=name, size_in_bytes=len(data), archive_download_url=address)
        about["workflow_run"] = {"id": run_id}
        self.state.artifacts[number] = (about, data)

    # -- making objects --------------------------------------------------------------------

    @property
    def owner(self) -> str:
        """Whose the repository is."""
        return self.repository.partition("/")[0]

    def next_number(self) -> int:
        """A number that nothing has."""
        self._serial += 1
        return self._serial

    def made(self, schema: str, **values: Any) -> dict[str, Any]:
        """The smallest object of a schema, with these values."""
        made: dict[str, Any] = {**self.described.smallest(schema), **values}
        return made

    def address(self, *parts: object) -> dict[str, str]:
        """Where an object of the repository is, for programs and for people."""
        path = "/".join(map(str, parts))
        return {
            "url": f"{self.url}/repos/{self.repository}/{path}",
            "html_url": f"{self.url.removesuffix(self.prefix)}/{self.repository}/{path}",
        }

    def user(self, login: str, *, bot: bool) -> dict[str, Any]:
        """Somebody, as comments and issues show them."""
        return self.made("simple-user", login=login, type="Bot" if bot else "User")

    def comment(self, number: int, body: str, login: str, bot: bool) -> dict[str, Any]:
        """A new comment on an issue."""
        key = self.next_number()
        where = self.address("issues/comments", key)
        made = self.made("issue-comment", id=key, body=body, user=self.user(login, bot=bot), **where)
        made["issue_url"] = f"{self.url}/repos/{self.repository}/issues/{number}"
        self.state.comments[key] = made
        return made

    def issue(self, number: int, **values: Any) -> dict[str, Any]:
        """An open issue."""
        user = self.user("github-actions[bot]", bot=True)
        made = self.made("issue", number=number, state="open", user=user, **self.address("issues", number), **values)
        self.state.issues[number] = made
        return made
