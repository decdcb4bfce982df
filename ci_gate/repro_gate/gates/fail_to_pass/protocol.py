"""The gate's sequence of experiments, from the collections to the last doubt.

Belongs here: what is run after what. Does not belong here: the meaning of one run (suspects), of
a contradiction (repeats), of the whole (verdict). Everything is run through ``Bench``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from repro_gate.errors import CollectionFailed
from repro_gate.gates.fail_to_pass import broken as told
from repro_gate.gates.fail_to_pass.candidates import Candidates, Kind, Through, by_data, compare, unread_data
from repro_gate.gates.fail_to_pass.case import Bench, Case, Claimed, Collection, Policy, Stage
from repro_gate.gates.fail_to_pass.conditions import OTHER_SEEDS, before, other_days, second_collection, words
from repro_gate.gates.fail_to_pass.doubts import doubt
from repro_gate.gates.fail_to_pass.exercise import Exercise
from repro_gate.gates.fail_to_pass.reasons import API, Context, network
from repro_gate.gates.fail_to_pass.recovery import (
    BASE,
    OnBase,
    by_dependencies,
    climb,
    collect_on_base,
    fixture_homes,
    uncollected,
)
from repro_gate.gates.fail_to_pass.repeats import Repeats, repeat_expected
from repro_gate.gates.fail_to_pass.runner import Ask, Runner, Stopped
from repro_gate.gates.fail_to_pass.runs import fine
from repro_gate.gates.fail_to_pass.suspects import HEAD, Judge, Suspect
from repro_gate.gates.fail_to_pass.symbols import surface
from repro_gate.gates.fail_to_pass.unbuilt import not_built, of_collection, of_runs, of_text
from repro_gate.gates.fail_to_pass.verdict import Situation, decide
from repro_gate.model import (
    Finding,
    GateResult,
    Mode,
    Outcome,
    Proved,
    ReasonCode,
    Refused,
    Side,
    TestRun,
)

CONTROL = Stage(side=Side.CONTROL)


def prove(case: Case, bench: Bench, claims: Claimed, policy: Policy) -> GateResult:
    """Run the whole gate on one change. Never raises for what tests do."""
    proof = _Proof(case=case, claims=claims, runner=Runner(bench=bench, policy=policy))
    try:
        proof.run()
    except Stopped as stop:
        proof.stopped = proof.whose_fault(stop)
    return decide(proof.situation(), case, claims)


@dataclass(kw_only=True)
class _Proof:
    case: Case
    claims: Claimed
    runner: Runner
    candidates: Candidates = field(default_factory=Candidates)
    suspects: list[Suspect] = field(default_factory=list)
    proved: list[Proved] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    reached: dict[str, Exercise] = field(default_factory=dict)
    lacking: dict[Side, set[str]] = field(default_factory=dict)
    stopped: Stopped | None = None

    def run(self) -> None:
        """The sequence. What it learns is kept as it goes, so that an early end still reports."""
        case = self.case
        if case.obstacles or not (case.changes_product or case.changes_tests):
            return
        head, unstable = self._collect_head()
        marked = {test for test, item in head.items.items() if item.network}
        case = self.case = replace(case, network_allowed=case.network_allowed | marked)
        base = self._collect_control()
        self._refuse_unbuilt(of_collection(base), of_collection(head), empty=not base.items)
        self._uncollected_on_head(head, base)
        most = self.runner.policy.most_candidates
        self.candidates = compare(case, base.items, head.items, unstable=unstable, most=most)
        self._note_candidates()
        judge = Judge(case=case, runner=self.runner, context=self._context(head), items=head.items)
        files = self._touched_files(base, head)
        if not case.changes_product:
            self._tests_only(head, judge)
            return
        on_head = self._discover_head(head, files)
        self._more_by_data(on_head)
        files = self._touched_files(base, head)
        self.runner.files = tuple(dict.fromkeys(item.file for item in head.items.values() if item.file in files))
        self._control(base, files)
        self._regressions(on_head, base, head, judge)
        if not self.candidates.chosen:
            return
        on_base = self._on_base(judge, {test: head.items[test].file for test in self.candidates.chosen})
        if on_base is None:
            return
        company = tuple(test for test in head.items if head.items[test].file in files)
        self._first_runs(head, on_base, on_head, company, judge)
        Repeats(judge=judge, company=company).run(self.suspects)
        self.reached = doubt(judge, self.suspects, head, on_base.collection)
        self._conclude(company)
        self._other_days(head)

    def whose_fault(self, stop: Stopped) -> Stopped:
        """What ended the gate on head may be so on base, too: then it is not this change's doing."""
        try:
            if stop.reason is ReasonCode.FAILS_ON_HEAD:
                self._collect_control()
            elif stop.reason is ReasonCode.TAMPERED:
                tests = tuple(self._collect_control().items)[: self.runner.policy.control_sample]
                self.runner.one(Ask(stage=CONTROL, tests=tests))
        except Stopped as on_base:
            return on_base
        self.findings += told.of_start(stop.details, stop.reason)
        return stop

    def situation(self) -> Situation:
        """What was learnt, for the verdict."""
        return Situation(
            stopped=(self.stopped.reason, self.stopped.text) if self.stopped is not None else None,
            candidates=len(self.candidates.chosen) + len(self.candidates.unstable),
            own=any(through in (Through.OWN, Through.DATA) for through in self.candidates.chosen.values()),
            new=self.candidates.new,
            broken=tuple(self.broken),
            proved=tuple(self.proved),
            refused=tuple(self.refused),
            findings=tuple(self.findings),
            notes=tuple(self.notes),
            seeds=tuple(sorted(self.runner.seeds)),
        )

    # -- collecting -----------------------------------------------------------------------

    def _collect_head(self) -> tuple[Collection, set[str]]:
        self.runner.expect(CONTROL)
        try:
            head = self.runner.collect(HEAD)
            self.runner.expect(HEAD, second_collection())
            if self.case.changes_product and self.case.changes_tests:
                self.runner.expect(BASE)
            again = self.runner.collect(HEAD, second_collection())
        except CollectionFailed as error:
            self.lacking[Side.HEAD] = of_text(error.details)
            raise Stopped(ReasonCode.FAILS_ON_HEAD, f"head cannot be collected: {error}", error.details) from None
        if not head.items and not head.failures:
            raise Stopped(ReasonCode.NO_ITEMS, "pytest collected no test at all on head")
        return head, set(head.items) ^ set(again.items)

    def _collect_control(self) -> Collection:
        try:
            return self.runner.collect(CONTROL)
        except CollectionFailed as error:
            self._refuse_unbuilt(of_text(error.details), self.lacking.get(Side.HEAD, set()))
            self.findings += told.of_start(error.details)
            raise Stopped(ReasonCode.BASE_BROKEN, f"base's own tests cannot be collected: {error}") from None

    def _uncollected_on_head(self, head: Collection, base: Collection) -> None:
        """Files that head cannot collect; what base cannot collect either is not this change's doing."""
        also_on_base = {failed.node for failed in base.failures}
        for failed in head.failures:
            words = f"{failed.failure.type}: {failed.failure.message[:200]}"
            if failed.node in also_on_base:
                self.notes.append(f"{failed.node} can be collected on neither side: {words}")
                continue
            why = f"cannot be collected on head: {words}"
            self.refused.append(
                Refused(id=failed.node, reason=ReasonCode.FAILS_ON_HEAD, why=why, on_head=failed.failure)
            )

    def _refuse_unbuilt(self, base: set[str], head: set[str], *, empty: bool = False) -> None:
        if why := not_built(self.case, base, head, base_is_empty=empty):
            raise Stopped(ReasonCode.NEEDS_BUILD, why)

    def _context(self, head: Collection) -> Context:
        return Context(
            surface=surface(self.case.product, self.case.packages),
            fixtures=fixture_homes(head),
            is_test=self.case.is_test,
        )

    def _touched_files(self, base: Collection, head: Collection) -> set[str]:
        """The files of candidates, on either side, and changed test files."""
        files = {head.items[test].file for test in self.candidates.chosen}
        files |= {base.items[old].file for old in self.candidates.moved.values()}
        return files | self.case.test_files

    def _note_candidates(self) -> None:
        found = self.candidates
        for test in found.unstable:
            why = "its id differs from run to run, so it cannot be followed from base to head"
            self.refused.append(Refused(id=test, reason=ReasonCode.UNSTABLE_ID, why=why))
        for test in found.unsupported:
            why = "the docstring of changed product code is test and product at once"
            self.refused.append(Refused(id=test, reason=ReasonCode.UNSUPPORTED, why=why))
        if found.cut:
            self.notes.append(f"{len(found.cut)} more tests use what changed and were not tried")
        if found.gone and self.case.changes_product and not self.case.narrowed:
            text = f"{len(found.gone)} tests of base are gone: {told.some(found.gone)}"
            self.findings.append(Finding(reason=ReasonCode.TEST_DELETED, text=text))

    # -- base as it is --------------------------------------------------------------------

    def _control(self, base: Collection, files: set[str]) -> None:
        """Base's own tests on base: what is red there is not this change's doing."""
        tests = [test for test, item in base.items.items() if item.file in files]
        if not tests:
            tests = list(base.items)[: self.runner.policy.control_sample]
        uncollected = [failed for failed in base.failures if failed.file in files]
        if not tests and not uncollected:
            self.notes.append("base has no tests of its own: there was nothing to control it with")
            return
        red = self._red(CONTROL, tests, base)
        broken = [*(failed.node for failed in uncollected), *(run.id for run in red)]
        if broken and self.case.dependencies:
            own = Stage(side=Side.CONTROL, environment=Side.BASE)
            if not self._red(own, tests, base) and not uncollected:
                text = f"base's tests fail in head's environment and pass in their own: {told.some(broken)}"
                self.findings.append(Finding(reason=ReasonCode.ENV_DELTA, text=text))
                broken = []
        if broken:
            self.broken = sorted(broken)
            self._refuse_unbuilt(*(of_runs(self.runner.seen, side) for side in (Side.CONTROL, Side.HEAD)))
            self.findings += told.of_base(uncollected, red)
            raise Stopped(ReasonCode.BASE_BROKEN, f"base's own tests fail on base: {told.some(self.broken)}")

    def _red(self, stage: Stage, tests: list[str], base: Collection) -> list[TestRun]:
        """Which tests fail together and again alone; tests that need the network are another gate's matter."""
        runs = self.runner.one(Ask(stage=stage, tests=tuple(tests)))
        red = [test for test, run in runs.items() if not fine(run) and not network(run)]
        # A test that only our seeds make fail (a coin, say) is no sign of a broken base.
        asks = [
            Ask(stage=stage, tests=(test,), mode=Mode.FRESH, files=(base.items[test].file,), conditions=conditions)
            for test in red[:20]
            for conditions in OTHER_SEEDS
        ]
        again = [pair for found in self.runner.run(asks) for pair in found.items()]
        cured = sorted({test for test, run in again if fine(run)})
        if cured:
            self.notes.append(f"failed on base together, and passed alone or with other seeds: {told.some(cured)}")
        return [runs[test] for test in red if test not in cured]

    # -- first runs -----------------------------------------------------------------------

    def _discover_head(self, head: Collection, files: set[str]) -> dict[str, TestRun]:
        # Any test may read data, and whoever says that no behaviour changes speaks of all tests. Documentation changes
        # often and is read seldom: it is asked for where a fix has no other test.
        alone = bool(self.case.documents) and self.claims.is_fix and not self.candidates.chosen
        every = bool(self.case.test_data) or self.claims.is_refactor or alone
        tests = [test for test, item in head.items.items() if every or item.file in files]
        return self._discover(HEAD, [test for test in tests if test not in self.candidates.unstable])

    def _discover(self, stage: Stage, tests: list[str], seconds: float = 0.0) -> dict[str, TestRun]:
        """All of them together; those that another one took along are run again without it."""
        runs = self.runner.one(Ask(stage=stage, tests=tuple(tests), seconds=seconds))
        ended = [test for test, run in runs.items() if run.outcome in (Outcome.CRASHED, Outcome.TIMEOUT)]
        left = tuple(test for test, run in runs.items() if run.outcome is Outcome.NOT_RUN)
        if left and ended:
            runs.update(self.runner.one(Ask(stage=stage, tests=left, seconds=seconds)))
        return runs

    def _regressions(self, runs: Mapping[str, TestRun], base: Collection, head: Collection, judge: Judge) -> None:
        """Tests that the change left alone: what passes on base must pass on head."""
        moved, left_alone = self.candidates.moved, (Kind.SAME, Kind.MOVED)
        red = {
            test: run
            for test, run in runs.items()
            if self.candidates.kinds[test] in left_alone and test not in self.candidates.chosen and run.outcome.bad
        }
        olds = [moved.get(test, test) for test in red]
        unseen = tuple(old for old in olds if old in base.items and not self.runner.history(Side.CONTROL, old))
        self.runner.one(Ask(stage=CONTROL, tests=unseen))
        for test, run in red.items():
            before = self.runner.history(Side.CONTROL, moved.get(test, test))
            passed = any(each.outcome is Outcome.PASSED for each in before[:1])  # under the conditions of this run
            if passed and not network(run):
                found = judge.on_head(run, file=head.items[test].file, company=tuple(runs), on_base=None)
                if found is not None and found.reason is ReasonCode.FAILS_ON_HEAD:
                    why = f"passes on base and {found.why}"
                    self.refused.append(
                        Refused(id=test, reason=ReasonCode.FAILS_ON_HEAD, why=why, on_head=found.on_head)
                    )

    def _more_by_data(self, runs: Mapping[str, TestRun]) -> None:
        more = by_data(self.case, runs.values(), self.candidates)
        if more:
            self.candidates = replace(self.candidates, chosen={**self.candidates.chosen, **more})
        unread = unread_data(self.case, self.candidates.chosen, runs.values())
        if unread:
            self.notes.append(f"no test was seen to read: {', '.join(unread)}")

    def _on_base(self, judge: Judge, tests: Mapping[str, str]) -> OnBase | None:
        try:
            return collect_on_base(judge, tests)
        except CollectionFailed as error:
            for test in self.candidates.chosen:
                why = f"pytest does not start on base with head's tests: {error}"
                self.refused.append(Refused(id=test, reason=ReasonCode.USAGE, why=why))
            return None

    def _first_runs(
        self,
        head: Collection,
        on_base: OnBase,
        on_head: Mapping[str, TestRun],
        company: tuple[str, ...],
        judge: Judge,
    ) -> None:
        chosen = [test for test in self.candidates.chosen if test in on_head]
        there = [test for test in chosen if test in on_base.collection.items]
        first: dict[str, TestRun] = {}
        for stage in dict.fromkeys(on_base.stage(head.items[test].file) for test in there):
            tests = [test for test in there if on_base.stage(head.items[test].file) == stage]
            first.update(self._discover(stage, tests, self.runner.budget(tests)))
        passing: dict[str, str] = {}
        for test in chosen:
            file = head.items[test].file
            before = first.get(test)
            refused = judge.on_head(
                on_head[test], file=file, company=company, on_base=before.failure if before else None
            )
            if refused is not None:
                self.refused.append(refused)
            elif before is None:
                self.refused.append(uncollected(test, on_base.reasons.get(file)))
            elif before.outcome is Outcome.PASSED:
                passing[test] = file
            else:
                self.suspects.append(judge.on_base(before, file=file, stage=on_base.stage(file)))
        for suspect in self._second_thoughts(judge, passing, company, on_base):
            self.suspects.append(suspect)
            passing.pop(suspect.id, None)
        for test in passing:
            why = "passes on base" + (", also under varied conditions" if self.claims.is_fix else "")
            self.refused.append(Refused(id=test, reason=ReasonCode.PASSES_ON_BASE, why=why))

    def _second_thoughts(
        self, judge: Judge, passing: Mapping[str, str], company: tuple[str, ...], on_base: OnBase
    ) -> list[Suspect]:
        """Before a test is told that it passes on base: other conditions, other dependencies."""
        found: list[Suspect] = []
        if passing and self.claims.is_fix:
            found += climb(judge, passing, company, on_base)
        if passing and self.case.dependencies:
            left = {test: file for test, file in passing.items() if test not in {each.id for each in found}}
            found += by_dependencies(judge, left) if left else ()
        return found

    def _conclude(self, company: tuple[str, ...]) -> None:
        for suspect in self.suspects:
            if suspect.refused is not None:
                self.refused.append(suspect.refused)
                continue
            self.proved.append(
                Proved(
                    id=suspect.id,
                    reason=suspect.code,
                    failure=suspect.failure,
                    conditions=suspect.conditions,
                    runs=min(suspect.failed_on_base, suspect.passed_on_head),
                    exercise=str(self.reached.get(suspect.id, "")),
                    new_api=suspect.code in API,
                    by_dependency=suspect.by_dependency,
                    file=suspect.file,
                    tests=before(suspect.id, suspect.conditions, company),
                    lenient=suspect.stage.lenient,
                    seconds=self.runner.budget([suspect.id]) if suspect.code is ReasonCode.TIMEOUT else 0.0,
                )
            )

    def _other_days(self, head: Collection) -> None:
        """A proof of today that will fail on another day is a proof, and a warning."""
        tests = tuple(proof.id for proof in self.proved)
        warned: set[str] = set()
        for conditions in other_days(self.runner.policy.today) if tests else ():
            runs = self.runner.one(Ask(stage=HEAD, tests=tests, conditions=conditions))
            late = [test for test, run in runs.items() if run.outcome.bad and test not in warned]
            for test in late:
                ask = Ask(
                    stage=HEAD, tests=(test,), conditions=conditions, mode=Mode.FRESH, files=(head.items[test].file,)
                )
                if self.runner.one(ask)[test].outcome.bad:
                    warned.add(test)
                    text = f"passes today and fails with {words(conditions)}"
                    self.findings.append(Finding(reason=ReasonCode.TIME_BOMB, id=test, text=text))

    # -- changes of tests alone -----------------------------------------------------------

    def _tests_only(self, head: Collection, judge: Judge) -> None:
        """Nothing of the product changed: tests must pass, or (repro first) fail as expected each time."""
        tests = tuple(test for test in self.candidates.chosen if test in head.items)
        runs = self._discover(HEAD, list(tests))
        expected = [test for test, run in runs.items() if run.outcome is Outcome.XFAILED]
        for test, run in runs.items():
            if self.claims.repro_first and test in expected:
                continue
            refused = judge.on_head(run, file=head.items[test].file, company=tests, on_base=None)
            if refused is not None:
                self.refused.append(refused)
        if self.claims.repro_first:
            steady, unsteady = repeat_expected(self.runner, expected)
            self.proved += steady
            self.refused += unsteady
