"""Whole campaigns over simulated tests: the axis that is named is the one that was put in.

A simulated test is a function of what it could notice (what ran before and beside it, conditions,
mode, which files were imported, chance); no process is started. The lab of these tests answers
experiments from such functions, everything above it is the real thing.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from repro_gate.errors import ControlsFailed, ServerLost
from repro_gate.experiment import Job, Lab, arrange
from repro_gate.experiment.worker import Facts
from repro_gate.flake import judge
from repro_gate.flake.brief import Findings, Options
from repro_gate.flake.campaign import Campaign
from repro_gate.flake.confirm import IDENTICAL, Claim, Confirmer
from repro_gate.flake.diagnose import Detective
from repro_gate.flake.tally import Sample
from repro_gate.flake.trial import Diagnosis, Setup, Suspect, Trials, with_axes
from repro_gate.flake.values import values
from repro_gate.model import (
    AXES,
    Conditions,
    Ending,
    Evidence,
    Experiment,
    ExperimentResult,
    Failure,
    Limits,
    Mode,
    Outcome,
    TestRun,
    TestVerdict,
    Verdict,
)
from repro_gate.model.conditions import SELF_MOVING

TODAY = datetime.date(2025, 3, 3)
NOW = datetime.datetime.combine(TODAY, datetime.time(9, 41, 7))
NEUTRAL = Conditions()
MOST_EXPERIMENTS = 400  # for one suspect

# --- a lab without processes -----------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a simulated test can notice."""

    before: tuple[str, ...]
    beside: tuple[str, ...]
    conditions: Conditions
    mode: Mode
    imported: frozenset[str]
    chance: random.Random


Passes = Callable[[Scene], bool]


def stable(_scene: Scene) -> bool:
    return True


@dataclass
class World:
    """Simulated tests behind the interface of a lab. ``uses``: files that a test is seen to write."""

    tests: Mapping[str, Passes]
    uses: Mapping[str, Sequence[str]] = field(default_factory=dict)
    starts_processes: bool = False
    touches: tuple[str, ...] = ()
    collects: Callable[[Conditions, Sequence[str]], Sequence[str]] = lambda _conditions, ids: ids
    can_fork: bool = True
    controls: Callable[[Conditions], bool] = lambda _conditions: True
    starts: Callable[[Conditions], bool] = lambda _conditions: True
    interrupt_after: int = 10**9
    experiments: list[Job] = field(default_factory=list)
    queue: list[Job] = field(default_factory=list)
    project: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(network="blocked"))

    def __post_init__(self) -> None:
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    # the part of Lab that campaigns use

    def collect(self, experiment: Experiment) -> Facts:
        names = self.collects(experiment.conditions, list(self.tests))
        return Facts(
            ready={"fork": self.can_fork, "reason": "threads"}, tests=[(name, file_of(name)) for name in names]
        )

    def arguments(self, files: tuple[str, ...]) -> tuple[str, ...]:
        return files

    def run(self, jobs: Sequence[Job]) -> list[ExperimentResult]:
        return [self._answer(job) for job in jobs]

    def submit(self, job: Job) -> None:
        self.queue.append(job)

    @property
    def busy(self) -> bool:
        return bool(self.queue)

    def step(self, _seconds: float = 0.0) -> None:
        if self.queue:
            self._answer(self.queue.pop(0))

    def cancel(self) -> None:
        for job in self.queue:
            job.result = self._result(job, (), Ending.NOT_STARTED)
        self.queue.clear()

    # what an experiment comes to

    def _answer(self, job: Job) -> ExperimentResult:
        with self._lock:
            self.experiments.append(job)
            if len(self.experiments) > self.interrupt_after:
                raise KeyboardInterrupt
            job.result = self._perform(job)
        return job.result

    def _perform(self, job: Job) -> ExperimentResult:
        experiment = job.experiment
        conditions = experiment.conditions
        if not self.starts(conditions):
            return self._result(job, (), Ending.NOT_STARTED)
        known = list(self.collects(conditions, list(self.tests)))
        if experiment.tests is None:
            wanted = [known[index] for index in arrange(known, conditions.order)]
        else:
            wanted = [test for test in experiment.tests if test in known]
        imported = frozenset(job.files or map(file_of, known))
        before: list[str] = []
        runs = []
        for test in wanted:
            if file_of(test) not in imported:
                continue
            self._seen[test] += 1
            scene = Scene(
                before=tuple(before),
                beside=tuple(other for partner in experiment.partners for other in partner if other != test),
                conditions=conditions,
                mode=job.mode,
                imported=imported,
                chance=random.Random(f"{self._seen[test]} of {test}"),
            )
            runs.append(self._run(test, self.tests.get(test, stable)(scene)))
            before.append(test)
            if job.on_run is not None:
                job.on_run(runs[-1])
        missing = [test for test in experiment.tests or () if test not in known]
        return self._result(job, (*runs, *(outcome(test, Outcome.NOT_RUN) for test in missing)), Ending.DONE)

    def _run(self, test: str, good: bool) -> TestRun:
        files = tuple(f"write {path}" for path in self.uses.get(test, ()))
        evidence = Evidence(files=files, children=("date",) if self.starts_processes else ())
        said = outcome(test, Outcome.PASSED if good else Outcome.FAILED, evidence)
        return dataclasses.replace(said, touched=self.touches)

    def _result(self, job: Job, runs: tuple[TestRun, ...], ending: Ending) -> ExperimentResult:
        held = ending is Ending.DONE and self.controls(job.experiment.conditions)
        return ExperimentResult(
            experiment=job.experiment, mode=job.mode, runs=runs, ending=ending, controls_held=held, notes=("said",)
        )

    def of(self, test: str) -> list[Job]:
        """The experiments that were judged by this test."""
        return [job for job in self.experiments if job.experiment.tests and job.experiment.tests[-1] == test]


