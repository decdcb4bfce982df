"""Under equal conditions a run repeats, whatever ran before it and in whichever mode; a seed moves what it names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from repro_gate.model import ExperimentResult, Mode
from tests.conftest import MakeLab, MakeProject

TESTS = """\
import glob, json, os, pathlib, random, secrets, tempfile, uuid
import numpy
import numpy.random
import pytest

MODULE = random.Random()
SEVEN = random.Random(7)
SYSTEM = random.SystemRandom()
GENERATOR = numpy.random.default_rng()
SEEDED = numpy.random.default_rng(7)
STATE = numpy.random.RandomState()
AT_IMPORT = [random.random(), str(uuid.uuid4()), os.urandom(4).hex(), hash("text")]

def draw():
    return {
        "random": [random.random(), random.randint(0, 10**9), random.sample(range(100), 5)],
        "uuid": [str(uuid.uuid4()), str(uuid.uuid4())],
        "urandom": os.urandom(16).hex(),
        "secrets": secrets.token_hex(8),
        "system": SYSTEM.random(),
        "numpy": numpy.random.random(3).tolist(),
        "fresh numpy": numpy.random.default_rng().random(2).tolist(),
        "module numpy": GENERATOR.random(2).tolist(),
        "module": MODULE.random(),
        "unseeded here": random.Random().random(),
        "tempfile": os.path.basename(tempfile.mkdtemp()),
        "listing": [os.listdir("data"), [e.name for e in os.scandir("data")], sorted(glob.glob("data/*")) and glob.glob("data/*"),
                    [p.name for p in pathlib.Path("data").iterdir()], [f for _, _, f in os.walk("data")]],
        "import": AT_IMPORT,
        "hash": hash("text"),
        "set": list({"a", "b", "c", "d", "e", "f"}),
    }

def seeded():
    return [SEVEN.random(), SEEDED.random(), random.Random(3).random(), numpy.random.RandomState(3).rand()]

def test_other():
    [random.random() for _ in range(7)]; os.urandom(100); numpy.random.random(5); MODULE.random(); GENERATOR.random()
    SEVEN.random()

def test_draws():
    raise AssertionError("DRAWS" + json.dumps(draw()))

def test_seeded():
    raise AssertionError("DRAWS" + json.dumps({"seeded": seeded()}))

def test_two_draws_differ():
    one, two = draw(), draw()
    for name in one:
        if name not in ("listing", "import", "hash", "set"):
            assert one[name] != two[name], name
