"""The instrumented runs of a check: made when a gate first asks, once, and shared by all that ask.

Belongs here: keeping them. Does not belong here: how they are run (gates.coverage.runs), and what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from repro_gate.gates.coverage import record, record_believed
from repro_gate.gates.fail_to_pass import Bench
from repro_gate.model import Limits, Recording, Side


@dataclass(frozen=True)
class Instrumented:
    """Runs of head and base that tell lines and branches, by test and at import.

    What covers line 7 of a file: ``head.tests_of(path, [7])``; what runs when it is imported:
    ``head.import_lines[path]``; what a test came to: ``head.outcomes[test]``. ``flaky`` tells the tests that are known
    to be so when head is first asked for. Each raises CollectionFailed where pytest gives no list of tests.
    """

    bench: Bench
    limits: Limits
    flaky: Callable[[], frozenset[str]] = frozenset

    @cached_property
    def head(self) -> Recording:
        """All tests of head."""
        return record_believed(self.bench, Side.HEAD, self.limits, self.flaky())

    @cached_property
    def base(self) -> Recording:
        """All tests of base as it is."""
        return record(self.bench, Side.CONTROL, self.limits)

    def again(self, of_base: Sequence[str]) -> tuple[Recording, Recording]:
        """These tests of base once more, and all of head."""
        return record(self.bench, Side.CONTROL, self.limits, of_base), record(self.bench, Side.HEAD, self.limits)
