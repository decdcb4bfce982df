"""How much fits where: text cut at a line, to the byte, with everything closed that was open. Pure.

Belongs here: the limits of GitHub's surfaces, and cutting Markdown. Does not belong here: making it (report).
"""

from __future__ import annotations

import re

SUMMARY = 1024 * 1024  # bytes of a step's summary; a longer one is refused whole
CHECK_RUN = 65_535  # bytes of a check run's summary
COMMENT = 65_536  # characters of a comment
_FENCE = re.compile(r"(`{3,}|~{3,})")


def within(text: str, most: int, *, characters: bool = False) -> str:
    """Text of at most ``most`` bytes of UTF-8 (or characters): whole, or its first lines and how many are missing."""
    size = len if characters else _bytes
    if size(text) <= most:
        return text
    lines = text.split("\n")
    if lines[-1] == "":
        del lines[-1]
    low, high = 0, len(lines)
    while low < high:  # the most lines that fit with their end
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(_cut(lines, middle)) <= most else (low, middle - 1)
    shown = _cut(lines, low)
    return shown if size(shown) <= most else ""


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _cut(lines: list[str], kept: int) -> str:
    opened = ""
    for line in lines[:kept]:
        found = _FENCE.match(line.lstrip())
        if found is None:
            continue
        mark = found[1]
        if not opened:
            opened = mark
        elif mark[0] == opened[0] and len(mark) >= len(opened) and line.strip() == mark:
            opened = ""
    missing = len(lines) - kept
    end = [*([opened] if opened else []), *([""] if kept else []), f"… {missing} more lines are in the report.", ""]
    return "\n".join([*lines[:kept], *end])
