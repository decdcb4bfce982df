"""``repro-gate replay`` of a proof: red on base, green on head, in a checkout that has both commits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from repro_gate import capsule
from repro_gate.capsule.proof import Proof
from repro_gate.capsule.replay import Replay
from repro_gate.cli.progress import Bar
from repro_gate.cli.replay_order import ReplayOrder, with_network_of
from repro_gate.cli.session import Terminal
from repro_gate.config import load
from repro_gate.errors import CollectionFailed, ExitCode, ReplayDiffers
from repro_gate.experiment import find_tree
from repro_gate.pipeline.proofs import ProofReplay, opened, replay_proof
from repro_gate.pipeline.request import system_effects
from repro_gate.report.words import first_line, visible


def run_proof(
    manifest: capsule.Manifest, proof: Proof, order: ReplayOrder, terminal: Terminal, environ: Mapping[str, str]
) -> int:
    """Replay it; 0 when each run was red on base and green on head."""
    repo = find_tree(order.repo or Path.cwd())[0]
    directory = repo / manifest.project.root
    settings = load(directory, {"sandbox": order.sandbox}, environ)
    manifest = with_network_of(settings, manifest, terminal)
    count = order.times or proof.of or 5
    with Bar(terminal.err, quiet=terminal.quiet) as bar:
        wanted = ProofReplay(
            manifest=manifest,
            proof=proof,
            directory=directory,
            head=order.head,
            settings=settings,
            python=order.python or settings.python,
            effects=system_effects(bar),
        )
        bar.phase("preparing both sides", 1)
        with opened(wanted) as (bench, notes):
            for note in notes:
                terminal.err.print(f"note: {note}", markup=False, soft_wrap=True)
            _begin(manifest, proof, order, bench.sandbox.name, count, terminal)
            bar.phase("replaying", 1)
            numbers = iter(range(1, count + 1))
            done = replay_proof(
                manifest, proof, bench, count, lambda red, green: _say(red, green, next(numbers), count, terminal)
            )
    return _end(manifest, done, order, repo, terminal)


def _begin(
    manifest: capsule.Manifest, proof: Proof, order: ReplayOrder, sandbox: str, count: int, terminal: Terminal
) -> None:
    head = order.head or manifest.project.commit[:12]
    terminal.out.print(
        Text(f"replaying the proof {visible(manifest.victim)} ({sandbox}, {count} times a side)"), soft_wrap=True
    )
    terminal.out.print(Text(f"base {proof.base[:12]} with head's tests, head {visible(head)}"), soft_wrap=True)


def _say(red: Replay, green: Replay, number: int, count: int, terminal: Terminal) -> None:
    for side, good, one in (("base", "red", red), ("head", "green", green)):
        what = good if one.same else f"NOT {good.upper()} ({first_line(one.why)})"
        said = ""
        if one.run is not None:
            said = str(one.run.outcome)
            if one.run.failure is not None:
                said += f": {first_line(one.run.failure.message, 100)}"
        terminal.out.print(Text(f"  {number}/{count} {side} {what}  {said}".rstrip()), soft_wrap=True)


def _end(
    manifest: capsule.Manifest,
    done: list[tuple[Replay, Replay]],
    order: ReplayOrder,
    repo: Path,
    terminal: Terminal,
) -> int:
    count = len(done)
    for side, number in (("base", 0), ("head", 1)):
        if not any(pair[number].tried for pair in done):
            raise CollectionFailed(
                f"{visible(manifest.victim)} could not be run on {side} in {repo}: {first_line(done[0][number].why)}",
                next_step=_instead(manifest, order.head if side == "head" else None),
            )
    red, green = sum(pair[0].same for pair in done), sum(pair[1].same for pair in done)
    sentence = f"red on base {red} of {count}, green on head {green} of {count}"
    terminal.out.print(sentence)
    if red == green == count:
        return int(ExitCode.PASS)
    raise ReplayDiffers(
        f"The proof {visible(manifest.victim)} does not hold: {sentence}.",
        next_step="Look at what differs above; `repro-gate check` judges the change anew.",
    )


def _instead(manifest: capsule.Manifest, head: str | None) -> str:
    """What to do where the test could not be run;
    ``head`` is there where only that side, of another commit, could not.
    """
    if head is not None:
        own = manifest.project.commit[:12]
        return (
            f"Name a commit that has the test and can run it with `--head`, or leave it out: the proof's own is {own}."
        )
    return "Name the interpreter that has the project's dependencies with `--python`, or leave it out."