def file_of(test: str) -> str:
    return test.partition("::")[0]


def outcome(test: str, what: Outcome, evidence: Evidence | None = None) -> TestRun:
    failure = None
    if what.bad:
        failure = Failure(
            phase="call", type="E", bases=(), message=test, chain=(), frames=(), fingerprint=f"fails:{test}"
        )
    return TestRun(id=test, outcome=what, seconds=0.01, failure=failure, evidence=evidence)


# --- campaigns -------------------------------------------------------------------------------

VICTIM = "test_v.py::test_victim"
STABLE = ["test_a.py::test_one", "test_a.py::test_two", "test_b.py::test_three", "test_z.py::test_last"]


def world_of(passes: Passes, **more: object) -> World:
    """One test that behaves so, among tests that are stable."""
    tests: dict[str, Passes] = {STABLE[0]: stable, STABLE[1]: stable, STABLE[2]: stable, VICTIM: passes}
    return World({**tests, STABLE[3]: stable}, **more)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Told:
    """What a campaign said, and what it did for that."""

    verdicts: dict[str, TestVerdict]
    findings: Findings
    world: World

    @property
    def victim(self) -> TestVerdict:
        return self.verdicts[VICTIM]


Scan = Callable[..., Told]


@pytest.fixture
def scan(tmp_path: Path) -> Iterator[Scan]:
    """Run a campaign over a world. Where nothing else is said, every other test must be called stable."""
    campaigns: list[Campaign] = []

    def run(world: World, *, suspects: Sequence[str] = (VICTIM,), **options: object) -> Told:
        given = Options(**{"runs": 20, "seed": 5, "keep_runs": tmp_path / str(len(campaigns)), **options})  # type: ignore[arg-type]
        ticks = itertools.count()
        campaign = Campaign(
            cast(Lab, world),
            given,
            values(TODAY, ["de_DE.utf8"]),
            clock=lambda: next(ticks) / 1000,
            now=NOW,
            jobs=2,
        )
        campaigns.append(campaign)
        findings = campaign.run()
        told = Told(verdicts={v.id: v for v in judge.verdicts(findings)}, findings=findings, world=world)
        wrong = {
            test: verdict.verdict
            for test, verdict in told.verdicts.items()
            if test not in suspects and verdict.verdict is not Verdict.STABLE
        }
        assert wrong == {}, "stable tests were called something else"
        assert all(len(world.of(test)) <= MOST_EXPERIMENTS for test in suspects)
        return told

    yield run
    for campaign in campaigns:
        campaign.close()


def month_and_day(scene: Scene) -> tuple[int, int] | None:
    if scene.conditions.clock == "real":
        return None
    moment = datetime.datetime.fromisoformat(scene.conditions.clock.lstrip("~"))
    return moment.month, moment.day


