"""What a fixture of several tests ran is recorded for each test that uses it, and for no other."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from repro_gate.gates.coverage import record
from repro_gate.gates.fail_to_pass import Bench, Request, Stage
from repro_gate.model import Conditions, ExperimentResult, Limits, Recording, Side
from tests.conftest import MakeLab, MakeProject

CORE = "def made():\n    return 1\ndef own():\n    return 2\ndef other():\n    return 3\n"
MADE, OWN, OTHER = 2, 4, 6


@pytest.mark.parametrize(
    ("tests", "sharing"),
    [
        (
            (
                "import pytest\nfrom pkg import core\n"
                "@pytest.fixture(scope='module')\ndef thing(): return core.made()\n"
                "@pytest.fixture\ndef deep(thing): return thing\n"
                "def test_a(thing): core.own()\n"
                "def test_b(deep): pass\n"
                "def test_c(): core.other()\n"
            ),
            "ab",
        ),
        (
            (
                "from pkg import core\ndef setup_module(): core.made()\n"
                "def test_a(): core.own()\ndef test_b(): pass\ndef test_c(): core.other()\n"
            ),
            "abc",
        ),
        (
            (
                "import unittest\nfrom pkg import core\nclass TestIt(unittest.TestCase):\n"
                "    @classmethod\n    def setUpClass(cls): core.made()\n"
                "    def test_a(self): core.own()\n    def test_b(self): pass\n"
                "def test_c(): core.other()\n"
            ),
            "ab",
        ),
    ],
    ids=["fixture", "module", "class"],
)
def test_lines_of_what_is_set_up_once(project: MakeProject, host_lab: MakeLab, tests: str, sharing: str) -> None:
    files = {"pkg/__init__.py": "", "pkg/core.py": CORE, "test_it.py": tests}
    result = host_lab(project(files), "-p", "no:randomly", record=("pkg/core.py",)).run()
    ran = Recording(by_test={run.id: run.evidence.ran for run in result.runs if run.evidence is not None})

    def of(line: int) -> str:
        return "".join(test[-1] for test in ran.tests_of("pkg/core.py", [line]))

    assert (of(MADE), of(OWN), of(OTHER)) == (sharing, "a", "c")


def test_a_recording_names_the_tests_that_start_processes(project: MakeProject, host_lab: MakeLab) -> None:
    tests = "import subprocess, sys\ndef test_a(): subprocess.run([sys.executable, '-c', ''], check=True)\ndef test_b(): pass\n"
    lab = host_lab(project({"pkg/__init__.py": "", "pkg/core.py": CORE, "test_it.py": tests}), record=("pkg/core.py",))

    class OneLab:
        def collect(self, _stage: Stage, _conditions: Conditions) -> Any:
            items = dict.fromkeys(("test_it.py::test_a", "test_it.py::test_b"))
            return SimpleNamespace(items=items, failures=(), import_ran=(), python="3")

        def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
            return [lab.run(tests=each.experiment.tests) for each in requests]

    found = record(cast("Bench", OneLab()), Side.HEAD, Limits(test_seconds=30))
    assert (found.whole, found.parents) == (True, frozenset({"test_it.py::test_a"}))
