"""Labs for the stages of a change: what each collects."""

from __future__ import annotations

import os
import py_compile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro_gate.experiment import Lab, visible_environment
from repro_gate.experiment.project import Project
from repro_gate.gates.fail_to_pass import Request, Stage
from repro_gate.model import Conditions, Experiment, Mode, Outcome, Side
from repro_gate.pipeline.provision import Provision, Room
from repro_gate.pipeline.stages import LabBench
from repro_gate.sandbox import Interpreter
from repro_gate.sandbox.host import Host
from tests.conftest import MakeProject, write_files
from tests.swaps import swap_of

HEAD = Stage(side=Side.HEAD)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def bench(project: MakeProject, interpreter: Interpreter, tmp_path: Path, said: list[str]) -> Iterator[LabBench]:
    tests = {f"tests/test_{name}.py": f"def test_{name}(): pass\n" for name in "abc"}
    root = project({**tests, "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\n'})
    environment, _ = visible_environment(os.environ, user_base=interpreter.user_base, allow=())
    bench = LabBench(
        project=Project(
            original=root, subdirectory="", pytest_args=(), interpreter=interpreter, environment=environment
        ),
        sandbox=Host(),
        trees={Side.HEAD: root},
        watched=lambda _side: {},
        provision=Provision(
            rooms={(Side.HEAD, Side.HEAD): Room(interpreter=interpreter, environment=environment)},
            packages=frozenset(),
            name="",
        ),
        directory=tmp_path,
        jobs=1,
        clock=time.monotonic,
        collect_seconds=60.0,
        progress=said.append,
    )
    yield bench
    bench.close()


def test_a_lab_of_some_files_collects_their_tests_alone_in_suite_order(bench: LabBench) -> None:
    assert len(bench.collect(HEAD, Conditions()).items) == 3
    with bench.plain_lab(HEAD, ("tests/test_a.py", "tests/test_c.py")) as lab:
        tests = lab.collect(Experiment(tests=None, conditions=Conditions())).tests
    assert [test for test, _file in tests] == ["tests/test_a.py::test_a", "tests/test_c.py::test_c"]


def test_a_run_says_how_far_it_is(bench: LabBench, said: list[str]) -> None:
    tests = tuple(bench.collect(HEAD, Conditions()).items)
    [result] = bench.run([Request(stage=HEAD, experiment=Experiment(tests=tests, conditions=Conditions()))])
    assert [run.outcome for run in result.runs] == [Outcome.PASSED] * 3
    assert "on head, 0 of 3 runs" in said


def test_a_lab_that_is_left_ends_nothing_of_the_others(bench: LabBench, monkeypatch: pytest.MonkeyPatch) -> None:
    """In containers, to close the sandbox is to remove those of every lab."""
    closed: list[str] = []
    monkeypatch.setattr(bench.sandbox, "close", lambda: closed.append("closed"))
    bench.collect(HEAD, Conditions())
    with bench.plain_lab(HEAD):
        pass
    assert closed == []


def test_a_mutant_on_disk_and_one_in_a_fork_agree_whatever_bytecode_head_has(bench: LabBench) -> None:
    head = "def small(n):\n    return n < 2\n"
    tests = "from core import small\ndef test_one(): assert small(1)\ndef test_two(): assert not small(2)\n"
    root = write_files(bench.trees[Side.HEAD], {"tests/core.py": head, "tests/test_d.py": tests})
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(root / "tests" / "core.py"), invalidation_mode=unchecked)
    both = ("tests/test_d.py::test_one", "tests/test_d.py::test_two")
    null = swap_of("tests/core.py", head, "small")
    mutant = swap_of("tests/core.py", head, "small", "n < 2", "n <= 2")
    plain = Experiment(tests=both, conditions=Conditions())
    on_disk = Stage(side=Side.HEAD, replaced=((mutant.path, mutant.text),))
    results = bench.run(
        [
            Request(stage=HEAD, experiment=plain),
            Request(stage=HEAD, experiment=Experiment(tests=both, conditions=Conditions(), swap=null)),
            Request(stage=HEAD, experiment=Experiment(tests=both, conditions=Conditions(), swap=mutant)),
            Request(stage=on_disk, experiment=plain, mode=Mode.FRESH, files=("tests/test_d.py",)),
        ]
    )
    green, killed = [Outcome.PASSED, Outcome.PASSED], [Outcome.PASSED, Outcome.FAILED]
    assert [[run.outcome for run in result.runs] for result in results] == [green, green, killed, killed]
    assert [result.swapped for result in results] == [None, 1, 1, None]


def test_a_file_that_is_as_on_base_is_not_run_by_bytecode_that_head_commits(bench: LabBench, tmp_path: Path) -> None:
    """Python takes bytecode for valid without looking at the source, if it says so."""
    root = write_files(
        bench.trees[Side.HEAD],
        {
            "tests/core.py": "def value(): return 2\n",
            "tests/test_d.py": "from core import value\ndef test_d(): assert value() == 2\n",
        },
    )
    unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(root / "tests" / "core.py"), invalidation_mode=unchecked)
    old = write_files(tmp_path / "old", {"tests/core.py": "def value(): return 1\n"})
    bench.trees = {**bench.trees, Side.CONTROL: old}
    stage = Stage(side=Side.HEAD, restored=("tests/core.py",))
    plain = Experiment(tests=("tests/test_d.py::test_d",), conditions=Conditions())
    results = bench.run([Request(stage=each, experiment=plain, mode=Mode.FRESH) for each in (HEAD, stage)])
    assert [result.runs[0].outcome for result in results] == [Outcome.PASSED, Outcome.FAILED]


