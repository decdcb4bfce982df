"""One place of a text replaced by another text."""

from __future__ import annotations

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
        start = next((place for place in range(shorter) if before[place] != after[place]), shorter)
        most = shorter - start
        same = 0
        while same < most and before[-1 - same] == after[-1 - same]:
            same += 1
        return cls(start=start, end=len(before) - same, text=after[start : len(after) - same])

    def applied(self, text: str) -> str:
        """The text after it. Raises ValueError where the text has no such place."""
        if not 0 <= self.start <= self.end <= len(text):
            raise ValueError(f"characters {self.start} to {self.end} are not in a text of {len(text)}")
        return text[: self.start] + self.text + text[self.end :]
