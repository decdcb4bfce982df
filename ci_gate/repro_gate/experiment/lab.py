"""Where experiments are run: a queue of jobs, a few live processes, one thread.

Fork servers are kept and reused; a fresh process lives for one experiment. At most ``jobs``
processes work at a time (the lanes of a parallel experiment count as one).
"""

from __future__ import annotations

import os
import select
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from repro_gate.errors import CollectionFailed, MissingTool
from repro_gate.experiment import tree
from repro_gate.experiment.project import Project
from repro_gate.experiment.run import Run
from repro_gate.experiment.skipped import SkippedFiles
from repro_gate.experiment.wiring import start_of
from repro_gate.experiment.worker import Facts, StartKey, Worker
from repro_gate.model import CollectFailure, Conditions, Ending, Experiment, ExperimentResult, Mode, Outcome, TestRun
from repro_gate.sandbox import Sandbox

_MOST_IDLE = 6
_MANY = 4  # experiments that wait for one server
_TICK = 0.2
_GATHER = 0.005  # seconds: results of a long run are taken in by the handful, not one by one


@dataclass(eq=False, kw_only=True, slots=True)
class Job:
    """An experiment to be run in one mode, on the whole suite or only some of its files.

    ``files`` (relative to pytest's root, or to the tree) narrow what is collected; empty means all that the
    user selected. ``on_run`` hears of each test as it ends.
    """

    experiment: Experiment
    mode: Mode = Mode.FORK
    files: tuple[str, ...] = ()
    on_run: Callable[[TestRun], None] | None = None
    result: ExperimentResult | None = field(default=None, init=False)


