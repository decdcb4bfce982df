"""What a whole check of a change comes to."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass

from repro_gate.model.proof import GateResult, GateVerdict
from repro_gate.model.verdict import FlakeReport, Sandboxing


class Level(enum.StrEnum):
    """What a gate may do: nothing, warn, or block."""

    OFF = "off"
    WARN = "warn"
    BLOCK = "block"


def abbreviated(environment: str, length: int) -> str:
    """An environment's digest cut to so many characters; an interpreter that was named stays as it is."""
    return environment[:length] if re.fullmatch(r"[0-9a-f]{32,}", environment) else environment


@dataclass(frozen=True, kw_only=True, slots=True)
class Trouble:
    """Why a check could not be done to its end: the error's class, its sentence and the next step."""

    slug: str
    text: str
    next_step: str
    details: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckReport:
    """Every gate's result on one change. ``how`` says how base and head were found.

    ``campaign`` is that of the flaky gate, if it ran one; ``levels`` are the gates' policies, from base;
    ``policy`` has a sentence for each way in which the change alters what it is judged by.
    """

    base: str
    head: str
    how: str
    gates: tuple[GateResult, ...]
    levels: dict[str, Level]
    command: str
    sandbox: Sandboxing | None = None
    environment: str = ""
    python: str = ""
    pytest: str = ""
    campaign: FlakeReport | None = None
    trouble: Trouble | None = None
    policy: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    started_at: str = ""

    @property
    def verdict(self) -> GateVerdict:
        """The worst of the gates that block: fail, then inconclusive; else pass, or neutral if all are."""
        blocking = [gate.verdict for gate in self.gates if self.levels.get(gate.gate) is not Level.WARN]
        if GateVerdict.FAIL in blocking:
            return GateVerdict.FAIL
        if self.trouble is not None or GateVerdict.INCONCLUSIVE in blocking:
            return GateVerdict.INCONCLUSIVE
        return GateVerdict.PASS if GateVerdict.PASS in blocking else GateVerdict.NEUTRAL
