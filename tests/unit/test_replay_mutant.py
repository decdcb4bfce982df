"""A survivor's own replay, with runs that are told: what counts, what says nothing, and what is written where."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro_gate_pytest import checkout
from repro_gate_pytest.checkout import NoReplay, NotCollected
from repro_gate_pytest.replay_mutant import first_line, survive

SOURCE = b"def small(x):\n    return x < 3\n"
MUTATED = b"def small(x):\n    return x <= 3\n"
HINT = "only a value where `x == 3` can tell them apart"
Run = tuple[str, "dict[str, Any] | None", float]
PASSED: Run = ("passed", None, 0.1)
FAILED: Run = ("failed", {"message": "assert 0", "test": "t.py::t"}, 0.1)


def manifest(**changes: Any) -> dict[str, Any]:
    mutant = {
        "id": "0123456789ab",
        "file": "shop/size.py",
        "sha256": hashlib.sha256(SOURCE).hexdigest(),
        "patch": {"line": 2, "removed": ["    return x < 3"], "added": ["    return x <= 3"]},
        "hint": HINT,
    }
    return {"tests": ["t.py::t"], "project": {"commit": "c0ffee"}, "mutant": {**mutant, **changes}}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "size.py").write_bytes(SOURCE)
    return tmp_path


def runs(mutated: Run | Exception, *, null: Run = PASSED, blind: bool = False) -> Callable[[bytes], Run]:
    def attempt(data: bytes) -> Run:
        if data == SOURCE:
            return null
        if data == MUTATED:
            if isinstance(mutated, Exception):
                raise mutated
            return mutated
        assert data.endswith(SOURCE)
        assert data.startswith(b"raise ")
        return PASSED if blind else FAILED

    return attempt


def test_a_mutant_that_passes_each_time_survives_and_says_what_would_tell(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert survive(manifest(), str(repo), 2, runs(PASSED)) == 0
    out = capsys.readouterr().out
    assert "the mutant survived 2 of 2 times\n" in out
    assert out.endswith(f"{HINT}\n")
    assert (repo / "shop" / "size.py").read_bytes() == SOURCE


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (FAILED, "1/1 KILLED  t.py::t failed: assert 0"),
        (("timeout", {"message": "the process ended (timeout)"}, 9.0), "1/1 KILLED   timeout: the process ended"),
        (NotCollected("this checkout has no test t.py::t"), "1/1 KILLED  collection error: this checkout has no test"),
    ],
)
def test_a_test_that_notices_it_is_named(
    repo: Path, capsys: pytest.CaptureFixture[str], seen: Run | Exception, words: str
) -> None:
    assert survive(manifest(), str(repo), 1, runs(seen)) == 1
    out = capsys.readouterr().out
    assert words in out
    assert out.endswith("the mutant survived 0 of 1 times\n")


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (runs(PASSED, null=FAILED), "without the mutant t.py::t failed: assert 0"),
        (runs(PASSED, blind=True), "no test notices that shop/size.py raises"),
        (runs(("skipped", None, 0.1)), "with the mutant skipped, neither passed nor failed"),
    ],
)
def test_what_says_nothing_is_no_survival(repo: Path, attempt: Callable[[bytes], Run], words: str) -> None:
    with pytest.raises(NoReplay, match=words):
        survive(manifest(), str(repo), 1, attempt)


@pytest.mark.parametrize("name", ["../outside.py", "shop/../shop/size.py", "shop/none.py", "linked/size.py", "shop"])
def test_only_a_file_of_the_checkout_itself_is_taken(repo: Path, name: str) -> None:
    (repo / "linked").symlink_to("shop")
    with pytest.raises(NoReplay, match="has no file"):
        survive(manifest(file=name), str(repo), 1, runs(PASSED))


def test_another_file_is_refused(repo: Path) -> None:
    (repo / "shop" / "size.py").write_bytes(SOURCE + b"\n")
    with pytest.raises(
        NoReplay, match=r"is not the file that the mutant was made of: check out the capsule's commit c0ffee$"
    ):
        survive(manifest(), str(repo), 1, runs(PASSED))


def test_a_file_of_the_copy_is_exchanged_with_its_bytecode_though_it_is_for_reading_alone(repo: Path) -> None:
    place = repo / "shop" / "size.py"
    place.chmod(0o444)
    (repo / "shop" / "__pycache__").mkdir()
    for name in ("size.cpython-311.pyc", "sizes.cpython-311.pyc"):
        (repo / "shop" / "__pycache__" / name).touch()
    checkout.put(str(repo), "shop/size.py", MUTATED)
    assert place.read_bytes() == MUTATED
    assert [each.name for each in (repo / "shop" / "__pycache__").iterdir()] == ["sizes.cpython-311.pyc"]


def test_nothing_is_written_through_a_link_that_leads_out_of_the_copy(repo: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "shop").symlink_to(repo / "shop")
    with pytest.raises(NoReplay, match=r"shop/size\.py is a link, or behind one"):
        checkout.put(str(copy), "shop/size.py", MUTATED)
    assert (repo / "shop" / "size.py").read_bytes() == SOURCE


@pytest.mark.parametrize(
    ("data", "mutated", "line"),
    [
        (SOURCE, MUTATED, 2),
        (SOURCE.replace(b"\n", b"\r"), MUTATED.replace(b"\n", b"\r"), 2),
        (b"# a\r" + SOURCE, b"# a\r" + MUTATED, 3),
    ],
)
def test_the_line_that_is_told_is_the_one_that_python_counts(data: bytes, mutated: bytes, line: int) -> None:
    assert first_line(data, mutated) == line
