"""``repro-gate plan``, ``shard`` and ``merge``: one job in parts, on as many machines as one likes."""

from __future__ import annotations

import dataclasses
import datetime
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from repro_gate import __version__
from repro_gate.change import describe, head, open_repository
from repro_gate.cli import checking, scanning
from repro_gate.cli.checking import CheckOrder, again, gates_of, read_event, settings_of
from repro_gate.cli.checking import request_of as check_request
from repro_gate.cli.progress import Bar
from repro_gate.cli.scanning import Order
from repro_gate.cli.scanning import request_of as scan_request
from repro_gate.cli.session import Terminal, refuse_unwritable, write_file
from repro_gate.errors import EvidenceRefused, ExitCode, HistoryMissing, Interrupted, ReproGateError, UsageError
from repro_gate.model import CheckReport, Conditions, Experiment, FlakeReport, Level
from repro_gate.pipeline import own_folder, shards
from repro_gate.pipeline.bench import open_lab
from repro_gate.pipeline.check import check, resolve_change
from repro_gate.pipeline.check_request import levels_of
from repro_gate.pipeline.request import Effects, system_effects
from repro_gate.pipeline.scan import scan
from repro_gate.pipeline.shards import Done, Plan, Shard, Unit, Why
from repro_gate.report import as_json, check_json, check_terminal, reading
from repro_gate.report import outcome as scan_outcome
from repro_gate.report.check_outcome import exit_code as exit_code_of_check
from repro_gate.report.terminal import Hints, view


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanOrder:
    """A plan as it was ordered. ``settings`` are options that also decide what a shard does."""

    directory: Path
    kind: str
    shards: str
    arguments: tuple[str, ...]
    settings: Mapping[str, str | None]
    seed: int | None = None
    base: str | None = None
    head: str | None = None
    gates: str | None = None
    event: Path | None = None
    durations: tuple[Path, ...] = ()
    out: Path = Path("plan.json")
    matrix: Path | None = None


def run_plan(order: PlanOrder, terminal: Terminal) -> int:
    """Write the plan and its matrix."""
    refuse_unwritable(order.out, order.matrix)
    if order.shards != "auto" and not (
        order.shards.isascii() and order.shards.isdigit() and 1 <= int(order.shards) <= shards.MOST_SHARDS
    ):
        raise UsageError(
            f"--shards is {order.shards!r}; it must be a whole number from 1 to {shards.MOST_SHARDS}, or auto.",
            next_step="Correct it.",
        )
    with Bar(terminal.err, quiet=terminal.quiet) as bar:
        effects = system_effects(bar)
        plan = _plan_of_check(order, effects) if order.kind == "check" else _plan_of_scan(order, effects)
    number = shards.wanted(order.shards, plan.units, timed=bool(order.durations))
    plan = plan.model_copy(update={"shards": shards.assigned(plan.units, number)})
    text = json.dumps({**plan.model_dump(mode="json", by_alias=True)}, indent=1) + "\n"
    write_file(order.out, lambda stream: stream.writelines([text]))
    if order.matrix is not None:
        line = json.dumps(shards.matrix(plan), separators=(",", ":"))
        if str(order.matrix) == "-":
            terminal.out.print(line, markup=False, soft_wrap=True)
        else:
            write_file(order.matrix, lambda stream: stream.writelines([line, "\n"]))
    files = [path for path in (order.out, order.matrix) if path is not None and str(path) != "-"]
    own_folder.remember(order.directory, files)
    said = f"{len(plan.units)} units in {len(plan.shards)} shards; plan {plan.digest[:12]}"
    terminal.err.print(f"{said}, written: {order.out}", markup=False, soft_wrap=True)
    if not terminal.quiet:
        terminal.err.print(f"next: repro-gate shard --plan {order.out} --index 0", markup=False, soft_wrap=True)
    return int(ExitCode.PASS)


