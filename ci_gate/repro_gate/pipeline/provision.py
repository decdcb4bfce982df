"""What the tests of a change run in: an interpreter named by the user, or environments made for its two sides.

Belongs here: from declarations and settings to what a lab needs. Does not belong here: how an
environment is made (environment), and running tests.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.config import Settings
from repro_gate.environment import (
    Declared,
    Environment,
    Importable,
    OnDisk,
    Surroundings,
    build,
    declare,
    importable_in,
    key,
    prepare,
    python_beside,
    side_of,
    target_of,
    with_scripts,
    write_side,
)
from repro_gate.experiment import visible_environment
from repro_gate.model import Side
from repro_gate.pipeline.request import Effects
from repro_gate.sandbox import Interpreter, Sandbox, probe

_PREPARE_SECONDS = 1800.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """What one tree's tests run in. ``roots`` are import roots in the tree, ``shelf`` and ``scripts``
    directories beside it (metadata, entry points), or None."""

    interpreter: Interpreter
    environment: Mapping[str, str]
    roots: tuple[str, ...] = ()
    shelf: Path | None = None
    scripts: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Provision:
    """Rooms by (whose environment, whose tree); ``name`` identifies head's environment.

    ``unbuilt`` says why the product must be built where it was not.
    """

    rooms: Mapping[tuple[Side, Side], Room]
    packages: frozenset[str]
    name: str
    differing: bool = False
    unbuilt: str = ""
    notes: tuple[str, ...] = ()

    def room(self, environment: Side, tree: Side) -> Room:
        """The room for a tree in an environment of its own or the other side's."""
        whose = tree.origin
        return self.rooms.get((environment, whose)) or self.rooms[Side.HEAD, whose]


