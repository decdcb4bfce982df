"""What a hook of the project does to one test that it names is seen; honest hooks and plugins are left in peace."""

from __future__ import annotations

import textwrap

import pytest

from repro_gate.model import Mode, TestRun
from tests.conftest import MakeLab, MakeProject

FAILS = "def test_it():\n    assert 1 == 2\n"
PASSES = "def test_it():\n    assert True\n"
CASE = "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, 2)\n"
REPORT = """\
    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        if item.name == "test_it" and call.when == "call":
            outcome.get_result().outcome = "{0}"
    """
SWALLOWS = {
    "report": REPORT.format("passed"),
    "log": """\
        @pytest.hookimpl(tryfirst=True, hookwrapper=True)
        def pytest_runtest_logreport(report):
            if "test_it" in report.nodeid:
                report.outcome, report.longrepr = "passed", None
            yield
        """,
    "excinfo": """\
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(item, call):
            if item.name == "test_it":
                call.excinfo = None
                getattr(item, "_excinfo", None) and item._excinfo.clear()
        """,
    "call": """\
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_call(item):
            outcome = yield
            if item.name == "test_it":
                outcome.force_result(None)
                getattr(item, "_excinfo", None) and item._excinfo.clear()
        """,
    "item": """\
        def pytest_collection_modifyitems(items):
            for item in items:
                if item.name == "test_it":
                    item.runtest = lambda run=item.runtest: quiet(item, run)

        def quiet(item, run):
            try:
                run()
            except AssertionError:
                pass
            getattr(item, "_excinfo", None) and item._excinfo.clear()
        """,
    "protocol": """\
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            if item.name == "test_it":
                for when in ("setup", "call", "teardown"):
                    call = pytest.CallInfo.from_call(lambda: None, when)
                    report = pytest.TestReport.from_item_and_call(item, call)
                    item.ihook.pytest_runtest_logreport(report=report)
                return True
        """,
    "fixture": """\
        @pytest.fixture(autouse=True)
        def other(request):
            if request.node.name == "test_it":
                request.node.obj = lambda *_: None
        """,
}
OF_FUNCTIONS = {
    "function": """\
        @pytest.hookimpl(hookwrapper=True)
        def pytest_pyfunc_call(pyfuncitem):
            outcome = yield
            if pyfuncitem.name == "test_it":
                outcome.force_result(True)
        """,
    "caller": """\
        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(pyfuncitem):
            try:
                pyfuncitem.obj()
            except AssertionError:
                pass
            return True
        """,
    "class": """\
        class Quiet(pytest.Function):
            def runtest(self):
                try:
                    super().runtest()
                except AssertionError:
                    pass

        def pytest_pycollect_makeitem(collector, name, obj):
            if name == "test_it":
                return Quiet.from_parent(collector, name=name)
        """,
    "expected": """\
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(item, call):
            outcome = yield
            if call.when == "call":
                outcome.get_result().outcome, outcome.get_result().wasxfail = "skipped", "so"
        """,
}
RAISES = {
    "call": "def pytest_runtest_call(item):\n    assert item.name != 'test_it'\n",
    "around": "@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_call(item):\n    yield\n    assert False\n",
    "function": "@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    assert False\n",
    "instance": "import helper\ndef pytest_configure(config):\n    config.pluginmanager.register(helper.Plugin())\n",
    "patched": "import helper\ndef pytest_itemcollected(item):\n    item.runtest = helper.fail\n",
    "item": "def pytest_itemcollected(item):\n    item.runtest = fail\ndef fail():\n    raise AssertionError\n",
}
HELPER = """\
    def fail():
        raise AssertionError

    class Plugin:
        def pytest_runtest_call(self, item):
            fail()
    """
HONEST = """\
    import asyncio

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(item, call):
        outcome = yield
        setattr(item, "report_" + call.when, outcome.get_result())

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem):
        if asyncio.iscoroutinefunction(pyfuncitem.obj):
            asyncio.run(pyfuncitem.obj())
            return True

    @pytest.hookimpl(tryfirst=True, hookwrapper=True)
    def pytest_runtest_call(item):
        outcome = yield
        if outcome.excinfo is not None and item.name == "test_told":
            outcome.force_exception(AssertionError("told otherwise"))

    def check(value):
        assert value == 2

    @pytest.fixture
    def checks():
        return check
    """
