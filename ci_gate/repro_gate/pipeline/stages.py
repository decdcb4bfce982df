"""Runs what the fail-to-pass gate asks for: a lab for each stage, opened when it is first needed.

Belongs here: stages to trees, interpreters and labs. Does not belong here: what to run (gates), and
how it is run (experiment).
"""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.change import leave_unnoticed
from repro_gate.errors import CollectionFailed, DiskFull
from repro_gate.experiment import Job, Lab, Project, forget_bytecode, put_text
from repro_gate.gates.fail_to_pass import Collection, Request, Stage
from repro_gate.model import Conditions, Experiment, ExperimentResult, Side, TestRun
from repro_gate.pipeline.provision import Provision, Room
from repro_gate.sandbox import Sandbox

_CONTROL = Stage(side=Side.CONTROL)
_HEAD = Stage(side=Side.HEAD)
_RECORDED = Stage(side=Side.HEAD, recorded=True)
_NO_SPACE = "[Errno 28]"
_NO_TEMPORARY = "No usable temporary directory"  # what Python makes of a disk that is full from the start
_LEAST_SPACE = 1 << 20  # bytes
_MOST_MADE = 4  # trees made for one question that are kept, for who asks again
_STEP = 0.02  # seconds that one lab is waited for while others work, too
_ALONE = 0.2  # and where none does: what happens is heard at once, and a wait that ends for nothing costs


