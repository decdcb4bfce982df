"""A scan: campaign over what pytest selects, capsules for what it finds, one report."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from repro_gate.change import Head, head, newest_files
from repro_gate.errors import DiskFull
from repro_gate.experiment import Lab
from repro_gate.flake import judge
from repro_gate.flake.brief import Findings, Options
from repro_gate.flake.campaign import Campaign
from repro_gate.flake.values import values
from repro_gate.model import INTERRUPTED, FlakeReport, Sandboxing, TestVerdict
from repro_gate.pipeline.bench import distributions, installed_locales, jobs_of, memory_of, open_lab
from repro_gate.pipeline.publish import Publisher
from repro_gate.pipeline.request import Effects, Request
from repro_gate.report.words import counted
from repro_gate.sandbox import Interpreter


def scan(request: Request, effects: Effects, on_report: Callable[[FlakeReport], None] | None = None) -> FlakeReport:
    """Run a whole scan. An interrupted or cut-short scan still returns what was found, and says so.

    Raises ReproGateError only where nothing was found yet. ``on_report`` sees the report before
    capsules are packed, so that a disk that is full by then loses nothing, and once more with them, so
    that an interrupt while the lab is closed loses nothing either.
    """
    with open_lab(request, effects) as (lab, notes, interpreter):
        return scan_in(lab, request, effects, head(lab.project.original), notes, interpreter, on_report)


def scan_in(
    lab: Lab,
    request: Request,
    effects: Effects,
    commit: Head,
    notes: Sequence[str],
    interpreter: Interpreter,
    on_report: Callable[[FlakeReport], None] | None = None,
    *,
    only: frozenset[str] | None = None,
) -> FlakeReport:
    """``scan`` in a lab that is open already, whose tree is ``commit``; ``only`` these tests, if any are named."""
    settings = request.settings
    began, started_at = effects.monotonic(), effects.now()
    seed = settings.seed if settings.seed is not None else int.from_bytes(effects.random_bytes(3), "big")
    campaign = Campaign(
        lab,
        dataclasses.replace(_options(request, effects, seed, lab), only=only),
        values(started_at.date(), installed_locales(lab)),
        clock=effects.monotonic,
        now=started_at.astimezone(datetime.UTC).replace(tzinfo=None),
        jobs=jobs_of(settings, effects),
        progress=effects.progress,
    )
    try:
        findings = campaign.run()
        verdicts = _despite_interrupt(findings, lambda: judge.verdicts(findings))

        def report(tests: tuple[TestVerdict, ...]) -> FlakeReport:
            return FlakeReport(
                seed=seed,
                runs=findings.runs_done,
                directed_runs=findings.directed_runs,
                hash_seeds=findings.tally.hash_seeds(),
                tests=tests,
                sandbox=Sandboxing(name=lab.sandbox.name, hermetic=lab.sandbox.hermetic, notes=lab.sandbox.notes()),
                mode=str(findings.mode),
                mode_reason=findings.mode_reason,
                python=findings.facts.get("python", interpreter.version),
                pytest=findings.facts.get("pytest", ""),
                seconds=round(effects.monotonic() - began, 2),
                notes=(*notes, *findings.notes),
                skipped_files=lab.skipped_files.all(),
                incomplete=findings.incomplete or _unconfirmed(tests, request) or _unused(findings),
                root=str(lab.project.original / lab.project.subdirectory),
                commit=commit.commit,
                started_at=started_at.isoformat(timespec="seconds"),
            )

        def publisher() -> Publisher:
            return _publisher(request, effects, lab, interpreter, seed, commit)

        tell = on_report or (lambda _: None)
        packing = _Packing(verdicts, findings, campaign, effects)
        packing.run(publisher, lambda: tell(report(verdicts)))
        final = report(packing.verdicts())
        tell(final)
        return final
    finally:
        campaign.close()


def _unconfirmed(tests: tuple[TestVerdict, ...], request: Request) -> str:
    mixed = any(test.unconfirmed for test in tests)
    return "causes were not looked for" if mixed and not request.investigate else ""


def _unused(findings: Findings) -> str:
    """Runs that say nothing are no runs that passed."""
    if not findings.unused_runs:
        return ""
    return f"{counted(findings.unused_runs, 'run')} could not be used (the notes say why)"


def _options(request: Request, effects: Effects, seed: int, lab: Lab) -> Options:
    settings = request.settings
    keep = request.directory / settings.keep_runs if settings.keep_runs else None
    newest = newest_files(lab.project.original, lab.project.subdirectory) if settings.budget else {}
    return Options(
        runs=settings.runs,
        budget=settings.budget,
        seed=seed,
        test_seconds=settings.test_timeout,
        memory_bytes=memory_of(settings, effects),
        replays=settings.replays,
        axes=frozenset(settings.varied),
        fork=request.fork,
        investigate=request.investigate,
        keep_runs=keep,
        newest=newest,
        suspects_first=_passed_on_retry(request.directory),
    )


def _passed_on_retry(directory: Path) -> frozenset[str]:
    """Tests that an ordinary run saw pass only on a retry: the plugin left a note in pytest's cache."""
    try:
        flakes = json.loads((directory / ".pytest_cache/v/repro-gate/retries").read_bytes())
        return frozenset(str(flake["id"]) for flake in flakes)
    except (OSError, ValueError, TypeError, KeyError):
        return frozenset()


