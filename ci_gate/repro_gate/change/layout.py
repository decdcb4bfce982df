"""Which paths are tests, which configure pytest, which name dependencies, and which are the product.

Belongs here: judging a path by its name and by the tree around it. Does not belong here: contents
(configuration). Names are compared component by component and never by substring: `latest.py`,
`contest/` and `src/pytest_rerunfailures.py` are no tests.
"""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any

from repro_gate.change.configuration import NamesOfTests

_SURE = "tests"
# Product packages are called so as well (numpy.testing, django.test); the tree around them decides.
_LIKELY = frozenset({"test", "testing"})
_TEST_FILES = ("test_*.py", "*_test.py", "conftest.py")
_PYTEST_FILES = frozenset({"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
_MIXED_FILES = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})
_DEPENDENCY_FILES = (
    "uv.lock",
    "poetry.lock",
    "pdm.lock",
    "pixi.lock",
    "Pipfile",
    "Pipfile.lock",
    "pylock.toml",
    "pylock.*.toml",
    "*requirements*.txt",
    "*requirements*.in",
    "constraints*.txt",
    "environment.yml",
    "setup.py",
)
# Folders that projects keep beside the product, also where they hold an __init__.py.
_TOOLING = frozenset(
    {"benchmark", "benchmarks", "bench", "ci", "doc", "docs", "example", "examples", "scripts", "tasks", "tools"}
)
_TOOLS = frozenset({"setup.py", "noxfile.py", "fabfile.py", "conftest.py"})
_PROSE_FOLDERS = frozenset(
    {"doc", "docs", "examples", ".github", ".circleci", ".gitlab", "LICENSES", "changelog.d", "news"}
)
_PROSE_SUFFIXES = frozenset({".md", ".rst", ".adoc"})
_PROSE_NAMES = (
    "license",
    "licence",
    "copying",
    "notice",
    "authors",
    "contributors",
    "changelog",
    "changes",
    "news",
    "readme",
)
# Folders beside the product of what it reads when it runs.
_RESOURCES = frozenset(
    {
        "assets",
        "conf",
        "config",
        "locale",
        "locales",
        "migrations",
        "resources",
        "schemas",
        "sql",
        "static",
        "templates",
        "translations",
    }
)
_PROGRAMS = ("bin", "scripts")
_SUPPORT_NAME = re.compile(r"_?(testing|test_?utils?|test_?helpers?|test_?support|fixtures?)")


def is_pytest_file(path: str) -> bool:
    """Whether a file configures pytest and nothing else."""
    return PurePosixPath(path).name in _PYTEST_FILES


def is_mixed_file(path: str) -> bool:
    """Whether a file may configure pytest, name dependencies and configure the product, all in one."""
    return PurePosixPath(path).name in _MIXED_FILES


def is_configuration(path: str) -> bool:
    """Whether pytest may take its settings from a file of this name."""
    return is_pytest_file(path) or is_mixed_file(path)


def is_dependency_file(path: str) -> bool:
    """Whether a file names what is to be installed; of the mixed files only their parts tell."""
    pure = PurePosixPath(path)
    in_folder = "requirements" in pure.parts[:-1] and pure.suffix in (".txt", ".in")
    return in_folder or any(fnmatchcase(pure.name, pattern) for pattern in _DEPENDENCY_FILES)


def is_test_module_name(path: str) -> bool:
    """Whether pytest takes a file for a test module, or for a conftest, by its name alone."""
    name = PurePosixPath(path).name
    return any(fnmatchcase(name, pattern) for pattern in _TEST_FILES)


def is_named_as_support(path: str) -> bool:
    """Whether a product module says by its name that it is there for tests (`pkg/testing.py`)."""
    pure = PurePosixPath(path)
    return any(_SUPPORT_NAME.fullmatch(part) for part in (*pure.parts[:-1], pure.stem))


def is_prose(path: str) -> bool:
    """Documentation, licences and the settings of other tools: nothing that could fix a bug."""
    parts = PurePosixPath(path)
    if any(part in _PROSE_FOLDERS for part in parts.parts[:-1]) or parts.name.startswith("."):
        return True
    top = len(parts.parts) == 1
    return top and (parts.suffix in _PROSE_SUFFIXES or parts.stem.lower().startswith(_PROSE_NAMES))


