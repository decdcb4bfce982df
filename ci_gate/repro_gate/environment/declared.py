"""What a tree declares for its tests, decided by one documented order.

Belongs here: the order, and the digest of what counts. Does not belong here: how it is installed
(plan) and where (preparing). Pure over a Tree.
"""

from __future__ import annotations

import enum
import hashlib
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from packaging.utils import canonicalize_name

from repro_gate.environment import requirement_files
from repro_gate.environment.facts import PYPROJECT, Facts, from_pyproject, parsed
from repro_gate.environment.files import Tree
from repro_gate.environment.setup_files import from_setup_files, merged, tox_deps, tox_extras

NAMES = requirement_files.NAMES
_MANIFESTS = (PYPROJECT, "setup.cfg", "setup.py", "tox.ini")


class Kind(enum.StrEnum):
    """What the environment is made from, in the order in which it is looked for."""

    INSTALL = "install"
    UV = "uv.lock"
    POETRY = "poetry.lock"
    PDM = "pdm.lock"
    PYLOCK = "pylock.toml"
    REQUIREMENTS = "requirements"
    PROJECT = "project"
    NOTHING = "nothing"


@dataclass(frozen=True, kw_only=True, slots=True)
class Declared:
    """What a tree declares. ``digest`` is equal for two trees that need the same environment.

    ``files`` are the files that were used, first the one that ``kind`` names; ``lines`` what pip is
    asked for beside a lock. ``build_system`` and ``needs_build`` are those of the project itself.
    """

    kind: Kind
    files: tuple[str, ...]
    digest: str
    extras: tuple[str, ...]
    groups: tuple[str, ...]
    build_system: str
    needs_build: str
    python_requires: str
    lines: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    needs_tree: bool
    computed: tuple[str, ...]
    notes: tuple[str, ...]
    facts: Facts


def declare(
    tree: Tree, *, install: Sequence[str] = (), extras: Sequence[str] = (), groups: Sequence[str] = ()
) -> Declared:
    """What ``tree`` declares, under what the configuration asks for.

    Raises ConfigError for a file that cannot be read, with its name and line.
    """
    facts = merged(from_pyproject(tree), from_setup_files(tree))
    notes = list(facts.notes)
    chosen_extras = _chosen("extra", facts.extras, extras, notes)
    chosen_groups = _chosen("dependency group", facts.groups, groups, notes)
    kind, files = _kind(tree, install, facts, notes)
    lines: tuple[str, ...] = ()
    local = False
    if kind is Kind.REQUIREMENTS:
        flat = requirement_files.flatten(tree, files, facts.name)
        for_tests = requirement_files.for_tests(tree)[0]
        if for_tests and not extras:
            chosen_extras = ()
        if for_tests and not groups:
            chosen_groups = ()
        chosen_extras = tuple(dict.fromkeys([*chosen_extras, *flat.extras]))
        files, local = flat.paths, flat.local
        lines = (*flat.lines, *facts.lines(chosen_extras, chosen_groups))
        notes += flat.notes
    elif kind is Kind.PROJECT:
        lines = facts.lines(chosen_extras, chosen_groups)
    if _says_nothing_of_tests(kind, lines, (*chosen_extras, *chosen_groups)):
        hinted, more = _hinted(tree, facts, extras, notes)
        chosen_extras = tuple(dict.fromkeys([*chosen_extras, *more]))
        lines = tuple(dict.fromkeys([*lines, *facts.lines(more, ()), *hinted]))
    commands = tuple(tuple(shlex.split(command)) for command in install)
    computed = facts.computed if kind in (Kind.PROJECT, Kind.REQUIREMENTS) else ()
    return Declared(
        kind=kind,
        files=files,
        digest=_digest(tree, kind, files, lines, computed, facts, chosen_extras, chosen_groups),
        extras=chosen_extras if kind is not Kind.INSTALL else (),
        groups=chosen_groups if kind is not Kind.INSTALL else (),
        build_system=facts.backend,
        needs_build=facts.needs_build,
        python_requires=facts.requires_python,
        lines=lines,
        commands=commands,
        needs_tree=local or bool(commands) or bool(computed),
        computed=computed,
        notes=tuple(dict.fromkeys(notes)),
        facts=facts,
    )


def _chosen(what: str, there: Iterable[str], asked: Sequence[str], notes: list[str]) -> tuple[str, ...]:
    """What was asked for, else the first of NAMES that is there."""
    known = set(there)
    if asked:
        notes += [f"the project declares no {what} {name}" for name in asked if canonicalize_name(name) not in known]
        return tuple(dict.fromkeys(map(str, map(canonicalize_name, asked))))
    found = [name for name in NAMES if name in known]
    if len(found) > 1:
        notes.append(f"of the {what}s {', '.join(found)}, the first was taken")
    return tuple(found[:1])


