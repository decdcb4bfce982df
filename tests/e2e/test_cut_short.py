"""Scans and checks that are cut short: by Ctrl-C, by SIGTERM, by a server that dies, by a disk that is full."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.corpus.every import named
from tests.e2e.conftest import SHORT, Shell
from tests.gitrepo import Repo

# Each test tells who runs it, in a file outside of every copy of the project, and then takes a while.
SLOW = {
    "test_slow.py": """\
        import os, time, pytest

        @pytest.mark.parametrize("n", range(5))
        def test_slow(n):
            with open(os.environ["TELL"], "a") as file:
                print(os.getpid(), os.getppid(), flush=True, file=file)
            time.sleep(0.3)
        """,
}

NOT_CONFIRMED = "causes were not looked for"


def until(condition: Callable[[], bool], process: subprocess.Popen[str], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def told(path: Path) -> list[tuple[int, int]]:
    """Process and parent of every test so far."""
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return [(int(line.split()[0]), int(line.split()[1])) for line in lines if len(line.split()) == 2]


def below(pid: int) -> set[int]:
    """All processes below one, by /proc."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError:
        return set()
    return {int(child) for child in children}.union(*(below(int(child)) for child in children))


def report_of(project: Path) -> dict[str, Any]:
    return dict(json.loads((project / "r.json").read_text(encoding="utf-8")))


@pytest.fixture
def slow(shell: Shell, project: MakeProject, tmp_path: Path) -> Iterator[tuple[Path, Path, subprocess.Popen[str]]]:
    """A scan that is in the middle of its runs."""
    place, tell = project(SLOW), tmp_path / "told"
    arguments = ("--sandbox", "host", "--runs", "6", "--seed", "1", "--no-causes", "--report-json", "r.json")
    process = shell.start("repro-gate", "scan", *arguments, cwd=place, env={"TELL": str(tell)})
    try:
        until(lambda: len(told(tell)) >= 7, process)
        yield place, tell, process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    "numbers",
    [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGTERM)],
    ids=["SIGINT", "SIGTERM", "both-at-once"],
)
def test_a_scan_that_is_stopped_reports_what_it_has_and_leaves_nothing_behind(
    numbers: tuple[signal.Signals, ...], shell: Shell, slow: tuple[Path, Path, subprocess.Popen[str]]
) -> None:
    place, _, process = slow
    began = time.monotonic()
    for number in numbers:
        os.kill(process.pid, number)
    done = shell.end(process)
    assert time.monotonic() - began < 20
    assert done.code == 130, done
    report = report_of(place)
    assert report["campaign"]["incomplete"] == "interrupted"
    assert len(report["tests"]) == 5
    assert any(test["runs"] for test in report["tests"])
    assert "Incomplete: interrupted" in done.words
    assert "--seed" in done.words


def test_an_interrupt_before_there_is_a_list_of_tests_leaves_nothing_behind_either(
    shell: Shell, project: MakeProject, tmp_path: Path
) -> None:
    tell = tmp_path / "told"
    conftest = 'import os, time\nopen(os.environ["TELL"], "w").write("1 1")\ntime.sleep(60)\n'
    place = project({"conftest.py": conftest, "test_a.py": "def test_a():\n    pass\n"})
    process = shell.start("repro-gate", "scan", "--sandbox", "host", cwd=place, env={"TELL": str(tell)})
    until(tell.exists, process)
    os.kill(process.pid, signal.SIGINT)
    done = shell.end(process)
    assert done.code == 130, done
    assert "Traceback" not in done.err


def test_a_server_that_is_killed_loses_no_test(shell: Shell, slow: tuple[Path, Path, subprocess.Popen[str]]) -> None:
    place, tell, process = slow
    server = told(tell)[-1][1]
    assert server in below(process.pid)
    os.kill(server, signal.SIGKILL)
    done = shell.end(process)
    assert done.code in (0, 3), done
    report = report_of(place)
    assert [test["id"] for test in report["tests"]] == [f"test_slow.py::test_slow[{n}]" for n in range(5)]
    assert {test["verdict"] for test in report["tests"]} <= {"stable", "not-judged"}
    assert sum(test["verdict"] == "stable" for test in report["tests"]) >= 4
    assert all(test["runs"] >= 5 for test in report["tests"])
    assert report["campaign"]["incomplete"] in ("", NOT_CONFIRMED)  # the run that was killed may be blamed on its test


