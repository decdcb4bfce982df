"""A copy of the action in which our own command is played back: what one real run of it left, in no time.

Belongs here: making the record, by a real run, and the copy that plays it. Everything else in the copy is the action
as it is: its entry, its steps, inputs, outputs, summary, artifact and report. Does not belong here: expectations.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.action.stage import Played, exported

_COMMAND = """
import os, shutil, sys
from pathlib import Path

kept = Path(os.environ["TEST_RECORD"])
told = dict(word.split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word)
shutil.copy(kept / "report.json", told["--report-json"])
if (kept / "capsules").is_dir():
    shutil.copytree(kept / "capsules", told["--capsules"], dirs_exist_ok=True)
print("played back:", sys.argv[1])
sys.exit(int((kept / "code").read_text()))
"""
# Seconds; a hanging server is waited for as in earnest, and given up sooner.
_SOONER = {"ONE_CALL = 20 ": "ONE_CALL = 1 ", "TOTAL = 90.0 ": "TOTAL = 6.0 "}


@dataclass(frozen=True, kw_only=True)
class Record:
    """What a real run of the action left: its files, and the checkout that it ran on."""

    files: Path
    project: Path

    @property
    def report(self) -> Any:
        """The report of the run."""
        return json.loads((self.files / "report.json").read_text())


def record(place: Path, project: Callable[[Path], Path], play: Callable[[Path], Played]) -> Record:
    """The record in ``place``, made by a real run if no worker has made it yet."""
    place.mkdir(parents=True, exist_ok=True)
    found = Record(files=place / "files", project=place / "project")
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.files.exists():
            project(found.project)
            played = play(found.project)
            [report] = played.artifacts.rglob("report.json")
            (report.parent / "code").write_text(str(json.loads(report.read_text())["exit_code"]))
            shutil.copytree(report.parent, place / "new")
            (place / "new").rename(found.files)
    return found


def playing_back(into: Path) -> Path:
    """The action, with a command that plays back the record in TEST_RECORD."""
    action = exported(into)
    (action / "ci_gate" / "repro_gate" / "__main__.py").write_text(_COMMAND)
    path = action / "ci_gate" / "repro_gate" / "github" / "patience.py"
    text = path.read_text()
    for usual, sooner in _SOONER.items():
        assert text.count(usual) == 1
        text = text.replace(usual, sooner)
    path.write_text(text)
    return action
