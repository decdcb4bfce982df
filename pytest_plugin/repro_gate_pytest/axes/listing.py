"""listing: the order in which a directory's entries come, which no file system promises.

Seed 0 is sorted. Any other seed orders names by a keyed hash, as a hashed directory does: two
listings of one directory agree, and a new entry does not reorder the others.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, Callable

from repro_gate_pytest import patching
from repro_gate_pytest.axes.base import Axis, number

_fsencode = os.fsencode


class Listing(Axis):
    """Axis ``listing``."""

    name = "listing"

    def __init__(self) -> None:
        self._seed = 0
        self._reads = 0

    def install(self) -> list[str]:
        import posix

        listed = patching.replace_function(posix, "listdir", self._make_listdir)
        scanned = patching.replace_function(posix, "scandir", self._make_scandir)
        if listed and scanned:
            return []
        os.listdir, os.scandir = posix.listdir, posix.scandir
        return ["directory listings are ordered only where they are looked up on the os module"]

    def apply(self, conditions: Mapping[str, Any]) -> None:
        self._seed = conditions["listing"]

    def before_test(self, key: str) -> None:
        self._reads = 0

    def touched(self) -> bool:
        return self._reads > 0

    def _rank(self, name: Any) -> Any:
        if isinstance(name, str):
            name = _fsencode(name)
        return number(self._seed, name.hex()) if self._seed else name

    def _make_listdir(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def listdir(*args: Any, **kwargs: Any) -> Any:
            names = original(*args, **kwargs)
            self._reads += 1
            names.sort(key=self._rank)
            return names

        return listdir

    def _make_scandir(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scandir(*args: Any, **kwargs: Any) -> Any:
            with original(*args, **kwargs) as found:
                entries = list(found)
            self._reads += 1
            entries.sort(key=lambda entry: self._rank(entry.name))
            return Scan(entries)

        return scandir


class Scan:
    """What os.scandir returns: an iterator and a context manager that can be closed."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> Scan:  # noqa: PYI034 - no Self in 3.9
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Further iteration yields nothing."""
        self._entries = iter(())