CAUSES: dict[str, tuple[str, Passes]] = {
    "odd hash seeds": ("hash-seed", lambda s: s.conditions.hash_seed % 2 == 0),
    "any other hash seed": ("hash-seed", lambda s: s.conditions.hash_seed == 0),
    "draws in the test": ("random", lambda s: s.conditions.random % 2 == 0),
    "draws of an import": ("random", lambda s: s.conditions.import_random % 2 == 0),
    "29 February": ("clock", lambda s: month_and_day(s) != (2, 29)),
    "midnight": ("clock", lambda s: not s.conditions.clock.startswith("~")),
    "the next year": ("clock", lambda s: s.conditions.clock == "real" or s.conditions.clock.startswith("2025")),
    "any other zone": ("timezone", lambda s: s.conditions.timezone == "UTC"),
    "zones west of Greenwich": ("timezone", lambda s: not s.conditions.timezone.startswith("America")),
    "another text encoding": ("locale", lambda s: s.conditions.locale in ("C.UTF-8", "de_DE.utf8")),
    "an odd order of a directory": ("listing", lambda s: s.conditions.listing % 2 == 0),
    "no TERM": ("environment", lambda s: s.conditions.environment == "fixed"),
    "an eager collector": ("gc", lambda s: s.conditions.gc != "eager"),
    "odd queues": ("asyncio", lambda s: s.conditions.asyncio % 2 == 0),
    "odd schedules": ("threads", lambda s: s.conditions.threads % 2 == 0),
    "load": ("load", lambda s: s.conditions.load == "none"),
    "a zone read at import": ("timezone", lambda s: s.mode is Mode.FORK or s.conditions.timezone == "UTC"),
    "a listing read at import": ("listing", lambda s: s.mode is Mode.FORK or not s.conditions.listing),
    "a second run": ("leftovers", lambda s: s.conditions.leftovers == 0),
}


@pytest.mark.parametrize("name", CAUSES)
def test_the_axis_that_decides_is_named(name: str, scan: Scan) -> None:
    axis, passes = CAUSES[name]
    told = scan(world_of(passes))
    assert told.victim.cause is not None
    assert told.victim.cause.axis == axis
    flaky = axis in SELF_MOVING
    assert told.victim.verdict is (Verdict.FLAKY if flaky else Verdict.CONDITION_DEPENDENT)
    failing, passing = told.victim.cause.table
    assert failing.failed == failing.of >= 5
    assert passing.failed == 0
    assert passing.of >= 3
    assert set(failing.conditions.differences(passing.conditions)) == {axis}


def test_every_axis_that_a_simulation_can_have_has_one() -> None:
    assert {axis for axis, _ in CAUSES.values()} == set(AXES) - {"order", "parallel", "network"}


@pytest.mark.parametrize("name", ["odd hash seeds", "29 February", "any other zone", "draws of an import"])
def test_without_forks_the_same_axis_is_named(name: str, scan: Scan) -> None:
    axis, passes = CAUSES[name]
    told = scan(world_of(passes, can_fork=False))
    assert told.victim.cause is not None
    assert told.victim.cause.axis == axis
    assert {job.mode for job in told.world.experiments} == {Mode.FRESH}
    assert told.findings.mode_reason == "threads"


def test_fresh_processes_have_confirmed_both_sides_of_whatever_is_published(scan: Scan) -> None:
    told = scan(world_of(CAUSES["any other zone"][1]), replays=7)
    diagnosis = told.findings.diagnoses[VICTIM]
    assert diagnosis.fails is not None
    assert diagnosis.passes is not None
    assert (diagnosis.fails.bad, diagnosis.fails.of) == (7, 7)
    assert {result.mode for result in (*diagnosis.fails.results, *diagnosis.passes.results)} == {Mode.FRESH}


def test_an_axis_that_was_switched_off_is_not_moved_and_so_nothing_is_found(scan: Scan) -> None:
    told = scan(world_of(CAUSES["any other zone"][1]), axes=frozenset(AXES) - {"timezone"}, suspects=())
    assert told.victim.verdict is Verdict.STABLE


# --- order -----------------------------------------------------------------------------------


def test_a_victim_and_its_polluter_are_named(scan: Scan) -> None:
    told = scan(world_of(lambda s: STABLE[1] not in s.before))
    assert told.victim.verdict is Verdict.CONDITION_DEPENDENT
    assert told.victim.cause is not None
    assert (told.victim.cause.axis, told.victim.cause.role) == ("order", "victim")
    assert told.victim.cause.others == (STABLE[1],)


def test_two_polluters_that_only_together_do_harm_are_both_named(scan: Scan) -> None:
    told = scan(world_of(lambda s: not {STABLE[0], STABLE[2]} <= set(s.before)))
    assert told.victim.cause is not None
    assert (told.victim.cause.axis, set(told.victim.cause.others)) == ("order", {STABLE[0], STABLE[2]})


