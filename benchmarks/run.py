"""All benchmarks with their default parameters, one table at the end; what ``make bench`` runs."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import all_gates, flake_campaign, measure, mutation, overhead, scale

_ALL: dict[str, Callable[[list[str] | None], int]] = {
    "flake_campaign": flake_campaign.main,
    "overhead": overhead.main,
    "scale": scale.main,
    "mutation": mutation.main,
    "all_gates": all_gates.main,
}


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=list(_ALL), default=list(_ALL))
    parser.add_argument("--cache", type=Path, help="environments and fetched code (default: a temporary directory)")
    parser.add_argument("--out", type=Path, help="directory of the results (default: below the cache)")
    options = parser.parse_args(arguments)
    made = options.cache is None
    cache = measure.cache_directory(options.cache)
    out = options.out.resolve() if options.out else Path(tempfile.mkdtemp(prefix="repro-gate-results-"))
    rows: list[tuple[str, ...]] = []
    failed = False
    try:
        for name in options.only:
            print(f"== {name}", flush=True)
            result = out / f"{name}.json"
            result.unlink(missing_ok=True)
            try:
                status = _ALL[name](["--cache", str(cache), "--out", str(result)])
            except (Exception, SystemExit) as broken:  # noqa: BLE001 - the others are to be run all the same
                traceback.print_exc()
                rows.append(
                    (
                        name,
                        "did not finish",
                        "-",
                        "-",
                        f"FAIL: {str(broken).splitlines()[0][:80] if str(broken) else type(broken).__name__}",
                    )
                )
                failed = True
                continue
            failed = failed or status != 0
            told: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
            rows += [
                (name, *measure.Bar(**{key: bar[key] for key in ("name", "value", "bar", "at_least")}).row())
                for bar in told["bars"]
            ]
    finally:
        if made:
            shutil.rmtree(cache, ignore_errors=True)
    text = measure.table(("benchmark", "bar", "measured", "promised", ""), rows)
    (out / "table.txt").write_text(text + "\n", encoding="utf-8")
    print(f"\n{text}\n\nwritten: {out}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
