"""A scan: campaign over what pytest selects, capsules for what it finds, one report."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.change import Head, head, newest_files
from repro_gate.config import Settings
from repro_gate.errors import DiskFull, MissingTool, ReproGateError
from repro_gate.experiment import Lab, Project, find_tree, visible_environment
from repro_gate.flake import judge
from repro_gate.flake.brief import Findings, Options, Progress, Silent
from repro_gate.flake.campaign import Campaign
from repro_gate.flake.values import values
from repro_gate.model import FlakeReport, Sandboxing, TestVerdict
from repro_gate.pipeline.publish import Publisher
from repro_gate.process import run
from repro_gate.report.words import counted
from repro_gate.sandbox import Interpreter, choose, probe


@dataclass(frozen=True, kw_only=True)
class Effects:
    """What a job needs from the world. ``monotonic`` in seconds, ``now`` with a time zone."""

    environ: Mapping[str, str]
    monotonic: Callable[[], float]
    now: Callable[[], datetime.datetime]
    random_bytes: Callable[[int], bytes]
    cores: int
    free_memory: Callable[[], int]
    progress: Progress = dataclasses.field(default_factory=Silent)


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What to scan: pytest is run in ``directory`` with ``arguments``. ``fork``: None decides by itself."""

    directory: Path
    arguments: tuple[str, ...]
    settings: Settings
    python: str
    fork: bool = True
    cwd_on_path: bool = True
    investigate: bool = True


def scan(request: Request, effects: Effects, on_report: Callable[[FlakeReport], None] | None = None) -> FlakeReport:
    """Run a whole scan. An interrupted or cut-short scan still returns what was found, and says so.

    Raises ReproGateError only where nothing was found yet. ``on_report`` sees the report before
    capsules are packed, so that a disk that is full by then loses nothing.
    """
    settings = request.settings
    began, started_at = effects.monotonic(), effects.now()
    seed = settings.seed if settings.seed is not None else int.from_bytes(effects.random_bytes(3), "big")
    lab, notes, interpreter = open_lab(request, effects)
    with lab:
        campaign = Campaign(
            lab,
            _options(request, effects, seed, lab),
            values(started_at.date(), _installed_locales()),
            clock=effects.monotonic,
            today=started_at.date(),
            jobs=_jobs(settings, effects),
            progress=effects.progress,
        )
        try:
            findings = campaign.run()
            verdicts = judge.verdicts(findings)
            commit = head(lab.project.original)

            def report(tests: tuple[TestVerdict, ...]) -> FlakeReport:
                return FlakeReport(
                    seed=seed,
                    runs=findings.runs_done,
                    directed_runs=findings.directed_runs,
                    tests=tests,
                    sandbox=Sandboxing(name=lab.sandbox.name, hermetic=lab.sandbox.hermetic, notes=lab.sandbox.notes()),
                    mode=str(findings.mode),
                    mode_reason=findings.mode_reason,
                    python=findings.facts.get("python", interpreter.version),
                    pytest=findings.facts.get("pytest", ""),
                    seconds=round(effects.monotonic() - began, 2),
                    notes=(*notes, *findings.notes),
                    incomplete=findings.incomplete or _unconfirmed(tests, request) or _unused(findings),
                    root=str(lab.project.original / lab.project.subdirectory),
                    commit=commit.commit,
                    started_at=started_at.isoformat(timespec="seconds"),
                )

            if on_report is not None:
                on_report(report(verdicts))
            verdicts = _publish(verdicts, findings, campaign, request, effects, lab, interpreter, seed, commit)
            return report(verdicts)
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


def open_lab(request: Request, effects: Effects) -> tuple[Lab, list[str], Interpreter]:
    """The lab for a request, and notes on what it will be like."""
    settings = request.settings
    sandbox, note = choose(settings.sandbox)
    interpreter = probe(request.python, effects.environ, request.directory)
    environment, withheld = visible_environment(
        effects.environ, user_base=interpreter.user_base, allow=settings.pass_env
    )
    tree, subdirectory = find_tree(request.directory)
    project = Project(
        original=tree,
        subdirectory=subdirectory,
        pytest_args=request.arguments,
        interpreter=interpreter,
        environment=environment,
        cwd_on_path=request.cwd_on_path,
        exclude=settings.exclude,
        max_tree_bytes=settings.max_tree_mib * 2**20,
        network=settings.network,
    )
    lab = Lab(
        project,
        sandbox,
        jobs=_jobs(settings, effects),
        clock=effects.monotonic,
        collect_seconds=settings.collect_timeout,
    )
    notes = [*settings.notes]
    if note:
        notes.append(note)
    if withheld:
        notes.append(f"tests do not see these variables (allow them with pass-env): {', '.join(withheld)}")
    return lab, notes, interpreter


