"""Which command of ours a job runs: mode and event to arguments and variables. Pure.

Belongs here: the table of modes, and how inputs become options. Does not belong here: running it (steps).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.action.context import Context
from repro_gate.action.inputs import Inputs, Mode
from repro_gate.errors import UsageError

_BY_EVENT = {
    "pull_request": Mode.GATE,
    "merge_group": Mode.GATE,
    "push": Mode.GATE,
    "schedule": Mode.SCAN,
    "workflow_run": Mode.REPORT,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A command, what it adds to its variables, and the files that it leaves in the evidence's directory."""

    mode: Mode
    argv: tuple[str, ...]
    variables: Mapping[str, str] = field(default_factory=dict)
    report: Path | None = None


def mode_of(inputs: Inputs, context: Context) -> Mode:
    """What ``auto`` means on this event. Raises UsageError where no mode may run, or none is meant."""
    event = context.event_name
    if event == "pull_request_target":
        raise UsageError(
            "The event pull_request_target gives a stranger's code this repository's secrets.",
            next_step="Use `on: pull_request`: the gate needs no secret and no token, also for forks.",
        )
    if event == "workflow_run" and inputs.mode not in (Mode.AUTO, Mode.REPORT):
        raise UsageError(
            f"The mode {inputs.mode} would run code on the event workflow_run, where the token may write.",
            next_step="Use the mode `report` there; run the other modes on `pull_request`.",
        )
    if inputs.mode is not Mode.AUTO:
        return inputs.mode
    if event in ("workflow_dispatch", "repository_dispatch"):
        return Mode.REPLAY if inputs.capsule_url else Mode.SCAN
    if event not in _BY_EVENT:
        raise UsageError(
            f"The mode 'auto' has no meaning on the event {event!r}.",
            next_step="Name the mode: `gate`, `scan`, `replay`, `plan`, `shard`, `merge` or `report`.",
        )
    return _BY_EVENT[event]


def job_for(
    mode: Mode, inputs: Inputs, context: Context, *, program: Sequence[str], into: Path, given: Path, python: str
) -> Job:
    """The command of a mode. ``into`` is where it leaves its files, ``given`` what earlier jobs left.

    ``python`` is the interpreter of the tests where the mode needs one. Raises UsageError.
    """
    report = into / "report.json"
    variables = _variables(inputs)
    if mode is Mode.GATE:
        argv = ["check", *_change(inputs, context), *_common(inputs), *_written(into, report)]
        argv += [f"--mutation-json={into / 'mutation.json'}", *_floors(inputs), *_python(inputs.python)]
    elif mode is Mode.SCAN:
        argv = ["scan", *_common(inputs), *_written(into, report), *_python(inputs.python or python)]
    elif mode is Mode.PLAN:
        if _floors(inputs):
            raise UsageError(
                "The inputs 'min-mutation-score' and 'min-diff-coverage' are for the mode 'gate', and this is 'plan'.",
                next_step="Set the keys of the same names in `[tool.repro-gate]` of the base branch.",
            )
        kind = "check" if _is_check(context) else "scan"
        argv = ["plan", f"--kind={kind}", f"--shards={inputs.shards}", f"--out={into / 'plan.json'}"]
        argv += [f"--matrix={into / 'matrix.json'}"]
        argv += [*_change(inputs, context), *_common(inputs)] if kind == "check" else _common(inputs)
        argv += _python(inputs.python or ("" if kind == "check" else python))
        return Job(mode=mode, argv=(*program, *argv, *_pytest(inputs)), variables=variables)
    elif mode is Mode.SHARD:
        if inputs.shard is None:
            raise UsageError(
                "The mode 'shard' needs the input 'shard'.", next_step="Give `shard: ${{ matrix.shard }}`."
            )
        plan = newest_plan(given)
        argv = ["shard", f"--plan={plan}", f"--index={inputs.shard}", f"--attempt={context.attempt}"]
        argv += [f"--out={into / f'shard-{inputs.shard}.json'}", f"--capsules={into / 'capsules'}"]
        return Job(mode=mode, argv=(*program, *argv), variables=variables)
    elif mode is Mode.MERGE:
        plan = newest_plan(given)
        shards = [str(path) for path in shards_of(plan, given)]
        argv = ["merge", f"--plan={plan}", f"--report-json={report}", f"--sarif={into / 'report.sarif'}"]
        # As the plan, which an earlier job made of the same event.
        argv += [f"--mutation-json={into / 'mutation.json'}"] if _is_check(context) else []
        argv += shards
        return Job(mode=mode, argv=(*program, *argv), variables=variables, report=report)
    else:
        raise AssertionError(mode)
    return Job(mode=mode, argv=(*program, *argv, *_pytest(inputs)), variables=variables, report=report)


