"""What differs between two commits: paths, kinds, renames and lines, as git's objects have it.

Belongs here: reading differences. Does not belong here: what a path is for (layout) or which lines run (lines).
Attributes and configuration have no say: a change must not be able to hide itself as binary.
"""

from __future__ import annotations

import difflib
import enum
import os
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from repro_gate.change.repository import Repository, is_zero
from repro_gate.change.trees import Kind
from repro_gate.errors import GitFailed
from repro_gate.model.lines import ended, has_lone_returns

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
# What git itself looks at.
_BINARY_PROBE = 8000
_TEXT_LARGEST = 32 * 2**20
_PLAIN = ("--no-color", "--no-ext-diff", "--no-textconv")


class ChangeKind(enum.StrEnum):
    """What happened to a path."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    TYPE_CHANGED = "type-changed"


_LETTERS = {
    "A": ChangeKind.ADDED,
    "M": ChangeKind.MODIFIED,
    "D": ChangeKind.DELETED,
    "T": ChangeKind.TYPE_CHANGED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One path that differs. A rename is a deletion and an addition; the addition knows where it came from.

    ``old_sha`` is the content to compare with: that of ``old_path`` if the file was renamed.
    """

    path: str
    kind: ChangeKind
    old: Kind | None = None
    new: Kind | None = None
    old_sha: str = ""
    new_sha: str = ""
    old_path: str = ""
    similarity: int = 0
    binary: bool = False

    @property
    def submodule(self) -> bool:
        """Whether one side is a submodule."""
        return Kind.SUBMODULE in (self.old, self.new)

    @property
    def mode_changed(self) -> bool:
        """Whether a file that is on both sides became executable or ceased to be."""
        return self.kind is ChangeKind.MODIFIED and self.old is not self.new


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Numbers of the lines that a change removed from the base's file and added to the head's, from 1."""

    removed: frozenset[int] = frozenset()
    added: frozenset[int] = frozenset()


def changes(repository: Repository, base: str, head: str) -> tuple[Change, ...]:
    """Every path that differs between two commits, in git's order. Raises GitFailed."""
    compare = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--full-index", "--ignore-submodules=none", *_PLAIN)
    plain = repository.read(*compare, "--no-renames", "--end-of-options", base, head, timeout=600)
    paired = repository.read(*compare, "--find-renames", "--diff-filter=R", "--end-of-options", base, head, timeout=600)
    renames = {change.path: change for change in _parsed(paired)}
    found = []
    for change in _parsed(plain):
        rename = renames.get(change.path)
        if rename and change.kind is ChangeKind.ADDED:
            change = replace(rename, kind=ChangeKind.ADDED)
        found.append(change)
    binary = _binary(repository, found)
    return tuple(replace(change, binary=bool({change.old_sha, change.new_sha} & binary)) for change in found)


def changed_lines(repository: Repository, change: Change) -> Lines:
    """The lines that a change touches, also where only white space or line ends differ; none for a binary file.

    Lines end at a line feed, as in git; in Python's files where Python ends one. Raises GitFailed.
    """
    if change.binary or change.submodule or Kind.LINK in (change.old, change.new):
        return Lines()
    if change.path.endswith(".py"):
        old, new = (repository.blob(sha) if sha else b"" for sha in (change.old_sha, change.new_sha))
        if has_lone_returns(old) or has_lone_returns(new):
            return _python_lines(old, new)
    if not change.old_sha:
        return Lines(added=_all_lines(repository, change.new_sha))
    if not change.new_sha:
        return Lines(removed=_all_lines(repository, change.old_sha))
    if change.old_sha == change.new_sha:
        return Lines()
    # Two blobs, not two paths: no attribute of either tree applies to them.
    options = ("--text", "-U0", "--inter-hunk-context=0", "--diff-algorithm=histogram", "--indent-heuristic")
    answer = repository.ask("diff", *_PLAIN, *options, change.old_sha, change.new_sha)
    if answer.status != 0:
        raise GitFailed(f"`git diff` failed for {change.path!r}.", details=answer.error)
    removed: set[int] = set()
    added: set[int] = set()
    for hunk in _HUNK.finditer(answer.output):
        removed.update(_span(hunk[1], hunk[2]))
        added.update(_span(hunk[3], hunk[4]))
    return Lines(removed=frozenset(removed), added=frozenset(added))


def added_lines(repository: Repository, base: str, head: str, paths: Collection[str]) -> dict[str, frozenset[int]]:
    """The lines that a change adds to some of its files. Raises GitFailed."""
    wanted = [change for change in changes(repository, base, head) if change.path in paths] if paths else []
    return {change.path: changed_lines(repository, change).added for change in wanted}


def _parsed(raw: bytes) -> Iterable[Change]:
    fields = iter(raw.split(b"\0"))
    for facts in fields:
        if not facts:
            continue
        old_mode, new_mode, old_sha, new_sha, status = facts.decode("ascii").removeprefix(":").split()
        letter, first = status[0], os.fsdecode(next(fields))
        renamed = letter == "R"
        yield Change(
            path=os.fsdecode(next(fields)) if renamed else first,
            kind=ChangeKind.ADDED if renamed else _LETTERS[letter],
            old=_kind(old_mode),
            new=_kind(new_mode),
            old_sha="" if is_zero(old_sha) else old_sha,
            new_sha="" if is_zero(new_sha) else new_sha,
            old_path=first if renamed else "",
            similarity=int(status[1:]) if renamed else 0,
        )


def _kind(mode: str) -> Kind | None:
    return Kind.of(mode) if mode.strip("0") else None


def _binary(repository: Repository, found: Iterable[Change]) -> frozenset[str]:
    """Contents that hold a zero byte early on, or that are too large to be looked at by line."""
    names: dict[str, None] = {}
    for change in found:
        for kind, sha in ((change.old, change.old_sha), (change.new, change.new_sha)):
            if sha and kind is not Kind.SUBMODULE:
                names[sha] = None
    sizes = _sizes(repository, list(names))
    large = {sha for sha, size in sizes.items() if size > _TEXT_LARGEST}
    small = {sha: size for sha, size in sizes.items() if sha not in large}
    zeros = {sha for sha, content in repository.blobs(small) if b"\0" in content[:_BINARY_PROBE]}
    return frozenset(large | zeros)


def _sizes(repository: Repository, names: list[str]) -> dict[str, int]:
    question = "".join(f"{name}\n" for name in names).encode()
    answer = repository.read("cat-file", "--batch-check=%(objectsize)", question=question)
    found = {}
    for name, size in zip(names, answer.split(b"\n"), strict=False):
        if not size.isdigit():
            raise GitFailed(f"The file {name} of a commit is not in this clone.")
        found[name] = int(size)
    return found


def _all_lines(repository: Repository, sha: str) -> frozenset[int]:
    content = repository.blob(sha)
    count = content.count(b"\n") + (not content.endswith(b"\n") and bool(content))
    return frozenset(range(1, count + 1))


def _python_lines(old: bytes, new: bytes) -> Lines:
    """The lines that differ where git would take many of them for one. Their ends count."""
    removed: set[int] = set()
    added: set[int] = set()
    for what, first, last, start, stop in difflib.SequenceMatcher(None, ended(old), ended(new)).get_opcodes():
        if what != "equal":
            removed.update(range(first + 1, last + 1))
            added.update(range(start + 1, stop + 1))
    return Lines(removed=frozenset(removed), added=frozenset(added))


def _span(start: bytes, count: bytes | None) -> range:
    return range(int(start), int(start) + (1 if count is None else int(count)))
