"""manifest.json as a stranger wrote it: read strictly, or refused by the name of what is wrong.

Belongs here: what a manifest may hold. Does not belong here: the types and how they are written
(``manifest``), or the rules of the zip around it (``archive``).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from repro_gate.capsule.manifest import (
    INVOCATIONS,
    LEVELS,
    SCHEMA,
    Determinism,
    Expected,
    Manifest,
    Producer,
    Project,
    Provenance,
    Redaction,
    Sandbox,
    Verified,
)
from repro_gate.capsule.proof import FILE_MODES, REASONS, LaidFile, LaidText, Proof, is_commit
from repro_gate.capsule.survivor import Patch, Survivor
from repro_gate.errors import CapsuleRefused
from repro_gate.model import Cause, Conditions, Intervention, Lenient, Outcome, ReasonCode

_SCHEMA_FAMILY = re.compile(r"repro-gate/capsule/v([0-9]{1,9})")
_INSTANT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")
# What replay hands to git and pytest must not be taken for an option or lead out of the checkout.
_COMMIT = re.compile(r"(?:[0-9a-f]{7,64})?")
_TEST_ID = re.compile(r"(?!-)[^\x00]+", re.DOTALL)
_ROOT = re.compile(r"(?!/)(?!(?:.*/)?\.\.(?:/|$))[^\\:\x00-\x1f]*")
_ROLES = ("", "victim", "brittle")


def parse(data: bytes) -> Manifest:
    """The manifest in ``data``, or CapsuleRefused naming what is unknown, missing, mistyped or forged."""
    manifest, claimed = load(data)
    if claimed != manifest.capsule_id():
        raise CapsuleRefused(
            f"the manifest's id is {claimed!a}, but its content has the id {manifest.capsule_id()}: it was changed"
        )
    return manifest


def load(data: bytes) -> tuple[Manifest, str]:
    """The manifest in ``data`` and the id that it claims to have; ``parse`` also compares the two."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_no_repeats, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise CapsuleRefused(f"manifest.json is not strict JSON: {_plain(str(error))}") from None
    root = _Fields(value, "")
    schema = root.text("schema")
    if schema != SCHEMA:
        _refuse_schema(schema)
    claimed = root.text("id")
    manifest = _manifest(root)
    root.done()
    _check(manifest)
    return manifest, claimed


def _refuse_schema(schema: str) -> NoReturn:
    if family := _SCHEMA_FAMILY.fullmatch(schema):
        raise CapsuleRefused(
            f"the capsule is written in format v{family[1]}; this version of repro-gate reads v1",
            next_step="Install the version of repro-gate that wrote it, or a later one.",
        )
    raise CapsuleRefused(f"manifest.json has the unknown schema {schema!a}; this version reads {SCHEMA}")


def _no_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for key, item in pairs:
        if key in value:
            raise ValueError(f"the key {key!r} is there twice")
        value[key] = item
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _plain(text: str) -> str:
    """``text`` of unknown origin as part of a sentence: no control characters, no colours."""
    return ascii(text)[1:-1]


class _Fields:
    """Takes the keys of one JSON object one by one; ``done`` refuses what nobody asked for."""

    def __init__(self, value: object, where: str) -> None:
        if not isinstance(value, dict):
            raise CapsuleRefused(f"manifest.json: {where or 'the whole'} must be an object")
        self._left: dict[str, Any] = dict(value)
        self._where = where

    def take(self, key: str, *types: type, what: str) -> Any:
        """The value of ``key``, which must be there and be of exactly one of ``types``."""
        name = self._name(key)
        if key not in self._left:
            raise CapsuleRefused(f"manifest.json: {name} is missing")
        value = self._left.pop(key)
        if type(value) not in types:
            raise CapsuleRefused(f"manifest.json: {name} must be {what}")
        return value

    def text(self, key: str) -> str:
        value: str = self.take(key, str, what="a text")
        return value

    def has(self, key: str) -> bool:
        """Whether an optional key is there."""
        return key in self._left

    def optional_text(self, key: str) -> str:
        return self.text(key) if key in self._left else ""

    def optional_choice(self, key: str, allowed: Iterable[str]) -> str:
        return self.choice(key, allowed) if key in self._left else ""

    def flag(self, key: str) -> bool:
        value: bool = self.take(key, bool, what="true or false")
        return value

    def count(self, key: str) -> int:
        value: int = self.take(key, int, what="a whole number")
        return value

    def choice(self, key: str, allowed: Iterable[str]) -> str:
        value, known = self.text(key), tuple(allowed)
        if value not in known:
            raise CapsuleRefused(f"manifest.json: {self._name(key)} is {value!a}, not one of {', '.join(known)}")
        return value

    def items(self, key: str) -> list[Any]:
        value: list[Any] = self.take(key, list, what="a list")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        return _texts(self.items(key), self._name(key))

    def names(self, key: str) -> frozenset[str]:
        """A set, written as the sorted list that it must be."""
        value = self.texts(key)
        if list(value) != sorted(set(value)):
            raise CapsuleRefused(f"manifest.json: {self._name(key)} must be sorted, with nothing twice")
        return frozenset(value)

    def fields(self, key: str) -> _Fields:
        return _Fields(self.take(key, dict, what="an object"), self._name(key))

    def optional_fields(self, key: str) -> _Fields | None:
        return self.fields(key) if key in self._left else None

    def each(self, key: str) -> list[_Fields]:
        return [_Fields(item, f"{self._name(key)}[{number}]") for number, item in enumerate(self.items(key))]

    def conditions(self, key: str) -> Conditions:
        value = self.take(key, dict, what="an object")
        try:
            found = Conditions.from_json(value)
        except ValueError as error:
            raise CapsuleRefused(f"manifest.json: {self._name(key)}: {_plain(str(error))}") from None
        if missing := set(found.to_json()) - set(value):
            raise CapsuleRefused(f"manifest.json: {self._name(key)}.{min(missing)} is missing")
        return found

    def rest(self) -> dict[str, Any]:
        """All keys that are left."""
        left, self._left = self._left, {}
        return left

    def done(self) -> None:
        if self._left:
            raise CapsuleRefused(f"manifest.json: unknown key {self._name(_plain(min(self._left)))}")

    def _name(self, key: str) -> str:
        return f"{self._where}.{key}" if self._where else key


