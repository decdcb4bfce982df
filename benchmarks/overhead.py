"""What the plugin costs where nobody asked for it, and what watching files and sockets costs.

Pairs of runs, with and without, in turn (A B, B A, ...), so that a slow moment of the machine
falls on both. Three comparisons on one generated suite:

installed   the distribution is installed beside pytest (entry point), against not installed
injected    ``-p repro_gate_pytest.plugin`` by path, against plain pytest
evidence    the audit hook in forks of the lab, against forks without it
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import measure
from benchmarks.measure import ROOT, progress

_UNUSED_BAR, _EVIDENCE_BAR = 1.01, 1.05
_PER_MODULE = 50

# An ordinary unit test: some work in Python, now and then a file or a socket.
_MODULE = """
import json, socket
import pytest

def work(n):
    data = {{str(i): [i, i * i, "x" * (i % 7)] for i in range(n)}}
    return sorted(json.loads(json.dumps(data)), key=len)

@pytest.mark.parametrize("number", range({tests}))
def test_unit(number, tmp_path_factory):
    assert len(work({work} + number % 10)) == {work} + number % 10
    if number % 2 == 0:
        path = tmp_path_factory.getbasetemp() / f"{module}-{{number}}.txt"
        path.write_text("text")
        assert path.read_text() == "text"
        path.unlink()
    if number % 5 == 0:
        with socket.socket() as server, socket.socket() as client:
            server.bind(("127.0.0.1", 0))
            server.listen(1)
            client.connect(server.getsockname())
"""

# Collected last: the CPU of the process so far; of a fork, that is since the fork.
_LAST = """
import os, resource, time

def test_how_much_it_took():
    told = os.environ.get("BENCH_TOLD")
    if told:
        below = resource.getrusage(resource.RUSAGE_CHILDREN)
        with open(told, "a") as file:
            file.write(f"{time.process_time() + below.ru_utime + below.ru_stime}\\n")
