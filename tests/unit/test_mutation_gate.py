"""The mutation gate tries mutants: a kill only by a test that can tell, twice; a survivor only on disk."""

from __future__ import annotations

import dataclasses
import datetime

import pytest

from repro_gate.gates.mutation import Policy, judge
from repro_gate.model import Ending, GateResult, Mode, Mutant, Outcome, Site, Way
from tests.unit.simulated_mutants import (
    FILE,
    HEAD,
    NEW,
    OLD,
    RAISES,
    MutantBench,
    Seen,
    case,
    catches,
    comes_to,
    judged,
    mutant,
)

TODAY = datetime.date(2026, 3, 4)
A, B = mutant("a"), mutant("b", 3)
OTHER = "tests/test_other.py::test_other"

QUICK = {OLD: 0.01, NEW: 0.01}


def test_a_killed_mutant_was_seen_failing_twice_by_a_test_that_passes_without_it() -> None:
    found = judged({OLD: catches("a"), NEW: catches("a")}, A)
    assert found.outcomes == {"a": "killed"}
    assert found.told == ("pass", "all_detected")
    assert found.of("a").killed_by == (OLD,)
    assert not found.of("a").by_new_test
    # Null and must-die control, the mutant, and once more up to the test that failed.
    names = [[found.bench.what(each) for each in batch] for batch in found.bench.asked]
    assert names == [[""], [RAISES], ["a"], ["a"]]
    assert [batch[0].experiment.tests for batch in found.bench.asked] == [(OLD, NEW)] * 3 + [(OLD,)]
    assert all(each.mode is Mode.FORK for batch in found.bench.asked for each in batch)


def test_the_changes_own_tests_run_last_and_get_a_kill_only_where_no_older_one_does() -> None:
    tests = {NEW: catches("a", "b"), OLD: catches("a")}
    found = judged(tests, A, B)
    assert [(found.of(name).killed_by, found.of(name).by_new_test) for name in "ab"] == [
        ((OLD,), False),
        ((NEW,), True),
    ]
    assert found.result.summary.startswith(
        "2 of 2 mutants tested; 1 killed by old tests, 1 killed only by tests of this change; score 100%"
    )


def test_a_survivor_is_confirmed_on_disk_by_its_tests_and_all_of_the_change_and_then_by_the_suite() -> None:
    tests = {OLD: catches(), OTHER: catches(), NEW: catches()}
    found = judged(tests, A, covering=lambda _mutant: (OLD,))
    assert found.outcomes == {"a": "survived"}
    assert found.of("a").confirmed
    assert (found.of("a").selection, found.of("a").tests) == ((OLD,), 1), "only what runs it is told of"
    assert found.told == ("fail", "survivors")
    asked = [
        batch[0] for batch in found.bench.asked if found.bench.what(batch[0]) == "a" and batch[0].mode is Mode.FRESH
    ]
    assert [each.experiment.tests for each in asked] == [(OLD, NEW), (OLD, OTHER, NEW)]
    assert {each.stage.replaced for each in asked} == {((FILE, A.text),)}
    assert [each.files for each in asked] == [("tests/test_old.py", "tests/test_new.py"), ()]
    assert [(each.kind, each.way, each.held) for each in found.report.controls] == [
        ("null", "fork", True),
        ("must-die", "fork", True),
        ("null", "disk", True),
        ("must-die", "disk", True),
        ("must-die", "suite", True),
    ], "where all tests pass with it, a null control could excuse nothing"


def test_a_test_that_passes_in_no_run_of_the_whole_suite_on_disk_excuses_no_survivor() -> None:
    def in_forks_alone(seen: Seen) -> Outcome:
        return Outcome.FAILED if seen.mode is Mode.FRESH else Outcome.PASSED

    found = judged({OLD: catches(), OTHER: in_forks_alone}, A, covering=lambda _mutant: (OLD,))
    assert found.outcomes == {"a": "survived"}
    assert [(each.kind, each.exposed) for each in found.report.controls if each.way == "suite"] == [
        ("null", (OTHER,)),
        ("must-die", ()),
    ]


