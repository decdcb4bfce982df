"""No value of any axis may break a correct program: the control programs pass under all of them."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path
from typing import Any

import pytest

from repro_gate.experiment import ENVIRONMENTS, ZONES
from repro_gate.flake.moments import benign_ways
from repro_gate.flake.values import values
from repro_gate.model import Limits, Mode
from repro_gate.process import run
from tests.conftest import MakeLab, MakeProject

CONTROLS = Path(__file__).resolve().parent.parent / "controls"
NOW = datetime.datetime.now(tz=datetime.UTC).replace(tzinfo=None)
TODAY = NOW.date()
VALUES = values(TODAY, run(["locale", "-a"], timeout=20).stdout.split())
SEEDS = (1, 2, 3)
LIMITS = Limits(test_seconds=60, total_seconds=240)

INSTANTS: list[dict[str, Any]] = [
    {"clock": instant.value, **({"timezone": instant.zone} if instant.zone else {})} for instant in VALUES.instants
]

# Axis -> every value that a campaign moves it to. Those of a start are run in a fresh process.
EVERY: dict[str, list[dict[str, Any]]] = {
    "asyncio": [{"asyncio": seed} for seed in SEEDS],
    "clock": [*INSTANTS, *({"clock": moment} for way in benign_ways(NOW) for moment in (way.near, *way.far))],
    "environment": [{"environment": name} for name in ENVIRONMENTS],
    "gc": [{"gc": value} for value in ("eager", "rare", "jitter:1", "jitter:2", "jitter:3")],
    "listing": [{"listing": seed} for seed in SEEDS],
    "load": [{"load": value} for value in VALUES.loads],
    "locale": [{"locale": value} for value in VALUES.locales],
    "order": [
        {"order": order}
        for order in ("reversed", *(f"{kind}:{seed}" for kind in VALUES.orders if "shuffle" in kind for seed in SEEDS))
    ],
    "random": [{"random": seed, "import_random": seed} for seed in SEEDS],
    "threads": [{"threads": seed} for seed in SEEDS],
    "timezone": [{"timezone": zone} for zone in ZONES],
    "hash-seed": [{"hash_seed": seed} for seed in SEEDS],
}
for _axis, _conditions in EVERY.items():
    EVERY[_axis] = [dict(items) for items in dict.fromkeys(tuple(sorted(each.items())) for each in _conditions)]
STARTS = frozenset({"environment", "locale", "hash-seed", "random"})
# Not moved by design: what lies outside of Python (see the axis's own words).
EXEMPT = {"clock": ("prog_clock_outside.py",)}


def everything_moved(seed: int) -> dict[str, Any]:
    """Conditions that differ from neutral on every axis that a single process can take on."""
    instant = INSTANTS[seed % len(INSTANTS)]
    return {
        "hash_seed": seed,
        "random": seed,
        "import_random": seed,
        "order": ("shuffle-module:%d", "shuffle:%d", "shuffle-class:%d")[seed % 3] % seed,
        "timezone": VALUES.zones[seed % len(VALUES.zones)],
        "locale": ("C.UTF-8", *VALUES.locales)[seed % (1 + len(VALUES.locales))],
        "listing": seed,
        "threads": seed,
        "asyncio": seed,
        "load": VALUES.loads[seed % len(VALUES.loads)],
        "gc": VALUES.collectors[seed % len(VALUES.collectors)].replace("jitter", f"jitter:{seed}"),
        "environment": VALUES.environments[seed % len(VALUES.environments)],
        **instant,
    }


def axes_with_programs() -> list[str]:
    return sorted(path.name for path in CONTROLS.iterdir() if path.is_dir())


def copied(axis: str, tmp_path: Path) -> Path:
    return Path(shutil.copytree(CONTROLS / axis, tmp_path / axis, ignore=shutil.ignore_patterns("__pycache__")))


def bad_runs(make: MakeLab, directory: Path, mode: Mode, conditions: list[dict[str, Any]]) -> dict[str, str]:
    """What did not pass, by id and conditions, with the words of its failure."""
    lab = make(directory, "-o", "python_files=prog_*.py", "-p", "no:randomly", "-p", "no:asyncio")
    found = {}
    for one in conditions:
        result = lab.run(mode, limits=LIMITS, **one)
        assert result.controls_held, (one, result.notes)
        assert len(result.runs) > 3, (one, result.notes)
        for each in result.runs:
            exempt = "clock" in one and each.id.startswith(EXEMPT["clock"])
            if not exempt and not (each.outcome.good or each.outcome == "skipped"):
                found[f"{each.id} {one}"] = each.output[-1500:] or repr(each.failure)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("share", ["some", pytest.param("all", marks=pytest.mark.deep)])
@pytest.mark.parametrize("axis", [axis for axis in axes_with_programs() if axis in EVERY])
def test_correct_programs_pass_at_each_value_of_their_axis(
    host_lab: MakeLab, tmp_path: Path, axis: str, share: str
) -> None:
    mode = Mode.FRESH if axis in STARTS else Mode.FORK
    values = EVERY[axis][:: 1 if share == "all" else 1 + len(EVERY[axis]) // 4]
    assert bad_runs(host_lab, copied(axis, tmp_path), mode, values) == {}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
@pytest.mark.parametrize("axes", ["harness", "the others"])
def test_correct_programs_pass_under_neutral_conditions(
    host_lab: MakeLab, tmp_path: Path, mode: Mode, axes: str
) -> None:
    _pass_where_nothing_is_moved(host_lab, tmp_path, mode, axes)


@pytest.mark.deep
@pytest.mark.parametrize("mode", list(Mode), ids=str)
@pytest.mark.parametrize("axes", ["harness", "the others"])
def test_correct_programs_pass_in_each_sandbox(lab: MakeLab, tmp_path: Path, mode: Mode, axes: str) -> None:
    _pass_where_nothing_is_moved(lab, tmp_path, mode, axes)


def _pass_where_nothing_is_moved(make: MakeLab, tmp_path: Path, mode: Mode, axes: str) -> None:
    chosen = [axis for axis in axes_with_programs() if (axis == "harness") is (axes == "harness")]
    directories = [copied(axis, tmp_path) for axis in chosen]
    assert bad_runs(make, directories[0] if axes == "harness" else tmp_path, mode, [{}]) == {}


@pytest.mark.slow
@pytest.mark.deep
@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.deep) for seed in SEEDS[1:])])
@pytest.mark.parametrize("axis", axes_with_programs())
def test_correct_programs_pass_with_every_axis_moved(host_lab: MakeLab, tmp_path: Path, axis: str, seed: int) -> None:
    assert bad_runs(host_lab, copied(axis, tmp_path), Mode.FRESH, [everything_moved(seed)]) == {}


STATE_AT_IMPORT = """\
    import random

    import pytest

    numpy = pytest.importorskip("numpy")
    random.setstate(random.Random(3).getstate())
    numpy.random.set_state(numpy.random.RandomState(4).get_state())
    FIRST, SECOND = random.Random(3), numpy.random.RandomState(4)
    DRAWS = {FIRST.random() for _ in range(9)} | {float(SECOND.random_sample()) for _ in range(9)}

    @pytest.mark.parametrize("turn", range(3))
    def test_draws(turn):
        assert random.random() in DRAWS and float(numpy.random.random_sample()) in DRAWS
    """
STATE_PUT_BACK = """\
    import random

    STATE = random.getstate()
    random.seed(3)
    TABLE = [random.random() for _ in range(5)]
    random.setstate(STATE)

    def test_draws():
        print(random.random())
        assert False
    """


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_a_state_that_is_set_at_import_is_the_projects(host_lab: MakeLab, project: MakeProject, mode: Mode) -> None:
    lab = host_lab(project({"test_it.py": STATE_AT_IMPORT}))
    for seed in SEEDS:
        result = lab.run(mode, random=seed, order="reversed")
        assert {run.outcome.value for run in result.runs} == {"passed"}, [run.failure for run in result.runs]


def test_a_state_that_is_put_back_gives_the_stream_back(host_lab: MakeLab, project: MakeProject) -> None:
    lab = host_lab(project({"test_it.py": STATE_PUT_BACK}))
    printed = {lab.run(Mode.FRESH, random=seed).runs[0].output for seed in SEEDS}
    assert len(printed) == len(SEEDS)


CROSSING = """
import datetime, os, time

