"""Tests of a file that cannot be imported: each of them is there, and fails in its setup by what the import raised.

Belongs here: standing in for the tests that the gate names. Does not belong here: which files and
tests these are, and whether what was raised says anything (the gate judges).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from repro_gate_pytest import absence, controls


class Unimported(controls.Control):
    """A test whose file raised while it was imported."""

    error: BaseException

    def setup(self) -> None:
        """What its file raised, with the frames that it had there."""
        raise self.error


def stand_in(collector: Any, report: Any, tests: Collection[str]) -> bool:
    """Give a file whose import failed those of ``tests`` that are its own; False where there are none."""
    excinfo = getattr(getattr(report, "call", None), "excinfo", None)
    own = sorted(test for test in tests if test.startswith(collector.nodeid + "::"))
    if not own or excinfo is None or report.outcome != "failed" or not isinstance(collector, pytest.Module):
        return False
    error = absence.decisive(excinfo.value)
    items = []
    for test in own:
        # Beside the file and not in it: whoever asks a node above for its module would import that again.
        item = Unimported.from_parent(
            collector.parent or collector.session, name=test[len(collector.nodeid) + 2 :], nodeid=test
        )
        item.path = collector.path
        item.error = error
        items.append(item)
    report.outcome, report.longrepr, report.result = "passed", None, items
    report.__dict__.pop("call")  # else pytest takes the exception for one to be shown
    return True
