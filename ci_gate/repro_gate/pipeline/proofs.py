"""A proof as a capsule: tried once more as a replay will try it, and packed; and replayed from one.

Belongs here: from a proof to a manifest and back to trees and experiments. Does not belong here: what
a proof is (gates), the file's format (capsule), and printing.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from repro_gate import __version__, capsule
from repro_gate.capsule.proof import REASONS, LaidFile, LaidText, Proof
from repro_gate.capsule.replay import Replay, green, red
from repro_gate.change import Entry, Graft, Kind, Overlay, Repository, named_commit, open_repository
from repro_gate.config import Settings
from repro_gate.errors import HistoryMissing
from repro_gate.gates.fail_to_pass import Bench, Request, Stage
from repro_gate.model import (
    CapsuleRef,
    Cause,
    Experiment,
    ExperimentResult,
    GateResult,
    Intervention,
    Lenient,
    Limits,
    Mode,
    Outcome,
    Proved,
    Side,
    TestRun,
)
from repro_gate.model.check import abbreviated
from repro_gate.pipeline.bench import sandbox_for
from repro_gate.pipeline.provision import Provision
from repro_gate.pipeline.publish import LEVEL, NOT_CONTROLLED, Publisher
from repro_gate.pipeline.request import Effects
from repro_gate.pipeline.stages import LabBench
from repro_gate.pipeline.subject import write_trees
from repro_gate.pipeline.workplace import Workplace, place_for_trees
from repro_gate.sandbox import probe

MOST = 20
_REPLAYS = 25  # a side, of all proofs of a check together: each is a process of its own
_FEWEST = 2
SECONDS = 300
HEAD = Stage(side=Side.HEAD)


@dataclass(frozen=True, kw_only=True)
class Packing:
    """What proofs are packed with. Each is tried so many ``times`` on each side before, fewer where there are many.

    ``arguments`` makes pytest's of the files that are to be collected.
    """

    bench: Bench
    arguments: Callable[[tuple[str, ...]], tuple[str, ...]]
    publisher: Publisher
    provision: Provision
    overlay: Overlay
    base: str
    times: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """The same test on base and on head, so many times each."""

    base: tuple[ExperimentResult, ...]
    head: tuple[ExperimentResult, ...]


# Packing


def pack_proofs(result: GateResult, packing: Packing) -> Iterator[tuple[GateResult, tuple[str, ...]]]:
    """The result after each proof that was packed, and notes on those that were not. Raises DiskFull."""
    provable = packable(result)
    share = max(_FEWEST, _REPLAYS // max(1, len(provable[:MOST])))
    packing = dataclasses.replace(packing, times=min(packing.times, share))
    for proof in provable[:MOST]:
        reference, why = _packed(proof, packing)
        proved = tuple(dataclasses.replace(p, capsule=reference) if p.id == proof.id else p for p in result.proved)
        result = dataclasses.replace(result, proved=proved)
        yield result, (f"{proof.id}: no capsule: {why}",) if why else ()
    if len(provable) > MOST:
        yield result, (f"{len(provable) - MOST} more proofs have no capsule: {MOST} are packed at most",)


def packable(result: GateResult) -> list[Proved]:
    """The proofs of a result of which there can be capsules."""
    return [proof for proof in result.proved if proof.reason in REASONS]


def _packed(proof: Proved, packing: Packing) -> tuple[CapsuleRef | None, str]:
    seconds = math.ceil(proof.seconds) if proof.seconds else SECONDS
    whose = Side.BASE if proof.by_dependency else Side.HEAD
    stage = Stage(side=Side.BASE, lenient=proof.lenient, environment=whose)
    experiment = Experiment(
        tests=proof.tests or (proof.id,), conditions=proof.conditions, limits=Limits(test_seconds=float(seconds))
    )
    files = (proof.file,) if proof.file and len(proof.tests) < 2 else ()
    sides = run_sides(packing.bench, stage, experiment, packing.times, files=files)
    expected = expected_on_base(sides.base, proof.id)
    if expected is None:
        return None, f"tried {packing.times} times on base in processes of its own, it did not fail alike each time"
    manifest = _manifest(proof, packing, sides, expected, seconds, packing.arguments(files))
    if manifest.proof is None or manifest.proof.passed < packing.times:
        return None, f"tried {packing.times} times on head in processes of its own, it did not pass each time"
    (first, *_) = _runs(sides.base, proof.id)
    evidence = {"failure": first.failure.to_json() if first.failure else {}, "conditions-diff": {}}
    return packing.publisher.written(manifest, (*sides.base, *sides.head), evidence)


def run_sides(bench: Bench, stage: Stage, experiment: Experiment, times: int, *, files: tuple[str, ...] = ()) -> Sides:
    """Fresh processes on both sides. A limit is base's: it is there for what hangs."""
    patient = dataclasses.replace(experiment, limits=Limits(test_seconds=float(SECONDS)))
    asked = [
        Request(stage=side, experiment=what, mode=Mode.FRESH, files=files)
        for _ in range(times)
        for side, what in ((stage, experiment), (HEAD, patient))
    ]
    results = bench.run(asked)
    return Sides(base=tuple(results[::2]), head=tuple(results[1::2]))


