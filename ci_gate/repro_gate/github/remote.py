"""A repository on GitHub (or a GitHub of one's own), asked and written to with patience that has an end.

Belongs here: every call of the API. Does not belong here: what is written (surfaces), and believing what is read.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from repro_gate.errors import EvidenceRefused, GitHubRefused, GitHubUnavailable, ReproGateError
from repro_gate.github.annotations import Annotation, chunks
from repro_gate.report.remarks import Severity

if TYPE_CHECKING:
    from github.Repository import Repository

_Answer = TypeVar("_Answer")
_ONE_CALL = 20  # seconds
_TRIES = 4
_PATIENCE = 90.0  # seconds of waiting in all: a report is not worth more of a runner's time
_LARGEST_ARTIFACT = 64 * 2**20
_MOST_PAGES = 50
_LEVELS = {Severity.ERROR: "failure", Severity.WARNING: "warning", Severity.NOTICE: "notice"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """``sleep`` in seconds, ``now`` in seconds since 1970: what GitHub's limits are told in."""

    sleep: Callable[[float], None]
    now: Callable[[], float]


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """A pull request to open: files by path, on a new branch from ``base``."""

    branch: str
    base: str
    title: str
    body: str
    files: Mapping[str, bytes]


class Remote:
    """One repository with one token. Every method raises GitHubRefused or GitHubUnavailable."""

    def __init__(self, repository: Repository, clock: Clock) -> None:
        self._repository = repository
        self._clock = clock
        self._waited = 0.0

    # -- comments and issues ---------------------------------------------------------------

    def comment(self, number: int, marker: str, body: str, *, create: bool) -> str:
        """Write our one comment on a pull request, made anew only if ``create``; its address, or nothing."""
        issue = self._try(lambda: self._repository.get_issue(number))

        def ours() -> Any:
            pages = issue.get_comments()
            return self._first(pages, lambda each: each.body.startswith(marker) and _is_bot(each.user))

        found = self._try(ours)
        if found is None:
            if not create:
                return ""
            made = self._write(lambda: issue.create_comment(body), lambda: self._try(ours))
            return str(made.html_url)
        self._write(lambda: found.edit(body))
        return str(found.html_url)

    def issue(self, marker: str, title: str, body: str, label: str) -> str:
        """Open the one issue with this marker, or bring it up to date and open it again; its address."""

        def ours() -> Any:
            pages = self._repository.get_issues(state="all", labels=[label])
            return self._first(pages, lambda each: (each.body or "").startswith(marker) and _is_bot(each.user))

        found = self._try(ours)
        if found is None:
            made = self._write(
                lambda: self._repository.create_issue(title=title, body=body, labels=[label]), lambda: self._try(ours)
            )
            return str(made.html_url)
        self._write(lambda: found.edit(title=title, body=body, state="open"))
        return str(found.html_url)

    # -- check runs ------------------------------------------------------------------------

    def check_run(
        self, sha: str, name: str, conclusion: str, title: str, summary: str, found: Sequence[Annotation]
    ) -> str:
        """Make a check run with all annotations, as many requests as that takes; its address."""
        parts = [[_annotation(each) for each in part] for part in chunks(found)] or [[]]
        output = {"title": title, "summary": summary}

        def made() -> Any:
            runs = self._repository.get_commit(sha).get_check_runs(check_name=name, filter="latest")
            return self._first(runs, lambda each: each.head_sha == sha)

        run = self._write(
            lambda: self._repository.create_check_run(
                name=name,
                head_sha=sha,
                status="completed",
                conclusion=conclusion,
                output={**output, "annotations": parts[0]},  # type: ignore[dict-item]
            ),
            lambda: self._try(made),
        )
        for part in parts[1:]:
            self._write(lambda part=part: run.edit(output={**output, "annotations": part}))  # type: ignore[misc]
        return str(run.html_url)

    # -- what a run left -------------------------------------------------------------------

    def pull_of(self, run_id: int) -> tuple[int, str] | None:
        """The open pull request that a run of a workflow was for, and its head, as GitHub itself says; None without one.

        Nothing that the run left is asked: whoever wrote it could name any pull request.
        """

        def asked() -> tuple[str, str]:  # what is not there yet, the client asks for when it is read
            run = self._repository.get_workflow_run(run_id)
            return f"{run.head_repository.owner.login}:{run.head_branch}", run.head_sha

        branch, sha = self._try(asked)
        pulls: list[Any] = self._try(lambda: self._repository.get_pulls(state="open", head=branch).get_page(0))
        same = [each for each in pulls if each.head.sha == sha]
        return (same[0].number, sha) if len(same) == 1 else None

    def report_of(self, run_id: int, name: str) -> bytes:
        """The file ``name`` of the newest of our artifacts of a run. Raises EvidenceRefused where there is none."""
        run = self._try(lambda: self._repository.get_workflow_run(run_id))
        artifacts = self._try(lambda: [each for each in run.get_artifacts() if each.name.startswith("repro-gate-")])
        for artifact in sorted(artifacts, key=lambda each: each.id, reverse=True):
            if artifact.size_in_bytes > _LARGEST_ARTIFACT:
                continue
            found = _member(self._try(lambda number=artifact.id: self._archive(number)), name)  # type: ignore[misc]
            if found is not None:
                return found
        raise EvidenceRefused(
            f"No artifact of run {run_id} holds a {name}.",
            next_step="See whether that run got as far as a verdict, and uploaded its artifact.",
        )

    def _archive(self, number: int) -> bytes:
        """An artifact. Its store is another host, which must not see the token, and which the client would not follow to."""
        import requests

        requester = self._repository.requester
        address = f"{requester.base_url}/repos/{self._repository.full_name}/actions/artifacts/{number}/zip"
        headers = {"Authorization": f"Bearer {requester.auth.token if requester.auth else ''}"}
        told = requests.get(address, headers=headers, timeout=_ONE_CALL, allow_redirects=False)
        if told.status_code != 302:
            raise _exception(told.status_code, dict(told.headers))
        with requests.get(told.headers["Location"], timeout=_ONE_CALL, stream=True) as answer:
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

        found = self._try(there)
        if found is not None:
            return str(found.html_url)
        base = self._try(lambda: repository.get_branch(proposal.base).commit.sha)
        self._write(lambda: repository.create_git_ref(f"refs/heads/{proposal.branch}", base))
        for path, data in proposal.files.items():
            self._write(
                lambda path=path, data=data: repository.create_file(  # type: ignore[misc]
                    path, proposal.title, data, branch=proposal.branch
                )
            )
        made = self._write(
            lambda: repository.create_pull(
                base=proposal.base, head=proposal.branch, title=proposal.title, body=proposal.body
            ),
            lambda: self._try(there),
        )
        return str(made.html_url)

    # -- patience --------------------------------------------------------------------------

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

    def _try(self, ask: Callable[[], _Answer]) -> _Answer:
        """A question, asked again where the answer is a limit or a fault of the server's."""
        for turn in range(_TRIES):
            try:
                return ask()
            except Exception as broken:
                pause = self._pause(broken, turn)
                if turn == _TRIES - 1 or self._waited + pause > _PATIENCE:
                    raise GitHubUnavailable(f"GitHub does not answer: {_told(broken)}.") from broken
                self._clock.sleep(pause)
                self._waited += pause
        raise AssertionError

    def _write(self, do: Callable[[], _Answer], done: Callable[[], _Answer | None] = lambda: None) -> _Answer:
        """A change, repeated only where it was refused or ``done`` does not find it: it may have happened unheard."""
        for turn in range(_TRIES):
            try:
                return do()
            except Exception as broken:
                limited = _limit(broken) is not None
                pause = self._pause(broken, turn)
                if turn == _TRIES - 1 or self._waited + pause > _PATIENCE:
                    raise GitHubUnavailable(f"GitHub does not answer: {_told(broken)}.") from broken
                self._clock.sleep(pause)
                self._waited += pause
                if not limited and (there := done()) is not None:
                    return there
        raise AssertionError

    def _pause(self, broken: Exception, turn: int) -> float:
        """Seconds until it is worth another try. Raises GitHubRefused or GitHubUnavailable where it never is."""
        from github import GithubException
        from requests import RequestException

        if isinstance(broken, RequestException | OSError):
            return float(2**turn)
        if isinstance(broken, ReproGateError):
            raise broken
        if not isinstance(broken, GithubException):  # its client met an answer of another form
            raise GitHubUnavailable(
                f"GitHub answers in a form that its client does not know: {broken!r:.200}."
            ) from broken
        limit = _limit(broken)
        if limit is not None:
            return max(1.0, limit if limit >= 0 else -limit - self._clock.now())
        if broken.status >= 500:
            return float(2**turn)
        if broken.status in (401, 403, 404):
            raise GitHubRefused(f"GitHub refuses it to this token: {_told(broken)}.") from broken
        raise GitHubUnavailable(f"GitHub does not take it: {_told(broken)}.") from broken