@dataclass(frozen=True, kw_only=True, slots=True)
class Layout:
    """Where a tree keeps its tests and its product. Made by `layout_of`.

    ``product`` are the folders and modules that get installed; empty where nothing tells. ``test_names``
    and ``test_folders`` are what pytest's own settings say; ``programs`` folders of Python that is run and not
    installed.
    """

    test_globs: tuple[str, ...] = ()
    test_names: tuple[str, ...] = ()
    test_folders: tuple[str, ...] = ()
    product: tuple[str, ...] = ()
    product_folders: frozenset[str] = field(default_factory=frozenset)
    programs: tuple[str, ...] = ()

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to the tests: a test module, a conftest, or anything below a folder of tests."""
        if is_test_module_name(path) or any(_matches(path, glob) for glob in (*self.test_globs, *self.test_folders)):
            return True
        if any(_is_called(path, pattern) for pattern in self.test_names):
            return True
        folders = PurePosixPath(path).parts[:-1]
        return any(
            part == _SURE or (part in _LIKELY and "/".join(folders[: at + 1]) not in self.product_folders)
            for at, part in enumerate(folders)
        )

    def is_product(self, path: str) -> bool:
        """Whether a file is installed with the product; where nothing tells, whatever is no test counts."""
        if self.is_test(path):
            return False
        if path.endswith(".py") and any(path.startswith(f"{folder}/") for folder in self.programs):
            return True
        return not self.product or any(path == root or path.startswith(f"{root}/") for root in self.product)

    def is_resource(self, path: str) -> bool:
        """Whether a file is no Python and there for the product:
        inside of it, or in a folder beside it that says so.
        """
        if path.endswith(".py") or self.is_test(path):
            return False
        return self.is_product(path) or PurePosixPath(path).parts[0] in _RESOURCES

    def is_documentation(self, path: str) -> bool:
        """Whether a file is prose beside the product: tests may run its examples as they read their data."""
        hidden = path.startswith(".") or "/." in path
        if hidden or path.endswith(".py") or is_mixed_file(path) or is_dependency_file(path):
            return False
        return is_prose(path) and not (self.product and self.is_product(path))

    def with_programs(self, changed: Iterable[str]) -> Layout:
        """The same for a change of these files:
        where it brings tests, programs beside the product are what they test.
        """
        return dataclasses.replace(self, programs=_PROGRAMS) if any(map(self.is_test, changed)) else self


def layout_of(
    paths: Iterable[str],
    *,
    pyproject: bytes = b"",
    test_globs: Sequence[str] = (),
    settings: Iterable[NamesOfTests] = (),
) -> Layout:
    """The layout of a tree with these paths.

    ``pyproject`` is its pyproject.toml, if there is one; ``settings`` are pytest's.
    """
    known = frozenset(paths)
    data = _toml(pyproject)
    settings = tuple(settings)
    # A pattern that any module fits says nothing of its own.
    names = tuple(dict.fromkeys(p for each in settings for p in each.files if not fnmatchcase("x.py", _name(p))))
    named = Layout(test_globs=tuple(test_globs), test_names=names, product_folders=frozenset(_product_folders(known)))
    folders = [folder for each in settings for folder in each.folders]
    any_is_one = any(fnmatchcase("x.py", _name(pattern)) for each in settings for pattern in each.files)
    code = frozenset[str]() if any_is_one else frozenset(_tested_beside(folders, known, named))
    outside = (root for root in _product_roots(known, data, named) if not any(_matches(root, f) for f in folders))
    if any(not named.is_test(f"{root}/x") for root in outside):
        code -= frozenset(_helpers(code, known, named))
    plain = dataclasses.replace(
        named, test_folders=tuple(dict.fromkeys(_only_tests(folders, known, data, named, None if any_is_one else code)))
    )
    roots = {root for root in _product_roots(known, data, plain) if not plain.is_test(f"{root}/x")}
    if roots:  # else whatever is no test counts
        roots |= {str(PurePosixPath(path).parent) for path in code}
    return dataclasses.replace(plain, product=tuple(sorted(roots)))


def _only_tests(
    folders: Sequence[str],
    paths: frozenset[str],
    pyproject: dict[str, Any],
    named: Layout,
    code: frozenset[str] | None,
) -> Iterator[str]:
    """Those of pytest's ``testpaths`` that are no product with tests beside its ``code``;
    None where any module is a test.
    """
    sure = [*_declared(pyproject), "src", *_project_names(pyproject)]
    roots = [root for root in dict.fromkeys(sure) if _is_there(root, paths)]
    every = frozenset(root for root in _product_roots(paths, pyproject, named) if not named.is_test(f"{root}/x"))
    modules = [path for path in paths if _is_code(path) and not named.is_test(path)] if code is not None else []
    left = every or modules
    if left and all(any(_matches(path, folder) for folder in folders) for path in left):
        return  # else nothing would be left
    for folder in folders:
        product = any(_matches(root, folder) or _matches(folder, root) for root in roots)
        inside = any(_matches(root, f"{folder}/*") for root in every)
        beside = any(_matches(path, folder) for path in code or ())
        if not (product or inside or beside or folder in ("", ".")):
            yield folder


def _is_code(path: str) -> bool:
    """Whether a file may be product where nothing tells what is: a module that is no tool of the project's."""
    folder, _, name = path.rpartition("/")
    return path.endswith(".py") and folder.split("/")[0] not in _TOOLING and name not in _TOOLS


def _tested_beside(folders: Sequence[str], paths: frozenset[str], named: Layout) -> Iterator[str]:
    """Modules below pytest's ``testpaths`` whose own test stands in the same folder:
    they are code, with tests beside it.
    """
    for path in paths:
        pure = PurePosixPath(path)
        below = any(_matches(path, folder) for folder in folders if folder not in ("", "."))
        if pure.suffix != ".py" or not below or named.is_test(path):
            continue
        patterns = ("test_*.py", "*_test.py", *map(_name, named.test_names))
        if any(str(pure.with_name(each.replace("*", pure.stem))) in paths for each in patterns):
            yield path


