"""Run collected items in this process and send what came out of each.

Belongs here: one pass over an ordered list of items, through pytest's own protocol hook so that
every other plugin's wrappers apply. Does not belong here: conditions (axes) and processes
(forkserver).
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest

from repro_gate_pytest import axes, controls, evidence, failure, hang, wire
from repro_gate_pytest.channel import Channel
from repro_gate_pytest.witness import Witness

_exit = os._exit
_KEPT = (time.perf_counter,)  # in a tuple: who freezes the clock replaces what modules hold
_MOST_TEXT = 16_000


class Runner:
    """Runs items of one session; registered as a plugin to receive their reports."""

    def __init__(self, session: Any, zones: failure.Zones, observers: Sequence[Any] = ()) -> None:
        self._session = session
        self._zones = zones
        self._observers = list(observers)
        self._failures: dict[str, dict[str, Any]] = {}
        self._reports: list[Any] = []
        # Registered here, after all others and before us: its wrappers are the innermost.
        self._witness = Witness(zones, session.config.pluginmanager)
        session.config.pluginmanager.register(self._witness, "repro-gate-witness")

    def watch_time(self, command: Mapping[str, Any]) -> None:
        """Have a test that takes its whole time leave a stack beside this run's channel."""
        seconds = command.get("limits", {}).get("seconds", 0)
        if seconds:
            self._observers.append(hang.StackWatch(wire.stack_file(command["channel"]), seconds))

    def run(self, order: Sequence[int], channel: Channel, until: Collection[int] = ()) -> None:
        """Run the controls and the items at these indices, in this order; a frame for each.

        Once one of ``until`` has failed nobody asks for the rest, and the process ends.
        """
        plan = controls.plan(self._session, order)
        channel.send(wire.BEGIN, t=wire.CONTROL_PASS)
        for position, (index, item) in enumerate(plan):
            index_after, after = plan[position + 1] if position + 1 < len(plan) else (None, None)
            # The last test of the project tears down what the session set up, not the control after it.
            following = None if index_after == wire.CONTROL_FAIL else after
            frame, go_on = self._run_one(index, item, following)
            if not go_on or (index in until and frame["o"] in ("failed", "error")):
                # pytest would end the session here, too; the gate gives the rest to another process, if it wants it.
                channel.send_frames(frame, {"ev": wire.END, "ran": position + 1, "aborted": True})
                _exit(0)
            # One write for both: the gate wakes up once per test.
            last = {"ev": wire.END, "ran": len(plan)}
            channel.send_frames(frame, last if after is None else {"ev": wire.BEGIN, "t": index_after})

    def _run_one(self, index: int, item: Any, following: Any) -> tuple[dict[str, Any], bool]:
        self._failures.clear()
        self._reports = []
        aborted: BaseException | None = None
        began = _KEPT[0]()
        try:
            self._witness.begin(item)
            axes.before_test(item.nodeid)
            evidence.begin()
            for observer in self._observers:
                observer.begin()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        except BaseException as stop:  # KeyboardInterrupt or pytest.exit in a test
            aborted = stop
        touched = axes.touched()
        seen = evidence.end() or {}
        for observer in self._observers:
            seen.update(observer.end())
        frame = self._frame(index, max(0.0, _KEPT[0]() - began))
        if aborted is not None:
            frame["o"] = "error"
            frame["f"] = failure.describe(aborted, "call", self._zones)
        elif index >= 0:
            against = self._witness.contradiction(item, self._reports)
            if against:
                frame["c"] = against
        if seen:
            frame["e"] = seen
        if touched:
            frame["x"] = touched
        return frame, aborted is None

    def _frame(self, index: int, seconds: float) -> dict[str, Any]:
        outcome, decisive = _outcome(self._reports)
        frame: dict[str, Any] = {"ev": wire.RESULT, "t": index, "o": outcome, "s": round(seconds, 5)}
        if outcome in ("failed", "error") and index >= 0:
            frame["f"] = self._failures.get(decisive.when) or failure.describe_text(
                _longrepr(decisive), decisive.when, "report"
            )
            frame["out"] = _output(decisive)
        elif outcome == "skipped" and decisive is not None:
            frame["out"] = wire.clip(_reason(decisive), 500)
        return frame

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        """Let the axes know what is done for several tests at once."""
        if fixturedef.scope == "function":
            yield
        else:
            with axes.setting_up(id(fixturedef)):
                yield

    def pytest_fixture_post_finalizer(self, fixturedef: Any) -> None:
        """It is done with."""
        if fixturedef.scope != "function":
            axes.fixture_gone(id(fixturedef))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Any:
        """Keep the exception's own frames, before anything is rendered to text."""
        yield
        if call.excinfo is not None:
            phase = "hook" if self._witness.by_a_hook(item, call) else call.when
            self._failures[call.when] = failure.describe(call.excinfo.value, phase, self._zones)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Collect the final reports of the test that is running."""
        self._reports.append(report)


def _outcome(reports: Sequence[Any]) -> tuple[str, Any]:
    """One outcome from the reports of setup, call and teardown, and the report that decided it."""
    result, decisive = "error", None
    if not reports:
        return "not_run", None
    for report in reports:
        if hasattr(report, "context") and report.outcome != "failed":
            continue  # a subtest that did not fail decides nothing
        when = getattr(report, "when", "call")
        if report.outcome == "failed":
            bad = "failed" if when == "call" else "error"
            if decisive is None or decisive.outcome != "failed":
                result, decisive = bad, report
        elif decisive is not None and decisive.outcome == "failed":
            continue
        elif report.outcome == "skipped":
            result = "xfailed" if hasattr(report, "wasxfail") else "skipped"
            decisive = report
        elif report.outcome == "passed" and when == "call" and decisive is None:
            result = "xpassed" if hasattr(report, "wasxfail") else "passed"
            decisive = report
    if decisive is None:
        return "passed" if all(report.outcome == "passed" for report in reports) else "error", reports[-1]
    return result, decisive


def _longrepr(report: Any) -> str:
    try:
        return str(report.longrepr or "")
    except Exception as broken:  # a repr of the project may raise
        return "<no text: %s>" % type(broken).__name__


def _output(report: Any) -> str:
    parts = [_longrepr(report)]
    for name, content in getattr(report, "sections", []):
        parts.append("--- %s ---\n%s" % (name, wire.clip(content, _MOST_TEXT)))
    return wire.clip("\n".join(parts), _MOST_TEXT)


def _reason(report: Any) -> str:
    longrepr = report.longrepr
    if isinstance(longrepr, tuple) and len(longrepr) == 3:
        return str(longrepr[2])
    return getattr(report, "wasxfail", "") or str(longrepr or "")


def conditions_of(command: Mapping[str, Any]) -> dict[str, Any]:
    """The full conditions of a command: what it does not say is neutral. ``lane`` tells runs side by side apart."""
    lane = "%d/%d" % (command.get("lane", 0), command.get("run", 1))
    return dict(wire.NEUTRAL, **command.get("conditions", {}), lane=lane)
