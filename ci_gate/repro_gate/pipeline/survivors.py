"""A survivor as a capsule: tried once more as a replay will try it, and packed; and read back from one.

Belongs here: from a survivor to a manifest and back to a mutant. Does not belong here: what a survivor is (gates), how
one is tried (mutant_run), the file's format (capsule), and printing.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate import __version__, capsule
from repro_gate.capsule.survivor import Patch, Survivor, digest, source_text
from repro_gate.gates.fail_to_pass import Bench, Collection, Request, Stage
from repro_gate.gates.mutation import Policy
from repro_gate.model import (
    CapsuleRef,
    Cause,
    Conditions,
    ExperimentResult,
    GateResult,
    Intervention,
    Mutant,
    MutantOutcome,
    MutantResult,
    Outcome,
    Site,
)
from repro_gate.pipeline.mutant_run import tried
from repro_gate.pipeline.publish import LEVEL, NOT_CONTROLLED, Publisher

_REPLAYS = 14  # of all survivors of a check together: each is a process of its own, beside two for the controls
_FEWEST = 2
_LEAST_SHARE = 1 / 10  # of the gate's time, where mutants have used up all of it


@dataclass(frozen=True, kw_only=True)
class SurvivorPacking:
    """What survivors are packed with. Each must survive so many ``times`` before, fewer where there are many.

    ``tree`` is head's, ``roots`` its folders on sys.path; ``arguments`` makes pytest's of the files to be collected.
    ``seconds_of`` is what tests took, where that is known.
    """

    bench: Bench
    tree: Path
    roots: tuple[str, ...]
    arguments: Callable[[tuple[str, ...]], tuple[str, ...]]
    publisher: Publisher
    policy: Policy
    times: int
    seconds_of: Mapping[str, float] = field(default_factory=dict)


@dataclass(kw_only=True)
class _Recorder:
    """A bench that keeps what it is told, for the capsule's records."""

    bench: Bench
    results: list[ExperimentResult] = field(default_factory=list)

    def expect(self, stage: Stage, conditions: Conditions) -> None:
        self.bench.expect(stage, conditions)

    def collect(self, stage: Stage, conditions: Conditions) -> Collection:
        return self.bench.collect(stage, conditions)

    def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
        found = self.bench.run(requests)
        self.results += found
        return found


