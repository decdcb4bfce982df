"""All five gates on the example's pull request, against the sum of separate tools that answer a part of each.

pytest-cov and diff-cover for the coverage of the change, mutmut for its mutants, ten plain runs for flaky tests.
Nothing off the shelf proves a fix on base or keeps tests off the network, so these two are not paid for on that side.
mutmut is given the tests of the change alone, since those of the example that fail or are flaky would end it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import measure
from benchmarks.measure import progress
from examples.demo import IDENTITY, PULL_REQUEST, SHOP

BAR = 1.0
RERUNS = 10
_PACKAGES = ("pytest", "pytest-cov", "diff-cover", "mutmut==3.8.*")
_GATES = frozenset({"fail-to-pass", "network", "flaky", "coverage", "mutation"})
_UNWANTED = shutil.ignore_patterns(".git", "__pycache__", ".*_cache", "var", ".repro-gate")
_MUTMUT = """
[tool.mutmut]
source_paths = ["shop"]
only_mutate = ["shop/orders.py"]
pytest_add_cli_args_test_selection = ["tests/test_warranty.py"]
pytest_add_cli_args = ["-o", "addopts="]
"""


def example(place: Path) -> Path:
    """The shop as a git work tree, whose last commit is the pull request."""
    root = place / "shop"
    shutil.copytree(SHOP, root, ignore=_UNWANTED)
    git = ["git", "-C", str(root), *IDENTITY]
    for words in (
        ["init", "-q"],
        ["add", "--all"],
        ["commit", "-q", "-m", "The shop"],
        ["am", "-q", str(PULL_REQUEST)],
    ):
        subprocess.run([*git, *words], check=True)
    return root


def ours(root: Path, python: Path, place: Path, sandbox: str) -> measure.Cost:
    """`repro-gate check` with its defaults, but for the interpreter that all contenders have."""
    report = place / "report.json"
    program = [sys.executable, "-c", "import sys; from repro_gate.cli.main import main; sys.exit(main())"]
    words = ["check", "--base", "HEAD~1", "--python", str(python), "--sandbox", sandbox, "-q"]
    outputs = ["--report-json", str(report), "--capsules", str(place / "capsules")]
    cost = measure.measure([*program, *words, *outputs], cwd=root)
    gates = json.loads(report.read_text())["gates"] if report.exists() else []
    unanswered = [gate["gate"] for gate in gates if gate["verdict"] == "inconclusive"]
    if {gate["gate"] for gate in gates} != _GATES or unanswered:
        raise SystemExit(f"no answer of {unanswered or 'any gate'}:\n{cost.stdout[-3000:]}{cost.stderr[-3000:]}")
    return cost


def separate(root: Path, python: Path, place: Path) -> dict[str, float]:
    """CPU of each of the others, in seconds."""
    xml = place / "coverage.xml"
    cov = ["--cov=shop", "--cov-branch", f"--cov-report=xml:{xml}"]
    costs = {"pytest-cov": _cost([python, "-m", "pytest", "-q", *cov], root, {0, 1})}
    diff_cover = [python.parent / "diff-cover", xml, "--compare-branch", "HEAD~1"]
    costs["diff-cover"] = _cost(diff_cover, root, {0})
    copy = place / "mutmut"
    shutil.copytree(root, copy, ignore=_UNWANTED)
    with (copy / "pyproject.toml").open("a") as file:
        file.write(_MUTMUT)
    costs["mutmut"] = _cost([python, "-m", "mutmut", "run"], copy, {0})
    plain = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    costs[f"{RERUNS} reruns"] = sum(_cost(plain, root, {0, 1}) for _ in range(RERUNS))
    return costs


def _cost(argv: Sequence[str | os.PathLike[str]], root: Path, expected: set[int]) -> float:
    """CPU seconds of a tool that did its work: a suite with flaky tests may fail, a tool may not."""
    cost = measure.measure(argv, cwd=root)
    if cost.status not in expected:
        raise SystemExit(f"status {cost.status} of {argv}:\n{cost.stdout[-3000:]}{cost.stderr[-3000:]}")
    return cost.cpu


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=measure.positive, default=3)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--cache", type=Path, help="where environments go (default: a temporary directory)")
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    options = parser.parse_args(arguments)

    cache = measure.cache_directory(options.cache)
    python = measure.make_venv(cache / "venv-tools", _PACKAGES, progress)
    turns: list[dict[str, Any]] = []
    for turn in range(options.turns):
        with tempfile.TemporaryDirectory(dir=cache, prefix="gates-") as directory:
            place = Path(directory)
            root = example(place)
            cost = ours(root, python, place, options.sandbox)
            others = separate(root, python, place)
        turns.append({"all gates": cost.cpu, **others, "load": os.getloadavg()[0]})
        progress(f"turn {turn + 1}: all gates {cost.cpu:.1f} s CPU, " + _words(others))
    names = [name for name in turns[0] if name not in ("all gates", "load")]
    best = {name: min(turn[name] for turn in turns) for name in ("all gates", *names)}
    value = best["all gates"] / sum(best[name] for name in names)
    bars = [measure.Bar(name="CPU of all gates against separate tools", value=value, bar=BAR)]
    text = measure.table(
        ("contender", "CPU, of the others' sum"),
        [(name, f"{best[name] / sum(best[other] for other in names):.3f}") for name in ("all gates", *names)],
    )
    return measure.finish("all_gates", {"turns": turns}, bars, options.out, text)


def _words(costs: dict[str, float]) -> str:
    return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in costs.items())


if __name__ == "__main__":
    sys.exit(main())
