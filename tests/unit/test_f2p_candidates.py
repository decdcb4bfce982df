"""Which tests a change brings or touches, how a proof reaches the change, and under which conditions it repeats."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.experiment import start_of
from repro_gate.gates.fail_to_pass import Case, Collection
from repro_gate.gates.fail_to_pass.candidates import Candidates, Kind, Through, by_data, compare, unread_data
from repro_gate.gates.fail_to_pass.conditions import combined, ladder, other_days, rounds, second_collection, words
from repro_gate.gates.fail_to_pass.exercise import Exercise, exercise, watched
from repro_gate.gates.fail_to_pass.runs import worst
from repro_gate.model import Conditions, Evidence, ItemFacts, Mode, Outcome, TestRun
from tests.unit.simulated_bench import PRODUCT, TESTS, TODAY, case, failure, product, run


def item(test: str, fingerprint: str = "one", **more: Any) -> ItemFacts:
    """Facts of a test by its id."""
    file, _, name = test.partition("::")
    original = name.rpartition("::")[2].partition("[")[0]
    values: dict[str, Any] = {
        "id": test,
        "file": file,
        "kind": "function",
        "original": original,
        "params": "",
        "index": 0,
        "span": (1, 2),
        "fixtures": (),
        "fingerprint": fingerprint,
        "reads_modules": (),
    }
    return ItemFacts(**{**values, **more})


def sorted_out(base: list[ItemFacts], head: list[ItemFacts], change: Case | None = None, **more: Any) -> Candidates:
    return compare(change or case(), {each.id: each for each in base}, {each.id: each for each in head}, **more)


A, B = "tests/test_mod.py::test_a", "tests/test_mod.py::test_b"


# --- candidates --------------------------------------------------------------------------------


def test_tests_are_new_changed_the_same_or_gone() -> None:
    found = sorted_out(
        [item(A, "1"), item(B, "1"), item(f"{B}_gone", "2")], [item(A, "1"), item(B, "2"), item(f"{B}_new", "3")]
    )
    assert found.kinds == {A: Kind.SAME, B: Kind.CHANGED, f"{B}_new": Kind.NEW, f"{B}_gone": Kind.GONE}
    assert found.chosen == {B: Through.OWN, f"{B}_new": Through.OWN}
    assert found.gone == (f"{B}_gone",)
    assert found.new == 2


def test_a_file_that_was_renamed_moves_its_tests() -> None:
    ids = [f"test_mod.py::test_x[{number}]" for number in range(3)]
    base = [item(f"tests/{each}", "same", params=str(number), index=number) for number, each in enumerate(ids)]
    head = [item(f"tests/sub/{each}", "same", params=str(number), index=number) for number, each in enumerate(ids)]
    found = sorted_out(base, head)
    assert found.moved == {f"tests/sub/{each}": f"tests/{each}" for each in ids}
    assert (found.chosen, found.gone) == ({}, ())


def test_a_test_whose_id_is_another_one_in_each_process_is_not_gone() -> None:
    now = [f"tests/test_clock.py::test_at[{number}]" for number in range(3)]
    base, head, again = (item(test, test, params=test) for test in now)
    assert sorted_out([item(A), base], [item(A), head], unstable={head.id, again.id}).gone == ()


def test_a_copy_of_a_test_that_stays_is_new() -> None:
    copy = "tests/test_copy.py::test_a"
    found = sorted_out([item(A, "1")], [item(A, "1"), item(copy, "1")])
    assert found.kinds[copy] is Kind.NEW


def test_a_changed_fixture_reaches_tests_of_other_files_after_those_of_changed_files() -> None:
    other = "tests/test_aaa.py::test_uses_fixture"
    found = sorted_out([item(other, "1"), item(A, "1")], [item(other, "2"), item(A, "2")])
    assert list(found.chosen.items()) == [(A, Through.OWN), (other, Through.SUPPORT)]


def test_what_is_above_the_cap_is_named() -> None:
    head = [item(f"{A}{number}") for number in range(5)]
    found = sorted_out([], head, most=3)
    assert (len(found.chosen), found.cut) == (3, (f"{A}3", f"{A}4"))


@pytest.mark.parametrize(
    ("test", "chosen"),
    [
        ("tests/test_mod.py::test_x[comments]", True),
        ("tests/test_mod.py::test_x[comments.py]", True),
        ("tests/test_mod.py::test_x[cases/comments.py-strict]", True),
        ("tests/test_mod.py::test_x[comments2]", False),
        ("tests/test_mod.py::test_comments", False),
        ("tests/test_mod.py::test_x[a::comments]", False),
    ],
)
def test_a_data_file_selects_the_parameter_with_its_stem(test: str, *, chosen: bool) -> None:
    data = case(test_files=frozenset(), test_data=frozenset({"tests/data/cases/comments.py"}))
    assert sorted_out([item(test)], [item(test)], data).chosen == ({test: Through.DATA} if chosen else {})


def test_a_data_file_selects_who_reads_it() -> None:
    data = case(test_data=frozenset({"tests/data/x.json", "tests/data/y.json"}))
    runs = [
        TestRun(id=A, outcome=Outcome.PASSED, seconds=0, evidence=Evidence(opened=("tests/data/x.json",))),
        TestRun(id=B, outcome=Outcome.PASSED, seconds=0, evidence=Evidence(opened=("README",))),
        TestRun(id="c", outcome=Outcome.PASSED, seconds=0),
    ]
    assert by_data(data, runs, Candidates()) == {A: Through.DATA}
    assert by_data(data, runs, Candidates(chosen={A: Through.OWN})) == {}
    assert unread_data(data, [], runs) == ("tests/data/y.json",)
    assert unread_data(data, ["t.py::test[y]"], runs) == ()


def test_changed_settings_make_all_tests_candidates() -> None:
    settings = case(test_files=frozenset(), test_settings=True)
    found = sorted_out([item(A)], [item(A)], settings)
    assert found.chosen == {A: Through.SETTINGS}
    assert found.brought == frozenset()  # base has it, and has it alike
    assert sorted_out([item(A)], [item(A)], case(test_settings=True)).chosen == {}


def test_an_unstable_id_is_found_again_by_its_place() -> None:
    before, after, new = f"{A}[10:00]", f"{A}[10:01]", f"{B}[10:01]"
    unstable = {before, after, new}
    same = sorted_out([item(before, "1")], [item(after, "1"), item(new, "2")], unstable=unstable)
    assert same.kinds[after] is Kind.SAME
    assert same.unstable == (new,)
    assert (same.chosen, same.gone) == ({}, ())
    second = sorted_out([item(before, "1", index=0)], [item(after, "2", index=1)], unstable=unstable)
    assert second.unstable == (after,)
    elsewhere = case(test_files=frozenset({"tests/test_other.py"}))
    noisy = sorted_out([item(before, "1")], [item(after, "2")], elsewhere, unstable=unstable)
    assert noisy.unstable == ()


def test_a_doctest_of_the_changed_product_is_unsupported_and_one_of_a_test_file_is_not() -> None:
    own, theirs = f"{PRODUCT}::pkg.mod.f", "tests/guide.txt::guide.txt"
    found = sorted_out(
        [item(own, "1"), item(theirs, "1")], [item(own, "2", kind="doctest"), item(theirs, "2", kind="doctest")]
    )
    assert found.unsupported == (own,)
    assert list(found.chosen) == [theirs]


def test_what_a_change_brings_are_all_of_its_tests_whether_or_not_they_can_prove_anything() -> None:
    doctest, old, unstable = f"{PRODUCT}::pkg.mod.f", f"{PRODUCT}::pkg.mod.old", f"{A}[10:01]"
    many = [item(f"{B}[{number}]", "2") for number in range(5)]
    found = sorted_out(
        [item(A, "1"), item(old, "1", kind="doctest")],
        [
            item(A, "1"),
            item(old, "1", kind="doctest"),
            item(doctest, "2", kind="doctest"),
            item(unstable, "3", index=1),
            *many,
        ],
        unstable={unstable},
        most=2,
    )
    assert len(found.chosen) == 2
    assert found.brought == {doctest, unstable, *(each.id for each in many)}


@given(st.permutations([item(A, "1"), item(B, "2"), item(f"{A}[x]", "3"), item("tests/b.py::test_a", "1")]))
def test_the_order_of_collection_does_not_matter(head: list[ItemFacts]) -> None:
    base = [item(A, "1"), item("tests/old.py::test_a", "1")]
    assert sorted_out(base, head) == sorted_out(base, sorted(head, key=lambda each: each.id))


# --- exercise ----------------------------------------------------------------------------------


def reached(
    change: Case | None = None,
    *,
    head: Evidence | None = None,
    base: Evidence | None = None,
    at_import: dict[str, frozenset[int]] | None = None,
    opened: tuple[str, ...] = (),
    base_import: dict[str, frozenset[int]] | None = None,
) -> Exercise:
    """How a test with this evidence reached the change."""
    return exercise(
        change or case(),
        on_head=[TestRun(id=A, outcome=Outcome.PASSED, seconds=0, evidence=head or Evidence())],
        on_base=[TestRun(id=A, outcome=Outcome.FAILED, seconds=0, evidence=base or Evidence())],
        head=Collection(import_lines=at_import or {}, import_opened=opened),
        base=Collection(import_lines=base_import or {}),
    )


CHANGED = {PRODUCT: frozenset({2})}


def test_a_changed_line_in_the_test_counts_on_either_side() -> None:
    assert reached(head=Evidence(lines=((PRODUCT, 2),))) is Exercise.IN_TEST
    assert reached(base=Evidence(lines=((PRODUCT, 2),))) is Exercise.IN_TEST
    assert reached(head=Evidence(lines=((PRODUCT, 3), ("pkg/other.py", 2)))) is Exercise.NONE
    only_removed = case(product=(product(added=frozenset(), removed=frozenset({7})),))
    assert reached(only_removed, head=Evidence(lines=((PRODUCT, 7),))) is Exercise.NONE
    assert reached(only_removed, base=Evidence(lines=((PRODUCT, 7),))) is Exercise.IN_TEST


def test_a_changed_line_at_import_counts_unless_the_test_reads_the_change() -> None:
    assert reached(at_import=CHANGED) is Exercise.AT_IMPORT
    assert reached(base_import=CHANGED) is Exercise.AT_IMPORT
    assert reached(head=Evidence(opened=("tests/data/x.json", TESTS)), at_import=CHANGED) is Exercise.AT_IMPORT
    for path in (PRODUCT, "pkg/other.py", ".git/HEAD", "src/pkg.egg-info/PKG-INFO", "setup.cfg", "CHANGELOG.md"):
        assert reached(head=Evidence(opened=(path,)), at_import=CHANGED) is Exercise.NONE, path
    assert reached(head=Evidence(opened=(PRODUCT,), lines=((PRODUCT, 2),))) is Exercise.IN_TEST


def test_changed_package_data_counts_where_it_is_read() -> None:
    data = case(product=(), package_data=frozenset({"pkg/words.txt"}))
    assert reached(data, head=Evidence(opened=("pkg/words.txt",))) is Exercise.DATA
    assert reached(data, opened=("pkg/words.txt",)) is Exercise.DATA
    with_code = case(package_data=frozenset({"pkg/words.txt"}))
    assert reached(with_code, head=Evidence(opened=("pkg/other.txt",))) is Exercise.NONE


def test_changed_package_data_alone_counts_where_the_test_looks_at_no_text() -> None:
    data = case(product=(), package_data=frozenset({"pkg/py.typed"}))
    assert reached(data) is Exercise.DATA
    assert reached(data, head=Evidence(opened=("setup.cfg",))) is Exercise.NONE
    assert reached(case(product=(), package_data=data.package_data, dependencies=True)) is Exercise.NONE


def test_a_test_that_starts_processes_is_unseen_unless_they_are_version_control() -> None:
    assert reached(head=Evidence(children=("/usr/bin/python3",))) is Exercise.UNSEEN
    assert reached(head=Evidence(children=("/usr/bin/python3", "git"))) is Exercise.NONE
    assert reached(head=Evidence(children=("git status",))) is Exercise.NONE
    assert reached(head=Evidence(children=("fork",))) is Exercise.UNSEEN
    assert reached(head=Evidence(children=("a process",))) is Exercise.UNSEEN


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("__version__ = '2'\nx = 1\n", {2}),
        ("VERSION: str = '2'\nx = 1\n", {2}),
        ("version_info = (\n  2,\n)\n", set()),
        ("conversion = 2\nx = 1\n", {1, 2}),
        ("version = conversion = 2\n", {1}),
    ],
)
def test_lines_that_only_set_a_version_are_not_watched(text: str, left: set[int]) -> None:
    lines = frozenset(range(1, text.count("\n") + 1))
    assert watched([product(None, text, added=lines)], head=True) == ({PRODUCT: left} if left else {})


# --- runs and conditions -----------------------------------------------------------------------


@given(st.permutations(list(Outcome)))
def test_the_worst_report_wins_in_any_order(order: list[Outcome]) -> None:
    runs = [TestRun(id=A, outcome=outcome, seconds=0) for outcome in order]
    assert worst(runs, A).outcome is Outcome.CRASHED
    assert worst([each for each in runs if not each.outcome.bad], A).outcome is Outcome.NOT_RUN
    assert worst(runs, B).outcome is Outcome.NOT_RUN


def test_a_report_with_an_exception_says_more_than_one_without() -> None:
    bare = TestRun(id=A, outcome=Outcome.FAILED, seconds=0)
    told = TestRun(id=A, outcome=Outcome.FAILED, seconds=0, failure=failure())
    assert worst([bare, told], A) is told
    assert worst([told, bare, run()], A) is told


def test_rounds_are_same_seed_varied_and_alone_with_a_fresh_one() -> None:
    plan = rounds(3, 5)
    neutral = [each for each in plan if each.conditions == Conditions()]
    assert len(plan) == 9
    assert sum(each.alone for each in plan) == 1
    assert len(neutral) == 4
    assert [each.mode for each in plan].count(Mode.FRESH) == 1
    moved = {axis for each in plan for axis in each.conditions.differences(Conditions())}
    assert {"hash-seed", "random", "order", "timezone", "locale", "load", "environment"} <= moved
    assert "clock" not in moved, "another day is a warning, no contradiction"


@pytest.mark.parametrize("varied", range(8))
def test_one_round_is_in_a_fresh_process_however_few_there_are(varied: int) -> None:
    plan = rounds(3, varied)
    assert [each.mode for each in plan].count(Mode.FRESH) == 1
    assert len(plan) == 4 + varied


def test_eight_rounds_start_four_processes() -> None:
    starts = [(start_of(each.conditions), each.mode is Mode.FRESH) for each in rounds(3, 5)]
    assert len(set(starts)) == 4
    assert {start.hash_seed for start, _ in starts} == {0, 1, 2, 3}


def test_more_rounds_than_patterns_have_seeds_of_their_own() -> None:
    plan = rounds(1, 12)
    assert len({each.conditions for each in plan}) == 13


def test_the_second_collection_uses_the_server_of_a_varied_round() -> None:
    start = second_collection()
    assert any(
        (each.conditions.hash_seed, each.conditions.import_random) == (start.hash_seed, start.import_random)
        for each in rounds(3, 5)
    )


def test_a_round_holds_what_base_needs_to_fail() -> None:
    needed, moved = Conditions(locale="non-utf-8"), Conditions(locale="C", hash_seed=3)
    assert combined(needed, moved) == Conditions(locale="non-utf-8", hash_seed=3)


def test_the_ladder_moves_one_axis_at_a_time() -> None:
    steps = ladder(TODAY)
    assert all(len(each.differences(Conditions())) == 1 for each in steps)
    assert steps[0].differences(Conditions()) == ("locale",)


@pytest.mark.parametrize(
    ("today", "days"),
    [
        (datetime.date(2026, 3, 4), ["2027-03-04", "2028-02-29"]),
        (datetime.date(2028, 2, 29), ["2029-02-28", "2032-02-29"]),
        (datetime.date(2096, 3, 1), ["2097-03-01", "2104-02-29"]),
    ],
)
def test_other_days_are_a_year_on_and_the_next_leap_day(today: datetime.date, days: list[str]) -> None:
    assert [each.clock[:10] for each in other_days(today)] == days


def test_conditions_are_named_by_what_is_moved() -> None:
    assert words(Conditions()) == "neutral"
    assert words(Conditions(hash_seed=2, timezone="Asia/Tokyo")) == "hash-seed 2, timezone Asia/Tokyo"
