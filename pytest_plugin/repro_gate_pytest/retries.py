"""In an ordinary run: a test that failed and then passed on a retry is a flake, and is said to be.

pytest-rerunfailures hides it behind a yellow R. Recorded in the cache (``repro-gate/retries``),
in the test's user properties (so also in JUnit files), and in the summary.
"""

from __future__ import annotations

from typing import Any

import pytest

from repro_gate_pytest import wire

CACHE_KEY = "repro-gate/retries"


class RetryWatch:
    """Registered only where a plugin that retries is loaded."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self._failed: dict[str, list[str]] = {}
        self._passed: set[str] = set()
        self._flakes: list[dict[str, Any]] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count attempts; ``rerun`` is the outcome pytest-rerunfailures gives a retried failure.

        A flake is noted at its teardown: that may fail yet, and that is where JUnit's
        writer, which comes after us, looks for properties.
        """
        test = report.nodeid
        if report.outcome in ("rerun", "retried"):
            self._failed.setdefault(test, []).append(wire.clip(_last_line(report), 300))
            self._passed.discard(test)
        elif report.when == "call" and report.outcome == "passed" and test in self._failed:
            self._passed.add(test)
        elif report.when == "teardown" and report.outcome == "passed" and test in self._passed:
            failures = self._failed.pop(test)
            self._passed.discard(test)
            attempt = len(failures) + 1
            report.user_properties.append(("repro-gate-flaky", "passed on attempt %d" % attempt))
            self._flakes.append({"id": test, "attempt": attempt, "failures": failures})

    def pytest_sessionfinish(self, session: Any) -> None:
        """Keep the record where the next campaign looks for it."""
        cache = getattr(self._config, "cache", None)
        if self._flakes and cache is not None and not hasattr(self._config, "workerinput"):
            cache.set(CACHE_KEY, self._flakes)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name each flake, its attempt and its first failure, and what to do next."""
        if not self._flakes:
            return
        terminalreporter.section("flaky: passed only on a retry")
        for flake in self._flakes:
            terminalreporter.write_line("%s  (attempt %d)" % (flake["id"], flake["attempt"]))
            terminalreporter.write_line("    first failure: %s" % flake["failures"][0])
        terminalreporter.write_line("To find out why: pytest --repro-flake-check")


def _last_line(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message).split("\n", 1)[0]
    lines = str(report.longrepr or "").strip().splitlines()
    return lines[-1].strip() if lines else ""
