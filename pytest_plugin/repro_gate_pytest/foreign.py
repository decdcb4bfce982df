"""Other plugins' options that would skew an experiment, set to their neutral values.

The options stay known (the project's addopts may name them) and the plugins stay loaded (tests
may use their fixtures and marks); only retries, distribution, early stop, selection by history,
reordering, repetition and coverage are switched off.
"""

from __future__ import annotations

import sys
from typing import Any

# Attribute of config.option -> neutral value; set only where the option exists.
_NEUTRAL: dict[str, Any] = {
    # pytest
    "maxfail": 0,
    "lf": False,
    "failedfirst": False,
    "newfirst": False,
    "stepwise": False,
    "stepwise_skip": False,
    "usepdb": False,
    "trace": False,
    "collectonly": False,
    "setuponly": False,
    "setupplan": False,
    "xmlpath": None,
    # pytest-xdist
    "numprocesses": None,
    "dist": "no",
    "distload": False,
    "tx": [],
    "looponfail": False,
    # pytest-rerunfailures, pytest-retry
    "reruns": 0,
    "retries": 0,
    # pytest-randomly, pytest-random-order
    "randomly_reorganize": False,
    "randomly_reset_seed": False,
    "random_order_bucket": "none",
    # pytest-repeat, pytest-flakefinder
    "count": 1,
    "flake_finder_enable": False,
    # pytest-cov
    "cov_source": [],
    "cov_fail_under": None,
    "no_cov": True,
    # reports of others
    "htmlpath": None,
    "json_report": False,
    "benchmark_disable": True,
}

# Plugins that run a test again by themselves, by the module that holds their hooks.
_RETRIERS = ("pytest_rerunfailures", "pytest_retry", "flaky.flaky_pytest_plugin")


def silence_coverage(early_config: Any) -> None:
    """Keep pytest-cov from starting at all: it would trace, and write its file from every fork."""
    known = early_config.known_args_namespace
    if getattr(known, "cov_source", None):
        known.cov_source = []


def neutralise(config: Any) -> list[str]:
    """Set the options; returns notes on what the project had asked for."""
    notes = []
    for name, neutral in _NEUTRAL.items():
        if not hasattr(config.option, name):
            continue
        asked = getattr(config.option, name)
        if asked != neutral and asked:
            notes.append("%s=%r is not used in experiments" % (name, asked))
        setattr(config.option, name, neutral)
    return [note for note in notes if not note.startswith(("no_cov", "benchmark", "randomly_re", "dist="))]


def remove_retriers(config: Any) -> None:
    """Take out plugins that retry, before they start anything; their mark stays known."""
    for name in _RETRIERS:
        module = sys.modules.get(name)
        if module is None:
            continue
        for plugin in list(config.pluginmanager.get_plugins()):
            if plugin is module or type(plugin).__module__ == name:
                config.pluginmanager.unregister(plugin)
                config.addinivalue_line("markers", "flaky: retried by %s in ordinary runs" % name)
