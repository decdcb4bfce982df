"""manifest.json: what a capsule claims, as types, and how that is written: canonically.

Belongs here: the claims and their JSON. Does not belong here: believing a stranger's (``reading``).
The published schema is docs/capsule.schema.json; a test keeps it equal with both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from repro_gate.capsule.proof import Proof
from repro_gate.capsule.survivor import Survivor
from repro_gate.model import Cause, Conditions, Outcome

SCHEMA = "repro-gate/capsule/v1"
LEVELS = ("D0", "D1", "D2", "D3", "D4")
# How pytest was started; the first puts its working directory on sys.path, the second does not.
INVOCATIONS = ("python -m pytest", "pytest")


@dataclass(frozen=True, kw_only=True, slots=True)
class Producer:
    """The program that wrote the capsule."""

    name: str
    version: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """What to check out. ``root`` is the tested subdirectory, or empty."""

    repository: str
    commit: str
    dirty: bool
    root: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Expected:
    """What the victim must come to; without an exception the last three are empty."""

    outcome: Outcome
    fingerprint: str = ""
    message: str = ""
    type: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verified:
    """``k`` of ``of`` replays in fresh processes showed the expected failure."""

    k: int
    of: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Determinism:
    """What was held still (a level of LEVELS), what was not, and what that gave.

    ``rate`` is the share of replays that fail, where it is known and not 1; ``why`` says why a
    capsule is not pinned.
    """

    level: str
    not_controlled: tuple[str, ...]
    verified: Verified
    pinned: bool
    rate: float | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sandbox:
    """Where the failure was seen."""

    name: str
    hermetic: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Redaction:
    """The policy's id, and how many values of each kind were replaced."""

    policy: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """The campaign's seed, and the number of its run that first showed the failure."""

    seed: int
    run: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """One capsule's claims. ``created_at`` and ``redaction`` are filled in by ``pack``.

    ``tests`` is the exact ordered list and holds the ``victim``; ``partners`` are further lanes
    that run at the same time (the parallel axis); ``invocation`` is one of INVOCATIONS, or empty
    where the writer did not record it; ``proof``: the failure is that of a test on base, and ``project``
    names head; ``mutant``: there is no failure, all ``tests`` pass with it; ``signature`` is outside of the id.
    """

    producer: Producer
    project: Project
    tests: tuple[str, ...]
    victim: str
    conditions: Conditions
    expected: Expected
    cause: Cause
    determinism: Determinism
    sandbox: Sandbox
    provenance: Provenance
    partners: tuple[tuple[str, ...], ...] = ()
    pytest_args: tuple[str, ...] = ()
    invocation: str = ""
    proof: Proof | None = None
    mutant: Survivor | None = None
    created_at: str = ""
    redaction: Redaction = Redaction()
    signature: str = ""

    def capsule_id(self) -> str:
        """The first 16 hex digits of the SHA-256 of the canonical manifest without id and signature."""
        return hashlib.sha256(canonical(self.to_body())).hexdigest()[:16]

    @property
    def id(self) -> str:
        """Same as ``capsule_id()``: a manifest cannot carry another id than its own."""
        return self.capsule_id()

    @property
    def cwd_on_path(self) -> bool:
        """Whether a replay has its working directory on sys.path, as the failing run had."""
        return self.invocation != "pytest"

    def to_json(self) -> dict[str, Any]:
        """As the JSON object of manifest.json, with id (and signature, if there is one)."""
        signature = {"signature": self.signature} if self.signature else {}
        return {**self.to_body(), "id": self.capsule_id(), **signature}

    def to_bytes(self) -> bytes:
        """The content of manifest.json: canonical, and a newline."""
        return canonical(self.to_json()) + b"\n"

    def to_body(self) -> dict[str, Any]:
        """What the id is made of: everything but id and signature."""
        # Left out where it is not known: the capsules written before it was recorded keep their ids.
        invocation = {"invocation": self.invocation} if self.invocation else {}
        proof = {"proof": self.proof.to_json()} if self.proof is not None else {}
        mutant = {"mutant": self.mutant.to_json()} if self.mutant is not None else {}
        return {
            **invocation,
            **proof,
            **mutant,
            "schema": SCHEMA,
            "created_at": self.created_at,
            "producer": {"name": self.producer.name, "version": self.producer.version},
            "project": {
                "repository": self.project.repository,
                "commit": self.project.commit,
                "dirty": self.project.dirty,
                "root": self.project.root,
            },
            "tests": list(self.tests),
            "victim": self.victim,
            "partners": [list(lane) for lane in self.partners],
            "pytest_args": list(self.pytest_args),
            "conditions": self.conditions.to_json(),
            "expected": {
                "outcome": str(self.expected.outcome),
                "fingerprint": self.expected.fingerprint,
                "message": self.expected.message,
                "type": self.expected.type,
            },
            "cause": _cause_to_json(self.cause),
            "determinism": {
                "level": self.determinism.level,
                "not_controlled": list(self.determinism.not_controlled),
                "verified": {"k": self.determinism.verified.k, "of": self.determinism.verified.of},
                "pinned": self.determinism.pinned,
                "rate": self.determinism.rate,
                "why": self.determinism.why,
            },
            "sandbox": {"name": self.sandbox.name, "hermetic": self.sandbox.hermetic},
            "redaction": {"policy": self.redaction.policy, "counts": dict(self.redaction.counts)},
            "provenance": {"seed": self.provenance.seed, "run": self.provenance.run},
        }


def _cause_to_json(cause: Cause) -> dict[str, Any]:
    return {
        "axis": cause.axis,
        "detail": cause.detail,
        "role": cause.role,
        "others": list(cause.others),
        "interventions": [
            {
                "what": row.what,
                "conditions": row.conditions.to_json(),
                "tests": list(row.tests),
                "failed": row.failed,
                "of": row.of,
            }
            for row in cause.table
        ],
    }


def canonical(value: object) -> bytes:
    """JSON with sorted keys, no spaces, UTF-8. Raises ValueError for NaN, infinities and lone surrogates."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8")
