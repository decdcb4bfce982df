"""A coverage result with one of everything, for tests of what is made of it."""

from __future__ import annotations

from repro_gate.model import (
    ChangedLine,
    CoverageOfChange,
    Finding,
    GateResult,
    GateVerdict,
    LineState,
    LostLine,
    MissedBranch,
)

FOUND = CoverageOfChange(
    lines=tuple(
        ChangedLine(
            path="pkg/mod.py",
            line=number,
            state=state,
            text=f"line {number} | <b>",
            statement=number if state.measured else 0,
            why="because" if state is LineState.EXCLUDED else "",
        )
        for number, state in enumerate(LineState, 1)
    ),
    uncovered_branches=(MissedBranch(path="pkg/mod.py", line=3, target=0, text="if x:", why="never true"),),
    lost=(
        LostLine(
            path="pkg/mod.py", line=40, base_path="pkg/old.py", base_line=30, text="return 1", tests=("t.py::test_a",)
        ),
    ),
    covered=1,
    statements=3,
    taken=1,
    branches=2,
    minimum=80.0,
)
GATE = GateResult(
    gate="coverage",
    verdict=GateVerdict.FAIL,
    reason="uncovered_lines",
    findings=(
        Finding(
            reason="uncovered_lines",
            text="pkg/mod.py:2 (`line 2 | <b>`) is run by no test",
            next_step="Add a test that runs it, or mark it `# pragma: no cover` if no test should.",
            path="pkg/mod.py",
            line=2,
        ),
    ),
    summary="1 of 3 changed statements covered (33.3 %)",
    command="repro-gate check",
    coverage=FOUND,
)
