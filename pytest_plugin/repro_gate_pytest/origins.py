"""Which file each module came from, of those that the tree has, too.

A copy in site-packages, or another checkout that is installed editable, would be tested in the
tree's place without anybody noticing.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_realpath = os.path.realpath


def of_modules(tree: str, subdirectory: str = "") -> dict[str, str]:
    """Module name -> file, for modules whose top-level name the tree has.

    Files of the tree are relative to it, others absolute. A namespace package is where its first part is.
    """
    root = _realpath(tree)
    names = top_levels(root, subdirectory)
    found: dict[str, str] = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in names:
            place = _place(module)
            if place:
                found[name] = relative(place, root)
    return found


def top_levels(root: str, subdirectory: str = "") -> frozenset[str]:
    """What can be imported from the tree's root, its ``src`` and ``lib``, and those of ``subdirectory``."""
    names = set()
    for base in {root, os.path.join(root, subdirectory)}:
        for place in (base, os.path.join(base, "src"), os.path.join(base, "lib")):
            names.update(_importable(place))
    return frozenset(names)


def relative(path: str, root: str) -> str:
    """``path`` with slashes, relative to ``root`` where it is below."""
    real = _realpath(path)
    if real.startswith(root + os.sep):
        real = real[len(root) + 1 :]
    return real.replace(os.sep, "/")


def _importable(directory: str) -> set[str]:
    names = set()
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                stem, extension = os.path.splitext(entry.name)
                if extension in (".py", ".so", ".pyd") and entry.is_file():
                    names.add(stem.partition(".")[0])
                elif entry.name.isidentifier() and entry.is_dir() and _holds_modules(entry.path):
                    names.add(entry.name)
    except OSError:
        return names
    return names


def _holds_modules(directory: str) -> bool:
    """A package, or a folder that may be a namespace package."""
    try:
        return any(name.endswith((".py", ".so")) for name in os.listdir(directory)) or any(
            os.path.exists(os.path.join(directory, name, "__init__.py")) for name in os.listdir(directory)
        )
    except OSError:
        return False


def _place(module: Any) -> str:
    """A module's file; asking a lazy module must not load it, and may do anything."""
    try:
        spaces = object.__getattribute__(module, "__dict__")
        file = spaces.get("__file__")
        if isinstance(file, str):
            return file
        path = list(spaces.get("__path__") or ())
        return path[0] if path and isinstance(path[0], str) else ""
    except Exception:
        return ""