def _is_check(context: Context) -> bool:
    """Whether a job in parts is a check, else it is a scan."""
    return _BY_EVENT.get(context.event_name) is Mode.GATE


def newest_plan(given: Path) -> Path:
    """The plan of the latest attempt among what earlier jobs left. Raises UsageError where there is none."""
    found = sorted(given.rglob("plan.json"), key=lambda path: (attempt_of(path), str(path)))
    if not found:
        raise UsageError(
            f"There is no plan.json below {given}.",
            next_step="Download the artifact of the job with `mode: plan` there (see workflows/pull-request.yml).",
        )
    return found[-1]


def shards_of(plan: Path, given: Path) -> list[Path]:
    """The files of shards that may belong to a plan:
    a job that is run again with its plan leaves the old ones behind.
    """
    first = attempt_of(plan)
    return sorted(path for path in given.rglob("shard-*.json") if attempt_of(path) >= first)


def attempt_of(path: Path) -> int:
    """The attempt in the name of the artifact around a file (``repro-gate-RUN-ATTEMPT-…``), or 1."""
    for part in reversed(path.parts[:-1]):
        words = part.split("-")
        if part.startswith("repro-gate-") and len(words) >= 4 and words[3].isdigit():
            return int(words[3])
    return 1


def artifact_name(mode: Mode, inputs: Inputs, context: Context) -> str:
    """A name that no other job and no other attempt of this run has."""
    part = {Mode.PLAN: "plan", Mode.SHARD: f"s{inputs.shard}"}.get(mode, str(mode))
    folder = inputs.working_directory.strip("./").replace("/", "_")
    tail = f"-{folder}" if folder else ""
    return f"repro-gate-{context.run_id}-{context.attempt}-{part}{tail}"


def _change(inputs: Inputs, context: Context) -> list[str]:
    told = [f"--event={context.event_path}"] if context.event_path and context.event else []
    base = [f"--base={inputs.base_sha}"] if inputs.base_sha else []
    head = [f"--head={inputs.head_sha}"] if inputs.head_sha else []
    names = ",".join(name for name, _ in inputs.gates)
    return [*told, *base, *head, *([f"--gates={names}"] if names else [])]


def _common(inputs: Inputs) -> list[str]:
    return [f"--sandbox={inputs.sandbox}"] if inputs.sandbox else []


def _written(into: Path, report: Path) -> list[str]:
    return [f"--report-json={report}", f"--sarif={into / 'report.sarif'}", f"--capsules={into / 'capsules'}"]


def _floors(inputs: Inputs) -> list[str]:
    given = {"min-mutation-score": inputs.min_mutation_score, "min-diff-coverage": inputs.min_diff_coverage}
    return [f"--{name}={value}" for name, value in given.items() if value]


def _python(python: str) -> list[str]:
    return [f"--python={python}"] if python else []


def _pytest(inputs: Inputs) -> list[str]:
    return ["--", *inputs.pytest_args] if inputs.pytest_args else []


def _variables(inputs: Inputs) -> dict[str, str]:
    """Settings that have no option: they win over the project's, which the workflow's author decides."""
    found = {
        "REPRO_GATE_RUNS": inputs.seeds,
        "REPRO_GATE_REPLAYS": inputs.repeats,
        "REPRO_GATE_INSTALL": inputs.install,
    }
    levels = {f"REPRO_GATE_GATE_{name.upper().replace('-', '_')}": level for name, level in inputs.gates}
    return {name: str(value) for name, value in {**found, **levels}.items() if value}
