"""What every test may use: tiny projects in directories of their own, and labs that run them."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import textwrap
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from hypothesis import settings

from repro_gate.errors import SandboxUnavailable
from repro_gate.experiment import Job, Lab, Project, find_tree, visible_environment
from repro_gate.model import Conditions, Experiment, ExperimentResult, Limits, Mode, Swap
from repro_gate.sandbox import Bubblewrap, Host, Interpreter, Sandbox, docker, probe

settings.register_profile("suite", deadline=None)  # no test is timed: the machine may be busy
settings.load_profile("suite")

MARK = "RG_TEST_MARK"
LIMITS = Limits(test_seconds=30, total_seconds=120)

Files = Mapping[str, str | bytes]
MakeProject = Callable[..., Path]


def write_files(root: Path, files: Files) -> Path:
    """Write ``files`` (text is dedented) below ``root``."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(textwrap.dedent(content), encoding="utf-8", newline="")
    return root


@pytest.fixture
def project(tmp_path: Path) -> MakeProject:
    """Make a tiny project: ``project({"test_a.py": "..."})`` -> its directory."""

    def make(files: Files, name: str = "proj") -> Path:
        root = tmp_path / name
        root.mkdir(exist_ok=True)
        return write_files(root, files)

    return make


def marked_processes(mark: str) -> list[int]:
    """Processes of this machine (also in namespaces) that were started with our mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            environ = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if f"{MARK}={mark}".encode() in environ.split(b"\0") and state != "Z":
            found.append(int(entry.name))
    return sorted(found)


def eventually_none(look: Callable[[], list[Any]], seconds: float = 2.0) -> list[Any]:
    """What ``look`` still finds after it had so long to become empty."""
    deadline = time.monotonic() + seconds
    while (left := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


@dataclass
class TestLab:
    """A lab, and short ways to use it."""

    __test__ = False

    lab: Lab
    mark: str

    def run(
        self,
        mode: Mode = Mode.FORK,
        tests: tuple[str, ...] | None = None,
        *,
        partners: tuple[tuple[str, ...], ...] = (),
        limits: Limits = LIMITS,
        files: tuple[str, ...] = (),
        swap: Swap | None = None,
        until: frozenset[str] = frozenset(),
        **conditions: Any,
    ) -> ExperimentResult:
        """One experiment under the given conditions (neutral but for those named)."""
        experiment = Experiment(
            tests=tests, conditions=Conditions(**conditions), limits=limits, partners=partners, swap=swap, until=until
        )
        return self.lab.run([Job(experiment=experiment, mode=mode, files=files)])[0]

    def collect(self, **conditions: Any) -> Any:
        """Collect, and keep the server."""
        return self.lab.collect(Experiment(tests=None, conditions=Conditions(**conditions)))

    def processes(self) -> list[int]:
        """Processes of this lab that are alive."""
        return marked_processes(self.mark)


def outcomes(result: ExperimentResult) -> dict[str, str]:
    """Outcome by the part of the id after the file's name."""
    return {run.id.partition("::")[2] or run.id: str(run.outcome) for run in result.runs}


class MakeLab(Protocol):
    """``lab(directory, *pytest_args, ...)``: see the fixture."""

    def __call__(self, directory: Path, *arguments: str, jobs: int = 1, **changes: Any) -> TestLab: ...


@pytest.fixture(scope="session")
def interpreter() -> Interpreter:
    """The Python that runs the tiny projects: ours, or one with pytest that RG_TEST_PYTHON names."""
    return probe(os.environ.get("RG_TEST_PYTHON", sys.executable), os.environ, Path.cwd())


@pytest.fixture(scope="session")
def bubblewrap_why_not() -> str:
    """Why bubblewrap does not work here, or an empty string."""
    return Bubblewrap().why_not()


@pytest.fixture(scope="session")
def engine() -> docker.Engine:
    """A container engine; without one, the test is skipped with what was tried."""
    try:
        return docker.connect(os.environ)
    except SandboxUnavailable as why:
        pytest.skip(f"{why} `make test` starts one where that takes no question.")


