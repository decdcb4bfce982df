"""How much fits where: text cut at a line, to the byte, with everything closed that was open. Pure.

Belongs here: the limits of GitHub's surfaces, and cutting Markdown. Does not belong here: making it (report).
"""

from __future__ import annotations

import re

SUMMARY = 1024 * 1024  # bytes of a step's summary; a longer one is refused whole
CHECK_RUN = 65_535  # bytes of a check run's summary
COMMENT = 65_536  # characters of a comment
_FENCE = re.compile(r"(?P<outer>(?:[ ]|[-*+][ ]|[0-9]{1,9}[.)][ ])*)(?P<mark>`{3,}|~{3,})(?P<info>.*)")


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
    missing = len(lines) - kept
    end = [*_closing(lines[:kept]), *([""] if kept else []), f"… {missing} more lines are in the report.", ""]
    return "\n".join([*lines[:kept], *end])


def _closing(lines: list[str]) -> list[str]:
    """The line that ends the block of code that is open after these, indented as that is:
    one in a list ends in the list.

    An indented block is taken for one of a list item, so a line with less before it ends both.
    """
    mark, indent = "", 0
    for line in lines:
        if mark and line.strip() and len(line) - len(line.lstrip(" ")) < indent:
            mark = ""  # the list is over, and everything in it
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        if not mark:
            if found["mark"][0] == "~" or "`" not in found["info"]:  # else it is code within a line
                mark, indent = found["mark"], len(found["outer"])
        elif found["mark"].startswith(mark) and not found["info"].strip() and _is_near(found["outer"], indent):
            mark = ""
    return [" " * indent + mark] if mark else []


def _is_near(outer: str, indent: int) -> bool:
    """Whether what stands before a fence lets it close one at ``indent``."""
    return not outer.strip() and len(outer) - indent < 4
