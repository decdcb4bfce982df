"""The two control tests of every experiment: one must pass, one must fail.

They run through the same hooks as the project's tests. If one does not do what it must, some
hook rewrites reports, and nothing else in that experiment can be believed.
"""

from __future__ import annotations

from typing import Any

import pytest

from repro_gate_pytest import wire

MESSAGE = "this control must fail"


class Control(pytest.Item):
    """A test without fixtures, which looks to hooks like an ordinary function."""

    must_fail = False
    module = cls = instance = None
    fixturenames: list[str] = []
    originalname = "control"

    def runtest(self) -> None:
        """Pass, or fail."""
        self.function()

    def function(self) -> None:
        """What hooks find as the test's function."""
        if self.must_fail:
            raise AssertionError(MESSAGE)

    obj = function

    def reportinfo(self) -> tuple[Any, int, str]:
        """Where hooks are told that this test is."""
        return self.path, 0, self.name

    def repr_failure(self, excinfo: Any, style: Any = None) -> str:
        """One fixed sentence: rendering a traceback is work."""
        return MESSAGE


def make(session: Any) -> dict[int, Control]:
    """The controls by their index on the wire."""
    passing = Control.from_parent(session, name="repro-gate-control-pass")
    failing = Control.from_parent(session, name="repro-gate-control-fail")
    failing.must_fail = True
    return {wire.CONTROL_PASS: passing, wire.CONTROL_FAIL: failing}
