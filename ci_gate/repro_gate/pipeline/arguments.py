"""What a scan is pointed at: paths and ids that do not exist are refused before anything is started.

Belongs here: telling paths from options among pytest's arguments, without pytest. In doubt a word is
left for pytest to judge; what it then did not find is said as plainly. Does not belong here: collecting.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from repro_gate.errors import UsageError

# Options that take no value; behind any other, the next word may be its value.
_FLAGS = frozenset(
    [
        "--exitfirst",
        "--verbose",
        "--quiet",
        "--last-failed",
        "--lf",
        "--failed-first",
        "--ff",
        "--new-first",
        "--nf",
        "--stepwise",
        "--sw",
        "--stepwise-skip",
        "--sw-skip",
        "--stepwise-reset",
        "--sw-reset",
        "--pdb",
        "--trace",
        "--collect-only",
        "--co",
        "--strict",
        "--strict-config",
        "--strict-markers",
        "--runxfail",
        "--no-header",
        "--no-summary",
        "--disable-warnings",
        "--disable-pytest-warnings",
        "--showlocals",
        "--no-showlocals",
        "--full-trace",
        "--cache-clear",
        "--noconftest",
        "--keep-duplicates",
        "--collect-in-virtualenv",
        "--continue-on-collection-errors",
        "--doctest-modules",
        "--doctest-ignore-import-errors",
        "--doctest-continue-on-failure",
        "--setup-only",
        "--setup-show",
        "--setup-plan",
        "--no-cov",
        "--xfail-tb",
        "--force-short-summary",
        "--no-fold-skipped",
    ]
)
# -x, -vv, -ra, -kname, -n4: flags, and options with their value in the same word.
_ONE_WORD = re.compile(r"-[xvqsl]+|-[kmpcoWrn].+")
_CONFIGURATION = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "pyproject.toml", "tox.ini", "setup.cfg")


def refuse_missing(arguments: Iterable[str], directory: Path, environ: Mapping[str, str]) -> None:
    """Raise UsageError for the first path, or the file of an id, that does not exist in ``directory``."""
    arguments = tuple(arguments)
    if _names_packages(arguments, directory, environ):
        return
    for argument in _paths(arguments):
        path = argument.partition("::")[0]
        if path and not _exists(directory / path):
            named = f"{argument!r} does not exist"
            if path != argument:
                named = f"{argument!r} names the file {path!r}, which does not exist"
            raise UsageError(
                f"{named} in {directory}.",
                next_step=f"Name a file, a directory or a test id as seen from there{_meant(path, directory)}",
            )


def not_found(said: str, arguments: Iterable[str], directory: Path) -> UsageError | None:
    """The error for an id whose file is there and holds no such test, by pytest's last words; None for other ends."""
    missing = re.findall(r"^ERROR: not found: (.+)$", said, re.MULTILINE)
    for argument in _paths(tuple(arguments)):
        path, colons, rest = argument.partition("::")
        if colons and any(line.strip().endswith(f"{Path(path).name}::{rest}") for line in missing):
            return UsageError(
                f"{argument!r} names no test: {path} has none of this name.",
                next_step=f"Name a test that is there{_meant_test(directory / path, path, rest)}",
            )
    return None


def _meant_test(file: Path, path: str, rest: str) -> str:
    """Did-you-mean from the tests that the file's text shows; the end of a sentence."""
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return "."
    near = difflib.get_close_matches(rest.partition("[")[0], list(_tests_in(body)), n=1)
    return f"; did you mean {f'{path}::{near[0]}'!r}?" if near else "."


def _tests_in(body: list[ast.stmt], above: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield f"{above}{node.name}"
        elif isinstance(node, ast.ClassDef):
            yield f"{above}{node.name}"
            yield from _tests_in(node.body, f"{above}{node.name}::")


def _exists(path: Path) -> bool:
    """Whether something is there; where we may not even look, pytest shall say so."""
    try:
        return path.exists()
    except PermissionError:
        return True
    except (OSError, ValueError):  # too long, or with a NUL
        return False


def _paths(arguments: tuple[str, ...]) -> Iterator[str]:
    """The words that can be nothing but paths and ids."""
    value_of_option = only_paths = False
    for argument in arguments:
        if argument == "--" and not only_paths:
            only_paths, value_of_option = True, False
        elif argument.startswith("-") and not only_paths:
            value_of_option = not ("=" in argument or argument in _FLAGS or _ONE_WORD.fullmatch(argument))
        elif value_of_option:
            value_of_option = False
        elif not argument.startswith("@"):  # a file that holds more arguments
            yield argument


def _names_packages(arguments: tuple[str, ...], directory: Path, environ: Mapping[str, str]) -> bool:
    """Whether words may be names of packages (--pyargs), here or by the configuration of pytest."""
    if "--pyargs" in arguments or "--pyargs" in environ.get("PYTEST_ADDOPTS", ""):
        return True
    return any(
        "--pyargs" in _text(folder / name) for folder in (directory, *directory.parents) for name in _CONFIGURATION
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError:
        return ""


def _meant(path: str, directory: Path) -> str:
    """Did-you-mean from what lies beside the missing path; the end of a sentence."""
    missing = Path(path)
    try:
        beside = sorted(entry.name for entry in (directory / missing.parent).iterdir())
    except (OSError, ValueError):
        beside = []
    near = difflib.get_close_matches(missing.name, beside, n=1)
    return f"; did you mean {str(missing.parent / near[0])!r}?" if near else "."