def _texts(items: list[Any], where: str) -> tuple[str, ...]:
    if not all(type(item) is str for item in items):
        raise CapsuleRefused(f"manifest.json: {where} must be a list of texts")
    return tuple(items)


def _lanes(items: list[Any]) -> tuple[tuple[str, ...], ...]:
    if not all(type(item) is list for item in items):
        raise CapsuleRefused("manifest.json: partners must be a list of lists of texts")
    return tuple(_texts(item, "partners") for item in items)


def _manifest(root: _Fields) -> Manifest:
    return Manifest(
        created_at=root.text("created_at"),
        producer=_producer(root.fields("producer")),
        project=_project(root.fields("project")),
        tests=root.texts("tests"),
        victim=root.text("victim"),
        partners=_lanes(root.items("partners")),
        pytest_args=root.texts("pytest_args"),
        invocation=root.optional_choice("invocation", INVOCATIONS),
        proof=_proof(root.optional_fields("proof")),
        mutant=_mutant(root.optional_fields("mutant")),
        conditions=root.conditions("conditions"),
        expected=_expected(root.fields("expected")),
        cause=_cause(root.fields("cause")),
        determinism=_determinism(root.fields("determinism")),
        sandbox=_sandbox(root.fields("sandbox")),
        redaction=_redaction(root.fields("redaction")),
        provenance=_provenance(root.fields("provenance")),
        signature=root.optional_text("signature"),
    )


def _producer(of: _Fields) -> Producer:
    found = Producer(name=of.text("name"), version=of.text("version"))
    of.done()
    return found


def _project(of: _Fields) -> Project:
    found = Project(
        repository=of.text("repository"), commit=of.text("commit"), dirty=of.flag("dirty"), root=of.text("root")
    )
    of.done()
    return found


def _expected(of: _Fields) -> Expected:
    found = Expected(
        outcome=Outcome(of.choice("outcome", Outcome)),
        fingerprint=of.text("fingerprint"),
        message=of.text("message"),
        type=of.text("type"),
    )
    of.done()
    return found


def _cause(of: _Fields) -> Cause:
    found = Cause(
        axis=of.take("axis", str, type(None), what="a text or null"),
        detail=of.text("detail"),
        role=of.choice("role", _ROLES),
        others=of.texts("others"),
        table=tuple(map(_intervention, of.each("interventions"))),
    )
    of.done()
    return found


def _intervention(of: _Fields) -> Intervention:
    found = Intervention(
        what=of.text("what"),
        conditions=of.conditions("conditions"),
        tests=of.texts("tests"),
        failed=of.count("failed"),
        of=of.count("of"),
    )
    of.done()
    return found


def _determinism(of: _Fields) -> Determinism:
    verified = of.fields("verified")
    found = Determinism(
        level=of.choice("level", LEVELS),
        not_controlled=of.texts("not_controlled"),
        verified=Verified(k=verified.count("k"), of=verified.count("of")),
        pinned=of.flag("pinned"),
        rate=of.take("rate", int, float, type(None), what="a number or null"),
        why=of.text("why"),
    )
    verified.done()
    of.done()
    return found


def _sandbox(of: _Fields) -> Sandbox:
    found = Sandbox(name=of.text("name"), hermetic=of.flag("hermetic"))
    of.done()
    return found


def _redaction(of: _Fields) -> Redaction:
    policy, counts = of.text("policy"), of.fields("counts").rest()
    of.done()
    for kind, number in counts.items():
        if type(number) is not int or number < 0:
            raise CapsuleRefused(f"manifest.json: redaction.counts.{_plain(kind)} must be a whole number")
    return Redaction(policy=policy, counts=counts)


def _provenance(of: _Fields) -> Provenance:
    found = Provenance(seed=of.count("seed"), run=of.count("run"))
    of.done()
    return found


