"""One mutant tried again in the present work tree: what ``repro-gate mutant run`` does, and the replay of a survivor.

Belongs here: the tree, its tests and the gate's own way to try a mutant, put together. Does not belong here: what its
experiments mean (gates.mutation), reading reports, and capsules (survivors).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from repro_gate.config import Settings
from repro_gate.errors import UsageError
from repro_gate.experiment import find_tree
from repro_gate.experiment.tree import copy_tree, put_text
from repro_gate.gates.fail_to_pass import Bench, Stage
from repro_gate.gates.mutation import Case, Policy, try_on_disk
from repro_gate.model import Conditions, ItemFacts, Mutant, MutantResult, Outcome, Side
from repro_gate.pipeline.bench import memory_of, sandbox_for
from repro_gate.pipeline.provision import Provision
from repro_gate.pipeline.request import Effects
from repro_gate.pipeline.stages import LabBench
from repro_gate.pipeline.workplace import Workplace, place_for_trees
from repro_gate.sandbox import probe

HEAD = Stage(side=Side.HEAD)
_SIDES = (Side.CONTROL, Side.BASE, Side.HEAD)


@dataclass(frozen=True, kw_only=True, slots=True)
class MutantRun:
    """A mutant to try. ``source`` is the text that it was made of ``selection`` the tests that
    covered it then.

    ``named`` are further tests: ids, or files, classes and functions that hold some. ``python`` None: an environment
    is made from what the tree declares. ``arguments`` None: pytest's are those of the settings.
    """

    mutant: Mutant
    source: str
    selection: tuple[str, ...]
    directory: Path
    settings: Settings
    python: str | None
    effects: Effects
    named: tuple[str, ...] = ()
    arguments: tuple[str, ...] | None = None
    cwd_on_path: bool | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Tried:
    """What became of it, where, and what to know of that."""

    result: MutantResult
    sandbox: str
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A copy of the work tree with what runs in it. ``tests`` are there now, those of the order in collection order."""

    tree: Path
    bench: LabBench
    provision: Provision
    tests: tuple[str, ...]
    notes: tuple[str, ...]
    gone: tuple[str, ...]


def run_mutant(order: MutantRun) -> Tried:
    """Try it on a copy of the work tree, in fresh processes, with null and must-die controls.

    Raises UsageError where no test is known for it, and what preparing and collecting raise.
    """
    with prepared(order) as place:
        (result,) = tried(order.mutant, order.source, place.tests, place.bench, policy_for(order))
        return Tried(result=result, sandbox=place.bench.sandbox.name, notes=place.notes)


@contextmanager
def prepared(order: MutantRun) -> Iterator[Prepared]:
    """The place to try a mutant in. Raises UsageError, and what preparing and collecting raise."""
    settings, effects = order.settings, order.effects
    top = find_tree(order.directory)[0]
    with place_for_trees() as place:
        tree = place / "tree"
        copy_tree(top, tree, exclude=settings.exclude, max_bytes=settings.max_tree_mib * 2**20)
        # Whoever has applied the mutant looks at it, and asks for it to be tried all the same.
        put_text(tree, order.mutant.file, order.source)
        here = probe(order.python or sys.executable, effects.environ, order.directory)
        sandbox, note = sandbox_for(settings, order.directory, effects, here, settle_for_host=True)
        try:
            bench, provision = Workplace(
                settings=settings,
                effects=effects,
                sandbox=sandbox,
                here=order.directory,
                directory=place,
                trees=dict.fromkeys(_SIDES, tree),
                arguments=settings.pytest_args if order.arguments is None else order.arguments,
                python=order.python,
                base_python=sys.executable,
                cwd_on_path=settings.invocation != "pytest" if order.cwd_on_path is None else order.cwd_on_path,
            ).open()
            try:
                items = bench.collect(HEAD, Conditions()).items
                tests, gone = chosen(items, order)
                missing = (f"{len(gone)} of its tests are not here any more: {', '.join(gone[:5])}",) if gone else ()
                notes = (*((note,) if note else ()), *provision.notes, *missing)
                yield Prepared(tree=tree, bench=bench, provision=provision, tests=tests, notes=notes, gone=gone)
            finally:
                bench.close()
        finally:
            sandbox.close()


def policy_for(order: MutantRun) -> Policy:
    """How the one mutant is tried: a test may take as long as any other."""
    settings, effects = order.settings, order.effects
    return Policy(
        today=effects.now().date(),
        clock=effects.monotonic,
        least_seconds=settings.test_timeout,
        memory_bytes=memory_of(settings, effects),
    )


def tried(
    mutant: Mutant,
    source: str,
    tests: tuple[str, ...],
    bench: Bench,
    policy: Policy,
    times: int = 1,
    each: Callable[[MutantResult], None] = lambda _result: None,
) -> list[MutantResult]:
    """Try it so many times; ``each`` hears of every one as it ends.

    Nothing is known of the tests but that they are there: the null control says which of them pass.
    """
    case = Case(
        mutants=(mutant,),
        covering=lambda _mutant: tests,
        outcomes=dict.fromkeys(tests, Outcome.PASSED),
        seconds={},
        texts={mutant.file: source},
        changed={},
    )
    results: list[MutantResult] = []
    for result in try_on_disk(case, bench, policy, mutant, times):
        results.append(result)
        each(result)
    return results


def chosen(items: Mapping[str, ItemFacts], order: MutantRun) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The tests to run, in collection order, and those that are not there any more. Raises UsageError."""
    named = {test for name in order.named for test in _named(items, name)}
    tests = tuple(test for test in items if test in named or test in order.selection)
    if not tests:
        raise UsageError(
            f"No test is known that runs mutant {order.mutant.id}.",
            next_step=f"Name some: `repro-gate mutant run {order.mutant.id} tests/test_….py`.",
        )
    return tests, tuple(test for test in order.selection if test not in items)


def _named(items: Iterable[str], name: str) -> list[str]:
    found = [test for test in items if test == name or test.startswith((f"{name}::", f"{name}[", f"{name}/"))]
    if not found:
        raise UsageError(
            f"pytest collects no test {name!r} here.", next_step="Name a test, or a file or class that holds some."
        )
    return found