# --- a full disk -----------------------------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of three MiB."""
    place = tmp_path / "small"
    place.mkdir()
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_disk_that_is_full_of_results_is_named_and_what_was_found_is_printed(
    shell: Shell, project: MakeProject, small_disk: Path
) -> None:
    place = project(
        {
            "test_a.py": """\
                import os, pytest

                @pytest.mark.parametrize("n", range(30))
                def test_loud(n):
                    print(os.urandom(40_000).hex())
                    assert n < 0
                """
        }
    )
    done = shell.scan(place, "--report-json", "r.json", env={"TMPDIR": str(small_disk)})
    assert done.code == 3, done
    assert f"No space left for results in {small_disk}" in done.words
    assert "Incomplete: No space left" in done.words
    assert len(report_of(place)["tests"]) == 30
    assert list(small_disk.iterdir()) == []


def test_a_disk_without_room_for_the_project_is_named_before_anything_is_run(
    shell: Shell, project: MakeProject, small_disk: Path
) -> None:
    place = project({"test_a.py": "def test_a():\n    pass\n", "large.bin": b"x" * 4 * 2**20})
    done = shell.scan(place, env={"TMPDIR": str(small_disk)})
    assert done.code == 3, done
    assert "No space left to copy the tree" in done.words
    assert str(small_disk) in done.words
    assert "next:" in done.err
    assert list(small_disk.iterdir()) == []


def test_capsules_that_do_not_fit_are_left_out_and_the_finding_is_reported(
    shell: Shell, project: MakeProject, small_disk: Path
) -> None:
    files = {
        "pyproject.toml": SHORT,
        "test_a.py": "import time\ndef test_zone():\n    assert time.timezone == 0\n",
    }
    place = project(files)
    free = os.statvfs(small_disk)
    (small_disk / "full").write_bytes(b"x" * (free.f_bavail * free.f_frsize - 4096))
    done = shell.scan(place, "--capsules", str(small_disk / "caps"), "--report-json", "r.json")
    assert done.code == 1, done
    report = report_of(place)
    assert report["tests"][0]["verdict"] == "condition-dependent"
    assert report["tests"][0]["capsule"] is None
    assert "o space left" in report["campaign"]["incomplete"]
    assert str(small_disk) in report["campaign"]["incomplete"]
    assert "Incomplete: no space left" in done.words
    assert [path.name for path in small_disk.rglob("*") if path.is_file()] == ["full"]


@pytest.fixture
def proving(tmp_path: Path, bubblewrap_why_not: str) -> tuple[Path, tuple[str, ...]]:
    """A change that is proved, and the check of it."""
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    shape = named("fix-with-test")
    repo, base, _ = shape.write(tmp_path / "repo")
    where = ("--sandbox", "bubblewrap", "--python", sys.executable, "--report-json", "../r.json")
    return repo.path, ("check", "--base", base, "--gates", "fail-to-pass", *where)


@pytest.mark.parametrize("room", [24, *(pytest.param(room, marks=pytest.mark.deep) for room in (120, 220))])
def test_a_check_on_a_full_disk_is_inconclusive_and_leaves_nothing_behind(
    room: int, shell: Shell, proving: tuple[Path, tuple[str, ...]], small_disk: Path
) -> None:
    place, command = proving
    free = os.statvfs(small_disk)
    (small_disk / "full").write_bytes(b"x" * (free.f_bavail * free.f_frsize - room * 1024))
    done = shell.gate(*command, cwd=place, env={"TMPDIR": str(small_disk), "REPRO_GATE_JOBS": "1"})
    assert done.code == 3, done
    assert "o space left" in done.words
    assert str(small_disk) in done.words
    assert "Traceback" not in done.words
    report = report_of(place.parent)
    assert (report["verdict"], report["trouble"]["slug"]) == ("inconclusive", "disk-full")
    assert "next:" in done.out
    assert [path.name for path in small_disk.iterdir()] == ["full"]