def test_of_two_polluters_that_each_do_harm_one_is_named(scan: Scan) -> None:
    told = scan(world_of(lambda s: not {STABLE[0], STABLE[2]} & set(s.before)))
    assert told.victim.cause is not None
    assert told.victim.cause.axis == "order"
    assert told.victim.cause.others in ((STABLE[0],), (STABLE[2],))


def test_a_brittle_test_and_what_it_needs_are_named(scan: Scan) -> None:
    told = scan(world_of(lambda s: STABLE[0] in s.before))
    assert told.victim.cause is not None
    assert (told.victim.cause.axis, told.victim.cause.role) == ("order", "brittle")
    assert told.victim.cause.others == (STABLE[0],)


def test_a_polluter_that_only_works_in_another_zone_is_named_with_the_zone(scan: Scan) -> None:
    told = scan(world_of(lambda s: not (STABLE[0] in s.before and s.conditions.timezone != "UTC")))
    assert told.victim.cause is not None
    assert told.victim.cause.axis == "order"
    assert told.victim.cause.others == (STABLE[0],)
    assert "timezone=" in told.victim.cause.detail


def test_a_file_that_two_tests_write_at_once_is_the_parallel_axis(scan: Scan) -> None:
    shared = {VICTIM: ["/tree/db"], STABLE[0]: ["/tree/db"]}
    told = scan(world_of(lambda s: STABLE[0] not in s.beside, uses=shared))
    assert told.victim.verdict is Verdict.CONDITION_DEPENDENT
    assert told.victim.cause is not None
    assert (told.victim.cause.axis, told.victim.cause.others) == ("parallel", (STABLE[0],))


def suspect_of(test: str, before: tuple[str, ...]) -> Suspect:
    sample = Sample(run=1, conditions=NEUTRAL, before=before, outcome=Outcome.FAILED, failure=None, output="")
    return Suspect(id=test, failing=(sample,), passing=())


def detective_of(world: World) -> Detective:
    trials = Trials(ask=world.run, limits=lambda _test: Limits(), file_of=file_of)
    return Detective(trials=trials, confirmer=Confirmer(trials=trials), now=NOW, label=lambda _a, _v: "")


def test_a_polluter_that_is_known_from_an_earlier_suspect_is_tried_first() -> None:
    many = [f"test_m.py::test_{number}" for number in range(64)]
    victims = ["test_v.py::test_1", "test_v.py::test_2"]
    harm: dict[str, Passes] = {victim: lambda s: many[37] not in s.before for victim in victims}
    world = World({**dict.fromkeys(many, stable), **harm})
    detective = detective_of(world)
    spent = []
    for victim in victims:
        began = len(world.experiments)
        found = detective.investigate(suspect_of(victim, tuple(many)))
        spent.append(len(world.experiments) - began)
        assert found.cause is not None
        assert found.cause.others == (many[37],)
    assert detective.known_culprits == [many[37]]
    assert spent[1] < spent[0] / 1.5
    assert spent[1] <= 2 + 2 + 5 + 3  # alone, the pair, and both sides confirmed


# --- more than one axis, and none ------------------------------------------------------------


def test_two_axes_that_only_together_do_harm_are_both_named(scan: Scan) -> None:
    told = scan(world_of(lambda s: s.conditions.timezone == "UTC" or s.conditions.gc == "default"))
    assert told.victim.cause is not None
    assert told.victim.cause.detail.startswith("fails only with ")
    assert "timezone=" in told.victim.cause.detail
    assert "gc=" in told.victim.cause.detail
    assert told.victim.cause.axis in ("timezone", "gc")


def test_a_test_that_passes_only_away_from_neutral_is_not_always_failing(scan: Scan) -> None:
    told = scan(world_of(lambda s: s.conditions.timezone != "UTC"))
    assert told.victim.cause is not None
    assert told.victim.cause.axis == "timezone"
    assert told.victim.verdict is Verdict.CONDITION_DEPENDENT


@pytest.mark.parametrize("rate", [0.5, 0.2, 0.8])
def test_pure_chance_is_flaky_without_a_cause(rate: float, scan: Scan) -> None:
    told = scan(world_of(lambda s: s.chance.random() > rate))
    assert told.victim.verdict is Verdict.FLAKY
    assert told.victim.cause is not None
    assert told.victim.cause.axis is None
    assert told.victim.detail.startswith(IDENTICAL)
    diagnosis = told.findings.diagnoses[VICTIM]
    assert diagnosis.fails is not None
    assert diagnosis.fails.bad
    assert diagnosis.passes is not None
    assert diagnosis.passes.good


