"""The product comes from its own tree on either side, also where it must be built first."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from repro_gate.environment import (
    Environment,
    OnDisk,
    Target,
    build,
    declare,
    importable_in,
    python_beside,
    side_of,
    with_scripts,
    write_side,
)
from repro_gate.errors import PrepareFailed
from repro_gate.process import run
from tests.conftest import MakeProject, write_files
from tests.integration.environments import PROJECT, Maker, Wheels, inside, make_wheel

WHERE = "import importlib.util as u, sys; print([u.find_spec(name).origin for name in sys.argv[1:]])"


def where_from(made: Environment, root: Path, files: OnDisk) -> str:
    """What the environment's Python says of the product, with the variables that tests would have."""
    importable = importable_in(files, declare(files).facts)
    paths = os.pathsep.join(str(root / each) for each in importable.roots)
    done = run([made.python, "-c", WHERE, *importable.packages], env={"PYTHONPATH": paths}, cwd="/", timeout=60)
    return done.stdout


@pytest.fixture(scope="module")
def with_a_copy(wheels: Wheels, quick: Target, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment that holds a copy of the product, as `pip install .` would leave one."""
    base = tmp_path_factory.mktemp("copy")
    root = write_files(base / "p", {"requirements.txt": "pytest\n"})
    make_wheel(wheels.folder, "demo", "0.5", code="WHERE = 'the copy'\n")
    return Maker(wheels, quick, base / "cache")(root, install=["python -m pip install demo pytest"])


@pytest.mark.parametrize("folder", ["", "src/"])
def test_the_tree_wins_over_a_copy_in_either_layout(
    project: MakeProject, with_a_copy: Environment, folder: str
) -> None:
    root = project({f"{folder}demo/__init__.py": "WHERE = 'the tree'", "pyproject.toml": PROJECT}).resolve()
    assert str(root / folder / "demo") in where_from(with_a_copy, root, OnDisk(root))


def test_each_side_has_metadata_scripts_and_code_of_its_own(
    project: MakeProject, with_a_copy: Environment, tmp_path: Path
) -> None:
    for version in ("1.0", "2.0"):
        text = PROJECT.replace('version = "1"', f'version = "{version}"') + '[project.scripts]\ndemo = "demo:main"\n'
        files = {"pyproject.toml": text, "src/demo/__init__.py": f"def main(): return 'code {version}'"}
        root = project(files, name=f"side-{version}")
        tree = OnDisk(root)
        facts = declare(tree).facts
        write_side(side_of(tree, facts, importable_in(tree, facts), with_a_copy.python), tmp_path / version)
        env = {"PYTHONPATH": f"{tmp_path / version / 'lib'}:{root / 'src'}"}
        seen = inside(with_a_copy, "import importlib.metadata as m; print(m.version('demo'))", **env)
        assert seen.stdout.strip() == str(facts.version)
        script = run([str(tmp_path / version / "bin/demo")], env=env, cwd="/", timeout=60)
        assert script.stderr.strip() == f"code {version}"


def test_the_projects_scripts_stand_next_to_the_interpreter(
    project: MakeProject, with_a_copy: Environment, tmp_path: Path
) -> None:
    text = PROJECT + '[project.scripts]\ndemo = "demo:main"\n'
    root = project({"pyproject.toml": text, "src/demo/__init__.py": "def main(): return 'code of the tree'"})
    tree, place = OnDisk(root), tmp_path / "env"
    facts = declare(tree).facts
    python = python_beside(place)
    shared = with_a_copy.directory / "venv"
    before = sorted(path.name for path in (shared / "bin").iterdir())
    with_scripts(shared, side_of(tree, facts, importable_in(tree, facts), python).scripts, place)
    env = {"PYTHONPATH": str(root / "src")}
    look = (
        "import demo, pytest, shutil, sys, sysconfig; print(sys.prefix, sysconfig.get_path('scripts'), sys.executable)"
    )
    said = run([python, "-c", look], env=env, cwd="/", timeout=60)
    assert said.stdout.split() == [str(place), str(place / "bin"), python], said
    script = run([str(place / "bin/demo")], env=env, cwd="/", timeout=60)
    assert script.stderr.strip() == "code of the tree"
    assert run([str(place / "bin/pip"), "--version"], env={}, cwd="/", timeout=60).status == 0
    assert sorted(path.name for path in (shared / "bin").iterdir()) == before
    assert "demo" not in before


# --- projects that must be built ------------------------------------------------------------

BUILDING = """\
    import os, pathlib, zipfile
    def build_wheel(directory, config_settings=None, metadata_directory=None):
        source = pathlib.Path("src/demo/fast.c").read_text()
        pathlib.Path("src/demo/left_by_the_build.py").touch()
        files = {
            "demo/__init__.py": "from demo.fast import SPEED",
            "demo/fast.py": "SPEED = " + repr(source),
            "demo-1.data/platlib/demo/more.py": "",
            "demo-1.data/scripts/demo": "",
            "demo-1.dist-info/METADATA": "Metadata-Version: 2.1\\nName: demo\\nVersion: 1\\n",
            "demo-1.dist-info/WHEEL": "Wheel-Version: 1.0\\nRoot-Is-Purelib: false\\nTag: py3-none-any\\n",
            "demo-1.dist-info/RECORD": "",
        }
        with zipfile.ZipFile(directory + "/demo-1-py3-none-any.whl", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return "demo-1-py3-none-any.whl"
"""


def test_what_a_build_adds_is_made_once_per_source_and_the_product_stays_in_its_tree(
    project: MakeProject, maker: Maker, with_a_copy: Environment
) -> None:
    own = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n'
    speeds = {}
    for source in ("slow", "fast"):
        files = {
            "pyproject.toml": own + PROJECT,
            "own.py": BUILDING,
            "src/demo/__init__.py": "from demo.fast import SPEED",
            "src/demo/fast.c": source,
        }
        root = project(files, name=source)
        tree = OnDisk(root)
        declared = declare(tree)
        assert declared.needs_build
        importable = importable_in(tree, declared.facts)
        built, again = (build(importable, with_a_copy, maker.target, maker.around(root), source) for _ in range(2))
        assert (built.reused, again.reused, again.files) == (False, True, built.files)
        assert built.files == ("src/demo/fast.py", "src/demo/more.py")
        shutil.copytree(built.directory, root, dirs_exist_ok=True)
        assert str(root / "src/demo") in where_from(with_a_copy, root.resolve(), OnDisk(root))
        said = inside(with_a_copy, "import demo; print(demo.SPEED)", PYTHONPATH=str(root / "src"))
        speeds[source] = said.stdout.strip()
    assert speeds == {"slow": "slow", "fast": "fast"}


def test_a_build_that_fails_is_named_and_leaves_nothing_usable(
    project: MakeProject, maker: Maker, with_a_copy: Environment
) -> None:
    text = '[build-system]\nrequires = []\nbuild-backend = "own"\nbackend-path = ["."]\n' + PROJECT
    broken = BUILDING.replace("import os,", "import subprocess; subprocess.run(['/nowhere/cc'])\n    import os,")
    root = project({"pyproject.toml": text, "own.py": broken, "src/demo/fast.c": ""})
    importable = importable_in(OnDisk(root), declare(OnDisk(root)).facts)
    with pytest.raises(PrepareFailed, match="`build the project` failed") as caught:
        build(importable, with_a_copy, maker.target, maker.around(root), "x")
    assert "compiler" in caught.value.next_step
    assert not list(maker.cache.rglob("ready.json"))