def expected_on_base(results: Sequence[ExperimentResult], test: str) -> capsule.Expected | None:
    """What each of the runs came to, as far as they agree; None where one did not fail, or by another exception."""
    runs = _runs(results, test)
    outcomes = {run.outcome for run in runs}
    if len(runs) < len(results) or len(outcomes) != 1 or not runs[0].outcome.bad:
        return None
    failure, outcome = runs[0].failure, runs[0].outcome
    if failure is None or outcome in (Outcome.TIMEOUT, Outcome.CRASHED):  # where it hangs is another place each time
        return capsule.Expected(outcome=outcome, message=failure.message if failure else "")
    if {run.failure.type for run in runs if run.failure} != {failure.type}:
        return None
    same = {run.failure.fingerprint for run in runs if run.failure} == {failure.fingerprint}
    return capsule.Expected(
        outcome=outcome,
        fingerprint=failure.fingerprint if same else "",
        message=failure.message,
        type=failure.type,
    )


def _runs(results: Sequence[ExperimentResult], test: str) -> list[TestRun]:
    return [run for result in results if (run := result.of(test)) is not None]


def _manifest(
    proof: Proved,
    packing: Packing,
    sides: Sides,
    expected: capsule.Expected,
    seconds: int,
    arguments: tuple[str, ...],
) -> capsule.Manifest:
    publisher, times = packing.publisher, packing.times
    tests = proof.tests or (proof.id,)
    passed = sum(run.outcome is Outcome.PASSED for run in _runs(sides.head, proof.id))
    roots = [root for side in (Side.BASE, Side.HEAD) for root in packing.provision.room(Side.HEAD, side).roots]
    rows = (("base with head's tests", times), ("head", times - passed))
    return capsule.Manifest(
        producer=capsule.Producer(name="repro-gate", version=__version__),
        project=capsule.Project(
            repository=publisher.head.repository, commit=publisher.head.commit, dirty=False, root=publisher.root
        ),
        tests=tests,
        victim=proof.id,
        pytest_args=arguments,
        invocation="python -m pytest" if publisher.cwd_on_path else "pytest",
        conditions=proof.conditions,
        expected=expected,
        cause=Cause(
            axis=None,
            detail=f"fails without the change: {proof.reason}",
            table=tuple(
                Intervention(what=what, conditions=proof.conditions, tests=tests, failed=failed, of=times)
                for what, failed in rows
            ),
        ),
        determinism=capsule.Determinism(
            level=LEVEL,
            not_controlled=NOT_CONTROLLED,
            verified=capsule.Verified(k=times, of=times),
            pinned=True,
        ),
        sandbox=capsule.Sandbox(name=publisher.sandbox.name, hermetic=publisher.sandbox.hermetic),
        provenance=capsule.Provenance(seed=publisher.seed, run=0),
        proof=Proof(
            base=packing.base,
            reason=proof.reason,
            files=tuple(LaidFile(path=e.path, mode=str(e.kind), sha=e.sha) for e in packing.overlay.writes),
            texts=tuple(LaidText(path=g.path, text=g.content.decode("utf-8")) for g in packing.overlay.grafts),
            removed=packing.overlay.deletes,
            passed=passed,
            of=times,
            environment=packing.provision.name,
            own_environment=proof.by_dependency,
            import_roots=tuple(dict.fromkeys(roots)),
            lenient=_own(proof.lenient or Lenient(), proof),
            test_seconds=seconds,
        ),
    )


