"""A bench of simulated tests: each is a function of what it could notice. No process is started."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from repro_gate.errors import CollectionFailed
from repro_gate.gates.fail_to_pass import Case, Collection, Policy, ProductFile, Request, Stage, prove
from repro_gate.model import (
    CollectFailure,
    Conditions,
    Ending,
    Evidence,
    ExperimentResult,
    Failure,
    Frame,
    GateResult,
    ItemFacts,
    Mode,
    Outcome,
    Side,
    TestRun,
    Trace,
    Zone,
)

TODAY = datetime.date(2026, 3, 4)
PRODUCT = "pkg/mod.py"
TESTS = "tests/test_mod.py"
BASE_TEXT = "def f(x):\n    return x\n"
HEAD_TEXT = "def f(x):\n    return x + 1\n"
LINES = ((PRODUCT, 2),)
_ZONES = {"T": Zone.TEST, "P": Zone.PRODUCT, "3": Zone.THIRD_PARTY, "S": Zone.STDLIB}
_PATHS = {"T": TESTS, "P": PRODUCT, "3": "click/core.py", "S": "json/decoder.py"}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a simulated test can notice. ``before`` are the tests that ran in its process before it."""

    side: Side
    conditions: Conditions
    before: tuple[str, ...]
    mode: Mode
    nth: int
    seconds: float
    lenient: bool = False
    base_environment: bool = False
    replaced: Mapping[str, str] = field(default_factory=dict)


Behaviour = Callable[[Seen], TestRun]


def failure(kind: str = "AssertionError", zones: str = "T", message: str = "assert 1 == 2", **more: Any) -> Failure:
    """A failure with a traceback of these zones."""
    bases = {
        "KeyError": ("LookupError", "Exception"),
        "ModuleNotFoundError": ("ImportError", "Exception"),
        "tests.checks.Mismatch": ("Exception",),
    }
    values: dict[str, Any] = {
        "phase": "call",
        "type": kind,
        "bases": bases.get(kind, ("Exception",)),
        "message": message,
        "chain": (),
        "frames": tuple(Frame(zone=_ZONES[z], path=_PATHS[z], line=1, function="f") for z in zones),
        "fingerprint": f"{kind}/{zones}",
        **more,
    }
    return Failure(**values)


def run(outcome: Outcome = Outcome.PASSED, why: Failure | None = None, **evidence: Any) -> TestRun:
    """A run; its id is set by the bench. Evidence: as named, by default a changed line ran."""
    return TestRun(id="", outcome=outcome, seconds=0.1, failure=why, evidence=Evidence(**{"lines": LINES, **evidence}))


def passes(**evidence: Any) -> Behaviour:
    return lambda _seen: run(**evidence)


def fails(
    kind: str = "AssertionError", zones: str = "T", message: str = "assert 1 == 2", phase: str = "call", **evidence: Any
) -> Behaviour:
    return lambda _seen: run(Outcome.FAILED, failure(kind, zones, message, phase=phase), **evidence)


def comes_to(outcome: Outcome, why: Failure | None = None) -> Behaviour:
    return lambda _seen: run(outcome, why)


@dataclass(kw_only=True)
class Sim:
    """A simulated test. Without ``control`` it does not exist on base as it is; ``named``: as ``hollow``."""

    name: str
    base: Behaviour | None = field(default_factory=fails)
    head: Behaviour | None = field(default_factory=passes)
    control: Behaviour | None = None
    hollow: Behaviour = field(default_factory=fails)
    named: Behaviour | None = None
    surrounded: Behaviour | None = None
    reworded: Behaviour | None = None
    described: Behaviour | None = None
    undaunted: Behaviour | None = None
    retold: Behaviour | None = None
    file: str = TESTS
    changed: bool = True
    lenient_only: bool = False
    kind: str = "function"
    index: int = 0
    fixtures: tuple[tuple[str, str, int], ...] = ()
    network: str = ""
    asks: frozenset[str] = frozenset()

    @property
    def id(self) -> str:
        return f"{self.file}::{self.name}"

    def on(self, side: Side) -> Any:
        """What it does on a side. Who needs no new body needs no name; words and surroundings matter to none."""
        heads = dict.fromkeys((Side.REWORDED, Side.DESCRIBED), self.head)
        like = {
            Side.NAMED: self.hollow,
            Side.SURROUNDED: self.base,
            Side.UNDAUNTED: self.base,
            Side.RETOLD: passes(),
            **heads,
        }
        return getattr(self, side) or like.get(side)

    def item(self, side: Side) -> ItemFacts:
        print_ = "new" if self.changed and side is not Side.CONTROL else "old"
        original, _, params = self.name.partition("[")
        return ItemFacts(
            id=self.id,
            file=self.file,
            kind=self.kind,
            original=original,
            params=params.removesuffix("]"),
            index=self.index,
            span=(1, 2),
            fixtures=self.fixtures,
            fingerprint=f"{self.name} {print_}",
            reads_modules=(),
            network=self.network,
            asks=self.asks,
        )


def old(name: str = "test_old", **more: Any) -> Sim:
    """A test that the change leaves alone and that passes everywhere."""
    return Sim(name=name, control=passes(), base=passes(), changed=False, **more)


