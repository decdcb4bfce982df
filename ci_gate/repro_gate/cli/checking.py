"""``repro-gate check``: a change against its base."""

from __future__ import annotations

import dataclasses
import difflib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from repro_gate.change import Pair, open_repository
from repro_gate.change.event import SMALL_FORM, misspelt
from repro_gate.change.trees import entries
from repro_gate.cli.progress import Bar
from repro_gate.cli.repeating import as_typed, in_force
from repro_gate.cli.session import Terminal, below_the_top, place_in_repository, refuse_unwritable, write_file
from repro_gate.config import Settings, find_root, load
from repro_gate.config.keys import variable
from repro_gate.errors import ConfigError, DiskFull, ExitCode, HistoryMissing, Interrupted, UsageError
from repro_gate.experiment import find_tree
from repro_gate.gates import mutation
from repro_gate.gates.fail_to_pass.advice import NEXT_STEP
from repro_gate.model import CheckReport, Level, ReasonCode
from repro_gate.pipeline import own_folder
from repro_gate.pipeline.check import check, resolve_change, without_base
from repro_gate.pipeline.check_request import GATES, CheckRequest
from repro_gate.pipeline.request import system_effects
from repro_gate.report import as_markdown, as_mutation_elements, as_sarif, check_json, check_junit, check_terminal
from repro_gate.report.check_outcome import exit_code

_CONFIGURATION = ("pyproject.toml", "repro-gate.toml")
_NO_TESTS = (ReasonCode.NO_ITEMS, ReasonCode.NOTHING_TO_JUDGE)  # of any gate: they share these words


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckOrder:
    """A check as it was ordered. ``floors`` are thresholds that base's policy may exceed and not undercut."""

    directory: Path
    arguments: tuple[str, ...]
    base: str | None
    head: str | None
    gates: str | None
    event: Path | None
    overrides: Mapping[str, object]
    python: str | None = None
    report_json: Path | None = None
    junit_xml: Path | None = None
    sarif: Path | None = None
    summary: Path | None = None
    coverage: Mapping[str, Path] = field(default_factory=dict)
    mutation_json: Path | None = None
    floors: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def reports(self) -> dict[str, Path]:
        """Where its report is written, by kinds that ``writers`` has."""
        told = {
            "json": self.report_json,
            "junit": self.junit_xml,
            "sarif": self.sarif,
            "mutation": self.mutation_json,
            "summary": self.summary,
        }
        return {kind: path for kind, path in told.items() if path is not None}

    @property
    def files(self) -> tuple[Path, ...]:
        """All that it writes."""
        return (*self.reports.values(), *self.coverage.values())


def run_check(order: CheckOrder, terminal: Terminal, environ: Mapping[str, str]) -> int:
    """Do it, print it, write it; the exit code."""
    event = read_event(order.event) if order.event is not None else None
    gates = gates_of(order.gates)
    refuse_unwritable(*order.files)
    try:
        pair = resolve_change(order.directory, order.base, order.head, event, environ)
    except HistoryMissing as missing:
        return _without_base(order, gates, missing, terminal, environ)
    request = request_of(order, gates, event, pair, environ)
    request = dataclasses.replace(request, report=request.report or own_folder.REPORT)
    with Bar(terminal.err, quiet=terminal.quiet) as bar:
        report = check(request, pair, system_effects(bar))
    if not pair.nothing_changed and any(gate.reason in _NO_TESTS for gate in report.gates):
        report = dataclasses.replace(report, notes=(*report.notes, *below_the_top(order.directory)))
    _tell(report, order, terminal)
    _keep(report, order)
    if report.trouble is not None and report.trouble.slug == Interrupted.slug:
        return int(ExitCode.INTERRUPTED)
    return int(exit_code(report))


def request_of(
    order: CheckOrder, gates: tuple[str, ...], event: Mapping[str, Any] | None, pair: Pair, environ: Mapping[str, str]
) -> CheckRequest:
    """What is to be checked, by base's settings. Raises ConfigError."""
    settings, altered = settings_of(order, pair.base_sha, pair.head_sha, environ)
    return CheckRequest(
        directory=order.directory,
        event=event,
        gates=gates,
        settings=settings,
        arguments=(*settings.pytest_args, *order.arguments),
        python=order.python or settings.python,
        command=again(order, pair.base_sha, pair.head_sha, settings, environ),
        altered=altered,
        capsules=order.directory / settings.capsules,
        coverage_files={name: order.directory / path for name, path in order.coverage.items()},
        report=str(order.report_json or ""),
    )


