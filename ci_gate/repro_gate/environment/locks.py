"""Lock files: what they pin for one interpreter, some extras and some groups.

Belongs here: uv.lock, poetry.lock, pdm.lock and pylock.toml, one function each. Does not belong
here: installing (plan) and what a project asks for (declared). Pure.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.markers import Marker
from packaging.pylock import Package, Pylock, PylockUnsupportedVersionError, PylockValidationError
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from repro_gate.config import parse_toml
from repro_gate.environment import poetry
from repro_gate.environment.declared import Declared, Kind
from repro_gate.environment.facts import parsed
from repro_gate.environment.files import string, strings, table
from repro_gate.environment.pins import Edge, Node, Pin, distinct, holds, walk
from repro_gate.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True)
class Locked:
    """What a lock pins, sorted by name, and what a reader should know."""

    pins: tuple[Pin, ...]
    notes: tuple[str, ...] = ()


def read_lock(content: bytes, declared: Declared, environment: Mapping[str, str]) -> Locked:
    """The pins of ``declared``'s lock in an environment of markers.

    Raises ConfigError where the file is no lock of its kind, or cannot serve this interpreter.
    """
    name = declared.files[0]
    document = parse_toml(name, content)
    try:
        locked = _READERS[declared.kind](document, declared, environment)
    except (AttributeError, KeyError, TypeError, ValueError) as wrong:
        raise ConfigError(f"{name} is not a lock file as expected: {wrong}", next_step=f"Renew {name}.") from wrong
    except ConfigError as wrong:
        raise ConfigError(f"{name}: {wrong}", next_step=wrong.next_step) from wrong
    return Locked(pins=distinct(locked.pins), notes=locked.notes)


def _packages(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    found = document.get("package", [])
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise TypeError("`package` is no list of tables")
    return found


def _pins(nodes: Iterable[Node]) -> Locked:
    """The pins of nodes; one without a pin is local to the tree."""
    found = list(nodes)
    left_out = sorted(node.name for node in found if node.pin is None)
    notes = tuple(f"{name} is part of the tree or a local path, and was not installed" for name in left_out)
    return Locked(pins=tuple(node.pin for node in found if node.pin), notes=notes)


def _hashes(files: object, key: str) -> tuple[str, ...]:
    entries = files if isinstance(files, list) else []
    return tuple(sorted({string(entry.get(key)) for entry in entries if string(entry.get(key))}))


# --- uv --------------------------------------------------------------------------------------


def _uv(document: Mapping[str, Any], declared: Declared, environment: Mapping[str, str]) -> Locked:
    if not SpecifierSet(string(document.get("requires-python"))).contains(
        environment["python_full_version"], prereleases=True
    ):
        raise ConfigError(
            f"it is for Python {document['requires-python']}, and this is {environment['python_full_version']}.",
            next_step="Name another interpreter with `--python`.",
        )
    packages = _packages(document)
    root = next((each for each in packages if _uv_local(each) == "."), None)
    if root is None:
        raise ConfigError("it does not hold the project itself.", next_step="Renew it, or configure `install`.")
    roots = list(_uv_edges(root.get("dependencies")))
    for extra in declared.extras:
        roots += _uv_edges(table(root, "optional-dependencies").get(extra))
    for group in declared.groups:
        roots += _uv_edges(table(root, "dev-dependencies").get(group))
    nodes = [_uv_node(each) for each in packages]
    return _pins(node for node in walk(nodes, roots, environment) if node.name != canonicalize_name(root["name"]))


def _uv_local(package: Mapping[str, Any]) -> str:
    source = table(package, "source")
    return next((string(source[key]) for key in ("editable", "virtual", "directory", "path") if key in source), "")


def _uv_edges(entries: object) -> Iterator[Edge]:
    for entry in entries if isinstance(entries, list) else []:
        wanted = string(entry.get("version"))
        yield Edge(
            name=entry["name"],
            extras=strings(entry.get("extra")),
            marker=string(entry.get("marker")),
            fits=functools.partial(_is_version, wanted),
        )


def _is_version(wanted: str, version: str) -> bool:
    return wanted in ("", version)


def _uv_node(package: Mapping[str, Any]) -> Node:
    name, version, source = canonicalize_name(package["name"]), string(package.get("version")), table(package, "source")
    edges = {"": tuple(_uv_edges(package.get("dependencies")))}
    edges |= {
        canonicalize_name(extra): tuple(_uv_edges(entries))
        for extra, entries in table(package, "optional-dependencies").items()
    }
    files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
    pin: Pin | None
    if "registry" in source:
        pin = Pin(name=name, version=version, hashes=_hashes(files, "hash"))
    elif "git" in source:
        pin = Pin(name=name, version=version, url=_uv_git(string(source["git"])))
    elif "url" in source:
        pin = Pin(name=name, version=version, url=string(source["url"]), hashes=_hashes(files, "hash"))
    else:
        pin = None
    return Node(name=name, version=version, pin=pin, edges=edges, markers=strings(package.get("resolution-markers")))


def _uv_git(source: str) -> str:
    """``https://host/repo?rev=main#<commit>`` as pip writes it."""
    address, _, commit = source.partition("#")
    repository, _, query = address.partition("?")
    folder = next((part for part in query.split("&") if part.startswith("subdirectory=")), "")
    return f"git+{repository}" + (f"@{commit}" if commit else "") + (f"#{folder}" if folder else "")


