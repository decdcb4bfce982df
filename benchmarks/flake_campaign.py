"""Finding flaky tests by repro-gate and by what one would do instead: CPU, and how many are found.

Every contender gets a fresh copy of the suite and an environment that holds pytest, the suite's
dependencies and that contender's plugin only; repro-gate uses the plain one. A test is nominated
if it both passed and failed.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import sys
import tarfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import measure
from benchmarks.measure import ROOT, progress


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A suite: a directory of ours, or a source distribution fetched by name."""

    name: str
    what: str
    directory: Path | None = None
    package: str = ""
    arguments: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    bar: float | None = None  # repro-gate's share of the loop's CPU


SUITES = {
    suite.name: suite
    for suite in (
        Suite(name="shop", what="the example: many kinds of flakes", directory=ROOT / "examples" / "shop", bar=0.5),
        Suite(name="probe", what="held-out probe", directory=ROOT / "benchmarks" / "probe"),
        Suite(
            name="xarray",
            what="import-heavy: pandas, dask, matplotlib, numba",
            package="xarray",
            # Its own options need a plugin that checks types.
            arguments=("-o", "addopts=", "xarray/tests/test_utils.py"),
            # What its test package imports where it is there, as in its own CI.
            needs=(
                *("numpy", "pandas", "packaging", "scipy", "matplotlib", "dask[array,dataframe]", "distributed"),
                *("bottleneck", "zarr", "cftime", "sparse", "numba", "pint"),
            ),
            bar=0.2,
        ),
        Suite(
            name="boltons",
            what="ordinary: several hundred quick tests",
            package="boltons",
            arguments=("tests",),
        ),
    )
}
_DEFAULT = ("shop", "xarray", "boltons")
_BAR = ("repro-gate", "loop")  # what a bar compares, in turns
_PLUGINS = {
    "loop": (),
    "randomly": ("pytest-randomly",),
    "repeat": ("pytest-repeat",),
    "flakefinder": ("pytest-flakefinder",),
}
_WORDS = {
    "repro-gate": "repro-gate scan --no-causes",
    "repro-gate-causes": "repro-gate scan (with causes)",
    "loop": "loop of pytest processes",
    "randomly": "pytest-randomly, loop of seeds",
    "repeat": "pytest-repeat --count",
    "flakefinder": "pytest-flakefinder",
}


@dataclass(kw_only=True)
class Seen:
    """What a contender saw and what it cost."""

    contender: str
    cpu: float = 0.0
    wall: float = 0.0
    meters: set[str] = field(default_factory=set)
    runs: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    trouble: list[str] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)

    @property
    def mixed(self) -> set[str]:
        """Tests that both passed and failed."""
        return {test for test, failures in self.failures.items() if 0 < failures < self.runs[test]}

    def add(self, cost: measure.Cost) -> None:
        """One more process of it."""
        self.cpu += cost.cpu
        self.wall += cost.wall
        self.meters.add(cost.meter)
        if cost.timed_out:
            self.trouble.append("timed out")


