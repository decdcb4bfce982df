"""gc: when the cyclic collector runs, and where objects lie (so what id() says).

``eager`` and ``rare`` change thresholds and leave the collector enabled; ``jitter:SEED`` fills
and punches holes into the small-object heap.
"""

from __future__ import annotations

import gc
import random
from collections.abc import Mapping
from typing import Any

from repro_gate_pytest.axes.base import Axis

_Random = random.Random
_EAGER = (5, 2, 2)
_RARE = (1_000_000, 1000, 1000)


class Gc(Axis):
    """Axis ``gc``."""

    name = "gc"

    def __init__(self) -> None:
        self._ballast: list[Any] = []
        self._default = gc.get_threshold()

    def apply(self, conditions: Mapping[str, Any]) -> None:
        value = conditions["gc"]
        self._ballast = []
        gc.set_threshold(*{"eager": _EAGER, "rare": _RARE}.get(value, self._default))
        if value.startswith("jitter:"):
            self._ballast = _ballast(int(value.partition(":")[2]))


def _ballast(seed: int) -> list[Any]:
    """Objects of each small size with holes between them, different for each seed."""
    draw = _Random(seed)
    sizes = [draw.getrandbits(16) for _ in range(4000)]
    kept = [[bytearray(bits % 400), [None] * (bits % 37), object(), {}] for bits in sizes]
    return [thing for thing in kept if draw.getrandbits(1)]