"""
FILES = {"test_d.py": TESTS, **{f"data/{name}": "" for name in "kqbxmwaz"}}
PLAIN = ("-p", "no:randomly")
IDS = tuple(f"test_d.py::{name}" for name in ("test_other", "test_draws", "test_seeded", "test_two_draws_differ"))
OTHER, DRAWS, SEEDED, DIFFER = IDS


def draws(result: ExperimentResult, test: str = DRAWS) -> dict[str, Any]:
    run = result.of(test)
    assert run is not None
    assert run.failure is not None, run
    text = run.failure.message.partition("DRAWS")[2]
    return dict(json.loads(text.split("\n", 1)[0]))


@pytest.fixture
def root(project: MakeProject) -> Path:
    return project(FILES)


def test_two_fresh_processes_and_a_fork_draw_the_same(root: Path, lab: MakeLab) -> None:
    one = lab(root, *PLAIN)
    first = draws(one.run(Mode.FRESH))
    assert draws(one.run(Mode.FRESH)) == first
    assert draws(one.run(Mode.FORK)) == first
    assert draws(one.run(Mode.FORK)) == first


def test_a_draw_does_not_depend_on_the_tests_before_it(root: Path, host_lab: MakeLab) -> None:
    one = host_lab(root, *PLAIN)
    alone = draws(one.run(Mode.FORK, (DRAWS,)))
    assert draws(one.run(Mode.FORK, IDS)) == alone
    assert draws(one.run(Mode.FORK, tuple(reversed(IDS)))) == alone
    assert draws(one.run(Mode.FRESH, (DIFFER, OTHER, DRAWS))) == alone


def test_two_draws_in_one_test_differ(root: Path, host_lab: MakeLab) -> None:
    one = host_lab(root, *PLAIN)
    for seed in (0, 1):
        run = one.run(Mode.FORK, (DIFFER,), random=seed).of(DIFFER)
        assert run is not None
        assert run.outcome == "passed", run.output


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_another_seed_moves_every_unseeded_draw_and_nothing_else(root: Path, host_lab: MakeLab, mode: Mode) -> None:
    one = host_lab(root, *PLAIN)
    neutral, moved = draws(one.run(mode)), draws(one.run(mode, random=5))
    still = {name for name in neutral if neutral[name] == moved[name]}
    assert still == {"listing", "import", "hash", "set"}


def test_the_seed_of_imports_moves_what_is_drawn_at_import_only(root: Path, host_lab: MakeLab) -> None:
    one = host_lab(root, *PLAIN)
    neutral, moved = draws(one.run(Mode.FRESH)), draws(one.run(Mode.FRESH, import_random=5))
    assert {name for name in neutral if neutral[name] != moved[name]} == {"import"}


def test_the_seed_of_listings_moves_their_order_only_and_all_kinds_agree(root: Path, host_lab: MakeLab) -> None:
    one = host_lab(root, *PLAIN)
    neutral, moved = draws(one.run(Mode.FORK)), draws(one.run(Mode.FORK, listing=3))
    assert {name for name in neutral if neutral[name] != moved[name]} == {"listing"}
    assert neutral["listing"][0] == sorted("kqbxmwaz")
    listed, scanned, globbed, iterated, walked = moved["listing"]
    assert sorted(listed) == sorted("kqbxmwaz")
    assert listed == scanned == iterated == walked[0] == [path.removeprefix("data/") for path in globbed]


def test_the_hash_seed_moves_sets_of_strings(root: Path, host_lab: MakeLab) -> None:
    one = host_lab(root, *PLAIN)
    neutral, moved = draws(one.run(Mode.FORK)), draws(one.run(Mode.FORK, hash_seed=3))
    assert {name for name in neutral if neutral[name] != moved[name]} >= {"hash", "set"}
    assert neutral["random"] == moved["random"]
    assert draws(one.run(Mode.FRESH, hash_seed=3)) == moved


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_what_the_project_seeded_itself_is_left_alone(root: Path, host_lab: MakeLab, mode: Mode) -> None:
    one = host_lab(root, *PLAIN)
    alone = draws(one.run(mode, (SEEDED,)), SEEDED)
    assert draws(one.run(mode, (SEEDED,), random=9), SEEDED) == alone
    after = draws(one.run(mode, (OTHER, SEEDED)), SEEDED)
    assert after["seeded"][0] != alone["seeded"][0]  # its state goes on from test to test, as it does in pytest
    assert after["seeded"][1:] == alone["seeded"][1:]


def test_what_a_test_was_seen_to_draw_from_is_recorded(root: Path, host_lab: MakeLab) -> None:
    result = host_lab(root, *PLAIN).run(Mode.FORK)
    touched = {run.id: set(run.touched) for run in result.runs}
    assert {"random", "listing"} <= touched[DRAWS]
    assert "clock" not in touched[SEEDED]


def test_several_generators_made_at_import_keep_their_own_streams(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import json, random
        import numpy.random
        MANY = [random.Random() for _ in range(8)]
        NUMPY = [numpy.random.default_rng() for _ in range(8)]
        def test_draws():
            found = [r.random() for r in MANY] + [g.random() for g in NUMPY]
            assert len(set(found)) == 16
            raise AssertionError("DRAWS" + json.dumps({"found": found}))
    """
    one = host_lab(project({"test_d.py": tests}), *PLAIN)
    first = draws(one.run(Mode.FRESH))
    assert draws(one.run(Mode.FRESH)) == draws(one.run(Mode.FORK)) == first
    assert not set(draws(one.run(Mode.FORK, random=1))["found"]) & set(first["found"])
