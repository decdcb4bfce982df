"""The mutation gate on a small change, against `mutmut run` of the changed files
and against one plain run of the suite.

All contenders have the same interpreter, tests and tree. Where the gate and mutmut make the same mutant of a changed
line, they must agree on whether tests notice it: else the costs compare nothing, and the run counts for nothing.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import measure
from benchmarks.measure import progress

AGAINST_MUTMUT = 0.2
AGAINST_SUITE = 3.0
MOST_MUTANTS = 15
PACKAGES = (
    "pytest",
    "mutmut==3.8.*",
    "tornado",
    "typeguard",
    "markupsafe",
    "ephemeral-port-reserve",
    "pytest-xprocess",
    "pytest-timeout",
    "watchdog",
)
_IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "commit.gpgsign=false")

Edit = tuple[frozenset[str], frozenset[str]]  # lines that a mutant takes away and brings, without their indent


@dataclass(frozen=True, kw_only=True)
class Change:
    """A git work tree whose last commit is the change, and its one changed file of the product."""

    name: str
    root: Path
    file: str


_GENERATED = '''\
"""Prices of a shop."""
import asyncio, decimal, email.message, json, logging, sqlite3, unittest.mock, xml.dom.minidom


def shipping(weight):
    """By weight, in steps."""
    if weight {comparison} 10:
        return {heavy}
    return 5


def checksum(values):
    """A product's own loop."""
    found = 0
    for value in values:
        found = (found * 31 + value) % 1000003
    return found
'''
_MORE = '''

def rule_{number}(prices, discount={number}):
    """One of the shop's rules."""
    if len(prices) > {number} and discount < 50:
        return json.dumps({{"sum": sum(prices) * (100 - discount) / 100, "rule": {number}}})
    return json.dumps({{"sum": sum(prices), "rule": None}})