def test_trees_made_for_one_question_do_not_pile_up(bench: LabBench) -> None:
    test = "tests/test_a.py::test_a"
    bench.collect(HEAD, Conditions())

    def outcome(number: int) -> Outcome:
        text = f"def test_a(): assert {number} % 2\n"
        stage = Stage(side=Side.HEAD, replaced=(("tests/test_a.py", text),))
        experiment = Experiment(tests=(test,), conditions=Conditions())
        [result] = bench.run([Request(stage=stage, experiment=experiment, mode=Mode.FRESH, files=("tests/test_a.py",))])
        return result.runs[0].outcome

    found = [outcome(number) for number in (1, 2, 3, 4, 5, 6, 7, 1)]
    assert found == [Outcome.PASSED, Outcome.FAILED] * 3 + [Outcome.PASSED, Outcome.PASSED]
    assert sum(bool(stage.replaced) for stage in bench._labs) == 5
    [plain] = bench.run([Request(stage=HEAD, experiment=Experiment(tests=(test,), conditions=Conditions()))])
    assert plain.runs[0].outcome is Outcome.PASSED


def test_no_more_trees_made_for_one_question_are_at_work_than_there_are_jobs(
    bench: LabBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "tests/test_a.py::test_a"
    bench.collect(HEAD, Conditions())
    at_work = []
    step = Lab.step

    def counting(lab: Lab, seconds: float) -> None:
        at_work.append(sum(each.busy for stage, each in bench._labs.items() if stage.replaced))
        step(lab, seconds)

    monkeypatch.setattr(Lab, "step", counting)
    texts = [f"def test_a(): assert {number} % 2\n" for number in (1, 2, 3)]
    stages = [Stage(side=Side.HEAD, replaced=(("tests/test_a.py", text),), watched=False) for text in texts]
    experiment = Experiment(tests=(test,), conditions=Conditions())
    fresh = [
        Request(stage=stage, experiment=experiment, mode=Mode.FRESH, files=("tests/test_a.py",)) for stage in stages
    ]
    results = bench.run([*fresh, Request(stage=HEAD, experiment=experiment)])
    outcomes = [result.runs[0].outcome for result in results]
    assert outcomes == [Outcome.PASSED, Outcome.FAILED, Outcome.PASSED, Outcome.PASSED]
    assert max(at_work) == 1


def test_a_stage_that_nobody_watches_tells_no_lines(bench: LabBench) -> None:
    write_files(
        bench.trees[Side.HEAD],
        {"tests/core.py": "def one():\n    return 1\n", "tests/test_d.py": "import core\ndef test_d(): core.one()\n"},
    )
    bench.watched = lambda _side: {"tests/core.py": frozenset({2})}
    experiment = Experiment(tests=("tests/test_d.py::test_d",), conditions=Conditions())
    unwatched = Stage(side=Side.HEAD, watched=False)
    seen = [
        [result.runs[0].outcome, result.runs[0].evidence.lines if result.runs[0].evidence is not None else ()]
        for stage in (HEAD, unwatched)
        for result in bench.run([Request(stage=stage, experiment=experiment)])
    ]
    assert seen == [[Outcome.PASSED, (("tests/core.py", 2),)], [Outcome.PASSED, ()]]


def test_a_run_with_exchanged_code_is_watched_by_nobody(bench: LabBench) -> None:
    head = "def one():\n    return 1\n"
    write_files(
        bench.trees[Side.HEAD], {"tests/core.py": head, "tests/test_d.py": "import core\ndef test_d(): core.one()\n"}
    )
    bench.watched = lambda _side: {"tests/core.py": frozenset({2})}
    tests = ("tests/test_d.py::test_d",)
    plain = Experiment(tests=tests, conditions=Conditions())
    null = Experiment(tests=tests, conditions=Conditions(), swap=swap_of("tests/core.py", head, "one"))
    for experiment, lines in ((plain, (("tests/core.py", 2),)), (null, ()), (plain, (("tests/core.py", 2),))):
        [result] = bench.run([Request(stage=HEAD, experiment=experiment)])
        evidence = result.runs[0].evidence
        assert (result.runs[0].outcome, evidence.lines if evidence is not None else ()) == (Outcome.PASSED, lines)
