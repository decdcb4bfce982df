"""The change under test: its commits, its trees on disk, and the facts that gates ask for.

Belongs here: putting git's answers (``change``) into the words of the gates (``Case``). Does not
belong here: running anything, and what the facts mean.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from repro_gate.change import (
    Change,
    ChangeKind,
    Layout,
    Overlay,
    Pair,
    Repository,
    apply,
    changed_lines,
    changes,
    entries,
    is_dependency_file,
    is_mixed_file,
    layout_between,
    materialise,
    own_repository,
    parts_changed,
    plan,
    statements,
)
from repro_gate.change.layout import is_configuration, is_prose, is_pytest_file
from repro_gate.environment import OnDisk, import_roots
from repro_gate.experiment import decoded, encoded, is_called_test
from repro_gate.gates.coverage import ChangedFile, Same, compare, regrouped
from repro_gate.gates.fail_to_pass import Obstacle, ProductFile
from repro_gate.model import ReasonCode, Side

# Git's store for large files keeps this in place of a file.
_POINTER = b"version https://git-lfs.github.com/spec/"
_GUARDS = (".github/workflows/", ".github/actions/")
# It says what the product is called, not what it does.
_VERSION_FILE = re.compile(r"_*version(\.[a-z]+)?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A change with its trees: base as it is (CONTROL), base with head's tests (BASE), and head.

    Lines are numbers that can run; ``test_files`` are those of tests that are not called so; ``facts`` are the fields
    of a gate's ``Case`` that git knows.
    """

    pair: Pair
    changes: tuple[Change, ...]
    layout: Layout
    overlay: Overlay
    trees: Mapping[Side, Path]
    product: tuple[ProductFile, ...]
    facts: Mapping[str, Any]
    notes: tuple[str, ...]
    differing: tuple[ChangedFile, ...] = ()
    roots: tuple[str, ...] = ()
    test_files: tuple[str, ...] = ()

    @property
    def differing_paths(self) -> frozenset[str] | None:
        """Every path that is not on both sides as it is on one;
        None where pytest may have been set up in another way.
        """
        paths = {path for change in self.changes for path in (change.path, change.old_path) if path}
        if self.facts["test_settings"] or any(PurePosixPath(path).name == "conftest.py" for path in paths):
            return None
        return frozenset(paths)

    @property
    def same_tests(self) -> bool:
        """Whether no source of a test can be another one: nothing that the change touches is called so or knows
        pytest.
        """
        texts = [text for file in self.differing for text in (file.base, file.head) if text is not None]
        return (
            self.differing_paths is not None
            and not (self.facts["test_files"] or self.facts["test_data"])
            and not any("test" in path.lower() for path in self.differing_paths if path.endswith(".py"))
            and not any("pytest" in text for text in texts)
        )

    @property
    def guards(self) -> tuple[str, ...]:
        """A sentence on the files in which a repository says what is run on a change, if this one touches them."""
        paths = [change.path for change in self.changes if change.path.startswith(_GUARDS)]
        return (f"This change edits {', '.join(paths)}: what runs on it is decided there.",) if paths else ()

    def watched(self, side: Side) -> dict[str, frozenset[int]]:
        """The changed lines of the product on one side, by file."""
        on_head = side.origin is Side.HEAD
        lines = {file.path: file.added if on_head else file.removed for file in self.product}
        return {path: numbers for path, numbers in lines.items() if numbers}

    @functools.cached_property
    def same(self) -> Same:
        """What of ``differing`` is the same code as before: compared once, for each gate that asks."""
        return compare(self.differing)

    def python_files(self, side: Side) -> tuple[str, ...]:
        """All Python files of the product on one side, by their paths in the tree."""
        tree = self.trees[side]
        found = (
            path.relative_to(tree).as_posix() for path in tree.rglob("*.py") if path.is_file() and not path.is_symlink()
        )
        return tuple(sorted(path for path in found if self.layout.is_product(path)))

    def module(self, path: str) -> str:
        """The name that a file of the product is imported by."""
        return module_of(path, self.roots)

    def text(self, path: str) -> str | None:
        """The text of a file of head; None where there is none."""
        return _text_in(self.trees[Side.HEAD], path)


