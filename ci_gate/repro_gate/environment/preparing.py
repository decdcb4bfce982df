"""The environment for a project's tests: found in the cache, or made there once.

Belongs here: from declarations to a finished environment. Does not belong here: what the steps are
(plan), how they run (workshop) and where environments are kept (store).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro_gate.environment import store
from repro_gate.environment.declared import Declared
from repro_gate.environment.files import Tree
from repro_gate.environment.plan import SOURCE, Plan, Step, add_pytest, plan, python_of
from repro_gate.environment.target import Target, key
from repro_gate.environment.workshop import Surroundings, Workshop
from repro_gate.errors import disk_full

_VERSION_OF_PYTEST = "import pytest; print(pytest.__version__)"


@dataclass(frozen=True, kw_only=True, slots=True)
class Environment:
    """A finished environment. ``directory`` holds it; ``pytest`` is the version that is in it."""

    key: str
    directory: Path
    python: str
    pytest: str
    log: Path
    reused: bool
    seconds: float
    notes: tuple[str, ...]


def prepare(declared: Declared, tree: Tree, target: Target, around: Surroundings) -> Environment:
    """The environment that ``tree`` declares, made now or found in the cache.

    Raises PrepareFailed with the step and its last words, DiskFull, ConfigError for a lock that cannot be read.
    """
    name = key(declared, target)
    place = around.cache.absolute() / "env" / name
    started = around.clock()

    def waiting() -> None:
        around.progress("wait for another process", around.clock() - started)

    try:
        if (found := _found(place, name, declared)) is not None:
            return found
        with store.alone(place, seconds=around.seconds, clock=around.clock, waiting=waiting):
            return _found(place, name, declared) or _made(place, name, declared, tree, target, around)
    except OSError as broken:
        raise disk_full(broken, str(place)) or broken from broken


def _found(place: Path, name: str, declared: Declared) -> Environment | None:
    """A finished one whose interpreter is still there."""
    found = store.attempt_of(place)
    if found is None or not Path(python_of(str(found[0] / "made"))).exists():
        return None
    return _environment(found[0], found[1], name, declared, reused=True)


def _environment(
    attempt: Path, facts: Mapping[str, Any], name: str, declared: Declared, *, reused: bool
) -> Environment:
    return Environment(
        key=name,
        directory=attempt / "made",
        python=python_of(str(attempt / "made")),
        pytest=str(facts["pytest"]),
        log=attempt / "log.txt",
        reused=reused,
        seconds=0.0 if reused else float(facts["seconds"]),
        notes=tuple(dict.fromkeys([*declared.notes, *map(str, facts["notes"])])),
    )


def _made(place: Path, name: str, declared: Declared, tree: Tree, target: Target, around: Surroundings) -> Environment:
    attempt = store.new_attempt(place)
    with Workshop(attempt, target.interpreter, around) as workshop:
        planned = plan(declared, target, tree, str(workshop.directory))
        version, added = _follow(planned, workshop, around)
        store.remove(workshop.directory / SOURCE)
        facts = {
            "pytest": version,
            "notes": [*planned.notes, *added],
            "seconds": round(workshop.elapsed(), 3),
            "kind": declared.kind,
            "python": target.version,
        }
    store.publish(attempt, facts)
    return _environment(attempt, facts, name, declared, reused=False)


def _follow(planned: Plan, workshop: Workshop, around: Surroundings) -> tuple[str, list[str]]:
    """Run the plan; the version of pytest that came of it, and a note if it was we who added it."""
    for name, text in planned.files.items():
        (workshop.directory / name).write_text(text, encoding="utf-8")
    if planned.needs_tree:
        around.copy(workshop.directory / SOURCE)
    for step in planned.steps:
        workshop.do(step)
    directory = str(workshop.directory)
    look = Step(name="look for pytest", argv=(python_of(directory), "-I", "-c", _VERSION_OF_PYTEST))
    status, output = workshop.attempt(look)
    if status == 0:
        return output.split()[-1], []
    workshop.do(add_pytest(directory))
    version = workshop.do(look).split()[-1]
    return version, [f"pytest {version} was added: the project does not declare it"]
