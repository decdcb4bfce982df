"""The image that gives the root: made from an interpreter, named, or built from a Dockerfile."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro_gate.errors import ImageMissing, SandboxLost
from repro_gate.sandbox.docker.base import content_of, write
from repro_gate.sandbox.docker.engine import Engine, speaking
from repro_gate.sandbox.protocol import Interpreter

BASE = "repro-gate/base"
_BUILT = "repro-gate/built"


@dataclass(frozen=True, kw_only=True, slots=True)
class Image:
    """An image that is there. ``own_python``: its Python runs the tests, and not one of this machine."""

    id: str
    reference: str
    own_python: bool
    environment: Mapping[str, str] = field(default_factory=dict)


def base_from_interpreter(engine: Engine, interpreter: Interpreter) -> Image:
    """A minimal image for an interpreter of this machine, made once per content. Raises ImageMissing, SandboxLost."""
    content = content_of(interpreter)
    reference = f"{BASE}:{content.key()}"
    found = _inspect(engine, reference)
    if found is None:
        client = engine.client()
        try:
            with tempfile.TemporaryFile(prefix="rg-base-") as archive, speaking(engine, f"importing {reference}"):
                write(content, archive)
                archive.seek(0)
                python = shlex.quote(str(Path(interpreter.executable).resolve().parent))
                changes = [f"ENV PATH={python}:/usr/local/bin:/usr/bin:/bin", "ENV LANG=C.UTF-8"]
                client.import_image(src=archive, repository=reference, changes=changes)  # podman ignores `tag`
        finally:
            client.close()
        found = _inspect(engine, reference)
    if found is None:
        raise ImageMissing(f"{engine.kind} did not keep the image {reference} that it was given.")
    return _image(found, reference, own_python=False)


def named(engine: Engine, reference: str) -> Image:
    """The user's image by name or digest; pulled if it is not there. Raises ImageMissing, SandboxLost."""
    found = _inspect(engine, reference)
    if found is None:
        client = engine.client()
        try:
            with speaking(engine, f"pulling {reference}"):
                for line in client.pull(reference, stream=True, decode=True):
                    if "error" in line:
                        raise ImageMissing(
                            f"The image {reference!r} is not there and cannot be pulled: {line['error']}."
                        )
        except SandboxLost as refused:
            raise ImageMissing(f"The image {reference!r} is not there and cannot be pulled: {refused}") from refused
        finally:
            client.close()
        found = _inspect(engine, reference)
    if found is None:
        raise ImageMissing(f"The image {reference!r} is not there.")
    return _image(found, reference, own_python=True)


def built(engine: Engine, dockerfile: Path) -> Image:
    """The image of a Dockerfile with its directory as context, by the classic build API. Raises ImageMissing."""
    client = engine.client()
    said: list[str] = []
    identity = ""
    try:
        with speaking(engine, f"building {dockerfile}"):
            stream = client.build(
                path=str(dockerfile.parent), dockerfile=dockerfile.name, rm=True, forcerm=True, decode=True
            )
            for line in stream:
                said.append(str(line.get("stream") or line.get("error") or ""))
                if "error" in line:
                    raise ImageMissing(f"{dockerfile} cannot be built: {line['error']}.", details="".join(said)[-3000:])
                identity = str((line.get("aux") or {}).get("ID") or identity)
            if identity:
                client.tag(identity, _BUILT, identity.rpartition(":")[2][:16])
    except SandboxLost as refused:
        raise ImageMissing(f"{dockerfile} cannot be built: {refused}", details="".join(said)[-3000:]) from refused
    finally:
        client.close()
    found = _inspect(engine, identity) if identity else None
    if found is None:
        raise ImageMissing(f"{dockerfile} was built without a result.", details="".join(said)[-3000:])
    return _image(found, str(dockerfile), own_python=True)


def _inspect(engine: Engine, reference: str) -> dict[str, Any] | None:
    import docker

    client = engine.client()
    try:
        with speaking(engine, f"looking for {reference}"):
            try:
                return dict(client.inspect_image(reference))  # type: ignore[no-untyped-call]
            except docker.errors.ImageNotFound:
                return None
    finally:
        client.close()


def _image(found: Mapping[str, Any], reference: str, *, own_python: bool) -> Image:
    variables = (found.get("Config") or {}).get("Env") or ()
    return Image(
        id=str(found["Id"]),
        reference=reference,
        own_python=own_python,
        environment=dict(variable.partition("=")[::2] for variable in variables),
    )


def seccomp(kind: str = "docker") -> str:
    """Our filter of system calls: docker takes its text, podman the path of it."""
    path = Path(__file__).parent / "seccomp.json"
    return str(path) if kind == "podman" else json.dumps(json.loads(path.read_text(encoding="ascii")))
