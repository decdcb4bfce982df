"""What is known of tests before they run: where they come from, and why some could not be collected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from repro_gate.model.outcome import Failure

FixturePlace = tuple[str, str, int]  # name, tree-relative file, line


@dataclass(frozen=True, kw_only=True, slots=True)
class Lenient:
    """Product modules and symbols (``pkg.mod:name``) whose absence test modules may survive importing.

    ``tests`` are those that are there though their file cannot be imported, and fail by what it raises.
    """

    modules: frozenset[str] = frozenset()
    symbols: frozenset[str] = frozenset()
    tests: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.modules or self.symbols or self.tests)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        found = {"modules": sorted(self.modules), "symbols": sorted(self.symbols)}
        return {**found, "tests": sorted(self.tests)} if self.tests else found


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemFacts:
    """One collected test. Files are relative to the tree, with slashes.

    ``original`` is its name without parameters, ``params`` their reprs, ``index`` its number among
    equal ``file::class::original``. ``fingerprint`` is equal for equal code wherever it stands;
    ``reads_modules`` are the files of test support that this code reaches; ``network`` is the reason for
    which it may use the network (its mark ``repro_network``), or empty; ``asks``: what names in its code ask for:
    ``docs`` (``__doc__``), ``code`` (``co_names``, ``__annotations__``), ``files`` (``exists``).
    """

    id: str
    file: str
    kind: str
    original: str
    params: str
    index: int
    span: tuple[int, int]
    fixtures: tuple[FixturePlace, ...]
    fingerprint: str
    reads_modules: tuple[str, ...]
    network: str = ""
    asks: frozenset[str] = frozenset()

    @classmethod
    def from_json(cls, test: str, data: Mapping[str, Any], table: Mapping[str, Any]) -> ItemFacts:
        """From the wire, where ``table`` holds what many items share.

        Raises KeyError, TypeError, IndexError or ValueError on another shape.
        """
        first, last = data["span"]
        return cls(
            id=test,
            file=str(data["file"]),
            kind=str(data["kind"]),
            original=str(data["original"]),
            params=str(data.get("params", "")),
            index=int(data.get("index", 0)),
            span=(int(first), int(last)),
            fixtures=tuple(_fixture(table["fixtures"][int(number)]) for number in data.get("fixtures", ())),
            fingerprint=str(data["fingerprint"]),
            network=str(data.get("network", "")),
            asks=frozenset(map(str, data.get("asks", ()))),
            reads_modules=tuple(str(table["files"][int(number)]) for number in data.get("reads", ())),
        )


def _fixture(data: Any) -> FixturePlace:
    name, file, line = data
    return str(name), str(file), int(line)


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectFailure:
    """Why a node could not be collected, and what it names that is not there.

    ``missing_symbols`` are ``module:name``, or ``:name`` where no module is known; ``text`` is pytest's own report;
    ``place`` is the node's file in the tree where pytest's root is below its top, else empty.
    """

    node: str
    failure: Failure
    missing_modules: tuple[str, ...] = ()
    missing_symbols: tuple[str, ...] = ()
    text: str = ""
    place: str = ""

    @property
    def file(self) -> str:
        """The node's file, relative to the tree as in facts of tests."""
        return self.place or self.node.partition("::")[0]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> CollectFailure:
        """From the wire. Raises KeyError, TypeError or ValueError on another shape."""
        return cls(
            node=str(data["node"]),
            failure=Failure.from_json(data["f"]),
            missing_modules=tuple(map(str, data.get("modules", ()))),
            missing_symbols=tuple(map(str, data.get("symbols", ()))),
            text=str(data.get("text", "")),
        )
