"""manifest.json: canonical when written, strict when read, and as docs/capsule.schema.json says."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.capsule.literals import VOCABULARY, worth_hiding
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
    canonical,
)
from repro_gate.capsule.proof import FILE_MODES, REASONS, LaidFile, LaidText, Proof
from repro_gate.capsule.reading import parse
from repro_gate.capsule.survivor import Patch, Survivor, digest, source_text
from repro_gate.errors import CapsuleRefused
from repro_gate.experiment import encoded
from repro_gate.model import AXES, Cause, Conditions, Intervention, Lenient, Outcome, ReasonCode
from repro_gate_pytest.checkout import NoReplay
from repro_gate_pytest.replay_mutant import patched

DOCUMENT = json.loads((Path(__file__).parents[2] / "docs" / "capsule.schema.json").read_text(encoding="utf-8"))
PUBLISHED = jsonschema.Draft202012Validator(DOCUMENT)

VICTIM = "tests/test_shop.py::test_total"
EXAMPLE = Manifest(
    created_at="2026-02-28T23:59:59Z",
    producer=Producer(name="repro-gate", version="0.1.0"),
    project=Project(repository="https://example.org/shop.git", commit="0123456789abcdef", dirty=False, root="backend"),
    tests=("tests/test_shop.py::test_state", VICTIM),
    victim=VICTIM,
    partners=(("tests/test_shop.py::test_other",), ()),
    pytest_args=("-p", "no:cacheprovider"),
    conditions=Conditions(hash_seed=3, order="list"),
    expected=Expected(outcome=Outcome.FAILED, fingerprint="ab12", message="1 != 2", type="AssertionError"),
    cause=Cause(
        axis="order",
        detail="fails after test_state",
        role="victim",
        others=("tests/test_shop.py::test_state",),
        table=(Intervention(what="alone", conditions=Conditions(), tests=(VICTIM,), failed=0, of=5),),
    ),
    determinism=Determinism(
        level="D1", not_controlled=("thread schedule",), verified=Verified(k=5, of=5), pinned=True, rate=0.5
    ),
    sandbox=Sandbox(name="bubblewrap", hermetic=True),
    redaction=Redaction(policy="repro-gate/redact/v1", counts={"jwt": 2}),
    provenance=Provenance(seed=7, run=12),
)

PROVED = dataclasses.replace(
    EXAMPLE,
    project=dataclasses.replace(EXAMPLE.project, commit="f" * 40),
    partners=(),
    proof=Proof(
        base="0" * 40,
        reason=ReasonCode.ASSERTION,
        files=(LaidFile(path="tests/test_shop.py", mode="100644", sha="a" * 40),),
        texts=(LaidText(path="pyproject.toml", text="[tool.pytest]\n"),),
        removed=("tests/test_old.py", "tests/test_shop.py"),
        passed=5,
        of=5,
        environment="3.11.7 python3",
        import_roots=("src", ""),
        lenient=Lenient(modules=frozenset({"shop.new"}), symbols=frozenset({"shop.price:total", "shop:Cart.add"})),
        test_seconds=10,
    ),
)


SURVIVED = dataclasses.replace(
    EXAMPLE,
    partners=(),
    conditions=Conditions(),
    expected=Expected(outcome=Outcome.PASSED),
    mutant=Survivor(
        id="0123456789ab",
        file="shop/size.py",
        sha256="c" * 64,
        patch=Patch(line=5, removed=("    return x < 3\r",), added=("    return x <= 3\r",)),
        operator="boundary",
        qualname="small",
        original="x < 3",
        mutated="x <= 3",
        hint="a value where `x == 3` would tell them apart",
        import_roots=("src",),
        test_seconds=120,
    ),
)


def seal(value: dict[str, Any]) -> bytes:
    """As JSON whose id is that of its content, so that an id is never why it is refused."""
    body = {key: item for key, item in value.items() if key not in ("id", "signature")}
    raw = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return json.dumps({**value, "id": hashlib.sha256(raw.encode("utf-8")).hexdigest()[:16]}).encode("utf-8")


def refusal(data: bytes) -> str:
    with pytest.raises(CapsuleRefused) as refused:
        parse(data)
    assert str(refused.value).isprintable()
    return str(refused.value)


# --- writing ---------------------------------------------------------------------------------


def test_a_manifest_comes_back_as_it_was() -> None:
    assert parse(EXAMPLE.to_bytes()) == EXAMPLE
    assert parse(PROVED.to_bytes()) == PROVED
    assert parse(SURVIVED.to_bytes()) == SURVIVED
    PUBLISHED.validate(SURVIVED.to_json())
    signed = dataclasses.replace(EXAMPLE, signature="someone's")
    assert parse(signed.to_bytes()) == signed


def test_the_canonical_form_is_sorted_tight_and_utf_8() -> None:
    assert canonical({"b": [1, 2.5, None], "a": "\u00e9\u2028"}) == '{"a":"\u00e9\u2028","b":[1,2.5,null]}'.encode()
    for bad in (float("nan"), float("inf"), "\ud800"):
        with pytest.raises(ValueError, match=r"JSON|utf-8"):
            canonical(bad)


def test_the_id_is_the_hash_of_everything_but_itself_and_the_signature() -> None:
    body = {key: item for key, item in EXAMPLE.to_json().items() if key != "id"}
    digest = hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
    assert EXAMPLE.capsule_id() == EXAMPLE.id == digest[:16]
    assert dataclasses.replace(EXAMPLE, signature="x").id == EXAMPLE.id
    assert dataclasses.replace(EXAMPLE, created_at="2026-03-01T00:00:00Z").id != EXAMPLE.id


def test_a_capsule_that_does_not_say_how_pytest_was_started_keeps_its_id_and_its_path() -> None:
    assert "invocation" not in EXAMPLE.to_json()
    assert EXAMPLE.cwd_on_path
    paths = {how: dataclasses.replace(EXAMPLE, invocation=how).cwd_on_path for how in INVOCATIONS}
    assert paths == {"python -m pytest": True, "pytest": False}


# --- reading ---------------------------------------------------------------------------------


def test_a_changed_manifest_is_refused_by_its_id() -> None:
    changed = EXAMPLE.to_bytes().replace(b'"seed":7', b'"seed":8')
    assert "it was changed" in refusal(changed)


def test_a_key_that_is_there_twice_is_refused() -> None:
    assert "'victim' is there twice" in refusal(b'{"victim": 1, "victim": 2}')


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b"[]", b"null", b'"x"', b'{"a": NaN}', b'{"a": -Infinity}', b"[" * 100_000, b"9" * 10_000],
)
def test_what_is_not_strict_json_is_refused(data: bytes) -> None:
    assert "manifest.json" in refusal(data)
    assert b"N" not in data or "NaN is not JSON" in refusal(data)


@pytest.mark.parametrize("version", ["v2", "v17"])
def test_a_later_format_says_which_version_reads_it_not(version: str) -> None:
    data = EXAMPLE.to_bytes().replace(b"capsule/v1", f"capsule/{version}".encode())
    assert f"format {version}; this version of repro-gate reads v1" in refusal(data)


@pytest.mark.parametrize("schema", ["", "repro-gate/capsule/v1.5", "repro-gate/report/v1", "x\u001b[2J"])
def test_an_unknown_schema_is_refused(schema: str) -> None:
    assert "unknown schema" in refusal(seal({**EXAMPLE.to_json(), "schema": schema}))


def test_a_number_that_json_has_and_no_float_can_hold_is_refused() -> None:
    assert "rate" in refusal(seal(EXAMPLE.to_json()).replace(b'"rate": 0.5', b'"rate": 1e999'))


def test_a_text_that_is_no_unicode_is_refused() -> None:
    assert "not valid Unicode" in refusal(EXAMPLE.to_bytes().replace(b"1 != 2", b"\\ud800"))


Change = Callable[[dict[str, Any]], object]
# A change, what the refusal names, and whether a schema can say it too.
BROKEN: list[tuple[Change, str, bool]] = [
    (lambda m: m.update(extra=1), "unknown key extra", True),
    (lambda m: m["project"].update(extra=1), "unknown key project.extra", True),
    (lambda m: m["cause"]["interventions"][0].update(extra=1), "unknown key cause.interventions[0].extra", True),
    (lambda m: m["determinism"]["verified"].update(extra=1), "unknown key determinism.verified.extra", True),
    (lambda m: m["conditions"].update(moon="full"), "moon", True),
    (lambda m: m["conditions"].pop("clock"), "conditions.clock is missing", True),
    (lambda m: m["conditions"].update(clock=5), "conditions: condition 'clock' must be str", True),
    (lambda m: m["conditions"].update({"hash-seed": True}), "hash-seed", True),
    (lambda m: m.pop("victim"), "victim is missing", True),
    (lambda m: m["determinism"]["verified"].pop("of"), "determinism.verified.of is missing", True),
    (lambda m: m["determinism"].update(level="D5"), "determinism.level is 'D5', not one of D0", True),
    (lambda m: m["determinism"].update(pinned=1), "determinism.pinned must be true or false", True),
    (lambda m: m["determinism"].update(rate=True), "determinism.rate must be a number or null", True),
    (lambda m: m["determinism"].update(rate=1.01), "determinism.rate must be from 0 to 1", True),
    (lambda m: m["determinism"].update(rate="half"), "determinism.rate", True),
    (lambda m: m["determinism"]["verified"].update(k=6), "0 <= k <= of", False),
    (lambda m: m["determinism"]["verified"].update(k=-1), "0 <= k <= of", True),
    (lambda m: m["cause"].update(axis=3), "cause.axis must be a text or null", True),
    (lambda m: m["cause"].update(role="bystander"), "cause.role", True),
    (lambda m: m["cause"]["interventions"][0].update(failed=6), "failed <= of", False),
    (lambda m: m["cause"].update(interventions=[1]), "cause.interventions[0] must be an object", True),
    (lambda m: m["expected"].update(outcome="exploded"), "expected.outcome", True),
    (lambda m: m["expected"].update(message=None), "expected.message must be a text", True),
    (lambda m: m["project"].update(dirty="no"), "project.dirty", True),
    (lambda m: m["project"].update(commit="HEAD"), "project.commit must be hexadecimal", True),
    (lambda m: m["project"].update(commit="--upload-pack=x"), "project.commit", True),
    (lambda m: m["project"].update(root="../other"), "project.root must be a relative path", True),
    (lambda m: m["project"].update(root="a/../../b"), "project.root", True),
    (lambda m: m["project"].update(root="/etc"), "project.root", True),
    (lambda m: m["project"].update(root="C:\\x"), "project.root", True),
    (lambda m: m["provenance"].update(seed=7.5), "provenance.seed must be a whole number", True),
    (lambda m: m["redaction"]["counts"].update(jwt=-1), "redaction.counts.jwt", True),
    (lambda m: m["redaction"]["counts"].update(jwt="2"), "redaction.counts.jwt", True),
    (lambda m: m.update(created_at="yesterday"), "created_at must be a date", True),
    (lambda m: m.update(created_at="2026-02-28T23:59:59"), "created_at", True),
    (lambda m: m.update(tests="all"), "tests must be a list", True),
    (lambda m: m.update(tests=[]), "tests must hold the victim", True),
    (lambda m: m.update(tests=[1, VICTIM]), "tests must be a list of texts", True),
    (lambda m: m.update(tests=["--collect-only", VICTIM]), "a test's id must not be empty or start with '-'", True),
    (lambda m: m.update(tests=["", VICTIM]), "a test's id", True),
    (lambda m: m.update(victim="tests/test_other.py::test"), "tests must hold the victim", False),
    (lambda m: m.update(partners=["a"]), "partners must be a list of lists", True),
    (lambda m: m.update(partners=[["-x"]]), "a test's id", True),
    (lambda m: m.update(pytest_args=[1]), "pytest_args must be a list of texts", True),
    (lambda m: m.update(invocation="make test"), "invocation is 'make test', not one of python -m pytest", True),
    (lambda m: m.update(invocation=""), "invocation", True),
    (lambda m: m.update(signature=1), "signature must be a text", True),
    (lambda m: m.update(sandbox=[]), "sandbox must be an object", True),
    (lambda m: m.update(schema=1), "schema must be a text", True),
]


# The same for the manifest of a proof.
BROKEN_PROOF: list[tuple[Change, str, bool]] = [
    (lambda m: m["proof"].update(extra=1), "unknown key proof.extra", True),
    (lambda m: m["proof"].pop("base"), "proof.base is missing", True),
    (lambda m: m["proof"].update(base="main"), "proof.base must be the full name", True),
    (lambda m: m["proof"].update(base="0" * 39), "proof.base", True),
    (lambda m: m["proof"].update(base="--upload-pack=x"), "proof.base", True),
    (lambda m: m["proof"].update(reason="passes_on_base"), "proof.reason is 'passes_on_base', not one of", True),
    (lambda m: m["proof"]["overlay"]["files"][0].update(mode="160000"), "proof.overlay.files[0].mode", True),
    (lambda m: m["proof"]["overlay"]["files"][0].update(sha="HEAD"), "a sha of proof.overlay", True),
    (lambda m: m["proof"]["overlay"]["files"][0].update(extra=1), "proof.overlay.files[0].extra", True),
    (lambda m: m["proof"]["overlay"]["texts"][0].update(path="/etc/passwd"), "a path of proof.overlay", True),
    (lambda m: m["proof"]["overlay"].update(removed=["a/../../b"]), "a path of proof.overlay", True),
    (lambda m: m["proof"]["overlay"].update(removed=["a/.GIT/hooks/x"]), "a path of proof.overlay", True),
    (lambda m: m["proof"]["overlay"].update(removed=["a//b"]), "a path of proof.overlay", True),
    (lambda m: m["proof"]["overlay"].update(removed=["a/./b"]), "a path of proof.overlay", True),
    (lambda m: m["proof"]["overlay"].update(removed=[""]), "a path of proof.overlay", True),
    (lambda m: m["proof"]["overlay"]["texts"][0].update(path="tests/test_shop.py"), "a path twice", False),
    (lambda m: m["proof"]["head"].update(passed=6), "0 <= passed <= of", False),
    (lambda m: m["proof"]["head"].update(passed=-1), "0 <= passed <= of", True),
    (lambda m: m["proof"].update(own_environment=0), "proof.own_environment must be true or false", True),
    (lambda m: m["proof"].update(import_roots=["../x"]), "proof.import_roots", True),
    (lambda m: m["proof"]["lenient"].update(modules=["a", "a"]), "nothing twice", True),
    (lambda m: m["proof"]["lenient"].update(modules=["b", "a"]), "must be sorted", False),
    (lambda m: m["proof"]["lenient"].update(modules=["a b"]), "proof.lenient.modules must be names", True),
    (lambda m: m["proof"]["lenient"].update(symbols=["a.b"]), "proof.lenient.symbols", True),
    (lambda m: m["proof"]["lenient"].update(tests=["a.py"]), "proof.lenient.tests", True),
    (lambda m: m["proof"].update(test_seconds=0), "proof.test_seconds", True),
    (lambda m: m["project"].update(commit="f" * 12), "project.commit must be the full name of head", False),
    (lambda m: m["expected"].update(outcome="passed"), "expected.outcome must be a failure", False),
    (lambda m: m.update(partners=[[VICTIM]]), "partners must be empty in a proof", False),
    (lambda m: m.update(tests=m["tests"][::-1]), "the victim must be the last of a proof's tests", False),
    (lambda m: m.update(proof=None), "proof must be an object", True),
]


@pytest.mark.parametrize("example", [EXAMPLE, PROVED])
def test_the_unbroken_example_is_accepted_by_both(example: Manifest) -> None:
    sealed = seal(example.to_json())
    assert parse(sealed) == example
    PUBLISHED.validate(json.loads(sealed))


@pytest.mark.parametrize(("change", "named", "in_schema"), BROKEN_PROOF)
def test_a_broken_proof_is_refused_by_name(change: Change, named: str, in_schema: bool) -> None:
    value = copy.deepcopy(PROVED.to_json())
    change(value)
    assert named in refusal(seal(value))
    assert PUBLISHED.is_valid(json.loads(seal(value))) is not in_schema


@pytest.mark.parametrize(("change", "named", "in_schema"), BROKEN)
def test_a_broken_manifest_is_refused_by_name(change: Change, named: str, in_schema: bool) -> None:
    value = copy.deepcopy(EXAMPLE.to_json())
    change(value)
    assert named in refusal(seal(value))
    assert PUBLISHED.is_valid(json.loads(seal(value))) is not in_schema


# --- the published schema --------------------------------------------------------------------

TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
TEST = st.from_regex(r"[a-z]{1,5}\.py::test_[a-z0-9]{1,5}(\[[^\x00]{0,5}\])?", fullmatch=True).filter(
    lambda text: text.isprintable()
)
COUNT = st.integers(min_value=0, max_value=2**70)
CONDITIONS = st.builds(
    Conditions,
    hash_seed=st.integers(),
    order=TEXT,
    clock=TEXT,
    parallel=st.integers(),
    environment=TEXT,
    network=TEXT,
)


@st.composite
def intervention(draw: st.DrawFn) -> Intervention:
    of = draw(COUNT)
    return Intervention(
        what=draw(TEXT),
        conditions=draw(CONDITIONS),
        tests=tuple(draw(st.lists(TEST, max_size=2))),
        failed=draw(st.integers(0, of)),
        of=of,
    )


PATH = st.from_regex(r"[a-z .]{0,3}[a-z]{1,3}(/[a-z]{1,3}\.py)?", fullmatch=True)
SHA = st.sampled_from(["1" * 40, "b" * 64])
NAMES = st.frozensets(st.sampled_from(["a", "a.b", "c_1"]))


@st.composite
def proof(draw: st.DrawFn) -> Proof:
    of = draw(COUNT)
    paths = draw(st.lists(PATH, max_size=4, unique=True))
    return Proof(
        base=draw(SHA),
        reason=draw(st.sampled_from(REASONS)),
        files=tuple(LaidFile(path=p, mode=draw(st.sampled_from(FILE_MODES)), sha=draw(SHA)) for p in paths[:2]),
        texts=tuple(LaidText(path=p, text=draw(TEXT)) for p in paths[2:]),
        removed=tuple(draw(st.lists(PATH, max_size=2))),
        passed=draw(st.integers(0, of)),
        of=of,
        environment=draw(TEXT),
        own_environment=draw(st.booleans()),
        import_roots=tuple(draw(st.lists(st.sampled_from(["", "src", "a/b"]), max_size=2))),
        lenient=Lenient(
            modules=draw(NAMES),
            symbols=frozenset(f"{name}:x" for name in draw(NAMES)),
            tests=frozenset(f"tests/test_a.py::{name}" for name in draw(NAMES)),
        ),
        test_seconds=draw(st.integers(1, 86_400)),
    )


@st.composite
def manifest(draw: st.DrawFn) -> Manifest:
    tests = draw(st.lists(TEST, min_size=1, max_size=4))
    of = draw(COUNT)
    proved = draw(st.none() | proof())
    commits = ["f" * 40, "a" * 64] if proved else ["", "0" * 7, "f" * 40, "a" * 64]
    lanes = st.lists(st.lists(TEST, max_size=2), max_size=0 if proved else 2)
    return Manifest(
        proof=proved,
        created_at=draw(st.datetimes()).isoformat() + draw(st.sampled_from(["Z", "+05:30", "-11:00"])),
        producer=Producer(name=draw(TEXT), version=draw(TEXT)),
        project=Project(
            repository=draw(TEXT),
            commit=draw(st.sampled_from(commits)),
            dirty=draw(st.booleans()),
            root=draw(st.sampled_from(["", "a", "a/b..c", "..a", "a b"])),
        ),
        tests=tuple(tests),
        victim=tests[-1] if proved else draw(st.sampled_from(tests)),
        partners=tuple(map(tuple, draw(lanes))),
        pytest_args=tuple(draw(st.lists(TEXT, max_size=3))),
        conditions=draw(CONDITIONS),
        expected=draw(
            st.builds(
                Expected,
                outcome=st.sampled_from([o for o in Outcome if o.bad or not proved]),
                fingerprint=TEXT,
                message=TEXT,
                type=TEXT,
            )
        ),
        cause=Cause(
            axis=draw(st.none() | st.sampled_from(AXES)),
            detail=draw(TEXT),
            role=draw(st.sampled_from(["", "victim", "brittle"])),
            others=tuple(draw(st.lists(TEST, max_size=2))),
            table=tuple(draw(st.lists(intervention(), max_size=2))),
        ),
        determinism=Determinism(
            level=draw(st.sampled_from(LEVELS)),
            not_controlled=tuple(draw(st.lists(TEXT, max_size=2))),
            verified=Verified(k=draw(st.integers(0, of)), of=of),
            pinned=draw(st.booleans()),
            rate=draw(st.none() | st.floats(0, 1)),
            why=draw(TEXT),
        ),
        sandbox=Sandbox(name=draw(TEXT), hermetic=draw(st.booleans())),
        redaction=Redaction(policy=draw(TEXT), counts=draw(st.dictionaries(TEXT, COUNT, max_size=2))),
        provenance=Provenance(seed=draw(st.integers()), run=draw(st.integers())),
        invocation=draw(st.sampled_from(["", *INVOCATIONS])),
        signature=draw(TEXT),
    )


@settings(deadline=None)
@given(manifest())
def test_every_manifest_comes_back_and_is_as_the_schema_says(made: Manifest) -> None:
    assert parse(made.to_bytes()) == made
    PUBLISHED.validate(json.loads(made.to_bytes()))


def objects(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all objects in a JSON value."""
    found = [path] if isinstance(value, dict) else []
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        found += objects(item, (*path, key))
    return found


