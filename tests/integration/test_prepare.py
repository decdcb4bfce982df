"""Environments are really made, from wheels in a folder, and no index is asked."""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from repro_gate.environment import (
    Environment,
    OnDisk,
    Target,
    declare,
    key,
)
from repro_gate.errors import ConfigError, DiskFull, PrepareFailed
from repro_gate.sandbox import Bubblewrap
from tests.conftest import MARK, MakeProject, eventually_none, marked_processes, write_files
from tests.integration.environments import PROJECT, Maker, installed

Files = Mapping[str, str]


WITH_TESTS = PROJECT + '[project.optional-dependencies]\ntest = ["pytest", "demo[more]"]\nmore = ["gamma"]\n'


def uv_lock(hashes: Mapping[str, str]) -> str:
    return (
        'version = 1\nrequires-python = ">=3.9"\n'
        '[[package]]\nname = "demo"\nversion = "1"\nsource = { editable = "." }\n'
        'dependencies = [{ name = "alpha" }, { name = "gone", marker = "sys_platform == \'win32\'" }]\n'
        '[package.optional-dependencies]\ntest = [{ name = "gamma" }]\n'
        '[[package]]\nname = "alpha"\nversion = "1.0"\nsource = { registry = "x" }\n'
        f'wheels = [{{ url = "a.whl", hash = "{hashes["alpha-1.0"]}" }}]\n'
        '[[package]]\nname = "gone"\nversion = "1.0"\nsource = { registry = "x" }\n'
        '[[package]]\nname = "gamma"\nversion = "1.0"\nsource = { registry = "x" }\n'
        f'wheels = [{{ url = "g.whl", hash = "{hashes["gamma-1.0"]}" }}]\n'
    )


def poetry_lock(hashes: Mapping[str, str]) -> str:
    packages = (("alpha", '["main"]', ""), ("gamma", '["main"]', 'markers = "extra == \\"test\\""\n'))
    return "".join(
        f'[[package]]\nname = "{name}"\nversion = "1.0"\noptional = {str(bool(marker)).lower()}\npython-versions = "*"\n'
        f'groups = {groups}\n{marker}files = [{{file = "x", hash = "{hashes[name + "-1.0"]}"}}]\n'
        for name, groups, marker in packages
    )


def pdm_lock(hashes: Mapping[str, str]) -> str:
    return '[metadata]\ngroups = ["default", "test"]\n' + "".join(
        f'[[package]]\nname = "{name}"\nversion = "1.0"\ngroups = ["{group}"]\n'
        f'files = [{{file = "x", hash = "{hashes[name + "-1.0"]}"}}]\n'
        for name, group in (("alpha", "default"), ("gamma", "test"))
    )


def pylock(hashes: Mapping[str, str]) -> str:
    return 'lock-version = "1.0"\ncreated-by = "x"\nextras = ["test"]\n' + "".join(
        f'[[packages]]\nname = "{name}"\nversion = "1.0"\n{marker}'
        f'wheels = [{{url = "https://host.example/{name}-1.0-py3-none-any.whl", '
        f'hashes = {{sha256 = "{hashes[name + "-1.0"].partition(":")[2]}"}}}}]\n'
        for name, marker in (("alpha", ""), ("gamma", "marker = \"'test' in extras\"\n"))
    )


LOCKS: dict[str, Callable[[Mapping[str, str]], str]] = {
    "uv.lock": uv_lock,
    "poetry.lock": poetry_lock,
    "pdm.lock": pdm_lock,
    "pylock.toml": pylock,
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == "uv.lock" else pytest.mark.deep) for name in LOCKS]
)
def test_a_lock_is_what_is_installed_and_pytest_is_added_with_a_note(
    project: MakeProject, maker: Maker, name: str
) -> None:
    made = maker(project({name: LOCKS[name](maker.wheels.hashes), "pyproject.toml": WITH_TESTS, "demo.py": ""}))
    assert installed(made) == {"alpha": "1.0", "gamma": "1.0", "pytest": "9.9"}
    assert (made.pytest, made.reused) == ("9.9", False)
    assert "pytest 9.9 was added: the project does not declare it" in made.notes
    assert f"install 2 packages of {name}" in maker.steps


