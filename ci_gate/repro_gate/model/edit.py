"""One place of a text replaced by another text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """Characters from ``start`` to before ``end``, from 0, become ``text``."""

    start: int
    end: int
    text: str

    @classmethod
    def between(cls, before: str, after: str) -> Edit:
        """The smallest one that makes ``after`` of ``before``."""
        shorter = min(len(before), len(after))
        start = _most(shorter, lambda low, high: before[low:high] == after[low:high])
        one, other = len(before), len(after)
        same = _most(
            shorter - start, lambda low, high: before[one - high : one - low] == after[other - high : other - low]
        )
        return cls(start=start, end=len(before) - same, text=after[start : len(after) - same])

    def applied(self, text: str) -> str:
        """The text after it. Raises ValueError where the text has no such place."""
        if not 0 <= self.start <= self.end <= len(text):
            raise ValueError(f"characters {self.start} to {self.end} are not in a text of {len(text)}")
        return text[: self.start] + self.text + text[self.end :]


def _most(most: int, equal: Callable[[int, int], bool]) -> int:
    """How many are equal, at most so many, by halves:
    a change of thousands of lines has thousands of edits of long texts.
    """
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if equal(low, middle):
            low = middle
        else:
            high = middle - 1
    return low
