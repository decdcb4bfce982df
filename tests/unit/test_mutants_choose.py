"""The order under a budget: each line once before any line twice, what pays first, drawn by a seed."""

from __future__ import annotations

import dataclasses
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.model import Mutant, Site
from repro_gate.mutants import OPERATORS, choose, rank


def mutant(line: int, operator: str, name: str = "", file: str = "a.py") -> Mutant:
    return Mutant(
        id=name or f"{line}-{operator}", file=file, line=line, end_line=line, operator=operator, qualname="f",
        original="x", mutated="y", nth=1, site=Site.CALL, text="", first_line=1,
    )  # fmt: skip


@st.composite
def several(draw: st.DrawFn) -> list[Mutant]:
    places = draw(st.lists(st.tuples(st.sampled_from("ab"), st.integers(1, 5), st.sampled_from(sorted(OPERATORS)))))
    return [mutant(line, operator, str(at), file) for at, (file, line, operator) in enumerate(places)]


def turns(chosen: tuple[Mutant, ...]) -> list[int]:
    """How often each mutant's line was there before it."""
    lines = [(each.file, each.line) for each in chosen]
    return [lines[:at].count(line) for at, line in enumerate(lines)]


def test_each_lines_best_mutant_comes_before_any_lines_second() -> None:
    mutants = [
        mutant(1, "string"),
        mutant(1, "return"),
        mutant(2, "argument"),
        mutant(2, "constant"),
        mutant(3, "string"),
    ]
    choice = choose(mutants, "head", most=3)
    assert [each.id for each in choice.chosen] == ["1-return", "2-constant", "3-string"]
    assert [each.id for each in choice.left_out] == ["2-argument", "1-string"]
    assert str(choice) == "3 of 5"


def test_without_a_budget_nothing_is_left_out() -> None:
    choice = choose([mutant(1, "string"), mutant(1, "return")], "head")
    assert (len(choice.chosen), choice.left_out, str(choice)) == (2, (), "2 of 2")


def test_a_budget_of_nothing_leaves_all_out() -> None:
    assert str(choose([mutant(1, "return")], "head", most=0)) == "0 of 1"
    with pytest.raises(ValueError, match="a choice of -1 mutants"):
        choose([], "head", most=-1)


def test_the_operators_of_most_worth_come_first() -> None:
    assert [name for name in OPERATORS if rank(name) < 6] == [
        "relational", "boolean", "return", "condition", "boundary", "statement",
    ]  # fmt: skip
    assert max(OPERATORS, key=rank) == "string"
    assert rank("constant") < rank("argument") < rank("string")


def test_another_seed_draws_another_order_among_equals() -> None:
    mutants = [mutant(line, "return") for line in range(1, 9)]
    orders = {tuple(each.line for each in choose(mutants, str(seed)).chosen) for seed in range(10)}
    assert len(orders) == 10


@given(several(), st.text(), st.integers(0, 30), st.randoms())
def test_the_laws_of_a_choice(mutants: list[Mutant], seed: str, most: int, chance: random.Random) -> None:
    choice = choose(mutants, seed, most)
    shuffled = list(mutants)
    chance.shuffle(shuffled)
    assert choose(shuffled, seed, most) == choice
    assert sorted((*choice.chosen, *choice.left_out), key=lambda each: int(each.id)) == mutants
    assert len(choice.chosen) == min(most, len(mutants))
    whole = choice.chosen + choice.left_out
    assert turns(whole) == sorted(turns(whole))
    for one, next_one in pairwise(zip(turns(whole), whole, strict=True)):
        assert one[0] < next_one[0] or rank(one[1].operator) <= rank(next_one[1].operator)


@given(several(), st.integers(0, 12), st.none() | st.integers(0, 60))
def test_file_by_file_the_bounds_hold_and_without_texts_the_same_are_chosen(
    mutants: list[Mutant], most: int, most_text: int | None
) -> None:
    mutants = [dataclasses.replace(each, text="x" * (1 + each.line)) for each in mutants]
    kept: tuple[Mutant, ...] = ()
    left = 0
    for file in "ab":
        choice = choose((*kept, *(each for each in mutants if each.file == file)), "head", most, most_text)
        kept, left = choice.chosen, left + len(choice.left_out)
    assert len(kept) <= most
    assert len(kept) + left == len(mutants)
    if most_text is None:
        assert kept == choose(mutants, "head", most).chosen
    else:
        assert sum(len(each.text) for each in kept) <= most_text


def test_what_did_not_fit_with_its_own_file_leaves_its_room_to_another() -> None:
    """So the choice of all at once may be a smaller one."""
    first, long, short = mutant(1, "return"), mutant(2, "string"), mutant(3, "string", file="b.py")
    mutants = [dataclasses.replace(each, text="x" * size) for each, size in ((first, 2), (long, 9), (short, 2))]
    seed = next(seed for seed in map(str, range(99)) if choose(mutants, seed).chosen == tuple(mutants))
    assert choose(mutants, seed, most_text=4).chosen == tuple(mutants[:1])
    kept = choose(mutants[:2], seed, most_text=4).chosen
    assert choose((*kept, mutants[2]), seed, most_text=4).chosen == (mutants[0], mutants[2])
