"""Requirement files: which of them are meant for tests, and what they come to when put together.

Belongs here: pip's format with its includes. Does not belong here: which kind of declaration wins
(declared).
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name

from repro_gate.environment.facts import parsed
from repro_gate.environment.files import Tree
from repro_gate.errors import ConfigError

NAMES = ("test", "tests", "testing", "dev")

_INCLUDE = re.compile(r"^(?:-r|--requirement)[ =]?\s*(.+)$")
_CONSTRAINT = re.compile(r"^(?:-c|--constraint)[ =]?\s*(.+)$")
_EDITABLE = re.compile(r"^(?:-e|--editable)[ =]?\s*(.+)$")
_FIND_LINKS = re.compile(r"^(?:-f|--find-links)[ =]?\s*([^:/][^:]*)$")
_EXTRAS = re.compile(r"^(.*?)\[([^\]]*)\]$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Flat:
    """Requirement files as one list of lines for pip, with paths seen from the tree's top.

    ``local`` says that there are any. ``paths`` are all files that were read, in the order of reading. ``extras`` are
    those of the project itself, where a line would have installed it (``-e .[test]``); that line is left out.
    """

    lines: tuple[str, ...]
    paths: tuple[str, ...]
    extras: tuple[str, ...]
    local: bool
    notes: tuple[str, ...]


def for_tests(tree: Tree) -> tuple[str, tuple[str, ...]]:
    """The file that lists what tests need (or an empty string), and others that could have been meant."""
    there = [path for name in NAMES for path in _spellings(name) if path in tree]
    return (there[0], tuple(there[1:])) if there else ("", ())


def for_use(tree: Tree) -> str:
    """The file that lists what the product needs, or an empty string."""
    names = ("requirements.txt", "requirements/base.txt", "requirements/main.txt", "requirements/requirements.txt")
    return next((path for path in names if path in tree), "")


def _spellings(name: str) -> Iterator[str]:
    for stem in (f"requirements-{name}", f"requirements_{name}", f"{name}-requirements", f"{name}_requirements"):
        yield f"{stem}.txt"
    yield f"requirements/{name}.txt"
    yield f"requirements.{name}.txt"
    if name.startswith("test"):
        yield f"{name}/requirements.txt"


def flatten(tree: Tree, paths: Iterable[str], product: str) -> Flat:
    """The lines of ``paths`` and of what they include; ``product`` is the project's own name.

    Raises ConfigError for an include that is not in the tree.
    """
    reader = _Reader(tree, product)
    for path in paths:
        reader.read(path, "")
    return Flat(
        lines=tuple(dict.fromkeys(reader.lines)),
        paths=tuple(reader.seen),
        extras=tuple(dict.fromkeys(reader.extras)),
        local=reader.local,
        notes=tuple(dict.fromkeys(reader.notes)),
    )


class _Reader:
    """One pass over requirement files."""

    def __init__(self, tree: Tree, product: str) -> None:
        self._tree = tree
        self._product = canonicalize_name(product)
        self.lines: list[str] = []
        self.seen: list[str] = []
        self.extras: list[str] = []
        self.notes: list[str] = []
        self.local = False

    def read(self, path: str, where: str) -> None:
        """Take in a file once; ``where`` is the line that includes it."""
        if path in self.seen:
            return
        if path not in self._tree:
            raise ConfigError(f"{where}: {path} is not in the tree.", next_step=f"Add {path}, or correct that line.")
        self.seen.append(path)
        for number, line in _logical_lines(self._tree[path].decode("utf-8-sig", "replace")):
            self._take(line, PurePosixPath(path).parent, f"{path}:{number}")

    def _take(self, line: str, folder: PurePosixPath, where: str) -> None:
        if include := _INCLUDE.match(line):
            self.read(_inside(folder, include[1], where), where)
        elif constraint := _CONSTRAINT.match(line):
            self._constrain(constraint[1], folder, where)
        elif editable := _EDITABLE.match(line):
            self._add(editable[1].strip(), where)
        elif links := _FIND_LINKS.match(line):
            self.lines.append(f"-f {_inside(folder, links[1], where)}")
            self.local = True
        elif line.startswith("-"):
            self.lines.append(line)
        else:
            self._add(line, where)

    def _constrain(self, name: str, folder: PurePosixPath, where: str) -> None:
        if "://" in name:
            self.lines.append(f"-c {name}")
            return
        path = _inside(folder, name, where)
        if path not in self._tree:
            raise ConfigError(f"{where}: {path} is not in the tree.", next_step=f"Add {path}, or correct that line.")
        if path not in self.seen:
            self.seen.append(path)
        self.lines.append(f"-c {path}")
        self.local = True

    def _add(self, line: str, where: str) -> None:
        """A requirement; the project itself is taken from the tree, never installed."""
        requirement = parsed(re.split(r"\s--(?:hash|config-settings|global-option)", line)[0])
        if requirement is not None:
            if canonicalize_name(requirement.name) == self._product:
                self.extras += sorted(requirement.extras)
            else:
                self.lines.append(line)
            return
        path, extras = _split_extras(line.partition(" ;")[0].strip())
        if not _is_local(path):
            self.lines.append(line)
        elif posixpath.normpath(path.removeprefix("file:")) == ".":
            self.extras += extras
            self.notes.append(f"{where} would install the project itself: its requirements were taken, not its files")
        else:
            # pip sees a relative path from its working directory, which is the tree's top: as for pip itself.
            self.lines.append(f"./{posixpath.normpath(path.removeprefix('file:'))}{_joined(extras)}")
            self.notes.append(f"{where}: {path} was installed as a copy, not as editable")
            self.local = True


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments, joined where they end in a backslash, with the number of the first."""
    pending, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s+)#.*$", "", line)
        start = start or number
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        if whole := (pending + line).strip():
            yield start, re.sub(r"\s{2,}", " ", whole)
        pending, start = "", 0
    if pending.strip():
        yield start, pending.strip()


def _inside(folder: PurePosixPath, name: str, where: str) -> str:
    """A path beside ``folder``, from the tree's top; never above it."""
    words = shlex.split(name)
    path = posixpath.normpath(str(folder / words[0])) if words else ""
    if not path or path.startswith(("..", "/")):
        raise ConfigError(f"{where}: {name} leads out of the tree.", next_step="Keep requirement files in the project.")
    return path


def _split_extras(text: str) -> tuple[str, list[str]]:
    found = _EXTRAS.match(text)
    return (found[1], [extra.strip() for extra in found[2].split(",") if extra.strip()]) if found else (text, [])


def _joined(extras: list[str]) -> str:
    return f"[{','.join(extras)}]" if extras else ""


def _is_local(path: str) -> bool:
    return path.startswith((".", "/", "file:.")) or ("/" in path and "://" not in path and " " not in path)
