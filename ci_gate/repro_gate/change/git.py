"""Questions to git about a work tree; where there is no git, the answers are empty."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from repro_gate.errors import MissingTool
from repro_gate.process import run

WRITTEN = ".repro-gate/written"  # names of reports that this tool wrote, from the directory that holds it
_COMMITS_BACK = 300
_USERINFO = re.compile(r"^(\w[\w+.-]*://)[^/@]*@")


@dataclass(frozen=True, kw_only=True, slots=True)
class Head:
    """The checked-out commit; ``repository`` without credentials."""

    commit: str = ""
    dirty: bool = False
    repository: str = ""


def _git(tree: Path, *arguments: str) -> str | None:
    try:
        done = run(["git", "-C", str(tree), "-c", "core.quotePath=false", *arguments], timeout=60)
    except MissingTool:
        return None
    return done.stdout if done.status == 0 else None


def head(tree: Path) -> Head:
    """Commit, cleanliness and origin of the work tree that holds ``tree``."""
    commit = _git(tree, "rev-parse", "HEAD")
    if commit is None:
        return Head()
    dirty = _is_dirty(tree)
    origin = _git(tree, "config", "--get", "remote.origin.url") or ""
    return Head(commit=commit.strip(), dirty=dirty, repository=_USERINFO.sub(r"\1", origin.strip()))


def _is_dirty(tree: Path) -> bool:
    """Whether anything differs from the commit but reports that this tool wrote, which it has noted."""
    try:
        ours = {(tree.resolve() / name).as_posix() for name in (tree / WRITTEN).read_text("utf-8").splitlines()}
    except (OSError, ValueError):
        ours = set()
    untracked = "all" if ours else "normal"
    asked = ("--no-optional-locks", "status", "--porcelain", "-z", "--no-renames", f"--untracked-files={untracked}")
    found = [entry for entry in (_git(tree, *asked, "--", ".") or "").split("\0") if entry]
    top = (_git(tree, "rev-parse", "--show-toplevel") or "").strip("\n") if ours else ""
    return any(not (entry.startswith("?? ") and f"{top}/{entry[3:]}" in ours) for entry in found)


def newest_files(tree: Path, subdirectory: str = "") -> dict[str, int]:
    """Files by how recently they changed (0: not committed yet), relative to ``subdirectory``."""
    ranks: dict[str, int] = {}
    status = _git(tree / subdirectory, "status", "--porcelain", "-z", "--untracked-files=all", "--", ".") or ""
    names = [entry[3:] for entry in status.split("\0") if len(entry) > 3]
    log = _git(tree, "log", f"-{_COMMITS_BACK}", "--name-only", "-z", "--format=%x01", "--", subdirectory or ".") or ""
    for name in names:
        ranks.setdefault(name, 0)
    for age, commit in enumerate(log.split("\x01"), start=0):
        for name in commit.replace("\n", "\0").split("\0"):
            if name:
                ranks.setdefault(name, age)
    prefix = f"{subdirectory}/" if subdirectory else ""
    return {name[len(prefix) :]: age for name, age in ranks.items() if name.startswith(prefix)}
