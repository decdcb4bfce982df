"""A capsule by its address: fetched within bounds, compared with its digest, and then only replayed.

Belongs here: what may be fetched, and the command for it. Does not belong here: the capsule's own rules (capsule).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

from repro_gate.action.context import Context
from repro_gate.action.hosts import Hosts, default_for
from repro_gate.action.inputs import Inputs, Mode
from repro_gate.action.jobs import Job
from repro_gate.errors import CapsuleRefused, UsageError

LARGEST = 256 * 2**20  # bytes, as the format allows


def fetched(inputs: Inputs, context: Context, fetch: Callable[[str, int, Hosts], bytes], into: Path) -> Path:
    """The capsule in a file.

    Raises UsageError without an address, FetchFailed, CapsuleRefused where it is another one.
    """
    if not inputs.capsule_url:
        raise UsageError(
            "The mode 'replay' needs the inputs 'capsule-url' and 'capsule-sha256'.",
            next_step="Give both, as printed where the capsule was made.",
        )
    hosts = Hosts(inputs.capsule_hosts) if inputs.capsule_hosts else default_for(context.server_url, context.api_url)
    data = fetch(inputs.capsule_url, LARGEST, hosts)
    digest = hashlib.sha256(data).hexdigest()
    if digest != inputs.capsule_sha256:
        raise CapsuleRefused(
            f"What {inputs.capsule_url!r} holds has the digest {digest}, not {inputs.capsule_sha256}.",
            next_step="Do not replay it; ask its sender for the digest, or make the capsule again.",
        )
    place = into / "capsules"
    place.mkdir()
    path = place / f"capsule-{digest[:16]}.zip"
    path.write_bytes(data)
    return path


def replay_job(inputs: Inputs, capsule: Path, *, program: Sequence[str], python: str) -> Job:
    """The command that replays it."""
    argv = [*program, "replay", str(capsule), "--repo=."]
    argv += [f"--times={inputs.repeats}"] if inputs.repeats else []
    argv += [f"--sandbox={inputs.sandbox}"] if inputs.sandbox else []
    argv += [f"--python={python}"] if python else []
    return Job(mode=Mode.REPLAY, argv=tuple(argv))
