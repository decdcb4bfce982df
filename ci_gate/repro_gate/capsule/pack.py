"""From what is known of a failure to capsule-<id>.zip: redact, assemble, look once more, write."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro_gate.capsule.archive import ENTRYPOINT, write_archive
from repro_gate.capsule.environment import allowed_variables
from repro_gate.capsule.inspect import EVIDENCE, MANIFEST, PLUGIN, check_members, read
from repro_gate.capsule.manifest import Manifest, Redaction, canonical
from repro_gate.capsule.reading import load, parse
from repro_gate.capsule.redact import Redactor, refuse_secrets
from repro_gate.capsule.spans import spans
from repro_gate.errors import CapsuleRefused, SecretFound
from repro_gate.model import Conditions

# A jsonl member stops here and says how many records it left out: readers cap what they unpack.
_JSONL_BYTES = 32 << 20

_MEASURED = frozenset({"runs.jsonl.gz", "logs.jsonl.gz", "spans.jsonl.gz"})

# What a replay uses word for word: with a tag in it, it would run something else.
_EXACT = (
    "tests",
    "victim",
    "partners",
    "pytest_args",
    "invocation",
    "conditions",
    "expected.outcome",
    "expected.fingerprint",
    "project.commit",
    "project.root",
    "proof",
    "mutant",
)

# What to do about a secret in a test's id, and elsewhere.
_REMOVE = "Give the test an id without the value, for example `pytest.param(..., id='token')`."
_REMOVE_FROM = {
    "proof": "Keep the value out of the file that holds pytest's settings: each replay writes that onto base.",
    "mutant": "Keep the value out of the source: the mutant's line holds it.",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CapsuleParts:
    """What goes into a capsule, unredacted.

    ``runs`` and ``logs`` are records as ``run_record`` and ``log_records`` make them; ``environment``
    is what ``describe`` returns; ``evidence`` may have the keys of EVIDENCE; ``plugin_files`` are
    repro_gate_pytest's by path below plugin/ (``repro_gate_pytest/wire.py``); ``repro_sh`` is the entrypoint's text.
    """

    manifest: Manifest
    repro_sh: str
    plugin_files: Mapping[str, bytes]
    environment: Mapping[str, Any]
    runs: Iterable[Mapping[str, Any]] = ()
    logs: Iterable[Mapping[str, Any]] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


def pack(parts: CapsuleParts, redactor: Redactor, directory: Path, now: str) -> Path:
    """Write ``capsule-<id>.zip`` into ``directory`` and return its path. ``now`` is an RFC 3339 time.

    One that is there and differs in nothing but what was measured, records of runs and their output, stays as it is.
    Raises SecretFound (nothing is written) where a secret would stay, or where hiding it would
    change what a replay runs; DiskFull; CapsuleRefused for parts that no reader would accept.
    """
    before = Counter(redactor.counts)
    draft = _redacted_manifest(parts.manifest, redactor, now)
    members = _redacted_members(parts, redactor, now)
    counts = dict(sorted((redactor.counts - before).items()))
    manifest = dataclasses.replace(draft, redaction=Redaction(policy=redactor.policy, counts=counts))
    members[MANIFEST] = manifest.to_bytes()
    parse(members[MANIFEST])
    refuse_secrets(redactor.scan(members))
    members |= {f"{PLUGIN}/{name}": content for name, content in parts.plugin_files.items()}
    check_members(members, "the new capsule")
    path = directory / f"capsule-{manifest.id}.zip"
    if _is_there(path, members):
        return path
    write_archive(path, members)
    _prove_readable(path, members)
    return path


def _is_there(path: Path, members: Mapping[str, bytes]) -> bool:
    try:
        there = read(path).members if path.is_file() else {}
    except (CapsuleRefused, OSError):
        return False
    return there.keys() == members.keys() and all(there[name] == members[name] for name in members.keys() - _MEASURED)


def _prove_readable(path: Path, members: Mapping[str, bytes]) -> None:
    """Read the capsule back as a stranger would; one that cannot be read is not left behind."""
    readable = False
    try:
        readable = read(path).members == members
    finally:
        if not readable:
            path.unlink(missing_ok=True)
    if not readable:
        raise CapsuleRefused(f"{path} did not read back as it was written", next_step="Check the disk, then try again.")


def _redacted_members(parts: CapsuleParts, redactor: Redactor, now: str) -> dict[str, bytes]:
    """All members but the manifest and the plugin."""
    runs = _lines(parts.runs, redactor)
    seed = hashlib.sha256("\n".join(runs).encode("utf-8")).hexdigest()
    kept = (run for run in map(json.loads, runs) if "tests" in run)
    environment = {**parts.environment, "variables": allowed_variables(parts.environment.get("variables", {}))}
    members = {
        ENTRYPOINT: parts.repro_sh.encode("utf-8"),
        "runs.jsonl.gz": _gzip(runs),
        "logs.jsonl.gz": _gzip(_lines(parts.logs, redactor)),
        "spans.jsonl.gz": _gzip(_lines(spans(kept, now, seed), redactor)),
        "env/environment.json": _document(environment, redactor),
    }
    evidence = _evidence(parts)
    return members | {f"evidence/{name}.json": _document(value, redactor) for name, value in evidence.items()}


def _evidence(parts: CapsuleParts) -> dict[str, Any]:
    """One value per key of EVIDENCE: what was given, else the conditions' difference, else that it is missing."""
    if unknown := set(parts.evidence) - set(EVIDENCE):
        raise ValueError(f"unknown evidence: {', '.join(sorted(unknown))}")
    found: dict[str, Any] = {name: {"measured": False} for name in EVIDENCE}
    found["conditions-diff"] = conditions_diff(parts.manifest)
    return found | dict(parts.evidence)


