"""Where the pytest plugin hands a flake check over (its one import of the gate)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from repro_gate.cli.scanning import Order, run_scan
from repro_gate.cli.session import guarded, is_python_dash_m, terminal


def flake_check(
    *,
    directory: str,
    arguments: list[str],
    runs: int | None,
    seed: str | None,
    budget: str | None,
    capsules: str | None,
    quiet: bool,
    color: str,
) -> int:
    """Run the campaign of ``pytest --repro-flake-check``; returns the exit code."""
    consoles = terminal(quiet=quiet, color={"yes": True, "no": False}.get(color))
    order = Order(
        directory=Path(directory),
        arguments=tuple(arguments),
        overrides={"runs": runs, "seed": seed, "budget": budget, "capsules": capsules},
        door=(
            "pytest",
            f"--repro-flake-check={runs}" if runs else "--repro-flake-check",
            *([f"--repro-budget={budget}"] if budget else ()),
        ),
        python=sys.executable,
        cwd_on_path=is_python_dash_m(),
    )
    return guarded(lambda: run_scan(order, consoles, dict(os.environ)), consoles.err)
