"""How far a campaign is: a bar with the time left on a terminal, plain lines elsewhere, or nothing."""

from __future__ import annotations

import contextlib
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

_LINE_EVERY = 10.0  # seconds, where there is no terminal
_REDRAW_EVERY = 0.1


class Bar:
    """Draws on ``console`` (standard error). Use as a context manager."""

    def __init__(self, console: Console, *, quiet: bool) -> None:
        self._console = console
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task = 0
        self._name = ""
        self._done = 0.0
        self._total = 0.0
        self._since = 0.0
        self._said = 0.0
        self._pending = 0.0

    def __enter__(self) -> Self:
        if not self._quiet and self._console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=30),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.stop()

    def phase(self, name: str, total: float) -> None:
        """A new phase with so many units of work."""
        with contextlib.suppress(OSError):  # the terminal was closed: no reason to lose a result
            self._begin(name, total)

    def advance(self, amount: float = 1.0, note: str = "") -> None:
        """Some of it is done."""
        with contextlib.suppress(OSError):
            self._go_on(amount, note)

    def _begin(self, name: str, total: float) -> None:
        self._name, self._total, self._done, self._pending = name, total, 0.0, 0.0
        self._since = self._said = time.monotonic()
        if self._bar is not None:
            for task in list(self._bar.task_ids):
                self._bar.remove_task(task)
            self._task = self._bar.add_task(name, total=total)
        elif not self._quiet:
            of = f" ({total:g})" if total > 1 else ""
            self._console.print(f"{name}{of}", highlight=False, markup=False)

    def _go_on(self, amount: float, note: str) -> None:
        amount = min(amount, self._total - self._done)  # what is part of a phase is no more than all of it
        self._done += amount
        self._pending += amount
        now = time.monotonic()
        if self._bar is not None:
            if now - self._said > _REDRAW_EVERY or amount >= 1:
                self._bar.advance(self._task, round(self._pending, 3))  # type: ignore[arg-type]
                if note:
                    self._bar.update(self._task, description=f"{self._name}: {note}")  # type: ignore[arg-type]
                self._pending, self._said = 0.0, now
        elif not self._quiet and now - self._said > _LINE_EVERY:
            self._said = now
            self._console.print(f"  {self._name}: {self._far(now, note)}", highlight=False, markup=False)

    def _far(self, now: float, note: str) -> str:
        """How far the phase is. Without anything done to go by: what it is at, and since when it runs."""
        spent = now - self._since
        if not self._done:
            return f"{note}, {spent:.0f} s so far" if note else f"{spent:.0f} s so far"
        left = spent / self._done * max(0.0, self._total - self._done)
        far = f"{self._done:.0f} of {self._total:g}"
        return f"{far}, about {left:.0f} s left" if left >= 1 else far