def test_a_test_that_reads_what_another_one_left_in_a_fixture_or_a_cache_notices_it() -> None:
    found = judged({OLD: catches(), OTHER: catches("a")}, A, B, covering=lambda _mutant: (OLD,))
    assert found.outcomes == {"a": "killed", "b": "survived"}
    assert found.of("a").killed_by == (OTHER,)
    assert found.of("b").selection == (OLD,)


def test_where_all_tests_run_it_the_suite_was_asked_already() -> None:
    found = judged({OLD: catches(), OTHER: catches()}, A)
    assert found.outcomes == {"a": "survived"}
    assert all(each.files for batch in found.bench.asked for each in batch if each.mode is Mode.FRESH)


def written(name: str, old: str, new: str) -> Mutant:
    return mutant(name, original=old, mutated=new, text=HEAD.replace(old, new))


APART = (written("a", "x < 3", "x <= 3"), written("b", "return 1", "return 7"), written("c", "return 0", "return 8"))


@pytest.mark.parametrize(
    ("noticed", "runs"),
    [((), 1), (("b",), 4)],
    ids=["none is noticed: one run for all", "one is: each by itself, and not again"],
)
def test_what_no_test_of_its_lines_noticed_meets_the_suite_together_first(noticed: tuple[str, ...], runs: int) -> None:
    found = judged({OLD: catches(), OTHER: catches(*noticed)}, *APART, covering=lambda _mutant: (OLD,))
    assert found.outcomes == {each.id: "killed" if each.id in noticed else "survived" for each in APART}
    suites = [
        found.bench.what(each)
        for batch in found.bench.asked
        for each in batch
        if each.mode is Mode.FRESH and not each.files and found.bench.what(each) not in ("", RAISES)
    ]
    assert suites[0] == "a+b+c"
    assert sorted(suites[1:4]) == ([] if runs == 1 else ["a", "b", "c"])


def test_mutants_of_one_place_are_never_together() -> None:
    same = (written("a", "x < 3", "x <= 3"), written("b", "x < 3", "x < 4"))
    found = judged({OLD: catches(), OTHER: catches()}, *same, covering=lambda _mutant: (OLD,))
    assert found.outcomes == {"a": "survived", "b": "survived"}
    assert "a+b" not in {found.bench.what(each) for batch in found.bench.asked for each in batch}


def test_the_suite_is_asked_last_and_by_no_more_mutants_than_fit() -> None:
    many = [mutant(f"m{number}") for number in range(4)]
    found = judged(
        {OLD: catches("m3"), OTHER: catches()},
        *many,
        covering=lambda _mutant: (OLD,),
        seconds={OLD: 1.0, OTHER: 9.0},
        policy={"batch": 2, "budget_seconds": 57.0},
        bench={"took": 4.0},
    )
    assert found.outcomes == {"m0": "survived", "m1": "survived", "m3": "killed"}
    assert found.left == {"m2": "budget"}
    assert "whole suite" in found.report.not_tested[0].why


def test_what_is_missed_in_a_fork_and_killed_on_disk_is_killed() -> None:
    def on_disk(seen: Seen) -> Outcome:
        return catches("a")(seen) if seen.mode is Mode.FRESH else catches()(seen)

    found = judged({OLD: on_disk}, A)
    assert (found.outcomes, found.of("a").confirmed) == ({"a": "killed"}, True)
    assert found.told == ("pass", "all_detected")


def flaky_once(seen: Seen) -> Outcome:
    """Fails the first time that it meets the mutant, and never again."""
    if seen.mutant == "a":
        return Outcome.FAILED if seen.nth == 1 else Outcome.PASSED
    return catches()(seen)


def test_a_failure_that_does_not_come_back_is_no_kill() -> None:
    found = judged({OLD: flaky_once}, A)
    assert found.outcomes == {"a": "inconclusive"}
    assert found.of("a").why == f"{OLD} failed with it once, and not a second time"
    assert found.told == ("inconclusive", "unmeasured")


def test_another_test_may_have_failed_both_times() -> None:
    found = judged({OLD: flaky_once, NEW: catches("a")}, A)
    assert (found.outcomes, found.of("a").killed_by) == ({"a": "killed"}, (NEW,))
    assert found.bench.asked[-1][0].experiment.tests == (OLD, NEW)


