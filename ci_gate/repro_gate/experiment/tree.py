"""Fresh copies of the project's tree, and putting one back as it was between experiments."""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import shutil
import stat
from collections.abc import Sequence
from pathlib import Path

from repro_gate.errors import CollectionFailed, DiskFull, TreeTooLarge
from repro_gate.experiment.coding import encoded

# Never part of what tests need; virtual environments are recognised by their pyvenv.cfg.
_SKIPPED = frozenset(
    {"node_modules", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".repro-gate", ".hypothesis"}
)
# What pytest rewrote carries the path that it was compiled at; ordinary bytecode is corrected on import.
_REWRITTEN = "-pytest-"
_VOLATILE = frozenset({"__pycache__", ".pytest_cache"})

Snapshot = dict[str, tuple[int, int, int]]


def copy_tree(
    source: Path,
    target: Path,
    *,
    exclude: tuple[str, ...],
    max_bytes: int,
    rewritten: bool = False,
    linked: bool = False,
) -> int:
    """Copy ``source`` into ``target`` (which must not exist); returns the bytes copied.

    Links are copied as links, git's immutable objects are hard-linked (if ``linked`` everything is: neither side may be
    written in place then), special files are left out, and so is what
    pytest rewrote, unless ``rewritten``: processes know the copy by the path at which that was compiled.
    Raises TreeTooLarge beyond ``max_bytes``, DiskFull where there is no room.
    """
    copied = 0
    try:
        for directory, folders, files in os.walk(source):
            here = Path(directory)
            relative = here.relative_to(source)
            folders[:] = [name for name in folders if _wanted(here / name, relative / name, exclude)]
            to = target / relative
            to.mkdir(parents=True, exist_ok=True)
            for name in [folder for folder in folders if (here / folder).is_symlink()]:
                folders.remove(name)
                _copy_link(here / name, to / name)
            for name in files:
                if _excluded(relative / name, exclude) or (not rewritten and _is_rewritten(name)):
                    continue
                copied += _copy_file(here / name, to / name, immutable=linked or ".git/objects" in directory)
                if copied > max_bytes:
                    raise TreeTooLarge(
                        f"The tree {source} holds more than {max_bytes // 2**20} MiB to copy (at {relative / name})."
                    )
    except OSError as broken:
        if broken.errno == errno.ENOSPC:
            raise DiskFull(f"No space left to copy the tree to {target}.") from broken
        raise
    return copied


def make_place(tree: Path, subdirectory: str) -> None:
    """Make the folder of a tree that pytest runs in, where the tree lacks it: git keeps no empty folders.

    Raises CollectionFailed where something else stands in its way.
    """
    place = tree
    for name in Path(subdirectory).parts:
        place /= name
        if place.is_dir():
            continue
        if os.path.lexists(place):  # also a link that leads nowhere: below it, nothing of ours is made
            raise CollectionFailed(
                f"{place.relative_to(tree)} is no folder in one of the two commits, and tests were to run in {subdirectory}.",
                next_step="Run the same command at the top of the repository, with the paths of tests.",
            )
        place.mkdir()


def _wanted(path: Path, relative: Path, exclude: tuple[str, ...]) -> bool:
    if path.name in _SKIPPED or _excluded(relative, exclude):
        return False
    return path.is_symlink() or not (path / "pyvenv.cfg").exists()


def _excluded(relative: Path, exclude: tuple[str, ...]) -> bool:
    text = relative.as_posix()
    return any(fnmatch.fnmatch(text, glob) or fnmatch.fnmatch(relative.name, glob) for glob in exclude)


def _copy_link(source: Path, target: Path) -> None:
    os.symlink(os.readlink(source), target)  # noqa: PTH115, PTH211 - a Path would rewrite "./name"
    shutil.copystat(source, target, follow_symlinks=False)


def _copy_file(source: Path, target: Path, *, immutable: bool) -> int:
    try:
        info = source.lstat()
        if stat.S_ISLNK(info.st_mode):
            _copy_link(source, target)
            return 0
        if not stat.S_ISREG(info.st_mode):
            return 0
        if immutable:
            try:
                os.link(source, target)
                return 0
            except OSError:
                pass
        shutil.copy2(source, target, follow_symlinks=False)
        return info.st_size
    except FileNotFoundError:
        return 0  # it went while we looked, as a temporary file does
    except PermissionError:
        return 0  # what we may not read, tests that run as us could not read either


def keep_bytecode(tree: Path, template: Path, *, rewritten: bool = False, without: Sequence[str] = ()) -> None:
    """Take over the bytecode that another process compiled in its copy: the next ones need not.

    It is as valid there, since copies keep their sources' times; with ``rewritten`` also what pytest made of tests, as
    in ``copy_tree``. Not that of files at or below the paths ``without``, whose texts are others in ``template``; nor
    that of files which ``template`` has not as they are: whoever makes one as it runs may give it a time that says
    nothing.
    """
    for directory, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name != ".git"]
        here = Path(os.path.relpath(directory, tree))
        to = template / here
        if here.name != "__pycache__" or not to.parent.is_dir():
            continue
        same = _same_sources(Path(directory).parent, to.parent)
        for name in files:
            if not name.endswith(".pyc") or (_is_rewritten(name) and not rewritten) or (to / name).exists():
                continue
            known = [alike for stem, alike in same.items() if name.startswith(f"{stem}.")]
            if known and all(known) and not any(_is_of(here / name, path) for path in without):
                to.mkdir(exist_ok=True)
                _copy_file(Path(directory) / name, to / name, immutable=False)


