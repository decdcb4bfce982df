"""The real commands, in tiny projects, as a user's shell would start them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MARK, eventually_none, marked_processes, write_files

BIN = Path(sys.executable).parent
SHORT = "[tool.repro-gate]\nreplays = 2\n"


def of(*axes: str) -> str:
    """The short configuration with these axes alone: each of the others costs starts of Python."""
    return f"{SHORT}axes = {list(axes)}\n"


# One test that follows a draw (Python's, not the campaign's seeds), one that follows the zone.
FLAKY = {
    "pyproject.toml": of("random", "timezone", "order"),
    "test_flaky.py": """\
        import datetime
        import random

        def test_draw():
            assert random.random() < 0.5, "unlucky"

        def test_zone():
            assert datetime.datetime.fromtimestamp(0).hour == 0, "not midnight"

        def test_fine():
            pass
        """,
}


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Everything that was printed, on one line however it was wrapped."""
        return " ".join(f"{self.out} {self.err}".split())


@dataclass(kw_only=True)
class Shell:
    """Starts commands with a mark and a TMPDIR of their own, and looks at what they leave behind."""

    tmp: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def environment(self, env: Mapping[str, str], *, plugins: bool) -> dict[str, str]:
        """A user's shell. Without ``plugins`` pytest loads none by itself: that starts faster."""
        dropped = ("REPRO_GATE_", "PYTEST_", "COV_", "COVERAGE_", "GIT_", "GITHUB_", "VIRTUAL_ENV", "FORCE_COLOR")
        base = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
        if not plugins:
            base["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        path = os.pathsep.join((str(BIN), base.get("PATH", os.defpath)))
        return {**base, "PATH": path, "COLUMNS": "110", "TMPDIR": str(self.tmp), MARK: self.mark, **env}

    def start(
        self, *command: str, cwd: Path, env: Mapping[str, str] | None = None, plugins: bool = False
    ) -> subprocess.Popen[str]:
        """A command that goes on while the test does, in a session of its own."""
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=self.environment(env or {}, plugins=plugins),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self, process: subprocess.Popen[str]) -> Done:
        """Wait for it; nothing of it may be left, neither processes nor directories."""
        try:
            out, err = process.communicate(timeout=280)
        finally:
            process.kill()
        left = eventually_none(lambda: marked_processes(self.mark))
        for pid in left:
            os.kill(pid, 9)
        assert left == [], "processes were left running"
        assert [path.name for path in self.tmp.iterdir() if path.name.startswith("rg-")] == []
        return Done(code=process.returncode, out=out, err=err)

    def run(self, *command: str, cwd: Path, env: Mapping[str, str] | None = None, plugins: bool = False) -> Done:
        """A command from its start to its end."""
        return self.end(self.start(*command, cwd=cwd, env=env, plugins=plugins))

    def gate(self, *arguments: str, cwd: Path, env: Mapping[str, str] | None = None) -> Done:
        """``repro-gate`` with these arguments."""
        return self.run("repro-gate", *arguments, cwd=cwd, env=env)

    def scan(self, cwd: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Done:
        """A short scan without a sandbox, the same each time."""
        return self.gate("scan", "--sandbox", "host", "--runs", "4", "--seed", "3", *arguments, cwd=cwd, env=env)


@pytest.fixture(scope="session")
def shell() -> Iterator[Shell]:
    """Runs commands."""
    directory = Path(tempfile.mkdtemp(prefix="e2e-"))  # short: socket paths have a limit
    try:
        yield Shell(tmp=directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Scanned:
    """A project that was scanned, and what came of it."""

    project: Path
    done: Done
    report: dict[str, Any]
    junit: str

    def test(self, name: str) -> dict[str, Any]:
        """The report's entry of one test."""
        (found,) = [test for test in self.report["tests"] if test["id"].endswith(f"::{name}")]
        return dict(found)

    def capsule(self, name: str) -> Path:
        """The capsule of one test."""
        return self.project / str(self.test(name)["capsule"]["path"])


@pytest.fixture(scope="session")
def scanned(shell: Shell, tmp_path_factory: pytest.TempPathFactory) -> Scanned:
    """The flaky project after its scan. Do not change it: copy it."""
    project = write_files(tmp_path_factory.mktemp("scanned"), FLAKY)
    (project / "out").mkdir()
    done = shell.scan(project, "--report-json", "out/report.json", "--junit-xml", "out/junit.xml")
    return Scanned(
        project=project,
        done=done,
        report=json.loads((project / "out/report.json").read_text(encoding="utf-8")),
        junit=(project / "out/junit.xml").read_text(encoding="utf-8"),
    )


@pytest.fixture
def checkout(scanned: Scanned, tmp_path: Path) -> Path:
    """A copy of the flaky project's sources, as a colleague would have it."""
    place = tmp_path / "checkout"
    shutil.copytree(scanned.project, place, ignore=shutil.ignore_patterns(".repro-gate", "out"))
    return place


@pytest.fixture(scope="session")
def empty_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a virtual environment in which nothing is installed."""
    directory = tmp_path_factory.mktemp("empty") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True, timeout=280)
    return directory / "bin" / "python"


@pytest.fixture(scope="session")
def bare_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of a virtual environment that has pytest and nothing else."""
    directory = tmp_path_factory.mktemp("only-pytest") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True, timeout=280)
    python = directory / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "pytest"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=280, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install pytest: {done.stderr.strip()[-300:]}")
    return python
