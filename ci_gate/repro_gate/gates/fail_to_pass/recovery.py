"""What is tried before a test is given up: lenient imports, the ladder, dependencies, hollow head.

Belongs here: the experiments that turn "no proof" into a proof, or show that it is none. Does not
belong here: the plain sequence (protocol) or the texts of hollow sources (hollow).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from repro_gate.errors import CollectionFailed
from repro_gate.gates.fail_to_pass.case import Case, Collection, Stage
from repro_gate.gates.fail_to_pass.conditions import ladder
from repro_gate.gates.fail_to_pass.hollow import Elsewhere, Filling, hollow
from repro_gate.gates.fail_to_pass.names import NO_VALUE, with_names, with_sayings
from repro_gate.gates.fail_to_pass.reasons import (
    API,
    classify,
    ends_by_time,
    is_signature,
    missing,
    of_collection,
    stops_in_product,
    through_product,
    wanted,
)
from repro_gate.gates.fail_to_pass.reword import reworded
from repro_gate.gates.fail_to_pass.runner import NEUTRAL, Ask
from repro_gate.gates.fail_to_pass.suspects import HEAD, Judge, Suspect
from repro_gate.gates.fail_to_pass.symbols import Surface, passed_on, surface
from repro_gate.model import Conditions, Failure, Lenient, Mode, Outcome, ReasonCode, Refused, Side, TestRun

BASE = Stage(side=Side.BASE)
_CHECKED = frozenset({ReasonCode.ASSERTION, ReasonCode.PRODUCT_EXCEPTION})
# What a test does that finds a name missing by itself: it asserts, or stumbles over None. A product that
# misses a name raises, and is mended by it.
_BY_A_NAME = frozenset({ReasonCode.ASSERTION, ReasonCode.TEST_EXCEPTION})
_ARTEFACTS = frozenset({"NameError", "UnboundLocalError", "ImportError", "ModuleNotFoundError", "NotImplementedError"})


@dataclass(frozen=True, kw_only=True, slots=True)
class OnBase:
    """Where on base each file's tests are run, and why those of some files cannot be."""

    collection: Collection
    stages: Mapping[str, Stage]
    reasons: Mapping[str, tuple[ReasonCode, str]]

    def stage(self, file: str) -> Stage:
        """The stage of a file's tests."""
        return self.stages.get(file, BASE)


def collect_on_base(judge: Judge, tests: Mapping[str, str]) -> OnBase:
    """Collect head's tests (id -> file) on base; files that miss a name of head's product once more, leniently.

    So are those where the product raises: the tests of such a file fail by that. Raises CollectionFailed where pytest
    gives no list at all.
    """
    runner, context = judge.runner, judge.context
    files = frozenset(tests.values())
    strict = runner.collect(BASE)
    failed = [each for each in strict.failures if _file(each.node) in files or each.node.endswith("conftest.py")]
    recoverable = [each for each in failed if of_collection(each, context) is ReasonCode.MISSING_SYMBOL]
    stages: dict[str, Stage] = {}
    items = dict(strict.items)
    failures = {each.node: each for each in failed}
    if recoverable:
        stage = Stage(side=Side.BASE, lenient=context.surface.lenient(wanted(failed)))
        try:
            lenient = runner.collect(stage)
        except CollectionFailed:
            lenient = Collection()
        for each in recoverable:
            file = _file(each.node)
            found = {test: item for test, item in lenient.items.items() if item.file == file}
            if found and not any(_file(other.node) == file for other in lenient.failures):
                stages[file] = stage
                items.update(found)
                failures.pop(each.node)
        if any(each.node.endswith("conftest.py") for each in recoverable):
            # Below a conftest that could not be imported nothing was collected.
            for test, item in lenient.items.items():
                if test not in strict.items:
                    items[test] = item
                    stages[item.file] = stage
    raising = {_file(each.node) for each in failed if stops_in_product(each, context)}
    if raising:
        stage = Stage(
            side=Side.BASE, lenient=Lenient(tests=frozenset(t for t, file in tests.items() if file in raising))
        )
        with contextlib.suppress(CollectionFailed):
            there = {test: item for test, item in runner.collect(stage).items.items() if item.file in raising}
            items.update(there)
            stages.update({item.file: stage for item in there.values()})
            failures = {node: each for node, each in failures.items() if _file(node) not in stages}
    reasons = {}
    for node, each in failures.items():
        code = of_collection(each, context)
        reasons[_file(node)] = (code, f"{each.failure.type}: {each.failure.message[:200]}")
    collection = Collection(
        items=items,
        failures=tuple(failures.values()),
        import_lines=strict.import_lines,
        import_opened=strict.import_opened,
    )
    return OnBase(collection=collection, stages=stages, reasons=reasons)


