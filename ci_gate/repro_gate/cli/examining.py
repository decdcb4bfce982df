"""``repro-gate doctor``."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from repro_gate.cli.scanning import Order, interpreter_for
from repro_gate.cli.session import Terminal
from repro_gate.config import find_root, load
from repro_gate.errors import ExitCode
from repro_gate.pipeline.doctor import Check, automatic, examine, hermetic
from repro_gate.pipeline.request import system_effects


def run_doctor(python: str | None, as_json: bool, terminal: Terminal, environ: Mapping[str, str]) -> int:
    """Try everything and say it; 0 where a sandbox that isolates works."""
    directory = Path.cwd()
    settings = load(find_root(directory), {}, environ)
    order = Order(directory=directory, arguments=(), overrides={}, door=("repro-gate", "doctor"), python=python)
    checks: list[Check] = []
    for check in examine(environ, directory, interpreter_for(order, settings, environ), system_effects().cores):
        checks.append(check)
        if not as_json:
            _say(check, terminal)
    works, auto = hermetic(checks), automatic(checks, image=bool(settings.image))
    if as_json:
        found = {"hermetic": works, "auto": auto, "checks": [dataclasses.asdict(check) for check in checks]}
        terminal.out.print(json.dumps(found, indent=2), markup=False, soft_wrap=True)
    else:
        takes = f'`sandbox = "auto"` takes {auto["gates"]} for gates and {auto["scans"]} for scans'
        terminal.out.print(takes, markup=False, soft_wrap=True)
        if not works:
            terminal.out.print(
                "no sandbox that isolates works here: scans can run on the host only, gates cannot", markup=False
            )
    return int(ExitCode.PASS if works else ExitCode.INCONCLUSIVE)


def _say(check: Check, terminal: Terminal) -> None:
    mark, style = ("works", "green") if check.works else ("no   ", "red")
    terminal.out.print(Text.assemble((mark, style), f"  {check.name:<11}", check.detail), soft_wrap=True)
    if check.next_step:
        terminal.out.print(Text.assemble(" " * 7, ("next: ", "bold"), check.next_step), soft_wrap=True)
