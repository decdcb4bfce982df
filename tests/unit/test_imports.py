"""Who may import whom, and what a committed file may not name. Each check is also shown something it must refuse."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "pytest_plugin" / "repro_gate_pytest"

# --- what the plugin imports -----------------------------------------------------------------

ALWAYS = sys.stdlib_module_names | {"pytest", "repro_gate_pytest"}
IF_PRESENT = frozenset({"numpy", "time_machine"})
DOOR = "flake_check.py"


def foreign_imports(source: str, filename: str = "module.py") -> list[str]:
    """Imports that the plugin may not have, as ``line: module``.

    import-linter forbids names; it cannot say "only these".
    """
    return [
        f"{line}: {module}"
        for module, line, guarded, lazy in _imports(ast.parse(source), guarded=False, lazy=False)
        if not _allowed(module.partition(".")[0], filename, guarded=guarded, lazy=lazy)
    ]


def _allowed(top: str, filename: str, *, guarded: bool, lazy: bool) -> bool:
    if top in IF_PRESENT:
        return guarded or lazy
    if top == "repro_gate":
        return lazy and filename == DOOR
    return top in ALWAYS


def _imports(node: ast.AST, *, guarded: bool, lazy: bool) -> Iterator[tuple[str, int, bool, bool]]:
    """Each import below ``node``: module, line, whether ImportError is caught, whether it is in a function."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, node.lineno, guarded, lazy
    elif isinstance(node, ast.ImportFrom):
        yield ("." * node.level) + (node.module or ""), node.lineno, guarded, lazy
    elif isinstance(node, ast.Try):
        caught = guarded or any(_catches_import_error(handler) for handler in node.handlers)
        for statement in node.body:
            yield from _imports(statement, guarded=caught, lazy=lazy)
        for other in (*node.handlers, *node.orelse, *node.finalbody):
            yield from _imports(other, guarded=guarded, lazy=lazy)
    elif isinstance(node, ast.If) and _is_type_checking(node.test):
        for other in node.orelse:
            yield from _imports(other, guarded=guarded, lazy=lazy)
    else:
        inside = lazy or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, guarded=guarded, lazy=inside)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    names = {n.id for n in ast.walk(handler.type) if isinstance(n, ast.Name)} if handler.type else {"BaseException"}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


