"""What a job is asked to do, and what it needs from the world to do it."""

from __future__ import annotations

import dataclasses
import datetime
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.config import Settings
from repro_gate.flake.brief import Progress, Silent
from repro_gate.sandbox import docker


@dataclass(frozen=True, kw_only=True)
class Effects:
    """What a job needs from the world. ``monotonic`` in seconds, ``now`` with a time zone.

    ``engine`` finds a container engine, or raises SandboxUnavailable.
    """

    environ: Mapping[str, str]
    monotonic: Callable[[], float]
    now: Callable[[], datetime.datetime]
    random_bytes: Callable[[int], bytes]
    cores: int
    free_memory: Callable[[], int]
    engine: Callable[[], docker.Engine]
    progress: Progress = dataclasses.field(default_factory=Silent)

    def stamp(self) -> str:
        """The time as a capsule has it."""
        return self.now().astimezone(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """What to scan: pytest is run in ``directory`` with ``arguments``.

    ``python`` is an interpreter of this machine, ``image_python`` the one to use in an image that has its own.
    """

    directory: Path
    arguments: tuple[str, ...]
    settings: Settings
    python: str
    image_python: str = "python3"
    fork: bool = True
    cwd_on_path: bool = True
    investigate: bool = True


def system_effects(progress: Progress | None = None) -> Effects:
    """The real world; only an entry point asks for it."""
    import time

    return Effects(
        environ=dict(os.environ),
        monotonic=time.monotonic,
        now=lambda: datetime.datetime.now().astimezone(),
        random_bytes=os.urandom,
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        free_memory=_free_memory,
        engine=lambda: docker.connect(os.environ),
        progress=progress or Silent(),
    )


def _free_memory() -> int:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0
