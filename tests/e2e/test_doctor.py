"""``repro-gate doctor``: what works here, why the rest does not, and what to do."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from repro_gate.sandbox import docker
from tests.e2e.conftest import BIN, Shell

NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock", "CONTAINER_HOST": "unix:///nowhere/podman.sock"}


def checks(out: str) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in json.loads(out)["checks"]}


def test_without_any_sandbox_it_ends_with_code_3_and_says_what_each_lacks(shell: Shell, tmp_path: Path) -> None:
    done = shell.gate("doctor", cwd=tmp_path, env={**NOWHERE, "PATH": str(BIN)})
    assert done.code == 3, done
    assert "no     docker" in done.out
    assert "/nowhere/docker.sock: not there" in done.out
    assert "no bubblewrap bwrap is not installed next: Install the package bubblewrap." in done.words
    assert "no     git" in done.out
    assert "works  host       always works, and isolates nothing" in done.out
    assert f"({BIN}" in done.out
    assert '`sandbox = "auto"` takes none for gates and host for scans' in done.out


def test_for_programs_it_prints_json_and_nothing_else(shell: Shell, tmp_path: Path, bubblewrap_why_not: str) -> None:
    done = shell.gate("doctor", "--json", cwd=tmp_path, env=NOWHERE)
    found = json.loads(done.out)
    works = not bubblewrap_why_not
    assert found["auto"] == (
        {"gates": "bubblewrap", "scans": "bubblewrap"} if works else {"gates": "none", "scans": "host"}
    )
    assert (done.code, found["hermetic"]) == ((0, True) if works else (3, False))
    assert checks(done.out)["bubblewrap"]["works"] is works
    assert [name for name, check in checks(done.out).items() if not check["works"] and not check["next_step"]] == []


def test_a_daemon_is_tried_with_a_container(shell: Shell, tmp_path: Path, engine: docker.Engine) -> None:
    (tmp_path / "ldd").symlink_to(shutil.which("ldd") or "")
    done = shell.gate("doctor", "--json", cwd=tmp_path, env={"PATH": f"{BIN}:{tmp_path}"})
    assert checks(done.out)["bubblewrap"]["works"] is False
    assert done.code == 0, done
    assert checks(done.out)[engine.kind]["hermetic"] is True
    assert engine.version in checks(done.out)[engine.kind]["detail"]


def test_an_interpreter_without_pytest_is_told_how_to_get_it(shell: Shell, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    shell.run(sys.executable, "-m", "venv", "--without-pip", str(bare), cwd=tmp_path)
    done = shell.gate("doctor", "--json", "--python", f"{bare}/bin/python", cwd=tmp_path, env=NOWHERE)
    assert checks(done.out)["python"]["works"] is True
    assert checks(done.out)["pytest"]["works"] is False
    assert f"{bare}/bin/python -m pip install pytest" in checks(done.out)["pytest"]["next_step"]
