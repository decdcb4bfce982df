"""Which statements and branches a source text has, and which of them ran: coverage.py's analysis.

Belongs here: all that is used of coverage.py's internals (tests/unit/test_coverage_contract.py holds it to what is
used, and pyproject.toml to its minor version). Does not belong here: which lines matter.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from repro_gate.gates.coverage.rules import Rules
from repro_gate.model.lines import with_line_feeds
from repro_gate.model.trace import Arc

if TYPE_CHECKING:
    from coverage.parser import PythonParser
    from coverage.results import Analysis

_SILENT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)
_THROUGH_MANAGER = (3, 12, 6)  # from this Python on, the end of a `with` goes over its context managers


class Unparsable(Exception):
    """The text is no Python for the interpreter that judges it."""


@dataclass(frozen=True)
class Structure:
    """A source text under rules. ``python`` is the version that ran it, as ``3.12.1``. Raises Unparsable."""

    text: str
    rules: Rules
    python: str = ""

    def __post_init__(self) -> None:
        assert self.parser is not None

    @cached_property
    def parser(self) -> PythonParser:
        """coverage.py's parser, after its work."""
        from coverage.exceptions import CoverageException
        from coverage.parser import PythonParser

        text = self._plain
        parser = PythonParser(
            text=text if text.endswith("\n") else f"{text}\n", filename="<text>", exclude=self.rules.exclude
        )
        try:
            with _like(self.python):
                parser.parse_source()
                parser.arcs()
        except (CoverageException, ValueError, RecursionError, MemoryError) as broken:
            raise Unparsable(str(broken)) from None
        return parser

    @property
    def _plain(self) -> str:
        """The text without a byte order mark, and with one kind of newline."""
        return with_line_feeds(self.text.removeprefix("\ufeff"))

    @property
    def statements(self) -> Collection[int]:
        """First lines of the statements that count."""
        return self.parser.statements

    @property
    def excluded(self) -> Collection[int]:
        """Lines that the rules leave out."""
        return self.parser.excluded

    @cached_property
    def spoken(self) -> frozenset[int]:
        """The lines that hold more than a comment or white space:
        inside of a string, those that look like it as well.
        """
        tokens = tokenize.generate_tokens(io.StringIO(self._plain).readline)
        told = (each for each in tokens if each.type not in _SILENT)
        return frozenset(line for each in told for line in range(each.start[0], each.end[0] + 1))

    def first(self, line: int) -> int:
        """The first line of the statement that a line belongs to."""
        return self.parser.first_line(line)

    def span(self, first: int) -> frozenset[int]:
        """All lines of the statement that begins on a line."""
        return frozenset({first, *(line for line, begin in self.parser.multiline_map.items() if begin == first)})

    def analysis(self, lines: Iterable[int], arcs: Iterable[Arc]) -> Analysis:
        """What ran, by statements, and which ways out of them were taken."""
        from coverage.results import analysis_from_file_reporter

        source: Any = _Source(self.parser, self.rules.partial if self.rules.branches else ".")
        data: Any = _Data(frozenset(lines), frozenset(arcs))
        return analysis_from_file_reporter(data, 0, source, "<text>")

    def description(self, arc: Arc) -> str:
        """Why a branch was not taken, in coverage.py's words. Of some it has no cause, and says so by an empty one."""
        return self.parser.missing_arc_description(*arc).removesuffix(" because ")


def joined_arcs(lines: Iterable[int], arcs: Iterable[Arc]) -> set[Arc]:
    """Lines and arcs as coverage.py keeps both: a line of which no arc is known is an arc to itself."""
    return {(line, line) for line in lines} | set(arcs)


@contextmanager
def _like(python: str) -> Iterator[None]:
    """Read a text as the Python that ran it goes through it."""
    from coverage.env import PYBEHAVIOR

    version = tuple(int(part) for part in re.findall(r"\d+", python)[:3])
    ours = PYBEHAVIOR.exit_with_through_ctxmgr
    if version:
        PYBEHAVIOR.exit_with_through_ctxmgr = version >= _THROUGH_MANAGER
    try:
        yield
    finally:
        PYBEHAVIOR.exit_with_through_ctxmgr = ours


class _Data:
    """What ran, for coverage.py."""

    def __init__(self, lines: frozenset[int], arcs: frozenset[Arc]) -> None:
        self._lines = lines
        self._arcs = joined_arcs(lines, arcs)

    def has_arcs(self) -> bool:
        return True

    def lines(self, _filename: str) -> list[int]:
        return sorted(self._lines)

    def arcs(self, _filename: str) -> list[Arc]:
        return sorted(self._arcs)


class _Source:
    """A file's structure, for coverage.py."""

    def __init__(self, parser: PythonParser, partial: str) -> None:
        self._parser = parser
        self._partial = partial

    def lines(self) -> set[int]:
        return self._parser.statements

    def excluded_lines(self) -> set[int]:
        return self._parser.excluded

    def translate_lines(self, lines: Iterable[int]) -> set[int]:
        return self._parser.translate_lines(lines)

    def translate_arcs(self, arcs: Iterable[Arc]) -> set[Arc]:
        return self._parser.translate_arcs(arcs)

    def arcs(self) -> set[Arc]:
        return self._parser.arcs()

    def exit_counts(self) -> dict[int, int]:
        return self._parser.exit_counts()

    def no_branch_lines(self) -> set[int]:
        return self._parser.lines_matching(self._partial)
