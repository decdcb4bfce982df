"""How the code of one function can branch: which instruction leads from which line to which.

Belongs here: facts about one code object, from its bytes. Does not belong here: what ran (lines). An arc is a pair of
lines; the negative of a function's first line is its end. Only arcs from lines that can branch are of interest: from
any other line there is one way to go on.
"""

from __future__ import annotations

import dis
import re
import sys
from types import CodeType

_opmap = dis.opmap
_MONITORED = hasattr(sys, "monitoring")
_JUMPS = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
_ALWAYS = frozenset(
    _opmap[name]
    for name in ("JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE")
    if name in _opmap
)
_RETURNS = frozenset(_opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in _opmap)
_ENDS = frozenset(_opmap[name] for name in ("RERAISE", "RAISE_VARARGS") if name in _opmap)
_BACKWARD = frozenset(op for op in _JUMPS if "JUMP_BACKWARD" in dis.opname[op])
_CACHE = _opmap.get("CACHE", -1)
_RESUME = _opmap.get("RESUME", -1)
_EXTENDED = _opmap["EXTENDED_ARG"]
_ASYNC_FOR = _opmap.get("END_ASYNC_FOR", -1)
# Lines of a text after which several lines can come although no instruction there says so: the last one of a
# `finally`, a body on the line of its header (or on the last one of it), a header of several lines. What only looks
# like one costs time alone.
_UNSAID = re.compile(
    rb"""^[ \t]*(?:
        finally[ \t]*:
      | (?:(?:async[ \t]+)?def|class)\b(?!.*[:(,][ \t]*(?:\#.*)?$)
      | (?:if|elif|while|for|case|async[ \t]+for)\b(?!.*:[ \t]*(?:\#.*)?$)
      | (?:\).*|[^\#\n]*\)[ \t]*->.*|[^\#()\n]*\)[ \t]*):[ \t]*[^\s\#]
    )""",
    re.MULTILINE | re.VERBOSE,
)
_unsaid_lines: dict[str, tuple[int, ...]] = {}


class Branching:
    """How one code object branches.

    ``jumps``: it has instructions that branch. ``stepwise``: it has lines that lead to several others without one (the
    end of a ``finally``, an ``async for``, headers of several lines, ...), so lines must be followed one by one.
    ``lines`` are those from which arcs count, ``returns`` the offsets of instructions that end the function.
    ``implied`` has lines that only one branch leads to: where such a line ran, that arc was taken, so nobody need watch
    for it.
    """

    def __init__(self, code: CodeType) -> None:
        self._code = code
        self._bytes = code.co_code
        self._line_at = _lines_by_offset(code, len(self._bytes))
        self.stepwise = _is_stepwise(code, self._bytes, self._line_at)
        branches: set[int] = set()
        returns: set[int] = set()
        for offset in range(0, len(self._bytes), 2):
            op = self._bytes[offset]
            if op in _JUMPS and op not in _ALWAYS:
                branches.add(self._line_at[offset])
            elif op in _RETURNS:
                returns.add(offset)
        self.implied: dict[int, tuple[int, int]] = {}
        # Asked for by monitoring alone; before 3.11 a jump names its place otherwise.
        self._watched = {} if self.stepwise or not _MONITORED else self._other_ways()
        self.jumps = bool(branches)
        self.returns = frozenset(returns)
        self.lines = frozenset(set(self._line_at) if self.stepwise else branches) - {0}

    def is_start(self, offset: int) -> bool:
        """Whether a frame at this offset is at its beginning, and no generator that goes on."""
        return offset < 0 or (self._bytes[offset] == _RESUME and not self._bytes[offset + 1] & 3)

    def arc(self, source: int, destination: int) -> tuple[int, int] | None:
        """The arc of a jump between two offsets; None where it stays on its line, or another branch decides."""
        first = self._line_at[source]
        offset, argument = destination, 0
        seen: set[int] = set()
        while first and 0 <= offset < len(self._bytes) and offset not in seen:
            seen.add(offset)
            op, low = self._bytes[offset], self._bytes[offset + 1]
            if op == _CACHE:
                offset += 2
                continue
            if op == _EXTENDED:
                argument = (argument | low) << 8
                offset += 2
                continue
            line = self._line_at[offset]
            if line and line != first:
                return (first, line)
            if op in _ALWAYS:
                offset = self._landing(offset, argument | low)
                argument = 0
                continue
            if op in _RETURNS:
                return (first, -self._code.co_firstlineno)
            if op in _JUMPS or op in _ENDS:
                return None
            argument = 0
            offset += 2
        return None

    def settled(self, source: int, destination: int) -> bool:
        """Whether a branch that went this way need not be watched any more: the other way shows by its line."""
        return destination in self._watched.get(source, ())

    def _other_ways(self) -> dict[int, set[int]]:
        """For each branch, the ways after which only the other one is left, which is implied."""
        targets: dict[int, list[int]] = {}
        branches: dict[int, tuple[int, int]] = {}
        falls: set[int] = set()  # offsets that are reached from the instruction above them
        argument = 0
        for offset in range(0, len(self._bytes), 2):
            op, low = self._bytes[offset], self._bytes[offset + 1]
            if op == _CACHE:
                continue
            if op == _EXTENDED:
                argument = (argument | low) << 8
                falls.add(self._behind(offset))
                continue
            if op in _JUMPS:
                target = self._landing(offset, argument | low)
                targets.setdefault(target, []).append(offset)
                if op not in _ALWAYS:
                    branches[offset] = (self._behind(offset), target)
            if op not in _ALWAYS and op not in _RETURNS and op not in _ENDS:
                falls.add(self._behind(offset))
            argument = 0
        found: dict[int, set[int]] = {}
        starts = _runs(self._line_at)
        for offset, (below, target) in branches.items():
            alone_below = below not in targets and self._imply(offset, below, starts)
            alone_there = target not in falls and len(targets[target]) == 1 and self._imply(offset, target, starts)
            # An instruction may report a destination a little behind its target, so any other than the one below is it.
            if alone_below:
                found.setdefault(offset, set()).update(range(target, min(target + 8, len(self._bytes)), 2))
            if alone_there:
                found.setdefault(offset, set()).add(below)
        return found

    def _imply(self, source: int, destination: int, starts: dict[int, list[int]]) -> bool:
        """Note that a line shows this way of a branch, if it does: it begins there and nowhere else."""
        first, line = self._line_at[source], self._line_at[destination]
        if not first or not line or line == first or starts[line] != [destination]:
            return False
        self.implied[line] = (first, line)
        return True

    def _behind(self, offset: int) -> int:
        """The next instruction."""
        behind = offset + 2
        while behind < len(self._bytes) and self._bytes[behind] == _CACHE:
            behind += 2
        return behind

    def _landing(self, offset: int, argument: int) -> int:
        """Where a relative jump leads: it counts from behind its caches."""
        behind = self._behind(offset)
        return behind - 2 * argument if self._bytes[offset] in _BACKWARD else behind + 2 * argument


