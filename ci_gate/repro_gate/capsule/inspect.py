"""A capsule opened and looked at: read it, verify it. What people are shown of it is the ``page``."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from repro_gate import __version__
from repro_gate.capsule.archive import DEFAULT_CAPS, ENTRYPOINT, Caps, gunzip, read_archive
from repro_gate.capsule.manifest import Manifest
from repro_gate.capsule.proof import Proof
from repro_gate.capsule.reading import load, parse
from repro_gate.capsule.redact import POLICY, Redactor
from repro_gate.errors import CapsuleRefused

MANIFEST = "manifest.json"
PLUGIN = "plugin"
EVIDENCE = ("failure", "network", "conditions-diff")
REQUIRED = (
    MANIFEST,
    ENTRYPOINT,
    "runs.jsonl.gz",
    "logs.jsonl.gz",
    "spans.jsonl.gz",
    "env/environment.json",
    *(f"evidence/{name}.json" for name in EVIDENCE),
)
FOLDERS = ("plugin", "env", "evidence", "input", "sbom", "docker")
_LONGEST_SHOWN = 2000

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Capsule:
    """A capsule that was read: its members passed the zip rules, its manifest is strict and unchanged."""

    path: Path
    manifest: Manifest
    members: Mapping[str, bytes]

    def plugin_files(self) -> dict[str, bytes]:
        """The files below plugin/: repro_gate_pytest as it was."""
        return _plugin_files(self.members)

    def records(self, member: str) -> list[dict[str, Any]]:
        """The records of runs.jsonl.gz, logs.jsonl.gz or spans.jsonl.gz. Raises CapsuleRefused."""
        lines = gunzip(member, self.members[member]).split(b"\n")
        try:
            found = [json.loads(line) for line in lines if line]
        except (ValueError, RecursionError):
            raise CapsuleRefused(f"{self.path.name}: {member} has a line that is not JSON") from None
        if not all(isinstance(record, dict) for record in found):
            raise CapsuleRefused(f"{self.path.name}: {member} has a line that is not an object")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One thing that ``verify`` looked at."""

    name: str
    ok: bool
    detail: str


def read(path: Path, caps: Caps = DEFAULT_CAPS) -> Capsule:
    """Open a capsule, or raise CapsuleRefused naming the member or key and the rule it breaks."""
    members = read_archive(path, caps)
    check_members(members, path.name)
    return Capsule(path=path, manifest=parse(members[MANIFEST]), members=members)


def check_members(members: Mapping[str, bytes], source: str) -> None:
    """Refuse a set of members that lacks one, or has one where the format knows none."""
    missing = [name for name in REQUIRED if name not in members]
    if missing:
        raise CapsuleRefused(f"{source} is refused: it has no {missing[0]}")
    if not _plugin_files(members):
        raise CapsuleRefused(f"{source} is refused: it has nothing in {PLUGIN}/")
    for name in sorted(members):
        top, slash, _ = name.partition("/")
        if name not in REQUIRED and not (slash and top in FOLDERS):
            raise CapsuleRefused(f"{source} is refused: member {name!a} is not of format v1")


def in_short(proof: Proof, head: str) -> str:
    """A proof in one line: both commits, and what of head is laid on base."""
    laid = len(proof.files) + len(proof.texts)
    removed = len(set(proof.removed) - {each.path for each in proof.files})
    gone = f", {removed} removed" if removed else ""
    return f"base {proof.base[:12]} under {laid} {'file' if laid == 1 else 'files'} of head {head[:12]}{gone}"


def _plugin_files(members: Mapping[str, bytes]) -> dict[str, bytes]:
    prefix = f"{PLUGIN}/"
    return {name[len(prefix) :]: members[name] for name in sorted(members) if name.startswith(prefix)}


# For people


def visible(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """``text`` with control characters, colours and direction marks as escapes, and cut if it is long."""
    if len(text) > longest:
        text = f"{text[:longest]} [... {len(text) - longest} characters left out]"
    return "".join(
        c if unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") else _escape(c) for c in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


# For machines


def verify(path: Path, plugin_files: Mapping[str, bytes] | None = None) -> list[Check]:
    """Every check of a capsule, each with its result; a check whose ground is missing is not made.

    ``plugin_files`` are this version's own, to compare with those that the capsule would run.
    """
    checks: list[Check] = []
    members = _step(checks, "zip", lambda: read_archive(path), "all zip rules hold")
    if members is None:
        return checks
    _step(checks, "members", lambda: check_members(members, path.name), f"{len(members)} members of format v1")
    loaded = _step(checks, "schema", lambda: load(members.get(MANIFEST, b"")), "the manifest is strict v1")
    if loaded is not None:
        manifest, claimed = loaded
        same = claimed == manifest.capsule_id()
        checks.append(
            Check(name="id", ok=same, detail=claimed if same else f"the content's is {manifest.capsule_id()}")
        )
        if manifest.proof is not None:
            checks.append(Check(name="proof", ok=True, detail=in_short(manifest.proof, manifest.project.commit)))
        if manifest.mutant is not None:
            mutant = manifest.mutant
            detail = f"{mutant.id} of {visible(mutant.file)}, line {mutant.patch.line}"
            checks.append(Check(name="mutant", ok=True, detail=detail))
    known = {f"{PLUGIN}/{name}": content for name, content in (plugin_files or {}).items()}
    checks.append(_secrets({name: data for name, data in members.items() if known.get(name) != data}))
    if plugin_files is not None:
        version = loaded[0].producer.version if loaded else "unknown"
        checks.append(_plugin(_plugin_files(members), plugin_files, version))
    return checks


def _step(checks: list[Check], name: str, look: Callable[[], _T], good: str) -> _T | None:
    try:
        found = look()
    except CapsuleRefused as refusal:
        checks.append(Check(name=name, ok=False, detail=str(refusal)))
        return None
    checks.append(Check(name=name, ok=True, detail=good))
    return found


def _secrets(members: Mapping[str, bytes]) -> Check:
    try:
        findings = Redactor(POLICY, b"", {}).scan(members)
    except CapsuleRefused as refusal:
        return Check(name="secrets", ok=False, detail=str(refusal))
    named = ", ".join(f"{ascii(finding.member)[1:-1]} ({finding.kind})" for finding in findings)
    return Check(name="secrets", ok=not findings, detail=named or "none found")


def _plugin(packed: Mapping[str, bytes], own: Mapping[str, bytes], version: str) -> Check:
    names = sorted(name for name in packed.keys() | own.keys() if packed.get(name) != own.get(name))
    if not names:
        return Check(name="plugin", ok=True, detail=f"as in this version ({__version__})")
    few = ", ".join(ascii(name)[1:-1] for name in names[:5]) + (" ..." if len(names) > 5 else "")
    return Check(name="plugin", ok=False, detail=f"differs: from version {visible(version)}: {few}")