'''
_TESTS = """\
import json
import pytest
import shop
@pytest.mark.parametrize("weight", [1, 10, 11, 30])
def test_shipping(weight):
    assert shop.shipping(weight) == (9 if weight > 10 else 5)
@pytest.mark.parametrize("rule", range(12))
@pytest.mark.parametrize("count", range(1, 40))
def test_rule(rule, count):
    stored = json.loads(json.dumps([{"price": n, "name": str(n)} for n in range(5000)]))
    told = json.loads(getattr(shop, f"rule_{rule}")([each["price"] for each in stored[:count]]))
    assert told["rule"] in (rule, None)
    assert 0 <= shop.checksum(range(2000)) < 1000003
"""


def generated(place: Path) -> Change:
    """A suite of five hundred tests of some milliseconds, and a change of two lines that four of them run."""
    root = place / "generated"
    (root / "tests").mkdir(parents=True)
    (root / "pyproject.toml").write_text('[project]\nname = "shop"\nversion = "1"\n')
    (root / "tests" / "test_shop.py").write_text(_TESTS)
    rest = "".join(_MORE.format(number=number) for number in range(12))
    for comparison, heavy in (("!=", "8"), (">", "9")):
        (root / "shop.py").write_text(_GENERATED.format(comparison=comparison, heavy=heavy) + rest)
        _commit(root)
    return Change(name="generated", root=root, file="shop.py")


@dataclass(frozen=True, kw_only=True)
class Release:
    """A release of a public project, and the expressions of one file that the change brings back: base has the others.

    ``without`` are files of tests that do not pass everywhere.
    """

    name: str
    version: str
    file: str
    edits: tuple[tuple[str, str], ...]
    without: tuple[str, ...] = ()


PUBLIC = {
    each.name: each
    for each in (
        Release(
            name="werkzeug",
            version="3.0.3",
            file="src/werkzeug/http.py",
            without=(
                "tests/test_serving.py",
                "tests/test_debug.py",
                "tests/middleware/test_http_proxy.py",
            ),  # start servers
            edits=(
                ("if (start is None) != (stop is None):", "if start is None and stop is not None:"),
                ("return header.lower() in _hop_by_hop_headers", "return header in _hop_by_hop_headers"),
                ("return header.lower() in _entity_headers", "return header in _entity_headers"),
            ),
        ),
        Release(
            name="tenacity",
            version="9.1.2",
            file="tenacity/stop.py",
            edits=(
                (
                    "retry_state.attempt_number >= self.max_attempt_number",
                    "retry_state.attempt_number > self.max_attempt_number",
                ),
                ("return any(x(retry_state) for x in self.stops)", "return all(x(retry_state) for x in self.stops)"),
                ("retry_state.seconds_since_start + retry_state.upcoming_sleep", "retry_state.seconds_since_start"),
            ),
        ),
    )
}


def public(release: Release, place: Path, cache: Path, python: Path) -> Change:
    """The release with its changed file; the last commit is the change."""
    pinned = f"{release.name}=={release.version}"
    downloads = cache / "downloads" / f"{release.name}-{release.version}"
    if not list(downloads.glob("*.tar.gz")):
        measure.pip(python, "download", "-q", "--no-binary", ":all:", "--no-deps", "--dest", str(downloads), pinned)
    [archive] = downloads.glob("*.tar.gz")
    root = place / release.name
    with tempfile.TemporaryDirectory() as name, tarfile.open(archive) as members:
        members.extractall(name, filter="data")
        [top] = Path(name).iterdir()
        shutil.copytree(top, root, ignore=shutil.ignore_patterns("*.egg-info"))
    for path in release.without:
        (root / path).unlink()
    product = root / release.file
    head = product.read_text()
    base = head
    for after, before in release.edits:
        if after not in base:
            raise SystemExit(f"{pinned} does not say {after!r}")
        base = base.replace(after, before, 1)
    for text in (base, head):
        product.write_text(text)
        _commit(root)
    return Change(name=release.name, root=root, file=release.file)


def _commit(root: Path) -> None:
    git = ["git", "-C", str(root), *_IDENTITY]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "--all", "--force"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "a change"], check=True)


# --- the contenders ---------------------------------------------------------------------------


def gate(change: Change, python: Path, place: Path, sandbox: str) -> tuple[measure.Cost, dict[str, Any]]:
    """The gate alone: trees, collection, the instrumented run, mutants, controls and the report."""
    report = place / "report.json"
    program = [sys.executable, "-c", "import sys; from repro_gate.cli.main import main; sys.exit(main())"]
    words = ["check", "--base", "HEAD~1", "--gates", "mutation", "--python", str(python), "--sandbox", sandbox]
    cost = measure.measure([*program, *words, "--report-json", str(report), "-q"], cwd=change.root)
    if not report.exists():
        raise SystemExit(f"the gate left no report (status {cost.status}):\n{cost.stdout[-3000:]}{cost.stderr[-3000:]}")
    [result] = json.loads(report.read_text())["gates"]
    return cost, result["mutation"]


def suite(change: Change, python: Path) -> measure.Cost:
    """pytest, once."""
    environment = {**measure.clean_environment(), "PYTHONPATH": str(change.root / "src")}
    with tempfile.TemporaryDirectory() as cache:
        command = [python, "-m", "pytest", "-q", "-o", f"cache_dir={cache}"]
        cost = measure.measure(command, cwd=change.root, env=environment)
    if cost.status != 0:
        raise SystemExit(f"the suite of {change.name} fails:\n{cost.stdout[-3000:]}")
    return cost


def mutmut(change: Change, python: Path, place: Path) -> tuple[measure.Cost, dict[str, str]]:
    """`mutmut run` of the changed file, as its configuration can say it; what became of each mutant, by name."""
    root = place / "mutmut"
    shutil.copytree(change.root, root, ignore=shutil.ignore_patterns(".git"))
    source = change.file.partition("/")[0]
    # By fork, its second run of pytest in one process fails for suites that leave something behind, as tenacity's does.
    settings = f'source_paths = ["{source}"]\nonly_mutate = ["{change.file}"]\nprocess_isolation = "forkserver"\n'
    with (root / "pyproject.toml").open("a") as file:
        file.write("\n[tool.mutmut]\n" + settings)
    cost = measure.measure([python, "-m", "mutmut", "run"], cwd=root)
    if cost.status != 0:
        raise SystemExit(f"mutmut ended with status {cost.status}:\n{cost.stdout[-3000:]}{cost.stderr[-3000:]}")
    told = _said(python, root, "results", "--all", "true")
    found = dict(line.strip().split(": ", 1) for line in told.splitlines() if ": " in line)
    if not found:
        raise SystemExit(f"mutmut tells of no mutant:\n{cost.stdout[-3000:]}")
    return cost, found


def _said(python: Path, root: Path, *words: str) -> str:
    argv = [str(python), "-m", "mutmut", *words]
    env = measure.clean_environment()
    return subprocess.run(argv, cwd=root, env=env, capture_output=True, text=True, check=True).stdout


# --- verdicts ---------------------------------------------------------------------------------


def our_verdicts(told: Mapping[str, Any], text: str) -> dict[Edit, str]:
    """Outcomes of the gate by what each mutant does to the text."""
    found = {}
    for mutant in told["tested"]:
        edit = mutant["edit"]
        changed = text[: edit["start"]] + edit["text"] + text[edit["end"] :]
        found[_edit(difflib.ndiff(text.splitlines(), changed.splitlines()))] = str(mutant["outcome"])
    return found


def their_verdicts(outcomes: Mapping[str, str], python: Path, root: Path) -> dict[Edit, str]:
    """The same of mutmut, by the differences that it shows."""
    found = {}
    for name, outcome in outcomes.items():
        lines = _said(python, root, "show", name).splitlines()
        found[_edit(line for line in lines if not line.startswith(("---", "+++")))] = outcome
    return found


def _function_of(name: str) -> str:
    """The function in the name of one of mutmut's mutants:
    ``module.x_function__mutmut_7``, ``module.xǁClassǁmethod__mutmut_7``.
    """
    return re.split("ǁ|\\.x_", name.rpartition("__mutmut_")[0])[-1]


def _edit(lines: Iterable[str]) -> Edit:
    kept = [line for line in lines if line[:1] in "+-" and line[1:].strip()]
    return (
        frozenset(line[1:].strip() for line in kept if line[0] == "-"),
        frozenset(line[1:].strip() for line in kept if line[0] == "+"),
    )


def disagreements(ours: Mapping[Edit, str], theirs: Mapping[Edit, str]) -> list[str]:
    """Mutants that both made, and that only one of them saw noticed. Neither counts where it measured nothing."""
    noticed = {"killed": True, "timeout": True, "survived": False, "no tests": False}
    return [
        f"{sorted(edit[0])} -> {sorted(edit[1])}: {ours[edit]}, mutmut: {theirs[edit]}"
        for edit in ours.keys() & theirs.keys()
        if {ours[edit], theirs[edit]} <= noticed.keys() and noticed[ours[edit]] != noticed[theirs[edit]]
    ]


def compare(change: Change, python: Path, place: Path, turns: int, sandbox: str) -> dict[str, Any]:
    """All three, in turns but for mutmut, which is dear; the best of each."""
    suite(change, python)  # byte code is there before anything is measured
    gates, plain = [], []
    told: dict[str, Any] = {}
    for turn in range(turns):
        plain.append(suite(change, python).cpu)
        cost, told = gate(change, python, place, sandbox)
        gates.append(cost.cpu)
        progress(f"{change.name}, turn {turn + 1}: plain {plain[-1]:.1f} s CPU, gate {gates[-1]:.1f} s")
    cost, outcomes = mutmut(change, python, place)
    progress(f"{change.name}: mutmut {cost.cpu:.1f} s CPU, {len(outcomes)} mutants")
    text = (change.root / change.file).read_text()
    functions = {mutant["qualname"].rpartition(".")[2] for mutant in told["tested"]}
    near = {
        name: what for name, what in outcomes.items() if _function_of(name) in functions
    }  # to show one takes a start
    ours, theirs = our_verdicts(told, text), their_verdicts(near, python, place / "mutmut")
    against = disagreements(ours, theirs)
    common = len(ours.keys() & theirs.keys())
    if not 0 < len(told["tested"]) <= MOST_MUTANTS or told["not_tested"] or not common:
        raise SystemExit(
            f"{change.name}: {len(told['tested'])} mutants tested, {len(told['not_tested'])} not, {common} are"
            f" mutmut's as well: this compares nothing"
        )
    if against:
        raise SystemExit(f"{change.name}: verdicts differ, so the costs compare nothing:\n" + "\n".join(against))
    survived = sum(outcome == "survived" for outcome in ours.values())
    return {
        "change": change.name,
        "mutants": len(told["tested"]),
        "survived": survived,
        "mutmut's mutants": len(outcomes),
        "in common": common,
        "seconds": {"plain": plain, "gate": gates, "mutmut": cost.cpu},
        "against mutmut": min(gates) / cost.cpu,
        "against the suite": min(gates) / min(plain),
        "load": os.getloadavg()[0],
    }


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ("generated", *PUBLIC)
    parser.add_argument("--changes", nargs="+", choices=names, default=list(names))
    parser.add_argument("--turns", type=measure.positive, default=3)
    parser.add_argument("--sandbox", default="bubblewrap")
    parser.add_argument("--python", default=sys.executable, help="whose interpreter runs the tests (default: this one)")
    parser.add_argument("--cache", type=Path, help="where environments and sources go (default: a temporary directory)")
    parser.add_argument("--out", type=Path, help="write the results there as JSON")
    options = parser.parse_args(arguments)

    cache = measure.cache_directory(options.cache)
    base = options.python
    version = ".".join(map(str, measure.version_of(base)))
    python = measure.make_venv(cache / f"venv-mutation-{version}", PACKAGES, progress, base=base)
    rows = []
    for name in options.changes:
        with tempfile.TemporaryDirectory(dir=cache, prefix="change-") as directory:
            place = Path(directory)
            change = generated(place) if name == "generated" else public(PUBLIC[name], place, cache, python)
            rows.append(compare(change, python, place, options.turns, options.sandbox))
    bars = [
        measure.Bar(name=f"CPU {key}, {row['change']}", value=row[key], bar=bar)
        for row in rows
        for key, bar in (("against mutmut", AGAINST_MUTMUT), ("against the suite", AGAINST_SUITE))
    ]
    head = ("change", "mutants", "survived", "mutmut's mutants", "in common", "against mutmut", "against the suite")
    text = measure.table(
        (*head, "load"),
        [(*(row[key] for key in head[:5]), *(f"{row[key]:.3f}" for key in (*head[5:], "load"))) for row in rows],
    )
    result = {"python": version, "changes": rows}
    return measure.finish("mutation", result, bars, options.out, f"Python {version}\n\n{text}")


if __name__ == "__main__":
    sys.exit(main())