class Bench:
    """One suite, prepared; contenders run in it one after another."""

    def __init__(self, suite: Suite, cache: Path, runs: int, seed: int, timeout: float) -> None:
        self.suite = suite
        self._cache = cache
        self._runs = runs
        self._seed = seed
        self._timeout = timeout
        self._pristine = self._fetch()
        self._ids: list[str] = []

    def _fetch(self) -> Path:
        if self.suite.directory is not None:
            return self.suite.directory
        target = self._cache / "suites" / self.suite.package
        if target.exists():
            return target
        progress(f"fetching {self.suite.package}")
        downloads = self._cache / "downloads" / self.suite.package
        downloads.mkdir(parents=True, exist_ok=True)
        if not list(downloads.glob("*.tar.gz")):
            measure.pip(
                self._python("loop"),
                "download",
                "--quiet",
                "--no-binary",
                ":all:",
                "--no-deps",
                self.suite.package,
                cwd=downloads,
            )
        archive = next(iter(downloads.glob("*.tar.gz")))
        unpacked = self._cache / "suites" / (self.suite.package + ".part")
        shutil.rmtree(unpacked, ignore_errors=True)
        with tarfile.open(archive) as tar:
            tar.extractall(unpacked, filter="data")
        (inner,) = unpacked.iterdir()
        inner.rename(target)
        unpacked.rmdir()
        return target

    def _python(self, contender: str) -> Path:
        group = self.suite.package or "plain"
        base = self._cache / "venvs" / f"{group}-loop"
        python = measure.make_venv(base, ["pytest", *self.suite.needs], progress)
        if not _PLUGINS[contender]:
            return python
        return measure.make_venv(
            self._cache / "venvs" / f"{group}-{contender}", _PLUGINS[contender], progress, like=base
        )

    def _copy(self, contender: str) -> Path:
        """A fresh copy of the suite for one contender."""
        copy = self._cache / "work" / self.suite.name / contender
        shutil.rmtree(copy, ignore_errors=True)
        ignore = shutil.ignore_patterns("__pycache__", ".pytest_cache", ".repro-gate", ".git")
        shutil.copytree(self._pristine, copy, ignore=ignore, symlinks=True)
        return copy

    def _pytest(self, python: Path, cwd: Path, *arguments: str) -> measure.Cost:
        argv = [str(python), "-m", "pytest", "-q", *arguments, *self.suite.arguments]
        return measure.measure(argv, cwd=cwd, timeout=self._timeout)

    def prepare(self) -> None:
        """Environments, the list of tests, and one run outside of the measurement: files in memory."""
        for contender in _PLUGINS:
            self._python(contender)
        copy = self._copy("prepare")
        listed = self._pytest(self._python("loop"), copy, "--collect-only")
        self._ids = _listed(listed.stdout)
        if not self._ids:
            raise SystemExit(f"{self.suite.name}: nothing collected\n{listed.stdout[-3000:]}{listed.stderr[-2000:]}")
        self._pytest(self._python("loop"), copy)
        progress(f"{self.suite.name}: {len(self._ids)} tests")

    @property
    def tests(self) -> list[str]:
        """The ids of the suite."""
        return self._ids

    # -- contenders ---------------------------------------------------------------------------

    def repro_gate(self, contender: str) -> Seen:
        """``repro-gate scan``, with or without looking for causes."""
        seen = Seen(contender=contender)
        copy = self._copy(contender)
        self._warm(self._python("loop"), copy)
        report = self._cache / "work" / self.suite.name / f"{contender}.json"
        report.unlink(missing_ok=True)
        argv: list[str] = [
            sys.executable,
            "-m",
            "repro_gate.cli.main",
            "scan",
            "--runs",
            str(self._runs),
            "--seed",
            str(self._seed),
        ]
        argv += ["--sandbox", "host", "--python", str(self._python("loop")), "--report-json", str(report)]
        if contender == "repro-gate":
            argv.append("--no-causes")
        argv += ["--", *self.suite.arguments]
        cost = measure.measure(argv, cwd=copy, timeout=self._timeout)
        seen.add(cost)
        if not report.exists():
            raise SystemExit(
                f"repro-gate ended with status {cost.status}:\n{cost.stdout[-2000:]}\n{cost.stderr[-4000:]}"
            )
        told = json.loads(report.read_text(encoding="utf-8"))
        for test in told["tests"]:
            seen.runs[test["id"]] += test["runs"]
            seen.failures[test["id"]] += test["failures"]
            seen.verdicts[test["verdict"]] += 1
        if told["campaign"]["incomplete"]:
            seen.trouble.append(str(told["campaign"]["incomplete"]))
        if told["environment"]["mode"] != "fork":
            seen.trouble.append(f"mode: {told['environment']['mode']} ({told['environment']['mode_reason']})")
        return seen

    def loop(self, contender: str) -> Seen:
        """Process after process; with seeds for pytest-randomly."""
        seen = Seen(contender=contender)
        copy = self._copy(contender)
        python = self._python(contender)
        self._warm(python, copy)
        for number in range(self._runs):
            extra = (f"--randomly-seed={self._seed * 1000 + number}",) if contender == "randomly" else ()
            cost = self._pytest(python, copy, *extra)
            seen.add(cost)
            if cost.status not in (0, 1):
                seen.trouble.append(f"run {number + 1}: pytest ended with status {cost.status}")
                continue
            failed = set(_failed(cost.stdout, self._ids))
            seen.runs.update(self._ids)
            seen.failures.update(failed)
        return seen

    def in_process(self, contender: str) -> Seen:
        """Every test so many times in one process."""
        seen = Seen(contender=contender)
        copy = self._copy(contender)
        python = self._python(contender)
        options: tuple[str, ...] = (
            ("--count", str(self._runs)) if contender == "repeat" else ("--flake-finder", f"--flake-runs={self._runs}")
        )
        self._warm(python, copy)
        listed = self._pytest(python, copy, "--collect-only", *options)
        if "INTERNALERROR" in listed.stdout:
            # pytest-flakefinder cannot take doctests; a user would leave those out.
            options += ("-o", "addopts=")
            seen.trouble.append("crashes on the project's addopts: run without")
            listed = self._pytest(python, copy, "--collect-only", *options)
        base = _bases(_listed(listed.stdout), self._ids)
        cost = self._pytest(python, copy, *options)
        seen.add(cost)
        if cost.status not in (0, 1):
            seen.trouble.append(f"pytest ended with status {cost.status}")
        seen.runs.update(base.values())
        seen.failures.update(base[copy_] for copy_ in set(_failed(cost.stdout, list(base))) if copy_ in base)
        lacking = sum(1 for test in self._ids if seen.runs[test] < self._runs)
        if lacking:
            seen.trouble.append(f"{lacking} tests not repeated")
        return seen

    def _warm(self, python: Path, copy: Path) -> None:
        """Byte code of the suite and of the plugin exists before anything is measured."""
        self._pytest(python, copy, "--collect-only")

    def contender(self, name: str) -> Callable[[str], Seen]:
        """The method for a contender's name."""
        if name.startswith("repro-gate"):
            return self.repro_gate
        return self.loop if name in ("loop", "randomly") else self.in_process


