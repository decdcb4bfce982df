"""One campaign: collect, run under varied conditions, nominate, investigate, judge.

Belongs here: the order of these steps and what happens when time is up, the user interrupts, or
the disk is full. What a cause is belongs to ``diagnose``, what is drawn to ``plan``.
"""

from __future__ import annotations

import dataclasses
import datetime
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from repro_gate.errors import ControlsFailed, DiskFull, ServerLost, disk_full
from repro_gate.experiment import Job, Lab, tree_wipe
from repro_gate.flake.brief import Findings, Options, Progress, Silent
from repro_gate.flake.broker import Broker
from repro_gate.flake.company import company_of, pairs
from repro_gate.flake.confirm import Confirmer
from repro_gate.flake.diagnose import Detective
from repro_gate.flake.plan import draw, from_the_start, servers_for
from repro_gate.flake.rounds import DETECTION_SHARE, Rounds
from repro_gate.flake.trial import Diagnosis, Setup, Suspect, Trials
from repro_gate.flake.values import Values
from repro_gate.model import INTERRUPTED, Conditions, Ending, Experiment, Mode, TestRun

_ALONE_AT_MOST = 400
_USERS_SHARE = 0.5  # of the runs of the campaign, for tests that use an axis, at values not drawn yet
_SCHEDULES = 8  # of threads, for what starts some
_AT_IMPORT = 3  # processes in which what modules read at import is moved
_STARTS = 9  # hash seeds in all: a test that fails for two in five is then missed once in a hundred