def open_subject(
    repository: Repository,
    pair: Pair,
    directory: Path,
    *,
    test_globs: Sequence[str],
    max_bytes: int,
    under_overlay: bool = True,
    subdirectory: str = "",
) -> Subject:
    """Read the change and write its trees below ``directory``; tests run in ``subdirectory`` of each.

    ``under_overlay`` False: nobody asks for BASE. Raises GitFailed, TreeRefused or DiskFull.
    """
    found = changes(repository, pair.base_sha, pair.head_sha)
    layout = layout_between(repository, pair.base_sha, pair.head_sha, test_globs=test_globs)
    layout = layout.with_programs(change.path for change in found)
    overlay = plan(repository, found, head=pair.head_sha, layout=layout)
    under = overlay if under_overlay else None
    trees, written = write_trees(repository, pair.base_sha, pair.head_sha, under, directory, max_bytes=max_bytes)
    notes = [*pair.notes, *overlay.notes, *written]
    roots = _roots((trees[Side.HEAD], trees[Side.CONTROL]), subdirectory)
    product = tuple(_product(repository, found, layout, roots))
    facts = {
        "is_test": layout.is_test,
        "text": functools.partial(_text_in, trees[Side.HEAD]),
        "product": product,
        "package_data": frozenset(c.path for c in found if _is_package_data(c, layout)),
        "test_files": frozenset(c.path for c in found if layout.is_test(c.path) and c.path.endswith(".py")),
        "test_data": frozenset(c.path for c in found if layout.is_test(c.path) and not c.path.endswith(".py")),
        "documents": frozenset(c.path for c in found if layout.is_documentation(c.path)),
        "test_settings": any(_changes_settings(repository, c) for c in found),
        "dependencies": any(_changes_dependencies(repository, c) for c in found),
        "obstacles": tuple(_obstacles(repository, found, layout)),
        "overlay": overlay.digest,
    }
    return Subject(
        pair=pair,
        changes=found,
        layout=layout,
        overlay=overlay,
        trees=trees,
        product=product,
        facts=facts,
        notes=tuple(dict.fromkeys(notes)),
        differing=regrouped(tuple(_differing(repository, found, layout, roots))),
        roots=roots,
        test_files=tuple(_other_test_files(repository, pair, layout)),
    )


def _roots(trees: Iterable[Path], subdirectory: str) -> tuple[str, ...]:
    """The import roots of some trees, of the project at their top and of one in a subdirectory."""
    return tuple(
        dict.fromkeys(
            f"{place}/{root}".strip("/")
            for tree in trees
            for place in dict.fromkeys(("", subdirectory))
            for root in import_roots(OnDisk(tree / place))
        )
    )


def _other_test_files(repository: Repository, pair: Pair, layout: Layout) -> list[str]:
    """Python files of tests, on either side, that are not called as tests are: a test process must be told."""
    paths = {entry.path for sha in (pair.base_sha, pair.head_sha) for entry in entries(repository, sha)}
    return sorted(path for path in paths if path.endswith(".py") and layout.is_test(path) and not is_called_test(path))


def write_trees(
    repository: Repository, base: str, head: str, overlay: Overlay | None, directory: Path, *, max_bytes: int
) -> tuple[dict[Side, Path], tuple[str, ...]]:
    """Base as it is, base under the overlay if there is one, and head, below ``directory``;
    and notes on what they lack.
    """
    commits = {Side.CONTROL: base, Side.BASE: base, Side.HEAD: head}
    if overlay is None:
        del commits[Side.BASE]
    trees = {side: directory / str(side) for side in commits}
    notes: list[str] = []
    directory.mkdir(parents=True, exist_ok=True)
    # One time for all: what is compiled of a file is valid for the same file of another side.
    written = directory.stat().st_mtime_ns
    for side, commit in commits.items():
        notes += materialise(repository, commit, trees[side], max_bytes=max_bytes, written=written).notes
    if overlay is not None:
        notes += apply(repository, overlay, trees[Side.BASE]).notes
    for side, commit in commits.items():
        note = own_repository(repository, commit, trees[side])
        notes += [note] if note else []
    return trees, tuple(notes)


