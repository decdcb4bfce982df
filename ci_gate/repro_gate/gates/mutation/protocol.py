"""The gate's sequence: mutants in batches, in forks first, on disk whatever no test noticed there, until time is up.
What may still be noticed by a test that nobody would ask (it reads what another one left in a fixture or a cache) is
kept for the end, and then meets the whole suite.

Belongs here: what is tried after what. Does not belong here: what one experiment says (observed, trials), and the
meaning of the whole (verdict). Everything is run through ``Bench``.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from repro_gate.gates.fail_to_pass.case import Bench
from repro_gate.gates.mutation.account import account
from repro_gate.gates.mutation.asking import Asking
from repro_gate.gates.mutation.case import Case, Policy
from repro_gate.gates.mutation.controls import Controls
from repro_gate.gates.mutation.pace import Pace
from repro_gate.gates.mutation.trials import Settled, Trials
from repro_gate.gates.mutation.verdict import decide
from repro_gate.gates.mutation.waiving import Waived, applied
from repro_gate.model import (
    GateResult,
    Mutant,
    MutantOutcome,
    MutantResult,
    MutationReport,
    NotTested,
    Untested,
    Way,
)

_MOST_KEPT = 1 / 3  # of the budget, for the whole suite
_AT_A_TIME = 1 / 10  # of the budget, for mutants of a batch but the first: so results come from early on
_NEXT = {Way.FORK: Way.DISK, Way.DISK: Way.SUITE}


def judge(
    case: Case,
    bench: Bench,
    policy: Policy,
    keep: Callable[[GateResult], None] = lambda _result: None,
    advance: Callable[[float], None] = lambda _mutants: None,
) -> GateResult:
    """Try the mutants of one change. Never raises for what tests do.

    Where something else ends it (an interrupt, a full disk), ``keep`` is given what was found until then. ``advance``
    hears of how many more it is known what becomes of them.
    """
    began = policy.clock()
    waived = applied((*case.mutants, *case.beyond), case.waivers, case.changed, policy.today)
    deadline = began + policy.budget_seconds
    run = _Run(case=case, policy=policy, trials=_trials(case, bench, policy), deadline=deadline, advance=advance)
    left_alone = {
        mutant: NotTested(mutant=each, reason=Untested.WAIVED, why=waived.by_mutant[mutant].reason)
        for each in (*case.mutants, *case.beyond)
        if (mutant := each.id) in waived.by_mutant
    }
    try:
        run.all(left_alone)
    except BaseException:
        run.leave_the_rest("the check was cut short before it")
        keep(_result(run, waived, began))
        raise
    return _result(run, waived, began)


def _result(run: _Run, waived: Waived, began: float) -> GateResult:
    case, policy = run.case, run.policy
    order = {mutant.id: place for place, mutant in enumerate(case.mutants)}
    tested = tuple(sorted(run.tested, key=lambda each: order[each.mutant.id]))
    listed = [each for each in run.not_tested if each.mutant.id in order]
    not_tested = tuple(sorted(listed, key=lambda each: order[each.mutant.id]))
    mutated = {mutant.file for mutant in case.mutants}
    report = MutationReport(
        tested=tested,
        not_tested=not_tested,
        controls=tuple(run.trials.controls.log),
        account=account(case, tested, run.not_tested),
        sources={file: text for file, text in case.texts.items() if file in mutated},
        seed=case.seed,
        seconds=round(policy.clock() - began, 2),
        beyond=Counter(each.reason for each in run.not_tested if each.mutant.id not in order),
    )
    return decide(report, case, policy, waived)


def try_on_disk(case: Case, bench: Bench, policy: Policy, mutant: Mutant, times: int = 1) -> Iterator[MutantResult]:
    """One mutant on disk in fresh processes, so many times, beside one run of its controls: what a person asks for."""
    trials = _trials(case, bench, policy)
    for _ in range(times):
        settled = trials.settle([mutant], Way.DISK)[mutant.id]
        if settled.result is not None:
            yield settled.result
        elif settled.missed is not None and not settled.exposed:
            yield settled.missed
        else:
            yield _inconclusive(mutant, settled)


def _trials(case: Case, bench: Bench, policy: Policy) -> Trials:
    asking = Asking(case=case, policy=policy)
    return Trials(bench=bench, asking=asking, controls=Controls(bench=bench, asking=asking))


def _inconclusive(mutant: Mutant, settled: Settled) -> MutantResult:
    why = settled.why or f"{settled.exposed[0]} runs its lines and does not pass when it is run for it"
    return MutantResult(mutant=mutant, outcome=MutantOutcome.INCONCLUSIVE, why=why)


@dataclass(kw_only=True)
class _Run:
    case: Case
    policy: Policy
    trials: Trials
    deadline: float
    advance: Callable[[float], None]
    tested: list[MutantResult] = field(default_factory=list)
    not_tested: list[NotTested] = field(default_factory=list)
    for_suite: list[Mutant] = field(default_factory=list)
    missed: dict[str, MutantResult] = field(default_factory=dict)  # by all tests that run its lines
    pace: Pace = field(init=False)
    told: int = 0
    on_disk: float = 0.0  # seconds that a batch took there at most

    def __post_init__(self) -> None:
        self.pace = Pace(controls=self.trials.controls)

    def all(self, waived: dict[str, NotTested]) -> None:
        """Every mutant comes to a result, or to the reason why it was not tested."""
        pending: list[Mutant] = []
        for mutant in self.case.mutants:
            left = waived.get(mutant.id) or self._untestable(mutant)
            if left is None:
                pending.append(mutant)
            else:
                self.not_tested.append(left)
        why = f"a change is tested with its best {len(self.case.mutants)} mutants, and it is not among them"
        for mutant in self.case.beyond:
            too_many = NotTested(mutant=mutant, reason=Untested.BUDGET, why=why)
            self.not_tested.append(waived.get(mutant.id) or self._untestable(mutant) or too_many)
        self._tell()
        slow = self._in_batches(pending)
        for mutant in self._in_batches(slow):  # what others took may say that there is time for it
            self.not_tested.append(NotTested(mutant=mutant, reason=Untested.BUDGET, why=self._why_not(mutant)))
        self._whole_suite()

    def leave_the_rest(self, why: str) -> None:
        """Every mutant that has no result yet was not tested."""
        known = {each.mutant.id for each in self.tested} | {each.mutant.id for each in self.not_tested}
        rest = (mutant for mutant in (*self.case.mutants, *self.case.beyond) if mutant.id not in known)
        self.not_tested += [NotTested(mutant=mutant, reason=Untested.BUDGET, why=why) for mutant in rest]

    def _untestable(self, mutant: Mutant) -> NotTested | None:
        covering = self.case.covering(mutant)
        at_import = self.case.runs_at_import(mutant)
        if not self.case.outcomes:
            return NotTested(mutant=mutant, reason=Untested.NOT_COVERED, why="no test is collected")
        if not covering and not at_import:
            return NotTested(mutant=mutant, reason=Untested.NOT_COVERED, why="no test runs it")
        if not self.case.ordered(self.case.outcomes if at_import else covering):
            came_to = {"flaky" if test in self.case.flaky else str(self.case.outcomes[test]) for test in covering}
            why = f"no test that runs it passes on head: {', '.join(sorted(came_to))}" if covering else ""
            why = why or "no test passes reliably"
            return NotTested(mutant=mutant, reason=Untested.NO_STABLE_TEST, why=why)
        return None

    def _in_batches(self, mutants: Iterable[Mutant]) -> list[Mutant]:
        """Try them, some at a time; returns those for which too little time was left when it was their turn."""
        waiting, slow = deque(mutants), list[Mutant]()
        while waiting:
            batch = list[Mutant]()
            while waiting and len(batch) < self.policy.batch:
                mutant, left = waiting[0], self._left()
                expected = self._expected([*batch, mutant]) if left > 0 else math.inf
                if batch and expected >= min(left, _AT_A_TIME * self.policy.budget_seconds):
                    break
                fits = expected < left or self._first_way(mutant) is Way.SUITE  # which has a time of its own
                (batch if fits else slow).append(waiting.popleft())
            if batch:
                self._batch(batch)
                self._tell()
        return slow

    def _tell(self) -> None:
        """How many mutants more are known by now; those beyond were from the first, and are not listed."""
        known = len(self.tested) + len(self.not_tested) - len(self.case.beyond)
        self.advance(known - self.told)
        self.told = known

    def _expected(self, batch: Sequence[Mutant]) -> float:
        """Seconds until these are settled, or are known to need another way."""
        ways = {way: [mutant for mutant in batch if self._first_way(mutant) is way] for way in _NEXT}
        return sum(self.pace.of(mutants, way) for way, mutants in ways.items())

    def _left(self) -> float:
        """Seconds in which mutants may still be tried one by one."""
        return self.deadline - self._kept() - self.policy.clock()

    def _why_not(self, mutant: Mutant) -> str:
        if self._left() <= 0:
            return "the time was over before it"
        way = self._first_way(mutant)
        seconds = self.trials.asking.seconds(self.case.selection(mutant, way))
        return f"its tests take {seconds:.0f} s, and it needs several runs of them: there was too little time"

    def _batch(self, batch: Sequence[Mutant]) -> None:
        """In forks, then on disk, each with what the one before could not settle."""
        waiting: dict[Way, list[Mutant]] = {each: [] for each in Way}
        for mutant in batch:
            waiting[self._first_way(mutant)].append(mutant)
        for way, later in _NEXT.items():
            waiting[later] += self._settle(self._affordable(waiting[way], way), way)
        self.for_suite += waiting[Way.SUITE]

    def _whole_suite(self) -> None:
        """All at once first.

        Then as many as fit one after the other: how many really run at once is the bench's affair.
        """
        waiting = self.for_suite
        if waiting and self.policy.clock() + self._of_suite(waiting[0]) < self.deadline:
            settled = self.trials.all_missed(waiting)
            waiting = [
                mutant
                for mutant in waiting
                if mutant.id not in settled or not self._ended(mutant, settled[mutant.id], Way.SUITE)
            ]
            self._tell()
        while waiting:
            needed = self._of_suite(waiting[0])
            fitting = [
                mutant
                for place, mutant in enumerate(waiting[: self.policy.batch], start=1)
                if self.policy.clock() + place * needed < self.deadline
            ]
            if not fitting:
                for mutant in waiting:
                    why = "only a run of the whole suite can tell, and there was no time for one"
                    self.not_tested.append(NotTested(mutant=mutant, reason=Untested.BUDGET, why=why))
                return
            self._settle(fitting, Way.SUITE)
            self._tell()
            waiting = waiting[len(fitting) :]

    def _of_suite(self, mutant: Mutant) -> float:
        """Seconds of a run of the whole suite."""
        return self.trials.asking.seconds(self.case.selection(mutant, Way.SUITE))

    def _kept(self) -> float:
        """Seconds that are kept for the whole suite,
        so that some survivors of a change with thousands of mutants are told.
        """
        if not self.for_suite:
            return 0.0
        needed = 2 * self._of_suite(self.for_suite[0]) + self.on_disk  # with its null control, and processes that start
        return min(needed, _MOST_KEPT * self.policy.budget_seconds)

    def _settle(self, mutants: Sequence[Mutant], way: Way) -> list[Mutant]:
        """Try them in one way; returns those that came to no answer in it."""
        if not mutants:
            return []
        began, work = self.policy.clock(), self.pace.work(mutants, way)
        settled = self.trials.settle(mutants, way)
        took = self.policy.clock() - began
        self.pace.learn(work, took, way)
        if way is Way.DISK:
            self.on_disk = max(self.on_disk, took)
        return [mutant for mutant in mutants if not self._ended(mutant, settled[mutant.id], way)]

    def _first_way(self, mutant: Mutant) -> Way:
        if not self.case.runs_at_import(mutant):
            return Way.DISK if self.case.runs_in_children(mutant) else Way.FORK
        return Way.DISK if self.case.selection(mutant, Way.DISK) else Way.SUITE

    def _ended(self, mutant: Mutant, settled: Settled, way: Way) -> bool:
        """Whether there is an answer: a survivor only where every test that could notice was asked on disk."""
        if settled.result is not None:
            self.tested.append(settled.result)
            return True
        if way is Way.FORK:
            return False
        narrow = way is Way.DISK and self._asks_too_few(mutant, settled)
        if settled.missed is not None and not settled.exposed and not narrow:
            # Told of are the tests that run its lines: that all others missed it, too, is beside the point.
            self.tested.append(self.missed.get(mutant.id, settled.missed))
            return True
        if narrow:
            if settled.missed is not None and not settled.exposed and not self.case.runs_at_import(mutant):
                self.missed[mutant.id] = settled.missed
            return False
        if not self.case.seen_to_run(mutant) and self.trials.controls.nobody_reads(mutant.file, way):
            self.not_tested.append(NotTested(mutant=mutant, reason=Untested.NOT_COVERED, why=settled.why))
        else:
            self.tested.append(_inconclusive(mutant, settled))
        return True

    def _asks_too_few(self, mutant: Mutant, settled: Settled) -> bool:
        """Whether a test that was not asked on disk could notice it:
        by what runs at import, or by what another left.
        """
        if self.case.runs_at_import(mutant) or settled.exposed:
            return True
        return settled.missed is not None and self.case.selection(mutant, Way.DISK) != self.case.suite

    def _affordable(self, mutants: Sequence[Mutant], way: Way) -> list[Mutant]:
        """Those that are expected to be done in time, the first ones first."""
        fitting: list[Mutant] = []
        for mutant in mutants:
            if self.pace.of([*fitting, mutant], way) < self._left():
                fitting.append(mutant)
                continue
            why = self._why_not(mutant)
            if way is Way.DISK and self._first_way(mutant) is Way.FORK:
                why = "no test noticed it in a fork, and there was no time to confirm that on disk"
            self.not_tested.append(NotTested(mutant=mutant, reason=Untested.BUDGET, why=why))
        return fitting