def test_a_test_that_finds_the_disk_full_is_not_blamed_for_it(
    shell: Shell, proving: tuple[Path, tuple[str, ...]], small_disk: Path
) -> None:
    place, command = proving
    repo = Repo(place)
    greedy = "\n\ndef test_greedy(tmp_path):\n    (tmp_path / 'x').write_bytes(b'x' * 4 * 2**20)\n"
    repo.commit({"tests/test_price.py": (place / "tests/test_price.py").read_text(encoding="utf-8") + greedy})
    done = shell.gate(*command, cwd=place, env={"TMPDIR": str(small_disk)})
    assert done.code == 3, done
    assert "for the tests themselves" in done.words
    assert report_of(place.parent)["trouble"]["slug"] == "disk-full"
    assert list(small_disk.iterdir()) == []


@pytest.mark.deep
def test_a_proof_whose_capsule_does_not_fit_is_printed_all_the_same(
    shell: Shell, proving: tuple[Path, tuple[str, ...]], small_disk: Path
) -> None:
    place, command = proving
    free = os.statvfs(small_disk)
    (small_disk / "full").write_bytes(b"x" * (free.f_bavail * free.f_frsize - 8192))
    done = shell.gate(*command, "--capsules", str(small_disk / "caps"), cwd=place, env={"REPRO_GATE_REPLAYS": "1"})
    assert done.code == 3, done
    assert "proved   tests/test_price.py::test_all" in done.out
    assert f"no space left to write {small_disk}" in done.words
    report = report_of(place.parent)
    assert (report["verdict"], report["trouble"]["slug"]) == ("inconclusive", "disk-full")
    assert [proof["capsule"] for proof in report["gates"][0]["proved"]] == [None]
    assert [path.name for path in small_disk.rglob("*") if path.is_file()] == ["full"]


def test_a_report_that_does_not_fit_is_printed_all_the_same(
    shell: Shell, project: MakeProject, small_disk: Path
) -> None:
    place = project({"test_a.py": "def test_a():\n    pass\n"})
    free = os.statvfs(small_disk)
    (small_disk / "full").write_bytes(b"x" * (free.f_bavail * free.f_frsize))
    done = shell.scan(place, "--report-json", str(small_disk / "r.json"))
    assert done.code == 3, done
    assert "1 stable of 1 test" in done.out
    assert f"No space left to write {small_disk / 'r.json'}" in done.words
    assert [path.name for path in small_disk.iterdir()] == ["full"]


def test_a_report_that_cannot_be_written_there_is_printed_all_the_same(shell: Shell, project: MakeProject) -> None:
    test = "import os\n\n\ndef test_a():\n    os.path.isdir(os.environ['TELL']) and os.rmdir(os.environ['TELL'])\n"
    place = project({"test_a.py": test})
    (place / "gone").mkdir()
    done = shell.scan(place, "--report-json", "gone/r.json", env={"TELL": str(place / "gone")})
    assert done.code == 2, done
    assert "1 stable of 1 test" in done.out
    assert "Cannot write gone/r.json" in done.words


@pytest.mark.parametrize("place", ["/proc/caps", "taken/caps"])
def test_capsules_that_may_not_be_written_there_lose_no_finding(shell: Shell, project: MakeProject, place: str) -> None:
    files = {
        "pyproject.toml": SHORT,
        "taken": "",
        "test_a.py": "import time\ndef test_zone():\n    assert time.timezone == 0\n",
    }
    done = shell.scan(project(files), "--capsules", place)
    assert done.code == 1, done
    assert "cause: timezone" in done.out
    assert "test_a.py::test_zone: no capsule: Cannot write capsules to" in done.words
    assert "internal error" not in done.err


@pytest.mark.parametrize("option", ["--report-json", "--junit-xml"])
@pytest.mark.parametrize("path", ["nowhere/deep/r.out", "file/r.out", "test_a.py/../..", "."])
def test_a_report_without_a_place_is_refused_before_anything_runs(
    option: str, path: str, shell: Shell, project: MakeProject
) -> None:
    place = project({"test_a.py": "def test_a():\n    pass\n", "file": "x"})
    done = shell.scan(place, option, path)
    assert done.code == 2, done
    assert "stable" not in done.out
    assert "director" in done.words
    assert "next:" in done.err
    assert not (place / "nowhere").exists()
