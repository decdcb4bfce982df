"""Steps in a sandbox that has a network, in one directory that they may write to.

Belongs here: directories, variables, time limit and log of an attempt. Does not belong here: which
steps (plan) and what their failures mean (failures).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from repro_gate.environment import store
from repro_gate.environment.failures import failure
from repro_gate.environment.plan import VENV, Step
from repro_gate.errors import PrepareFailed
from repro_gate.sandbox import Interpreter, Place, Running, Sandbox

Progress = Callable[[str, float], object]

_LOOK = 0.2
# Variables that would lead pip or Python elsewhere than into the new environment.
_UNWANTED = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_ROOT")
# Variables whose values may be paths that the steps must be able to read.
_PATHS = ("PIP_CONFIG_FILE", "PIP_CERT", "PIP_FIND_LINKS", "PIP_CONSTRAINT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


def silent(_step: str, _seconds: float) -> None:
    """Progress that nobody wants."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What an environment is made with: where, by whom, and for how long at most.

    ``environment`` is what the steps see; ``copy`` puts the tree into a directory that is not there yet.
    """

    cache: Path
    sandbox: Sandbox
    environment: Mapping[str, str]
    copy: Callable[[Path], object]
    clock: Callable[[], float]
    seconds: float = 1800.0
    progress: Progress = silent


class Workshop:
    """One attempt: its directories, its log, and the steps in them.

    ``directory`` is the only place that the steps may write to and that stays; ``venv`` is the environment that
    they are in. Use it as a context: what only the steps needed goes at its end, and all but the log if they failed.
    """

    def __init__(
        self,
        attempt: Path,
        interpreter: Interpreter,
        around: Surroundings,
        *,
        readable: Sequence[str] = (),
        venv: Path | None = None,
    ) -> None:
        self._interpreter = interpreter
        self._around = around
        self._readable = (*readable_for(around.environment), *readable)
        self._started = around.clock()
        self._log = attempt / "log.txt"
        self.directory = attempt / "made"
        self._venv = venv or self.directory / VENV
        # The sandbox lets a process write into its "tree": here, what is made.
        self._place = Place(
            base=attempt,
            tree=self.directory,
            home=attempt / "home",
            tmp=attempt / "tmp",
            wire=attempt / "wire",
            original=self.directory,
        )

    def __enter__(self) -> Self:
        for path in (self.directory, self._place.home, self._place.tmp, self._place.wire):
            path.mkdir()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        kept = {self._log} if kind is not None else {self._log, self.directory}
        # A sandbox keeps files of its own here, too: tables of users and hosts.
        for path in {*self._place.base.glob("*")} - kept:
            store.remove(path)

    def elapsed(self) -> float:
        """Seconds since the attempt began."""
        return self._around.clock() - self._started

    def do(self, step: Step) -> str:
        """Run a step that must work; its output. Raises PrepareFailed or DiskFull."""
        status, output = self.attempt(step)
        if status != 0:
            raise failure(step.name, status, output)
        return output

    def attempt(self, step: Step) -> tuple[int, str]:
        """Run a step; its exit status and output. Raises PrepareFailed when the time is over."""
        self._around.progress(step.name, self.elapsed())
        process = self._start(step)
        try:
            while (status := process.wait(_LOOK)) is None:
                self._around.progress(step.name, self.elapsed())
                if self.elapsed() > self._around.seconds:
                    raise PrepareFailed(
                        f"`{step.name}` was not done when the {self._around.seconds:g} s for the environment were over.",
                        next_step="See what it waits for: its output is in the log.",
                        details="\n".join(process.output())[-2000:],
                    )
        finally:
            process.end()
            output = "\n".join(part for part in process.output() if part)
            with self._log.open("a", encoding="utf-8") as log:
                log.write(f"$ {' '.join(step.argv)}\n{output}\n")
        return self._around.sandbox.exit_status(status), output

    def _start(self, step: Step) -> Running:
        """The one place where a step meets the sandbox."""
        return self._around.sandbox.start(
            self._place,
            self._interpreter,
            step.argv,
            env=self._variables(),
            umask=0o022,
            subdirectory=step.folder,
            readable=self._readable,
            hostname=None,
            network=True,
        )

    def _variables(self) -> dict[str, str]:
        view = self._around.sandbox.view(self._place)
        seen = {name: value for name, value in self._around.environment.items() if name not in _UNWANTED}
        return seen | {
            "HOME": view.home,
            "TMPDIR": view.tmp,
            "PATH": os.pathsep.join(part for part in (f"{self._venv}/bin", seen.get("PATH", "")) if part),
            "VIRTUAL_ENV": str(self._venv),
            "PYTHONNOUSERSITE": "1",
            "PIP_NO_INPUT": "1",
            "LC_ALL": "C.UTF-8",
        }


def readable_for(environment: Mapping[str, str]) -> list[str]:
    """What a step with a network reads outside of its directory: names of hosts, pip's files."""
    words = [word for name in _PATHS for word in environment.get(name, "").split()]
    found = [path for path in words if path.startswith("/") and Path(path).exists()]
    resolver = Path("/etc/resolv.conf").resolve()  # often a link into /run, which sandboxes hide
    return [*found, str(resolver.parent)] if resolver.is_relative_to("/run") else found
