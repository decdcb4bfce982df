"""What a lab does not do twice: compile, and collect where a fork is as good."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from repro_gate.change import How, Pair
from repro_gate.experiment import Job, visible_environment
from repro_gate.experiment.project import Project
from repro_gate.gates.fail_to_pass import Stage
from repro_gate.model import Conditions, Experiment, Outcome, Side
from repro_gate.pipeline.provision import Provision, Room
from repro_gate.pipeline.stages import LabBench
from repro_gate.pipeline.subject import Subject, open_subject
from repro_gate.sandbox import Interpreter
from repro_gate.sandbox.host import Host
from tests.conftest import LIMITS, MakeLab, MakeProject, TestLab, outcomes
from tests.gitrepo import Repo

FILES = {
    "product.py": "def answer(): return 41\n",
    "test_a.py": "import product\ndef test_a():\n    assert product.answer() == 41\n",
}


def compiled(directory: Path) -> set[str]:
    """Names of bytecode, without versions."""
    return {path.name.partition(".")[0] for path in directory.rglob("*.pyc")}


def template(lab: TestLab) -> Path:
    """The copy that all others are copied from."""
    return lab.lab._template


def test_each_process_begins_with_what_the_first_one_compiled(
    lab: MakeLab, project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What pytest rewrote knows its path, which only a sandbox gives to each copy."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    one = lab(project(FILES))
    one.collect()
    assert compiled(template(one)) == {"product"} if isinstance(one.lab.sandbox, Host) else {"product", "test_a"}
    [product] = template(one).rglob("product.*.pyc")  # whoever reads it sees another number
    product.write_bytes(product.read_bytes().replace(b"\x29\x00\x00\x00", b"\x2a\x00\x00\x00"))
    assert outcomes(one.run()) == {"test_a": "passed"}
    assert outcomes(one.run(hash_seed=1)) == {"test_a": "failed"}


def test_a_frame_of_a_test_stands_in_its_own_copy_under_another_name_of_the_directory(
    lab: MakeLab, project: MakeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The axis ``environment`` gives the work tree another path; what was compiled at the first would tell of that."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    tests = (
        "import os, sys\ndef test_a():\n    assert sys._getframe().f_code.co_filename == os.path.abspath(__file__)\n"
    )
    one = lab(project({"test_a.py": tests}))
    one.collect()
    for environment in ("fixed", "path", "terminal"):
        assert outcomes(one.run(environment=environment)) == {"test_a": "passed"}, environment


@pytest.mark.parametrize(("seconds", "processes"), [(0.0, 1), (1.5, 2)])
def test_short_experiments_wait_for_a_server_and_long_ones_get_another(
    host_lab: MakeLab, project: MakeProject, seconds: float, processes: int
) -> None:
    lab = host_lab(project({"test_a.py": f"import time\ndef test_a(): time.sleep({seconds})\n"}), jobs=2)
    lab.collect()
    jobs = [Job(experiment=Experiment(tests=None, conditions=Conditions(), limits=LIMITS)) for _ in range(7)]
    assert [result.runs[0].outcome for result in lab.lab.run(jobs)] == [Outcome.PASSED] * 7
    assert lab.lab.started_processes == processes


BOTH = {"same.py": "def same(): return 1\n", "test_a.py": "import same, product\ndef test_a(): assert same.same()\n"}


def bench_of(
    repo: Repo, interpreter: Interpreter, place: Path, head: dict[str, str], base: dict[str, str]
) -> tuple[LabBench, Subject]:
    """Labs over the trees of a change, none of which stands where the other does."""
    shas = [repo.commit(files) for files in (base, head)]
    trees = [repo.git("rev-parse", f"{sha}^{{tree}}") for sha in shas]
    pair = Pair(base_sha=shas[0], head_sha=shas[1], base_tree=trees[0], head_tree=trees[1], how=How.GIVEN)
    subject = open_subject(repo.opened, pair, place / "trees", test_globs=(), max_bytes=2**30, under_overlay=False)
    environment, _ = visible_environment(os.environ, user_base=interpreter.user_base, allow=())
    room = Room(interpreter=interpreter, environment=environment)
    bench = LabBench(
        project=Project(
            original=repo.path, subdirectory="", pytest_args=(), interpreter=interpreter, environment=environment
        ),
        sandbox=Host(),
        trees=subject.trees,
        watched=lambda _side: {},
        provision=Provision(rooms={(Side.HEAD, side): room for side in subject.trees}, packages=frozenset(), name=""),
        directory=place,
        jobs=1,
        clock=time.monotonic,
        collect_seconds=60.0,
        differing=subject.differing_paths,
    )
    return bench, subject


@pytest.mark.parametrize(
    ("more", "taken_over"),
    [
        pytest.param({}, {"same"}, id="only-the-product-differs"),
        pytest.param({"conftest.py": "import sys\n"}, set(), id="a-conftest-may-have-pytest-rewrite-otherwise"),
        pytest.param({"pytest.ini": "[pytest]\n"}, set(), id="and-so-may-settings"),
    ],
)
def test_head_begins_with_what_base_compiled_of_the_same_files(
    tmp_path: Path,
    interpreter: Interpreter,
    monkeypatch: pytest.MonkeyPatch,
    more: dict[str, str],
    taken_over: set[str],
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    base, head = {**BOTH, "product.py": "A = 1\n"}, {**BOTH, "product.py": "A = 2\n", **more}
    bench, subject = bench_of(Repo.new(tmp_path / "repo"), interpreter, tmp_path, head, base)
    try:
        assert set(subject.trees) == {Side.CONTROL, Side.HEAD}
        bench.collect(Stage(side=Side.CONTROL), Conditions())
        assert compiled(bench.lab(Stage(side=Side.CONTROL))._template) == {"same", "product"}
        assert compiled(bench.lab(Stage(side=Side.HEAD))._template) == taken_over
        as_on_base = Stage(side=Side.HEAD, restored=("same.py",))
        assert compiled(bench.lab(as_on_base)._template) == set()
    finally:
        bench.close()


PARAMS = "import pytest, product\n@pytest.mark.parametrize('n', product.ALL)\ndef test_n(n): pass\ndef test_m(): pass\n"


@pytest.mark.parametrize(
    ("more", "same"),
    [
        pytest.param({}, True, id="only-the-product-differs"),
        pytest.param({"test_a.py": "def test_a(): pass\n"}, False, id="a-test-differs"),
        pytest.param({"pytest.ini": "[pytest]\n"}, False, id="settings-differ"),
        pytest.param({"conftest.py": ""}, False, id="a-conftest-is-new"),
        pytest.param({"tests/data.txt": "1"}, False, id="data-of-tests"),
        pytest.param({"more/testing.py": "A = 1\n"}, False, id="it-may-be-of-tests"),
        pytest.param({"more.py": "import pytest\n"}, False, id="fixtures-may-be-in-it"),
    ],
)
def test_tests_are_parsed_unless_they_are_as_on_base(
    tmp_path: Path, interpreter: Interpreter, more: dict[str, str], same: bool
) -> None:
    base = {"test_a.py": PARAMS, "product.py": "ALL = [1, 2]\n"}
    head = {**base, "product.py": "ALL = [1, 3]\n", **more}
    bench, subject = bench_of(Repo.new(tmp_path / "repo"), interpreter, tmp_path, head, base)
    bench.close()
    assert subject.same_tests is same


def test_parameters_that_the_product_names_are_compared_without_sources(
    tmp_path: Path, interpreter: Interpreter
) -> None:
    base = {"test_a.py": PARAMS, "product.py": "ALL = [1, 2]\n"}
    bench, _ = bench_of(
        Repo.new(tmp_path / "repo"), interpreter, tmp_path, {**base, "product.py": "ALL = [1, 3]\n"}, base
    )
    bench.same_tests = True
    try:
        was, now = (bench.collect(Stage(side=side), Conditions()).items for side in (Side.CONTROL, Side.HEAD))
    finally:
        bench.close()
    assert {test: now[test].fingerprint == was[test].fingerprint for test in was.keys() & now.keys()} == {
        "test_a.py::test_n[1]": True,
        "test_a.py::test_m": True,
    }
    assert set(now) - set(was) == {"test_a.py::test_n[3]"}
    assert now["test_a.py::test_m"].fingerprint != now["test_a.py::test_n[1]"].fingerprint


def test_a_stage_links_the_tree_that_it_is_made_of_and_writes_nothing_into_it(
    tmp_path: Path, interpreter: Interpreter
) -> None:
    base, head = {**BOTH, "product.py": "A = 1\n"}, {**BOTH, "product.py": "A = 2\n"}
    bench, subject = bench_of(Repo.new(tmp_path / "repo"), interpreter, tmp_path, head, base)
    tree = subject.trees[Side.HEAD]
    (tree / "product.py").chmod(0o755)
    texts = (("product.py", "A = 3\n"), ("new.py", "B = 1\n"))
    try:
        made = bench.lab(Stage(side=Side.HEAD, restored=("test_a.py",), replaced=texts))._template
        assert made.joinpath("same.py").samefile(tree / "same.py")
        assert [(made / path).read_text() for path, _ in texts] == ["A = 3\n", "B = 1\n"]
        assert (made / "product.py").stat().st_mode & 0o777 == 0o755
        assert ((tree / "product.py").read_text(), (tree / "new.py").exists()) == ("A = 2\n", False)
    finally:
        bench.close()


def test_base_is_never_run_by_what_a_change_compiled(
    tmp_path: Path, interpreter: Interpreter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    base, head = {**BOTH, "product.py": "A = 1\n"}, {**BOTH, "product.py": "A = 2\n"}
    bench, _ = bench_of(Repo.new(tmp_path / "repo"), interpreter, tmp_path, head, base)
    try:
        bench.collect(Stage(side=Side.HEAD), Conditions())
        assert compiled(bench.lab(Stage(side=Side.HEAD))._template) == {"same", "product"}
        assert compiled(bench.lab(Stage(side=Side.CONTROL))._template) == set()
    finally:
        bench.close()
