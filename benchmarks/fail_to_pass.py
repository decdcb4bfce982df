"""Fail on base, pass on head, eight times a side: repro-gate's bench against 16 times `docker run` pytest.

The same tests of the same trees in the same image with the same interpreter. A container's cost is
also the work of the daemon and of what it starts for each container, which no process of this side
is the parent of: so CPU is what the whole machine did meanwhile, less what it does when left alone,
and a machine that is not left alone is no place to measure. Beside it stands what the command's own
processes and the containers' used, without the daemon.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "ci_gate"))

from benchmarks import measure
from benchmarks.measure import progress

BAR = 0.25
_ROUNDS = 8
_INSIDE = "/subject"

_GENERATED = """
import asyncio, decimal, email.message, json, logging, sqlite3, unittest.mock, xml.dom.minidom
def total(prices, discount=0):
    return sum(prices) * (100 - discount) {operator} 100
"""
_TESTS = """
import pytest
from subject import total
@pytest.mark.parametrize("price", range(1, 20, 2))
def test_half_a_cent_is_kept(price):
    assert total([price], discount=50) == price / 2
@pytest.mark.parametrize("price", range(200))
def test_without_discount(price):
    assert total([price, price]) == 2 * price
"""


@dataclass(frozen=True, kw_only=True)
class Trees:
    """Base with head's tests, head, and the tests that tell them apart."""

    name: str
    base: Path
    head: Path
    tests: tuple[str, ...]
    roots: tuple[str, ...] = ()


def generated(place: Path) -> Trees:
    """A small project whose fix is one operator."""
    for side, operator in (("base", "//"), ("head", "/")):
        (place / side / "tests").mkdir(parents=True)
        (place / side / "subject.py").write_text(_GENERATED.format(operator=operator))
        (place / side / "tests" / "test_subject.py").write_text(_TESTS)
    tests = tuple(f"tests/test_subject.py::test_half_a_cent_is_kept[{price}]" for price in range(1, 20, 2))
    return Trees(name="generated", base=place / "base", head=place / "head", tests=tests)


def jinja2(place: Path, cache: Path, python: Path) -> Trees:
    """Two releases of a public project that follow each other; base gets head's tests."""
    for side, version in (("base", "3.1.5"), ("head", "3.1.6")):
        downloads = cache / "downloads" / f"jinja2-{version}"
        if not list(downloads.glob("*.tar.gz")):
            place_words = ("--dest", str(downloads), f"jinja2=={version}")
            measure.pip(python, "download", "-q", "--no-binary", ":all:", "--no-deps", *place_words)
        [archive] = downloads.glob("*.tar.gz")
        with tempfile.TemporaryDirectory() as name:
            with tarfile.open(archive) as members:
                members.extractall(name, filter="data")
            [top] = Path(name).iterdir()
            shutil.copytree(top, place / side)
    shutil.rmtree(place / "base" / "tests")
    shutil.copytree(place / "head" / "tests", place / "base" / "tests")
    tests = ("tests/test_security.py::TestStringFormatMap::test_attr_filter",)
    return Trees(name="jinja2", base=place / "base", head=place / "head", tests=tests, roots=("src",))


# --- repro-gate -------------------------------------------------------------------------------


def run_bench(base: str, head: str, python: str, roots: str, tests: list[str]) -> list[dict[str, list[str]]]:
    """In a process of its own: eight rounds on a bench with containers; outcomes by side and round."""
    from repro_gate.experiment import Project, visible_environment
    from repro_gate.gates.fail_to_pass import Request, Stage
    from repro_gate.gates.fail_to_pass.conditions import rounds
    from repro_gate.model import Experiment, Side
    from repro_gate.pipeline.provision import Provision, Room
    from repro_gate.pipeline.stages import LabBench
    from repro_gate.sandbox import docker, probe

    here = probe(python, os.environ, Path.cwd())
    engine = docker.connect(os.environ)
    sandbox = docker.Docker(
        engine,
        docker.base_from_interpreter(engine, here),
        run=os.urandom(6).hex(),
        bounds=docker.Bounds(memory_bytes=2**31, cpus=os.cpu_count() or 1),
    )
    environment, _ = visible_environment(os.environ, user_base=here.user_base, allow=())
    trees = {Side.BASE: Path(base), Side.HEAD: Path(head)}
    room = Room(interpreter=here, environment=environment, roots=tuple(filter(None, roots.split(","))))
    rooms = {(Side.HEAD, side): room for side in trees}
    with tempfile.TemporaryDirectory() as directory:
        bench = LabBench(
            project=Project(
                original=Path(head), subdirectory="", pytest_args=(), interpreter=here, environment=environment
            ),
            sandbox=sandbox,
            trees=trees,
            watched=lambda side: {},
            provision=Provision(rooms=rooms, packages=frozenset(), name=""),
            directory=Path(directory),
            jobs=os.cpu_count() or 1,
            clock=time.monotonic,
            collect_seconds=120.0,
        )
        found = []
        try:
            for each in [each for each in rounds(3, 5) if not each.alone]:
                experiment = Experiment(tests=tuple(tests), conditions=each.conditions)
                files = tuple(dict.fromkeys(test.partition("::")[0] for test in tests))
                results = bench.run(
                    [
                        Request(stage=Stage(side=side), experiment=experiment, mode=each.mode, files=files)
                        for side in trees
                    ]
                )
                found.append(
                    {
                        str(side): [str(run.outcome) for run in result.runs]
                        for side, result in zip(trees, results, strict=True)
                    }
                )
        finally:
            bench.close()
            sandbox.close()
    return found


