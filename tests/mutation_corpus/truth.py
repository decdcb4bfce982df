"""What a mutant really does: its file in a copy of head,
and plain `python -m pytest` of the whole suite in a new process.

Belongs here: the oracle, which shares nothing with the gate but the mutant's text. Does not belong here: comparing.
"""

from __future__ import annotations

import io
import os
import resource
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from repro_gate.model import Mutant
from tests.mutation_corpus.shape import Shape

SECONDS = 20.0
BYTES = 3 * 2**29
_BAD = ("failure", "error")


@dataclass(frozen=True, kw_only=True)
class Truth:
    """Whether the suite notices a mutant, and what it said."""

    noticed: bool
    how: str


@dataclass(frozen=True, kw_only=True)
class _Said:
    """One plain run: names of tests that were bad; None where pytest did not come to its end (``how`` says how)."""

    bad: frozenset[str] | None
    how: str


def truth_of(shape: Shape, repo: Path, mutants: Sequence[Mutant], place: Path, jobs: int) -> Mapping[str, Truth]:
    """By mutant's id. Tests that fail on head as it is, or are known to fail by themselves, notice nothing.

    Raises AssertionError where head's own suite does not come to its end.
    """
    if not mutants:
        return {}
    as_it_is = _run(shape, repo, place / "head", None)
    assert as_it_is.bad is not None, as_it_is.how
    deaf = as_it_is.bad | set(shape.unreliable)

    def one(mutant: Mutant) -> Truth:
        return _judged(_run(shape, repo, place / mutant.id, mutant), deaf)

    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip((each.id for each in mutants), pool.map(one, mutants), strict=True))


def _judged(said: _Said, deaf: frozenset[str]) -> Truth:
    if said.bad is None:
        return Truth(noticed=True, how=said.how)
    told = sorted(said.bad - deaf)
    return Truth(noticed=bool(told), how=f"failed: {', '.join(told)}" if told else f"no test failed ({said.how})")


def _run(shape: Shape, repo: Path, place: Path, mutant: Mutant | None) -> _Said:
    copy, home, report = place / "copy", place / "home", place / "report.xml"
    shutil.copytree(repo, copy, symlinks=True)
    home.mkdir()
    if mutant is not None:
        _write(copy / mutant.file, mutant.text)
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        f"--junit-xml={report}",
        *shape.arguments,
    ]
    process = subprocess.Popen(
        command, cwd=copy, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    )
    resource.prlimit(process.pid, resource.RLIMIT_AS, (BYTES, BYTES))
    try:
        output, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return _Said(bad=None, how=f"it does not end in {SECONDS:g} s")
    finally:
        shutil.rmtree(copy)
    last = (output.decode(errors="replace").strip().splitlines() or ["nothing said"])[-1]
    if not report.exists():
        return _Said(bad=None, how=f"ended with {process.returncode} and without a report: {last}")
    cases = ElementTree.parse(report).getroot().iter("testcase")
    bad = {case.get("name", "") for case in cases if any(case.find(tag) is not None for tag in _BAD)}
    if process.returncode not in (0, 1) and not bad:
        return _Said(bad=None, how=f"ended with {process.returncode}: {last}")
    return _Said(bad=frozenset(bad), how=last)


def _write(file: Path, text: str) -> None:
    """The text in the file's own encoding, byte order mark included."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(file.read_bytes()).readline)
    file.write_bytes(text.removeprefix("\ufeff").encode(encoding))
