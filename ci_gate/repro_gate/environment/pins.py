"""Pinned packages, and the walk through a lock that says what needs what.

Belongs here: the pin, its line for pip, and the graph that lock formats without a flat list share.
Does not belong here: any one format (locks).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.markers import InvalidMarker, Marker
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from repro_gate.errors import ConfigError


@dataclass(frozen=True, kw_only=True, slots=True, order=True)
class Pin:
    """One package at one version. ``url`` is a direct reference, where no index has it."""

    name: str
    version: str
    url: str = ""
    hashes: tuple[str, ...] = ()

    def line(self) -> str:
        """The requirement as pip takes it."""
        head = f"{self.name} @ {self.url}" if self.url else f"{self.name}=={self.version}"
        return " ".join([head, *(f"--hash={each}" for each in self.hashes)])


@dataclass(frozen=True, kw_only=True, slots=True)
class Edge:
    """What a package needs: a name, the extras of it, and when; ``under`` is the extra that asks for it."""

    name: str
    extras: tuple[str, ...] = ()
    marker: str = ""
    under: str = ""
    fits: Callable[[str], bool] = field(default=lambda _: True)


@dataclass(frozen=True, kw_only=True, slots=True)
class Node:
    """A locked package: its pin (None for a local one, never installed), and its edges by extra ("" for always)."""

    name: str
    version: str
    pin: Pin | None
    edges: Mapping[str, Sequence[Edge]]
    markers: tuple[str, ...] = ()


def holds(marker: str, environment: Mapping[str, str], extras: Iterable[str] = ()) -> bool:
    """Whether a marker holds with any of the extras, or without; an empty one does.

    Raises ConfigError for what is no marker.
    """
    if not marker:
        return True
    try:
        parsed = Marker(marker)
    except InvalidMarker as wrong:
        raise ConfigError(f"The lock file holds {marker!r}, which is no environment marker.") from wrong
    return any(parsed.evaluate({**environment, "extra": extra}) for extra in ("", *extras))


def walk(nodes: Sequence[Node], roots: Sequence[Edge], environment: Mapping[str, str]) -> list[Node]:
    """Every node that the roots need in this environment, sorted. Raises ConfigError for one that is not locked."""
    by_name: dict[str, list[Node]] = {}
    for node in nodes:
        by_name.setdefault(node.name, []).append(node)
    queue, done, found = list(roots), set[tuple[str, str, str]](), dict[tuple[str, str], Node]()
    while queue:
        edge = queue.pop()
        if not holds(edge.marker, environment, (edge.under,)):
            continue
        node = _chosen(edge, by_name.get(canonicalize_name(edge.name), ()), environment)
        found[node.name, node.version] = node
        for extra in ("", *map(canonicalize_name, edge.extras)):
            if (node.name, node.version, extra) not in done:
                done.add((node.name, node.version, extra))
                queue += node.edges.get(extra, ())
    return [found[key] for key in sorted(found)]


def _chosen(edge: Edge, candidates: Iterable[Node], environment: Mapping[str, str]) -> Node:
    fitting = [
        node
        for node in candidates
        if edge.fits(node.version) and (not node.markers or any(holds(each, environment) for each in node.markers))
    ]
    if not fitting:
        raise ConfigError(
            f"The lock file does not hold {edge.name}, which another package or the project needs.",
            next_step="Renew the lock file.",
        )
    return max(fitting, key=lambda node: _ordered(node.version))


def _ordered(version: str) -> tuple[int, Version]:
    try:
        return 1, Version(version)
    except InvalidVersion:
        return 0, Version("0")


def distinct(pins: Iterable[Pin]) -> tuple[Pin, ...]:
    """Pins in order of their names. Raises ConfigError where one package is pinned to two versions."""
    found = sorted(set(pins))
    for first, second in itertools.pairwise(found):
        if first.name == second.name:
            raise ConfigError(
                f"The lock file pins {first.name} to {first.version} and to {second.version} for this interpreter.",
                next_step="Choose one of the conflicting extras or groups by `extras` and `groups`.",
            )
    return tuple(found)
