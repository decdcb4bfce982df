"""How long trying mutants will take: what their tests took, and what is learnt from those tried before.

Belongs here: expectations, so that what begins is likely to end in time. Does not belong here: what is left alone for
want of time (protocol).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from repro_gate.gates.mutation.controls import Controls
from repro_gate.model import Mutant, Way

_LOOKS = 2  # at the mutant, and at what failed with it
_AT_FIRST = 0.5  # of what may be run: code that raises at once is mostly noticed by the first test
_LEAST = 0.25  # mutants that their first test noticed say little of one that none does
_REMEMBERED = 64  # selections: a mutant is looked at again with each one that may join it


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """Seconds of tests that will be run for some mutants (``certain``: null controls), and that may be run beside.

    A must-die control and the looks at a mutant end with the first test that fails.
    """

    mutants: int
    certain: float
    at_most: float


@dataclass(kw_only=True)
class Pace:
    """Expects seconds for work in one way, and is told what other work took."""

    controls: Controls
    _at_most: dict[Way, float] = field(default_factory=dict)  # of all work so far
    _took: dict[Way, float] = field(default_factory=dict)  # of that
    _selection: Callable[[Mutant, Way], tuple[str, ...]] = field(init=False)
    _starting: float = 0.0  # seconds for each mutant on disk, where processes start, beside its tests

    def __post_init__(self) -> None:
        self._selection = functools.lru_cache(_REMEMBERED)(self.controls.asking.case.selection)

    def of(self, mutants: Sequence[Mutant], way: Way) -> float:
        """Seconds that these are expected to take together, with the controls that they still need."""
        work = self.work(mutants, way)
        starting = work.mutants * self._starting if way is Way.DISK else 0.0
        return work.certain + self._share(way) * work.at_most + starting

    def work(self, mutants: Sequence[Mutant], way: Way) -> Work:
        """What these need: controls, and two looks at each mutant."""
        tried = [(mutant, self._selection(mutant, way)) for mutant in mutants]
        nulls, must_die = self.controls.owed(tried, way)
        looks = _LOOKS * sum(self.controls.asking.seconds(tests) for _, tests in tried)
        return Work(mutants=len(mutants), certain=nulls, at_most=must_die + looks)

    def learn(self, work: Work, took: float, way: Way) -> None:
        """So much work took so long."""
        beside = max(0.0, took - work.certain)
        if way is Way.DISK:
            self._starting = max(0.0, beside - work.at_most) / work.mutants
        self._at_most[way] = self._at_most.get(way, 0.0) + work.at_most
        self._took[way] = self._took.get(way, 0.0) + min(beside, work.at_most)

    def _share(self, way: Way) -> float:
        if not self._at_most.get(way):
            return _AT_FIRST
        return max(_LEAST, self._took[way] / self._at_most[way])
