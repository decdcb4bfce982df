"""A bench on which mutants are texts and tests are functions of what is in their way. No process is started."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repro_gate.gates.fail_to_pass import Collection, Request, Stage
from repro_gate.gates.mutation import Case, Policy, judge
from repro_gate.model import (
    Conditions,
    Ending,
    ExperimentResult,
    GateResult,
    Mode,
    Mutant,
    MutantResult,
    Outcome,
    Site,
    TestRun,
)

FILE = "pkg/mod.py"
HEAD = "def f(x):\n    if x < 3:\n        return 1\n    return 0\n"
RAISES = "raises"
OLD, NEW = "tests/test_old.py::test_old", "tests/test_new.py::test_new"


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a simulated test can notice: the mutant in its way (by id; ``raises``; empty: head's code),
    where and when.
    """

    mutant: str
    mode: Mode
    before: tuple[str, ...]
    tests: tuple[str, ...]
    nth: int
    seconds: float
    asked_with: int


Behaviour = Callable[[Seen], Outcome]


def catches(*mutants: str) -> Behaviour:
    """Fails with these mutants, and where the code raises."""
    return lambda seen: Outcome.FAILED if {*mutants, RAISES} & set(seen.mutant.split("+")) else Outcome.PASSED


def comes_to(outcome: Outcome, *mutants: str) -> Behaviour:
    """Comes to this with these mutants, and fails where the code raises."""
    return lambda seen: outcome if seen.mutant in mutants else catches()(seen)


def mutant(name: str, line: int = 2, **changes: Any) -> Mutant:
    """A mutant of ``f`` whose text is its name."""
    values: dict[str, Any] = {
        "id": name,
        "file": FILE,
        "line": line,
        "end_line": line,
        "operator": "relational",
        "qualname": "f",
        "original": "x < 3",
        "mutated": "x <= 3",
        "nth": 1,
        "site": Site.CALL,
        "text": f"# {name}\n{HEAD}",
        "first_line": 1,
        **changes,
    }
    return Mutant(**values)


@dataclass(kw_only=True)
class MutantBench:
    """Answers the gate.

    ``unswappable`` are functions that a fork cannot exchange; ``ends`` how a process ends, by mutant, ``collects`` what
    is there with one.
    """

    tests: Mapping[str, Behaviour]
    mutants: Sequence[Mutant]
    unswappable: frozenset[str] = frozenset()
    ends: Callable[[Seen], Ending] = lambda _seen: Ending.DONE
    holds: Callable[[Seen], bool] = lambda _seen: True
    contradicts: frozenset[str] = frozenset()
    twice: Mapping[str, Outcome] = field(default_factory=dict)
    took: float = 1.0
    per_second: float = 0.0  # how long a second of the tests, until the first that fails, takes: all one by one
    seconds: Mapping[str, float] = field(default_factory=dict)
    now: float = 0.0
    collects: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: list[list[Request]] = field(default_factory=list)
    count: dict[tuple[str, Mode, str], int] = field(default_factory=dict)

    def expect(self, stage: Stage, conditions: Conditions) -> None:
        raise AssertionError("the mutation gate collects nothing")

    def collect(self, stage: Stage, conditions: Conditions) -> Collection:
        raise AssertionError("the mutation gate collects nothing")

    def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
        assert requests, "an empty batch"
        self.asked.append(list(requests))
        self.now += self.took if not self.per_second else 0.0
        results = [self._result(request, len(requests)) for request in requests]
        for result in results:
            for run in result.runs:
                self.now += self.per_second * self.seconds.get(run.id, 0.0)
                if run.outcome.bad and run.id in result.experiment.until:
                    break
        return results

    def what(self, request: Request) -> str:
        """The mutant in the way, ``raises``, or nothing for head's own code."""
        swap = request.experiment.swap
        if swap is not None:
            assert request.mode is Mode.FORK
            assert not request.stage.replaced
            text = RAISES if swap.raising else swap.text
        else:
            assert request.mode is Mode.FRESH
            ((path, text),) = request.stage.replaced
            assert path == FILE or path.startswith("pkg/")
            text = RAISES if text.startswith("raise ") else text
        exact = [each.id for each in self.mutants if each.text == text]
        # Several on disk at once are told by what they write.
        together = [each.id for each in self.mutants if each.mutated not in HEAD and each.mutated in text]
        return exact[0] if exact else RAISES if text == RAISES else "+".join(together)

    def _result(self, request: Request, beside: int) -> ExperimentResult:
        experiment, name = request.experiment, self.what(request)
        there = self.collects.get(name, tuple(self.tests))
        tests = tuple(there) if experiment.tests is None else experiment.tests
        runs: list[TestRun] = []

        def seen(place: int, test: str) -> Seen:
            key = name, request.mode, test
            self.count[key] = self.count.get(key, 0) + 1
            return Seen(
                mutant=name,
                mode=request.mode,
                before=tests[:place],
                tests=tests,
                nth=self.count[key],
                seconds=experiment.limits.test_seconds,
                asked_with=beside,
            )

        whole = seen(0, "")
        ending = self.ends(whole)
        for place, test in enumerate(tests):
            if ending is Ending.NOT_STARTED or test not in there:
                runs.append(TestRun(id=test, outcome=Outcome.NOT_RUN, seconds=0.0))
                continue
            outcome = self.tests[test](seen(place, test))
            said = "the report says otherwise" if test in self.contradicts and name not in ("", RAISES) else ""
            runs.append(TestRun(id=test, outcome=outcome, seconds=0.1, contradiction=said))
            if test in self.twice:
                runs.append(TestRun(id=test, outcome=self.twice[test], seconds=0.1))
        swap = experiment.swap
        swapped = None if swap is None else 0 if swap.qualname in self.unswappable else 1
        return ExperimentResult(
            experiment=experiment,
            mode=request.mode,
            runs=tuple(runs),
            ending=ending,
            controls_held=ending is Ending.DONE and self.holds(whole),
            swapped=swapped,
        )


