"""What goes wrong with code exchanged in a fork: harness noise taken for a kill, and mutants that end the process."""

from __future__ import annotations

import textwrap

import pytest

from repro_gate.model import Ending, Limits, Mode, Outcome, Swap
from repro_gate.sandbox import Interpreter
from tests.conftest import MakeLab, MakeProject, outcomes
from tests.swaps import swap_of

PLAIN = ("-p", "no:randomly")
FILE = "pkg/core.py"
STRICT = "[pytest]\nfilterwarnings = error\n"
SHORT = Limits(test_seconds=2, total_seconds=60)


def test_the_null_mutant_leaks_nothing_and_the_mutant_that_does_is_seen(
    project: MakeProject, host_lab: MakeLab
) -> None:
    head = textwrap.dedent("""\
        def read(path):
            file = open(path)
            try:
                return file.read()
            finally:
                file.close()

        class Cycle:
            def __init__(self):
                self.itself, self.file = self, open(__file__)
        Cycle()  # garbage that is frozen before any fork: nobody may hear of its file
    """)
    tests = """\
        import gc, os, pytest
        from pkg import core

        @pytest.fixture(autouse=True)
        def collected():
            yield
            gc.collect()

        def test_reads(): assert "def read" in core.read(core.__file__)
        def test_no_file_of_the_harness_is_open():
            for name in os.listdir("/proc/self/fd"):
                try:
                    assert not os.readlink("/proc/self/fd/" + name).endswith(".swap")
                except FileNotFoundError:
                    pass
        def test_imports_are_frozen(): assert gc.get_freeze_count() > 1000
    """
    files = {FILE: head, "pkg/__init__.py": "", "test_t.py": tests, "pytest.ini": STRICT}
    lab = host_lab(project(files), *PLAIN, env={"PYTHONWARNINGS": "error"})
    passed = {
        "test_reads": "passed",
        "test_no_file_of_the_harness_is_open": "passed",
        "test_imports_are_frozen": "passed",
    }
    assert outcomes(lab.run()) == passed
    for _ in range(2):
        null = lab.run(swap=swap_of(FILE, head, "read"))
        assert (null.swapped, outcomes(null)) == (1, passed)
        assert null.controls_held
        assert null.notes == ()
    mutant = lab.run(swap=swap_of(FILE, head, "read", "file.close()", "pass"))
    assert outcomes(mutant) == {**passed, "test_reads": "failed"}


def test_warnings_of_the_text_are_not_the_tests(project: MakeProject, host_lab: MakeLab) -> None:
    head = 'def pattern():\n    return "d" + "+"\n'
    tests = "from pkg.core import pattern\ndef test_it(): assert pattern() == 'd+'\n"
    files = {FILE: head, "pkg/__init__.py": "", "test_t.py": tests, "pytest.ini": STRICT}
    lab = host_lab(project(files), *PLAIN, env={"PYTHONWARNINGS": "error"})
    mutant = lab.run(swap=swap_of(FILE, head, "pattern", '"d"', '"\\d"'))
    assert (mutant.swapped, outcomes(mutant)) == (1, {"test_it": "failed"})


def test_tests_that_change_their_parameters_and_ids_beyond_ascii(project: MakeProject, host_lab: MakeLab) -> None:
    head = "def size(n):\n    return n * 1000\n"
    tests = """\
        import pytest
        from pkg.core import size

        CASES = [[1, 1000, "\u03bc[0]"], [2, 2000, "caf\u00e9 [x][y]"], [3, 3000, "a\\nb::c"]]

        @pytest.mark.parametrize("case", CASES, ids=[case[2] for case in CASES])
        def test_size(case):
            case[0] *= -1
            assert size(case[0]) == -case[1]
            case[0] *= 7
    """
    lab = host_lab(project({FILE: head, "pkg/__init__.py": "", "test_t.py": tests}), *PLAIN)
    tests_ = tuple(test for test, _ in lab.collect().tests)
    assert len(tests_) == 3
    for _ in range(2):
        null = lab.run(tests=tests_, swap=swap_of(FILE, head, "size"))
        assert [run.outcome for run in null.runs] == [Outcome.PASSED] * 3
        mutant = lab.run(tests=tests_, swap=swap_of(FILE, head, "size", "* 1000", "/ 1000"))
        assert [run.outcome for run in mutant.runs] == [Outcome.FAILED] * 3
    assert lab.lab.started_processes == 1