@settings(deadline=None)
@given(st.data(), st.sampled_from(["drop", "add", "retype"]), st.sampled_from([EXAMPLE, PROVED]))
def test_a_mutation_is_refused_by_the_code_and_by_the_schema(data: st.DataObject, kind: str, example: Manifest) -> None:
    value = copy.deepcopy(example.to_json())
    path = data.draw(st.sampled_from([p for p in objects(value) if p != ("redaction", "counts")]))
    target: Any = value
    for step in path:
        target = target[step]
    key = data.draw(st.sampled_from(sorted(set(target) - ({"id"} if kind != "drop" else {"id", "proof"}))))
    if kind == "drop":
        del target[key]
    elif kind == "add":
        target[
            data.draw(
                TEXT.filter(
                    lambda text: text not in target and text not in ("id", "signature", "proof", "mutant", "invocation")
                )
            )
        ] = 1
    else:
        other = [[1.5], {"x": 1.5}, 1.5, "\u2603", None, True]
        same = (
            (int, float, type(None)) if key == "rate" else (str, type(None)) if key == "axis" else (type(target[key]),)
        )
        target[key] = data.draw(st.sampled_from([item for item in other if type(item) not in same]))
    sealed = seal(value)
    refusal(sealed)
    assert not PUBLISHED.is_valid(json.loads(sealed))