"""


def generate(directory: Path, tests: int, work: int) -> None:
    """A suite of so many tests."""
    (directory / "tests").mkdir(parents=True)
    (directory / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    left, module = tests - 1, 0
    while left > 0:
        here = min(left, _PER_MODULE)
        text = _MODULE.format(tests=here, work=work, module=module)
        (directory / "tests" / f"test_module_{module:03}.py").write_text(text)
        left, module = left - here, module + 1
    (directory / "tests" / "test_zz_last.py").write_text(_LAST)


def pairs_of(
    name: str, pairs: int, with_it: Callable[[], float], without: Callable[[], float]
) -> list[tuple[float, float]]:
    """So many pairs, in alternating order, after one of each that does not count."""
    with_it(), without()
    found = []
    for number in range(pairs):
        if number % 2:
            b, a = without(), with_it()
        else:
            a, b = with_it(), without()
        found.append((a, b))
        progress(f"{name}: pair {number + 1} of {pairs}: {a / b:.3f}")
    return found


# --- plugin unused ----------------------------------------------------------------------------


def can_count_instructions() -> bool:
    """Whether ``perf`` counts instructions of user space here: exact where time is noisy."""
    if shutil.which("perf") is None:
        return False
    done = subprocess.run(
        ["perf", "stat", "-x,", "-e", "instructions:u", "true"], capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and done.stderr.strip().split(",")[0].isdigit()


def pytest_run(python: Path, suite: Path, extra: Sequence[str], env: Mapping[str, str], count: bool) -> float:
    """One ordinary pytest run: instructions, or CPU seconds."""
    argv = [str(python), "-m", "pytest", "-q", "-p", "no:cacheprovider", *extra]
    if count:
        argv = ["perf", "stat", "-x,", "-e", "instructions:u", "-o", str(suite / "counted"), *argv]
    cost = measure.measure(argv, cwd=suite, env=env)
    if cost.status != 0:
        raise SystemExit(f"pytest ended with status {cost.status}:\n{cost.stdout[-3000:]}{cost.stderr[-2000:]}")
    if not count:
        return cost.cpu
    lines = (suite / "counted").read_text().splitlines()
    return float(next(line.split(",")[0] for line in lines if "instructions" in line))


def install_plugin(python: Path, cache: Path) -> None:
    """This checkout, as a wheel, without what it depends on: the plugin alone needs pytest only."""
    wheels = cache / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    measure.pip(
        Path(sys.executable),
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(wheels),
        str(ROOT),
    )
    (wheel,) = wheels.glob("*.whl")
    measure.pip(python, "install", "--quiet", "--no-deps", "--force-reinstall", str(wheel))


def unused(cache: Path, suite: Path, pairs: int) -> dict[str, list[tuple[float, float]]]:
    """Installed and injected, each against plain pytest."""
    plain = measure.make_venv(cache / "venv-plain", ["pytest"], progress)
    installed = measure.make_venv(cache / "venv-installed", ["pytest"], progress, like=cache / "venv-plain")
    install_plugin(installed, cache)
    env = measure.clean_environment()
    # By path: a directory that holds the plugin and nothing else, so that only it is found there.
    by_path = cache / "by-path"
    shutil.rmtree(by_path, ignore_errors=True)
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "pytest_plugin" / "repro_gate_pytest", by_path / "repro_gate_pytest", ignore=ignore)
    injected_env = dict(env, PYTHONPATH=str(by_path))
    count = can_count_instructions()
    return {
        "installed": pairs_of(
            "installed",
            pairs,
            lambda: pytest_run(installed, suite, (), env, count),
            lambda: pytest_run(plain, suite, (), env, count),
        ),
        "injected": pairs_of(
            "injected",
            pairs,
            lambda: pytest_run(plain, suite, ("-p", "repro_gate_pytest.plugin"), injected_env, count),
            # PYTHONPATH in both: an entry more is not the plugin's doing.
            lambda: pytest_run(plain, suite, (), injected_env, count),
        ),
    }


# --- evidence ---------------------------------------------------------------------------------


def evidence(
    python: Path, suite: Path, pairs: int, told: Path
) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
    """Forks with the hook against forks without: CPU of the fork, and with the lab's own added."""
    from repro_gate.experiment import Job, Lab, Project
    from repro_gate.model import Conditions, Ending, Experiment, Outcome
    from repro_gate.sandbox import Host, probe

    env = measure.clean_environment()
    interpreter = probe(str(python), env, suite)
    labs = {
        watched: Lab(
            Project(
                original=suite,
                subdirectory="",
                pytest_args=(),
                interpreter=interpreter,
                environment=dict(env, BENCH_TOLD=str(told)),
                evidence=watched,
            ),
            Host(),
            jobs=1,
            clock=time.monotonic,
        )
        for watched in (True, False)
    }
    alone: list[float] = []

    def once(watched: bool) -> float:
        told.unlink(missing_ok=True)
        before = time.process_time()
        (result,) = labs[watched].run([Job(experiment=Experiment(tests=None, conditions=Conditions()))])
        lab_cpu = time.process_time() - before
        bad = [run.id for run in result.runs if run.outcome is not Outcome.PASSED]
        if result.ending is not Ending.DONE or bad:
            raise SystemExit(f"a fork did not run as it should: {result.ending} {bad[:3]} {result.notes[:3]}")
        if any(run.evidence is not None for run in result.runs) is not watched:
            raise SystemExit(f"evidence={watched}, but the results say otherwise")
        alone.append(float(told.read_text()))
        return alone[-1] + lab_cpu

    with labs[True], labs[False]:
        for lab in labs.values():
            lab.collect(Experiment(tests=None, conditions=Conditions()))
        together = pairs_of("evidence", pairs, lambda: once(True), lambda: once(False))
    forks = []
    for number in range(pairs):
        first, second = alone[2 + 2 * number], alone[3 + 2 * number]
        forks.append((second, first) if number % 2 else (first, second))
    return forks, together


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=measure.positive, default=25)
    parser.add_argument("--tests", type=measure.positive, default=400)
    parser.add_argument("--work", type=measure.positive, default=800, help="size of a test; 800 is a few milliseconds")
    parser.add_argument("--only", choices=("unused", "evidence"), help="one half")
    parser.add_argument("--cache", type=Path, help="environments (default: a temporary directory)")
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    options = parser.parse_args(arguments)
    cache = measure.cache_directory(options.cache)
    found: dict[str, list[tuple[float, float]]] = {}
    with tempfile.TemporaryDirectory(prefix="repro-gate-overhead-") as name:
        suite = Path(os.path.realpath(name)) / "suite"
        generate(suite, options.tests, options.work)
        if options.only != "evidence":
            found |= unused(cache, suite, options.pairs)
        if options.only != "unused":
            plain = measure.make_venv(cache / "venv-plain", ["pytest"], progress)
            found["evidence"], found["evidence, with repro-gate"] = evidence(
                plain, suite, options.pairs, Path(name) / "told"
            )
    results: dict[str, Any] = {}
    rows, bars = [], []
    for what, pairs in found.items():
        of_medians, median, (low, high) = measure.median_ratios(pairs)
        more = sorted(a - b for a, b in pairs)[len(pairs) // 2]
        instructions = pairs[0][0] > 1e6
        results[what] = {
            "unit": "instructions" if instructions else "CPU seconds",
            "pairs": pairs,
            "ratio_of_medians": of_medians,
            "median_of_ratios": median,
            "interval": [low, high],
            "median_difference": more,
        }
        rows.append((what, len(pairs), f"{of_medians:.4f}", f"{median:.4f}", f"{low:.3f}-{high:.3f}",
                     f"{more:.3g}" if instructions else f"{1000 * more:+.1f} ms"))  # fmt: skip
        bars.append(measure.Bar(name=f"{what} (median of pair ratios)", value=median,
                                bar=_EVIDENCE_BAR if what.startswith("evidence") else _UNUSED_BAR))  # fmt: skip
    text = measure.table(
        ("with : without", "pairs", "ratio of medians", "median of ratios", "95 %", "median difference"), rows
    )
    return measure.finish("overhead", {"tests": options.tests, "comparisons": results}, bars, options.out, text)


if __name__ == "__main__":
    sys.exit(main())
