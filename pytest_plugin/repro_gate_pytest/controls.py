"""The two control tests of every experiment: one must pass, one must fail.

They run through the same hooks as the tests beside them: pytest asks a conftest.py only about
tests below it. If one does not do what it must, some hook rewrites what tests do, and nothing
else in that experiment can be believed.
"""

from __future__ import annotations

from typing import Any

import pytest

from repro_gate_pytest import wire

MESSAGE = "this control must fail"


class _NoFixtures:
    argnames = ()
    initialnames = ()
    names_closure: list[str] = []
    name2fixturedefs: dict[str, Any] = {}


class Control(pytest.Item):
    """A test without fixtures, which looks to hooks like an ordinary function."""

    must_fail = False
    module: Any = None
    cls = instance = None
    fixturenames: list[str] = []
    originalname = "control"

    def stand_beside(self, item: Any) -> None:
        """Be where this test is. Its marks stay its own: they may skip it, or expect it to fail."""
        self.path = item.path
        self.module = getattr(item, "module", None)

    def runtest(self) -> None:
        """Pass, or fail: called as a function is, by whoever calls functions here."""
        self.funcargs: dict[str, Any] = {}
        self._fixtureinfo = _NoFixtures
        try:
            self.ihook.pytest_pyfunc_call(pyfuncitem=self)
        finally:
            del self.funcargs, self._fixtureinfo

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
