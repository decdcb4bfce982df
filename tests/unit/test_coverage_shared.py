"""Which tests are asked again where a test that failed may have run lines for others, in a fixture or a cache."""

from __future__ import annotations

from collections.abc import Collection

from hypothesis import given
from hypothesis import strategies as st

from repro_gate.model import Outcome, TestRun
from repro_gate.pipeline.instrumented import Instrumented, changed_lines
from tests.unit.simulated_bench import Behaviour, Seen, Sim
from tests.unit.test_coverage_gate import FILE, FIRST, LIMITS, TWO, World, a_test, changed, lost, ran

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED


def cached_tests(behind: str = "", **tests: tuple[Collection[int], Outcome]) -> list[Sim]:
    """Tests that need lines which run once in a process, in the first that needs them; the last of them fails where
    ``behind`` has not run before it.
    """
    held = {f"tests/test_mod.py::{name}": frozenset(lines) for name, (lines, _) in tests.items()}

    def behaviour(test: str, outcome: Outcome) -> Behaviour:
        def behave(seen: Seen) -> TestRun:
            cold = held[test].difference(*(held[each] for each in seen.before))
            lost_without = behind and test == [*held][-1] and behind not in seen.before
            return ran(",".join(map(str, sorted(cold))), outcome=FAILED if lost_without else outcome)(seen)

        return behave

    return [a_test(name, behaviour(test, tests[name][1])) for name, test in zip(tests, held, strict=True)]


def test_what_only_failed_tests_ran_is_looked_for_where_the_change_is_and_nowhere_else() -> None:
    sims = cached_tests(a=({2, 9}, FAILED), b=({2, 9}, PASSED))
    bench = World([], sims).bench
    assert Instrumented(bench, LIMITS, asked={FILE: {3}}).head.tests_of(FILE, [2, 9]) == ("tests/test_mod.py::a",)
    assert len(bench.asked) == 1
    bench = World([], sims).bench
    head = Instrumented(bench, LIMITS, asked={FILE: {2}}).head
    assert head.tests_of(FILE, [2]) == ("tests/test_mod.py::a", "tests/test_mod.py::b")
    assert len(bench.asked) == 2


def test_only_tests_behind_a_failed_one_can_have_shared_with_it() -> None:
    sims = cached_tests(a=({3}, PASSED), b=({4}, FAILED), c=({2}, FAILED), d=({3}, PASSED), e=({2}, PASSED))
    bench = World([], sims).bench
    head = Instrumented(bench, LIMITS, asked={FILE: {2}}).head
    *_, d, e = (sim.id for sim in sims)
    assert [request.experiment.tests for request in bench.asked[1:]] == [(d, e)]
    assert head.tests_of(FILE, [2]) == ("tests/test_mod.py::c", e)


def test_where_those_behind_it_fail_without_the_others_all_are_asked() -> None:
    sims = cached_tests("tests/test_mod.py::a", a=((), PASSED), b=({2}, FAILED), c=({2}, PASSED))
    bench = World([], sims).bench
    head = Instrumented(bench, LIMITS).head
    a, _, c = (sim.id for sim in sims)
    assert [request.experiment.tests for request in bench.asked[1:]] == [(c,), (a, c)]
    assert head.tests_of(FILE, [2])[-1] == c


@given(
    st.lists(st.tuples(st.frozensets(st.integers(1, 5)), st.booleans()), min_size=1, max_size=7),
    st.frozensets(st.integers(1, 5)),
)
def test_lines_that_are_asked_for_are_told_as_if_no_failed_test_had_run(
    tests: list[tuple[frozenset[int], bool]], asked: frozenset[int]
) -> None:
    named = {f"t{n}": (lines, PASSED if good else FAILED) for n, (lines, good) in enumerate(tests)}
    sims = cached_tests("", **named)
    head = Instrumented(World([], sims).bench, LIMITS, asked={FILE: asked}).head
    good = [sim.id for sim, (_, is_good) in zip(sims, tests, strict=True) if is_good]
    told, _ = head.ran(FILE, good)
    assert told & asked == asked.intersection(frozenset[int]().union(*(lines for lines, is_good in tests if is_good)))


def test_a_changed_line_is_all_of_its_statement() -> None:
    head = "def f():\n    return g(\n        1,\n        2,\n    )\n"
    file = changed(head.replace("2", "3"), head)
    assert file.added == {4}
    assert changed_lines([file, changed(head, None, path="pkg/gone.py")]) == {FILE: {2, 3, 4, 5}}


def test_an_unchanged_line_that_a_failed_test_took_from_others_is_not_lost() -> None:
    """It is asked for once it seems lost, and not before."""

    def shares(seen: Seen) -> TestRun:
        return ran("2" if FIRST in seen.before else "2,5")(seen)

    sims = [a_test("first", ran("5", outcome=Outcome.FAILED)), a_test("second", shares, ran("2,5"))]
    result = World([], sims, texts={FILE: TWO}, at_import="1,4").judged()
    assert lost(result) == []
