"""The corpus of mutants: the gate says of each what is known by hand, and what a plain run of the suite says."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from repro_gate.model import GateVerdict
from tests.mutation_corpus.driver import ask, differences
from tests.mutation_corpus.every import SHAPES, named
from tests.mutation_corpus.shape import Shape

# One on disk alone, one in forks, one whose file is not written as most are; the unit tests have the gate's other
# turns.
IN_SHORT = frozenset({"boundary-without-its-value", "module-constants", "latin-1"})


def some_in_short() -> list[object]:
    """Every shape; those that are not chosen are for the deep run."""
    marks = {shape.name: [] if shape.name in IN_SHORT else [pytest.mark.deep] for shape in SHAPES}
    return [pytest.param(shape, id=shape.name, marks=marks[shape.name]) for shape in SHAPES]


@pytest.mark.parametrize("shape", some_in_short())
def test_a_shape(shape: Shape, tmp_path: Path) -> None:
    if shape.why_not:
        pytest.skip(shape.why_not)
    assert differences(shape, ask(shape, tmp_path, "host")) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(IN_SHORT))
def test_a_shape_in_bubblewrap(name: str, tmp_path: Path, bubblewrap_why_not: str) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    shape = named(name)
    assert differences(shape, ask(shape, tmp_path, "bubblewrap")) == []


@pytest.mark.deep
def test_a_wrong_answer_and_a_lie_are_told(tmp_path: Path) -> None:
    """The comparison itself can fail: on another shape's answer, and where the truth is another."""
    shape = named("boundary-without-its-value")
    answer = ask(shape, tmp_path, "host")
    said = differences(named("boundary-with-its-value"), answer)
    assert [each.partition(":")[0] for each in said] == ["verdict", "reason", "survivors"]
    turned = {id: dataclasses.replace(fact, noticed=not fact.noticed) for id, fact in answer.truth.items()}
    lies = differences(shape, dataclasses.replace(answer, truth=turned))
    assert sorted(each.partition(" x ")[0] for each in lies) == [
        "FALSE KILL 2:",
        "FALSE SURVIVOR 2:",
        "FALSE SURVIVOR 2:",
    ]


def test_there_are_enough_shapes_of_every_kind_and_no_name_twice() -> None:
    names = {shape.name for shape in SHAPES}
    assert len(names) == len(SHAPES) >= 40
    assert names >= IN_SHORT
    assert {shape.verdict for shape in SHAPES} == set(GateVerdict)
    assert all(any(getattr(shape, fate) for shape in SHAPES) for fate in ("survivors", "timeouts", "inconclusive"))
