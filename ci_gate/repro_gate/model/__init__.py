"""The types that flow through every room: frozen, typed, no I/O.

Belongs here: dataclasses and enums that more than one room speaks of. Does not belong here:
anything that reads, runs or prints.
"""

from repro_gate.model.check import CheckReport, Level, Trouble
from repro_gate.model.conditions import AXES, Conditions, axis_of
from repro_gate.model.coverage import ChangedLine, CoverageOfChange, LineState, LostLine, MissedBranch
from repro_gate.model.experiment import Ending, Experiment, ExperimentResult, Limits, Mode, Swap
from repro_gate.model.facts import CollectFailure, ItemFacts, Lenient
from repro_gate.model.mutation import (
    AccountLine,
    AccountState,
    Control,
    ControlKind,
    Mutant,
    MutantOutcome,
    MutantResult,
    MutationReport,
    NotTested,
    Site,
    Untested,
    Waiver,
    Way,
)
from repro_gate.model.outcome import Evidence, Failure, Frame, Outcome, TestRun, Zone
from repro_gate.model.proof import Finding, GateResult, GateVerdict, Numbers, Proved, ReasonCode, Refused, Side
from repro_gate.model.recording import Recording
from repro_gate.model.trace import Trace
from repro_gate.model.verdict import (
    INTERRUPTED,
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
    "INTERRUPTED",
    "AccountLine",
    "AccountState",
    "CapsuleRef",
    "Cause",
    "ChangedLine",
    "CheckReport",
    "CollectFailure",
    "Conditions",
    "Control",
    "ControlKind",
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
    "MutationReport",
    "NotTested",
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
    "Untested",
    "Verdict",
    "Waiver",
    "Way",
    "Zone",
    "axis_of",
]
