"""One synthetic change for the mutation gate: its two commits, and what becomes of each mutant, known by hand.

Belongs here: the form, short ways to write a change, and writing it as commits. Does not belong here: the shapes
themselves, running the gate (driver), and running mutants without it (truth).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.gates import mutation
from repro_gate.model import GateVerdict
from tests.corpus.shape import FAIL, INCONCLUSIVE, NEUTRAL, PASS, PROJECT, commit
from tests.gitrepo import Repo

Text = str | bytes | None
Files = Mapping[str, Text]
"""Path -> text (dedented when it is written); None takes a file away. `@PLACE@` in texts is a directory outside."""

CODE = "shop/code.py"
TESTS = "tests/test_code.py"
PLACE = "@PLACE@"
SHOP: Files = {"pyproject.toml": PROJECT, "shop/__init__.py": ""}
STRICT = PROJECT + '[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n'

__all__ = [
    "CODE", "FAIL", "INCONCLUSIVE", "NEUTRAL", "PASS", "PLACE", "PROJECT", "SHOP", "STRICT", "TESTS", "Files", "Shape",
]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A change from ``base`` to ``head`` (which says only what differs), and the answer of a gate that blocks.

    Mutants are written ``line: original -> mutated``. ``survivors``, ``timeouts`` and ``inconclusive`` are complete: of
    ``tested`` mutants all others are killed. ``untested`` counts those that are not, by reason. ``states`` gives the
    state in the account of the lines (of ``shop/code.py``, or ``file:line``) that matter, ``findings`` the reasons of
    findings that are not about single mutants. ``unreliable`` are names of tests that fail by themselves, so that no
    word of theirs is the truth.
    """

    name: str
    trap: str
    verdict: GateVerdict
    reason: str
    tested: int
    head: Files
    base: Files = field(default_factory=dict)
    survivors: tuple[str, ...] = ()
    timeouts: tuple[str, ...] = ()
    inconclusive: tuple[str, ...] = ()
    untested: Mapping[str, int] = field(default_factory=dict)
    states: Mapping[int | str, str] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    unreliable: tuple[str, ...] = ()
    gates: tuple[str, ...] = (mutation.GATE,)
    settings: Mapping[str, object] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    versions: tuple[int, int] = (3, 11)

    @property
    def why_not(self) -> str:
        """Why this Python cannot run it, or an empty string."""
        return "" if sys.version_info >= self.versions else f"needs Python {self.versions[0]}.{self.versions[1]}"

    def write(self, place: Path) -> tuple[Repo, str, str]:
        """The change as a repository with two commits below ``place``: it, base and head."""
        outside = place / "outside"
        outside.mkdir(parents=True)
        repo = Repo.new(place / "repo")
        base = commit(repo, _placed({**SHOP, **self.base}, outside), "base")
        return repo, base, commit(repo, _placed(self.head, outside), "change")


def _placed(files: Files, outside: Path) -> Files:
    return {path: text.replace(PLACE, str(outside)) if isinstance(text, str) else text for path, text in files.items()}


def change(code: Text, tests: Text, **more: Text) -> Files:
    """New code in `shop/code.py`, new tests for it, and whatever else."""
    return {CODE: code, TESTS: tests, **more}
