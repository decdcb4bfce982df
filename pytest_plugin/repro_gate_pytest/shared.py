"""What is set up once for several tests counts for each test that uses it.

Belongs here: which fixtures of more than one test there are, and which tests use them. Does not belong here: how lines
are recorded (lines). A fixture that a test asks for by name while it runs is not seen.
"""

from __future__ import annotations

from typing import Any

import pytest

from repro_gate_pytest.lines import Lines, Ran


class Shared:
    """A plugin beside the runner. What ran in the same test before a fixture was ready is taken for its doing."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self._made: dict[int, Ran] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """Keep what ran for it."""
        yield
        if fixturedef.scope != "function":
            self._made[id(fixturedef)] = self._lines.recorded()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_setup(self, item: Any) -> Any:
        """Give the test its share of what others set up."""
        yield
        definitions = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", None) or {}
        for each in definitions.values():
            for fixturedef in each:
                ran = self._made.get(id(fixturedef))
                if ran is not None:
                    self._lines.add(ran)
