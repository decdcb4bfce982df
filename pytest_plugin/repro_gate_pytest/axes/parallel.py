"""parallel: other processes at work in the same directories, as under xdist.

The gate starts them; what a process itself takes on is a short seeded wait before each file
operation, so that the others come between. It only chooses among schedules that may happen.
"""

from __future__ import annotations

import os
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

    def apply(self, conditions: Mapping[str, Any]) -> None:
        evidence.delay_files(self._wait if conditions["parallel"] > 1 else None)

    def before_test(self, key: str) -> None:
        self._key = key
        self._count = 0

    def _wait(self) -> float:
        # Two lanes must not keep step, so the process is part of the seed.
        self._count += 1
        return _LONGEST * fraction(self._key, _getpid(), self._count)


_getpid = os.getpid