def connect(token: str, api_url: str, repository: str, clock: Clock) -> Remote:
    """The repository ``owner/name`` behind an API's address. Nothing is asked yet. Raises GitHubRefused without a token."""
    from github import Auth, Github

    if not token:
        raise GitHubRefused("There is no token.")
    client = Github(
        auth=Auth.Token(token),
        base_url=api_url.rstrip("/"),
        timeout=_ONE_CALL,
        per_page=100,
        retry=None,
        seconds_between_requests=None,
        seconds_between_writes=None,
        lazy=True,
    )
    return Remote(client.get_repo(repository), clock)


def _limit(broken: Exception) -> float | None:
    """Seconds to wait, or minus the time when a limit ends; None where no limit is the reason."""
    headers = {name.lower(): value for name, value in (getattr(broken, "headers", None) or {}).items()}
    if getattr(broken, "status", 0) not in (403, 429):
        return None
    if str(headers.get("retry-after", "")).isdecimal():
        return float(headers["retry-after"])
    if headers.get("x-ratelimit-remaining") == "0" and str(headers.get("x-ratelimit-reset", "")).isdecimal():
        return -float(headers["x-ratelimit-reset"])
    text = str(getattr(broken, "data", "")).lower()
    return 60.0 if "rate limit" in text or broken.status == 429 else None  # type: ignore[attr-defined]


def _exception(status: int, headers: dict[str, str]) -> Exception:
    """A refusal in the form that the client gives all others."""
    from github import GithubException

    return GithubException(status, {"message": "no artifact"}, {**headers})


def _told(broken: Exception) -> str:
    data = getattr(broken, "data", None)
    message = data.get("message") if isinstance(data, dict) else None
    status = getattr(broken, "status", "")
    return ascii(f"{status} {message or type(broken).__name__}".strip())[1:-1][:300]


def _is_bot(user: Any) -> bool:
    """Whether an action's token wrote it; a person's comment that looks like ours is not ours."""
    return user is not None and (user.type == "Bot" or user.login.endswith("[bot]"))


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
    """One file of an archive that a stranger may have made: nothing is unpacked, and no more is read than it may have."""
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
