"""A survivor as a capsule: ``repro-gate mutant capsule`` packs one, ``repro-gate replay`` replays it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from repro_gate import capsule
from repro_gate.capsule.survivor import Survivor
from repro_gate.change import head
from repro_gate.cli.mutating import RunOrder, became, find, known_here, run_of
from repro_gate.cli.progress import Bar
from repro_gate.cli.replay_order import ReplayOrder, checkout, warn, with_network_of
from repro_gate.cli.session import Terminal
from repro_gate.config import find_root, load
from repro_gate.errors import CollectionFailed, ExitCode, ReplayDiffers, UsageError
from repro_gate.gates.mutation.wording import sentence
from repro_gate.model import MutantOutcome, MutantResult
from repro_gate.pipeline.mutant_run import HEAD, MutantRun, policy_for, prepared, tried
from repro_gate.pipeline.packing import publisher_for
from repro_gate.pipeline.request import system_effects
from repro_gate.pipeline.survivors import SurvivorPacking, mutant_of, packed
from repro_gate.report.words import counted, first_line, replay_command, visible


def run_pack(order: RunOrder, into: str | None, directory: Path, terminal: Terminal, environ: Mapping[str, str]) -> int:
    """Try it in the present work tree as often as a capsule must hold, and write it:
    0, or 3 where it does not survive.
    """
    found = find(order.mutant, order.report)
    known_here(found, directory)
    settings = load(find_root(directory), {"sandbox": order.sandbox, "capsules": into}, environ)
    with Bar(terminal.err, quiet=terminal.quiet) as bar:
        bar.phase(f"trying mutant {found.mutant.id}", 1)
        run = run_of(found, order, directory, settings, system_effects(bar))
        with prepared(run) as place:
            packing = SurvivorPacking(
                bench=place.bench,
                tree=place.tree,
                roots=place.provision.room(HEAD.side, HEAD.side).roots,
                arguments=place.bench.lab(HEAD).arguments,
                publisher=publisher_for(
                    place.bench,
                    run.effects,
                    settings,
                    into=directory / settings.capsules,
                    here=directory,
                    commit=head(directory),
                ),
                policy=policy_for(run),
                times=settings.replays,
            )
            survivor = MutantResult(mutant=found.mutant, outcome=MutantOutcome.SURVIVED, selection=place.tests)
            reference, why = packed(survivor, found.source, packing)
    for note in place.notes:
        terminal.err.print(f"note: {note}", markup=False, soft_wrap=True)
    if reference is None:
        raise UsageError(
            f"No capsule of mutant {found.mutant.id}: {visible(why)}.",
            next_step=f"`repro-gate mutant run {found.mutant.id}` says what becomes of it here.",
        )
    tests = counted(len(place.tests), "test")
    lines = (f"mutant {found.mutant.id} survived {tests}, {reference.replayed} of {reference.of} times",)
    there = " (it was there already)" if reference.known else ""
    for line in (*lines, f"capsule: {reference.path}{there}", replay_command(reference.path)):
        terminal.out.print(Text(visible(line)), soft_wrap=True)
    return int(ExitCode.PASS)


def run_survivor(
    manifest: capsule.Manifest, survivor: Survivor, order: ReplayOrder, terminal: Terminal, environ: Mapping[str, str]
) -> int:
    """Replay it in a checkout: 0 when the mutant survived each time, else ReplayDiffers with what noticed it."""
    repo = checkout(manifest, order.repo).resolve()
    directory = (repo / manifest.project.root).resolve()
    settings = load(directory, {"sandbox": order.sandbox}, environ)
    manifest = with_network_of(settings, manifest, terminal)
    mutant, source = mutant_of(survivor, _content(repo, survivor.file), manifest.project.commit)
    warn(manifest, repo, terminal)
    count = order.times or manifest.determinism.verified.of or 5
    with Bar(terminal.err, quiet=terminal.quiet) as bar:
        run = MutantRun(
            mutant=mutant,
            source=source,
            selection=manifest.tests,
            directory=directory,
            settings=dataclasses.replace(settings, test_timeout=float(survivor.test_seconds)),
            python=order.python or settings.python,
            effects=system_effects(bar),
            arguments=manifest.pytest_args,
            cwd_on_path=manifest.cwd_on_path,
        )
        bar.phase("preparing", 1)
        with prepared(run) as place:
            for note in place.notes:
                terminal.err.print(f"note: {note}", markup=False, soft_wrap=True)
            if place.gone:
                raise CollectionFailed(
                    f"{visible(place.gone[0])} is not in {repo}.",
                    next_step="Check out the capsule's commit, and name the interpreter that has its dependencies with `--python`.",
                )
            words = f"replaying mutant {survivor.id} of {survivor.file}, {sentence(mutant)}"
            tests = f"on {counted(len(place.tests), 'test')} ({place.bench.sandbox.name}, {count} times)"
            for line in (words, tests):
                terminal.out.print(Text(visible(line)), soft_wrap=True)
            bar.phase("replaying", 1)
            numbers = iter(range(1, count + 1))
            done = tried(
                mutant,
                source,
                manifest.tests,
                place.bench,
                policy_for(run),
                count,
                lambda one: _say(one, next(numbers), count, terminal),
            )
    return _end(survivor, done, terminal)


def _content(repo: Path, name: str) -> bytes:
    place = repo / name
    if place.is_symlink() or not place.resolve().is_relative_to(repo) or not place.is_file():
        raise UsageError(
            f"{repo} is not a checkout of the capsule's project: it has no file {visible(name)!r}.",
            next_step="Name the checkout: `repro-gate replay CAPSULE --repo DIR`.",
        )
    return place.read_bytes()


def _say(one: MutantResult, number: int, count: int, terminal: Terminal) -> None:
    by = f" by {one.killed_by[0]}" if one.killed_by else ""
    why = f" ({one.why})" if one.why else ""
    words = "survives" if one.outcome is MutantOutcome.SURVIVED else f"{str(one.outcome).upper()}{by}{why}"
    terminal.out.print(Text(f"  {number}/{count} {visible(first_line(words, 300))}"), soft_wrap=True)


def _end(survivor: Survivor, done: list[MutantResult], terminal: Terminal) -> int:
    count = len(done)
    survived = [each for each in done if each.outcome is MutantOutcome.SURVIVED]
    noticed = [each for each in done if each.outcome.detected]
    sentence = f"the mutant survived {len(survived)} of {count} times"
    if len(survived) == count:
        terminal.out.print(sentence)
        if survivor.hint:
            terminal.out.print(Text(visible(survivor.hint)), soft_wrap=True)
        return int(ExitCode.PASS)
    if noticed:
        (words,) = list(became(noticed[0]))[1:2]
        raise ReplayDiffers(
            f"{sentence}: {visible(words)}.",
            next_step="The tests notice it in this checkout: nothing is left to do about it here.",
        )
    raise CollectionFailed(
        f"{sentence}, and that says nothing: {visible(first_line(done[-1].why))}.",
        next_step="Check out the capsule's commit, and name the interpreter that has its dependencies with `--python`.",
    )
