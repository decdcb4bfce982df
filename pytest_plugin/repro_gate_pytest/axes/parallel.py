"""parallel: other processes at work in the same directories, as under xdist.

The gate starts them; what a process itself takes on is a short seeded wait before each file
operation, so that the others come between. It only chooses among schedules that may happen.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repro_gate_pytest import evidence
from repro_gate_pytest.axes.base import Axis, fraction

_LONGEST = 0.008


class Parallel(Axis):
    """Axis ``parallel``."""

    name = "parallel"

    def __init__(self) -> None:
        self._count = 0
        self._key = ""
        self._lane = ""

    def apply(self, conditions: Mapping[str, Any]) -> None:
        self._lane = conditions.get("lane", "")
        evidence.delay_files(self._wait if conditions["parallel"] > 1 else None)

    def before_test(self, key: str) -> None:
        self._key = key
        self._count = 0

    def _wait(self) -> float:
        # Two lanes must not keep step, and the same lanes of a replay must meet again on any machine.
        self._count += 1
        return _LONGEST * fraction(self._key, self._lane, self._count)
