"""The mutation gate: which changed lines no test would miss.

Belongs here: which mutant is tried how, on which tests, and what that proves. Does not belong here: making mutants and
their order (mutants), exchanging code and running tests (experiment, behind ``Bench``), and which tests run which lines
(the instrumented run).
"""

from repro_gate.gates.mutation.case import GATE, Case, Policy
from repro_gate.gates.mutation.protocol import judge, try_on_disk
from repro_gate.gates.mutation.reasons import NEXT_STEP, Reason

__all__ = ["GATE", "NEXT_STEP", "Case", "Policy", "Reason", "judge", "try_on_disk"]
