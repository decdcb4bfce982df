"""Poetry's own words for versions and dependencies, in the words of the standards.

Belongs here: ``^1.2``, ``~1.2``, dependency tables. Does not belong here: files and choices
(facts, locks).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name

from repro_gate.environment.files import string, strings


def specifiers(constraint: str) -> tuple[SpecifierSet, ...]:
    """The alternatives of a constraint (``||``), each as a set of standard specifiers.

    Raises InvalidSpecifier where it is neither Poetry's nor the standard's.
    """
    return tuple(_alternative(part) for part in re.split(r"\s*\|\|?\s*", constraint.strip()))


def _alternative(text: str) -> SpecifierSet:
    parts = re.sub(r"([<>=!~^]=?)\s+", r"\1", text)
    return SpecifierSet(",".join(bound for part in re.split(r"[\s,]+", parts) if part for bound in _bounds(part)))


def _bounds(part: str) -> Iterator[str]:
    if part in ("*", ""):
        return
    if part[0] == "^":
        yield from _range(part[1:], _first_nonzero(part[1:]))
    elif part[0] == "~" and part[1:2] != "=":
        yield from _range(part[1:], min(1, part[1:].count(".")))
    elif part[0].isdigit():
        yield f"=={part}"
    else:
        yield part


def _first_nonzero(version: str) -> int:
    """Which number of a version a caret lets stand: the first that is not zero."""
    numbers = _numbers(version)
    return next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)


def _range(version: str, fixed: int) -> Iterator[str]:
    numbers = _numbers(version)
    upper = [*numbers[:fixed], numbers[fixed] + 1]
    yield f">={version}"
    yield f"<{'.'.join(map(str, upper))}"


def _numbers(version: str) -> list[int]:
    release = re.match(r"\d+(\.\d+)*", version)
    if release is None:
        raise InvalidSpecifier(f"Invalid version: {version!r}")
    return [int(number) for number in release[0].split(".")]


def allows(constraint: str, version: str) -> bool:
    """Whether a constraint lets a version through; one that nobody can read lets all."""
    try:
        return any(each.contains(version, prereleases=True) for each in specifiers(constraint))
    except InvalidSpecifier:
        return True


def python_marker(constraint: str) -> str:
    """A constraint on Python as a marker, or nothing for any Python."""
    try:
        alternatives = [
            " and ".join(f'python_full_version {each.operator} "{each.version}"' for each in one)
            for one in specifiers(constraint)
        ]
    except InvalidSpecifier:
        return ""
    return " or ".join(alternatives) if all(alternatives) else ""


def requirements(name: str, value: object) -> Iterator[tuple[str, bool]]:
    """A dependency of ``[tool.poetry.dependencies]`` as requirement lines, and whether each is optional.

    A local path gives none: by its name alone, an index might hold something else.
    """
    if canonicalize_name(name) == "python":
        return
    for each in value if isinstance(value, list) else [value]:
        entry: Mapping[str, object] = each if isinstance(each, dict) else {"version": each}
        if "path" not in entry:
            yield _line(name, entry), entry.get("optional") is True


def _line(name: str, entry: Mapping[str, object]) -> str:
    extras = strings(entry.get("extras"))
    head = f"{name}[{','.join(extras)}]" if extras else name
    markers = [string(entry.get("markers")), python_marker(string(entry.get("python")))]
    marker = " and ".join(f"({part})" for part in markers if part)
    return f"{head}{_where(entry)}" + (f" ; {marker}" if marker else "")


def _where(entry: Mapping[str, object]) -> str:
    if url := string(entry.get("git")):
        reference = next((string(entry[key]) for key in ("rev", "tag", "branch") if entry.get(key)), "")
        return f" @ git+{url}" + (f"@{reference}" if reference else "")
    if url := string(entry.get("url")):
        return f" @ {url}"
    try:
        alternatives = specifiers(string(entry.get("version")) or "*")
    except InvalidSpecifier:
        return ""
    # The standard knows no "or": a union is left to the resolver.
    return str(alternatives[0]) if len(alternatives) == 1 else ""
