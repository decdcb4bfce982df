"""What every command shares: consoles, errors to exit codes, and ending what was started."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.text import Text

from repro_gate.config import find_root
from repro_gate.errors import DiskFull, ExitCode, Interrupted, ReproGateError, UsageError, disk_full
from repro_gate.experiment import find_tree
from repro_gate.process import adopt_orphans, end_descendants

_ONE_REQUEST = 1.0  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Terminal:
    """Where a command prints: findings to standard output, everything else to standard error."""

    out: Console
    err: Console
    quiet: bool


def terminal(*, quiet: bool, color: bool | None) -> Terminal:
    """Consoles for this process; ``color`` None leaves it to the terminal and NO_COLOR."""
    off = True if color is False else None
    force = True if color is True else None
    consoles = Terminal(
        out=Console(no_color=off, force_terminal=force, highlight=False),
        err=Console(stderr=True, no_color=off, force_terminal=force, highlight=False),
        quiet=quiet,
    )
    for console in (consoles.out, consoles.err):
        # A file or a pipe has no width: what is read by programs is neither wrapped nor padded.
        console.soft_wrap = not console.file.isatty()
    return consoles


def guarded(command: Callable[[], int], err: Console, typed_here: Callable[[str], str] = str) -> int:
    """Run a command; every way to fail becomes its sentence, its next step and its exit code.

    ``typed_here`` turns a next step into what can be typed at the door that was used.
    """
    adopt_orphans()
    try:
        with _signals_interrupt():
            return command()
    except ReproGateError as error:
        say(error, err, typed_here)
        return int(error.exit_code)
    except KeyboardInterrupt:
        stopped = Interrupted("Interrupted before there was a result.", next_step="Run the same command again.")
        say(stopped, err)
        return int(stopped.exit_code)
    except BrokenPipeError:
        return int(ExitCode.INTERNAL)
    except OSError as broken:
        full = disk_full(broken, "temporary files")
        if full is None:
            return _internal(err)
        say(full, err, typed_here)
        return int(full.exit_code)
    except Exception:  # noqa: BLE001 - the outermost frame: nothing may escape without a sentence
        return _internal(err)
    finally:
        end_descendants()


def _internal(err: Console) -> int:
    err.print("internal error: this is a bug of repro-gate", style="bold red")
    err.print(Text(traceback.format_exc()))
    err.print(ReproGateError.default_next_step, markup=False)
    return int(ExitCode.INTERNAL)


def say(error: ReproGateError, err: Console, typed_here: Callable[[str], str] = str) -> None:
    """The sentence, what came with it, and the next step."""
    if error.details:
        err.print(Text(error.details, style="dim"), soft_wrap=True)
    err.print(Text.assemble(("error: ", "bold red"), str(error)), soft_wrap=True)
    err.print(Text.assemble(("next:  ", "bold"), typed_here(error.next_step)), soft_wrap=True)


@contextlib.contextmanager
def _signals_interrupt() -> Iterator[None]:
    """A request to end (a closed terminal is one) is an interrupt: what was found is written first.

    A second one at once is the same request (a terminal and a wrapper both pass it on); a later
    one ends whatever takes so long.
    """
    heard = float("-inf")

    def interrupt(_number: int, _frame: object) -> None:
        nonlocal heard
        before, heard = heard, time.monotonic()
        if heard - before > _ONE_REQUEST:
            raise KeyboardInterrupt

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
        numbers.append(signal.SIGHUP)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        numbers.append(signal.SIGINT)
    before = [(number, signal.signal(number, interrupt)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def refuse_unwritable(*paths: Path | None) -> None:
    """Raise UsageError for a report that has no directory to be written in, before anything has run for it."""
    for path in paths:
        if path is None:
            continue
        folder = path.parent
        if not folder.is_dir():
            raise UsageError(
                f"There is no directory {str(folder)!r} for the report {path.name!r}.",
                next_step=f"Make it first (`mkdir -p {shlex.quote(str(folder))}`), or name a file elsewhere.",
            )
        if path.is_dir():
            raise UsageError(f"{str(path)!r} is a directory.", next_step="Name a file in it.")


def place_in_repository(directory: Path) -> str:
    """The project's directory in its repository, as test ids begin there and what shows them does not;
    empty at the top.
    """
    root, top = find_root(directory), find_tree(directory)[0]
    return root.relative_to(top).as_posix() if root.is_relative_to(top) and root != top else ""


def below_the_top(directory: Path) -> tuple[str, ...]:
    """What to say where there was no test to judge: that this is a subdirectory of the project; nothing at its top."""
    root = find_root(directory)
    if directory.resolve() == root:
        return ()
    here = directory.resolve().relative_to(root).as_posix()
    where = f"There was no test to judge in {here}, a subdirectory of the project. The project's top is {root}"
    return (f"{where}: run it there, or name the paths of tests.",)


def write_file(path: Path, write: Callable[[TextIO], None]) -> None:
    """Write a report whole or not at all. Raises DiskFull, or UsageError where that cannot be written."""
    try:
        half = path.with_name(f".{path.name}.part")
        try:
            with half.open("w", encoding="utf-8") as stream:
                write(stream)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)
    except OSError as broken:
        if broken.errno == 28:
            raise DiskFull(f"No space left to write {path}.") from broken
        raise UsageError(
            f"Cannot write {path}: {broken.strerror}.", next_step="Name a file in a directory that you may write to."
        ) from broken


def is_python_dash_m() -> bool:
    """Whether this process was started as ``python -m pytest`` (then its directory is on sys.path)."""
    return Path(sys.argv[0]).name == "__main__.py"
