"""Whatever a test does to its process, the experiment goes on, tells the truth, and leaves nothing behind."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repro_gate.errors import DiskFull
from repro_gate.experiment import Job
from repro_gate.model import Conditions, Experiment, ExperimentResult, Limits, Mode, TestRun
from tests.conftest import MakeLab, MakeProject, eventually_none, outcomes


@dataclass(frozen=True)
class Culprit:
    """The body of the middle test, and what it must come to.

    ``spoils``: pytest itself does not recover within that process; the tests after it have results, not good ones.
    """

    body: str
    outcome: str = "passed"
    words: str = ""
    controls_held: bool = True
    spoils: bool = False
    limits: Limits = field(default_factory=lambda: Limits(test_seconds=60, total_seconds=120))
    arguments: tuple[str, ...] = ()


SHORT = Limits(test_seconds=2, total_seconds=120)
SMALL = Limits(test_seconds=60, total_seconds=120, memory_bytes=200 * 2**20)

# Where the sandbox may make a difference; these run in each of them.
CONFINED = {
    "hangs": Culprit("while True: time.sleep(1)", "timeout", "did not end within its time", limits=SHORT),
    "hangs in C with signals blocked": Culprit(
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, list(signal.Signals))
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
        """,
        "timeout",
        limits=SHORT,
    ),
    "dies by SIGSEGV": Culprit("import ctypes; ctypes.string_at(0)", "crashed", "SIGSEGV"),
    "kills its parent": Culprit("os.kill(os.getppid(), 9); time.sleep(20)", "crashed"),
    "kills its own process group": Culprit("os.killpg(0, 9); time.sleep(20)", "crashed", "SIGKILL"),
    "exhausts memory": Culprit(
        """
        kept = []
        while True:
            kept.append(bytearray(os.urandom(1)) * (4 * 2**20))
            time.sleep(0.01)
        """,
        "crashed",
        "more memory than it may",
        limits=SMALL,
    ),
    "has a child that exhausts memory": Culprit(
        """
        program = "import time; kept = [bytearray(b'x') * 2**20 for _ in range(600)]; time.sleep(60)"
        subprocess.run([sys.executable, "-c", program])
        """,
        "crashed",
        "more memory than it may",
        limits=SMALL,
    ),
    "starts a daemonised grandchild": Culprit(
        """
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)"])
            os._exit(0)
        os.wait()
        """
    ),
    "deletes the whole tree": Culprit("import shutil; shutil.rmtree(os.getcwd(), ignore_errors=True)"),
}

