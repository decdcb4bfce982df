"""network: nothing but loopback, where the sandbox itself has no network namespace to offer.

The audit hook refuses the attempt with the error a machine without a route gives. C extensions
and child processes pass it by: only a sandbox can hold those.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repro_gate_pytest import evidence
from repro_gate_pytest.axes.base import Axis


class Network(Axis):
    """Axis ``network``."""

    name = "network"

    def apply(self, conditions: Mapping[str, Any]) -> None:
        evidence.refuse_network(conditions["network"] == "blocked")

    def touched(self) -> bool:
        return evidence.network_seen()
