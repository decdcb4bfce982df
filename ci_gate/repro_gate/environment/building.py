"""What a build adds to a tree: compiled modules and generated files, made once per source.

Belongs here: projects whose files alone do not run (``Declared.needs_build``). The product is still
imported from its tree: the files that only the wheel has are for the caller to lay over the copy.
Does not belong here: dependencies (preparing).
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from repro_gate.environment import store
from repro_gate.environment.importable import Importable
from repro_gate.environment.plan import SOURCE, Step
from repro_gate.environment.preparing import Environment
from repro_gate.environment.target import FORMAT, Target
from repro_gate.environment.workshop import Surroundings, Workshop
from repro_gate.errors import PrepareFailed, disk_full

_MOST_BYTES = 2 * 2**30

_LIBRARY = re.compile(r"^[^/]+\.data/(?:purelib|platlib)/")
_NO_LIBRARY = re.compile(r"^[^/]+\.(?:dist-info|data)/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Built:
    """What a build made: ``files`` below ``directory``, each by its path in the tree."""

    directory: Path
    files: tuple[str, ...]
    log: Path
    reused: bool


def build(importable: Importable, made: Environment, target: Target, around: Surroundings, source: str) -> Built:
    """Build the tree that ``around.copy`` copies; ``source`` is the hash of all of it.

    Raises PrepareFailed with the build's last words, DiskFull.
    """
    text = "\0".join((str(FORMAT), made.key, source, *importable.roots))
    place = around.cache.absolute() / "build" / hashlib.sha256(text.encode()).hexdigest()[:32]

    def waiting() -> None:
        around.progress("wait for another process", 0.0)

    try:
        if (found := _found(place)) is not None:
            return found
        with store.alone(place, seconds=around.seconds, clock=around.clock, waiting=waiting):
            return _found(place) or _built(place, importable, made, target, around)
    except OSError as broken:
        raise disk_full(broken, str(place)) or broken from broken


def _found(place: Path) -> Built | None:
    found = store.attempt_of(place)
    if found is None:
        return None
    files = tuple(map(str, found[1]["files"]))
    return Built(directory=found[0] / "made" / "added", files=files, log=found[0] / "log.txt", reused=True)


def _built(place: Path, importable: Importable, made: Environment, target: Target, around: Surroundings) -> Built:
    attempt = store.new_attempt(place)
    readable = (str(made.directory),)
    with Workshop(attempt, target.interpreter, around, readable=readable, venv=made.directory / "venv") as workshop:
        source, wheels = workshop.directory / SOURCE, workshop.directory / "wheel"
        around.copy(source)
        before = set(_files(source))
        pip = (made.python, "-m", "pip", "wheel", "--no-input", "--disable-pip-version-check", "--progress-bar", "off")
        workshop.do(Step(name="build the project", argv=(*pip, "--no-deps", "-w", str(wheels), "./"), folder=SOURCE))
        files = _take(wheels, workshop.directory / "added", before, importable)
        store.remove(source)
        store.remove(wheels)
    store.publish(attempt, {"files": files})
    return Built(directory=workshop.directory / "added", files=tuple(files), log=attempt / "log.txt", reused=False)


def _files(directory: Path) -> Iterator[str]:
    for parent, _, names in os.walk(directory):
        yield from ((Path(parent) / name).relative_to(directory).as_posix() for name in names)


def _take(wheels: Path, added: Path, before: set[str], importable: Importable) -> list[str]:
    """Extract what the wheel has and the tree had not; the paths in the tree."""
    store.remove(added)  # a build may write here, too
    added.mkdir()
    taken = []
    for wheel in wheels.glob("*.whl"):
        with zipfile.ZipFile(wheel) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
                raise PrepareFailed(f"The project's build made a wheel of more than {_MOST_BYTES // 2**20} MiB.")
            for member in archive.infolist():
                path = in_tree(member.filename, before, importable)
                if member.is_dir() or not path or path in before:
                    continue
                to = added / path
                to.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as packed, to.open("wb") as file:
                    shutil.copyfileobj(packed, file)
                to.chmod(0o755 if member.external_attr >> 16 & 0o100 else 0o644)
                taken.append(path)
    return sorted(taken)


def in_tree(member: str, before: set[str], importable: Importable) -> str:
    """Where a wheel's file belongs in the tree, or nothing for what is no library file."""
    name = _LIBRARY.sub("", member)
    if _NO_LIBRARY.match(name):
        return ""
    if posixpath.normpath(name).startswith(("/", "..")) or "\\" in name:
        raise PrepareFailed(f"The project's build made a wheel with the unsafe path {member!r}.")
    folder = name.partition("/")[0]
    roots = [
        root for root in importable.roots if any(path.startswith(posixpath.join(root, folder, "")) for path in before)
    ]
    return posixpath.normpath(posixpath.join((roots or list(importable.roots))[0], name))
