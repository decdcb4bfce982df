"""Canaries: a test that must fail, beside the tests that are to be believed.

The engine's own controls stand outside of every folder, so a conftest.py further down does not see
them. These stand where the candidates stand. Only a canary that passes is a lie: one that is skipped,
or not collected, says nothing. Does not belong here: hooks that single out a test by its name; no
canary can stand for those.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from repro_gate.gates.fail_to_pass.case import Stage
from repro_gate.gates.fail_to_pass.runner import Ask, Runner, Stopped
from repro_gate.gates.fail_to_pass.suspects import HEAD
from repro_gate.model import Mode, Outcome, ReasonCode, Side

NAME = "test_repro_gate_canary.py"
_TEXT = "def test_must_fail():\n    assert False\n"
_CONTROL = Stage(side=Side.CONTROL)


def check(runner: Runner, files: Iterable[str]) -> str:
    """Raise Stopped where a canary beside one of these files lies; else the folders where none spoke, or "".

    Where it lies on base as well, that is not the change's doing.
    """
    folders = sorted({file.rpartition("/")[0] for file in files})
    liars, silent = _look(runner, HEAD, folders)
    if liars:
        on_base, _ = _look(runner, _CONTROL, liars)
        reason = ReasonCode.BASE_BROKEN if set(liars) <= set(on_base) else ReasonCode.TAMPERED
        where = ", ".join(folder or "." for folder in liars)
        raise Stopped(reason, f"a test that must fail passes in: {where}")
    return ", ".join(folder or "." for folder in silent)


def _look(runner: Runner, stage: Stage, folders: list[str]) -> tuple[list[str], list[str]]:
    """Folders whose canaries lie, and those whose canaries say nothing."""
    paths = {folder: f"{folder}/{NAME}" if folder else NAME for folder in folders}
    there = replace(stage, replaced=tuple((path, _TEXT) for path in paths.values()))
    tests = {folder: f"{path}::test_must_fail" for folder, path in paths.items()}
    runs = runner.one(Ask(stage=there, tests=tuple(tests.values()), mode=Mode.FRESH, files=tuple(paths.values())))
    outcomes = {folder: runs[test].outcome for folder, test in tests.items()}
    liars = [folder for folder, outcome in outcomes.items() if outcome is Outcome.PASSED]
    return liars, [folder for folder, outcome in outcomes.items() if not outcome.bad and folder not in liars]
