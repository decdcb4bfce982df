"""The project under test: where it is, what runs it, what its tests may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.sandbox import Interpreter


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """Facts that hold for a whole campaign.

    ``original`` is the tree that is copied, ``subdirectory`` where pytest runs below it,
    ``pytest_args`` what the user gave. ``exclude`` are globs of what is not copied.
    """

    original: Path
    subdirectory: str
    pytest_args: tuple[str, ...]
    interpreter: Interpreter
    environment: Mapping[str, str]
    cwd_on_path: bool = True
    exclude: tuple[str, ...] = ()
    max_tree_bytes: int = 2048 * 2**20
    network: str = "blocked"
    evidence: bool = True


def find_tree(directory: Path) -> tuple[Path, str]:
    """The tree to copy for a run in ``directory``, and the directory's path below it.

    The nearest parent that is a git work tree; else the nearest that holds a project's
    configuration; else the directory itself.
    """
    directory = directory.resolve()
    candidates = [directory, *directory.parents]
    for names in ((".git",), ("pyproject.toml", "pytest.ini", "setup.cfg", "tox.ini", "setup.py")):
        for candidate in candidates:
            if candidate == candidate.parent or candidate == Path.home():
                break
            if any((candidate / name).exists() for name in names):
                relative = str(directory.relative_to(candidate))
                return candidate, "" if relative == "." else relative
    return directory, ""
