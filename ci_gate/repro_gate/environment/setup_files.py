"""What setup.cfg, setup.py and tox.ini say, read and never run.

Belongs here: the literal parts of these files. What a setup.py computes stays unknown and is named
in ``Facts.computed``.
"""

from __future__ import annotations

import ast
import configparser
import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.utils import canonicalize_name

from repro_gate.environment.facts import Facts, parsed
from repro_gate.environment.files import Tree, string, strings, text_of
from repro_gate.errors import ConfigError

_BUILDING = re.compile(r"\b(ext_modules|cythonize|rust_extensions|cffi_modules|mypycify|build_ext)\b")


def from_setup_files(tree: Tree) -> Facts:
    """What setup.cfg and setup.py say; the first wins. Raises ConfigError where setup.cfg cannot be read."""
    configured, programmed = _setup_cfg(tree), _setup_py(tree)
    return Facts(
        name=configured.name or programmed.name,
        version=configured.version or programmed.version,
        requires_python=configured.requires_python or programmed.requires_python,
        dependencies=configured.dependencies or programmed.dependencies,
        extras={**programmed.extras, **configured.extras},
        scripts={**programmed.scripts, **configured.scripts},
        entry_points={**programmed.entry_points, **configured.entry_points},
        computed=() if configured.dependencies else programmed.computed,
        needs_build=programmed.needs_build,
    )


def merged(first: Facts, second: Facts) -> Facts:
    """What ``first`` says, and what only ``second`` says."""
    told = first.dependencies or first.name
    changes: dict[str, Any] = {
        field: getattr(second, field)
        for field in ("name", "version", "requires_python", "scripts", "needs_build")
        if not getattr(first, field)
    }
    if not told or "dependencies" in first.computed:
        changes["dependencies"] = first.dependencies or second.dependencies
    changes["extras"] = {**second.extras, **first.extras}
    changes["entry_points"] = {**second.entry_points, **first.entry_points}
    changes["computed"] = _still_computed(first, second, bool(told))
    return dataclasses.replace(first, **changes)


def _still_computed(first: Facts, second: Facts, told: bool) -> tuple[str, ...]:
    left = {part for part in first.computed if not (second.dependencies if part == "dependencies" else second.extras)}
    if not told or left:
        left |= set(second.computed)
    return tuple(sorted(left))


def tox_deps(tree: Tree) -> tuple[str, ...]:
    """The plain requirements of ``[testenv] deps`` in tox.ini, without what tox would substitute."""
    return tuple(line for line in _lines(_testenv(tree, "deps")) if parsed(line) is not None and "{" not in line)


def tox_extras(tree: Tree) -> tuple[str, ...]:
    """The extras of ``[testenv]`` in tox.ini, one a line or with commas between them, by canonical name."""
    names = (name.strip() for line in _lines(_testenv(tree, "extras")) for name in line.split(","))
    return tuple(canonicalize_name(name) for name in names if name and not set("{}:") & set(name))


def _testenv(tree: Tree, key: str) -> str:
    """A key of ``[testenv]``; nothing where tox.ini cannot be read: it is a hint only, nobody asked for this file."""
    try:
        return _ini("tox.ini", tree).get("testenv", key, fallback="")
    except ConfigError:
        return ""


def _ini(name: str, tree: Tree) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text_of(tree, name), source=name)
    except configparser.Error as error:
        line = getattr(error, "lineno", None) or next((at for at, _ in getattr(error, "errors", ())), 1)
        first = str(error).splitlines()[0]
        raise ConfigError(f"{name}:{line}: cannot be read: {first}", next_step=f"Correct {name}.") from error
    return parser


def _lines(text: str) -> tuple[str, ...]:
    stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return tuple(line for line in stripped if line)


def _setup_cfg(tree: Tree) -> Facts:
    parser = _ini("setup.cfg", tree)

    def section(name: str) -> dict[str, str]:
        return dict(parser.items(name)) if parser.has_section(name) else {}

    metadata, options = section("metadata"), section("options")
    groups = {group: _assignments(text) for group, text in section("options.entry_points").items()}
    return Facts(
        name=metadata.get("name", "").strip(),
        version=_literal_version(metadata.get("version", "").strip()),
        requires_python=options.get("python_requires", "").strip(),
        dependencies=_lines(options.get("install_requires", "")),
        extras={canonicalize_name(name): _lines(text) for name, text in section("options.extras_require").items()},
        scripts=groups.pop("console_scripts", {}),
        entry_points=groups,
    )


def _literal_version(text: str) -> str:
    return "" if text.startswith(("attr:", "file:")) else text


def _assignments(text: object) -> dict[str, str]:
    """``name = module:function`` lines as a mapping."""
    lines = _lines(text) if isinstance(text, str) else strings(text)
    pairs = (line.partition("=") for line in lines)
    return {name.strip(): value.strip() for name, _, value in pairs if value.strip()}


def _setup_py(tree: Tree) -> Facts:
    text = text_of(tree, "setup.py")
    if not text:
        return Facts()
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise ConfigError(f"setup.py:{error.lineno}: {error.msg}", next_step="Correct setup.py.") from error
    arguments = dict(_arguments(module))
    unknown = {name for name, value in arguments.items() if value is None}
    extras = arguments.get("extras_require")
    entry_points = arguments.get("entry_points")
    groups = {group: _assignments(text) for group, text in _as_dict(entry_points).items()}
    return Facts(
        name=string(arguments.get("name")),
        version=string(arguments.get("version")),
        requires_python=string(arguments.get("python_requires")),
        dependencies=_requirement_lines(arguments.get("install_requires")),
        extras={canonicalize_name(name): _requirement_lines(lines) for name, lines in _as_dict(extras).items()},
        scripts=groups.pop("console_scripts", {}),
        entry_points=groups,
        computed=tuple(
            part
            for part, name in (("dependencies", "install_requires"), ("optional-dependencies", "extras_require"))
            if name in unknown or "**" in unknown
        ),
        needs_build="setup.py builds extensions" if _BUILDING.search(text) else "",
    )


def _as_dict(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _requirement_lines(value: object) -> tuple[str, ...]:
    return _lines(value) if isinstance(value, str) else strings(value)


def _arguments(module: ast.Module) -> Iterator[tuple[str, object]]:
    """The arguments of the ``setup`` call; None for a value that only running would tell."""
    names = {
        target.id: node.value
        for node in module.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and _called(node.func) == "setup":
            for keyword in node.keywords:
                yield keyword.arg or "**", _value(keyword.value, names)


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _value(node: ast.expr, names: Mapping[str, ast.expr]) -> object:
    """A literal, with the module's own names and ``+`` of lists in it; None for anything else."""
    try:
        return _literal(node, names)
    except (ValueError, TypeError, RecursionError):
        return None


def _literal(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    match node:
        case ast.Name(id=name) if name in names:
            return _literal(names[name], {other: value for other, value in names.items() if other != name})
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements):
            return [_literal(element, names) for element in elements]
        case ast.Dict(keys=keys, values=values) if None not in keys:
            pairs = zip(keys, values, strict=True)
            return {_literal(key, names): _literal(value, names) for key, value in pairs if key is not None}
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            return _literal(left, names) + _literal(right, names)
        case _:
            return ast.literal_eval(node)
