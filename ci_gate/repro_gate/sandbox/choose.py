"""Which sandbox a run gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from repro_gate.errors import ImageMissing, SandboxLost, SandboxUnavailable
from repro_gate.sandbox.bubblewrap import Bubblewrap
from repro_gate.sandbox.host import Host
from repro_gate.sandbox.protocol import Sandbox

# A gate judges in a root of its own where it can have one.
GATE_ORDER = ("docker", "bubblewrap")


def choose(
    wanted: str,
    containers: Callable[[], Sandbox],
    *,
    order: Sequence[str] = GATE_ORDER,
    settle_for_host: bool = True,
) -> tuple[Sandbox, str]:
    """The sandbox for ``auto``, ``docker``, ``bubblewrap`` or ``host``, and a note where ``auto`` settled for less.

    ``containers`` makes the docker sandbox or says why not. ``auto`` takes the first of ``order`` that
    works. A scan informs, so it may settle for the host; a gate may not. Raises SandboxUnavailable,
    ImageMissing or SandboxLost where what was asked for cannot run here.
    """
    makers: dict[str, Callable[[], Sandbox]] = {"docker": containers, "bubblewrap": _bubblewrap, "host": Host}
    if wanted != "auto":
        return makers[wanted](), ""
    refusals: list[str] = []
    for name in order:
        try:
            return makers[name](), "; ".join(refusals)
        except (SandboxUnavailable, ImageMissing, SandboxLost) as why:
            refusals.append(f"{name} was not used: {str(why).rstrip('.')}")
    if settle_for_host:
        return Host(), f"no sandbox ({'; '.join(refusals)}): the tests ran on this machine itself"
    raise SandboxUnavailable(
        f"No sandbox that isolates works here ({'; '.join(refusals)}).",
        next_step="Install Docker or bubblewrap; `repro-gate doctor` says what each of them lacks.",
    )


def _bubblewrap() -> Bubblewrap:
    sandbox = Bubblewrap()
    why = sandbox.why_not()
    if why:
        raise SandboxUnavailable(f"The sandbox bubblewrap cannot run here: {why}.")
    return sandbox
