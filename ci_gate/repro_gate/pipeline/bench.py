"""Where a job's experiments run: its sandbox, its interpreter, its lab."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from repro_gate.config import Settings
from repro_gate.experiment import Lab, Project, find_tree, visible_environment
from repro_gate.pipeline.request import Effects, Request
from repro_gate.sandbox import Interpreter, Sandbox, choose, docker, probe

_SLACK = 1.25  # the kernel's limit comes after ours, which knows which test to blame


@contextlib.contextmanager
def open_lab(request: Request, effects: Effects) -> Iterator[tuple[Lab, list[str], Interpreter]]:
    """The lab for a request, and notes on what it will be like. Leaving it closes its sandbox, too."""
    settings = request.settings
    here = probe(request.python, effects.environ, request.directory)
    # Who names an image means it. Without one, the suite's own environment is at home on this machine: a
    # minimal image has the interpreter and its packages, but not the programs that the tests may call.
    wanted = "docker" if settings.image and settings.sandbox == "auto" else settings.sandbox
    sandbox, note = choose(
        wanted, lambda: _containers(settings, request.directory, effects, here), order=("bubblewrap",)
    )
    interpreter = sandbox.interpreter(request.image_python) or here
    environment, withheld = visible_environment(
        effects.environ, user_base=interpreter.user_base, allow=settings.pass_env
    )
    tree, subdirectory = find_tree(request.directory)
    project = Project(
        original=tree,
        subdirectory=subdirectory,
        pytest_args=request.arguments,
        interpreter=interpreter,
        environment=environment,
        cwd_on_path=request.cwd_on_path,
        exclude=settings.exclude,
        max_tree_bytes=settings.max_tree_mib * 2**20,
        network=settings.network,
    )
    notes = [*settings.notes]
    if note:
        notes.append(note)
    if withheld:
        notes.append(f"tests do not see these variables (allow them with pass-env): {', '.join(withheld)}")
    try:
        with Lab(
            project,
            sandbox,
            jobs=jobs_of(settings, effects),
            clock=effects.monotonic,
            collect_seconds=settings.collect_timeout,
        ) as lab:
            yield lab, notes, interpreter
    finally:
        sandbox.close()


def sandbox_for(
    settings: Settings, directory: Path, effects: Effects, here: Interpreter, *, settle_for_host: bool = False
) -> tuple[Sandbox, str]:
    """The sandbox of a gate, and a note where what it lacks was asked for or is missed: never silently the host.

    Raises SandboxUnavailable, SandboxLost or ImageMissing.
    """
    sandbox, note = choose(
        settings.sandbox, lambda: _containers(settings, directory, effects, here), settle_for_host=settle_for_host
    )
    # Another sandbox that isolates is as good, unless an image was named: that stayed unused.
    return sandbox, note if settings.image or not sandbox.hermetic else ""


def jobs_of(settings: Settings, effects: Effects) -> int:
    """How many processes may work at a time."""
    return settings.jobs if settings.jobs is not None else max(1, effects.cores)


def memory_of(settings: Settings, effects: Effects) -> int:
    """The most bytes that test processes may hold."""
    return settings.memory_limit * 2**20 if settings.memory_limit else effects.free_memory() * 3 // 4


def _containers(settings: Settings, directory: Path, effects: Effects, here: Interpreter) -> docker.Docker:
    """The docker sandbox of this job. Raises SandboxUnavailable, SandboxLost, ImageMissing."""
    engine = effects.engine()
    docker.sweep_abandoned(engine)
    return docker.Docker(
        engine,
        image_for(engine, settings.image, directory, here),
        run=effects.random_bytes(6).hex(),
        bounds=docker.Bounds(memory_bytes=int(memory_of(settings, effects) * _SLACK), cpus=effects.cores),
    )


def image_for(engine: docker.Engine, wanted: str | None, directory: Path, here: Interpreter) -> docker.Image:
    """What the key ``image`` means: a Dockerfile, an image by name, or one made from the interpreter."""
    if wanted is None:
        return docker.base_from_interpreter(engine, here)
    if (directory / wanted).is_file():
        return docker.built(engine, directory / wanted)
    return docker.named(engine, wanted)


def distributions(lab: Lab) -> tuple[str, ...]:
    """``name==version`` of what is installed for the tested interpreter."""
    program = (
        "import importlib.metadata as m; "
        "print('\\n'.join(sorted({'%s==%s' % (d.metadata['Name'], d.version) for d in m.distributions()})))"
    )
    return tuple(lab.sandbox.answer([lab.project.interpreter.executable, "-c", program]).split())


def installed_locales(lab: Lab) -> list[str]:
    """The locales that tests can be run under."""
    return lab.sandbox.answer(["locale", "-a"]).split()