# --- docker run -------------------------------------------------------------------------------


def image_of(python: Path) -> tuple[str, list[str]]:
    """The image that both sides use, and the interpreter's own directories, mounted as repro-gate does."""
    from repro_gate.sandbox import docker, probe
    from repro_gate.sandbox.paths import SYSTEM, outermost

    here = probe(str(python), os.environ, Path.cwd())
    image = docker.base_from_interpreter(docker.connect(os.environ), here)
    own = outermost(path for path in here.directories if path not in SYSTEM)
    return image.reference, [word for path in own for word in ("-v", f"{path}:{path}:ro")]


_LOOP = """
import json, subprocess, sys
statuses = []
for argv in json.loads(sys.argv[1]):
    statuses.append(subprocess.run(argv, capture_output=True, text=True).returncode)
print(json.dumps(statuses))
"""


def docker_runs(trees: Trees, image: str, mounts: Sequence[str], python: Path) -> list[list[str]]:
    """Sixteen commands: eight a side, in turn."""
    return [
        [
            *("docker", "run", "--rm", "--network", "none", "--cap-drop", "ALL"),
            *("-v", f"{tree}:{_INSIDE}:ro", "-w", _INSIDE, "-e", "PYTHONDONTWRITEBYTECODE=1", *mounts),
            *("-e", f"PYTHONHASHSEED={number}"),
            *(
                "-e",
                f"PYTHONPATH={':'.join(f'{_INSIDE}/{root}' for root in trees.roots)}",
                image,
                str(python),
                "-m",
                "pytest",
                "-q",
                "-p",
                "no:cacheprovider",
            ),
            *trees.tests,
        ]
        for number in range(_ROUNDS)
        for tree in (trees.base, trees.head)
    ]


# --- measuring --------------------------------------------------------------------------------


_QUIET = 0.1  # cores that others may use while this is measured


class Machine:
    """CPU of everything that runs here, and how much of it was there before."""

    def __init__(self, seconds: float = 5.0) -> None:
        before = self.seconds()
        time.sleep(seconds)
        self.others = (self.seconds() - before) / seconds

    def seconds(self) -> float:
        """So far, since the machine started. Time that a hypervisor took away is not counted."""
        user, nice, system, _, _, irq, softirq = map(int, Path("/proc/stat").read_text().split()[1:8])
        return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


class Containers:
    """CPU of all containers of the daemon: the control group above one of them."""

    def __init__(self, image: str, mounts: Sequence[str], python: Path) -> None:
        command = [str(python), "-c", "import time; time.sleep(60)"]
        started = _said(["docker", "run", "-d", "--rm", "--network", "none", *mounts, image, *command])
        try:
            pid = _said(["docker", "inspect", "-f", "{{.State.Pid}}", started])
            self._file = _accounts(Path(f"/proc/{pid}/cgroup").read_text().splitlines())
        finally:
            _said(["docker", "rm", "-f", started])

    def seconds(self) -> float:
        """So far, of containers that are gone, too."""
        text = self._file.read_text()
        if self._file.name == "cpuacct.usage":
            return int(text) / 1e9
        return next(int(line.split()[1]) / 1e6 for line in text.splitlines() if line.startswith("usage_usec"))


def _accounts(lines: Sequence[str]) -> Path:
    for line in lines:
        _, controllers, below = line.split(":", 2)
        if "cpuacct" in controllers.split(","):
            return Path(f"/sys/fs/cgroup/cpuacct{below}").parent / "cpuacct.usage"
    [line] = [line for line in lines if line.startswith("0::")]
    return Path(f"/sys/fs/cgroup{line[3:]}").parent / "cpu.stat"