def conditions_diff(manifest: Manifest) -> dict[str, Any]:
    """The failing conditions against the nearest ones under which every run passed.

    Without a passing intervention the neutral conditions stand in, and ``passing`` says so.
    """
    failing = manifest.conditions
    passing = [row for row in manifest.cause.table if row.of and not row.failed]
    nearest = min(passing, key=lambda row: len(failing.differences(row.conditions)), default=None)
    other = nearest.conditions if nearest else Conditions.baseline()
    return {
        "passing": nearest.what if nearest else "not seen; compared with neutral conditions",
        "differ": {
            axis: {"passing": other.axis(axis), "failing": failing.axis(axis)} for axis in failing.differences(other)
        },
        "tests": {"passing": list(nearest.tests) if nearest else [], "failing": list(manifest.tests)},
    }


def _redacted_manifest(manifest: Manifest, redactor: Redactor, now: str) -> Manifest:
    """The manifest with its words for people redacted; what a replay needs must come through as it was."""
    draft = dataclasses.replace(manifest, created_at=now, redaction=Redaction(policy=redactor.policy))
    plain = {**draft.to_body(), "id": ""}
    clean = _clean(plain)
    redacted = json.loads(redactor.redact_to_json(clean))
    for name in _EXACT:
        if _at(clean, name) != _at(plain, name):
            raise CapsuleRefused(
                f"manifest.json: {name} is not valid Unicode", next_step="Rename the test or its file."
            )
        if _at(redacted, name) != _at(plain, name):
            raise SecretFound(
                f"manifest.json: {name} would hold what looks like a secret; hidden, it could not be replayed",
                next_step=_REMOVE_FROM.get(name, _REMOVE),
            )
    return load(canonical(redacted))[0]


def _at(value: Mapping[str, Any], name: str) -> Any:
    found: Any = value
    for key in name.split("."):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _clean(value: Any) -> Any:
    """JSON that UTF-8 can hold: lone surrogates as escapes, not-a-number as null."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_clean(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _document(value: Any, redactor: Redactor) -> bytes:
    return redactor.redact_to_json(_clean(value)).encode("utf-8") + b"\n"


def _lines(records: Iterable[Mapping[str, Any]], redactor: Redactor) -> list[str]:
    """Redacted JSON, one line a record, up to a budget; the last line then says how many are missing."""
    lines: list[str] = []
    room, left_out = _JSONL_BYTES, 0
    for record in records:
        line = redactor.redact_to_json(_clean(record)) if room > 0 else ""
        room -= len(line.encode("utf-8")) + 1
        if room > 0:
            lines.append(line)
        else:
            room, left_out = 0, left_out + 1
    if left_out:
        lines.append(json.dumps({"left_out": left_out, "reason": f"more than {_JSONL_BYTES} bytes"}, sort_keys=True))
    return lines


def _gzip(lines: list[str]) -> bytes:
    """One gzip stream whose header says nothing: no name, no time, no system (``gzip`` names one, by version)."""
    data = "".join(line + "\n" for line in lines).encode("utf-8")
    stream = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    body = stream.compress(data) + stream.flush()
    return b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + body + struct.pack("<2L", zlib.crc32(data), len(data) & 0xFFFFFFFF)
