"""What really came out of a test, seen before any hook of the project, and what its reports say otherwise.

Belongs here: the exception as the test's own call raised it, phase by phase, and the contradiction
between it and a report. A hook that picks one test by its name moves no control; this sees it.
Does not belong here: what a contradiction means (the gate judges). A plugin that is installed may
decide outcomes: it is no part of the project. Code that replaces pytest or us is not seen through.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import traceback
from collections.abc import Iterable, Iterator, Sequence
from types import CodeType
from typing import Any

import pytest

from repro_gate_pytest import failure

_OWN = ("Test", "Product")
_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
)
_PYTESTS = ("_pytest.", "repro_gate_pytest.", "pluggy.")
_realpath = os.path.realpath
_walk_tb = traceback.walk_tb
_Item = pytest.Function


class Witness:
    """Sees one test after the other; registered by the runner as its innermost plugin."""

    def __init__(self, zones: failure.Zones, plugins: Any) -> None:
        self._zones = zones
        self._plugins = plugins
        self._known: tuple[int, set[str]] = (-1, set())
        self._raised: list[BaseException] = []
        self._called = False
        self._replaced = ""
        self._own: list[CodeType] = []
        self._truth: dict[str, BaseException | None] = {}

    def begin(self, item: Any) -> None:
        """A test begins: its function is still the one that was collected."""
        self._raised = []
        self._called = False
        self._replaced = ""
        self._own = list(_codes(_collected(item))) if isinstance(item, _Item) else []
        self._truth = {}

    # -- what is seen ------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Any:
        """What running the test raises, inside of every other wrapper."""
        self._stand_before(item)
        outcome = yield
        self._called = True  # reports before this are of parts of the test
        self._note(outcome.excinfo)
        # unittest's own keeper of results swallows what it notes.
        self._raised += [info.value for info in list(getattr(item, "_excinfo", None) or [])[:1]]

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Any:
        """What calling the test's function raises, inside of every other wrapper."""
        outcome = yield
        self._note(outcome.excinfo)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """The exception of a phase before hooks take it away, or as an installed plugin replaces it."""
        first = call.excinfo.value if call.excinfo is not None else None
        if call.when == "call" and self._raised:
            first = self._raised[0]
        yield
        last = call.excinfo.value if call.excinfo is not None else None
        if last is not None and (first is None or _is_skip(first)) and not self._places(last):
            first = last  # of an installed plugin, or pytest's own word for unittest's skip
        self._truth[call.when] = first

    def _note(self, excinfo: Any) -> None:
        if excinfo is not None:
            self._raised.append(excinfo[1])

    def _stand_before(self, item: Any) -> None:
        """Where the project's own code stands between pytest and the test's function, see the function itself."""
        if not isinstance(item, _Item):
            return
        code = _code(item.obj)
        if code is not None and not any(code is each for each in self._own):
            file = _realpath(code.co_filename)
            if file in self._plugin_files():
                self._replaced = "its function was replaced by one of %s" % os.path.basename(file)
        runs = vars(item).get("runtest") or type(item).runtest
        calls = item.ihook.pytest_pyfunc_call.get_hookimpls()
        between = [each.function for each in calls if not _wraps(each)]
        if any(self._is_projects(each) for each in (runs, *between)):
            item.obj = self._watched(item.obj)

    def _watched(self, function: Any) -> Any:
        """The same function, and what it raises is known here."""
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def waits(*args: Any, **kwargs: Any) -> Any:
                with self._noting():
                    return await function(*args, **kwargs)

            return waits

        @functools.wraps(function)
        def calls(*args: Any, **kwargs: Any) -> Any:
            with self._noting():
                return function(*args, **kwargs)

        return calls

    @contextlib.contextmanager
    def _noting(self) -> Iterator[None]:
        """Note what a call of the function raises; one that is called again until it passes has passed."""
        try:
            yield
        except BaseException as raised:
            self._raised.append(raised)
            raise
        self._raised.clear()

    # -- what it means -----------------------------------------------------------------------

    def by_a_hook(self, item: Any, call: Any) -> bool:
        """Whether a failing call was raised by the project's own hook or item, and not by the test or the product."""
        if call.when != "call" or call.excinfo is None or not isinstance(item, _Item):
            return False
        places = self._places(call.excinfo.value)
        if not places or any(zone == "Product" for zone, _, _ in places):
            return False
        if self._called and not self._raised:
            return True  # whatever its traceback says: it was raised around the call
        here = _realpath(str(item.path))
        if any(file == here or any(code is each for each in self._own) for _, file, code in places):
            return False
        if any(places[0][2] is each for each in self._between(item)):
            return True
        # Else nothing of the project comes before the function, unless another's code stands for it.
        plain = bool(self._own) and self._zones.place(self._own[0].co_filename)[0] in _OWN
        return plain and not hasattr(item, "_excinfo")

    def _between(self, item: Any) -> list[CodeType]:
        """The code that is called before the test's function."""
        hooks = [each.function for name in _HOOKS[:3] for each in getattr(item.ihook, name).get_hookimpls()]
        codes = [_code(each) for each in (*hooks, vars(item).get("runtest"), type(item).runtest)]
        return [code for code in codes if code is not None]

    def contradiction(self, item: Any, reports: Sequence[Any]) -> str:
        """What the reports of a test say otherwise than what was seen, as a sentence; or an empty string."""
        told = [each for each in reports if not hasattr(each, "context")]
        parts = any(hasattr(each, "context") and each.outcome == "failed" for each in reports)
        for report in told:
            why = self._against(item, report, parts)
            if why and not self._by_installed(item):
                return why
        return self._replaced if any(_when(each) == "call" and each.outcome == "passed" for each in told) else ""

    def _against(self, item: Any, report: Any, parts: bool) -> str:
        when = _when(report)
        if when not in self._truth:
            return "reported as %s without having been run" % report.outcome if report.outcome != "skipped" else ""
        seen = self._truth[when]
        expected = hasattr(report, "wasxfail")
        marked = _expects_failure(item) or isinstance(seen, pytest.xfail.Exception)
        failed = seen is not None and not _is_skip(seen) and not isinstance(seen, pytest.xfail.Exception)
        if expected and not marked:
            return "reported as expected to fail, which nothing says"
        if report.outcome == "passed" and failed:
            return "reported as passed in %s, where %s was raised" % (when, _name(seen))
        if report.outcome == "failed" and seen is None and not marked and not parts:
            text = str(getattr(report, "longrepr", "") or "")
            return "" if "failed subtest" in text else "reported as failed in %s, where nothing was raised" % when
        return ""

    def _by_installed(self, item: Any) -> bool:
        """Whether installed plugins alone, and at least one, have a word in what becomes of this test."""
        impls = [each for name in _HOOKS for each in getattr(item.ihook, name).get_hookimpls()]
        others = [each.function for each in impls if not _modules(each.function).startswith(_PYTESTS)]
        return bool(others) and not any(self._is_projects(each) for each in others)

    # -- where code is -----------------------------------------------------------------------

    def _places(self, exc: BaseException) -> list[tuple[str, str, CodeType]]:
        """Zone, file and code of the project's own frames of an exception."""
        codes = [frame.f_code for frame, _ in _walk_tb(exc.__traceback__)]
        zoned = [(self._zones.place(code.co_filename)[0], code) for code in codes]
        return [(zone, _realpath(code.co_filename), code) for zone, code in zoned if zone in _OWN]

    def _is_projects(self, function: Any) -> bool:
        code = None if _modules(function).startswith(_PYTESTS) else _code(function)
        return code is not None and self._zones.place(code.co_filename)[0] in _OWN

    def _plugin_files(self) -> set[str]:
        """The files of plugins, conftest.py among them, that are the project's own."""
        plugins = self._plugins.get_plugins()
        if len(plugins) != self._known[0]:
            files = [getattr(plugin, "__file__", None) for plugin in plugins]
            own = {_realpath(file) for file in files if file and self._zones.place(file)[0] in _OWN}
            self._known = (len(plugins), own)
        return self._known[1]


