"""Plans, shards and their merge: pure, in any order, and never green over a gap."""

from __future__ import annotations

import dataclasses
import io
import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.errors import EvidenceRefused, ShardsIncomplete
from repro_gate.model import CheckReport, FlakeReport, GateVerdict
from repro_gate.pipeline import shards
from repro_gate.pipeline.shards import Done, Plan, Shard, Unit, Why
from repro_gate.report import as_json, check_json
from tests.unit.test_report_reading import CHECK, SCAN, STABLE

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
CREATED = "2026-01-01T00:00:00Z"


def units(number: int) -> list[Unit]:
    return [Unit(id=f"u{place}", weight=float(place % 3 + 1)) for place in range(number)]


def plan(number: int = 4, parts: int = 2, **more: Any) -> Plan:
    made = units(number)
    told: dict[str, Any] = {"version": "1", "kind": "scan", "created_at": CREATED, "seed": 7, "head": "c" * 40, **more}
    return Plan(units=made, shards=shards.assigned(made, parts), **told)


def report_of(unit: str) -> FlakeReport:
    tests = (dataclasses.replace(STABLE, id=f"{unit}::test"),)
    return dataclasses.replace(SCAN, tests=tests, notes=(f"of {unit}", "of all"), incomplete="", commit="c" * 40)


def document(report: CheckReport | FlakeReport) -> dict[str, Any]:
    stream = io.StringIO()
    if isinstance(report, CheckReport):
        return check_json.document(report)
    as_json.write(report, stream)
    found: dict[str, Any] = json.loads(stream.getvalue())
    return found


def shard(of: Plan, index: int, attempt: int = 1, *, complete: bool = True) -> Shard:
    done = [Done(id=unit.id, report=document(report_of(unit.id))) for unit in of.of_shard(index)]
    return Shard(plan=of.digest, index=index, attempt=attempt, complete=complete, units=done)


def files(of: Plan) -> list[tuple[str, Shard]]:
    return [(f"shard-{index}.json", shard(of, index)) for index in range(len(of.shards))]


def written(report: CheckReport | FlakeReport | None) -> str:
    assert report is not None
    return json.dumps(document(report))


@unhurried
@given(st.integers(0, 40), st.integers(1, 300))
def test_each_unit_is_in_one_shard_and_no_shard_is_empty_beside_a_full_one(number: int, parts: int) -> None:
    made = units(number)
    found = shards.assigned(made, parts)
    assert sorted(unit for part in found for unit in part) == sorted(unit.id for unit in made)
    assert len(found) == max(1, min(parts, number))
    assert all(found) or number == 0


@unhurried
@given(st.integers(1, 12), st.integers(1, 12), st.randoms(use_true_random=False))
def test_the_whole_is_the_same_however_it_was_divided_and_in_whatever_order_it_comes(
    number: int, parts: int, chance: random.Random
) -> None:
    one = plan(number, 1)
    many = plan(number, parts)
    left = files(many)
    chance.shuffle(left)
    whole = shards.merge(one, files(one)).report
    assert written(shards.merge(many, left).report) == written(whole)
    assert [test.id for test in whole.tests] == [f"u{place}::test" for place in range(number)]  # type: ignore[union-attr]


def test_nothing_that_a_clock_said_is_in_the_whole() -> None:
    whole = shards.merge(plan(), files(plan())).report
    assert isinstance(whole, FlakeReport)
    assert (whole.seconds, whole.started_at, {test.seconds for test in whole.tests}) == (0.0, CREATED, {0.0})
    assert whole.notes == ("of u0", "of all", "of u1", "of u2", "of u3")


def test_a_missing_shard_is_named() -> None:
    with pytest.raises(ShardsIncomplete, match="shard 1 is missing"):
        shards.merge(plan(), files(plan())[:1])


def test_a_shard_that_broke_off_is_named_with_what_it_lacks() -> None:
    of = plan()
    broken = shard(of, 0, complete=False)
    broken = broken.model_copy(update={"units": broken.units[:1]})
    with pytest.raises(ShardsIncomplete, match=r"shard 0 did not come to its end \(u\d"):
        shards.merge(of, [("a", broken), ("b", shard(of, 1))])


def test_of_several_attempts_the_last_counts_and_the_others_are_said() -> None:
    of = plan()
    bad = shard(of, 0).model_copy(update={"complete": False, "units": []})
    merged = shards.merge(of, [("a", bad), ("b", shard(of, 0, attempt=2)), ("c", shard(of, 1))])
    assert merged.notes == ("attempt 1 of shard 0 is stale; 2 counts",)
    assert written(merged.report) == written(shards.merge(of, files(of)).report)


def test_the_last_attempt_counts_also_where_it_is_the_worse() -> None:
    of = plan()
    bad = shard(of, 0, attempt=2).model_copy(update={"complete": False, "units": []})
    with pytest.raises(ShardsIncomplete, match="shard 0 did not come to its end"):
        shards.merge(of, [("a", shard(of, 0)), ("b", bad), ("c", shard(of, 1))])


