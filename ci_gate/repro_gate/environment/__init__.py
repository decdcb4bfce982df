"""The environment for a project's tests, made from what the project declares, kept and reused.

Belongs here: declarations, lock files, the steps to install them, the cache, and from where in its
tree the product is imported. Does not belong here: running tests (experiment).
"""

from repro_gate.environment.beside import python_beside, with_scripts
from repro_gate.environment.building import Built, build
from repro_gate.environment.declared import Declared, Kind, declare
from repro_gate.environment.files import OnDisk, Tree
from repro_gate.environment.importable import Importable, import_roots, importable_in
from repro_gate.environment.metadata import Side, side_of, write_side
from repro_gate.environment.preparing import Environment, prepare
from repro_gate.environment.store import sweep
from repro_gate.environment.target import Target, key, target_of
from repro_gate.environment.workshop import Surroundings

__all__ = [
    "Built",
    "Declared",
    "Environment",
    "Importable",
    "Kind",
    "OnDisk",
    "Side",
    "Surroundings",
    "Target",
    "Tree",
    "build",
    "declare",
    "import_roots",
    "importable_in",
    "key",
    "prepare",
    "python_beside",
    "side_of",
    "sweep",
    "target_of",
    "with_scripts",
    "write_side",
]