@pytest.mark.parametrize("rate", [0.2, 0.5])
def test_of_twenty_coins_hardly_one_is_given_a_cause(rate: float, scan: Scan) -> None:
    def coin(number: int) -> Passes:
        return lambda scene: random.Random(f"{number} {scene.chance.random()}").random() > rate

    told = [scan(world_of(coin(number))).victim for number in range(20)]
    # About one in thirty is: a coin can fall as an axis would have it, five times and three.
    assert sum(victim.cause is not None and victim.cause.axis is not None for victim in told) <= 2
    assert sum(victim.verdict is Verdict.FLAKY and victim.cause is not None for victim in told) >= 17


def test_a_failure_in_a_hundred_that_did_not_come_back_is_not_called_flaky(scan: Scan) -> None:
    told = scan(world_of(lambda s: s.mode is Mode.FRESH or len(s.before) != 3 or s.chance.random() > 0.1))
    assert told.victim.verdict is Verdict.NOT_JUDGED or told.victim.verdict is Verdict.STABLE


@pytest.mark.parametrize("axis", ["threads", "load"])
def test_an_axis_that_shifts_a_rate_is_named(axis: str, scan: Scan) -> None:
    def passes(scene: Scene) -> bool:
        moved = axis in scene.conditions.differences(NEUTRAL)
        return scene.chance.random() > (0.7 if moved else 0.02)

    told = scan(world_of(passes))
    assert told.victim.verdict is Verdict.FLAKY
    assert told.victim.cause is not None
    assert told.victim.cause.axis == axis


def test_two_schedules_that_decide_name_the_threads_where_the_neutral_one_is_a_coin(scan: Scan) -> None:
    """As on a busy machine: what decides a race there is the delay that outlasts the other work."""

    def passes(scene: Scene) -> bool:
        held = scene.conditions.threads % 4
        return held == 1 if held in (1, 2) else scene.chance.random() < 0.5

    told = scan(world_of(passes))
    assert told.victim.verdict is Verdict.FLAKY
    assert told.victim.cause is not None
    assert told.victim.cause.axis == "threads"
    failing, passing = told.victim.cause.table
    assert failing.failed == failing.of >= 5
    assert passing.failed == 0


def test_of_an_order_that_needs_an_axis_no_other_axis_is_named(scan: Scan) -> None:
    def passes(scene: Scene) -> bool:
        return "test_a.py::test_two" not in scene.before or scene.conditions.timezone == "UTC"

    told = scan(world_of(passes))
    assert told.victim.cause is not None
    assert told.victim.cause.axis == "order"
    failing, _ = told.victim.cause.table
    assert failing.tests == ("test_a.py::test_two", VICTIM)
    assert failing.conditions.differences(NEUTRAL) == ("timezone",)


def test_an_order_is_no_cause_where_the_same_conditions_make_it_fail_alone(scan: Scan) -> None:
    """Few tests fail each time under an axis of chance: alone it may have passed by luck."""

    def passes(scene: Scene) -> bool:
        return not scene.conditions.asyncio or scene.chance.random() < 0.7

    for seed in range(20):
        told = scan(world_of(passes), seed=seed)
        assert told.victim.cause is not None
        assert told.victim.cause.axis in ("asyncio", None)


def test_an_order_is_no_cause_where_a_seed_comes_to_something_else_after_other_tests(scan: Scan) -> None:
    """What a seed of the event loop comes to turns on how warm the process is; any seed may fail alone."""

    def passes(scene: Scene) -> bool:
        seed = scene.conditions.asyncio
        return not seed or random.Random(f"{seed} {bool(scene.before)}").random() < 0.5

    for seed in range(20):
        told = scan(world_of(passes), seed=seed)
        assert told.victim.cause is not None
        assert told.victim.cause.axis == "asyncio", told.victim.cause


# --- what is nobody's flake ------------------------------------------------------------------


def at(scene: Scene) -> datetime.datetime:
    """What a simulated test reads from Python's clock; an instant that passes is not over when it is alone."""
    value = scene.conditions.clock
    if value == "real":
        return NOW
    passed = not value.startswith("~") or bool(scene.before)
    return datetime.datetime.fromisoformat(value.lstrip("~")) - datetime.timedelta(seconds=0 if passed else 1)


