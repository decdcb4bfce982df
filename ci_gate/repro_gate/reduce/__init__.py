"""Smaller inputs that still fail: delta debugging over any sequence.

Belongs here: pure search over sequences, driven by an oracle that the caller passes in. Does not
belong here: what an item is, how a run is started, and what counts as the same failure.
"""

from repro_gate.reduce.ddmin import NotInteresting, Reduction, ddmin

__all__ = ["NotInteresting", "Reduction", "ddmin"]