def _listed(stdout: str) -> list[str]:
    """Test ids of ``pytest -q --collect-only``: lines until the first empty one, some with notes before."""
    return list(
        dict.fromkeys(line for line in stdout.splitlines() if "::" in line and not line.startswith((" ", "ERROR", "=")))
    )


def _failed(stdout: str, ids: Sequence[str]) -> list[str]:
    """Ids in pytest's own short summary, which says FAILED or ERROR for each; at no extra cost."""
    known = set(ids)
    found = []
    summary = stdout.rpartition("short test summary info")[2]
    for line in summary.splitlines():
        word, _, rest = line.partition(" ")
        if word not in ("FAILED", "ERROR") or not rest:
            continue
        # "<id> - <message>", and either may hold " - " itself.
        parts = rest.split(" - ")
        for count in range(len(parts), 0, -1):
            candidate = " - ".join(parts[:count])
            if candidate in known:
                found.append(candidate)
                break
    return found


_STEP = r"(?:\d+-\d+|flake_run\d+|\d+)"


def _bases(copies: Sequence[str], ids: Sequence[str]) -> dict[str, str]:
    """Repeated id -> the test it repeats: the plugins add a parameter, first, last or alone."""
    known = set(ids)
    base: dict[str, str] = {}
    for copy in copies:
        candidates = [
            re.sub(rf"\[{_STEP}\]$", "", copy),
            re.sub(rf"-{_STEP}\]$", "]", copy),
            re.sub(r"-\d+-\d+\]$", "]", copy),
            re.sub(rf"\[{_STEP}-", "[", copy),
            re.sub(r"\[\d+-\d+-", "[", copy),
        ]
        found = next((candidate for candidate in candidates if candidate != copy and candidate in known), None)
        if found is not None:
            base[copy] = found
        elif copy in known:
            base[copy] = copy
    return base


def _expected(suite: Suite) -> dict[str, str] | None:
    """Id -> axis of the flakes that were seeded, where there is a list."""
    if suite.directory is None or not (suite.directory / "expected.json").exists():
        return None
    told = json.loads((suite.directory / "expected.json").read_text(encoding="utf-8"))
    return {test: str(entry["axis"]) for test, entry in told["flaky"].items()}


