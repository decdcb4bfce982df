"""``repro-gate mutant``: a mutant of a check's report, looked at, applied to the work tree, or tried again there.

Belongs here: finding it in the report, and the work tree's file. Does not belong here: trying it (pipeline).
"""

from __future__ import annotations

import difflib
import io
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from repro_gate.cli.progress import Bar
from repro_gate.cli.session import Terminal
from repro_gate.config import Settings, find_root, load
from repro_gate.errors import ExitCode, UsageError
from repro_gate.experiment import find_tree
from repro_gate.gates.mutation.wording import FOUND_BY_ITSELF, change, sentence
from repro_gate.model import CheckReport, Mutant, MutantOutcome, MutantResult, MutationReport, NotTested
from repro_gate.pipeline.mutant_run import MutantRun, run_mutant
from repro_gate.pipeline.request import Effects, system_effects
from repro_gate.report import reading
from repro_gate.report.words import counted, visible

_CODES = {
    MutantOutcome.KILLED: ExitCode.PASS,
    MutantOutcome.TIMEOUT: ExitCode.PASS,
    MutantOutcome.SURVIVED: ExitCode.BLOCKED,
    MutantOutcome.INCONCLUSIVE: ExitCode.INCONCLUSIVE,
}


_HERE = tuple(map(Path, FOUND_BY_ITSELF))


@dataclass(frozen=True, kw_only=True, slots=True)
class RunOrder:
    """A run of a mutant as it was ordered."""

    mutant: str
    report: Path | None = None
    tests: tuple[str, ...] = ()
    sandbox: str | None = None
    python: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A mutant of a report, and the text that it was made of."""

    mutant: Mutant
    source: str
    told: MutantResult | NotTested

    @property
    def selection(self) -> tuple[str, ...]:
        """The tests that it was tried on."""
        return self.told.selection if isinstance(self.told, MutantResult) else ()


def find(name: str, path: Path | None) -> Found:
    """The mutant of that id in a report; None: the last check's, or one named report.json.

    Raises UsageError or EvidenceRefused.
    """
    if path is None:
        here = [each for each in _HERE if each.is_file()]
        path = next((each for each in here if name in _mutants(_report(each))), None)
    path = path or _last()
    report = _report(path)
    mutants = _mutants(report)
    if name not in mutants:
        near = difflib.get_close_matches(name, mutants, 3, cutoff=0.4) or list(mutants)[:3]
        hint = f" Some that it has: {', '.join(near)}." if near else " It has none."
        raise UsageError(f"{path} has no mutant {visible(name)}.", next_step=f"Name one of the report's ids.{hint}")
    told = mutants[name]
    return Found(mutant=told.mutant, source=report.sources[told.mutant.file], told=told)


def _last() -> Path:
    """The last check's report, or one named report.json. Raises UsageError."""
    path = next((each for each in _HERE if each.is_file()), None)
    if path is None:
        raise UsageError(
            "No check has left a report here.",
            next_step="Run `repro-gate check --gates mutation`, or name a report that one wrote: `--report FILE`.",
        )
    return path


def _mutants(report: MutationReport) -> dict[str, MutantResult | NotTested]:
    every: tuple[MutantResult | NotTested, ...] = (*report.tested, *report.not_tested)
    return {each.mutant.id: each for each in every}


def _report(path: Path) -> MutationReport:
    try:
        data = path.read_bytes()
    except OSError as broken:
        raise UsageError(
            f"Cannot read {path}: {broken.strerror}.",
            next_step="Name a report that `repro-gate check --report-json FILE` wrote: `--report FILE`.",
        ) from broken
    report = reading.read(data)
    gates = report.gates if isinstance(report, CheckReport) else ()
    found = next((gate.mutation for gate in gates if gate.mutation is not None), None)
    if found is None:
        raise UsageError(
            f"{path} tells of no mutants: its check did not run the gate `mutation`.",
            next_step="Run `repro-gate check --gates mutation`.",
        )
    return found


def run_list(path: Path | None, every: bool, terminal: Terminal) -> int:
    """Print the survivors, or all mutants, a line each. Raises UsageError or EvidenceRefused."""
    path = path or _last()
    report = _report(path)
    for told in _mutants(report).values() if every else report.survivors:
        outcome = str(told.outcome) if isinstance(told, MutantResult) else f"not tested ({told.reason})"
        place = f"{visible(told.mutant.file)}:{told.mutant.line}"
        terminal.out.print(
            Text(f"{told.mutant.id}  {outcome}  {place}  {visible(change(told.mutant))}"), soft_wrap=True
        )
    if not every and not report.survivors:
        terminal.out.print(Text(f"No mutant survived: {path} tells of {counted(len(report.tested), 'tested one')}."))
    return int(ExitCode.PASS)


def run_show(name: str, path: Path | None, terminal: Terminal) -> int:
    """Print it."""
    found = find(name, path)
    for line in _shown(found):
        terminal.out.print(Text(line), soft_wrap=True)
    return int(ExitCode.PASS)


def _shown(found: Found) -> Iterator[str]:
    mutant, told = found.mutant, found.told
    yield f"mutant {mutant.id} of {visible(mutant.file)}, {visible(sentence(mutant))}"
    if isinstance(told, NotTested):
        yield f"not tested: {visible(told.why or str(told.reason))}"
    else:
        tests = "" if told.outcome.detected else f" {counted(told.tests, 'test')}"
        by = f" by {visible(', '.join(told.killed_by[:5]))}" if told.killed_by else tests
        yield f"{told.outcome}{by}{f' ({visible(told.why)})' if told.why else ''}"
    if mutant.hint:
        yield visible(mutant.hint)
    yield ""
    yield from map(visible, difference(mutant, found.source))


