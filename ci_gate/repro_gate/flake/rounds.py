"""Rounds of a campaign: the tests that are still open, once under each of some conditions.

Belongs here: running such a round, taking its results in, and dropping tests whose fate is
sealed. Which rounds there are belongs to ``campaign`` and ``plan``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from repro_gate.experiment import Job, Lab, arrange
from repro_gate.flake.brief import Findings, Options, Progress
from repro_gate.flake.company import shared
from repro_gate.flake.selection import affordable
from repro_gate.flake.tally import Tally
from repro_gate.model import Conditions, Ending, Experiment, ExperimentResult, Limits, Mode, Outcome, TestRun

DETECTION_SHARE = 0.6  # of a time budget; the rest is for causes
_HANGS_BEFORE_DROPPED = 2


class Rounds:
    """Runs in a lab what is not decided yet; ``findings`` grows with each round."""

    def __init__(
        self, lab: Lab, options: Options, directory: Path, *, clock: Callable[[], float], jobs: int, progress: Progress
    ) -> None:
        self._lab = lab
        self._options = options
        self._clock = clock
        self._jobs = jobs
        self._progress = progress
        self._network = lab.project.network
        self.began = clock()
        self.findings = Findings(tally=Tally(directory))
        self.files: dict[str, str] = {}
        self.decided: set[str] = set()
        self.hung: dict[str, int] = {}
        self.users: dict[str, dict[str, None]] = {}  # tests by the axes that they were seen to use

    def neutral(self) -> Conditions:
        """What nothing is moved in."""
        return Conditions(network=self._network)

    def file_of(self, test: str) -> str:
        """The file of a test, also of one that only another start collects."""
        return self.files.get(test, test.partition("::")[0])

    def run(
        self,
        batch: list[Conditions],
        only: Sequence[str] | None = None,
        *,
        directed: bool = False,
        mode: Mode | None = None,
    ) -> list[ExperimentResult]:
        """Run the selected tests (or ``only`` these) once under each of these conditions, and take the results in.

        ``mode``: the campaign's own, if not another is said.
        """
        tally = self.findings.tally
        jobs: list[Job] = []
        numbers: list[int] = []
        for conditions in batch:
            number = tally.begin(conditions)
            tests = self._selection(conditions) if only is None else tuple(only)
            partners: tuple[tuple[str, ...], ...] = ()
            if conditions.parallel > 1:
                everything = tests if tests is not None else tuple(tally.rows)
                half = len(everything) // 2
                partners = ((*everything[half:], *everything[:half]),)
            experiment = Experiment(tests=tests, conditions=conditions, partners=partners, limits=self._limits())
            jobs.append(Job(experiment=experiment, mode=mode or self.findings.mode, on_run=self._recorder(number)))
            numbers.append(number)
        results = self._lab.run(jobs)
        for number, result in zip(numbers, results, strict=True):
            self._take(number, result, directed)
            tally.end(number, believed=result.controls_held)
        return results

    def _recorder(self, number: int) -> Callable[[TestRun], None]:
        tally = self.findings.tally
        first = number == 0
        share = 1.0 / max(1, len(tally.rows))

        def record(run: TestRun) -> None:
            tally.record(number, run)
            self._progress.advance(share)
            if first and run.evidence is not None:
                tally.note_users(run, shared(run))
            for axis in run.touched:
                self.users.setdefault(axis, {})[run.id] = None

        return record

    def _take(self, number: int, result: ExperimentResult, directed: bool) -> None:
        findings = self.findings
        moved = ", ".join(result.experiment.conditions.differences(self.neutral())) or "nothing moved"
        if result.ending is Ending.NOT_STARTED:
            findings.notes.append(f"run {number + 1} ({moved}) did not start: {' '.join(result.notes)[:600]}")
            findings.unused_runs += 1
            return
        if not result.controls_held:
            findings.notes.append(f"run {number + 1} ({moved}) is not used: a control test did not do what it must")
            findings.unused_runs += 1
            return
        if directed:
            findings.directed_runs += 1
        else:
            findings.runs_done += 1
        for run in result.runs:
            if run.failure is not None and run.failure.phase == "collect":
                findings.tally.record(number, run)
        if result.ending is Ending.DONE:
            self._compare_ids(number, moved, result)
        findings.notes.extend(note for note in result.notes if note not in findings.notes and len(findings.notes) < 200)
        for run in result.runs:
            if run.outcome is Outcome.TIMEOUT:
                self.hung[run.id] = self.hung.get(run.id, 0) + 1
        self._decide()

    def _compare_ids(self, number: int, moved: str, result: ExperimentResult) -> None:
        """Ids that come and go while their file stays are unstable; a file that goes is a note."""
        findings = self.findings
        ran = {run.id for run in result.runs if run.outcome is not Outcome.NOT_RUN}
        wanted = set(self.files) if result.experiment.tests is None else set(result.experiment.tests)
        files = {self.files[test] for test in ran if test in self.files}
        lost = wanted - ran
        gone = {test for test in lost if self.files.get(test) not in files}
        findings.unstable |= (lost - gone) | (ran - set(self.files))
        if gone:
            names = sorted({self.files.get(test, test) for test in gone})
            findings.notes.append(f"run {number + 1} ({moved}) did not collect {', '.join(names[:5])}")

    def _decide(self) -> None:
        """Stop running tests whose fate is sealed: mixed often enough, or hanging again and again."""
        for test, row in self.findings.tally.rows.items():
            if test in self.decided:
                continue
            good, bad = row.count()
            if (good >= 2 and bad >= 2) or (not good and self.hung.get(test, 0) >= _HANGS_BEFORE_DROPPED):
                self.decided.add(test)

    def _selection(self, conditions: Conditions) -> tuple[str, ...] | None:
        """The tests of the next run: all that are undecided, or what the time left allows."""
        tally = self.findings.tally
        budget = self._options.budget
        if not tally.conditions[:-1] and self._options.only is None:
            return None
        ids = [test for test in tally.rows if test not in self.decided]
        if budget is not None:
            left = budget * DETECTION_SHARE - (self._clock() - self.began)
            share = left * self._jobs / max(1, self._options.runs - self.findings.runs_done)
            ids = affordable(ids, share, tally, self.files, self._options)
        return tuple(ids[index] for index in arrange(ids, conditions.order))

    def _limits(self) -> Limits:
        options = self._options
        left = 24 * 3600.0
        if options.budget is not None:
            left = max(1.0, options.budget * DETECTION_SHARE - (self._clock() - self.began))
        return Limits(test_seconds=options.test_seconds, total_seconds=left, memory_bytes=options.memory_bytes)

    def limits_of(self, test: str) -> Limits:
        """Tighter bounds for one test that has been seen to end."""
        longest = self.findings.tally.rows[test].longest if test in self.findings.tally.rows else 0.0
        seconds = min(self._options.test_seconds, max(20.0, 20 * longest))
        return Limits(test_seconds=seconds, total_seconds=24 * 3600.0, memory_bytes=self._options.memory_bytes)

    def out_of_time(self, share: float) -> bool:
        """Whether that share of the time budget is over."""
        budget = self._options.budget
        return budget is not None and self._clock() - self.began > share * budget
