"""What a campaign is asked to do, whom it tells how far it is, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from repro_gate.flake.tally import Tally
from repro_gate.flake.trial import Diagnosis
from repro_gate.model import AXES, Mode


class Progress(Protocol):
    """Hears how far a campaign is; the command line draws it."""

    def phase(self, name: str, total: float) -> None:
        """A new phase with so many units of work."""

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        """Some of it is done."""


class Silent:
    """Progress that nobody watches."""

    def phase(self, name: str, total: float) -> None:
        """Nothing."""

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        """Nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Options:
    """What a campaign is asked to do. Times in seconds; ``newest`` ranks test files, newest first.

    ``only`` these of the collected tests are run; None: all.
    """

    runs: int = 20
    budget: float | None = None
    seed: int = 0
    test_seconds: float = 120.0
    memory_bytes: int = 0
    replays: int = 5
    axes: frozenset[str] = frozenset(AXES)
    fork: bool = True
    investigate: bool = True
    keep_runs: Path | None = None
    newest: Mapping[str, int] = field(default_factory=dict)
    suspects_first: frozenset[str] = frozenset()
    only: frozenset[str] | None = None


@dataclass(kw_only=True, slots=True)
class Findings:
    """A campaign's outcome before capsules are written."""

    tally: Tally
    diagnoses: dict[str, Diagnosis] = field(default_factory=dict)
    dropped: set[str] = field(default_factory=set)
    unstable: set[str] = field(default_factory=set)
    duplicates: set[str] = field(default_factory=set)
    collect_errors: list[tuple[str, str]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    incomplete: str = ""
    mode: Mode = Mode.FORK
    mode_reason: str = ""
    runs_done: int = 0  # under drawn conditions
    directed_runs: int = 0  # made on purpose after them; not every test takes part in each
    unused_runs: int = 0  # that did not start, or whose controls did not hold
