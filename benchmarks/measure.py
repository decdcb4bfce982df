"""What the benchmarks share: CPU of whole process trees, virtual environments, tables.

CPU of a tree is not what ``getrusage(RUSAGE_CHILDREN)`` says: Linux adds a child's time to its
parent's only when the parent waits for it. What nobody waited for (SIGCHLD ignored, or a process
below a PID namespace whose init ended, as under bubblewrap) is dropped. So the tree is put into a
control group of its own where that can be done (the kernel charges a group while code runs, no
matter who waits), and otherwise below a subreaper that waits for every orphan, which misses only
the two kinds named. ``python benchmarks/measure.py`` shows both meters on a known load.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import platform
import re
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_HERE = Path(__file__).resolve()
_SUBREAPER = 36
# What would make runs of different contenders differ for reasons of this machine or this shell.
_UNWANTED = (
    "PYTEST_",
    "PYTHON",
    "VIRTUAL_ENV",
    "COVERAGE",
    "COV_CORE",
    "PIP_REQUIRE_VIRTUALENV",
    "REPRO_GATE",
    "NO_COLOR",
)


# --- CPU of a tree ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Cost:
    """A finished command. ``cpu`` by the better meter, in seconds; ``waited`` by rusage alone."""

    status: int
    cpu: float
    waited: float
    wall: float
    meter: str
    stdout: str
    stderr: str
    timed_out: bool


def clean_environment() -> dict[str, str]:
    """This process's environment without what steers Python or pytest."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_UNWANTED)}


def measure(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    timeout: float = 3600.0,
) -> Cost:
    """Run a command to its end, and everything that it started; what they cost together."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        out, err, told = Path(name, "out"), Path(name, "err"), Path(name, "cost.json")
        with out.open("wb") as stdout, err.open("wb") as stderr:
            wrapper = [
                sys.executable,
                "-I",
                "-S",
                str(_HERE),
                "--wrap",
                str(told),
                str(timeout),
                *(os.fspath(word) for word in argv),
            ]
            subprocess.run(
                wrapper,
                cwd=cwd,
                env=dict(clean_environment() if env is None else env),
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                check=False,
            )
        if not told.exists():
            raise RuntimeError(f"not measured: {argv}\n{err.read_text(errors='replace')[-2000:]}")
        cost = json.loads(told.read_text())
        return Cost(**cost, stdout=out.read_text(errors="replace"), stderr=err.read_text(errors="replace"))


class _Group:
    """A control group for one command, or nothing where this process may not make one."""

    def __init__(self) -> None:
        self.path: Path | None = None
        for parent, file in self._candidates():
            path = parent / f"repro-gate-bench-{os.getpid()}"
            try:
                path.mkdir()
            except OSError:
                continue
            if (path / file).exists():
                self.path, self._file = path, file
                return
            path.rmdir()

    @staticmethod
    def _candidates() -> Iterable[tuple[Path, str]]:
        try:
            lines = Path("/proc/self/cgroup").read_text().splitlines()
        except OSError:
            return
        for line in lines:
            _, controllers, below = line.split(":", 2)
            if "cpuacct" in controllers.split(","):
                for mount in ("/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct"):
                    yield Path(mount + below), "cpuacct.usage"
            elif not controllers:
                # A process may not live in an inner group that has controllers on: a sibling, then.
                yield Path("/sys/fs/cgroup" + below).parent, "cpu.stat"
                yield Path("/sys/fs/cgroup" + below), "cpu.stat"

    def enter(self) -> None:
        if self.path is not None:
            (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def seconds(self) -> float | None:
        if self.path is None:
            return None
        text = (self.path / self._file).read_text()
        if self._file == "cpuacct.usage":
            return int(text) / 1e9
        return next(int(line.split()[1]) / 1e6 for line in text.splitlines() if line.startswith("usage_usec"))

    def remove(self) -> None:
        for _ in range(50):
            try:
                if self.path is not None:
                    self.path.rmdir()
                return
            except OSError:
                time.sleep(0.02)


def _children() -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except OSError:
        return []


def _wrap(told: str, timeout: float, argv: list[str]) -> int:
    """In a process of its own: run, wait for all, write what it cost."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    group = _Group()
    began, timed_out = time.monotonic(), False
    pid = os.fork()
    if pid == 0:
        try:
            try:
                group.enter()
            except OSError:
                os.write(2, b"measure: cannot enter the control group\n")
            os.execvp(argv[0], argv)
        except OSError as broken:
            os.write(2, f"measure: {argv[0]}: {broken}\n".encode())
        finally:
            os._exit(127)
    status: int | None = None
    try:
        while status is None:
            done, code, _ = os.wait4(-1, os.WNOHANG)
            if done == pid:
                status = os.waitstatus_to_exitcode(code)
            elif not done:
                if time.monotonic() - began > timeout:
                    timed_out = True
                    os.kill(pid, signal.SIGKILL)
                time.sleep(0.005)
    finally:
        wall = time.monotonic() - began
        for _ in range(100):  # whatever it left behind, orphans of orphans too
            left = _children()
            for orphan in left:
                try:
                    os.kill(orphan, signal.SIGKILL)
                    os.waitpid(orphan, 0)
                except (ProcessLookupError, ChildProcessError):
                    continue
            if not left:
                break
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        waited = usage.ru_utime + usage.ru_stime
        charged = group.seconds()
        group.remove()
    entered = charged is not None and charged > 0
    cost = {
        "status": status,
        "cpu": charged if entered else waited,
        "waited": waited,
        "wall": wall,
        "meter": "control group" if entered else "subreaper and rusage",
        "timed_out": timed_out,
    }
    Path(told).write_text(json.dumps(cost))
    return 0


