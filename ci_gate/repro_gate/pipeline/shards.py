"""A job in parts: a plan of units, the files that shards leave, and what they come to together. Pure.

A unit does not know how many shards there are; a shard is an assignment of units. So the whole job is the plan with
one shard, and what is merged is the same, whoever ran what. Belongs here: the formats, the assignment, the merge.
Does not belong here: running a unit (cli), and what its report says (report).
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, NoReturn, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from repro_gate.errors import EvidenceRefused, ShardsIncomplete
from repro_gate.model import CheckReport, FlakeReport, Sandboxing, Trouble
from repro_gate.report import reading

MOST_SHARDS = 256
MOST_UNITS = 32
_SECONDS_A_SHARD = 600.0
_TESTS_A_SHARD = 250
_Form = TypeVar("_Form", bound=BaseModel)
_Count = Annotated[int, Field(ge=0, le=2**31)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)


class Unit(_Part):
    """A gate of a check, or some files of a scan (``arguments`` are pytest's). ``weight`` only balances shards."""

    id: str
    gate: str = ""
    arguments: list[str] = []
    weight: Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)] = 1.0


class Plan(_Part):
    """Everything that decides what comes out. ``shards`` holds the ids of units, one list for each shard."""

    schema_: Annotated[Literal["repro-gate/plan/v1"], Field(alias="schema")] = "repro-gate/plan/v1"
    version: str
    kind: Literal["check", "scan"]
    created_at: str
    seed: _Count
    base: str = ""
    head: str = ""
    said: dict[str, Any] = {}
    arguments: list[str] = []
    settings: dict[str, str] = {}
    units: Annotated[list[Unit], Field(max_length=MOST_SHARDS)]
    shards: Annotated[list[list[str]], Field(min_length=1, max_length=MOST_SHARDS)]

    @property
    def digest(self) -> str:
        """The same for the same plan, however it is written."""
        text = json.dumps(self.model_dump(mode="json", by_alias=True), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def of_shard(self, index: int) -> list[Unit]:
        """The units of one shard, in the plan's order."""
        return [unit for unit in self.units if unit.id in self.shards[index]]


class Why(_Part):
    """Why a unit has no report."""

    slug: Annotated[str, Field(min_length=1)]
    text: str
    next_step: str


class Done(_Part):
    """What a unit came to: its report (as report.json has it), or why there is none; never both, never neither."""

    id: str
    report: dict[str, Any] | None = None
    trouble: Why | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        if (self.report is None) == (self.trouble is None):
            raise ValueError("a unit has either a report or a trouble")
        return self


class Shard(_Part):
    """The file of one shard. It is written after each unit; ``complete`` only at the end."""

    schema_: Annotated[Literal["repro-gate/shard/v1"], Field(alias="schema")] = "repro-gate/shard/v1"
    plan: str
    index: _Count
    attempt: Annotated[int, Field(ge=1, le=10_000)]
    complete: bool
    units: list[Done]


@dataclass(frozen=True, kw_only=True, slots=True)
class Merged:
    """The whole, and what to know about how it was put together."""

    report: CheckReport | FlakeReport | None
    notes: tuple[str, ...] = ()


def assigned(units: Sequence[Unit], shards: int) -> list[list[str]]:
    """Units to shards, the heaviest first and each to the lightest; never an empty shard beside a full one."""
    parts: list[list[Unit]] = [[] for _ in range(max(1, min(shards, len(units), MOST_SHARDS)))]
    for unit in sorted(units, key=lambda unit: -unit.weight):
        min(parts, key=lambda part: sum(each.weight for each in part)).append(unit)
    order = {unit.id: place for place, unit in enumerate(units)}
    return [sorted((unit.id for unit in part), key=order.__getitem__) for part in parts]


def grouped(tests: Mapping[str, int], seconds: Mapping[str, float]) -> list[tuple[tuple[str, ...], float]]:
    """Files (with their numbers of tests) in order, packed so that each group has about the same work,
    and that work.
    """
    weights = {file: seconds.get(file, 0.0) or float(number) for file, number in tests.items()}
    least = sum(weights.values()) / MOST_UNITS
    groups: list[tuple[tuple[str, ...], float]] = []
    for file, weight in weights.items():
        if groups and groups[-1][1] + weight <= least:
            files, before = groups.pop()
            groups.append(((*files, file), before + weight))
        else:
            groups.append(((file,), weight))
    while len(groups) > MOST_SHARDS:  # as many units as a matrix may have jobs are enough
        groups = [
            (tuple(file for files, _ in pair for file in files), sum(weight for _, weight in pair))
            for pair in (groups[at : at + 2] for at in range(0, len(groups), 2))
        ]
    return groups


def wanted(shards: str, units: Sequence[Unit], *, timed: bool) -> int:
    """How many shards `auto` is, or the number that was asked for."""
    if shards != "auto":
        return int(shards)
    total = sum(unit.weight for unit in units)
    return max(1, math.ceil(total / (_SECONDS_A_SHARD if timed else _TESTS_A_SHARD)))


def matrix(plan: Plan) -> dict[str, Any]:
    """A matrix with a job for each shard; there is always one, so that nothing is skipped for want of a job."""
    return {"include": [{"shard": index, "shards": len(plan.shards)} for index in range(len(plan.shards))]}


def read_plan(data: bytes) -> Plan:
    """A plan as a stranger wrote it. Raises EvidenceRefused."""
    plan = _read(Plan, data, "plan")
    ids = [unit.id for unit in plan.units]
    placed = [each for part in plan.shards for each in part]
    if sorted(ids) != sorted(placed) or len(set(ids)) != len(ids):
        raise EvidenceRefused("The plan cannot be read: its shards do not hold each of its units once.")
    return plan


def read_shard(data: bytes) -> Shard:
    """A shard's file as a stranger wrote it. Raises EvidenceRefused."""
    return _read(Shard, data, "shard")


def merge(plan: Plan, shards: Iterable[tuple[str, Shard]]) -> Merged:
    """All shards (each with the name of its file) as one report, in any order.

    Raises ShardsIncomplete or EvidenceRefused.
    """
    notes: list[str] = []
    latest = _latest(plan, shards, notes)
    problems = list(_problems(plan, latest))
    if problems:
        raise ShardsIncomplete(
            f"The shards are not all there: {'; '.join(problems)}.",
            next_step="Run the named shards again (in Actions: re-run failed jobs), and merge then.",
        )
    done = {each.id: each for shard in latest.values() for each in shard.units}
    reports, troubles = [], []
    for unit in plan.units:
        found = done[unit.id]
        if found.trouble is not None:
            troubles.append(
                Trouble(slug=found.trouble.slug, text=found.trouble.text, next_step=found.trouble.next_step)
            )
            continue
        report = reading.read(json.dumps(found.report).encode())
        if wrong := _not_of(plan, unit, report):
            raise ShardsIncomplete(f"The report of unit {unit.id!a} {wrong}.")
        reports.append(report)
    return Merged(report=_whole(plan, reports, troubles), notes=tuple(notes))


def _not_of(plan: Plan, unit: Unit, report: CheckReport | FlakeReport) -> str:
    """What makes a report none of this unit, or an empty string: it counts only for what the plan says."""
    if isinstance(report, FlakeReport):
        if plan.kind != "scan":
            return "is that of a scan, not of a check"
        if (report.seed, report.commit) != (plan.seed, plan.head):
            return f"is of seed {report.seed} and commit {report.commit!a}, not of {plan.seed} and {plan.head!a}"
        return "" if report.tests or report.incomplete else "holds no test"
    if plan.kind != "check":
        return "is that of a check, not of a scan"
    if (report.base, report.head) != (plan.base, plan.head):
        return f"compares {report.base!a} and {report.head!a}, not {plan.base!a} and {plan.head!a}"
    gates = [gate.gate for gate in report.gates]
    # What kept a gate from its result is told by the report; without that there must be one.
    if gates == [unit.gate] or (not gates and report.trouble is not None):
        return ""
    return f"holds the results of {gates!a}, not of {unit.gate!a}"


def _latest(plan: Plan, shards: Iterable[tuple[str, Shard]], notes: list[str]) -> dict[int, Shard]:
    """Of each shard the latest attempt. A file of another plan, or a second one that differs, is refused."""
    found: dict[tuple[int, int], tuple[str, Shard]] = {}
    for name, shard in sorted(shards, key=lambda pair: pair[0]):
        if shard.plan != plan.digest:
            raise ShardsIncomplete(f"{name} belongs to another plan ({shard.plan[:12]}, not {plan.digest[:12]}).")
        if shard.index >= len(plan.shards):
            raise ShardsIncomplete(f"{name} is of shard {shard.index}; the plan has {len(plan.shards)}.")
        key = (shard.index, shard.attempt)
        if key in found:
            if found[key][1] != shard:
                raise ShardsIncomplete(
                    f"{name} and {found[key][0]} are of the same attempt of shard {shard.index}, and differ.",
                    next_step="Find out which one is right, and merge with that alone.",
                )
            notes.append(f"shard {shard.index} is there twice, and both are the same")
        found.setdefault(key, (name, shard))
    latest: dict[int, Shard] = {}
    for index, attempt in sorted(found):
        if index in latest:
            notes.append(f"attempt {latest[index].attempt} of shard {index} is stale; {attempt} counts")
        latest[index] = found[index, attempt][1]
    return latest


def _problems(plan: Plan, latest: Mapping[int, Shard]) -> Iterator[str]:
    for index, wanted_ids in enumerate(plan.shards):
        shard = latest.get(index)
        if shard is None:
            yield f"shard {index} is missing"
            continue
        there = [each.id for each in shard.units]
        missing = [each for each in wanted_ids if each not in there]
        foreign = [each for each in there if each not in wanted_ids]
        if missing or not shard.complete:
            left = f" ({', '.join(missing)})" if missing else ""
            yield f"shard {index} did not come to its end{left}"
        if foreign or len(set(there)) != len(there):
            yield f"shard {index} has units that are not its own or twice ({', '.join(foreign or there)[:200]})"


def _whole(
    plan: Plan, reports: Sequence[CheckReport | FlakeReport], troubles: Sequence[Trouble]
) -> CheckReport | FlakeReport | None:
    if plan.kind == "check":
        return _check(plan, [each for each in reports if isinstance(each, CheckReport)], troubles)
    return _scan(plan, [each for each in reports if isinstance(each, FlakeReport)], troubles)


def _check(plan: Plan, reports: Sequence[CheckReport], troubles: Sequence[Trouble]) -> CheckReport:
    """Gates side by side. Nothing that was measured or read from a clock is in it: it is the same whoever ran what."""
    first = (
        reports[0] if reports else CheckReport(base=plan.base, head=plan.head, how="", gates=(), levels={}, command="")
    )
    own = [each.trouble for each in reports if each.trouble is not None]
    campaign = next((each.campaign for each in reports if each.campaign is not None), None)
    return replace(
        first,
        gates=tuple(gate for each in reports for gate in each.gates),
        levels={gate: level for each in reports for gate, level in each.levels.items()},
        command=f"repro-gate check --base={plan.base} --head={plan.head}",
        sandbox=min((each.sandbox for each in reports if each.sandbox is not None), key=_hermetic, default=None),
        environment=next((each.environment for each in reports if each.environment), ""),
        python=next((each.python for each in reports if each.python), ""),
        pytest=next((each.pytest for each in reports if each.pytest), ""),
        campaign=_untimed(campaign) if campaign is not None else None,
        trouble=next(iter([*own, *troubles]), None),
        policy=_once(line for each in reports for line in each.policy),
        notes=_once(line for each in reports for line in each.notes),
        seconds=0.0,
        started_at=plan.created_at,
    )


def _scan(plan: Plan, reports: Sequence[FlakeReport], troubles: Sequence[Trouble]) -> FlakeReport | None:
    if not reports:
        return None
    tests = [test for each in reports for test in each.tests]
    ended = _once([*(each.incomplete for each in reports if each.incomplete), *(each.text for each in troubles)])
    return replace(
        _untimed(
            replace(reports[0], tests=tuple(tests), sandbox=min((each.sandbox for each in reports), key=_hermetic))
        ),
        runs=min(each.runs for each in reports),
        directed_runs=max(each.directed_runs for each in reports),
        hash_seeds=min(each.hash_seeds for each in reports),
        notes=_once(line for each in reports for line in each.notes),
        skipped_files=tuple(dict.fromkeys(file for each in reports for file in each.skipped_files)),
        incomplete="; ".join(ended),
        started_at=plan.created_at,
    )


def _hermetic(sandbox: Sandboxing) -> bool:
    """The key of the least: the whole is as hermetic as its weakest part."""
    return sandbox.hermetic


def _untimed(report: FlakeReport) -> FlakeReport:
    return replace(report, seconds=0.0, tests=tuple(replace(test, seconds=0.0) for test in report.tests))


def _once(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))


def _read(form: type[_Form], data: bytes, what: str) -> _Form:
    try:
        return form.model_validate(reading.strict_json(data))
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
        _refuse(what, f"{'.'.join(map(str, first['loc']))[:200]}: {first['msg']}")
    except ValueError as wrong:
        _refuse(what, ascii(str(wrong))[:200])


def _refuse(what: str, why: str) -> NoReturn:
    raise EvidenceRefused(f"The {what} cannot be read: {why}.")
