"""Environments in the cache: who may make one, which is finished, which are old.

Belongs here: names, locks and the mark that an environment is complete. Does not belong here: what
is in one (preparing).

An environment cannot be moved (its scripts name its interpreter by path), so an attempt is made
where it will stay, in a directory of its own, and ``ready.json``, renamed into place, names the
attempt that counts. An interrupted attempt is named by nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from repro_gate.errors import PrepareFailed

_READY = "ready.json"
_DAY = 86_400.0


def attempt_of(place: Path) -> tuple[Path, dict[str, Any]] | None:
    """The finished attempt in ``place`` and what was written of it, or None; it counts as used now."""
    try:
        facts = json.loads((place / _READY).read_text(encoding="utf-8"))
        attempt = place / str(int(facts["attempt"]))
        os.utime(place / _READY)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (attempt, facts) if attempt.is_dir() else None


def new_attempt(place: Path) -> Path:
    """An empty directory for an attempt; what others left unfinished is removed first."""
    (place / _READY).unlink(missing_ok=True)
    for old in place.iterdir():
        if old.is_dir():
            remove(old)
    number = 1
    while True:
        attempt = place / str(number)
        try:
            attempt.mkdir()
        except FileExistsError:
            number += 1
        else:
            return attempt


def publish(attempt: Path, facts: dict[str, Any]) -> None:
    """Say that an attempt is complete: from now on it is found."""
    text = json.dumps({**facts, "attempt": attempt.name}, indent=1, sort_keys=True)
    written = attempt / _READY
    written.write_text(text, encoding="utf-8")
    written.replace(attempt.parent / _READY)


@contextlib.contextmanager
def alone(place: Path, *, seconds: float, clock: Callable[[], float], waiting: Callable[[], object]) -> Iterator[None]:
    """Be the only one to make ``place``; the lock ends with the process that holds it.

    Raises PrepareFailed if another process holds it for longer than ``seconds``.
    """
    place.mkdir(parents=True, exist_ok=True)
    deadline = clock() + seconds
    with _lock_file(place).open("w") as file:
        while not _locked(file.fileno()):
            if clock() > deadline:
                raise PrepareFailed(
                    f"Another process has been making the environment in {place} for {seconds:.0f} s.",
                    next_step="Wait for it, or end it, and run the same command again.",
                )
            waiting()
            time.sleep(0.1)
        place.mkdir(parents=True, exist_ok=True)  # sweep may have taken it while we waited
        yield


def _lock_file(place: Path) -> Path:
    return place.with_name(f"{place.name}.lock")


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def sweep(cache: Path, *, days: float, now: float) -> tuple[str, ...]:
    """Remove environments and builds that nobody used for so many days; the keys of those removed.

    One that is being made is left alone, and so are lock files: they are empty.
    """
    removed = []
    for place in sorted([*(cache / "env").glob("*/"), *(cache / "build").glob("*/")]):
        with _lock_file(place).open("w") as file:
            if _locked(file.fileno()) and now - _last_used(place) > days * _DAY:
                (place / _READY).unlink(missing_ok=True)
                remove(place)
                removed.append(place.name)
    return tuple(removed)


def _last_used(place: Path) -> float:
    for path in (place / _READY, place):
        try:
            return path.stat().st_mtime
        except OSError:
            continue
    return 0.0


def remove(directory: Path) -> None:
    """Remove a directory with all that is in it, also what was made read-only; or a file."""
    if not directory.is_dir():
        directory.unlink(missing_ok=True)
        return
    for parent, folders, _ in os.walk(directory):
        for name in folders:
            path = Path(parent) / name
            if not path.is_symlink():
                with contextlib.suppress(OSError):
                    path.chmod(0o700)
    shutil.rmtree(directory, ignore_errors=True)