# --- Poetry ----------------------------------------------------------------------------------


def _poetry(document: Mapping[str, Any], declared: Declared, environment: Mapping[str, str]) -> Locked:
    """From lock version 2.1 on each package says its groups and markers; before, the graph must be walked."""
    packages = _packages(document)
    files = table(document, "metadata", "files")
    nodes = [_poetry_node(each, files) for each in packages]
    if not any("groups" in each for each in packages):
        fitting = [
            node
            for node, package in zip(nodes, packages, strict=True)
            if poetry.allows(string(package.get("python-versions")) or "*", environment["python_full_version"])
        ]
        return _pins(walk(fitting, list(_roots(declared)), environment))
    wanted = {"main", *declared.groups}
    return _pins(
        node
        for node, package in zip(nodes, packages, strict=True)
        if _poetry_wanted(package, wanted, declared.extras, environment)
    )


def _poetry_wanted(
    package: Mapping[str, Any], groups: set[str], extras: Sequence[str], environment: Mapping[str, str]
) -> bool:
    markers = package.get("markers", "")
    for group in strings(package.get("groups")):
        if canonicalize_name(group) in groups:
            marker = string(markers.get(group)) if isinstance(markers, dict) else string(markers)
            if package.get("optional") is True and group == "main" and "extra" not in marker:
                continue
            if holds(marker, environment, extras):
                return True
    return False


def _poetry_node(package: Mapping[str, Any], files: Mapping[str, Any]) -> Node:
    name, version, source = canonicalize_name(package["name"]), string(package["version"]), table(package, "source")
    hashes = _hashes(package.get("files") or files.get(package["name"]), "hash")
    pin: Pin | None = Pin(name=name, version=version, hashes=hashes)
    match string(source.get("type")):
        case "git":
            commit = string(source.get("resolved_reference")) or string(source.get("reference"))
            pin = Pin(name=name, version=version, url=f"git+{source['url']}@{commit}")
        case "url":
            pin = Pin(name=name, version=version, url=string(source["url"]), hashes=hashes)
        case "directory" | "file":
            pin = None
        case _:
            pass  # an index, Poetry's own or another
    return Node(name=name, version=version, pin=pin, edges=_poetry_edges(package))


def _poetry_edges(package: Mapping[str, Any]) -> dict[str, list[Edge]]:
    """What always holds under "", and what an extra adds under its name."""
    edges: dict[str, list[Edge]] = {"": []}
    extras_of: dict[str, list[str]] = {}
    for extra, lines in table(package, "extras").items():
        for line in strings(lines):
            requirement = parsed(line)
            needed = canonicalize_name(requirement.name if requirement else line.split()[0])
            extras_of.setdefault(needed, []).append(canonicalize_name(extra))
    for name, value in table(package, "dependencies").items():
        for each in value if isinstance(value, list) else [value]:
            entry: Mapping[str, Any] = each if isinstance(each, dict) else {"version": each}
            for extra in extras_of.get(canonicalize_name(name), []) if entry.get("optional") is True else [""]:
                edges.setdefault(extra, []).append(_poetry_edge(name, entry, extra))
    return edges


def _poetry_edge(name: str, entry: Mapping[str, Any], extra: str) -> Edge:
    return Edge(
        name=name,
        extras=strings(entry.get("extras")),
        marker=string(entry.get("markers")),
        under=extra,
        fits=functools.partial(poetry.allows, string(entry.get("version")) or "*"),
    )


def _roots(declared: Declared) -> Iterator[Edge]:
    """What the project itself asks for, as edges."""
    for line in declared.facts.lines(declared.extras, declared.groups):
        requirement = parsed(line)
        if requirement is not None:
            yield Edge(
                name=requirement.name,
                extras=tuple(sorted(requirement.extras)),
                marker=str(requirement.marker or ""),
                fits=functools.partial(_contains, requirement.specifier),
            )


def _contains(specifier: SpecifierSet, version: str) -> bool:
    return specifier.contains(version, prereleases=True)


# --- PDM -------------------------------------------------------------------------------------


def _pdm(document: Mapping[str, Any], declared: Declared, environment: Mapping[str, str]) -> Locked:
    """With the strategy inherit_metadata each package says its groups; before, the graph must be walked."""
    packages = [each for each in _packages(document) if _pdm_python(each, environment)]
    if not any("groups" in each for each in packages):
        return _pins(walk(_pdm_merged(packages), list(_roots(declared)), environment))
    wanted = {"default", *declared.extras, *declared.groups}
    locked = {canonicalize_name(group) for group in strings(table(document, "metadata").get("groups"))}
    missing = sorted(wanted - locked - {"default"})
    found = _pins(
        _pdm_node(each)
        for each in packages
        if wanted & set(map(canonicalize_name, strings(each.get("groups"))))
        and holds(string(each.get("marker")), environment)
    )
    return Locked(
        pins=found.pins, notes=(*found.notes, *(f"the lock does not hold the group {name}" for name in missing))
    )


