"""What a campaign remembers, which tests it can afford and pairs up, and what it says in the end."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from repro_gate.errors import DiskFull
from repro_gate.flake import judge
from repro_gate.flake.brief import Findings, Options
from repro_gate.flake.company import company_of, pairs, shared
from repro_gate.flake.selection import affordable
from repro_gate.flake.statistics import upper_bound, wilson
from repro_gate.flake.tally import Row, Tally
from repro_gate.flake.trial import Count, Diagnosis, Setup
from repro_gate.model import (
    AXES,
    Cause,
    Conditions,
    Evidence,
    Failure,
    Outcome,
    TestRun,
    TestVerdict,
    Verdict,
)
from repro_gate.model.conditions import SELF_MOVING

NEUTRAL = Conditions()
P, F, S, X = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED, Outcome.NOT_RUN


def failure(message: str = "no", kind: str = "AssertionError") -> Failure:
    return Failure(
        phase="call", type=kind, bases=(), message=message, chain=(), frames=(), fingerprint=f"{kind}:{message}"
    )


def run_of(test: str, outcome: Outcome, seconds: float = 0.1, message: str = "no") -> TestRun:
    return TestRun(
        id=test,
        outcome=outcome,
        seconds=seconds,
        failure=failure(message) if outcome.bad else None,
        output="printed" if outcome.bad else "",
    )


def take(tally: Tally, conditions: Conditions, *runs: TestRun, believed: bool = True) -> int:
    number = tally.begin(conditions)
    for run in runs:
        tally.record(number, run)
    tally.end(number, believed=believed)
    return number


@pytest.fixture
def tally(tmp_path: Path) -> Iterator[Tally]:
    tally = Tally(tmp_path)
    yield tally
    tally.close()


# --- rows ------------------------------------------------------------------------------------


def test_a_row_counts_good_and_bad_outcomes_and_nothing_else() -> None:
    row = Row()
    for number, outcome in enumerate(Outcome):
        row.add(number, outcome, 0.0)
    assert row.count() == (3, 4)
    assert [outcome for _, outcome in row.outcomes()] == list(Outcome)


def test_a_row_knows_runs_it_was_not_part_of() -> None:
    row = Row()
    row.add(3, P, 0.0)
    row.add(1, F, 0.0)
    assert list(row.outcomes()) == [(1, F), (3, P)]


def test_a_second_outcome_of_one_run_replaces_the_first() -> None:
    row = Row()
    row.add(0, P, 0.1)
    row.add(0, F, 0.2)
    assert row.count() == (0, 1)
    row.add(0, S, 0.1)
    assert row.count() == (0, 0)


def test_what_is_forgotten_does_not_count_and_forgetting_twice_changes_nothing() -> None:
    row = Row()
    row.add(0, P, 0.1)
    row.add(1, F, 0.1)
    for _ in range(2):
        row.forget(1)
        row.forget(7)
    assert row.count() == (1, 0)
    assert list(row.outcomes()) == [(0, P)]


# --- the tally -------------------------------------------------------------------------------


def test_a_run_that_is_not_believed_is_forgotten_and_gives_no_samples(tally: Tally) -> None:
    take(tally, NEUTRAL, run_of("a", F), run_of("b", P), believed=False)
    take(tally, NEUTRAL, run_of("a", P), run_of("b", P))
    assert tally.rows["a"].count() == (1, 0)
    assert tally.samples("a", bad=True) == []
    assert [sample.run for sample in tally.samples("a", bad=False)] == [1]


def test_a_test_that_did_not_run_is_in_the_record_and_in_no_count(tally: Tally) -> None:
    take(tally, NEUTRAL, run_of("a", X))
    assert tally.rows["a"].count() == (0, 0)
    assert list(tally.rows["a"].outcomes()) == []


def test_the_longest_time_is_kept(tally: Tally) -> None:
    for seconds in (0.2, 0.7, 0.3):
        take(tally, NEUTRAL, run_of("a", P, seconds))
    assert tally.rows["a"].longest == 0.7


def test_a_sample_has_the_failure_its_output_and_the_conditions(tally: Tally) -> None:
    west = Conditions(timezone="America/Los_Angeles")
    take(tally, NEUTRAL, run_of("a", P))
    take(tally, west, run_of("a", F, message="west"))
    (sample,) = tally.samples("a", bad=True)
    assert (sample.run, sample.conditions, sample.output) == (1, west, "printed")
    assert sample.failure == failure("west")


def test_a_sample_names_the_tests_that_ran_before_it_in_the_order_in_which_they_ran(tally: Tally) -> None:
    take(tally, NEUTRAL, run_of("c", P), run_of("a", S), run_of("b", F), run_of("v", F))
    assert tally.samples("v", bad=True)[0].before == ("c", "a", "b")


def test_tests_before_a_crash_or_a_timeout_ran_in_another_process(tally: Tally) -> None:
    for ending in (Outcome.CRASHED, Outcome.TIMEOUT):
        number = take(
            tally,
            NEUTRAL,
            run_of("a", P),
            TestRun(id="b", outcome=ending, seconds=1.0),
            run_of("c", P),
            run_of("v", F),
        )
        sample = tally.sample("v", number)
        assert sample is not None
        assert sample.before == ("c",)


def test_a_test_that_did_not_run_is_not_before_another(tally: Tally) -> None:
    take(tally, NEUTRAL, run_of("a", X), run_of("v", F))
    assert tally.samples("v", bad=True)[0].before == ()


def test_at_most_so_many_samples_are_read_and_the_earliest_first(tally: Tally) -> None:
    for _ in range(5):
        take(tally, NEUTRAL, run_of("a", F))
    assert [sample.run for sample in tally.samples("a", bad=True)] == [0, 1, 2]
    assert [sample.run for sample in tally.samples("a", bad=True, most=1)] == [0]


def test_a_last_line_that_was_cut_short_ends_the_record_and_loses_nothing_before_it(
    tally: Tally, tmp_path: Path
) -> None:
    number = take(tally, NEUTRAL, run_of("a", F), run_of("b", F))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    assert tally.sample("a", number) is not None
    assert tally.sample("b", number) is None
    assert tally.samples("b", bad=True) == []


def test_samples_of_a_run_that_still_goes_on_can_be_read(tally: Tally) -> None:
    number = tally.begin(NEUTRAL)
    tally.record(number, run_of("a", F))
    assert [sample.run for sample in tally.samples("a", bad=True)] == [number]


def test_ids_and_output_of_any_text_come_back(tally: Tally) -> None:
    name = "test_ü.py::t[\udcff\n\x00]"
    take(tally, NEUTRAL, TestRun(id=name, outcome=F, seconds=0.0, failure=failure("\ud800"), output="\udc80\u2028"))
    (sample,) = tally.samples(name, bad=True)
    assert (sample.output, sample.failure) == ("\udc80\u2028", failure("\ud800"))


@pytest.mark.parametrize(
    ("number", "expected"), [(errno.ENOSPC, DiskFull), (errno.EIO, OSError)], ids=["full", "broken"]
)
def test_a_full_disk_is_named_and_another_error_stays_itself(
    tally: Tally, monkeypatch: pytest.MonkeyPatch, number: int, expected: type[Exception]
) -> None:
    class Broken:
        def write(self, _text: str) -> int:
            raise OSError(number, "no")

        def close(self) -> None:
            raise OSError(number, "no")

    def broken(_number: int) -> IO[str]:
        return Broken()  # type: ignore[return-value]

    monkeypatch.setattr(tally, "_file", broken)
    with pytest.raises(expected):
        tally.record(tally.begin(NEUTRAL), run_of("a", P))


def test_what_a_full_disk_did_not_take_is_judged_without_its_failure(
    tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def flush(self) -> None:
            raise OSError(errno.ENOSPC, "no")

    monkeypatch.setattr(tally, "_files", {0: Full()})
    tally.record(tally.begin(NEUTRAL), run_of("a", F))
    assert tally.failure("a") is None
    findings = Findings(tally=tally, incomplete="No space left.")
    assert [verdict.verdict for verdict in judge.verdicts(findings)] == [Verdict.ALWAYS_FAILING]


@pytest.mark.parametrize("axis", [axis for axis in AXES if axis not in ("parallel", "leftovers")])
def test_the_axis_that_was_moved_where_it_failed_ranks_first(tally: Tally, axis: str) -> None:
    elsewhere = Conditions(
        hash_seed=5,
        random=5,
        order="reversed",
        clock="2028-02-29T12:00:00",
        timezone="Asia/Tokyo",
        locale="C",
        listing=5,
        threads=5,
        asyncio=5,
        load="burn",
        gc="rare",
        environment="bare",
        network="allowed",
    )
    others = [one for one in elsewhere.differences(NEUTRAL) if one != axis]
    for number in range(12):
        noise = tuple(one for position, one in enumerate(others) if (number >> position % 3) & 1)
        moved = (*noise, axis) if number % 2 else noise
        conditions = NEUTRAL.with_axes(moved, elsewhere)
        take(tally, conditions, run_of("a", F if number % 2 else P))
    likely = tally.likely("a", NEUTRAL)
    assert sorted(likely) == sorted(AXES)
    assert likely.index(axis) == 0 or set(likely[: likely.index(axis)]) <= set(others[::3])


def test_runs_in_which_a_test_was_skipped_say_nothing_about_an_axis(tally: Tally) -> None:
    west = Conditions(timezone="America/Los_Angeles")
    for _ in range(5):
        take(tally, west, run_of("a", S))
    for conditions, outcome in ((NEUTRAL, P), (Conditions(listing=3), F)):
        take(tally, conditions, run_of("a", outcome))
    assert tally.likely("a", NEUTRAL)[0] == "listing"


# --- company ---------------------------------------------------------------------------------


def using(test: str, *files: str, binds: tuple[str, ...] = ()) -> TestRun:
    return TestRun(id=test, outcome=P, seconds=0.0, evidence=Evidence(files=files, binds=binds))


def test_tests_that_share_a_path_are_pairs_if_one_of_them_writes_it(tally: Tally) -> None:
    for run in (using("a", "write /x"), using("b", "read /x"), using("c", "read /y"), using("d", "read /y")):
        tally.note_users(run, shared(run))
    assert pairs(tally.users, ()) == [("a", "b")]
    assert company_of("a", tally.users) == ["b"]
    assert company_of("c", tally.users) == ["d"]


def test_a_file_written_once_is_written_whatever_else_was_seen(tally: Tally) -> None:
    run = using("a", "write /x", "read /x")
    assert shared(run) == {"/x": True}
    tally.note_users(run, shared(run))
    tally.note_users(using("a", "read /x"), {"/x": False})
    assert tally.users["/x"] == {"a": True}


def test_the_same_file_in_two_copies_of_the_tree_is_one_file() -> None:
    one, other = using("a", "write /tmp/rg-1x/w3/tree/db"), using("b", "write /tmp/rg-1x/w17/tree/db")
    assert shared(one) == shared(other) != {}


def test_a_port_is_shared_like_a_file_that_is_written() -> None:
    assert shared(using("a", binds=("port 8000",))) == {"port 8000": True}


@pytest.mark.parametrize(
    "path",
    [
        "/tmp/pytest-of-me/pytest-3/test_a0/x",
        "/tree/__pycache__/a.cpython-311.pyc",
        "/tree/.pytest_cache/v/cache/lastfailed",
    ],
)
def test_what_pytest_gives_each_test_for_itself_is_not_shared(path: str) -> None:
    assert shared(using("a", f"write {path}")) == {}


def test_what_nobody_saw_is_not_shared() -> None:
    assert shared(run_of("a", P)) == {}


def test_what_everybody_uses_pairs_nobody_and_the_number_of_pairs_is_bounded() -> None:
    assert pairs({"/log": {f"t{n}": True for n in range(13)}}, ()) == []
    assert len(pairs({"/log": {f"t{n}": True for n in range(12)}}, ())) == 40
    assert company_of("t1", {"/log": {f"t{n}": True for n in range(13)}}) == []


def test_decided_tests_are_not_paired_and_a_pair_is_named_once() -> None:
    users = {"/x": {"a": True, "b": True, "c": True}, "/y": {"a": True, "b": False}}
    assert pairs(users, ("c",)) == [("a", "b")]


def test_the_number_of_remembered_paths_is_bounded(tally: Tally) -> None:
    for number in range(6000):
        tally.note_users(using("a"), {f"/{number}": True})
    tally.note_users(using("b"), {"/1": False, "/5999": True})
    assert len(tally.users) == 5000
    assert tally.users["/1"] == {"a": True, "b": False}


# --- selection -------------------------------------------------------------------------------


def timed(tally: Tally, **seconds: float) -> list[str]:
    take(tally, NEUTRAL, *(run_of(test, P, took) for test, took in seconds.items()))
    return list(seconds)


def test_the_cheapest_tests_are_chosen_and_keep_their_order(tally: Tally) -> None:
    ids = timed(tally, a=5.0, b=0.1, c=3.0, d=0.2)
    assert affordable(ids, 1.0, tally, {}, Options()) == ["b", "d"]
    assert affordable(ids, 100.0, tally, {}, Options()) == ids


def test_one_test_is_chosen_even_if_there_is_no_time_for_it(tally: Tally) -> None:
    ids = timed(tally, a=5.0, b=4.0)
    assert affordable(ids, -3.0, tally, {}, Options()) == ["b"]
    assert affordable([], 10.0, tally, {}, Options()) == []


def test_known_suspects_come_first_whatever_they_cost(tally: Tally) -> None:
    ids = timed(tally, a=0.1, b=0.1, slow=1.0)
    assert affordable(ids, 1.05, tally, {}, Options(suspects_first=frozenset({"slow"}))) == ["slow"]


def test_of_tests_that_cost_the_same_those_of_new_files_come_first(tally: Tally) -> None:
    ids = timed(tally, old=1.0, new=1.0)
    files = {"old": "old.py", "new": "new.py"}
    assert affordable(ids, 1.1, tally, files, Options(newest={"new.py": 0, "old.py": 40})) == ["new"]
    assert affordable(ids, 1.1, tally, files, Options(newest={"old.py": 0})) == ["old"]


# --- verdicts --------------------------------------------------------------------------------


def judged(findings: Findings, test: str = "a") -> TestVerdict:
    (found,) = [verdict for verdict in judge.verdicts(findings) if verdict.id == test]
    return found


@pytest.fixture
def findings(tally: Tally) -> Findings:
    return Findings(tally=tally)


def test_a_test_that_always_passed_is_stable_with_the_rate_that_is_excluded(findings: Findings) -> None:
    for outcome in (P, Outcome.XFAILED, Outcome.XPASSED, P):
        take(findings.tally, NEUTRAL, run_of("a", outcome))
    found = judged(findings)
    assert (found.verdict, found.runs, found.failures) == (Verdict.STABLE, 4, 0)
    assert found.upper_bound == upper_bound(0, 4)
    assert found.rate is None


def test_runs_in_which_it_was_skipped_are_no_evidence_of_stability(findings: Findings) -> None:
    for outcome in (P, S, S, P):
        take(findings.tally, NEUTRAL, run_of("a", outcome))
    assert judged(findings).upper_bound == upper_bound(0, 2)


def test_a_test_that_never_passed_is_always_failing_with_its_failure(findings: Findings) -> None:
    for _ in range(3):
        take(findings.tally, NEUTRAL, run_of("a", F))
    found = judged(findings)
    assert (found.verdict, found.rate, found.interval) == (Verdict.ALWAYS_FAILING, 1.0, wilson(3, 3))
    assert found.failure == failure()
    assert found.detail == ""


def test_a_test_that_needs_the_network_is_told_so(findings: Findings) -> None:
    take(findings.tally, NEUTRAL, run_of("a", F, message="[Errno 101] Network is unreachable"))
    found = judged(findings)
    assert found.verdict is Verdict.ALWAYS_FAILING
    assert "needs the network" in found.detail


@pytest.mark.parametrize(
    ("prepare", "why"),
    [
        (lambda findings: findings.duplicates.add("a"), "its id is not unique"),
        (lambda findings: findings.unstable.add("a"), "its id comes and goes from run to run"),
    ],
    ids=["duplicate", "unstable"],
)
def test_a_test_whose_id_is_no_name_is_not_judged(
    findings: Findings, prepare: Callable[[Findings], None], why: str
) -> None:
    take(findings.tally, NEUTRAL, run_of("a", P))
    take(findings.tally, NEUTRAL, run_of("a", F))
    prepare(findings)
    found = judged(findings)
    assert (found.verdict, found.detail) == (Verdict.NOT_JUDGED, why)


@pytest.mark.parametrize(
    ("dropped", "incomplete", "why"),
    [
        (True, "", "failed and passed; no time was left to confirm it"),
        (False, "interrupted", "failed and passed; not confirmed: interrupted"),
        (False, "", "failed and passed; not investigated"),
    ],
)
def test_what_failed_and_passed_without_confirmation_is_not_called_flaky(
    findings: Findings, dropped: bool, incomplete: str, why: str
) -> None:
    take(findings.tally, NEUTRAL, run_of("a", P))
    take(findings.tally, NEUTRAL, run_of("a", F, message="once"))
    findings.incomplete = incomplete
    findings.dropped |= {"a"} if dropped else set()
    found = judged(findings)
    assert (found.verdict, found.detail) == (Verdict.NOT_JUDGED, why)
    assert found.failure == failure("once")


@pytest.mark.parametrize(
    ("outcomes", "incomplete", "why"),
    [
        ((S, S), "", "skipped in every run"),
        ((S,), "interrupted", "skipped in every run"),
        ((), "interrupted", "not run: interrupted"),
        ((), "", "not run in the time there was"),
    ],
)
def test_a_test_without_an_outcome_says_why(
    findings: Findings, outcomes: tuple[Outcome, ...], incomplete: str, why: str
) -> None:
    findings.tally.register(["a"])
    for outcome in outcomes:
        take(findings.tally, NEUTRAL, run_of("a", outcome))
    findings.incomplete = incomplete
    found = judged(findings)
    assert (found.verdict, found.detail, found.runs) == (Verdict.NOT_JUDGED, why, 0)


def test_a_file_that_cannot_be_collected_is_a_verdict_of_its_own(findings: Findings) -> None:
    findings.collect_errors = [("test_b.py", "Traceback\n  x\nImportError: no b\n\n"), ("", "")]
    assert judged(findings, "test_b.py").detail == "collection error: ImportError: no b"
    assert judged(findings, "(collection)").detail == "collection error: no text"


def diagnosis(
    axis: str | None, kind: str = "flaky", message: str = "in a fresh process", *, with_cause: bool = True
) -> Diagnosis:
    bad = run_of("a", F, message=message)
    return Diagnosis(
        id="a",
        kind=kind,
        cause=Cause(axis=axis, detail="words") if with_cause else None,
        detail="words",
        failing=Setup(tests=("a",), conditions=NEUTRAL),
        fails=Count(bad=1, good=1, runs=(run_of("a", P), bad), results=()),
    )


@pytest.mark.parametrize("axis", [*AXES, None])
def test_what_moves_by_itself_makes_a_test_flaky_and_what_the_calendar_sets_condition_dependent(
    findings: Findings, axis: str | None
) -> None:
    for outcome in (P, P, P, F):
        take(findings.tally, NEUTRAL, run_of("a", outcome))
    findings.diagnoses["a"] = diagnosis(axis)
    found = judged(findings)
    flaky = axis is None or axis in SELF_MOVING
    assert found.verdict is (Verdict.FLAKY if flaky else Verdict.CONDITION_DEPENDENT)
    assert (found.rate, found.interval) == (0.25, wilson(1, 4))
    assert found.failure == failure("in a fresh process")
    assert found.output == "printed"


@pytest.mark.parametrize("kind", ["artefact", "unconfirmed"])
def test_what_no_fresh_process_saw_is_not_judged_and_keeps_its_failure(findings: Findings, kind: str) -> None:
    take(findings.tally, NEUTRAL, run_of("a", P))
    take(findings.tally, NEUTRAL, run_of("a", F, message="in a fork"))
    findings.diagnoses["a"] = diagnosis(None, kind, with_cause=False)
    found = judged(findings)
    assert (found.verdict, found.detail, found.failure) == (Verdict.NOT_JUDGED, "words", failure("in a fork"))


def test_what_never_passed_in_a_fresh_process_is_always_failing(findings: Findings) -> None:
    take(findings.tally, NEUTRAL, run_of("a", F))
    findings.diagnoses["a"] = diagnosis(None, "always-failing", with_cause=False)
    assert judged(findings).verdict is Verdict.ALWAYS_FAILING


def test_verdicts_come_in_the_order_of_collection(findings: Findings) -> None:
    findings.tally.register(["z", "a", "m"])
    take(findings.tally, NEUTRAL, run_of("a", P), run_of("m", F), run_of("z", S))
    assert [verdict.id for verdict in judge.verdicts(findings)] == ["z", "a", "m"]


# --- counts ----------------------------------------------------------------------------------


def count(*outcomes: Outcome) -> Count:
    runs = tuple(run_of("a", outcome, message=f"m{n % 2}") for n, outcome in enumerate(outcomes))
    return Count(bad=sum(o.bad for o in outcomes), good=sum(o.good for o in outcomes), runs=runs, results=())


@pytest.mark.parametrize(
    ("outcomes", "bad", "good"),
    [((), False, False), ((S,), False, False), ((P, P), False, True), ((F,), True, False), ((P, F), False, False)],
)
def test_always_means_each_time_and_at_least_once(outcomes: tuple[Outcome, ...], bad: bool, good: bool) -> None:
    counted = count(*outcomes)
    assert (counted.always_bad, counted.always_good) == (bad, good)


def test_two_counts_together_are_the_sum_of_both() -> None:
    both = count(P, F).plus(count(F, F, S))
    assert (both.bad, both.good, both.of, len(both.runs)) == (3, 1, 4, 5)


def test_failures_are_counted_by_their_fingerprint() -> None:
    assert count(F, F, F, P).fingerprints() == {"AssertionError:m0": 2, "AssertionError:m1": 1}
