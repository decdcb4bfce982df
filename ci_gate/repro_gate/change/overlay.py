"""What of a change goes onto its base, so that head's tests run against base's product.

Belongs here: the plan, as data, and putting it on a tree. Does not belong here: running tests on it.
The rule: test files, what only tests import and documentation go, byte for byte from git's objects; of files that hold
pytest's settings beside others only these settings go; the product never goes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from repro_gate.change.configuration import SETTINGS_FILES, graft, names_of_tests, parts_changed
from repro_gate.change.diff import Change, ChangeKind
from repro_gate.change.imports import closure
from repro_gate.change.layout import Layout, is_mixed_file, is_named_as_support, is_pytest_file, layout_of
from repro_gate.change.repository import Repository
from repro_gate.change.trees import Entry, Kind, Materialised, entries, refuse_unsafe, refuse_unsafe_paths, write


@dataclass(frozen=True, kw_only=True, slots=True)
class Graft:
    """A file of base with head's pytest settings in it."""

    path: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Overlay:
    """What to remove from base's tree, then to write there; ``digest`` names exactly this, on every machine.

    ``product_support`` are changed product files that say they are there for tests: they were left
    as on base, which a reader of a failure on base should know.
    """

    writes: tuple[Entry, ...] = ()
    grafts: tuple[Graft, ...] = ()
    deletes: tuple[str, ...] = ()
    product_support: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """SHA-256 over paths, modes and contents."""
        seen = hashlib.sha256()
        for record in _records(self):
            # Lengths, so that no two plans can run together to the same bytes.
            seen.update(b"".join(b"%d:%s" % (len(part), part) for part in record))
        return seen.hexdigest()


def layout_between(repository: Repository, base: str, head: str, *, test_globs: Sequence[str] = ()) -> Layout:
    """The layout of two commits taken together, with what base declares of its packages. Raises GitFailed."""
    trees = [{entry.path: entry for entry in entries(repository, commit)} for commit in (base, head)]
    contents = [_contents(repository, tree, SETTINGS_FILES) for tree in trees]
    pyproject = next((files["pyproject.toml"] for files in contents if "pyproject.toml" in files), b"")
    settings = map(names_of_tests, contents)
    return layout_of(trees[0].keys() | trees[1].keys(), pyproject=pyproject, test_globs=test_globs, settings=settings)


def _contents(repository: Repository, tree: Mapping[str, Entry], paths: Iterable[str]) -> dict[str, bytes]:
    found = {path: tree[path] for path in paths if path in tree}
    plain = {path: entry for path, entry in found.items() if entry.kind in (Kind.FILE, Kind.EXECUTABLE)}
    return {path: repository.blob(entry.sha) for path, entry in plain.items()}


def plan(repository: Repository, changes: Sequence[Change], *, head: str, layout: Layout) -> Overlay:
    """The overlay for the ``changes`` that lead to the commit ``head``. Raises GitFailed, TreeRefused."""
    tree = {entry.path: entry for entry in entries(repository, head)}
    support, product_support = _support(repository, changes, tree, layout)
    writes: list[Entry] = []
    deletes: list[str] = []
    notes: list[str] = []
    for change in changes:
        goes = layout.is_test(change.path) or is_pytest_file(change.path) or change.path in support
        if not (goes or layout.is_documentation(change.path)):
            continue
        if change.submodule:
            notes.append(f"The submodule {change.path} is left as on base.")
            continue
        if change.kind is not ChangeKind.ADDED:
            deletes.append(change.path)
        if change.kind is not ChangeKind.DELETED:
            writes.append(tree[change.path])
    refuse_unsafe(writes)
    grafts = tuple(_grafts(repository, changes, layout, notes))
    return Overlay(
        writes=tuple(writes),
        grafts=tuple(each for each in grafts if each.content.strip()),
        # A file that held nothing but pytest's settings is gone on head, so it goes.
        deletes=(*deletes, *(each.path for each in grafts if not each.content.strip())),
        product_support=product_support,
        notes=tuple(notes),
    )


