"""From a file, the environment and the command line to Settings.

Belongs here: finding and reading the file, precedence, and one message with every problem.
Does not belong here: what keys exist and what they may be (keys).
"""

from __future__ import annotations

import difflib
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from repro_gate.config.keys import DEFAULTS, KEYS, Schema, allowed, variable, written
from repro_gate.config.settings import Settings, Source
from repro_gate.errors import ConfigError, UsageError
from repro_gate.model import AXES

TABLE = "repro-gate"
OWN_FILE = "repro-gate.toml"
PYPROJECT = "pyproject.toml"
ROOT_MARKS = (PYPROJECT, OWN_FILE, "pytest.ini", "setup.cfg", "tox.ini", "setup.py", ".git")
PATHS = ("python", "env-cache", "capsules", "keep-runs")
LONGEST_VALUE = 80
_PREFIX = "REPRO_GATE_"
_MISSPELT = 0.75  # of the letters behind the prefix: RUN, AXIS and TEST_TIMEOUTS are, VERSION is not


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layer:
    """The values of one source, and how a message calls a key, and one that does not exist."""

    source: Source
    values: Mapping[str, object]
    label: Callable[[str], str]
    unknown: Callable[[str], str] = "unknown key {}".format


@dataclass(frozen=True, kw_only=True, slots=True)
class _File:
    """What the project's file holds; ``name`` is empty where no file speaks of repro-gate."""

    name: str = ""
    values: Mapping[str, object] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def find_root(start: Path) -> Path:
    """The nearest folder, from ``start`` upwards, that looks like a project's top; else ``start``."""
    start = start.resolve()
    if start.is_file():
        start = start.parent
    for folder in (start, *start.parents):
        if any((folder / mark).exists() for mark in ROOT_MARKS):
            return folder
    return start


def load(
    root: Path,
    overrides: Mapping[str, object],
    environ: Mapping[str, str],
    options: Mapping[str, str] = MappingProxyType({}),
) -> Settings:
    """The settings of the project at ``root``: command line over environment over file over default.

    An override of None is not given; ``options`` says what a key's option is called where it is not
    ``--key``. Raises ConfigError, or UsageError where only options are wrong, with every problem in
    one message.
    """
    file = _read(root)
    layers = (_file_layer(file), _environment_layer(environ), _command_line_layer(overrides, options))
    problems = {layer.source: _problems(layer) for layer in layers}
    problems[Source.FILE] = [*file.problems, *problems[Source.FILE]]
    misspelt, unknown = _unknown_variables(environ)
    problems[Source.ENVIRONMENT] += misspelt
    _refuse(problems)
    values = dict(DEFAULTS)
    sources: dict[str, Source] = {}
    for layer in layers:
        values.update(layer.values)
        sources.update(dict.fromkeys(layer.values, layer.source))
    return _settings(values, sources, file.name, unknown)


def _settings(
    values: Mapping[str, object], sources: Mapping[str, Source], file: str, notes: tuple[str, ...]
) -> Settings:
    checked = dict(Schema.model_validate(dict(values)))
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in checked.items()
    }
    return Settings(**fields, sources=MappingProxyType(dict(sources)), file=file, notes=notes)


def _refuse(problems: Mapping[Source, list[str]]) -> None:
    """Raise the one error that holds all problems, if there are any."""
    lines = [line for found in problems.values() for line in found]
    if not lines:
        return
    several = f"{len(lines)} problems in the configuration:\n" + "\n".join(f"  {line}" for line in lines)
    sentence = lines[0] if len(lines) == 1 else several
    if len(lines) == len(problems[Source.COMMAND_LINE]):
        raise UsageError(sentence)
    raise ConfigError(sentence)


# --- the file --------------------------------------------------------------------------------


def _read(root: Path) -> _File:
    """The keys of pyproject.toml's table or of repro-gate.toml; problems where both speak."""
    problems: list[str] = []
    pyproject = _parse(root / PYPROJECT, problems)
    own = _parse(root / OWN_FILE, problems)
    tool = pyproject.get("tool") if pyproject else None
    tools = tool if isinstance(tool, dict) else {}
    problems += [
        f"{PYPROJECT}: [{name}] is not read; did you mean [tool.{TABLE}]?"
        for name in _misspelt_tables(pyproject or {}, tools)
    ]
    if TABLE in tools and own is not None:
        problems.append(f"both {PYPROJECT} ([tool.{TABLE}]) and {OWN_FILE} configure repro-gate; keep one of them")
    if own is not None:
        return _File(name=OWN_FILE, values=own, problems=tuple(problems))
    if TABLE not in tools:
        return _File(problems=tuple(problems))
    table = tools[TABLE]
    if not isinstance(table, dict):
        problems.append(f"{PYPROJECT}: tool.{TABLE} = {_shown(table)}: must be a table")
        table = {}
    return _File(name=PYPROJECT, values=table, problems=tuple(problems))


def _parse(path: Path, problems: list[str]) -> dict[str, object] | None:
    """The file's TOML; None where there is no file, or where it is broken (then a problem more)."""
    if not path.exists():
        return None
    try:
        return parse_toml(path.name, path.read_bytes())
    except OSError as error:
        problems.append(f"{path.name}: cannot be read: {error.strerror}")
    except ConfigError as error:
        problems.append(str(error))
    return None


def parse_toml(name: str, content: bytes) -> dict[str, object]:
    """The tables of a file that holds ``content``. Raises ConfigError with its name and the line."""
    try:
        return tomllib.loads(content.decode())
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        problem = f"{name}:{line}: not valid TOML: not UTF-8"
    except (ValueError, RecursionError) as error:
        problem = _broken(name, content, str(error))
    raise ConfigError(problem, next_step=f"Correct {name}.")