ALL_WAYS = """\
    import unittest
    import pytest

    def test_passes(): pass
    def test_fails(): assert False
    def test_told(): assert False
    def test_by_help(checks): checks(1)
    async def test_waits(): assert True
    async def test_waits_and_fails(): assert False
    def test_skips(): pytest.skip("so")
    def test_xfails(): pytest.xfail("so")
    @pytest.mark.xfail
    def test_marked(): assert False
    @pytest.mark.xfail(strict=True)
    def test_strict(): pass
    @pytest.mark.xfail(raises=ValueError)
    def test_another(): assert False
    @pytest.fixture
    def broken(): assert False
    def test_setup(broken): pass
    @pytest.fixture
    def ends_badly():
        yield
        assert False
    def test_teardown(ends_badly): pass

    class TestIt(unittest.TestCase):
        def setUp(self): assert "set_up" not in self.id()
        def test_fails(self): self.assertEqual(1, 2)
        def test_passes(self): pass
        def test_skips(self): raise unittest.SkipTest("so")
        def test_set_up(self): pass
        @unittest.expectedFailure
        def test_expected(self): assert False
        @unittest.expectedFailure
        def test_unexpected(self): pass
        def test_parts(self):
            for number in (1, 2):
                with self.subTest(number=number):
                    self.assertEqual(number, 1)
    """


def runs(host_lab: MakeLab, project: MakeProject, conftest: str, tests: str) -> dict[str, TestRun]:
    start = "import pytest\n\n" + textwrap.dedent(conftest)
    files = {"tests/conftest.py": start, "tests/helper.py": HELPER, "tests/test_it.py": tests}
    result = host_lab(project(files)).run(Mode.FORK)
    return {run.id.partition("::")[2]: run for run in result.runs}


@pytest.mark.parametrize("hook", [*SWALLOWS, *OF_FUNCTIONS])
def test_a_failing_test_that_a_hook_lets_pass_is_a_contradiction(
    hook: str, host_lab: MakeLab, project: MakeProject
) -> None:
    (run,) = runs(host_lab, project, {**SWALLOWS, **OF_FUNCTIONS}[hook], FAILS).values()
    assert run.outcome in ("passed", "xfailed")
    assert run.contradiction, run


@pytest.mark.parametrize("hook", SWALLOWS)
def test_so_is_one_of_unittest(hook: str, host_lab: MakeLab, project: MakeProject) -> None:
    (run,) = runs(host_lab, project, SWALLOWS[hook], CASE).values()
    assert (run.outcome, bool(run.contradiction)) == ("passed", True), run


def test_a_passing_test_that_a_hook_reports_as_failed_is_a_contradiction(
    host_lab: MakeLab, project: MakeProject
) -> None:
    (run,) = runs(host_lab, project, REPORT.format("failed"), PASSES).values()
    assert run.contradiction == "reported as failed in call, where nothing was raised"


@pytest.mark.parametrize("hook", RAISES)
def test_what_a_hook_raises_is_no_failure_of_the_test(hook: str, host_lab: MakeLab, project: MakeProject) -> None:
    (run,) = runs(host_lab, project, RAISES[hook], PASSES).values()
    assert run.failure is not None
    assert (run.outcome, run.failure.phase, run.contradiction) == ("failed", "hook", "")


RETRIES = """\
    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(pyfuncitem):
        for _ in range(3):
            try:
                pyfuncitem.obj()
                break
            except AssertionError:
                pass
        return True
    """


def test_a_hook_that_calls_a_test_until_it_passes_is_believed_when_it_does(
    host_lab: MakeLab, project: MakeProject
) -> None:
    tests = "TRIED = []\n\n\ndef test_it():\n    TRIED.append(1)\n    assert len(TRIED) == 2\n"
    (run,) = runs(host_lab, project, RETRIES, tests).values()
    assert (run.outcome, run.contradiction) == ("passed", "")
    (run,) = runs(host_lab, project, RETRIES, FAILS).values()
    assert (run.outcome, bool(run.contradiction)) == ("passed", True)


def test_honest_hooks_and_every_way_to_end_contradict_nothing(host_lab: MakeLab, project: MakeProject) -> None:
    found = runs(host_lab, project, HONEST, textwrap.dedent(ALL_WAYS))
    assert {name: run.contradiction for name, run in found.items() if run.contradiction} == {}
    phases = {name: run.failure.phase for name, run in found.items() if run.failure is not None}
    assert {name for name, phase in phases.items() if phase == "hook"} == set()
    assert len(found) >= 19