def _despite_interrupt(
    findings: Findings, judge_them: Callable[[], tuple[TestVerdict, ...]]
) -> tuple[TestVerdict, ...]:
    """A thing of a moment that is done even so: without it there would be nothing to report."""
    try:
        return judge_them()
    except KeyboardInterrupt:
        findings.incomplete = INTERRUPTED
        return judge_them()


class _Packing:
    """Capsules for what was found. A full disk or an interrupt ends it at any moment, and loses no finding."""

    def __init__(
        self, verdicts: tuple[TestVerdict, ...], findings: Findings, campaign: Campaign, effects: Effects
    ) -> None:
        self._verdicts = verdicts
        self._findings = findings
        self._campaign = campaign
        self._progress = effects.progress
        self._wanted = [v for v in verdicts if v.id in findings.diagnoses and v.cause is not None]
        self._done: dict[str, TestVerdict] = {}

    def run(self, publisher: Callable[[], Publisher], before: Callable[[], None]) -> None:
        """Do ``before``, then pack all."""
        try:
            before()
            if self._wanted:
                self._pack(publisher)
        except DiskFull as full:
            self._findings.incomplete = self._findings.incomplete or str(full)
        except KeyboardInterrupt:
            self._findings.incomplete = INTERRUPTED
        left = len(self._wanted) - len(self._done)
        if left:
            self._findings.notes.append(f"{left} of {counted(len(self._wanted), 'capsule')} not packed")

    def verdicts(self) -> tuple[TestVerdict, ...]:
        """The verdicts, with the capsules that there are."""
        return tuple(self._done.get(verdict.id, verdict) for verdict in self._verdicts)

    def _pack(self, publisher: Callable[[], Publisher]) -> None:
        self._progress.phase("packing capsules", len(self._wanted))
        packer = publisher()
        for verdict in self._wanted:
            diagnosis = self._findings.diagnoses[verdict.id]
            arguments = self._campaign.arguments_of(diagnosis.failing) if diagnosis.failing is not None else ()
            reference, why = packer.publish(diagnosis, arguments, _first_failing_run(self._findings, verdict.id))
            if why:
                self._findings.notes.append(f"{verdict.id}: {why}")
            self._done[verdict.id] = dataclasses.replace(verdict, capsule=reference)
            self._progress.advance()


def _publisher(
    request: Request, effects: Effects, lab: Lab, interpreter: Interpreter, seed: int, commit: Head
) -> Publisher:
    return Publisher(
        directory=request.directory / request.settings.capsules,
        here=request.directory,
        head=commit,
        root=lab.project.subdirectory,
        sandbox=lab.sandbox,
        seed=seed,
        environ=effects.environ,
        redact=request.settings.redact,
        key=effects.random_bytes(32),
        now=effects.stamp,
        distributions=distributions(lab),
        interpreter={"implementation": "CPython", "version": interpreter.version},
        cwd_on_path=lab.project.cwd_on_path,
    )


def _first_failing_run(findings: Findings, test: str) -> int:
    return next((number for number, outcome in findings.tally.rows[test].outcomes() if outcome.bad), 0)