def _said(argv: Sequence[str]) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@contextmanager
def _place(cache: Path) -> Iterator[Path]:
    """A directory that the daemon can mount, too."""
    with tempfile.TemporaryDirectory(dir=cache, prefix="pair-") as name:
        yield Path(name)


def compare(trees: Trees, python: Path, turns: int) -> dict[str, Any]:
    """Both contenders in turn; the best of each, so that a busy moment counts for neither."""
    image, mounts = image_of(python)
    containers = Containers(image, mounts, python)
    machine = Machine()
    if machine.others > _QUIET:
        progress(f"{trees.name}: others use {machine.others:.2f} cores of this machine: the CPU ratio means little")
    ours = [sys.executable, __file__, "--bench", str(trees.base), str(trees.head), str(python)]
    ours += [",".join(trees.roots), *trees.tests]
    loop = [sys.executable, "-c", _LOOP, json.dumps(docker_runs(trees, image, mounts, python))]
    seen: dict[str, list[dict[str, float]]] = {"repro-gate": [], "docker run": []}
    for turn in range(turns):
        for name, argv in (("repro-gate", ours), ("docker run", loop)):
            before, all_before = containers.seconds(), machine.seconds()
            cost = measure.measure(argv, cwd=trees.head, env=dict(os.environ))
            inside = containers.seconds() - before
            everything = machine.seconds() - all_before - machine.others * cost.wall
            _check(name, cost, len(trees.tests))
            own = cost.cpu + inside
            seen[name].append({"cpu": everything, "own": own, "inside": inside, "wall": cost.wall})
            progress(
                f"{trees.name}, turn {turn + 1}, {name}: {everything:.1f} s CPU ({own:.1f} s without the daemon),"
                f" {cost.wall:.1f} s"
            )
    best = {name: min(costs, key=lambda cost: cost["cpu"]) for name, costs in seen.items()}
    wall = {name: min(cost["wall"] for cost in costs) for name, costs in seen.items()}
    return {
        "pair": trees.name,
        "tests": len(trees.tests),
        "turns": seen,
        "cpu": best["repro-gate"]["cpu"] / best["docker run"]["cpu"],
        "own": min(cost["own"] for cost in seen["repro-gate"]) / min(cost["own"] for cost in seen["docker run"]),
        "wall": wall["repro-gate"] / wall["docker run"],
        "others": machine.others,
    }


def _check(name: str, cost: measure.Cost, tests: int) -> None:
    """Both contenders saw base fail and head pass, each time: else what they cost compares nothing."""
    if cost.status == 0 and name == "docker run":
        good = json.loads(cost.stdout) == [1, 0] * _ROUNDS
    elif cost.status == 0:
        expected = {"base": ["failed"] * tests, "head": ["passed"] * tests}
        good = json.loads(cost.stdout) == [expected] * _ROUNDS
    else:
        good = False
    if not good:
        raise SystemExit(f"{name} did not see what it should (status {cost.status}):\n{cost.stdout}{cost.stderr}")


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", nargs="+", choices=("generated", "jinja2"), default=["generated", "jinja2"])
    parser.add_argument("--turns", type=measure.positive, default=3)
    parser.add_argument("--cache", type=Path, help="where environments and sources go (default: a temporary directory)")
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    options = parser.parse_args(arguments)

    cache = measure.cache_directory(options.cache)
    python = measure.make_venv(cache / "venv-plain", ["pytest", "markupsafe"], progress)
    rows = []
    for pair in options.pairs:
        with _place(cache) as place:
            trees = generated(place) if pair == "generated" else jinja2(place, cache, python)
            rows.append(compare(trees, python, options.turns))
    bars = [
        measure.Bar(name=f"{name}, {row['pair']}", value=row[key], bar=BAR)
        for row in rows
        for name, key in (("CPU", "cpu"), ("wall", "wall"))
    ]
    text = measure.table(
        ("pair", "tests", "CPU ratio", "without the daemon", "wall ratio", "cores used by others"),
        [(row["pair"], row["tests"], *(f"{row[key]:.3f}" for key in ("cpu", "own", "wall", "others"))) for row in rows],
    )
    return measure.finish("fail_to_pass", {"pairs": rows}, bars, options.out, text)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--bench"]:
        print(json.dumps(run_bench(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5], sys.argv[6:])))
        sys.exit(0)
    sys.exit(main())