def _plan_of_check(order: PlanOrder, effects: Effects) -> Plan:
    event = read_event(order.event) if order.event is not None else None
    pair = resolve_change(order.directory, order.base, order.head, event, effects.environ)
    if pair.moved is not None:
        raise HistoryMissing(pair.moved.text, next_step=pair.moved.next_step or None)
    said = describe(event or {})
    told = {"title": said.title, "body": said.body, "labels": list(said.labels), "author": said.author}
    named = _check_order(order.directory, order.settings, pair.base_sha, pair.head_sha, order.arguments)
    settings, _ = settings_of(named, pair.base_sha, pair.head_sha, effects.environ)
    levels = levels_of(settings)
    gates = [gate for gate in gates_of(order.gates) if levels[gate] is not Level.OFF]
    units = [Unit(id=gate, gate=gate, weight=4.0 if gate == "fail-to-pass" else 1.0) for gate in gates]
    return _plan(order, effects, units, base=pair.base_sha, head=pair.head_sha, said=told if event else {})


def _plan_of_scan(order: PlanOrder, effects: Effects) -> Plan:
    """Collect once, and pack files into units that can run alone."""
    request = scan_request(_scan_order(order.directory, order.arguments, order.settings), effects.environ)
    effects.progress.phase("collecting", 1)
    with open_lab(request, effects) as (lab, _, _):
        facts = lab.collect(Experiment(tests=None, conditions=Conditions()))
        tests: dict[str, int] = {}
        for test, _ in facts.tests:
            file = test.partition("::")[0]
            tests[file] = tests.get(file, 0) + 1
        for node in (*(node for node, _ in facts.errors), *facts.skipped):
            # What cannot be collected is a part of the whole, too: its shard says so.
            tests.setdefault(node.partition("::")[0], 1)
        groups = shards.grouped(tests, _seconds(order.durations))
        units = [
            Unit(id=f"files-{place + 1}", arguments=list(lab.arguments(files)), weight=weight)
            for place, (files, weight) in enumerate(groups)
        ]
    return _plan(order, effects, units)


def _plan(order: PlanOrder, effects: Effects, units: list[Unit], **more: Any) -> Plan:
    """Time and seed are those of the commit, so that the same commit has the same plan, whenever it is made."""
    commit = more.setdefault("head", head(order.directory).commit)
    told = open_repository(order.directory, effects.environ).committed_at(commit) if commit else ""
    drawn = int(commit[:6], 16) if commit else int.from_bytes(effects.random_bytes(3), "big")
    return Plan(
        version=__version__,
        kind="check" if order.kind == "check" else "scan",
        created_at=told or effects.stamp(),
        seed=order.seed if order.seed is not None else drawn,
        arguments=list(order.arguments),
        settings={name: value for name, value in order.settings.items() if value is not None},
        units=units,
        shards=[[unit.id for unit in units]],
        **more,
    )


def _seconds(durations: tuple[Path, ...]) -> dict[str, float]:
    """Seconds by file, from reports of earlier runs."""
    found: dict[str, float] = {}
    for path in durations:
        report = reading.read(_bytes(path))
        flakes = report.campaign if isinstance(report, CheckReport) else report
        for test in flakes.tests if flakes is not None else ():
            file = test.id.partition("::")[0]
            found[file] = found.get(file, 0.0) + test.seconds
    return found


# --- shard ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class ShardOrder:
    """One shard of a plan. ``capsules`` None: where the project keeps them."""

    directory: Path
    plan: Path
    index: int
    attempt: int
    out: Path
    capsules: str | None = None


