"""Programs are drained, bounded, and ended with everything below them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from repro_gate.errors import MissingTool
from repro_gate.process import ask, run, start
from repro_gate.process.children import descendants, resident
from repro_gate.process.launch import quoted
from tests.conftest import MARK, eventually_none, marked_processes


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


def test_a_mebibyte_on_each_stream_is_read_to_its_end(tmp_path: Path) -> None:
    program = "import os\nfor fd in (1, 2):\n    left = b'x' * 2**20\n    while left: left = left[os.write(fd, left):]"
    done = run(python(program), cwd=tmp_path)
    assert (done.status, done.timed_out) == (0, False)
    assert (len(done.stdout), len(done.stderr)) == (2**20, 2**20)


@pytest.mark.parametrize(
    ("program", "status"), [("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 15)", -15)]
)
def test_the_status_is_that_of_the_program(tmp_path: Path, program: str, status: int) -> None:
    assert run(python(program), cwd=tmp_path).status == status


def test_output_that_is_no_text_is_shown_all_the_same(tmp_path: Path) -> None:
    done = run(python("import os; os.write(1, b'a\\xff\\x00b')"), cwd=tmp_path)
    assert done.stdout == "a\ufffd\x00b"


def test_a_question_of_any_size_is_answered_byte_for_byte(tmp_path: Path) -> None:
    question = bytes(range(256)) * 2**13
    program = (
        "import sys, shutil; shutil.copyfileobj(sys.stdin.buffer, sys.stdout.buffer); print('\u00e9', file=sys.stderr)"
    )
    answer = ask(python(program), env={"PYTHONUTF8": "1"}, cwd=tmp_path, question=question)
    assert (answer.status, answer.output, answer.error) == (0, question, "\u00e9\n")
    assert ask(python("raise SystemExit(3)"), env={}, cwd=tmp_path).status == 3


def test_a_question_that_is_not_answered_in_time_is_ended(tmp_path: Path) -> None:
    answer = ask(python("print('a', flush=True)\nwhile True: pass"), env={}, cwd=tmp_path, timeout=0.5)
    assert (answer.timed_out, answer.status) == (True, -9)


def test_there_is_no_standard_input(tmp_path: Path) -> None:
    assert run(python("import sys; print(repr(sys.stdin.read()))"), cwd=tmp_path).stdout == "''\n"


@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        (["no-such-program-anywhere"], ".", "'no-such-program-anywhere' is not there"),
        (["true"], "gone", "directory .* is not there"),
        (["./file"], ".", "may not be run"),
    ],
)
def test_what_is_missing_is_named(tmp_path: Path, argv: list[str], cwd: str, words: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MissingTool, match=words):
        run(argv, cwd=tmp_path / cwd)


def test_a_program_that_takes_too_long_is_ended_and_what_it_said_is_kept(tmp_path: Path) -> None:
    began = time.monotonic()
    done = run(python("import time; print('here', flush=True); time.sleep(300)"), cwd=tmp_path, timeout=1.0)
    assert done.timed_out
    assert done.stdout == "here\n"
    assert done.status == -9
    assert time.monotonic() - began < 30


def test_the_whole_group_is_ended_with_grandchildren_and_without_waiting_for_their_pipes(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    program = (
        "import subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', 'import subprocess, sys, time; "
        'subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]); time.sleep(300)\'])\n'
        "time.sleep(0.5); print('started', flush=True); raise SystemExit(4)"
    )
    process = start(python(program), env={**os.environ, MARK: mark}, cwd=tmp_path)
    assert process.wait(30) == 4
    assert len(marked_processes(mark)) >= 1
    process.end()
    assert eventually_none(lambda: marked_processes(mark)) == []
    assert process.output()[0] == "started\n"
    assert process.poll() == 4


def test_a_program_may_end_by_itself_when_asked(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *a: (print('bye', flush=True), sys.exit(5)))\n"
        "print('ready', flush=True); time.sleep(300)"
    )
    process = start(python(program), env=os.environ, cwd=tmp_path)
    while "ready\n" not in process.output()[0]:
        time.sleep(0.01)
    process.end(grace=20)
    assert process.poll() == 5
    assert process.output()[0] == "ready\nbye\n"


def test_one_that_ignores_the_question_is_killed(tmp_path: Path) -> None:
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(300)"
    process = start(python(program), env=os.environ, cwd=tmp_path)
    while "ready\n" not in process.output()[0]:
        time.sleep(0.01)
    process.end(grace=0.1)
    assert process.poll() == -9
    process.end()


def test_output_is_cut_to_head_and_tail_unless_all_is_asked_for(tmp_path: Path) -> None:
    program = "import sys; sys.stdout.write('<' + 'x' * 500_000 + '>')"
    process = start(python(program), env=os.environ, cwd=tmp_path)
    assert process.wait(30) == 0
    out, _ = process.output()
    process.end()
    assert out.startswith("<xxx")
    assert out.endswith("xxx>")
    assert "bytes left out" in out
    assert len(out) < 250_000
    assert len(run(python(program), cwd=tmp_path).stdout) == 500_002


def test_umask_environment_and_directory_are_as_given(tmp_path: Path) -> None:
    process = start(
        python("import os; open('f', 'w'); print(os.getcwd(), sorted(os.environ))"),
        env={"ONLY": "this"},
        cwd=tmp_path,
        umask=0o077,
    )
    assert process.wait(30) == 0
    process.end()
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600
    said = process.output()[0]
    assert said.startswith(str(tmp_path))
    assert "'ONLY'" in said
    assert "'PATH'" not in said


def test_descendants_and_the_memory_they_hold_are_found(tmp_path: Path) -> None:
    inner = "import time; kept = bytearray(b'x') * (50 * 2**20); print('ready', flush=True); time.sleep(300)"
    process = start(
        python(f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"),
        env=os.environ,
        cwd=tmp_path,
    )
    while "ready\n" not in process.output()[0]:
        time.sleep(0.01)
    assert len(descendants(process.pid)) == 1
    assert 50 * 2**20 < resident(process.pid) < 150 * 2**20
    process.end()
    assert descendants(process.pid) == []
    assert resident(process.pid) == 0


def test_ending_descendants_spares_what_is_named_and_takes_orphans(tmp_path: Path) -> None:
    program = """
