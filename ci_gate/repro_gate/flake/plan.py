"""Draw the conditions of a campaign's runs: every axis early, pairs of axes spread. Pure.

The first run is neutral. What only a start can set is shared by the runs of one server; the rest
is drawn per run, greedily: of a few random candidates the one that covers most that is new.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Collection

from repro_gate.flake.values import Values
from repro_gate.model import Conditions

_CANDIDATES = 8
# How often an axis is moved, of those that are not moved half the time: the clock has many values
# that matter, an eager collector and late sleeps make a run slower.
_SHARES = {"clock": 0.75, "gc": 0.35, "load": 0.3}
_SEED_LIMIT = 2**31 - 1
_ALWAYS_SPENT = 4.0  # seconds


def servers_for(runs: int, collect_seconds: float, run_seconds: float) -> int:
    """How many servers ``runs`` runs are spread over: starting and collecting is what a loop of
    processes pays each time, so it may take about a tenth of what that loop would cost, or a few seconds: each server
    has a hash seed of its own, and what depends on that shows with few of them."""
    loop = runs * (collect_seconds + run_seconds)
    affordable = max(0.1 * loop, _ALWAYS_SPENT) / max(collect_seconds, 1e-3)
    return max(2, min(int(affordable), 8, max(3, runs // 2)) if runs > 2 else 2)


def draw(runs: int, servers: int, seed: int, values: Values, axes: Collection[str], network: str) -> list[Conditions]:
    """``runs`` conditions, grouped by server, the first neutral; equal for equal arguments."""
    rng = random.Random(f"repro-gate {seed}")
    neutral = Conditions(network=network)
    starts = [neutral, *_starts(servers - 1, rng, axes, neutral)]
    shares = [runs // servers + (1 if index < runs % servers else 0) for index in range(servers)]
    planner = _Planner(rng, values, axes)
    plan: list[Conditions] = []
    for start, share in zip(starts, shares, strict=True):
        for _ in range(share):
            plan.append(start if not plan else planner.next(start))
    return plan


def _starts(count: int, rng: random.Random, axes: Collection[str], neutral: Conditions) -> list[Conditions]:
    """Starting conditions: always another hash seed and other draws at import; one other directory."""
    starts = []
    hash_seeds = rng.sample(range(1, 2**32 - 1), count)
    for index in range(count):
        directory = "path" if "environment" in axes and index == count - 1 else "fixed"
        starts.append(
            dataclasses.replace(
                neutral,
                hash_seed=hash_seeds[index] if "hash-seed" in axes else 0,
                import_random=rng.randrange(1, _SEED_LIMIT) if "random" in axes else 0,
                environment=directory,
            )
        )
    return starts


def from_the_start(count: int, seed: int, values: Values, axes: Collection[str], network: str) -> list[Conditions]:
    """Conditions of processes that begin with them, so that what modules read at import moves as well.

    The first moves every axis with such values, the others most of them.
    """
    rng = random.Random(f"more starts {seed}")
    instants = [each for each in values.instants if not each.passes]
    found = []
    for index in range(count):
        instant = instants[index % len(instants)]
        drawn = rng.randrange(1, _SEED_LIMIT)
        moved: dict[str, dict[str, object]] = {
            "hash-seed": {"hash_seed": drawn},
            "random": {"random": drawn, "import_random": drawn},
            "listing": {"listing": drawn},
            "timezone": {"timezone": values.zones[index % len(values.zones)]} if values.zones else {},
            "locale": {"locale": values.locales[index % len(values.locales)]} if values.locales else {},
            "environment": {"environment": values.environments[index % len(values.environments)]},
            "clock": {"clock": instant.value},
        }
        fields: dict[str, object] = {}
        for axis, change in moved.items():
            always = not index or axis in ("hash-seed", "random")
            if axis in axes and (rng.random() < 0.7 or always):
                fields.update(change)
        found.append(dataclasses.replace(Conditions(network=network), **fields))  # type: ignore[arg-type]
    return found


class _Planner:
    """Remembers what was covered, and chooses the next run's conditions."""

    def __init__(self, rng: random.Random, values: Values, axes: Collection[str]) -> None:
        self._rng = rng
        self._values = values
        self._axes = [
            axis
            for axis in (
                "order",
                "random",
                "clock",
                "timezone",
                "locale",
                "listing",
                "environment",
                "threads",
                "asyncio",
                "load",
                "gc",
            )
            if axis in axes
        ]
        self._seen_values: set[tuple[str, str]] = set()
        self._seen_pairs: set[frozenset[str]] = set()
        self._turns = {
            name: itertools.cycle(choices)
            for name, choices in (
                ("order", values.orders),
                ("timezone", values.zones),
                ("clock", tuple(range(len(values.instants)))),
                ("load", values.loads),
                ("gc", values.collectors),
                ("locale", values.locales),
                ("environment", values.environments),
            )
        }
        self._expensive_since = 0

    def next(self, start: Conditions) -> Conditions:
        """The candidate that covers most; its random choices are then used up."""
        best: dict[str, object] = {}
        best_score = -1.0
        moved_sets = [self._moved_axes() for _ in range(_CANDIDATES)]
        for moved in moved_sets:
            score = self._score(moved)
            if score > best_score:
                best_score = score
                best = dict.fromkeys(moved)
        chosen = {axis: self._value(axis) for axis in best}
        self._remember(chosen)
        return self._conditions(start, chosen)

    def _moved_axes(self) -> list[str]:
        moved = [axis for axis in self._axes if self._rng.random() < _SHARES.get(axis, 0.5)]
        if "load" in moved and self._expensive_since < 4:
            moved.remove("load")
        return moved

    def _score(self, moved: list[str]) -> float:
        fresh = sum(1 for axis in moved if not any(seen == axis for seen, _ in self._seen_values))
        pairs = sum(1 for pair in itertools.combinations(moved, 2) if frozenset(pair) not in self._seen_pairs)
        return 3 * fresh + pairs

    def _value(self, axis: str) -> object:
        if axis in self._turns:
            return next(self._turns[axis])
        return self._rng.randrange(1, _SEED_LIMIT)

    def _remember(self, chosen: dict[str, object]) -> None:
        self._expensive_since = 0 if "load" in chosen else self._expensive_since + 1
        self._seen_values.update((axis, str(value)) for axis, value in chosen.items())
        self._seen_pairs.update(frozenset(pair) for pair in itertools.combinations(chosen, 2))

    def _conditions(self, start: Conditions, chosen: dict[str, object]) -> Conditions:
        moved = dict(chosen)
        # Each run draws from a stream of its own: that costs nothing and hides nothing.
        if "random" in self._axes:
            moved["random"] = self._rng.randrange(1, _SEED_LIMIT)
        seed = self._rng.randrange(1, 10_000)
        if str(moved.get("order", "")).startswith("shuffle"):
            moved["order"] = f"{moved['order']}:{seed}"
        if moved.get("gc") == "jitter":
            moved["gc"] = f"jitter:{seed}"
        if start.environment != "fixed":
            moved.pop("environment", None)
        if "clock" in moved:
            instant = self._values.instants[int(str(moved["clock"]))]
            moved["clock"] = instant.value
            if instant.zone and "timezone" in self._axes:
                moved["timezone"] = instant.zone
        return dataclasses.replace(start, **moved)  # type: ignore[arg-type]