CALENDAR: dict[str, tuple[Passes, str]] = {
    "a weekday": (lambda s: at(s).weekday() not in (3, 4), "day)"),
    "the weekend": (lambda s: at(s).weekday() < 5, "(a S"),
    "an hour": (lambda s: at(s).hour < 12, "(the time of day)"),
    "a year": (lambda s: at(s).year == NOW.year, "(the year 20"),
    "a month": (lambda s: at(s).month != 12, "(December)"),
    "a date that is due": (lambda s: at(s) < NOW + datetime.timedelta(days=2), ""),
    "today": (lambda s: at(s).date() != TODAY, "(now)"),
    "a leap day": (lambda s: (at(s).month, at(s).day) != (2, 29), "(29 February)"),
}


@pytest.mark.parametrize("name", CALENDAR)
@pytest.mark.parametrize("seed", range(3))
def test_what_rests_on_the_calendar_is_no_artefact_and_no_order(scan: Scan, name: str, seed: int) -> None:
    passes, label = CALENDAR[name]
    told = scan(world_of(passes, touches=("clock",)), seed=seed)
    assert told.victim.cause is not None, told.victim.detail
    assert told.victim.cause.axis == "clock"
    assert label in told.victim.cause.detail


@pytest.mark.parametrize("name", ["file", "later only", "earlier only", "a day's tolerance, by a child"])
def test_a_test_that_compares_with_another_clock_is_the_perturbation_s_doing(scan: Scan, name: str) -> None:
    passes: dict[str, Passes] = {
        "file": lambda s: abs(at(s) - NOW) < datetime.timedelta(minutes=1),
        "later only": lambda s: at(s) - NOW < datetime.timedelta(minutes=1),
        "earlier only": lambda s: NOW - at(s) < datetime.timedelta(minutes=1),
        "a day's tolerance, by a child": lambda s: at(s).date() == NOW.date(),
    }
    told = scan(world_of(passes[name], touches=("clock",), starts_processes="child" in name))
    assert told.victim.verdict in (Verdict.NOT_JUDGED, Verdict.STABLE)
    assert told.victim.cause is None


def test_a_test_that_fails_at_any_move_of_the_clock_is_the_perturbation_s_doing(scan: Scan) -> None:
    told = scan(world_of(lambda s: s.conditions.clock == "real"))
    assert told.victim.verdict is Verdict.NOT_JUDGED
    assert "clock that cannot be moved with it" in told.victim.detail
    assert told.findings.diagnoses[VICTIM].kind == "artefact"


@pytest.mark.parametrize("axis", ["listing", "timezone", "order"])
def test_what_fails_in_forks_only_is_not_confirmed(axis: str, scan: Scan) -> None:
    def passes(scene: Scene) -> bool:
        moved = STABLE[0] in scene.before if axis == "order" else axis in scene.conditions.differences(NEUTRAL)
        return not (moved and scene.mode is Mode.FORK)

    told = scan(world_of(passes))
    assert told.victim.verdict is Verdict.NOT_JUDGED
    assert "failed in forks, and in 0 of" in told.victim.detail
    assert told.findings.diagnoses[VICTIM].kind == "unconfirmed"


def test_a_failure_that_needs_the_whole_suite_imported_is_confirmed_with_the_whole_suite(scan: Scan) -> None:
    told = scan(world_of(lambda s: s.conditions.timezone == "UTC" or "test_z.py" not in s.imported))
    diagnosis = told.findings.diagnoses[VICTIM]
    assert diagnosis.failing is not None
    assert diagnosis.failing.whole
    assert told.victim.cause is not None
    assert told.victim.cause.axis == "timezone"


def test_a_failure_that_its_own_file_is_enough_for_is_confirmed_with_that_file(scan: Scan) -> None:
    told = scan(world_of(CAUSES["any other zone"][1]))
    diagnosis = told.findings.diagnoses[VICTIM]
    assert diagnosis.failing is not None
    assert not diagnosis.failing.whole
    confirming = [job for job in told.world.of(VICTIM) if job.mode is Mode.FRESH]
    assert {job.files for job in confirming} == {("test_v.py",)}


def test_a_test_that_always_fails_is_called_that_after_few_experiments(scan: Scan) -> None:
    told = scan(world_of(lambda _s: False))
    assert told.victim.verdict is Verdict.ALWAYS_FAILING
    assert len(told.world.of(VICTIM)) <= 5