def _is_type_checking(test: ast.expr) -> bool:
    return ast.unparse(test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


PLUGIN_MODULES = sorted(PLUGIN.rglob("*.py"))


def test_there_are_plugin_modules_to_look_at() -> None:
    assert PLUGIN / "wire.py" in PLUGIN_MODULES


@pytest.mark.parametrize("path", PLUGIN_MODULES, ids=lambda path: path.relative_to(PLUGIN).as_posix())
def test_the_plugin_imports_only_pytest_the_standard_library_and_itself(path: Path) -> None:
    where = path.relative_to(PLUGIN).as_posix()
    assert foreign_imports(path.read_text(encoding="utf-8"), where) == []


@pytest.mark.parametrize(
    ("source", "filename"),
    [
        ("import yaml", "module.py"),
        ("import _pytest.runner", "module.py"),
        ("from pluggy import HookimplMarker", "module.py"),
        ("from . import wire", "module.py"),
        ("try:\n    import yaml\nexcept ImportError:\n    yaml = None", "module.py"),
        ("def f():\n    import yaml", "module.py"),
        ("import numpy", "module.py"),
        ("import numpy.random", "module.py"),
        ("try:\n    import numpy\nexcept ValueError:\n    numpy = None", "module.py"),
        ("try:\n    pass\nexcept ImportError:\n    import numpy", "module.py"),
        ("try:\n    pass\nfinally:\n    import time_machine", "module.py"),
        ("class C:\n    import time_machine", "module.py"),
        ("def f():\n    from repro_gate.cli import door", "module.py"),
        ("from repro_gate.cli import door", DOOR),
        ("try:\n    import repro_gate\nexcept ImportError:\n    pass", DOOR),
        ("def f():\n    import repro_gate", f"axes/{DOOR}"),
    ],
)
def test_a_foreign_import_in_the_plugin_is_refused(source: str, filename: str) -> None:
    assert foreign_imports(source, filename) != []


@pytest.mark.parametrize(
    ("source", "filename"),
    [
        ("import os.path\nfrom collections import abc\nimport pytest\nfrom repro_gate_pytest import wire", "module.py"),
        ("try:\n    import numpy\nexcept ImportError:\n    numpy = None", "module.py"),
        ("def f():\n    import numpy.random", "module.py"),
        ("def f():\n    from repro_gate.cli import door", DOOR),
        ("if TYPE_CHECKING:\n    import numpy", "module.py"),
    ],
)
def test_what_the_plugin_needs_is_allowed(source: str, filename: str) -> None:
    assert foreign_imports(source, filename) == []


# --- direction of imports --------------------------------------------------------------------


def lint_imports(tree: Path) -> subprocess.CompletedProcess[str]:
    """Check the contracts of ``tree`` on the packages in ``tree``, not on those that are installed."""
    program = Path(sys.executable).with_name("lint-imports")
    if not program.exists():
        pytest.skip("import-linter is not installed beside this interpreter")
    path = os.pathsep.join(str(tree / root) for root in ("ci_gate", "pytest_plugin"))
    return subprocess.run(
        [str(program), "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Both packages and the contracts, to be changed at will."""
    ignore = shutil.ignore_patterns("__pycache__")
    for name in ("ci_gate", "pytest_plugin"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=ignore)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_rooms_import_only_downwards() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 broken" in result.stdout


@pytest.mark.parametrize(
    ("module", "line", "broken"),
    [
        ("ci_gate/repro_gate/model/injected.py", "import repro_gate.cli", "Rooms import only downwards"),
        ("ci_gate/repro_gate/capsule/injected.py", "import repro_gate.flake", "Rooms import only downwards"),
        ("ci_gate/repro_gate/attic/__init__.py", "", "Rooms import only downwards"),
        ("ci_gate/repro_gate/reduce/injected.py", "import repro_gate.experiment", "Reducing is pure"),
        ("ci_gate/repro_gate/flake/injected.py", "import subprocess", "Only the room `process`"),
        ("pytest_plugin/repro_gate_pytest/injected.py", "import subprocess", "Only the room `process`"),
        ("ci_gate/repro_gate/sandbox/injected.py", "import docker", "Only sandbox.docker"),
        ("ci_gate/repro_gate/cli/injected.py", "import github", "Only the room `github`"),
        ("ci_gate/repro_gate/flake/injected.py", "import repro_gate_pytest.wire", "The gate knows of the plugin"),
        (
            "ci_gate/repro_gate/experiment/injected.py",
            "import repro_gate_pytest.runner",
            "The gate knows of the plugin",
        ),
        ("pytest_plugin/repro_gate_pytest/injected.py", "import repro_gate.errors", "The plugin knows nothing"),
    ],
)
def test_an_import_against_the_rules_is_reported(copy: Path, module: str, line: str, broken: str) -> None:
    injected = copy / module
    injected.parent.mkdir(exist_ok=True)
    injected.write_text(f"{line}\n", encoding="utf-8")

    result = lint_imports(copy)

    assert result.returncode == 1, result.stdout + result.stderr
    kept_or_broken = [line for line in result.stdout.splitlines() if line.startswith(broken)]
    assert " BROKEN" in kept_or_broken[0], result.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("ci_gate/repro_gate/process/injected.py", "import subprocess"),
        ("ci_gate/repro_gate/sandbox/docker/__init__.py", "import docker"),
        ("ci_gate/repro_gate/github/__init__.py", "import github"),
        ("ci_gate/repro_gate/experiment/injected.py", "from repro_gate_pytest import wire"),
    ],
)
def test_the_one_place_for_it_may(copy: Path, module: str, line: str) -> None:
    injected = copy / module
    injected.parent.mkdir(exist_ok=True)
    injected.write_text(f"{line}\n", encoding="utf-8")
    result = lint_imports(copy)
    assert result.returncode == 0, result.stdout + result.stderr


# --- what committed files name ---------------------------------------------------------------

PAGES = sorted(
    page for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")) if page.exists()
)
# Made by a run, so named in the documentation and not in the repository.
NOT_COMMITTED = (".venv", ".repro-gate/", "dist/", "build/")
TOP = {entry.name for entry in ROOT.iterdir()}


def missing_paths(markdown: str) -> list[str]:
    """Back-ticked words that start like a path of this repository and lead nowhere."""
    prose = re.sub(r"^(```|~~~).*?^\1", "", markdown, flags=re.MULTILINE | re.DOTALL)
    found = []
    for word in re.findall(r"`([^`\s]+)`", prose):
        path = re.sub(r"(#.*|:\d[\d-]*)$", "", word)
        first = path.split("/")[0]
        looks_like_ours = "/" in path and first in TOP and re.fullmatch(r"[\w./-]+", path)
        if looks_like_ours and not path.startswith(NOT_COMMITTED) and not (ROOT / path).exists():
            found.append(word)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_path_that_the_documentation_names_exists(page: Path) -> None:
    assert missing_paths(page.read_text(encoding="utf-8")) == []


def test_a_path_that_leads_nowhere_is_found() -> None:
    page = "See `tests/unit/gone.py`, `tests/unit`, `pytest -x`, `org/repro-gate` and `ci_gate/gone.py:12`.\n```\n`tests/no`\n```\n"
    assert missing_paths(page) == ["tests/unit/gone.py", "ci_gate/gone.py:12"]


# In halves, so that this file does not name what it forbids. Hosts and folders of one machine make a file
# that works, or a test that passes, only there.
FORBIDDEN = {
    "a package index's host": re.compile(
        "|".join(
            re.escape(left + right)
            for left, right in [
                ("py" + "pi", ".org"),
                ("python" + "hosted", ".org"),
                ("npm" + "js", ".org"),
                ("deb" + ".debian", ".org"),
                ("archive" + ".ubuntu", ".com"),
                ("--index" + "-url", " http"),
                ("--find" + "-links", " /"),
            ]
        )
    ),
    "a home directory": re.compile(
        r"(?<![\w.-])/(?:home/(?!(?:runner|user|you|tester|nobody)\b)\w|root/[\w.]|Users/(?!you\b)\w)"
    ),
    # Where this checkout lies, when that is more than one short name.
    "the working directory": re.compile(re.escape(str(ROOT)) + r"\b" if len(ROOT.parts) > 2 else r"(?!)"),
}


def forbidden_names(text: str) -> list[str]:
    """What ``text`` names and may not, as ``line: reason``."""
    return [
        f"{text.count(chr(10), 0, match.start()) + 1}: {reason}: {match.group()}"
        for reason, pattern in FORBIDDEN.items()
        for match in pattern.finditer(text)
    ]


def committed_files() -> list[Path]:
    """Files that are in the repository or would be added to it."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [path for name in listed.stdout.split("\0") if name and (path := ROOT / name).is_file()]


def test_no_committed_file_names_a_package_index_or_a_directory_of_one_machine() -> None:
    files = committed_files()
    assert ROOT / "pyproject.toml" in files
    found = [
        f"{path.relative_to(ROOT)}:{finding}"
        for path in files
        for finding in forbidden_names(path.read_bytes().decode("utf-8", errors="replace"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "https://py" + "pi.org/simple",
        "files.python" + "hosted.org",
        "cd /ho" + "me/alice/src",
        "open('/ro" + "ot/.cache')",
        "/Us" + "ers/alice",
        str(ROOT / "pyproject.toml"),
    ],
)
def test_a_name_of_one_machine_is_found(text: str) -> None:
    assert forbidden_names(f"first line\n{text}\n")[0].startswith("2: ")


@pytest.mark.parametrize(
    "text", ["/ho" + "me/runner/work", "home/alice", "a Py" + "PI token", "x/ro" + "ot/y", "/ho" + "me"]
)
def test_what_only_resembles_one_is_not(text: str) -> None:
    assert forbidden_names(text) == []