def test_a_duplicate_is_harmless_if_it_is_the_same_and_refused_if_it_differs() -> None:
    of = plan()
    merged = shards.merge(of, [*files(of), ("again.json", shard(of, 0))])
    assert merged.notes == ("shard 0 is there twice, and both are the same",)
    other = shard(of, 0).model_copy(update={"units": []})
    with pytest.raises(ShardsIncomplete, match=r"again\.json.*of the same attempt of shard 0, and differ"):
        shards.merge(of, [*files(of), ("again.json", other)])


def test_a_shard_of_another_plan_is_refused() -> None:
    of = plan()
    with pytest.raises(ShardsIncomplete, match="belongs to another plan"):
        shards.merge(of, [*files(of), ("old.json", shard(plan(seed=8), 0))])


def test_a_shard_that_the_plan_has_not_or_with_anothers_units_is_refused() -> None:
    of = plan()
    with pytest.raises(ShardsIncomplete, match="is of shard 9; the plan has 2"):
        shards.merge(of, [*files(of), ("x", shard(of, 0).model_copy(update={"index": 9}))])
    both = shard(of, 0).units + shard(of, 1).units
    with pytest.raises(ShardsIncomplete, match="units that are not its own"):
        shards.merge(of, [("a", shard(of, 0).model_copy(update={"units": both})), ("b", shard(of, 1))])


def test_a_check_is_its_gates_side_by_side_and_trouble_of_one_is_trouble_of_all() -> None:
    made = [Unit(id=gate.gate, gate=gate.gate) for gate in CHECK.gates]
    of = Plan(
        version="1", kind="check", created_at=CREATED, seed=1, base="b" * 40, head="c" * 40, units=made,
        shards=[[unit.id] for unit in made],
    )  # fmt: skip
    left = []
    for index, gate in enumerate(CHECK.gates):
        alone = dataclasses.replace(CHECK, gates=(gate,), levels={gate.gate: CHECK.levels[gate.gate]}, trouble=None)
        done = Done(id=gate.gate, report=document(alone))
        left.append((str(index), Shard(plan=of.digest, index=index, attempt=1, complete=True, units=[done])))
    whole = shards.merge(of, left).report
    assert isinstance(whole, CheckReport)
    assert [gate.gate for gate in whole.gates] == [gate.gate for gate in CHECK.gates]
    assert whole.verdict is GateVerdict.FAIL
    lost = Done(id=made[0].id, trouble=Why(slug="sandbox-lost", text="gone", next_step="start it"))
    left[0] = ("0", left[0][1].model_copy(update={"units": [lost]}))
    whole = shards.merge(of, left).report
    assert isinstance(whole, CheckReport)
    assert (whole.verdict, whole.trouble and whole.trouble.text) == (GateVerdict.INCONCLUSIVE, "gone")


def of_gate(name: str = "fail-to-pass", **changes: Any) -> CheckReport:
    alone = [gate for gate in CHECK.gates if gate.gate == name]
    made: dict[str, Any] = {"gates": tuple(alone), "levels": {name: CHECK.levels[name]}, "trouble": None, **changes}
    return dataclasses.replace(CHECK, **made)


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (of_gate(gates=(), levels={}), "holds the results of \\[\\], not of 'fail-to-pass'"),
        (of_gate("flaky"), "holds the results of \\['flaky'\\]"),
        (dataclasses.replace(CHECK, trouble=None), "holds the results of \\['fail-to-pass', 'flaky', 'coverage'\\]"),
        (of_gate(base="d" * 40), "compares 'd{40}'"),
        (of_gate(head="d" * 40), "compares 'b{40}' and 'd{40}'"),
        (SCAN, "is that of a scan"),
    ],
    ids=["no result", "another gate", "three gates", "another base", "another head", "a scan"],
)
def test_a_report_counts_only_for_the_gate_and_commits_of_its_unit(
    report: CheckReport | FlakeReport, said: str
) -> None:
    of = plan_of_a_gate()
    done = Done(id="fail-to-pass", report=document(report))
    left = [("a", Shard(plan=of.digest, index=0, attempt=1, complete=True, units=[done]))]
    with pytest.raises(ShardsIncomplete, match=said):
        shards.merge(of, left)


def plan_of_a_gate() -> Plan:
    unit = Unit(id="fail-to-pass", gate="fail-to-pass")
    told: dict[str, Any] = {"version": "1", "created_at": CREATED, "seed": 1, "base": "b" * 40, "head": "c" * 40}
    return Plan(kind="check", units=[unit], shards=[["fail-to-pass"]], **told)


