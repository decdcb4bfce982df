"""Does the cost of a scan grow linearly, and does its memory stay flat?

Generated suites of trivial tests are scanned through the command line (detection only, no
sandbox). What counts is the cost per test and run, and the peak memory of repro-gate itself.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import measure

_PER_MODULE = 100
_FLAT = 1.5
_MEMORY_MIB = 200.0

# Runs the command line in this process, and says at the end what it took at most.
_PROGRAM = """
import atexit, pathlib, sys
told = sys.argv.pop(1)
def tell():
    try:
        lines = pathlib.Path("/proc/self/status").read_text().splitlines()
        peak = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        import resource
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    import time
    pathlib.Path(told).write_text(f"{peak} {time.process_time()}")
atexit.register(tell)
from repro_gate.cli.main import main
sys.argv[0] = "repro-gate"
main()
"""

_FLAKY = """
import random
_seen = []

def test_flaky_by_random():
    assert random.random() < 0.6

def test_flaky_by_hash_seed():
    assert hash("a word") % 3 != 0 or hash("another") % 2

def test_flaky_by_order():
    assert not _seen

def test_that_pollutes():
    _seen.append(1)
"""


def generate(directory: Path, tests: int) -> list[str]:
    """A suite of exactly so many tests; the ids of its three flaky ones."""
    shutil.rmtree(directory, ignore_errors=True)
    (directory / "tests").mkdir(parents=True)
    (directory / "pyproject.toml").write_text('[tool.pytest.ini_options]\ntestpaths = ["tests"]\n')
    left, module = tests - 4, 0
    # In the middle, and the polluter after its victim: as collected, all is well.
    middle = left // _PER_MODULE // 2
    while left > 0:
        here = min(_PER_MODULE, left)
        parametrized = here // 2 if here > 4 else 0
        lines = ["import pytest\n"]
        lines += [
            f"\ndef test_{number}():\n    assert {number} + 1 == {number + 1}\n"
            for number in range(here - parametrized)
        ]
        if parametrized:
            lines.append(
                f'\n@pytest.mark.parametrize("value", range({parametrized}))\n'
                "def test_of_many(value):\n    assert value * 2 == value + value\n"
            )
        (directory / "tests" / f"test_module_{module:04}.py").write_text("".join(lines))
        if module == middle:
            (directory / "tests" / f"test_module_{module:04}_flaky.py").write_text(_FLAKY)
        left -= here
        module += 1
    file = f"tests/test_module_{middle:04}_flaky.py"
    return [f"{file}::test_flaky_by_{cause}" for cause in ("random", "hash_seed", "order")]


def one(tests: int, runs: int, python: Path, directory: Path, seed: int) -> dict[str, Any]:
    """Scan one generated suite; what it cost."""
    suite = directory / f"suite-{tests}"
    flaky = generate(suite, tests)
    report, told = directory / f"report-{tests}.json", directory / f"peak-{tests}"
    cost = measure.measure(
        [sys.executable, "-c", _PROGRAM, told, "scan", "--no-causes", "--sandbox", "host", "--runs", str(runs),
         "--seed", str(seed), "--python", python, "--report-json", report, "--capsules", directory / "capsules"],
        cwd=suite,
    )  # fmt: skip
    if cost.status not in (0, 1, 3) or not report.exists() or not told.exists():
        raise SystemExit(
            f"the scan of {tests} tests ended with status {cost.status}:\n{cost.stdout[-2000:]}{cost.stderr[-4000:]}"
        )
    peak_kib, own_cpu = told.read_text().split()
    seen = json.loads(report.read_text())
    done = sum(test["runs"] for test in seen["tests"])
    mixed = {test["id"] for test in seen["tests"] if 0 < test["failures"] < test["runs"]}
    shutil.rmtree(suite, ignore_errors=True)
    return {
        "tests": tests,
        "runs": runs,
        "test_runs": done,
        "complete": len(seen["tests"]) == tests and seen["campaign"]["runs"] >= runs,
        "notes": seen["notes"][-5:],
        "mode": seen["environment"]["mode"],
        "cpu": cost.cpu,
        "supervisor_cpu": float(own_cpu),
        "wall": cost.wall,
        "meter": cost.meter,
        "cpu_us_per_test_run": 1e6 * cost.cpu / done,
        "supervisor_us_per_test_run": 1e6 * float(own_cpu) / done,
        "wall_us_per_test_run": 1e6 * cost.wall / done,
        "peak_mib": int(peak_kib) / 1024,
        "flaky_found": len(mixed & set(flaky)),
        "flaky_wrong": sorted(mixed - set(flaky)),
    }


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=measure.positive, nargs="+", default=[1000, 5000, 20000])
    parser.add_argument("--runs", type=measure.positive, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--python", type=Path, help="interpreter with pytest (default: a venv with pytest only)")
    parser.add_argument("--cache", type=Path, help="where environments go (default: a temporary directory)")
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    options = parser.parse_args(arguments)

    cache = measure.cache_directory(options.cache)
    python = options.python or measure.make_venv(cache / "venv-plain", ["pytest"], measure.progress)
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="repro-gate-scale-") as name:
        for tests in sorted(options.tests):
            measure.progress(f"scale: {tests} tests x {options.runs} runs")
            rows.append(one(tests, options.runs, Path.cwd() / python, Path(name), options.seed))
            measure.progress(f"  {rows[-1]['cpu']:.1f} s CPU, {rows[-1]['wall']:.1f} s, {rows[-1]['peak_mib']:.0f} MiB")

    first, last = rows[0], rows[-1]
    cpu = measure.ratio(last["cpu_us_per_test_run"], first["cpu_us_per_test_run"])
    wall = measure.ratio(last["wall_us_per_test_run"], first["wall_us_per_test_run"])
    sizes = f"{last['tests']} : {first['tests']} tests"
    bars = [
        measure.Bar(name=f"CPU per test and run, {sizes}", value=cpu, bar=_FLAT),
        measure.Bar(name=f"time per test and run, {sizes}", value=wall, bar=_FLAT),
        measure.Bar(
            name=f"peak MiB of repro-gate, {last['tests']} tests x {options.runs}",
            value=last["peak_mib"],
            bar=_MEMORY_MIB,
        ),
        measure.Bar(name="scans complete", value=float(all(row["complete"] for row in rows)), bar=1, at_least=True),
    ]
    text = measure.table(
        (
            "tests",
            "runs",
            "CPU us/test-run",
            "of it repro-gate",
            "time us/test-run",
            "CPU vs smallest",
            "peak MiB",
            "flaky found",
            "wrong",
        ),
        [
            (
                row["tests"],
                row["runs"],
                f"{row['cpu_us_per_test_run']:.0f}",
                f"{row['supervisor_us_per_test_run']:.0f}",
                f"{row['wall_us_per_test_run']:.0f}",
                f"{row['cpu_us_per_test_run'] / first['cpu_us_per_test_run']:.2f}",
                f"{row['peak_mib']:.0f}",
                f"{row['flaky_found']} of 3",
                len(row["flaky_wrong"]),
            )
            for row in rows
        ],
    )
    return measure.finish("scale", {"scans": rows}, bars, options.out, text)


if __name__ == "__main__":
    sys.exit(main())
