"""Which lines and branches of one file ran. What a whole run of them says is in ``recording``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Arc = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Trace:
    """What ran of one file: ``lines`` as ``1-3,7``, ``arcs`` as ``3>4,3>-1``.

    Kept as text, equal ones once: a large suite has a million of lines that ran. Arcs are those from
    lines that can branch; the negative of a function's first line is its end.
    """

    path: str
    lines: str
    arcs: str = ""

    @classmethod
    def all_from_json(cls, data: Mapping[str, Any]) -> tuple[Trace, ...]:
        """From the wire: ``{path: [lines, arcs]}``. Raises TypeError or ValueError on another shape."""
        made = tuple(
            cls(sys.intern(str(path)), sys.intern(str(lines)), sys.intern(str(arcs)))
            for path, (lines, arcs) in data.items()
        )
        for trace in made:
            sum(_numbers(trace.lines))
            trace.pairs()
        return made

    def numbers(self) -> frozenset[int]:
        """The lines. Raises ValueError for text that holds none."""
        return frozenset(_numbers(self.lines))

    def pairs(self) -> frozenset[Arc]:
        """The arcs. Raises ValueError for text that holds none."""
        return frozenset(_pair(text) for text in self.arcs.split(",") if text)


_MOST_LINES = 1_000_000  # more than any file has: what a test process says must not fill our memory


def _numbers(text: str) -> Iterator[int]:
    for part in text.split(","):
        if part:
            first, _, last = part.partition("-")
            ends = int(first), int(last or first)
            if not 0 < ends[0] <= ends[1] <= _MOST_LINES:
                raise ValueError(f"{part!r} is no range of lines")
            yield from range(ends[0], ends[1] + 1)


def _pair(text: str) -> Arc:
    source, _, target = text.partition(">")
    return int(source), int(target)