def _helpers(code: frozenset[str], paths: frozenset[str], named: Layout) -> Iterator[str]:
    """Those in folders of tests for code elsewhere:
    no more of them than of tests whose own module is not beside them.
    """
    for folder in {str(PurePosixPath(path).parent) for path in code}:
        there = {path for path in code if str(PurePosixPath(path).parent) == folder}
        tests = [
            path
            for path in paths
            if path.endswith(".py") and str(PurePosixPath(path).parent) == folder and named.is_test(path)
        ]
        own = sum(PurePosixPath(path).name not in ("conftest.py", "__init__.py") for path in tests)
        if len(there) <= own - len(there):
            yield from there


def _product_folders(paths: frozenset[str]) -> Iterator[str]:
    """Folders called `test` or `testing` that are packages of the product: inside a package, with no tests in them."""
    for path in paths:
        pure = PurePosixPath(path)
        if pure.name != "__init__.py" or pure.parent.name not in _LIKELY:
            continue
        folder = str(pure.parent)
        inside = f"{pure.parent.parent}/__init__.py" in paths
        if inside and not any(_is_a_test_of(folder, other) for other in paths):
            yield folder


def _is_a_test_of(folder: str, path: str) -> bool:
    """Whether a path is a test module below a folder, and not in a `tests` folder of its own."""
    if not path.startswith(f"{folder}/") or not is_test_module_name(path):
        return False
    return _SURE not in path[len(folder) + 1 :].split("/")[:-1]


def _product_roots(paths: frozenset[str], pyproject: dict[str, Any], tests: Layout) -> Iterator[str]:
    declared = [root for root in _declared(pyproject) if _is_there(root, paths)]
    if declared:
        yield from declared
        return
    sources = {"/".join(PurePosixPath(path).parts[:2]) for path in paths if path.startswith("src/")}
    yield from (root for root in sources if root.endswith(".py") or any(p.startswith(f"{root}/") for p in paths))
    for name in _project_names(pyproject):
        yield from (root for root in (name, f"{name}.py") if _is_there(root, paths))
    for path in paths:
        folder, _, name = path.rpartition("/")
        outer = f"{folder.rpartition('/')[0]}/__init__.py".removeprefix("/")
        topmost = name == "__init__.py" and bool(folder) and outer not in paths
        if topmost and folder.split("/")[0] not in _TOOLING and not tests.is_test(path):
            yield folder


def _declared(pyproject: dict[str, Any]) -> Iterator[str]:
    """Packages and modules that the build settings name."""
    tool = _table(pyproject, "tool")
    yield from _strings(_table(tool, "hatch", "build", "targets", "wheel").get("packages"))
    setuptools = _table(tool, "setuptools")
    moved = _table(setuptools, "package-dir").get("", "")
    prefix = f"{moved}/" if isinstance(moved, str) and moved not in ("", ".") else ""
    yield from (f"{prefix}{name.replace('.', '/')}" for name in _strings(setuptools.get("packages")))
    yield from (f"{prefix}{name}.py" for name in _strings(setuptools.get("py-modules")))
    packages = _table(tool, "poetry").get("packages")
    for package in packages if isinstance(packages, list) else ():
        if isinstance(package, dict) and isinstance(package.get("include"), str):
            yield f"{package.get('from', '')}/{package['include']}".strip("/")


def _project_names(pyproject: dict[str, Any]) -> Iterator[str]:
    flit = _table(pyproject, "tool", "flit", "module").get("name")
    names = [_table(pyproject, "project").get("name"), _table(pyproject, "tool", "poetry").get("name"), flit]
    for name in names:
        if isinstance(name, str):
            yield re.sub(r"[-.]+", "_", name)
            yield re.sub(r"[-.]+", "_", name).lower()


def _is_there(root: str, paths: frozenset[str]) -> bool:
    return root in paths or any(path.startswith(f"{root}/") for path in paths)


def _name(pattern: str) -> str:
    return pattern.rpartition("/")[2]


def _is_called(path: str, pattern: str) -> bool:
    """Whether a file fits one of pytest's ``python_files``: by its name, or by its path where the pattern has one."""
    return fnmatchcase(f"/{path}", f"*/{pattern}") if "/" in pattern else fnmatchcase(PurePosixPath(path).name, pattern)


def _matches(path: str, glob: str) -> bool:
    """Whether a declared glob names a file, or a folder above it."""
    pure = PurePosixPath(path)
    return any(fnmatchcase(str(each), glob.rstrip("/")) for each in (pure, *pure.parents))


def _toml(content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return {}


def _table(data: dict[str, Any], *keys: str) -> dict[str, Any]:
    for key in keys:
        inner = data.get(key)
        data = inner if isinstance(inner, dict) else {}
    return data


def _strings(value: object) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
