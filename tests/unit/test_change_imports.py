"""Imports are followed as Python would, without running anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from repro_gate.change.imports import closure

FILES = {
    "conftest.py": "",
    "tests/__init__.py": "",
    "tests/conftest.py": "pytest_plugins = ('plugins.one',)",
    "tests/util.py": "from . import deep",
    "tests/deep/__init__.py": "from .. import util\nfrom ..other import x",
    "tests/other.py": "",
    "tests/unused.py": "",
    "plugins/one.py": "import plugins.two as t",
    "plugins/two.py": "",
    "pkg/__init__.py": "import tools.secret",
    "pkg/mod.py": "",
    "src/lib/__init__.py": "",
    "src/lib/a.py": "",
    "tools/secret.py": "",
    "tools/lazy.py": "",
    "tools/skip.py": "",
    "tools/no.py": "",
}


def reached(source: str, start: str = "tests/test_a.py") -> set[str]:
    files = {**FILES, start: source}
    asked: list[str] = []

    def contents(paths: Iterable[str]) -> Mapping[str, bytes]:
        wanted = list(paths)
        asked.extend(wanted)
        return {path: files[path].encode() for path in wanted}

    found = closure([start], frozenset(files), contents, through=lambda path: not path.startswith("pkg/"))
    assert len(asked) == len(set(asked))
    assert not any(path.startswith("pkg/") for path in asked)
    return set(found) - {
        start,
        "conftest.py",
        "tests/__init__.py",
        "tests/conftest.py",
        "plugins/one.py",
        "plugins/two.py",
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("", set()),
        ("import pkg.mod", {"pkg/__init__.py", "pkg/mod.py"}),
        ("from pkg import mod", {"pkg/__init__.py", "pkg/mod.py"}),
        ("from .other import x", {"tests/other.py"}),
        ("from . import other", {"tests/other.py"}),
        ("from tests.other import x", {"tests/other.py"}),
        ("import other", {"tests/other.py"}),
        ("import util", {"tests/util.py", "tests/deep/__init__.py", "tests/other.py"}),
        ("import lib.a", {"src/lib/__init__.py", "src/lib/a.py"}),
        ("def f():\n  import tools.lazy", {"tools/lazy.py"}),
        ("importlib.import_module('tools.lazy')", {"tools/lazy.py"}),
        ("pytest.importorskip('tools.skip', reason='tools.no')", {"tools/skip.py"}),
        ("pytest_plugins: list[str] = ['tools.lazy']", {"tools/lazy.py"}),
        ("pytest_plugins = 'tools.lazy'", {"tools/lazy.py"}),
        ("names = ['tools.no']\nload('tools.no')", set()),
        ("from ..... import x\nimport nothing.at.all", set()),
        ("import tools.no\nno python", set()),
    ],
)
def test_what_is_imported_is_found(source: str, expected: set[str]) -> None:
    assert reached(source) == expected