def _kind(tree: Tree, install: Sequence[str], facts: Facts, notes: list[str]) -> tuple[Kind, tuple[str, ...]]:
    """The first kind that is there, with its files; the others are noted."""
    if install:
        return Kind.INSTALL, _all_declarations(tree, install)
    locks = [(kind, (kind.value,)) for kind in (Kind.UV, Kind.POETRY, Kind.PDM) if kind.value in tree]
    if pylock := _pylock(tree, notes):
        locks.append((Kind.PYLOCK, (pylock,)))
    if locks:
        if len(locks) > 1:
            notes.append(f"of {', '.join(files[0] for _, files in locks)}, the first was taken")
        return locks[0]
    for_tests, others = requirement_files.for_tests(tree)
    if others:
        notes.append(f"of {', '.join((for_tests, *others))}, the first was taken")
    if found := tuple(path for path in (for_tests, requirement_files.for_use(tree)) if path):
        return Kind.REQUIREMENTS, found
    if facts.dependencies or facts.extras or facts.groups or facts.computed or facts.name:
        return Kind.PROJECT, tuple(path for path in _MANIFESTS[:3] if path in tree)
    notes.append("the project declares no dependencies")
    return Kind.NOTHING, ()


def _pylock(tree: Tree, notes: list[str]) -> str:
    """The standard's lock file: one named for tests, else the plain one, else the only one."""
    order = [*(f"pylock.{name}.toml" for name in NAMES), "pylock.toml"]
    named = sorted(path for path in tree if path.startswith("pylock.") and path.endswith(".toml") and "/" not in path)
    found = [path for path in order if path in tree]
    if not found and len(named) == 1:
        found = named
    if len(found) > 1:
        notes.append(f"of {', '.join(found)}, the first was taken")
    if not found and named:
        notes.append(f"none of {', '.join(named)} is named for tests, so none was taken")
    return found[0] if found else ""


def _says_nothing_of_tests(kind: Kind, lines: Sequence[str], chosen: Sequence[str]) -> bool:
    """Whether what was found is not what tests need: files of requirements may be for tools that run or check them."""
    if kind is Kind.REQUIREMENTS:
        names = {canonicalize_name(found.name) for line in lines if (found := parsed(line)) is not None}
        return not any(name == "pytest" or name.startswith("pytest-") for name in names)
    return kind in (Kind.PROJECT, Kind.NOTHING) and not chosen


def _hinted(
    tree: Tree, facts: Facts, asked: Sequence[str], notes: list[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """tox.ini lists what tests need where nothing else does: requirements, and extras unless others are asked for."""
    found = tox_deps(tree)
    extras = tuple(name for name in tox_extras(tree) if name in facts.extras and not asked)
    if found or extras:
        notes.append("no test dependencies are declared; those of tox.ini [testenv] were taken")
    if extras:
        notes.append(f"tox.ini [testenv] names the extras: {', '.join(extras)}")
    return found, extras


def _all_declarations(tree: Tree, install: Sequence[str]) -> tuple[str, ...]:
    """Every file that an install command may read: what declares something, and what it names."""
    locks = {kind.value for kind in (Kind.UV, Kind.POETRY, Kind.PDM)}

    def may_declare(path: str) -> bool:
        name = PurePosixPath(path).name
        requirements = "requirements" in path and name.endswith((".txt", ".in"))
        return path in _MANIFESTS or path in locks or requirements or name.startswith(("pylock.", "constraints"))

    words = {word.removeprefix("./") for command in install for word in shlex.split(command)}
    return tuple(sorted({path for path in tree if may_declare(path)} | {word for word in words if word in tree}))


def _digest(
    tree: Tree,
    kind: Kind,
    files: Sequence[str],
    lines: Sequence[str],
    computed: Sequence[str],
    facts: Facts,
    extras: Sequence[str],
    groups: Sequence[str],
) -> str:
    """Bytes of the files that are for dependencies; of manifests, which hold much else, what they declare."""
    whole = [path for path in files if kind is Kind.INSTALL or computed or path not in _MANIFESTS]
    if computed:
        whole += [path for path in _MANIFESTS if path in tree]
    content = {
        "kind": kind,
        "files": {path: hashlib.sha256(tree[path]).hexdigest() for path in whole},
        "lines": sorted(lines),
        "extras": sorted(extras),
        "groups": sorted(groups),
        "requirements": sorted(facts.lines(extras, groups)),
        "python": facts.requires_python,
    }
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
