"""Modules that only a build makes, and that are on neither side: then no failure says anything of the change. Pure.

Belongs here: telling these from other imports that fail. Does not belong here: building (environment).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from repro_gate.gates.fail_to_pass.case import Case, Collection
from repro_gate.gates.fail_to_pass.reasons import missing
from repro_gate.model import Failure, Side, TestRun

_NO_MODULE = re.compile(r"No module named '([\w.]+)'")


def not_built(case: Case, base: Iterable[str], head: Iterable[str], *, base_is_empty: bool = False) -> str:
    """Why nothing can be told, or an empty string. Names are of modules that a side could not import.

    A name that only head lacks is head's own mistake, unless base has nothing that could lack it.
    """
    if not case.unbuilt:
        return ""
    lacking = set(head) if base_is_empty else set(base) & set(head)
    absent = sorted(name for name in lacking if name.partition(".")[0] in case.packages)
    return f"{case.unbuilt}, and it was not built: {', '.join(absent)} cannot be imported" if absent else ""


def of_collection(found: Collection) -> set[str]:
    """Modules that files could not import."""
    names = {name for failed in found.failures if (name := _name(failed.failure))}
    return names | {module for failed in found.failures for module in failed.missing_modules}


def of_text(text: str) -> set[str]:
    """Modules that pytest's last words name, where there is no list of tests at all."""
    return set(_NO_MODULE.findall(text))


def of_runs(seen: Mapping[tuple[Side, str], list[TestRun]], side: Side) -> set[str]:
    """Modules that tests could not import while they ran on a side."""
    failures = [run.failure for (where, _), runs in seen.items() if where is side for run in runs if run.failure]
    return {name for failure in failures if (name := _name(failure))}


def _name(failure: Failure) -> str:
    named = missing(failure)
    if named is None or not named.module or "ImportError" not in {failure.type, *failure.bases}:
        return ""
    return f"{named.module}.{named.name}" if named.name else named.module
