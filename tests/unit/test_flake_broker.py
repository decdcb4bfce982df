"""Many investigations, one thread that runs the lab: every answer to its asker, and nobody waits for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import cast

import pytest

from repro_gate.experiment import Job, Lab
from repro_gate.flake.broker import Broker, Cancelled
from repro_gate.model import Conditions, Ending, Experiment, ExperimentResult, Mode


class Bench:
    """A lab that finishes the last submitted job first, or none at all."""

    def __init__(self, *, stuck: bool = False) -> None:
        self.queue: list[Job] = []
        self.threads: set[int] = set()
        self.most_at_once = 0
        self._stuck = stuck

    def submit(self, job: Job) -> None:
        self.threads.add(threading.get_ident())
        self.queue.append(job)
        self.most_at_once = max(self.most_at_once, len(self.queue))

    @property
    def busy(self) -> bool:
        return bool(self.queue)

    def step(self, seconds: float) -> None:
        self.threads.add(threading.get_ident())
        if self._stuck:
            time.sleep(min(seconds, 0.005))
        else:
            finish(self.queue.pop(), Ending.DONE)

    def cancel(self) -> None:
        while self.queue:
            finish(self.queue.pop(), Ending.NOT_STARTED)


def finish(job: Job, ending: Ending) -> None:
    job.result = ExperimentResult(
        experiment=job.experiment, mode=job.mode, runs=(), ending=ending, controls_held=ending is Ending.DONE
    )


def job(test: str) -> Job:
    return Job(experiment=Experiment(tests=(test,), conditions=Conditions()), mode=Mode.FORK)


def never() -> bool:
    return False


def broker_of(bench: Bench, width: int = 4) -> Broker:
    return Broker(cast(Lab, bench), width)


def asking(broker: Broker, times: int = 3) -> Callable[[str], list[str]]:
    """An investigation that asks for two experiments at a time, so many times."""

    def investigate(name: str) -> list[str]:
        heard = []
        for number in range(times):
            results = broker.ask([job(f"{name}-{number}-a"), job(f"{name}-{number}-b")])
            heard += [result.experiment.tests[0] for result in results if result.experiment.tests]
        return heard

    return investigate


def within(seconds: float, work: Callable[[], object]) -> object:
    """What ``work`` returns or raises; AssertionError if that takes longer."""
    ended: list[object] = []

    def run() -> None:
        try:
            ended.append(work())
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test looks at it
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it hangs"
    return ended[0]


def test_every_result_reaches_its_asker_in_the_order_in_which_it_asked() -> None:
    bench = Bench()
    broker = broker_of(bench)
    names = [f"t{number}" for number in range(10)]
    found: list[list[str]] = []
    assert within(60, lambda: broker.map(asking(broker), names, found.append, never)) == 0
    wanted = [[f"{name}-{number}-{side}" for number in range(3) for side in "ab"] for name in names]
    assert sorted(found) == sorted(wanted)


def test_only_the_thread_of_the_lab_ever_touches_it_and_investigations_run_side_by_side() -> None:
    bench = Bench()
    broker = broker_of(bench)
    together = threading.Barrier(4)

    def investigate(name: str) -> list[str]:
        together.wait(30)
        return asking(broker)(name)

    here = threading.get_ident()
    assert broker.map(investigate, "abcd", lambda _found: None, never) == 0
    assert bench.threads == {here}
    assert bench.most_at_once > 2


def test_an_investigation_that_asks_for_nothing_is_served_too() -> None:
    broker = broker_of(Bench())
    found: list[int] = []
    assert broker.map(lambda number: number * 2, [1, 2, 3], found.append, never) == 0
    assert sorted(found) == [2, 4, 6]
    assert broker.map(lambda number: number, list[int](), found.append, never) == 0


def test_asking_for_no_experiment_gives_no_result() -> None:
    broker = broker_of(Bench())
    found: list[list[ExperimentResult]] = []
    assert within(30, lambda: broker.map(lambda _name: broker.ask([]), ["a"], found.append, never)) == 0
    assert found == [[]]


def test_when_time_is_up_what_is_under_way_and_what_has_not_begun_is_dropped() -> None:
    bench = Bench(stuck=True)
    broker = broker_of(bench, width=2)
    found: list[object] = []
    deadline = time.monotonic() + 0.2
    names = ["a", "b", "c", "d", "e"]
    dropped = within(60, lambda: broker.map(asking(broker), names, found.append, lambda: time.monotonic() > deadline))
    assert dropped == 5
    assert found == []
    assert not bench.busy


def test_what_was_found_before_time_was_up_is_kept() -> None:
    bench = Bench()
    broker = broker_of(bench, width=1)
    found: list[list[str]] = []
    dropped = within(60, lambda: broker.map(asking(broker), "abc", found.append, lambda: bool(found)))
    assert len(found) >= 1
    assert dropped == 3 - len(found)


@pytest.mark.parametrize("error", [RuntimeError("a bug"), KeyboardInterrupt()], ids=["bug", "interrupt"])
def test_an_error_in_one_investigation_comes_out_and_ends_the_others(error: BaseException) -> None:
    bench = Bench(stuck=True)
    broker = broker_of(bench)

    def investigate(name: str) -> object:
        if name == "bad":
            raise error
        return asking(broker)(name)

    raised = within(60, lambda: broker.map(investigate, ["a", "bad", "b"], lambda _found: None, never))
    assert raised is error
    assert not bench.busy


def test_an_error_of_whoever_hears_of_a_finding_comes_out() -> None:
    broker = broker_of(Bench())

    def hear(_found: object) -> None:
        raise ValueError("disk")

    raised = within(60, lambda: broker.map(asking(broker), "ab", hear, never))
    assert isinstance(raised, ValueError)


def test_whoever_asks_after_everything_was_cancelled_is_told_so_and_does_not_wait() -> None:
    broker = broker_of(Bench(stuck=True))
    asked_late = threading.Event()

    def investigate(name: str) -> object:
        if name == "bad":
            raise RuntimeError
        time.sleep(0.3)  # it computes while the others are cancelled, and asks then
        try:
            return broker.ask([job(name)])
        except Cancelled:
            asked_late.set()
            raise

    raised = within(60, lambda: broker.map(investigate, ["slow", "bad"], lambda _found: None, never))
    assert isinstance(raised, RuntimeError)
    assert asked_late.is_set()
