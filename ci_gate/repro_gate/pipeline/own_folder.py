"""The folder `.repro-gate` of a project: what this tool leaves there, of which git is told nothing.

Belongs here: making it, the last check's report, and which files elsewhere are reports of ours. Does not belong here:
capsules (publish), and what a report says.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from repro_gate.change import WRITTEN

FOLDER = ".repro-gate"
REPORT = f"{FOLDER}/report.json"
_MOST = 200

# No run makes the tree dirty; what people write there is theirs to commit.
_IGNORED = "*\n!waivers.toml\n"


def make(here: Path) -> Path:
    """The folder of the project in a directory, with its .gitignore. Raises OSError."""
    own = here / FOLDER
    own.mkdir(exist_ok=True)
    if not (own / ".gitignore").exists():
        (own / ".gitignore").write_text(_IGNORED, encoding="ascii")
    return own


def remember(here: Path, paths: Iterable[Path]) -> None:
    """Note reports that were written into the project: they are no change of its own.

    Where that cannot be, nothing happens.
    """
    try:
        root = here.resolve()
        names = [path.resolve().relative_to(root).as_posix() for path in paths if path.resolve().is_relative_to(root)]
        if names:
            make(here)
            file = here / WRITTEN
            known = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
            kept = [*(name for name in known if name not in names), *names]
            file.write_text("".join(f"{name}\n" for name in kept[-_MOST:]), encoding="utf-8")
    except (OSError, ValueError):
        return