def _product(
    repository: Repository, found: Sequence[Change], layout: Layout, roots: Sequence[str]
) -> Iterator[ProductFile]:
    """The changed Python files of the product. A rename is one that is gone and one that is new: so are its names."""
    for change in found:
        if not change.path.endswith(".py") or not layout.is_product(change.path) or change.submodule:
            continue
        lines = changed_lines(repository, change)
        base = _text(repository, change.old_sha if change.kind is not ChangeKind.ADDED else "")
        head = _text(repository, change.new_sha if change.kind is not ChangeKind.DELETED else "")
        whole = ProductFile(
            path=change.path,
            module=module_of(change.path, roots),
            base=base,
            head=head,
            removed=_whole(base, lines.removed),
            added=_whole(head, lines.added),
        )
        if not change.old_path:
            yield whole
            continue
        old = change.old_path
        yield dataclasses.replace(whole, path=old, module=module_of(old, roots), head=None, added=frozenset())
        yield dataclasses.replace(whole, base=None, removed=frozenset())


def _differing(
    repository: Repository, found: Sequence[Change], layout: Layout, roots: Sequence[str]
) -> Iterator[ChangedFile]:
    """The same files with every line that git shows; a renamed one is compared with what it was."""
    renamed = {change.old_path for change in found if change.old_path}
    for change in found:
        if not change.path.endswith(".py") or not layout.is_product(change.path) or change.submodule:
            continue
        if change.kind is ChangeKind.DELETED and change.path in renamed:
            continue
        lines = changed_lines(repository, change)
        yield ChangedFile(
            path=change.path,
            module=module_of(change.path, roots),
            base_path=change.old_path or change.path,
            base=_text(repository, change.old_sha),
            head=_text(repository, change.new_sha if change.kind is not ChangeKind.DELETED else ""),
            removed=lines.removed,
            added=lines.added,
        )


def module_of(path: str, roots: Sequence[str]) -> str:
    """The dotted name that a product file is imported by: below the innermost of the import roots, or the top."""
    above = [root for root in roots if root and path.startswith(f"{root}/")]
    below = path[len(max(above, key=len)) + 1 :] if above else path
    parts = list(PurePosixPath(below).with_suffix("").parts)
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def _text_in(tree: Path, path: str) -> str | None:
    file = tree / path
    inside = not PurePosixPath(path).is_absolute() and ".." not in PurePosixPath(path).parts
    return decoded(file.read_bytes()) if inside and file.is_file() else None


def _text(repository: Repository, sha: str) -> str | None:
    if not sha or not sha.strip("0"):
        return None
    return decoded(repository.blob(sha))


def _whole(source: str | None, lines: frozenset[int]) -> frozenset[int]:
    """The lines of every statement that a changed line belongs to."""
    if source is None or not lines:
        return frozenset()
    try:
        spans = statements(encoded(source))
    except SyntaxError:
        return frozenset()
    return frozenset().union(*(spans[line] for line in lines if line in spans))


def _is_package_data(change: Change, layout: Layout) -> bool:
    path = change.path
    if not layout.is_resource(path) or change.submodule:
        return False
    says = _VERSION_FILE.fullmatch(PurePosixPath(path).name) is not None
    return not (says or is_configuration(path) or is_mixed_file(path) or is_dependency_file(path) or is_prose(path))


def _sides(repository: Repository, change: Change) -> tuple[bytes | None, bytes | None]:
    base = None if change.kind is ChangeKind.ADDED else repository.blob(change.old_sha)
    head = None if change.kind is ChangeKind.DELETED else repository.blob(change.new_sha)
    return base, head


def _changes_settings(repository: Repository, change: Change) -> bool:
    if is_mixed_file(change.path):
        return parts_changed(change.path, *_sides(repository, change)).pytest
    return is_pytest_file(change.path)


def _changes_dependencies(repository: Repository, change: Change) -> bool:
    if is_mixed_file(change.path):
        return parts_changed(change.path, *_sides(repository, change)).dependencies
    return is_dependency_file(change.path) and not is_configuration(change.path)


def _is_pointer(content: bytes | None) -> bool:
    return content is not None and content.startswith(_POINTER)


def _obstacles(repository: Repository, found: Sequence[Change], layout: Layout) -> Iterator[Obstacle]:
    for change in found:
        data = not change.path.endswith(".py") and (layout.is_test(change.path) or _is_package_data(change, layout))
        if data and not change.submodule and any(_is_pointer(side) for side in _sides(repository, change)):
            yield Obstacle(
                reason=ReasonCode.DATA_ABSENT,
                text=f"the change alters {change.path}, of which git has but a pointer to another store",
            )
        if change.submodule:
            yield Obstacle(
                reason=ReasonCode.DATA_ABSENT,
                text=f"the change moves the submodule {change.path}, whose commits are not in this repository",
            )