def test_an_old_test_has_the_kill_though_it_runs_none_of_the_lines() -> None:
    """It reads what another one left: in a cache, or a fixture of the session."""
    found = judged({OLD: catches("a"), NEW: catches("a", "b")}, A, B, covering=lambda _mutant: (NEW,), seconds=QUICK)
    assert [(found.of(name).killed_by, found.of(name).by_new_test) for name in "ab"] == [
        ((OLD,), False),
        ((NEW,), True),
    ]


def test_an_old_test_that_fails_in_that_company_anyway_has_no_kill() -> None:
    found = judged(
        {OLD: lambda _seen: Outcome.FAILED, NEW: catches("a")}, A, covering=lambda _mutant: (NEW,), seconds=QUICK
    )
    assert (found.of("a").killed_by, found.of("a").by_new_test) == ((NEW,), True)


def test_a_test_that_is_flaky_does_not_kill_and_is_not_even_run() -> None:
    found = judged({OLD: catches("a"), NEW: catches()}, A, flaky=frozenset({OLD}))
    assert found.outcomes == {"a": "survived"}
    assert all(OLD not in (each.experiment.tests or ()) for batch in found.bench.asked for each in batch)


def test_a_test_that_failed_before_does_not_kill_and_is_run_with_the_whole_suite_alone() -> None:
    """What it leaves, another test may read."""
    found = judged({OLD: catches("a"), NEW: catches()}, A, outcomes={OLD: Outcome.FAILED, NEW: Outcome.PASSED})
    assert found.outcomes == {"a": "survived"}
    asked = [each.experiment.tests for batch in found.bench.asked for each in batch]
    assert {tests for tests in asked if OLD in (tests or ())} == {(OLD, NEW)}


@pytest.mark.parametrize("outcome", [Outcome.XFAILED, Outcome.XPASSED, Outcome.SKIPPED])
def test_a_test_that_says_nothing_on_head_is_heard_in_the_whole_suite(outcome: Outcome) -> None:
    """With a mutant it may fail: no longer skipped, or no longer failing as it must."""
    found = judged({OLD: catches("a"), NEW: catches()}, A, outcomes={OLD: outcome, NEW: Outcome.PASSED})
    assert (found.outcomes, found.of("a").killed_by) == ({"a": "killed"}, (OLD,))
    narrow = [each.experiment.tests for batch in found.bench.asked for each in batch if each.files != ()]
    assert all(tests == (NEW,) for tests in narrow)


def test_without_any_stable_test_nothing_is_said() -> None:
    found = judged({OLD: catches("a")}, A, flaky=frozenset({OLD}))
    assert (found.outcomes, found.left) == ({}, {"a": "no-stable-test"})
    assert found.told == ("inconclusive", "unmeasured")


def red_when_swapped(seen: Seen) -> Outcome:
    """A leak of the harness: every test is red in a fork whose code was exchanged, by whatever text."""
    return Outcome.FAILED if seen.mode is Mode.FORK else catches("b")(seen)


def test_a_null_control_that_fails_takes_every_kill_from_the_fork() -> None:
    found = judged({OLD: red_when_swapped}, A, B)
    assert found.outcomes == {"a": "survived", "b": "killed"}
    assert found.of("b").confirmed
    first = found.report.controls[0]
    assert (first.kind, first.held, first.exposed) == ("null", False, (OLD,))
    assert first.why == "no test passes when they are run for it, though nothing is mutated"


def test_where_the_null_control_fails_on_disk_as_well_nothing_is_known() -> None:
    found = judged({OLD: lambda _seen: Outcome.FAILED}, A, B)
    assert set(found.outcomes.values()) == {"inconclusive"}
    assert found.told == ("inconclusive", "unmeasured")
    assert "though nothing is mutated" in found.result.findings[-1].text


def test_tests_that_notice_nothing_at_all_prove_nothing() -> None:
    found = judged({OLD: lambda _seen: Outcome.PASSED}, A)
    assert found.outcomes == {"a": "inconclusive"}
    assert found.of("a").why == f"no test notices that {FILE} raises"
    assert [(each.kind, each.held) for each in found.report.controls if each.kind == "must-die"] == [
        ("must-die", False),
        ("must-die", False),
    ]


UNREAD = mutant("a", site=Site.IMPORT, qualname="")