def apply(repository: Repository, overlay: Overlay, target: Path) -> Materialised:
    """Put an overlay on a directory that holds base's files. Raises GitFailed, TreeRefused, DiskFull."""
    refuse_unsafe_paths(overlay.deletes)
    refuse_unsafe_paths(each.path for each in overlay.grafts)
    for path in (*overlay.deletes, *(each.path for each in overlay.grafts)):
        _remove(target, path)
    for path in (*(entry.path for entry in overlay.writes), *(each.path for each in overlay.grafts)):
        _make_way(target, path)
    written = write(repository, overlay.writes, target)
    for each in overlay.grafts:
        place = target / each.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(each.content)
        place.chmod(0o644)
    return written


def _records(overlay: Overlay) -> Iterator[tuple[bytes, ...]]:
    for path in sorted(overlay.deletes):
        yield b"delete", os.fsencode(path)
    for entry in sorted(overlay.writes, key=lambda entry: entry.path):
        yield b"write", os.fsencode(entry.path), entry.kind.encode(), entry.sha.encode()
    for each in sorted(overlay.grafts, key=lambda each: each.path):
        yield b"graft", os.fsencode(each.path), hashlib.sha256(each.content).digest()


def _support(
    repository: Repository, changes: Sequence[Change], tree: Mapping[str, Entry], layout: Layout
) -> tuple[frozenset[str], tuple[str, ...]]:
    """Changed files that changed tests import: those outside of tests and product, and product named as support."""
    outside = {change.path for change in changes if change.path in tree and not layout.is_test(change.path)}
    if not any(path.endswith(".py") for path in outside):
        return frozenset(), ()
    starts = [change.path for change in changes if change.path in tree and layout.is_test(change.path)]

    def contents(paths: Iterable[str]) -> Mapping[str, bytes]:
        # Two files with the same bytes are one blob.
        wanted = {path: tree[path] for path in paths if tree[path].kind in (Kind.FILE, Kind.EXECUTABLE)}
        blobs = dict(repository.blobs({entry.sha: entry.size for entry in wanted.values()}))
        return {path: blobs[entry.sha] for path, entry in wanted.items()}

    reached = outside & closure(starts, frozenset(tree), contents, through=lambda path: not layout.is_product(path))
    product = {path for path in reached if layout.is_product(path)}
    return frozenset(reached - product), tuple(sorted(filter(is_named_as_support, product)))


def _grafts(repository: Repository, changes: Sequence[Change], layout: Layout, notes: list[str]) -> Iterator[Graft]:
    for change in changes:
        plain = all(kind in (None, Kind.FILE, Kind.EXECUTABLE) for kind in (change.old, change.new))
        if layout.is_test(change.path) or not is_mixed_file(change.path) or not plain:
            continue
        # Not the content that a rename came from: what counts is the file that base has at this path.
        old = repository.blob(change.old_sha) if change.old_sha and not change.old_path else None
        new = repository.blob(change.new_sha) if change.new_sha else None
        if not parts_changed(change.path, old, new).pytest:
            continue
        content = graft(change.path, old, new)
        if content is None:
            notes.append(
                f"The pytest settings of {change.path} are left as on base: they cannot be told from the rest."
            )
        else:
            yield Graft(path=change.path, content=content)


def _remove(target: Path, path: str) -> None:
    """Remove one file or link, and the folders that are empty then: git has none, and Python would import them."""
    if _leads_astray(target, path):
        return
    place = target / path
    if not place.is_symlink() and (place.is_dir() or not place.exists()):
        return
    place.unlink()
    for folder in place.parents:
        if folder == target or any(folder.iterdir()):
            return
        folder.rmdir()


def _make_way(target: Path, path: str) -> None:
    """Remove what stands on base where head has a folder or the file itself; links are not followed."""
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        place = target.joinpath(*parts[:end])
        if place.is_symlink() or place.is_file():
            place.unlink()
    if (target / path).is_dir():
        shutil.rmtree(target / path)


def _leads_astray(target: Path, path: str) -> bool:
    parts = path.split("/")[:-1]
    return any(target.joinpath(*parts[:end]).is_symlink() for end in range(1, len(parts) + 1))
