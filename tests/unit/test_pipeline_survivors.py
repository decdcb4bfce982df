"""Survivors are packed while there is time, the most telling ones first; the rest is told how to be packed later."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from repro_gate.gates.mutation import Policy
from repro_gate.model import GateResult, GateVerdict, MutantOutcome, MutantResult, MutationReport
from repro_gate.pipeline.publish import Publisher
from repro_gate.pipeline.survivors import SurvivorPacking, pack_survivors
from tests.unit.simulated_mutants import FILE, HEAD, OLD, MutantBench, catches, mutant
from tests.unit.test_pipeline_publish import publisher

__all__ = ["publisher"]
MANY = tuple(mutant(f"{number}" * 12, original="x < 3", mutated=f"x < {number}") for number in range(4, 8))
IDS = tuple(each.id for each in MANY)


@dataclass
class Packed:
    """The ids of survivors with a capsule, in the order in which they were packed, and what was noted."""

    ids: list[str]
    notes: list[str]
    bench: MutantBench


def pack(
    publisher: Publisher, *, spent: float, budget: float = 100.0, seconds_of: Mapping[str, float] | None = None
) -> Packed:
    """Each try, and each control, takes a second for each second of the tests. Shown are the last ones first."""
    tree = publisher.here.parent / "tree"
    (tree / FILE).parent.mkdir(parents=True)
    (tree / FILE).write_text(HEAD, encoding="utf-8")
    bench = MutantBench(tests={OLD: catches()}, mutants=MANY, per_second=1.0, seconds={OLD: 5.0})
    packing = SurvivorPacking(
        bench=bench,
        tree=tree,
        roots=(".",),
        arguments=lambda files: files,
        publisher=publisher,
        policy=Policy(today=datetime.date(2026, 3, 4), clock=lambda: bench.now, budget_seconds=budget),
        times=2,
        seconds_of={OLD: 5.0} if seconds_of is None else seconds_of,
    )
    tested = tuple(
        MutantResult(mutant=each, outcome=MutantOutcome.SURVIVED, confirmed=True, tests=1, selection=(OLD,))
        for each in MANY
    )
    report = MutationReport(tested=tested, shown=tuple(reversed(IDS)), sources={FILE: HEAD}, seconds=spent)
    result = GateResult(gate="mutation", verdict=GateVerdict.FAIL, reason="survivors", mutation=report)
    found = Packed([], [], bench)
    for after, notes in pack_survivors(result, packing):
        assert after.mutation is not None
        found.ids += [each.mutant.id for each in after.mutation.packed if each.mutant.id not in found.ids]
        found.notes += notes
    return found


def test_where_there_is_time_all_that_are_shown_are_packed_the_first_first(publisher: Publisher) -> None:
    found = pack(publisher, spent=10.0)
    assert (found.ids, found.notes) == ([*reversed(IDS)], [])


@pytest.mark.parametrize(
    ("spent", "packed"), [(50.0, 2), (79.0, 1), (300.0, 0)], ids=["half is left", "enough for one", "none is left"]
)
def test_survivors_have_what_is_left_of_the_time(publisher: Publisher, spent: float, packed: int) -> None:
    found = pack(publisher, spent=spent)
    assert found.ids == [*reversed(IDS)][:packed]
    left = [*reversed(IDS)][packed:]
    (note,) = found.notes
    assert note == (
        f"{len(left)} survivors have no capsule for want of time (`mutation-budget`): "
        f"`repro-gate mutant capsule ID` packs one later ({', '.join(left)})"
    )
    assert found.bench.now <= max(100.0 - spent, 10.0)


def test_what_one_took_is_expected_of_the_next(publisher: Publisher) -> None:
    """Where nobody knows what tests take, the first says it."""
    found = pack(publisher, spent=300.0, budget=200.0, seconds_of={})
    assert found.ids == [IDS[-1]]
    assert found.notes[0].startswith("3 survivors have no capsule")


def test_one_that_is_left_out_is_told_as_one(publisher: Publisher) -> None:
    found = pack(publisher, spent=29.0)
    assert found.ids == [*reversed(IDS)][:3]
    (note,) = found.notes
    assert note == (
        "1 survivor has no capsule for want of time (`mutation-budget`): "
        f"`repro-gate mutant capsule ID` packs it later ({IDS[0]})"
    )
