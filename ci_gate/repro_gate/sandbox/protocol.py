"""What every sandbox offers, and the facts it needs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from repro_gate.errors import MissingTool
from repro_gate.process import run

PROBE = """
import json, os, sys, sysconfig
links, path = [], sys.executable
while path and path not in links:
    links.append(path)
    path = os.path.join(os.path.dirname(path), os.readlink(path)) if os.path.islink(path) else ""
print(json.dumps({
    "executable": sys.executable, "prefix": sys.prefix, "base": sys.base_prefix,
    "version": "%d.%d.%d" % sys.version_info[:3], "path": [p for p in sys.path if p], "links": links,
    "user_base": __import__("site").getuserbase(),
    "library": sorted({os.path.dirname(os.__file__), sysconfig.get_config_var("DESTSHARED") or ""} - {""}),
}))
"""


LOST = "lost"  # the sandbox's own process was ended by somebody outside of it


@dataclass(frozen=True, kw_only=True, slots=True)
class Interpreter:
    """The Python that runs the tests, and every directory of this machine that it needs to do so.

    ``library`` is where its standard library is.
    """

    executable: str
    version: str
    directories: tuple[str, ...]
    user_base: str
    library: tuple[str, ...] = ()


_NAME_ANOTHER = "Name an interpreter that is there, and that has the project's dependencies, with `--python`."


def probe(python: str, env: Mapping[str, str], cwd: Path) -> Interpreter:
    """Ask ``python`` about itself. Raises MissingTool where it is none, or older than 3.9."""
    try:
        done = run([python, "-c", PROBE], env=env, cwd=cwd, timeout=60)
    except MissingTool as missing:
        raise MissingTool(str(missing), next_step=_NAME_ANOTHER) from missing
    return interpreter_of(python, done.stdout, done.stderr)


def interpreter_of(python: str, answer: str, complaint: str) -> Interpreter:
    """What ``python`` answered to ``PROBE``. Raises MissingTool where it is none, or older than 3.9."""
    try:
        facts = json.loads(answer)
    except ValueError:
        raise MissingTool(
            f"{python!r} does not answer as a Python interpreter.",
            next_step=_NAME_ANOTHER,
            details=(complaint or answer)[-2000:],
        ) from None
    if tuple(map(int, facts["version"].split("."))) < (3, 9):
        raise MissingTool(
            f"{python!r} is Python {facts['version']}; the plugin needs 3.9 or later.",
            next_step=_NAME_ANOTHER,
        )
    directories = {facts["prefix"], facts["base"], *facts["path"]}
    directories.update(str(Path(link).parent) for link in facts["links"])
    directories.update(str(Path(path).resolve()) for path in list(directories))
    return Interpreter(
        executable=facts["executable"],
        version=facts["version"],
        directories=tuple(sorted(d for d in directories if Path(d).exists())),
        user_base=str(facts["user_base"]),
        library=tuple(facts["library"]),
    )


class Local:
    """What sandboxes have in common that run this machine's programs."""

    def interpreter(self, python: str) -> None:
        """This machine's run inside."""

    def answer(self, argv: Sequence[str]) -> str:
        """The program is the same outside."""
        try:
            done = run(argv, timeout=60)
        except MissingTool:
            return ""
        return "" if done.status else done.stdout

    def close(self) -> None:
        """Nothing outlives its process."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The directories of one process on this machine; ``original`` is where the project really is."""

    base: Path
    tree: Path
    home: Path
    tmp: Path
    wire: Path
    original: Path


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """How a place looks from inside. ``shelf``: where readable paths lie by name, or empty: where they are."""

    tree: str
    home: str
    tmp: str
    wire: str
    shelf: str = ""


class Running(Protocol):
    """What was started in a sandbox. ``pid`` is 0 where it is no process of this machine."""

    @property
    def pid(self) -> int:
        """Its id on this machine, or 0."""

    def poll(self) -> int | None:
        """The status of its end as the sandbox tells it (see ``Sandbox.exit_status``), or None."""

    def wait(self, seconds: float) -> int | None:
        """Wait at most so long for that status."""

    def end(self, grace: float = 0.0) -> None:
        """Ask it and all below it to end, then make it; nothing of it is left after that."""

    def output(self) -> tuple[str, str]:
        """Standard output and error so far, each cut to head and tail."""

    def resident(self) -> int:
        """Bytes of memory that it and everything below it hold; 0 where that cannot be told."""

    def why(self) -> str:
        """Why it ended, where that was no doing of the tests (``memory``, LOST), or an empty string."""


class Sandbox(Protocol):
    """One way to confine a command."""

    name: str
    hermetic: bool

    def why_not(self) -> str:
        """Why it cannot work on this machine, or an empty string."""

    def notes(self) -> tuple[str, ...]:
        """What it does not guarantee, for the report."""

    def exit_status(self, status: int) -> int:
        """The exit status of what ran inside, negative for a signal, from that of the sandbox's program."""

    def interpreter(self, python: str) -> Interpreter | None:
        """The Python that it brings, or None where this machine's run inside. Raises MissingTool."""

    def answer(self, argv: Sequence[str]) -> str:
        """What a short program prints where tests will run; empty where it is not there or fails."""

    def close(self) -> None:
        """Remove whatever is left of what it started. It may be used again."""

    def view(self, place: Place) -> View:
        """The paths inside."""

    def start(
        self,
        place: Place,
        interpreter: Interpreter,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        umask: int,
        subdirectory: str,
        readable: Sequence[str],
        hostname: str | None,
        network: bool,
    ) -> Running:
        """Start ``argv`` inside, in the tree's ``subdirectory``, with these variables and no others.

        ``readable`` are further paths of this machine that it may read.
        """