def _expects_failure(item: Any) -> bool:
    """Marked so, or decorated as unittest does it."""
    decorated = (getattr(item, "obj", None), getattr(item, "cls", None))
    return any(item.iter_markers("xfail")) or any(
        getattr(each, "__unittest_expecting_failure__", False) for each in decorated
    )


def _when(report: Any) -> str:
    return str(getattr(report, "when", "call"))


def _is_skip(exc: BaseException) -> bool:
    return isinstance(exc, pytest.skip.Exception) or type(exc).__name__ == "SkipTest"


def _collected(item: Any) -> Any:
    """The function that was collected, without making an instance of its class."""
    owner = getattr(item, "cls", None) or getattr(item, "module", None)
    return vars(item).get("_obj") or getattr(owner, getattr(item, "originalname", None) or item.name, None)


def _codes(function: Any) -> Iterable[CodeType]:
    """The code of a function and of those that it wraps."""
    for _ in range(20):
        function = _inner(function)
        code = _code(function)
        if code is not None:
            yield code
        function = getattr(function, "__wrapped__", None)
        if function is None:
            return


def _inner(function: Any) -> Any:
    function = getattr(function, "__func__", function)
    return _inner(function.func) if isinstance(function, functools.partial) else function


def _code(function: Any) -> CodeType | None:
    code = getattr(_inner(function), "__code__", None)
    return code if isinstance(code, CodeType) else None


def _wraps(impl: Any) -> bool:
    return bool(impl.hookwrapper or getattr(impl, "wrapper", False))


def _modules(function: Any) -> str:
    return str(getattr(function, "__module__", "")) + "."


def _name(exc: BaseException | None) -> str:
    return type(exc).__qualname__