@pytest.mark.parametrize(
    ("behaviour", "imported", "said"),
    [
        (Outcome.PASSED, frozenset[int](), {"left": "not-covered"}),  # as a setup.py beside the product
        (Outcome.PASSED, frozenset({1}), {"tested": "inconclusive"}),
        (Outcome.FAILED, frozenset[int](), {"tested": "killed"}),
    ],
)
def test_a_file_that_did_not_run_and_that_nothing_notices_to_raise_is_not_covered(
    behaviour: Outcome, imported: frozenset[int], said: dict[str, str]
) -> None:
    found = judged(
        {OLD: lambda seen: behaviour if seen.mutant and seen.mode is Mode.FRESH else Outcome.PASSED},
        UNREAD,
        covering=lambda _mutant: (),
        lines_at_import={FILE: imported},
        covered={},
    )
    told = {"left": found.left.get("a"), "tested": found.outcomes.get("a")}
    assert {key: value for key, value in told.items() if value} == said
    if "left" in said:
        assert found.told == ("neutral", "not_covered")
        assert found.report.not_tested[0].why == f"no test notices that {FILE} raises"


def test_a_survivor_names_a_test_that_runs_it_and_does_not_pass_on_head() -> None:
    outcomes = {OLD: Outcome.PASSED, NEW: Outcome.FAILED}
    found = judged({OLD: catches(), NEW: catches("a")}, A, outcomes=outcomes, policy={"allowed_survivors": None})
    assert found.outcomes == {"a": "survived"}
    assert found.result.notes == (f"tests that do not pass reliably on head were not asked: {NEW}",)
    assert (
        f"1 test that runs it does not pass reliably on head and was not asked (e.g. {NEW})"
        in found.result.findings[0].text
    )


def test_the_must_die_control_is_owed_by_a_file_and_not_by_each_function() -> None:
    g = mutant("g", 3, qualname="g", first_line=3)
    covering = {"g": (OLD,), "a": (OLD, NEW)}
    found = judged(
        {OLD: lambda _seen: Outcome.PASSED, NEW: catches("a")}, g, A, covering=lambda each: covering[each.id]
    )
    assert found.outcomes == {"g": "survived", "a": "killed"}
    dies = [each for each in found.report.controls if each.kind == "must-die" and each.way is Way.FORK]
    assert [each.held for each in dies] == [True]


SETS_UP = "tests/test_a.py::test_sets_up"


@pytest.mark.parametrize(("notices", "outcome"), [("a", "killed"), ("z", "survived")])
def test_a_test_that_fails_when_it_is_selected_kills_nothing_until_the_whole_suite_ran(
    notices: str, outcome: str
) -> None:
    def dependent(seen: Seen) -> Outcome:
        return catches(notices)(seen) if SETS_UP in seen.before else Outcome.FAILED

    found = judged({SETS_UP: catches(), OLD: dependent}, A, covering=lambda _mutant: (OLD,))
    assert found.outcomes == {"a": outcome}
    assert found.of("a").selection == (SETS_UP, OLD)
    assert found.bench.asked[-1][0].files == ()
    assert any(each.exposed == (OLD,) for each in found.report.controls)


def test_a_covering_test_that_passes_in_no_selection_leaves_the_mutant_open() -> None:
    tests = {OLD: lambda seen: Outcome.FAILED if "x" not in seen.before else Outcome.PASSED, NEW: catches()}
    found = judged(tests, A)
    assert found.outcomes == {"a": "inconclusive"}
    assert found.of("a").why == f"{OLD} runs its lines and does not pass when it is run for it"


def test_the_worst_report_of_a_test_counts() -> None:
    # A sub-test failed, and then the test itself is reported as passed; or the other way round.
    def failing_subtest(seen: Seen) -> Outcome:
        return catches("a")(seen)

    found = judged({OLD: failing_subtest}, A, bench={"twice": {OLD: Outcome.PASSED}})
    assert found.outcomes == {"a": "killed"}


def hangs(seen: Seen) -> Outcome:
    return comes_to(Outcome.TIMEOUT, "a")(seen)


def test_a_hang_is_confirmed_alone_with_three_times_the_limit_beside_a_null_run() -> None:
    found = judged({OLD: hangs}, A, B)
    assert found.outcomes["a"] == "timeout"
    assert found.of("a").killed_by == (OLD,)
    alone = [batch for batch in found.bench.asked if batch[0].experiment.limits.test_seconds == 30.0]
    assert [[found.bench.what(each) for each in batch] for batch in alone] == [["a"], [""]]
    assert "timeout" in found.reasons