def test_the_schema_knows_the_same_words_as_the_code() -> None:
    assert DOCUMENT["properties"]["schema"]["const"] == DOCUMENT["$id"] == SCHEMA
    assert set(DOCUMENT["required"]) | {"invocation", "proof", "mutant", "signature"} == set(DOCUMENT["properties"])
    written = SURVIVED.to_json()["mutant"]
    assert (
        set(DOCUMENT["$defs"]["mutant"]["required"]) == set(DOCUMENT["$defs"]["mutant"]["properties"]) == set(written)
    )
    assert set(DOCUMENT["$defs"]["mutant"]["properties"]["patch"]["properties"]) == set(written["patch"])
    assert DOCUMENT["properties"]["invocation"]["enum"] == list(INVOCATIONS)
    assert set(DOCUMENT["required"]) == set(EXAMPLE.to_json())
    published = DOCUMENT["$defs"]["proof"]["properties"]
    assert set(DOCUMENT["$defs"]["proof"]["required"]) == set(published) == set(PROVED.to_json()["proof"])
    assert published["reason"]["enum"] == [str(reason) for reason in REASONS]
    assert published["overlay"]["properties"]["files"]["items"]["properties"]["mode"]["enum"] == list(FILE_MODES)
    assert DOCUMENT["$defs"]["conditions"]["required"] == list(Conditions().to_json())
    assert DOCUMENT["properties"]["determinism"]["properties"]["level"]["enum"] == list(LEVELS)
    assert DOCUMENT["properties"]["expected"]["properties"]["outcome"]["enum"] == [str(o) for o in Outcome]