def test_a_suite_without_flakes_has_only_stable_tests_and_costs_no_confirmation(scan: Scan) -> None:
    told = scan(world_of(stable), suspects=())
    assert {verdict.verdict for verdict in told.verdicts.values()} == {Verdict.STABLE}
    assert sum(job.mode is not Mode.FORK for job in told.world.experiments) == 3, "what moves at import alone"
    assert told.findings.diagnoses == {}


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_seed_a_zone_and_a_polluter_and_a_draw_are_told_apart(seed: int, scan: Scan) -> None:
    tests: dict[str, Passes] = {
        "test_a.py::polluter": stable,
        "test_b.py::zone": CAUSES["any other zone"][1],
        "test_b.py::draw": CAUSES["draws in the test"][1],
        "test_c.py::victim": lambda s: "test_a.py::polluter" not in s.before,
        "test_c.py::bystander": stable,
    }
    wanted = {"test_b.py::zone": "timezone", "test_b.py::draw": "random", "test_c.py::victim": "order"}
    told = scan(World(tests), seed=seed, suspects=tuple(wanted))
    named = {test: told.verdicts[test].cause for test in wanted}
    assert {test: cause.axis if cause else "?" for test, cause in named.items()} == wanted


# --- when something goes wrong ---------------------------------------------------------------


@pytest.mark.parametrize("fork", [True, False], ids=["forks", "no-forks"])
def test_ids_that_change_with_the_hash_seed_are_not_judged_and_break_nothing(fork: bool, scan: Scan) -> None:
    def collects(conditions: Conditions, ids: Sequence[str]) -> Sequence[str]:
        return [*ids, f"test_b.py::test_set[{conditions.hash_seed % 7}]"]

    def passes(scene: Scene) -> bool:
        return not any("test_set" in test for test in scene.before)

    world = world_of(passes, collects=collects, can_fork=fork)
    found = scan(world, suspects=(VICTIM, *(f"test_b.py::test_set[{number}]" for number in range(7))))
    unstable = {verdict.detail for test, verdict in found.verdicts.items() if "test_set" in test}
    assert unstable == {"its id comes and goes from run to run"}


def test_an_id_that_is_there_twice_is_not_judged(scan: Scan) -> None:
    world = world_of(stable, collects=lambda _conditions, ids: [*ids, VICTIM])
    told = scan(world)
    assert told.victim.detail == "its id is not unique"


def test_runs_whose_controls_did_not_hold_are_not_used(scan: Scan) -> None:
    world = world_of(lambda s: s.conditions.timezone == "UTC", controls=lambda c: c.timezone == "UTC")
    told = scan(world, suspects=())
    assert told.victim.verdict is Verdict.STABLE
    assert any("is not used: a control test did not do what it must" in note for note in told.findings.notes)


def test_controls_that_fail_in_the_first_run_end_the_campaign_with_a_sentence(scan: Scan) -> None:
    with pytest.raises(ControlsFailed):
        scan(world_of(stable, controls=lambda _conditions: False))


def test_a_first_run_that_does_not_start_ends_the_campaign_with_a_sentence(scan: Scan) -> None:
    with pytest.raises(ServerLost):
        scan(world_of(stable, starts=lambda _conditions: False))


def test_conditions_under_which_nothing_starts_are_noted_and_the_rest_is_judged(scan: Scan) -> None:
    told = scan(world_of(stable, starts=lambda c: c.hash_seed == 0), suspects=())
    assert any("did not start: said" in note for note in told.findings.notes)


@pytest.mark.parametrize("after", [0, 3, 9, 20, 30])
def test_an_interrupt_keeps_what_was_found_until_then(after: int, scan: Scan) -> None:
    world = world_of(CAUSES["any other zone"][1], interrupt_after=after)
    told = scan(world, suspects=(VICTIM, *STABLE))
    assert told.findings.incomplete == "interrupted"
    assert list(told.verdicts) == list(world.tests)
    assert all(verdict.verdict in (Verdict.STABLE, Verdict.NOT_JUDGED) for verdict in told.verdicts.values())


def test_a_suite_without_tests_is_a_campaign_without_runs(scan: Scan) -> None:
    told = scan(World({}), suspects=())
    assert told.verdicts == {}
    assert told.world.experiments == []


def test_causes_are_not_looked_for_where_that_was_not_asked_for(scan: Scan) -> None:
    told = scan(world_of(CAUSES["any other zone"][1]), investigate=False)
    assert told.victim.detail == "failed and passed; not investigated"


def test_a_budget_that_is_spent_is_said_and_every_test_is_accounted_for(scan: Scan) -> None:
    told = scan(world_of(CAUSES["any other zone"][1]), budget=0.02, suspects=(VICTIM, *STABLE))
    assert any("the time budget allowed" in note for note in told.findings.notes)
    assert list(told.verdicts) == list(told.world.tests)


# --- confirmation ----------------------------------------------------------------------------