def sources_of(code: CodeType, filename: str) -> frozenset[int]:
    """The lines of a whole file that can branch. ``code`` is some of it: its module's, unless that ran unseen."""
    if code.co_name != "<module>":
        try:
            with open(filename, "rb") as file:
                code = compile(file.read(), filename, "exec", dont_inherit=True)
        except (OSError, SyntaxError, ValueError):  # made of a text that is no more
            pass
    found: set[int] = set()
    pending = [code]
    while pending:
        each = pending.pop()
        found |= _sources(each)
        pending += [inner for inner in each.co_consts if isinstance(inner, CodeType)]
    return frozenset(found - {0})


def _sources(code: CodeType) -> set[int]:
    data = code.co_code
    line_at = _lines_by_offset(code, len(data))
    if _is_stepwise(code, data, line_at):
        return set(line_at)
    return {line_at[at] for at in range(0, len(data), 2) if data[at] in _JUMPS and data[at] not in _ALWAYS}


def _lines_by_offset(code: CodeType, length: int) -> list[int]:
    """The line of each offset; 0 for an instruction that belongs to none."""
    found = [0] * (length + 1)
    if hasattr(code, "co_lines"):
        for start, end, line in code.co_lines():
            if line:
                found[start:end] = [line] * (end - start)
        return found
    starts = [*dis.findlinestarts(code), (length, 0)]  # Python 3.9
    for (start, line), (end, _) in zip(starts, starts[1:]):
        found[start:end] = [line] * (end - start)
    return found


def _runs(line_at: list[int]) -> dict[int, list[int]]:
    """For each line, the offsets at which it begins."""
    found: dict[int, list[int]] = {}
    before = 0
    for offset, line in enumerate(line_at):
        if line and line != before:
            found.setdefault(line, []).append(offset)
        before = line
    return found


def _is_stepwise(code: CodeType, data: bytes, line_at: list[int]) -> bool:
    if _ASYNC_FOR in data[::2]:
        return True
    # A body on its header's last line is another code's, and may be the last of this one.
    inner = (_lines_by_offset(each, len(each.co_code)) for each in code.co_consts if isinstance(each, CodeType))
    last = max(max(lines) for lines in (line_at, *inner))
    return any(code.co_firstlineno <= line <= last for line in _unsaid_in(code.co_filename))


def _unsaid_in(filename: str) -> tuple[int, ...]:
    """The lines of a file that branch without a word in the code."""
    if filename not in _unsaid_lines:
        try:
            with open(filename, "rb") as file:
                source = file.read().replace(b"\r\n", b"\n")
        except OSError:
            source = b""
        lines = (source.count(b"\n", 0, match.end()) + 1 for match in _UNSAID.finditer(source))
        _unsaid_lines[filename] = tuple(lines)
    return _unsaid_lines[filename]
