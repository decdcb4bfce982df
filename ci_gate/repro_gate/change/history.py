"""Commits that may be missing, and where two histories part; fetches what a shallow clone lacks.

Belongs here: fetching objects and common ancestors. Does not belong here: which commits to compare (resolver).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from repro_gate.change.repository import Repository, is_sha, reason
from repro_gate.errors import HistoryMissing, UsageError

# 50 more commits, then 100 more, ... 6350 in all; the next step is the whole history at once.
_DEEPENINGS = tuple(50 * 2**step for step in range(7))
_FETCH_SECONDS = 900.0
# No tag, no FETCH_HEAD, no submodule; as hashes are asked for and no refs, only objects come in.
_QUIETLY = ("--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--quiet")


def is_shallow(repository: Repository) -> bool:
    """Whether the clone's history is cut somewhere."""
    return repository.line("rev-parse", "--is-shallow-repository") == "true"


def remote_of(repository: Repository) -> str:
    """The remote that changes are proposed to: `origin`, else the only one, else an empty string."""
    names = repository.line("remote").split("\n")
    if "origin" in names:
        return "origin"
    return names[0] if len(names) == 1 else ""


def named_commit(repository: Repository, name: str) -> str:
    """The commit that the user means by ``name``: a ref, a branch of the remote, or a hash that may be fetched.

    Raises UsageError naming what is unknown.
    """
    remote = remote_of(repository)
    found = repository.commit(name) or (repository.commit(f"refs/remotes/{remote}/{name}") if remote else "")
    if found:
        return found
    if is_sha(name):
        return bring(repository, name)
    _refuse_before_the_first(repository, name)
    raise UsageError(
        f"There is no commit {name!r} in this clone.",
        next_step="Name a branch, a tag or a full hash; `git fetch` brings the remote's branches.",
    )


def _refuse_before_the_first(repository: Repository, name: str) -> None:
    """Raise HistoryMissing for `HEAD~1` and the like, where the commit is there and nothing before it."""
    counted = re.fullmatch(r"([^~^]+)[~^][~^0-9]*", name)
    start = repository.commit(counted[1]) if counted else ""
    if not start:
        return
    if is_shallow(repository):
        raise HistoryMissing(f"What {name!r} names lies behind the cut of this shallow clone.")
    raise HistoryMissing(
        f"There is no commit {name!r}: the history of {start[:12]} does not go back so far.",
        next_step="A first commit has nothing to be compared with; name another `--base`, or check the next change.",
    )


def bring(repository: Repository, sha: str) -> str:
    """Make sure that a commit and its files are in the clone. Raises HistoryMissing."""
    if repository.has(f"{sha}^{{tree}}"):
        return sha
    # A depth in a full clone would cut its history for good.
    depth = ("--depth=1",) if is_shallow(repository) else ()
    why = _fetch(repository, *depth, names=(sha,))
    if not repository.has(f"{sha}^{{tree}}"):
        raise HistoryMissing(f"The commit {sha} is not in this clone, and fetching it failed: {why or 'it is gone.'}")
    return sha


def complete(repository: Repository, commit: str) -> None:
    """Bring the files of a commit into a partial clone in one go; git alone would fetch each one for itself."""
    remote = remote_of(repository)
    if not remote or repository.line("config", "--type=bool", "--get", f"remote.{remote}.promisor") != "true":
        return
    listed = repository.read("rev-list", "--objects", "--no-walk", "--missing=print", commit, timeout=_FETCH_SECONDS)
    missing = [line[1:] for line in listed.split(b"\n") if line.startswith(b"?")]
    if missing:
        # Whatever fails here is fetched, or complained of, when it is read.
        options = ("--filter=blob:none", "--stdin", remote)
        settings = ("-c", "fetch.negotiationAlgorithm=noop", "fetch")
        question = b"".join(b"%s\n" % sha for sha in missing)
        repository.ask(*settings, *_QUIETLY, *options, question=question, timeout=_FETCH_SECONDS)


def merge_base(repository: Repository, one: str, other: str) -> str:
    """The newest common ancestor, deepening a shallow clone as far as it takes. Raises HistoryMissing."""
    if one == other or other in repository.parents(one):
        return bring(repository, other)
    why = ""
    for deepening in (*(f"--deepen={count}" for count in _DEEPENINGS), "--unshallow", ""):
        found = repository.line("merge-base", one, other)
        edges = _edges(repository, one, other, found)
        if found and not edges:
            return bring(repository, found)
        if not edges or not deepening:
            break
        why = _fetch(repository, deepening, names=edges)
        if why:
            break
    if is_shallow(repository):
        cause = f"fetching more of it failed: {why}" if why else "its history is cut."
        raise HistoryMissing(f"Where {one[:12]} and {other[:12]} part is not in this shallow clone, and {cause}")
    raise HistoryMissing(
        f"The commits {one[:12]} and {other[:12]} have no common ancestor.",
        next_step="Name the commit to compare with by `--base`.",
    )


def is_ancestor(repository: Repository, one: str, other: str) -> bool:
    """Whether ``one`` is in the history of ``other``, as far as the clone has it."""
    return repository.ask("merge-base", "--is-ancestor", one, other).status == 0


def merged_by(repository: Repository, head: str, tip: str) -> str:
    """The merge commit on the way to ``tip`` that brought ``head`` in; empty where ``tip`` went on from head itself."""
    listed = repository.read("rev-list", "--first-parent", "--end-of-options", tip, f"^{head}").split()
    way = [os.fsdecode(sha) for sha in listed]  # newest first; from the merge on, each holds head
    if not way or not is_ancestor(repository, head, way[0]):
        return ""
    newest, oldest = 0, len(way)
    while oldest - newest > 1:
        middle = (newest + oldest) // 2
        newest, oldest = (middle, oldest) if is_ancestor(repository, head, way[middle]) else (newest, middle)
    parents = repository.parents(way[newest])
    return way[newest] if len(parents) > 1 and parents[0] != head else ""


def _edges(repository: Repository, one: str, other: str, found: str) -> tuple[str, ...]:
    """Where the clone is cut above the common ancestor: behind such a cut a newer one may hide."""
    cuts = _cuts(repository)
    if not cuts:
        return ()
    arguments = [one, other, *([f"^{found}"] if found else [])]
    listed = repository.read("rev-list", "--end-of-options", *arguments).split()
    return tuple(sha for sha in map(os.fsdecode, listed) if sha in cuts)


def _cuts(repository: Repository) -> frozenset[str]:
    place = Path(repository.line("rev-parse", "--path-format=absolute", "--git-path", "shallow"))
    try:
        return frozenset(place.read_text(encoding="ascii").split())
    except FileNotFoundError:
        return frozenset()


def _fetch(repository: Repository, *options: str, names: tuple[str, ...]) -> str:
    """Fetch objects; an empty string, or why it did not work."""
    remote = remote_of(repository)
    if not remote:
        return "there is no remote `origin`."
    answer = repository.ask("fetch", *_QUIETLY, *options, remote, *names, timeout=_FETCH_SECONDS)
    return "" if answer.status == 0 else reason(answer)
