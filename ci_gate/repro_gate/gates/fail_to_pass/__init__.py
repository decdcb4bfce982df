"""The fail-to-pass gate: a test that fails on base for the right reason and passes on head, each time.

Belongs here: which tests of a change to try, in which experiments, and what their outcomes prove.
Does not belong here: materialising the trees and running them; that is behind ``Bench``.
"""

from repro_gate.gates.fail_to_pass.case import (
    GATE,
    Bench,
    Case,
    Claimed,
    Collection,
    Obstacle,
    Policy,
    ProductFile,
    Request,
    Stage,
)
from repro_gate.gates.fail_to_pass.protocol import prove
from repro_gate.gates.fail_to_pass.verdict import merge_legs

__all__ = [
    "GATE",
    "Bench",
    "Case",
    "Claimed",
    "Collection",
    "Obstacle",
    "Policy",
    "ProductFile",
    "Request",
    "Stage",
    "merge_legs",
    "prove",
]