@pytest.fixture(scope="session")
def base_image(engine: docker.Engine, interpreter: Interpreter) -> docker.Image:
    """The minimal image for the Python that runs the tiny projects."""
    return docker.base_from_interpreter(engine, interpreter)


class MakeDocker(Protocol):
    """``docker_sandbox(**bounds)``: see the fixture."""

    def __call__(self, image: docker.Image | None = None, **bounds: Any) -> docker.Docker: ...


@pytest.fixture
def docker_sandbox(engine: docker.Engine, base_image: docker.Image) -> Iterator[MakeDocker]:
    """Make docker sandboxes of one run; at the end nothing of that run may be left."""
    run = uuid.uuid4().hex[:12]

    def make(image: docker.Image | None = None, **bounds: Any) -> docker.Docker:
        return docker.Docker(engine, image or base_image, run=run, bounds=docker.Bounds(**bounds))

    yield make
    assert docker.sweep(engine, run) == 0, "containers were left"


@pytest.fixture
def labs(
    monkeypatch: pytest.MonkeyPatch, interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., TestLab]]:
    """Make labs in any sandbox; at the end nothing of them may be left, neither processes nor directories.

    Without ``plugins=True`` pytest loads none by itself.
    """
    tmp_path_factory.getbasetemp()  # chosen at first use: not below what is removed after this test
    place = tempfile.mkdtemp(prefix="lab-")  # short: socket paths have a limit
    monkeypatch.setattr(tempfile, "tempdir", place)
    made: list[TestLab] = []

    def make(sandbox: Sandbox, directory: Path, *arguments: str, jobs: int = 1, **changes: Any) -> TestLab:
        mark = uuid.uuid4().hex
        environment, _ = visible_environment(os.environ, user_base=interpreter.user_base)
        for name in [name for name in environment if name.startswith("PYTEST_")]:
            del environment[name]
        if not changes.pop("plugins", False):
            environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # two thirds of the time of a start
        environment[MARK] = mark
        environment.update(changes.pop("env", {}))
        tree, subdirectory = find_tree(directory)
        settings: dict[str, Any] = {
            "original": tree,
            "subdirectory": subdirectory,
            "pytest_args": arguments,
            "interpreter": interpreter,
            "environment": environment,
            **changes,
        }
        lab = Lab(Project(**settings), sandbox, jobs=jobs, clock=time.monotonic, collect_seconds=60)
        made.append(TestLab(lab, mark))
        lab.__enter__()
        return made[-1]

    try:
        yield make
    finally:
        for one in made:
            one.lab.close()
            one.lab.sandbox.close()
        monkeypatch.undo()
        processes = [pid for one in made for pid in eventually_none(one.processes)]
        for pid in processes:
            os.kill(pid, 9)
        left = [path.name for path in Path(place).iterdir() if path.name.startswith("rg-")]
        shutil.rmtree(place, ignore_errors=True)
    assert processes == [], "processes were left running after the lab was closed"
    assert left == [], "directories were left after the lab was closed"


@pytest.fixture
def host_lab(labs: Callable[..., TestLab]) -> MakeLab:
    """Make labs without a sandbox."""
    return lambda directory, *arguments, jobs=1, **changes: labs(Host(), directory, *arguments, jobs=jobs, **changes)


@pytest.fixture(params=["host", "bubblewrap", pytest.param("docker", marks=pytest.mark.deep)])
def lab(request: pytest.FixtureRequest) -> MakeLab:
    """Make labs, once in each sandbox."""
    sandbox: Sandbox = Host()
    if request.param == "docker":  # asked for first, so that its check for leftovers comes last
        sandbox = request.getfixturevalue("docker_sandbox")()
    labs = request.getfixturevalue("labs")
    if request.param == "bubblewrap":
        why = request.getfixturevalue("bubblewrap_why_not")
        if why:
            pytest.skip(why)
        sandbox = Bubblewrap()
    return lambda directory, *arguments, jobs=1, **changes: labs(sandbox, directory, *arguments, jobs=jobs, **changes)