ANYWHERE = {
    "calls os._exit(0)": Culprit("os._exit(0)", "crashed", "status 0"),
    "calls os._exit(3)": Culprit("os._exit(3)", "crashed", "status 3"),
    "calls sys.exit": Culprit("sys.exit(0)", "failed"),
    "raises KeyboardInterrupt": Culprit("raise KeyboardInterrupt", "error"),
    "calls pytest.exit": Culprit("pytest.exit('enough')", "error"),
    "raises GeneratorExit": Culprit("raise GeneratorExit", "failed"),
    "raises a BaseException that cannot be shown": Culprit(
        """
        class Shy(BaseException):
            def __str__(self): raise ValueError("no")
            __repr__ = __str__
        raise Shy
        """,
        "failed",
    ),
    "forks and goes on as two": Culprit("os.fork()"),
    "forks and fails in the child": Culprit("assert os.fork() or False", "passed"),
    "waits for a child that went on": Culprit(
        """
        pid = os.fork()
        if pid:
            assert os.waitpid(pid, 0)[1] == 0
        """
    ),
    "uses multiprocessing by fork": Culprit(
        """
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.map(abs, [-1, -2]) == [1, 2]
        """
    ),
    "uses multiprocessing by spawn": Culprit(
        """
        import multiprocessing
        process = multiprocessing.get_context("spawn").Process(target=print, args=("hi",))
        process.start(); process.join()
        assert process.exitcode == 0
        """
    ),
    "closes all descriptors": Culprit("os.closerange(3, 4096)", "failed", spoils=True),
    "closes all descriptors without capture": Culprit("os.closerange(3, 4096)", arguments=("-s",)),
    "takes the channel's number for a file": Culprit(
        """
        os.closerange(300, 4096)
        path = os.path.join(os.environ["TMPDIR"], "mine")
        mine = os.open(path, os.O_CREAT | os.O_RDWR)
        for number in range(300, 600):
            os.dup2(mine, number)
        """
    ),
    "writes 5 MB to both streams": Culprit("for fd in (1, 2): os.write(fd, b'x' * 5_000_000)"),
    "writes 5 MB to both streams without capture": Culprit(
        """
        for fd in (1, 2):
            left = memoryview(b'x' * 5_000_000)
            while left: left = left[os.write(fd, left):]
        """,
        arguments=("-s",),
    ),
    "prints 5 MB": Culprit("print('x' * 5_000_000)"),
    "prints 5 MB and fails": Culprit("print('x' * 5_000_000); assert 0, 'y' * 5_000_000", "failed"),
    "goes to a directory that is deleted": Culprit(
        "import tempfile; here = tempfile.mkdtemp(); os.chdir(here); os.rmdir(here)"
    ),
    "patches os.write": Culprit("os.write = None"),
    "patches os._exit": Culprit("os._exit = lambda status: None"),
    "patches os.fork": Culprit("os.fork = None"),
    "patches os.getpid": Culprit("os.getpid = lambda: 1"),
    "patches time.time": Culprit("time.time = lambda: 'noon'"),
    "patches every clock": Culprit(
        "time.time = time.monotonic = time.perf_counter = time.sleep = time.time_ns = lambda *a: 0"
    ),
    "patches json.dumps": Culprit("import json; json.dumps = json.loads = None"),
    "patches builtins.open": Culprit("import builtins; builtins.open = None"),
    "patches os.getcwd": Culprit("os.getcwd = None", spoils=True),
    "patches os.path": Culprit("os.path.realpath = os.path.join = os.path.exists = None", spoils=True),
    "patches socket": Culprit("import socket; socket.socket = socket.getaddrinfo = socket.inet_pton = None"),
    "patches hashlib": Culprit("import hashlib; hashlib.blake2b = None"),
    "patches random": Culprit("import random; random.Random.seed = random.getstate = random.seed = None"),
    "patches os.urandom": Culprit("os.urandom = lambda n: b'0' * n"),
    "empties the environment": Culprit("os.environ.clear()"),
    "rewrites every report": Culprit(
        """
        from _pytest import reports
        make = reports.TestReport.from_item_and_call.__func__
        def passed(cls, item, call):
            report = make(cls, item, call)
            report.outcome = "passed"
            return report
        reports.TestReport.from_item_and_call = classmethod(passed)
        """,
        controls_held=False,
    ),
    "rewrites every report by a hook": Culprit(
        """
        class Rewrite:
            @pytest.hookimpl(hookwrapper=True)
            def pytest_runtest_makereport(self):
                outcome = yield
                outcome.get_result().outcome = "passed"
        request.config.pluginmanager.register(Rewrite())
        """,
        controls_held=False,
    ),
    "ignores SIGTERM and SIGINT": Culprit(
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        """
    ),
    "ignores every signal and hangs": Culprit(
        """
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        while True: time.sleep(1)
        """,
        "timeout",
        limits=SHORT,
    ),
    "leaves no descriptors": Culprit("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (8, 8))"),
    "leaves a thread running": Culprit("threading.Thread(target=time.sleep, args=(300,)).start()"),
    "leaves a child running": Culprit("subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'])"),
    "recurses to death": Culprit(
        """
        class Deep:
            def __repr__(self): return repr(self)
        sys.setrecursionlimit(10**8)
        threading.stack_size(0)
        repr(Deep())
        """,
        "crashed",
        "SIGSEGV",
    ),
    "recurses too deep": Culprit(
        """
        def deeper(): deeper()
        deeper()
        """,
        "failed",
    ),
    "takes the streams away": Culprit("sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = None"),
    "closes the streams": Culprit("sys.__stdout__.close(); sys.__stderr__.close()"),
    "shuts logging down": Culprit("import logging; logging.shutdown()"),
    "disables faulthandler": Culprit("import faulthandler; faulthandler.disable()"),
    "disables gc": Culprit("import gc; gc.disable(); gc.freeze()"),
    "is killed by its own timer": Culprit(
        "signal.setitimer(signal.ITIMER_REAL, 0.2); time.sleep(20)", "crashed", "SIGALRM"
    ),
    "traces": Culprit("sys.settrace(lambda *args: None); sys.setprofile(lambda *args: None)"),
    "aborts": Culprit("os.abort()", "crashed", "SIGABRT"),
    "changes the limits of recursion": Culprit("sys.setrecursionlimit(sys.getrecursionlimit() + 1)"),
    "empties sys.modules": Culprit("sys.modules.clear()", spoils=True),
    "replaces sys.excepthook by one that raises": Culprit("sys.excepthook = sys.unraisablehook = None"),
}

HEADER = """\
import os, signal, subprocess, sys, threading, time
import pytest

def test_before(tmp_path):
    assert os.listdir(tmp_path) == []

def test_before_failing():
    assert 0

def test_culprit(request):
"""
FOOTER = """

def test_after():
    assert sorted([2, 1]) == [1, 2]

def test_after_failing():
    assert 1 == 2
"""


def suite(culprit: Culprit) -> dict[str, str]:
    """Two tests, the culprit, two tests."""
    return {"test_it.py": HEADER + textwrap.indent(textwrap.dedent(culprit.body).strip() + "\n", "    ") + FOOTER}


def check(one: ExperimentResult, culprit: Culprit) -> None:
    """The culprit is told from the others, and they have their results."""
    seen = outcomes(one)
    told = (seen, one.notes, [run.output[-600:] for run in one.runs])
    assert list(seen) == ["test_before", "test_before_failing", "test_culprit", "test_after", "test_after_failing"], (
        told
    )
    assert seen["test_culprit"] == culprit.outcome, told
    assert (seen["test_before"], seen["test_before_failing"]) == ("passed", "failed"), told
    if culprit.spoils:
        assert {seen["test_after"], seen["test_after_failing"]} <= {"passed", "failed", "error"}, told
    elif culprit.controls_held:
        assert (seen["test_after"], seen["test_after_failing"]) == ("passed", "failed"), told
    if not culprit.spoils:
        assert one.controls_held is culprit.controls_held, told
    run = one.of("test_it.py::test_culprit")
    assert run is not None
    if culprit.words:
        assert run.failure is not None
        assert culprit.words in run.failure.message


def misbehave(make: MakeLab, directory: Path, culprit: Culprit, mode: Mode) -> None:
    """Two experiments in a row, with nothing of the first left for the second or after it."""
    lab = make(directory, *culprit.arguments)
    lab.collect()
    kept = set(lab.processes())
    check(lab.run(mode, limits=culprit.limits), culprit)
    if mode is Mode.FRESH or kept <= set(lab.processes()):  # a killed server was replaced by another
        assert eventually_none(lambda: sorted(set(lab.processes()) - kept)) == []
    again = lab.run(mode, ("test_it.py::test_after", "test_it.py::test_before", "test_it.py::test_after_failing"))
    assert outcomes(again) == {"test_after": "passed", "test_before": "passed", "test_after_failing": "failed"}
    assert again.controls_held


@pytest.mark.parametrize("mode", [Mode.FORK, pytest.param(Mode.FRESH, marks=pytest.mark.deep)], ids=str)
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if number % 2 else pytest.mark.deep) for number, name in enumerate(CONFINED)],
)
def test_in_each_sandbox_an_experiment_survives_a_test_that(
    project: MakeProject, lab: MakeLab, mode: Mode, name: str
) -> None:
    misbehave(lab, project(suite(CONFINED[name])), CONFINED[name], mode)


# A fork is where one test could take others with it; of fresh processes, those that end in ways of their own.
ENDS = ("calls os._exit(0)", "calls pytest.exit", "ignores every signal and hangs", "recurses to death")
BOTH = [
    pytest.param(
        name, mode, id=f"{name}-{mode}", marks=pytest.mark.deep if mode is Mode.FRESH and name not in ENDS else ()
    )
    for name in ANYWHERE
    for mode in Mode
]


def test_the_ends_that_are_tried_in_fresh_processes_are_among_the_culprits() -> None:
    assert set(ENDS) <= set(ANYWHERE)


@pytest.mark.parametrize(("name", "mode"), BOTH)
def test_an_experiment_survives_a_test_that(project: MakeProject, host_lab: MakeLab, mode: Mode, name: str) -> None:
    misbehave(host_lab, project(suite(ANYWHERE[name])), ANYWHERE[name], mode)


@pytest.mark.parametrize("mode", Mode, ids=str)
def test_a_lab_can_be_cancelled_though_its_listener_is_why(project: MakeProject, host_lab: MakeLab, mode: Mode) -> None:
    def full(_run: TestRun) -> None:
        raise DiskFull("No space left for results.")

    lab = host_lab(
        project({"test_a.py": "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_a(n): pass\n"})
    )
    jobs = [
        Job(experiment=Experiment(tests=None, conditions=Conditions(random=n)), mode=mode, on_run=full) for n in (1, 2)
    ]
    with pytest.raises(DiskFull):
        lab.lab.run(jobs)
    lab.lab.cancel()
    assert all(job.result is not None for job in jobs)
    assert not lab.lab.busy
    assert outcomes(lab.run(mode)) == {f"test_a[{n}]": "passed" for n in range(9)}
