"""The hooks of a process that serves the gate: neutralise, collect, report, then run on command."""

from __future__ import annotations

import contextlib
import gc
import inspect
import os
import sys
import tempfile
from typing import Any

import pytest

from repro_gate_pytest import absence, axes, evidence, facts, failure, foreign, forkserver, origins, unimported, wire
from repro_gate_pytest.channel import Channel
from repro_gate_pytest.enlist import Enlistment
from repro_gate_pytest.runner import Runner, conditions_of
from repro_gate_pytest.shared import Shared

_exit = os._exit
_CHUNK = 400
_FEW_MODULES = 800


class Serving:
    """Registered in place of everything else when the process is enlisted."""

    def __init__(self, enlistment: Enlistment) -> None:
        self._enlistment = enlistment
        self._notes: list[str] = list(enlistment.notes)
        self._zones = failure.Zones(enlistment.tree, frozenset())
        self._causes: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Any:
        """Before pytest-cov starts to trace; and a conftest that fails here ends pytest without a report."""
        foreign.silence_coverage(early_config)
        if self._enlistment.lenient is not None:
            self._enlistment.lenient.also(early_config.getini("python_files"))
        outcome = yield
        try:
            outcome.get_result()
        except Exception as failed:
            text = wire.clip("%s: %s" % (type(failed).__name__, failed), 8000)
            cause = absence.describe(failed, self._zones)
            self._enlistment.events.send(wire.COLLECT_ERROR, node=absence.node_of(failed), text=text, **cause)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: Any) -> Any:
        """Once every option is known and no plugin has acted on one."""
        self._notes += foreign.neutralise(config)
        foreign.remove_retriers(config)
        yield

    def pytest_collectreport(self, report: Any) -> None:
        """Say what could not be collected, and what did not want to be."""
        if report.skipped and report.nodeid:
            self._enlistment.events.send(wire.COLLECT_SKIP, node=report.nodeid, text=_reason_of(report))
        if report.failed:
            text = wire.clip(str(report.longrepr), 8000)
            cause = self._causes.pop(report.nodeid, {})
            self._enlistment.events.send(wire.COLLECT_ERROR, node=report.nodeid, text=text, **cause)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: Any) -> Any:
        """Keep the exception itself: the report has only its text. Or let the tests of the file fail by it."""
        outcome = yield
        if unimported.stand_in(collector, outcome.get_result(), self._enlistment.unimported):
            return
        excinfo = getattr(getattr(outcome.get_result(), "call", None), "excinfo", None)
        if excinfo is not None and outcome.get_result().outcome == "failed":
            self._causes[collector.nodeid] = absence.describe(excinfo.value, self._zones)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        """In place of the loop: say what was collected, then serve. Does not return."""
        axes.settle()
        self._notes += axes.notes()
        files = frozenset(str(item.path) for item in session.items if _in_test_file(item))
        zones = failure.Zones(self._enlistment.tree, files)
        runner = Runner(session, zones, self._enlistment.observers)
        session.config.pluginmanager.register(runner, "repro-gate-runner")
        if self._enlistment.lines is not None and self._enlistment.start.get("record"):
            session.config.pluginmanager.register(Shared(self._enlistment.lines), "repro-gate-shared")
        self._tell_of_imports()
        self._announce(session, zones)
        _prepare(session, fork=self._enlistment.fork)
        try:
            self._serve(session, runner)
        finally:
            _flush()
            _exit(0)

    def _tell_of_imports(self) -> None:
        """What ran and was opened until now, in this process and in none of its forks again."""
        enlistment = self._enlistment
        frame: dict[str, Any] = {}
        if enlistment.lines is not None:
            frame.update(enlistment.lines.end())
        if enlistment.facts:
            opened = (evidence.end() or {}).get("opened", [])
            frame["opened"] = [path for path in opened if not path.endswith(".py")]
            frame["origins"] = origins.of_modules(enlistment.tree, str(enlistment.start.get("subdirectory", "")))
        if frame:
            enlistment.events.send(wire.IMPORTED, **frame)

    def _announce(self, session: Any, zones: failure.Zones) -> None:
        events = self._enlistment.events
        tests = [[item.nodeid, _file_of(item)] for item in session.items]
        for start in range(0, len(tests), _CHUNK):
            events.send(wire.COLLECTED, tests=tests[start : start + _CHUNK])
        if self._enlistment.facts:
            with_sources = not self._enlistment.start.get("without_sources")
            collecting = gc.isenabled()
            gc.disable()  # many syntax trees are made, and all of them are kept for a while
            for frame in facts.frames(session, zones, self._enlistment.tree, _CHUNK, with_sources=with_sources):
                events.send_frames(frame)
            if collecting:
                gc.enable()
        reason = forkserver.unsafe_to_fork()
        events.send(
            wire.READY,
            count=len(tests),
            fork=not reason,
            reason=reason,
            notes=self._notes,
            pytest=pytest.__version__,
            rootdir=str(session.config.rootpath),
            inifile=str(session.config.inipath or ""),
            failed=session.testsfailed,
            roots=failure.roots(),
        )

    def _serve(self, session: Any, runner: Runner) -> None:
        enlistment = self._enlistment
        if enlistment.fork:
            if not forkserver.unsafe_to_fork():
                renew = _capture_renewer(session.config)
                unwatch = enlistment.lines.stop if enlistment.lines is not None else lambda: None
                events, commands = enlistment.events, enlistment.commands
                forkserver.ForkServer(runner, events, commands, renew, enlistment.tree, unwatch).serve()
            return
        command = _one_command(enlistment.commands)
        if command["do"] != wire.RUN:
            return
        channel = Channel(command["channel"])
        axes.apply(conditions_of(command))
        runner.watch_time(command)
        runner.run(command["order"], channel, command.get("until", ()))