def pack_survivors(result: GateResult, packing: SurvivorPacking) -> Iterator[tuple[GateResult, tuple[str, ...]]]:
    """The result after each shown survivor that was packed, and notes on those that were not. Raises DiskFull.

    They have what the gate has left of its time, and at least a tenth of all of it.
    """
    survivors = packable(result)
    packing = dataclasses.replace(packing, times=min(packing.times, max(_FEWEST, _REPLAYS // max(1, len(survivors)))))
    time = _Time.left_of(result, packing)
    left_out: list[str] = []
    for survivor in survivors:
        report = result.mutation
        assert report is not None
        if not time.enough_for(survivor):
            left_out.append(survivor.mutant.id)
            continue
        with time.learning(survivor):
            reference, why = packed(survivor, report.sources[survivor.mutant.file], packing)
        tested = tuple(dataclasses.replace(t, capsule=reference) if t is survivor else t for t in report.tested)
        result = dataclasses.replace(result, mutation=dataclasses.replace(report, tested=tested))
        yield result, (f"mutant {survivor.mutant.id}: no capsule: {why}",) if why else ()
    if left_out:
        yield result, (_no_time(left_out),)


@dataclass(kw_only=True)
class _Time:
    """Until when survivors are packed, and what packing one is expected to take."""

    packing: SurvivorPacking
    deadline: float
    starting: float = 0.0  # seconds of one beside its tests, at most until now

    @classmethod
    def left_of(cls, result: GateResult, packing: SurvivorPacking) -> _Time:
        budget = packing.policy.budget_seconds
        spent = result.mutation.seconds if result.mutation is not None else 0.0
        return cls(packing=packing, deadline=packing.policy.clock() + max(_LEAST_SHARE * budget, budget - spent))

    def enough_for(self, survivor: MutantResult) -> bool:
        return self.packing.policy.clock() + self._tests(survivor) + self.starting < self.deadline

    @contextmanager
    def learning(self, survivor: MutantResult) -> Iterator[None]:
        """While it is packed."""
        began = self.packing.policy.clock()
        yield
        took = self.packing.policy.clock() - began
        self.starting = max(self.starting, took - self._tests(survivor))

    def _tests(self, survivor: MutantResult) -> float:
        """Seconds of its tests: each time, and once as they are."""
        seconds = sum(self.packing.seconds_of.get(test, 0.0) for test in survivor.selection)
        return (1 + self.packing.times) * seconds


def _no_time(mutants: Sequence[str]) -> str:
    one = len(mutants) == 1
    return (
        f"{len(mutants)} {'survivor has' if one else 'survivors have'} no capsule for want of time (`mutation-budget`): "
        f"`repro-gate mutant capsule ID` packs {'it' if one else 'one'} later ({', '.join(mutants)})"
    )


def packable(result: GateResult) -> list[MutantResult]:
    """The survivors of a result of which there are to be capsules: those that are shown, in that order."""
    report = result.mutation
    if report is None:
        return []
    survivors = {each.mutant.id: each for each in report.survivors}
    return [survivors[mutant] for mutant in report.shown if mutant in survivors]


def packed(survivor: MutantResult, source: str, packing: SurvivorPacking) -> tuple[CapsuleRef | None, str]:
    """Try it again, so many times, and pack it; or None and the reason. Raises DiskFull."""
    mutant, times, tests = survivor.mutant, packing.times, survivor.selection
    data = (packing.tree / mutant.file).read_bytes()
    if source_text(data) != source:
        return None, f"{mutant.file} is no text in the encoding that it declares"
    recorder = _Recorder(bench=packing.bench)
    results = tried(mutant, source, tests, recorder, packing.policy, times)
    other = next((each for each in results if each.outcome is not MutantOutcome.SURVIVED), None)
    if other is not None:
        why = other.why or f"by {', '.join(other.killed_by[:3])}"
        return None, f"tried {times} times on its tests alone, it did not survive each time: {other.outcome}, {why}"
    manifest = _manifest(mutant, source, data, tests, packing)
    return packing.publisher.written(manifest, recorder.results, {})


def _manifest(
    mutant: Mutant, source: str, data: bytes, tests: tuple[str, ...], packing: SurvivorPacking
) -> capsule.Manifest:
    publisher, times, neutral = packing.publisher, packing.times, Conditions.baseline()
    files = tuple(dict.fromkeys(test.partition("::")[0] for test in tests))
    rows = (("with the mutant", 0, times), ("as it is", 0, 1), ("with a file that raises at once", 1, 1))
    return capsule.Manifest(
        producer=capsule.Producer(name="repro-gate", version=__version__),
        project=capsule.Project(
            repository=publisher.head.repository,
            commit=publisher.head.commit,
            dirty=publisher.head.dirty,
            root=publisher.root,
        ),
        tests=tests,
        victim=tests[-1],
        pytest_args=packing.arguments(files),
        invocation="python -m pytest" if publisher.cwd_on_path else "pytest",
        conditions=neutral,
        expected=capsule.Expected(outcome=Outcome.PASSED),
        cause=Cause(
            axis=None,
            detail="no test notices the mutant",
            table=tuple(
                Intervention(what=what, conditions=neutral, tests=tests, failed=failed, of=of)
                for what, failed, of in rows
            ),
        ),
        determinism=capsule.Determinism(
            level=LEVEL, not_controlled=NOT_CONTROLLED, verified=capsule.Verified(k=times, of=times), pinned=True
        ),
        sandbox=capsule.Sandbox(name=publisher.sandbox.name, hermetic=publisher.sandbox.hermetic),
        provenance=capsule.Provenance(seed=publisher.seed, run=0),
        mutant=Survivor(
            id=mutant.id,
            file=mutant.file,
            sha256=digest(data),
            patch=Patch.between(source, mutant.text),
            operator=mutant.operator,
            qualname=mutant.qualname,
            original=mutant.original,
            mutated=mutant.mutated,
            hint=mutant.hint,
            import_roots=tuple(dict.fromkeys(packing.roots)),
            test_seconds=math.ceil(packing.policy.least_seconds),
        ),
    )


def mutant_of(survivor: Survivor, data: bytes, commit: str = "") -> tuple[Mutant, str]:
    """The mutant of a capsule, and the text that it is made of.

    Raises CapsuleRefused where the file is not ``commit``'s.
    """
    source, text = survivor.texts(data, commit)
    line = survivor.patch.line
    mutant = Mutant(
        id=survivor.id,
        file=survivor.file,
        line=line,
        end_line=line + max(0, len(survivor.patch.removed) - 1),
        operator=survivor.operator,
        qualname=survivor.qualname,
        original=survivor.original,
        mutated=survivor.mutated,
        nth=1,
        site=Site.IMPORT,  # it is only ever tried on disk
        text=text,
        hint=survivor.hint,
    )
    return mutant, source
