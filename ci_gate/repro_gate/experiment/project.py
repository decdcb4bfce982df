"""The project under test: where it is, what runs it, what its tests may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.model import Lenient
from repro_gate.sandbox import Interpreter


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """Facts that hold for a whole campaign.

    ``original`` is where the tree appears to tests, and the tree that is copied unless ``source`` is
    another; ``subdirectory`` is where pytest runs below it, ``exclude`` are globs of what is not copied.
    ``import_roots`` (in the tree) and ``shelves`` (directories beside it) go on sys.path, ``scripts`` on PATH.
    Asked for by the rest: ``facts`` of items at collection (without ``sources`` those of tests are not parsed, since
    they are the same wherever these facts are compared), ``lenient`` imports, ``counters`` of
    packets, ``test_files`` that are not called as tests are, which lines of ``watch`` (tree-relative paths) ran, and
    all lines and branches of the files of ``record``, with ``offspring`` also in child processes.
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
    source: Path | None = None
    import_roots: tuple[str, ...] = ()
    shelves: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    facts: bool = False
    sources: bool = True
    lenient: Lenient | None = None
    counters: bool = False
    watch: Mapping[str, frozenset[int]] = field(default_factory=dict)
    record: tuple[str, ...] = ()
    offspring: bool = True
    test_files: tuple[str, ...] = ()

    @property
    def tree(self) -> Path:
        """The tree that is copied."""
        return self.source or self.original


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
