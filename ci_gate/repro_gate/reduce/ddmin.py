"""Delta debugging: the few items of a list that a failure needs.

Belongs here: the search, its cache and its budget. Does not belong here: any oracle.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")

Indices = tuple[int, ...]


class NotInteresting(ValueError):
    """The whole list does not fail, so there is nothing to reduce."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reduction(Generic[T]):
    """The items that were kept, in their order, and what is known of them.

    ``tried`` counts calls of the oracle. ``minimal``: without any single item it no longer
    fails. ``validated``: the oracle was first seen to fail on the whole list.
    """

    items: tuple[T, ...]
    tried: int
    minimal: bool
    validated: bool


class _BudgetSpent(Exception):
    """The next question would be one call too many."""


class _Search(Generic[T]):
    """The oracle behind a cache and a budget, and the smallest failing list so far."""

    def __init__(
        self,
        items: Sequence[T],
        fails: Callable[[Sequence[T]], bool],
        budget: int | None,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.best: Indices = tuple(range(len(items)))
        self.tried = 0
        self._items = items
        self._fails = fails
        self._budget = budget
        self._progress = progress
        self._answers: dict[int, bool] = {}

    def fails(self, indices: Indices) -> bool:
        """Ask the oracle once per subset; a failing subset becomes the best. Raises _BudgetSpent."""
        mask = sum(1 << index for index in indices)
        if mask not in self._answers:
            if self._budget is not None and self.tried >= self._budget:
                raise _BudgetSpent
            self.tried += 1
            self._answers[mask] = self._fails([self._items[index] for index in indices])
            if self._answers[mask]:
                self.best = indices
            if self._progress is not None:
                self._progress(self.tried, len(self.best))
        return self._answers[mask]


def ddmin(
    items: Sequence[T],
    fails: Callable[[Sequence[T]], bool],
    *,
    budget: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Reduction[T]:
    """Reduce ``items`` to a 1-minimal sublist that still fails (Zeller & Hildebrandt 2002).

    ``fails`` sees ordered sublists, each at most once, and never an empty one (that is taken to
    pass) unless ``items`` is empty. After ``budget`` calls the best so far is kept. ``progress``
    gets (calls, items left). Raises NotInteresting where the whole list does not fail.
    """
    search = _Search(items, fails, budget, progress)
    validated = minimal = False
    try:
        if not search.fails(search.best):
            raise NotInteresting(f"the whole list of {len(items)} items does not fail")
        validated = True
        _halve(search)
        _reduce(search)
        minimal = True
    except _BudgetSpent:
        pass
    return Reduction(
        items=tuple(items[index] for index in search.best), tried=search.tried, minimal=minimal, validated=validated
    )


def _halve(search: _Search[T]) -> None:
    """Binary search: keep a half for as long as one half alone fails (a single culprit)."""
    while len(search.best) > 1 and any(search.fails(half) for half in _split(search.best, 2)):
        pass


def _reduce(search: _Search[T]) -> None:
    """ddmin proper: subsets, then complements, then finer parts, until parts are single items."""
    parts = 2
    while len(search.best) > 1:
        whole = search.best
        chunks = _split(whole, parts)
        if any(search.fails(chunk) for chunk in chunks):
            parts = 2
        elif parts > 2 and any(search.fails(_without(whole, chunk)) for chunk in chunks):
            parts -= 1
        elif parts < len(whole):
            parts = min(2 * parts, len(whole))
        else:
            return


def _split(indices: Indices, parts: int) -> list[Indices]:
    """Cut into ``parts`` runs whose lengths differ by at most one."""
    bounds = [len(indices) * part // parts for part in range(parts + 1)]
    return [indices[start:stop] for start, stop in itertools.pairwise(bounds)]


def _without(indices: Indices, chunk: Indices) -> Indices:
    """The complement of one chunk, in order."""
    left_out = set(chunk)
    return tuple(index for index in indices if index not in left_out)