def _broken(name: str, content: bytes, message: str) -> str:
    """tomllib's message with its line where editors and terminals look for it."""
    place = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if place is None:
        return f"{name}: not valid TOML: {message}"
    line = place[1] or max(1, len(content.splitlines()))
    return f"{name}:{line}: not valid TOML: {message[: place.start()]}"


def _misspelt_tables(document: Mapping[str, object], tools: Mapping[str, object]) -> list[str]:
    """Tables that only look like ours, such as [tool.repro_gate] or [repro-gate]."""

    def ours(name: str) -> bool:
        return re.sub(r"[-_. ]", "", name).lower() == "reprogate"

    found = [name for name in document if ours(name)]
    return found + [f"tool.{name}" for name in tools if name != TABLE and ours(name)]


def _file_layer(file: _File) -> _Layer:
    where = f"{PYPROJECT}: [tool.{TABLE}]" if file.name == PYPROJECT else f"{file.name}:"
    return _Layer(
        source=Source.FILE,
        values=file.values,
        label=lambda key: f"{where} {key}",
        unknown=lambda key: f'{where} unknown key "{key}"',
    )


# --- variables and options -------------------------------------------------------------------


def _environment_layer(environ: Mapping[str, str]) -> _Layer:
    """The keys that variables set; an empty variable is not set (CI passes absent inputs so)."""
    given = {name: environ.get(variable(name), "").strip() for name in KEYS}
    values = {name: _from_text(name, text) for name, text in given.items() if text}
    return _Layer(source=Source.ENVIRONMENT, values=values, label=variable)


def _command_line_layer(overrides: Mapping[str, object], options: Mapping[str, str]) -> _Layer:
    """The keys that options set; one that is None was not given."""
    given = {option.replace("_", "-"): value for option, value in overrides.items() if value is not None}
    return _Layer(
        source=Source.COMMAND_LINE,
        values={name: _from_working_directory(name, _from_option(name, value)) for name, value in given.items()},
        label=lambda key: options.get(key, f"--{key}"),
        unknown=lambda key: f"there is no option --{key}",
    )


def _from_option(name: str, value: object) -> object:
    """The value of an option as the file would hold it."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str):
        return _from_text(name, value) if name in KEYS else value
    return list(value) if isinstance(value, Iterable) else value


def _from_working_directory(name: str, value: object) -> object:
    """A relative path on a command line is seen from where the user is, not from the root."""
    if name not in PATHS or not isinstance(value, str) or not value or "\0" in value:
        return value
    if name == "python" and Path(value).name == value:
        return value
    return str(Path(value).absolute())


def _from_text(name: str, text: str) -> object:
    """A value from its text; what cannot be read stays text, and is refused by the schema."""
    kind = KEYS[name].kind
    if text == "none" and isinstance(DEFAULTS[name], list):
        return []
    if text == "none" and DEFAULTS[name] is None:
        return None
    if text == "all" and DEFAULTS[name] == list(AXES):
        return list(AXES)
    try:
        match kind:
            case "whole":
                return int(text)
            case "number":
                return float(text)
            case "names":
                return [part for part in re.split(r"[\s,]+", text) if part]
            case "words":
                return shlex.split(text)
            case "commands":
                return [line.strip() for line in text.splitlines() if line.strip()]
            case "text":
                return text
    except ValueError:
        return text


def _unknown_variables(environ: Mapping[str, str]) -> tuple[list[str], tuple[str, ...]]:
    """Variables of our prefix that are no setting: those nearly one are problems, the others notes.

    A CI may have some of its own (a version to install, a token): only what is near a key is
    taken for a misspelt one. An empty variable is not set.
    """
    known = [variable(name) for name in KEYS]
    given = sorted(name for name in environ if name.startswith(_PREFIX) and name not in known and environ[name].strip())
    suffixes = {name.removeprefix(_PREFIX): name for name in known}
    problems, notes = [], []
    for name in given:
        near = difflib.get_close_matches(name.removeprefix(_PREFIX).upper(), suffixes, n=1, cutoff=_MISSPELT)
        if near:
            problems.append(f"{name} is not a setting; did you mean {suffixes[near[0]]}?")
        else:
            notes.append(f"{name} is not a setting of repro-gate, and is not read")
    return problems, tuple(notes)


# --- problems --------------------------------------------------------------------------------


def _problems(layer: _Layer) -> list[str]:
    """Everything that is wrong with one layer, a line each."""
    try:
        Schema.model_validate(dict(layer.values))
    except ValidationError as error:
        return [_sentence(layer, detail) for detail in error.errors(include_url=False, include_context=False)]
    return []


def _sentence(layer: _Layer, detail: ErrorDetails) -> str:
    key, *inner = map(str, detail["loc"])
    if detail["type"] == "extra_forbidden":
        return f"{layer.unknown(key)}{_hint(key, KEYS)}"
    value = detail["input"]
    element = "".join(f"[{index}]" for index in inner)
    if isinstance(value, str) and inner and key in ("axes", "without-axes"):
        return f"{layer.label(key)}{element}: there is no axis {_shown(value)}{_hint(value, AXES)}; the axes are {', '.join(AXES)}"
    return f"{layer.label(key)}{element} = {_shown(value)}: must be {allowed(key)}"


def _hint(name: str, known: Iterable[str]) -> str:
    """Did-you-mean, or nothing where nothing is near."""
    near = difflib.get_close_matches(name.lower().replace("_", "-"), list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


def _shown(value: object) -> str:
    text = written(value)
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"