def confirmed(passes: Passes, failing: Conditions, passing: Conditions, axis: str | None = "timezone") -> str:
    world = World({VICTIM: passes})
    trials = Trials(ask=world.run, limits=lambda _test: Limits(), file_of=file_of)
    setups = [Setup(tests=(VICTIM,), conditions=conditions) for conditions in (failing, passing)]
    found = Confirmer(trials=trials).confirm(Claim(axis=axis, failing=setups[0], passing=setups[1], words="words"))
    return found.kind if found.cause is None else f"{found.kind}: {found.cause.axis}"


WEST = Conditions(timezone="America/New_York")


@pytest.mark.parametrize(
    ("passes", "said"),
    [
        (lambda s: s.conditions.timezone == "UTC", "flaky: timezone"),
        (lambda _s: True, "unconfirmed"),
        (lambda _s: False, "unconfirmed"),
        (lambda s: s.chance.random() < 0.5, "flaky: None"),
        (lambda s: s.conditions.timezone == "UTC" or s.chance.random() < 0.5, "flaky: timezone"),
    ],
    ids=["by the zone", "never fails", "always fails", "by chance", "by chance in that zone"],
)
def test_a_claim_is_believed_as_far_as_fresh_processes_agree(passes: Passes, said: str) -> None:
    assert confirmed(passes, WEST, NEUTRAL) == said


def steady(passes: Passes, axis: str, failing: Conditions) -> Diagnosis:
    world = World({VICTIM: passes})
    trials = Trials(ask=world.run, limits=lambda _test: Limits(), file_of=file_of)
    setups = [Setup(tests=(VICTIM,), conditions=conditions) for conditions in (failing, NEUTRAL)]
    words = f"fails with {axis}={failing.axis(axis)}, passes with {NEUTRAL.axis(axis)}"
    return Confirmer(trials=trials).confirm(Claim(axis=axis, failing=setups[0], passing=setups[1], words=words))


def test_a_schedule_that_other_work_undoes_gives_way_to_one_that_it_does_not() -> None:
    def passes(s: Scene) -> bool:
        return s.conditions.threads not in (3, 9) or (s.conditions.threads == 3 and s.conditions.load == "burn")

    found = steady(passes, "threads", Conditions(threads=3))
    assert found.failing is not None
    assert found.failing.conditions == Conditions(threads=9)
    assert found.fails is not None
    assert found.busy is not None
    assert (found.fails.bad, found.fails.of, found.busy.bad, found.busy.of) == (5, 5, 10, 10)
    assert found.detail == "fails with threads=9, passes with 0"


@pytest.mark.parametrize(("axis", "failing"), [("threads", Conditions(threads=3)), ("asyncio", Conditions(asyncio=3))])
def test_where_other_work_undoes_every_schedule_the_first_is_kept_and_that_is_told(
    axis: str, failing: Conditions
) -> None:
    found = steady(lambda s: s.conditions.axis(axis) == "0" or s.conditions.load == "burn", axis, failing)
    assert found.failing is not None
    assert found.failing.conditions == failing
    assert found.fails is not None
    assert found.busy is not None
    assert (found.fails.bad, found.busy.bad, found.busy.of) == (5, 0, 1)


def test_equal_sides_claim_pure_chance_and_are_run_until_one_passes() -> None:
    assert confirmed(lambda s: s.chance.random() < 0.5, NEUTRAL, NEUTRAL, None) == "flaky: None"
    assert confirmed(lambda _s: False, NEUTRAL, NEUTRAL, None) == "unconfirmed"
    assert confirmed(lambda _s: True, NEUTRAL, NEUTRAL, None) == "unconfirmed"


def test_experiments_whose_controls_failed_are_no_evidence() -> None:
    world = World({VICTIM: lambda _s: False}, controls=lambda _conditions: False)
    trials = Trials(ask=world.run, limits=lambda _test: Limits(), file_of=file_of)
    counted = trials.count(Setup(tests=(VICTIM,), conditions=NEUTRAL), 3)
    assert (counted.of, len(counted.results)) == (0, 3)


def test_forks_are_asked_only_where_a_server_with_these_conditions_is_at_hand() -> None:
    world = World({VICTIM: stable})
    trials = Trials(ask=world.run, limits=lambda _test: Limits(), file_of=file_of)
    base = Setup(tests=(VICTIM,), conditions=NEUTRAL)
    for axis, value in (("timezone", Conditions(timezone="UTC+3")), ("hash-seed", Conditions(hash_seed=4))):
        trials.count(with_axes(base, (axis,), value), 1)
    assert [(job.mode, job.files) for job in world.experiments] == [(Mode.FORK, ()), (Mode.FRESH, ("test_v.py",))]
