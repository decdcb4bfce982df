"""A project that turns every warning into an error does not hear of us."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from repro_gate.model import Mode
from tests.conftest import MakeLab, MakeProject, outcomes

STRICT = {
    "pytest.ini": "[pytest]\nfilterwarnings = error\n",
    "test_a.py": "def test_one(): pass\n",
}


@pytest.mark.parametrize("options", [(), ("-W", "error"), ("-p", "repro_gate_pytest.plugin")])
def test_an_ordinary_run_with_us_installed_is_without_warnings(project: MakeProject, options: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:asyncio", *options]
    done = subprocess.run(
        command, cwd=project(STRICT), capture_output=True, text=True, env=dict(os.environ), check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout.lower()


def test_an_experiment_with_us_installed_is_without_warnings(project: MakeProject, host_lab: MakeLab) -> None:
    lab = host_lab(project(STRICT), "-p", "no:asyncio")
    for mode in Mode:
        assert outcomes(lab.run(mode)) == {"test_one": "passed"}
