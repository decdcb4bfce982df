"""Which files were skipped while tests were collected, over all starts of a lab.

Belongs here: counting starts. Does not belong here: what a skipped file means to a reader (report).
"""

from __future__ import annotations

from collections import Counter

from repro_gate.experiment.worker import Facts
from repro_gate.model import SkippedFile


class SkippedFiles:
    """Takes in what each process collected, once each."""

    def __init__(self) -> None:
        self._reasons: dict[str, str] = {}
        self._skipped: Counter[str] = Counter()
        self._collected: Counter[str] = Counter()

    def take(self, facts: Facts) -> None:
        """What one process collected, if it came so far and was not heard before."""
        if not facts.ready or facts.counted:
            return
        facts.counted = True
        self._collected.update({file for _, file in facts.tests})
        for file, reason in facts.skipped.items():
            self._skipped[file] += 1
            self._reasons.setdefault(file, reason)

    def all(self) -> tuple[SkippedFile, ...]:
        """Every file that any process skipped, by name."""
        return tuple(
            SkippedFile(file=file, reason=self._reasons[file], skipped=times, starts=times + self._collected[file])
            for file, times in sorted(self._skipped.items())
        )
