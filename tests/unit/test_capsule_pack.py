"""From parts to a file and back: redacted, complete, reproducible, shown and verified."""

from __future__ import annotations

import dataclasses
import gzip
import importlib
import json
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import pytest

from repro_gate import __version__
from repro_gate.capsule import (
    POLICY,
    Capsule,
    CapsuleParts,
    Determinism,
    Expected,
    Manifest,
    Producer,
    Project,
    Provenance,
    Redactor,
    Sandbox,
    Verified,
    allowed_variables,
    describe,
    extract,
    log_records,
    pack,
    read,
    run_record,
    show,
    verify,
    write_archive,
)
from repro_gate.capsule.inspect import visible
from repro_gate.capsule.pack import conditions_diff
from repro_gate.errors import CapsuleRefused, DiskFull, SecretFound
from repro_gate.model import (
    Cause,
    Conditions,
    Ending,
    Experiment,
    ExperimentResult,
    Failure,
    Frame,
    Intervention,
    Mode,
    Outcome,
    TestRun,
    Zone,
)

# The function of the same name hides the module.
pack_module = importlib.import_module("repro_gate.capsule.pack")

NOW = "2026-02-28T23:59:59Z"
VICTIM = "tests/test_shop.py::test_total"
STATE = "tests/test_shop.py::test_state"
TOKEN = "gh" + "p_0123456789abcdefghijABCDEFGHIJ012345"
SECRET = "hunter2" + "hunter2"
PLUGIN_FILES = {"repro_gate_pytest/plugin.py": b"x = 1\n", "repro_gate_pytest/axes/base.py": b"password='abcd1234'\n"}

FAILING = Conditions(hash_seed=3, order="list")
MANIFEST = Manifest(
    producer=Producer(name="repro-gate", version=__version__),
    project=Project(repository="https://example.org/shop.git", commit="0123456789abcdef", dirty=True, root="backend"),
    tests=(STATE, VICTIM),
    victim=VICTIM,
    conditions=FAILING,
    expected=Expected(outcome=Outcome.FAILED, fingerprint="ab12", message="1 != 2", type="AssertionError"),
    cause=Cause(
        axis="order",
        detail="fails after test_state",
        role="victim",
        others=(STATE,),
        table=(
            Intervention(what="alone", conditions=Conditions(hash_seed=3), tests=(VICTIM,), failed=0, of=5),
            Intervention(what="neutral", conditions=Conditions(), tests=(VICTIM,), failed=0, of=5),
            Intervention(what="after test_state", conditions=FAILING, tests=(STATE, VICTIM), failed=5, of=5),
        ),
    ),
    determinism=Determinism(level="D1", not_controlled=("thread schedule",), verified=Verified(k=5, of=5), pinned=True),
    sandbox=Sandbox(name="bubblewrap", hermetic=True),
    provenance=Provenance(seed=7, run=12),
)
FAILURE = Failure(
    phase="call", type="AssertionError", bases=(), message="1 != 2", chain=(), frames=(), fingerprint="ab12"
)
RESULT = ExperimentResult(
    experiment=Experiment(tests=(STATE, VICTIM), conditions=FAILING),
    mode=Mode.FRESH,
    runs=(
        TestRun(id=STATE, outcome=Outcome.PASSED, seconds=0.25, output=f"got {TOKEN}"),
        TestRun(id=VICTIM, outcome=Outcome.FAILED, seconds=0.5, failure=FAILURE, touched=("order",)),
    ),
    ending=Ending.DONE,
    controls_held=True,
)


def parts(manifest: Manifest = MANIFEST, **changes: Any) -> CapsuleParts:
    made = CapsuleParts(
        manifest=manifest,
        repro_sh="#!/bin/sh\necho replaying\n",
        plugin_files=PLUGIN_FILES,
        environment={"variables": {"TZ": "UTC", "HOME": "/root", "MY_TOKEN": SECRET}, "distributions": ["pytest==9"]},
        runs=[run_record(0, RESULT)],
        logs=list(log_records(0, RESULT)),
        evidence={"failure": FAILURE.to_json(), "network": []},
    )
    return dataclasses.replace(made, **changes)


def redactor() -> Redactor:
    return Redactor(POLICY, b"k" * 32, {"MY_TOKEN": SECRET})


