"""The environment for a project's tests, made from what the project declares, kept and reused.

Belongs here: declarations, lock files, the steps to install them, the cache, and that the product
itself comes from the tree. Does not belong here: running tests (experiment).
"""

from repro_gate.environment.declared import Declared, Kind, declare
from repro_gate.environment.files import OnDisk, Tree
from repro_gate.environment.layout import Layout, layout
from repro_gate.environment.metadata import Side, side, write_side
from repro_gate.environment.prepare import Environment, prepare
from repro_gate.environment.store import sweep
from repro_gate.environment.target import Target, key, target
from repro_gate.environment.which_tree import judge, question
from repro_gate.environment.workshop import Surroundings

__all__ = [
    "Declared",
    "Environment",
    "Kind",
    "Layout",
    "OnDisk",
    "Side",
    "Surroundings",
    "Target",
    "Tree",
    "declare",
    "judge",
    "key",
    "layout",
    "prepare",
    "question",
    "side",
    "sweep",
    "target",
    "write_side",
]
