"""One synthetic change: the files of its two commits, what is said of it, and what the gate must answer.

Belongs here: the form, the tiny shop that most shapes break and fix, and writing a shape as commits.
Does not belong here: the shapes themselves, and running the gate.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from repro_gate.model import GateVerdict
from tests.gitrepo import Repo

Files = Mapping[str, str | bytes | None]
"""Path -> text (dedented when it is written); None takes a file away."""

PASS, FAIL, NEUTRAL, INCONCLUSIVE = GateVerdict

TESTS = "tests/test_price.py"
PRICE = "shop/price.py"
BROKEN = "def total(prices):\n    return sum(prices[1:])\n"
FIXED = "def total(prices):\n    return sum(prices)\n"
OLD = "from shop.price import total\n\n\ndef test_nothing():\n    assert total([]) == 0\n\n\n"
NEW = "def test_all():\n    assert total([1, 2]) == 3\n"
ALL = f"{TESTS}::test_all"
PROJECT = '[project]\nname = "shop"\nversion = "1.0"\n'


@dataclass(frozen=True, kw_only=True)
class Rigour:
    """How often the gate repeats: as little as a shape needs to show itself."""

    same_seed: int = 1
    varied: int = 1
    least_seconds: float = 10.0


QUICK = Rigour()
THOROUGH = Rigour(same_seed=3, varied=5)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A change from ``base`` to ``head`` (which says only what differs) and its answer.

    ``row``: the number in the list of shapes of a pull request, or the trap's name. ``proved`` and
    ``refused`` are complete: nothing else may be proved or refused. ``findings``: reasons of warnings.
    """

    name: str
    row: str
    verdict: GateVerdict
    reason: str
    head: Files
    base: Files = field(default_factory=dict)
    title: str = "fix: count the first price"
    event: Mapping[str, Any] = field(default_factory=dict)
    proved: Mapping[str, str] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()
    rigour: Rigour = QUICK
    shop: bool = True

    def write(self, place: Path) -> tuple[Repo, str, str]:
        """The change as a repository with two commits: it, base and head."""
        repo = Repo.new(place)
        base = commit(repo, {**(SHOP if self.shop else {}), **self.base}, "base")
        return repo, base, commit(repo, self.head, self.title)


def commit(repo: Repo, files: Files, message: str) -> str:
    """Commit files; None removes one that is there."""
    gone = tuple(path for path, text in files.items() if text is None and (repo.path / path).exists())
    return repo.commit({path: text for path, text in files.items() if text is not None}, message=message, remove=gone)


def with_tests(text: str, old: str = OLD) -> dict[str, str]:
    """The shop's tests with more behind them."""
    return {TESTS: old + textwrap.dedent(text)}


def fix(text: str = NEW, **more: str | bytes | None) -> dict[str, str | bytes | None]:
    """The shop's bug mended, with this test added."""
    return {PRICE: FIXED, **with_tests(text), **more}


def node(name: str, file: str = TESTS) -> str:
    """A node id."""
    return f"{file}::{name}"


SHOP: Files = {"pyproject.toml": PROJECT, "shop/__init__.py": "", PRICE: BROKEN, TESTS: OLD}
