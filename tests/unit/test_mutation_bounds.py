"""A change of thousands of lines: what is counted, what is listed, and that every mutant has its reason."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from repro_gate.model import Mode, Untested, Waiver, Way
from repro_gate.model.edit import Edit
from tests.unit.simulated_mutants import FILE, NEW, OLD, RAISES, case, catches, judged, mutant

OTHER = "tests/test_other.py::test_other"
A, B = mutant("a"), mutant("b", 3)
FURTHER, LATE, WAIVED = (mutant(name, line, text="") for name, line in (("c", 2), ("d", 4), ("e", 3)))


def test_mutants_that_are_too_many_are_counted_with_their_reasons_and_not_listed() -> None:
    found = judged(
        {OLD: catches("a", "b")},
        A,
        B,
        beyond=(FURTHER, LATE, WAIVED),
        covering=lambda each: () if each.id == "d" else (OLD,),
        waivers=(Waiver(file=FILE, mutant="e", reason="equal"),),
        covered={FILE: frozenset({2, 3})},
    )
    assert found.told == ("neutral", "partly_tested")
    assert found.outcomes == {"a": "killed", "b": "killed"}
    assert found.left == {}
    assert found.report.beyond == {Untested.BUDGET: 1, Untested.NOT_COVERED: 1, Untested.WAIVED: 1}
    assert found.report.testable == 3
    assert found.result.summary.startswith(
        "2 of 5 mutants tested (1 covered by no test, 1 waived, 1 left for want of time)"
    )
    assert {each.line: str(each.state) for each in found.report.account} == {
        2: "mutated",
        3: "mutated",
        4: "not-covered",
    }


def test_a_line_of_which_every_mutant_is_too_many_is_told_so() -> None:
    found = judged({OLD: catches("a")}, A, beyond=(LATE,))
    (line,) = [each for each in found.report.account if each.line == 4]
    assert (str(line.state), line.why) == (
        "covered-only",
        "a change is tested with its best 1 mutants, and it is not among them",
    )


def test_on_disk_a_few_tests_of_the_change_are_asked_beside_and_hundreds_with_the_suite() -> None:
    many = [f"{NEW}[{number}]" for number in range(101)]
    tests = {OLD: catches(), **dict.fromkeys(many, catches())}
    few = case(tests, [A], covering=lambda _mutant: (OLD,), new_tests=frozenset(many[:100]))
    assert few.selection(A, Way.DISK) == (OLD, *many[:100])
    large = case(tests, [A], covering=lambda _mutant: (OLD,), new_tests=frozenset(many))
    assert large.selection(A, Way.DISK) == (OLD,)
    assert large.selection(A, Way.SUITE) == (OLD, *many)


def test_of_more_mutants_than_there_is_time_for_those_that_were_missed_still_meet_the_suite() -> None:
    """Else a change of thousands of mutants would use all of its time on forks, and tell of no survivor."""
    many = [mutant(f"m{number}", mutated=f"x <= {number}") for number in range(500)]
    found = judged(
        {OLD: catches(), OTHER: catches()},
        *many,
        covering=lambda _mutant: (OLD,),
        policy={"batch": 2, "budget_seconds": 120.0},
        bench={"took": 4.0},
    )
    assert "survived" in found.outcomes.values()
    assert len(found.outcomes) + len(found.left) == 500
    assert found.bench.now < 150.0


def test_a_batch_of_a_slow_suite_is_as_large_as_its_share_of_the_time() -> None:
    """Eight mutants at once, with both looks at each, would use up all of the time, and not even one have a result."""
    many = [mutant(f"m{number}") for number in range(8)]
    slow = {OLD: catches(*(each.id for each in many[:6]))}
    found = judged(slow, *many, seconds={OLD: 5.0}, policy={"budget_seconds": 100.0}, bench={"per_second": 1.0})
    tried = [len({found.bench.what(each) for each in batch} - {"", RAISES}) for batch in found.bench.asked]
    assert max(tried) <= 2
    assert list(found.outcomes)[:3] == ["m0", "m1", "m2"]
    assert found.bench.now <= 100.0
    assert set(found.left.values()) == {"budget"}
    assert len(found.outcomes) + len(found.left) == 8


def test_a_mutant_whose_tests_take_longer_than_what_is_left_is_not_begun_and_others_are() -> None:
    slow, quick = mutant("slow"), mutant("quick", 3)
    tests = {OLD: catches("slow"), OTHER: catches("quick")}
    found = judged(
        tests,
        slow,
        quick,
        covering=lambda each: (OLD,) if each is slow else (OTHER,),
        seconds={OLD: 90.0, OTHER: 0.5},
        policy={"budget_seconds": 100.0},
        bench={"per_second": 1.0},
    )
    assert (found.outcomes, found.left) == ({"quick": "killed"}, {"slow": "budget"})
    why = found.report.not_tested[0].why
    assert why == "its tests take 90 s, and it needs several runs of them: there was too little time"
    assert found.bench.now < 10.0


def test_where_no_mutant_fits_it_is_said_what_each_would_take() -> None:
    found = judged({OLD: catches("a")}, A, seconds={OLD: 90.0}, policy={"budget_seconds": 60.0})
    assert found.bench.asked == []
    assert found.told == ("inconclusive", "budget")
    (finding,) = found.result.findings
    assert finding.text == (
        "there was no time for any mutant (of the first: its tests take 90 s, and it needs several runs of them: there was too little time)"
    )


@given(
    st.lists(st.tuples(st.floats(0.0, 40.0), st.booleans()), min_size=1, max_size=12),
    st.floats(1.0, 400.0),
    st.integers(1, 8),
)
def test_the_time_is_kept_but_for_what_one_mutant_may_take(
    tests: list[tuple[float, bool]], budget: float, batch: int
) -> None:
    """Each mutant has a test of its own, of so many seconds, which notices it or does not."""
    many = [mutant(f"m{number}") for number in range(len(tests))]
    names = [f"tests/test_{number}.py::test" for number in range(len(tests))]
    own = dict(zip(many, names, strict=True))
    seconds = dict(zip(names, (each for each, _ in tests), strict=True))
    behaviours = {
        own[each]: catches(*([each.id] if notices else [])) for each, (_, notices) in zip(many, tests, strict=True)
    }
    found = judged(
        behaviours,
        *many,
        covering=lambda each: (own[each],),
        seconds=seconds,
        new_tests=frozenset(),
        policy={"budget_seconds": budget, "batch": batch},
        bench={"per_second": 1.0},
    )
    whole = any(each.mode is Mode.FRESH and not each.files for asked in found.bench.asked for each in asked)
    # What has begun may need two controls and two looks at all of its tests; the whole suite its null control.
    one = 4 * max(seconds.values()) + (sum(seconds.values()) if whole else 0.0)
    assert found.bench.now <= 1.25 * budget + one + 2.5  # seconds of neighbours that a second look is behind
    assert len(found.outcomes) + len(found.left) == len(many)


@given(st.text("ab\n", max_size=12), st.text("ab\n", max_size=12))
def test_the_smallest_edit_makes_one_text_of_the_other(before: str, after: str) -> None:
    edit = Edit.between(before, after)
    assert edit.applied(before) == after
    # Nothing at either end of it is the same: by another way than by halves.
    one, other = before[edit.start : edit.end], edit.text
    assert not (one and other and (one[0] == other[0] or one[-1] == other[-1]))


def test_what_only_child_processes_run_is_tried_on_disk_from_the_first() -> None:
    found = judged({OLD: catches("a")}, A, B, lines_in_children={FILE: frozenset({2})})
    assert found.outcomes == {"a": "killed", "b": "survived"}
    ways = {found.bench.what(each): each.mode for batch in reversed(found.bench.asked) for each in batch}
    assert (ways["a"], ways["b"]) == (Mode.FRESH, Mode.FORK)


def test_company_is_what_the_suite_has_before_a_test_as_far_as_it_is_cheap() -> None:
    tests = [f"tests/test_{file}.py::test_{number}" for file in "ab" for number in range(4)]
    of = case(dict.fromkeys(tests, catches()), [A], seconds=dict.fromkeys(tests, 0.1), new_tests=frozenset())
    last = tests[6]
    assert of.in_company((last,), last, Way.FORK) == (*tests[4:6], last)
    assert of.in_company((tests[0], last, tests[7]), last, Way.FORK) == (tests[0], *tests[4:6], last)
    assert of.in_company((last,), last, Way.FORK, spared=[tests[5]]) == (tests[3], tests[4], last)
    quick = case(dict.fromkeys(tests, catches()), [A], seconds={}, new_tests=frozenset())
    assert quick.in_company((last,), last, Way.FORK) == tuple(tests[:7])
    assert quick.in_company((last,), last, Way.DISK) == (*tests[4:6], last)
