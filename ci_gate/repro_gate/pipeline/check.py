"""A check of a change: its trees, its environment, and each gate that is asked for; one report.

Belongs here: the order of these, and what becomes of an error in between. Does not belong here:
what any gate decides (gates), and printing.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro_gate.change import (
    Head,
    Pair,
    claims,
    describe,
    messages_between,
    open_repository,
    resolve,
)
from repro_gate.config import Settings
from repro_gate.errors import CollectionFailed, ExitCode, HistoryMissing, Interrupted, ReproGateError, disk_full
from repro_gate.experiment import find_tree
from repro_gate.gates import coverage, flaky, mutation, network
from repro_gate.gates.fail_to_pass import GATE, Case, Policy, Stage, prove
from repro_gate.gates.fail_to_pass.advice import NEXT_STEP
from repro_gate.gates.fail_to_pass.candidates import Candidates, compare
from repro_gate.gates.fail_to_pass.conditions import second_collection
from repro_gate.model import (
    CheckReport,
    Conditions,
    Finding,
    FlakeReport,
    GateResult,
    GateVerdict,
    Level,
    Limits,
    ReasonCode,
    Sandboxing,
    Side,
    Trouble,
    Verdict,
)
from repro_gate.pipeline.bench import sandbox_for
from repro_gate.pipeline.check_request import CheckRequest, levels_of
from repro_gate.pipeline.coverage_files import rules_of, write_files
from repro_gate.pipeline.instrumented import Instrumented, changed_lines
from repro_gate.pipeline.mutation import judge_mutants, read_waivers, uncommitted_waivers
from repro_gate.pipeline.packing import Packer
from repro_gate.pipeline.provision import Provision
from repro_gate.pipeline.request import Effects, Request
from repro_gate.pipeline.scan import scan_in
from repro_gate.pipeline.stages import LabBench
from repro_gate.pipeline.subject import Subject, open_subject
from repro_gate.pipeline.workplace import Workplace, place_for_trees
from repro_gate.sandbox import Sandbox, probe

HEAD = Stage(side=Side.HEAD)
CONTROL = Stage(side=Side.CONTROL)
_NETWORK_SECONDS = 900.0
_COVERAGE_SECONDS = 1800.0


def resolve_change(
    directory: Path,
    base: str | None,
    head: str | None,
    event: Mapping[str, Any] | None,
    environ: Mapping[str, str],
) -> Pair:
    """The two commits of a change. Raises UsageError, GitFailed or HistoryMissing."""
    return resolve(open_repository(directory, environ), base=base, head=head, event=event)


def check(request: CheckRequest, pair: Pair, effects: Effects) -> CheckReport:
    """Run the gates on a change. An error that makes it inconclusive is part of the report."""
    run = _Check(request=request, pair=pair, effects=effects)
    began, started = effects.monotonic(), effects.now()
    trouble: Trouble | None = None
    try:
        run.all()
    except KeyboardInterrupt:
        done = {result.gate for result in (*run.results, *run.partial)}
        left = ", ".join(gate for gate in request.gates if gate not in done)
        cut = " and ".join(f"{result.gate} was whole" for result in run.partial)
        left = f"there was a result of {left or 'the check'}" if left or not cut else ""
        sentence = f"Interrupted before {' and '.join(each for each in (cut, left) if each)}."
        trouble = _trouble(Interrupted(sentence, next_step="Run the same command again."))
    except OSError as broken:
        full = disk_full(broken, f"temporary files ({tempfile.gettempdir()})")
        if full is None:
            raise
        trouble = _trouble(full)
    except ReproGateError as error:
        if error.exit_code is not ExitCode.INCONCLUSIVE:
            raise
        trouble = _trouble(error)
    return CheckReport(
        base=pair.base_sha,
        head=pair.head_sha,
        how=str(pair.how),
        gates=(*run.results, *run.partial),
        levels=levels_of(request.settings),
        command=request.command,
        sandbox=run.sandboxing,
        environment=run.environment,
        python=run.versions.get("python", ""),
        pytest=run.versions.get("pytest", ""),
        campaign=run.campaign,
        trouble=trouble,
        policy=(*request.altered, *run.guards),
        notes=tuple(dict.fromkeys(run.notes)),
        seconds=round(effects.monotonic() - began, 2),
        started_at=started.isoformat(timespec="seconds"),
    )


def without_base(gates: tuple[str, ...], settings: Settings, missing: HistoryMissing, command: str) -> CheckReport:
    """The report where there is no commit to compare with. Nobody's policy is known, so ``settings`` are defaults."""
    levels = levels_of(settings)
    wanted = [gate for gate in gates if levels[gate] is not Level.OFF]
    return CheckReport(
        base="",
        head="",
        how="",
        gates=tuple(_unanswered(wanted, ReasonCode.NO_BASE, str(missing), missing.next_step)),
        levels=levels,
        command=command,
    )