@pytest.mark.parametrize(
    ("files", "options", "wanted"),
    [
        (
            {"requirements-test.txt": "-r requirements.txt\n-e .\npytest\n", "requirements.txt": "beta\n-c pins.txt\n"},
            {},
            "beta",
        ),
        ({"pyproject.toml": WITH_TESTS}, {}, "gamma"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["pytest", "gamma"]\n'}, {}, "gamma"),
        (
            {"pyproject.toml": PROJECT},
            {"install": ["python -m pip install alpha==1.0 pytest", "pip install beta"]},
            "beta",
        ),
    ],
    ids=["requirements", "extras", "groups", "install"],
)
def test_what_else_a_project_may_declare_is_installed(
    project: MakeProject, maker: Maker, python: Target, files: Files, options: dict[str, Any], wanted: str
) -> None:
    if options:
        maker.target = python  # the commands call `pip` by its name, and that script cannot be copied
    made = maker(project({"pyproject.toml": PROJECT, "pins.txt": "alpha<2\n", "demo.py": "", **files}), **options)
    assert installed(made) == {"alpha": "1.0", wanted: "1.0", "pytest": "9.9"}
    assert not any("was added" in note for note in made.notes)


def test_in_a_sandbox_it_is_the_same_and_the_second_time_it_is_there(
    project: MakeProject, maker: Maker, python: Target, bubblewrap_why_not: str
) -> None:
    if bubblewrap_why_not:
        pytest.skip(bubblewrap_why_not)
    maker.sandbox, maker.target = Bubblewrap(), python
    root = project({"pyproject.toml": WITH_TESTS, "src/demo/__init__.py": "", "tests/test_a.py": ""})
    made = maker(root)
    assert installed(made) == {"alpha": "1.0", "gamma": "1.0", "pytest": "9.9"}
    assert {path.name for path in made.directory.parent.iterdir()} == {"log.txt", "made"}
    maker.steps.clear()
    (root / "src/demo/__init__.py").write_text("changed")
    again = maker(root)
    assert (again.reused, again.directory, maker.steps) == (True, made.directory, [])
    (root / "pyproject.toml").write_text(WITH_TESTS.replace("alpha<2", "alpha"))
    tree = OnDisk(root)
    assert key(declare(tree), maker.target) != made.key


def test_dependencies_that_only_a_build_knows_are_installed_and_the_project_is_not(
    project: MakeProject, maker: Maker
) -> None:
    files = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
        '[project]\nname = "demo"\nversion = "1"\ndynamic = ["dependencies"]\n',
        "own.py": """\
            import zipfile
            NAME = "demo-1-py3-none-any.whl"
            FILES = {
                "demo.py": "raise SystemExit('the copy')",
                "demo-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: demo\\nVersion: 1\\nRequires-Dist: gamma\\n",
                "demo-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
                "demo-1.dist-info/RECORD": "demo.py,,\\ndemo-1.dist-info/METADATA,,\\ndemo-1.dist-info/RECORD,,\\n",
            }
            def build_wheel(directory, config_settings=None, metadata_directory=None):
                with zipfile.ZipFile(directory + "/" + NAME, "w") as archive:
                    for name, text in FILES.items():
                        archive.writestr(name, text)
                return NAME
        """,
        "demo.py": "",
    }
    made = maker(project(files))
    assert installed(made) == {"gamma": "1.0", "pytest": "9.9"}
    assert not (made.directory / "source").exists()


# --- failures --------------------------------------------------------------------------------


def test_a_step_that_fails_is_named_with_its_last_words_and_leaves_nothing_usable(
    project: MakeProject, maker: Maker
) -> None:
    root = project({"requirements-test.txt": "alpha==7\n"})
    with pytest.raises(PrepareFailed, match=r"^`install requirements-test.txt` failed \(exit code 1\)\.$") as caught:
        maker(root)
    assert "No matching distribution found for alpha==7" in caught.value.details
    assert "index" in caught.value.next_step
    [log] = maker.cache.rglob("log.txt")
    assert "alpha==7" in log.read_text()
    assert not list(maker.cache.rglob("made"))
    assert not list(maker.cache.rglob("ready.json"))