def packed(directory: Path, manifest: Manifest = MANIFEST, **changes: Any) -> Capsule:
    return read(pack(parts(manifest, **changes), redactor(), directory, NOW))


def everything(capsule: Capsule) -> str:
    """All that is readable in a capsule but the plugin."""
    texts = [
        gzip.decompress(data) if name.endswith(".gz") else data
        for name, data in capsule.members.items()
        if not name.startswith("plugin/")
    ]
    return b"\n".join(texts).decode("utf-8")


# --- packing ---------------------------------------------------------------------------------


def test_a_capsule_has_the_members_of_the_format_and_is_named_by_its_id(tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    assert capsule.path == tmp_path / f"capsule-{capsule.manifest.id}.zip"
    assert sorted(capsule.members) == [
        "env/environment.json",
        "evidence/conditions-diff.json",
        "evidence/failure.json",
        "evidence/network.json",
        "logs.jsonl.gz",
        "manifest.json",
        "plugin/repro_gate_pytest/axes/base.py",
        "plugin/repro_gate_pytest/plugin.py",
        "repro.sh",
        "runs.jsonl.gz",
        "spans.jsonl.gz",
    ]
    assert capsule.plugin_files() == PLUGIN_FILES
    assert [p.name for p in tmp_path.iterdir()] == [capsule.path.name]


def test_the_manifest_says_what_was_given_when_and_what_was_redacted(tmp_path: Path) -> None:
    found = packed(tmp_path).manifest
    assert found.created_at == NOW
    assert found.redaction.policy == POLICY
    assert dict(found.redaction.counts) == {"github-token": 1}
    assert dataclasses.replace(found, created_at="", redaction=MANIFEST.redaction) == MANIFEST


def test_the_same_parts_give_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = packed(tmp_path / "a"), packed(tmp_path / "b")
    assert one.path.name == two.path.name
    assert one.path.read_bytes() == two.path.read_bytes()


def test_one_that_differs_in_what_was_measured_alone_stays_as_it_is(tmp_path: Path) -> None:
    first = packed(tmp_path)
    before = first.path.read_bytes()
    slower = dataclasses.replace(RESULT, runs=tuple(dataclasses.replace(run, seconds=9.0) for run in RESULT.runs))
    assert packed(tmp_path, runs=[run_record(0, slower)]).path.read_bytes() == before
    elsewhere = packed(tmp_path, environment={"variables": {"TZ": "UTC"}, "distributions": ["pytest==10"]})
    assert elsewhere.path == first.path
    assert b"pytest==10" in elsewhere.members["env/environment.json"]


def test_one_that_cannot_be_read_is_written_anew(tmp_path: Path) -> None:
    first = packed(tmp_path)
    before = first.path.read_bytes()
    first.path.write_bytes(before[:-40])
    assert packed(tmp_path).path.read_bytes() == before


def test_packed_lines_carry_no_time_name_or_system(tmp_path: Path) -> None:
    for name, data in packed(tmp_path).members.items():
        if name.endswith(".gz"):
            assert data[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
            gzip.decompress(data)


def test_runs_and_logs_come_back(tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    (run,) = capsule.records("runs.jsonl.gz")
    assert Conditions.from_json(run["conditions"]) == FAILING
    assert [(t["id"], t["outcome"]) for t in run["tests"]] == [(STATE, "passed"), (VICTIM, "failed")]
    assert run["tests"][1]["fingerprint"] == "ab12"
    (log,) = capsule.records("logs.jsonl.gz")
    assert log["id"] == STATE
    assert log["output"].startswith("got <redacted:github-token:")


def test_a_test_that_was_not_timed_by_phase_is_one_span_below_its_run(tmp_path: Path) -> None:
    root, state, victim = packed(tmp_path).records("spans.jsonl.gz")
    assert (root["name"], root["parentSpanId"]) == ("run 0", "")
    assert {state["parentSpanId"], victim["parentSpanId"]} == {root["spanId"]}
    assert len({span["traceId"] for span in (root, state, victim)}) == 1
    assert (len(root["traceId"]), len(root["spanId"])) == (32, 16)
    assert state["name"] == f"{STATE} [test]"
    assert (state["status"], victim["status"]) == ({"code": 1}, {"code": 2})
    start = 1772323199 * 10**9
    assert (state["startTimeUnixNano"], state["endTimeUnixNano"]) == (str(start), str(start + 250_000_000))
    assert root["endTimeUnixNano"] == victim["endTimeUnixNano"]
    assert {"key": "test.outcome", "value": {"stringValue": "failed"}} in victim["attributes"]


def test_timed_phases_are_spans_of_their_own_and_the_failing_one_says_so(tmp_path: Path) -> None:
    record = run_record(0, RESULT)
    record["started_unix_nano"] = 1000
    record["tests"] = [
        {
            "id": VICTIM,
            "outcome": "error",
            "seconds": 3.0,
            "failed_in": "teardown",
            "phases": {"setup": 1, "teardown": 2},
        }
    ]
    _, setup, teardown = packed(tmp_path, runs=[record]).records("spans.jsonl.gz")
    assert (setup["name"], teardown["name"]) == (f"{VICTIM} [setup]", f"{VICTIM} [teardown]")
    assert (setup["startTimeUnixNano"], teardown["endTimeUnixNano"]) == ("1000", "3000001000")
    assert (setup["status"], teardown["status"]) == ({"code": 1}, {"code": 2})


def test_only_allowed_variables_are_packed(tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    environment = json.loads(capsule.members["env/environment.json"])
    assert environment == {"variables": {"TZ": "UTC"}, "distributions": ["pytest==9"]}
    assert "MY_TOKEN" not in everything(capsule)


def test_evidence_that_is_missing_says_so_and_unknown_evidence_is_an_error(tmp_path: Path) -> None:
    capsule = packed(tmp_path, evidence={})
    assert json.loads(capsule.members["evidence/failure.json"]) == {"measured": False}
    with pytest.raises(ValueError, match="core-dump"):
        pack(parts(evidence={"core-dump": 1}), redactor(), tmp_path, NOW)


def test_the_conditions_are_compared_with_the_nearest_that_pass(tmp_path: Path) -> None:
    assert json.loads(packed(tmp_path).members["evidence/conditions-diff.json"]) == {
        "passing": "alone",
        "differ": {"order": {"passing": "collected", "failing": "list"}},
        "tests": {"passing": [VICTIM], "failing": [STATE, VICTIM]},
    }
    unknown = conditions_diff(dataclasses.replace(MANIFEST, cause=Cause(axis=None, detail="")))
    assert unknown["passing"].startswith("not seen")
    assert unknown["differ"]["hash-seed"] == {"passing": "0", "failing": "3"}


def test_what_is_too_long_is_cut_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pack_module, "_JSONL_BYTES", 200)
    logs = [{"run": 0, "id": VICTIM, "output": "x" * 50, "n": n} for n in range(10)]
    records = packed(tmp_path, logs=logs).records("logs.jsonl.gz")
    assert [r["n"] for r in records[:-1]] == [0]
    assert records[-1] == {"left_out": 9, "reason": "more than 200 bytes"}


def test_text_that_utf_8_cannot_hold_and_numbers_that_are_none_are_packed_as_escapes(tmp_path: Path) -> None:
    manifest = dataclasses.replace(MANIFEST, expected=dataclasses.replace(MANIFEST.expected, message="a\udcffb"))
    capsule = packed(tmp_path, manifest, logs=[{"run": 0, "output": "\ud800", "seconds": float("nan")}])
    assert capsule.manifest.expected.message == "a\\udcffb"
    assert capsule.records("logs.jsonl.gz") == [{"run": 0, "output": "\\ud800", "seconds": None}]


# --- secrets ---------------------------------------------------------------------------------


def test_no_secret_stays_anywhere(tmp_path: Path) -> None:
    manifest = dataclasses.replace(
        MANIFEST,
        project=dataclasses.replace(MANIFEST.project, repository=f"https://me:{SECRET}@example.org/shop.git"),
        expected=dataclasses.replace(MANIFEST.expected, message=f"{TOKEN} != {SECRET}"),
        cause=dataclasses.replace(MANIFEST.cause, detail=SECRET),
    )
    capsule = packed(
        tmp_path,
        manifest,
        runs=[run_record(0, RESULT) | {"notes": [SECRET]}],
        environment={"variables": {"TERM": SECRET}, SECRET: [TOKEN]},
        evidence={"failure": {"message": SECRET}, "network": [["Authorization", "Basic dXNlcjpwYXNz"]]},
    )
    text = everything(capsule)
    assert SECRET not in text
    assert TOKEN not in text
    assert "dXNlcjpwYXNz" not in text
    assert capsule.manifest.redaction.counts["variable"] >= 6
    assert capsule.manifest.expected.message.count("<redacted:") == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"tests": (f"tests/test_a.py::test[{TOKEN}]", VICTIM)},
        {"tests": (f"tests/test_a.py::test[{SECRET}]",), "victim": f"tests/test_a.py::test[{SECRET}]"},
        {"partners": ((f"tests/test_a.py::test[{TOKEN}]",),)},
        {"pytest_args": (f"--token={TOKEN}",)},
        {"pytest_args": ("--header", "Authorization: Basic dXNlcjpwYXNz")},
    ],
)
def test_a_secret_that_a_replay_needs_blocks_the_capsule(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(SecretFound, match=r"manifest\.json: ") as refusal:
        packed(tmp_path, dataclasses.replace(MANIFEST, **changes))
    assert TOKEN not in str(refusal.value)
    assert SECRET not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []


def test_an_ordinary_parameter_does_not(tmp_path: Path) -> None:
    test = "tests/test_login.py::test_bad[password=hunter22-http://user:pw@host]"
    assert packed(tmp_path, dataclasses.replace(MANIFEST, tests=(test,), victim=test)).manifest.victim == test


def test_a_secret_in_the_entrypoint_blocks_the_capsule(tmp_path: Path) -> None:
    with pytest.raises(SecretFound, match=r"repro\.sh \(variable\)"):
        packed(tmp_path, repro_sh=f"#!/bin/sh\necho {SECRET}\n")
    assert list(tmp_path.iterdir()) == []


def test_the_final_scan_blocks_what_redaction_missed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Redactor, "redact_to_json", lambda _, value: json.dumps(value, sort_keys=True))
    with pytest.raises(SecretFound, match=r"logs\.jsonl\.gz \(github-token\)"):
        packed(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_test_id_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CapsuleRefused, match="not valid Unicode"):
        packed(tmp_path, dataclasses.replace(MANIFEST, tests=("tests/\udcff.py::t", VICTIM)))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"plugin_files": {}}, "nothing in plugin/"),
        ({"plugin_files": {"../x.py": b""}}, "climbs"),
        ({"manifest": dataclasses.replace(MANIFEST, victim="tests/test_other.py::test")}, "victim"),
    ],
)
def test_parts_that_no_reader_would_accept_are_refused(tmp_path: Path, changes: dict[str, Any], match: str) -> None:
    with pytest.raises(CapsuleRefused, match=match):
        pack(dataclasses.replace(parts(), **changes), redactor(), tmp_path, NOW)
    assert list(tmp_path.iterdir()) == []