ENDS = """\
import os

def count(n):
    total = 0
    while n > 0:
        total += 1
        n -= 1
    return total
"""
ENDS_TESTS = """\
    from pkg.core import count
    def test_none(): assert count(0) == 0
    def test_two(): assert count(2) == 2
    def test_minus(): assert count(-1) == 0
"""


@pytest.mark.parametrize(
    ("old", "new", "outcome", "words"),
    [
        ("n -= 1", "n += 1", Outcome.TIMEOUT, "did not end within its time"),
        ("total += 1", "total += bytearray(1 << 32).count(1)", Outcome.CRASHED, "took more memory than it may"),
        ("total += 1", "os._exit(0)", Outcome.CRASHED, "ended the process with status 0"),
        ("total += 1", "os.kill(os.getpid(), 11)", Outcome.CRASHED, "ended by SIGSEGV"),
    ],
    ids=["endless", "memory", "exit", "signal"],
)
def test_a_mutant_that_ends_the_process_is_in_the_next_one_too(
    project: MakeProject, host_lab: MakeLab, old: str, new: str, outcome: Outcome, words: str
) -> None:
    lab = host_lab(project({FILE: ENDS, "pkg/__init__.py": "", "test_t.py": ENDS_TESTS}), *PLAIN)
    limits = SHORT if outcome is Outcome.TIMEOUT else Limits(test_seconds=30, total_seconds=90, memory_bytes=600 << 20)
    changed = ENDS.replace("return total", "return total + (n < 0)")
    swap = swap_of(FILE, changed, "count", old, new)
    result = lab.run(swap=swap, limits=limits)
    assert [run.outcome for run in result.runs] == [Outcome.PASSED, outcome, Outcome.FAILED]
    assert result.runs[1].failure is not None
    assert words in result.runs[1].failure.message
    assert (result.swapped, result.ending, result.controls_held) == (1, Ending.DONE, True)
    assert set(outcomes(lab.run()).values()) == {"passed"}, "the server has head's own code"


REFUSED = """\
import contextlib

class Base:
    def value(self):
        return 1

class Child(Base):
    def value(self):
        return super().value() + 1

def stream(n):
    if n:
        yield n

def adder(n):
    def add(m):
        return n + m
    return add
add_two = adder(2)

def going():
    yield 1
    yield 2
under_way = going()
next(under_way)

def ended():
    yield 1
used_up = ended()
list(used_up)

def dropped():
    return 4
assert dropped() == 4
del dropped
"""


@pytest.mark.parametrize(
    ("name", "old", "new", "words"),
    [
        ("Child.value", "super().value() + 1", "2", "value has other free variables: none, not __class__"),
        ("stream", "yield n", "return", "stream is another kind of function"),
        ("adder", "return n + m", "return m", "add has other free variables: none, not n"),
        (
            "adder",
            "def add(m):\n        return n + m\n    return add",
            "return n",
            "add, which was made already, has no",
        ),
        ("going", "yield 2", "yield 3", "a call of going is under way since collection"),
        ("dropped", "return 4", "return 5", "no live function dropped at line"),
        ("stream", "yield n", "yield (", "the text cannot be compiled"),
    ],
)
def test_what_cannot_be_exchanged_is_refused_and_no_test_runs(
    project: MakeProject, host_lab: MakeLab, name: str, old: str, new: str, words: str
) -> None:
    tests = "from pkg import core\ndef test_a(): pass\ndef test_b(): pass\n"
    lab = host_lab(project({FILE: REFUSED, "pkg/__init__.py": "", "test_t.py": tests}), *PLAIN)
    result = lab.run(swap=swap_of(FILE, REFUSED, name, old, new))
    assert (result.swapped, result.ending, result.controls_held) == (0, Ending.NOT_STARTED, False)
    assert outcomes(result) == {"test_a": "not_run", "test_b": "not_run"}
    assert len(result.notes) == 1
    assert result.notes[0].startswith(f"no code was exchanged: {words}")
    assert outcomes(lab.run(swap=swap_of(FILE, REFUSED, "Base.value"))) == {"test_a": "passed", "test_b": "passed"}
    assert lab.lab.started_processes == 1