def _same_sources(folder: Path, other: Path) -> dict[str, bool]:
    """The stem of each Python file of a folder, and whether the other folder has it with the same size and time."""
    return {path.stem: _stamp(path) == _stamp(other / path.name) is not None for path in folder.glob("*.py")}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_mtime_ns, info.st_size


def _is_of(bytecode: Path, path: str) -> bool:
    """Whether it was compiled from this file, or one below."""
    file = Path(path)
    same_place = bytecode.parent.parent == file.parent and bytecode.name.startswith(f"{file.stem}.")
    return same_place or bytecode.is_relative_to(file)


def _is_rewritten(name: str) -> bool:
    return _REWRITTEN in name and name.endswith(".pyc")


def put_text(tree: Path, path: str, text: str) -> None:
    """Write a file of ``tree``, and remove what was compiled from the text before it."""
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists():  # never in place: other trees may hold the same file
        place = file.resolve()
        mode = place.stat().st_mode
        place.unlink()
        place.write_bytes(encoded(text))
        place.chmod(stat.S_IMODE(mode))
    else:
        file.write_bytes(encoded(text))
    forget_bytecode(file)


def forget_bytecode(file: Path) -> None:
    """Remove what was compiled from a file whose text is another one now.

    Python takes bytecode for valid by the source's size and its time in whole seconds, which a small
    change of a file that is just made leaves equal; or, where the bytecode says so, without looking.
    """
    for compiled in (file.parent / "__pycache__").glob(f"{glob.escape(file.stem)}.*"):
        compiled.unlink()


def snapshot(tree: Path) -> Snapshot:
    """Modification time, size and mode of everything that must not change between experiments."""
    seen: Snapshot = {}
    for directory, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name not in _VOLATILE and name != ".git"]
        relative = os.path.relpath(directory, tree)
        for name in [*folders, *files]:
            try:
                info = os.lstat(f"{directory}/{name}")
            except FileNotFoundError:
                continue
            key = name if relative == "." else f"{relative}/{name}"
            folder = stat.S_ISDIR(info.st_mode)
            seen[key] = (0 if folder else info.st_mtime_ns, 0 if folder else info.st_size, info.st_mode)
    return seen


def restore(tree: Path, before: Snapshot, pristine: Path) -> bool:
    """Undo what an experiment did to ``tree``; True if there was anything to undo."""
    tree.mkdir(parents=True, exist_ok=True)
    now = snapshot(tree)
    if now == before:
        return False
    for key in sorted(set(now) - set(before), reverse=True):
        _remove(tree / key)
    for key in sorted(before):
        if now.get(key) == before[key]:
            continue
        source, target = pristine / key, tree / key
        if stat.S_ISDIR(before[key][2]):
            if not target.is_dir() or target.is_symlink():
                _remove(target)
                target.mkdir(parents=True, exist_ok=True)
                hand_over(target, tree)
            target.chmod(stat.S_IMODE(before[key][2]))
        elif source.exists() or source.is_symlink():
            _remove(target)
            _copy_file(source, target, immutable=False)
            hand_over(target, tree)
    return True


def hand_over(path: Path, like: Path) -> None:
    """Give what we made to the owner of ``like``: in some sandboxes tests run as another user."""
    owner = like.stat()
    if owner.st_uid != os.geteuid() and os.path.lexists(path):
        os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        wipe(path)
        path.rmdir()
    elif path.exists() or path.is_symlink():
        path.unlink()


def wipe(directory: Path, keep: frozenset[str] = frozenset()) -> None:
    """Remove everything in ``directory`` except the names in ``keep``, also what was made unreadable."""
    for name in _names(directory):
        if name in keep:
            continue
        path = directory / name
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
        else:
            shutil.rmtree(path, onerror=_make_writable)


def _names(directory: Path) -> list[str]:
    try:
        return [path.name for path in directory.iterdir()]
    except PermissionError:
        directory.chmod(0o700)
        return [path.name for path in directory.iterdir()]
    except FileNotFoundError:
        directory.mkdir(parents=True, exist_ok=True)
        return []


def _make_writable(_function: object, name: str, _error: object) -> None:
    path = Path(name)
    for target in (path.parent, path):
        try:
            target.chmod(0o700)
        except OSError:
            continue
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()
    except OSError:
        return


def remove(directory: Path) -> None:
    """Remove a directory and everything in it, if it is there."""
    if directory.exists():
        wipe(directory)
        shutil.rmtree(directory, ignore_errors=True)
