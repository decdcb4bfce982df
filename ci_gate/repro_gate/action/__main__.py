"""The entry point of the action's steps: ``python -m repro_gate.action run|report``. The real world is built here."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from repro_gate.action import reporting, steps
from repro_gate.action.context import without_runner
from repro_gate.action.fetching import fetch
from repro_gate.action.reporting import report
from repro_gate.action.steps import run
from repro_gate.change import added_lines, open_repository
from repro_gate.github.patience import Clock
from repro_gate.github.remote import connect
from repro_gate.process import attend


def _program() -> tuple[str, ...]:
    """Our own command with this process's own path, and nothing in a variable that tests would inherit."""
    ours = [
        path for path in sys.path if (Path(path) / "repro_gate").is_dir() or (Path(path) / "repro_gate_pytest").is_dir()
    ]
    text = f"import runpy, sys; sys.path[:0] = {ours!r}; sys.argv[0] = 'repro-gate'; runpy.run_module('repro_gate', run_name='__main__')"
    return (sys.executable, "-P", "-c", text)


def _added(workspace: Path, base: str, head: str, paths: frozenset[str]) -> Mapping[str, frozenset[int]]:
    """Asked of git without the runner's variables."""
    return added_lines(open_repository(workspace, without_runner(os.environ)), base, head, paths)


def main() -> int:
    """One step; its exit code."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a cancelled job: what runs is told, and waited for
    if sys.argv[1:] == ["report"]:
        clock = Clock(sleep=time.sleep, now=time.time)
        return report(
            reporting.Effects(
                environ=dict(os.environ),
                out=sys.stdout,
                token=lambda: secrets.token_hex(16),
                connect=lambda token, address, name: connect(token, address, name, clock),
            )
        )
    return run(
        steps.Effects(
            environ=dict(os.environ),
            out=sys.stdout,
            attend=attend,
            token=lambda: secrets.token_hex(16),
            fetch=fetch,
            program=_program(),
            which=shutil.which,
            added=_added,
        )
    )


if __name__ == "__main__":
    sys.exit(main())
