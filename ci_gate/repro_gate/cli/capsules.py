"""The parser's part of ``repro-gate capsule``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from repro_gate.cli.options import NoColor, consoles_for, leave
from repro_gate.cli.replaying import run_show, run_unpack, run_verify

capsule_app = typer.Typer(help="Look into capsules without running anything of them.", no_args_is_help=True)


@capsule_app.command()
def show(capsule: Annotated[Path, typer.Argument(show_default=False)], no_color: NoColor = False) -> None:
    """Say what fails, why, and how to replay it."""
    consoles = consoles_for(False, no_color)
    leave(lambda: run_show(capsule, consoles), consoles)


@capsule_app.command()
def verify(capsule: Annotated[Path, typer.Argument(show_default=False)], no_color: NoColor = False) -> None:
    """Check format, identity, plugin and secrets."""
    consoles = consoles_for(False, no_color)
    leave(lambda: run_verify(capsule, consoles), consoles)


@capsule_app.command()
def unpack(
    capsule: Annotated[Path, typer.Argument(show_default=False)],
    directory: Annotated[Path, typer.Argument(show_default=False)],
    no_color: NoColor = False,
) -> None:
    """Unpack a capsule that passed the checks, for its repro.sh."""
    consoles = consoles_for(False, no_color)
    leave(lambda: run_unpack(capsule, directory, consoles), consoles)
