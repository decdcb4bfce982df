"""A replay as it was ordered, and the checkout that it is for: what every kind of capsule asks of them.

Does not belong here: replaying (replaying, proving, surviving).
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from repro_gate import capsule
from repro_gate.change import head
from repro_gate.cli.session import Terminal
from repro_gate.config import Settings
from repro_gate.experiment import find_tree
from repro_gate.report.words import visible


@dataclass(frozen=True, kw_only=True, slots=True)
class ReplayOrder:
    """A replay as it was ordered. ``head`` stands in for a proof's own."""

    path: Path
    repo: Path | None
    times: int | None = None
    sandbox: str | None = None
    python: str | None = None
    head: str | None = None


def with_network_of(settings: Settings, manifest: capsule.Manifest, terminal: Terminal) -> capsule.Manifest:
    """What tests may reach is decided here and not by whoever made a capsule."""
    if manifest.conditions.network == settings.network:
        return manifest
    terminal.err.print(
        f"note: the capsule was made with the network {manifest.conditions.network}; here it is {settings.network}",
        markup=False,
    )
    return dataclasses.replace(manifest, conditions=dataclasses.replace(manifest.conditions, network=settings.network))


def checkout(manifest: capsule.Manifest, named: Path | None) -> Path:
    """The checkout that was named, or the one around what was named or around this directory."""
    if named is None or not named.is_dir():
        return named or find_tree(Path.cwd())[0]
    if not missing(manifest, (named / manifest.project.root).resolve(), named.resolve()):
        return named
    around = find_tree(named)[0]
    return named if missing(manifest, around / manifest.project.root, around) else around


def missing(manifest: capsule.Manifest, directory: Path, repo: Path) -> str:
    """What of the capsule's project is not there, or an empty string."""
    if not directory.is_dir():
        return f"directory {manifest.project.root!r}"
    file = manifest.victim.partition("::")[0]
    # The id is relative to pytest's root, which may lie above; below only where an argument led there.
    above = [place for place in (directory, *directory.parents) if place.is_relative_to(repo)]
    named = [directory / argument.partition("::")[0] for argument in manifest.pytest_args if argument[:1] != "-"]
    found = any((place / file).exists() for place in above) or any(place.exists() for place in named)
    return "" if found else f"file {visible(file)!r}"


def warn(manifest: capsule.Manifest, repo: Path, terminal: Terminal) -> None:
    """Say in what this checkout is not the one that the capsule was made from."""
    here = head(repo)
    expected = manifest.project.commit
    if expected and here.commit and here.commit != expected:
        terminal.err.print(
            f"note: this checkout is at {here.commit[:12]}, the capsule was made at {expected[:12]}", markup=False
        )
    if manifest.project.dirty:
        terminal.err.print("note: the capsule was made from a work tree with uncommitted changes", markup=False)
