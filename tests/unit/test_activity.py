"""The bookkeeping of an experiment: frames and ends of processes in, one run for each test out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.experiment.activity import Activity
from repro_gate.model import Ending, TestRun
from repro_gate_pytest import wire

TESTS = ["a", "b", "c", "d"]


def activity(order: list[int] | None = None) -> Activity:
    one = Activity(TESTS, order if order is not None else [0, 1, 2, 3], None)
    one.begin_process(0.0)
    return one


def begin(one: Activity, index: int, now: float = 1.0) -> None:
    one.take({"ev": wire.BEGIN, "t": index}, now)


def result(one: Activity, index: int, outcome: str = "passed", **fields: Any) -> None:
    begin(one, index)
    one.take({"ev": wire.RESULT, "t": index, "o": outcome, "s": 0.5, **fields}, 2.0)


def controls(one: Activity, first: str = "passed", last: str = "failed") -> None:
    result(one, wire.CONTROL_PASS, first)
    result(one, wire.CONTROL_FAIL, last)


def end(one: Activity, ran: int) -> None:
    one.take({"ev": wire.END, "ran": ran}, 3.0)
    one.process_ended(0, "", 3.0)


def told(one: Activity) -> dict[str, str]:
    return {run.id: str(run.outcome) for run in one.runs}


@pytest.mark.parametrize("how", ["failed", "error"])
def test_nothing_is_left_once_a_test_that_decides_has_failed(how: str) -> None:
    one = Activity(TESTS, [0, 1, 2, 3], None, frozenset({"b", "c"}))
    one.begin_process(0.0)
    result(one, wire.CONTROL_PASS)
    result(one, 0, "failed")  # of no interest
    assert one.left == 3
    result(one, 1, how)
    one.take({"ev": wire.END, "ran": 3, "aborted": True}, 3.0)
    one.process_ended(0, "", 3.0)
    assert told(one) == {"a": "failed", "b": how}
    assert (one.remaining, one.ending, one.controls_held) == ([], Ending.DONE, True)


def test_a_test_that_decides_and_hangs_leaves_nothing_either() -> None:
    one = Activity(TESTS, [0, 1, 2, 3], None, frozenset({"b"}))
    one.begin_process(0.0)
    result(one, wire.CONTROL_PASS)
    result(one, 0)
    begin(one, 1)
    one.process_ended(-9, "timeout", 9.0)
    assert told(one) == {"a": "passed", "b": "timeout"}
    assert one.remaining == []


def test_results_become_runs_in_the_order_they_ran() -> None:
    heard: list[TestRun] = []
    one = Activity(TESTS, [2, 0], heard.append)
    one.begin_process(0.0)
    result(one, 2, "failed", out="words", x=["clock"], e={"files": ["read x"]})
    result(one, 0)
    controls(one)
    end(one, 4)
    assert [(run.id, str(run.outcome)) for run in one.runs] == [("c", "failed"), ("a", "passed")]
    assert heard == one.runs
    assert (one.runs[0].output, one.runs[0].touched) == ("words", ("clock",))
    assert one.controls_held
    assert one.ending is Ending.DONE
    assert one.remaining == []


@pytest.mark.parametrize(("first", "last"), [("failed", "failed"), ("passed", "passed"), ("skipped", "failed")])
def test_a_control_that_does_not_hold_is_told(first: str, last: str) -> None:
    one = activity([0])
    result(one, 0)
    controls(one, first, last)
    end(one, 3)
    assert not one.controls_held


def test_a_control_that_did_not_run_does_not_hold() -> None:
    one = activity([0])
    result(one, wire.CONTROL_PASS)
    result(one, 0)
    end(one, 2)
    assert not one.controls_held


@pytest.mark.parametrize(
    ("status", "why", "outcome", "words"),
    [
        (-11, "", "crashed", "SIGSEGV"),
        (3, "", "crashed", "status 3"),
        (0, "", "crashed", "status 0"),
        (-9, "timeout", "timeout", "within its time"),
        (-9, "memory", "crashed", "more memory"),
        (wire.EXIT_CHANNEL_LOST, "", "crashed", "channel"),
        (-99, "", "crashed", "signal 99"),
    ],
)
def test_the_test_that_ran_when_the_process_ended_is_blamed(status: int, why: str, outcome: str, words: str) -> None:
    one = activity()
    result(one, wire.CONTROL_PASS)
    result(one, 0)
    begin(one, 1, now=5.0)
    one.process_ended(status, why, 7.5, "last words")
    assert told(one) == {"a": "passed", "b": outcome}
    blamed = one.runs[-1]
    assert blamed.failure is not None
    assert words in blamed.failure.message
    assert (blamed.seconds, blamed.output) == (2.5, "last words")
    assert one.remaining == [2, 3]
    assert one.controls_held
    one.begin_process(8.0)
    result(one, 2)
    result(one, 3)
    controls(one)
    end(one, 4)
    assert told(one) == {"a": "passed", "b": outcome, "c": "passed", "d": "passed"}


def test_a_process_that_ends_before_any_test_is_not_tried_again() -> None:
    for before in ((), (wire.CONTROL_PASS,)):
        one = activity()
        for index in before:
            result(one, index)
        one.process_ended(1, "", 1.0)
        assert one.ending is Ending.CRASHED
        assert set(told(one).values()) == {"not_run"}
        assert len(one.runs) == 4
        assert not one.controls_held


@pytest.mark.parametrize("done", [0, 1, 4])
def test_a_sandbox_that_is_killed_from_outside_blames_no_test_and_says_nothing_of_the_controls(done: int) -> None:
    one = activity()
    result(one, wire.CONTROL_PASS)
    for index in range(done):
        result(one, index)
    begin(one, done if done < 4 else wire.CONTROL_FAIL)
    one.process_ended(-9, "lost", 7.5)
    assert list(told(one).values()) == ["passed"] * done + ["not_run"] * (4 - done)
    assert (one.ending, one.controls_held) == (Ending.CRASHED, False)
    assert one.remaining == []


def test_a_process_that_ends_between_two_tests_blames_none_and_the_rest_goes_on() -> None:
    one = activity()
    result(one, 0)
    one.process_ended(0, "", 1.0)
    assert told(one) == {"a": "passed"}
    assert one.remaining == [1, 2, 3]
    assert one.ending is Ending.DONE


def test_a_process_that_ends_in_the_last_control_has_controls_that_do_not_hold() -> None:
    one = activity([0])
    result(one, wire.CONTROL_PASS)
    result(one, 0)
    begin(one, wire.CONTROL_FAIL)
    one.process_ended(-14, "", 1.0)
    assert told(one) == {"a": "passed"}
    assert not one.controls_held


def test_a_lost_frame_is_noticed_by_the_count_at_the_end() -> None:
    one = activity([0])
    result(one, 0)
    controls(one)
    one.take({"ev": wire.END, "ran": 4}, 3.0)
    assert not one.ended_cleanly


@pytest.mark.parametrize(
    "frame",
    [
        {"ev": wire.RESULT},
        {"ev": wire.RESULT, "t": 0, "o": "fine", "s": 0.1},
        {"ev": wire.RESULT, "t": 0, "o": "passed", "s": "long"},
        {"ev": wire.RESULT, "t": 0, "o": "failed", "s": 0.1, "f": {"phase": "call"}},
        {"ev": wire.RESULT, "t": "x", "o": "passed", "s": 0.1},
        {"ev": wire.BEGIN},
        {"ev": wire.END, "ran": None},
    ],
)
def test_a_frame_of_another_shape_is_a_note_and_no_result(frame: dict[str, Any]) -> None:
    one = activity()
    one.take(frame, 1.0)
    assert one.runs == []
    assert "a frame that is none" in one.notes[0]


def test_a_result_out_of_turn_or_out_of_range_is_a_note() -> None:
    one = activity([0, 1])
    result(one, 1)
    result(one, 99)
    assert one.runs == []
    assert len(one.notes) == 2


def test_giving_up_leaves_the_rest_not_run() -> None:
    one = activity()
    result(one, 0)
    one.give_up(Ending.TIMEOUT, "no time")
    assert told(one) == {"a": "passed", "b": "not_run", "c": "not_run", "d": "not_run"}
    assert (one.ending, one.notes) == (Ending.TIMEOUT, ["no time"])
    one.process_ended(-9, "killed", 9.0)
    assert len(one.runs) == 4
    assert one.controls_held


FRAMES = st.lists(
    st.builds(
        lambda kind, index, outcome: {"ev": kind, "t": index, "o": outcome, "s": 0.1, "ran": index},
        st.sampled_from([wire.BEGIN, wire.RESULT, wire.END, "end-of-process", "nonsense"]),
        st.integers(-3, 6),
        st.sampled_from(["passed", "failed", "bogus"]),
    ),
    max_size=25,
)


@given(FRAMES)
def test_whatever_comes_each_test_has_at_most_one_run_and_giving_up_completes_them(
    frames: list[dict[str, Any]],
) -> None:
    one = activity()
    for frame in frames:
        if frame["ev"] == "end-of-process":
            one.process_ended(1, "", 1.0)
            one.begin_process(1.0)
        else:
            one.take(frame, 1.0)
        assert [run.id for run in one.runs] == TESTS[: len(one.runs)]
    one.give_up(Ending.KILLED, "")
    assert [run.id for run in one.runs] == TESTS
