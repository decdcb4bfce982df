from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.action.stage import Stage, exported

FILES = {
    "pyproject.toml": '[project]\nname = "till"\nversion = "1"\n',
    "till.py": "def total(prices, discount=0):\n    return sum(prices) * (100 - discount) // 100\n",
    "tests/test_till.py": "from till import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n",
}
FIXED = {
    "till.py": FILES["till.py"].replace("//", "/"),
    "tests/test_till.py": FILES["tests/test_till.py"]
    + "\n\ndef test_half_a_cent():\n    assert total([1], discount=50) == 0.5\n",
}


@pytest.fixture(scope="session")
def action(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the action as a workflow checks it out."""
    return exported(tmp_path_factory.mktemp("action"))


@pytest.fixture(scope="session")
def venvs(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """Where the action's own environment is kept from run to run, by all workers; the first one makes it."""
    base = tmp_path_factory.getbasetemp()
    place = (base if worker_id == "master" else base.parent) / "venvs"
    place.mkdir(exist_ok=True)
    return place


@pytest.fixture
def run_action(tmp_path: Path, action: Path, venvs: Path) -> Stage:
    """A stage: ``run_action.play(workflow, event_name, event, repository)`` runs a workflow by `act`."""
    return Stage(place=tmp_path / "stage", action=action, venvs=venvs, python=sys.executable)


@pytest.fixture
def merged(tmp_path: Path) -> Callable[[dict[str, str]], Path]:
    """Makes a checkout of the merge commit of a pull request with these files over those of ``FILES``."""

    def make(head: dict[str, str], base: dict[str, str] | None = None) -> Path:
        return merge(tmp_path / "project", head, base)

    return make


def merge(top: Path, head: dict[str, str], base: dict[str, str] | None = None) -> Path:
    """A checkout of the merge commit of a pull request, made in ``top``."""
    git(None, "init", "-q", "-b", "main", str(top))
    write(top, FILES if base is None else base)
    commit(top, "base")
    git(top, "checkout", "-q", "-b", "fix")
    write(top, head)
    commit(top, "Fix half a cent")
    git(top, "checkout", "-q", "main")
    git(top, "merge", "-q", "--no-ff", "-m", "Merge fix into main", "fix")
    git(top, "checkout", "-q", "--detach")
    return top


def git(top: Path | None, *words: str) -> str:
    where = ("-C", str(top)) if top is not None else ()
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", *where, *who, *words], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def write(top: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commit(top: Path, message: str) -> None:
    git(top, "add", "-A")
    git(top, "commit", "-q", "--allow-empty", "-m", message)


def parents(top: Path) -> tuple[str, str]:
    """Base and head of the merge commit that is checked out."""
    base, head = git(top, "log", "-1", "--format=%P").split()
    return base, head