def test_a_time_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CapsuleRefused, match="created_at"):
        pack(parts(), redactor(), tmp_path, "yesterday")


def test_a_full_disk_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, _: object) -> None:
        raise DiskFull(f"no space left to write {path}")

    monkeypatch.setattr(pack_module, "write_archive", full)
    with pytest.raises(DiskFull):
        packed(tmp_path)


def test_a_capsule_that_does_not_read_back_is_not_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(path: Path, members: dict[str, bytes]) -> None:
        write_archive(path, members)
        path.write_bytes(path.read_bytes()[:-1])

    monkeypatch.setattr(pack_module, "write_archive", cut)
    with pytest.raises(CapsuleRefused, match="truncated"):
        packed(tmp_path)
    assert list(tmp_path.iterdir()) == []


# --- reading ---------------------------------------------------------------------------------


def rewritten(capsule: Capsule, **changes: bytes | None) -> Path:
    members = {**capsule.members, **{name.replace("__", "/"): data for name, data in changes.items()}}
    write_archive(capsule.path, {name: data for name, data in members.items() if data is not None})
    return capsule.path


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"repro.sh": None}, r"it has no repro\.sh"),
        ({"manifest.json": None}, r"it has no manifest\.json"),
        ({"evidence__network.json": None}, r"it has no evidence/network\.json"),
        ({"extra.txt": b""}, r"'extra\.txt' is not of format v1"),
        ({"tools__x": b""}, "'tools/x' is not of format v1"),
        (
            {"plugin__repro_gate_pytest__plugin.py": None, "plugin__repro_gate_pytest__axes__base.py": None},
            "nothing in",
        ),
        ({"manifest.json": b"{}"}, "schema is missing"),
    ],
)
def test_a_member_too_few_or_too_many_is_refused(tmp_path: Path, changes: dict[str, bytes | None], match: str) -> None:
    path = rewritten(packed(tmp_path), **changes)
    with pytest.raises(CapsuleRefused, match=match):
        read(path)