_TOY = """
import os, signal, sys, time
def child(work):
    pid = os.fork()
    if pid == 0:
        work(); os._exit(0)
    return pid
def until_killed():
    os.close(still_there)
    while time.process_time() < 0.4: pass
    os.write(burnt, b"x"); time.sleep(60)
burning, burnt = os.pipe()
until, still_there = os.pipe()
if sys.argv[1] == "ignored": signal.signal(signal.SIGCHLD, signal.SIG_IGN)
def between():
    pid = child(until_killed); os.read(burning, 1); os.kill(pid, signal.SIGKILL); time.sleep(0.05)
    os._exit(0)                                    # never waits for it
child(between)
os.close(still_there); os.read(until, 1)           # until the one between is gone
time.sleep(0.05)
"""


def check_meters() -> list[tuple[str, str, float]]:
    """Meters on 0.4 s of a grandchild that is killed and not waited for: what each has seen of it."""
    seen = []
    for mode, words in (
        ("orphaned", "killed, its parent ends without waiting"),
        ("ignored", "the same, SIGCHLD ignored"),
    ):
        cost = measure([sys.executable, "-I", "-S", "-c", _TOY, mode], cwd=Path("/"))
        seen.append((words, "subreaper and rusage", cost.waited))
        if cost.meter == "control group":
            seen.append((words, cost.meter, cost.cpu))
    return seen


# --- environments -----------------------------------------------------------------------------


def version_of(python: str | os.PathLike[str]) -> tuple[int, ...]:
    """``(3, 12, 1)``; empty where it does not run, as a shim of a version manager may not."""
    said = subprocess.run([python, "--version"], capture_output=True, text=True, env=clean_environment(), check=False)
    return tuple(int(part) for part in re.findall(r"\d+", said.stdout)[:3]) if said.returncode == 0 else ()


def make_venv(
    directory: Path,
    packages: Sequence[str],
    say: Callable[[str], None] = print,
    *,
    like: Path | None = None,
    base: str = sys.executable,
) -> Path:
    """A virtual environment with these packages and what they need; its interpreter. Made once.

    ``like``: start from a copy of that environment, so that both have the same versions. ``base`` is an interpreter.
    """
    python = directory / "bin" / "python"
    stamp = directory / ".packages"
    wanted = "\n".join([base, *packages])
    if stamp.exists() and stamp.read_text() == wanted and python.exists():
        return python
    say(f"  making {directory.name}: {' '.join(packages)}")
    shutil.rmtree(directory, ignore_errors=True)
    if like is None:
        subprocess.run([base, "-m", "venv", str(directory)], check=True, env=clean_environment())
    else:
        # Scripts in bin name the original's interpreter: only ``python -m`` is used of a copy.
        shutil.copytree(like, directory, symlinks=True)
        stamp.unlink(missing_ok=True)
    pip(python, "install", "--quiet", *packages)
    stamp.write_text(wanted)
    return python