def _without_base(
    order: CheckOrder,
    gates: tuple[str, ...],
    missing: HistoryMissing,
    terminal: Terminal,
    environ: Mapping[str, str],
) -> int:
    """An answer like any other, so that reports are written; no policy is known but that of the command itself."""
    settings = _defaults(order, environ)
    floors_of(order, environ)
    report = without_base(gates, settings, missing, again(order, order.base, order.head, settings, environ))
    _tell(report, order, terminal)
    return int(exit_code(report))


def _tell(report: CheckReport, order: CheckOrder, terminal: Terminal) -> None:
    for line in check_terminal.lines(report):
        terminal.out.print(line, markup=False, soft_wrap=True)
    if report.trouble is not None and report.trouble.details:
        terminal.err.print(report.trouble.details, markup=False, soft_wrap=True)
    write = writers(report, order.directory)
    for kind, path in order.reports.items():
        write_file(path, write[kind])
    if not terminal.quiet:
        for path in (path for path in order.files if path.exists()):
            terminal.err.print(f"written: {path}", markup=False, soft_wrap=True)


def writers(report: CheckReport, directory: Path) -> dict[str, Callable[[TextIO], None]]:
    """What writes the report of a check, by kind of file; ``directory`` is the project's."""
    steps = {str(reason): step for reason, step in NEXT_STEP.items()}
    steps |= {f"{mutation.GATE}/{reason}": step for reason, step in mutation.NEXT_STEP.items()}
    return {
        "json": lambda stream: check_json.write(report, stream),
        "junit": lambda stream: check_junit.write(report, stream),
        "sarif": lambda stream: as_sarif.write_check(report, stream, place_in_repository(directory), steps),
        "mutation": lambda stream: as_mutation_elements.write(report, stream),
        "summary": lambda stream: stream.writelines([as_markdown.page(report)]),
    }


def _keep(report: CheckReport, order: CheckOrder) -> None:
    """What `repro-gate mutant` reads, whether or not a report was asked for; and which files in the tree are ours."""
    own_folder.remember(order.directory, (path for path in order.files if path.exists()))
    if all(gate.mutation is None for gate in report.gates):
        return
    try:
        own_folder.make(order.directory)
        write_file(order.directory / own_folder.REPORT, lambda stream: check_json.write(report, stream))
    except (OSError, DiskFull, UsageError):
        return  # nobody asked for it: whoever then asks for a mutant hears that there is none


def gates_of(text: str | None) -> tuple[str, ...]:
    """The gates that are named, in their order. Raises UsageError for one that is none."""
    if text is None:
        return GATES
    named = text.replace(",", " ").split()
    for name in named:
        gate, colon, level = name.partition(":")
        if colon and gate in GATES:
            raise _no_level_here(name, gate, level)
        if name not in GATES:
            near = difflib.get_close_matches(name, GATES, 1)
            hint = f" (did you mean {near[0]}?)" if near else ""
            raise UsageError(f"{name!r} is no gate{hint}.", next_step=f"Gates are {', '.join(GATES)}.")
    if not named:
        raise UsageError("--gates names no gate.", next_step=f"Gates are {', '.join(GATES)}.")
    return tuple(gate for gate in GATES if gate in named)


def _no_level_here(name: str, gate: str, level: str) -> UsageError:
    """The error for a level, which only the action's input takes: here the key has it, or its variable."""
    level = level if level in [*Level] else str(Level.WARN)
    return UsageError(
        f"{name!r} is no gate: `--gates` takes names without a level.",
        next_step=f"Write `--gates {gate}`, and set the level by the variable `{variable(f'gate-{gate}')}={level}` "
        f'or by the key `gate-{gate} = "{level}"`.',
    )