def _own(lenient: Lenient, proof: Proved) -> Lenient:
    """What the files of a proof may lack, of what those of all tests may."""
    return dataclasses.replace(lenient, tests=lenient.tests & {proof.id, *proof.tests})


# Replaying


@dataclass(frozen=True, kw_only=True)
class ProofReplay:
    """A proof to be replayed in a checkout: ``directory`` is where pytest runs in it.

    ``head`` stands in for the capsule's own. ``python`` None: an environment is made from what the trees declare.
    """

    manifest: capsule.Manifest
    proof: Proof
    directory: Path
    head: str | None
    settings: Settings
    python: str | None
    effects: Effects


@contextmanager
def opened(replay: ProofReplay) -> Iterator[tuple[LabBench, tuple[str, ...]]]:
    """The bench with both sides' trees, and notes. Raises HistoryMissing, UsageError, PrepareFailed and others."""
    settings, effects = replay.settings, replay.effects
    repository = open_repository(replay.directory, effects.environ)
    head = named_commit(repository, replay.head) if replay.head else replay.manifest.project.commit
    with place_for_trees() as directory:
        trees, notes = trees_of(
            replay.manifest, replay.proof, head, repository, directory, max_bytes=settings.max_tree_mib * 2**20
        )
        here = probe(replay.python or sys.executable, effects.environ, repository.top)
        sandbox, note = sandbox_for(settings, repository.top, effects, here, settle_for_host=True)
        try:
            workplace = Workplace(
                settings=settings,
                effects=effects,
                sandbox=sandbox,
                here=replay.directory,
                directory=directory,
                trees=trees,
                arguments=replay.manifest.pytest_args,
                python=replay.python,
                base_python=sys.executable,
                cwd_on_path=replay.manifest.cwd_on_path,
            )
            bench, provision = workplace.open()
            try:
                yield bench, (*notes, *([note] if note else []), *provision.notes, *_other(replay, provision))
            finally:
                bench.close()
        finally:
            sandbox.close()


def _other(replay: ProofReplay, provision: Provision) -> Iterator[str]:
    """In what these environments are not those of the capsule."""
    if replay.proof.own_environment and not provision.differing:
        yield "the proof rests on another dependency, and both sides have the same environment here"
    if replay.python is None and provision.name != replay.proof.environment:
        made = f"{abbreviated(provision.name, 12)} here, {abbreviated(replay.proof.environment, 12)} in the capsule"
        yield f"the environment is another one than the proof was made in: {made}"


def trees_of(
    manifest: capsule.Manifest, proof: Proof, head: str, repository: Repository, directory: Path, *, max_bytes: int
) -> tuple[Mapping[Side, Path], tuple[str, ...]]:
    """The trees of a proof from the checkout's own objects. Raises HistoryMissing for a commit that is not there."""
    for name, commit in (("base", proof.base), ("head", manifest.project.commit)):
        if not repository.has(f"{commit}^{{tree}}"):
            raise HistoryMissing(
                f"The proof's {name} {commit} is not in {repository.top}.",
                next_step=f"`git fetch origin {commit}` there, then run the same command again.",
            )
    overlay = Overlay(
        writes=tuple(Entry(path=each.path, kind=Kind.of(each.mode), sha=each.sha) for each in proof.files),
        grafts=tuple(Graft(path=each.path, content=each.text.encode("utf-8")) for each in proof.texts),
        deletes=proof.removed,
    )
    return write_trees(repository, proof.base, head, overlay, directory, max_bytes=max_bytes)


def replay_proof(
    manifest: capsule.Manifest, proof: Proof, bench: Bench, times: int, each: Callable[[Replay, Replay], None]
) -> list[tuple[Replay, Replay]]:
    """Red and green, in fresh processes, one pair after another; ``each`` hears of every one as it ends."""
    whose = Side.BASE if proof.own_environment else Side.HEAD
    stage = Stage(side=Side.BASE, lenient=proof.lenient or None, environment=whose)
    limits = Limits(test_seconds=float(proof.test_seconds))
    experiment = Experiment(tests=manifest.tests, conditions=manifest.conditions, limits=limits)
    done: list[tuple[Replay, Replay]] = []
    for _ in range(times):
        sides = run_sides(bench, stage, experiment, 1)
        pair = red(manifest, sides.base[0]), green(manifest, sides.head[0])
        done.append(pair)
        each(*pair)
    return done