def case(tests: Mapping[str, Behaviour], mutants: Sequence[Mutant], **changes: Any) -> Case:
    """A change of lines 2 to 4 of one file; every test covers every mutant."""
    lines = HEAD.splitlines()
    values: dict[str, Any] = {
        "mutants": tuple(mutants),
        "covering": lambda _mutant: tuple(tests),
        "outcomes": dict.fromkeys(tests, Outcome.PASSED),
        "seconds": dict.fromkeys(tests, 0.1),
        "texts": {FILE: HEAD},
        "changed": {FILE: {number: lines[number - 1] for number in (2, 3, 4)}},
        "covered": {FILE: frozenset({2, 3, 4})},
        "new_tests": frozenset({NEW}),
        "seed": "abc",
        "command": "repro-gate check --base=b",
        **changes,
    }
    return Case(**values)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A result of the gate, and the bench that it asked."""

    result: GateResult
    bench: MutantBench

    @property
    def told(self) -> tuple[str, str]:
        return str(self.result.verdict), str(self.result.reason)

    @property
    def outcomes(self) -> dict[str, str]:
        return {each.mutant.id: str(each.outcome) for each in self.report.tested}

    @property
    def left(self) -> dict[str, str]:
        return {each.mutant.id: str(each.reason) for each in self.report.not_tested}

    @property
    def report(self) -> Any:
        assert self.result.mutation is not None
        return self.result.mutation

    @property
    def reasons(self) -> list[str]:
        return [str(finding.reason) for finding in self.result.findings]

    def of(self, name: str) -> MutantResult:
        found: MutantResult = next(each for each in self.report.tested if each.mutant.id == name)
        return found


def judged(
    tests: Mapping[str, Behaviour],
    *mutants: Mutant,
    bench: Mapping[str, Any] | None = None,
    policy: Mapping[str, Any] | None = None,
    **changes: Any,
) -> Judged:
    """The gate's result for simulated tests and mutants."""
    simulated = MutantBench(tests=tests, mutants=mutants, seconds=changes.get("seconds", {}), **(bench or {}))
    strict = Policy(today=datetime.date(2026, 3, 4), clock=lambda: simulated.now, **(policy or {}))
    return Judged(result=judge(case(tests, mutants, **changes), simulated, strict), bench=simulated)
