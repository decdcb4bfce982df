"""Mutants, and controls for them, as requests to a bench.

Belongs here: how code is put in a test's way, in a fork or on disk, and with which limits. Does not belong here: what
comes of it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from repro_gate.gates.fail_to_pass.case import Request, Stage
from repro_gate.gates.fail_to_pass.symbols import parse
from repro_gate.gates.mutation.case import Case, Policy
from repro_gate.model import Conditions, Experiment, Limits, Mode, Mutant, Side, Swap, Way
from repro_gate.model.edit import Edit

HEAD = Stage(side=Side.HEAD)
ALONE = 3.0  # times the limit of a mutant that seemed to hang, when it is tried again with nothing beside it
_RAISES = "raise RuntimeError('repro-gate: a control that must fail')\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asking:
    """Builds requests for one case."""

    case: Case
    policy: Policy

    def mutated(
        self,
        mutant: Mutant,
        way: Way,
        tests: Sequence[str],
        patience: float = 1.0,
        until: frozenset[str] = frozenset(),
    ) -> Request:
        """The tests with the mutant; none more once one of ``until`` has failed."""
        return self._request(mutant, way, tests, mutant.text, patience=patience, until=until)

    def null(self, mutant: Mutant, way: Way, tests: Sequence[str], patience: float = 1.0) -> Request:
        """The tests with head's own code, put in their way just like the mutant."""
        return self._request(mutant, way, tests, self.case.texts[mutant.file], patience=patience)

    def raising(self, mutant: Mutant, way: Way, tests: Sequence[str], until: frozenset[str]) -> Request:
        """The tests, until one of ``until`` fails, with code that raises at once: the mutant's function, or on disk the
        whole module.
        """
        text = self.case.texts[mutant.file]
        text = text if way is Way.FORK else _RAISES + text
        return self._request(mutant, way, tests, text, raising=True, until=until)

    def together(self, mutants: Sequence[Mutant], tests: Sequence[str]) -> Request | None:
        """The tests with all of these mutants on disk at once; None where two of them change the same place."""
        edits: dict[str, list[Edit]] = {}
        for mutant in mutants:
            edits.setdefault(mutant.file, []).append(Edit.between(self.case.texts[mutant.file], mutant.text))
        replaced = [(file, _edited(self.case.texts[file], each)) for file, each in sorted(edits.items())]
        texts = tuple((file, text) for file, text in replaced if text is not None)
        if len(texts) < len(replaced):
            return None
        return Request(
            stage=Stage(side=Side.HEAD, replaced=texts, watched=False),
            experiment=self._experiment(tests, 1.0, None, frozenset(filter(self.case.is_heard, tests))),
            mode=Mode.FRESH,
        )

    def as_collected(self, mutant: Mutant, way: Way, tests: Sequence[str], text: str) -> Request:
        """Whatever is collected where these tests are, with a text on disk: their ids may be made of what it says."""
        request = self._request(mutant, way, tests, text)
        slowest = self._experiment(tuple(self.case.seconds), 1.0, None, frozenset())
        return replace(request, experiment=replace(slowest, tests=None))

    def seconds(self, tests: Sequence[str]) -> float:
        """What these tests took in the instrumented run, in all."""
        return sum(self.case.seconds.get(test, 0.0) for test in tests)

    def _request(
        self,
        mutant: Mutant,
        way: Way,
        tests: Sequence[str],
        text: str,
        *,
        patience: float = 1.0,
        raising: bool = False,
        until: frozenset[str] = frozenset(),
    ) -> Request:
        if way is Way.FORK:
            swap = Swap(
                path=mutant.file,
                text=text,
                qualname=outermost(mutant.qualname),
                first_line=mutant.first_line,
                raising=raising,
            )
            return Request(stage=HEAD, experiment=self._experiment(tests, patience, swap, until))
        return Request(
            stage=Stage(side=Side.HEAD, replaced=((mutant.file, text),), watched=False),
            experiment=self._experiment(tests, patience, None, until),
            mode=Mode.FRESH,
            # The whole suite is collected as it is for everybody: what other files do at import may matter.
            files=() if way is Way.SUITE else tuple(dict.fromkeys(test.partition("::")[0] for test in tests)),
        )

    def _experiment(
        self, tests: Sequence[str], patience: float, swap: Swap | None, until: frozenset[str]
    ) -> Experiment:
        policy = self.policy
        longest = max((self.case.seconds.get(test, 0.0) for test in tests), default=0.0)
        limits = Limits(
            test_seconds=patience * max(policy.least_seconds, policy.factor * longest),
            memory_bytes=policy.memory_bytes,
        )
        return Experiment(tests=tuple(tests), conditions=Conditions(), limits=limits, swap=swap, until=until)


def _edited(text: str, edits: Sequence[Edit]) -> str | None:
    """A text with all edits; None where they touch each other, or what comes of it is no Python."""
    ordered = sorted(edits, key=lambda edit: edit.start)
    if any(one.end >= other.start for one, other in itertools.pairwise(ordered)):
        return None
    for edit in reversed(ordered):
        text = edit.applied(text)
    return text if parse(text) is not None else None


def outermost(qualname: str) -> str:
    """The qualified name of the outermost function that a qualified name is in."""
    return qualname.partition(".<locals>")[0]
