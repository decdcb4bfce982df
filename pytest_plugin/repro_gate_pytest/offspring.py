"""Lines that run in child processes of a test: Python that it starts, however, and processes that it forks.

Belongs here: how a child comes to record, and how the test's process hears of it. Does not belong here: how lines are
recorded (lines). A child writes each line down when it runs for the first time: so nothing is lost where it is killed
or ends by ``os._exit``. The environment of the test's process stays as it is: what a child needs is added to its own
as it starts, and is gone from there before any other code runs. Not seen is an interpreter that reads no environment
(``-E``, ``-I``) or no ``site`` (``-S``), one that C code starts, or that is started while no test runs (at import).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from repro_gate_pytest import patching
from repro_gate_pytest.lines import Lines, Ran, ranges
from repro_gate_pytest.watching import File

VARIABLE = "REPRO_GATE_OFFSPRING"
_PATH = "PYTHONPATH"
_open, _write, _close, _getpid = os.open, os.write, os.close, os.getpid
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
_environ = os.environb  # itself: a test may put another one in its place
_ENVIRONMENT = 5  # the place of the environment among the arguments of fork_exec
_LARGEST = 64 * 2**20  # of what one child may tell of one test: its memory is not ours to fill

# What a child runs before anything else. A project may have a file of this name, too: it has its turn.
_SITE = """\
import os, sys


def _begin(here):
    value = os.environ.pop({variable!r}, "")
    rest = [each for each in os.environ.pop("PYTHONPATH", "").split(os.pathsep) if each and each != here]
    if rest:
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    sys.path[:] = [each for each in sys.path if each != here]
    sys.path.insert(0, {plugin!r})
    try:
        from repro_gate_pytest import offspring

        offspring.enter(value)
    finally:
        sys.path.remove({plugin!r})


try:
    _begin({here!r})
except Exception:
    pass
