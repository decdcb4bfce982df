"""Renames between the tree and the directory for temporary files, which a sandbox mounts apart.

Belongs here: what the kernel refuses as a rename across devices although both places are on one. Where most projects
are tested they are on one disk, so tests rename between them. Does not belong here: links, names relative to an open
directory, and what child processes rename.
"""

from __future__ import annotations

import errno
import os
import shutil
from typing import Any, Callable

from repro_gate_pytest import patching

_NAMES = ("rename", "replace")
_numbers = iter(range(1, 1 << 62))


def install() -> None:
    """From now on such a rename is a copy that takes its place at once, and an end of what was copied."""
    import posix  # where the functions live; os re-exports the same objects

    for name in _NAMES:
        if not patching.replace_function(posix, name, _carrying):
            setattr(os, name, getattr(posix, name))


def _carrying(original: Callable[..., None]) -> Callable[..., None]:
    def rename(*args: Any, **kwargs: Any) -> None:
        try:
            original(*args, **kwargs)
        except OSError as refused:
            if refused.errno != errno.EXDEV or len(args) != 2 or kwargs:
                raise
            source, target = map(os.fspath, args)
            try:
                if _on_one_device(source, target):
                    _carry(source, target, original)
                    return
            except OSError as failed:  # what a rename would say if they were mounted together
                raise OSError(failed.errno, failed.strerror, source, None, target) from None
            raise

    return rename


def _on_one_device(source: Any, target: Any) -> bool:
    return os.lstat(source).st_dev == os.stat(_folder(target)).st_dev


def _folder(path: Any) -> Any:
    return os.path.dirname(path.rstrip(os.fsencode("/") if isinstance(path, bytes) else "/")) or os.curdir


def _carry(source: Any, target: Any, rename: Callable[..., None]) -> None:
    passing = os.path.join(os.fsdecode(_folder(target)), ".repro-gate-%d-%d" % (os.getpid(), next(_numbers)))
    try:
        if os.path.islink(source):
            os.symlink(os.readlink(source), os.fsencode(passing) if isinstance(source, bytes) else passing)
        elif os.path.isdir(source):
            shutil.copytree(os.fsdecode(source), passing, symlinks=True)
        else:
            shutil.copy2(source, passing)
        rename(passing, target)
    except BaseException:
        _remove(passing)
        raise
    _remove(source)


def _remove(path: Any) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)
