"""Watched lines: which ran in which test, however the code came to run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from repro_gate.model import Mode
from tests.conftest import MakeLab, MakeProject, TestLab

PLAIN = ("-p", "no:randomly")

PRODUCT = """\
LIMIT = 3
def plain(n):
    if n > LIMIT:
        return "many"
    return "few"
def stream():
    yield 1
    yield 2
async def wait():
    return 4
class Thing:
    def method(self):
        return [n
                for n in (1,)]
"""

TESTS = """\
    import _thread, asyncio, os, sys, threading
    import pkg.core as core
    import pytest

    def test_none(): pass
    def test_few(): core.plain(1)
    def test_many(): core.plain(9)
    def test_many_again(): [core.plain(9) for _ in range(3)]
    def test_stream_begun():
        global going
        going = core.stream()
        next(going)
    def test_stream_goes_on(): next(going)
    def test_awaits(): asyncio.run(core.wait())
    def test_thread():
        thread = threading.Thread(target=core.Thing().method)
        thread.start()
        thread.join()
    def test_thread_of_its_own():
        told = threading.Event()
        def run(*args, more):
            core.plain(*args)
            core.plain(more)
            told.set()
        _thread.start_new_thread(run, (1,), {"more": 9})
        assert told.wait(60)
        for wrong in ((), (run,), (run, 1), (1, ()), (run, (), 1)):
            with pytest.raises(TypeError):
                _thread.start_new_thread(*wrong)
    @pytest.fixture
    def around():
        core.plain(1)
        yield
        core.plain(9)
    def test_set_up_and_torn_down(around): pass
    def test_lazy_import(): import pkg.lazy
    def test_raises():
        with pytest.raises(TypeError):
            core.plain(None)
    def test_own_tracer():
        seen = []
        def trace(frame, event, arg):
            seen.append(frame.f_code.co_name)
            return trace
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            assert sys.gettrace() is trace
            core.plain(9)
        finally:
            sys.settrace(before)
        assert before is None
        assert seen.count("plain") > 2
    def test_tracer_left_behind(): sys.settrace(lambda *_: None)
    def test_after_it(): core.plain(1)
    def test_tracer_that_raises():
        def trace(*_): raise KeyError
        with pytest.raises(KeyError):
            sys.settrace(trace)
            core.plain(1)
    def test_threads_with_own_tracer():
        threading.settrace(lambda *_: None)
        thread = threading.Thread(target=core.plain, args=(1,))
        thread.start()
        thread.join()
        threading.settrace(None)
    def test_last(): core.plain(9)
"""
WATCH = {"pkg/core.py": frozenset(range(1, 15)), "pkg/lazy.py": frozenset({1, 2})}
EXPECTED: dict[str, set[int]] = {
    "test_none": set(),
    "test_few": {3, 5},
    "test_many": {3, 4},
    "test_many_again": {3, 4},
    "test_stream_begun": {7},
    "test_stream_goes_on": {8},
    "test_awaits": {10},
    "test_thread": {13, 14},
    "test_thread_of_its_own": {3, 4, 5},
    "test_set_up_and_torn_down": {3, 4, 5},
    "test_lazy_import": {2},
    "test_raises": {3},
    "test_own_tracer": {3, 4},
    "test_after_it": {3, 5},
    "test_threads_with_own_tracer": {3, 5},
    "test_last": {3, 4},
}


@pytest.fixture
def root(project: MakeProject) -> Path:
    lazy = "# 1\nVALUE = 2\nOTHER = 3\n"
    return project({"pkg/__init__.py": "", "pkg/core.py": PRODUCT, "pkg/lazy.py": lazy, "test_it.py": TESTS})


def lines_of(lab: TestLab, mode: Mode) -> dict[str, set[int]]:
    result = lab.run(mode)
    assert {str(run.outcome) for run in result.runs} == {"passed"}, [
        run.output[-800:] for run in result.runs if run.output
    ]
    return {
        run.id.partition("::")[2]: {line for _, line in run.evidence.lines} if run.evidence else set()
        for run in result.runs
    }


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_each_test_is_told_the_watched_lines_it_ran(root: Path, lab: MakeLab, mode: Mode) -> None:
    found = lines_of(lab(root, *PLAIN, watch=WATCH), mode)
    assert {test: found[test] for test in EXPECTED} == EXPECTED


def test_lines_that_run_at_import_are_told_apart(root: Path, host_lab: MakeLab) -> None:
    one = host_lab(root, *PLAIN, watch=WATCH)
    assert one.collect().import_lines == {"pkg/core.py": frozenset({1, 2, 6, 9, 11, 12})}


def test_lines_and_files_that_are_not_watched_are_not_told(root: Path, host_lab: MakeLab) -> None:
    watch = {"pkg/core.py": frozenset({4}), "test_it.py": frozenset({9999}), "gone.py": frozenset({1})}
    found = lines_of(host_lab(root, *PLAIN, watch=watch), Mode.FORK)
    assert {test for test, lines in found.items() if lines} == {
        *(
            "test_many",
            "test_many_again",
            "test_thread_of_its_own",
            "test_set_up_and_torn_down",
            "test_own_tracer",
            "test_last",
        )
    }
    assert set().union(*found.values()) == {4}


def test_the_lines_of_a_failing_test_are_told_and_paths_are_of_the_tree(
    project: MakeProject, host_lab: MakeLab
) -> None:
    files = {
        "pytest.ini": "[pytest]\n",
        "sub/src/mod.py": "def f():\n    raise ValueError\n",
        "sub/test_f.py": "import sys; sys.path.insert(0, 'src')\nimport mod\ndef test_f(): mod.f()\n",
        "sub/pytest.ini": "[pytest]\n",
        ".git/HEAD": "ref: refs/heads/main\n",
    }
    root = project(files)
    run = host_lab(root / "sub", *PLAIN, watch={"sub/src/mod.py": frozenset({2})}).run().runs[0]
    assert (str(run.outcome), run.evidence and run.evidence.lines) == ("failed", (("sub/src/mod.py", 2),))


def test_nothing_is_traced_where_nothing_is_watched(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import sys, threading
        def test_no_tracer():
            assert sys.gettrace() is None
            assert "repro_gate" not in getattr(threading.settrace, "__module__", "")
            if hasattr(sys, "monitoring"):
                assert [sys.monitoring.get_tool(tool) for tool in range(6)] == [None] * 6
    """
    run = host_lab(project({"test_it.py": tests}), *PLAIN).run().runs[0]
    assert str(run.outcome) == "passed", run.output


@pytest.mark.skipif(not hasattr(sys, "monitoring"), reason="needs sys.monitoring (Python 3.12)")
def test_where_every_tool_of_monitoring_is_taken_lines_are_traced(project: MakeProject, host_lab: MakeLab) -> None:
    files = {
        "sitecustomize.py": "import sys\nfor n in range(6): sys.monitoring.use_tool_id(n, str(n))\n",
        "mod.py": "def f():\n    return 1\n",
        "test_it.py": "import mod\ndef test_f(): assert mod.f()\n",
    }
    root = project(files)
    lab = host_lab(root, *PLAIN, watch={"mod.py": frozenset({2})}, env={"PYTHONPATH": str(root)})
    run = lab.run().runs[0]
    assert run.evidence is not None
    assert run.evidence.lines == (("mod.py", 2),)
