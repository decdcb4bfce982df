"""Every shape with its mutants in each sandbox, as a table: ``python -m tests.mutation_corpus.table --help``.

Belongs here: repeating and counting. Does not belong here: one run (driver).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from repro_gate.model import MutantOutcome
from tests.mutation_corpus.driver import Answer, ask, differences
from tests.mutation_corpus.every import SHAPES, named


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one shape came to in one sandbox, the last time; ``wrong`` of all times."""

    name: str
    sandbox: str
    words: str
    counts: tuple[int, ...]
    wrong: tuple[str, ...]
    seconds: float
    seconds_of_truth: float

    @property
    def line(self) -> str:
        """For people: tested, killed, survived, timeout, inconclusive."""
        counts = " ".join(f"{each:3}" for each in self.counts)
        end = "WRONG" if self.wrong else "as known"
        times = f"{self.seconds:6.1f} {self.seconds_of_truth:6.1f} s"
        return f"{self.name:<46} {self.sandbox:<10} {self.words:<32} {counts}  {end:<8} {times}"


def row(name: str, sandbox: str, times: int) -> Row:
    """Run one shape so many times. What breaks is wrong, and ends nothing else."""
    shape = named(name)
    answers: list[Answer] = []
    wrong: list[str] = []
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="mutants-") as place:
            try:
                answers.append(ask(shape, Path(place), sandbox))
                wrong += differences(shape, answers[-1])
            except Exception:  # noqa: BLE001 - whatever breaks is told in its row
                wrong.append(traceback.format_exc())
    return Row(
        name=name,
        sandbox=sandbox,
        words=answers[-1].words if answers else "broken",
        counts=_counts(answers[-1]) if answers else (0,) * 5,
        wrong=tuple(dict.fromkeys(wrong)),
        seconds=sum(each.seconds for each in answers) / times,
        seconds_of_truth=sum(each.seconds_of_truth for each in answers) / times,
    )


def _counts(answer: Answer) -> tuple[int, ...]:
    tested = answer.result.mutation.tested if answer.result is not None and answer.result.mutation is not None else ()
    return len(tested), *(sum(each.outcome is outcome for each in tested) for outcome in MutantOutcome)


def rows(names: Sequence[str], sandboxes: Sequence[str], times: int, workers: int) -> Iterator[Row]:
    """All rows, in order, as they become ready."""
    pairs = [(name, sandbox) for name in names for sandbox in sandboxes]
    with ProcessPoolExecutor(max_workers=workers) as pool:
        yield from pool.map(row, *zip(*pairs, strict=True), [times] * len(pairs))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if anything is not as known."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation_corpus.table", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of shapes; none: all")
    parser.add_argument("--sandbox", action="append", choices=("bubblewrap", "docker", "host"))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args(arguments)
    wanted = [
        shape.name
        for shape in SHAPES
        if not shape.why_not and (not asked.names or any(part in shape.name for part in asked.names))
    ]
    found = []
    for each in rows(wanted, asked.sandbox or ("host",), asked.times, asked.workers) if wanted else ():
        print(each.line, flush=True)
        for difference in each.wrong:
            print(f"    {difference}", flush=True)
        found.append(each)
    totals = [sum(column) for column in zip(*(each.counts for each in found), strict=True)] or [0] * 5
    words = ", ".join(f"{count} {word}" for count, word in zip(totals, ("tested", *MutantOutcome), strict=True))
    wrong = sum(bool(each.wrong) for each in found)
    print(f"{len(wanted)} shapes: {words}; {wrong} rows not as known")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
