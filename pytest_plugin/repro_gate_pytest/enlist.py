"""Put this process at the gate's service, before pytest or anything of the project is imported.

The gate starts ``python -c "from repro_gate_pytest import enlist; enlist.main()" DIRECTORY
[pytest arguments]``; DIRECTORY holds ``start.json`` and the named pipes. From here pytest runs
as ``python -m pytest`` would run it, with the starting conditions already in force.
"""

from __future__ import annotations

import json
import os
import platform
import runpy
import sys
from typing import Any

from repro_gate_pytest import (
    axes,
    children,
    counters,
    evidence,
    failure,
    lenient,
    lines,
    mounts,
    offspring,
    testfiles,
    wire,
)
from repro_gate_pytest.channel import Channel


class Enlistment:
    """What the gate asked of this process."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        with open(os.path.join(directory, "start.json"), "rb") as file:
            self.start: dict[str, Any] = json.load(file)
        if self.start.get("guard"):
            children.guard()
        self.commands = os.path.join(directory, "commands")
        self.events = Channel(os.path.join(directory, "events"))
        self.conditions = dict(wire.NEUTRAL, **self.start["conditions"])
        self.tree: str = self.start["tree"]
        self.fork = bool(self.start["fork"])
        self.notes: list[str] = []
        testfiles.name(self.start.get("tests", ()))
        self.facts = bool(self.start.get("facts"))
        self.observers: list[Any] = []  # what is asked for: begin() and end() around each test
        self.lines: lines.Lines | None = None
        self.lenient: lenient.LenientImports | None = None
        self.unimported: frozenset[str] = frozenset()

    def watch(self) -> None:
        """Watch lines, if asked to. Before pytest is imported: what it imports itself may be the project (pluggy,
        iniconfig).
        """
        start = self.start
        if start.get("lines") or start.get("record"):
            files, record = start.get("lines", {}), start.get("record", ())
            self.lines = lines.Lines(self.tree, files, record, libraries=[self.directory])
            self.lines.start()

    def observe(self) -> None:
        """Put in place what was asked for beyond outcomes. Before test files are imported."""
        start = self.start
        if start.get("opened"):
            evidence.watch_opened()
        if start.get("facts"):
            evidence.begin()
        if start.get("counters"):
            self.observers.append(counters.Unrouted())
        if start.get("lenient"):
            zones = failure.Zones(self.tree, frozenset())
            self.lenient = lenient.LenientImports(zones, start["lenient"]["modules"], start["lenient"]["symbols"])
            self.unimported = frozenset(start["lenient"].get("tests", ()))
            self.lenient.install()
            self.observers.append(self.lenient)
        if self.lines is not None:
            if start.get("offspring"):
                born = offspring.Offspring(self.lines, self.directory, self.tree, start.get("record", ()))
                born.install()
                self.observers.append(born)  # before the lines: it adds to them
            self.observers.append(self.lines)


current: Enlistment | None = None


def main() -> None:
    """Never returns: ends with pytest's exit status, or when the gate says so."""
    global current
    directory = sys.argv[1]
    sys.argv = ["pytest", *sys.argv[2:]]
    current = Enlistment(directory)
    _set_path(bool(current.start.get("cwd_on_path", True)))
    current.events.send(
        wire.HELLO,
        v=wire.VERSION,
        python=platform.python_version(),
        implementation=sys.implementation.name,
        executable=sys.executable,
        platform=platform.platform(),
        pid=os.getpid(),
    )
    current.watch()
    try:
        import pytest  # noqa: F401  (so that what the axes patch in it is there)
    except ImportError as missing:
        current.events.send(wire.NOTE, text="no-pytest: %s" % missing)
        raise SystemExit(4) from None
    if current.start.get("evidence", True):
        evidence.install()
        evidence.watch_files(*current.start.get("watch", ()))
    mounts.install()
    current.observe()
    current.notes += axes.install()
    axes.apply(current.conditions)
    runpy.run_module("pytest", run_name="__main__", alter_sys=True)


def _set_path(cwd_on_path: bool) -> None:
    """Make sys.path what ``python -m pytest`` (or plain ``pytest``) would make it."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    while "" in sys.path:
        sys.path.remove("")
    if cwd_on_path:
        sys.path.insert(0, os.getcwd())
    original, tree = current.start.get("original", "") if current else "", current.tree if current else ""
    if original and original != tree:
        # An editable installation points at the original tree; the tests must see the copy.
        for index, entry in enumerate(sys.path):
            below = entry == original or entry.startswith(original + os.sep)
            if below and entry != here and "site-packages" not in entry:
                sys.path[index] = tree + entry[len(original) :]
