"""The environment for a project's tests, made from what the project declares, kept and reused.

Belongs here: declarations, lock files, the steps to install them, the cache, and that the product
itself comes from the tree. Does not belong here: running tests (experiment).
"""

from repro_gate.environment.building import Built, build
from repro_gate.environment.declared import Declared, Kind, declare
from repro_gate.environment.files import OnDisk, Tree
from repro_gate.environment.layout import Layout, layout_of
from repro_gate.environment.metadata import Side, side_of, write_side
from repro_gate.environment.preparing import Environment, prepare
from repro_gate.environment.store import sweep
from repro_gate.environment.target import Target, key, target_of
from repro_gate.environment.which_tree import judge, question
from repro_gate.environment.workshop import Surroundings

__all__ = [
    "Built",
    "Declared",
    "Environment",
    "Kind",
    "Layout",
    "OnDisk",
    "Side",
    "Surroundings",
    "Target",
    "Tree",
    "build",
    "declare",
    "judge",
    "key",
    "layout_of",
    "prepare",
    "question",
    "side_of",
    "sweep",
    "target_of",
    "write_side",
]
