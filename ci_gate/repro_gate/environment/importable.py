"""Where in a tree the product's packages stand, and what they are called. Pure.

Belongs here: import roots (``src`` or the top) and top-level names. Does not belong here: whether
they are imported from there (the plugin says where modules came from), and what is test or product (``change``).
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.utils import canonicalize_name

from repro_gate.config import parse_toml
from repro_gate.environment.facts import PYPROJECT, Facts
from repro_gate.environment.files import Tree, string, strings, table, text_of

# Folders at a tree's top that may hold Python and are no product.
_OTHERS = frozenset(
    {"test", "tests", "testing", "doc", "docs", "example", "examples", "benchmarks", "scripts", "tools"}
)
_OTHER_MODULES = frozenset({"setup", "conftest", "noxfile", "tasks", "fabfile", "build", "_build", "dodo"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Importable:
    """Import roots seen from the tree's top ("" is the top), and the product's top-level names."""

    roots: tuple[str, ...]
    packages: tuple[str, ...]


def importable_in(tree: Tree, facts: Facts) -> Importable:
    """What can be imported from a tree, and from where."""
    paths = list(tree)
    roots = _roots(tree, paths)
    packages = [name for root in roots for name in _names(paths, root, facts)]
    return Importable(roots=roots, packages=tuple(dict.fromkeys(packages)))


def import_roots(tree: Tree) -> tuple[str, ...]:
    """Those that the build configuration names, else ``src`` where it holds Python, else the top."""
    return _roots(tree, list(tree))


def _roots(tree: Tree, paths: list[str]) -> tuple[str, ...]:
    named = dict.fromkeys(posixpath.normpath(root).removeprefix(".") for root in _configured(tree))
    roots = [root for root in named if not root or any(path.startswith(f"{root}/") for path in paths)]
    return tuple(roots) or (("src",) if any(_python_below(path, "src") for path in paths) else ("",))


def _configured(tree: Tree) -> Iterator[str]:
    document = parse_toml(PYPROJECT, tree[PYPROJECT]) if PYPROJECT in tree else {}
    tool = table(document, "tool")
    setuptools = table(tool, "setuptools")
    yield from strings(table(setuptools, "packages", "find").get("where"))
    if root := string(table(setuptools, "package-dir").get("")):
        yield root
    wheel = table(tool, "hatch", "build", "targets", "wheel")
    yield from (posixpath.dirname(path) for path in strings(wheel.get("packages")))
    yield from strings(wheel.get("sources"))
    yield from _poetry_roots(table(tool, "poetry"))
    for value in (table(tool, "pdm", "build").get("package-dir"), table(tool, "maturin").get("python-source")):
        if root := string(value):
            yield root
    yield from (posixpath.dirname(path) for path in strings(table(tool, "scikit-build", "wheel").get("packages")))
    yield from re.findall(r"^\s*(?:package_dir\s*=\s*)?=\s*([\w./-]+)\s*$", _option(tree, "package_dir"), re.MULTILINE)
    yield from re.findall(r"^where\s*=\s*([\w./-]+)", _option(tree, "where"))
    yield from re.findall(r"package_dir\s*=\s*\{\s*['\"]{2}\s*:\s*['\"]([^'\"]+)['\"]", text_of(tree, "setup.py"))


def _poetry_roots(poetry: Mapping[str, Any]) -> Iterator[str]:
    packages = poetry.get("packages")
    for package in packages if isinstance(packages, list) else []:
        if isinstance(package, dict):
            yield string(package.get("from"))


def _option(tree: Tree, name: str) -> str:
    """The lines of an option of setup.cfg, its own with them."""
    found = re.search(rf"^{name}\s*=.*(?:\n[ \t]+.*)*", text_of(tree, "setup.cfg"), re.MULTILINE)
    return found[0] if found else ""


def _python_below(path: str, root: str) -> bool:
    return path.startswith(f"{root}/") and path.endswith((".py", ".pyi"))


def _names(paths: list[str], root: str, facts: Facts) -> Iterator[str]:
    """Packages and modules at a root; at the tree's top only those that can be the product."""
    wanted = canonicalize_name(facts.name).replace("-", "_")
    prefix = f"{root}/" if root else ""
    for path in paths:
        if not path.startswith(prefix) or not path.endswith(".py"):
            continue
        name, *below = path.removeprefix(prefix).split("/")
        stem = name.removesuffix(".py")
        is_product = bool(root) or stem.lower() == wanted
        if not below and (is_product or (stem not in _OTHER_MODULES and not stem.startswith("test"))):
            yield stem
        elif below and (is_product or (below == ["__init__.py"] and name not in _OTHERS)) and name.isidentifier():
            yield name
