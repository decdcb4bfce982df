"""Where the product stands in a tree, and what makes it look installed without being so."""

from __future__ import annotations

import importlib.metadata
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from repro_gate.environment import Side, declare, import_roots, importable_in, side_of, write_side
from repro_gate.environment.building import in_tree
from repro_gate.environment.importable import Importable
from repro_gate.errors import PrepareFailed
from repro_gate.pipeline.subject import module_of


@pytest.mark.parametrize(
    ("files", "roots", "path", "module"),
    [
        ({"demo/__init__.py": ""}, ("",), "demo/core.py", "demo.core"),
        ({"src/demo/__init__.py": ""}, ("src",), "src/demo/__init__.py", "demo"),
        ({"src/demo/__init__.py": ""}, ("src",), "demo.py", "demo"),
        (
            {"python/demo/core.py": "", "pyproject.toml": "[tool.setuptools]\npackage-dir = {'' = 'python'}\n"},
            ("python",),
            "python/demo/core.py",
            "demo.core",
        ),
        (
            {"lib/py/ns/demo/a.py": "", "pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['lib/py']\n"},
            ("lib/py",),
            "lib/py/ns/demo/a.py",
            "ns.demo.a",
        ),
        ({"lib/__init__.py": ""}, ("",), "lib/core.py", "lib.core"),
    ],
)
def test_a_file_of_the_product_is_named_as_it_is_imported(
    files: dict[str, str], roots: tuple[str, ...], path: str, module: str
) -> None:
    assert import_roots(tree(files)) == roots
    assert module_of(path, roots) == module


def tree(files: Mapping[str, str]) -> dict[str, bytes]:
    return {name: textwrap.dedent(text).encode() for name, text in files.items()}


def laid(files: Mapping[str, str]) -> Importable:
    return importable_in(tree(files), declare(tree(files)).facts)


def sided(files: Mapping[str, str]) -> Side:
    found = tree(files)
    return side_of(found, declare(found).facts, laid(files), "/c/venv/bin/python")


NAME = '[project]\nname = "de-mo"\nversion = "1.2"\n'
FLAT = {"demo/__init__.py": "", "pyproject.toml": NAME}


@pytest.mark.parametrize(
    ("files", "roots", "packages"),
    [
        (FLAT, [""], ["demo"]),
        ({"src/demo/__init__.py": "", "src/one.py": "", "tests/__init__.py": ""}, ["src"], ["demo", "one"]),
        ({"src/ns/demo/core.py": "", "other/__init__.py": ""}, ["src"], ["ns"]),
        (
            {**FLAT, "tests/__init__.py": "", "docs/conf.py": "", "setup.py": "", "conftest.py": "", "test_x.py": ""},
            [""],
            ["demo"],
        ),
        ({"de_mo.py": "", "pyproject.toml": NAME}, [""], ["de_mo"]),
        ({"de_mo/core.py": "", "scripts/x.py": "", "pyproject.toml": NAME}, [""], ["de_mo"]),
        (
            {"lib/demo/__init__.py": "", "pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['lib']\n"},
            ["lib"],
            ["demo"],
        ),
        (
            {"lib/demo/__init__.py": "", "pyproject.toml": "[tool.setuptools]\npackage-dir = {'' = 'lib'}\n"},
            ["lib"],
            ["demo"],
        ),
        ({"lib/demo/__init__.py": "", "setup.cfg": "[options]\npackage_dir =\n    = lib\n"}, ["lib"], ["demo"]),
        ({"lib/demo/__init__.py": "", "setup.cfg": "[options.packages.find]\nwhere = lib\n"}, ["lib"], ["demo"]),
        ({"lib/demo/__init__.py": "", "setup.py": "setup(package_dir={'': 'lib'})"}, ["lib"], ["demo"]),
        (
            {
                "lib/demo/__init__.py": "",
                "pyproject.toml": "[tool.hatch.build.targets.wheel]\npackages = ['lib/demo']\n",
            },
            ["lib"],
            ["demo"],
        ),
        ({"py/demo/__init__.py": "", "pyproject.toml": "[tool.maturin]\npython-source = 'py'\n"}, ["py"], ["demo"]),
        (
            {
                "lib/demo/__init__.py": "",
                "pyproject.toml": "[[tool.poetry.packages]]\ninclude = 'demo'\nfrom = 'lib'\n",
            },
            ["lib"],
            ["demo"],
        ),
        (
            {"demo/__init__.py": "", "pyproject.toml": "[tool.setuptools.packages.find]\nwhere = ['gone']\n"},
            [""],
            ["demo"],
        ),
        ({"README": ""}, [""], []),
    ],
)
def test_roots_and_packages_are_found(files: Mapping[str, str], roots: list[str], packages: list[str]) -> None:
    found = laid(files)
    assert (list(found.roots), list(found.packages)) == (roots, packages)


DYNAMIC = '[project]\nname = "demo"\ndynamic = ["version"]\n'


