"""ddmin finds what a failure needs, whatever the oracle does, and knows what it did not show."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.reduce import NotInteresting, ddmin

# A machine that is busy with something else is no bug.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


class Oracle:
    """Fails where all of one group of culprits are present; keeps what it was asked."""

    def __init__(self, *groups: set[int]) -> None:
        self.groups = groups
        self.asked: list[tuple[int, ...]] = []

    def __call__(self, items: Sequence[int]) -> bool:
        self.asked.append(tuple(items))
        return any(group <= set(items) for group in self.groups)


@st.composite
def lists_with_culprits(draw: st.DrawFn) -> tuple[list[int], set[int]]:
    items = draw(st.permutations(range(draw(st.integers(1, 60)))))
    culprits = draw(st.sets(st.sampled_from(items), min_size=1, max_size=3))
    return items, culprits


@unhurried
@given(lists_with_culprits())
def test_one_to_three_culprits_are_found_exactly_and_in_order(case: tuple[list[int], set[int]]) -> None:
    items, culprits = case
    reduction = ddmin(items, Oracle(culprits))
    assert reduction.items == tuple(item for item in items if item in culprits)
    assert reduction.minimal
    assert reduction.validated


@unhurried
@given(st.integers(1, 40), st.integers())
def test_an_oracle_without_any_rule_still_gets_a_failing_one_minimal_list(size: int, seed: int) -> None:
    answers: dict[tuple[int, ...], bool] = {tuple(range(size)): True}

    def fails(items: Sequence[int]) -> bool:
        return answers.setdefault(tuple(items), hash((seed, tuple(items))) % 3 == 0)

    reduction = ddmin(range(size), fails)
    assert answers[reduction.items]
    smaller = [reduction.items[:i] + reduction.items[i + 1 :] for i in range(len(reduction.items))]
    assert not any(answers[items] for items in smaller if items)


@unhurried
@given(lists_with_culprits())
def test_every_question_is_new_ordered_not_empty_and_begins_with_the_whole(case: tuple[list[int], set[int]]) -> None:
    items, culprits = case
    oracle = Oracle(culprits)
    reduction = ddmin(items, oracle)
    place = {item: index for index, item in enumerate(items)}
    assert oracle.asked[0] == tuple(items)
    assert all(asked == tuple(sorted(asked, key=place.__getitem__)) for asked in oracle.asked)
    assert all(oracle.asked)
    assert len(set(oracle.asked)) == len(oracle.asked) == reduction.tried


@unhurried
@given(lists_with_culprits(), st.integers(0, 30))
def test_a_spent_budget_keeps_the_best_so_far_and_says_so(case: tuple[list[int], set[int]], budget: int) -> None:
    items, culprits = case
    oracle = Oracle(culprits)
    reduction = ddmin(items, oracle, budget=budget)
    assert reduction.tried == len(oracle.asked) <= budget
    assert culprits <= set(reduction.items)
    assert reduction.validated is (budget > 0)
    failing = [asked for asked in oracle.asked if culprits <= set(asked)]
    assert reduction.items == (failing[-1] if failing else tuple(items))
    if reduction.minimal:
        assert set(reduction.items) == culprits


def test_a_budget_that_is_just_enough_is_minimal_and_one_less_is_not() -> None:
    needed = ddmin(range(50), Oracle({7, 31})).tried
    assert ddmin(range(50), Oracle({7, 31}), budget=needed).minimal
    assert not ddmin(range(50), Oracle({7, 31}), budget=needed - 1).minimal


def test_one_culprit_is_found_by_halving() -> None:
    worst = max(ddmin(range(1024), Oracle({culprit})).tried for culprit in range(0, 1024, 31))
    assert worst <= 1 + 2 * 10


def test_two_culprits_in_a_thousand_take_far_fewer_questions_than_items() -> None:
    assert ddmin(range(1000), Oracle({3, 996})).tried < 80


def test_the_halving_does_not_go_on_where_neither_half_fails_alone() -> None:
    oracle = Oracle({0, 63})
    assert ddmin(range(64), oracle).items == (0, 63)
    assert [len(asked) for asked in oracle.asked[:4]] == [64, 32, 32, 16]


def test_of_two_independent_causes_one_is_kept() -> None:
    assert ddmin(range(30), Oracle({4, 5}, {20})).items in {(4, 5), (20,)}


def test_a_list_that_does_not_fail_is_refused_after_one_question() -> None:
    oracle = Oracle({99})
    with pytest.raises(NotInteresting, match="the whole list of 10 items does not fail"):
        ddmin(range(10), oracle)
    assert oracle.asked == [tuple(range(10))]


def test_not_interesting_is_a_value_error() -> None:
    assert issubclass(NotInteresting, ValueError)


def test_an_empty_list_is_asked_about_only_where_it_was_given() -> None:
    assert ddmin([], Oracle(set())).items == ()
    with pytest.raises(NotInteresting):
        ddmin([], Oracle({1}))


def test_equal_and_unhashable_items_are_kept_apart() -> None:
    items = [["a"], ["a"], ["b"], ["a"]]
    assert ddmin(items, lambda kept: kept.count(["a"]) >= 2).items == (["a"], ["a"])


def test_progress_counts_up_and_the_rest_goes_down_to_the_result() -> None:
    seen: list[tuple[int, int]] = []
    reduction = ddmin(range(20), Oracle({2, 17}), progress=lambda tried, left: seen.append((tried, left)))
    assert [tried for tried, _ in seen] == list(range(1, reduction.tried + 1))
    assert [left for _, left in seen] == sorted((left for _, left in seen), reverse=True)
    assert seen[-1][1] == len(reduction.items)


def test_an_error_of_the_oracle_is_not_swallowed() -> None:
    def fails(items: Sequence[int]) -> bool:
        if len(items) == 5:
            raise RuntimeError("the sandbox is gone")
        return True

    with pytest.raises(RuntimeError, match="the sandbox is gone"):
        ddmin(range(10), fails)
