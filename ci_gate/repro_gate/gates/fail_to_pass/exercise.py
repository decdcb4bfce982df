"""Whether a proof reaches the change: the exercise rule. Pure.

A test that fails on base and passes on head may still look at something else: the text of the
source, a version, git's state. It must run a changed line, on head or (removed lines) on base.
Lines that run while modules are imported count only where the test did not read sources,
metadata or version control, and changed package data counts where it was read. One that opens the
source of a changed file itself looks at its text, whatever it runs besides.
"""

from __future__ import annotations

import ast
import enum
import re
from collections.abc import Iterable, Mapping

from repro_gate.gates.fail_to_pass.case import Case, Collection, ProductFile
from repro_gate.gates.fail_to_pass.symbols import parse
from repro_gate.model import Evidence, TestRun

Lines = Mapping[str, frozenset[int]]
_VERSION = re.compile(r"_{0,2}version(_info|_tuple)?_{0,2}$", re.IGNORECASE)
_METADATA = re.compile(
    r"(^|/)(\.git|\.hg|\.svn)(/|$)|\.(dist|egg)-info/|"
    r"(^|/)(PKG-INFO|METADATA|pyproject\.toml|setup\.cfg|setup\.py|VERSION|version\.txt|CHANGELOG[^/]*|CHANGES[^/]*)$"
)


class Exercise(enum.StrEnum):
    """How a test reached the change. UNSEEN: it started processes, whose lines nobody saw."""

    IN_TEST = "a changed line ran in the test"
    AT_IMPORT = "a changed line ran while the product was imported"
    DATA = "changed package data was read"
    DOCSTRING = "the product uses a changed docstring"
    HOLLOW = "it fails when the changed functions are hollow"
    TEXT = "it reads the source of what changed"
    UNSEEN = "unseen"
    NONE = "none"


def watched(files: Iterable[ProductFile], *, head: bool) -> dict[str, frozenset[int]]:
    """The changed lines of one side that are worth watching: not those that only set a version."""
    found = {}
    for file in files:
        lines = (file.added if head else file.removed) - _version_lines(file.head if head else file.base)
        if lines:
            found[file.path] = lines
    return found


def exercise(
    case: Case, *, on_head: Iterable[TestRun], on_base: Iterable[TestRun], head: Collection, base: Collection
) -> Exercise:
    """How one test, by its runs on both sides, reached the change."""
    added, removed = watched(case.product, head=True), watched(case.product, head=False)
    passed = [run.evidence for run in on_head if run.evidence is not None]
    failed = [run.evidence for run in on_base if run.evidence is not None]
    changed = {file.path for file in case.product}
    if any(changed & set(seen.sources) for seen in (*passed, *failed)):
        return Exercise.TEXT
    if any(_hits(added, seen.lines) for seen in passed) or any(_hits(removed, seen.lines) for seen in failed):
        return Exercise.IN_TEST
    if case.package_data & {path for seen in passed for path in seen.opened}:
        return Exercise.DATA
    # A test that reads sources would notice any change of text: then import lines say nothing.
    if not looks_at_text(case, passed):
        if case.package_data & set(head.import_opened):
            return Exercise.DATA
        # Nothing else differs: whether a file is there can be asked without opening it.
        if case.package_data and not (case.product or case.dependencies):
            return Exercise.DATA
        if _overlap(added, head.import_lines) or _overlap(removed, base.import_lines):
            return Exercise.AT_IMPORT
        if any(_starts_processes(seen) for seen in passed):
            return Exercise.UNSEEN
    return Exercise.NONE


def looks_at_text(case: Case, seen: Iterable[Evidence]) -> bool:
    """Whether sources of the product, metadata or version control were opened in a test."""
    return any(_is_text_of_product(path, case) for each in seen for path in each.opened)


def unread(case: Case, runs: Iterable[TestRun], head: Collection) -> frozenset[str]:
    """Changed package data that nothing was seen to open, beside changed code:
    whether it is there is all one can ask.
    """
    if not watched(case.product, head=True) and not watched(case.product, head=False):
        return frozenset()
    seen = [run.evidence for run in runs if run.evidence is not None]
    if any(_starts_processes(each) for each in seen):
        return frozenset()  # who knows what they read
    opened = {path for each in seen for path in each.opened}
    return case.package_data - opened - set(head.import_opened)


def _hits(wanted: Lines, lines: Iterable[tuple[str, int]]) -> bool:
    return any(line in wanted.get(path, frozenset()) for path, line in lines)


def _overlap(wanted: Lines, lines: Lines) -> bool:
    return any(lines.get(path, frozenset()) & own for path, own in wanted.items())


def _is_text_of_product(path: str, case: Case) -> bool:
    if path in case.package_data:
        return False
    return (path.endswith(".py") and not case.is_test(path)) or _METADATA.search(path) is not None


def _starts_processes(seen: Evidence) -> bool:
    """Git as a child is version control, however it is started."""
    programs = [child.rpartition("/")[2].split(" ")[0] for child in seen.children]
    return bool(programs) and not any(name in ("git", "hg", "svn") for name in programs)


def _version_lines(text: str | None) -> frozenset[int]:
    tree = parse(text)
    found: set[int] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if all(isinstance(target, ast.Name) and _VERSION.match(target.id) for target in targets):
                found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(found)
