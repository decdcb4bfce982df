"""Trees that look like base or head and are neither: who cannot tell one from what it looks like proves nothing.

Belongs here: hollow head, base's product in head's surroundings and with its names, head in other words and described
as base is, base with test files that go on; and who is refused by them. Does not belong here: the texts themselves
(hollow, names, reword, describe, undaunted).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from repro_gate.gates.fail_to_pass.case import Case, Collection, Stage
from repro_gate.gates.fail_to_pass.describe import Extent, described
from repro_gate.gates.fail_to_pass.exercise import unread
from repro_gate.gates.fail_to_pass.hollow import Elsewhere, Filling, hollow
from repro_gate.gates.fail_to_pass.names import NO_VALUE, with_names, with_sayings
from repro_gate.gates.fail_to_pass.reasons import (
    API,
    classify,
    ends_by_time,
    is_signature,
    missing,
    through_product,
)
from repro_gate.gates.fail_to_pass.reword import reworded
from repro_gate.gates.fail_to_pass.runner import NEUTRAL, Ask
from repro_gate.gates.fail_to_pass.suspects import Judge, Suspect
from repro_gate.gates.fail_to_pass.symbols import Surface, passed_on, surface
from repro_gate.gates.fail_to_pass.undaunted import undaunted
from repro_gate.model import Conditions, Failure, Mode, Outcome, ReasonCode, Side, TestRun, Zone

_CHECKED = frozenset({ReasonCode.ASSERTION, ReasonCode.PRODUCT_EXCEPTION})
# What a test does that finds a name missing by itself: it asserts, or stumbles over None. A product that
# misses a name raises, and is mended by it.
_BY_A_NAME = frozenset({ReasonCode.ASSERTION, ReasonCode.TEST_EXCEPTION})
_NONE: frozenset[str] = frozenset()
_ARTEFACTS = frozenset({"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "NotImplementedError"})


def hollow_stages(case: Case) -> Iterator[Stage]:
    """Head with hollow bodies, one stage per filling that changes anything."""
    elsewhere = Elsewhere.of((file.base, file.head) for file in case.product)
    for filling in (Filling.BASE, Filling.ABSORB):
        replaced = []
        for file in case.product:
            text = hollow(file.head, file.added, filling, file.base, elsewhere) if file.head is not None else None
            if text is not None and text != file.head:
                replaced.append((file.path, text))
        if replaced:
            yield Stage(side=Side.HOLLOW, replaced=tuple(replaced))


def refuse_moved(judge: Judge, suspects: Iterable[Suspect]) -> None:
    """Refuse whoever fails on base for a name that base has in another place."""
    for suspect in suspects:
        named = missing(suspect.failure) if suspect.failure is not None else None
        if named is not None and suspect.code in API and _moved(judge, named.module, named.name):
            suspect.refuse(ReasonCode.IMPORT_ONLY, "what it misses on base was moved or renamed: it is not new")


def check_hollow(judge: Judge, suspects: Iterable[Suspect]) -> None:
    """Refuse whoever passes without the new bodies, or only trips over their absence."""
    pending = [suspect for suspect in suspects if suspect.open]
    passing: list[Suspect] = []
    tried = False
    for stage in hollow_stages(judge.case) if pending else ():
        tried = True
        runs = _fresh(judge, stage, pending)
        passing += [suspect for suspect in pending if runs[suspect.id].outcome is Outcome.PASSED]
        decided = {each.id for each in passing} | {each.id for each in pending if _checks(judge, runs[each.id])}
        pending = [suspect for suspect in pending if suspect.id not in decided]
    left = passing if tried else pending
    # What is no function may be what a test checks: a constant, say.
    more = {each.id for each in left if each.code in API and _checks_more_than_names(judge, each)}
    for suspect in left:
        if suspect.id not in more:
            why = "it passes on head even without the bodies of what is new"
            suspect.refuse(ReasonCode.IMPORT_ONLY, why if tried else "it needs a new name, and nothing behind it")
    for suspect in pending if tried else ():
        suspect.refuse(ReasonCode.HOLLOW_UNCLEAR, "without the new bodies it fails, but not by a check of its own")


def check_names(judge: Judge, suspects: Iterable[Suspect]) -> None:
    """Refuse whoever passes with base's product once head's names are there: it asks for nothing else.

    Only where a failure could be due to a name, and base fails each time under these conditions.
    """
    pending = [each for each in _steady(suspects) if each.code in _BY_A_NAME]
    for stage in named_stages(judge.case) if pending else ():
        for suspect, run in _under_their_conditions(judge, stage, pending):
            if run.outcome is Outcome.PASSED:
                suspect.refuse(ReasonCode.IMPORT_ONLY, "it passes on base once the new names are there, hollow")
            if run.outcome is not Outcome.NOT_RUN:
                pending.remove(suspect)


def check_surroundings(judge: Judge, suspects: Iterable[Suspect], head: Collection) -> None:
    """Refuse whoever passes with base's product in head's surroundings: files that are no product, git, a version.

    Package data that nothing opens belongs to these for a test whose own code asks which files are there.
    """
    steady = _steady(suspects)
    beside = {
        each.id: unread(judge.case, judge.runner.history(Side.HEAD, each.id), head)
        if judge.asks(each, "files")
        else _NONE
        for each in steady
    }
    for data in dict.fromkeys(beside.values()):
        stage = surrounded_stage(judge.case, beside=data)
        alike = [each for each in steady if beside[each.id] == data]
        for suspect, run in _under_their_conditions(judge, stage, alike):
            if run.outcome is Outcome.PASSED:
                why = "with base's product it passes, too: what it sees is in other files, in a version or in git"
                suspect.refuse(ReasonCode.DOES_NOT_EXERCISE, why)


def check_unimported(judge: Judge, suspects: Iterable[Suspect]) -> None:
    """Refuse, of those whose file base's product keeps from being imported, whoever passes without what raises."""
    pending = [each for each in suspects if each.stage.lenient is not None and each.id in each.stage.lenient.tests]
    texts = [(file, undaunted(judge.case.text(file))) for file in sorted(_imported_in_vain(pending))]
    stage = _made(Side.UNDAUNTED, texts)
    for suspect, run in _under_their_conditions(judge, stage, pending) if stage is not None else ():
        if run.outcome is Outcome.PASSED:
            why = "passes on base once its file goes on at what raises there: it does not use that"
            suspect.refuse(ReasonCode.PASSES_ON_BASE, why)


