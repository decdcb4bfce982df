"""What the output of a failed step means, and what can be done about it.

Belongs here: patterns and next steps. Does not belong here: running steps (workshop).
"""

from __future__ import annotations

import re

from repro_gate.errors import DiskFull, PrepareFailed, ReproGateError

_LAST_LINES = 30

_COMPILER = r"\b(?:gcc|g\+\+|cc|c\+\+|clang|cargo|rustc|gfortran|cmake|ninja|make)\b"
_NO_COMPILER = "|".join(
    [
        rf"(?:unable to execute|No such file or directory:|[Cc]an't find|[Cc]ould not find)[^\n]*{_COMPILER}",
        rf"{_COMPILER}[^\n]*(?:not found|No such file or directory|cannot be found)",
        rf"command '[^'\n]*{_COMPILER}[^'\n]*' failed",
        r"fatal error: [^\n]+\.h: No such file",
        r"Unknown compiler|requires Rust|Rust toolchain|Microsoft Visual C\+\+",
    ]
)
_NO_INDEX = (
    "name resolution|Name or service not known|Connection refused|Network is unreachable|Max retries exceeded"
    "|Read timed out|NewConnectionError"
)

# The first that is found counts: a missing compiler also says "No matching distribution".
_HINTS = (
    ("DO NOT MATCH THE HASHES", "Renew the lock file; if it is right, the index serves something else."),
    ("ensurepip is not available", "Install the part of Python that makes virtual environments (python3-venv)."),
    (
        _NO_COMPILER,
        "It needs a compiler or headers: install them on this machine, or require a version that has a wheel.",
    ),
    (
        _NO_INDEX,
        "Reach the package index from this machine (PIP_INDEX_URL, HTTPS_PROXY), and run the same command again.",
    ),
    ("requires a different Python|Requires-Python", "Name another interpreter with `--python`."),
    (
        "No matching distribution|Could not find a version",
        "Check the package's name and version and the index (PIP_INDEX_URL); it may have nothing for this interpreter.",
    ),
    (
        "ResolutionImpossible|conflicting dependencies",
        "Correct the requirements that conflict, or choose fewer by `extras` and `groups`.",
    ),
)


def failure(step: str, status: int, output: str) -> ReproGateError:
    """The error that a failed step's output means: DiskFull, or PrepareFailed with its last lines."""
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return DiskFull(f"No space left on the disk of the environment: `{step}` failed.")
    hint = next((hint for pattern, hint in _HINTS if re.search(pattern, output)), None)
    ended = f"exit code {status}" if status >= 0 else f"signal {-status}"
    last = "\n".join(output.strip().splitlines()[-_LAST_LINES:])
    return PrepareFailed(f"`{step}` failed ({ended}).", next_step=hint, details=last)
