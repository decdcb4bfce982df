"""From declarations to steps; the key; what a failed step's output means; where imports come from."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from repro_gate.environment import Target, declare, key
from repro_gate.environment.failures import failure
from repro_gate.environment.plan import Plan, plan
from repro_gate.environment.workshop import readable_for
from repro_gate.errors import DiskFull, PrepareFailed
from repro_gate.sandbox import Interpreter

MARKERS = {
    "implementation_name": "cpython",
    "os_name": "posix",
    "platform_python_implementation": "CPython",
    "python_full_version": "3.11.7",
    "python_version": "3.11",
    "sys_platform": "linux",
}
PYTHON = Target(
    interpreter=Interpreter(executable="/usr/bin/python3", version="3.11.7", directories=(), user_base=""),
    markers=MARKERS,
    platform="linux-x86_64",
    base="/usr",
)
VENV = ("/usr/bin/python3", "-m", "venv", "/c/venv")
PYPROJECT = '[project]\nname = "demo"\ndependencies = ["alpha"]\n'


def planned(files: Mapping[str, str], **options: Any) -> Plan:
    tree = {name: textwrap.dedent(text).encode() for name, text in files.items()}
    return plan(declare(tree, **options), PYTHON, tree, "/c")


def commands(made: Plan) -> list[tuple[str, ...]]:
    """What pip is asked for, without the words that are always the same."""
    assert made.steps[0].argv == VENV
    return [step.argv[step.argv.index("off") + 1 :] if "off" in step.argv else step.argv for step in made.steps[1:]]


def test_what_a_project_declares_is_one_installation() -> None:
    made = planned({"pyproject.toml": PYPROJECT + 'optional-dependencies = {test = ["beta"]}\n'})
    assert commands(made) == [("-r", "/c/requirements.txt")]
    assert made.files == {"requirements.txt": "alpha\nbeta\n"}
    assert not made.needs_tree


def test_nothing_declared_is_an_empty_environment() -> None:
    made = planned({"README": ""})
    assert (commands(made), made.files) == ([], {})


def test_a_lock_is_installed_by_its_hashes_and_without_asking_for_more() -> None:
    lock = """\
        [[package]]
        name = "alpha"
        version = "1"
        groups = ["default"]
        files = [{file = "a", hash = "sha256:00"}]
        [[package]]
        name = "beta"
        version = "2"
        groups = ["default"]
        git = "https://host.example/beta"
        revision = "c0ffee"
    """
    made = planned({"pdm.lock": lock})
    assert commands(made) == [
        ("--no-deps", "--require-hashes", "-r", "/c/pinned.txt"),
        ("--no-deps", "-r", "/c/pinned-without-hashes.txt"),
    ]
    assert made.files["pinned.txt"] == "alpha==1 --hash=sha256:00\n"


def test_requirements_with_hashes_stand_alone_since_pip_wants_them_of_all_or_none() -> None:
    made = planned(
        {
            "requirements-test.txt": "--prefer-binary\nalpha==1 --hash=sha256:00\n",
            "pyproject.toml": PYPROJECT.replace("alpha", "beta"),
        }
    )
    assert made.files == {
        "pinned.txt": "--prefer-binary\nalpha==1 --hash=sha256:00\n",
        "requirements.txt": "--prefer-binary\nbeta\n",
    }
    assert [command[-1] for command in commands(made)] == ["/c/pinned.txt", "/c/requirements.txt"]


def test_paths_in_options_are_those_of_the_copied_tree() -> None:
    made = planned(
        {"r/requirements.txt": "", "requirements/test.txt": "-c ../c.txt\n-f wheels\nalpha\n", "c.txt": "alpha<2\n"}
    )
    assert made.files == {"requirements.txt": "-c /c/source/c.txt\n-f /c/source/requirements/wheels\nalpha\n"}
    assert (made.needs_tree, made.steps[1].folder) == (True, "source")


def test_install_commands_run_as_they_are_in_the_tree() -> None:
    made = planned({"uv.lock": "broken"}, install=["pip install 'a b' c", "make env"])
    assert [(step.argv, step.folder) for step in made.steps[1:]] == [
        (("pip", "install", "a b", "c"), "source"),
        (("make", "env"), "source"),
    ]
    assert made.needs_tree


def test_dependencies_that_only_a_build_knows_come_by_an_installation_that_is_undone() -> None:
    made = planned({"setup.py": "setup(name='demo', install_requires=read(), extras_require={'test': ['b']})"})
    assert [(command[-1], step.folder) for command, step in zip(commands(made), made.steps[1:], strict=True)] == [
        ("/c/requirements.txt", "source"),
        ("./[test]", "source"),
        ("demo", ""),
    ]
    with pytest.raises(PrepareFailed, match="without running its build"):
        planned({"setup.py": "setup(**options)"})


@pytest.mark.parametrize(("wanted", "fits"), [(">=3.11", True), (">=3.12", False), ("<3", False), ("nonsense", True)])
def test_an_interpreter_that_does_not_fit_is_refused_before_anything_is_made(wanted: str, fits: bool) -> None:
    files = {"pyproject.toml": f'{PYPROJECT}requires-python = "{wanted}"\n'}
    if fits:
        assert planned(files).steps
        return
    with pytest.raises(PrepareFailed, match=rf"needs Python {wanted}, and /usr/bin/python3 is 3\.11\.7") as caught:
        planned(files)
    assert "--python" in caught.value.next_step


# --- the key ---------------------------------------------------------------------------------


def test_the_key_is_that_of_the_dependencies_and_the_interpreter() -> None:
    base = {"pyproject.toml": PYPROJECT.encode(), "demo.py": b"x = 1"}
    same = {**base, "demo.py": b"x = 2", "tests/test_demo.py": b""}
    assert key(declare(base), PYTHON) == key(declare(same), PYTHON)
    others = [
        key(declare(base), PYTHON),
        key(declare({**base, "pyproject.toml": PYPROJECT.replace("alpha", "beta").encode()}), PYTHON),
        key(declare(base, install=["a"]), PYTHON),
        key(declare(base, install=["b"]), PYTHON),
        key(declare(base), dataclasses.replace(PYTHON, markers={**MARKERS, "python_full_version": "3.11.8"})),
        key(declare(base), dataclasses.replace(PYTHON, markers={**MARKERS, "implementation_name": "pypy"})),
        key(declare(base), dataclasses.replace(PYTHON, platform="linux-aarch64")),
        key(declare(base), dataclasses.replace(PYTHON, base="/opt/python")),
    ]
    assert len(set(others)) == len(others)
    assert all(len(each) == 32 and each.isalnum() for each in others)


def test_the_key_changes_with_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    before = key(declare({}), PYTHON)
    monkeypatch.setattr("repro_gate.environment.target.FORMAT", 10**6)
    assert key(declare({}), PYTHON) != before


# --- failures --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "advice"),
    [
        ("error: command 'gcc' failed: No such file or directory", "compiler"),
        ("error: command '/usr/bin/x86_64-linux-gnu-gcc' failed with exit code 1", "compiler"),
        ("unable to execute 'cc': No such file or directory", "compiler"),
        ("x.c:1:10: fatal error: Python.h: No such file or directory", "compiler"),
        ("This package requires Rust and Cargo to compile", "compiler"),
        ("sh: 1: cmake: not found", "compiler"),
        ("ERROR: Unknown compiler(s): [['cc'], ['gcc']]", "compiler"),
        ("ERROR: No matching distribution found for alpha", "index"),
        ("Temporary failure in name resolution\nERROR: No matching distribution found for alpha", "Reach the package"),
        ("ERROR: Package 'a' requires a different Python: 3.9 not in '>=3.10'", "--python"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "lock file"),
        ("ERROR: ResolutionImpossible: see", "conflict"),
        ("because ensurepip is not available", "python3-venv"),
        ("Traceback: something else", "by hand"),
    ],
)
def test_the_next_step_follows_from_what_the_step_said(output: str, advice: str) -> None:
    error = failure("install alpha", 1, f"Collecting alpha\n{output}\n")
    assert isinstance(error, PrepareFailed)
    assert str(error) == "`install alpha` failed (exit code 1)."
    assert advice in error.next_step
    assert output in error.details


@pytest.mark.parametrize("output", ["OSError: [Errno 28] No space left on device", "Disk quota exceeded"])
def test_a_full_disk_is_said_to_be_one(output: str) -> None:
    assert isinstance(failure("x", 1, output), DiskFull)


def test_only_the_last_lines_of_a_long_output_are_told() -> None:
    details = failure("x", -9, "\n".join(map(str, range(1000)))).details.splitlines()
    assert (details[-1], len(details)) == ("999", 30)
    assert "(signal 9)" in str(failure("x", -9, ""))


# --- what steps may read ---------------------------------------------------------------------


def test_steps_may_read_the_files_that_pip_is_told_of(tmp_path: Path) -> None:
    found = readable_for({"PIP_FIND_LINKS": f"https://x.example {tmp_path} /gone", "OTHER": "/etc"})
    assert str(tmp_path) in found
    assert not {"/gone", "/etc", "https://x.example"} & set(found)
