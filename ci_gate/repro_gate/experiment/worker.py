"""One test process of a project: started, listened to, commanded, ended.

A server collects once and forks for each run; a fresh process runs once itself. Both speak the
same protocol, so a worker does not care which it is.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro_gate.errors import WireMismatch
from repro_gate.experiment import tree, wiring
from repro_gate.experiment.project import Project
from repro_gate.model import CollectFailure, Conditions, ItemFacts, Swap, Trace
from repro_gate.sandbox import LOST, Place, Running, Sandbox, View
from repro_gate_pytest import wire

_GRACE = 2.0  # seconds for the guard of a test process to end what tests left running


class Pipe:
    """A named pipe that we read; never at its end, since we hold its other end, too."""

    def __init__(self, path: Path) -> None:
        _make_pipe(path)
        self.path = path
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._buffer = b""

    def frames(self) -> list[dict[str, Any]]:
        """Every complete frame that is there now."""
        chunks = [self._buffer]
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            if not data:
                break
            chunks.append(data)
        lines, self._buffer = wire.split_lines(b"".join(chunks))
        found = []
        for line in lines:
            try:
                found.append(wire.decode(line))
            except ValueError:
                found.append({"ev": wire.NOTE, "text": "a broken frame on the private channel"})
        return found

    def leave_swap(self, swap: Swap, inside: str) -> dict[str, Any]:
        """Put the swap's text beside the pipe, whose path the process knows as ``inside``; the swap as a command."""
        place = Path(wire.swap_file(str(self.path)))
        place.write_text(swap.text, encoding="utf-8", errors="surrogateescape", newline="")
        tree.hand_over(place, place.parent)
        words = {"path": swap.path, "qualname": swap.qualname, "first_line": swap.first_line, "raising": swap.raising}
        return {**words, "text": wire.swap_file(inside)}

    def close(self) -> None:
        """Close and remove it, and what was left beside it."""
        os.close(self.fd)
        self.path.unlink(missing_ok=True)
        Path(wire.swap_file(str(self.path))).unlink(missing_ok=True)


def _make_pipe(path: Path) -> None:
    os.mkfifo(path, 0o600)
    tree.hand_over(path, path.parent)


@dataclass(kw_only=True, slots=True)
class Facts:
    """What a test process said of itself and of what it collected.

    Only where the project asks for it: ``items`` (where an id is there twice, the first), what ran
    and was opened at import, and ``origins``: module name -> file, for modules that the tree has, too.
    """

    hello: dict[str, Any] = field(default_factory=dict)
    ready: dict[str, Any] = field(default_factory=dict)
    tests: list[tuple[str, str]] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # file -> reason
    counted: bool = False
    notes: list[str] = field(default_factory=list)
    items: dict[str, ItemFacts] = field(default_factory=dict)
    error_causes: list[CollectFailure] = field(default_factory=list)
    import_lines: dict[str, frozenset[int]] = field(default_factory=dict)
    import_opened: tuple[str, ...] = ()
    import_ran: tuple[Trace, ...] = ()
    origins: dict[str, str] = field(default_factory=dict)

    def add_items(self, frame: Mapping[str, Any]) -> None:
        """Take in the facts of tests that are in the list already."""
        for data in frame["items"]:
            test = self.tests[int(data["t"])][0]
            self.items.setdefault(test, ItemFacts.from_json(test, data, frame))

    def add_imports(self, frame: Mapping[str, Any]) -> None:
        """Take in what happened while modules were imported."""
        self.import_lines = {str(path): frozenset(map(int, lines)) for path, lines in frame.get("lines", {}).items()}
        self.import_opened = tuple(map(str, frame.get("opened", ())))
        self.import_ran = Trace.all_from_json(frame.get("ran", {}))
        self.origins = {str(module): str(file) for module, file in frame.get("origins", {}).items()}


@dataclass(frozen=True, kw_only=True, slots=True)
class StartKey:
    """What a running process cannot change: workers with equal keys can take each other's work."""

    conditions: Conditions
    files: tuple[str, ...]

    @classmethod
    def of(cls, conditions: Conditions, files: tuple[str, ...]) -> StartKey:
        """The key of a server for these conditions and this part of the suite."""
        return cls(conditions=wiring.start_of(conditions), files=files)


