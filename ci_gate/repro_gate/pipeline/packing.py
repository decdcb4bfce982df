"""What a check packs in the end: its proofs and the survivors that it shows, each as a capsule.

Belongs here: which results are packed, and what every capsule of a check has in common. Does not belong here: how one
is made (proofs, survivors) and written (publish).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from repro_gate.change import Head, head, open_repository
from repro_gate.config import Settings
from repro_gate.gates import fail_to_pass, mutation
from repro_gate.gates.fail_to_pass import Stage
from repro_gate.model import GateResult, GateVerdict, Side
from repro_gate.pipeline.bench import distributions, memory_of
from repro_gate.pipeline.proofs import Packing, pack_proofs, packable
from repro_gate.pipeline.provision import Provision
from repro_gate.pipeline.publish import Publisher
from repro_gate.pipeline.request import Effects
from repro_gate.pipeline.stages import LabBench
from repro_gate.pipeline.subject import Subject
from repro_gate.pipeline.survivors import SurvivorPacking, pack_survivors
from repro_gate.pipeline.survivors import packable as shown

_HEAD = Stage(side=Side.HEAD)


@dataclass(frozen=True, kw_only=True)
class Packer:
    """Packs what a check found into ``into``. ``here`` is where it was asked for; ``base`` and ``head`` are commits.

    ``seconds_of`` is what head's tests took; it is asked for where mutants survived.
    """

    into: Path
    here: Path
    base: str
    head: str
    settings: Settings
    effects: Effects
    bench: LabBench
    subject: Subject
    provision: Provision
    seconds_of: Callable[[], Mapping[str, float]]

    def all(self, results: Sequence[GateResult]) -> Iterator[tuple[int, GateResult, tuple[str, ...]]]:
        """The place of each result that gets capsules, the result after each of them, and notes. Raises DiskFull."""
        for place, result in enumerate(results):
            if result.gate == fail_to_pass.GATE and result.verdict is GateVerdict.PASS:
                self.effects.progress.phase("packing capsules", len(packable(result)))
                packed = pack_proofs(result, self._proofs())
            elif result.gate == mutation.GATE and shown(result):
                self.effects.progress.phase("packing survivors", len(shown(result)))
                packed = pack_survivors(result, self._survivors())
            else:
                continue
            for after, notes in packed:
                yield place, after, notes
                self.effects.progress.advance()

    def _proofs(self) -> Packing:
        return Packing(
            bench=self.bench,
            arguments=self.bench.lab(_HEAD).arguments,
            publisher=self._publisher(),
            provision=self.provision,
            overlay=self.subject.overlay,
            base=self.base,
            times=self.settings.replays,
        )

    def _survivors(self) -> SurvivorPacking:
        return SurvivorPacking(
            bench=self.bench,
            tree=self.subject.trees[Side.HEAD],
            roots=self.provision.room(Side.HEAD, Side.HEAD).roots,
            arguments=self.bench.lab(_HEAD).arguments,
            publisher=self._publisher(),
            policy=mutation.Policy(
                today=self.effects.now().date(),
                clock=self.effects.monotonic,
                budget_seconds=self.settings.mutation_budget,
                least_seconds=self.settings.test_timeout,
                memory_bytes=memory_of(self.settings, self.effects),
            ),
            times=self.settings.replays,
            seconds_of=self.seconds_of(),
        )

    def _publisher(self) -> Publisher:
        return publisher_for(
            self.bench,
            self.effects,
            self.settings,
            into=self.into,
            here=self.here,
            commit=Head(commit=self.head, repository=head(self.here).repository),
        )


def publisher_for(
    bench: LabBench, effects: Effects, settings: Settings, *, into: Path, here: Path, commit: Head
) -> Publisher:
    """What writes capsules of experiments on head's trees.

    Those of a commit have its time: the same finding there is the same capsule, whenever it is found.
    """
    lab = bench.lab(_HEAD)
    clean = bool(commit.commit) and not commit.dirty
    committed = open_repository(here, effects.environ).committed_at(commit.commit) if clean else ""
    return Publisher(
        directory=into,
        here=here,
        head=commit,
        root=lab.project.subdirectory,
        sandbox=lab.sandbox,
        seed=0,
        environ=effects.environ,
        redact=settings.redact,
        key=effects.random_bytes(32),
        now=(lambda: committed) if committed else effects.stamp,
        distributions=distributions(lab),
        interpreter={"implementation": "CPython", "version": lab.project.interpreter.version},
        cwd_on_path=lab.project.cwd_on_path,
    )