_ours = sys.modules.pop("sitecustomize", None)
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = _ours
"""


class Offspring:
    """An observer: between ``begin`` and ``end`` children record. ``directory`` is one that tests may write to."""

    def __init__(self, lines: Lines, directory: str, tree: str, record: Iterable[str]) -> None:
        self._lines = lines
        self._root = os.path.join(directory, "offspring")
        self._record = sorted(record)
        site = os.path.join(self._root, "site")
        os.makedirs(site, exist_ok=True)
        plugin = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        with open(os.path.join(site, "sitecustomize.py"), "w", encoding="utf-8") as file:
            file.write(_SITE.format(variable=VARIABLE, plugin=plugin, here=site))
        with open(os.path.join(self._root, "config.json"), "w", encoding="utf-8") as file:
            json.dump({"tree": tree, "record": self._record}, file)
        self._place = ""
        self._read: dict[str, int] = {}
        self._starts = Starts(lambda: self._place)

    def install(self) -> None:
        """See children being started from now on."""
        self._starts.install()
        os.register_at_fork(after_in_child=self._forked)

    def begin(self) -> None:
        """A test begins. Where nothing is watched any more, its children are left alone as well."""
        if self._lines.at_work:
            self._place = os.path.join(self._root, "%d" % _getpid())
            os.makedirs(self._place, exist_ok=True)

    def end(self) -> dict[str, Any]:
        """What ran in children and not in this process; it is added to what the test ran."""
        place, self._place = self._place, ""
        found = self._found(place) if place else {}
        if not found:
            return {}
        own = self._lines.recorded()
        self._lines.add(found)
        away = {path: ranges(lines - own.get(path, (frozenset(), None))[0]) for path, (lines, _) in found.items()}
        return {"away": {path: [text, ""] for path, text in away.items() if text}}

    def _found(self, place: str) -> Ran:
        lines: dict[str, set[int]] = {}
        arcs: dict[str, set[tuple[int, int]]] = {}
        for name in sorted(os.listdir(place)):
            for number, *numbers in self._new(os.path.join(place, name)):
                path = self._record[number]
                lines.setdefault(path, set())
                if len(numbers) == 1 and numbers[0] > 0:
                    lines[path].add(numbers[0])
                elif len(numbers) == 2:
                    arcs.setdefault(path, set()).add((numbers[0], numbers[1]))
        return {path: (frozenset(lines[path]), frozenset(arcs.get(path, ()))) for path in lines if lines[path]}

    def _new(self, file: str) -> Iterable[list[int]]:
        """What one child has told since the last test: a server goes on from one to the next."""
        start = self._read.get(file, 0)
        with open(file, "rb") as stream:
            stream.seek(start)
            text = stream.read(_LARGEST)
        whole = text[: text.rfind(b"\n") + 1]
        self._read[file] = start + len(whole)
        for line in whole.splitlines():
            try:
                numbers = [int(part) for part in line.split()]
            except ValueError:  # whoever else writes there
                continue
            if 2 <= len(numbers) <= 3 and 0 <= numbers[0] < len(self._record):
                yield numbers

    def _forked(self) -> None:
        """In a child that goes on as a copy of this process, while a test runs."""
        if self._place:
            _tell(self._lines, self._place, self._record)


class Starts:
    """Has each program that is started find what it needs in its environment,
    while there is a ``place`` for what it tells.
    """

    def __init__(self, place: Callable[[], str]) -> None:
        self._place = place

    def install(self) -> None:
        """By whatever function: each ends in one of these."""
        import _posixsubprocess

        patching.replace_function(_posixsubprocess, "fork_exec", self._fork_exec)
        for name in ("posix_spawn", "posix_spawnp", "execve"):
            if hasattr(os, name):
                patching.replace_function(os, name, self._with_environment)
        patching.replace_function(os, "execv", self._execv)
        patching.replace_function(os, "system", self._system)

    def environment(self, known: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        """An environment with what a child needs."""
        place = self._place()
        site = os.fsencode(os.path.join(os.path.dirname(place), "site"))
        before = known.get(_PATH.encode(), b"")
        path = site + (os.pathsep.encode() + before if before else b"")
        return {**known, _PATH.encode(): path, VARIABLE.encode(): os.fsencode(place)}

    def _fork_exec(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def fork_exec(*arguments: Any) -> Any:
            if not self._place() or len(arguments) <= _ENVIRONMENT:
                return original(*arguments)
            given = arguments[_ENVIRONMENT]
            known = _environ.copy() if given is None else dict(each.split(b"=", 1) for each in given if b"=" in each)
            ours = [name + b"=" + value for name, value in self.environment(known).items()]
            return original(*arguments[:_ENVIRONMENT], ours, *arguments[_ENVIRONMENT + 1 :])

        return fork_exec

    def _with_environment(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*arguments: Any, **named: Any) -> Any:
            given = arguments[2] if len(arguments) > 2 else named.get("env")
            if self._place() and isinstance(given, Mapping):
                known = {os.fsencode(name): os.fsencode(value) for name, value in given.items()}
                ours = self.environment(known)
                if "env" in named:
                    named = {**named, "env": ours}
                else:
                    arguments = (*arguments[:2], ours, *arguments[3:])
            return original(*arguments, **named)

        return start

    def _execv(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def execv(path: Any, argv: Any) -> Any:
            return os.execve(path, argv, _environ) if self._place() else original(path, argv)

        return execv

    def _system(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def system(command: Any) -> Any:
            if not self._place():
                return original(command)
            known = _environ.copy()
            added = self.environment(known)
            names = (_PATH.encode(), VARIABLE.encode())
            for name in names:
                os.putenv(name, added[name])
            try:
                return original(command)
            finally:
                for name in names:
                    os.putenv(name, known[name]) if name in known else os.unsetenv(name)

        return system


def enter(place: str) -> None:
    """Record in this process, which was started by a test or by a child of one."""
    root = os.path.dirname(place)
    with open(os.path.join(root, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    lines = Lines(config["tree"], {}, config["record"])
    _tell(lines, place, config["record"])
    lines.start()
    starts = Starts(lambda: place)
    starts.install()


def _tell(lines: Lines, place: str, record: Sequence[str]) -> None:
    """Write what runs from here on to a file of this process."""
    told = os.path.join(place, "%d" % _getpid())
    numbers = {path: number for number, path in enumerate(record)}
    lines.hand_out(lambda file: (_Lines(told, numbers[file.path], file), _Arcs(told, numbers[file.path])))


class _Arcs(set[Any]):
    """Pairs of lines, each written down when it is new."""

    def __init__(self, told: str, number: int) -> None:
        super().__init__()
        self._told = told
        self._number = number

    def add(self, item: Any) -> None:
        """Keep it, and tell of it if it is new."""
        if item not in self:
            set.add(self, item)
            self.tell(item)

    def tell(self, arc: tuple[int, ...]) -> None:
        """Write it down, whatever the process has done to its descriptors."""
        try:
            file = _open(self._told, _FLAGS, 0o666)
            try:
                _write(file, ("%d %s\n" % (self._number, " ".join(map(str, arc)))).encode())
            finally:
                _close(file)
        except OSError:  # it may have become somebody else, or be somewhere else
            pass


class _Lines(_Arcs):
    """Lines, with the pairs that a line shows by having run."""

    def __init__(self, told: str, number: int, file: File) -> None:
        super().__init__(told, number)
        self._file = file

    def tell(self, arc: Any) -> None:
        """Write it down."""
        super().tell((arc,))
        if arc in self._file.implied:
            super().tell(self._file.implied[arc])
