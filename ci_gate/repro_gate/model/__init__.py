"""The types that flow through every room: frozen, typed, no I/O.

Belongs here: dataclasses and enums that more than one room speaks of. Does not belong here:
anything that reads, runs or prints.
"""

from repro_gate.model.check import CheckReport, Level, Trouble
from repro_gate.model.conditions import AXES, Conditions, axis_of
from repro_gate.model.coverage import ChangedLine, CoverageOfChange, LineState, LostLine, MissedBranch
from repro_gate.model.experiment import Ending, Experiment, ExperimentResult, Limits, Mode, Swap
from repro_gate.model.facts import CollectFailure, ItemFacts, Lenient
from repro_gate.model.mutation import Mutant, MutantOutcome, MutantResult, Site, Waiver
from repro_gate.model.outcome import Evidence, Failure, Frame, Outcome, TestRun, Zone
from repro_gate.model.proof import Finding, GateResult, GateVerdict, Numbers, Proved, ReasonCode, Refused, Side
from repro_gate.model.trace import Recording, Trace
from repro_gate.model.verdict import (
    CapsuleRef,
    Cause,
    FlakeReport,
    Intervention,
    Sandboxing,
    SkippedFile,
    TestVerdict,
    Verdict,
)

__all__ = [
    "AXES",
    "CapsuleRef",
    "Cause",
    "ChangedLine",
    "CheckReport",
    "CollectFailure",
    "Conditions",
    "CoverageOfChange",
    "Ending",
    "Evidence",
    "Experiment",
    "ExperimentResult",
    "Failure",
    "Finding",
    "FlakeReport",
    "Frame",
    "GateResult",
    "GateVerdict",
    "Intervention",
    "ItemFacts",
    "Lenient",
    "Level",
    "Limits",
    "LineState",
    "LostLine",
    "MissedBranch",
    "Mode",
    "Mutant",
    "MutantOutcome",
    "MutantResult",
    "Numbers",
    "Outcome",
    "Proved",
    "ReasonCode",
    "Recording",
    "Refused",
    "Sandboxing",
    "Side",
    "Site",
    "SkippedFile",
    "Swap",
    "TestRun",
    "TestVerdict",
    "Trace",
    "Trouble",
    "Verdict",
    "Waiver",
    "Zone",
    "axis_of",
]
