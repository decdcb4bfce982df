"""The parser's part of ``repro-gate mutant``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from repro_gate.cli.options import NoColor, Quiet, consoles_for, leave

mutant_app = typer.Typer(
    help="List the mutants of a check's report, look at one, apply it, try it again, hand it on.", no_args_is_help=True
)

Id = Annotated[str, typer.Argument(metavar="ID", help="As the check told it.", show_default=False)]
Report = Annotated[
    Path | None,
    typer.Option(
        "--report",
        help="A check's report.json (default: the last check's, or one of that name here).",
        metavar="FILE",
        show_default=False,
    ),
]
Tests = Annotated[
    list[str] | None,
    typer.Argument(metavar="[TESTS]", help="Further tests than those of the report.", show_default=False),
]
SandboxName = Annotated[
    str | None, typer.Option("--sandbox", help="auto, docker, bubblewrap or host.", show_default=False)
]
Python = Annotated[
    str | None,
    typer.Option(
        "--python",
        help="An interpreter that has the project's dependencies (default: an environment is made).",
        metavar="PATH",
        show_default=False,
    ),
]


@mutant_app.command("list")
def list_mutants(
    report: Report = None,
    every: Annotated[bool, typer.Option("--all", help="Also those that a test noticed, and those not tested.")] = False,
    no_color: NoColor = False,
) -> None:
    """Print the survivors: id, place and change."""
    from repro_gate.cli.mutating import run_list

    consoles = consoles_for(False, no_color)
    leave(lambda: run_list(report, every, consoles), consoles)


@mutant_app.command()
def show(mutant: Id, report: Report = None, no_color: NoColor = False) -> None:
    """Print its difference, what became of it, and what would tell it from the original."""
    from repro_gate.cli.mutating import run_show

    consoles = consoles_for(False, no_color)
    leave(lambda: run_show(mutant, report, consoles), consoles)


@mutant_app.command()
def apply(
    mutant: Id,
    report: Report = None,
    undo: Annotated[bool, typer.Option("--undo", help="Put back what it was made of.")] = False,
    no_color: NoColor = False,
) -> None:
    """Write the mutated file into the work tree, if the file is the one that it was made of."""
    from repro_gate.cli.mutating import run_apply

    consoles = consoles_for(False, no_color)
    leave(lambda: run_apply(mutant, report, undo, Path.cwd(), consoles), consoles)


@mutant_app.command()
def run(
    mutant: Id,
    tests: Tests = None,
    report: Report = None,
    sandbox: SandboxName = None,
    python: Python = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Run its tests on the present work tree with it, and say whether one notices it."""
    from repro_gate.cli.mutating import RunOrder, run_again

    consoles = consoles_for(quiet, no_color)
    order = RunOrder(mutant=mutant, report=report, tests=tuple(tests or ()), sandbox=sandbox, python=python)
    leave(lambda: run_again(order, Path.cwd(), consoles, dict(os.environ)), consoles)


@mutant_app.command()
def capsule(
    mutant: Id,
    tests: Tests = None,
    report: Report = None,
    capsules: Annotated[
        str | None,
        typer.Option(help="Write it there (default .repro-gate/capsules).", metavar="DIR", show_default=False),
    ] = None,
    sandbox: SandboxName = None,
    python: Python = None,
    quiet: Quiet = False,
    no_color: NoColor = False,
) -> None:
    """Try a survivor again, and write it as one file that `repro-gate replay` replays anywhere."""
    from repro_gate.cli.mutating import RunOrder
    from repro_gate.cli.surviving import run_pack

    consoles = consoles_for(quiet, no_color)
    order = RunOrder(mutant=mutant, report=report, tests=tuple(tests or ()), sandbox=sandbox, python=python)
    leave(lambda: run_pack(order, capsules, Path.cwd(), consoles, dict(os.environ)), consoles)
