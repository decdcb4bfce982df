"""Files that hold pytest's settings beside others: which part changed, and head's part put on base's file.

Belongs here: pyproject.toml, setup.cfg and tox.ini as tables. Does not belong here: what a setting does.
pytest's settings go with the tests to base; the product's settings and dependencies stay as they were.
"""

from __future__ import annotations

import configparser
import itertools
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

_DEPENDENCY_TABLES = (
    re.compile(r"project\.(dependencies|optional-dependencies|requires-python)(\..*)?"),
    re.compile(r"(dependency-groups|build-system)(\..*)?"),
    re.compile(r"tool\.poetry\.((dev-)?dependencies|group\.[^.]+\.dependencies|extras|source)(\..*)?"),
    re.compile(r"tool\.(pdm\.dev-dependencies|uv(\.(dev-dependencies|sources|index|constraint-dependencies))?)(\..*)?"),
    re.compile(r"tool\.hatch\.envs\.[^.]+\.(extra-)?dependencies"),
    re.compile(r"options\.(install_requires|setup_requires|tests_require|extras_require(\..*)?|python_requires)"),
    re.compile(r"testenv(:[^.]*)?\.(deps|extras|constraints)"),
)
_PYTEST_SECTIONS = {
    "setup.cfg": "tool:pytest",
    **dict.fromkeys(("tox.ini", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"), "pytest"),
}
_INI_HEADER = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Which parts of a configuration file differ between two commits.

    ``other`` are the dotted names of whatever else differs; ``unreadable`` if a side cannot be parsed.
    """

    pytest: bool = False
    dependencies: bool = False
    other: tuple[str, ...] = ()
    unreadable: bool = False


def parts_changed(path: str, base: bytes | None, head: bytes | None) -> Parts:
    """Which parts of a mixed file differ; None is a file that is not there."""
    try:
        before, after = _flat(path, base), _flat(path, head)
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error, RecursionError):
        return Parts(pytest=True, dependencies=True, unreadable=True)
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    pytest = [name for name in names if _is_pytest(path, name)]
    dependencies = [name for name in names if any(table.fullmatch(name) for table in _DEPENDENCY_TABLES)]
    return Parts(
        pytest=bool(pytest),
        dependencies=bool(dependencies),
        other=tuple(name for name in names if name not in pytest and name not in dependencies),
    )


def graft(path: str, base: bytes | None, head: bytes | None) -> bytes | None:
    """Base's mixed file with head's pytest settings and nothing else of head; None where that cannot be done.

    What is done is checked by parsing: the settings are head's, and the rest is base's.
    """
    try:
        old, new = (base or b"").decode("utf-8"), (head or b"").decode("utf-8")
        blocks = _toml_blocks if path.endswith(".toml") else _ini_blocks
        grafted = _spliced(path, blocks(old), blocks(new)).encode("utf-8")
        wanted = {name: value for name, value in _flat(path, base).items() if not _is_pytest(path, name)}
        wanted |= {name: value for name, value in _flat(path, head).items() if _is_pytest(path, name)}
        return grafted if _flat(path, grafted) == wanted else None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error, RecursionError):
        return None


# In pytest's order: the first that has its section is the one it reads.
SETTINGS_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


@dataclass(frozen=True, kw_only=True, slots=True)
class NamesOfTests:
    """What pytest's settings say of where tests are: patterns of file names, and globs of folders."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def names_of_tests(contents: Mapping[str, bytes]) -> NamesOfTests:
    """``python_files`` and ``testpaths`` of a tree, by those of ``SETTINGS_FILES`` that it has at its top."""
    own = _of_pytest(contents)
    folders = (PurePosixPath(each).as_posix() for each in _words(own.get("testpaths")))
    return NamesOfTests(files=_words(own.get("python_files")), folders=tuple(folders))


def option(contents: Mapping[str, bytes], arguments: Iterable[str], name: str) -> str:
    """What a long option of pytest is given, in ``addopts`` of a tree's settings or in ``arguments``; the last one
    counts.
    """
    words = [*_words(_of_pytest(contents).get("addopts")), *arguments]
    found = [word.partition("=")[2] for word in words if word.startswith(f"{name}=")]
    found += [word for before, word in itertools.pairwise(words) if before == name]
    return found[-1] if found else ""


def _of_pytest(contents: Mapping[str, bytes]) -> dict[str, object]:
    """Pytest's own settings by their names, of the first of ``SETTINGS_FILES`` that has some."""
    for path in (each for each in SETTINGS_FILES if each in contents):
        try:
            flat = _flat(path, contents[path])
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, configparser.Error, RecursionError):
            continue
        alone = path.lstrip(".").startswith("pytest.")
        own = {name.rpartition(".")[2]: value for name, value in flat.items() if _is_pytest(path, name)}
        if own or alone:
            return own
    return {}


def _words(value: object) -> tuple[str, ...]:
    """A list of arguments as pytest reads it."""
    if isinstance(value, list):
        return tuple(map(str, value))
    try:
        return tuple(shlex.split(value)) if isinstance(value, str) else ()
    except ValueError:
        return ()


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block:
    """A table's header and everything up to the next one, as it stands."""

    name: str
    text: str


def _spliced(path: str, old: list[_Block], new: list[_Block]) -> str:
    kept = [block for block in old if not _is_pytest(path, block.name)]
    places = [at for at, block in enumerate(old) if _is_pytest(path, block.name)]
    at = places[0] if places else len(kept)
    before = "".join(block.text for block in kept[:at])
    grafted = "".join(_ended(block.text) for block in new if _is_pytest(path, block.name))
    return _ended(before) + grafted + "".join(block.text for block in kept[at:])


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"


def _toml_blocks(text: str) -> list[_Block]:
    """The tables of a TOML text. A line that looks like a header is one if everything above it is complete."""
    lines = text.splitlines(keepends=True) if "\r" not in text.replace("\r\n", "") else [text]
    starts: list[tuple[int, str]] = [(0, "")]
    for number, line in enumerate(lines):
        if line.lstrip().startswith("[") and (name := _toml_header(line)) and _is_toml("".join(lines[:number])):
            starts.append((number, name))
    ends = [number for number, _ in starts[1:]] + [len(lines)]
    return [_Block(name=name, text="".join(lines[start:end])) for (start, name), end in zip(starts, ends, strict=True)]


def _toml_header(line: str) -> str:
    try:
        inner: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ""
    names = []
    while isinstance(inner, (dict, list)) and inner:
        if isinstance(inner, list):
            inner = inner[0]
        else:
            name, inner = next(iter(inner.items()))
            names.append(name)
    return ".".join(names)


def _is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _ini_blocks(text: str) -> list[_Block]:
    found: list[_Block] = []
    name, lines = "", list[str]()
    for line in text.splitlines(keepends=True):
        if header := _INI_HEADER.match(line):
            found.append(_Block(name=name, text="".join(lines)))
            name, lines = header[1], []
        lines.append(line)
    return [*found, _Block(name=name, text="".join(lines))]


def _is_pytest(path: str, name: str) -> bool:
    section = _PYTEST_SECTIONS.get(PurePosixPath(path).name, "tool.pytest")
    return name == section or name.startswith(f"{section}.")


def _flat(path: str, content: bytes | None) -> dict[str, object]:
    """Every value by its dotted name; a list is one value, an empty table too."""
    text = (content or b"").decode("utf-8")
    if path.endswith(".toml"):
        return dict(_leaves(tomllib.loads(text)))
    parser = configparser.RawConfigParser(
        strict=False, allow_no_value=True, default_section="no section is the default", empty_lines_in_values=True
    )
    parser.optionxform = str  # type: ignore[assignment, method-assign] # names keep their case
    parser.read_string(text)
    return {f"{section}.{name}": value for section in parser.sections() for name, value in parser.items(section)}


def _leaves(data: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in data.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