def run_shard(order: ShardOrder, terminal: Terminal) -> int:
    """Run the units of a shard, and write what each came to as soon as it is known."""
    plan = shards.read_plan(_bytes(order.plan))
    if order.index >= len(plan.shards):
        raise UsageError(
            f"The plan has {len(plan.shards)} shards, numbered from 0; there is none with the number {order.index}.",
            next_step="Use the numbers of the plan's matrix.",
        )
    refuse_unwritable(order.out)
    own_folder.remember(order.directory, [order.out])
    done: list[Done] = []
    codes = [ExitCode.PASS]

    def write(*, complete: bool) -> None:
        shard = Shard(plan=plan.digest, index=order.index, attempt=order.attempt, complete=complete, units=done)
        text = json.dumps(shard.model_dump(mode="json", by_alias=True)) + "\n"
        write_file(order.out, lambda stream: stream.writelines([text]))

    write(complete=False)
    units = plan.of_shard(order.index)
    for number, unit in enumerate(units, 1):
        terminal.err.print(f"unit {unit.id} ({number} of {len(units)})", markup=False, soft_wrap=True)
        with Bar(terminal.err, quiet=terminal.quiet) as bar:
            effects = _at_the_plans_time(plan, system_effects(bar))
            try:
                document, code = _run(plan, unit, order, effects)
                done.append(Done(id=unit.id, report=document))
            except ReproGateError as error:
                if error.exit_code is not ExitCode.INCONCLUSIVE:
                    raise
                why = Why(slug=error.slug, text=str(error), next_step=error.next_step)
                done.append(Done(id=unit.id, trouble=why))
                code = error.exit_code
        codes.append(code)
        interrupted = code is ExitCode.INTERRUPTED
        write(complete=number == len(units) and not interrupted)
        if interrupted:
            break
    if not units:
        write(complete=True)
    terminal.err.print(f"written: {order.out}", markup=False, soft_wrap=True)
    return int(max(codes, key=lambda code: (code == ExitCode.INTERRUPTED, code == ExitCode.BLOCKED, code)))


def _refuse_another_commit(plan: Plan, directory: Path) -> None:
    there = head(directory).commit
    if there != plan.head:
        raise UsageError(
            f"The plan is for commit {plan.head[:12] or 'none'}, and {there[:12] or 'none'} is checked out.",
            next_step="Check out the plan's commit, or make a plan for this one.",
        )


def _at_the_plans_time(plan: Plan, effects: Effects) -> Effects:
    """All shards say the same time, so that the same finding makes the same capsule wherever it is found."""
    created = datetime.datetime.fromisoformat(plan.created_at)
    return dataclasses.replace(effects, now=lambda: created)


def _run(plan: Plan, unit: Unit, order: ShardOrder, effects: Effects) -> tuple[dict[str, Any], ExitCode]:
    """One unit's report as JSON, and its exit code."""
    stream = io.StringIO()
    if plan.kind == "scan":
        _refuse_another_commit(plan, order.directory)
        given = {**plan.settings, "seed": str(plan.seed), "capsules": order.capsules}
        request = scan_request(_scan_order(order.directory, (), given), effects.environ)
        report = scan(dataclasses.replace(request, arguments=tuple(unit.arguments)), effects)
        as_json.write(report, stream)
        stopped = report.interrupted
        code = ExitCode.INTERRUPTED if stopped else scan_outcome.exit_code(report)
    else:
        found = _check(plan, unit, order, effects)
        check_json.write(found, stream)
        stopped = found.trouble is not None and found.trouble.slug == Interrupted.slug
        code = ExitCode.INTERRUPTED if stopped else exit_code_of_check(found)
    document: dict[str, Any] = json.loads(_as_taken_along(stream.getvalue(), order))
    return document, code


def _as_taken_along(report: str, order: ShardOrder) -> str:
    """A report as JSON in which capsules outside of the checkout, beside the shard's file, are named from there."""
    place, file = order.directory / (order.capsules or "."), order.directory / order.out
    if place.is_relative_to(order.directory) or not place.is_relative_to(file.parent):
        return report
    here, along = (json.dumps(f"{path}/")[1:-1] for path in (place, place.relative_to(file.parent)))
    return report.replace(here, along)


