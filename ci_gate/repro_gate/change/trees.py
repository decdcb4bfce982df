"""A commit's files, byte for byte: from git's objects, past attributes, filters and line-end conversion.

Belongs here: listing a tree and writing it to a directory. Does not belong here: choosing which files (overlay).
A commit may be hostile, so no path and no link of it may lead a write out of the directory.
"""

from __future__ import annotations

import enum
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro_gate.change.history import complete
from repro_gate.change.repository import Repository
from repro_gate.errors import GitFailed, TreeRefused, TreeTooLarge, disk_full

_LFS = b"version https://git-lfs.github.com/spec/v1\n"
_LFS_LARGEST = 1024


class Kind(enum.StrEnum):
    """What a path of a tree is, as git's modes have it."""

    FILE = "100644"
    EXECUTABLE = "100755"
    LINK = "120000"
    SUBMODULE = "160000"

    @classmethod
    def of(cls, mode: str) -> Kind:
        """The kind for a mode, also for the odd modes of old histories."""
        if mode in (cls.LINK, cls.SUBMODULE):
            return cls(mode)
        return cls.EXECUTABLE if int(mode, 8) & 0o100 else cls.FILE


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """A path of a commit's tree. Names are bytes in git: those that are no text are escaped as the OS module does."""

    path: str
    kind: Kind
    sha: str
    size: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Materialised:
    """What was written, and what a commit names but does not hold."""

    files: int
    size: int
    submodules: tuple[str, ...] = ()
    lfs_pointers: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each way in which the directory is less than a checkout."""
        found = []
        if self.submodules:
            found.append(f"Submodules are empty directories: {_some(self.submodules)}.")
        if self.lfs_pointers:
            found.append(f"Files in Git LFS are pointers without their data: {_some(self.lfs_pointers)}.")
        return tuple(found)


def entries(repository: Repository, commit: str) -> tuple[Entry, ...]:
    """All paths of a commit's tree, in git's order. Raises GitFailed."""
    complete(repository, commit)
    listed = repository.read("ls-tree", "-r", "-z", "--long", "--full-tree", "--end-of-options", commit)
    found = []
    for record in listed.split(b"\0"):
        if record:
            facts, _, path = record.partition(b"\t")
            mode, _, sha, size = facts.decode("ascii").split()
            if size == "BAD":
                raise GitFailed(f"The file {os.fsdecode(path)!r} of commit {commit[:12]} is not in this clone.")
            found.append(
                Entry(path=os.fsdecode(path), kind=Kind.of(mode), sha=sha, size=0 if size == "-" else int(size))
            )
    return tuple(found)


def materialise(
    repository: Repository, commit: str, target: Path, *, max_bytes: int, written: int | None = None
) -> Materialised:
    """Write a commit's files into ``target``, which must be empty or not there.

    ``written`` is the time that they all get, in nanoseconds since 1970; None: each its own. Raises TreeTooLarge beyond
    ``max_bytes``, TreeRefused for paths that git would not check out, GitFailed where objects are missing, DiskFull.
    """
    tree = entries(repository, commit)
    size = sum(entry.size for entry in tree)
    if size > max_bytes:
        raise TreeTooLarge(
            f"The files of commit {commit[:12]} take {size >> 20} MiB; the limit is {max_bytes >> 20} MiB.",
            next_step="Raise `max-tree-mib` in [tool.repro-gate].",
        )
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        raise GitFailed(f"The directory {str(target)!r} for the files of a commit is not empty.")
    return write(repository, tree, target, written)


def write(repository: Repository, tree: Sequence[Entry], target: Path, written: int | None = None) -> Materialised:
    """Write entries below ``target``; nothing may be at their paths. ``written`` and errors as of `materialise`."""
    refuse_unsafe(tree)
    pointers: list[str] = []
    try:
        for entry in tree:
            place = target / entry.path
            (place if entry.kind is Kind.SUBMODULE else place.parent).mkdir(parents=True, exist_ok=True)
        _write_files(repository, tree, target, pointers, written)
    except OSError as error:
        full = disk_full(error, str(target))
        raise full or TreeRefused(f"A file of the commit cannot be written here: {error}.") from error
    return Materialised(
        files=len(tree),
        size=sum(entry.size for entry in tree),
        submodules=tuple(entry.path for entry in tree if entry.kind is Kind.SUBMODULE),
        lfs_pointers=tuple(sorted(pointers)),
    )


def refuse_unsafe(tree: Iterable[Entry]) -> None:
    """Raise TreeRefused for a path that leaves the tree, is git's own, or lies below something that is no directory."""
    seen: set[str] = set()
    parents: set[str] = set()
    for entry in tree:
        refuse_unsafe_paths((entry.path,))
        parts = entry.path.split("/")
        if entry.path in seen:
            raise TreeRefused(f"The commit holds the path {entry.path!r} twice.")
        seen.add(entry.path)
        parents.update("/".join(parts[:end]) for end in range(1, len(parts)))
    if both := sorted(seen & parents):
        raise TreeRefused(f"The commit holds the path {both[0]!r} both as a directory and as something else.")


def refuse_unsafe_paths(paths: Iterable[str]) -> None:
    """Raise TreeRefused for a path that leaves the tree or is git's own."""
    for path in paths:
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/")):
            raise TreeRefused(f"The commit holds the path {path!r}.")


def _write_files(
    repository: Repository, tree: Sequence[Entry], target: Path, pointers: list[str], written: int | None
) -> None:
    places: dict[str, list[Entry]] = {}
    for entry in tree:
        if entry.kind is not Kind.SUBMODULE:
            places.setdefault(entry.sha, []).append(entry)
    sizes = {sha: found[0].size for sha, found in places.items()}
    for sha, content in repository.blobs(sizes):
        for entry in places[sha]:
            _write_one(target / entry.path, entry.kind, content, written)
            if entry.kind is not Kind.LINK and len(content) < _LFS_LARGEST and content.startswith(_LFS):
                pointers.append(entry.path)


def _write_one(place: Path, kind: Kind, content: bytes, written: int | None) -> None:
    if kind is Kind.LINK:
        if not content or b"\0" in content:
            raise TreeRefused(f"The commit holds a link that leads nowhere: {place.name!r}.")
        place.symlink_to(os.fsdecode(content))
        return
    # Never through something that is there already, and not subject to the user's umask.
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        os.fchmod(file.fileno(), 0o755 if kind is Kind.EXECUTABLE else 0o644)
        if written is not None:
            file.flush()  # or closing would set the time of now
            os.utime(file.fileno(), ns=(written, written))


def _some(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return ", ".join(path.encode("utf-8", "backslashreplace").decode() for path in paths[:3]) + more
