"""The control tests of every experiment: one must pass, and one in each folder of its tests must fail.

They run through the same hooks as the tests beside them: pytest asks a conftest.py only about
tests below it. If one does not do what it must, some hook rewrites what tests do, and nothing
else in that experiment can be believed. They are made after collection, so that no option or hook
of the project deselects them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
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


def plan(session: Any, order: Sequence[int]) -> list[tuple[int, Any]]:
    """The items at these indices between their controls, each by its index on the wire.

    The last control stands beside the last test, the others beside the first of each other folder.
    """
    items = [session.items[index] for index in order]
    beside = {_folder(item): item for item in reversed(items)}
    last = [items[-1]] if items else [None]
    others = [item for folder, item in beside.items() if folder != _folder(last[0])]
    return [
        (wire.CONTROL_PASS, _control(session, "repro-gate-control-pass", items[0] if items else None)),
        *zip(order, items),
        *((wire.CONTROL_FAIL, _control(session, "repro-gate-control-fail", item, fail=True)) for item in others + last),
    ]


def _control(session: Any, name: str, beside: Any, *, fail: bool = False) -> Control:
    control = Control.from_parent(session, name=name)
    control.must_fail = fail
    if beside is not None:
        control.stand_beside(beside)
    return control  # type: ignore[no-any-return,unused-ignore]


def _folder(item: Any) -> str:
    path = getattr(item, "path", None)
    return os.path.dirname(str(path)) if path else ""
