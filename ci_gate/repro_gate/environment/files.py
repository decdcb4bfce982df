"""The files of a tree by their path, from a directory or from anywhere else.

Belongs here: reading what may declare something, and never a file outside of the tree. Does not
belong here: what a file says (facts, requirements, locks).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

# A tree as the rest of this room sees it: paths with "/" -> contents. A git tree can be one as well.
Tree = Mapping[str, bytes]

_DEPTH = 4
_LARGEST = 64 * 2**20
_SKIPPED = frozenset({"node_modules", "__pycache__", "site-packages"})


class OnDisk(Mapping[str, bytes]):
    """A directory as a Tree: lists four levels of it, reads any path below it.

    What leads out of the directory (a link, ``..``) is not there.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    def __getitem__(self, path: str) -> bytes:
        try:
            real = (self._root / path).resolve()
            if not real.is_relative_to(self._root) or not real.is_file() or real.stat().st_size > _LARGEST:
                raise KeyError(path)
            return real.read_bytes()
        except (OSError, ValueError):
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[str]:
        for directory, folders, names in os.walk(self._root):
            here = Path(directory).relative_to(self._root)
            depth = len(here.parts) + 1
            folders[:] = sorted(name for name in folders if depth < _DEPTH and self._wanted(Path(directory) / name))
            yield from ((here / name).as_posix() for name in sorted(names))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, path: object) -> bool:
        try:
            self[str(path)]
        except KeyError:
            return False
        return True

    @staticmethod
    def _wanted(folder: Path) -> bool:
        hidden = folder.name.startswith(".") or folder.name in _SKIPPED
        return not hidden and not (folder / "pyvenv.cfg").exists()


def text_of(tree: Tree, path: str) -> str:
    """A file's text, or an empty one where there is none; what is not UTF-8 is replaced."""
    return tree.get(path, b"").decode("utf-8-sig", "replace")


def table(document: object, *names: str) -> dict[str, Any]:
    """The table at a path of keys, empty where there is none or something else stands there."""
    for name in names:
        document = document.get(name) if isinstance(document, dict) else None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}


def strings(value: object) -> tuple[str, ...]:
    """The strings of a list; nothing for anything else."""
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple) else ()


def string(value: object) -> str:
    """A string, or an empty one for anything else."""
    return value if isinstance(value, str) else ""
