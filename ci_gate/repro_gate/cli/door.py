"""Where the pytest plugin hands a flake check over (its one import of the gate)."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

from repro_gate.cli.scanning import Order, run_scan
from repro_gate.cli.session import guarded, is_python_dash_m, terminal

# What a setting's option is called at this door, and what else can be typed here.
OPTIONS = {
    "runs": "--repro-flake-check",
    "seed": "--repro-seed",
    "budget": "--repro-budget",
    "capsules": "--repro-capsules",
}
_HELP = ("`repro-gate --help`", "`pytest --help` (group repro-gate)")


def flake_check(
    *,
    directory: str,
    arguments: list[str],
    runs: int | str | None,
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
            *(("python", "-m", "pytest") if is_python_dash_m() else ("pytest",)),
            f"--repro-flake-check={runs}" if runs else "--repro-flake-check",
            *([f"--repro-budget={budget}"] if budget else ()),
        ),
        by_pytest=True,
        options=OPTIONS,
        python=sys.executable,
        cwd_on_path=is_python_dash_m(),
    )
    return guarded(lambda: run_scan(order, consoles, dict(os.environ)), consoles.err, typed_here)


def typed_here(text: str) -> str:
    """A next step with every option of `repro-gate scan` in it as it can be typed at this door."""
    return re.sub(r"`--([a-z][a-z-]*)( [^`]+)?`", _typed, text.replace(*_HELP))


def _typed(found: re.Match[str]) -> str:
    name, value = found[1], (found[2] or "").strip()
    if name in OPTIONS:
        return f"`{OPTIONS[name]}{'=' + value if value else ''}`"
    if name == "sandbox":
        return f"`REPRO_GATE_SANDBOX={value or 'host'}`"
    return f"`repro-gate scan {found[0].strip('`')}`"
