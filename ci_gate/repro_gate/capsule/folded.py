"""A text with its line ends folded away: what was broken over lines is in one piece there.

Belongs here: what stands between two lines of one value (a line end, written out or not, and what
pytest, a diff, a list or a literal puts around it), and the way back to places of the text. Linear.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator

_FILLER = re.compile(
    r"""(?: \r?\n | \\{1,4}[nr] | [ \t] | \\{0,4}["'`] | \\(?=[ \t\r\n]) | , | =(?=\r?\n)
          | [+>|?#-](?=[ \t])                        # a diff, a quotation
          | \x1b\[[0-9;]{0,10}m (?:E(?=[ \t]))?      # a colour
          | (?:(?<=\n)|(?<=\\n))E(?=[ \t])            # pytest's mark of an error
          | (?<![A-Za-z0-9+/_=-])[bBrRfFuU]{1,2}(?=\\{0,4}["'`])
        )++""",
    re.VERBOSE,
)
_LINE_END = re.compile(r"\n|\\[nr]")
_NEXT_ITEM = re.compile(r"""["'`][ ]*+,[ ]*+[bBrRfFuU]{0,2}\\{0,4}["'`]""")


class Folded:
    """``text`` without what stands between lines. ``crossing`` finds what is in one piece only here."""

    def __init__(self, text: str) -> None:
        self._at: list[int] = []  # where, in the folded text, something was left out
        self._shift: list[int] = [0]  # how much was left out before
        self.text = "".join(self._pieces(text)) if _may_be_broken(text) else ""

    def crossing(self, form: str) -> Iterator[tuple[int, int]]:
        """The places, in the original text, of a form that is broken over lines."""
        at = self.text.find(form) if self._at else -1
        while at != -1:
            end = at + len(form)
            first, last = bisect.bisect_right(self._at, at), bisect.bisect_left(self._at, end)
            if first < last:
                yield at + self._shift[first], end + self._shift[last]
            at = self.text.find(form, end)

    def _pieces(self, text: str) -> Iterator[str]:
        done = length = 0
        for match in _FILLER.finditer(text):
            if not (_LINE_END.search(match[0]) or _NEXT_ITEM.search(match[0])):
                continue
            length += match.start() - done
            yield text[done : match.start()]
            done = match.end()
            self._at.append(length)
            self._shift.append(done - length)
        yield text[done:]


def _may_be_broken(text: str) -> bool:
    return "\n" in text or "\\n" in text or "\\r" in text or "," in text
