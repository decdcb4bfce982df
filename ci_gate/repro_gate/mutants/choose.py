"""Which mutants first, where there is no time for all: each line's best one, then each line's next.

Belongs here: the order and what is left out. Does not belong here: how much time there is (gates), how dear a test is.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from repro_gate.model import Mutant
from repro_gate.mutants.worth import rank

# What one change may have: more than are tested within any usual time, and texts that fit into memory.
MOST = 4000
MOST_TEXT = 128_000_000  # characters, of all of them


@dataclass(frozen=True, slots=True)
class Choice:
    """Mutants in the order in which to test them, and those for which there was no room, in that order as well."""

    chosen: tuple[Mutant, ...]
    left_out: tuple[Mutant, ...] = ()

    def __str__(self) -> str:
        total = len(self.chosen) + len(self.left_out)
        return f"{len(self.chosen)} of {total}"


def choose(mutants: Iterable[Mutant], seed: str, most: int | None = None, most_text: int | None = None) -> Choice:
    """At most ``most`` mutants with ``most_text`` characters (None: all),
    line by line in turn, the operators of most worth first.

    Among equals the order is drawn by ``seed``, such as head's commit, so that no line is always last.
    The order of the mutants passed in does not matter. A file may be added to what was chosen of others: the bounds
    hold, and without one for text the same are chosen as of all at once. Raises ValueError where ``most`` is negative.
    """
    if most is not None and most < 0:
        raise ValueError(f"a choice of {most} mutants")
    by_line: dict[tuple[str, int], list[Mutant]] = {}
    for mutant in sorted(mutants, key=lambda each: (rank(each.operator), _drawn(seed, each))):
        by_line.setdefault((mutant.file, mutant.line), []).append(mutant)
    turns = [
        (turn, rank(mutant.operator), _drawn(seed, mutant), mutant)
        for line in by_line.values()
        for turn, mutant in enumerate(line)
    ]
    ordered = tuple(mutant for *_, mutant in sorted(turns, key=lambda each: each[:3]))
    room = len(ordered) if most is None else most
    if most_text is not None:
        room = min(room, sum(total <= most_text for total in itertools.accumulate(len(each.text) for each in ordered)))
    return Choice(ordered[:room], ordered[room:])


def _drawn(seed: str, mutant: Mutant) -> str:
    return hashlib.sha256(f"{seed}\0{mutant.file}\0{mutant.id}".encode("utf-8", "surrogatepass")).hexdigest()
