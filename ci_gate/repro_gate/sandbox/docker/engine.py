"""The daemon: found, spoken to, and its failures told in our words."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from repro_gate.errors import SandboxLost, SandboxUnavailable

if TYPE_CHECKING:
    from docker import APIClient

CORRECT = "Correct what the daemon names; `repro-gate doctor` tries a container."
_PATIENCE = 120  # seconds for an answer; a daemon under load is slow to create
_LOCAL = "unix://"
_DOCKER_SOCKETS = ("/var/run/docker.sock",)
_PODMAN_SOCKETS = ("/run/podman/podman.sock",)
_KINDS = ("docker", "podman")
_START = {
    "docker": "Start Docker and let this user reach its socket, or name another with DOCKER_HOST.",
    "podman": "Start podman's socket: `systemctl --user start podman.socket`.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Engine:
    """A daemon that answered. ``kind`` is docker or podman; ``settings`` make further clients."""

    kind: str
    url: str
    version: str
    api_version: str
    rootless: bool
    settings: Mapping[str, Any]

    def client(self) -> APIClient:
        """A client of its own, as each thread needs one. Close it after use."""
        from docker import APIClient

        return APIClient(version=self.api_version, timeout=_PATIENCE, **self.settings)


def connect(environ: Mapping[str, str], kinds: tuple[str, ...] = _KINDS) -> Engine:
    """The first daemon that answers: DOCKER_HOST if that is set, else Docker's socket, then podman's.

    Raises SandboxUnavailable, with each address and what it said.
    """
    try:
        import docker
        from docker.utils import kwargs_from_env
    except ImportError:
        raise SandboxUnavailable(
            "The Docker SDK for Python is not installed.", next_step="Run `pip install 'repro-gate[docker]'`."
        ) from None
    refusals = []
    for kind, url in _addresses(environ, kinds):
        if url.startswith(_LOCAL) and not Path(url.removeprefix(_LOCAL)).exists():
            refusals.append(f"{url}: not there")
            continue
        settings = {**kwargs_from_env(environment=dict(environ)), "base_url": url}
        try:
            return _greet(kind, url, settings)
        except (docker.errors.DockerException, OSError) as refused:
            refusals.append(f"{url}: {words(refused)}")
    raise SandboxUnavailable(
        f"No {' or '.join(kinds)} daemon answers ({'; '.join(refusals)}).", next_step=_START[kinds[0]]
    )


def _addresses(environ: Mapping[str, str], kinds: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    named = {"docker": environ.get("DOCKER_HOST", ""), "podman": environ.get("CONTAINER_HOST", "")}
    own = environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.geteuid()}")
    usual = {"docker": _DOCKER_SOCKETS, "podman": (f"{own}/podman/podman.sock", *_PODMAN_SOCKETS)}
    for kind in kinds:
        if named[kind]:
            yield kind, named[kind]
        else:
            yield from ((kind, _LOCAL + path) for path in usual[kind])


def _greet(kind: str, url: str, settings: Mapping[str, Any]) -> Engine:
    """Ask a daemon what it is. The version is agreed on here: a client that fails to do so leaks its connection."""
    from docker import APIClient
    from docker.constants import DEFAULT_DOCKER_API_VERSION

    with contextlib.closing(APIClient(version=DEFAULT_DOCKER_API_VERSION, timeout=10, **settings)) as client:
        version = client.version(api_version=False)
    spoken = min(DEFAULT_DOCKER_API_VERSION, str(version.get("ApiVersion", "")), key=_numbers)
    with contextlib.closing(APIClient(version=spoken, timeout=10, **settings)) as client:
        info = client.info()
    names = " ".join(str(part.get("Name", "")) for part in version.get("Components") or ())
    options = " ".join(info.get("SecurityOptions") or ())
    return Engine(
        kind="podman" if "podman" in names.lower() else kind,
        url=url,
        version=str(version.get("Version", "")),
        api_version=spoken,
        rootless="rootless" in options,
        settings=settings,
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


@contextlib.contextmanager
def speaking(engine: Engine, doing: str) -> Iterator[None]:
    """Whatever the daemon refuses or fails to say becomes SandboxLost, with what we were doing."""
    import docker
    import requests

    try:
        yield
    except docker.errors.NotFound as gone:
        raise SandboxLost(f"While {doing}: {words(gone)}.") from gone
    except docker.errors.DockerException as refused:
        raise SandboxLost(f"{engine.kind} refused while {doing}: {words(refused)}.") from refused
    except (requests.RequestException, OSError) as broken:
        raise SandboxLost(f"The {engine.kind} daemon at {engine.url} stopped answering while {doing}.") from broken


def words(error: Exception) -> str:
    """The daemon's own sentence, without the request around it."""
    said = getattr(error, "explanation", None) or str(error)
    return str(said).strip().rstrip(".").replace("\n", " ")[:600]
