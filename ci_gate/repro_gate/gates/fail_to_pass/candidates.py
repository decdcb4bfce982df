"""Which tests a change brings or touches: base's and head's items compared by fingerprint. Pure.

Belongs here: NEW, CHANGED, MOVED, SAME, GONE, unstable ids, data files, fixtures. Does not
belong here: running them. The diff's text decides nothing: a test may change without a line of it.
"""

from __future__ import annotations

import enum
from collections.abc import Collection as Ids
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from repro_gate.gates.fail_to_pass.case import Case
from repro_gate.model import ItemFacts, TestRun

Items = Mapping[str, ItemFacts]


class Kind(enum.StrEnum):
    """What happened to a test between base and head."""

    NEW = "new"
    CHANGED = "changed"
    MOVED = "moved"
    SAME = "same"
    GONE = "gone"


class Through(enum.StrEnum):
    """What makes a test a candidate. OWN: its own text; the rest: something that it uses."""

    OWN = "own"
    SUPPORT = "support"
    DATA = "data"
    SETTINGS = "settings"


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidates:
    """The tests of a change. ``chosen`` are to be proved, most telling first.

    ``moved`` maps head's id to base's; ``cut`` were left out by the cap; ``unstable`` have another
    id in each process; ``unsupported`` are doctests of changed product files; ``resettled`` are the same on
    both sides, under settings that differ.
    """

    kinds: Mapping[str, Kind] = field(default_factory=dict)
    chosen: Mapping[str, Through] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)
    gone: tuple[str, ...] = ()
    cut: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()
    unsupported: tuple[str, ...] = ()
    resettled: frozenset[str] = frozenset()

    @property
    def new(self) -> int:
        """How many tests are new or changed in themselves."""
        return sum(through is Through.OWN for through in self.chosen.values()) + len(self.unstable)

    @property
    def brought(self) -> frozenset[str]:
        """Every test that is the change's, also those that can be no proof: what base's tests do not say, these say."""
        return frozenset((*self.chosen, *self.cut, *self.unstable, *self.unsupported)) - self.resettled


def compare(case: Case, base: Items, head: Items, *, unstable: Ids[str] = (), most: int = 200) -> Candidates:
    """Sort the tests of both sides. ``unstable`` are ids that another collection of one side did not show."""
    kinds = _kinds(case, base, head, frozenset(unstable))
    moved = _moved(base, head, kinds)
    kinds.update(dict.fromkeys(moved, Kind.MOVED))
    kept = {_place(item) for item in head.values() if item.id in unstable}
    lost = set(base) - set(head) - set(moved.values()) - set(unstable)
    gone = tuple(sorted(test for test in lost if _place(base[test]) not in kept))
    kinds.update(dict.fromkeys(gone, Kind.GONE))
    touched = [item for item in head.values() if kinds[item.id] in (Kind.NEW, Kind.CHANGED)]
    unsupported = tuple(sorted(item.id for item in _product_doctests(case, touched)))
    judged = [item for item in touched if item.id not in unsupported and item.id not in unstable]
    chosen = {item.id: _through(case, item, kinds[item.id]) for item in judged}
    for item in head.values():
        if item.id in chosen or item.id in unstable or item.id in unsupported:
            continue
        if _names_data(case, item):
            chosen[item.id] = Through.DATA
        elif case.test_settings and not case.test_files:
            chosen[item.id] = Through.SETTINGS
    ranked = sorted(chosen, key=lambda test: (list(Through).index(chosen[test]), test))
    return Candidates(
        kinds=kinds,
        chosen={test: chosen[test] for test in ranked[:most]},
        moved=moved,
        gone=gone,
        cut=tuple(ranked[most:]),
        unstable=tuple(sorted(item.id for item in touched if item.id in unstable)),
        unsupported=unsupported,
        resettled=frozenset(test for test, through in chosen.items() if through is Through.SETTINGS),
    )


def by_data(case: Case, runs: Iterable[TestRun], known: Candidates) -> dict[str, Through]:
    """Tests that were seen to read changed data or documentation, besides those that are candidates already."""
    return {
        run.id: Through.DATA
        for run in runs
        if run.evidence is not None
        and (case.test_data | case.documents) & set(run.evidence.opened)
        and run.id not in known.chosen
        and run.id not in known.unsupported
        and run.id not in known.unstable
    }


def unread_data(case: Case, chosen: Iterable[str], runs: Iterable[TestRun]) -> tuple[str, ...]:
    """Changed data files that no test was seen to read and no id names."""
    ids = tuple(chosen)
    read = {path for run in runs if run.evidence is not None for path in run.evidence.opened}
    return tuple(sorted(path for path in case.test_data - read if not any(_has_stem(test, path) for test in ids)))


def _kinds(case: Case, base: Items, head: Items, unstable: frozenset[str]) -> dict[str, Kind]:
    by_place = {_place(item): item for item in base.values()}
    kinds: dict[str, Kind] = {}
    for item in head.values():
        # An id that differs from run to run is found again by where the test stands in its file.
        old = by_place.get(_place(item)) if item.id in unstable else base.get(item.id)
        if old is None:
            kinds[item.id] = Kind.NEW
        elif old.fingerprint == item.fingerprint:
            kinds[item.id] = Kind.SAME
        elif item.id in unstable and item.file not in case.test_files:
            kinds[item.id] = Kind.SAME  # its parameters differ by themselves
        else:
            kinds[item.id] = Kind.CHANGED
    return kinds


def _moved(base: Items, head: Items, kinds: Mapping[str, Kind]) -> dict[str, str]:
    """New tests with the fingerprint of one that is gone, and the same name: each takes one."""
    free: dict[tuple[str, str, str], list[str]] = {}
    for item in sorted(base.values(), key=lambda item: (item.file, item.index, item.id), reverse=True):
        if item.id not in head:
            free.setdefault((item.fingerprint, item.original, item.params), []).append(item.id)
    moved = {}
    for item in sorted(head.values(), key=lambda item: (item.file, item.index, item.id)):
        same = free.get((item.fingerprint, item.original, item.params))
        if kinds[item.id] is Kind.NEW and same:
            moved[item.id] = same.pop()
    return moved


def _place(item: ItemFacts) -> tuple[str, str, int]:
    """File, the id without parameters, and the number among its equals."""
    return item.file, item.id.removeprefix(item.file).partition("[")[0], item.index


def _through(case: Case, item: ItemFacts, kind: Kind) -> Through:
    if kind is Kind.NEW or item.file in case.test_files:
        return Through.OWN
    return Through.DATA if case.test_data and not case.test_files else Through.SUPPORT


def _product_doctests(case: Case, items: Iterable[ItemFacts]) -> Iterable[ItemFacts]:
    """The docstring of product code is test and product at once: base would be given head's product."""
    changed = {file.path for file in case.product}
    return (item for item in items if item.kind == "doctest" and item.file in changed)


def _names_data(case: Case, item: ItemFacts) -> bool:
    return any(_has_stem(item.id, path) for path in case.test_data)


def _has_stem(test: str, path: str) -> bool:
    """Whether a parameter in the id is the data file's name, with or without its folders and suffix."""
    whole = test.partition("[")[2].removesuffix("]")
    name = PurePosixPath(path)
    parts = {part.rpartition("/")[2] for part in (whole, *whole.split("-"))}
    return bool({name.stem, name.name} & parts)