def test_equal_lambdas_on_one_line_are_told_apart_or_refused(project: MakeProject, host_lab: MakeLab) -> None:
    head = "a, b = lambda: 3, lambda: 3  # the second\n"
    tests = "from pkg.core import a, b\ndef test_a(): assert a() == 3\ndef test_b(): assert b() == 3\n"
    lab = host_lab(project({FILE: head, "pkg/__init__.py": "", "test_t.py": tests}), *PLAIN)
    result = lab.run(swap=swap_of(FILE, head, "<lambda>", "3  #", "4  #"))
    assert (result.swapped, outcomes(result)) in [
        (2, {"test_a": "passed", "test_b": "failed"}),
        (0, {"test_a": "not_run", "test_b": "not_run"}),  # before their places were part of what makes code equal
    ]


SMALL = "LIMIT = 2\ndef small(n):\n    return n < LIMIT\n"
SMALL_TESTS = "from pkg.core import small\ndef test_a(): assert small(1)\ndef test_b(): assert not small(2)\n"
BOUNDARY = ("n < LIMIT", "n <= LIMIT")


def test_in_every_sandbox_the_same_functions_are_found(project: MakeProject, lab: MakeLab) -> None:
    one = lab(project({FILE: SMALL, "pkg/__init__.py": "", "test_t.py": SMALL_TESTS}), *PLAIN)
    result = one.run(swap=swap_of(FILE, SMALL, "small", *BOUNDARY))
    assert (result.swapped, outcomes(result)) == (1, {"test_a": "passed", "test_b": "failed"})


@pytest.mark.parametrize(
    "text",
    ["\ufeff" + SMALL, SMALL.replace("\n", "\r\n"), SMALL + "#" * 700_000 + "\n", SMALL + "# \u03bc \U0001f40d\n"],
    ids=["byte order mark", "line ends", "large", "beyond ascii"],
)
def test_texts_as_files_have_them(project: MakeProject, host_lab: MakeLab, text: str) -> None:
    files = {FILE: text.encode(), "pkg/__init__.py": "", "test_t.py": SMALL_TESTS}
    lab = host_lab(project(files), *PLAIN)
    swap = Swap(path=FILE, text=text.replace(*BOUNDARY), qualname="small", first_line=2)
    result = lab.run(swap=swap)
    assert (result.swapped, outcomes(result)) == (1, {"test_a": "passed", "test_b": "failed"})


def test_what_is_imported_by_a_test_is_not_there_to_be_exchanged(project: MakeProject, host_lab: MakeLab) -> None:
    tests = "def test_b():\n    from pkg.core import small\n    assert not small(2)\n"
    lab = host_lab(project({FILE: SMALL, "pkg/__init__.py": "", "test_t.py": tests}), *PLAIN)
    result = lab.run(swap=swap_of(FILE, SMALL, "small", *BOUNDARY))
    assert (result.swapped, outcomes(result)) == (0, {"test_b": "not_run"})
    assert result.notes == ("no code was exchanged: no live function small at line 2",)


