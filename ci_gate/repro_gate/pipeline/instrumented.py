"""The instrumented runs of a check: made when a gate first asks, once, and shared by all that ask.

Belongs here: keeping them. Does not belong here: how they are run (gates.coverage.runs), and what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from repro_gate.change import statements
from repro_gate.experiment import encoded
from repro_gate.gates.coverage import ChangedFile, record, record_believed
from repro_gate.gates.coverage.runs import Lines
from repro_gate.gates.fail_to_pass import Bench
from repro_gate.model import Limits, Recording, Side


@dataclass(frozen=True)
class Instrumented:
    """Runs of head and base that tell lines and branches, by test and at import.

    What covers line 7 of a file: ``head.tests_of(path, [7])``; what runs when it is imported:
    ``head.import_lines[path]``; what a test came to: ``head.outcomes[test]``. ``flaky`` tells the tests that are known
    to be so when head is first asked for. ``asked``: lines of head that must be known of all tests that are believed,
    None: all. Each raises CollectionFailed where pytest gives no list of tests.
    """

    bench: Bench
    limits: Limits
    flaky: Callable[[], frozenset[str]] = frozenset
    asked: Lines | None = None

    @cached_property
    def head(self) -> Recording:
        """All tests of head."""
        return record_believed(self.bench, Side.HEAD, self.limits, self.flaky(), self.asked)

    @cached_property
    def base(self) -> Recording:
        """All tests of base as it is."""
        return record(self.bench, Side.CONTROL, self.limits)

    def again(self, of_base: Sequence[str]) -> tuple[Recording, Recording]:
        """These tests of base once more, and all of head."""
        base = record(self.bench, Side.CONTROL, self.limits, of_base)
        return base, record_believed(self.bench, Side.HEAD, self.limits, self.flaky())


def changed_lines(files: Iterable[ChangedFile]) -> Lines:
    """The lines of head's statements that a change touches."""
    found: dict[str, frozenset[int]] = {}
    for file in files:
        if file.head is not None:
            spans = statements(encoded(file.head))
            found[file.path] = file.added.union(*(spans.get(line, ()) for line in file.added))
    return found