def test_no_word_of_the_format_can_be_a_literal_to_redact() -> None:
    keys = {str(step) for path in objects(PROVED.to_json()) for step in path} | set(PROVED.to_json())
    for path in objects(PROVED.to_json()):
        target: Any = PROVED.to_json()
        for step in path:
            target = target[step]
        keys |= set(target)
    keys.add("invocation")
    assert not [
        key for key in keys | set(AXES) | {str(o) for o in Outcome} | {str(r) for r in REASONS} if worth_hiding(key)
    ]
    assert VOCABULARY


# --- the mutant of a survivor ----------------------------------------------------------------

BROKEN_MUTANTS = (
    (lambda m: m["mutant"].update(extra=1), "unknown key mutant.extra", True),
    (lambda m: m["mutant"]["patch"].update(extra=1), "unknown key mutant.patch.extra", True),
    (lambda m: m["mutant"].pop("sha256"), "mutant.sha256 is missing", True),
    (lambda m: m["mutant"].update(sha256="C" * 64), "mutant.sha256 must be 64 hexadecimal digits", True),
    (lambda m: m["mutant"].update(id="../x"), "mutant.id", True),
    (lambda m: m["mutant"].update(file="../shop/size.py"), "mutant.file must stay in the tree", True),
    (lambda m: m["mutant"].update(file="/etc/passwd"), "mutant.file must stay in the tree", True),
    (lambda m: m["mutant"].update(file=".git/hooks/pre-commit"), "mutant.file must stay in the tree", True),
    (lambda m: m["mutant"]["patch"].update(line=0), "mutant.patch.line must be at least 1", True),
    (lambda m: m["mutant"]["patch"].update(added=["a\nb"]), "a line of mutant.patch must be one line", True),
    (lambda m: m["mutant"]["patch"].update(added=m["mutant"]["patch"]["removed"]), "must change something", False),
    (lambda m: m["mutant"].update(import_roots=["../x"]), "mutant.import_roots", True),
    (lambda m: m["mutant"].update(test_seconds=0), "mutant.test_seconds", True),
    (lambda m: m["expected"].update(outcome="failed"), "expected must be passed", False),
    (lambda m: m["determinism"].update(pinned=False), "must be pinned", False),
    (lambda m: m.update(partners=[[VICTIM]]), "partners must be empty for a mutant", False),
    (lambda m: m.update(tests=m["tests"][::-1]), "the victim must be the last of a mutant's tests", False),
    (lambda m: m.update(tests=[VICTIM, VICTIM]), "a mutant's tests must be there once each", False),
    (lambda m: m["conditions"].update(timezone="Asia/Tokyo"), "conditions must be neutral for a mutant", False),
    (lambda m: m.update(proof=PROVED.to_json()["proof"]), "not both", False),
    (lambda m: m.update(mutant=None), "mutant must be an object", True),
)