def _imported_in_vain(suspects: Sequence[Suspect]) -> set[str]:
    """The test files through which an import came to what raises: the tests' own, and helpers that these import."""
    frames = (frame for each in suspects if each.failure is not None for frame in each.failure.frames)
    helpers = {frame.path for frame in frames if frame.zone is Zone.TEST}
    return helpers | {each.file for each in suspects}


def _steady(suspects: Iterable[Suspect]) -> list[Suspect]:
    """Those that fail on base each time, whatever ran before: one more run there is worth something."""
    return [
        each
        for each in suspects
        if not each.by_dependency and each.failed_on_base == each.ran_on_base and each.conditions.order == "collected"
    ]


def _under_their_conditions(
    judge: Judge, stage: Stage, suspects: Sequence[Suspect]
) -> Iterator[tuple[Suspect, TestRun]]:
    """Each suspect's run in a fresh process, under the conditions that it fails in."""
    for conditions in dict.fromkeys(each.conditions for each in suspects):
        alike = [each for each in suspects if each.conditions == conditions]
        runs = _fresh(judge, stage, alike, conditions)
        yield from ((suspect, runs[suspect.id]) for suspect in alike)


def check_wording(judge: Judge, suspects: Iterable[Suspect]) -> None:
    """Refuse whoever fails on head once its text differs: by its own check, twice, with nothing of the product's."""
    texts = [(each.path, reworded(each.head, each.base)) for each in judge.case.product]
    stage = _made(Side.REWORDED, texts)
    for suspect in _failing_twice(judge, stage, suspects):
        suspect.refuse(ReasonCode.DOES_NOT_EXERCISE, "it looks at the text or bytecode of what changed")


def check_descriptions(judge: Judge, suspects: Iterable[Suspect]) -> None:
    """Refuse, of those whose own code asks for docstrings, annotations or code objects, whoever needs head's."""
    left = list(suspects)
    for kind, extent in (("code", Extent.CODE), ("annotations", Extent.ANNOTATIONS), ("docs", Extent.DOCSTRINGS)):
        asking = [each for each in left if judge.asks(each, kind)]
        left = [each for each in left if each not in asking]
        stage = _described(judge.case, extent) if asking else None
        failing = _failing_twice(judge, stage, asking)
        # Who checks what the code does besides is not content with a description, which code objects are no part of.
        besides = _not_content(judge, failing, extent) if extent is not Extent.CODE else set[str]()
        for suspect in (each for each in failing if each.id not in besides):
            why = "it looks at docstrings, annotations or code objects of what changed"
            suspect.refuse(ReasonCode.DOES_NOT_EXERCISE, why)


def _not_content(judge: Judge, suspects: Sequence[Suspect], extent: Extent) -> set[str]:
    """Who fails with base's product described as head is, too."""
    texts = [(each.path, described(each.base, each.head, extent)) for each in judge.case.product]
    stage = _with_bases_product(judge.case, Side.RETOLD, texts)
    return {each.id for each, run in _under_their_conditions(judge, stage, suspects) if _fails(run)}


