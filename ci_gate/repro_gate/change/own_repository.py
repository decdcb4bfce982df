"""A small repository of its own for the files of a commit: projects ask git for their files and their version.

Belongs here: making it beside files that were written (trees). It has the one commit, under its
name, and nothing else of the user's clone: no remote, no hook, no setting, no history, no tag.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from repro_gate.change.repository import Repository
from repro_gate.errors import GitFailed, disk_full

_CONFIG = "[core]\n\trepositoryformatversion = {version}\n\tfilemode = true\n\tbare = false\n"
_SHA256 = "[extensions]\n\tobjectformat = sha256\n"
_SHA1_LENGTH = 40
_SPECIAL = re.compile(r"[*?\[\\ ]")  # in git's patterns of what to ignore


def own_repository(repository: Repository, commit: str, tree: Path) -> str:
    """Make ``tree``, which holds the commit's files, a work tree; returns a note where that cannot be done.

    Raises DiskFull.
    """
    place = tree / ".git"
    try:
        for folder in ("objects/info", "objects/pack", "refs/heads", "refs/tags"):
            (place / folder).mkdir(parents=True)
        long = len(commit) > _SHA1_LENGTH
        (place / "config").write_text(_CONFIG.format(version=int(long)) + (_SHA256 if long else ""), encoding="ascii")
        (place / "HEAD").write_text(f"{commit}\n", encoding="ascii")
        (place / "shallow").write_text(f"{commit}\n", encoding="ascii")  # its parents are not here
        objects = repository.read("rev-list", "--objects", "--no-walk", "--end-of-options", commit)
        pack = os.fspath(place / "objects" / "pack" / "pack")
        # As they are: looking for differences and pressing would cost more than writing.
        plain = ("--quiet", "--window=0", "--compression=0", "--threads=1")
        # By the new repository, which borrows the objects: git writes a pack where it is at home and renames it from
        # there, and the user's clone may be on another disk.
        borrowed = repository.line("rev-parse", "--path-format=absolute", "--git-path", "objects")
        quoted = borrowed.replace("\\", "\\\\").replace('"', '\\"')
        lender = {**repository.env, "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"'}
        Repository(top=tree, env=lender).read("pack-objects", *plain, pack, question=objects, timeout=600)
        Repository(top=tree, env=repository.env).read("read-tree", commit)
    except OSError as error:
        full = disk_full(error, str(tree))
        if full:
            raise full from error
        return f"The files of commit {commit[:12]} have no git repository around them: {error}."
    except GitFailed as error:
        return f"The files of commit {commit[:12]} have no git repository around them: {error}"
    return ""


def leave_unnoticed(tree: Path, paths: Iterable[str], env: Mapping[str, str]) -> None:
    """Have git find nothing changed or new in ``tree``, which has a repository of its own, where we wrote these files.

    A test may ask whether the work tree is clean: that is about the project's doing, and not about ours.
    """
    place = tree / ".git"
    if not place.is_dir():
        return
    wanted = sorted(paths)
    own = Repository(top=tree, env=env)
    known = own.ask("--literal-pathspecs", "ls-files", "-z", "--", *wanted).output
    own.ask("update-index", "--assume-unchanged", "-z", "--stdin", question=known)
    (place / "info").mkdir(exist_ok=True)
    new = [path for path in wanted if os.fsencode(path) not in known.split(b"\0")]
    with (place / "info" / "exclude").open("a", encoding="utf-8", errors="surrogateescape") as file:
        file.writelines("/" + _SPECIAL.sub(r"\\\g<0>", path) + "\n" for path in new)
