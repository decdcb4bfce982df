"""Mutants of a change: made, told apart from code that is the same, named, sorted and explained.

Belongs here: pure work on texts. Does not belong here: running a mutant (experiment), deciding on one (gates), files.
"""

from repro_gate.mutants.choose import Choice, choose
from repro_gate.mutants.generate import mutants_of
from repro_gate.mutants.identity import identity
from repro_gate.mutants.reasons import Reason
from repro_gate.mutants.waivers import FILE, Unexplained, Waivers, in_code, in_file
from repro_gate.mutants.worth import OPERATORS, rank

__all__ = [
    "FILE",
    "OPERATORS",
    "Choice",
    "Reason",
    "Unexplained",
    "Waivers",
    "choose",
    "identity",
    "in_code",
    "in_file",
    "mutants_of",
    "rank",
]
