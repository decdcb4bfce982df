"""Which two commits a run compares: right at depth 1, on re-runs, in merge queues, and harmless to the clone.

Belongs here: the choice of base and head. Does not belong here: what lies between them (diff).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from repro_gate.change.event import PullRequest, Push, QueueEntry, commits_of, default_branch_of
from repro_gate.change.history import bring, is_ancestor, is_shallow, merge_base, merged_by, named_commit, remote_of
from repro_gate.change.repository import Repository
from repro_gate.errors import HistoryMissing, UsageError


class How(enum.StrEnum):
    """By which rule the base was found."""

    GIVEN = "given"
    MERGE_COMMIT = "merge-commit"
    PULL_REQUEST = "pull-request"
    MERGE_QUEUE = "merge-queue"
    PUSH = "push"
    DEFAULT_BRANCH = "default-branch"


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """Why base is no longer what head was made for; ``next_step`` where there is a better one than to run again."""

    text: str
    next_step: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """The commits to compare, both in the clone with their files; ``notes`` are sentences for the reader.

    ``moved``: nothing can be told by this pair.
    """

    base_sha: str
    head_sha: str
    base_tree: str
    head_tree: str
    how: How
    notes: tuple[str, ...] = ()
    moved: Moved | None = None

    @property
    def nothing_changed(self) -> bool:
        """Whether both commits hold the same files."""
        return self.base_tree == self.head_tree


@dataclass(slots=True)
class _Search:
    """One resolution: what is known, and the notes that it gathers."""

    repository: Repository
    head: str
    event: Mapping[str, Any]
    notes: list[str] = field(default_factory=list)
    moved: Moved | None = None

    def parting(self, *others: str) -> str:
        """Where head left the others: of several places the newest, but not head itself if there is another."""
        found: list[str] = []
        for other in dict.fromkeys(filter(None, others)):
            base = merge_base(self.repository, self.head, other)
            if base not in found:
                found.append(base)
        # A branch that was merged since contains head; then the older place is where the change began.
        usable = [base for base in found if base != self.head] or found
        newest = usable[0]
        for base in usable[1:]:
            if is_ancestor(self.repository, newest, base):
                newest = base
        return newest

    def ahead(self, tip: str, found: str, *, proposed: bool = False) -> None:
        """Where head lies in the history of what it is compared with: it was merged, or it is behind.

        ``proposed``: it is what a pull request proposes, so it was not made by going back.
        """
        if found != self.head or tip == self.head:
            return
        here, there = self.head[:12], tip[:12]
        merge = merged_by(self.repository, self.head, tip)
        if not merge and proposed:
            self.moved = Moved(
                text=f"Base ({there}) holds head ({here}) already, so head would be compared with itself.",
                next_step="Name the commit before it was merged by `--base`.",
            )
        elif not merge:
            self.notes.append(f"Base ({there}) is ahead of head ({here}), which holds nothing that base does not have.")
        else:
            self.moved = Moved(
                text=f"{merge[:12]} has merged head into base already, so head would be compared with itself.",
                next_step=f"Name the commit before the merge: `--base {self.repository.parents(merge)[0]}`.",
            )

    def rewritten(self, before: str, now: str) -> bool:
        """Whether the target branch was replaced by another history since the event; in a cut one nobody can tell."""
        if not (before and now) or before == now or is_shallow(self.repository) or not self.repository.has(before):
            return False
        if is_ancestor(self.repository, before, now) or is_ancestor(self.repository, now, before):
            return False
        text = f"The target branch was rewritten: {before[:12]}, which the event names, is not in the history of {now[:12]}."
        self.moved = Moved(text=text)
        return True


def resolve(repository: Repository, *, base: str | None, head: str | None, event: Mapping[str, Any] | None) -> Pair:
    """The pair of commits to compare. ``base`` and ``head`` override what the event says.

    The base is where head left it, not where that branch is now. Raises UsageError for an
    unknown name, HistoryMissing where the clone cannot be completed.
    """
    payload = event or {}
    commits = commits_of(payload)
    search = _Search(repository, _head(repository, head, commits), payload)
    if head is None:
        _note_the_work_tree(search, commits)
    if base is not None:
        how, found = How.GIVEN, _given(search, base)
    elif isinstance(commits, PullRequest):
        how, found = _pull_request(search, commits)
    elif isinstance(commits, QueueEntry) and commits.base and (head is None or search.head == commits.head):
        how, found = How.MERGE_QUEUE, bring(repository, commits.base)
    elif isinstance(commits, Push):
        how, found = _push(search, commits)
    else:
        how, found = _no_event(search)
    return Pair(
        base_sha=found,
        head_sha=search.head,
        base_tree=repository.tree_of(found),
        head_tree=repository.tree_of(search.head),
        how=how,
        notes=tuple(search.notes),
        moved=search.moved,
    )


def _head(repository: Repository, head: str | None, commits: object) -> str:
    if head is not None:
        return named_commit(repository, head)
    if isinstance(commits, QueueEntry) and commits.head:
        return bring(repository, commits.head)
    if isinstance(commits, Push) and commits.after:
        return bring(repository, commits.after)
    checked_out = repository.commit("HEAD")
    if not checked_out:
        raise UsageError("The repository has no commit yet.", next_step="Commit the change first.")
    return checked_out


def _note_the_work_tree(search: _Search, commits: object) -> None:
    checked_out = search.repository.commit("HEAD")
    if search.head != checked_out:
        search.notes.append(f"The event names {search.head[:12]} while {checked_out[:12] or 'nothing'} is checked out.")
    elif search.repository.line("status", "--porcelain", "--untracked-files=normal"):
        search.notes.append("Uncommitted changes in the work tree are not part of what is compared.")
    if isinstance(commits, PullRequest) and commits.head:
        known = {search.head, *search.repository.parents(search.head)}
        if commits.head not in known:
            search.notes.append(f"The checked-out commit is not the event's head {commits.head[:12]}, nor its merge.")


def _given(search: _Search, base: str) -> str:
    named = named_commit(search.repository, base)
    found = search.parting(named)
    search.ahead(named, found)
    if found not in (named, search.head):
        search.notes.append(f"The base is {found[:12]}, where head left {base!r}; that is at {named[:12]} by now.")
    return found


def _pull_request(search: _Search, commits: PullRequest) -> tuple[How, str]:
    parents = search.repository.parents(search.head)
    # The branch's own last commit may be a merge too ("Merge main into feature"); its first parent is no base.
    if search.head != commits.head and len(parents) == 2 and _merges_the_change(search, parents[1], commits):
        if commits.base and parents[0] != commits.base and not search.rewritten(commits.base, parents[0]):
            search.notes.append(f"The target branch had moved to {parents[0][:12]} when this merge commit was made.")
        return How.MERGE_COMMIT, bring(search.repository, parents[0])
    base = bring(search.repository, commits.base) if commits.base else ""
    tracked = _tracked(search.repository, commits.base_branch)
    if not base and not tracked:
        return _no_event(search)
    search.rewritten(base, tracked)
    found = search.parting(base, tracked)
    search.ahead(tracked or base, found, proposed=search.head == commits.head)
    return How.PULL_REQUEST, found


def _merges_the_change(search: _Search, second: str, commits: PullRequest) -> bool:
    return second == commits.head or search.head == commits.merge or _is_merge_ref(search.repository, search.head)


def _is_merge_ref(repository: Repository, commit: str) -> bool:
    """Whether the checkout action fetched the commit as a pull request's merge."""
    found = repository.line("for-each-ref", f"--points-at={commit}", "--format=%(refname)", "refs/remotes/pull")
    return any(name.endswith("/merge") for name in found.split("\n"))