@pytest.mark.parametrize(
    ("files", "version"),
    [
        (FLAT, "1.2"),
        ({"demo/__init__.py": '__version__ = "2.0"\n', "pyproject.toml": DYNAMIC}, "2.0"),
        ({"src/demo/_version.py": "__version__: str = '2.1'\n", "pyproject.toml": DYNAMIC}, "2.1"),
        (
            {"demo/v.py": 'VERSION = "3"\n', "pyproject.toml": f'{DYNAMIC}[tool.hatch.version]\npath = "demo/v.py"\n'},
            "3",
        ),
        (
            {
                "VERSION": "4.0rc1\n",
                "pyproject.toml": f"{DYNAMIC}[tool.setuptools.dynamic]\nversion = {{file = 'VERSION'}}\n",
            },
            "4.0rc1",
        ),
        (
            {"demo/at.py": "version = '5'", "setup.cfg": "[metadata]\nname = demo\nversion = attr: demo.at.version\n"},
            "5",
        ),
        ({"demo/__init__.py": "", "pyproject.toml": DYNAMIC}, "0+unknown"),
        ({"demo/__init__.py": "__version__ = 'soon'", "pyproject.toml": DYNAMIC}, "0+unknown"),
    ],
)
def test_the_version_is_what_the_files_say(files: Mapping[str, str], version: str) -> None:
    found = sided(files)
    assert found.version == version
    assert bool(found.notes) == (version == "0+unknown")


@pytest.mark.parametrize(("otherwise", "version"), [("v3.1", "3.1"), ("not one", "0+unknown"), ("", "0+unknown")])
def test_where_the_files_tell_no_version_one_from_elsewhere_is_taken(otherwise: str, version: str) -> None:
    for text, wanted in ((DYNAMIC, version), (NAME, "1.2")):
        files = tree({"pyproject.toml": text, "demo/__init__.py": ""})
        facts = declare(files).facts
        assert side_of(files, facts, importable_in(files, facts), "python", otherwise=otherwise).version == wanted


FULL = """\
    [project]
    name = "De.mo"
    version = "1.02"
    requires-python = ">=3.9"
    dependencies = ["alpha>1"]
    [project.optional-dependencies]
    test = ["beta; os_name == 'nt'", "gamma"]
    [project.scripts]
    demo = "demo.cli:app.run"
    demo-mod = "demo"
    "../evil" = "demo:x"
    [project.entry-points.pytest11]
    demo = "demo.plugin"
"""


def test_importlib_finds_the_metadata_and_no_code(tmp_path: Path) -> None:
    write_side(sided({"pyproject.toml": FULL, "demo/__init__.py": ""}), tmp_path)
    found = next(iter(importlib.metadata.distributions(path=[str(tmp_path / "lib")])))
    assert (found.metadata["Name"], found.version) == ("De.mo", "1.2")
    assert found.requires == ["alpha>1", 'beta; os_name == "nt" and extra == "test"', 'gamma; extra == "test"']
    assert {(point.group, point.name, point.value) for point in found.entry_points} == {
        ("console_scripts", "demo", "demo.cli:app.run"),
        ("console_scripts", "demo-mod", "demo"),
        ("console_scripts", "../evil", "demo:x"),
        ("pytest11", "demo", "demo.plugin"),
    }
    assert not list(tmp_path.rglob("*.py"))


def test_scripts_are_run_by_the_environments_python_and_stay_in_their_folder(tmp_path: Path) -> None:
    write_side(sided({"pyproject.toml": FULL}), tmp_path)
    assert sorted(path.name for path in (tmp_path / "bin").iterdir()) == ["demo", "demo-mod"]
    text = (tmp_path / "bin/demo").read_text()
    assert text == "#!/c/venv/bin/python\nimport sys\nfrom demo.cli import app\nsys.exit(app.run())\n"
    assert (tmp_path / "bin/demo").stat().st_mode & 0o111


SCM = '[project]\nname = "demo"\nversion = "1.2.dev3+local"\n[tool.setuptools_scm]\nversion_file = "demo/_v.py"\n'


def test_a_version_file_that_a_build_would_write_is_generated_where_it_is_missing() -> None:
    found = sided({"pyproject.toml": SCM, "demo/__init__.py": ""})
    namespace: dict[str, object] = {}
    exec(found.generated["demo/_v.py"], namespace)
    assert namespace["__version__"] == "1.2.dev3+local"
    assert namespace["version_tuple"] == (1, 2, "local")
    assert sided({"pyproject.toml": SCM, "demo/_v.py": ""}).generated == {}


@pytest.mark.parametrize(
    ("member", "path"),
    [
        ("demo/fast.so", "src/demo/fast.so"),
        ("demo-1.data/purelib/demo/x.py", "src/demo/x.py"),
        ("other/x.py", "src/other/x.py"),
        ("tools/x.py", "tools/x.py"),
        ("demo-1.dist-info/METADATA", ""),
        ("demo-1.data/scripts/demo", ""),
    ],
)
def test_what_a_build_made_belongs_beside_the_package_in_the_tree(member: str, path: str) -> None:
    layout = Importable(roots=("src", ""), packages=("demo",))
    assert in_tree(member, {"src/demo/__init__.py", "tools/__init__.py"}, layout) == path


