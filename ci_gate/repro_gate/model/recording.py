"""A whole instrumented run: what each test came to, and which lines and branches it ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from repro_gate.model.outcome import Outcome
from repro_gate.model.trace import Arc, Trace


@dataclass(frozen=True)
class Recording:
    """One run of all tests of a side, with what each of them ran.

    ``whole`` False: it did not go to its end, or a control did not hold, and ``why`` says so. ``away`` is what of it
    ran in child processes alone. ``at_import`` ran while modules were imported, before any test. ``seconds`` is the
    run's time (``seconds_of`` each test's), ``python`` that of its interpreter.
    """

    outcomes: Mapping[str, Outcome] = field(default_factory=lambda: MappingProxyType({}))
    by_test: Mapping[str, tuple[Trace, ...]] = field(default_factory=lambda: MappingProxyType({}))
    away: Mapping[str, tuple[Trace, ...]] = field(default_factory=lambda: MappingProxyType({}))
    at_import: tuple[Trace, ...] = ()
    seconds: float = 0.0
    seconds_of: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    whole: bool = True
    why: str = ""
    python: str = ""

    @cached_property
    def import_lines(self) -> Mapping[str, frozenset[int]]:
        """By file, the lines that ran while it was imported, before any test."""
        return MappingProxyType({trace.path: trace.numbers() for trace in self.at_import})

    @cached_property
    def child_lines(self) -> Mapping[str, frozenset[int]]:
        """By file, the lines that ran in child processes of tests and in no process of pytest."""
        if not self.away:
            return MappingProxyType({})
        theirs: dict[str, set[int]] = {}
        own: dict[str, set[int]] = {path: set(lines) for path, lines in self.import_lines.items()}
        for test, traces in self.by_test.items():
            away = {trace.path: trace.numbers() for trace in self.away.get(test, ())}
            for path, lines in away.items():
                theirs.setdefault(path, set()).update(lines)
            for trace in traces:
                own.setdefault(trace.path, set()).update(trace.numbers() - away.get(trace.path, frozenset()))
        return MappingProxyType({path: frozenset(lines - own.get(path, set())) for path, lines in theirs.items()})

    @cached_property
    def _by_line(self) -> Mapping[str, Mapping[int, tuple[str, ...]]]:
        found: dict[str, dict[int, list[str]]] = {}
        for test, traces in self.by_test.items():
            for trace in traces:
                lines = found.setdefault(trace.path, {})
                for line in trace.numbers():
                    lines.setdefault(line, []).append(test)
        return {path: {line: tuple(tests) for line, tests in lines.items()} for path, lines in found.items()}

    @cached_property
    def _places(self) -> Mapping[str, int]:
        return {test: place for place, test in enumerate(self.by_test)}

    def tests_of(self, path: str, lines: Iterable[int]) -> tuple[str, ...]:
        """The tests that ran one of these lines of a file, in the order in which they ran."""
        by_line = self._by_line.get(path, {})
        hit = {test for line in lines for test in by_line.get(line, ())}
        return tuple(sorted(hit, key=self._places.__getitem__))

    def ran(self, path: str, tests: Iterable[str] | None = None) -> tuple[frozenset[int], frozenset[Arc]]:
        """Lines and arcs of a file that ran at import or in these tests (None: in any)."""
        chosen = self.by_test.values() if tests is None else (self.by_test.get(test, ()) for test in tests)
        traces = {trace for each in (self.at_import, *chosen) for trace in each if trace.path == path}
        lines = frozenset[int]().union(*(trace.numbers() for trace in traces))
        return lines, frozenset[Arc]().union(*(trace.pairs() for trace in traces))
