"""What works on this machine: each sandbox tried for real, and what a job needs beside it."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from repro_gate.errors import MissingTool, ReproGateError
from repro_gate.process import run
from repro_gate.sandbox import GATE_ORDER, Bubblewrap, Interpreter, docker, probe

_LEAST_FREE = 2 * 2**30
# What a container of ours must be like, asked from inside.
_PROGRAM = """
import json, os, socket
def refused(address, family=socket.AF_INET):
    with socket.socket(family) as s:
        s.settimeout(5)
        try:
            s.connect(address)
        except OSError:
            return True
def bound(family, host):
    with socket.socket(family) as s:
        s.bind((host, 0))
        return True
print(json.dumps([refused(("192.0.2.1", 80)), bound(socket.AF_INET, "127.0.0.1"), not os.access("/etc", os.W_OK), os.getuid() != 0]))
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that was tried. ``kind`` is sandbox or tool; ``next_step`` is empty where it works."""

    name: str
    kind: str
    works: bool
    detail: str
    next_step: str = ""
    hermetic: bool = False


def examine(environ: Mapping[str, str], directory: Path, python: str, cores: int) -> Iterator[Check]:
    """Each check as it is done: sandboxes first. Starts a container where a daemon answers."""
    here: Interpreter | None = None
    interpreter = Check(name="python", kind="tool", works=True, detail="")
    try:
        here = probe(python, environ, directory)
        interpreter = Check(name="python", kind="tool", works=True, detail=f"{here.version} ({here.executable})")
    except ReproGateError as error:
        interpreter = _broken("python", "tool", error)
    for kind in ("docker", "podman"):
        yield _checked(kind, lambda kind=kind: _engine(environ, kind, here))  # type: ignore[misc]
    yield _bubblewrap()
    yield Check(name="host", kind="sandbox", works=True, detail="always works, and isolates nothing")
    yield _git()
    yield interpreter
    if here is not None:
        yield _pytest(here.executable, environ, directory)
    yield _disk(Path(environ.get("TMPDIR") or "/tmp"))
    yield Check(name="cores", kind="tool", works=True, detail=str(cores))


def automatic(checks: list[Check], image: bool) -> dict[str, str]:
    """What ``sandbox = "auto"`` takes here: for gates (``none`` where it is refused) and for scans.

    ``image``: one is named.
    """
    working = {check.name for check in checks if check.works and check.kind == "sandbox" and check.hermetic}
    engines = {"docker": ("docker", "podman"), "bubblewrap": ("bubblewrap",)}
    there = [name for name in GATE_ORDER if not working.isdisjoint(engines[name])]
    gates = next(iter(there), "none")
    if image:  # a scan then wants it, and nothing else
        return {"gates": gates, "scans": "docker" if "docker" in there else "none"}
    return {"gates": gates, "scans": "bubblewrap" if "bubblewrap" in there else "host"}


def hermetic(checks: list[Check]) -> bool:
    """Whether at least one sandbox that isolates works."""
    return any(check.works and check.hermetic for check in checks)


def _checked(name: str, look: Callable[[], Check]) -> Check:
    try:
        return look()
    except ReproGateError as error:
        return _broken(name, "sandbox", error)


def _broken(name: str, kind: str, error: ReproGateError) -> Check:
    return Check(name=name, kind=kind, works=False, detail=str(error), next_step=error.next_step)


def _engine(environ: Mapping[str, str], kind: str, here: Interpreter | None) -> Check:
    """A daemon that answers, and a container of ours in it that is as closed as it must be."""
    engine = docker.connect(environ, (kind,))
    where = f"{engine.kind} {engine.version} at {engine.url}"
    if here is None:
        return Check(name=kind, kind="sandbox", works=True, detail=f"{where} answers; no container was tried")
    image = docker.base_from_interpreter(engine, here)
    sandbox = docker.Docker(engine, image, run=f"doctor-{os.getpid()}", bounds=docker.Bounds(pids=64))
    try:
        status, out, err = sandbox.ask(["python3", "-c", _PROGRAM])
    finally:
        sandbox.close()
    if status or json.loads(out) != [True] * 4:
        return Check(
            name=kind,
            kind="sandbox",
            works=False,
            detail=f"{where}: a container is not as closed as it must be ({(err or out).strip()[-300:]})",
            next_step="Use another engine, or `--sandbox bubblewrap`.",
        )
    return Check(name=kind, kind="sandbox", works=True, detail=where, hermetic=True)


def _bubblewrap() -> Check:
    why = Bubblewrap().why_not()
    return Check(
        name="bubblewrap",
        kind="sandbox",
        works=not why,
        detail=why or "makes namespaces",
        next_step=_bubblewrap_next(why),
        hermetic=not why,
    )


def _bubblewrap_next(why: str) -> str:
    if not why:
        return ""
    if "not installed" in why:
        return "Install the package bubblewrap."
    closed = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if closed.exists() and closed.read_text().strip() == "1":
        return "Run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or use docker."
    return "Let this user make user namespaces (inside a container: not possible by default), or use docker."


def _git() -> Check:
    try:
        said = run(["git", "--version"], timeout=20).stdout.strip()
    except MissingTool as error:
        return _broken("git", "tool", error)
    return Check(name="git", kind="tool", works=True, detail=said.removeprefix("git version "))


def _pytest(python: str, environ: Mapping[str, str], directory: Path) -> Check:
    done = run([python, "-c", "import pytest; print(pytest.__version__)"], env=environ, cwd=directory, timeout=60)
    if done.status:
        return Check(
            name="pytest",
            kind="tool",
            works=False,
            detail=f"not installed for {python}",
            next_step=f"Run `{python} -m pip install pytest`, or name another interpreter with `--python`.",
        )
    return Check(name="pytest", kind="tool", works=True, detail=done.stdout.strip())


def _disk(temporary: Path) -> Check:
    free = shutil.disk_usage(temporary).free
    enough = free >= _LEAST_FREE
    step = "" if enough else "Free space, or point `TMPDIR` at a larger disk."
    detail = f"{free / 2**30:.1f} GiB free in {temporary}"
    return Check(name="disk", kind="tool", works=enough, detail=detail, next_step=step)