@pytest.mark.parametrize("member", ["../x.py", "/etc/x", "demo/../../x", "demo-1.data/platlib/../../x", "a\\..\\x"])
def test_a_wheel_with_a_path_that_leads_out_is_refused(member: str) -> None:
    with pytest.raises(PrepareFailed, match="unsafe path"):
        in_tree(member, set(), Importable(roots=("src",), packages=()))


def test_a_project_without_a_name_has_no_metadata() -> None:
    found = sided({"tests/test_x.py": ""})
    assert (found.metadata, found.notes) == ({}, ("the project has no name: no metadata",))


def _metadata(files: Mapping[str, str]) -> importlib.metadata.PackageMetadata:
    (text,) = (text for path, text in sided(files).metadata.items() if path.endswith("/METADATA"))
    return importlib.metadata.PathDistribution(_Folder(text)).metadata  # type: ignore[arg-type]


class _Folder:
    """A place with one file in it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def joinpath(self, _name: str) -> _Folder:
        return self

    def read_text(self, encoding: str) -> str:
        return self._text


def test_metadata_is_what_the_project_says_of_itself() -> None:
    project = """\
        [project]
        name = "de-mo"
        version = "1.2"
        description = "Logs,\\n and logs"
        requires-python = ">=3.8"
        license = "MIT OR Apache-2.0"
        license-files = ["LICENSE*"]
        keywords = ["logging", "structured"]
        readme = "README.md"
        authors = [{name = "Ann"}, {name = "Ben, Dr.", email = "b@x.org"}, {email = "c@x.org"}]
        maintainers = [{name = "Dee", email = "d@x.org"}]
        classifiers = ["Typing :: Typed", "Programming Language :: Python"]
        dependencies = ["zeta>1"]
        [project.optional-dependencies]
        test = ["eta; python_version > '3'"]
        [project.urls]
        Documentation = "https://x.org/docs"
        "Bug Tracker" = "https://x.org/bugs"
        """
    files = {"demo/__init__.py": "", "pyproject.toml": project, "README.md": "# Démo\n\nText.\n", "LICENSE-MIT": "x"}
    found = _metadata(files)
    assert (found["Name"], found["Version"], found["Summary"]) == ("de-mo", "1.2", "Logs, and logs")
    assert (found["Author"], found["Author-Email"]) == ("Ann", '"Ben, Dr." <b@x.org>, c@x.org')
    assert (found["Maintainer-Email"], found["Keywords"]) == ("Dee <d@x.org>", "logging,structured")
    assert (found["License-Expression"], found.get_all("License-File")) == ("MIT OR Apache-2.0", ["LICENSE-MIT"])
    assert found["Requires-Python"] == ">=3.8"
    assert found.get_all("Classifier") == ["Typing :: Typed", "Programming Language :: Python"]
    assert found.get_all("Project-URL") == ["Documentation, https://x.org/docs", "Bug Tracker, https://x.org/bugs"]
    assert found.get_all("Requires-Dist") == ["zeta>1", 'eta; python_version > "3" and extra == "test"']
    assert found.get_all("Provides-Extra") == ["test"]
    assert found["Description-Content-Type"] == "text/markdown"
    assert found.get_payload() == "# Démo\n\nText.\n"  # type: ignore[attr-defined]


def test_metadata_is_what_setup_cfg_says() -> None:
    configured = """\
        [metadata]
        name = de-mo
        version = 1.2
        description = Logs
        author = Ann
        author-email = a@x.org
        url = https://x.org
        license = MIT
        long_description = file: README.rst
        keywords = one, two
        classifiers =
            Typing :: Typed
        project_urls =
            Source = https://x.org/src
        """
    found = _metadata({"demo/__init__.py": "", "setup.cfg": configured, "README.rst": "Demo\n"})
    assert (found["Summary"], found["Author"], found["Author-Email"]) == ("Logs", "Ann", "a@x.org")
    assert (found["Home-Page"], found["License"], found["Keywords"]) == ("https://x.org", "MIT", "one,two")
    assert found.get_all("Classifier") == ["Typing :: Typed"]
    assert found.get_all("Project-URL") == ["Source, https://x.org/src"]
    assert found.get_payload() == "Demo\n"  # type: ignore[attr-defined]


def test_a_field_that_the_specification_refuses_is_left_out_alone() -> None:
    project = NAME + 'license = "no such license"\ndescription = "Logs"\n'
    found = _metadata({"demo/__init__.py": "", "pyproject.toml": project})
    assert "License-Expression" not in found
    assert (found["Summary"], found["Name"]) == ("Logs", "de-mo")