class Lab:
    """Runs jobs. Use as a context manager: leaving it ends and removes everything.

    ``clock`` is a monotonic clock in seconds. ``alter`` makes the copy of the tree that all others are copied from
    another one. The sandbox is closed by whoever gave it.
    """

    def __init__(
        self,
        project: Project,
        sandbox: Sandbox,
        *,
        jobs: int,
        clock: Callable[[], float],
        collect_seconds: float = 300.0,
        alter: Callable[[Path], None] = lambda _tree: None,
    ) -> None:
        self._alter = alter
        self.project = project
        self.sandbox = sandbox
        self._slots = max(1, jobs)
        self._clock = clock
        self._collect_seconds = collect_seconds
        self._base = Path(tempfile.mkdtemp(prefix="rg-"))
        self._template = self._base / "t"
        self._serial = 0
        self._queue: deque[Job] = deque()
        self._runs: list[tuple[Job, Run]] = []
        self._workers: list[Worker] = []
        self._expected: dict[Conditions, Worker] = {}
        self._root = ""
        self._inifile = ""
        self._start_seconds = 0.0  # what the last collection took
        self._waiting_since: dict[StartKey, float] = {}
        self._rewritten = ""  # where tests stood when pytest rewrote what the template has of them
        self.started_processes = 0
        self.skipped_files = SkippedFiles()
        self.last_causes: tuple[CollectFailure, ...] = ()

    def __enter__(self) -> Self:
        try:
            tree.copy_tree(
                self.project.tree,
                self._template,
                exclude=self.project.exclude,
                max_bytes=self.project.max_tree_bytes,
                linked=self.project.source is not None,  # a tree of ours, which nothing writes into
            )
            self._alter(self._template)
            tree.make_place(self._template, self.project.subdirectory)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """End every process and remove every directory."""
        for worker in [*self._workers, *(worker for _, run in self._runs for worker in run.workers)]:
            worker.stop()
        self._workers.clear()
        self._runs.clear()
        if self._base.exists():
            tree.wipe(self._base)
            shutil.rmtree(self._base, ignore_errors=True)

    def inherit_root(self, other: Lab) -> None:
        """Take pytest's root to be where it is in another lab of the same side, until a process here says so."""
        self._root, self._inifile = other._root, other._inifile

    def inherit_bytecode(self, other: Lab, different: Sequence[str]) -> None:
        """Begin with what another lab's first process compiled,
        but for the paths whose texts are ``different`` here.
        """
        tree.keep_bytecode(other._template, self._template, rewritten=True, without=different)
        self._rewritten = other._rewritten

    # -- collecting -----------------------------------------------------------------------

    def expect(self, experiment: Experiment) -> None:
        """Start the server that ``collect`` will ask for, and do not wait for it."""
        start = start_of(experiment.conditions)
        if start not in self._expected and not any(worker.key == StartKey.of(start, ()) for worker in self._workers):
            self._expected[start] = self._open_worker(experiment, files=(), fork=True, facts=self.project.facts)

    def collect(self, experiment: Experiment) -> Facts:
        """Start a server for these conditions, wait for its list of tests, and keep it.

        Raises CollectionFailed, with pytest's own words, where there will be no list; ``last_causes``
        are then the failures that led to it, as far as they are known.
        """
        worker = self._expected.pop(start_of(experiment.conditions), None)
        if worker is None or worker not in self._workers:
            worker = self._open_worker(experiment, files=(), fork=True, facts=self.project.facts)
        began = self._clock()
        deadline = began + self._collect_seconds
        again = True  # somebody else's kill is no answer of pytest
        while not worker.ready:
            if worker.process is None or worker.process.poll() is not None or self._clock() > deadline:
                worker.listen()
                if not worker.ready:
                    if not (again and worker.lost):
                        raise self._collection_failed(worker, timed_out=self._clock() > deadline)
                    again = False
                    self._workers.remove(worker)
                    worker.discard()
                    worker = self._open_worker(experiment, files=(), fork=True, facts=self.project.facts)
            if worker.events is not None:
                select.select([worker.events.fd], [], [], _TICK)
            worker.listen()
        facts = worker.facts
        self._start_seconds = self._clock() - began
        self.skipped_files.take(facts)
        inside = worker.view_of_tree()
        if not self._rewritten and inside != str(worker.place.tree):  # then other copies stand there as well
            self._rewritten = inside
        tree.keep_bytecode(worker.place.tree, self._template, rewritten=inside == self._rewritten)
        self._root = _below(str(facts.ready.get("rootdir", "")), inside)
        self._inifile = _below(str(facts.ready.get("inifile", "")), inside)
        if not facts.ready.get("fork"):
            self._workers.remove(worker)
            worker.discard()
        else:
            worker.last_used = self._serial
        return facts

    def _collection_failed(self, worker: Worker, *, timed_out: bool) -> CollectionFailed | MissingTool:
        self._workers = [other for other in self._workers if other is not worker]
        status = worker.status()
        worker.stop()
        out, err = worker.process.output() if worker.process else ("", "")
        notes = worker.facts.notes
        self.last_causes = tuple(worker.facts.error_causes)
        worker.discard()
        python = self.project.interpreter.executable
        if any(note.startswith("no-pytest") for note in notes):
            return MissingTool(
                f"pytest is not installed for {python!r}.",
                next_step=f"Install it there (`{python} -m pip install pytest`), or name another interpreter with `--python`.",
            )
        if timed_out:
            sentence = f"Collecting the tests took more than {self._collect_seconds:.0f} s."
        else:
            sentence = f"pytest ended with status {status} before it had a list of tests."
        return CollectionFailed(sentence, details=(out[-6000:] + "\n" + err[-4000:]).strip())

    # -- running --------------------------------------------------------------------------

    def run(self, jobs: Iterable[Job]) -> list[ExperimentResult]:
        """Run these jobs to their end; results in the order of the jobs."""
        mine = list(jobs)
        for job in mine:
            self.submit(job)
        while any(job.result is None for job in mine):
            self.step()
        return [job.result for job in mine if job.result is not None]

    def submit(self, job: Job) -> None:
        """Queue a job; ``job.result`` is set by a later ``step``."""
        self._queue.append(job)

    @property
    def busy(self) -> bool:
        """Whether anything is queued or running."""
        return bool(self._queue or self._runs)

    def cancel(self) -> None:
        """Drop what is queued and kill what is running; results so far stay in their jobs."""
        for job in self._queue:
            job.result = _not_started(job, "cancelled")
        self._queue.clear()
        for job, run in list(self._runs):
            run.abandon()
            self._finish(job, run)

    def step(self, seconds: float = _TICK) -> None:
        """Start what can be started, wait a little, take in what came."""
        self._dispatch()
        self._wait(seconds)
        now = self._clock()
        for job, run in list(self._runs):
            run.advance(now)
            if run.finished:
                self._finish(job, run)
        for worker in [w for w in self._workers if not self._in_use(w)]:
            worker.listen()
            if worker.process is None or worker.process.poll() is not None:
                self._workers.remove(worker)
                worker.discard()

    def _wait(self, seconds: float) -> None:
        fds = [fd for _, run in self._runs for fd in run.descriptors()]
        if fds:
            now = self._clock()
            select.select(fds, [], [], min([seconds, *(run.patience(now) for _, run in self._runs)]))
            if any(run.many_left for _, run in self._runs):
                time.sleep(_GATHER)

    def _dispatch(self) -> None:
        waiting: deque[Job] = deque()
        while self._queue and len(self._runs) < self._slots:
            job = self._queue.popleft()
            if not self._try_start(job):
                waiting.append(job)
        waiting.extend(self._queue)
        self._queue = waiting
        if not waiting:
            self._waiting_since.clear()

    def _try_start(self, job: Job) -> bool:
        key = StartKey.of(job.experiment.conditions, job.files)
        if job.mode is Mode.FRESH:
            if job.experiment.swap is not None:
                job.result = _not_started(
                    job, "code is exchanged in forks alone; a fresh process reads it from its files"
                )
                return True
            self._begin(job, self._open_worker(job.experiment, files=job.files, fork=False, register=False))
            return True
        same = [worker for worker in self._workers if worker.key == key]
        for worker in same:
            if not self._in_use(worker):
                self._begin(job, worker)
                return True
        if same and not self._want_another(key):
            return False
        self._evict()
        self._begin(job, self._open_worker(job.experiment, files=job.files, fork=True))
        return True

    def _want_another(self, key: StartKey) -> bool:
        """Whether to collect once more while a server for it is busy: where many have waited for as long as that takes.

        Who pays for a start only then never pays more than twice what was needed (Karlin et al., Competitive snoopy
        caching, 1988).
        """
        others = [StartKey.of(other.experiment.conditions, other.files) for other in self._queue]
        if len(others) < _MANY or any(other != key for other in others):
            return False
        since = self._waiting_since.setdefault(key, self._clock())
        return self._clock() - since >= self._start_seconds

    def _begin(self, job: Job, worker: Worker) -> None:
        worker.last_used = self._serial
        arguments = self.arguments(job.files)

        def reopen() -> Worker:
            self._workers = [other for other in self._workers if other is not worker]
            worker.discard()
            return self._open_worker(job.experiment, files=job.files, fork=True)

        run = Run(
            job.experiment,
            job.mode,
            worker,
            on_run=job.on_run,
            open_sibling=lambda first: self._open_sibling(first, arguments),
            reopen=reopen,
            relaunch=lambda again: again.launch(fork=False, pytest_args=arguments),
            template=self._template,
            now=self._clock(),
            collect_seconds=self._collect_seconds,
        )
        self._runs.append((job, run))
        run.advance(self._clock())  # a server that is ready need not wait for the next tick

    def _open_sibling(self, first: Worker, arguments: tuple[str, ...]) -> Worker:
        self._serial += 1
        self.started_processes += 1
        sibling = first.sibling(self._serial)
        sibling.launch(fork=False, pytest_args=arguments)
        return sibling

    def arguments(self, files: tuple[str, ...]) -> tuple[str, ...]:
        """pytest's arguments, relative to the directory it runs in, so that they hold in any copy.

        ``files`` are relative to pytest's root as in ids of tests, or to the tree as in facts of them; without them,
        what the user gave.
        """
        here = self.project.subdirectory or "."
        given = [_relative(argument, self.project.original, here) for argument in self.project.pytest_args]
        if not files:
            return tuple(given)
        options = _options_only(given, self._template / here)
        options.append(f"--rootdir={os.path.relpath(self._root or '.', here)}")
        if self._inifile:
            options += ["-c", os.path.relpath(self._inifile, here)]
        return (*options, *(os.path.relpath(self.in_tree(file), here) for file in files))

    def in_tree(self, file: str) -> str:
        """The path in the tree of a file that is named from pytest's root; one that is named from the tree stays."""
        below = os.path.join(self._root, file)  # noqa: PTH118 - a text as pytest gave it, absolute or not
        return below if (self._template / below).exists() or not (self._template / file).exists() else file

    def _open_worker(
        self,
        experiment: Experiment,
        *,
        files: tuple[str, ...],
        fork: bool,
        register: bool = True,
        facts: bool = False,
    ) -> Worker:
        self._serial += 1
        self.started_processes += 1
        conditions = experiment.conditions
        if fork:
            # A server is started neutral but for what only a start can set; the fork takes on the rest.
            conditions = start_of(conditions)
        worker = Worker(self.project, self.sandbox, self._base / f"w{self._serial}", conditions, files)
        worker.prepare(self._template, self._rewritten)
        worker.launch(fork=fork, pytest_args=self.arguments(files), facts=facts)
        if register:
            self._workers.append(worker)
        return worker

    def _in_use(self, worker: Worker) -> bool:
        return any(worker in run.workers for _, run in self._runs)

    def _evict(self) -> None:
        idle = sorted((w for w in self._workers if not self._in_use(w)), key=lambda w: w.last_used)
        for worker in idle[: max(0, len(self._workers) - _MOST_IDLE)]:
            self._workers.remove(worker)
            worker.discard()

    def _finish(self, job: Job, run: Run) -> None:
        self._runs.remove((job, run))
        job.result = run.result()
        for worker in run.workers:
            self.skipped_files.take(worker.facts)
        if run.mode is Mode.FRESH or run.worker_spoiled:
            for worker in run.workers:
                self._workers = [other for other in self._workers if other is not worker]
                worker.discard()


