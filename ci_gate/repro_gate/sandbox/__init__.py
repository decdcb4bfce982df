"""Where tests run: one protocol, one file per sandbox.

Belongs here: how a command is started in confinement, and whether a sandbox works on this
machine. Does not belong here: what is run (experiment) and how a process is started (process).
"""

from repro_gate.sandbox.bubblewrap import Bubblewrap
from repro_gate.sandbox.choose import GATE_ORDER, choose
from repro_gate.sandbox.host import Host
from repro_gate.sandbox.protocol import LOST, Interpreter, Place, Running, Sandbox, View, probe

__all__ = [
    "GATE_ORDER",
    "LOST",
    "Bubblewrap",
    "Host",
    "Interpreter",
    "Place",
    "Running",
    "Sandbox",
    "View",
    "choose",
    "probe",
]
