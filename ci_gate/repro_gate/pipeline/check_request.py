"""What is asked of a check: the gates, how strict each is, and everything that its caller decides.

Does not belong here: running them (check).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro_gate.config import Settings
from repro_gate.gates import coverage, flaky, mutation, network
from repro_gate.gates.fail_to_pass import GATE, Policy
from repro_gate.model import Level

GATES = (GATE, network.GATE, flaky.GATE, coverage.GATE, mutation.GATE)


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """What to check. ``settings`` are base's; ``python`` None: an environment is made from what the tree declares.

    ``event`` is GitHub's payload or {title, body, labels, author}; ``command`` repeats the check.
    ``policy`` None: fail-to-pass repeats as often as it is documented to. ``altered`` says what head would
    change of the settings. ``capsules`` is where proofs and survivors are packed, None: nowhere. ``coverage_files`` are
    files to write from the instrumented run of head, by format. ``report`` is where report.json will be, as the user
    named it, or empty. ``mutant_seconds`` is the least that a test may take on a mutant, None: as documented.
    """

    directory: Path
    event: Mapping[str, Any] | None
    gates: tuple[str, ...]
    settings: Settings
    arguments: tuple[str, ...]
    python: str | None
    command: str
    policy: Policy | None = None
    altered: tuple[str, ...] = ()
    capsules: Path | None = None
    coverage_files: Mapping[str, Path] = field(default_factory=dict)
    report: str = ""
    mutant_seconds: float | None = None


def levels_of(settings: Settings) -> dict[str, Level]:
    """The policy of each gate."""
    return {
        GATE: Level(settings.gate_fail_to_pass),
        network.GATE: Level(settings.gate_network),
        flaky.GATE: Level(settings.gate_flaky),
        coverage.GATE: Level(settings.gate_coverage),
        mutation.GATE: Level(settings.gate_mutation),
    }
