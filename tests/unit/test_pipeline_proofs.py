"""From a proof to a capsule: what it promises, and what happens where none can be written."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from repro_gate import capsule
from repro_gate.capsule.manifest import Manifest
from repro_gate.capsule.proof import REASONS
from repro_gate.change import Entry, Graft, Head, Kind, Overlay
from repro_gate.gates.fail_to_pass.conditions import before
from repro_gate.gates.fail_to_pass.reasons import API, RIGHT
from repro_gate.model import Conditions, GateResult, GateVerdict, Lenient, Outcome, Proved, ReasonCode, Side
from repro_gate.pipeline import Publisher
from repro_gate.pipeline.proofs import MOST, Packing, pack_proofs, replay_proof
from repro_gate.pipeline.provision import Provision, Room
from repro_gate.sandbox import Host, Interpreter
from tests.unit.simulated_bench import TESTS, Behaviour, Seen, Sim, SimBench, comes_to, fails, failure, passes, run

BASE, HEAD = "b" * 40, "f" * 40
OVERLAY = Overlay(
    writes=(Entry(path=TESTS, kind=Kind.FILE, sha="a" * 40),),
    grafts=(Graft(path="tox.ini", content=b"[pytest]\n"),),
    deletes=(TESTS, "tests/test_gone.py"),
)


def packing(directory: Path, *sims: Sim, times: int = 2, overlay: Overlay = OVERLAY) -> Packing:
    room = Room(
        interpreter=Interpreter(executable="python3", version="3.11.7", directories=(), user_base=""),
        environment={},
        roots=("src",),
    )
    publisher = Publisher(
        directory=directory / "capsules",
        here=directory,
        head=Head(commit=HEAD, repository="https://example.org/shop.git"),
        root="",
        sandbox=Host(),
        seed=0,
        environ={"API_TOKEN": "correct-horse-battery"},
        redact=(),
        key=b"k" * 32,
        now=lambda: "2026-02-28T23:59:59Z",
        distributions=("pytest==9",),
        interpreter={"version": "3.11.7"},
    )
    return Packing(
        bench=SimBench(sims=sims),
        arguments=lambda files: ("-q", *files),
        publisher=publisher,
        provision=Provision(
            rooms={(Side.HEAD, side): room for side in (Side.BASE, Side.HEAD)}, packages=frozenset(), name="e" * 64
        ),
        overlay=overlay,
        base=BASE,
        times=times,
    )


def proof_of(sim: Sim, **more: object) -> Proved:
    made = Proved(id=sim.id, reason=ReasonCode.ASSERTION, failure=failure(), runs=9, file=TESTS, tests=(sim.id,))
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def packed(proofs: list[Proved], what: Packing) -> tuple[GateResult, list[str]]:
    result = GateResult(gate="fail-to-pass", verdict=GateVerdict.PASS, reason=ReasonCode.PROVED, proved=tuple(proofs))
    steps = list(pack_proofs(result, what))
    return steps[-1][0], [note for _, notes in steps for note in notes]


def one(tmp_path: Path, sim: Sim, overlay: Overlay = OVERLAY, **more: object) -> tuple[Manifest | None, list[str]]:
    result, notes = packed([proof_of(sim, **more)], packing(tmp_path, sim, overlay=overlay))
    reference = result.proved[0].capsule
    return capsule.read(tmp_path / reference.path).manifest if reference else None, notes


def sometimes(first: Behaviour, then: Behaviour) -> Behaviour:
    return lambda seen: (then if seen.nth else first)(seen)


def test_a_capsule_holds_all_that_repeats_the_proof(tmp_path: Path) -> None:
    missing = Lenient(modules=frozenset({"pkg.new"}))
    conditions = Conditions(locale="C")
    manifest, notes = one(tmp_path, Sim(name="test_new"), lenient=missing, conditions=conditions)
    assert notes == []
    assert manifest is not None
    assert manifest.proof is not None
    proof = manifest.proof
    assert (proof.base, manifest.project.commit, manifest.project.dirty) == (BASE, HEAD, False)
    assert (manifest.tests, manifest.victim) == ((f"{TESTS}::test_new",), f"{TESTS}::test_new")
    assert (manifest.conditions, manifest.pytest_args) == (conditions, ("-q", TESTS))
    assert manifest.expected.outcome is Outcome.FAILED
    assert (manifest.expected.fingerprint, manifest.expected.type) == ("AssertionError/T", "AssertionError")
    assert [(each.path, each.mode, each.sha) for each in proof.files] == [(TESTS, "100644", "a" * 40)]
    assert [(each.path, each.text) for each in proof.texts] == [("tox.ini", "[pytest]\n")]
    assert proof.removed == (TESTS, "tests/test_gone.py")
    assert (proof.reason, proof.environment, proof.import_roots) == (ReasonCode.ASSERTION, "e" * 64, ("src",))
    assert (proof.lenient, proof.own_environment, proof.test_seconds) == (missing, False, 300)
    assert (proof.passed, proof.of, manifest.determinism.pinned) == (2, 2, True)
    assert [(row.what, row.failed, row.of) for row in manifest.cause.table] == [
        ("base with head's tests", 2, 2),
        ("head", 0, 2),
    ]


def test_a_test_that_hangs_on_base_keeps_its_limit_and_no_fingerprint(tmp_path: Path) -> None:
    sim = Sim(name="test_new", base=comes_to(Outcome.TIMEOUT, failure("Timeout")))
    manifest, _ = one(tmp_path, sim, reason=ReasonCode.TIMEOUT, seconds=10.2)
    assert manifest is not None
    assert manifest.proof is not None
    assert manifest.proof.test_seconds == 11
    assert (manifest.expected.outcome, manifest.expected.fingerprint) == (Outcome.TIMEOUT, "")


def test_a_message_that_differs_each_time_is_compared_by_its_exception(tmp_path: Path) -> None:
    def varied(seen: Seen) -> object:
        return run(Outcome.FAILED, failure(message=f"at {seen.nth}", fingerprint=f"f{seen.nth}"))

    manifest, _ = one(tmp_path, Sim(name="test_new", base=varied))  # type: ignore[arg-type]
    assert manifest is not None
    assert (manifest.expected.fingerprint, manifest.expected.type) == ("", "AssertionError")


@pytest.mark.parametrize(
    ("sim", "words"),
    [
        (Sim(name="t", base=sometimes(passes(), fails())), "on base in processes of its own"),
        (Sim(name="t", base=sometimes(fails("KeyError"), fails())), "on base in processes of its own"),
        (Sim(name="t", head=sometimes(fails(), passes())), "on head in processes of its own"),
    ],
)
def test_what_does_not_repeat_is_not_packed_and_says_so(tmp_path: Path, sim: Sim, words: str) -> None:
    manifest, notes = one(tmp_path, sim)
    assert manifest is None
    assert len(notes) == 1
    assert notes[0].startswith(f"{sim.id}: no capsule: ")
    assert words in notes[0]
    assert not list(tmp_path.rglob("*.zip"))


def test_a_secret_in_what_lies_on_base_blocks_the_capsule(tmp_path: Path) -> None:
    graft = Graft(path="tox.ini", content=b"[pytest]\naddopts = --key=correct-horse-battery\n")
    manifest, notes = one(tmp_path, Sim(name="t"), dataclasses.replace(OVERLAY, grafts=(graft,)))
    assert manifest is None
    assert "proof would hold what looks like a secret" in notes[0]
    assert "correct-horse" not in notes[0]


def test_so_many_are_packed_and_the_rest_is_counted(tmp_path: Path) -> None:
    sims = [Sim(name=f"test_{n:02}") for n in range(MOST + 2)]
    reproduction = Proved(id="t::repro", reason=ReasonCode.REPRO_ONLY)
    result, notes = packed([*map(proof_of, sims), reproduction], packing(tmp_path, *sims, times=1))
    assert [proof.capsule is not None for proof in result.proved] == [True] * MOST + [False] * 3
    assert notes == [f"2 more proofs have no capsule: {MOST} are packed at most"]


@pytest.mark.parametrize(("proofs", "times", "replayed"), [(1, 5, 5), (5, 5, 5), (6, 5, 4), (13, 5, 2), (13, 1, 1)])
def test_many_proofs_share_the_replays(tmp_path: Path, proofs: int, times: int, replayed: int) -> None:
    sims = [Sim(name=f"test_{n:02}") for n in range(proofs)]
    result, _ = packed([*map(proof_of, sims)], packing(tmp_path, *sims, times=times))
    assert {(proof.capsule.replayed, proof.capsule.of) for proof in result.proved if proof.capsule} == {
        (replayed, replayed)
    }


def test_what_runs_before_is_kept_only_where_the_order_decides() -> None:
    company = ("a", "b", "c")
    assert before("b", Conditions(locale="C"), company) == ("b",)
    assert before("b", Conditions(order="reversed"), company) == ("c", "b")
    assert before("x", Conditions(order="reversed"), company) == ("x",)


@pytest.mark.parametrize(
    ("base", "head", "same"),
    [
        (fails(), passes(), (True, True)),
        (passes(), passes(), (False, True)),
        (fails(), fails(), (True, False)),
        (fails("KeyError"), comes_to(Outcome.SKIPPED), (False, False)),
    ],
)
def test_a_replay_says_of_each_side_whether_it_is_as_it_must_be(
    tmp_path: Path, base: Behaviour, head: Behaviour, same: tuple[bool, bool]
) -> None:
    manifest, _ = one(tmp_path, Sim(name="t"))
    assert manifest is not None
    assert manifest.proof is not None
    heard: list[object] = []
    bench = SimBench(sims=[Sim(name="t", base=base, head=head)])
    done = replay_proof(manifest, manifest.proof, bench, 2, lambda *pair: heard.append(pair))
    assert [(on_base.same, on_head.same) for on_base, on_head in done] == [same, same]
    assert heard == done
    assert all(one.why for pair in done for one in pair if not one.same)


def test_every_right_reason_can_be_packed() -> None:
    assert set(REASONS) == RIGHT | API
