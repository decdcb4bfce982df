"""One experiment while it runs: its frames become TestRuns, and whatever ends it early is survived.

Pure bookkeeping over frames and times; the lab owns processes.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from typing import Any

from repro_gate.model import Ending, Evidence, Failure, Frame, Outcome, TestRun
from repro_gate.sandbox import LOST
from repro_gate_pytest import wire

_WHY = {"timeout": Outcome.TIMEOUT, "memory": Outcome.CRASHED}


class Activity:
    """The judged lane of an experiment, over however many processes it takes to finish it.

    Once one of the tests in ``until`` has failed, nothing is left to be run.
    """

    def __init__(
        self,
        tests: Sequence[str],
        order: Sequence[int],
        on_run: Callable[[TestRun], None] | None,
        until: frozenset[str] = frozenset(),
    ) -> None:
        self._tests = tests
        self._until = until
        self._left = list(order)
        self._position = 0
        self._on_run = on_run
        self.runs: list[TestRun] = []
        self.notes: list[str] = []
        self.current: int | None = None
        self.current_since = 0.0
        self.last_frame = 0.0
        self._aborted = False
        self._controls: dict[int, bool] = {}
        self.controls_held = True
        self.ended_cleanly = False
        self._results_here = 0
        self._position_at_begin = 0
        self.ending = Ending.DONE
        self.swapped: int | None = None

    @property
    def remaining(self) -> list[int]:
        """Indices that have not been run yet, in order."""
        return self._left[self._position :]

    @property
    def left(self) -> int:
        """How many tests have not been run yet."""
        return len(self._left) - self._position

    def _next(self) -> int | None:
        """The index that is due, or None after the last."""
        return self._left[self._position] if self._position < len(self._left) else None

    def begin_process(self, now: float) -> None:
        """A process takes up the remaining tests."""
        self.current = None
        self.ended_cleanly = False
        self._results_here = 0
        self._position_at_begin = self._position
        self._controls = {}
        self._aborted = False
        self.current_since = self.last_frame = now

    def take(self, frame: dict[str, Any], now: float) -> None:
        """One frame of the run's channel. Malformed ones become notes."""
        self.last_frame = now
        try:
            kind = frame.get("ev")
            if kind == wire.BEGIN:
                self.current, self.current_since = int(frame["t"]), now
            elif kind == wire.RESULT:
                self._result(int(frame["t"]), frame)
            elif kind == wire.END:
                self.ended_cleanly = int(frame["ran"]) == self._results_here
                self._aborted = bool(frame.get("aborted"))
            elif kind == wire.SWAPPED:
                self._swapped(int(frame["count"]), str(frame.get("reason", "")))
            elif kind == wire.NOTE:
                self.notes.append(str(frame.get("text", "")))
        except (KeyError, TypeError, ValueError) as broken:
            self.notes.append(f"a frame that is none: {broken!r}")

    def _result(self, index: int, frame: dict[str, Any]) -> None:
        outcome = Outcome(frame["o"])
        self._results_here += 1
        self.current = None
        if index < 0:
            held = outcome is (Outcome.PASSED if index == wire.CONTROL_PASS else Outcome.FAILED)
            self._controls[index] = held
            self.controls_held = self.controls_held and held
            return
        if self._next() != index:
            self.notes.append(f"a result out of turn: {index}")
            return
        self._add(
            TestRun(
                id=self._tests[index],
                outcome=outcome,
                seconds=float(frame["s"]),
                failure=Failure.from_json(frame["f"]) if "f" in frame else None,
                evidence=Evidence.from_json(frame["e"]) if "e" in frame else None,
                touched=tuple(map(str, frame.get("x", ()))),
                output=str(frame.get("out", "")),
                contradiction=str(frame.get("c", "")),
            )
        )

    def _swapped(self, count: int, reason: str) -> None:
        """What became of the swap in this process; where there was none, the experiment did not take place."""
        self.swapped = count if self.swapped is None else min(count, self.swapped)
        if count == 0:
            self.controls_held = False
            self.give_up(Ending.NOT_STARTED, f"no code was exchanged: {reason}")

    def _add(self, run: TestRun) -> None:
        self._position += 1
        if run.id in self._until and run.outcome.bad:
            self._left = self._left[: self._position]
        self.runs.append(run)
        if self._on_run is not None:
            self._on_run(run)

    def process_ended(
        self, status: int, why: str, now: float, last_words: str = "", frames: tuple[Frame, ...] = ()
    ) -> None:
        """The process is gone: blame the test that was running, if one was.

        ``status`` is as subprocess gives it: an exit code, or a negative signal number; ``frames``
        are the stack that was left.
        """
        if self.ended_cleanly:
            # A test that ends the session keeps the second control from its turn; that is its own doing.
            due = {wire.CONTROL_PASS} if self._aborted else {wire.CONTROL_PASS, wire.CONTROL_FAIL}
            if set(self._controls) != due:
                self.controls_held = False
            return
        if why == LOST:
            self.controls_held = False
            if self.ending is Ending.DONE:
                self.give_up(Ending.CRASHED, "the sandbox of the test process was killed from outside")
            return
        culprit = self.current
        if culprit is None or culprit < 0 or self._next() != culprit:
            if self.ending is not Ending.DONE:
                return
            if self._next() is None:
                self.controls_held = False
                self.notes.append(f"the process ended after its last test: {_words(status, why)}")
            elif self._position == self._position_at_begin:
                # No test of this process to blame, and trying again would not end.
                self.controls_held = False
                self.give_up(Ending.CRASHED, f"the process ended before any test: {_words(status, why)}")
            return
        outcome = _WHY.get(why, Outcome.CRASHED)
        message = _words(status, why)
        self.notes.append(f"{self._tests[culprit]}: {message}; the tests after it ran in a new process")
        self._add(
            TestRun(
                id=self._tests[culprit],
                outcome=outcome,
                seconds=max(0.0, now - self.current_since),
                failure=Failure(
                    phase="call",
                    type="timeout" if outcome is Outcome.TIMEOUT else "crash",
                    bases=(),
                    message=message,
                    chain=(),
                    frames=frames,
                    fingerprint=f"{outcome}:{why or status}",
                ),
                output=last_words,
            )
        )
        self.current = None

    def unheard(self) -> None:
        """From here on results are kept, and told to nobody."""
        self._on_run = None

    def give_up(self, ending: Ending, note: str) -> None:
        """No process will run the rest."""
        self.ending = ending
        if note:
            self.notes.append(note)
        for index in self.remaining:
            self._add(TestRun(id=self._tests[index], outcome=Outcome.NOT_RUN, seconds=0.0))


def _words(status: int, why: str) -> str:
    """How a process ended, as a sentence's end."""
    if why == "timeout":
        return "did not end within its time and was killed"
    if why == "memory":
        return "took more memory than it may and was killed"
    if status == wire.EXIT_CHANNEL_LOST:
        return "closed the channel on which results travel"
    if status < 0:
        try:
            return f"ended by {signal.Signals(-status).name}"
        except ValueError:
            return f"ended by signal {-status}"
    return f"ended the process with status {status}"
