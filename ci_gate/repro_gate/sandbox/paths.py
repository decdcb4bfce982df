"""Where things are inside a sandbox that has a file system of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from repro_gate.sandbox.protocol import Place, View

INSIDE = "/run/repro-gate"
# An image has these itself; laid over it, they would be this machine again.
SYSTEM = frozenset(
    f"{top}{folder}" for top in ("", "/usr", "/usr/local") for folder in ("", "/bin", "/sbin", "/lib", "/lib64")
) | {"/", "/etc", "/opt", "/home", "/root", "/tmp", "/var", "/run"}


def view_of(place: Place, *, shelf: str = "") -> View:
    """The copy stands where the project really is, so that absolute paths hold; the rest is below /run."""
    named = place.tree != place.base / "tree"
    tree = f"{INSIDE}/{place.tree.relative_to(place.base)}" if named else str(place.original)
    home = f"{INSIDE}/{place.home.relative_to(place.base)}"
    return View(tree=tree, home=home, tmp="/tmp", wire=f"{INSIDE}/wire", shelf=shelf)


def working_directory(view: View, subdirectory: str) -> str:
    """Where pytest runs."""
    return view.tree if subdirectory in ("", ".") else f"{view.tree}/{subdirectory}"


def with_tester(users: str, uid: int, gid: int) -> str:
    """A table of users with one for ``uid``: a user without an entry breaks getpass."""
    if any(line.split(":")[2:3] == [str(uid)] for line in users.splitlines()):
        return users
    return users.rstrip("\n") + f"\ntester:x:{uid}:{gid}:tester:/home/tester:/bin/sh\n"


def inside(path: str, directory: str) -> bool:
    """Whether a path is a directory or lies below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def outermost(paths: Iterable[str]) -> list[str]:
    """Those that lie below no other."""
    distinct = sorted(set(paths))
    return [path for path in distinct if not any(other != path and inside(path, other) for other in distinct)]


def needed(paths: Sequence[str], covered: Sequence[str], original: str) -> list[str]:
    """The outermost of ``paths`` that lie below a covered directory (and are not the project)."""
    below = {path for path in paths if any(inside(path, cover) for cover in covered) and Path(path).exists()}
    if original:
        below = {path for path in below if not inside(path, original)}
    return outermost(below)


def environments_within(paths: Iterable[str], original: str) -> list[str]:
    """Virtual environments inside the project: a copy leaves them out, so they lie over it.

    Other directories of the project on ``sys.path``, as an editable installation has, are in the copy.
    """
    return outermost(
        path for path in paths if path != original and inside(path, original) and _of_a_venv(path, original)
    )


def _of_a_venv(path: str, original: str) -> bool:
    above = [Path(path), *Path(path).parents]
    return any((place / "pyvenv.cfg").exists() for place in above if inside(str(place), original))