@pytest.mark.parametrize(("change", "named", "in_schema"), BROKEN_MUTANTS)
def test_a_broken_mutant_is_refused_by_name(change: Change, named: str, in_schema: bool) -> None:
    value = json.loads(SURVIVED.to_bytes())
    change(value)
    assert named in refusal(seal(value))
    assert not in_schema or not PUBLISHED.is_valid(value)


LINES = st.text(st.sampled_from("ab\n\r é"), max_size=30)


@given(before=LINES, after=LINES)
def test_a_patch_between_two_texts_makes_one_of_the_other_in_both_programs(before: str, after: str) -> None:
    patch = Patch.between(before, after)
    assert patch.applied(before) == after
    told = {"line": patch.line, "removed": list(patch.removed), "added": list(patch.added)}
    assert patched(before.encode("utf-8"), told) == after.encode("utf-8")


@pytest.mark.parametrize(
    ("encoding", "letters"),
    [
        ("latin-1", "ab\n\r é"),
        ("cp1252", "ab\n €"),
        ("shift_jis", "a\n 表ソ"),
        ("iso2022_jp", "a\n 表ソ"),
        ("utf-8-sig", "aé\n"),
    ],
)
@given(data=st.data())
def test_a_patch_of_a_file_in_any_encoding_is_the_same_in_both_programs(
    encoding: str, letters: str, data: st.DataObject
) -> None:
    lines = st.text(st.sampled_from(letters), max_size=20)
    coding = f"# coding: {encoding.removesuffix('-sig')}\n"
    old, new = ((coding + data.draw(lines)).encode(encoding) for _ in range(2))
    assert SURVIVED.mutant is not None
    before, after = source_text(old), source_text(new)
    assert before is not None
    assert after is not None
    mutant = dataclasses.replace(SURVIVED.mutant, sha256=digest(old), patch=Patch.between(before, after))
    assert mutant.texts(old) == (before, after)
    assert encoded(after) == patched(old, mutant.to_json()["patch"]) == new


