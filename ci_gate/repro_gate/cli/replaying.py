"""``repro-gate replay`` of a failure, and ``repro-gate capsule``.

Proofs and survivors are replayed by rooms of their own.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from rich.text import Text

from repro_gate import capsule
from repro_gate.capsule.replay import Replay, replay, replayable
from repro_gate.cli.replay_order import ReplayOrder, checkout, missing, warn, with_network_of
from repro_gate.cli.scanning import Order, interpreter_for
from repro_gate.cli.session import Terminal
from repro_gate.config import load
from repro_gate.errors import CollectionFailed, ExitCode, ReplayDiffers, UsageError
from repro_gate.experiment import plugin_files
from repro_gate.model import Outcome
from repro_gate.pipeline.bench import open_lab
from repro_gate.pipeline.request import Request, system_effects
from repro_gate.report.words import first_line, visible


def run_replay(order: ReplayOrder, terminal: Terminal, environ: Mapping[str, str]) -> int:
    """Replay; 0 when the failure came back each time (an unpinned one: at least once)."""
    manifest = replayable(capsule.read(order.path).manifest)
    if manifest.proof is not None:
        # Only here: a proof needs many rooms that other replays do not wait for.
        from repro_gate.cli.proving import run_proof

        return run_proof(manifest, manifest.proof, order, terminal, environ)
    if manifest.mutant is not None and order.head is None:
        from repro_gate.cli.surviving import run_survivor

        return run_survivor(manifest, manifest.mutant, order, terminal, environ)
    if order.head is not None:
        raise UsageError(
            f"`--head` is for the capsule of a proof, and this is that of a {'mutant' if manifest.mutant else 'failure'}.",
            next_step="Leave it out: it is replayed in what is checked out.",
        )
    return _replay_failure(manifest, order, terminal, environ)


def _replay_failure(
    manifest: capsule.Manifest, asked: ReplayOrder, terminal: Terminal, environ: Mapping[str, str]
) -> int:
    path, python = asked.path, asked.python
    repo = checkout(manifest, asked.repo)
    directory = (repo / manifest.project.root).resolve()
    lacking = missing(manifest, directory, repo.resolve())
    if lacking:
        raise UsageError(
            f"{repo} is not a checkout of the capsule's project: it has no {lacking}.",
            next_step=f"Name the checkout: `repro-gate replay {path} --repo DIR`.",
        )
    settings = load(directory, {"sandbox": asked.sandbox}, environ)
    manifest = with_network_of(settings, manifest, terminal)
    order = Order(directory=directory, arguments=(), overrides={}, door=("repro-gate",), python=python)
    request = Request(
        directory=directory,
        arguments=manifest.pytest_args,
        settings=settings,
        python=interpreter_for(order, settings, environ),
        cwd_on_path=manifest.cwd_on_path,
        image_python=order.python or settings.python or "python3",
    )
    warn(manifest, repo, terminal)
    count = asked.times or manifest.determinism.verified.of or 5
    numbers = iter(range(1, count + 1))
    with open_lab(request, system_effects()) as (lab, _, _):
        words = f"replaying {visible(manifest.victim)} ({lab.sandbox.name}, {count} times)"
        terminal.out.print(Text(words), soft_wrap=True)
        done = replay(manifest, lab, count, lambda one: _say(one, next(numbers), count, terminal))
    if not any(one.tried for one in done):
        raise CollectionFailed(
            f"{visible(manifest.victim)} could not be run in {repo}: {first_line(done[0].why)}",
            next_step="Check out the capsule's commit, and name the interpreter that has its dependencies with `--python`.",
        )
    same = sum(one.same for one in done)
    terminal.out.print(f"{same} of {count} replays showed the same failure")
    if same == count or (not manifest.determinism.pinned and same):
        return int(ExitCode.PASS)
    raise ReplayDiffers(
        f"{same} of {count} replays of {visible(manifest.victim)} showed the expected failure.",
        next_step=_mended_or_not(manifest, done),
    )


def _mended_or_not(manifest: capsule.Manifest, done: list[Replay]) -> str | None:
    """The next step where the test passed each time, which is what a fix looks like; None: that of every difference."""
    if any(one.run is None or one.run.outcome is not Outcome.PASSED for one in done):
        return None
    commit = f"the capsule's commit {manifest.project.commit[:12]}".rstrip()
    return (
        "It passed each time. If it was mended, nothing is left to do: the failure is gone. "
        f"If not, check out {commit} and its dependencies' versions, then replay again."
    )


def _say(one: Replay, number: int, count: int, terminal: Terminal) -> None:
    what = "same failure" if one.same else f"DIFFERENT ({first_line(one.why)})"
    said = ""
    if one.run is not None:
        said = str(one.run.outcome)
        if one.run.failure is not None:
            said += f": {first_line(one.run.failure.message, 100)}"
    terminal.out.print(Text(f"  {number}/{count} {what}  {said}"), soft_wrap=True)


def run_show(path: Path, terminal: Terminal) -> int:
    """What a capsule says."""
    for line in capsule.show(capsule.read(path)):
        terminal.out.print(Text(line), soft_wrap=True)
    return int(ExitCode.PASS)


def run_verify(path: Path, terminal: Terminal) -> int:
    """Check a capsule without running anything of it."""
    checks = capsule.verify(path, plugin_files())
    for check in checks:
        mark = "ok  " if check.ok else "BAD "
        terminal.out.print(Text(f"{mark} {check.name}: {check.detail}"), soft_wrap=True)
    return int(ExitCode.PASS if all(check.ok for check in checks) else ExitCode.USAGE)


def run_unpack(path: Path, directory: Path, terminal: Terminal) -> int:
    """Unpack a capsule after checking it."""
    found = capsule.read(path)
    if directory.exists() and any(directory.iterdir()):
        raise UsageError(f"{directory} is not empty.", next_step="Name a new directory.")
    directory.mkdir(parents=True, exist_ok=True)
    capsule.extract(found.members, directory)
    terminal.out.print(
        f"unpacked; to replay in a checkout: {shlex.quote(str(directory.resolve() / 'repro.sh'))} --repo .",
        markup=False,
        soft_wrap=True,
    )
    return int(ExitCode.PASS)
