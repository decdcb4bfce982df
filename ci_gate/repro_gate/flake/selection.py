"""Which tests a run can afford under a time budget. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from repro_gate.flake.brief import Options
from repro_gate.flake.tally import Tally

_OVERHEAD = 0.002  # seconds around each test
_OLD = 50  # commits; older files count as this old


def affordable(
    ids: Sequence[str], seconds: float, tally: Tally, files: Mapping[str, str], options: Options
) -> list[str]:
    """Tests that fit into ``seconds`` (at least one): suspects, then the cheapest and newest.

    The order of ``ids`` is kept; which order they run in is the order axis's business.
    """

    def cost(test: str) -> float:
        return tally.rows[test].longest + _OVERHEAD

    def rank(test: str) -> tuple[bool, float]:
        age = min(options.newest.get(files.get(test, ""), _OLD), _OLD)
        return test not in options.suspects_first, cost(test) * (1 + age / 10)

    chosen: set[str] = set()
    for test in sorted(ids, key=rank):
        seconds -= cost(test)
        if seconds < 0 and chosen:
            break
        chosen.add(test)
    return [test for test in ids if test in chosen]
