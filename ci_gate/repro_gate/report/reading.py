"""report.json as a stranger wrote it: read strictly into the report it describes, or refused.

Belongs here: the shape of that file and how it is put back together. Does not belong here: writing it
(as_json, check_json), and believing it: what a reader may conclude from it is the reader's affair.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, NoReturn

from pydantic import Field, ValidationError

from repro_gate.errors import EvidenceRefused
from repro_gate.model import (
    Cause,
    CheckReport,
    Conditions,
    Failure,
    Finding,
    FlakeReport,
    Frame,
    GateResult,
    GateVerdict,
    Intervention,
    Level,
    Proved,
    ReasonCode,
    Refused,
    Sandboxing,
    SkippedFile,
    TestVerdict,
    Trouble,
    Verdict,
    Zone,
)
from repro_gate.report.as_json import SCHEMA
from repro_gate.report.reading_coverage import Coverage
from repro_gate.report.reading_mutation import Mutation
from repro_gate.report.strict import MANY, Capsule, Part, Texts, Whole

_CODE = re.compile(r"[a-z][a-z0-9_-]{0,60}")
LARGEST = 64 * 2**20  # bytes
_Signed = Annotated[int, Field(ge=-1, le=2**53)]
_Seconds = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class _Frame(Part):
    zone: str
    path: str
    line: _Signed
    function: str


class _Failure(Part):
    phase: str
    type: str
    bases: Texts
    message: str
    chain: Texts
    frames: Annotated[list[_Frame], Field(max_length=2000)]
    fingerprint: str

    def made(self) -> Failure:
        return Failure(
            phase=self.phase,
            type=self.type,
            bases=tuple(self.bases),
            message=self.message,
            chain=tuple(self.chain),
            frames=tuple(
                Frame(zone=Zone(each.zone), path=each.path, line=each.line, function=each.function)
                for each in self.frames
            ),
            fingerprint=self.fingerprint,
        )


class _Intervention(Part):
    what: str
    conditions: dict[str, Any]
    tests: Texts
    test_count: Whole
    failed: Whole
    of: Whole

    def made(self) -> Intervention:
        # Of a long order only its end is written; how long it was must not be lost.
        missing = self.test_count - len(self.tests)
        if not 0 <= missing <= MANY:
            raise ValueError("test_count does not fit the tests")
        return Intervention(
            what=self.what,
            conditions=Conditions.from_json(self.conditions),
            tests=(*("…",) * missing, *self.tests),
            failed=self.failed,
            of=self.of,
        )


class _Test(Part):
    id: str
    verdict: str
    cause: str | None
    detail: str
    role: str
    others: Texts
    interventions: Annotated[list[_Intervention], Field(max_length=1000)]
    runs: Whole
    failures: Whole
    rate: _Share | None
    interval: Annotated[list[_Share], Field(min_length=2, max_length=2)] | None
    upper_bound: _Share | None
    seconds: _Seconds
    failure: _Failure | None
    output: str
    capsule: Capsule | None

    def made(self) -> TestVerdict:
        known = self.cause is not None or bool(self.role or self.others or self.interventions)
        cause = Cause(
            axis=self.cause,
            detail=self.detail,
            role=self.role,
            others=tuple(self.others),
            table=tuple(row.made() for row in self.interventions),
        )
        return TestVerdict(
            id=self.id,
            verdict=Verdict(self.verdict),
            runs=self.runs,
            failures=self.failures,
            seconds=self.seconds,
            detail="" if known else self.detail,
            cause=cause if known else None,
            rate=self.rate,
            interval=(self.interval[0], self.interval[1]) if self.interval else None,
            upper_bound=self.upper_bound,
            failure=self.failure.made() if self.failure else None,
            output=self.output,
            capsule=self.capsule.made() if self.capsule else None,
        )


class _Skipped(Part):
    file: str
    reason: str
    skipped: Whole
    starts: Whole


class _Campaign(Part):
    seed: Whole
    runs: Whole
    directed_runs: Whole
    hash_seeds: Whole
    seconds: _Seconds
    started_at: str | None
    incomplete: str | None
    skipped_files: Annotated[list[_Skipped], Field(max_length=MANY)]


class _Sandbox(Part):
    name: str
    hermetic: bool
    notes: Texts

    def made(self) -> Sandboxing:
        return Sandboxing(name=self.name, hermetic=self.hermetic, notes=tuple(self.notes))


class _Environment(Part):
    python: str
    pytest: str
    hash: str | None = None
    sandbox: _Sandbox
    mode: str
    mode_reason: str


class _Finding(Part):
    reason: str
    test: str | None
    message: str
    next_step: str | None
    output: str = ""
    file: str = ""
    line: Whole = 0

    def made(self) -> Finding:
        return Finding(
            reason=_code(self.reason),
            text=self.message,
            id=self.test or "",
            next_step=self.next_step or "",
            output=self.output,
            path=self.file,
            line=self.line,
        )


class _Proved(Part):
    id: str
    reason: str
    failure: _Failure | None
    runs: Whole
    exercise: str
    conditions: dict[str, Any]
    by_dependency: bool
    capsule: Capsule | None
    replay: str | None

    def made(self) -> Proved:
        return Proved(
            id=self.id,
            reason=ReasonCode(self.reason),
            failure=self.failure.made() if self.failure else None,
            conditions=Conditions.from_json(self.conditions),
            runs=self.runs,
            exercise=self.exercise,
            by_dependency=self.by_dependency,
            capsule=self.capsule.made() if self.capsule else None,
        )


class _Refused(Part):
    id: str
    reason: str
    why: str
    on_base: _Failure | None
    on_head: _Failure | None

    def made(self) -> Refused:
        return Refused(
            id=self.id,
            reason=ReasonCode(self.reason),
            why=self.why,
            on_base=self.on_base.made() if self.on_base else None,
            on_head=self.on_head.made() if self.on_head else None,
        )


class _Gate(Part):
    gate: str
    level: str
    verdict: str
    reason: str
    summary: str
    command: str
    findings: Annotated[list[_Finding], Field(max_length=MANY)]
    notes: Texts
    proved: list[_Proved] = Field(default_factory=list, max_length=MANY)
    refused: list[_Refused] = Field(default_factory=list, max_length=MANY)
    coverage: Coverage | None = None
    mutation: Mutation | None = None

    def made(self) -> GateResult:
        return GateResult(
            gate=self.gate,
            verdict=GateVerdict(self.verdict),
            reason=_code(self.reason),
            findings=tuple(each.made() for each in self.findings),
            proved=tuple(each.made() for each in self.proved),
            refused=tuple(each.made() for each in self.refused),
            notes=tuple(self.notes),
            summary=self.summary,
            command=self.command,
            coverage=self.coverage.made() if self.coverage else None,
            mutation=self.mutation.made() if self.mutation else None,
        )


class _Trouble(Part):
    slug: str
    text: str
    next_step: str


class _Common(Part):
    schema_: Annotated[str, Field(alias="schema")]
    verdict: str
    exit_code: Whole
    base: str | None
    head: str | None
    environment: _Environment
    campaign: _Campaign | None
    tests: Annotated[list[_Test], Field(max_length=MANY)]
    notes: Texts

    def flakes(self, *, notes: bool) -> FlakeReport | None:
        """The campaign, if there was one."""
        if self.campaign is None:
            return None
        there, told = self.environment, self.campaign
        return FlakeReport(
            seed=told.seed,
            runs=told.runs,
            directed_runs=told.directed_runs,
            hash_seeds=told.hash_seeds,
            tests=tuple(test.made() for test in self.tests),
            sandbox=there.sandbox.made(),
            mode=there.mode,
            mode_reason=there.mode_reason,
            python=there.python,
            pytest=there.pytest,
            seconds=told.seconds,
            notes=tuple(self.notes) if notes else (),
            skipped_files=tuple(
                SkippedFile(file=each.file, reason=each.reason, skipped=each.skipped, starts=each.starts)
                for each in told.skipped_files
            ),
            incomplete=told.incomplete or "",
            commit=self.head or "",
            started_at=told.started_at or "",
        )


class _Check(_Common):
    resolved: str
    command: str
    gates: Annotated[list[_Gate], Field(max_length=20)]
    trouble: _Trouble | None
    policy: Texts
    seconds: _Seconds
    started_at: str | None

    def made(self) -> CheckReport:
        there = self.environment.sandbox
        return CheckReport(
            base=self.base or "",
            head=self.head or "",
            how=self.resolved,
            gates=tuple(gate.made() for gate in self.gates),
            levels={gate.gate: Level(gate.level) for gate in self.gates},
            command=self.command,
            sandbox=there.made() if there.name else None,
            environment=self.environment.hash or "",
            python=self.environment.python,
            pytest=self.environment.pytest,
            campaign=self.flakes(notes=False),
            trouble=Trouble(slug=self.trouble.slug, text=self.trouble.text, next_step=self.trouble.next_step)
            if self.trouble
            else None,
            policy=tuple(self.policy),
            notes=tuple(self.notes),
            seconds=self.seconds,
            started_at=self.started_at or "",
        )


class _Scan(_Common):
    gates: Annotated[list[dict[str, Any]], Field(max_length=1)]


def read(data: bytes) -> CheckReport | FlakeReport:
    """The report of a check or a scan in ``data``. Raises EvidenceRefused naming what is wrong with it."""
    value = _loaded(data)
    try:
        if "command" in value:
            return _Check.model_validate(value).made()
        found = _Scan.model_validate(value).flakes(notes=True)
    except ValidationError as wrong:
        first = wrong.errors(include_url=False, include_context=False, include_input=False)[0]
        _refuse(f"{'.'.join(map(str, first['loc']))[:200]}: {first['msg']}")
    except (ValueError, TypeError, KeyError) as wrong:
        _refuse(ascii(str(wrong))[:200])
    if found is None:
        _refuse("a scan without a campaign")
    return found


def strict_json(data: bytes) -> Any:
    """The value in ``data``.

    Raises ValueError where it is too large or no strict JSON: keys twice, NaN, nested too deeply.
    """
    if len(data) > LARGEST:
        raise ValueError(f"it has more than {LARGEST >> 20} MiB")
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as wrong:
        raise ValueError(f"it is no strict JSON ({ascii(str(wrong))[:200]})") from None


def _loaded(data: bytes) -> dict[str, Any]:
    try:
        value = strict_json(data)
    except ValueError as wrong:
        _refuse(str(wrong))
    if not isinstance(value, dict) or value.get("schema") != SCHEMA:
        _refuse(f"it has not the schema {SCHEMA}")
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key is there twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _code(text: str) -> str:
    """A reason code: each gate has its own, so its form is all that can be asked of it."""
    if not _CODE.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is no reason code")
    return text


def _refuse(why: str) -> NoReturn:
    raise EvidenceRefused(f"The report cannot be read: {why}.")