def test_a_hang_of_a_busy_machine_is_no_detection() -> None:
    found = judged({OLD: lambda seen: hangs(seen) if seen.seconds < 30 else catches()(seen)}, A)
    assert found.outcomes == {"a": "inconclusive"}
    assert "not when it was tried alone" in found.of("a").why


def test_a_hang_that_head_shows_in_the_same_slot_is_no_detection() -> None:
    found = judged({OLD: lambda seen: Outcome.TIMEOUT if seen.seconds >= 30 else hangs(seen)}, A)
    assert found.outcomes == {"a": "inconclusive"}
    assert "does not pass without it in the same place either" in found.of("a").why


def test_what_fails_after_a_hang_ran_in_another_process_and_kills_nothing() -> None:
    found = judged({OLD: hangs, NEW: catches("a")}, A)
    assert (found.outcomes, found.of("a").killed_by) == ({"a": "timeout"}, (OLD,))


def test_what_failed_before_a_hang_kills() -> None:
    found = judged({OLD: catches("a"), NEW: hangs}, A)
    assert (found.outcomes, found.of("a").killed_by) == ({"a": "killed"}, (OLD,))


def test_a_crash_that_comes_back_beside_a_fine_null_run_is_a_kill_that_is_listed_as_one() -> None:
    found = judged({OLD: comes_to(Outcome.CRASHED, "a")}, A)
    assert (found.outcomes, found.of("a").why, found.of("a").killed_by) == ({"a": "killed"}, "killed: crash", (OLD,))


def test_what_runs_out_of_time_and_crashes_where_it_has_more_is_a_kill() -> None:
    """As a mutant does that takes all memory, on a machine that is slow."""
    ends = {1: Outcome.TIMEOUT, 2: Outcome.CRASHED}
    found = judged({OLD: lambda s: ends[s.nth] if s.mutant == "a" else catches()(s)}, A)
    assert (found.outcomes, found.of("a").why, found.of("a").killed_by) == ({"a": "killed"}, "killed: crash", (OLD,))


def test_a_crash_that_does_not_come_back_is_no_kill() -> None:
    found = judged({OLD: lambda s: Outcome.CRASHED if s.mutant == "a" and s.nth == 1 else catches()(s)}, A)
    assert found.outcomes == {"a": "inconclusive"}


def test_the_end_of_the_harness_is_no_kill_unless_it_comes_back() -> None:
    def memory(seen: Seen) -> Ending:
        return Ending.MEMORY if seen.mutant == "a" else Ending.DONE

    def once(seen: Seen) -> Ending:
        return memory(seen) if seen.nth == 1 else Ending.DONE

    found = judged({OLD: catches()}, A, bench={"ends": memory})
    assert found.outcomes == {"a": "killed"}
    assert found.of("a").why.startswith("killed: crash (the process did not go to its end: memory")
    assert found.of("a").killed_by == ()
    assert judged({OLD: catches()}, A, bench={"ends": once}).outcomes == {"a": "inconclusive"}


def test_controls_of_a_process_that_do_not_hold_make_its_failures_worthless() -> None:
    found = judged({OLD: catches("a")}, A, bench={"holds": lambda seen: seen.mutant != "a"})
    assert (found.outcomes, found.told) == ({"a": "inconclusive"}, ("inconclusive", "unmeasured"))
    assert found.of("a").why == "a control test in the process did not do what it must"


def test_a_doubtful_fork_is_tried_again_on_disk() -> None:
    found = judged({OLD: catches("a")}, A, bench={"holds": lambda seen: seen.mutant != "a" or seen.mode is Mode.FRESH})
    assert (found.outcomes, found.of("a").confirmed) == ({"a": "killed"}, True)


def test_a_report_that_says_otherwise_than_what_was_seen_kills_nothing() -> None:
    found = judged({OLD: catches("a")}, A, bench={"contradicts": frozenset({OLD})})
    assert (found.outcomes, found.of("a").why) == ({"a": "inconclusive"}, f"{OLD}: the report says otherwise")
    believed = judged({OLD: catches("a")}, A, bench={"contradicts": frozenset({NEW})})
    assert believed.outcomes == {"a": "killed"}