def test_folders_that_the_format_keeps_for_later_are_accepted(tmp_path: Path) -> None:
    path = rewritten(packed(tmp_path), input__a=b"1", sbom__b=b"2", docker__Dockerfile=b"3")
    assert read(path).members["sbom/b"] == b"2"


@pytest.mark.parametrize("line", [b"{", b"[]", b"[" * 100_000])
def test_records_that_are_none_are_refused(tmp_path: Path, line: bytes) -> None:
    capsule = read(rewritten(packed(tmp_path), **{"runs.jsonl.gz": gzip.compress(b"{}\n" + line + b"\n")}))
    with pytest.raises(CapsuleRefused, match=r"runs\.jsonl\.gz has a line"):
        capsule.records("runs.jsonl.gz")


# --- showing ---------------------------------------------------------------------------------


def test_what_is_shown_says_all_a_reader_needs(tmp_path: Path) -> None:
    frame = Frame(zone=Zone.TEST, path="tests/test_shop.py", line=7, function="test_total")
    capsule = packed(
        tmp_path,
        dataclasses.replace(MANIFEST, invocation="pytest", pytest_args=("-k", "a b")),
        environment={
            "variables": {"TZ": "UTC", "LC_ALL": "C"},
            "interpreter": {"implementation": "CPython", "version": "3.11.7"},
            "platform": {"system": "Linux", "machine": "x86_64", "libc": "glibc 2.36"},
            "distributions": ["pluggy==1", "pytest==9"],
        },
        evidence={"failure": dataclasses.replace(FAILURE, frames=(frame,)).to_json(), "network": []},
    )
    place = f"../capsule-{capsule.manifest.id}"
    assert show(capsule) == [
        f"capsule {capsule.manifest.id}",
        "",
        f"fails       {VICTIM}",
        "            failed: AssertionError",
        "              1 != 2",
        "at          tests/test_shop.py:7, in test_total",
        "cause       order (victim): fails after test_state",
        f"              after {STATE}",
        "              failed 0 of 5  alone",
        "              failed 0 of 5  neutral",
        "              failed 5 of 5  after test_state",
        "conditions  order = list",
        "            hash-seed = 3",
        "tests       2 tests, in this order",
        f"              {STATE}",
        f"              {VICTIM}",
        "pytest      pytest -k 'a b'",
        "verified    5 of 5 replays, pinned, level D1",
        "            in sandbox bubblewrap (hermetic)",
        "not held    thread schedule",
        "project     https://example.org/shop.git at 0123456789abcdef, in backend (with local changes)",
        "seen on     CPython 3.11.7, Linux x86_64, glibc 2.36",
        "            pytest==9, 1 other distributions (env/environment.json)",
        "            LC_ALL=C TZ=UTC",
        f"made        {NOW} by repro-gate {__version__} (seed 7, run 12)",
        "            redacted: 1 value (github-token 1)",
        "",
        "Replay it, in a checkout of that commit:",
        f"  repro-gate replay {capsule.path}",
        "The same with nothing but Python and pytest:",
        f"  unzip -q {capsule.path} -d {place} && {place}/repro.sh",
        "Look inside; this runs nothing of it:",
        f"  unzip -l {capsule.path}",
        f"  unzip -p {capsule.path} evidence/conditions-diff.json",
    ]