def test_two_readings():
    assert datetime.datetime.now().date() == datetime.date.today()

def test_three_readings():
    time.time()
    assert datetime.datetime.now().date() == datetime.date.today()

def test_a_new_file_is_new(tmp_path):
    (tmp_path / "a").write_text("")
    assert 0 <= time.time() - os.stat(tmp_path / "a").st_mtime + 0.05 < 5

def test_a_file_that_is_seen_first_is_new(tmp_path):
    (tmp_path / "a").write_text("")
    made = os.stat(tmp_path / "a").st_mtime
    assert 0 <= time.time() - made + 0.05 < 5
"""


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_midnight_passes_while_a_test_runs_alone(host_lab: MakeLab, tmp_path: Path, mode: Mode) -> None:
    (tmp_path / "test_it.py").write_text(CROSSING, encoding="ascii")
    lab = host_lab(tmp_path)
    failed = {}
    for clock in ("~2028-03-01T00:00:00", "~~2028-03-01T00:00:00"):
        tests = [f"test_it.py::{line[4:-3]}" for line in CROSSING.splitlines() if line.startswith("def ")]
        tests = [test.partition("(")[0] for test in tests]
        runs = [run for test in tests for run in lab.run(mode, (test,), clock=clock).runs]
        failed[clock.count("~")] = {run.id.partition("::")[2] for run in runs if run.outcome.bad}
    assert failed == {1: {"test_two_readings"}, 2: {"test_three_readings"}}