@pytest.mark.parametrize("outcome", [Outcome.SKIPPED, Outcome.XFAILED, Outcome.NOT_RUN])
def test_a_mutant_that_makes_a_test_skip_is_neither_killed_nor_a_survivor(outcome: Outcome) -> None:
    found = judged({OLD: comes_to(outcome, "a")}, A)
    assert found.outcomes == {"a": "inconclusive"}
    gone = f"{OLD} is not collected with it"
    assert found.of("a").why == (
        gone if outcome is Outcome.NOT_RUN else f"{OLD} came to {outcome}, neither passed nor failed"
    )


def test_a_function_that_a_fork_cannot_exchange_is_tried_on_disk() -> None:
    found = judged({OLD: catches("a")}, A, B, bench={"unswappable": frozenset({"f"})})
    assert found.outcomes == {"a": "killed", "b": "survived"}
    assert found.of("a").confirmed
    assert found.report.controls[0].why == "its code could not be exchanged in a fork"


IMPORT = mutant("i", 3, site=Site.IMPORT, qualname="", first_line=0)


def test_code_that_runs_at_import_is_tried_on_disk_at_once_and_survives_only_the_whole_suite() -> None:
    far = "tests/test_far.py::test_far"
    tests = {OLD: catches(), far: catches("i"), NEW: catches()}
    found = judged(tests, IMPORT, covering=lambda _mutant: (OLD,))
    assert (found.outcomes, found.of("i").killed_by) == ({"i": "killed"}, (far,))
    assert all(each.mode is Mode.FRESH for batch in found.bench.asked for each in batch)
    survived = judged({**tests, far: catches()}, IMPORT, covering=lambda _mutant: (OLD,))
    assert survived.outcomes == {"i": "survived"}
    assert survived.of("i").selection == (OLD, far, NEW)


def test_a_function_whose_line_ran_at_import_takes_the_same_path() -> None:
    found = judged({OLD: catches("a")}, A, lines_at_import={FILE: frozenset({2})})
    assert found.outcomes == {"a": "killed"}
    assert all(each.mode is Mode.FRESH for batch in found.bench.asked for each in batch)


def test_a_mutant_that_breaks_the_import_is_killed_by_what_cannot_be_collected() -> None:
    error = {OLD: lambda seen: Outcome.ERROR if seen.mutant in ("i", RAISES) else Outcome.PASSED}
    found = judged(error, IMPORT)
    assert (found.outcomes, found.of("i").killed_by) == ({"i": "killed"}, (OLD,))


def test_a_mutant_with_which_no_process_starts_is_killed_as_a_crash() -> None:
    def ends(seen: Seen) -> Ending:
        return Ending.NOT_STARTED if seen.mutant in ("i", RAISES) else Ending.DONE

    found = judged({OLD: catches()}, IMPORT, bench={"ends": ends})
    assert found.outcomes == {"i": "killed"}
    assert "not-started" in found.of("i").why
    assert found.of("i").killed_by == ()
    assert found.result.summary.startswith("1 of 1 mutant tested; 1 killed by a crash outside of any test; score 100%")


def test_a_mutant_that_no_test_runs_is_not_tried() -> None:
    found = judged({OLD: catches("a")}, A, covering=lambda _mutant: ())
    assert (found.outcomes, found.left, found.bench.asked) == ({}, {"a": "not-covered"}, [])
    assert found.told == ("neutral", "not_covered")


def test_many_mutants_are_in_flight_at_a_time() -> None:
    many = [mutant(f"m{number}") for number in range(10)]
    found = judged({OLD: catches(*(each.id for each in many))}, *many, policy={"batch": 4})
    sizes = [len(batch) for batch in found.bench.asked]
    assert sizes == [1, 1, 4, 4, 4, 4, 2, 2]
    assert set(found.outcomes.values()) == {"killed"}


def test_the_budget_ends_the_sequence_and_the_count_is_honest() -> None:
    many = [mutant(f"m{number}") for number in range(6)]
    tests = {OLD: catches(*(each.id for each in many))}
    found = judged(tests, *many, policy={"batch": 2, "budget_seconds": 4.0})
    assert list(found.outcomes) == ["m0", "m1"]
    assert set(found.left.values()) == {"budget"}
    assert found.told == ("neutral", "partly_tested")
    assert found.result.summary.startswith("2 of 6 mutants tested (4 left for want of time)")


