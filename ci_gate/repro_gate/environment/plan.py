"""From declarations to the commands that make the environment. Pure.

Belongs here: which steps, in which order, with which files. Does not belong here: running them
(preparing). The project itself is never among what is installed: tests import it from their tree.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from repro_gate.environment.declared import Declared, Kind
from repro_gate.environment.files import Tree
from repro_gate.environment.locks import read_lock
from repro_gate.environment.pins import Pin
from repro_gate.environment.target import Target
from repro_gate.errors import PrepareFailed

VENV = "venv"
SOURCE = "source"
PINNED = "pinned.txt"
UNHASHED = "pinned-without-hashes.txt"
REQUIREMENTS = "requirements.txt"

_PIP = ("-m", "pip", "install", "--no-input", "--disable-pip-version-check", "--progress-bar", "off")


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One command, and the folder below the environment's directory that it runs in."""

    name: str
    argv: tuple[str, ...]
    folder: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Files to write first, then steps in order; ``needs_tree``: a copy of the tree must be in SOURCE."""

    files: Mapping[str, str]
    steps: tuple[Step, ...]
    needs_tree: bool
    notes: tuple[str, ...]


def python_of(directory: str) -> str:
    """The interpreter of the environment in ``directory``."""
    return f"{directory}/{VENV}/bin/python"


def plan(declared: Declared, target: Target, tree: Tree, directory: str) -> Plan:
    """How the environment in ``directory`` is made from what ``tree`` declares.

    Raises PrepareFailed where the interpreter does not fit, ConfigError for a lock that cannot be read.
    """
    _fits(declared, target)
    files: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    steps = [
        Step(
            name="make a virtual environment", argv=(target.interpreter.executable, "-m", "venv", f"{directory}/{VENV}")
        )
    ]
    pip = (python_of(directory), *_PIP)
    match declared.kind:
        case Kind.INSTALL:
            steps += [Step(name=" ".join(command), argv=command, folder=SOURCE) for command in declared.commands]
        case Kind.UV | Kind.POETRY | Kind.PDM | Kind.PYLOCK:
            locked = read_lock(tree[declared.files[0]], declared, target.markers)
            notes = locked.notes
            files, more = _pinned(locked.pins, pip, declared.files[0], directory)
            steps += more
        case Kind.REQUIREMENTS | Kind.PROJECT | Kind.NOTHING:
            files, more = _listed(declared, pip, directory)
            steps += more + _computed(declared, pip, directory)
    return Plan(files=files, steps=tuple(steps), needs_tree=declared.needs_tree, notes=notes)


def add_pytest(directory: str) -> Step:
    """The step for an environment without pytest."""
    return Step(name="install pytest", argv=(python_of(directory), *_PIP, "pytest"))


def _fits(declared: Declared, target: Target) -> None:
    try:
        wanted = SpecifierSet(declared.python_requires)
    except InvalidSpecifier:
        return  # pip judges the project's words; a build backend would, too
    if not wanted.contains(target.version, prereleases=True):
        raise PrepareFailed(
            f"The project needs Python {declared.python_requires}, and {target.interpreter.executable} is {target.version}.",
            next_step="Name another interpreter with `--python`.",
        )


def _pinned(pins: Sequence[Pin], pip: tuple[str, ...], lock: str, directory: str) -> tuple[dict[str, str], list[Step]]:
    """Pins with hashes are checked by them. Those without (a git source) cannot stand in the same file."""
    hashed = [pin.line() for pin in pins if pin.hashes]
    others = [pin.line() for pin in pins if not pin.hashes]
    files, steps = {}, []
    for name, lines, options in ((PINNED, hashed, ("--require-hashes",)), (UNHASHED, others, ())):
        if lines:
            files[name] = "".join(f"{line}\n" for line in lines)
            argv = (*pip, "--no-deps", *options, "-r", f"{directory}/{name}")
            steps.append(Step(name=f"install {len(lines)} packages of {lock}", argv=argv))
    return files, steps


def _listed(declared: Declared, pip: tuple[str, ...], directory: str) -> tuple[dict[str, str], list[Step]]:
    """One resolution for all lines; lines with hashes first and alone, since pip demands them of all or none."""
    options = [_absolute(line, f"{directory}/{SOURCE}") for line in declared.lines if line.startswith("-")]
    requirements = [line for line in declared.lines if not line.startswith("-")]
    hashed = [line for line in requirements if "--hash" in line]
    others = [line for line in requirements if "--hash" not in line]
    files, steps = {}, []
    folder = SOURCE if declared.needs_tree else ""
    what = " and ".join(declared.files) or "what the project declares"
    for name, lines in ((PINNED, hashed), (REQUIREMENTS, others)):
        if lines:
            files[name] = "".join(f"{line}\n" for line in [*options, *lines])
            steps.append(Step(name=f"install {what}", argv=(*pip, "-r", f"{directory}/{name}"), folder=folder))
    return files, steps


def _absolute(option: str, top: str) -> str:
    """pip takes a path in an option as seen from the file that holds it, which is ours now."""
    name, _, value = option.partition(" ")
    local = name in ("-c", "-f") and "://" not in value and not value.startswith("/")
    return f"{name} {shlex.quote(f'{top}/{value}')}" if local else option


def _computed(declared: Declared, pip: tuple[str, ...], directory: str) -> list[Step]:
    """Where only the build backend knows the dependencies, it is asked by an installation that is undone."""
    if not declared.computed:
        return []
    name = declared.facts.name
    if not name:
        raise PrepareFailed("Neither the project's name nor its dependencies can be read without running its build.")
    extras = f"[{','.join(declared.extras)}]" if declared.extras else ""
    return [
        Step(name=f"install the dependencies of {name}", argv=(*pip, f"./{extras}"), folder=SOURCE),
        Step(name=f"take {name} itself out", argv=(python_of(directory), "-m", "pip", "uninstall", "--yes", name)),
    ]
