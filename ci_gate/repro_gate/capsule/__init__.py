"""Capsules: a failure with all that is needed to see it again, in one file.

Belongs here: the file's format (archive, manifest), redaction, packing, reading, showing, verifying
and replaying. A capsule comes from anywhere: everything read from one is checked, and nothing in it
is believed for being in it. Does not belong here: finding failures (flake), running tests
(experiment), printing (cli).
"""

from repro_gate.capsule.archive import Caps, extract, read_archive, write_archive
from repro_gate.capsule.environment import allowed_variables, describe
from repro_gate.capsule.inspect import Capsule, Check, read, verify
from repro_gate.capsule.literals import secret_literals
from repro_gate.capsule.manifest import (
    Determinism,
    Expected,
    Manifest,
    Producer,
    Project,
    Provenance,
    Redaction,
    Sandbox,
    Verified,
    canonical,
)
from repro_gate.capsule.pack import CapsuleParts, pack
from repro_gate.capsule.page import show
from repro_gate.capsule.reading import parse
from repro_gate.capsule.records import log_records, run_record
from repro_gate.capsule.redact import POLICY, Finding, Redactor

__all__ = [
    "POLICY",
    "Caps",
    "Capsule",
    "CapsuleParts",
    "Check",
    "Determinism",
    "Expected",
    "Finding",
    "Manifest",
    "Producer",
    "Project",
    "Provenance",
    "Redaction",
    "Redactor",
    "Sandbox",
    "Verified",
    "allowed_variables",
    "canonical",
    "describe",
    "extract",
    "log_records",
    "pack",
    "parse",
    "read",
    "read_archive",
    "run_record",
    "secret_literals",
    "show",
    "verify",
    "write_archive",
]
