"""The controls see what hooks do to the tests beside them, wherever the hook is; honest hooks leave them be."""

from __future__ import annotations

import pytest

from repro_gate.model import Mode
from tests.conftest import MakeLab, MakeProject, outcomes

REPORTS = """\
    import pytest

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        report = outcome.get_result()
        report.outcome, report.longrepr = "passed", None
    """
CALLS = """\
    import pytest

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pyfunc_call(pyfuncitem):
        outcome = yield
        outcome.force_result(True)
    """
HONEST = """\
    import pytest

    @pytest.hookimpl(hookwrapper=True)
    def pytest_pyfunc_call(pyfuncitem):
        assert pyfuncitem.funcargs is not None and pyfuncitem.module.__name__ and pyfuncitem.path.is_file()
        yield

    def pytest_runtest_setup(item):
        for mark in item.iter_markers("skip"):
            pytest.skip("by hand")
    """
TESTS = """\
    import pytest

    pytestmark = pytest.mark.xfail

    @pytest.mark.skip
    def test_skipped():
        pass

    def test_fails():
        assert False
    """


@pytest.mark.parametrize("place", ["", "tests/", "tests/unit/"])
@pytest.mark.parametrize("hook", [REPORTS, CALLS], ids=["reports", "calls"])
def test_a_hook_that_makes_tests_pass_does_so_to_the_control(
    hook: str, place: str, host_lab: MakeLab, project: MakeProject
) -> None:
    files = {f"{place}conftest.py": hook, "tests/unit/test_it.py": "def test_fails():\n    assert False\n"}
    lab = host_lab(project(files))
    for mode in (Mode.FORK, Mode.FRESH):
        result = lab.run(mode, ("tests/unit/test_it.py::test_fails",))
        assert outcomes(result) == {"test_fails": "passed"}
        assert not result.controls_held


def test_honest_hooks_and_marks_leave_the_controls_as_they_are(host_lab: MakeLab, project: MakeProject) -> None:
    lab = host_lab(project({"tests/conftest.py": HONEST, "tests/test_it.py": TESTS}))
    result = lab.run(Mode.FORK)
    assert outcomes(result) == {"test_skipped": "skipped", "test_fails": "xfailed"}
    assert result.controls_held


def test_a_hook_beside_other_tests_does_not_matter(host_lab: MakeLab, project: MakeProject) -> None:
    files = {
        "other/conftest.py": REPORTS,
        "other/test_o.py": "def test_o(): pass\n",
        "test_it.py": "def test_it(): pass\n",
    }
    result = host_lab(project(files)).run(Mode.FORK, ("test_it.py::test_it",))
    assert result.controls_held


@pytest.mark.parametrize("forged", ["one", "two", "three"])
def test_each_folder_has_a_control_of_its_own(forged: str, host_lab: MakeLab, project: MakeProject) -> None:
    """A hook sees the tests below it alone: wherever it is among the folders, and whatever is selected."""
    files = {f"{name}/test_{name}.py": f"def test_{name}():\n    pass\n" for name in ("one", "two", "three")}
    select = {"pytest.ini": '[pytest]\naddopts = -k "test_one or test_two or test_three" --deselect one/none.py\n'}
    tests = [f"{name}/test_{name}.py::test_{name}" for name in ("one", "two", "three")]
    lab = host_lab(project({**files, **select, f"{forged}/conftest.py": REPORTS}))
    assert not lab.run(Mode.FORK, tuple(tests)).controls_held
    assert lab.run(Mode.FORK, tuple(test for test in tests if forged not in test)).controls_held
