"""The two trees of a proof out of a checkout's git objects, for ``repro.sh``: nothing but git is needed.

Belongs here: which files a tree holds, base under head's tests, and writing them byte for byte, past
attributes and filters. Does not belong here: starting git (``replay``). The gate has a room of its own for
this; a capsule must do without the gate, and what lies on base is written in it.
"""

from __future__ import annotations

import os
from typing import Any, Callable, NamedTuple, Optional

Git = Callable[[list[str], bytes], bytes]
"""Runs git with these words and this input; its output."""

_LINK, _SUBMODULE, _PROGRAM = "120000", "160000", "100755"
_CHUNK = 500


class Refused(Exception):
    """A tree that must not be written; the sentence says why."""


class File(NamedTuple):
    """What lies at a path: one of git's objects, or a text that no commit has."""

    mode: str
    sha: str
    text: Optional[str] = None  # noqa: UP045 - evaluated on Python 3.9


def listed(git: Git, commit: str) -> dict[str, File]:
    """The files of a commit, by path."""
    found = {}
    for record in git(["ls-tree", "-r", "-z", "--full-tree", commit], b"").split(b"\0"):
        if record:
            facts, _, path = record.partition(b"\t")
            mode, _, sha = facts.decode("ascii").split()
            found[os.fsdecode(path)] = File(mode, sha)
    return found


def overlaid(base: dict[str, File], overlay: dict[str, Any]) -> dict[str, File]:
    """Base's files with those of the overlay in their place."""
    laid = {each["path"]: File(each["mode"], each["sha"]) for each in overlay["files"]}
    laid.update({each["path"]: File("100644", "", each["text"]) for each in overlay["texts"]})
    gone = set(overlay["removed"])
    # A file of base may stand where head has a folder, and the other way round.
    above = {path[:at] for path in laid for at in range(len(path)) if path[at] == "/"}
    kept = {
        path: file
        for path, file in base.items()
        if path not in gone and path not in above and not any(path.startswith(name + "/") for name in laid)
    }
    kept.update(laid)
    return kept


def write(git: Git, files: dict[str, File], target: str) -> None:
    """Write files below ``target``, which must be empty. Raises Refused for a path or link that leads out of it."""
    for path in files:
        if any(part in ("", ".", "..") or part.lower() == ".git" for part in path.split("/")):
            raise Refused("the commit holds the path %r" % path)
    for path, file in files.items():
        place = os.path.join(target, path)
        os.makedirs(place if file.mode == _SUBMODULE else os.path.dirname(place), exist_ok=True)
    wanted = [(path, file) for path, file in files.items() if file.mode != _SUBMODULE]
    # Links come last: nothing is ever written through one.
    wanted.sort(key=lambda pair: pair[1].mode == _LINK)
    for start in range(0, len(wanted), _CHUNK):
        chunk = wanted[start : start + _CHUNK]
        blobs = _blobs(git, [file.sha for _, file in chunk if file.text is None])
        for path, file in chunk:
            content = file.text.encode() if file.text is not None else blobs[file.sha]
            _write_one(os.path.join(target, path), file.mode, content)


def _write_one(place: str, mode: str, content: bytes) -> None:
    if mode == _LINK:
        os.symlink(os.fsdecode(content), place)
        return
    with open(place, "xb") as file:
        file.write(content)
    os.chmod(place, 0o755 if mode == _PROGRAM else 0o644)


def _blobs(git: Git, names: list[str]) -> dict[str, bytes]:
    names = list(dict.fromkeys(names))
    answer = git(["cat-file", "--batch"], "".join(name + "\n" for name in names).encode()) if names else b""
    found, at = {}, 0
    for name in names:
        end = answer.index(b"\n", at)
        words = answer[at:end].split()
        if len(words) != 3 or words[1] != b"blob":
            raise Refused("the file %s of a commit is not in this clone" % name)
        found[name] = answer[end + 1 : end + 1 + int(words[2])]
        at = end + int(words[2]) + 2
    return found
