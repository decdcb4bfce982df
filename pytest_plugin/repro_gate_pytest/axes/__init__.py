"""One file per source of nondeterminism, each with the same five moments.

``install`` once per process before the project's code is imported (with nothing perturbed),
``apply`` when conditions begin to hold, ``before_test`` and ``touched`` around each test,
``settle`` when imports are over. Belongs here: what a running process can take on. What a
process must be started with is in ``wire.start_environment``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from repro_gate_pytest.axes import (
    clock,
    gcaxis,
    listing,
    load,
    loop,
    network,
    parallel,
    randomness,
    surroundings,
    textlocale,
    threads,
    zone,
)
from repro_gate_pytest.axes.base import Axis

# Time zone before clock: the clock's values are local times.
_AXES: list[Axis] = [
    surroundings.Surroundings(),
    textlocale.TextLocale(),
    zone.Zone(),
    clock.Clock(),
    randomness.Randomness(),
    listing.Listing(),
    threads.Threads(),
    loop.Loop(),
    gcaxis.Gc(),
    load.Load(),
    network.Network(),
    parallel.Parallel(),
]


def install() -> list[str]:
    """Put every axis in place, neutral. Returns notes on what this interpreter does not allow."""
    notes: list[str] = []
    for axis in _AXES:
        notes.extend(axis.install())
    return notes


def apply(conditions: Mapping[str, Any]) -> None:
    """Let ``conditions`` hold in this process from now on."""
    for axis in _AXES:
        axis.apply(conditions)


def settle() -> None:
    """Imports are over: what was drawn from entropy so far is known and can be drawn again."""
    for axis in _AXES:
        axis.settle()


def notes() -> list[str]:
    """What, since imports are over, is known not to be moved."""
    return [note for axis in _AXES for note in axis.notes()]


def before_test(key: str) -> None:
    """Start each seeded stream anew for the test ``key``, so that it does not depend on others."""
    for axis in _AXES:
        axis.before_test(key)


@contextlib.contextmanager
def setting_up(fixture: int) -> Iterator[None]:
    """Around the set-up of a fixture that lives longer than one test."""
    for axis in _AXES:
        axis.fixture_begins(fixture)
    try:
        yield
    finally:
        for axis in _AXES:
            axis.fixture_ready()


def fixture_gone(fixture: int) -> None:
    """Such a fixture is torn down."""
    for axis in _AXES:
        axis.fixture_gone(fixture)


def touched() -> list[str]:
    """The axes that the test was seen to read from since ``before_test``."""
    return [axis.name for axis in _AXES if axis.touched()]