def _proof(of: _Fields | None) -> Proof | None:
    if of is None:
        return None
    overlay, head, lenient = of.fields("overlay"), of.fields("head"), of.fields("lenient")
    found = Proof(
        base=of.text("base"),
        reason=ReasonCode(of.choice("reason", REASONS)),
        files=tuple(map(_laid_file, overlay.each("files"))),
        texts=tuple(map(_laid_text, overlay.each("texts"))),
        removed=overlay.texts("removed"),
        passed=head.count("passed"),
        of=head.count("of"),
        environment=of.text("environment"),
        own_environment=of.flag("own_environment"),
        import_roots=of.texts("import_roots"),
        lenient=_lenient(lenient),
        test_seconds=of.count("test_seconds"),
    )
    for part in (overlay, head, lenient, of):
        part.done()
    return found


def _lenient(of: _Fields) -> Lenient:
    tests = of.names("tests") if of.has("tests") else frozenset[str]()
    return Lenient(modules=of.names("modules"), symbols=of.names("symbols"), tests=tests)


def _mutant(of: _Fields | None) -> Survivor | None:
    if of is None:
        return None
    patch = of.fields("patch")
    found = Survivor(
        id=of.text("id"),
        file=of.text("file"),
        sha256=of.text("sha256"),
        patch=Patch(line=patch.count("line"), removed=patch.texts("removed"), added=patch.texts("added")),
        operator=of.text("operator"),
        qualname=of.text("qualname"),
        original=of.text("original"),
        mutated=of.text("mutated"),
        hint=of.text("hint"),
        import_roots=of.texts("import_roots"),
        test_seconds=of.count("test_seconds"),
    )
    patch.done()
    of.done()
    return found


def _laid_file(of: _Fields) -> LaidFile:
    found = LaidFile(path=of.text("path"), mode=of.choice("mode", FILE_MODES), sha=of.text("sha"))
    of.done()
    return found


def _laid_text(of: _Fields) -> LaidText:
    found = LaidText(path=of.text("path"), text=of.text("text"))
    of.done()
    return found


def _check(manifest: Manifest) -> None:
    """Refuse what is well formed and cannot be."""
    verified, rate = manifest.determinism.verified, manifest.determinism.rate
    ids = (*manifest.tests, *(test for lane in manifest.partners for test in lane))
    rules = (
        (not _COMMIT.fullmatch(manifest.project.commit), "project.commit must be hexadecimal or empty"),
        (not _ROOT.fullmatch(manifest.project.root), "project.root must be a relative path without '..'"),
        (not all(_TEST_ID.fullmatch(test) for test in ids), "a test's id must not be empty or start with '-'"),
        (not _INSTANT.fullmatch(manifest.created_at), "created_at must be a date and time as in RFC 3339"),
        (manifest.victim not in manifest.tests, "tests must hold the victim"),
        (not 0 <= verified.k <= verified.of, "determinism.verified must have 0 <= k <= of"),
        (rate is not None and not (math.isfinite(rate) and 0 <= rate <= 1), "determinism.rate must be from 0 to 1"),
        (
            any(not 0 <= row.failed <= row.of for row in manifest.cause.table),
            "cause.interventions must have 0 <= failed <= of",
        ),
        *_rules_of_mutant(manifest),
        *_rules_of_proof(manifest),
    )
    for broken, rule in rules:
        if broken:
            raise CapsuleRefused(f"manifest.json: {rule}")
    try:
        manifest.to_bytes()
    except ValueError as error:
        raise CapsuleRefused(f"manifest.json: a text is not valid Unicode: {_plain(str(error))}") from None


def _rules_of_proof(manifest: Manifest) -> Iterable[tuple[bool, str]]:
    proof = manifest.proof
    if proof is None:
        return ()
    problem = proof.problem()
    return (
        (bool(problem), problem),
        (not is_commit(manifest.project.commit), "project.commit must be the full name of head in a proof"),
        (not manifest.expected.outcome.bad, "expected.outcome must be a failure in a proof"),
        (bool(manifest.partners), "partners must be empty in a proof"),
        (manifest.tests[-1:] != (manifest.victim,), "the victim must be the last of a proof's tests"),
    )


def _rules_of_mutant(manifest: Manifest) -> Iterable[tuple[bool, str]]:
    mutant = manifest.mutant
    if mutant is None:
        return ()
    problem = mutant.problem()
    return (
        (bool(problem), problem),
        (manifest.proof is not None, "a capsule holds a proof or a mutant, not both"),
        (
            manifest.expected != Expected(outcome=Outcome.PASSED),
            "expected must be passed, with no failure, for a mutant",
        ),
        (not manifest.determinism.pinned, "the capsule of a mutant must be pinned"),
        (bool(manifest.partners), "partners must be empty for a mutant"),
        (manifest.tests[-1:] != (manifest.victim,), "the victim must be the last of a mutant's tests"),
        (len(set(manifest.tests)) < len(manifest.tests), "a mutant's tests must be there once each"),
        (
            any(axis != "network" for axis in manifest.conditions.differences(Conditions.baseline())),
            "conditions must be neutral for a mutant",
        ),
    )
