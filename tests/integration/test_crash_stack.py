"""A test that ends its process by a fatal error leaves the stack that it died in."""

from __future__ import annotations

import pytest

from repro_gate.model import Mode, Outcome, Zone
from tests.conftest import MakeLab, MakeProject

PRODUCT = """\
    import os

    def aborts():
        os.abort()

    def ends():
        os._exit(3)
    """
TESTS = """\
    import shop

    def test_aborts():
        shop.aborts()

    def test_ends():
        shop.ends()
    """


@pytest.mark.parametrize("mode", [Mode.FORK, Mode.FRESH])
def test_a_fatal_error_shows_the_product_and_its_text(mode: Mode, host_lab: MakeLab, project: MakeProject) -> None:
    lab = host_lab(project({"shop.py": PRODUCT, "test_it.py": TESTS}))
    (run,) = lab.run(mode, ("test_it.py::test_aborts",)).runs
    assert run.outcome is Outcome.CRASHED
    assert run.failure is not None
    assert [(frame.zone, frame.function) for frame in run.failure.frames][-2:] == [
        (Zone.TEST, "test_aborts"),
        (Zone.PRODUCT, "aborts"),
    ]
    assert "Fatal Python error: Aborted" in run.output


def test_a_process_that_just_ends_has_no_stack(host_lab: MakeLab, project: MakeProject) -> None:
    lab = host_lab(project({"shop.py": PRODUCT, "test_it.py": TESTS}))
    (run,) = lab.run(Mode.FORK, ("test_it.py::test_ends",)).runs
    assert run.failure is not None
    assert (run.outcome, run.failure.frames) == (Outcome.CRASHED, ())
