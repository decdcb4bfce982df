"""A file that is watched or recorded, and what was seen of it:
filled by ``tracing`` and ``lines``, which hand it out.
"""

from __future__ import annotations


class File:
    """A file of the tree and what ran of it. ``wanted`` None: every line, and arcs, are recorded."""

    def __init__(self, path: str, wanted: frozenset[int] | None) -> None:
        self.path = path
        self.wanted = wanted
        self.lines: set[int] = set()
        self.arcs: set[tuple[int, int]] = set()
        self.implied: dict[int, tuple[int, int]] = {}  # arcs that a line shows by having run
