"""What a project says about itself: name, version, dependencies, entry points, backend.

Belongs here: pyproject.toml, and the one record that older files (setup_files) fill as well.
Does not belong here: which of the declarations counts (declared).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from packaging.dependency_groups import DependencyGroupResolver
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from repro_gate.config import parse_toml
from repro_gate.environment import poetry
from repro_gate.environment.files import Tree, string, strings, table, text_of
from repro_gate.errors import ConfigError

PYPROJECT = "pyproject.toml"

# Backends whose work is more than copying files, by the module that is called.
_COMPILING = {
    "maturin": "maturin",
    "mesonpy": "meson-python",
    "scikit_build_core.build": "scikit-build-core",
    "skbuild.setuptools.build_meta": "scikit-build",
    "sipbuild.api": "sip",
    "py_build_cmake.build": "py-build-cmake",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Facts:
    """A project by its own words. ``computed`` names what only its build backend could tell.

    ``needs_build`` says why its files alone do not run, or is empty. Extras and groups are
    requirement lines by canonical name, with what they include.
    """

    name: str = ""
    version: str = ""
    requires_python: str = ""
    dependencies: tuple[str, ...] = ()
    extras: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    entry_points: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    backend: str = ""
    computed: tuple[str, ...] = ()
    needs_build: str = ""
    notes: tuple[str, ...] = ()

    def lines(self, extras: Iterable[str], groups: Iterable[str]) -> tuple[str, ...]:
        """The requirements of the project with these extras and groups, each once, never itself."""
        found = dict.fromkeys(self.dependencies)
        for extra in extras:
            found.update(dict.fromkeys(self._of_extra(extra, frozenset())))
        for group in groups:
            for line in self.groups.get(canonicalize_name(group), ()):
                found.update(dict.fromkeys(self._without_self(line, frozenset())))
        return tuple(line for each in found for line in self._without_self(each, frozenset()))

    def _of_extra(self, extra: str, seen: frozenset[str]) -> Iterator[str]:
        name = canonicalize_name(extra)
        if name not in seen:
            for line in self.extras.get(name, ()):
                yield from self._without_self(line, seen | {name})

    def _without_self(self, line: str, seen: frozenset[str]) -> Iterator[str]:
        """A line that names the project is its extras: the project itself is never installed."""
        requirement = parsed(line)
        if requirement is None or not self.name or canonicalize_name(requirement.name) != canonicalize_name(self.name):
            yield line
            return
        for extra in sorted(requirement.extras):
            yield from self._of_extra(extra, seen)


def parsed(line: str) -> Requirement | None:
    """A requirement line by the standard, or None."""
    try:
        return Requirement(line)
    except InvalidRequirement:
        return None


def from_pyproject(tree: Tree) -> Facts:
    """What pyproject.toml says. Raises ConfigError where it is not valid TOML or a group is not valid."""
    if PYPROJECT not in tree:
        return Facts()
    document = parse_toml(PYPROJECT, tree[PYPROJECT])
    project, tool = table(document, "project"), table(document, "tool")
    backend = string(table(document, "build-system").get("build-backend"))
    from_files = table(tool, "setuptools", "dynamic")
    dependencies = strings(project.get("dependencies")) or _lines_of(tree, from_files.get("dependencies"))
    extras = _named(table(project, "optional-dependencies"))
    for name, value in table(from_files, "optional-dependencies").items():
        extras.setdefault(canonicalize_name(name), _lines_of(tree, value))
    facts = Facts(
        name=string(project.get("name")),
        version=string(project.get("version")),
        requires_python=string(project.get("requires-python")),
        dependencies=dependencies,
        extras=extras,
        groups=_groups(document),
        scripts=_texts(table(project, "scripts")) | _texts(table(project, "gui-scripts")),
        entry_points={group: _texts(found) for group, found in table(project, "entry-points").items()},
        backend=backend,
        computed=tuple(
            part
            for part, known in (("dependencies", dependencies), ("optional-dependencies", extras))
            if part in strings(project.get("dynamic")) and not known
        ),
        needs_build=_why_build(document, backend),
    )
    return _with_poetry(facts, table(tool, "poetry"), has_project=bool(project))


def _lines_of(tree: Tree, value: object) -> tuple[str, ...]:
    """The requirements of ``{file = ...}``, as setuptools reads them: no options, no nesting."""
    names = table(value).get("file")
    texts = [text_of(tree, name) for name in ([names] if isinstance(names, str) else strings(names))]
    lines = (line.partition(" #")[0].strip() for text in texts for line in text.splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))


def _named(entries: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {canonicalize_name(name): strings(lines) for name, lines in entries.items()}


def _texts(entries: object) -> dict[str, str]:
    return {name: string(value) for name, value in table(entries).items() if string(value)}


def _groups(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Dependency groups of the standard, and those of tools that came before it."""
    tool = table(document, "tool")
    found = _named(table(tool, "pdm", "dev-dependencies"))
    if lines := strings(table(tool, "uv").get("dev-dependencies")):
        found["dev"] = lines
    standard = table(document, "dependency-groups")
    for name in standard:
        try:
            found[canonicalize_name(name)] = tuple(map(str, DependencyGroupResolver(standard).resolve(name)))
        # The library raises ValueError, LookupError, TypeError or a group of them.
        except Exception as wrong:
            raise ConfigError(
                f"{PYPROJECT}: [dependency-groups] {name} is not valid: {wrong}", next_step=f"Correct {PYPROJECT}."
            ) from wrong
    return found