def fail_by_docstrings(judge: Judge, suspects: Sequence[Suspect]) -> set[str]:
    """The tests that fail on head once the docstrings that changed are base's."""
    stage = _described(judge.case, Extent.DOCSTRINGS) if suspects else None
    if stage is None:
        return set()
    return {each.id for each, run in _under_their_conditions(judge, stage, suspects) if _fails(run)}


def _described(case: Case, extent: Extent) -> Stage | None:
    texts = [(each.path, described(each.head, each.base, extent)) for each in case.product]
    return _made(Side.DESCRIBED, texts)


def _made(side: Side, texts: Iterable[tuple[str, str | None]]) -> Stage | None:
    """The side's tree with these texts; None where there are none."""
    replaced = tuple((path, text) for path, text in texts if text is not None)
    return Stage(side=side, replaced=replaced) if replaced else None


def _failing_twice(judge: Judge, stage: Stage | None, suspects: Iterable[Suspect]) -> list[Suspect]:
    """Whoever fails there twice, of those that see themselves what differs on base."""
    pending = [each for each in suspects if not through_product(each.failure) and not each.by_dependency]
    if stage is None:
        return []
    for _ in range(2):
        runs = _fresh(judge, stage, pending)
        pending = [each for each in pending if _fails(runs[each.id])]
    return pending


def _fails(run: TestRun) -> bool:
    return run.outcome is Outcome.FAILED and not ends_by_time(run.failure)


def surrounded_stage(case: Case, beside: frozenset[str] = frozenset()) -> Stage:
    """Base's product in head's surroundings; what the product says its version is belongs to these,
    and data ``beside``.
    """
    texts = [(each.path, with_sayings(each.base, each.head)) for each in case.product]
    return _with_bases_product(case, Side.SURROUNDED, texts, beside)


def named_stages(case: Case) -> Iterator[Stage]:
    """Base's product with head's names; where no import survives that,
    with constants that are made by calls as well.
    """
    elsewhere = Elsewhere.of((each.base, each.head) for each in case.product)
    names = surface(case.product, case.packages)
    known = [(each, passed_on(each, names)) for each in case.product]
    for keep_calls in (False, True):
        texts = [
            (
                each.path,
                with_names(each.base, each.head, keep_calls=keep_calls, elsewhere=elsewhere, passed_on=passed),
            )
            for each, passed in known
        ]
        if any(text is not None for _, text in texts):
            yield _with_bases_product(case, Side.NAMED, texts)


def _with_bases_product(
    case: Case, side: Side, texts: Iterable[tuple[str, str | None]], beside: frozenset[str] = frozenset()
) -> Stage:
    """Head's tree with all product files, and its data, as base has them, but for these texts and data ``beside``."""
    restored = sorted({each.path for each in case.product} | case.package_data - beside)
    replaced = tuple((path, text) for path, text in texts if text is not None)
    return Stage(side=side, restored=tuple(restored), replaced=replaced)


def _checks_more_than_names(judge: Judge, suspect: Suspect) -> bool:
    """Whether a test that needs a new name fails by a check when the name is there and nothing else is."""
    for stage in named_stages(judge.case):
        run = _fresh(judge, stage, [suspect])[suspect.id]
        if run.outcome is not Outcome.NOT_RUN:
            stumbles = run.failure is not None and f"'{NO_VALUE}'" in run.failure.message
            return stumbles or _checks(judge, run)
    return False


def _fresh(
    judge: Judge, stage: Stage, suspects: Sequence[Suspect], conditions: Conditions = NEUTRAL
) -> dict[str, TestRun]:
    if not suspects:
        return {}
    tests = tuple(suspect.id for suspect in suspects)
    files = tuple(dict.fromkeys(suspect.file for suspect in suspects))
    seconds = judge.runner.budget(tests)
    ask = Ask(stage=stage, tests=tests, conditions=conditions, mode=Mode.FRESH, files=files, seconds=seconds)
    return judge.runner.one(ask)


def _checks(judge: Judge, run: TestRun) -> bool:
    """Whether a run fails by a check of its own."""
    return classify(run, judge.context) in _CHECKED and not _is_artefact(run.failure, judge.context.surface)


def _is_artefact(failure: Failure | None, surface: Surface) -> bool:
    """Base's body in head's module asks for names or arguments that head no longer has: the edit's doing."""
    if failure is None:
        return False
    named = missing(failure)
    return failure.type in _ARTEFACTS or is_signature(failure, surface) or (named is not None and named.module != "")


def _moved(judge: Judge, module: str, name: str) -> bool:
    surface = judge.context.surface
    return surface.is_moved(name) if name else surface.is_moved(module)