import os, subprocess, sys, time
from repro_gate.process import adopt_orphans, end_descendants
assert adopt_orphans()
sleep = [sys.executable, "-c", "import time; time.sleep(300)"]
spared = subprocess.Popen(sleep)
if os.fork() == 0:
    os.setsid()
    subprocess.Popen(sleep)
    os._exit(0)
os.wait()
subprocess.Popen(sleep)
assert end_descendants(frozenset({spared.pid})) == 2
assert spared.poll() is None
assert end_descendants() == 1
"""
    done = subprocess.run(python(program), capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_nothing_of_ended_groups_stays_in_the_table_of_processes(tmp_path: Path) -> None:
    program = """
import os, sys, time
from pathlib import Path
from repro_gate.process import adopt_orphans, start
from repro_gate.process.children import descendants
assert adopt_orphans()
inner = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; print(1, flush=True); time.sleep(300)'])"
for _ in range(3):
    process = start([sys.executable, "-c", inner], env=dict(os.environ), cwd=Path.cwd())
    while "1" not in process.output()[0]:
        time.sleep(0.01)
    process.end()
    assert process.poll() == -9
deadline = time.monotonic() + 10
last = start([sys.executable, "-c", ""], env=dict(os.environ), cwd=Path.cwd())
assert last.wait(30) == 0
while len(descendants(os.getpid())) > 0 and time.monotonic() < deadline:
    last.end()
    time.sleep(0.01)
assert descendants(os.getpid()) == []
"""
    done = subprocess.run(python(program), capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr


def test_a_command_is_quoted_as_a_shell_takes_it() -> None:
    assert quoted(["a b", "$x", "c"]) == "'a b' '$x' c"
