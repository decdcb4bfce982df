"""``repro-gate scan`` and ``pytest --repro-flake-check``: one command with two doors."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from repro_gate.cli.progress import Bar
from repro_gate.cli.repeating import as_typed, in_force
from repro_gate.cli.session import Terminal, below_the_top, place_in_repository, refuse_unwritable, write_file
from repro_gate.config import Settings, find_root, load
from repro_gate.errors import CollectionFailed, ExitCode, ReproGateError
from repro_gate.model import INTERRUPTED, FlakeReport
from repro_gate.pipeline import own_folder
from repro_gate.pipeline.arguments import not_found, refuse_missing
from repro_gate.pipeline.request import Request, system_effects
from repro_gate.pipeline.scan import scan
from repro_gate.report import as_json, as_junit, as_sarif, scan_markdown
from repro_gate.report.outcome import exit_code
from repro_gate.report.terminal import Hints, view


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """A scan as it was ordered at a door.

    ``door`` is the command to repeat it with; ``by_pytest``: it is pytest's; ``options`` says what a
    setting's option is called there.
    """

    directory: Path
    arguments: tuple[str, ...]
    overrides: Mapping[str, object]
    door: tuple[str, ...]
    by_pytest: bool = False
    options: Mapping[str, str] = field(default_factory=dict)
    python: str | None = None
    cwd_on_path: bool | None = None
    fork: bool = True
    report_json: Path | None = None
    junit_xml: Path | None = None
    sarif: Path | None = None
    summary: Path | None = None
    investigate: bool = True

    @property
    def reports(self) -> dict[str, Path]:
        """Where its report is written, by kinds that ``writers`` has."""
        told = {"json": self.report_json, "junit": self.junit_xml, "sarif": self.sarif, "summary": self.summary}
        return {kind: path for kind, path in told.items() if path is not None}

    @property
    def files(self) -> tuple[Path, ...]:
        """All that it writes."""
        return tuple(self.reports.values())


def run_scan(order: Order, terminal: Terminal, environ: Mapping[str, str]) -> int:
    """Do it, print it, write it; the exit code."""
    request = request_of(order, environ)
    refuse_unwritable(*order.files)

    def repeat(report: FlakeReport) -> str:
        return again(order, report.seed, request.settings, environ)

    def write(report: FlakeReport) -> None:
        own_folder.remember(order.directory, order.files)
        write = writers(report, order.directory, repeat(report))
        for kind, path in order.reports.items():
            write_file(path, write[kind])

    seen: list[FlakeReport] = []

    def write_early(report: FlakeReport) -> None:
        seen.append(report)
        with contextlib.suppress(ReproGateError):  # said when it is written for good
            write(report)

    with Bar(terminal.err, quiet=terminal.quiet) as bar:
        try:
            report = _scanned(lambda: scan(request, system_effects(bar), on_report=write_early), seen)
        except CollectionFailed as failed:
            raise not_found(failed.details, request.arguments, order.directory) or failed from failed
    if not report.tests:
        report = dataclasses.replace(report, notes=(*report.notes, *below_the_top(order.directory)))
    unwritten: ReproGateError | None = None
    try:
        report = _insist(lambda: write(report), report)
    except ReproGateError as error:
        unwritten = error
    report = _insist(lambda: _show(report, Hints(again=repeat(report), rest=_rest(order)), terminal), report)
    if unwritten is not None:
        raise unwritten
    interrupted = report.interrupted
    with contextlib.suppress(*((OSError,) if interrupted else ())):
        for path in order.files:
            if not terminal.quiet:
                terminal.err.print(f"written: {path}", markup=False, soft_wrap=True)
    if interrupted:
        return int(ExitCode.INTERRUPTED)
    return int(exit_code(report))


def writers(report: FlakeReport, directory: Path, repeat: str) -> dict[str, Callable[[TextIO], None]]:
    """What writes the report of a scan, by kind of file;
    ``directory`` is the project's, ``repeat`` the command for it.
    """
    return {
        "json": lambda stream: as_json.write(report, stream),
        "junit": lambda stream: as_junit.write(report, stream),
        "sarif": lambda stream: as_sarif.write_scan(report, stream, place_in_repository(directory), repeat),
        "summary": lambda stream: stream.writelines([scan_markdown.page(report, repeat)]),
    }


def request_of(order: Order, environ: Mapping[str, str]) -> Request:
    """What is to be scanned, with the project's settings. Raises ConfigError or UsageError."""
    settings = load(find_root(order.directory), order.overrides, environ, order.options)
    request = Request(
        directory=order.directory,
        arguments=(*settings.pytest_args, *order.arguments),
        settings=settings,
        python=interpreter_for(order, settings, environ),
        image_python=order.python or settings.python or "python3",
        fork=order.fork,
        cwd_on_path=settings.invocation != "pytest" if order.cwd_on_path is None else order.cwd_on_path,
        investigate=order.investigate,
    )
    refuse_missing(request.arguments, order.directory, environ)
    return request


def _show(report: FlakeReport, hints: Hints, terminal: Terminal) -> None:
    """Print it. A terminal that was closed, which is an interrupt, is no error then."""
    with contextlib.suppress(*((OSError,) if report.interrupted else ())):
        terminal.out.print(view(report, hints), crop=False)


def _scanned(do: Callable[[], FlakeReport], seen: Sequence[FlakeReport]) -> FlakeReport:
    """The report; the last one that was seen, if the user interrupts what comes behind it."""
    try:
        return do()
    except KeyboardInterrupt:
        if not seen:
            raise
        return dataclasses.replace(seen[-1], incomplete=INTERRUPTED)


def _insist(do: Callable[[], None], report: FlakeReport) -> FlakeReport:
    """Say a result that is there, though the user interrupts that; the report, which then says so."""
    try:
        do()
    except KeyboardInterrupt:
        do()
        return dataclasses.replace(report, incomplete=INTERRUPTED)
    return report


def again(order: Order, seed: int, settings: Settings, environ: Mapping[str, str]) -> str:
    """The whole command that repeats a campaign, with what variables set."""
    options = any(argument.startswith("-") for argument in order.arguments) and not order.by_pytest
    seeded = f"{order.options.get('seed', '--seed')}={seed}"
    told = {"seed": seed, "python": order.python, "invocation": order.cwd_on_path}
    variables = in_force(settings, environ, given=[key for key, value in told.items() if value is not None])
    return as_typed([*order.door, seeded, *(("--",) if options else ()), *order.arguments], variables)


def _rest(order: Order) -> str:
    """Where that is which the terminal does not show."""
    if order.report_json is not None:
        return f"all are in {order.report_json}"
    return f"`{'repro-gate scan ' if order.by_pytest else ''}--report-json FILE` lists all"


def interpreter_for(order: Order, settings: Settings, environ: Mapping[str, str]) -> str:
    """The interpreter of the tests: named, or the active virtual environment's, or this one."""
    if order.python is not None:
        return order.python
    if settings.python is not None:
        return settings.python
    active = environ.get("VIRTUAL_ENV")
    if active and Path(active).resolve() != Path(sys.prefix).resolve():
        candidate = Path(active) / "bin" / "python"
        if candidate.exists() and os.access(candidate, os.X_OK):
            return str(candidate)
    return sys.executable