def pip(python: Path, *arguments: str, cwd: Path | None = None) -> None:
    """Run pip; three attempts, since indices have bad minutes. Raises CalledProcessError."""
    argv = [str(python), "-m", "pip", "--disable-pip-version-check", *arguments]
    for attempt in range(3):
        done = subprocess.run(argv, cwd=cwd, env=clean_environment(), capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
        if attempt == 2:
            sys.stderr.write(done.stdout[-2000:] + done.stderr[-4000:])
            done.check_returncode()
        time.sleep(3)


def cache_directory(given: Path | None) -> Path:
    """Where environments and fetched code go."""
    directory = given.resolve() if given is not None else Path(tempfile.mkdtemp(prefix="repro-gate-bench-"))
    directory.mkdir(parents=True, exist_ok=True)
    if directory.is_relative_to(ROOT) and not directory.is_relative_to(ROOT / "build"):
        raise SystemExit(f"--cache {directory} is inside of the repository; choose another (or build/...)")
    return directory


# --- results ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A promise: ``value`` is at most (or at least) ``bar``."""

    name: str
    value: float | None
    bar: float
    at_least: bool = False

    @property
    def met(self) -> bool:
        """Whether it was kept; what could not be measured was not."""
        if self.value is None:
            return False
        return self.value >= self.bar if self.at_least else self.value <= self.bar

    def row(self) -> tuple[str, str, str, str]:
        """For a table."""
        value = "not measured" if self.value is None else f"{self.value:.3f}"
        return self.name, value, ("≥ " if self.at_least else "≤ ") + f"{self.bar:g}", "pass" if self.met else "FAIL"


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Aligned text; numbers to the right."""
    lines = [list(map(str, head)), *(["-" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    right = [
        column > 0 and all(line[column][:1].isdigit() or line[column] == "-" for line in lines[1:])
        for column in range(len(head))
    ]
    text = [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    ]
    text.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(text)


def ratio(value: float | None, of: float | None) -> float | None:
    """A quotient, or None where there is none."""
    return value / of if value is not None and of else None


def shown(value: float | None, digits: int = 3) -> str:
    """A number for a table."""
    return "-" if value is None else f"{value:.{digits}f}"


def median_ratios(pairs: Sequence[tuple[float, float]]) -> tuple[float, float, tuple[float, float]]:
    """Of (with, without): ratio of medians, median of ratios, and a 95 % interval of the latter."""
    ratios = sorted(a / b for a, b in pairs)
    of_medians = statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)
    n = len(ratios)
    half = 0.98 * n**0.5  # order statistics of a binomial(n, 1/2), normal approximation
    low, high = max(0, int(n / 2 - half)), min(n - 1, int(n / 2 + half))
    return of_medians, statistics.median(ratios), (ratios[low], ratios[high])


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    load = os.getloadavg()
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "load": [round(number, 2) for number in load],
    }


def finish(name: str, result: dict[str, Any], bars: Sequence[Bar], out: Path | None, text: str) -> int:
    """Print the tables, write the JSON, and return the exit code."""
    result = {
        "benchmark": name,
        "machine": machine(),
        **result,
        "bars": [{"name": b.name, "value": b.value, "bar": b.bar, "at_least": b.at_least, "met": b.met} for b in bars],
    }
    print(f"\n{text}\n", flush=True)
    if bars:
        print(table(("bar", "measured", "promised", ""), [bar.row() for bar in bars]), flush=True)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"\nwritten: {out}", flush=True)
    return 0 if all(bar.met for bar in bars) else 1


def progress(text: str) -> None:
    """A line of progress, with the time."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def positive(text: str) -> int:
    """An argparse type."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not positive")
    return number


if __name__ == "__main__":
    if sys.argv[1:2] == ["--wrap"]:
        sys.exit(_wrap(sys.argv[2], float(sys.argv[3]), sys.argv[4:]))
    print("0.4 s burnt by a grandchild that is killed and never waited for:")
    print(table(("case", "meter", "seen"), [(w, m, f"{s:.2f}") for w, m, s in check_meters()]))
