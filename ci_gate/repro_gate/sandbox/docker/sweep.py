"""Cleaning up, by our own label and by nothing else."""

from __future__ import annotations

import os
from pathlib import Path

from repro_gate.errors import SandboxLost
from repro_gate.sandbox.docker.engine import Engine, speaking

LABEL = "repro-gate"
_OWNER = "repro-gate.owner"


def labels(run: str) -> dict[str, str]:
    """What each container of a run carries: the run, and the process that is responsible for it."""
    return {LABEL: run, _OWNER: _identity(os.getpid())}


def sweep(engine: Engine, run: str) -> int:
    """Remove every container of one run; how many there were. Raises SandboxLost."""
    return _remove(engine, [identity for identity, _ in _listed(engine, f"{LABEL}={run}")])


def sweep_abandoned(engine: Engine) -> int:
    """Remove containers whose repro-gate was killed before it could; how many there were. Raises SandboxLost."""
    return _remove(engine, [identity for identity, owner in _listed(engine, _OWNER) if is_gone(owner)])


def _listed(engine: Engine, label: str) -> list[tuple[str, str]]:
    client = engine.client()
    try:
        with speaking(engine, "listing containers"):
            found = client.containers(all=True, filters={"label": label})
            return [(str(each["Id"]), str(each["Labels"].get(_OWNER, ""))) for each in found]
    finally:
        client.close()


def _remove(engine: Engine, identities: list[str]) -> int:
    client = engine.client()
    try:
        for identity in identities:
            try:
                with speaking(engine, f"removing {identity[:12]}"):
                    client.remove_container(identity, force=True, v=True)
            except SandboxLost:
                continue  # someone else removes it already; what stays is found the next time
    finally:
        client.close()
    return len(identities)


def _identity(pid: int) -> str:
    """A process of this machine since it started, by its id, its start and the boot."""
    return f"{pid}:{_started(pid)}:{_boot()}"


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _boot() -> str:
    """This machine and this view of its processes: ids mean nothing elsewhere."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}:{Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return ""


def is_gone(owner: str) -> bool:
    """Whether the process that a label names has ended; of another machine's nothing is known."""
    pid, _, rest = owner.partition(":")
    started, _, boot = rest.partition(":")
    return bool(started and boot) and boot == _boot() and _started(int(pid)) != started