class _Unheard:
    """Stands in for the terminal reporter: its attributes, but none of its hooks."""

    def __init__(self, reporter: Any) -> None:
        self._reporter = reporter

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reporter, name)


def _prepare(session: Any, *, fork: bool) -> None:
    """Do once, before any fork, what each fork would do again; and let nobody print dots."""
    manager = session.config.pluginmanager
    reporter = manager.getplugin("terminalreporter")
    if reporter is not None:
        manager.unregister(reporter)
        manager.register(_Unheard(reporter), "terminalreporter")
    for item in session.items:
        with contextlib.suppress(Exception):  # a project's own kind of item may have none
            item.location  # noqa: B018 - cached from here on
    if fork:
        if len(sys.modules) < _FEW_MODULES:
            inspect.getmodule(_prepare.__code__)  # fills a cache that the first failure's traceback needs
        gc.freeze()  # what imports made is not looked at again, and its pages stay shared


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:  # a test may have closed or replaced it
            continue


def _one_command(path: str) -> dict[str, Any]:
    with open(path, "rb") as pipe:
        return wire.decode(pipe.readline())


def _reason_of(report: Any) -> str:
    """The words of a skip."""
    where = report.longrepr
    text = str(where[2] if isinstance(where, tuple) and len(where) == 3 else where)
    return wire.clip(text.removeprefix("Skipped: "), 1000)


def _in_test_file(item: Any) -> bool:
    """Whether the item's file is one of tests: a doctest may as well be in the product."""
    return getattr(item, "path", None) is not None and not hasattr(item, "dtest")


def _file_of(item: Any) -> str:
    path = getattr(item, "path", None)
    try:
        return os.path.relpath(str(path), str(item.config.rootpath)) if path else ""
    except ValueError:
        return ""


def _capture_renewer(config: Any) -> Any:
    """A function that gives a fork capture files of its own: it shares the parent's, with their offsets.

    The objects stay, and what imports have kept of them (``from sys import stdout``, a handler of logging) is what
    tests write to and what ``sys`` has, as in a session without forks.
    """
    manager = config.pluginmanager.getplugin("capturemanager")

    def renew() -> None:
        if manager is None or not manager.is_globally_capturing():
            return
        manager.suspend_global_capture()
        for stream in (manager._global_capturing.out, manager._global_capturing.err):
            kept = getattr(stream, "tmpfile", None)  # None: of this stream nothing is captured
            if kept is not None and hasattr(stream, "targetfd"):
                with tempfile.TemporaryFile(buffering=0) as own:
                    os.dup2(own.fileno(), kept.fileno(), inheritable=False)
            elif kept is not None:
                kept.seek(0)  # in memory, and so the fork's own: only what collecting left there goes
                kept.truncate()
        manager.resume_global_capture()

    return renew