def difference(mutant: Mutant, source: str) -> list[str]:
    """A unified diff from the source to the mutant, without line ends."""
    before, after = (list(io.StringIO(text, newline="")) for text in (source, mutant.text))
    lines = difflib.unified_diff(before, after, f"a/{mutant.file}", f"b/{mutant.file}")
    return [line.rstrip("\r\n") for line in lines]


def run_apply(name: str, path: Path | None, undo: bool, directory: Path, terminal: Terminal) -> int:
    """Write it into the work tree, or take it out again."""
    found = find(name, path)
    place = file_of(found.mutant, directory)
    before, after = (found.mutant.text, found.source) if undo else (found.source, found.mutant.text)
    words = ("taken out of", "is not in") if undo else ("applied to", "is already in")
    text, encoding = _read(place, (before, after))
    if text == after:
        terminal.out.print(f"mutant {name} {words[1]} {found.mutant.file}", markup=False, soft_wrap=True)
        return int(ExitCode.PASS)
    try:
        place.write_bytes(after.encode(encoding))
    except OSError as broken:
        raise UsageError(f"Cannot write {place}: {broken.strerror}.", next_step="Make the file writable.") from broken
    terminal.out.print(f"mutant {name} {words[0]} {found.mutant.file}", markup=False, soft_wrap=True)
    if not undo:
        option = "" if path is None else f" --report {path}"
        terminal.out.print(
            f"to take it out: repro-gate mutant apply {name} --undo{option}", markup=False, soft_wrap=True
        )
    return int(ExitCode.PASS)


def file_of(mutant: Mutant, directory: Path) -> Path:
    """Where the mutated file is in the work tree. Raises UsageError for one that is not there, or leads out of it."""
    top = find_tree(directory)[0]
    place = top / mutant.file
    inside = not Path(mutant.file).is_absolute() and place.resolve().is_relative_to(top)
    if not inside or place.is_symlink() or not place.is_file():
        raise UsageError(
            f"{top} has no file {visible(mutant.file)}.",
            next_step="Stand in a checkout of the commit that the report is about.",
        )
    return place


def _read(place: Path, known: tuple[str, str]) -> tuple[str, str]:
    """The file's text and encoding, if the text is one of the two. Raises UsageError where it is neither."""
    data = place.read_bytes()
    for encoding in ("utf-8", _declared(data)):
        try:
            text = data.decode(encoding)
        except ValueError:
            continue
        if text in known:
            return text, encoding
    raise UsageError(
        f"{place} is not the file that the mutant was made of: it has changed since.",
        next_step="Check out the commit that the report is about, or run the check again.",
    )


def _declared(data: bytes) -> str:
    try:
        return tokenize.detect_encoding(io.BytesIO(data).readline)[0]
    except SyntaxError:
        return "utf-8"


def run_of(found: Found, order: RunOrder, directory: Path, settings: Settings, effects: Effects) -> MutantRun:
    """What is to be tried where."""
    return MutantRun(
        mutant=found.mutant,
        source=found.source,
        selection=found.selection,
        named=order.tests,
        directory=directory,
        settings=settings,
        python=order.python or settings.python,
        effects=effects,
    )


def known_here(found: Found, directory: Path) -> None:
    """Refuse a work tree whose file is neither what the mutant was made of nor mutated. Raises UsageError."""
    _read(file_of(found.mutant, directory), (found.source, found.mutant.text))


def run_again(order: RunOrder, directory: Path, terminal: Terminal, environ: Mapping[str, str]) -> int:
    """Try it in the present work tree: 0 if a test notices it, 1 if none does, 3 if that cannot be told."""
    found = find(order.mutant, order.report)
    known_here(found, directory)
    settings = load(find_root(directory), {"sandbox": order.sandbox}, environ)
    with Bar(terminal.err, quiet=terminal.quiet) as bar:
        bar.phase(f"trying mutant {found.mutant.id}", 1)
        tried = run_mutant(run_of(found, order, directory, settings, system_effects(bar)))
    for note in tried.notes:
        terminal.err.print(f"note: {note}", markup=False, soft_wrap=True)
    for line in became(tried.result):
        terminal.out.print(Text(visible(line)), soft_wrap=True)
    return int(_CODES[tried.result.outcome])


def became(result: MutantResult) -> Iterator[str]:
    """What came of it, in words; not safe to print as they are."""
    yield f"mutant {result.mutant.id} of {result.mutant.file}, {sentence(result.mutant)}"
    match result.outcome:
        case MutantOutcome.KILLED | MutantOutcome.TIMEOUT:
            by = f" by {', '.join(result.killed_by[:5])}" if result.killed_by else ""
            yield f"{result.outcome}{by}{f' ({result.why})' if result.why else ''}"
        case MutantOutcome.SURVIVED:
            yield f"survived: {counted(result.tests, 'test')} passed with it"
            if result.mutant.hint:
                yield result.mutant.hint
        case MutantOutcome.INCONCLUSIVE:
            yield f"inconclusive: {result.why}"
