"""The docker sandbox: one container per test process, hardened, labelled, and removed."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import resource
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from repro_gate.errors import ImageMissing, SandboxLost, SandboxUnavailable
from repro_gate.sandbox.docker import files
from repro_gate.sandbox.docker.container import Container, run_to_end
from repro_gate.sandbox.docker.engine import CORRECT, Engine, speaking, words
from repro_gate.sandbox.docker.images import Image, seccomp
from repro_gate.sandbox.docker.sweep import labels, sweep
from repro_gate.sandbox.paths import INSIDE, view_of, working_directory
from repro_gate.sandbox.protocol import PROBE, Interpreter, Local, Place, View, interpreter_of

_MOST_SIGNAL = 64
_MOST_LIMIT = 32768  # what podman may grant where nothing says otherwise
_UMASK = 0o022  # what a container starts with
_SHELF = f"{INSIDE}/site-packages"  # of installed packages, to who looks for a project's own modules by their paths
# The image's own Python finds its own things.
_NOT_FOR_AN_IMAGE = ("PATH", "LD_LIBRARY_PATH", "PYTHONHOME", "PYTHONPATH", "PYTHONUSERBASE", "VIRTUAL_ENV", "SHELL")

_OF_THE_DAEMON = "HOSTNAME"  # a variable that it sets by itself; without a value it is left out


@dataclass(frozen=True, kw_only=True, slots=True)
class Bounds:
    """What the kernel lets one container have. Zero: not bounded."""

    memory_bytes: int = 0
    cpus: float = 0.0
    pids: int = 1024


class Docker:
    """Containers of one image: own namespaces, no network but loopback, nothing of this machine but what is mounted.

    ``run`` labels everything that is made, so that ``sweep`` finds it.
    """

    name = "docker"
    hermetic = True

    def __init__(self, engine: Engine, image: Image, *, run: str, bounds: Bounds) -> None:
        self.engine = engine
        self.image = image
        self.run = run
        self._bounds = bounds
        self._serial = itertools.count(1)
        self._owner = (1000, 1000) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        self._users: str | None = None

    def why_not(self) -> str:
        """Runs the image's shortest program: its Python's version."""
        python = "python3"
        status, out, err = self.ask([python, "-c", "print('works')"])
        return "" if out.strip() == "works" else f"{self.image.reference}: {python} ended with {status}: {err.strip()}"

    def notes(self) -> tuple[str, ...]:
        """What it does not give."""
        if self.image.own_python:
            return (f"tests ran in the image {self.image.reference} ({self.image.id})",)
        minimal = (
            f"tests ran in a minimal image ({self.image.reference}) with a shell, the interpreter and no other programs"
        )
        return (minimal,)

    def exit_status(self, status: int) -> int:
        """A signal is told as shells tell it."""
        return 128 - status if 128 < status <= 128 + _MOST_SIGNAL else status

    def view(self, place: Place) -> View:
        """The copy stands where the project really is, so that absolute paths hold."""
        return view_of(place, shelf=_SHELF)

    def start(
        self,
        place: Place,
        interpreter: Interpreter,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        umask: int,
        subdirectory: str,
        readable: Sequence[str],
        hostname: str | None,
        network: bool,
    ) -> Container:
        """A container for this command. Raises ImageMissing, SandboxUnavailable, SandboxLost."""
        # A step with a network knows its files by variables, which name them as they are here.
        targets = [path if network else f"{_SHELF}/{Path(path).name}" for path in readable]
        mounts = files.mounts(place, self.view(place), interpreter, list(zip(readable, targets, strict=True)))
        mounts.append(files.Mount(source=str(self._passwd(place.base)), target="/etc/passwd", writable=False))
        files.prepare(place, mounts, self._owner)
        if umask != _UMASK:
            argv = ["/bin/sh", "-c", f'umask {umask:03o}; exec "$@"', "sh", *argv]
        container = self._create(
            argv,
            env=self._environment(env),
            mounts=mounts,
            cwd=working_directory(self.view(place), subdirectory),
            hostname=hostname or "repro-gate",
            network=network,
        )
        container.begin()
        return container

    def ask(self, argv: Sequence[str], *, seconds: float = 120.0) -> tuple[int, str, str]:
        """Run a short program of the image, without any mount: status, output, errors."""
        environment = {"HOME": "/tmp", "PYTHONDONTWRITEBYTECODE": "1", **self.image.environment}
        container = self._create(argv, env=environment, mounts=(), cwd="/tmp", hostname="repro-gate", network=False)
        return run_to_end(container, seconds)

    def interpreter(self, python: str) -> Interpreter | None:
        """The image's Python, if tests run with it. Raises MissingTool where it has none that will do."""
        if not self.image.own_python:
            return None
        _, out, err = self.ask([python, "-c", PROBE])
        found = interpreter_of(f"{python} in {self.image.reference}", out, err)
        return dataclasses.replace(found, directories=())  # none of this machine's

    def answer(self, argv: Sequence[str]) -> str:
        """Asked in the image, but for an interpreter of this machine."""
        if not self.image.own_python and Path(argv[0]).is_absolute():
            return Local().answer(argv)
        status, out, _ = self.ask(argv)
        return "" if status else out

    def close(self) -> None:
        """Remove every container of this run, also those that nobody holds any more."""
        with contextlib.suppress(SandboxLost):
            sweep(self.engine, self.run)

    # -- one container ---------------------------------------------------------------------

    def _create(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        mounts: Sequence[files.Mount],
        cwd: str,
        hostname: str,
        network: bool,
    ) -> Container:
        import docker

        name = f"repro-gate-{self.run}-{next(self._serial)}"
        client = self.engine.client()
        try:
            with speaking(self.engine, f"creating {name}"):
                try:
                    created = client.create_container(
                        image=self.image.id,
                        name=name,
                        entrypoint=list(argv[:1]),
                        command=list(argv[1:]),
                        environment=[_OF_THE_DAEMON, *(f"{key}={value}" for key, value in env.items())],
                        working_dir=cwd,
                        hostname=hostname,
                        user=self._user(),
                        labels=labels(self.run),
                        host_config=client.create_host_config(**self._hardening(mounts, network)),
                    )
                except docker.errors.ImageNotFound as gone:
                    raise ImageMissing(
                        f"The image {self.image.reference} is not there any more.",
                        next_step="Run the same command again: it is then made or pulled again.",
                    ) from gone
                except docker.errors.APIError as refused:
                    raise SandboxUnavailable(
                        f"{self.engine.kind} refuses to make a container: {words(refused)}.", next_step=CORRECT
                    ) from refused
        finally:
            client.close()
        return Container(self.engine, created, name)

    def _hardening(self, mounts: Sequence[files.Mount], network: bool) -> dict[str, Any]:
        """Everything that is taken away from a container, and what it may use."""
        from docker.types import LogConfig, Ulimit
        from docker.types import Mount as DockerMount

        bounds = self._bounds
        options: dict[str, Any] = {
            "network_mode": "bridge" if network else "none",
            "read_only": True,
            "init": True,
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges", f"seccomp={seccomp(self.engine.kind)}"],
            "ipc_mode": "private",
            "pids_limit": bounds.pids or -1,
            "log_config": LogConfig(type="none"),
            "ulimits": [Ulimit(name=name, soft=soft, hard=hard) for name, soft, hard in _own_limits()],
            "tmpfs": {"/run": "rw,nosuid,nodev,mode=1777", "/dev/shm": "rw,nosuid,nodev,mode=1777"},
            "mounts": [
                DockerMount(mount.target, mount.source, type="bind", read_only=not mount.writable) for mount in mounts
            ],
        }
        if not any(mount.target == "/tmp" for mount in mounts):
            options["tmpfs"]["/tmp"] = "rw,nosuid,nodev,mode=1777"
        if not network and Path("/proc/sys/net/ipv6").exists():
            # Without it there is no ::1 in a container that has no network.
            options["sysctls"] = {f"net.ipv6.conf.{which}.disable_ipv6": "0" for which in ("all", "lo")}
        if bounds.memory_bytes:
            options["mem_limit"] = options["memswap_limit"] = bounds.memory_bytes
        if bounds.cpus:
            options["nano_cpus"] = int(bounds.cpus * 1e9)
        if self.engine.rootless and self.engine.kind == "podman":
            options["userns_mode"] = "keep-id"
        return options

    def _user(self) -> str:
        if self.engine.rootless and self.engine.kind == "docker":
            return "0:0"  # which is the caller outside, and has no capability inside
        return f"{self._owner[0]}:{self._owner[1]}"

    def _environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables that were asked for; of an image with its own Python, its own search paths."""
        if not self.image.own_python:
            return dict(env)
        kept = {name: value for name, value in env.items() if name not in _NOT_FOR_AN_IMAGE}
        return {**self.image.environment, **kept}

    def _passwd(self, base: Path) -> Path:
        """The image's users, and the one that tests run as."""
        if self._users is None:
            self._users = files.users_of(self._read("/etc/passwd"), *self._owner)
        path = base / "passwd"
        path.write_text(self._users, encoding="utf-8")
        path.chmod(0o644)
        return path

    def _read(self, path: str) -> bytes:
        """A file of the image as an archive, or nothing where it has none."""
        container = self._create(["true"], env={}, mounts=(), cwd="/", hostname="repro-gate", network=False)
        client = self.engine.client()
        try:
            with speaking(self.engine, f"reading {path} of {self.image.reference}"):
                pieces, _ = client.get_archive(container.id, path)
                return b"".join(pieces)
        except SandboxLost:
            return b""
        finally:
            client.close()
            container.end()


def _own_limits() -> list[tuple[str, int, int]]:
    """Open files and processes as outside: what a daemon sets by itself may be more than it can grant."""

    def grantable(limit: int) -> int:
        return _MOST_LIMIT if limit == resource.RLIM_INFINITY else min(limit, _MOST_LIMIT)

    kinds = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    limits = {name: resource.getrlimit(kind) for name, kind in kinds.items()}
    return [(name, grantable(soft), grantable(hard)) for name, (soft, hard) in limits.items()]
