"""One experiment on its way: start, passes, lanes, ends, and going on after a test ended the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro_gate.experiment import stacks
from repro_gate.experiment.activity import Activity
from repro_gate.experiment.worker import Pipe, Worker
from repro_gate.model import Ending, Experiment, ExperimentResult, Failure, Mode, Outcome, TestRun
from repro_gate_pytest import wire

_MOST_LOST_SERVERS = 3
_WEIGH_SECONDS = 0.1


@dataclass(eq=False, kw_only=True, slots=True)
class _Lane:
    """One process (or fork) of this experiment while it runs."""

    worker: Worker
    pipe: Pipe
    serial: int
    activity: Activity
    why: str = ""
    over: bool = False


class Run:
    """Drives one experiment; the lab calls ``advance`` whenever something may have happened."""

    def __init__(
        self,
        experiment: Experiment,
        mode: Mode,
        worker: Worker,
        *,
        on_run: Callable[[TestRun], None] | None,
        open_sibling: Callable[[Worker], Worker],
        reopen: Callable[[], Worker],
        relaunch: Callable[[Worker], None],
        template: Path,
        now: float,
        collect_seconds: float,
    ) -> None:
        self.experiment = experiment
        self.mode = mode
        self.worker = worker
        self.worker_spoiled = False
        self.finished = False
        self._on_run = on_run
        self._open_sibling = open_sibling
        self._reopen = reopen
        self._relaunch = relaunch
        self._template = template
        self._began = now
        self._starting_since = now
        self._collect_seconds = collect_seconds
        self._siblings: list[Worker] = []
        self._lanes: list[_Lane] = []
        self._passes_left = experiment.conditions.leftovers
        self._lost_servers = 0
        self._weigh_at = now
        self._activity: Activity | None = None
        self._missing: tuple[str, ...] = ()
        self._refresh = mode is Mode.FORK
        self._notes: list[str] = []

    # -- what the lab asks ------------------------------------------------------------------

    @property
    def workers(self) -> list[Worker]:
        """Every process of this experiment."""
        return [self.worker, *self._siblings]

    @property
    def many_left(self) -> bool:
        """Whether so many tests are still to come that nobody waits for the next one."""
        return self._activity is not None and self._activity.left > 100

    def descriptors(self) -> list[int]:
        """What to wait for."""
        events = [worker.events.fd for worker in self.workers if worker.events is not None]
        return events + [lane.pipe.fd for lane in self._lanes if not lane.over]

    def patience(self, now: float) -> float:
        """Seconds until something is due."""
        if not self._lanes or self._lanes[0].over:
            return 0.1
        due = self._lanes[0].activity.current_since + self.experiment.limits.test_seconds
        return min(0.2, max(0.0, due - now))

    def result(self) -> ExperimentResult:
        """The result, complete once ``finished``."""
        activity = self._activity
        runs = [self._not_collected(test) for test in self._missing]
        if activity is None:
            if not runs:
                runs = [TestRun(id=t, outcome=Outcome.NOT_RUN, seconds=0.0) for t in self.experiment.tests or ()]
            ending, held = Ending.NOT_STARTED, False
        else:
            runs = [*activity.runs, *runs]
            self._notes += activity.notes
            ending, held = activity.ending, activity.controls_held
        return ExperimentResult(
            experiment=self.experiment,
            mode=self.mode,
            runs=tuple(runs),
            ending=ending,
            controls_held=held,
            swapped=None if activity is None else activity.swapped,
            notes=tuple(self._notes),
            others=self._others(),
            uncollected=()
            if self.mode is Mode.FORK
            else tuple(dict.fromkeys(node for node, _ in self.worker.facts.errors)),
        )

    def _others(self) -> tuple[str, ...]:
        wanted = self.experiment.tests
        if wanted is None or self.mode is Mode.FORK:
            return ()
        asked = frozenset(wanted)
        return tuple(test for test, _ in self.worker.facts.tests if test not in asked)

    def _not_collected(self, test: str) -> TestRun:
        """A test that this process has not: an error where its module could not be imported."""
        file = test.partition("::")[0]
        text = next((text for node, text in self.worker.facts.errors if node == file), "")
        if not text:
            return TestRun(id=test, outcome=Outcome.NOT_RUN, seconds=0.0)
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        failure = Failure(
            phase="collect",
            type="collection error",
            bases=(),
            message=lines[-1] if lines else "",
            chain=(),
            frames=(),
            fingerprint=f"collect:{file}",
        )
        return TestRun(id=test, outcome=Outcome.ERROR, seconds=0.0, failure=failure, output=text)

    def abandon(self) -> None:
        """Stop now; what ran so far is the result. Nobody is told: whoever listens may be why it ends."""
        if self._activity is not None:
            self._activity.unheard()
            self._activity.give_up(Ending.KILLED, "interrupted")
        self._end_lanes()
        self.worker_spoiled = True
        self.finished = True

    # -- the state machine ------------------------------------------------------------------

    def advance(self, now: float) -> None:
        """Take in what came and go on."""
        exits: dict[int, dict[str, Any]] = {}
        for worker in self.workers:
            for frame in worker.listen():
                if frame.get("ev") == wire.EXITED:
                    exits[int(frame["run"])] = frame
        if self.finished:
            return
        if not self._lanes:
            self._while_starting(now)
            return
        for lane in self._lanes:
            self._listen(lane, exits, now)
        judged = self._lanes[0]
        if judged.over:
            if self._partners_are_over():
                self._after_lane(judged, now)
        else:
            self._watch_time(judged, now)

    def _while_starting(self, now: float) -> None:
        for worker in self.workers:
            if worker.ready:
                continue
            gone = worker.process is None or worker.process.poll() is not None
            if gone or now - self._starting_since > self._collect_seconds:
                worker.listen()
                if not worker.ready:
                    self._not_started(worker, gone)
                    return
        if not all(worker.ready for worker in self.workers):
            return
        if len(self._siblings) < len(self.experiment.partners) and self.mode is Mode.FRESH:
            self._siblings = [self._open_sibling(self.worker) for _ in self.experiment.partners]
            self._starting_since = now
            return
        if self.mode is Mode.FORK and not self.worker.facts.ready.get("fork"):
            self._not_started(self.worker, gone=False)
            return
        self._begin_pass(now)

    def _not_started(self, worker: Worker, gone: bool) -> None:
        out, err = worker.process.output() if worker.process is not None else ("", "")
        reason = "ended" if gone else "was not ready in time"
        self._notes.append(f"the test process {reason} before it ran a test: {(err or out)[-1500:].strip()}")
        if self._activity is not None:
            self._activity.give_up(Ending.NOT_STARTED, "")
        self.worker_spoiled = True
        self._end_lanes()
        self.finished = True

    def _begin_pass(self, now: float) -> None:
        if self._refresh:
            self.worker.refresh(self._template)
            self._refresh = False
        if self._activity is None:
            self._activity = self._new_activity(self.experiment.tests, judged=self._passes_left == 0)
        lanes = [(self.worker, self._activity)]
        for position, tests in enumerate(self.experiment.partners):
            worker = self._siblings[position] if self.mode is Mode.FRESH else self.worker
            lanes.append((worker, self._new_activity(tests, judged=False)))
        self._lanes = [self._begin_lane(number, *lane, now) for number, lane in enumerate(lanes)]

    def _new_activity(self, wanted: tuple[str, ...] | None, *, judged: bool) -> Activity:
        tests = [test for test, _ in self.worker.facts.tests]
        if wanted is None:
            order = wire.arrange(tests, self.experiment.conditions.order)
        else:
            index: dict[str, int] = {}
            for position, test in enumerate(tests):
                index.setdefault(test, position)
            order = [index[test] for test in wanted if test in index]
            if judged:
                self._missing = tuple(test for test in wanted if test not in index)
        return Activity(tests, order, self._on_run if judged else None, self.experiment.until)

    def _begin_lane(self, number: int, worker: Worker, activity: Activity, now: float) -> _Lane:
        pipe, inside = worker.new_channel()
        serial = worker.next_run()
        activity.begin_process(now)
        command = {
            "do": wire.RUN,
            "run": serial,
            "lane": number,
            "conditions": self.experiment.conditions.to_json(),
            "order": activity.remaining,
            "channel": inside,
            "limits": {
                "memory": self.experiment.limits.memory_bytes,
                "seconds": self.experiment.limits.test_seconds,
            },
        }
        if self.experiment.until:
            until = self.experiment.until
            command["until"] = [index for index, (test, _) in enumerate(self.worker.facts.tests) if test in until]
        if self.experiment.swap is not None:
            command["swap"] = pipe.leave_swap(self.experiment.swap, inside)
        worker.command(command)
        return _Lane(worker=worker, pipe=pipe, serial=serial, activity=activity)

    def _listen(self, lane: _Lane, exits: dict[int, dict[str, Any]], now: float) -> None:
        if lane.over:
            return
        for frame in lane.pipe.frames():
            lane.activity.take(frame, now)
        process = lane.worker.process
        gone = process is None or process.poll() is not None
        ended: tuple[int, str] | None = None
        if self.mode is Mode.FORK and lane.serial in exits:
            frame = exits[lane.serial]
            ended = _exit_code(int(frame["status"])), lane.why or str(frame.get("why", ""))
        elif self.mode is Mode.FRESH and lane.activity.ended_cleanly:
            ended = 0, ""
        elif gone:
            ended = lane.worker.status() or 0, lane.why or (process.why() if process is not None else "")
            self.worker_spoiled = True
        if ended is None:
            return
        for frame in lane.pipe.frames():
            lane.activity.take(frame, now)
        words = lane.worker.process.output()[1][-3000:] if lane.worker.process is not None else ""
        crash = ended[1] == "" and ended[0] != 0
        left = self._stack(lane, crash=crash) if crash or ended[1] == "timeout" else stacks.Left()
        lane.activity.process_ended(*ended, now, words + (left.text[:3000] if crash else ""), left.frames)
        lane.pipe.close()
        lane.over = True

    def _stack(self, lane: _Lane, *, crash: bool) -> stacks.Left:
        """Where a test hung or crashed, if it could still say so."""
        facts = lane.worker.facts
        tests = frozenset(file for _, file in facts.tests).union(lane.worker.test_files)
        tree = lane.worker.view_of_tree()
        return stacks.read(lane.pipe.path, crash=crash, tree=tree, roots=facts.ready.get("roots", {}), tests=tests)

    def _watch_time(self, lane: _Lane, now: float) -> None:
        limits = self.experiment.limits
        if lane.why:
            return
        if now - lane.activity.current_since > limits.test_seconds:
            self._kill(lane, "timeout")
        elif self._too_large(lane, now):
            self._kill(lane, "memory")
        elif now - self._began > limits.total_seconds:
            lane.activity.give_up(Ending.TIMEOUT, "the time budget was over")
            self._kill(lane, "killed")

    def _too_large(self, lane: _Lane, now: float) -> bool:
        """Whether a fresh process took more memory than it may (a fork server watches its forks itself)."""
        most = self.experiment.limits.memory_bytes
        process = lane.worker.process
        if not most or self.mode is Mode.FORK or process is None or now < self._weigh_at:
            return False
        self._weigh_at = now + _WEIGH_SECONDS
        return process.resident() > most

    def _kill(self, lane: _Lane, why: str) -> None:
        lane.why = why
        if self.mode is Mode.FORK:
            lane.worker.command({"do": wire.KILL, "run": lane.serial, "why": why})
        else:
            lane.worker.kill()

    def _partners_are_over(self) -> bool:
        """End the lanes that were only there to disturb; they must be gone before their files are."""
        waiting = [lane for lane in self._lanes if not lane.over]
        for lane in waiting:
            if not lane.why:
                self._kill(lane, "killed")
        return not waiting

    def _after_lane(self, lane: _Lane, now: float) -> None:
        activity = lane.activity
        self._end_lanes()
        if activity.remaining and activity.ending is Ending.DONE:
            self._go_on(now)
        elif self._passes_left > 0:
            self._passes_left -= 1
            self._activity = None
            self._next_process(now)
        else:
            self.finished = True

    def _go_on(self, now: float) -> None:
        """The rest of the tests, after one of them ended the process."""
        if self.worker_spoiled and self.mode is Mode.FORK:
            self._lost_servers += 1
            if self._lost_servers > _MOST_LOST_SERVERS and self._activity is not None:
                self._activity.give_up(Ending.CRASHED, "the fork server was lost again and again")
                self.finished = True
                return
            self.worker = self._reopen()
            self.worker_spoiled = False
        self._next_process(now)

    def _next_process(self, now: float) -> None:
        self._starting_since = now
        if self.mode is Mode.FRESH:
            for worker in self.workers:
                self._relaunch(worker)
            return
        if self.worker.ready:
            self._begin_pass(now)

    def _end_lanes(self) -> None:
        for lane in self._lanes:
            if not lane.over:
                self._kill(lane, "killed")
                lane.pipe.close()
                lane.over = True
        if self.mode is Mode.FRESH:
            for worker in self.workers:
                worker.stop()
        self._lanes = []


def _exit_code(status: int) -> int:
    """A wait status as subprocess would say it."""
    return -(status & 0x7F) if status & 0x7F else status >> 8