@dataclass(kw_only=True)
class Provider:
    """Makes the rooms for the trees of a change; environments are made in ``sandbox`` with a network."""

    settings: Settings
    effects: Effects
    sandbox: Sandbox
    here: Path
    directory: Path
    notes: list[str] = field(default_factory=list)

    def provide(self, trees: Mapping[Side, Path], python: str | None, base_python: str) -> Provision:
        """Rooms for control, base and head. Raises PrepareFailed, MissingTool, ConfigError or DiskFull."""
        importables = {side: self._importable(tree) for side, tree in trees.items()}
        packages = frozenset(name for importable in importables.values() for name in importable.packages)
        if python is not None:
            named = self._named(python, importables, packages)
            return dataclasses.replace(named, unbuilt=self._declared(trees[Side.HEAD]).needs_build)
        return self._made(base_python, trees, importables, packages)

    def _importable(self, tree: Path) -> Importable:
        files = OnDisk(tree)
        return importable_in(files, self._declared(tree).facts)

    def _declared(self, tree: Path) -> Declared:
        settings = self.settings
        return declare(OnDisk(tree), install=settings.install, extras=settings.extras, groups=settings.groups)

    def _variables(self, interpreter: Interpreter) -> dict[str, str]:
        visible, withheld = visible_environment(
            self.effects.environ, user_base=interpreter.user_base, allow=self.settings.pass_env
        )
        if withheld:
            self.notes.append(f"tests do not see these variables (allow them with pass-env): {', '.join(withheld)}")
        return visible

    def _named(self, python: str, importables: Mapping[Side, Importable], packages: frozenset[str]) -> Provision:
        interpreter = self.sandbox.interpreter(python) or probe(python, self.effects.environ, self.here)
        variables = self._variables(interpreter)
        rooms = {
            (Side.HEAD, side): Room(interpreter=interpreter, environment=variables, roots=importable.roots)
            for side, importable in importables.items()
        }
        return Provision(
            rooms=rooms, packages=packages, name=f"{interpreter.version} {python}", notes=tuple(self.notes)
        )

    def _made(
        self,
        base_python: str,
        trees: Mapping[Side, Path],
        importables: Mapping[Side, Importable],
        packages: frozenset[str],
    ) -> Provision:
        interpreter = probe(base_python, self.effects.environ, self.here)
        target = target_of(interpreter, self.effects.environ, self.here)
        variables = self._variables(interpreter)
        declared = {Side.HEAD: self._declared(trees[Side.HEAD]), Side.BASE: self._declared(trees[Side.CONTROL])}
        differing = key(declared[Side.HEAD], target) != key(declared[Side.BASE], target)
        made: dict[Side, Environment] = {}
        for side in (Side.HEAD, Side.BASE) if differing else (Side.HEAD,):
            tree = trees[Side.HEAD if side is Side.HEAD else Side.CONTROL]
            made[side] = prepare(declared[side], OnDisk(tree), target, self._around(tree))
            self.notes += made[side].notes
        interpreters = {side: probe(env.python, self.effects.environ, self.here) for side, env in made.items()}
        rooms = {}
        for whose, tree in trees.items():
            for side, environment in made.items():
                if declared[side].needs_build:
                    self._build(tree, importables[whose], environment, target)
                rooms[side, whose] = self._room(tree, importables[whose], interpreters[side], variables, side, whose)
        return Provision(
            rooms=rooms,
            packages=packages,
            name=made[Side.HEAD].key,
            differing=differing,
            notes=tuple(dict.fromkeys(self.notes)),
        )

    def _room(
        self,
        tree: Path,
        importable: Importable,
        interpreter: Interpreter,
        variables: Mapping[str, str],
        environment: Side,
        whose: Side,
    ) -> Room:
        """The tree's own metadata and scripts, beside the shared environment and never in it."""
        files = OnDisk(tree)
        place = self.directory / f"beside-{whose}-{environment}"
        facts = self._declared(tree).facts
        python = python_beside(place / "env") if facts.scripts else interpreter.executable
        side = side_of(files, facts, importable, python)
        self.notes += side.notes
        write_side(side, place)
        if facts.scripts:
            with_scripts(Path(interpreter.executable).parents[1], side.scripts, place / "env")
            interpreter = self._beside(python, interpreter)
        for path, text in side.generated.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text, encoding="utf-8")
        shelf, scripts = place / "lib", place / "bin"
        return Room(
            interpreter=interpreter,
            environment=activated(variables, interpreter.executable),
            roots=importable.roots,
            shelf=_named_apart(shelf, f"lib-{whose}-{environment}"),
            scripts=_named_apart(scripts, f"bin-{whose}-{environment}"),
        )

    def _beside(self, python: str, shared: Interpreter) -> Interpreter:
        """An environment whose parts are the shared one's needs that one, too."""
        own = probe(python, self.effects.environ, self.here)
        return dataclasses.replace(own, directories=tuple(sorted({*own.directories, *shared.directories})))

    def _build(self, tree: Path, importable: Importable, environment: Environment, target: object) -> None:
        built = build(importable, environment, target, self._around(tree), _hash_of(tree))  # type: ignore[arg-type]
        for name in built.files:
            place = tree / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(built.directory / name, place)

    def _around(self, tree: Path) -> Surroundings:
        cache = self.settings.env_cache
        return Surroundings(
            cache=self.here / cache if cache else _cache_home(self.effects.environ),
            sandbox=self.sandbox,
            environment=self._installing(),
            copy=lambda to: shutil.copytree(tree, to, symlinks=True),
            clock=self.effects.monotonic,
            seconds=_PREPARE_SECONDS,
            progress=lambda step, seconds: self.effects.progress.advance(0.0, f"{step} ({seconds:.0f} s)"),
        )

    def _installing(self) -> dict[str, str]:
        """What pip may see: where its index is, and nothing that looks like a secret but that."""
        environ = self.effects.environ
        visible, _ = visible_environment(environ, user_base="", allow=self.settings.pass_env)
        wanted = {name: value for name, value in environ.items() if name.startswith(("PIP_", "UV_", "SSL_CERT"))}
        return {**visible, **wanted}


def activated(variables: Mapping[str, str], python: str) -> dict[str, str]:
    """With the programs of an environment first on PATH: tests call what was installed for them (mypy, ruff) by
    name.
    """
    programs = (str(Path(python).parent), variables.get("PATH", ""))
    return {**variables, "PATH": os.pathsep.join(each for each in programs if each)}


def _named_apart(directory: Path, name: str) -> Path | None:
    """The directory under a name that no other has (they may lie side by side in a sandbox)."""
    if not directory.is_dir():
        return None
    place = directory.with_name(name)
    if not place.exists():
        directory.rename(place)
    return place


def _cache_home(environ: Mapping[str, str]) -> Path:
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path(environ.get("HOME") or tempfile.gettempdir()) / ".cache") / "repro-gate"


def _hash_of(tree: Path) -> str:
    seen = hashlib.sha256()
    for directory, folders, files in os.walk(tree):
        folders.sort()
        for name in sorted(files):
            path = Path(directory) / name
            seen.update(f"{path.relative_to(tree)}\0".encode(errors="surrogateescape"))
            seen.update(
                path.read_bytes() if not path.is_symlink() else str(path.readlink()).encode(errors="surrogateescape")
            )
    return seen.hexdigest()
