"""What the mutation gate decides, what it shows, and that it names each changed line exactly once."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.gates.mutation.case import Policy
from repro_gate.gates.mutation.reasons import NEXT_STEP, Reason
from repro_gate.gates.mutation.verdict import decide, interval, shown
from repro_gate.gates.mutation.waiving import Waived
from repro_gate.gates.mutation.wording import outline
from repro_gate.model import (
    AccountState,
    Finding,
    Mutant,
    MutantOutcome,
    MutantResult,
    MutationReport,
    NotTested,
    Outcome,
    Site,
    Untested,
    Waiver,
)
from tests.unit.simulated_mutants import FILE, NEW, OLD, Judged, Seen, case, catches, judged, mutant

PAGE = Path(__file__).resolve().parents[2] / "docs" / "gates" / "mutation.md"
TODAY = datetime.date(2026, 3, 4)
NONE_WAIVED = Waived(by_mutant={}, used=(), findings=())


def results(killed: int = 0, survived: int = 0, timeout: int = 0, inconclusive: int = 0) -> tuple[MutantResult, ...]:
    counts = {
        MutantOutcome.KILLED: killed,
        MutantOutcome.SURVIVED: survived,
        MutantOutcome.TIMEOUT: timeout,
        MutantOutcome.INCONCLUSIVE: inconclusive,
    }
    outcomes = [outcome for outcome, count in counts.items() for _ in range(count)]
    return tuple(
        MutantResult(
            mutant=mutant(f"m{place}", place + 1),
            outcome=outcome,
            killed_by=(OLD,) if outcome.detected else (),
            confirmed=True,
            tests=3,
            why="because",
        )
        for place, outcome in enumerate(outcomes)
    )


def decided(
    *tested: MutantResult,
    left: tuple[NotTested, ...] = (),
    waived: Waived = NONE_WAIVED,
    partial: str = "",
    **policy: Any,
) -> tuple[str, str]:
    report = MutationReport(tested=tested, not_tested=left)
    strict = Policy(today=TODAY, clock=lambda: 0.0, **policy)
    found = decide(report, replace(case({}, ()), partial=partial), strict, waived)
    return str(found.verdict), str(found.reason)


def untested(reason: Untested, count: int = 1) -> tuple[NotTested, ...]:
    return tuple(NotTested(mutant=mutant(f"u{number}"), reason=reason) for number in range(count))


# --- survivors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "survivors", "said"),
    [
        (0, 0, ("pass", "all_detected")),
        (0, 1, ("fail", "survivors")),
        (2, 2, ("pass", "within_allowance")),
        (2, 3, ("fail", "survivors")),
        (None, 9, ("neutral", "survivors")),
    ],
)
def test_more_survivors_than_allowed_fail(allowed: int | None, survivors: int, said: tuple[str, str]) -> None:
    assert decided(*results(killed=20, survived=survivors), allowed_survivors=allowed) == said


def test_several_survivors_of_one_line_are_one() -> None:
    same = [
        MutantResult(mutant=mutant(f"m{place}", 5), outcome=MutantOutcome.SURVIVED, confirmed=True)
        for place in range(4)
    ]
    assert decided(*same, allowed_survivors=1) == ("pass", "within_allowance")
    assert decided(*same, allowed_survivors=0) == ("fail", "survivors")


def test_a_survivor_that_nobody_confirmed_counts_as_none() -> None:
    assert MutationReport(tested=(MutantResult(mutant=mutant("m"), outcome=MutantOutcome.SURVIVED),)).survivors == ()


def test_a_confirmed_survivor_fails_whatever_else_could_not_be_measured() -> None:
    assert decided(*results(survived=1, inconclusive=9)) == ("fail", "survivors")


# --- the score -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("killed", "survived", "bounds"),
    # Clopper & Pearson's two-sided interval at 95 %, as R's binom.test gives it.
    [(10, 2, (0.5159, 0.9791)), (12, 0, (0.7354, 1.0)), (0, 10, (0.0, 0.3085)), (1, 0, (0.025, 1.0))],
)
def test_the_interval_is_that_of_clopper_and_pearson(killed: int, survived: int, bounds: tuple[float, float]) -> None:
    found = interval(results(killed=killed, survived=survived))
    assert found is not None
    assert [round(each, 4) for each in found] == list(bounds)
    assert interval(()) is None


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_interval_holds_the_score_and_is_symmetric(killed: int, survived: int) -> None:
    measured = results(killed=killed, survived=survived)
    report = MutationReport(tested=measured)
    found, score = interval(measured), report.score
    if not measured:
        assert (found, score) == (None, None)
        return
    assert found is not None
    assert score is not None
    assert 0 <= found[0] <= score <= found[1] <= 1
    mirrored = interval(results(killed=survived, survived=killed))
    assert mirrored is not None
    assert math.isclose(mirrored[0], 1 - found[1], abs_tol=1e-9)


@pytest.mark.parametrize(
    ("killed", "survived", "minimum", "said"),
    [
        (2, 8, 0.8, ("fail", "low_score")),  # at most 56 %
        (2, 7, 0.8, ("neutral", "score_unclear")),  # as clear, but fewer than ten
        (10, 2, 0.8, ("neutral", "score_unclear")),  # 52 to 98 %
        (40, 0, 0.9, ("pass", "score")),  # at least 91 %
        (10, 0, 0.9, ("neutral", "score_unclear")),  # at least 69 %
        (10, 2, None, ("neutral", "survivors")),
    ],
)
def test_a_score_blocks_only_where_its_whole_interval_is_too_low(
    killed: int, survived: int, minimum: float | None, said: tuple[str, str]
) -> None:
    told = decided(*results(killed=killed, survived=survived), min_score=minimum, allowed_survivors=None)
    assert told == said


def test_what_was_not_tested_is_not_extrapolated() -> None:
    left = untested(Untested.BUDGET)
    assert decided(*results(killed=40), left=left) == ("neutral", "partly_tested")
    assert decided(*results(killed=40), left=left, min_score=0.9) == ("neutral", "partly_tested")
    assert decided(*results(killed=40), left=untested(Untested.NOT_COVERED)) == ("pass", "all_detected")


# --- what could not be measured --------------------------------------------------------------


@pytest.mark.parametrize(
    ("killed", "inconclusive", "said"),
    [
        (19, 1, ("pass", "all_detected")),  # 5 % is not more than 5 %
        (18, 1, ("inconclusive", "unmeasured")),
        (0, 1, ("inconclusive", "unmeasured")),
    ],
)
def test_more_than_a_twentieth_without_a_result_is_no_pass(
    killed: int, inconclusive: int, said: tuple[str, str]
) -> None:
    assert decided(*results(killed=killed, inconclusive=inconclusive)) == said


def test_timeouts_are_detections_up_to_a_cap() -> None:
    assert decided(*results(killed=1, timeout=3)) == ("pass", "all_detected")
    assert decided(*results(killed=1, timeout=4)) == ("inconclusive", "too_many_timeouts")
    assert decided(*results(killed=1, timeout=1), max_timeouts=0) == ("inconclusive", "too_many_timeouts")


@pytest.mark.parametrize(
    ("left", "said"),
    [
        ((), ("neutral", "nothing_to_mutate")),
        (untested(Untested.NOT_COVERED), ("neutral", "not_covered")),
        (untested(Untested.WAIVED), ("neutral", "all_waived")),
        (untested(Untested.BUDGET), ("inconclusive", "budget")),
        (untested(Untested.NO_STABLE_TEST), ("inconclusive", "unmeasured")),
    ],
)
def test_no_mutant_is_never_green(left: tuple[NotTested, ...], said: tuple[str, str]) -> None:
    assert decided(left=left) == said


def test_where_no_test_is_collected_none_covers_what_runs_at_import_and_none_is_said_to_be_unstable() -> None:
    found = judged({}, mutant("a", site=Site.IMPORT), mutant("b", 3), covering=lambda _mutant: (), covered={})
    assert found.told == ("neutral", "not_covered")
    assert found.left == {"a": "not-covered", "b": "not-covered"}
    assert {each.why for each in found.report.not_tested} == {"no test is collected"}
    assert {str(each.state) for each in found.report.account} == {"not-covered"}


@pytest.mark.parametrize(
    ("tested", "left", "said"),
    [
        ((), untested(Untested.NOT_COVERED), ("inconclusive", "run_not_whole")),
        (results(killed=20, survived=1), (), ("inconclusive", "run_not_whole")),
        (results(killed=20), (), ("pass", "all_detected")),
        (results(killed=20), untested(Untested.NOT_COVERED), ("pass", "all_detected")),
        ((), untested(Untested.WAIVED), ("neutral", "all_waived")),
    ],
)
def test_what_a_cut_run_did_not_notice_is_not_held_against_the_change(
    tested: tuple[MutantResult, ...], left: tuple[NotTested, ...], said: tuple[str, str]
) -> None:
    assert decided(*tested, left=left, partial="tests/test_a.py cannot be collected: ImportError: no a") == said


def test_a_cut_run_says_what_cut_it() -> None:
    why = "tests/test_a.py cannot be collected: ImportError: no a"
    report = MutationReport(tested=(), not_tested=untested(Untested.NOT_COVERED))
    strict = Policy(today=TODAY, clock=lambda: 0.0)
    (finding,) = decide(report, replace(case({}, ()), partial=why), strict, NONE_WAIVED).findings
    assert finding.text == f"The run of head is not whole: {why}."
    assert finding.next_step == "Mend what ended the run (or give it more time), and run the check again."


def test_nothing_to_mutate_says_why_for_the_lines() -> None:
    found = judged(
        {OLD: catches()},
        unmutated={FILE: {2: "docstring or comment", 3: "docstring or comment", 4: "no operator"}},
    )
    assert found.told == ("neutral", "nothing_to_mutate")
    assert (
        found.result.findings[0].text
        == "0 mutants: 2 lines no-operator (docstring or comment), 1 line no-operator (no operator)"
    )


# --- what is shown ---------------------------------------------------------------------------


def test_a_line_shows_its_most_telling_survivor_and_seven_lines_are_shown() -> None:
    operators = [
        "string",
        "argument",
        "return",
        "relational",
        "boolean",
        "condition",
        "odd",
        "boundary",
        "string",
        "odd",
    ]
    survivors = [
        MutantResult(
            mutant=mutant(f"m{line}{operator}", line, operator=operator),
            outcome=MutantOutcome.SURVIVED,
            confirmed=True,
        )
        for line, operator in enumerate(operators, 1)
    ]
    also = MutantResult(
        mutant=mutant("better", 1, operator="relational"), outcome=MutantOutcome.SURVIVED, confirmed=True
    )
    chosen = shown([*survivors, also])
    assert [each.mutant.operator for each in chosen] == [
        "relational",
        "relational",
        "boolean",
        "return",
        "condition",
        "boundary",
        "argument",
    ]
    assert chosen[0].mutant.id == "better"
    assert len({each.mutant.line for each in chosen}) == len(chosen) == 7


def test_a_table_of_data_hides_no_other_survivor() -> None:
    """Of 40 lines of one statement, which operators prefer, one is shown; all of them count as ever."""
    table = [mutant(f"t{line}", line, operator="constant", qualname="") for line in range(10, 50)]
    loop = mutant("loop", 4, operator="loop", original="break", mutated="return")
    word = mutant("word", 3, operator="string")
    spans = {FILE: dict.fromkeys(range(9, 51), frozenset(range(9, 51)))}
    found = judged({OLD: catches()}, *table, loop, word, statements=spans, policy={"allowed_survivors": 41})
    assert found.report.shown == ("t10", "loop", "word", "t11", "t12", "t13", "t14")
    assert found.told == ("fail", "survivors")  # 42 lines, and no fewer
    assert [finding.line for finding in found.result.findings[:3]] == [10, 4, 3]
    assert found.result.findings[0].text.endswith("; 39 further lines of the same statement with survivors")
    assert "further" not in found.result.findings[1].text


def test_each_definition_has_its_first_survivor_shown_before_another_has_its_second() -> None:
    constants = [mutant(f"c{line}", line, operator="constant", qualname="") for line in range(1, 21)]
    loops = [mutant(f"l{line}", line, operator="loop", qualname="g") for line in (30, 31)]
    argument = mutant("argument", 40, operator="argument", qualname="h")
    survivors = [
        MutantResult(mutant=each, outcome=MutantOutcome.SURVIVED, confirmed=True)
        for each in (*constants, *loops, argument)
    ]
    chosen = [each.mutant.id for each in shown(survivors)]
    assert chosen == ["c1", "l30", "argument", "c2", "l31", "c3", "c4"]


def test_a_survivor_says_what_was_changed_which_tests_passed_and_what_would_tell() -> None:
    told = mutant("a", 2, hint="a value where `x == 3` would tell them apart")
    found = judged({OLD: catches(), NEW: catches()}, told, report="out/report.json")
    (finding,) = found.result.findings
    assert finding.text == (
        f"line 2: `x < 3` -> `x <= 3` passed 2 tests (e.g. {NEW}); a value where `x == 3` would tell them apart"
    )
    assert (finding.path, finding.line, finding.reason) == (FILE, 2, "survived")
    assert "`repro-gate mutant run a --report out/report.json`" in finding.next_step


def test_the_rest_of_the_survivors_is_counted() -> None:
    many = [mutant(f"m{line}", line) for line in range(2, 12)]
    found = judged({OLD: catches()}, *many)
    assert found.reasons == ["survived"] * 7 + ["more_survivors"]
    assert found.result.findings[-1].text == "3 further mutants survived; there are survivors on 10 lines"
    assert len(found.report.shown) == 7


def test_the_line_of_numbers() -> None:
    killed = results(killed=3)
    new = MutantResult(mutant=mutant("n"), outcome=MutantOutcome.KILLED, killed_by=(NEW,), by_new_test=True)
    report = MutationReport(
        tested=(*killed, new, *results(survived=1, timeout=1, inconclusive=1)),
        not_tested=(*untested(Untested.NOT_COVERED, 2), *untested(Untested.BUDGET)),
        interval=(0.25, 0.99),
    )
    assert outline(report) == (
        "6 of 10 mutants tested (2 covered by no test, 1 left for want of time); 3 killed by old tests, "
        "1 killed only by tests of this change, 1 noticed by a timeout, 1 noticed by none, 1 inconclusive; score 83% (95 %: 25% to 99%)"
    )


# --- waivers ---------------------------------------------------------------------------------


def waiver(**changes: Any) -> Waiver:
    return Waiver(**{"file": FILE, "reason": "equal by design", "mutant": "a", **changes})


def waived(given: Waiver, **policy: Any) -> Judged:
    return judged({OLD: catches("b")}, mutant("a"), mutant("b", 3), waivers=(given,), policy=policy)


def test_a_waived_mutant_is_not_tried_and_counts_for_nothing() -> None:
    found = waived(waiver())
    assert (found.outcomes, found.left) == ({"b": "killed"}, {"a": "waived"})
    assert found.told == ("pass", "all_detected")
    assert found.report.not_tested[0].why == "equal by design"
    assert found.report.account[0].state is AccountState.PRAGMA


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (waiver(mutant="", lines=frozenset({2})), {"a": "waived"}),
        (waiver(mutant="", lines=frozenset({9})), {}),
        (waiver(file="pkg/other.py"), {}),
        (waiver(mutant="z"), {}),
        (waiver(expires="2026-03-04"), {"a": "waived"}),  # its last day
        (waiver(expires="2026-03-03"), {}),
        (waiver(expires="soon"), {}),
    ],
)
def test_a_waiver_counts_for_its_mutant_or_lines_until_its_last_day(given: Waiver, left: Mapping[str, str]) -> None:
    assert waived(given).left == left


def test_a_waiver_that_has_expired_is_said_where_it_would_have_counted() -> None:
    found = waived(waiver(expires="2026-03-03"))
    assert found.told == ("fail", "survivors")
    assert found.reasons == ["survived", "waiver_expired"]
    assert waived(waiver(expires="2026-03-03", mutant="z")).reasons == ["survived"]


def test_a_waiver_that_the_change_brings_counts_and_is_shown() -> None:
    found = waived(waiver(new=True))
    assert found.told == ("pass", "all_detected")
    assert found.reasons == ["waiver_new"]
    assert found.result.findings[0].text == f"mutant a of {FILE} is waived: equal by design"


def test_more_waivers_than_allowed_fail() -> None:
    assert waived(waiver(), max_waivers=1).told == ("pass", "all_detected")
    found = waived(waiver(), max_waivers=0)
    assert found.told == ("fail", "too_many_waivers")
    assert found.result.findings[0].text == "1 waiver in use, and at most 0 allowed"
    unused = waived(waiver(mutant="z"), allowed_survivors=None, max_waivers=0)
    assert unused.told == ("neutral", "survivors")


def test_a_pragma_of_a_changed_line_is_in_use_although_it_left_no_mutant() -> None:
    given = waiver(mutant="", lines=frozenset({4}), new=True)
    found = judged(
        {OLD: catches("a")},
        mutant("a"),
        waivers=(given,),
        unmutated={FILE: {4: "pragma"}},
        policy={"max_waivers": 0},
    )
    assert found.told == ("fail", "too_many_waivers")
    assert found.reasons == ["too_many_waivers", "waiver_new"]
    assert [(each.state, each.why) for each in found.report.account if each.line == 4] == [
        (AccountState.PRAGMA, "equal by design")
    ]


def test_what_the_readers_of_waivers_say_is_shown() -> None:
    remark = Finding(reason=Reason.WAIVER_WITHOUT_REASON, text="line 2 gives none", path=FILE, line=2)
    assert judged({OLD: catches("a")}, mutant("a"), remarks=(remark,)).result.findings == (remark,)


# --- the account -----------------------------------------------------------------------------


def states(found: Judged) -> dict[int, str]:
    return {each.line: str(each.state) for each in found.report.account}


def test_each_changed_line_is_named_once_with_what_is_known_of_it() -> None:
    lines = dict.fromkeys(range(1, 11), "x")
    mutants = [
        mutant("killed", 1),
        mutant("waived", 2),
        mutant("unclear", 3),
        mutant("uncovered", 4),
        mutant("import", 5, site=Site.IMPORT),
    ]

    def covering(each: Mutant) -> tuple[str, ...]:
        return () if each.id == "uncovered" else (OLD,)

    def test(seen: Seen) -> Outcome:
        return Outcome.SKIPPED if seen.mutant == "unclear" else catches("killed", "import")(seen)

    found = judged(
        {OLD: test},
        *mutants,
        covering=covering,
        waivers=(waiver(mutant="waived"),),
        changed={FILE: lines},
        covered={FILE: frozenset({1, 2, 3, 6})},
        lines_at_import={FILE: frozenset({5, 7})},
        unmutated={FILE: {6: "no operator", 8: "arid: logging", 9: "docstring or comment", 10: "pragma"}},
        policy={"budget_seconds": 1000.0},
    )
    assert states(found) == {
        1: "mutated",
        2: "pragma",
        3: "covered-only",
        4: "not-covered",
        5: "mutated",
        6: "no-operator",
        7: "import-time",
        8: "arid",
        9: "no-operator",
        10: "pragma",
    }
    why = {each.line: each.why for each in found.report.account}
    assert why[2] == "equal by design"
    assert why[3] == f"{OLD} came to skipped, neither passed nor failed"
    assert why[8] == "arid: logging"


def test_a_line_whose_only_mutants_ran_out_of_time_is_covered_only() -> None:
    found = judged({OLD: catches("a")}, mutant("a"), policy={"budget_seconds": 0.0})
    assert states(found)[2] == "covered-only"
    assert found.report.account[0].why == "the time was over before it"


@given(st.data())
def test_the_account_is_a_partition_of_the_changed_lines(data: st.DataObject) -> None:
    numbers = st.frozensets(st.integers(1, 12), max_size=12)
    changed, covered, at_import = data.draw(numbers), data.draw(numbers), data.draw(numbers)
    reasons = data.draw(st.dictionaries(st.sampled_from(range(1, 13)), st.sampled_from(["no operator", "arid", "x"])))
    spans = data.draw(st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3)), max_size=6))
    mutants = [mutant(f"m{n}", line, end_line=line + more) for n, (line, more) in enumerate(spans)]
    found = judged(
        {OLD: catches(*(each.id for each in mutants[::2]))},
        *mutants,
        changed={FILE: dict.fromkeys(changed, "x")},
        covered={FILE: covered},
        lines_at_import={FILE: at_import},
        unmutated={FILE: reasons},
    )
    account = found.report.account
    assert [each.line for each in account] == sorted(changed)
    tried = {line for each in found.report.measured for line in each.mutant.lines}
    assert {each.line for each in account if each.state is AccountState.MUTATED} == tried & changed
    assert len(found.report.tested) + len(found.report.not_tested) == len(mutants)


# --- the page --------------------------------------------------------------------------------


def test_the_page_has_each_reason_with_its_next_step() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    ]
    said = {row[0].strip("|` "): row[3].strip("| ") for row in rows if len(row) == 4}
    assert {str(reason): step for reason, step in NEXT_STEP.items()} == said
    assert set(NEXT_STEP) == set(Reason)