def read_event(path: Path) -> dict[str, Any]:
    """What is said of the change. Raises UsageError for a file that is not there or no JSON object."""
    try:
        event = json.loads(path.read_bytes())
    except OSError as broken:
        raise UsageError(f"Cannot read {path}: {broken.strerror}.", next_step="Name a file with `--event`.") from broken
    except (ValueError, RecursionError):
        raise UsageError(f"{path} is no JSON.", next_step="Give GitHub's event payload, or a JSON object.") from None
    if not isinstance(event, dict):
        raise UsageError(f"{path} holds no JSON object.", next_step="Give GitHub's event payload, or a JSON object.")
    unknown = misspelt(event)
    if unknown:
        near = difflib.get_close_matches(unknown[0], SMALL_FORM, 1)
        raise UsageError(
            f"{path}: unknown field {unknown[0]!r}{f'; did you mean {near[0]!r}?' if near else '.'}",
            next_step=f"Without GitHub's payload, the fields are {', '.join(SMALL_FORM)}.",
        )
    return event


def settings_of(
    order: CheckOrder, base: str, head: str, environ: Mapping[str, str]
) -> tuple[Settings, tuple[str, ...]]:
    """The policy is base's; what head would change of it is said.

    Where only base's cannot be read, defaults serve the change that mends it.
    Raises ConfigError where head's cannot be read: after it, no check could be made.
    """
    repository = open_repository(order.directory, environ)
    inside = find_root(order.directory).relative_to(find_tree(order.directory)[0])
    loaded: list[Settings] = []
    said: tuple[str, ...] = ()
    for commit in (base, head):
        with tempfile.TemporaryDirectory(prefix="rg-config-") as directory:
            for entry in entries(repository, commit):
                if entry.path in {(inside / name).as_posix() for name in _CONFIGURATION}:
                    (Path(directory) / Path(entry.path).name).write_bytes(repository.blob(entry.sha))
            try:
                loaded.append(load(Path(directory), order.overrides, environ))
            except ConfigError as broken:
                told = str(broken).replace(f"{directory}/", "")
                if commit == head:
                    raise ConfigError(f"This change: {told}", next_step=broken.next_step) from broken
                said = (f"The configuration of base cannot be read, and defaults were used: {told}",)
                loaded.append(_defaults(order, environ))
    settings, later = loaded
    floors = floors_of(order, environ)
    before, after = settings.explain(), later.explain()
    changed = [
        f"{old.split(' = ')[0]}: {old.split(' = ', 1)[1]} -> {new.split(' = ', 1)[1]}"
        for old, new in zip(before, after, strict=True)
        if old != new
    ]
    return raised(settings, floors), said or tuple(
        f"This change alters the policy, and was judged by base's: {line}" for line in changed
    )


def _defaults(order: CheckOrder, environ: Mapping[str, str]) -> Settings:
    """What options and variables say, and nothing else."""
    with tempfile.TemporaryDirectory(prefix="rg-config-") as nowhere:
        return load(Path(nowhere), order.overrides, environ)


def floors_of(order: CheckOrder, environ: Mapping[str, str]) -> Settings | None:
    """The order's thresholds as settings, None where there are none. Raises UsageError for a value that is none."""
    given = {name: value for name, value in order.floors.items() if value is not None}
    if not given:
        return None
    with tempfile.TemporaryDirectory(prefix="rg-config-") as nowhere:
        told = load(Path(nowhere), given, environ)
    coverage = told.min_diff_coverage if "min-diff-coverage" in given else 0.0
    return dataclasses.replace(told, min_diff_coverage=coverage)


def raised(settings: Settings, floors: Settings | None) -> Settings:
    """The settings with thresholds that are at least the floors: base's win where they ask for more."""
    if floors is None:
        return settings
    scores = [score for score in (settings.min_mutation_score, floors.min_mutation_score) if score is not None]
    return dataclasses.replace(
        settings,
        min_mutation_score=max(scores, default=None),
        min_diff_coverage=max(settings.min_diff_coverage, floors.min_diff_coverage),
    )


def again(order: CheckOrder, base: str | None, head: str | None, settings: Settings, environ: Mapping[str, str]) -> str:
    """The whole command that repeats a check, on the same two commits and with what variables set."""
    valued: dict[str, object] = {
        "--base": base,
        "--head": head,
        "--gates": order.gates,
        "--event": order.event,
        "--python": order.python,
    }
    valued |= {f"--{name}": value for name, value in (*order.overrides.items(), *order.floors.items())}
    options = [f"{name}={value}" for name, value in valued.items() if value is not None]
    dashes = ("--",) if any(argument.startswith("-") for argument in order.arguments) else ()
    variables = in_force(settings, environ, given=() if order.python is None else ("python",))
    return as_typed(["repro-gate", "check", *options, *dashes, *order.arguments], variables)