class Campaign:
    """Runs in a lab. ``clock`` is monotonic seconds, ``now`` when it starts, in the neutral zone (UTC)."""

    def __init__(
        self,
        lab: Lab,
        options: Options,
        values: Values,
        *,
        clock: Callable[[], float],
        now: datetime.datetime,
        jobs: int,
        progress: Progress | None = None,
    ) -> None:
        self._lab = lab
        self._options = options
        self._values = values
        self._clock = clock
        self._now = now
        self._jobs = jobs
        self._progress = progress or Silent()
        self._directory = options.keep_runs or Path(tempfile.mkdtemp(prefix="rg-runs-"))
        self._directory.mkdir(parents=True, exist_ok=True)
        self._rounds = Rounds(lab, options, self._directory, clock=clock, jobs=jobs, progress=self._progress)
        self._findings = self._rounds.findings
        self._network = lab.project.network

    def run(self) -> Findings:
        """The whole campaign. An interrupt or a full disk ends it early, and loses nothing."""
        findings = self._findings
        try:
            self._collect()
            self._detect()
            if self._options.investigate:
                self._directed()
                self._moments()
                self._crossings()
                self._schedules()
                self._alone()
                self._pairs()
                self._more_starts()
                self._investigate()
        except KeyboardInterrupt:
            findings.incomplete = INTERRUPTED
        except DiskFull as full:
            findings.incomplete = str(full)
        except OSError as broken:
            full_disk = disk_full(broken, str(self._directory))
            if full_disk is None:
                raise
            findings.incomplete = str(full_disk)
        finally:
            self._lab.cancel()
        return findings

    def arguments_of(self, setup: Setup) -> tuple[str, ...]:
        """pytest's arguments with which a setup was confirmed."""
        lane = [*setup.tests, *(test for partner in setup.partners for test in partner)]
        files = () if setup.whole else tuple(dict.fromkeys(map(self._rounds.file_of, lane)))
        return self._lab.arguments(files)

    def close(self) -> None:
        """Remove raw results that nobody asked to keep."""
        self._findings.tally.close()
        if self._options.keep_runs is None:
            tree_wipe(self._directory)

    # -- collect ----------------------------------------------------------------------------

    def _collect(self) -> None:
        findings = self._findings
        self._progress.phase("collecting", 1)
        began = self._clock()
        facts = self._lab.collect(Experiment(tests=None, conditions=self._rounds.neutral()))
        self._collect_seconds = self._clock() - began
        self._progress.advance()
        only = self._options.only
        ids = [test for test, _ in facts.tests if only is None or test in only]
        self._rounds.files = {test: file for test, file in facts.tests if only is None or test in only}
        findings.duplicates = {test for test, times in Counter(ids).items() if times > 1}
        findings.tally.register(ids)
        findings.collect_errors = list(facts.errors)
        findings.notes.extend(facts.notes)
        findings.facts = {
            "python": str(facts.hello.get("python", "")),
            "pytest": str(facts.ready.get("pytest", "")),
            "platform": str(facts.hello.get("platform", "")),
        }
        if not self._options.fork:
            findings.mode, findings.mode_reason = Mode.FRESH, "asked for with --no-fork"
        elif not facts.ready.get("fork"):
            findings.mode, findings.mode_reason = Mode.FRESH, str(facts.ready.get("reason", ""))

    # -- detect -----------------------------------------------------------------------------

    def _detect(self) -> None:
        options, findings = self._options, self._findings
        total = len(findings.tally.rows)
        if not total:
            return
        self._progress.phase("running", options.runs)
        first = self._rounds.run([self._rounds.neutral()])[0]
        if first.ending is Ending.NOT_STARTED:
            raise ServerLost(
                "No test process could be started under neutral conditions.", details="\n".join(first.notes)
            )
        if not first.controls_held:
            raise ControlsFailed(
                "A control test did not do what it must in the first run.", details="\n".join(first.notes)
            )
        run_seconds = max(0.01, sum(run.seconds for run in first.runs))
        servers = servers_for(options.runs, self._collect_seconds, run_seconds)
        plan = draw(options.runs, servers, options.seed, self._values, options.axes, self._network)
        for index in range(1, len(plan), self._width(run_seconds)):
            if self._rounds.out_of_time(DETECTION_SHARE):
                findings.notes.append(f"the time budget allowed {findings.runs_done} of {options.runs} runs")
                break
            batch = plan[index : index + self._width(run_seconds)]
            self._rounds.run(batch)

    def _width(self, run_seconds: float) -> int:
        """Runs handed to the lab at once: enough to keep every slot and both servers busy.

        With a budget no more than can begin at once, since each is given the time that is left then.
        """
        return max(1, 2 * self._jobs) if run_seconds < 60 and self._options.budget is None else self._jobs

    def _directed(self) -> None:
        """What costs more than a fork, once each: a second run in the same directories, company in
        them, and a processor that is really busy."""
        moved: dict[str, Conditions] = {
            "leftovers": dataclasses.replace(self._rounds.neutral(), leftovers=1),
            "parallel": dataclasses.replace(self._rounds.neutral(), parallel=2),
            "load": dataclasses.replace(self._rounds.neutral(), load="one-core"),
        }
        wanted = [conditions for axis, conditions in moved.items() if axis in self._options.axes]
        if not self._findings.tally.rows or self._options.runs < 3 or self._rounds.out_of_time(DETECTION_SHARE):
            return
        self._progress.phase("again, in company, under load", len(wanted))
        self._rounds.run(wanted, directed=True)

    def _moments(self) -> None:
        """What reads the clock, at the moments that no run was drawn for: each may be the one."""
        drawn = {conditions.clock for conditions in self._findings.tally.conditions}
        moved: list[Conditions] = []
        for instant in (each for each in self._values.instants if each.value not in drawn and not each.passes):
            there = dataclasses.replace(self._rounds.neutral(), clock=instant.value)
            if instant.zone and "timezone" in self._options.axes:
                there = dataclasses.replace(there, timezone=instant.zone)
            moved.append(there)
        self._for_users("clock", moved, "what reads the clock, at other moments")

    def _crossings(self) -> None:
        """An instant that passes between two readings passes once in a process: each reader has one of its own."""
        passing = [instant.value for instant in self._values.instants if instant.passes]
        users = self._users("clock")[:_ALONE_AT_MOST]
        if not users or self._rounds.out_of_time(DETECTION_SHARE):
            return
        self._progress.phase("what reads the clock, while midnight passes", len(passing) * len(users))
        for value in passing:
            self._each_alone(Conditions(order="alone", clock=value, network=self._network), users)

    def _schedules(self) -> None:
        """What starts threads, under more schedules: many that are drawn leave a given thread where it was."""
        moved = [dataclasses.replace(self._rounds.neutral(), threads=seed) for seed in range(1, _SCHEDULES + 1)]
        self._for_users("threads", moved, "what starts threads, under other schedules")

    def _users(self, axis: str) -> list[str]:
        """The undecided tests that were seen to use an axis; none if it is not to be moved."""
        known = self._rounds.users.get(axis, {}) if axis in self._options.axes else {}
        passed_over = self._rounds.decided | self._findings.duplicates | self._findings.unstable
        return [test for test in known if test not in passed_over]

    def _for_users(self, axis: str, moved: list[Conditions], words: str) -> None:
        """Tests that were seen to use an axis, alone of all, once under each of these conditions."""
        users = self._users(axis)
        most = _USERS_SHARE * self._options.runs * len(self._findings.tally.rows)
        chosen = moved[: int(most / max(1, len(users)))]
        if len(chosen) < len(moved) and users:
            untried = [each.axis(axis) for each in moved[len(chosen) :]]
            left = ", ".join(untried[:4]) + (f" and {len(untried) - 4} more" if len(untried) > 4 else "")
            self._findings.notes.append(f"with so few runs, tests that use it were not tried with {axis} at: {left}")
        if not users or not chosen:
            return
        self._progress.phase(words, len(chosen))
        for conditions in chosen:
            undecided = [test for test in users if test not in self._rounds.decided]
            if not undecided or self._rounds.out_of_time(DETECTION_SHARE):
                return
            self._rounds.run([conditions], undecided, directed=True)

    def _alone(self) -> None:
        """Each test by itself once, where that is cheap: it finds what needs another test first."""
        passed_over = self._rounds.decided | self._findings.duplicates | self._findings.unstable
        ids = [test for test in self._findings.tally.rows if test not in passed_over]
        if "order" not in self._options.axes or (self._findings.mode is Mode.FRESH and len(ids) > 60):
            return
        if len(ids) > _ALONE_AT_MOST or self._rounds.out_of_time(DETECTION_SHARE):
            return
        self._progress.phase("each test alone", len(ids))
        self._each_alone(Conditions(order="alone", network=self._network), ids)

    def _each_alone(self, conditions: Conditions, ids: list[str]) -> None:
        """Each of these tests in a process of its own, all of it one directed run."""
        tally = self._findings.tally
        number = tally.begin(conditions)
        jobs = [
            Job(
                experiment=Experiment(tests=(test,), conditions=conditions, limits=self._rounds.limits_of(test)),
                mode=self._findings.mode,
                files=(self._rounds.file_of(test),) if self._findings.mode is Mode.FRESH else (),
            )
            for test in ids
        ]
        for start in range(0, len(jobs), 40):
            if self._rounds.out_of_time(DETECTION_SHARE):
                return
            for result in self._lab.run(jobs[start : start + 40]):
                for run in result.runs if result.controls_held else ():
                    tally.record(number, run)
                self._progress.advance()
        tally.end(number)
        self._findings.directed_runs += 1

    def _pairs(self) -> None:
        """Tests that use one file or port, at the same time: the clash that xdist would find."""
        if "parallel" not in self._options.axes or self._rounds.out_of_time(DETECTION_SHARE):
            return
        found = pairs(self._findings.tally.users, self._rounds.decided)
        if not found:
            return
        tally = self._findings.tally
        conditions = Conditions(parallel=2, network=self._network)
        self._progress.phase("pairs that share a file", len(found))
        for one, other in found:
            jobs = [
                Job(
                    experiment=Experiment(
                        tests=(a,), conditions=conditions, partners=((b,),), limits=self._rounds.limits_of(a)
                    ),
                    mode=self._findings.mode,
                    files=tuple({self._rounds.file_of(a), self._rounds.file_of(b)})
                    if self._findings.mode is Mode.FRESH
                    else (),
                )
                for a, b in ((one, other), (other, one))
                for _ in range(4)
            ]
            number = tally.begin(conditions)
            seen: dict[str, TestRun] = {}
            for result in self._lab.run(jobs):
                for run in result.runs if result.controls_held else ():
                    if run.id not in seen or run.outcome.bad:
                        seen[run.id] = run
            for run in seen.values():
                tally.record(number, run)
            tally.end(number)
            self._findings.directed_runs += 1
            self._progress.advance()

    def _more_starts(self) -> None:
        """What a fork cannot take on, hash seeds and what modules read at import: processes that begin with it.

        At least a few; more of them for as long again as the runs took at most.
        """
        options = self._options
        known = {conditions.hash_seed for conditions in self._findings.tally.conditions}
        affordable_starts = int((self._clock() - self._rounds.began) / max(self._collect_seconds, 1e-3))
        missing = min(_STARTS - len(known), options.runs // 3, affordable_starts)
        count = max(missing, _AT_IMPORT if options.runs >= 3 else 0)
        if not self._findings.tally.rows or not count:
            return
        starts = from_the_start(count, options.seed, self._values, options.axes, self._network)
        starts = [each for each in starts if each != self._rounds.neutral()]
        if not starts or self._rounds.out_of_time(DETECTION_SHARE):
            return
        self._progress.phase("from other starts", len(starts))
        for index in range(0, len(starts), self._jobs):
            if self._rounds.out_of_time(DETECTION_SHARE):
                return
            self._rounds.run(starts[index : index + self._jobs], directed=True, mode=Mode.FRESH)

    # -- investigate ------------------------------------------------------------------------

    def suspects(self) -> list[Suspect]:
        """Tests that both passed and failed; then those that never passed."""
        tally, findings = self._findings.tally, self._findings
        mixed: list[Suspect] = []
        never: list[Suspect] = []
        for test, row in tally.rows.items():
            if test in findings.duplicates or test in findings.unstable:
                continue
            good, bad = row.count()
            if not bad:
                continue
            suspect = Suspect(
                id=test,
                failing=tuple(tally.samples(test, bad=True)),
                passing=tuple(tally.samples(test, bad=False)),
                likely=tally.likely(test, self._rounds.neutral()),
                users=tuple(company_of(test, tally.users)),
            )
            (mixed if good else never).append(suspect)
        return sorted(mixed, key=lambda s: tally.rows[s.id].longest) + [s for s in never if self._worth_trying(s)]

    def _worth_trying(self, suspect: Suspect) -> bool:
        """Never passed, also when alone: nothing more to try. Not yet tried alone: try."""
        return (
            not any(sample.conditions.order == "alone" for sample in suspect.failing)
            and self._rounds.hung.get(suspect.id, 0) == 0
        )

    def _investigate(self) -> None:
        suspects = self.suspects()
        if not suspects:
            return
        findings = self._findings
        self._progress.phase("finding causes", len(suspects))
        broker = Broker(self._lab, width=self._jobs + 1)
        trials = Trials(
            ask=broker.ask,
            limits=self._rounds.limits_of,
            file_of=self._rounds.file_of,
            forks=findings.mode is Mode.FORK,
            network=self._network,
        )
        detective = Detective(
            trials=trials,
            confirmer=Confirmer(trials=trials, replays=self._options.replays),
            now=self._now,
            label=lambda axis, value: self._values.label(value) if axis == "clock" and value != "real" else "",
            axes=self._options.axes,
        )

        def keep(diagnosis: Diagnosis) -> None:
            findings.diagnoses[diagnosis.id] = diagnosis
            self._progress.advance(note=diagnosis.id)

        dropped = broker.map(detective.investigate, suspects, keep, lambda: self._rounds.out_of_time(1.0))
        findings.dropped = {s.id for s in suspects} - set(findings.diagnoses)
        if findings.dropped:
            findings.incomplete = "no time was left to confirm all that failed and passed"
        if dropped:
            findings.notes.append(f"the time budget left {dropped} suspects without a cause")