def _not_started(job: Job, note: str) -> ExperimentResult:
    runs = tuple(TestRun(id=t, outcome=Outcome.NOT_RUN, seconds=0.0) for t in job.experiment.tests or ())
    return ExperimentResult(
        experiment=job.experiment,
        mode=job.mode,
        runs=runs,
        ending=Ending.NOT_STARTED,
        controls_held=False,
        notes=(note,),
    )


def _below(path: str, directory: str) -> str:
    """``path`` relative to ``directory``, or empty where it is elsewhere (or the directory itself)."""
    return path[len(directory) + 1 :] if path.startswith(directory + "/") else ""


def _relative(argument: str, original: Path, here: str) -> str:
    """An argument that names the project from outside, by an absolute path or ``../``,
    names it from where pytest runs.
    """
    name, equals, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    path, colons, rest = value.partition("::")
    if ".." in Path(path).parts:
        path = os.path.normpath(original / here / path)
    if not path.startswith(f"{original}/"):
        return argument
    return f"{name}{equals}{os.path.relpath(path, original / here)}{colons}{rest}"


def _options_only(arguments: Sequence[str], directory: Path) -> list[str]:
    """The user's arguments without the paths and ids among them."""
    kept: list[str] = []
    for position, argument in enumerate(arguments):
        path = argument.partition("::")[0]
        value_of_option = position > 0 and arguments[position - 1] in _TAKES_VALUE
        if not argument.startswith("-") and not value_of_option and (directory / path).exists():
            continue
        kept.append(argument)
    return kept


_TAKES_VALUE = frozenset(
    {
        "-k",
        "-m",
        "-p",
        "-c",
        "-o",
        "-W",
        "-n",
        "--rootdir",
        "--ignore",
        "--ignore-glob",
        "--deselect",
        "--confcutdir",
        "--import-mode",
        "--tb",
        "--basetemp",
    }
)
