"""Run an Experiment: fork servers or fresh processes -> ExperimentResult. The one engine.

Belongs here: trees copied fresh, test processes, their protocol, recovery from whatever tests do
to them. Does not belong here: which experiments to run and what results mean (flake, gates).
"""

from repro_gate.experiment.coding import decoded, encoded
from repro_gate.experiment.environment import looks_secret, visible_environment
from repro_gate.experiment.lab import Job, Lab
from repro_gate.experiment.project import Project, find_tree
from repro_gate.experiment.tree import forget_bytecode, put_text
from repro_gate.experiment.tree import remove as tree_wipe
from repro_gate.experiment.wiring import (
    ENVIRONMENTS,
    NON_UTF8,
    WIRE_VERSION,
    ZONES,
    arrange,
    is_called_test,
    leaves_checkout,
    plugin_files,
    plugin_root,
    start_of,
)

__all__ = [
    "ENVIRONMENTS",
    "NON_UTF8",
    "WIRE_VERSION",
    "ZONES",
    "Job",
    "Lab",
    "Project",
    "arrange",
    "decoded",
    "encoded",
    "find_tree",
    "forget_bytecode",
    "is_called_test",
    "leaves_checkout",
    "looks_secret",
    "plugin_files",
    "plugin_root",
    "put_text",
    "start_of",
    "tree_wipe",
    "visible_environment",
]
