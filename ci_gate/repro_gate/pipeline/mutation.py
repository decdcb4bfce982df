"""What the mutation gate is given, put together: mutants of the changed lines, and what the instrumented run says.

Belongs here: from a recording, texts and settings to the gate's ``Case`` and ``Policy``. Does not belong here: making
mutants, recording, deciding.
"""

from __future__ import annotations

import datetime
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from repro_gate.change import statements
from repro_gate.config import Settings
from repro_gate.experiment import encoded
from repro_gate.gates.coverage import ChangedFile
from repro_gate.gates.coverage.sameness import Same
from repro_gate.gates.fail_to_pass import Bench
from repro_gate.gates.mutation import NEXT_STEP, Case, Policy, Reason, judge
from repro_gate.model import Finding, GateResult, Level, Mutant, Outcome, Recording, Side, Waiver
from repro_gate.model.lines import lines_of
from repro_gate.mutants.choose import MOST, MOST_TEXT, Choice, choose
from repro_gate.mutants.generate import mutants_of
from repro_gate.mutants.waivers import FILE as WAIVERS
from repro_gate.mutants.waivers import Waivers, in_code, in_file
from repro_gate.pipeline.bench import memory_of
from repro_gate.pipeline.request import Effects
from repro_gate.pipeline.subject import Subject

Made = tuple[tuple[Mutant, ...], Mapping[int, str]]


class Recorded(Protocol):
    """The instrumented run of head."""

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """What each test came to, in the order in which they ran."""

    @property
    def import_lines(self) -> Mapping[str, frozenset[int]]:
        """By file, the lines that ran while it was imported."""

    @property
    def child_lines(self) -> Mapping[str, frozenset[int]]:
        """By file, the lines that ran in child processes of tests alone."""

    def tests_of(self, path: str, lines: Iterable[int]) -> tuple[str, ...]:
        """The tests that ran one of these lines, in the order in which they ran."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Makers:
    """How mutants come to be: of a file's changed lines with the reasons of those without,
    and which of them first, by a seed.
    """

    make: Callable[[str, str, frozenset[int]], Made]
    order: Callable[[Iterable[Mutant], str], Choice]


@dataclass(frozen=True, kw_only=True, slots=True)
class Touched:
    """A product file of head with the lines that the change added; blank ones and comments as well.

    ``same``: why some of them are no new code.
    """

    path: str
    text: str
    lines: frozenset[int]
    same: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What else is known: waivers and their readers' findings, the change's own tests, those that flake, and why the
    instrumented run is not whole.
    """

    seconds: Mapping[str, float]
    partial: str = ""
    new_tests: frozenset[str] = frozenset()
    flaky: frozenset[str] = frozenset()
    waivers: tuple[Waiver, ...] = ()
    remarks: tuple[Finding, ...] = ()


def case_of(
    files: Sequence[Touched], recorded: Recorded, makers: Makers, known: Known, *, seed: str, command: str, report: str
) -> Case:
    """The gate's case.

    ``seed`` orders the mutants: head's commit; ``report`` is where report.json will be, or empty.
    """
    choice, reasons = _made(files, makers, seed)
    spans = {file.path: statements(encoded(file.text)) for file in files}
    everywhere = {file.path: range(1, len(lines_of(file.text)) + 1) for file in files}

    def whole(path: str, lines: Iterable[int]) -> frozenset[int]:
        """The lines of the statements that these are in: of a long one the interpreter reports only some."""
        return frozenset(line for each in lines for line in spans[path].get(each, (each,)))

    at_import = {path: whole(path, recorded.import_lines.get(path, ())) for path in spans}

    def covering(mutant: Mutant) -> tuple[str, ...]:
        found = recorded.tests_of(mutant.file, whole(mutant.file, mutant.lines))
        if found or at_import[mutant.file].isdisjoint(mutant.lines):
            return found
        return recorded.tests_of(mutant.file, everywhere[mutant.file])

    return Case(
        mutants=choice.chosen,
        beyond=choice.left_out,
        covering=covering,
        outcomes=recorded.outcomes,
        seconds=known.seconds,
        texts={file.path: file.text for file in files},
        changed={file.path: _texts(file) for file in files},
        covered={
            file.path: frozenset(line for line in file.lines if recorded.tests_of(file.path, whole(file.path, [line])))
            for file in files
        },
        lines_at_import=at_import,
        lines_in_children={path: whole(path, recorded.child_lines.get(path, ())) for path in spans},
        unmutated={file.path: {**reasons[file.path], **file.same} for file in files},
        statements={path: spans[path] for path in sorted({mutant.file for mutant in choice.chosen})},
        new_tests=known.new_tests,
        flaky=known.flaky,
        waivers=known.waivers,
        remarks=known.remarks,
        seed=seed,
        command=command,
        report=report,
        partial=known.partial,
    )


def _made(files: Sequence[Touched], makers: Makers, seed: str) -> tuple[Choice, dict[str, Mapping[int, str]]]:
    """The mutants of all files, and by file the reasons of the lines without.

    No more texts are held than are wanted.
    """
    chosen: tuple[Mutant, ...] = ()
    left_out: list[Mutant] = []
    reasons: dict[str, Mapping[int, str]] = {}
    for file in files:
        mutants, reasons[file.path] = makers.make(file.path, file.text, file.lines.difference(file.same))
        choice = makers.order((*chosen, *mutants), seed)
        chosen = choice.chosen
        left_out += [replace(mutant, text="") for mutant in choice.left_out]
    return Choice(chosen, tuple(left_out)), reasons


