"""Every shape in each sandbox, several times, as a table: ``python -m tests.corpus.table --help``.

Belongs here: repeating and counting. Does not belong here: one run (driver).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.corpus.driver import ask, differences
from tests.corpus.every import SHAPES, named


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one shape came to in one sandbox, over all times."""

    name: str
    sandbox: str
    answers: Counter[str]
    wrong: tuple[str, ...]
    seconds: float

    @property
    def line(self) -> str:
        """For people."""
        times = sum(self.answers.values())
        said = "; ".join(f"{words} ({count} of {times})" for words, count in sorted(self.answers.items()))
        return f"{self.name:<52} {self.sandbox:<11} {said:<44} {'WRONG' if self.wrong else 'as specified'} {self.seconds:6.1f} s"


def row(name: str, sandbox: str, times: int) -> Row:
    """Run one shape so many times."""
    shape = named(name)
    answers: Counter[str] = Counter()
    wrong: list[str] = []
    seconds = 0.0
    for _ in range(times):
        with tempfile.TemporaryDirectory(prefix="corpus-") as place:
            answer = ask(shape, Path(place), sandbox)
        answers[answer.words] += 1
        wrong += differences(shape, answer)
        seconds += answer.seconds
    return Row(name=name, sandbox=sandbox, answers=answers, wrong=tuple(dict.fromkeys(wrong)), seconds=seconds / times)


def rows(names: Sequence[str], sandboxes: Iterable[str], times: int, workers: int) -> Iterator[Row]:
    """All rows, in order, as they become ready."""
    pairs = [(name, sandbox) for name in names for sandbox in sandboxes]
    with ProcessPoolExecutor(max_workers=workers) as pool:
        yield from pool.map(row, *zip(*pairs, strict=True), [times] * len(pairs))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 1 if anything is not as specified."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus.table", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of the names of shapes; none: all")
    parser.add_argument("--sandbox", action="append", choices=("bubblewrap", "docker", "host"))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args(arguments)
    wanted = [s.name for s in SHAPES if not asked.names or any(part in s.name for part in asked.names)]
    wrong = 0
    for found in rows(wanted, asked.sandbox or ("bubblewrap", "docker"), asked.times, asked.workers):
        print(found.line, flush=True)
        for each in found.wrong:
            print(f"    {each}", flush=True)
        wrong += bool(found.wrong)
    print(f"{len(wanted)} shapes, {wrong} rows not as specified")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