def _why_build(document: Mapping[str, Any], backend: str) -> str:
    tool = table(document, "tool")
    if backend in _COMPILING:
        return f"it is built by {_COMPILING[backend]}"
    if strings(table(document, "build-system").get("backend-path")):
        return f"it is built by a backend of its own ({backend})"
    if table(tool, "setuptools").get("ext-modules"):
        return "it has C extensions ([tool.setuptools] ext-modules)"
    if table(tool, "poetry").get("build") or table(tool, "poetry", "build").get("script"):
        return "it has a build script ([tool.poetry] build)"
    if table(tool, "pdm", "build").get("run-setuptools") or table(tool, "pdm", "build").get("custom-hook"):
        return "it has a build hook ([tool.pdm.build])"
    hooks = {*table(tool, "hatch", "build", "hooks"), *table(tool, "hatch", "build", "targets", "wheel", "hooks")}
    if others := sorted(hooks - {"vcs", "version"}):
        return f"it has build hooks (hatch: {', '.join(others)})"
    return ""


def _with_poetry(facts: Facts, declared: Mapping[str, Any], *, has_project: bool) -> Facts:
    """What [tool.poetry] adds; where there is a [project], only groups are taken from it."""
    groups = dict(facts.groups)
    notes = list(facts.notes)
    tables = {"dev": table(declared, "dev-dependencies")}
    tables |= {name: table(group, "dependencies") for name, group in table(declared, "group").items()}
    for name, entries in tables.items():
        if entries:
            lines, _, left_out = _poetry_lines(entries)
            groups.setdefault(canonicalize_name(name), lines)
            notes += left_out
    facts = dataclasses.replace(facts, groups=groups)
    if has_project or not declared:
        return dataclasses.replace(facts, notes=tuple(notes))
    entries = table(declared, "dependencies")
    always, optional, left_out = _poetry_lines(entries)
    extras: dict[str, tuple[str, ...]] = {
        canonicalize_name(extra): tuple(line for name in strings(names) for line in optional.get(name.lower(), ()))
        for extra, names in table(declared, "extras").items()
    }
    return dataclasses.replace(
        facts,
        name=string(declared.get("name")),
        version=string(declared.get("version")),
        requires_python=_poetry_python(entries.get("python")),
        dependencies=always,
        extras=extras,
        scripts=_texts(declared.get("scripts")),
        entry_points={group: _texts(found) for group, found in table(declared, "plugins").items()},
        notes=(*notes, *left_out),
    )


def _poetry_lines(
    entries: Mapping[str, Any],
) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]], list[str]]:
    """Requirement lines that always hold, optional ones by name, and notes on those left out."""
    always: list[str] = []
    optional: dict[str, tuple[str, ...]] = {}
    left_out = []
    for name, value in entries.items():
        if isinstance(value, dict) and "path" in value:
            left_out.append(f"{name} is a local path ({value['path']}) and was not installed")
        for line, is_optional in poetry.requirements(name, value):
            if is_optional:
                optional[name.lower()] = (*optional.get(name.lower(), ()), line)
            else:
                always.append(line)
    return tuple(always), optional, left_out


def _poetry_python(constraint: object) -> str:
    try:
        alternatives = poetry.specifiers(string(constraint) or "*")
    except ValueError:
        return ""
    return str(alternatives[0]) if len(alternatives) == 1 else ""
