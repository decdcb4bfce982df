"""A repository on GitHub (or a GitHub of one's own), asked and written to.

Belongs here: every call of the API. Does not belong here: when one is repeated (patience), what is written
(surfaces), and believing what is read.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from repro_gate.errors import EvidenceRefused, GitHubRefused
from repro_gate.github import patience
from repro_gate.github.annotations import Annotation, chunks
from repro_gate.github.patience import Clock, Patience
from repro_gate.report.remarks import Severity

if TYPE_CHECKING:
    from github.Repository import Repository

_LARGEST_ARTIFACT = 64 * 2**20
_MOST_PAGES = 50
_LEVELS = {Severity.ERROR: "failure", Severity.WARNING: "warning", Severity.NOTICE: "notice"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A pull request to open: files by path, on a new branch from ``base``."""

    branch: str
    base: str
    title: str
    body: str
    files: Mapping[str, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckRun:
    """A check run to make. ``identity`` is of this one alone: by it it is found where GitHub's answer was lost."""

    identity: str
    sha: str
    name: str
    conclusion: str
    title: str
    summary: str


class Remote:
    """One repository with one token. Every method raises GitHubRefused or GitHubUnavailable.

    ``whoami`` asks for the login of the token's owner, which only a person's token is told.
    """

    def __init__(self, repository: Repository, clock: Clock, whoami: Callable[[], str]) -> None:
        self._repository = repository
        self._patience = Patience(clock)
        self._whoami = whoami

    # -- comments and issues ---------------------------------------------------------------

    def comment(self, number: int, marker: str, body: str, *, create: bool) -> str:
        """Write our one comment on a pull request, made anew only if ``create``; its address, or nothing."""
        issue = self._patience.ask(lambda: self._repository.get_issue(number))

        def ours() -> Any:
            pages = issue.get_comments()
            return self._first(pages, lambda each: (each.body or "").startswith(marker) and self._wrote(each))

        found = self._patience.ask(ours)
        if found is None:
            if not create:
                return ""
            made = self._patience.write(lambda: issue.create_comment(body), ours)
            return str(made.html_url)
        self._patience.write(lambda: found.edit(body))
        return str(found.html_url)

    def issue(self, marker: str, title: str, body: str, label: str) -> str:
        """Open the one issue with this marker, or bring it up to date and open it again; its address."""

        def ours() -> Any:
            pages = self._repository.get_issues(state="all", labels=[label])
            return self._first(pages, lambda each: (each.body or "").startswith(marker) and self._wrote(each))

        found = self._patience.ask(ours)
        if found is None:
            made = self._patience.write(
                lambda: self._repository.create_issue(title=title, body=body, labels=[label]), ours
            )
            return str(made.html_url)
        self._patience.write(lambda: found.edit(title=title, body=body, state="open"))
        return str(found.html_url)

    def _wrote(self, each: Any) -> bool:
        """Whether a token like ours wrote a text that begins as ours do. Anybody else could change it back later."""
        user = each.user
        if user is None:
            return False
        return bool(user.type == "Bot" or user.login.endswith("[bot]") or user.login == self._login)

    @cached_property
    def _login(self) -> str:
        """Whose the token is; empty for an app's, as a job's own token is: those write as bots."""
        try:
            return self._patience.ask(self._whoami)
        except GitHubRefused:
            return ""

    # -- check runs ------------------------------------------------------------------------

    def check_run(self, run: CheckRun, found: Sequence[Annotation]) -> str:
        """Make a check run with all annotations, as many requests as that takes; its address."""
        parts = [[_annotation(each) for each in part] for part in chunks(found)] or [[]]
        output = {"title": run.title, "summary": run.summary}

        def made() -> Any:
            runs = self._repository.get_commit(run.sha).get_check_runs(check_name=run.name, filter="all")
            return self._first(runs, lambda each: each.external_id == run.identity)

        there = self._patience.write(
            lambda: self._repository.create_check_run(
                name=run.name,
                head_sha=run.sha,
                external_id=run.identity,
                status="completed",
                conclusion=run.conclusion,
                output={**output, "annotations": parts[0]},  # type: ignore[dict-item]
            ),
            made,
        )
        sent = len(parts[0])
        for part in parts[1:]:  # GitHub adds them to those that are there, each time that it is told
            sent += len(part)
            self._patience.write(
                lambda part=part: there.edit(output={**output, "annotations": part}) or there,  # type: ignore[misc]
                lambda sent=sent: self._holds(there.id, sent),  # type: ignore[misc]
            )
        return str(there.html_url)

    def _holds(self, number: int, annotations: int) -> Any:
        """A check run, if it has as many annotations."""
        run = self._repository.get_check_run(number)
        return run if run.output.annotations_count >= annotations else None

    # -- what a run left -------------------------------------------------------------------

    def pull_of(self, run_id: int) -> tuple[int, str] | None:
        """The open pull request that a run of a workflow was for, and its head, as GitHub itself says;
        None without one.

        Nothing that the run left is asked: whoever wrote it could name any pull request.
        """

        def asked() -> tuple[str, str]:  # what is not there yet, the client asks for when it is read
            run = self._repository.get_workflow_run(run_id)
            return f"{run.head_repository.owner.login}:{run.head_branch}", run.head_sha

        branch, sha = self._patience.ask(asked)
        pulls: list[Any] = self._patience.ask(lambda: self._repository.get_pulls(state="open", head=branch).get_page(0))
        same = [each for each in pulls if each.head.sha == sha]
        return (same[0].number, sha) if len(same) == 1 else None

    def report_of(self, run_id: int, name: str) -> bytes:
        """The file ``name`` of the newest of our artifacts of a run. Raises EvidenceRefused where there is none."""
        run = self._patience.ask(lambda: self._repository.get_workflow_run(run_id))
        artifacts = self._patience.ask(
            lambda: [each for each in run.get_artifacts() if each.name.startswith("repro-gate-")]
        )
        for artifact in sorted(artifacts, key=lambda each: each.id, reverse=True):
            if artifact.size_in_bytes > _LARGEST_ARTIFACT:
                continue
            found = _member(self._patience.ask(lambda number=artifact.id: self._archive(number)), name)  # type: ignore[misc]
            if found is not None:
                return found
        raise EvidenceRefused(
            f"No artifact of run {run_id} holds a {name}.",
            next_step="See whether that run got as far as a verdict, and uploaded its artifact.",
        )

    def _archive(self, number: int) -> bytes:
        """An artifact.

        Its store is another host, which must not see the token, and which the client would not follow to.
        """
        import requests

        requester = self._repository.requester
        address = f"{requester.base_url}/repos/{self._repository.full_name}/actions/artifacts/{number}/zip"
        headers = {"Authorization": f"Bearer {requester.auth.token if requester.auth else ''}"}
        told = requests.get(address, headers=headers, timeout=patience.ONE_CALL, allow_redirects=False)
        if told.status_code != 302:
            raise _exception(told.status_code, dict(told.headers))
        with requests.get(told.headers["Location"], timeout=patience.ONE_CALL, stream=True) as answer:
            if answer.status_code != 200:
                raise _exception(answer.status_code, {})
            data = b""
            for part in answer.iter_content(1 << 20):
                data += part
                if len(data) > _LARGEST_ARTIFACT:
                    raise EvidenceRefused(f"The artifact {number} is larger than it says.")
        return data

    # -- a pull request --------------------------------------------------------------------

    def propose(self, proposal: Proposal) -> str:
        """Open a pull request with new files, once for a branch; its address."""
        repository = self._repository

        def there() -> Any:
            owner = repository.full_name.partition("/")[0]
            pulls = repository.get_pulls(state="all", head=f"{owner}:{proposal.branch}")
            return self._first(pulls, lambda each: each.head.ref == proposal.branch)

        found = self._patience.ask(there)
        if found is not None:
            return str(found.html_url)
        base = self._patience.ask(lambda: repository.get_branch(proposal.base).commit.sha)
        # A job that ended between the steps has left some of them done.
        self._once(
            lambda: repository.create_git_ref(f"refs/heads/{proposal.branch}", base),
            lambda: repository.get_branch(proposal.branch),
        )
        for path, data in proposal.files.items():
            self._once(
                lambda path=path, data=data: repository.create_file(  # type: ignore[misc]
                    path, proposal.title, data, branch=proposal.branch
                ),
                lambda path=path: repository.get_contents(path, ref=proposal.branch),  # type: ignore[misc]
            )
        made = self._patience.write(
            lambda: repository.create_pull(
                base=proposal.base, head=proposal.branch, title=proposal.title, body=proposal.body
            ),
            there,
        )
        return str(made.html_url)

    def _once(self, make: Callable[[], Any], look: Callable[[], Any]) -> None:
        """Make what is not there."""
        from github import UnknownObjectException

        def there() -> Any:
            try:
                return look()
            except UnknownObjectException:
                return None

        if self._patience.ask(there) is None:
            self._patience.write(make, there)

    def _first(self, pages: Any, wanted: Callable[[Any], bool]) -> Any:
        """The first of a list that may go over many pages."""
        for number in range(_MOST_PAGES):
            page = pages.get_page(number)
            for each in page:
                if wanted(each):
                    return each
            if not page:
                return None
        return None


def connect(token: str, api_url: str, repository: str, clock: Clock) -> Remote:
    """The repository ``owner/name`` behind an API's address.

    Nothing is asked yet. Raises GitHubRefused without a token.
    """
    from github import Auth, Github

    if not token:
        raise GitHubRefused("There is no token.")
    client = Github(
        auth=Auth.Token(token),
        base_url=api_url.rstrip("/"),
        timeout=patience.ONE_CALL,
        per_page=100,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
        lazy=True,
    )
    return Remote(client.get_repo(repository), clock, lambda: client.get_user().login)


def _exception(status: int, headers: dict[str, str]) -> Exception:
    """A refusal in the form that the client gives all others."""
    from github import GithubException

    return GithubException(status, {"message": "no artifact"}, {**headers})


def _annotation(each: Annotation) -> dict[str, object]:
    return {
        "path": each.path,
        "start_line": each.line,
        "end_line": each.line,
        "annotation_level": _LEVELS[each.severity],
        "message": each.message[:4000],
        "title": each.title[:255],
    }


def _member(data: bytes, name: str) -> bytes | None:
    """One file of an archive that a stranger may have made:
    nothing is unpacked, and no more is read than it may have.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [each for each in archive.infolist() if each.filename == name]
            if len(entries) != 1 or entries[0].file_size > _LARGEST_ARTIFACT:
                return None
            with archive.open(entries[0]) as file:
                found = file.read(_LARGEST_ARTIFACT + 1)
            return found if len(found) <= _LARGEST_ARTIFACT else None
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError, zlib.error):
        return None