def _unanswered(gates: Iterable[str], reason: ReasonCode, text: str, next_step: str = "") -> Iterator[GateResult]:
    """The same for each gate: there is no pair of commits of which anything could be told."""
    finding = Finding(reason=reason, text=text, next_step=next_step or NEXT_STEP[reason])
    for gate in gates:
        yield GateResult(gate=gate, verdict=GateVerdict.INCONCLUSIVE, reason=reason, findings=(finding,))


def _trouble(error: ReproGateError) -> Trouble:
    text = error.told if isinstance(error, CollectionFailed) else str(error)
    return Trouble(slug=error.slug, text=text, next_step=error.next_step, details=error.details)


@dataclass(kw_only=True)
class _Check:
    request: CheckRequest
    pair: Pair
    effects: Effects
    results: list[GateResult] = field(default_factory=list)
    partial: list[GateResult] = field(default_factory=list)  # of a gate that something cut short
    notes: list[str] = field(default_factory=list)
    guards: tuple[str, ...] = ()
    sandboxing: Sandboxing | None = None
    environment: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    campaign: FlakeReport | None = None

    def all(self) -> None:
        """The gates in order, each result kept as it comes."""
        wanted = [gate for gate in self.request.gates if levels_of(self.request.settings)[gate] is not Level.OFF]
        if self.pair.moved is not None:
            moved = self.pair.moved
            self.results += _unanswered(wanted, ReasonCode.BASE_MOVED, moved.text, moved.next_step)
            self.notes += self.pair.notes
            return
        if self.pair.nothing_changed:
            self.notes += self.pair.notes
            self.results += [
                GateResult(gate=gate, verdict=GateVerdict.NEUTRAL, reason=ReasonCode.NOTHING_TO_JUDGE)
                for gate in wanted
            ]
            return
        with place_for_trees() as directory:
            subject = self._subject(directory, wanted)
            if mutation.GATE in wanted:  # before anything runs: nobody is to wait for an error
                read_waivers(subject, self.effects.now().date())
            sandbox = self._sandbox(subject)
            try:
                self._in(directory, subject, sandbox, wanted)
            finally:
                sandbox.close()

    def _subject(self, directory: Path, wanted: list[str]) -> Subject:
        self.effects.progress.phase("reading the change", 1)
        settings = self.request.settings
        repository = open_repository(self.request.directory, self.effects.environ)
        subject = open_subject(
            repository,
            self.pair,
            directory,
            test_globs=settings.test_globs,
            max_bytes=settings.max_tree_mib * 2**20,
            under_overlay=GATE in wanted,
            subdirectory=find_tree(self.request.directory)[1],
        )
        forgotten = uncommitted_waivers(find_tree(self.request.directory)[0], subject)
        self.notes += [*subject.notes, *([forgotten] if forgotten else [])]
        self.guards = subject.guards
        return subject

    def _sandbox(self, subject: Subject) -> Sandbox:
        """Where the tests run: never silently on the host. A Dockerfile is base's, as all policy is."""
        request = self.request
        here = probe(request.python or sys.executable, self.effects.environ, request.directory)
        place, image = request.directory, request.settings.image
        if image and (place / image).is_file():
            of_base = subject.trees[Side.CONTROL] / find_tree(place)[1]
            if (of_base / image).is_file():
                place = of_base
            else:
                self.guards += (f"{image} is new in this change, and makes the image that it is judged in.",)
        sandbox, note = sandbox_for(request.settings, place, self.effects, here)
        if note:
            self.notes.append(note)
        self.sandboxing = Sandboxing(name=sandbox.name, hermetic=sandbox.hermetic, notes=sandbox.notes())
        return sandbox

    def _in(self, directory: Path, subject: Subject, sandbox: Sandbox, wanted: list[str]) -> None:
        request, settings, effects = self.request, self.request.settings, self.effects
        effects.progress.phase("preparing the environment", 1)
        only_recorded = {coverage.GATE, mutation.GATE}.issuperset(wanted)
        workplace = Workplace(
            settings=settings,
            effects=effects,
            sandbox=sandbox,
            here=request.directory,
            directory=directory,
            trees=subject.trees,
            arguments=request.arguments,
            python=request.python,
            base_python=sys.executable,
            cwd_on_path=settings.invocation != "pytest",
            watched=subject.watched,
            product=self._recorded(subject, wanted),
            only_recorded=only_recorded,
            differing=subject.differing_paths,
            same_tests=only_recorded and subject.same_tests,
            test_files=subject.test_files,
        )
        bench, provision = workplace.open()
        self.notes += provision.notes
        self.environment = provision.name
        facts = {**subject.facts, "dependencies": subject.facts["dependencies"] and provision.differing}
        case = Case(
            base_sha=self.pair.base_sha,
            head_sha=self.pair.head_sha,
            packages=provision.packages,
            environment=provision.name,
            command=request.command,
            narrowed=bench.narrowed,
            unbuilt=provision.unbuilt,
            **facts,
        )
        limits = Limits(test_seconds=settings.test_timeout, total_seconds=settings.budget or _COVERAGE_SECONDS)
        asked = None if request.coverage_files else changed_lines(subject.differing)
        runs = Instrumented(bench, limits, self._known_flaky, asked)
        try:
            for gate in wanted:
                effects.progress.phase(f"gate {gate}", 1)
                self.results.append(self._gate(gate, case, bench, subject, runs))
                effects.progress.advance()
            self._write_coverage(subject, runs, directory)
            self._pack(bench, subject, provision, runs)
        finally:
            self.versions = bench.versions()
            bench.close()

    def _recorded(self, subject: Subject, wanted: list[str]) -> Callable[[Side], tuple[str, ...]]:
        """The files of which an instrumented run tells. Mutation reads only changed ones, and each costs time."""
        if coverage.GATE in wanted or self.request.coverage_files:
            return subject.python_files
        return lambda _side: tuple(file.path for file in subject.differing if file.head is not None)

    def _gate(self, gate: str, case: Case, bench: LabBench, subject: Subject, runs: Instrumented) -> GateResult:
        if gate == GATE:
            return self._prove(case, bench)
        if gate == coverage.GATE:
            return self._coverage(case, subject, runs)
        candidates = self._candidates(case, bench)
        if gate == network.GATE:
            return self._network(case, bench, candidates)
        if gate == mutation.GATE:
            return self._mutation(bench, candidates, subject, runs)
        return self._flaky(bench, candidates, subject)

    def _prove(self, case: Case, bench: LabBench) -> GateResult:
        repository = open_repository(self.request.directory, self.effects.environ)
        said = claims(
            describe(self.request.event or {}),
            messages_between(repository, self.pair.base_sha, self.pair.head_sha),
        )
        settings = self.request.settings
        policy = self.request.policy or Policy(
            today=self.effects.now().date(),
            first_seconds=settings.test_timeout,
            total_seconds=settings.budget or 3600.0,
        )
        return prove(case, bench, said, policy)

    def _pack(self, bench: LabBench, subject: Subject, provision: Provision, runs: Instrumented) -> None:
        """Proofs and shown survivors as capsules; whatever ends it, the results are there already."""
        request = self.request
        if request.capsules is None:
            return
        packer = Packer(
            into=request.capsules,
            here=request.directory,
            base=self.pair.base_sha,
            head=self.pair.head_sha,
            settings=request.settings,
            effects=self.effects,
            bench=bench,
            subject=subject,
            provision=provision,
            seconds_of=lambda: runs.head.seconds_of,
        )
        for place, result, notes in packer.all(tuple(self.results)):
            self.results[place] = result
            self.notes += notes

    def _candidates(self, case: Case, bench: LabBench) -> Candidates:
        """The tests of the change. Mutation alone need not know which ids are other ones in each process."""
        with contextlib.suppress(
            CollectionFailed
        ):  # first, since it compiles for head as well; what fails on head is told first
            bench.collect(CONTROL, Conditions())
        head = bench.collect(HEAD, Conditions())
        again = head if bench.only_recorded else bench.collect(HEAD, second_collection())
        base = bench.collect(CONTROL, Conditions())
        return compare(case, base.items, head.items, unstable=set(head.items) ^ set(again.items))

    def _network(self, case: Case, bench: LabBench, candidates: Candidates) -> GateResult:
        head = bench.collect(HEAD, Conditions())
        allowed = {test: item.network for test, item in head.items.items() if item.network}
        budget = self.request.settings.budget
        seconds = budget or _NETWORK_SECONDS
        # With a budget the others as well: what they try is shown, and blocks nothing.
        tests = {test: item.file for test, item in head.items.items() if budget or test in candidates.chosen}
        return network.judge(bench, tests, own=frozenset(candidates.chosen), allowed=allowed, seconds=seconds)

    def _rules(self, subject: Subject) -> coverage.Rules:
        return rules_of(subject.trees[Side.CONTROL], find_tree(self.request.directory)[1], self.request.arguments)

    def _known_flaky(self) -> frozenset[str]:
        tests = self.campaign.with_verdict(Verdict.FLAKY) if self.campaign is not None else ()
        return frozenset(test.id for test in tests)

    def _coverage(self, case: Case, subject: Subject, runs: Instrumented) -> GateResult:
        change = coverage.Subject(
            files=subject.differing,
            same=subject.same,
            rules=self._rules(subject),
            text_of=subject.text,
            module_of=subject.module,
            matters=case.changes_product or case.changes_tests or bool(subject.differing),
            minimum=self.request.settings.min_diff_coverage,
            flaky=self._known_flaky(),
        )
        return coverage.judge(change, runs)

    def _mutation(self, bench: LabBench, candidates: Candidates, subject: Subject, runs: Instrumented) -> GateResult:
        """The mutants of the changed lines, on the run that the coverage gate reads as well."""
        request = self.request
        return judge_mutants(
            subject,
            runs.head,
            bench,
            new_tests=candidates.brought,
            flaky=self._known_flaky(),
            settings=request.settings,
            level=levels_of(request.settings)[mutation.GATE],
            effects=self.effects,
            command=request.command,
            report=request.report,
            least_seconds=request.mutant_seconds,
            keep=self.partial.append,
        )

    def _write_coverage(self, subject: Subject, runs: Instrumented, directory: Path) -> None:
        """The files that were asked for, whatever the gates came to."""
        if not self.request.coverage_files:
            return
        rules, head = self._rules(subject), subject.trees[Side.HEAD]
        product = [path for path in subject.python_files(Side.HEAD) if not rules.leaves_out(path, subject.module(path))]
        write_files(runs.head, rules, head, product, self.request.coverage_files, directory / "coverage-files")

    def _flaky(self, bench: LabBench, candidates: Candidates, subject: Subject) -> GateResult:
        """A campaign over the change's tests; with a budget over the rest as well, these first."""
        own = frozenset(candidates.chosen)
        if not own:
            return flaky.judge(None, own)
        settings = self.request.settings
        request = Request(
            directory=self.request.directory,
            arguments=self.request.arguments,
            settings=settings,
            python=bench.project.interpreter.executable,
            cwd_on_path=settings.invocation != "pytest",
        )
        only = own if settings.budget is None else None
        items = bench.collect(HEAD, Conditions()).items
        lab = bench.plain_lab(HEAD, tuple(dict.fromkeys(items[test].file for test in items if test in (only or ()))))
        with lab:
            self.campaign = scan_in(
                lab, request, self.effects, Head(commit=self.pair.head_sha), (), lab.project.interpreter, only=only
            )
        result = flaky.judge(self.campaign, own)
        if self.campaign.interrupted:  # what it had found is kept; whoever interrupts means all of it
            self.partial.append(result)
            raise KeyboardInterrupt
        return result
