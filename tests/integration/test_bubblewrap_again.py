"""bwrap binds the whole root: a mount that goes away meanwhile is no answer of the tests."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from repro_gate.process import Process, start
from repro_gate.sandbox.bubblewrap import Persistent

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