@dataclass(kw_only=True)
class SimBench:
    """Answers the gate from simulated tests."""

    sims: Sequence[Sim]
    failures: Mapping[Side, Sequence[CollectFailure]] = field(default_factory=dict)
    refuses: frozenset[Side] = frozenset()
    forging: frozenset[Side] = frozenset()
    losing: frozenset[Side] = frozenset()
    import_lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    import_opened: tuple[str, ...] = ()
    import_ran: tuple[Trace, ...] = ()
    strays: tuple[str, ...] = ()
    renames: Mapping[str, str] = field(default_factory=dict)
    asked: list[Request] = field(default_factory=list)
    reverse: bool = False
    calls: dict[tuple[Side, str], int] = field(default_factory=dict)

    def expect(self, stage: Stage, conditions: Conditions) -> None:
        pass

    def collect(self, stage: Stage, conditions: Conditions) -> Collection:
        if stage.side in self.refuses:
            said = f"conftest.py of {stage.side}\nPluginValidationError: no such argument"
            raise CollectionFailed("pytest ended with status 4 before it had a list of tests.", details=said)
        items = {sim.id: sim.item(stage.side) for sim in self._there(stage)}
        if conditions.hash_seed:
            items = {
                self.renames.get(test, test): dataclasses.replace(item, id=self.renames.get(test, test))
                for test, item in items.items()
            }
        return Collection(
            items=items,
            failures=() if stage.lenient else tuple(self.failures.get(stage.side, ())),
            import_lines=self.import_lines,
            import_opened=self.import_opened,
            strays=self.strays,
            import_ran=self.import_ran if stage.recorded else (),
        )

    def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
        self.asked.extend(requests)
        return [self._result(request) for request in requests]

    def _result(self, request: Request) -> ExperimentResult:
        side = request.stage.side
        experiment = request.experiment
        order = experiment.tests or ()
        runs: list[TestRun] = []
        there = {sim.id: sim for sim in self._there(request.stage)}
        for position, test in enumerate(order):
            if test not in there:
                continue
            number = self.calls[side, test] = self.calls.get((side, test), -1) + 1
            seen = Seen(
                side=side,
                conditions=experiment.conditions,
                before=order[:position],
                mode=request.mode,
                nth=number,
                seconds=experiment.limits.test_seconds,
                lenient=request.stage.lenient is not None,
                base_environment=request.stage.environment is Side.BASE,
                replaced=dict(request.stage.replaced),
            )
            behaviour = there[test].on(side)
            runs.append(dataclasses.replace(behaviour(seen), id=test))
        if side in self.losing:
            return ExperimentResult(
                experiment=experiment, mode=request.mode, runs=(), ending=Ending.KILLED, controls_held=False
            )
        return ExperimentResult(
            experiment=experiment,
            mode=request.mode,
            runs=tuple(reversed(runs)) if self.reverse else tuple(runs),
            ending=Ending.DONE,
            controls_held=side not in self.forging,
        )

    def _there(self, stage: Stage) -> list[Sim]:
        there = [sim for sim in self.sims if sim.on(stage.side) is not None]
        if stage.side is Side.BASE and stage.lenient is None:
            there = [sim for sim in there if not sim.lenient_only]
        return sorted(there, key=lambda sim: sim.id, reverse=self.reverse)


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a change claims; by default to be a fix."""

    is_fix: bool = True
    is_revert: bool = False
    is_refactor: bool = False
    repro_first: bool = False
    author_is_bot: bool = False


FIX = Said()
NO_FIX = Said(is_fix=False)
POLICY = Policy(today=TODAY)


def product(base: str | None = BASE_TEXT, head: str | None = HEAD_TEXT, **more: Any) -> ProductFile:
    """A changed product file; by default its second line changed."""
    values: dict[str, Any] = {
        "path": PRODUCT,
        "module": "pkg.mod",
        "base": base,
        "head": head,
        "removed": frozenset({2}),
        "added": frozenset({2}),
        **more,
    }
    return ProductFile(**values)


def case(**changes: Any) -> Case:
    """A change of one product line and one test file."""
    values: dict[str, Any] = {
        "base_sha": "b" * 40,
        "head_sha": "h" * 40,
        "is_test": lambda path: path.startswith("tests/"),
        "packages": frozenset({"pkg"}),
        "product": (product(),),
        "test_files": frozenset({TESTS}),
        "environment": "e" * 64,
        "command": "repro-gate check --base bbbb",
        **changes,
    }
    return Case(**values)


def judged(
    *sims: Sim, claims: Said = FIX, change: Case | None = None, policy: Policy = POLICY, **bench: Any
) -> GateResult:
    """The gate's result for simulated tests."""
    simulated = SimBench(sims=sims, **bench)
    return prove(change or case(), simulated, claims, policy)


def on_conditions(wanted: Callable[[Seen], bool], then: Behaviour, otherwise: Behaviour) -> Behaviour:
    """One behaviour where something holds, another elsewhere."""
    return lambda seen: (then if wanted(seen) else otherwise)(seen)
