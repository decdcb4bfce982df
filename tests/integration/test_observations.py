"""What else a test is seen to do where it is asked for: files it reads, packets without a way, where it hangs."""

from __future__ import annotations

import pytest

from repro_gate.model import Limits, Mode
from tests.conftest import MakeLab, MakeProject, outcomes

PLAIN = ("-p", "no:randomly")
SHORT = Limits(test_seconds=2, total_seconds=120)

READING = """\
    import inspect, json, linecache, os, pathlib, runpy, subprocess, traceback, warnings
    from importlib import resources
    import pkg, pkg.core
    HERE = pathlib.Path(__file__).parent

    def test_data(): assert json.loads((HERE / "data/case.json").read_text()) == {}
    def test_data_of_package(): assert resources.files("pkg").joinpath("words.txt").read_text()
    def test_source(): assert "RATE" in inspect.getsource(pkg.core)
    def test_source_by_hand(): assert open(pkg.core.__file__).read()
    def test_git(): assert (HERE / ".git/HEAD").read_text()
    def test_imports(): import pkg.lazy
    def test_runs(): assert runpy.run_path(HERE / "pkg/lazy.py") and runpy.run_module("pkg.lazy")
    def test_shows_a_traceback():
        linecache.clearcache()
        try:
            pkg.core.fail()
        except ValueError:
            assert "raise ValueError" in traceback.format_exc()
    def test_warns(): pkg.core.warn()
    def test_writes(): (HERE / "out.txt").write_text("x")
    def test_elsewhere(tmp_path): (tmp_path / "x").write_text("x"); (tmp_path / "x").read_text()
    def test_nothing(): pass
    def test_who_calls():
        linecache.clearcache()
        assert pkg.core.callers()
    def test_own_text(): assert pkg.core.own_text()
    def test_many(): [(HERE / "many" / str(n)).read_text() for n in range(450)]
    def test_fails():
        linecache.clearcache()
        assert pkg.core.RATE == 3
"""


def test_files_that_a_test_reads_are_told_and_imports_are_not(project: MakeProject, lab: MakeLab) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/core.py": """\
            import warnings
            import inspect
            RATE = 2
            def callers(): return inspect.stack()
            def own_text(): return open(__file__).read()
            def fail(): raise ValueError
            def warn(): warnings.warn("old", DeprecationWarning)
        """,
        "pkg/lazy.py": "",
        "pkg/words.txt": "words",
        "data/case.json": "{}",
        ".git/HEAD": "ref: refs/heads/main\n",
        "test_it.py": READING,
        **{f"many/{n}": "" for n in range(450)},
    }
    root = project(files)
    result = lab(root, *PLAIN, facts=True).run(Mode.FRESH)
    seen = {run.id.partition("::")[2]: run.evidence for run in result.runs}
    opened = {test: evidence.opened for test, evidence in seen.items() if evidence is not None and evidence.opened}
    many = opened.pop("test_many")
    assert opened == {
        "test_data": ("data/case.json",),
        "test_data_of_package": ("pkg/words.txt",),
        "test_source": ("pkg/core.py",),
        "test_source_by_hand": ("pkg/core.py",),
        "test_own_text": ("pkg/core.py",),
        "test_git": (".git/HEAD",),
    }
    sources = {test: evidence.sources for test, evidence in seen.items() if evidence is not None and evidence.sources}
    assert sources == dict.fromkeys(("test_source", "test_source_by_hand"), ("pkg/core.py",))
    assert len(many) == 400
    assert seen["test_many"] is not None
    assert seen["test_many"].more >= 50
    assert {test for test, outcome in outcomes(result).items() if outcome != "passed"} == {"test_fails"}


def test_what_is_not_asked_for_is_not_told(project: MakeProject, host_lab: MakeLab) -> None:
    tests = "def test_it(): open('data.txt').read()\n"
    run = host_lab(project({"data.txt": "", "test_it.py": tests}), *PLAIN).run().runs[0]
    assert run.evidence is not None
    assert (run.evidence.opened, run.evidence.lines, run.evidence.unrouted) == ((), (), None)
    assert len(run.evidence.files) == 1


def test_packets_without_a_way_are_counted_where_the_hook_sees_nothing(project: MakeProject, lab: MakeLab) -> None:
    tests = """\
        import socket, subprocess, sys
        SEND = "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('192.0.2.1', 9)); s.send(b'x')"
        def test_nothing(): pass
        def test_seen_by_the_hook():
            try: socket.create_connection(("192.0.2.1", 9), timeout=1)
            except OSError: pass
        def test_child(): subprocess.run([sys.executable, "-I", "-c", SEND], stderr=subprocess.DEVNULL)
        def test_loopback():
            with socket.create_server(("127.0.0.1", 0)) as server:
                socket.create_connection(server.getsockname()).close()
    """
    one = lab(project({"test_net.py": tests}), *PLAIN, counters=True)
    found = {run.id.partition("::")[2]: run.evidence.unrouted if run.evidence else None for run in one.run().runs}
    if not one.lab.sandbox.hermetic:
        assert found["test_nothing"] is not None  # the machine's own counters: others count there, too
        return
    # What the audit hook sees it refuses before the kernel could count it.
    assert found["test_nothing"] == found["test_loopback"] == found["test_seen_by_the_hook"] == 0
    assert (found["test_child"] or 0) > 0


HANGING = """\
    import os, threading, time
    import pkg.core
    def test_first(): pass
    def test_sleeps(): pkg.core.wait()
    def test_between(): pass
    def test_loops():
        while True: pass
    def test_joins():
        thread = threading.Thread(target=pkg.core.wait, daemon=True)
        thread.start()
        thread.join()
    def test_slow(): time.sleep(1.85)
    def test_sleeps_after_a_slow_one(): pkg.core.wait()
    def test_forks_with_no_thread_beside():
        assert len(os.listdir("/proc/self/task")) == 1
