"""What a scan is pointed at must exist; what may be an option's value, or a package, is pytest's to judge."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.errors import ExitCode, UsageError
from repro_gate.pipeline.arguments import not_found, refuse_missing


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_a.py").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "sentence", "step"),
    [
        (["nope/"], "'nope/' does not exist in", "seen from there."),
        (["tests", "nope.py"], "'nope.py' does not exist in", "seen from there."),
        (["test"], "'test' does not exist in", "; did you mean 'tests'?"),
        (["tests/test_b.py"], "'tests/test_b.py' does not exist in", "; did you mean 'tests/test_a.py'?"),
        (
            ["tests/test_b.py::test[a::b]"],
            "'tests/test_b.py::test[a::b]' names the file 'tests/test_b.py', which does not exist in",
            "; did you mean 'tests/test_a.py'?",
        ),
        (["pkg::test_x"], "'pkg::test_x' names the file 'pkg', which", "there."),
        (["-x", "nope"], "'nope' does not exist", "there."),
        (["-vv", "-ra", "-kname", "-n4", "--tb=short", "--lf", "nope"], "'nope' does not exist", "there."),
        (["-k", "a or b", "nope"], "'nope' does not exist", "there."),
        (["--", "-nope"], "'-nope' does not exist", "there."),
        (["x" * 5000], "does not exist", "there."),
        (["a\0b"], "does not exist", "there."),
    ],
)
def test_a_path_that_does_not_exist_is_named_with_the_next_step(
    arguments: list[str], sentence: str, step: str, place: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        refuse_missing(arguments, place, {})
    assert refused.value.exit_code is ExitCode.USAGE
    assert sentence in str(refused.value)
    assert str(refused.value).endswith(f"in {place}.")
    assert refused.value.next_step.startswith("Name a file, a directory or a test id")
    assert refused.value.next_step.endswith(step)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["tests", "tests/", "./tests", "tests/test_a.py::test_x[1/2]", "tests/test_a.py::A::b"],
        ["-k", "nope"],
        ["-m", "not slow", "tests"],
        ["-o", "a=b", "-p", "no:cacheprovider", "-c", "nope.ini"],
        ["--some-plugins-option", "value", "tests"],
        ["--some-plugins-flag", "nope"],
        ["--deselect", "nope.py::test"],
        ["--pyargs", "pkg.sub", "pkg::test_x"],
        ["@arguments.txt"],
        ["::test_x"],
    ],
)
def test_what_exists_or_may_be_something_else_is_left_alone(arguments: list[str], place: Path) -> None:
    refuse_missing(arguments, place, {})


def test_where_the_configuration_says_pyargs_a_word_may_be_a_package(place: Path) -> None:
    refuse_missing(["pkg.sub"], place, {"PYTEST_ADDOPTS": "-q --pyargs"})
    (place / "pytest.ini").write_text("[pytest]\naddopts = --pyargs\n", encoding="utf-8")
    refuse_missing(["pkg.sub"], place, {})
    refuse_missing(["pkg.sub"], place / "tests", {})


def test_an_absolute_path_is_seen_as_such(place: Path, tmp_path: Path) -> None:
    refuse_missing([str(tmp_path / "tests")], place / "tests", {})
    with pytest.raises(UsageError, match="absent"):
        refuse_missing([str(tmp_path / "absent")], place, {})


FILE = "class TestA:\n    def test_deep(self):\n        pass\n\n\ndef test_price():\n    pass\n"


@pytest.mark.parametrize(
    ("argument", "step"),
    [
        ("tests/test_a.py::test_prise", "; did you mean 'tests/test_a.py::test_price'?"),
        ("tests/test_a.py::TestA::test_dep", "; did you mean 'tests/test_a.py::TestA::test_deep'?"),
        ("tests/test_a.py::test_price[3]", "; did you mean 'tests/test_a.py::test_price'?"),
        ("tests/test_a.py::zzz", "there."),
    ],
)
def test_an_id_that_pytest_did_not_find_is_named_with_what_was_meant(argument: str, step: str, place: Path) -> None:
    (place / "tests/test_a.py").write_text(FILE, encoding="utf-8")
    said = f"collected 0 items\nERROR: not found: /copy/{argument}\n(no match in any of [<Module test_a.py>])"
    error = not_found(said, ["-k", "x", argument], place)
    assert error is not None
    assert error.exit_code is ExitCode.USAGE
    assert str(error) == f"{argument!r} names no test: tests/test_a.py has none of this name."
    assert error.next_step.endswith(step)


def test_another_end_of_pytest_is_no_missing_test(place: Path) -> None:
    argument = "tests/test_a.py::test_x"
    assert not_found("ERROR: not found: /copy/tests/test_b.py::test_x", [argument], place) is None
    assert not_found("INTERNALERROR", [argument], place) is None
    assert not_found("ERROR: not found: /copy/tests/test_a.py::test_x", ["tests"], place) is None
    (place / "tests/test_a.py").write_text("def (", encoding="utf-8")
    error = not_found(f"ERROR: not found: /copy/{argument}", [argument], place)
    assert error is not None
    assert error.next_step == "Name a test that is there."
