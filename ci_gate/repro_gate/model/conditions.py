"""Conditions: one value per axis."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# The axes a cause can be named by, in the order in which they are tried: what an environment
# sets before what changes by itself, cheap before slow.
AXES: tuple[str, ...] = (
    "order",
    "hash-seed",
    "random",
    "clock",
    "timezone",
    "locale",
    "listing",
    "environment",
    "gc",
    "asyncio",
    "threads",
    "load",
    "leftovers",
    "parallel",
    "network",
)

# Axes that change by themselves from run to run: a test that depends on one is flaky. A test
# that depends on any other is condition-dependent: it waits for its day.
SELF_MOVING = frozenset({"hash-seed", "random", "listing", "threads", "asyncio", "load", "gc"})


def axis_of(key: str) -> str:
    """The axis that a key of Conditions belongs to (``import-random`` is part of ``random``)."""
    return "random" if key == "import-random" else key


@dataclass(frozen=True, kw_only=True, slots=True)
class Conditions:
    """One value per axis; the defaults are neutral: with them and one seed a run must repeat.

    ``random`` seeds each test, ``import_random`` what is drawn while modules are imported.
    ``order`` is ``collected``, ``reversed``, ``shuffle[-module|-class]:SEED``, ``alone`` or
    ``list`` (the experiment's own list). ``clock`` is ``real``, or a local date and time from
    which the clock runs on; a leading ``~`` lets it pass that instant at the test's second
    reading. Seeds of 0 mean: not perturbed. All values are JSON scalars.
    """

    hash_seed: int = 0
    random: int = 0
    import_random: int = 0
    order: str = "collected"
    clock: str = "real"
    timezone: str = "UTC"
    locale: str = "C.UTF-8"
    listing: int = 0
    threads: int = 0
    asyncio: int = 0
    load: str = "none"
    gc: str = "default"
    parallel: int = 1
    leftovers: int = 0
    environment: str = "fixed"
    network: str = "blocked"

    @classmethod
    def baseline(cls) -> Conditions:
        """Every axis at its neutral value."""
        return cls()

    def to_json(self) -> dict[str, Any]:
        """As a JSON object with the axes' own (hyphenated) names."""
        return {f.name.replace("_", "-"): getattr(self, f.name) for f in dataclasses.fields(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Conditions:
        """From ``to_json``. Raises ValueError naming an unknown key or a value of a wrong type."""
        known = {f.name.replace("_", "-"): f for f in dataclasses.fields(cls)}
        values: dict[str, Any] = {}
        for key, value in data.items():
            if key not in known:
                raise ValueError(f"unknown condition {key!r}")
            field = known[key]
            if type(value) is not type(field.default):
                raise ValueError(f"condition {key!r} must be {type(field.default).__name__}, not {value!r}")
            values[field.name] = value
        return cls(**values)

    def differences(self, other: Conditions) -> tuple[str, ...]:
        """The axes on which the two differ, in the order of AXES."""
        mine, theirs = self.to_json(), other.to_json()
        moved = {axis_of(key) for key, value in mine.items() if theirs[key] != value}
        return tuple(axis for axis in AXES if axis in moved)

    def with_axes(self, axes: tuple[str, ...] | frozenset[str], source: Conditions) -> Conditions:
        """These conditions with the named axes taken from ``source``."""
        theirs = source.to_json()
        mine = self.to_json()
        for key in mine:
            if axis_of(key) in axes:
                mine[key] = theirs[key]
        return Conditions.from_json(mine)

    def axis(self, axis: str) -> str:
        """The value on one axis, as text for people."""
        if axis == "random" and self.import_random:
            return f"{self.random} (imports {self.import_random})"
        return str(self.to_json()[axis])
