"""An instrumented run as files that other tools read: coverage.py's data, Cobertura XML, LCOV and JSON.

Belongs here: writing them, and finding the project's rules. coverage.py does that itself, as the program of its own
name in a process of its own, with the project's rules and without its plugins; the product's files are read there and
not run.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from repro_gate import process
from repro_gate.change import SETTINGS_FILES, option
from repro_gate.errors import CoverageFilesFailed, MissingTool
from repro_gate.gates.coverage import Rules, joined_arcs, read_rules
from repro_gate.model import Recording

DATA = ".coverage"
# What is written -> coverage.py's command, and its options.
FORMATS: Mapping[str, tuple[str, ...]] = {
    "xml": ("xml",),
    "lcov": ("lcov",),
    "json": ("json", "--show-contexts", "--pretty-print"),
}
_SECONDS = 300.0


def rules_of(tree: Path, inside: str, arguments: Iterable[str]) -> Rules:
    """What base's ``tree`` says of its coverage, also by pytest-cov's ``--cov-config``. Raises ConfigError,
    MissingTool.
    """
    files = {name: tree / inside / name for name in SETTINGS_FILES}
    contents = {name: file.read_bytes() for name, file in files.items() if file.is_file()}
    return read_rules(tree, inside, option(contents, arguments, "--cov-config"))


def write_data(recording: Recording, file: Path, product: Iterable[str]) -> None:
    """Write coverage.py's data, with a context for each test; ``product`` are the files that count, whether or not
    anything of them ran, and no others are written.

    Raises MissingTool.
    """
    try:
        from coverage import CoverageData
    except ImportError:
        raise MissingTool(
            "coverage.py is not installed here.", next_step="Run `pip install 'repro-gate[coverage]'`."
        ) from None
    counts = frozenset(product)
    data = CoverageData(basename=str(file))
    try:
        for context, traces in (("", recording.at_import), *recording.by_test.items()):
            data.set_context(context)
            ran = (trace for trace in traces if trace.path in counts)
            data.add_arcs({trace.path: joined_arcs(trace.numbers(), trace.pairs()) for trace in ran})
        data.set_context("")
        data.touch_files(sorted(counts))
        data.write()
    finally:
        data.close(force=True)


def write_files(
    recording: Recording, rules: Rules, tree: Path, product: Sequence[str], wanted: Mapping[str, Path], place: Path
) -> None:
    """Write the ``wanted`` formats (names of FORMATS) of a run of ``tree``; ``place`` is an empty directory of ours.

    ``product`` are the files that count. Raises MissingTool, or CoverageFilesFailed with what coverage.py said.
    """
    if not product:
        why = f"no file of the product counts by {rules.file}" if rules.file else "the product has no file of Python"
        raise CoverageFilesFailed(
            f"There is nothing to write to {', '.join(map(str, wanted.values()))}: {why}.",
            next_step="Correct what the project says of its coverage on base, or leave this option away.",
        )
    place.mkdir(parents=True)
    write_data(recording, place / DATA, product)
    (place / "rules").write_text(_rules(rules), encoding="utf-8")
    for name, target in wanted.items():
        made = place / name
        argv = [sys.executable, "-I", "-m", "coverage", *FORMATS[name], "-q"]
        argv += [f"--rcfile={place / 'rules'}", f"--data-file={place / DATA}", "-o", str(made)]
        done = process.run(argv, cwd=tree, env={"PYTHONUTF8": "1"}, timeout=_SECONDS)
        if done.status != 0 or not made.exists():
            raise CoverageFilesFailed(f"coverage.py could not write {target}.", details=done.stdout + done.stderr)
        text = made.read_text(encoding="utf-8")
        made.write_text(text.replace("<source></source>", "<source>.</source>"), encoding="utf-8")
        shutil.copyfile(made, target)


def _rules(rules: Rules) -> str:
    """The rules on lines as coverage.py reads them; a dollar would be the name of a variable.

    Those on files are left out: the data has the files that count, and asked once more by patterns it may have others.
    """

    def several(name: str, values: Iterable[str]) -> list[str]:
        lines = [f"    {value}" for value in values if value]
        return [f"{name} =", *lines] if lines else []

    written = [
        "[run]",
        "branch = true",
        "relative_files = true",
        "[report]",
        "ignore_errors = true",
        *several("exclude_lines", [rules.exclude]),
        *several("partial_branches", [rules.partial]),
    ]
    return "\n".join(written).replace("$", "$$") + "\n"
