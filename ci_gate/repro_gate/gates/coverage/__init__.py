"""The coverage gate: changed lines and branches that no test runs, and unchanged lines that lost their tests.

Belongs here: what coverage means for a change. Does not belong here: recording (the plugin's ``lines``), running it
(behind ``Bench``), and writing files for other tools (pipeline).
"""

from repro_gate.gates.coverage.rules import Rules, read_rules
from repro_gate.gates.coverage.runs import Runs, record, record_believed
from repro_gate.gates.coverage.sameness import ChangedFile, Same, compare, regrouped
from repro_gate.gates.coverage.structure import joined_arcs
from repro_gate.gates.coverage.verdict import GATE, NEXT_STEP, Reason, Subject, judge

__all__ = [
    "GATE",
    "NEXT_STEP",
    "ChangedFile",
    "Reason",
    "Rules",
    "Runs",
    "Same",
    "Subject",
    "compare",
    "joined_arcs",
    "judge",
    "read_rules",
    "record",
    "record_believed",
    "regrouped",
]
