"""Where a line of a Python source ends: at a line feed, at a carriage return, or at both together, and nowhere else.

Belongs here: that rule, for every room that counts lines. Git ends a line at a line feed alone, the tokenizer of the
standard library as well, `str.splitlines` at eight more characters: none of them counts as Python does.
"""

from __future__ import annotations

import itertools
import re

_END = re.compile(r"\r\n?|\n")
_END_OF_BYTES = re.compile(rb"\r\n?|\n")


def lines_of(text: str) -> list[str]:
    """Its lines without their ends; the last one is what stands behind the last end."""
    return _END.split(text)


def with_line_feeds(text: str) -> str:
    """The text with a line feed for each end: so the tokenizer counts its lines as the compiler does."""
    return _END.sub("\n", text) if "\r" in text else text


def bytes_with_line_feeds(source: bytes) -> bytes:
    """The same of a source that has not been decoded."""
    return _END_OF_BYTES.sub(b"\n", source) if b"\r" in source else source


def ended(source: bytes) -> list[bytes]:
    """Its lines with their ends; nothing stands behind the last one."""
    places = [0, *(found.end() for found in _END_OF_BYTES.finditer(source)), len(source)]
    return [source[start:end] for start, end in itertools.pairwise(places) if start < end]


def has_lone_returns(source: bytes) -> bool:
    """Whether a carriage return ends a line of it by itself."""
    return b"\r" in source and source.count(b"\r") > source.count(b"\r\n")
