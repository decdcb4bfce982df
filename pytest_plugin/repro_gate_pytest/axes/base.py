"""What an axis is, and the seeded numbers that axes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from repro_gate_pytest.wire import number

__all__ = ["Axis", "fraction", "number"]


class Axis:
    """A source of nondeterminism that a running process can be moved along."""

    name = ""

    def install(self) -> list[str]:
        """Patch what must be patched, without any effect yet. Returns notes."""
        return []

    def apply(self, conditions: Mapping[str, Any]) -> None:
        """Take on this axis's value of ``conditions``."""

    def settle(self) -> None:
        """Collection is over."""

    def notes(self) -> list[str]:
        """What is known by then not to be moved."""
        return []

    def before_test(self, key: str) -> None:
        """A test begins."""

    def fixture_begins(self, fixture: int) -> None:
        """A fixture that lives longer than one test is being set up."""

    def fixture_ready(self) -> None:
        """It is set up."""

    def fixture_gone(self, fixture: int) -> None:
        """It is torn down."""

    def touched(self) -> bool:
        """Whether the test read from this axis."""
        return False


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on every part."""
    return number(*parts) / 2.0**64