def _check(plan: Plan, unit: Unit, order: ShardOrder, effects: Effects) -> CheckReport:
    told = _check_order(order.directory, plan.settings, plan.base, plan.head, plan.arguments)
    pair = resolve_change(order.directory, plan.base, plan.head, plan.said or None, effects.environ)
    kept = dataclasses.replace(told, overrides={**told.overrides, "capsules": order.capsules, "seed": plan.seed})
    request = check_request(kept, (unit.gate,), plan.said or None, pair, effects.environ)
    # The whole is repeated without what only a shard has.
    repeat = again(told, pair.base_sha, pair.head_sha, request.settings, effects.environ)
    whole = dataclasses.replace(request, command=repeat)
    return check(whole, pair, effects)


def _check_order(
    directory: Path, given: Mapping[str, str | None], base: str, head: str, arguments: Sequence[str]
) -> CheckOrder:
    return CheckOrder(
        directory=directory,
        arguments=tuple(arguments),
        base=base,
        head=head,
        gates=None,
        event=None,
        overrides={name: given.get(name) for name in ("sandbox", "image", "budget", "jobs")},
        python=given.get("python"),
    )


def _scan_order(directory: Path, arguments: tuple[str, ...], given: Mapping[str, str | None]) -> Order:
    overrides = {name: value for name, value in given.items() if name != "python"}
    return Order(directory=directory, arguments=arguments, overrides=overrides, door=(), python=given.get("python"))


# --- merge ---------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class MergeOrder:
    """Files of shards, and where the whole is written:
    ``reports`` by kinds that ``writers`` of a check or a scan have.
    """

    directory: Path
    plan: Path
    files: tuple[Path, ...]
    reports: Mapping[str, Path]


def run_merge(order: MergeOrder, terminal: Terminal) -> int:
    """Put the whole together, print it, write it; the exit code is that of the whole."""
    refuse_unwritable(*order.reports.values())
    plan = shards.read_plan(_bytes(order.plan))
    if plan.kind == "scan" and "mutation" in order.reports:
        raise UsageError("A scan has no mutants to write.", next_step="Leave `--mutation-json` out.")
    merged = shards.merge(plan, [(str(path), shards.read_shard(_bytes(path))) for path in order.files])
    for note in merged.notes:
        terminal.err.print(f"note: {note}", markup=False, soft_wrap=True)
    if isinstance(merged.report, CheckReport):
        return _show_check(merged.report, order, terminal)
    if merged.report is None:
        if plan.units:
            raise EvidenceRefused("No unit of the scan has a report.", next_step="The files of the shards say why.")
        terminal.out.print("No tests to judge.")
        return int(ExitCode.PASS)
    return _show_scan(plan, merged.report, order, terminal)


def _show_check(report: CheckReport, order: MergeOrder, terminal: Terminal) -> int:
    for line in check_terminal.lines(report):
        terminal.out.print(line, markup=False, soft_wrap=True)
    _write(order, checking.writers(report, order.directory), terminal)
    return int(exit_code_of_check(report))


def _show_scan(plan: Plan, report: FlakeReport, order: MergeOrder, terminal: Terminal) -> int:
    command = f"repro-gate scan --seed={plan.seed}"
    terminal.out.print(view(report, Hints(again=command, rest="`--report-json FILE` lists all")), crop=False)
    _write(order, scanning.writers(report, order.directory, command), terminal)
    return int(scan_outcome.exit_code(report))


def _write(order: MergeOrder, write: Mapping[str, Callable[[TextIO], None]], terminal: Terminal) -> None:
    own_folder.remember(order.directory, order.reports.values())
    for kind, path in order.reports.items():
        write_file(path, write[kind])
        if not terminal.quiet:
            terminal.err.print(f"written: {path}", markup=False, soft_wrap=True)


def _bytes(path: Path) -> bytes:
    """A file's content. Raises UsageError where it cannot be read, EvidenceRefused where it is too large."""
    try:
        if path.stat().st_size > reading.LARGEST:
            raise EvidenceRefused(f"{path} is larger than {reading.LARGEST >> 20} MiB.")
        return path.read_bytes()
    except OSError as broken:
        raise UsageError(f"Cannot read {path}: {broken.strerror}.", next_step="Name a file that is there.") from broken
