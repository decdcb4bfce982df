"""Which files of a tree a set of Python files imports, directly or through others: read, never run.

Belongs here: import statements and the names that pytest imports by. Does not belong here: what follows from it.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

_IMPORTERS = frozenset({"import_module", "importorskip", "__import__"})

Contents = Callable[[Iterable[str]], Mapping[str, bytes]]


def closure(
    starts: Iterable[str], paths: frozenset[str], contents: Contents, *, through: Callable[[str], bool]
) -> frozenset[str]:
    """The files of ``paths`` that ``starts`` import, with the conftests above them, and ``starts`` themselves.

    Files that are not ``through`` are found and not read further. ``contents`` reads several files at once.
    """
    found: set[str] = set()
    fresh = {path for path in starts if path in paths}
    while fresh:
        found |= fresh
        readable = sorted(path for path in fresh if path.endswith(".py") and through(path))
        reached = {conftest for path in readable for conftest in _conftests(path, paths)}
        for path, source in contents(readable).items():
            reached.update(_imported(path, source, paths))
        fresh = reached - found
    return frozenset(found)


def _conftests(path: str, paths: frozenset[str]) -> Iterator[str]:
    for folder in PurePosixPath(path).parents:
        conftest = str(folder / "conftest.py")
        if conftest in paths:
            yield conftest


def _imported(path: str, source: bytes, paths: frozenset[str]) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    folder = PurePosixPath(path).parent
    # Each folder above may be on sys.path: pytest puts the first one without an __init__.py there.
    roots = [*folder.parents, folder, PurePosixPath("src")]
    for node in ast.walk(module):
        for level, name in _names(node):
            if level:
                yield from _files_of([_above(folder, level - 1)], name, paths)
            else:
                yield from _files_of(roots, name, paths)


def _above(folder: PurePosixPath, levels: int) -> PurePosixPath:
    for _ in range(levels):
        folder = folder.parent
    return folder


def _names(node: ast.AST) -> Iterator[tuple[int, str]]:
    """What one node imports: how many packages up, and the dotted name."""
    if isinstance(node, ast.Import):
        yield from ((0, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        module = node.module or ""
        yield node.level, module
        # `from package import name`: the name may be a module.
        yield from ((node.level, f"{module}.{alias.name}".lstrip(".")) for alias in node.names)
    elif isinstance(node, ast.Call) and _called(node.func) in _IMPORTERS:
        yield from ((0, text) for text in _texts(node.args[:1]))
    elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if any(isinstance(target, ast.Name) and target.id == "pytest_plugins" for target in targets):
            yield from ((0, text) for text in _texts([node.value]))


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _texts(nodes: Iterable[ast.expr]) -> Iterator[str]:
    """The literal texts in expressions: one, or a list or tuple of them."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, (ast.List, ast.Tuple)):
            yield from _texts(node.elts)


def _files_of(roots: Iterable[PurePosixPath], name: str, paths: frozenset[str]) -> Iterator[str]:
    """The files that an import of ``name`` from one of the roots runs: each package above it, and itself."""
    parts = [part for part in name.split(".") if part]
    for root in roots:
        place = root
        for part in ("", *parts):
            place = place / part
            yield from (file for file in (f"{place}/__init__.py", f"{place}.py") if file in paths)