def judge_mutants(
    subject: Subject,
    recording: Recording,
    bench: Bench,
    *,
    new_tests: frozenset[str],
    flaky: frozenset[str],
    settings: Settings,
    level: Level,
    effects: Effects,
    command: str,
    report: str,
    least_seconds: float | None = None,
    keep: Callable[[GateResult], None] = lambda _result: None,
) -> GateResult:
    """The whole gate on one change; ``least_seconds`` None: as the policy has it.

    Raises ConfigError where head's file of waivers cannot be read. ``keep``: what was found where something cuts it
    short.
    """
    today = effects.now().date()
    files = [
        Touched(path=file.path, text=file.head, lines=file.added, same=same_lines(subject.same, file))
        for file in subject.differing
        if file.head is not None and file.added
    ]
    waivers, remarks = waivers_of(
        files,
        {file.path: file.base for file in subject.differing},
        *_files_of_waivers(subject),
        today,
    )
    known = Known(
        seconds=recording.seconds_of,
        partial=recording.why,
        new_tests=new_tests,
        flaky=flaky,
        waivers=waivers,
        remarks=remarks,
    )
    case = case_of(
        files, recording, makers(settings), known, seed=subject.pair.head_sha, command=command, report=report
    )
    policy = policy_of(settings, level, today=today, clock=effects.monotonic, memory_bytes=memory_of(settings, effects))
    if least_seconds is not None:
        policy = replace(policy, least_seconds=least_seconds)
    if case.mutants:
        effects.progress.phase("trying mutants", len(case.mutants))
    return judge(case, bench, policy, keep, effects.progress.advance)


def read_waivers(subject: Subject, today: datetime.date) -> Waivers:
    """What head's file of waivers says. Raises ConfigError where it cannot be read."""
    head, base = _files_of_waivers(subject)
    return in_file(head, today, base) if head is not None else Waivers()


def uncommitted_waivers(work_tree: Path, subject: Subject) -> str:
    """A sentence where somebody wrote a file of waivers and has not committed it; else empty."""
    if not (work_tree / WAIVERS).is_file() or (subject.trees[Side.HEAD] / WAIVERS).exists():
        return ""
    return f"{WAIVERS} is in the work tree and not in head's commit, so it waives nothing: commit it"


def _files_of_waivers(subject: Subject) -> tuple[bytes | None, bytes | None]:
    """Head's and base's."""
    return _content(subject.trees[Side.HEAD] / WAIVERS), _content(subject.trees[Side.CONTROL] / WAIVERS)


def same_lines(same: Same, file: ChangedFile) -> dict[int, str]:
    """The added lines that hold code of base as it was, and where that was."""
    origins = {line: same.origin(file.path, line) for line in sorted(file.added)}
    return {
        line: f"{'moved' if origin.moved else 'whitespace'}: {origin.path}, line {origin.line} of base"
        for line, origin in origins.items()
        if origin is not None
    }


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def makers(settings: Settings) -> Makers:
    """Those of the room ``mutants``: with our own operators, unless the settings want mutmut's alone."""
    own = settings.mutation_engine == "repro-gate"
    return Makers(make=functools.partial(mutants_of, own=own), order=_order)


def _order(found: Iterable[Mutant], seed: str) -> Choice:
    return choose(found, seed, MOST, MOST_TEXT)


def waivers_of(
    files: Sequence[Touched],
    bases: Mapping[str, str | None],
    head: bytes | None,
    base: bytes | None,
    today: datetime.date,
) -> tuple[tuple[Waiver, ...], tuple[Finding, ...]]:
    """What comments in these files (``bases``: their texts before the change) and the file of waivers let live.

    ``head`` and ``base`` are that file's content on both sides. Raises ConfigError where head's cannot be read.
    """
    found = Waivers()
    for file in files:
        found += in_code(file.path, file.text, bases.get(file.path))
    if head is not None:
        found += in_file(head, today, base)
    remarks = tuple(
        Finding(
            reason=Reason.WAIVER_WITHOUT_REASON,
            text=str(each),
            next_step=NEXT_STEP[Reason.WAIVER_WITHOUT_REASON],
            path=each.file,
            line=each.line,
        )
        for each in found.unexplained
    )
    return (*found.waivers, *found.expired), remarks


def policy_of(
    settings: Settings, level: Level, *, today: datetime.date, clock: Callable[[], float], memory_bytes: int
) -> Policy:
    """The gate's policy by base's settings: where nothing is said, a gate that blocks allows no survivor."""
    allowed = settings.allowed_survivors
    if allowed is None and level is Level.BLOCK:
        allowed = 0
    score = settings.min_mutation_score
    return Policy(
        today=today,
        clock=clock,
        budget_seconds=settings.mutation_budget,
        allowed_survivors=allowed,
        min_score=None if score is None else score / 100,
        max_waivers=settings.max_waivers,
        max_timeouts=settings.max_timeouts,
        memory_bytes=memory_bytes,
    )


def _texts(file: Touched) -> dict[int, str]:
    lines = lines_of(file.text)
    return {line: lines[line - 1] for line in sorted(file.lines) if line <= len(lines)}
