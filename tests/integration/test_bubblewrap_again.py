"""bwrap binds the whole root, and is a process that others may end: neither is an answer of the tests."""

from __future__ import annotations

import dataclasses
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from repro_gate.errors import CollectionFailed
from repro_gate.experiment import Job
from repro_gate.model import Conditions, Ending, Experiment, Limits, Mode, Outcome, TestRun
from repro_gate.process import Process, start
from repro_gate.sandbox.bubblewrap import Bubblewrap, Persistent
from tests.conftest import MakeProject

EVERY = Experiment(tests=None, conditions=Conditions())
RACE = "bwrap: Can't bind mount /oldroot/ on /newroot/: Unable to apply mount flags: No such file or directory"


def begins(tmp_path: Path, words: list[str]) -> tuple[list[int], Persistent]:
    """A program that says each of these words in turn and fails, and then ends with 7."""
    tries: list[int] = []

    def begin() -> Process:
        tries.append(len(tries))
        said = words[tries[-1]] if tries[-1] < len(words) else ""
        code = f"import sys; sys.stderr.write({said!r}); sys.exit({1 if said else 7})"
        return start([sys.executable, "-c", code], env={}, cwd=tmp_path)

    return tries, Persistent(begin)


def ended(process: Persistent) -> int | None:
    until = time.monotonic() + 60
    while (status := process.poll()) is None and time.monotonic() < until:
        process.wait(0.05)
    return status


@pytest.mark.parametrize(
    ("words", "status", "starts"),
    [
        ([], 7, 1),
        ([RACE], 7, 2),
        ([RACE] * 3, 7, 4),
        ([RACE] * 9, 1, 4),
        (["bwrap: execvp python: No such file"], 1, 1),
    ],
)
def test_a_start_that_other_mounts_disturbed_is_made_again(
    words: list[str], status: int, starts: int, tmp_path: Path
) -> None:
    tries, process = begins(tmp_path, words)
    assert ended(process) == status
    process.end()
    assert len(tries) == starts


def test_what_was_ended_is_not_begun_again(tmp_path: Path) -> None:
    tries, process = begins(tmp_path, [RACE] * 9)
    process.end()
    process.poll()
    assert len(tries) == 1


class Doomed(Bubblewrap):
    """Its first processes are killed at once, by somebody outside."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.times = times
        self.started: list[Persistent] = []

    def start(self, *args: Any, **kwargs: Any) -> Persistent:
        process = super().start(*args, **kwargs)
        self.started.append(process)
        if len(self.started) <= self.times:
            os.kill(process.pid, signal.SIGKILL)
        return process


def doomed(times: int, why_not: str) -> Doomed:
    if why_not:
        pytest.skip(why_not)
    return Doomed(times)


def test_a_collection_that_somebody_killed_is_made_again_once(
    project: MakeProject, labs: Any, bubblewrap_why_not: str
) -> None:
    root = project({"test_it.py": "def test_it(): pass\n"})
    once = doomed(1, bubblewrap_why_not)
    assert len(labs(once, root, "-p", "no:randomly", jobs=1).lab.collect(EVERY).tests) == 1
    twice = doomed(2, bubblewrap_why_not)
    with pytest.raises(CollectionFailed, match=r"ended with status -9"):
        labs(twice, root, "-p", "no:randomly", jobs=1).lab.collect(EVERY)
    assert (len(once.started), len(twice.started)) == (2, 2)


@pytest.mark.parametrize("mode", [Mode.FORK, Mode.FRESH])
def test_a_run_that_somebody_killed_is_lost_and_no_test_is_blamed(
    project: MakeProject, labs: Any, mode: Mode, bubblewrap_why_not: str
) -> None:
    sandbox = doomed(0, bubblewrap_why_not)
    root = project({"test_it.py": "import time\ndef test_first(): pass\ndef test_it(): time.sleep(60)\n"})
    one = labs(sandbox, root, "-p", "no:randomly", jobs=1)

    def kill(run: TestRun) -> None:
        if run.outcome is Outcome.PASSED:
            os.kill(sandbox.started[-1].pid, signal.SIGKILL)

    job = Job(
        experiment=dataclasses.replace(EVERY, limits=Limits(test_seconds=50, total_seconds=100)),
        mode=mode,
        on_run=kill,
    )
    [result] = one.lab.run([job])
    assert [run.outcome for run in result.runs] == ["passed", "not_run"]
    assert (result.ending, result.controls_held) == (Ending.CRASHED, False)
    assert "killed from outside" in " ".join(result.notes)