def test_a_fresh_process_reads_files_and_exchanges_nothing(project: MakeProject, host_lab: MakeLab) -> None:
    lab = host_lab(project({FILE: SMALL, "pkg/__init__.py": "", "test_t.py": SMALL_TESTS}), *PLAIN)
    result = lab.run(Mode.FRESH, ("test_t.py::test_b",), swap=swap_of(FILE, SMALL, "small", *BOUNDARY))
    assert (result.swapped, result.ending, outcomes(result)) == (None, Ending.NOT_STARTED, {"test_b": "not_run"})
    assert result.notes == ("code is exchanged in forks alone; a fresh process reads it from its files",)
    assert lab.lab.started_processes == 0


def test_company_and_leftovers_see_the_same_code_and_no_line_is_watched(
    project: MakeProject, host_lab: MakeLab
) -> None:
    files = {FILE: SMALL, "pkg/__init__.py": "", "test_t.py": SMALL_TESTS}
    lab = host_lab(project(files), *PLAIN, watch={FILE: frozenset({2, 3})})
    swap = swap_of(FILE, SMALL, "small", *BOUNDARY)
    result = lab.run(tests=("test_t.py::test_b",), partners=(("test_t.py::test_a",),), swap=swap, leftovers=1)
    assert (result.swapped, outcomes(result)) == (1, {"test_b": "failed"})
    # Nobody asks which lines a mutant runs: a fork with other code watches none.
    assert result.runs[0].evidence is None
    evidence = lab.run(tests=("test_t.py::test_b",)).runs[0].evidence
    assert evidence is not None
    assert evidence.lines == ((FILE, 3),)


def test_functions_with_type_parameters(project: MakeProject, host_lab: MakeLab, interpreter: Interpreter) -> None:
    if tuple(map(int, interpreter.version.split(".")[:2])) < (3, 12):
        pytest.skip("type parameters are new in Python 3.12")
    head = textwrap.dedent("""\
        def first[T](items: list[T]) -> T:
            return items[0]

        class Box[T]:
            def get[S](self, other: S) -> S:
                return other
    """)
    tests = """\
        from pkg.core import first, Box
        def test_first(): assert first([1, 2]) == 1
        def test_box(): assert Box().get(1) == 1
    """
    lab = host_lab(project({FILE: head, "pkg/__init__.py": "", "test_t.py": tests}), *PLAIN)

    def swap(old: str, new: str, qualname: str, line: int, *, raising: bool = False) -> Swap:
        return Swap(path=FILE, text=head.replace(old, new), qualname=qualname, first_line=line, raising=raising)

    mutants = [
        lab.run(swap=swap("items[0]", "items[1]", "first", 1)),
        lab.run(swap=swap("return other", "return 2", "Box.get", 5)),
        lab.run(swap=swap("", "", "Box.get", 5, raising=True)),
    ]
    assert [(each.swapped, outcomes(each)) for each in mutants] == [
        (1, {"test_first": "failed", "test_box": "passed"}),
        (1, {"test_first": "passed", "test_box": "failed"}),
        (1, {"test_first": "passed", "test_box": "failed"}),
    ]


@pytest.mark.parametrize("mode", Mode)
def test_an_experiment_ends_at_the_first_failure_that_decides(
    project: MakeProject, host_lab: MakeLab, mode: Mode
) -> None:
    tests = """\
        import pytest

        @pytest.fixture(scope="session", autouse=True)
        def opened(): yield
        def test_a(): assert False
        def test_b(): pass
        def test_c(): assert False
        def test_d(): pass
    """
    lab = host_lab(project({"test_t.py": tests}), *PLAIN)
    names = tuple(f"test_t.py::test_{letter}" for letter in "abcd")
    result = lab.run(tests=names, mode=mode, until=frozenset(names[1:]))
    assert [str(run.outcome) for run in result.runs] == ["failed", "passed", "failed"]
    assert (result.ending, result.controls_held) == (Ending.DONE, True)
    whole = lab.run(tests=names, mode=mode)
    assert len(whole.runs) == 4
