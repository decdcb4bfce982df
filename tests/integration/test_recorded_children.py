"""What child processes of a test run is recorded for it, however they are started and however they end."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.model import Evidence, Mode, Outcome
from tests.conftest import MakeLab, MakeProject
from tests.swaps import swap_of

PLAIN = ("-p", "no:randomly")
WORK = """\
import os
import signal
import sys


def ways(n):
    if n > 2:
        return "large"
    return "small"


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def left():
    os._exit(0)


def closes():
    os.closerange(3, 2000)
    return 1


if __name__ == "__main__":
    print(globals()[sys.argv[1]](*map(int, sys.argv[2:])))
"""
TESTS = """\
    import multiprocessing
    import os
    import subprocess
    import sys

    import pytest

    HERE = os.path.dirname(os.path.abspath(__file__))
    CODE = "from shop.work import %s as it; it(%s)"

    def python(code, *options, **more):
        return subprocess.run([sys.executable, *options, "-c", code], cwd=HERE, **more)

    def test_module(): subprocess.run([sys.executable, "-m", "shop.work", "ways", "1"], cwd=HERE, check=True)
    def test_without_environment(): python(CODE % ("ways", 1), env={})
    def test_killed(): assert python(CODE % ("killed", "")).returncode == -9
    def test_left(): assert python(CODE % ("left", "")).returncode == 0
    def test_closes(): python(CODE % ("closes", ""))
    def test_shell(): os.system("cd %s && %s -c '%s'" % (HERE, sys.executable, CODE % ("ways", 3)))
    def test_spawned(): os.waitpid(os.posix_spawn(sys.executable, [sys.executable, "-c", CODE % ("ways", 3)], os.environ), 0)
    def test_grandchild(): python("import os; os.execv(%r, [%r, '-c', %r])" % (sys.executable, sys.executable, CODE % ("ways", 3)))
    def test_executed():
        pid = os.fork()
        if not pid:
            os.execve(sys.executable, [sys.executable, "-c", CODE % ("ways", 3)], env={"PYTHONPATH": HERE})
        os.waitpid(pid, 0)

    def test_isolated(): python("import sys; sys.path.insert(0, %r); %s" % (HERE, CODE % ("ways", 1)), "-I", check=True)

    def test_forked():
        from shop.work import ways
        pid = os.fork()
        if not pid:
            ways(3)
            os._exit(0)
        os.waitpid(pid, 0)
        ways(1)

    @pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
    def test_pool(method):
        from shop.work import ways
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(ways, [1, 3]) == ["small", "large"]

    def test_nothing(): pass

    SEEN = "import os, sys; print(sorted(n for n in os.environ if 'PYTHON' in n or 'REPRO' in n), any('offspring' in p for p in sys.path), sys.modules['sitecustomize'].MINE)"

    def test_unseen(monkeypatch):
        monkeypatch.setenv("PYTHONPATH", os.path.join(HERE, "mine"))
        monkeypatch.delenv("PYTHONHASHSEED", raising=False)
        before = dict(os.environ)
        said = python(SEEN, capture_output=True, text=True)
        assert said.stdout.split("] ")[1] == "False here\\n", said
        assert "REPRO_GATE_OFFSPRING" not in said.stdout
        assert dict(os.environ) == before
"""
FILES = {
    "shop/__init__.py": "",
    "shop/work.py": WORK,
    "mine/sitecustomize.py": "MINE = 'here'\n",
    "test_it.py": TESTS,
}
BODIES = frozenset({7, 8, 9, 13, 17, 21, 22})
LARGE, SMALL = frozenset({7, 8}), frozenset({7, 9})


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_each_child_is_recorded_for_the_test_that_started_it(project: MakeProject, lab: MakeLab, mode: Mode) -> None:
    one = lab(project(FILES), *PLAIN, record=["shop/work.py"])
    result = one.run(mode)
    assert {str(run.outcome) for run in result.runs} == {"passed"}, [(run.id, run.output[-900:]) for run in result.runs]
    ran: dict[str, frozenset[int]] = {}
    away: dict[str, frozenset[int]] = {}
    arcs: dict[str, frozenset[tuple[int, int]]] = {}
    for run in result.runs:
        name = run.id.partition("::test_")[2]
        seen = run.evidence or Evidence()
        ran[name] = frozenset[int]().union(*(trace.numbers() for trace in seen.ran)) & BODIES
        away[name] = frozenset[int]().union(*(trace.numbers() for trace in seen.away)) & BODIES
        arcs[name] = frozenset[tuple[int, int]]().union(*(trace.pairs() for trace in seen.ran))
    assert ran == {
        "module": SMALL,
        "without_environment": SMALL,
        "killed": {13},
        "left": {17},
        "closes": {21, 22},
        "shell": LARGE,
        "spawned": LARGE,
        "grandchild": LARGE,
        "executed": LARGE,
        "isolated": frozenset(),
        "forked": LARGE | SMALL,
        "pool[fork]": LARGE | SMALL,
        "pool[spawn]": LARGE | SMALL,
        "pool[forkserver]": LARGE | SMALL,
        "nothing": frozenset(),
        "unseen": frozenset(),
    }
    assert away["forked"] & frozenset(range(7, 10)) == {8}, "the test's own process ran the others"
    assert {(7, 8), (7, 9)} <= arcs["pool[spawn]"]
    assert {(7, 8), (7, 9)} <= arcs["forked"]


def test_what_is_not_recorded_costs_children_nothing(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import os, subprocess, sys

        def test_it():
            code = "import os, sys; print([n for n in sys.modules if 'repro_gate' in n], 'REPRO_GATE_OFFSPRING' in os.environ)"
            said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert said.stdout == "[] False\\n", said
        """
    result = host_lab(project({"test_it.py": tests}), *PLAIN).run()
    assert [str(run.outcome) for run in result.runs] == ["passed"], result.runs[0].output


def test_a_directory_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    """A child may have become another user, or be in another root: what it tells is lost, and no more."""
    from repro_gate_pytest.offspring import _Lines
    from repro_gate_pytest.watching import File

    lines = _Lines(str(tmp_path / "gone" / "1"), 0, File("shop/work.py", None))
    lines.add(3)
    assert lines == {3}
    told = _Lines(str(tmp_path / "2"), 0, File("shop/work.py", None))
    told.add(3)
    told.add(3)
    told.add(4)
    assert (tmp_path / "2").read_bytes() == b"0 3\n0 4\n"


def test_where_code_is_exchanged_nobody_records_and_children_are_left_alone(lab: MakeLab, project: MakeProject) -> None:
    tests = """\
        import os, subprocess, sys
        from shop.work import ways
        def test_child():
            found = subprocess.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], stdout=subprocess.PIPE)
            assert found.stdout.decode().strip() == str(sorted(os.environ))
            assert ways(3) == "large"
    """
    root = project({"shop/__init__.py": "", "shop/work.py": WORK, "test_a.py": tests})
    one = lab(root, *PLAIN, record=("shop/work.py",))
    one.collect()
    swap = swap_of("shop/work.py", WORK, "ways", '"large"', '"LARGE"')
    assert [run.outcome for run in one.run(swap=swap).runs] == [Outcome.FAILED]
    null = one.run(swap=swap_of("shop/work.py", WORK, "ways"))
    assert [(run.outcome, run.failure) for run in null.runs] == [(Outcome.PASSED, None)]
