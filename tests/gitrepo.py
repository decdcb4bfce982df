"""Real git repositories for tests: made commit by commit, untouched by the machine's configuration."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.change.repository import Repository, open_repository
from tests.conftest import Files, write_files

GIT_ENV: dict[str, str] = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_AUTHOR_DATE": "2024-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "C",
    "GIT_COMMITTER_EMAIL": "c@example.com",
    "GIT_COMMITTER_DATE": "2024-01-01T00:00:00Z",
}


@dataclass(frozen=True)
class Repo:
    """A work tree with short ways to change it."""

    path: Path

    @classmethod
    def new(cls, path: Path, *, bare: bool = False) -> Repo:
        path.mkdir(parents=True)
        repo = cls(path)
        repo.git("init", "--quiet", "--initial-branch=main", *(["--bare"] if bare else []))
        return repo

    def git(self, *arguments: str, question: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, env=GIT_ENV, input=question, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
        return os.fsdecode(done.stdout).strip()

    def commit(self, files: Files | None = None, *, message: str = "change", remove: tuple[str, ...] = ()) -> str:
        """Commit what ``files`` say (or an empty commit) and return its name."""
        write_files(self.path, files or {})
        for name in remove:
            self.git("rm", "--quiet", "-r", "--", name)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.head()

    def head(self) -> str:
        return self.git("rev-parse", "HEAD")

    def switch(self, branch: str, start: str = "") -> None:
        self.git("switch", "--quiet", *(["-c", branch, start] if start else [branch]))

    def merge(self, other: str, message: str = "merge") -> str:
        self.git("merge", "--quiet", "--no-ff", "--message", message, other)
        return self.head()

    def clone(self, path: Path, *options: str) -> Repo:
        self.git("clone", "--quiet", *options, f"file://{self.path}", str(path))
        return Repo(path)

    def fetched(self, path: Path, refspec: str, *options: str) -> Repo:
        """A clone as the checkout action makes one: one refspec is fetched, and its tip checked out detached."""
        clone = Repo.new(path)
        clone.git("remote", "add", "origin", f"file://{self.path}")
        clone.git("fetch", "--quiet", "--no-tags", *options, "origin", refspec)
        target = refspec.partition(":")[2] or "FETCH_HEAD"
        clone.git("checkout", "--quiet", "--detach", target)
        return clone

    @property
    def opened(self) -> Repository:
        return open_repository(self.path, GIT_ENV)

    def state(self) -> Mapping[str, object]:
        """All that a question must leave as it is: work tree, index, configuration, refs, FETCH_HEAD, hooks."""
        place = Path(self.git("rev-parse", "--path-format=absolute", "--git-dir"))
        common = Path(self.git("rev-parse", "--path-format=absolute", "--git-common-dir"))
        kept = [place / "index", place / "HEAD", place / "FETCH_HEAD", common / "config", common / "packed-refs"]
        files = {str(path): path.read_bytes() for path in kept if path.exists()}
        tree = {
            str(path.relative_to(self.path)): path.read_bytes() if path.is_file() else None
            for path in self.path.rglob("*")
            if ".git" not in path.parts
        }
        return {
            "files": files,
            "tree": tree,
            "refs": self.git("for-each-ref"),
            "worktrees": self.git("worktree", "list"),
            "index time": (place / "index").stat().st_mtime_ns if (place / "index").exists() else 0,
        }

    def is_shallow(self) -> bool:
        return self.git("rev-parse", "--is-shallow-repository") == "true"


Tree = Mapping[bytes, tuple[str, bytes]]


def commit_tree(repo: Repo, tree: Tree, parent: str = "") -> str:
    """A commit that holds exactly ``tree`` (path -> mode and content), made past the work tree."""
    lines = [b"commit refs/heads/made\ncommitter C <c@x> 1 +0000\ndata 1\nm\n"]
    lines += [b"from %s\n" % parent.encode()] if parent else []
    lines += [b"deleteall\n"]
    for path, (mode, content) in tree.items():
        quoted = b"".join(b"\\%03o" % byte for byte in path)
        if mode == "160000":
            lines.append(b'M 160000 %s "%s"\n' % (content, quoted))
        else:
            lines.append(b'M %s inline "%s"\ndata %d\n%s\n' % (mode.encode(), quoted, len(content), content))
    reset = [] if parent else [b"reset refs/heads/made\n"]
    repo.git("fast-import", "--quiet", "--force", question=b"".join([*reset, *lines, b"\n"]))
    return repo.git("rev-parse", "refs/heads/made")


def hostile_commit(repo: Repo, *members: tuple[str, str, str]) -> str:
    """A commit whose one tree holds members (mode, name, object) that git itself would never write."""
    raw = b"".join(f"{mode} {name}".encode() + b"\0" + bytes.fromhex(sha) for mode, name, sha in members)
    tree = repo.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin", question=raw)
    return repo.git("commit-tree", "-m", "hostile", tree)


def on_disk(root: Path) -> dict[bytes, tuple[str, bytes]]:
    """What a directory holds, in the form of `Tree`; empty directories as (40000, b"")."""
    found: dict[bytes, tuple[str, bytes]] = {}
    for place in root.rglob("*"):
        path = os.fsencode(place.relative_to(root))
        if place.is_symlink():
            found[path] = ("120000", os.readlink(os.fsencode(place)))  # noqa: PTH115 - the text itself
        elif not place.is_dir():
            found[path] = (f"{place.stat().st_mode:o}", place.read_bytes())
        elif not any(place.iterdir()):
            found[path] = ("40000", b"")
    return found