"""


@pytest.mark.parametrize(
    "lab", ["host", *(pytest.param(name, marks=pytest.mark.deep) for name in ("bubblewrap", "docker"))], indirect=True
)
@pytest.mark.parametrize("mode", [Mode.FORK, pytest.param(Mode.FRESH, marks=pytest.mark.deep)], ids=str)
def test_a_test_that_hangs_leaves_its_stack(project: MakeProject, lab: MakeLab, mode: Mode) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/core.py": "import time\ndef wait():\n    while True: time.sleep(60)\n",
        "test_it.py": HANGING,
    }
    result = lab(project(files), *PLAIN).run(mode, limits=SHORT)
    runs = {run.id.partition("::")[2]: run for run in result.runs}
    hung = {test: run.failure for test, run in runs.items() if run.outcome == "timeout"}
    assert set(hung) == {"test_sleeps", "test_loops", "test_joins", "test_sleeps_after_a_slow_one"}
    own = {
        test: [(str(f.zone), f.path, f.function) for f in failure.frames if f.zone in ("Test", "Product")]
        for test, failure in hung.items()
        if failure is not None
    }
    waits = ("Product", "pkg/core.py", "wait")
    assert own == {
        "test_sleeps": [("Test", "test_it.py", "test_sleeps"), waits],
        "test_loops": [("Test", "test_it.py", "test_loops")],
        "test_joins": [waits, ("Test", "test_it.py", "test_joins")],
        "test_sleeps_after_a_slow_one": [("Test", "test_it.py", "test_sleeps_after_a_slow_one"), waits],
    }
    assert {str(run.outcome) for test, run in runs.items() if test not in hung} == {"passed"}
    assert {failure.fingerprint for failure in hung.values() if failure is not None} == {"timeout:timeout"}


def test_a_child_is_seen_however_it_was_started(project: MakeProject, lab: MakeLab) -> None:
    tests = """\
        import ctypes, multiprocessing, os, subprocess, sys, threading
        def test_nothing(): pass
        def test_by_multiprocessing():
            with multiprocessing.get_context("spawn").Pool(1) as pool: assert pool.apply(len, ([1],)) == 1
        def test_by_c(): assert ctypes.CDLL(None).system(b"true") == 0
        def test_by_fork():
            if not os.fork(): os._exit(0)
            os.wait()
        def test_by_subprocess(): subprocess.run([sys.executable, "-c", ""])
        def test_a_thread(): threading.Thread(target=len, args=([],)).start()
    """
    runs = lab(project({"test_children.py": tests}), *PLAIN).run().runs
    assert [run.outcome for run in runs] == ["passed"] * 6
    seen = {run.id.rpartition("test_")[2]: run.evidence.children if run.evidence else () for run in runs}
    python = seen.pop("by_subprocess")
    assert len(python) == 1
    assert python[0].rpartition("/")[2].startswith("python")
    untold = ("a process",)
    told = {"nothing": (), "by_multiprocessing": untold, "by_c": untold, "by_fork": ("fork",), "a_thread": ()}
    assert seen == told
