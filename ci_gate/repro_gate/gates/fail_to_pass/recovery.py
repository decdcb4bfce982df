"""What is tried before a test is given up: lenient imports, the ladder, dependencies, hollow head.

Belongs here: the experiments that turn "no proof" into a proof, or show that it is none. Does not
belong here: the plain sequence (protocol) or the texts of hollow sources (hollow).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from repro_gate.errors import CollectionFailed
from repro_gate.gates.fail_to_pass.case import Collection, Stage
from repro_gate.gates.fail_to_pass.conditions import ladder
from repro_gate.gates.fail_to_pass.reasons import (
    of_collection,
    stops_in_product,
    wanted,
)
from repro_gate.gates.fail_to_pass.runner import Ask
from repro_gate.gates.fail_to_pass.suspects import HEAD, Judge, Suspect
from repro_gate.model import Conditions, Lenient, Outcome, ReasonCode, Refused, Side

BASE = Stage(side=Side.BASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class OnBase:
    """Where on base each file's tests are run, and why those of some files cannot be."""

    collection: Collection
    stages: Mapping[str, Stage]
    reasons: Mapping[str, tuple[ReasonCode, str]]

    def stage(self, file: str) -> Stage:
        """The stage of a file's tests."""
        return self.stages.get(file, BASE)


def collect_on_base(judge: Judge, tests: Mapping[str, str]) -> OnBase:
    """Collect head's tests (id -> file) on base; files that miss a name of head's product once more, leniently.

    So are those where the product raises: the tests of such a file fail by that. Raises CollectionFailed where pytest
    gives no list at all.
    """
    runner, context = judge.runner, judge.context
    files = frozenset(tests.values())
    strict = runner.collect(BASE)
    failed = [each for each in strict.failures if each.file in files or each.node.endswith("conftest.py")]
    recoverable = [each for each in failed if of_collection(each, context) is ReasonCode.MISSING_SYMBOL]
    stages: dict[str, Stage] = {}
    items = dict(strict.items)
    failures = {each.node: each for each in failed}
    if recoverable:
        stage = Stage(side=Side.BASE, lenient=context.surface.lenient(wanted(failed)))
        try:
            lenient = runner.collect(stage)
        except CollectionFailed:
            lenient = Collection()
        for each in recoverable:
            file = each.file
            found = {test: item for test, item in lenient.items.items() if item.file == file}
            if found and not any(other.file == file for other in lenient.failures):
                stages[file] = stage
                items.update(found)
                failures.pop(each.node)
        if any(each.node.endswith("conftest.py") for each in recoverable):
            # Below a conftest that could not be imported nothing was collected.
            for test, item in lenient.items.items():
                if test not in strict.items:
                    items[test] = item
                    stages[item.file] = stage
    raising = {each.file for each in failed if stops_in_product(each, context)}
    if raising:
        stage = Stage(
            side=Side.BASE, lenient=Lenient(tests=frozenset(t for t, file in tests.items() if file in raising))
        )
        with contextlib.suppress(CollectionFailed):
            there = {test: item for test, item in runner.collect(stage).items.items() if item.file in raising}
            items.update(there)
            stages.update({item.file: stage for item in there.values()})
            failures = {node: each for node, each in failures.items() if each.file not in stages}
    reasons = {}
    for each in failures.values():
        code = of_collection(each, context)
        reasons[each.file] = (code, f"{each.failure.type}: {each.failure.message[:200]}")
    collection = Collection(
        items=items,
        failures=tuple(failures.values()),
        import_lines=strict.import_lines,
        import_opened=strict.import_opened,
    )
    return OnBase(collection=collection, stages=stages, reasons=reasons)


def climb(judge: Judge, passing: Mapping[str, str], company: tuple[str, ...], on_base: OnBase) -> Iterator[Suspect]:
    """Suspects among tests that pass on base (id -> file): under which conditions of the ladder base fails."""
    left = dict(passing)
    for conditions in ladder(judge.runner.policy.today):
        for stage in dict.fromkeys(on_base.stage(file) for file in left.values()):
            there = [test for test in left if on_base.stage(left[test]) == stage]
            for suspect in _rung(judge, {test: left[test] for test in there}, company, stage, conditions):
                del left[suspect.id]
                yield suspect


def _rung(
    judge: Judge, tests: Mapping[str, str], company: tuple[str, ...], stage: Stage, conditions: Conditions
) -> Iterator[Suspect]:
    """Those that fail on base and pass on head under these conditions."""
    together = company if conditions.order != "collected" else tuple(tests)
    runs = judge.runner.one(Ask(stage=stage, tests=together, conditions=conditions))
    failing = [test for test in tests if runs[test].outcome.bad]
    on_head = judge.runner.one(Ask(stage=HEAD, tests=together if failing else (), conditions=conditions))
    for test in failing:
        if on_head[test].outcome is Outcome.PASSED:
            suspect = judge.on_base(runs[test], file=tests[test], stage=stage, conditions=conditions)
            if suspect.open:
                yield suspect


def by_dependencies(judge: Judge, passing: Mapping[str, str]) -> Iterator[Suspect]:
    """Suspects among tests that pass on base in head's environment, and fail in base's own."""
    stage = Stage(side=Side.BASE, environment=Side.BASE)
    runs = judge.runner.one(Ask(stage=stage, tests=tuple(passing)))
    for test, run in runs.items():
        if run.outcome.bad:
            suspect = judge.on_base(run, file=passing[test], stage=stage)
            if suspect.open:
                suspect.by_dependency = True
                yield suspect


def fixture_homes(head: Collection) -> dict[str, str]:
    """Where on head each fixture is defined."""
    return {name: file for item in head.items.values() for name, file, _ in item.fixtures}


def uncollected(test: str, why: tuple[ReasonCode, str] | None) -> Refused:
    """A test that could not even be collected on base: never a proof."""
    code, text = why if why is not None else (ReasonCode.COLLECT, "it is not among base's tests")
    if code is ReasonCode.MISSING_SYMBOL:
        return Refused(id=test, reason=ReasonCode.IMPORT_ONLY, why=f"its file needs a name that base lacks: {text}")
    return Refused(id=test, reason=code, why=f"could not be collected on base: {text}")
