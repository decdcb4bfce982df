"""Pack a capsule for each confirmed finding. What cannot be packed says why, and loses nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro_gate import __version__, capsule
from repro_gate.capsule.entrypoint import REPRO_SH
from repro_gate.change import Head
from repro_gate.errors import CapsuleRefused, SecretFound, UsageError, disk_full
from repro_gate.experiment import plugin_files
from repro_gate.flake.trial import Count, Diagnosis, Setup
from repro_gate.model import CapsuleRef, Conditions, ExperimentResult, Outcome
from repro_gate.pipeline import own_folder
from repro_gate.sandbox import Sandbox

LEVEL = "D1"
NOT_CONTROLLED = ("thread schedule", "memory addresses", "clocks outside of Python", "speed of the machine")


@dataclass(frozen=True, kw_only=True)
class Publisher:
    """Writes capsules into a directory. ``key`` makes redaction tags, ``now`` is an RFC 3339 time."""

    directory: Path
    here: Path
    head: Head
    root: str
    sandbox: Sandbox
    seed: int
    environ: Mapping[str, str]
    redact: tuple[str, ...]
    key: bytes
    now: Callable[[], str]
    distributions: tuple[str, ...]
    interpreter: Mapping[str, str]
    cwd_on_path: bool = True

    def publish(
        self, diagnosis: Diagnosis, arguments: tuple[str, ...], first_run: int
    ) -> tuple[CapsuleRef | None, str]:
        """The capsule of one diagnosis, or None and the reason. Raises DiskFull."""
        setup, fails = diagnosis.failing, diagnosis.fails
        if setup is None or fails is None or diagnosis.cause is None or not fails.bad:
            return None, ""
        expected = _expected(fails)
        determinism = _determinism(expected, fails, diagnosis.busy)
        manifest = capsule.Manifest(
            producer=capsule.Producer(name="repro-gate", version=__version__),
            project=capsule.Project(
                repository=self.head.repository, commit=self.head.commit, dirty=self.head.dirty, root=self.root
            ),
            tests=setup.tests,
            victim=setup.tests[-1],
            partners=setup.partners,
            pytest_args=arguments,
            invocation="python -m pytest" if self.cwd_on_path else "pytest",
            conditions=setup.conditions,
            expected=expected,
            cause=diagnosis.cause,
            determinism=determinism,
            sandbox=capsule.Sandbox(name=self.sandbox.name, hermetic=self.sandbox.hermetic),
            provenance=capsule.Provenance(seed=self.seed, run=first_run),
        )
        reference, refused = self.written(manifest, diagnosis.history, _evidence(diagnosis, fails, setup))
        return reference, f"no capsule: {refused}" if refused else ""

    def written(
        self, manifest: capsule.Manifest, history: Sequence[ExperimentResult], evidence: Mapping[str, Any]
    ) -> tuple[CapsuleRef | None, str]:
        """What is to be told of a capsule that is written now, or None and why it may not be. Raises DiskFull."""
        there = {path.name for path in self.directory.glob("capsule-*.zip")}
        try:
            path = self._pack(manifest, history, evidence)
        except (SecretFound, CapsuleRefused, UsageError) as refused:
            return None, str(refused)
        held = manifest.determinism
        reference = CapsuleRef(
            path=self.shown(path),
            id=path.stem.removeprefix("capsule-"),
            pinned=held.pinned,
            determinism=held.level,
            replayed=held.verified.k,
            of=held.verified.of,
            known=path.name in there,
        )
        return reference, ""

    def shown(self, path: Path) -> str:
        """The path as the user would type it where the scan ran."""
        return os.path.relpath(path, self.here) if path.is_relative_to(self.here) else str(path)

    def _pack(
        self, manifest: capsule.Manifest, history: Sequence[ExperimentResult], evidence: Mapping[str, Any]
    ) -> Path:
        """Write a capsule. Raises SecretFound, CapsuleRefused, DiskFull, or UsageError where it may not be written."""
        redactor = capsule.Redactor(capsule.POLICY, self.key, capsule.secret_literals(self.environ, self.redact))
        parts = capsule.CapsuleParts(
            manifest=manifest,
            repro_sh=REPRO_SH,
            plugin_files=plugin_files(),
            environment=capsule.describe(self.environ, self.distributions, interpreter=self.interpreter),
            runs=[capsule.run_record(number, result) for number, result in enumerate(history)],
            logs=[record for number, result in enumerate(history) for record in capsule.log_records(number, result)],
            evidence=evidence,
        )
        try:
            self._make_directory()
            return capsule.pack(parts, redactor, self.directory, self.now())
        except OSError as broken:
            raise disk_full(broken, str(self.directory)) or UsageError(
                f"Cannot write capsules to {self.directory}: {broken.strerror}.",
                next_step="Name a directory that you may write to with `--capsules`.",
            ) from broken

    def _make_directory(self) -> None:
        if self.directory.is_relative_to(self.here / own_folder.FOLDER):
            own_folder.make(self.here)
        self.directory.mkdir(parents=True, exist_ok=True)


def _evidence(diagnosis: Diagnosis, fails: Count, setup: Setup) -> dict[str, Any]:
    """What is seen of a diagnosis without running it: the failure, network attempts, and what differs in conditions."""
    seen = next(run for run in fails.runs if run.outcome.bad)
    passing = diagnosis.passes.results[0].experiment.conditions if diagnosis.passes else Conditions.baseline()
    return {
        "failure": seen.failure.to_json() if seen.failure is not None else {},
        "network": list(seen.evidence.network) if seen.evidence is not None else [],
        "conditions-diff": {
            axis: {"failing": setup.conditions.axis(axis), "passing": passing.axis(axis)}
            for axis in setup.conditions.differences(passing)
        },
    }


def _expected(fails: Count) -> capsule.Expected:
    """The failure seen most often."""
    counts = fails.fingerprints()
    best = max(counts, key=lambda fingerprint: counts[fingerprint]) if counts else ""
    for run in fails.runs:
        if run.outcome.bad and (not best or (run.failure is not None and run.failure.fingerprint == best)):
            if run.failure is None:
                return capsule.Expected(outcome=run.outcome)
            return capsule.Expected(
                outcome=run.outcome, fingerprint=best, message=run.failure.message, type=run.failure.type
            )
    return capsule.Expected(outcome=Outcome.FAILED)


def _same(count: Count, expected: capsule.Expected) -> int:
    """How often the expected failure was seen."""
    return count.fingerprints().get(expected.fingerprint, 0) if expected.fingerprint else count.bad


def _determinism(expected: capsule.Expected, fails: Count, busy: Count | None) -> capsule.Determinism:
    """Pinned: each replay failed alike, and so did each one beside other work, where that was tried."""
    same = _same(fails, expected)
    why = ""
    if not (fails.always_bad and same == fails.of):
        why = f"under these conditions it failed {fails.bad} of {fails.of} times"
        if fails.always_bad:
            why += f", but only {same} times in the same way"
        why += ": something decides that is not controlled"
    elif busy is not None and _same(busy, expected) < busy.of:
        why = f"beside other work on the processor it failed so {_same(busy, expected)} of {busy.of} times"
    every = fails if busy is None else fails.plus(busy)
    return capsule.Determinism(
        level=LEVEL,
        not_controlled=NOT_CONTROLLED,
        verified=capsule.Verified(k=_same(every, expected), of=every.of),
        pinned=not why,
        rate=round(every.bad / every.of, 4) if why else None,
        why=why,
    )