@dataclass(kw_only=True)
class LabBench:
    """A ``Bench`` over labs. Leave it by ``close``: it ends every process and removes every copy.

    ``project`` holds what is equal for all sides; ``provision`` has the rooms that they run in. ``only_recorded``:
    nobody asks for watched lines or for counters, so nothing is watched, and head's tests are forked where they are
    recorded. ``differing`` are the paths whose texts are not those of base; None where nobody knows, or where pytest is
    set up otherwise. ``same_tests``: no source of a test is another one on base, so none is parsed to compare them.
    """

    project: Project
    sandbox: Sandbox
    trees: Mapping[Side, Path]
    watched: Callable[[Side], Mapping[str, frozenset[int]]]
    provision: Provision
    directory: Path
    jobs: int
    clock: Callable[[], float]
    collect_seconds: float
    progress: Callable[[str], None] = lambda _words: None
    product: Callable[[Side], tuple[str, ...]] = lambda _side: ()
    only_recorded: bool = False
    differing: frozenset[str] | None = None
    same_tests: bool = False
    _labs: dict[Stage, Lab] = field(default_factory=dict, init=False)
    _collected: dict[tuple[Stage, Conditions], Collection] = field(default_factory=dict, init=False)
    _facts: dict[Side, dict[str, str]] = field(default_factory=dict, init=False)
    _compiled: dict[tuple[Side, Side], Lab] = field(default_factory=dict, init=False)

    def expect(self, stage: Stage, conditions: Conditions) -> None:
        """Start on a collection that will be asked for, beside others."""
        stage = self._that_serves(stage)
        if (stage, conditions) not in self._collected:
            self.lab(stage).expect(Experiment(tests=None, conditions=conditions))

    def collect(self, stage: Stage, conditions: Conditions) -> Collection:
        """Collect all selected tests on a stage. Raises CollectionFailed, or DiskFull where that is why."""
        stage = self._that_serves(stage)
        if (stage, conditions) in self._collected:
            return self._collected[stage, conditions]
        self.progress(f"collecting on {_words(stage)}")
        lab = self.lab(stage)
        try:
            facts = lab.collect(Experiment(tests=None, conditions=conditions))
        except CollectionFailed as failed:
            if any(words in failed.details for words in (_NO_SPACE, _NO_TEMPORARY)):
                raise DiskFull(f"No space left in {self.directory} for pytest to start.") from failed
            raise CollectionFailed(
                str(failed), next_step=self._whose_doing(stage, conditions), details=failed.details, side=_words(stage)
            ) from failed
        self._compiled.setdefault((stage.environment, stage.side.origin), lab)
        self._facts.setdefault(
            stage.side,
            {"python": str(facts.hello.get("python", "")), "pytest": str(facts.ready.get("pytest", ""))},
        )
        found = Collection(
            items=facts.items,
            failures=tuple(
                dataclasses.replace(each, place=lab.in_tree(each.node.partition("::")[0]))
                for each in facts.error_causes
            ),
            import_lines=facts.import_lines,
            import_opened=tuple(facts.import_opened),
            import_ran=facts.import_ran,
            python=str(facts.hello.get("python", "")),
            strays=tuple(self._strays(facts.origins)),
        )
        self._collected[stage, conditions] = found
        return found

    def _whose_doing(self, stage: Stage, conditions: Conditions) -> str | None:
        """What to do where pytest gives no list on a side; of head, base is asked whether it has the same trouble."""
        if stage.side is Side.CONTROL:
            return (
                "Base as it is has this, so it is not the change's doing: "
                "make `python -m pytest --collect-only` work on base first."
            )
        if stage.side is not Side.HEAD or stage.lenient:
            return None
        try:
            self.collect(_CONTROL, conditions)
        except (CollectionFailed, DiskFull):
            return (
                "Base's own tests cannot be collected either, so it is not the change's doing alone: "
                "make `python -m pytest --collect-only` work on base first."
            )
        return (
            "Base's own tests are collected, so it is the change's doing: "
            "make `python -m pytest --collect-only` work on head."
        )

    def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
        """Run the requests, those of different stages at the same time;
        of trees made for one, as many as there are jobs.
        """
        ended: list[TestRun] = []
        jobs = [
            Job(experiment=each.experiment, mode=each.mode, files=each.files, on_run=ended.append) for each in requests
        ]
        waiting = list(zip(jobs, requests, strict=True))
        labs: dict[int, Lab] = {}
        where = ", ".join(dict.fromkeys(_words(request.stage) for request in requests))
        tests = sum(len(request.experiment.tests or ()) for request in requests)
        while any(job.result is None for job in jobs):
            waiting = self._submit(waiting, labs)
            self.progress(f"on {where}, {len(ended)} of {tests} runs")
            busy = [lab for lab in labs.values() if lab.busy]
            for lab in busy:
                lab.step(_STEP if len(busy) > 1 else _ALONE)
        if any(_NO_SPACE in run.failure.message for run in ended if run.failure is not None):
            self._refuse_full_disk()
        return [job.result for job in jobs if job.result is not None]

    def _submit(self, waiting: Sequence[tuple[Job, Request]], labs: dict[int, Lab]) -> list[tuple[Job, Request]]:
        """Give to labs what may be begun now; returns the rest.

        A tree of its own each means a process of its own each.
        """
        working = sum(1 for stage, lab in self._labs.items() if stage.replaced and lab.busy)
        left = []
        for job, request in waiting:
            if request.stage.replaced:
                if working >= self.jobs:
                    left.append((job, request))
                    continue
                working += 1
            lab = self.lab(request.stage)
            labs[id(lab)] = lab
            lab.submit(job)
        return left

    def _refuse_full_disk(self) -> None:
        """A test that fails for want of space says nothing, if it is true; some only play it."""
        if shutil.disk_usage(self.directory).free < _LEAST_SPACE:
            raise DiskFull(f"No space left in {self.directory} for the tests themselves.")

    def plain_lab(self, stage: Stage, files: tuple[str, ...] = ()) -> Lab:
        """A lab of its own on a collected stage's tree, in which nothing is watched. The caller opens it.

        ``files`` narrow what it collects, each time.
        """
        room = self.provision.room(stage.environment, stage.side)
        project = dataclasses.replace(self._project(stage, room), source=self.trees[stage.side])
        if files:
            project = dataclasses.replace(project, pytest_args=self.lab(stage).arguments(files))
        return self._new(project)

    def _project(self, stage: Stage, room: Room) -> Project:
        return dataclasses.replace(
            self.project,
            pytest_args=self._arguments(stage),
            interpreter=room.interpreter,
            environment=room.environment,
            import_roots=room.roots,
            shelves=(str(room.shelf),) if room.shelf else (),
            scripts=(str(room.scripts),) if room.scripts else (),
        )

    def _arguments(self, stage: Stage) -> tuple[str, ...]:
        """pytest's arguments; base as it is has not what the change adds, so there files stand for tests."""
        given = self.project.pytest_args
        if stage.side is not Side.CONTROL:
            return given
        kept: list[str] = []
        for argument in given:
            path = argument.partition("::")[0]
            if argument.startswith("-") or not self._there(Side.HEAD, path):
                kept.append(argument)  # an option, or its value
            elif self._there(Side.CONTROL, path) and path not in kept:
                kept.append(path)
        return tuple(kept)

    @property
    def narrowed(self) -> bool:
        """Whether the arguments name paths or tests."""
        given = (argument for argument in self.project.pytest_args if not argument.startswith("-"))
        return any(self._there(Side.HEAD, argument.partition("::")[0]) for argument in given)

    def _there(self, side: Side, path: str) -> bool:
        return (self.trees[side] / self.project.subdirectory / path).exists()

    def _new(self, project: Project, alter: Callable[[Path], None] = lambda _tree: None) -> Lab:
        return Lab(
            project,
            self.sandbox,
            jobs=self.jobs,
            clock=self.clock,
            collect_seconds=self.collect_seconds,
            alter=alter,
        )

    def lab(self, stage: Stage) -> Lab:
        """The lab of a stage, with its own copy of the stage's tree."""
        stage = self._that_serves(stage)
        if stage not in self._labs:
            self._close_idle()
            room = self.provision.room(stage.environment, stage.side)
            watched = stage.watched and not stage.recorded and not self.only_recorded
            project = dataclasses.replace(
                self._project(stage, room),
                source=self.trees[stage.side.origin],
                facts=stage.watched,
                sources=not self.same_tests,
                lenient=stage.lenient,
                counters=watched,
                watch=self.watched(stage.side) if watched else {},
                record=self.product(stage.side) if stage.recorded else (),
                offspring=stage.offspring,
            )
            lab = self._labs[stage] = self._new(project, lambda tree: self._alter(stage, tree)).__enter__()
            self._inherit(stage, lab)
        return self._labs[stage]

    def _inherit(self, stage: Stage, lab: Lab) -> None:
        """What was compiled of the same files: of the same side, or of base.

        Never what a change compiled for base's tree. Of the same side also where pytest's root is.
        """
        own = self._compiled.get((stage.environment, stage.side.origin))
        of_base = self._compiled.get((stage.environment, Side.CONTROL))
        if own is not None:
            lab.inherit_root(own)
            lab.inherit_bytecode(own, _different(stage))
        elif of_base is not None and self.differing is not None:
            lab.inherit_bytecode(of_base, sorted(self.differing.union(_different(stage))))

    def _that_serves(self, stage: Stage) -> Stage:
        """The stage whose processes run what is asked for on this one."""
        return _RECORDED if self.only_recorded and stage == _HEAD else stage

    def _close_idle(self) -> None:
        """Remove the oldest trees that were made, run in fresh processes and are done with:
        there may be one for each mutant.
        """
        collected = {stage for stage, _conditions in self._collected}
        idle = [each for each, lab in self._labs.items() if each.replaced and each not in collected and not lab.busy]
        for stage in idle[: max(0, len(idle) - _MOST_MADE)]:
            self._labs.pop(stage).close()

    def versions(self) -> dict[str, str]:
        """Python and pytest as head's processes said."""
        return self._facts.get(Side.HEAD) or next(iter(self._facts.values()), {})

    def close(self) -> None:
        """End and remove everything."""
        for lab in self._labs.values():
            lab.close()
        self._labs.clear()

    def _alter(self, stage: Stage, tree: Path) -> None:
        """Put files of base or others in the tree of a side: some stages are none of a commit."""
        for path in stage.restored:
            _restore(self.trees[Side.CONTROL] / path, tree / path)
        for path, text in stage.replaced:
            put_text(tree, path, text)
        if different := _different(stage):
            leave_unnoticed(tree, different, self.project.environment)

    def _strays(self, origins: Mapping[str, str]) -> Iterable[str]:
        """Product modules that did not come from the stage's tree."""
        for module, place in sorted(origins.items()):
            if module.partition(".")[0] in self.provision.packages and place.startswith("/"):
                yield f"{module} ({place})"


def _different(stage: Stage) -> list[str]:
    """The paths whose texts are others than in the tree that the stage's is made from."""
    return sorted({*stage.restored, *(path for path, _ in stage.replaced)})


def _restore(old: Path, place: Path) -> None:
    """Let a path be what it is in base's tree."""
    if place.is_symlink() or place.exists():
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
    forget_bytecode(place)
    if old.is_symlink() or old.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(old, place, follow_symlinks=False)


def _words(stage: Stage) -> str:
    words = {
        Side.CONTROL: "base as it is",
        Side.BASE: "base with the new tests",
        Side.HEAD: "head",
        Side.HOLLOW: "head with hollow bodies",
        Side.SURROUNDED: "base's product in head's surroundings",
        Side.NAMED: "base's product with head's names",
        Side.REWORDED: "head in other words",
        Side.DESCRIBED: "head described as base",
        Side.RETOLD: "base's product described as head",
        Side.UNDAUNTED: "base with test files that go on",
    }
    return words[stage.side] + (", lenient" if stage.lenient else "") + (", line by line" if stage.recorded else "")
