"""The action without a runner: inputs, events, commands, outputs."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.action import context as contexts
from repro_gate.action import inputs as given_inputs
from repro_gate.action.answers import answers
from repro_gate.action.context import Context, without_runner
from repro_gate.action.hosts import GITHUBS, Hosts, default_for
from repro_gate.action.inputs import Inputs, Mode, variable
from repro_gate.action.jobs import artifact_name, attempt_of, job_for, mode_of, newest_plan, shards_of
from repro_gate.action.replaying import fetched
from repro_gate.action.steps import Effects, run
from repro_gate.errors import CapsuleRefused, FetchFailed, UsageError
from repro_gate.model import Level, ReasonCode, Refused
from repro_gate.pipeline.check_request import GATES
from repro_gate.process import Ended
from tests.unit.test_report_reading import CHECK, written

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())


def context(tmp_path: Path, event_name: str = "pull_request", **more: Any) -> Context:
    made: dict[str, Any] = {
        "event_name": event_name,
        "event_path": tmp_path / "event.json",
        "event": {"pull_request": {"number": 7}},
        "repository": "owner/project",
        "sha": "c" * 40,
        "workspace": tmp_path,
        "temp": tmp_path,
        "run_id": 5,
        "attempt": 2,
        "api_url": "https://api.example.org",
        "server_url": "https://example.org",
        **more,
    }
    return Context(**made)


def read(**given: str) -> Inputs:
    return given_inputs.read({variable(name.replace("_", "-")): value for name, value in given.items()})


def job(tmp_path: Path, mode: Mode, inputs: Inputs, event: str = "pull_request", **more: Any) -> tuple[str, ...]:
    made = job_for(
        mode,
        inputs,
        context(tmp_path, event, **more),
        program=("rg",),
        into=tmp_path / "into",
        given=tmp_path / "in",
        python="/usr/bin/python3",
    )
    return made.argv[1:]


# --- action.yml ----------------------------------------------------------------------------------


def test_the_step_that_judges_gets_every_input_but_the_token() -> None:
    judge, _, report = ACTION["runs"]["steps"]
    passed = {name: value for name, value in judge["env"].items() if name.startswith("INPUT_")}
    names = [name for name in ACTION["inputs"] if name != "github-token"]
    assert passed == {variable(name): f"${{{{ inputs.{name} }}}}" for name in names}
    assert "token" not in json.dumps(judge).lower()
    assert [name for name, value in report["env"].items() if "token" in value] == ["GATE_TOKEN"]


def test_no_text_of_an_expression_is_part_of_a_command() -> None:
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_the_gates_and_levels_of_the_input_are_those_that_there_are() -> None:
    assert given_inputs.GATES == GATES
    assert set(given_inputs.LEVELS) == {*Level} - {Level.OFF}


def test_defaults_of_the_action_are_accepted() -> None:
    defaults = {name.replace("-", "_"): about["default"] for name, about in ACTION["inputs"].items()}
    del defaults["github_token"]
    assert read(**defaults) == Inputs(time_budget=20.0)


def test_each_output_of_the_action_is_one_that_a_step_writes(tmp_path: Path) -> None:
    told = answers(mode=Mode.GATE, code=0, reason="", document={}, into=tmp_path, context=context(tmp_path))
    of_run = {*told, "evidence", "artifact-name", "publish"}
    for name, about in ACTION["outputs"].items():
        step, found = re.fullmatch(r"\$\{\{ steps\.(\w+)\.outputs\.([a-z-]+) \}\}", about["value"]).groups()  # type: ignore[union-attr]
        assert found == name
        assert name in (of_run if step == "run" else {"reporter", "comment-url", "check-run-url"})


# --- inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"mode": "gat"}, "'mode' is 'gat'; it must be one of auto, gate,.*did you mean \"gate\""),
        ({"seeds": "-3"}, "'seeds' is '-3'; it must be a whole number, at least 2"),
        ({"repeats": "0"}, "at least 1"),
        ({"gates": "network:loud"}, "a gate, or a gate with a level"),
        ({"gates": "speed"}, "names of gates"),
        ({"isolation": "vm"}, "one of auto, docker"),
        ({"time_budget": "soon"}, "minutes, more than 0"),
        ({"time_budget": "0"}, "minutes, more than 0"),
        ({"shards": "257"}, "from 1 to 256"),
        ({"shard": "x"}, "whole number"),
        ({"base_sha": "main"}, "full name of a commit"),
        ({"pytest_args": "'open"}, "words as a shell has them"),
        ({"capsule_url": "http://x/y", "capsule_sha256": "0" * 64}, "begins with https"),
        ({"capsule_url": "https://x/y"}, "'capsule-sha256' is missing"),
        ({"capsule_sha256": "0" * 64}, "'capsule-url' is missing"),
        ({"capsule_url": "https://x/y", "capsule_sha256": "12"}, "64 hexadecimal"),
        ({"capsule_hosts": "example.org https://x/"}, "'https://x/'; it must be names of hosts"),
        ({"run_id": "0"}, "at least 1"),
        ({"comment": "sometimes"}, "one of always"),
        ({"check_run": "on"}, "one of auto, off"),
    ],
)
def test_a_wrong_input_is_named_with_what_it_may_be(given: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read(**given)


@given(st.sampled_from([name for name in ACTION["inputs"] if name != "github-token"]), st.text(max_size=40))
def test_no_text_in_an_input_is_more_than_a_wrong_use(name: str, text: str) -> None:
    with contextlib.suppress(UsageError):
        given_inputs.read({variable(name): text})


def test_gates_have_levels() -> None:
    assert read(gates="fail-to-pass, network:warn").gates == (("fail-to-pass", ""), ("network", "warn"))


# --- events and modes ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "mode"),
    [
        ("pull_request", Mode.GATE),
        ("merge_group", Mode.GATE),
        ("push", Mode.GATE),
        ("schedule", Mode.SCAN),
        ("workflow_dispatch", Mode.SCAN),
        ("workflow_run", Mode.REPORT),
    ],
)
def test_the_event_decides_the_mode(tmp_path: Path, event: str, mode: Mode) -> None:
    assert mode_of(Inputs(), context(tmp_path, event)) is mode


def test_a_dispatch_with_a_capsule_replays_it(tmp_path: Path) -> None:
    inputs = read(capsule_url="https://x/y.zip", capsule_sha256="0" * 64)
    assert mode_of(inputs, context(tmp_path, "workflow_dispatch")) is Mode.REPLAY


@pytest.mark.parametrize("mode", [mode for mode in Mode if mode not in (Mode.AUTO, Mode.REPORT)])
def test_nothing_is_run_where_the_token_may_write(tmp_path: Path, mode: Mode) -> None:
    with pytest.raises(UsageError, match="where the token may write"):
        mode_of(Inputs(mode=mode), context(tmp_path, "workflow_run"))
    with pytest.raises(UsageError, match="secrets"):
        mode_of(Inputs(mode=mode), context(tmp_path, "pull_request_target"))


def test_an_event_without_a_meaning_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no meaning on the event 'issues'"):
        mode_of(Inputs(), context(tmp_path, "issues"))


# --- commands ------------------------------------------------------------------------------------


def test_a_pull_request_is_checked(tmp_path: Path) -> None:
    inputs = read(
        gates="network:warn",
        seeds="30",
        isolation="podman",
        pytest_args="-k 'a b'",
        base_sha="a" * 40,
        min_mutation_score="80",
        min_diff_coverage="92.5",
    )
    argv = job(tmp_path, Mode.GATE, inputs)
    into = tmp_path / "into"
    assert argv == (
        "check",
        f"--event={tmp_path / 'event.json'}",
        f"--base={'a' * 40}",
        "--gates=network",
        "--sandbox=docker",
        f"--report-json={into / 'report.json'}",
        f"--sarif={into / 'report.sarif'}",
        f"--capsules={into / 'capsules'}",
        f"--mutation-json={into / 'mutation.json'}",
        "--min-mutation-score=80",
        "--min-diff-coverage=92.5",
        "--",
        "-k",
        "a b",
    )
    made = job_for(Mode.GATE, inputs, context(tmp_path), program=(), into=into, given=into, python="")
    assert made.variables == {"REPRO_GATE_RUNS": "30", "REPRO_GATE_GATE_NETWORK": "warn"}


def test_a_scan_runs_with_the_interpreter_on_the_path(tmp_path: Path) -> None:
    assert "--python=/usr/bin/python3" in job(tmp_path, Mode.SCAN, Inputs(), "schedule")
    assert "--python=/my/python" in job(tmp_path, Mode.SCAN, read(python="/my/python"), "schedule")
    assert not [word for word in job(tmp_path, Mode.GATE, Inputs()) if word.startswith("--python")]


def test_a_shard_needs_its_number_and_a_plan(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs the input 'shard'"):
        job(tmp_path, Mode.SHARD, Inputs())
    with pytest.raises(UsageError, match=r"no plan\.json"):
        job(tmp_path, Mode.SHARD, Inputs(shard=1))


def test_what_a_shard_leaves_is_all_in_one_folder(tmp_path: Path) -> None:
    left(tmp_path / "in", "plan.json")
    assert job(tmp_path, Mode.SHARD, Inputs(shard=1)) == (
        "shard",
        f"--plan={tmp_path / 'in' / 'plan.json'}",
        "--index=1",
        "--attempt=2",
        f"--out={tmp_path / 'into' / 'shard-1.json'}",
        f"--capsules={tmp_path / 'into' / 'capsules'}",
    )


@pytest.mark.parametrize(("event", "mutants"), [("pull_request", True), ("schedule", False)])
def test_a_merge_leaves_what_one_job_would(tmp_path: Path, event: str, mutants: bool) -> None:
    left(tmp_path / "in", "plan.json", "shard-0.json")
    into = tmp_path / "into"
    assert job(tmp_path, Mode.MERGE, Inputs(), event) == (
        "merge",
        f"--plan={tmp_path / 'in' / 'plan.json'}",
        f"--report-json={into / 'report.json'}",
        f"--sarif={into / 'report.sarif'}",
        *([f"--mutation-json={into / 'mutation.json'}"] if mutants else []),
        str(tmp_path / "in" / "shard-0.json"),
    )


def left(top: Path, *names: str) -> None:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text("{}")


def test_of_two_attempts_the_newer_plan_counts_and_shards_of_the_older_do_not(tmp_path: Path) -> None:
    left(
        tmp_path,
        "repro-gate-5-1-plan/plan.json",
        "repro-gate-5-1-s0/shard-0.json",
        "repro-gate-5-10-plan/plan.json",
        "repro-gate-5-10-s0/shard-0.json",
        "repro-gate-5-11-s1/shard-1.json",
    )
    plan = newest_plan(tmp_path)
    assert plan.parent.name == "repro-gate-5-10-plan"
    assert [path.parent.name for path in shards_of(plan, tmp_path)] == ["repro-gate-5-10-s0", "repro-gate-5-11-s1"]
    assert attempt_of(tmp_path / "somewhere" / "shard-0.json") == 1


def test_no_two_jobs_of_a_run_name_their_artifact_alike(tmp_path: Path) -> None:
    here, again = context(tmp_path), context(tmp_path, attempt=3)
    names = {
        artifact_name(mode, Inputs(shard=shard, working_directory=place), where)
        for mode in (Mode.GATE, Mode.PLAN, Mode.SHARD, Mode.MERGE)
        for shard in (0, 1)
        for place in (".", "./a/b")
        for where in (here, again)
    }
    assert len(names) == 2 * 2 * (2 + 1 + 1 + 1)  # only a shard has a number


# --- what a command sees -------------------------------------------------------------------------


def test_nothing_of_the_runner_is_passed_on() -> None:
    kept = {"PATH": "/bin", "HOME": "/h", "REPRO_GATE_RUNS": "3", "LICENSE_KEY": "x"}
    runners = dict.fromkeys(
        (
            "GITHUB_TOKEN",
            "GITHUB_OUTPUT",
            "ACTIONS_RUNTIME_TOKEN",
            "ACTIONS_ID_TOKEN_REQUEST_URL",
            "RUNNER_TEMP",
            "INPUT_MODE",
            "GATE_TOKEN",
            "GH_TOKEN",
        ),
        "x",
    )
    assert without_runner({**kept, **runners}) == kept


def test_outside_of_a_job_the_action_says_what_to_use() -> None:
    with pytest.raises(UsageError, match="no job of GitHub Actions"):
        contexts.read({})


def test_an_event_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "event.json").write_text("{")
    environ = {
        "GITHUB_EVENT_NAME": "push",
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
    }
    with pytest.raises(UsageError, match="is no JSON"):
        contexts.read(environ)


# --- the job -------------------------------------------------------------------------------------


def stage(
    tmp_path: Path, ended: Ended, *, event: str = "pull_request", **inputs: str
) -> tuple[int, dict[str, str], str]:
    """Run the step with a command that ends like this and writes nothing."""
    environ = {
        "GITHUB_EVENT_NAME": event,
        "GITHUB_WORKSPACE": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
        "RUNNER_TEMP": str(tmp_path),
        **{variable(name.replace("_", "-")): value for name, value in inputs.items()},
    }
    out = io.StringIO()
    effects = Effects(
        environ=environ,
        out=out,
        attend=lambda *_, **__: ended,
        token=lambda: "t0k3n",
        fetch=lambda *_: b"",
        program=("rg",),
        which=lambda _: "/usr/bin/python3",
        added=lambda *_: {},
    )
    code = run(effects)
    text = (tmp_path / "output").read_text() if (tmp_path / "output").exists() else ""
    told = dict(re.findall(r"([a-z-]+)<<end-t0k3n\n(.*?)\nend-t0k3n\n", text, re.DOTALL))
    return code, told, out.getvalue()


def test_a_pass_without_a_report_is_none(tmp_path: Path) -> None:
    code, told, said = stage(tmp_path, Ended(status=0))
    assert code == 3
    assert told["verdict"] == "inconclusive"
    assert "The command left no report" in said


@pytest.mark.parametrize(("status", "code"), [(1, 1), (2, 2), (3, 3), (70, 70), (130, 3), (-9, 70), (-15, 70)])
def test_the_exit_code_is_the_commands_own(tmp_path: Path, status: int, code: int) -> None:
    assert stage(tmp_path, Ended(status=status))[0] == code


def test_a_time_budget_that_is_over_is_inconclusive_and_said(tmp_path: Path) -> None:
    code, told, said = stage(tmp_path, Ended(status=130, timed_out=True), time_budget="0.5")
    assert (code, told["verdict"], told["reason"]) == (3, "inconclusive", "time-budget")
    assert "The time budget of 0.5 minutes was over" in said


def test_what_the_command_prints_is_no_command_to_the_runner(tmp_path: Path) -> None:
    said = stage(tmp_path, Ended(status=1))[2].splitlines()
    assert said.index("::stop-commands::t0k3n") < said.index("::t0k3n::")


def test_the_second_stage_runs_nothing(tmp_path: Path) -> None:
    def never(*_: object, **__: object) -> Any:
        raise AssertionError

    environ = {"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_WORKSPACE": str(tmp_path), "RUNNER_TEMP": str(tmp_path)}
    effects = Effects(
        environ=environ,
        out=io.StringIO(),
        attend=never,
        token=str,
        fetch=never,
        program=(),
        which=never,
        added=never,
    )
    assert run(effects) == 0


# --- outputs -------------------------------------------------------------------------------------


def test_numbers_of_a_report_become_outputs(tmp_path: Path) -> None:
    gates = [
        {
            "gate": "fail-to-pass",
            "verdict": "fail",
            "reason": "flaky_on_head",
            "findings": [],
            "proved": [{"id": "a"}],
            "refused": [{"id": "b", "reason": "flaky_on_head"}, {"id": "c", "reason": "passes_on_base"}],
        },
        {"gate": "network", "verdict": "fail", "reason": "network_attempt", "findings": [{"test": "a"}, {"test": "a"}]},
    ]
    document = {"verdict": "fail", "gates": gates, "tests": [{"verdict": "flaky"}, {"verdict": "stable"}], "base": "b"}
    told = answers(mode=Mode.GATE, code=1, reason="", document=document, into=tmp_path, context=context(tmp_path))
    assert (told["repro-base-failed"], told["repro-head-passed"]) == ("1/3", "2/3")
    assert (told["flaky-count"], told["network-violations"], told["reason"]) == ("1", "1", "flaky_on_head")


@pytest.mark.parametrize(
    ("score", "percent", "told"), [(5 / 6, 91.0, ("83.3", "2", "91.0")), (None, None, ("", "2", ""))]
)
def test_mutants_and_coverage_become_outputs(
    tmp_path: Path, score: float | None, percent: float | None, told: tuple[str, str, str]
) -> None:
    gates = [
        {"gate": "coverage", "verdict": "pass", "reason": "covered", "findings": [], "coverage": {"percent": percent}},
        {
            "gate": "mutation",
            "verdict": "fail",
            "reason": "survivors",
            "findings": [],
            "mutation": {"score": score, "survivors": ["a", "b"]},
        },
    ]
    document = {"verdict": "fail", "gates": gates}
    found = answers(mode=Mode.GATE, code=1, reason="", document=document, into=tmp_path, context=context(tmp_path))
    assert (found["mutation-score"], found["survivor-count"], found["diff-coverage"]) == told
    none = answers(mode=Mode.GATE, code=1, reason="", document={}, into=tmp_path, context=context(tmp_path))
    assert (none["mutation-score"], none["survivor-count"], none["diff-coverage"]) == ("", "", "")


@pytest.mark.parametrize("value", ["80%", "101", "-1", "nan", "1e1"])
def test_a_threshold_that_is_no_percentage_is_refused_by_its_name(value: str) -> None:
    with pytest.raises(UsageError, match=r"'min-diff-coverage' is .* it must be percent, from 0 to 100"):
        read(min_diff_coverage=value)


def test_thresholds_are_for_one_machine(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="are for the mode 'gate', and this is 'plan'"):
        job(tmp_path, Mode.PLAN, read(min_mutation_score="80"))


def test_a_report_cannot_better_the_exit_code(tmp_path: Path) -> None:
    document = {"verdict": "pass", "gates": []}
    told = answers(mode=Mode.GATE, code=1, reason="", document=document, into=tmp_path, context=context(tmp_path))
    assert told["verdict"] == "fail"


# --- capsules by address -------------------------------------------------------------------------


def test_a_capsule_is_taken_by_its_digest_alone(tmp_path: Path) -> None:
    inputs = read(capsule_url="https://x/y.zip", capsule_sha256=hashlib.sha256(b"zip").hexdigest())
    here = context(tmp_path)
    assert fetched(inputs, here, lambda *_: b"zip", tmp_path).read_bytes() == b"zip"
    with pytest.raises(CapsuleRefused, match="has the digest"):
        fetched(inputs, here, lambda *_: b"other", tmp_path / "more")
    with pytest.raises(UsageError, match="needs the inputs"):
        fetched(Inputs(), here, lambda *_: b"", tmp_path)


def test_the_hosts_of_an_input_stand_in_place_of_the_servers_own(tmp_path: Path) -> None:
    asked: list[Hosts] = []

    def fetch(_url: str, _most: int, hosts: Hosts) -> bytes:
        asked.append(hosts)
        return b"zip"

    given = {"capsule_url": "https://x/y.zip", "capsule_sha256": hashlib.sha256(b"zip").hexdigest()}
    for place, more in (("a", {}), ("b", {"capsule_hosts": "Files.example.org, *.example.net"})):
        (tmp_path / place).mkdir()
        fetched(read(**given, **more), context(tmp_path), fetch, tmp_path / place)
    assert asked == [
        Hosts(("example.org", "api.example.org", *GITHUBS)),
        Hosts(("files.example.org", "*.example.net")),
    ]


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/owner/project/releases/download/v1/capsule.zip",
        "https://GitHub.com:443/x",
        "https://objects.githubusercontent.com/x",
        "https://release-assets.githubusercontent.com/x?sig=1",
        "https://productionresultssa12.blob.core.windows.net/actions-results/x",
        "https://ghes.example.org:8443/x",
    ],
)
def test_releases_artifacts_and_the_own_server_are_allowed(url: str) -> None:
    default_for("https://ghes.example.org:8443", "https://ghes.example.org:8443/api/v3").check(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("https://evil.example/x", "from 'evil.example', and may be only from github.com"),
        ("https://github.com.evil.example/x", "'github.com.evil.example'"),
        ("https://evilgithub.com/x", "'evilgithub.com'"),
        ("https://githubusercontent.com/x", "'githubusercontent.com'"),
        ("https://a.b.githubusercontent.com/x", "'a.b.githubusercontent.com'"),
        ("https://stranger.blob.core.windows.net/x", "'stranger.blob.core.windows.net'"),
        ("https://github.com:22/x", "'github.com:22'"),
        ("https://169.254.169.254/latest/meta-data", "'169.254.169.254'"),
        ("https://[::1]/x", "'[::1]'"),
        ("http://github.com/x", "is not of the form https://host/path"),
        ("file:///etc/passwd", "not of the form"),
        ("https://github.com@evil.example/x", "not of the form"),
        ("https://evil.example\\@github.com/x", "not of the form"),
        ("https://github.com%2eevil.example/x", "not of the form"),
        ("https:///x", "not of the form"),
    ],
)
def test_any_other_host_is_named_with_what_to_do(url: str, said: str) -> None:
    with pytest.raises(FetchFailed) as refused:
        default_for("https://github.com", "https://api.github.com").check(url)
    assert said in str(refused.value)
    assert "capsule-" in refused.value.next_step


def test_what_stands_on_a_changed_line_is_told_first(tmp_path: Path) -> None:
    def attend(argv: tuple[str, ...], **_: object) -> Ended:
        [path] = [word.partition("=")[2] for word in argv if word.startswith("--report-json=")]
        gate = dataclasses.replace(
            CHECK.gates[0],
            findings=(),
            proved=(),
            refused=tuple(
                Refused(id=f"tests/test_{name}.py::t", reason=ReasonCode.FAILS_ON_HEAD, why="w") for name in "ab"
            ),
        )
        report = dataclasses.replace(CHECK, gates=(gate,), levels={gate.gate: Level.BLOCK}, trouble=None, policy=())
        Path(path).write_bytes(written(report))
        return Ended(status=1)

    asked: list[tuple[Path, str, str, frozenset[str]]] = []

    def added(*words: Any) -> dict[str, frozenset[int]]:
        asked.append(words)
        return {"tests/test_b.py": frozenset({1})}

    environ = {"GITHUB_EVENT_NAME": "push", "GITHUB_WORKSPACE": str(tmp_path), "RUNNER_TEMP": str(tmp_path)}
    out = io.StringIO()
    code = run(
        Effects(
            environ=environ,
            out=out,
            attend=attend,
            token=lambda: "t",
            fetch=lambda *_: b"",
            program=("rg",),
            which=lambda _: None,
            added=added,
        )
    )
    assert code == 1
    files = re.findall(r"::error file=([\w/.]+),", out.getvalue())
    assert files == ["tests/test_b.py", "tests/test_a.py"]
    assert asked == [(tmp_path, CHECK.base, CHECK.head, frozenset({"tests/test_a.py", "tests/test_b.py"}))]