def run_suite(suite: Suite, cache: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Every contender on one suite."""
    bench = Bench(suite, cache, options.runs, options.seed, options.timeout)
    bench.prepare()
    expected = _expected(suite)
    result: dict[str, Any] = {
        "suite": suite.name,
        "what": suite.what,
        "tests": len(bench.tests),
        "runs": options.runs,
        "contenders": {},
    }
    for name in options.contenders:
        progress(f"{suite.name}: {_WORDS[name]}")
        seen = bench.contender(name)(name)
        entry: dict[str, Any] = {
            "cpu": [seen.cpu],
            "wall": seen.wall,
            "meter": ", ".join(sorted(seen.meters)),
            "mixed": sorted(seen.mixed),
            "trouble": seen.trouble,
        }
        if name.startswith("repro-gate"):
            entry["verdicts"] = dict(seen.verdicts)
        if expected is not None:
            flaky = expected
            entry["found"] = len(seen.mixed & set(flaky))
            entry["of"] = len(flaky)
            entry["wrong"] = sorted(seen.mixed - set(flaky))
            entry["missed"] = {test: axis for test, axis in flaky.items() if test not in seen.mixed}
        result["contenders"][name] = entry
        progress(
            f"  {seen.cpu:.1f} s CPU, {len(seen.mixed)} mixed{'; ' + '; '.join(seen.trouble[:3]) if seen.trouble else ''}"
        )
    for turn in range(1, options.turns):
        for name in (each for each in _BAR if each in result["contenders"]):
            progress(f"{suite.name}: {_WORDS[name]}, turn {turn + 1} of {options.turns}")
            result["contenders"][name]["cpu"].append(bench.contender(name)(name).cpu)
    loop = result["contenders"].get("loop", {}).get("cpu")
    for entry in result["contenders"].values():
        entry["cpu_vs_loop"] = _median_ratio(entry["cpu"], loop)
    return result


def _median_ratio(cpu: Sequence[float], loop: Sequence[float] | None) -> float | None:
    """Turn by turn: a machine whose speed changes slows both of a turn."""
    ratios = [measure.ratio(one, other) for one, other in zip(cpu, loop or (), strict=False)]
    known = [each for each in ratios if each is not None]
    return statistics.median(known) if known else None


def _text(results: Sequence[dict[str, Any]]) -> str:
    rows = []
    for result in results:
        for name, entry in result["contenders"].items():
            recall = f"{entry['found']} of {entry['of']}" if "found" in entry else "-"
            wrong = len(entry["wrong"]) if "wrong" in entry else "-"
            rows.append(
                (result["suite"], result["tests"], _WORDS[name], measure.shown(entry["cpu_vs_loop"]), len(entry["mixed"]), recall, wrong,
                 "; ".join(entry["trouble"])[:60])
            )  # fmt: skip
    return measure.table(("suite", "tests", "contender", "CPU vs loop", "mixed", "recall", "wrong", "remarks"), rows)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", choices=sorted(SUITES), default=list(_DEFAULT), metavar="NAME",
                        help=f"of {', '.join(SUITES)} (default: {' '.join(_DEFAULT)})")  # fmt: skip
    parser.add_argument("--contenders", nargs="+", choices=list(_WORDS), default=list(_WORDS), metavar="NAME",
                        help=f"of {', '.join(_WORDS)} (default: all)")  # fmt: skip
    parser.add_argument("--runs", type=measure.positive, default=20)
    parser.add_argument(
        "--turns", type=measure.positive, default=3, help="of repro-gate and the loop, one after the other"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=1800.0, help="seconds for one process of a contender")
    parser.add_argument("--cache", type=Path, help="environments and fetched code (default: a temporary directory)")
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    options = parser.parse_args(arguments)
    cache = measure.cache_directory(options.cache)
    progress(f"cache: {cache}")
    results, bars = [], []
    for name in options.suite:
        suite = SUITES[name]
        results.append(run_suite(suite, cache, options))
        if suite.bar is not None:
            value = results[-1]["contenders"].get("repro-gate", {}).get("cpu_vs_loop")
            bars.append(measure.Bar(name=f"{name}: CPU of repro-gate vs the loop", value=value, bar=suite.bar))
    return measure.finish("flake_campaign", {"suites": results}, bars, options.out, _text(results))


if __name__ == "__main__":
    sys.exit(main())