def _pdm_python(package: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    try:
        wanted = SpecifierSet(string(package.get("requires_python")))
    except InvalidSpecifier:
        return True
    return wanted.contains(environment["python_full_version"], prereleases=True)


def _pdm_node(package: Mapping[str, Any]) -> Node:
    name, version = canonicalize_name(package["name"]), string(package.get("version"))
    hashes = _hashes(package.get("files"), "hash")
    pin: Pin | None
    if url := string(package.get("git")):
        pin = Pin(
            name=name, version=version, url=f"git+{url}@{package.get('revision') or package.get('ref') or 'HEAD'}"
        )
    elif url := string(package.get("url")):
        pin = Pin(name=name, version=version, url=url, hashes=hashes)
    elif "path" in package:
        pin = None
    else:
        pin = Pin(name=name, version=version, hashes=hashes)
    edges = []
    for line in strings(package.get("dependencies")):
        requirement = parsed(line)
        if requirement is not None:
            edges.append(
                Edge(
                    name=requirement.name,
                    extras=tuple(sorted(requirement.extras)),
                    marker=str(requirement.marker or ""),
                    fits=functools.partial(_contains, requirement.specifier),
                )
            )
    extras: list[str] = [canonicalize_name(extra) for extra in strings(package.get("extras"))]
    return Node(name=name, version=version, pin=pin, edges={extra: tuple(edges) for extra in extras or [""]})


def _pdm_merged(packages: Iterable[Mapping[str, Any]]) -> list[Node]:
    """PDM lists a package once more for each set of its extras."""
    found: dict[tuple[str, str], Node] = {}
    for node in map(_pdm_node, packages):
        key = (node.name, node.version)
        before = found.get(key)
        if before is not None:
            node = Node(
                name=node.name, version=node.version, pin=before.pin or node.pin, edges={**before.edges, **node.edges}
            )
        found[key] = node
    return list(found.values())


# --- the standard ----------------------------------------------------------------------------


def _pylock(document: Mapping[str, Any], declared: Declared, environment: Mapping[str, str]) -> Locked:
    try:
        lock = Pylock.from_dict(document)
    except (PylockValidationError, PylockUnsupportedVersionError) as wrong:
        raise ConfigError(f"it is not valid: {wrong}", next_step="Renew it.") from wrong
    if lock.requires_python and not lock.requires_python.contains(environment["python_full_version"], prereleases=True):
        raise ConfigError(
            f"it is for Python {lock.requires_python}, and this is {environment['python_full_version']}.",
            next_step="Name another interpreter with `--python`.",
        )
    defaults = lock.default_groups or ()
    asked = {*declared.extras, *declared.groups}
    missing = asked - {*(lock.extras or ()), *(lock.dependency_groups or ()), *defaults}
    chosen: dict[str, Any] = {
        **environment,
        "extras": frozenset(declared.extras),
        "dependency_groups": frozenset({*declared.groups, *defaults}),
    }
    pins, notes = [], [f"the lock does not hold the extra or group {name}" for name in sorted(missing)]
    for package in lock.packages:
        if not _pylock_holds(package.marker, chosen):
            continue
        pin = _pylock_pin(package)
        if pin is None:
            notes.append(f"{package.name} is part of the tree or a local path, and was not installed")
        else:
            pins.append(pin)
    return Locked(pins=tuple(pins), notes=tuple(notes))


def _pylock_holds(marker: Marker | None, environment: Mapping[str, Any]) -> bool:
    return marker is None or marker.evaluate(dict(environment), context="lock_file")


def _pylock_pin(package: Package) -> Pin | None:
    version = str(package.version or "")
    files = [*(package.wheels or ()), *([package.sdist] if package.sdist else ())]
    if package.vcs is not None:
        vcs = package.vcs
        folder = f"#subdirectory={vcs.subdirectory}" if vcs.subdirectory else ""
        return Pin(name=package.name, version=version, url=f"{vcs.type}+{vcs.url}@{vcs.commit_id}{folder}")
    if package.archive is not None and package.archive.url:
        hashes = tuple(sorted(f"{kind}:{value}" for kind, value in package.archive.hashes.items()))
        return Pin(name=package.name, version=version, url=package.archive.url, hashes=hashes)
    if not files:
        return None
    hashes = tuple(sorted({f"{kind}:{value}" for file in files for kind, value in file.hashes.items()}))
    if not version:
        raise ConfigError(f"{package.name} has no version.", next_step="Renew it.")
    return Pin(name=package.name, version=version, hashes=hashes)


_Reader = Callable[[Mapping[str, Any], Declared, Mapping[str, str]], Locked]
_READERS: Mapping[Kind, _Reader] = {Kind.UV: _uv, Kind.POETRY: _poetry, Kind.PDM: _pdm, Kind.PYLOCK: _pylock}