@pytest.mark.parametrize("content", [b"x = '\xe9'\n", b"# coding: none-such\n\xff\n", b"# coding: ascii\n\xe9\n"])
def test_a_file_that_is_no_text_in_its_encoding_is_refused_by_both_programs(content: bytes) -> None:
    assert source_text(content) is None
    assert SURVIVED.mutant is not None
    with pytest.raises(CapsuleRefused, match="is no text in the encoding that it declares"):
        dataclasses.replace(SURVIVED.mutant, sha256=digest(content)).texts(content)
    with pytest.raises(NoReplay, match="is no text in the encoding that it declares"):
        patched(content, SURVIVED.mutant.to_json()["patch"])


def test_a_patch_is_for_one_file_alone() -> None:
    assert SURVIVED.mutant is not None
    data = b"1\n2\n3\n4\n    return x < 3\r\n"
    mutant = dataclasses.replace(SURVIVED.mutant, sha256=digest(data))
    assert mutant.texts(data) == (data.decode(), "1\n2\n3\n4\n    return x <= 3\r\n")
    with pytest.raises(CapsuleRefused, match=r"shop/size\.py is not the file"):
        mutant.texts(data + b" ")
    with pytest.raises(CapsuleRefused) as refused:
        mutant.texts(data + b" ", "c0ffee")
    assert refused.value.next_step == "Check out the capsule's commit c0ffee, without changes of your own."
    moved = dataclasses.replace(mutant, patch=dataclasses.replace(mutant.patch, line=4))
    with pytest.raises(CapsuleRefused, match=r"does not fit shop/size\.py: line 4 is another one"):
        moved.texts(data)
    with pytest.raises(NoReplay, match="does not fit its file"):
        patched(data, moved.to_json()["patch"])