def _jobs(settings: Settings, effects: Effects) -> int:
    return settings.jobs if settings.jobs is not None else max(1, effects.cores)


def _options(request: Request, effects: Effects, seed: int, lab: Lab) -> Options:
    settings = request.settings
    memory = settings.memory_limit * 2**20 if settings.memory_limit else effects.free_memory() * 3 // 4
    keep = request.directory / settings.keep_runs if settings.keep_runs else None
    newest = newest_files(lab.project.original, lab.project.subdirectory) if settings.budget else {}
    return Options(
        runs=settings.runs,
        budget=settings.budget,
        seed=seed,
        test_seconds=settings.test_timeout,
        memory_bytes=memory,
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


def _installed_locales() -> list[str]:
    try:
        return run(["locale", "-a"], timeout=20).stdout.split()
    except MissingTool:
        return []


def _publish(
    verdicts: tuple[TestVerdict, ...],
    findings: Findings,
    campaign: Campaign,
    request: Request,
    effects: Effects,
    lab: Lab,
    interpreter: Interpreter,
    seed: int,
    commit: Head,
) -> tuple[TestVerdict, ...]:
    """The verdicts with their capsules. A full disk ends packing and is noted."""
    wanted = [v for v in verdicts if v.id in findings.diagnoses and v.cause is not None]
    if not wanted:
        return verdicts
    effects.progress.phase("packing capsules", len(wanted))
    publisher = Publisher(
        directory=request.directory / request.settings.capsules,
        here=request.directory,
        head=commit,
        root=lab.project.subdirectory,
        sandbox=lab.sandbox,
        seed=seed,
        environ=effects.environ,
        redact=request.settings.redact,
        key=effects.random_bytes(32),
        now=lambda: effects.now().astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        distributions=_distributions(request.python),
        interpreter={"implementation": "CPython", "version": interpreter.version},
        cwd_on_path=lab.project.cwd_on_path,
    )
    packed: dict[str, TestVerdict] = {}
    try:
        for verdict in wanted:
            diagnosis = findings.diagnoses[verdict.id]
            arguments = campaign.arguments_of(diagnosis.failing) if diagnosis.failing is not None else ()
            reference, why = publisher.publish(diagnosis, arguments, _first_failing_run(findings, verdict.id))
            if why:
                findings.notes.append(f"{verdict.id}: {why}")
            packed[verdict.id] = dataclasses.replace(verdict, capsule=reference)
            effects.progress.advance()
    except DiskFull as full:
        findings.incomplete = findings.incomplete or str(full)
    except KeyboardInterrupt:
        findings.incomplete = "interrupted"
    return tuple(packed.get(verdict.id, verdict) for verdict in verdicts)


def _first_failing_run(findings: Findings, test: str) -> int:
    return next((number for number, outcome in findings.tally.rows[test].outcomes() if outcome.bad), 0)


def _distributions(python: str) -> tuple[str, ...]:
    """``name==version`` of what is installed for the tested interpreter."""
    program = (
        "import importlib.metadata as m; "
        "print('\\n'.join(sorted({'%s==%s' % (d.metadata['Name'], d.version) for d in m.distributions()})))"
    )
    try:
        return tuple(run([python, "-c", program], timeout=60).stdout.split())
    except ReproGateError:
        return ()


def system_effects(progress: Progress | None = None) -> Effects:
    """The real world; only an entry point asks for it."""
    import time

    return Effects(
        environ=dict(os.environ),
        monotonic=time.monotonic,
        now=lambda: datetime.datetime.now().astimezone(),
        random_bytes=os.urandom,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        free_memory=_free_memory,
        progress=progress or Silent(),
    )


def _free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


__all__ = ["Effects", "Request", "open_lab", "scan", "system_effects"]
