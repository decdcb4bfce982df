"""Which sandbox a run gets."""

from __future__ import annotations

from repro_gate.errors import SandboxUnavailable
from repro_gate.sandbox.bubblewrap import Bubblewrap
from repro_gate.sandbox.host import Host
from repro_gate.sandbox.protocol import Sandbox


def choose(wanted: str) -> tuple[Sandbox, str]:
    """The sandbox for ``auto``, ``bubblewrap`` or ``host``, and a note where ``auto`` settled for less.

    A scan informs, so ``auto`` may settle for the host and says so; a gate must ask for more.
    Raises SandboxUnavailable where what was asked for by name cannot run here.
    """
    if wanted == "host":
        return Host(), ""
    sandbox = Bubblewrap()
    why = sandbox.why_not()
    if not why:
        return sandbox, ""
    if wanted == "bubblewrap":
        raise SandboxUnavailable(f"The sandbox bubblewrap cannot run here: {why}.")
    return Host(), f"no sandbox ({why}): the tests ran on this machine itself"