def _push(search: _Search, commits: Push) -> tuple[How, str]:
    if not commits.after:
        search.notes.append("The push deleted a branch, so nothing changed.")
        return How.PUSH, search.head
    if commits.before and not commits.forced:
        try:
            return How.PUSH, bring(search.repository, commits.before)
        except HistoryMissing as missing:
            search.notes.append(f"The commit before the push cannot be had: {missing}")
    branch = default_branch_of(search.event)
    if search.event.get("ref") == f"refs/heads/{branch}" or not (branch or remote_of(search.repository)):
        return How.PUSH, _of_the_default_branch_itself(search, commits)
    search.notes.append("A new or rewritten branch is compared with where it left the default branch.")
    return _no_event(search)


def _of_the_default_branch_itself(search: _Search, commits: Push) -> str:
    if not commits.before:
        search.notes.append("The first push of the default branch has no base, so nothing changed.")
        return search.head
    search.notes.append("The default branch was rewritten; the base is where old and new history part.")
    return search.parting(bring(search.repository, commits.before))


def _no_event(search: _Search) -> tuple[How, str]:
    repository = search.repository
    parents = repository.parents(search.head)
    if len(parents) == 2 and _is_merge_ref(repository, search.head):
        return How.MERGE_COMMIT, bring(repository, parents[0])
    tip = _default_branch(repository, default_branch_of(search.event))
    found = search.parting(tip)
    search.ahead(tip, found)
    return How.DEFAULT_BRANCH, found


def _default_branch(repository: Repository, named: str) -> str:
    """The tip of the remote's default branch; the remote is asked only where the clone does not tell."""
    remote = remote_of(repository)
    for name in (named, "HEAD", "main", "master") if remote else ():
        if name and (found := repository.commit(f"refs/remotes/{remote}/{name}")):
            return found
    if remote:
        listed = repository.line("ls-remote", remote, f"refs/heads/{named}" if named else "HEAD").split()
        if listed:
            return bring(repository, listed[0])
    for name in (named, "main", "master"):
        if name and not remote and (found := repository.commit(f"refs/heads/{name}")):
            return found
    raise UsageError(
        "Nothing tells what the change is to be compared with: there is no default branch of a remote.",
        next_step="Name the commit or branch to compare with by `--base`.",
    )


def _tracked(repository: Repository, branch: str) -> str:
    remote = remote_of(repository)
    return repository.commit(f"refs/remotes/{remote}/{branch}") if remote and branch else ""