def climb(judge: Judge, passing: Mapping[str, str], company: tuple[str, ...], on_base: OnBase) -> Iterator[Suspect]:
    """Suspects among tests that pass on base (id -> file): under which conditions of the ladder base fails."""
    left = dict(passing)
    for conditions in ladder(judge.runner.policy.today):
        for stage in dict.fromkeys(on_base.stage(file) for file in left.values()):
            there = [test for test in left if on_base.stage(left[test]) == stage]
            for suspect in _rung(judge, {test: left[test] for test in there}, company, stage, conditions):
                del left[suspect.id]
                yield suspect


def _rung(
    judge: Judge, tests: Mapping[str, str], company: tuple[str, ...], stage: Stage, conditions: Conditions
) -> Iterator[Suspect]:
    """Those that fail on base and pass on head under these conditions."""
    together = company if conditions.order != "collected" else tuple(tests)
    runs = judge.runner.one(Ask(stage=stage, tests=together, conditions=conditions))
    failing = [test for test in tests if runs[test].outcome.bad]
    on_head = judge.runner.one(Ask(stage=HEAD, tests=together if failing else (), conditions=conditions))
    for test in failing:
        if on_head[test].outcome is Outcome.PASSED:
            suspect = judge.on_base(runs[test], file=tests[test], stage=stage, conditions=conditions)
            if suspect.open:
                yield suspect


def by_dependencies(judge: Judge, passing: Mapping[str, str]) -> Iterator[Suspect]:
    """Suspects among tests that pass on base in head's environment, and fail in base's own."""
    stage = Stage(side=Side.BASE, environment=Side.BASE)
    runs = judge.runner.one(Ask(stage=stage, tests=tuple(passing)))
    for test, run in runs.items():
        if run.outcome.bad:
            suspect = judge.on_base(run, file=passing[test], stage=stage)
            if suspect.open:
                suspect.by_dependency = True
                yield suspect


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


def check_surroundings(judge: Judge, suspects: Iterable[Suspect]) -> None:
    """Refuse whoever passes with base's product in head's surroundings: files that are no product, git, a version."""
    stage = surrounded_stage(judge.case)
    for suspect, run in _under_their_conditions(judge, stage, _steady(suspects)):
        if run.outcome is Outcome.PASSED:
            why = "with base's product it passes, too: what it sees is in other files, in a version or in git"
            suspect.refuse(ReasonCode.DOES_NOT_EXERCISE, why)


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
    pending = [each for each in suspects if not through_product(each.failure) and not each.by_dependency]
    texts = [(each.path, reworded(each.head, each.base)) for each in judge.case.product]
    replaced = tuple((path, text) for path, text in texts if text is not None)
    for _ in range(2) if replaced else ():
        runs = _fresh(judge, Stage(side=Side.REWORDED, replaced=replaced), pending)
        pending = [each for each in pending if _fails(runs[each.id])]
    for suspect in pending if replaced else ():
        suspect.refuse(ReasonCode.DOES_NOT_EXERCISE, "it looks at the text or bytecode of what changed")


def _fails(run: TestRun) -> bool:
    return run.outcome is Outcome.FAILED and not ends_by_time(run.failure)


def surrounded_stage(case: Case) -> Stage:
    """Base's product in head's surroundings; what the product says its version is belongs to these."""
    texts = [(each.path, with_sayings(each.base, each.head)) for each in case.product]
    return _with_bases_product(case, Side.SURROUNDED, texts)


def named_stages(case: Case) -> Iterator[Stage]:
    """Base's product with head's names; where no import survives that, with constants that are made by calls as well."""
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


def _with_bases_product(case: Case, side: Side, texts: Iterable[tuple[str, str | None]]) -> Stage:
    """Head's tree with all product files, and its data, as base has them, but for these texts."""
    restored = sorted({each.path for each in case.product} | case.package_data)
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


def fixture_homes(head: Collection) -> dict[str, str]:
    """Where on head each fixture is defined."""
    return {name: file for item in head.items.values() for name, file, _ in item.fixtures}


def _is_artefact(failure: Failure | None, surface: Surface) -> bool:
    """Base's body in head's module asks for names or arguments that head no longer has: the edit's doing."""
    if failure is None:
        return False
    named = missing(failure)
    return failure.type in _ARTEFACTS or is_signature(failure, surface) or (named is not None and named.module != "")


def _moved(judge: Judge, module: str, name: str) -> bool:
    surface = judge.context.surface
    return surface.is_moved(name) if name else surface.is_moved(module)


def _file(node: str) -> str:
    return node.partition("::")[0]


def uncollected(test: str, why: tuple[ReasonCode, str] | None) -> Refused:
    """A test that could not even be collected on base: never a proof."""
    code, text = why if why is not None else (ReasonCode.COLLECT, "it is not among base's tests")
    if code is ReasonCode.MISSING_SYMBOL:
        return Refused(id=test, reason=ReasonCode.IMPORT_ONLY, why=f"its file needs a name that base lacks: {text}")
    return Refused(id=test, reason=code, why=f"could not be collected on base: {text}")