def test_an_unpinned_capsule_without_a_cause_says_so(tmp_path: Path) -> None:
    manifest = dataclasses.replace(
        MANIFEST,
        project=Project(repository="", commit="", dirty=False),
        cause=Cause(axis=None, detail=""),
        conditions=Conditions(),
        partners=((STATE,),),
        expected=Expected(outcome=Outcome.TIMEOUT),
        determinism=Determinism(
            level="D0", not_controlled=(), verified=Verified(k=2, of=5), pinned=False, rate=0.4, why="it races"
        ),
        sandbox=Sandbox(name="host", hermetic=False),
    )
    lines = show(packed(tmp_path, manifest, logs=[]))
    assert "            timeout" in lines
    assert "cause       no single axis" in lines
    assert "project     unknown repository at unknown commit" in lines
    assert "tests       2 tests, in this order, and 1 further list at the same time" in lines
    assert "conditions  neutral" in lines
    assert "verified    2 of 5 replays, unpinned, level D0, fails at a rate of 40%" in lines
    assert "            it races" in lines
    assert "            in sandbox host (not hermetic)" in lines
    assert not any("redacted" in line for line in lines)


def test_nothing_that_is_shown_can_move_a_cursor_or_forge_a_line(tmp_path: Path) -> None:
    evil = "a\x1b[2J\r\nverified    99 of 99\u202e\u2028\x07\x9b"
    manifest = dataclasses.replace(
        MANIFEST,
        expected=dataclasses.replace(MANIFEST.expected, message=evil),
        cause=dataclasses.replace(MANIFEST.cause, detail=evil + "x" * 5000),
    )
    lines = show(packed(tmp_path, manifest))
    assert all(line.isprintable() for line in lines)
    assert len(max(lines, key=len)) < 2500
    assert not [line for line in lines if line.startswith("verified    99")]
    assert r"              a\x1b[2J" in lines
    assert r"              verified    99 of 99\u202e" in lines
    assert r"a\x1b[2J\r\nverified" in "".join(lines)
    assert visible("caf\u00e9 \u2603") == "caf\u00e9 \u2603"


