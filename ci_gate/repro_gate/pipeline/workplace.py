"""Where two commits of a project are run: a directory for their trees, their environment, their bench.

Belongs here: what a check and the replay of a proof set up alike. Does not belong here: what is run
there (gates), and which trees there are (subject).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.config import Settings
from repro_gate.experiment import Project, find_tree, tree_wipe
from repro_gate.model import Side
from repro_gate.pipeline.bench import jobs_of
from repro_gate.pipeline.provision import Provider, Provision
from repro_gate.pipeline.request import Effects
from repro_gate.pipeline.stages import LabBench
from repro_gate.sandbox import Sandbox

Watched = Callable[[Side], Mapping[str, frozenset[int]]]


def _nothing(_side: Side) -> Mapping[str, frozenset[int]]:
    return {}


def _no_files(_side: Side) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True, kw_only=True)
class Workplace:
    """``here`` is where the user stands in the checkout, ``directory`` where everything is written.

    ``python`` None: an environment is made from what the trees declare, on ``base_python``.
    """

    settings: Settings
    effects: Effects
    sandbox: Sandbox
    here: Path
    directory: Path
    trees: Mapping[Side, Path]
    arguments: tuple[str, ...]
    python: str | None
    base_python: str
    cwd_on_path: bool
    watched: Watched = field(default=_nothing)
    product: Callable[[Side], tuple[str, ...]] = field(default=_no_files)
    only_recorded: bool = False
    differing: frozenset[str] | None = None
    same_tests: bool = False
    test_files: tuple[str, ...] = ()

    def open(self) -> tuple[LabBench, Provision]:
        """The bench, to be closed by the caller. Raises PrepareFailed, MissingTool, ConfigError or DiskFull."""
        settings, effects = self.settings, self.effects
        provider = Provider(
            settings=settings, effects=effects, sandbox=self.sandbox, here=self.here, directory=self.directory
        )
        provision = provider.provide(self.trees, self.python, self.base_python)
        tree, subdirectory = find_tree(self.here)
        room = provision.room(Side.HEAD, Side.HEAD)
        project = Project(
            original=tree,
            subdirectory=subdirectory,
            pytest_args=self.arguments,
            interpreter=room.interpreter,
            environment=room.environment,
            cwd_on_path=self.cwd_on_path,
            exclude=settings.exclude,
            max_tree_bytes=settings.max_tree_mib * 2**20,
            network=settings.network,
            test_files=self.test_files,
        )
        bench = LabBench(
            project=project,
            sandbox=self.sandbox,
            trees=self.trees,
            watched=self.watched,
            product=self.product,
            only_recorded=self.only_recorded,
            differing=self.differing,
            same_tests=self.same_tests,
            provision=provision,
            directory=self.directory,
            jobs=jobs_of(settings, effects),
            clock=effects.monotonic,
            collect_seconds=settings.collect_timeout,
            progress=lambda words: effects.progress.advance(0.0, words),
        )
        return bench, provision


@contextmanager
def place_for_trees() -> Iterator[Path]:
    """A place for trees that goes at the end, whatever happens."""
    place = Path(tempfile.mkdtemp(prefix="rg-check-"))
    try:
        yield place
    finally:
        tree_wipe(place)
