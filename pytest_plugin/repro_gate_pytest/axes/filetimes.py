"""File times that follow the moved clock: what was made since it was moved is as old as it really is.

Belongs here: the answers of stat, lstat, fstat and of entries of scandir (the kernel's own clock cannot
be moved). Not moved: what child processes see, older files, and times that utime set.
"""

from __future__ import annotations

import os
from typing import Any, Callable

from repro_gate_pytest import patching

_SECOND = 10**9
_COARSE = 20_000_000  # nanoseconds by which the kernel's time stamps may lag behind its clock
_MOST_REMEMBERED = 20_000
_FIELDS = (("st_atime", 7), ("st_mtime", 8), ("st_ctime", 9))


class FileTimes:
    """``real`` reads the unmoved clock and ``offset`` how far it is moved, both in nanoseconds."""

    def __init__(self, real: Callable[[], int], offset: Callable[[], int]) -> None:
        self._real = real
        self._offset = offset
        self._since = 0
        self._patched = False
        # A file keeps the offset with which it was seen first: unchanged, it must not look changed.
        self._known: dict[tuple[int, int, int], int] = {}

    def begin(self) -> None:
        """The clock is moved from now on."""
        self._since = self._real() - _COARSE
        self._known.clear()
        if not self._patched:
            self._patched = True
            import posix  # where the functions live; os re-exports the same objects

            for name in ("stat", "lstat", "fstat"):
                if not patching.replace_function(posix, name, self._make):
                    setattr(os, name, getattr(posix, name))
            if not patching.replace_function(posix, "scandir", self._make_scandir):
                os.scandir = posix.scandir

    def end(self) -> None:
        """The clock is real again."""
        self._since = 0

    def _make(self, original: Callable[..., os.stat_result]) -> Callable[..., os.stat_result]:
        def stat(*args: Any, **kwargs: Any) -> os.stat_result:
            return self._shown(original(*args, **kwargs))

        return stat

    def _make_scandir(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scandir(*args: Any, **kwargs: Any) -> Any:
            found = original(*args, **kwargs)
            return Entries(found, self._shown) if self._since else found

        return scandir

    def _shown(self, result: os.stat_result) -> os.stat_result:
        return self._moved(result) if self._since and result.st_ctime_ns >= self._since else result

    def _moved(self, result: os.stat_result) -> os.stat_result:
        reduced: Any = result.__reduce__()
        _, (visible, hidden) = reduced
        values, rest = list(visible), dict(hidden)
        now = self._real()
        for name, position in _FIELDS:
            then = rest[name + "_ns"]
            if self._since <= then <= now:
                moved = then + self._offset_of((result.st_dev, result.st_ino, then))
                rest[name + "_ns"] = moved
                values[position] = moved // _SECOND
                rest[name] = values[position] + 1e-9 * (moved % _SECOND)
        return os.stat_result(values, rest)

    def _offset_of(self, key: tuple[int, int, int]) -> int:
        if len(self._known) >= _MOST_REMEMBERED:
            self._known.clear()
        if key not in self._known:
            self._known[key] = self._offset()
        return self._known[key]


class Entries:
    """What os.scandir returned, with entries whose times are moved."""

    def __init__(self, found: Any, moved: Callable[[os.stat_result], os.stat_result]) -> None:
        self._found = found
        self._moved = moved

    def __iter__(self) -> Entries:
        return self

    def __next__(self) -> Entry:
        return Entry(next(self._found), self._moved)

    def __enter__(self) -> Entries:  # noqa: PYI034
        self._found.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """No more entries."""
        self._found.close()


class Entry(os.PathLike):  # type: ignore[type-arg]
    """A DirEntry but for the times that its stat tells."""

    __slots__ = ("_entry", "_moved")

    def __init__(self, entry: Any, moved: Callable[[os.stat_result], os.stat_result]) -> None:
        self._entry = entry
        self._moved = moved

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> Any:
        return self._entry.__fspath__()

    def __repr__(self) -> str:
        return repr(self._entry)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Its times as os.stat tells them."""
        return self._moved(self._entry.stat(follow_symlinks=follow_symlinks))
