"""What installing the product would add beside its files: metadata, entry points, scripts.

Belongs here: a ``.dist-info`` without code, so that ``importlib.metadata`` answers on either side
and imports still come from the side's own tree. Does not belong here: dependencies (plan).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from repro_gate.config import parse_toml
from repro_gate.environment.described import described
from repro_gate.environment.facts import PYPROJECT, Facts
from repro_gate.environment.files import Tree, string, strings, table, text_of
from repro_gate.environment.importable import Importable

UNKNOWN = "0+unknown"

_ASSIGNED = re.compile(r"^\s*(?:__version__|VERSION|version)\b[^=\n]*=\s*['\"]([^'\"]+)['\"]", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """What one tree needs beside an environment to look installed.

    ``metadata`` and ``scripts`` are files below ``lib`` (for PYTHONPATH) and ``bin`` (for PATH);
    ``generated`` are files that a build would write into the tree, by their path there.
    """

    version: str
    metadata: Mapping[str, str]
    scripts: Mapping[str, str]
    generated: Mapping[str, str]
    notes: tuple[str, ...]


def side_of(tree: Tree, facts: Facts, importable: Importable, python: str, *, otherwise: str = "") -> Side:
    """The side of a tree; scripts are run by ``python``.

    ``otherwise`` is a version from elsewhere, such as git's tag, where the tree's files tell none.
    """
    if not facts.name:
        return Side(version="", metadata={}, scripts={}, generated={}, notes=("the project has no name: no metadata",))
    version = _version(tree, facts, importable) or _standard(otherwise)
    notes = () if version else (f"the version of {facts.name} is not in its files: it is given as {UNKNOWN}",)
    version = version or UNKNOWN
    folder = f"{canonicalize_name(facts.name).replace('-', '_')}-{version}.dist-info"
    metadata = {f"{folder}/METADATA": described(tree, _needed(facts, version)), f"{folder}/INSTALLER": "repro-gate\n"}
    if points := "\n".join(_entry_points(facts)):
        metadata[f"{folder}/entry_points.txt"] = f"{points}\n"
    scripts = {name: _script(target, python) for name, target in facts.scripts.items() if _plain(name)}
    generated = {path: _version_file(version) for path in _version_files(tree) if path not in tree}
    return Side(version=version, metadata=metadata, scripts=scripts, generated=generated, notes=notes)


def write_side(side: Side, directory: Path) -> None:
    """Write ``lib`` and ``bin`` into a directory; what is generated is for the caller's copy of the tree."""
    for folder, files, mode in (("lib", side.metadata, 0o644), ("bin", side.scripts, 0o755)):
        for name, text in files.items():
            path = directory / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            path.chmod(mode)


def _plain(name: str) -> bool:
    return "/" not in name and name not in ("", ".", "..")


def _needed(facts: Facts, version: str) -> str:
    """What every project has, and what it requires."""
    lines = ["Metadata-Version: 2.1", f"Name: {facts.name}", f"Version: {version}"]
    if facts.requires_python:
        lines.append(f"Requires-Python: {facts.requires_python}")
    lines += [f"Requires-Dist: {line}" for line in facts.dependencies]
    for extra, needed in facts.extras.items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f"Requires-Dist: {_of_extra(line, extra)}" for line in needed]
    return "\n".join(line.replace("\n", " ") for line in lines) + "\n\n"


def _of_extra(line: str, extra: str) -> str:
    head, _, marker = line.partition(";")
    condition = f'extra == "{extra}"'
    return f"{head.strip()} ; ({marker.strip()}) and {condition}" if marker else f"{head.strip()} ; {condition}"


def _entry_points(facts: Facts) -> Iterator[str]:
    groups = {"console_scripts": facts.scripts, **facts.entry_points}
    for group, entries in groups.items():
        if entries:
            yield f"[{group}]"
            yield from (f"{name} = {target}" for name, target in entries.items())


def _script(target: str, python: str) -> str:
    """What an installer writes for a console script."""
    module, _, attribute = target.partition("[")[0].strip().partition(":")
    first = attribute.partition(".")[0]
    call = f"from {module} import {first}\nsys.exit({attribute}())" if attribute else f"import {module}"
    return f"#!{python}\nimport sys\n{call}\n"


def _version(tree: Tree, facts: Facts, importable: Importable) -> str:
    """The version that the files tell, in the standard's form, or nothing."""
    found = facts.version or next(
        (text for path in _version_sources(tree, importable) if (text := _read(tree, path))), ""
    )
    return _standard(found)


def _standard(version: str) -> str:
    """A version in the standard's form, or nothing for what is none."""
    try:
        return str(Version(version))
    except InvalidVersion:
        return ""


def _version_sources(tree: Tree, importable: Importable) -> Iterator[str]:
    """Files that may hold the version: those that the configuration names, else the package's own."""
    document = parse_toml(PYPROJECT, tree[PYPROJECT]) if PYPROJECT in tree else {}
    tool = table(document, "tool")
    for named in (table(tool, "hatch", "version").get("path"), table(tool, "pdm", "version").get("path")):
        yield string(named)
    dynamic = table(tool, "setuptools", "dynamic", "version")
    yield from strings(dynamic.get("file")) or (string(dynamic.get("file")),)
    attributes = [string(dynamic.get("attr"))]
    attributes += re.findall(r"^version\s*=\s*attr:\s*(\S+)", text_of(tree, "setup.cfg"), re.MULTILINE)
    yield from re.findall(r"^version\s*=\s*file:\s*(\S+)", text_of(tree, "setup.cfg"), re.MULTILINE)
    modules = [attribute.rpartition(".")[0].replace(".", "/") for attribute in attributes if attribute]
    modules += [
        f"{package}{end}" for package in importable.packages for end in ("", "/_version", "/version", "/__about__")
    ]
    for root in importable.roots:
        for module in modules:
            for path in (f"{module}.py", f"{module}/__init__.py"):
                yield f"{root}/{path}" if root else path


def _read(tree: Tree, path: str) -> str:
    text = text_of(tree, path) if path else ""
    found = _ASSIGNED.search(text)
    if found:
        return found[1]
    return text.strip() if path.upper().endswith(("VERSION", "VERSION.TXT")) else ""


def _version_files(tree: Tree) -> Iterator[str]:
    """Files that setuptools-scm or hatch-vcs write while building, and that the product imports."""
    document = parse_toml(PYPROJECT, tree[PYPROJECT]) if PYPROJECT in tree else {}
    tool = table(document, "tool")
    scm = table(tool, "setuptools_scm")
    vcs = table(tool, "hatch", "build", "hooks", "vcs")
    yield from (
        path for path in map(string, (scm.get("version_file"), scm.get("write_to"), vcs.get("version-file"))) if path
    )


def _version_file(version: str) -> str:
    parsed = Version(version)
    parts = ", ".join([*map(str, parsed.release), *([repr(parsed.local)] if parsed.local else [])])
    return (
        f"__version__ = version = {version!r}\n"
        f"__version_tuple__ = version_tuple = ({parts},)\n"
        "__commit_id__ = commit_id = None\n"
    )
