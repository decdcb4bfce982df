"""What a lab does not do twice: compile, and collect where a fork is as good."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.experiment import Job
from repro_gate.model import Conditions, Experiment, Outcome
from repro_gate.sandbox.host import Host
from tests.conftest import LIMITS, MakeLab, MakeProject, TestLab, outcomes

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
