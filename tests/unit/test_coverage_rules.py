"""A project's rules for its coverage: where they stand, and which files they leave out."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.gates.coverage import read_rules
from repro_gate.pipeline.coverage_files import rules_of

FILE = "pkg/mod.py"


@pytest.mark.parametrize("omit", ["./pkg/mod.py", "pkg/../pkg/mod.py", "pkg//mod.py"])
def test_patterns_are_taken_as_paths_wherever_dots_and_slashes_stand(tmp_path: Path, omit: str) -> None:
    (tmp_path / ".coveragerc").write_text(f"[run]\nomit = {omit}\n", encoding="utf-8")
    assert "omit" in read_rules(tmp_path).leaves_out(FILE, "pkg.mod")


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("[run]\ninclude = pkg/mod*\n[report]\ninclude = pkg/*\n", {"pkg/other.py"}),
        ("[run]\ninclude = pkg/*\n[report]\ninclude = pkg/mod*\n", {"pkg/other.py"}),
        ("[run]\nsource = pkg\ninclude = pkg/mod*\n", set()),
        ("[run]\nsource = pkg\n[report]\ninclude = pkg/mod*\n", {"pkg/other.py"}),
    ],
)
def test_what_the_run_includes_and_what_the_report_does_are_asked_apart(
    tmp_path: Path, text: str, left_out: set[str]
) -> None:
    """As coverage.py has it: with a source, what the run is to include is ignored."""
    (tmp_path / ".coveragerc").write_text(text, encoding="utf-8")
    rules = read_rules(tmp_path)
    assert {path for path in (FILE, "pkg/other.py") if rules.leaves_out(path, "pkg.x")} == left_out


@pytest.mark.parametrize(
    ("files", "arguments"),
    [
        ({"pytest.ini": "[pytest]\naddopts = --cov=pkg --cov-config=ci/cov.ini\n"}, ()),
        ({"pyproject.toml": "[tool.pytest.ini_options]\naddopts = ['--cov-config', 'ci/cov.ini']\n"}, ()),
        ({"pytest.ini": "[pytest]\naddopts = --cov-config=other\n"}, ("--cov-config=ci/cov.ini",)),
    ],
)
def test_the_file_that_pytest_cov_is_given_counts(
    tmp_path: Path, files: dict[str, str], arguments: tuple[str, ...]
) -> None:
    texts = {".coveragerc": "[run]\nomit = nothing\n", "ci/cov.ini": "[run]\nomit = pkg/mod.py\n", **files}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    rules = rules_of(tmp_path, "", arguments)
    assert (rules.file, rules.omit, rules.notes) == ("ci/cov.ini", ("pkg/mod.py",), ())


def test_a_file_for_pytest_cov_that_is_not_there_is_said_and_the_usual_ones_count(tmp_path: Path) -> None:
    (tmp_path / ".coveragerc").write_text("[run]\nomit = pkg/mod.py\n", encoding="utf-8")
    rules = rules_of(tmp_path, "", ["--cov-config=gone.ini"])
    assert rules.omit == ("pkg/mod.py",)
    assert rules.notes == ("--cov-config names gone.ini, and base has no such file with settings of coverage.py in it",)