def test_a_long_message_is_shown_line_by_line_and_its_beginning_only(tmp_path: Path) -> None:
    message = "\n".join(["assert 1 == 2", *(f"  +  line {number}" for number in range(40)), "x" * 3000])
    expected = dataclasses.replace(MANIFEST.expected, message=message)
    lines = show(packed(tmp_path, dataclasses.replace(MANIFEST, expected=expected)))
    start = lines.index("              assert 1 == 2")
    assert lines[start + 1] == "                +  line 0"
    assert lines[start + 12] == "              … 30 more lines in evidence/failure.json"
    assert max(map(len, lines)) < 400


def test_an_other_test_that_the_words_name_or_that_is_none_is_not_repeated(tmp_path: Path) -> None:
    cause = dataclasses.replace(MANIFEST.cause, detail=f"fails after {STATE}", others=(STATE, ""))
    lines = show(packed(tmp_path, dataclasses.replace(MANIFEST, cause=cause)))
    assert sum(STATE in line for line in lines) == 2  # in the words, and in the list of tests
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("content", [b"{", b"[]", b"7", b'{"frames": 7, "interpreter": [], "variables": 1}'])
def test_members_of_another_shape_are_not_shown(content: bytes, tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    strange = {"env/environment.json": content, "evidence/failure.json": content}
    lines = show(dataclasses.replace(capsule, members={**capsule.members, **strange}))
    assert f"fails       {VICTIM}" in lines
    assert not any(line.startswith(("at ", "seen on")) for line in lines)


def test_the_printed_commands_work_as_printed_and_leave_the_checkout_as_it_was(tmp_path: Path) -> None:
    if shutil.which("unzip") is None:
        pytest.skip("unzip is not installed")
    directory, checkout = tmp_path / "with a space", tmp_path / "checkout"
    directory.mkdir()
    checkout.mkdir()
    lines = show(packed(directory))
    commands = [line.strip() for line in lines if line.startswith("  unzip")]
    printed = []
    for command in commands:
        done = subprocess.run(command, shell=True, cwd=checkout, capture_output=True, text=True, timeout=60, check=True)
        printed.append(done.stdout)
    assert printed[0] == "replaying\n"
    assert "manifest.json" in printed[1]
    assert json.loads(printed[2])
    assert list(checkout.iterdir()) == []


def test_an_extracted_capsule_runs_its_entrypoint(tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    target = tmp_path / "capsule"
    target.mkdir()
    extract(capsule.members, target)
    done = subprocess.run(["./repro.sh"], cwd=target, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "replaying\n"


# --- verifying -------------------------------------------------------------------------------


def results(path: Path, plugin_files: dict[str, bytes] | None = PLUGIN_FILES) -> dict[str, bool]:
    return {check.name: check.ok for check in verify(path, plugin_files)}


def detail(path: Path, name: str) -> str:
    return next(check.detail for check in verify(path, PLUGIN_FILES) if check.name == name)


def test_a_fresh_capsule_verifies(tmp_path: Path) -> None:
    path = packed(tmp_path).path
    names = ["zip", "members", "schema", "id", "secrets", "plugin"]
    assert results(path) == dict.fromkeys(names, True)
    assert list(results(path, None)) == names[:-1]


def test_a_changed_manifest_fails_by_its_id_only(tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    path = rewritten(capsule, **{"manifest.json": capsule.members["manifest.json"].replace(b'"seed":7', b'"seed":8')})
    assert [name for name, ok in results(path).items() if not ok] == ["id"]


def test_a_changed_plugin_fails_and_names_version_and_file(tmp_path: Path) -> None:
    path = rewritten(packed(tmp_path), plugin__repro_gate_pytest__axes__evil=b"1")
    assert [name for name, ok in results(path).items() if not ok] == ["plugin"]
    assert detail(path, "plugin") == f"differs: from version {__version__}: repro_gate_pytest/axes/evil"


def test_a_secret_that_was_added_later_fails(tmp_path: Path) -> None:
    path = rewritten(packed(tmp_path), input__notes=TOKEN.encode())
    assert [name for name, ok in results(path).items() if not ok] == ["secrets"]
    assert detail(path, "secrets") == "input/notes (github-token)"


def test_damage_is_a_failed_check_and_no_error(tmp_path: Path) -> None:
    capsule = packed(tmp_path)
    assert [name for name, ok in results(rewritten(capsule, **{"runs.jsonl.gz": b"x"})).items() if not ok] == [
        "secrets"
    ]
    path = rewritten(capsule, **{"manifest.json": b"{}"})
    assert results(path) == {"zip": True, "members": True, "schema": False, "secrets": True, "plugin": True}
    path.write_bytes(b"not a zip")
    assert results(path) == {"zip": False}
    assert results(tmp_path / "gone.zip") == {"zip": False}


def test_our_own_plugin_passes_through_a_capsule_unchanged(tmp_path: Path) -> None:
    root = Path(__file__).parents[2] / "pytest_plugin"
    own = {p.relative_to(root).as_posix(): p.read_bytes() for p in root.glob("repro_gate_pytest/**/*.py")}
    path = packed(tmp_path, plugin_files=own).path
    assert all(check.ok for check in verify(path, own))
    assert results(path, None)["secrets"], "our own code looks like a secret to our own scan"


# --- environment -----------------------------------------------------------------------------


def test_a_variable_that_is_not_named_is_left_out() -> None:
    given = {
        "LANG": "C",
        "LC_ALL": "C.UTF-8",
        "LC_TIME": "de_DE",
        "TZ": "UTC",
        "CI": "true",
        "PYTHONHASHSEED": "3",
        "HOME": "/x",
        "USER": "me",
        "PYTHONPATH": "/x",
        "LC_SECRET_x": "1",
        "GITHUB_TOKEN": "1",
        "lang": "C",
    }
    assert list(allowed_variables(given)) == ["CI", "LANG", "LC_ALL", "LC_TIME", "PYTHONHASHSEED", "TZ"]


def test_the_environment_names_interpreter_platform_and_distributions(tmp_path: Path) -> None:
    cpu = tmp_path / "cpuinfo"
    cpu.write_text("processor: 0\nmodel name\t: Fast One\nflags\t\t: sse avx2 aes\n", encoding="utf-8")
    found = describe({"TZ": "UTC", "HOME": "/x"}, ["b==1", "A==2"], cpu_file=cpu)
    assert found["variables"] == {"TZ": "UTC"}
    assert found["distributions"] == ["A==2", "b==1"]
    assert found["cpu"] == {"model": "Fast One", "flags": ["aes", "avx2", "sse"]}
    assert found["interpreter"]["implementation"]
    assert "unknown" in describe({}, [], cpu_file=tmp_path / "gone")["cpu"]
    assert describe({}, [], interpreter={"version": "3.9"})["interpreter"] == {"version": "3.9"}
    json.dumps(found)


def test_other_tools_can_list_a_capsule(tmp_path: Path) -> None:
    with zipfile.ZipFile(packed(tmp_path).path) as archive:
        assert archive.testzip() is None