def test_without_time_to_confirm_nobody_is_accused() -> None:
    found = judged({OLD: catches()}, A, policy={"budget_seconds": 3.0})
    assert (found.outcomes, found.left) == ({}, {"a": "budget"})
    assert found.report.not_tested[0].why.startswith("no test noticed it in a fork")
    assert found.told == ("inconclusive", "budget")


def test_a_run_of_the_whole_suite_must_fit_in_what_is_left() -> None:
    seconds = {OLD: 0.1, NEW: 50.0}
    found = judged({OLD: catches(), NEW: catches()}, IMPORT, seconds=seconds, policy={"budget_seconds": 30.0})
    assert found.left == {"i": "budget"}
    enough = judged({OLD: catches(), NEW: catches()}, IMPORT, seconds=seconds, policy={"budget_seconds": 300.0})
    assert enough.outcomes == {"i": "survived"}


def test_what_only_the_suite_can_tell_has_the_time_that_is_kept_for_it() -> None:
    missed = written("a", "x < 3", "x <= 3")
    at_import = dataclasses.replace(written("i", "return 1", "return 7"), site=Site.IMPORT)
    found = judged(
        {OLD: catches(), OTHER: catches()},
        missed,
        at_import,
        covering=lambda each: (OLD,) if each is missed else (),
        new_tests=frozenset(),
        seconds={OLD: 0.1, OTHER: 5.0},
        policy={"batch": 1, "budget_seconds": 35.0},
        bench={"took": 4.0},
    )
    assert found.bench.now < 40.0
    assert found.outcomes == {"a": "survived", "i": "survived"}


def test_limits_follow_what_a_test_took_and_memory_is_bounded() -> None:
    found = judged({OLD: catches("a")}, A, seconds={OLD: 7.0}, policy={"memory_bytes": 5})
    limits = {each.experiment.limits for batch in found.bench.asked for each in batch}
    assert [(each.test_seconds, each.memory_bytes) for each in limits] == [(70.0, 5)]


def test_a_nested_function_is_exchanged_with_the_outermost_one() -> None:
    nested = mutant("a", qualname="Outer.f.<locals>.inner")
    found = judged({OLD: catches("a")}, nested)
    swap = found.bench.asked[-1][0].experiment.swap
    assert swap is not None
    assert (swap.qualname, swap.first_line, swap.path) == ("Outer.f", 1, FILE)


@pytest.mark.parametrize(
    "broken", [KeyboardInterrupt(), OSError(28, "No space left on device")], ids=["interrupt", "disk"]
)
def test_what_was_found_before_something_cut_it_short_is_kept(broken: BaseException) -> None:
    many = [mutant(f"m{number}") for number in range(4)]

    def until_the_third(seen: Seen) -> Outcome:
        if seen.mutant == "m2":
            raise broken
        return catches("m0", "m1")(seen)

    kept: list[GateResult] = []
    tests = {OLD: until_the_third}
    bench = MutantBench(tests=tests, mutants=many)
    with pytest.raises(type(broken)):
        judge(case(tests, many), bench, Policy(today=TODAY, clock=lambda: bench.now, batch=1), kept.append)
    [result] = kept
    assert result.mutation is not None
    assert {each.mutant.id: str(each.outcome) for each in result.mutation.tested} == {"m0": "killed", "m1": "killed"}
    assert {each.mutant.id: str(each.reason) for each in result.mutation.not_tested} == {"m2": "budget", "m3": "budget"}
    assert str(result.verdict) == "neutral"


def test_it_is_told_after_each_batch_how_far_it_is() -> None:
    many = [mutant(f"m{number}") for number in range(5)]
    tests = {OLD: catches("m0", "m1", "m2", "m4"), OTHER: catches()}
    bench = MutantBench(tests=tests, mutants=many)
    told: list[float] = []
    of = case(tests, many, covering=lambda _mutant: (OLD,))
    policy = Policy(today=TODAY, clock=lambda: bench.now, batch=2)
    judge(of, bench, policy, advance=told.append)
    # Nothing is known at first, and m3 waits for the whole suite, of which one run for all is enough.
    assert told == [0, 2, 1, 1, 1]