class Worker:
    """A test process and its directories."""

    def __init__(
        self, project: Project, sandbox: Sandbox, base: Path, conditions: Conditions, files: tuple[str, ...]
    ) -> None:
        self.key = StartKey.of(conditions, files)
        self.conditions = conditions
        self.files = files
        self.facts = Facts()
        self._project = project
        self._sandbox = sandbox
        values = conditions.to_json()
        self.place = Place(
            base=base,
            tree=base / wire.start_directory(values),
            home=base / str(wire.ENVIRONMENTS[conditions.environment].get("home", "home")),
            tmp=base / "tmp",
            wire=base / "wire",
            original=project.original,
        )
        self._snapshot: tree.Snapshot = {}
        self._in_tmp: frozenset[str] = frozenset()  # what was there before any test, mount points among it
        self.process: Running | None = None
        self.events: Pipe | None = None
        self._commands = -1
        self._shelf = ""
        self._serial = 0
        self._runs = 0
        self.last_used = 0

    @property
    def test_files(self) -> tuple[str, ...]:
        """Those of tests that are not called so."""
        return self._project.test_files

    def prepare(self, template: Path, rewritten: str = "") -> None:
        """Make the directories, with a fresh copy of the tree. Raises DiskFull.

        ``rewritten`` is the path at which what pytest rewrote in the template was compiled.
        """
        for directory in (self.place.home, self.place.tmp, self.place.wire):
            directory.mkdir(parents=True)
        self.place.tree.parent.mkdir(parents=True, exist_ok=True)
        at_home = rewritten == self.view_of_tree()
        tree.copy_tree(template, self.place.tree, exclude=(), max_bytes=1 << 62, rewritten=at_home)
        self._shelf = str(wiring.shelve(self.place.base))

    def launch(self, *, fork: bool, pytest_args: tuple[str, ...], facts: bool = False) -> None:
        """Start the process; it collects and says READY by itself, before that ``facts`` if asked."""
        self.stop()
        self.facts = Facts()
        values = self.conditions.to_json()
        for name in ("commands", "events"):
            (self.place.wire / name).unlink(missing_ok=True)
        self.events = Pipe(self.place.wire / "events")
        _make_pipe(self.place.wire / "commands")
        self._commands = os.open(self.place.wire / "commands", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        view = self._sandbox.view(self.place)
        begin = {
            "tree": view.tree,
            "original": str(self._project.original),
            "conditions": values,
            "fork": fork,
            "guard": True,
            "cwd_on_path": self._project.cwd_on_path,
            "evidence": self._project.evidence,
            "watch": [view.tree, view.home, view.tmp],
            **self._asked(facts=facts),
        }
        (self.place.wire / "start.json").write_text(json.dumps(begin), encoding="ascii")
        for library in wiring.tracers() if self._project.record or self._project.watch else ():
            shutil.copy(library, self.place.wire)
        ours = [str(wiring.plugin_package()), *([] if view.shelf else [self._shelf])]
        argv = [self._project.interpreter.executable, "-c", wiring.bootstrap(view.shelf or self._shelf), view.wire]
        argv += ["-p", wiring.PLUGIN, *pytest_args]
        self.process = self._sandbox.start(
            self.place,
            self._project.interpreter,
            argv,
            env=self._variables(values, view),
            umask=wire.start_umask(values),
            subdirectory=self._project.subdirectory,
            readable=[*ours, *self._project.shelves, *self._project.scripts],
            hostname=wire.start_hostname(values),
            network=self.conditions.network == "allowed",
        )

    def _variables(self, values: Mapping[str, Any], view: View) -> dict[str, str]:
        """What tests see, with the tree's own import roots first."""
        project = self._project

        def placed(path: str) -> str:
            return f"{view.shelf}/{Path(path).name}" if view.shelf else path

        env = wire.start_environment(dict(values), project.environment, view.home, view.tmp)
        roots = [f"{view.tree}/{root}".rstrip("/") for root in project.import_roots]
        lanes = {"PYTHONPATH": [*roots, *map(placed, project.shelves)], "PATH": [*map(placed, project.scripts)]}
        for name, first in lanes.items():
            if first:
                env[name] = os.pathsep.join([*first, *([env[name]] if env.get(name) else [])])
        return env

    def _asked(self, *, facts: bool) -> dict[str, Any]:
        """What of ``start.json`` is there only where the project asks for it."""
        project = self._project
        asked = {
            "facts": facts,
            "without_sources": facts and not project.sources,
            "subdirectory": project.subdirectory,
            "opened": project.facts or bool(project.watch),
            "counters": project.counters,
            "lenient": project.lenient.to_json() if project.lenient else None,
            "lines": {path: sorted(lines) for path, lines in project.watch.items()},
            "record": list(project.record),
            "offspring": bool(project.record) and project.offspring,
            "tests": list(project.test_files),
        }
        return {name: value for name, value in asked.items() if value}

    def listen(self) -> list[dict[str, Any]]:
        """Take in what the process said; returns the frames that concern runs (FORKED, EXITED)."""
        return [frame for frame in (self.events.frames() if self.events else []) if not self.take(frame)]

    def take(self, frame: dict[str, Any]) -> bool:
        """One frame of the process; False for one that concerns a run. Malformed ones become notes."""
        try:
            return self._take(frame)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as broken:
            self.facts.notes.append(f"a frame that is none: {broken!r}")
            return True

    def _take(self, frame: dict[str, Any]) -> bool:
        kind = frame.get("ev")
        if kind == wire.HELLO:
            if frame.get("v") != wire.VERSION:
                raise WireMismatch(
                    f"The plugin in {frame.get('executable')!r} speaks protocol {frame.get('v')!r}, "
                    f"this repro-gate speaks {wire.VERSION}."
                )
            self.facts.hello = frame
        elif kind == wire.COLLECTED:
            self.facts.tests.extend((str(test[0]), str(test[1])) for test in frame["tests"])
        elif kind == wire.COLLECT_ERROR:
            self.facts.errors.append((str(frame["node"]), str(frame["text"])))
            if "f" in frame:
                self.facts.error_causes.append(CollectFailure.from_json(frame))
        elif kind == wire.COLLECT_SKIP:
            self.facts.skipped[str(frame["node"])] = str(frame["text"])
        elif kind == wire.FACTS:
            self.facts.add_items(frame)
        elif kind == wire.IMPORTED:
            self.facts.add_imports(frame)
        elif kind == wire.READY:
            self.facts.ready = frame
            self.facts.notes.extend(map(str, frame.get("notes", ())))
            self._snapshot = tree.snapshot(self.place.tree)
            self._in_tmp = frozenset(path.name for path in self.place.tmp.iterdir())
        elif kind == wire.NOTE:
            self.facts.notes.append(str(frame.get("text", "")))
        else:
            return False
        return True

    @property
    def ready(self) -> bool:
        """Collected, and waiting for commands."""
        return bool(self.facts.ready)

    def new_channel(self) -> tuple[Pipe, str]:
        """A pipe for one run, and its path as the test process sees it."""
        self._serial += 1
        name = f"run-{self._serial}"
        return Pipe(self.place.wire / name), f"{self._sandbox.view(self.place).wire}/{name}"

    def view_of_tree(self) -> str:
        """The tree's directory as the test process sees it."""
        return self._sandbox.view(self.place).tree

    def next_run(self) -> int:
        """A number for a run that this process has not seen."""
        self._runs += 1
        return self._runs

    def sibling(self, serial: int) -> Worker:
        """A second process in the same directories, with pipes of its own."""
        other = Worker(self._project, self._sandbox, self.place.base, self.conditions, self.files)
        other.place = dataclasses.replace(self.place, wire=self.place.base / f"wire-{serial}")
        other.place.wire.mkdir()
        return other

    def command(self, frame: Mapping[str, Any]) -> None:
        """Send one command."""
        data = wire.encode(frame)
        os.set_blocking(self._commands, True)
        while data:
            data = data[os.write(self._commands, data) :]

    def refresh(self, template: Path) -> None:
        """Put the directories back as they were when the process became ready."""
        tree.restore(self.place.tree, self._snapshot, template)
        tree.wipe(self.place.home)
        tree.wipe(self.place.tmp, keep=self._in_tmp)

    def status(self) -> int | None:
        """The exit status (negative for a signal), or None while it runs."""
        status = None if self.process is None else self.process.poll()
        return None if status is None else self._sandbox.exit_status(status)

    @property
    def lost(self) -> bool:
        """Whether somebody outside ended the sandbox."""
        return self.process is not None and self.process.why() == LOST

    def kill(self) -> None:
        """End the process and everything below it; what it said can still be read."""
        if self.process is not None:
            self.process.end(grace=_GRACE)

    def stop(self) -> None:
        """End the process and close its pipes."""
        self.kill()
        if self.events is not None:
            self.events.close()
            self.events = None
        if self._commands != -1:
            os.close(self._commands)
            self._commands = -1

    def discard(self) -> None:
        """Stop, and remove the directories."""
        self.stop()
        if self.place.base.exists():
            tree.wipe(self.place.base)
            shutil.rmtree(self.place.base, ignore_errors=True)
