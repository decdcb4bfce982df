"""Options that several commands have, and how a command is left.

Belongs here: what every file of commands needs of the parser. Does not belong here: what any command does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from repro_gate.cli.session import Terminal, guarded, terminal

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print findings only, no progress.")]
NoColor = Annotated[bool, typer.Option("--no-color", help="No colours (also: NO_COLOR=1).")]
FILE: Any = {"metavar": "FILE", "show_default": False}


def consoles_for(quiet: bool, no_color: bool) -> Terminal:
    """Where a command prints."""
    return terminal(quiet=quiet, color=False if no_color else None)


def leave(command: Callable[[], int], consoles: Terminal) -> None:
    """Run a command and end with its exit code."""
    raise typer.Exit(guarded(command, consoles.err))
