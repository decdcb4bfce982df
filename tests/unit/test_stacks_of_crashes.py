"""The stack that a test leaves: of a hang whatever was written, of a crash only what the crash wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.experiment import stacks
from repro_gate.model import Zone
from repro_gate_pytest import wire

SLOW = 'Current thread 0x01 (most recent call first):\n  File "/tree/shop.py", line 2 in slow\n'
FATAL = "Fatal Python error: Aborted\n\nCurrent thread 0x01 (most recent call first):\n"
DIED = '  File "/tree/shop.py", line 9 in dies\n  File "/tree/test_it.py", line 4 in test_it\n'


@pytest.mark.parametrize(
    ("text", "crash", "functions"),
    [
        (SLOW, False, ["slow"]),
        (SLOW, True, []),
        (FATAL + DIED, True, ["test_it", "dies"]),
        (SLOW + FATAL + DIED, True, ["test_it", "dies"]),
    ],
    ids=["hang", "slow, then ended", "crash", "slow, then crash"],
)
def test_frames_are_of_what_is_asked_for(tmp_path: Path, text: str, crash: bool, functions: list[str]) -> None:
    Path(wire.stack_file(str(tmp_path / "c"))).write_text(text)
    left = stacks.read(tmp_path / "c", crash=crash, tree="/tree", roots={}, tests={"test_it.py"})
    assert [frame.function for frame in left.frames] == functions
    assert [frame.zone for frame in left.frames if frame.function in ("slow", "dies")] == [Zone.PRODUCT] * bool(
        functions
    )
    assert left.text == text.removeprefix(SLOW if crash else "")


def test_without_a_file_there_is_nothing(tmp_path: Path) -> None:
    assert stacks.read(tmp_path / "c", crash=True, tree="/tree", roots={}, tests=()) == stacks.Left()
