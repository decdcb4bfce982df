"""The docker sandbox: a daemon's containers behind the protocol of all sandboxes.

Belongs here: everything that speaks with a container engine, and the only imports of its SDK
(inside functions: who does not use it need not have it). Does not belong here: what is run in a
container (experiment), and which sandbox a run gets (choose).

``seccomp.json`` is our own list. It refuses what it does not name; it allows nothing that the
default profile of Docker refuses, but for switching off address randomisation, and less: no
AF_VSOCK, which leads out of a virtual machine, no AF_ALG, no AF_PACKET, no 32-bit programs.
"""

from repro_gate.sandbox.docker.container import Container
from repro_gate.sandbox.docker.engine import Engine, connect
from repro_gate.sandbox.docker.images import Image, base_from_interpreter, built, named
from repro_gate.sandbox.docker.sandbox import Bounds, Docker
from repro_gate.sandbox.docker.sweep import sweep, sweep_abandoned

__all__ = [
    "Bounds",
    "Container",
    "Docker",
    "Engine",
    "Image",
    "base_from_interpreter",
    "built",
    "connect",
    "named",
    "sweep",
    "sweep_abandoned",
]
