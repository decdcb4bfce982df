"""What set a run off, read from GitHub's payload or from the small form {title, body, labels, author}.

Belongs here: reading payloads without trusting their shape. Does not belong here: git, or what a title claims.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repro_gate.change.repository import is_sha, is_zero

Payload = Mapping[str, Any]

SMALL_FORM = ("title", "body", "labels", "author")
# By each of these one knows an event of GitHub's, or a pull request as its API has it: not ours to judge by field.
_GITHUBS = frozenset(
    [
        *("action", "before", "inputs", "merge_group", "number", "pull_request", "ref", "repository"),
        *("schedule", "sender", "url", "user", "workflow"),
    ]
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """How its author describes a change."""

    title: str = ""
    body: str = ""
    labels: tuple[str, ...] = ()
    author: str = ""
    author_is_bot: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequest:
    """The commits that a pull_request event names; the base may be older than the branch is by now."""

    head: str
    base: str
    base_branch: str
    merge: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueEntry:
    """The commits of a merge_group event."""

    head: str
    base: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Push:
    """The commits of a push event; ``before`` is empty for a new branch, ``after`` for a deleted one."""

    before: str
    after: str
    forced: bool


Commits = PullRequest | QueueEntry | Push


def commits_of(event: Payload) -> Commits | None:
    """The commits that an event names, or None where it names none."""
    if pull_request := _mapping(event.get("pull_request")):
        head, base = _mapping(pull_request.get("head")), _mapping(pull_request.get("base"))
        return PullRequest(
            head=_sha(head.get("sha")),
            base=_sha(base.get("sha")),
            base_branch=_text(base.get("ref")),
            merge=_sha(pull_request.get("merge_commit_sha")),
        )
    if group := _mapping(event.get("merge_group")):
        return QueueEntry(head=_sha(group.get("head_sha")), base=_sha(group.get("base_sha")))
    if "before" in event and "after" in event:
        return Push(before=_sha(event["before"]), after=_sha(event["after"]), forced=event.get("forced") is True)
    return None


def misspelt(event: Payload) -> tuple[str, ...]:
    """The fields of the small form that it does not have; none of GitHub's own payloads, which have many."""
    return () if _GITHUBS.intersection(event) else tuple(name for name in event if name not in SMALL_FORM)


def default_branch_of(event: Payload) -> str:
    """The name of the repository's default branch, or an empty string."""
    return _text(_mapping(event.get("repository")).get("default_branch"))


def describe(event: Payload) -> Description:
    """Title, body, labels and author, from a pull_request payload or the small form; a push has only an author."""
    pull_request = _mapping(event.get("pull_request"))
    source = pull_request or event
    author = source.get("user") or source.get("author") or event.get("sender")
    login = _text(_mapping(author).get("login")) or _text(author)
    labels = source.get("labels")
    return Description(
        title=_text(source.get("title")),
        body=_text(source.get("body")),
        labels=tuple(filter(None, map(_label, labels))) if isinstance(labels, (list, tuple)) else (),
        author=login,
        author_is_bot=_mapping(author).get("type") == "Bot" or login.endswith("[bot]"),
    )


def _label(label: object) -> str:
    return _text(_mapping(label).get("name")) or _text(label)


def _mapping(value: object) -> Payload:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _sha(value: object) -> str:
    """A full object name, or an empty string for anything else and for the name of nothing."""
    text = _text(value)
    return text if is_sha(text) and not is_zero(text) else ""
