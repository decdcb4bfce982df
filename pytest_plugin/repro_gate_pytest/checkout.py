"""A fresh copy of the checkout that a capsule is replayed in, and a file of it with other bytes.

Belongs here: what is copied and what is not. Does not belong here: running anything in the copy (``replay``).
"""

from __future__ import annotations

import os
import shutil

_SKIPPED = shutil.ignore_patterns(
    "node_modules",
    ".tox",
    ".nox",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".repro-gate",
    ".hypothesis",
    "*-pytest-*.pyc",
)
_MOST_BYTES = 4 << 30


class NoReplay(Exception):
    """It could not even be tried; the sentence says why."""


class NotCollected(NoReplay):
    """pytest gave no list of tests, or one without them:
    with a mutant that runs at import, that is how they notice it.
    """


def copy(source: str, target: str) -> None:
    """Copy a tree without caches and environments. Raises NoReplay where it is too large."""
    room = [_MOST_BYTES]
    shutil.copytree(source, target, symlinks=True, ignore=_ignore, copy_function=lambda one, to: _copied(one, to, room))


def put(tree: str, name: str, data: bytes) -> None:
    """Put the file into a copy, without what was compiled from the one before: Python would take that for valid."""
    place = os.path.join(tree, *name.split("/"))
    if os.path.realpath(place) != os.path.join(os.path.realpath(tree), *name.split("/")):
        raise NoReplay("%s is a link, or behind one" % name)
    os.unlink(place)  # it may be for reading alone
    with open(place, "wb") as file:
        file.write(data)
    compiled = os.path.join(os.path.dirname(place), "__pycache__")
    stem = os.path.basename(place).rpartition(".")[0] + "."
    for each in os.listdir(compiled) if os.path.isdir(compiled) else ():
        if each.startswith(stem):
            os.unlink(os.path.join(compiled, each))


def _ignore(directory: str, names: list[str]) -> set[str]:
    skipped = set(_SKIPPED(directory, names))
    for name in names:
        path = os.path.join(directory, name)
        special = not (os.path.isfile(path) or os.path.isdir(path) or os.path.islink(path))
        if special or os.path.exists(os.path.join(path, "pyvenv.cfg")):
            skipped.add(name)
    return skipped


def _copied(source: str, target: str, room: list[int]) -> str:
    try:
        room[0] -= os.lstat(source).st_size
        if room[0] < 0:
            raise NoReplay("the checkout holds more than %d MiB to copy" % (_MOST_BYTES >> 20))
        return str(shutil.copy2(source, target, follow_symlinks=False))
    except PermissionError:  # what we may not read, tests that run as us could not read either
        return target