def test_a_wheel_that_is_not_the_locked_one_is_refused(project: MakeProject, maker: Maker) -> None:
    hashes = {**maker.wheels.hashes, "alpha-1.0": "sha256:" + "0" * 64}
    with pytest.raises(PrepareFailed, match=r"install 2 packages of pdm\.lock") as caught:
        maker(project({"pdm.lock": pdm_lock(hashes), "pyproject.toml": WITH_TESTS}))
    assert "lock file" in caught.value.next_step


def test_a_dependency_that_needs_a_compiler_says_so(project: MakeProject, maker: Maker) -> None:
    backend = """\
        import subprocess
        def build_wheel(directory, config_settings=None, metadata_directory=None):
            subprocess.run(["/nowhere/gcc", "-c", "x.c"], check=True)
    """
    build = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    files = {
        "requirements-test.txt": "./native\n",
        "native/pyproject.toml": build + '[project]\nname = "native"\nversion = "1"\n',
        "native/own.py": backend,
    }
    with pytest.raises(PrepareFailed) as caught:
        maker(project(files))
    assert "compiler" in caught.value.next_step


def test_a_step_that_takes_too_long_is_ended_with_its_children(project: MakeProject, maker: Maker) -> None:
    mark, skipped = uuid.uuid4().hex, [0.0]
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])"

    def look(step: str, _: float) -> None:
        if step.startswith(sys.executable) and len(marked_processes(mark)) == 2:
            skipped[0] = 1e6

    environment = {**maker.around(Path()).environment, MARK: mark}
    maker.options = {"clock": lambda: time.monotonic() + skipped[0], "progress": look, "environment": environment}
    with pytest.raises(PrepareFailed, match=r"was not done when the 240 s"):
        maker(project({"requirements.txt": ""}), install=[f'{sys.executable} -c "{code}"'])
    assert skipped == [1e6]
    assert eventually_none(lambda: marked_processes(mark)) == []
    assert not list(maker.cache.rglob("made"))


def test_a_build_that_is_cut_off_leaves_nothing_usable_and_is_done_again(project: MakeProject, maker: Maker) -> None:
    root = project({"requirements-test.txt": "pytest\nalpha\n"})

    def stop(step: str, _: float) -> None:
        if step.startswith("install"):
            raise KeyboardInterrupt

    maker.options = {"progress": stop}
    with pytest.raises(KeyboardInterrupt):
        maker(root)
    assert not list(maker.cache.rglob("ready.json"))
    # A process that was killed could not even clean up.
    [place] = [path for path in (maker.cache / "env").iterdir() if path.is_dir()]
    write_files(place / "1" / "made", {"venv/bin/python": "half", "venv/half": ""})
    maker.options = {}
    made = maker(root)
    assert not made.reused
    assert installed(made) == {"alpha": "2.0", "pytest": "9.9"}


def test_two_at_once_make_it_once(project: MakeProject, maker: Maker) -> None:
    root = project({"requirements-test.txt": "pytest\n"})
    made: list[Environment] = []
    threads = [threading.Thread(target=lambda: made.append(maker(root))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.reused for each in made) == [False, True]
    assert made[0].directory == made[1].directory
    assert maker.steps.count("wait for another process") > 0


def test_a_lock_that_cannot_be_read_makes_nothing(project: MakeProject, maker: Maker) -> None:
    with pytest.raises(ConfigError, match=r"^uv\.lock:1: "):
        maker(project({"uv.lock": "x ="}))
    assert not list(maker.cache.rglob("made"))


def test_a_full_disk_is_said_to_be_one(project: MakeProject, maker: Maker) -> None:
    def full(_: Path) -> None:
        raise OSError(28, "No space left on device", str(maker.cache))

    maker.options = {"copy": full}
    with pytest.raises(DiskFull):
        maker(project({"requirements.txt": ""}), install=["pip --version"])
