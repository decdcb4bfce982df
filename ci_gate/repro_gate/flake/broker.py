"""Lets several investigations ask for experiments at once, while one thread runs the lab.

Investigations are plain sequential code on threads of their own; they only ever wait. Processes
are started by the lab's thread alone.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from repro_gate.experiment import Job, Lab
from repro_gate.model import ExperimentResult

_LOOK_AGAIN = 0.5  # seconds

T = TypeVar("T")
R = TypeVar("R")


class Cancelled(Exception):
    """The investigation is to end: nobody will run its experiments."""


class Broker:
    """``ask`` from any thread; ``map`` on the lab's thread serves what is asked."""

    def __init__(self, lab: Lab, width: int) -> None:
        self._lab = lab
        self._width = width
        self._wanted: queue.SimpleQueue[tuple[list[Job], threading.Event]] = queue.SimpleQueue()
        self._open: list[tuple[list[Job], threading.Event]] = []
        self._cancelled = False

    def ask(self, jobs: Sequence[Job]) -> list[ExperimentResult]:
        """Have these run and wait. Raises Cancelled."""
        batch = list(jobs)
        done = threading.Event()
        self._wanted.put((batch, done))
        while not done.wait(_LOOK_AGAIN) and not self._cancelled:
            pass  # whoever asks while everything is being cancelled is served by nobody
        results = [job.result for job in batch if job.result is not None]
        if self._cancelled or len(results) != len(batch):
            raise Cancelled
        return results

    def map(
        self, investigate: Callable[[T], R], things: Iterable[T], each: Callable[[R], None], until: Callable[[], bool]
    ) -> int:
        """Investigate all; ``each`` hears of every finding as it comes. Returns how many were dropped.

        ``until`` says that there is no time left: what is under way is then cancelled.
        """
        with ThreadPoolExecutor(self._width, thread_name_prefix="investigate") as pool:
            futures: list[Future[R]] = [pool.submit(investigate, thing) for thing in things]
            dropped = 0
            waiting = list(futures)
            try:
                while waiting:
                    if until() and not self._cancelled:
                        self._cancel(futures)
                    self._serve()
                    for future in [f for f in waiting if f.done()]:
                        waiting.remove(future)
                        if future.cancelled() or isinstance(future.exception(), Cancelled):
                            dropped += 1
                        else:
                            each(future.result())
            except BaseException:
                self._cancel(futures)
                raise
            return dropped

    def _serve(self) -> None:
        while True:
            try:
                batch, done = self._wanted.get_nowait()
            except queue.Empty:
                break
            if self._cancelled:
                done.set()
                continue
            self._open.append((batch, done))
            for job in batch:
                self._lab.submit(job)
        if self._lab.busy:
            self._lab.step(0.05)
        else:
            threading.Event().wait(0.002)
        for batch, done in list(self._open):
            if all(job.result is not None for job in batch):
                self._open.remove((batch, done))
                done.set()

    def _cancel(self, futures: Sequence[Future[R]]) -> None:
        self._cancelled = True
        for future in futures:
            future.cancel()
        self._lab.cancel()
        for _, done in self._open:
            done.set()
        self._open.clear()
        while not self._wanted.empty():
            self._wanted.get_nowait()[1].set()
