"""The pytest plugin: options, and which of its parts are active. Inert without them.

Enlisted by the gate: everything is done by ``serving``. ``--repro-flake-check``: handed over to
the gate before any collection. Otherwise: retries are watched if a plugin that retries is loaded.
PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import pytest

_RETRIERS = ("pytest_rerunfailures", "pytest_retry")


def _enlistment() -> Any:
    """What the gate asked of this process, or None. An ordinary run must not pay for finding out:
    only the gate's own bootstrap has imported that module."""
    return getattr(sys.modules.get("repro_gate_pytest.enlist"), "current", None)


class _Runs(argparse.Action):
    """``--repro-flake-check[=N]``: a following word that is no number is not ours."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        text = str(values)
        setattr(namespace, self.dest, int(text) if text.isdigit() else 0)


def pytest_addoption(parser: Any, pluginmanager: Any) -> None:
    """Add the options; when enlisted also the hooks that serve the gate."""
    group = parser.getgroup("repro-gate", "find flaky tests and what they depend on")
    group.addoption(
        "--repro-flake-check",
        action=_Runs,
        nargs="?",
        const="0",
        default=None,
        metavar="N",
        help="run the selected tests N times (default 20) under varied conditions, report which are flaky and why",
    )
    group.addoption("--repro-seed", default=None, metavar="S", help="repeat the flake check with this seed")
    group.addoption("--repro-budget", default=None, metavar="SECONDS", help="stop the flake check after this time")
    group.addoption("--repro-capsules", default=None, metavar="DIR", help="write capsules into this directory")
    enlistment = _enlistment()
    if enlistment is not None:
        from repro_gate_pytest.serving import Serving

        pluginmanager.register(Serving(enlistment), "repro-gate-serving")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: Any) -> int | None:
    """Hand a flake check over to the gate: it starts processes of its own."""
    if config.option.repro_flake_check is None or _enlistment() is not None:
        return None
    from repro_gate_pytest import flake_check

    return flake_check.hand_over(config)


def pytest_configure(config: Any) -> None:
    """Know our mark, also under --strict-markers; watch retries in an ordinary run."""
    config.addinivalue_line("markers", "repro_network(reason): may use the network in repro-gate's eyes")
    if _enlistment() is None and any(name in sys.modules for name in _RETRIERS):
        from repro_gate_pytest.retries import RetryWatch

        config.pluginmanager.register(RetryWatch(config), "repro-gate-retries")
