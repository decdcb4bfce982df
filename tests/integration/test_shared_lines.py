"""What a fixture of several tests ran is recorded for each test that uses it, and for no other."""

from __future__ import annotations

import pytest

from repro_gate.model import Recording
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