def test_a_gate_that_trouble_kept_from_its_result_is_told_by_the_trouble() -> None:
    of = plan_of_a_gate()
    done = Done(id="fail-to-pass", report=document(of_gate(gates=(), levels={}, trouble=CHECK.trouble)))
    shard_of = Shard(plan=of.digest, index=0, attempt=1, complete=True, units=[done])
    whole = shards.merge(of, [("a", shard_of)]).report
    assert isinstance(whole, CheckReport)
    assert whole.verdict is GateVerdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"seed": 8}, "is of seed 8"), ({"commit": "d" * 40}, "commit 'd{40}'"), ({"tests": ()}, "holds no test")],
)
def test_a_scan_counts_only_for_its_seed_its_commit_and_with_tests(changes: dict[str, Any], said: str) -> None:
    of = plan(1, 1)
    done = Done(id="u0", report=document(dataclasses.replace(report_of("u0"), **changes)))
    with pytest.raises(ShardsIncomplete, match=said):
        shards.merge(of, [("a", Shard(plan=of.digest, index=0, attempt=1, complete=True, units=[done]))])
    check = Done(id="u0", report=document(CHECK))
    with pytest.raises(ShardsIncomplete, match="is that of a check"):
        shards.merge(of, [("a", Shard(plan=of.digest, index=0, attempt=1, complete=True, units=[check]))])


def test_a_unit_has_a_report_or_a_trouble_and_not_both_or_neither() -> None:
    with pytest.raises(ValueError, match="either a report or a trouble"):
        Done(id="u0")
    with pytest.raises(ValueError, match="either a report or a trouble"):
        Done(id="u0", report={}, trouble=Why(slug="x", text="", next_step=""))


def test_the_whole_is_as_hermetic_as_its_weakest_part() -> None:
    of = plan(2, 1)
    host = dataclasses.replace(SCAN.sandbox, name="host", hermetic=False)
    second = dataclasses.replace(report_of("u1"), sandbox=host)
    done = [Done(id="u0", report=document(report_of("u0"))), Done(id="u1", report=document(second))]
    whole = shards.merge(of, [("a", Shard(plan=of.digest, index=0, attempt=1, complete=True, units=done))]).report
    assert isinstance(whole, FlakeReport)
    assert whole.sandbox == host


def test_trouble_of_a_part_of_a_scan_makes_it_incomplete() -> None:
    of = plan(2, 2)
    lost = Done(id="u0", trouble=Why(slug="collection-failed", text="no list", next_step="x"))
    left = [
        (
            str(index),
            shard(of, index).model_copy(update={"units": [lost]}) if "u0" in of.shards[index] else shard(of, index),
        )
        for index in (0, 1)
    ]
    whole = shards.merge(of, left).report
    assert isinstance(whole, FlakeReport)
    assert whole.incomplete == "no list"


def test_a_matrix_is_never_empty() -> None:
    assert shards.matrix(plan(0, 5)) == {"include": [{"shard": 0, "shards": 1}]}
    assert len(shards.matrix(plan(12, 8))["include"]) == 8


@unhurried
@given(st.dictionaries(st.text(min_size=1, max_size=5), st.integers(1, 500), max_size=400))
def test_groups_hold_each_file_once_in_order_and_are_not_too_many(tests: dict[str, int]) -> None:
    groups = shards.grouped(tests, {})
    assert [file for group, _ in groups for file in group] == list(tests)
    assert len(groups) <= shards.MOST_SHARDS
    assert sum(weight for _, weight in groups) == pytest.approx(sum(tests.values()))


def test_auto_counts_seconds_where_they_are_known() -> None:
    heavy = [Unit(id="a", weight=3000.0)]
    assert shards.wanted("auto", heavy, timed=True) == 5
    assert shards.wanted("auto", heavy, timed=False) == 12
    assert shards.wanted("auto", [], timed=False) == 1
    assert shards.wanted("3", heavy, timed=True) == 3


def test_a_plan_and_a_shard_are_read_back_and_a_strangers_is_refused() -> None:
    of = plan()
    text = json.dumps(of.model_dump(mode="json", by_alias=True)).encode()
    assert shards.read_plan(text) == of
    assert shards.read_plan(text).digest == of.digest
    one = shard(of, 0)
    assert shards.read_shard(json.dumps(one.model_dump(mode="json", by_alias=True)).encode()) == one
    value = json.loads(text)
    for change, said in (
        ({"shards": [["u0"]]}, "do not hold each of its units once"),
        ({"shards": [["u0", "u1", "u2", "u3", "u3"]]}, "do not hold each of its units once"),
        ({"shards": []}, "shards: "),
        ({"kind": "x"}, "kind: "),
        ({"more": 1}, "more: "),
        ({"seed": "7"}, "seed: "),
        ({"schema": "repro-gate/plan/v2"}, "schema: "),
    ):
        with pytest.raises(EvidenceRefused, match=said):
            shards.read_plan(json.dumps({**value, **change}).encode())
    for data in (b"", b"{", b"[" * 90_000, b'{"plan": NaN}'):
        with pytest.raises(EvidenceRefused, match="The shard cannot be read"):
            shards.read_shard(data)


def test_what_decides_the_result_decides_the_digest() -> None:
    assert (
        len(
            {plan().digest, plan(seed=8).digest, plan(5).digest, plan(4, 3).digest, plan(settings={"runs": "3"}).digest}
        )
        == 5
    )
