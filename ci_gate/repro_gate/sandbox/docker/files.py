"""What of this machine is seen in a container, and who owns it there."""

from __future__ import annotations

import io
import os
import stat
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from repro_gate.sandbox.paths import SYSTEM, environments_within, inside, outermost, with_tester
from repro_gate.sandbox.protocol import Interpreter, Place, View

_LEAST_USERS = "root:x:0:0:root:/root:/bin/sh\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mount:
    """One path of this machine, and where it is inside."""

    source: str
    target: str
    writable: bool


def mounts(place: Place, view: View, interpreter: Interpreter, readable: Sequence[tuple[str, str]]) -> list[Mount]:
    """The place's directories, the interpreter's own ones and ``readable`` (source, target); each target once."""
    original = str(place.original)
    writable = {original: place.tree, view.tree: place.tree, view.home: place.home, "/tmp": place.tmp}
    writable[view.wire] = place.wire
    found = [Mount(source=str(source), target=target, writable=True) for target, source in writable.items()]
    own = [path for path in interpreter.directories if path not in SYSTEM and Path(path).exists()]
    outside = outermost(path for path in own if not inside(path, original))
    within = environments_within(own, original)
    found += [Mount(source=path, target=path, writable=False) for path in [*outside, *within]]
    found += [Mount(source=source, target=target, writable=False) for source, target in readable]
    return list({mount.target: mount for mount in reversed(found)}.values())[::-1]


def prepare(place: Place, wanted: Sequence[Mount], owner: tuple[int, int]) -> None:
    """Make the mount points that lie in the place, and give it to the user that tests run as.

    A daemon would make them itself, as root, and then we could not remove them.
    """
    for mount in wanted:
        around = max(
            (other for other in wanted if other is not mount and other.writable and inside(mount.target, other.target)),
            key=lambda other: len(other.target),
            default=None,
        )
        if around is not None:
            point = Path(around.source) / os.path.relpath(mount.target, around.target)
            point.mkdir(parents=True, exist_ok=True)
    if owner != (os.geteuid(), os.getegid()):
        for top in (place.tree, place.home, place.tmp, place.wire):
            _give(top, owner)


def _give(top: Path, owner: tuple[int, int]) -> None:
    os.chown(top, *owner)
    for directory, folders, names in os.walk(top):
        for name in [*folders, *names]:
            path = f"{directory}/{name}"
            info = os.lstat(path)
            if info.st_nlink == 1 or stat.S_ISDIR(info.st_mode):  # git's objects are the original's, too
                os.chown(path, *owner, follow_symlinks=False)


def users_of(archive: bytes, uid: int, gid: int) -> str:
    """The table of users in an archive of it (root alone where there is none), and one for ``uid``."""
    text = _LEAST_USERS
    if archive:
        with tarfile.open(fileobj=io.BytesIO(archive)) as members:
            for member in members:
                file = members.extractfile(member) if member.isfile() else None
                text = file.read().decode("utf-8", "replace") if file is not None else text
    return with_tester(text, uid, gid)
