"""What a tree declares for its tests: one order, no guessing, and a digest that only dependencies change."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.environment import Declared, Kind, OnDisk, declare
from repro_gate.errors import ConfigError
from tests.conftest import write_files

unhurried = settings(deadline=None)  # the first example pays for imports, and machines may be busy


def named(files: dict[str, str]) -> dict[str, bytes]:
    return {name: textwrap.dedent(text).encode() for name, text in files.items()}


PROJECT = """\
    [project]
    name = "demo"
    version = "1"
    dependencies = ["alpha"]
    [project.optional-dependencies]
    test = ["beta"]
    dev = ["demo[test]", "gamma"]
    [dependency-groups]
    dev = ["delta", {include-group = "more"}]
    more = ["epsilon>=2"]
"""
EVERYTHING = {
    "uv.lock": "",
    "poetry.lock": "",
    "pdm.lock": "",
    "pylock.toml": "",
    "requirements-test.txt": "zeta\n",
    "pyproject.toml": PROJECT,
}


def test_the_kinds_come_in_their_documented_order() -> None:
    files = dict(EVERYTHING)
    seen = [declare(named(files), install=["make env"]).kind]
    for name in EVERYTHING:
        seen.append(declare(named(files)).kind)
        del files[name]
    seen.append(declare(named(files)).kind)
    assert seen == list(Kind)


def test_what_was_passed_over_is_noted() -> None:
    notes = declare(named({"uv.lock": "", "pdm.lock": "", "requirements.txt": ""})).notes
    assert "of uv.lock, pdm.lock, the first was taken" in notes
    two = named({"requirements-test.txt": "", "requirements-dev.txt": ""})
    assert "of requirements-test.txt, requirements-dev.txt, the first was taken" in declare(two).notes


def test_the_first_extra_and_the_first_group_of_tests_are_taken_with_what_they_include() -> None:
    found = declare(named({"pyproject.toml": PROJECT}))
    assert (found.kind, found.extras, found.groups) == (Kind.PROJECT, ("test",), ("dev",))
    assert found.lines == ("alpha", "beta", "delta", "epsilon>=2")
    assert "of the extras test, dev, the first was taken" in found.notes


def test_extras_and_groups_may_be_named_and_one_that_is_not_there_is_said() -> None:
    found = declare(named({"pyproject.toml": PROJECT}), extras=["Dev"], groups=["more", "gone"])
    assert found.lines == ("alpha", "beta", "gamma", "epsilon>=2")
    assert "the project declares no dependency group gone" in found.notes


def test_extras_that_name_each_other_end() -> None:
    text = """\
        [project]
        name = "De.mo"
        optional-dependencies = {test = ["de-mo[dev]", "beta"], dev = ["de_mo[test]"]}
    """
    assert declare(named({"pyproject.toml": text})).lines == ("beta",)


@pytest.mark.parametrize(
    "name",
    [
        "requirements-test.txt",
        "requirements_tests.txt",
        "test-requirements.txt",
        "dev-requirements.txt",
        "requirements-dev.txt",
        "requirements/testing.txt",
        "requirements.test.txt",
        "tests/requirements.txt",
    ],
)
def test_every_usual_name_of_a_requirements_file_for_tests_is_found(name: str) -> None:
    found = declare(named({name: "zeta\n", "requirements.txt": "alpha\n"}))
    assert (found.kind, found.files) == (Kind.REQUIREMENTS, (name, "requirements.txt"))
    assert found.lines == ("zeta", "alpha")


def test_requirements_for_use_alone_are_joined_by_what_the_project_declares_for_tests() -> None:
    found = declare(named({"requirements.txt": "alpha==1\n", "pyproject.toml": PROJECT}))
    assert found.lines == ("alpha==1", "alpha", "beta", "delta", "epsilon>=2")


def test_requirement_files_are_followed_from_where_they_stand() -> None:
    found = declare(
        named(
            {
                "requirements/test.txt": "-r base.txt\n--requirement=../more.txt\n-c pins.txt  # why\nzeta \\\n  >=1 # x\n",
                "requirements/base.txt": "alpha\n-r test.txt\n",
                "requirements/pins.txt": "alpha<2\n",
                "more.txt": "--prefer-binary\n# nothing\nbeta @ https://host.example/b.whl\n",
            }
        )
    )
    assert found.files == ("requirements/test.txt", "requirements/base.txt", "more.txt", "requirements/pins.txt")
    assert found.lines == (
        "alpha",
        "--prefer-binary",
        "beta @ https://host.example/b.whl",
        "-c requirements/pins.txt",
        "zeta >=1",
    )
    assert found.needs_tree


@pytest.mark.parametrize(
    "line", ["-e .", "-e .[test]", ".[test]", "--editable=.[ test ]", "demo[test]", "file:.[test]"]
)
def test_a_line_that_would_install_the_project_gives_its_requirements_only(line: str) -> None:
    found = declare(named({"requirements-dev.txt": f"{line}\nzeta\n", "pyproject.toml": PROJECT}))
    wanted = ("zeta", "alpha") if line == "-e ." else ("zeta", "alpha", "beta")
    assert found.lines == wanted


def test_another_local_path_stays_and_is_no_longer_editable() -> None:
    found = declare(named({"requirements-test.txt": "-e ./plugins/x[all]\n"}))
    assert found.lines == ("./plugins/x[all]",)
    assert found.needs_tree


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("-r gone.txt", "requirements-test.txt:2: gone.txt is not in the tree."),
        ("-r ../x.txt", "leads out of the tree"),
    ],
)
def test_an_include_that_is_not_there_is_named_with_its_line(line: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        declare(named({"requirements-test.txt": f"alpha\n{line}\n"}))


def test_setup_cfg_is_read() -> None:
    text = """\
        [metadata]
        name = demo
        [options]
        python_requires = >=3.9
        install_requires =
            alpha>=1  # why
            beta; python_version < "4"
        [options.extras_require]
        testing =
            gamma
    """
    found = declare(named({"setup.cfg": text}))
    assert found.lines == ("alpha>=1", 'beta; python_version < "4"', "gamma")
    assert found.python_requires == ">=3.9"


SETUP = """\
    from setuptools import setup
    TESTS = ["gamma", "delta"]
    setup(name="demo", version="1", install_requires=["alpha"], extras_require={"test": TESTS + ["zeta"], "x": []}%s)
"""


def test_a_literal_setup_py_is_read_and_not_run() -> None:
    found = declare(named({"setup.py": "raise SystemExit\n" + textwrap.dedent(SETUP % "")}))
    assert (found.lines, found.computed, found.needs_tree) == (("alpha", "gamma", "delta", "zeta"), (), False)


@pytest.mark.parametrize("more", [", install_requires=read()", ", **options"])
def test_what_setup_py_computes_is_named_as_such(more: str) -> None:
    text = SETUP.replace(', install_requires=["alpha"], extras_require={"test": TESTS + ["zeta"], "x": []}', "") % more
    found = declare(named({"setup.py": text}))
    assert "dependencies" in found.computed
    assert found.needs_tree


def test_dynamic_dependencies_in_files_are_read() -> None:
    text = """\
        [project]
        name = "demo"
        dynamic = ["dependencies", "optional-dependencies"]
        [tool.setuptools.dynamic]
        dependencies = {file = "deps.in"}
        optional-dependencies.test = {file = ["deps-test.in"]}
    """
    found = declare(named({"pyproject.toml": text, "deps.in": "# x\nalpha # y\n", "deps-test.in": "beta\n"}))
    assert (found.lines, found.computed) == (("alpha", "beta"), ())


def test_poetry_tables_are_read_in_the_words_of_the_standard() -> None:
    text = """\
        [tool.poetry]
        name = "demo"
        [tool.poetry.dependencies]
        python = "^3.9"
        alpha = "^1.2"
        beta = {version = "~0.3", extras = ["x"], markers = "os_name == 'nt'"}
        gamma = {version = "*", optional = true}
        here = {path = "../here"}
        [tool.poetry.extras]
        test = ["gamma"]
        [tool.poetry.group.dev.dependencies]
        delta = [{version = "^0.0.3", python = "<3.11"}, {git = "https://host.example/d", tag = "v1"}]
    """
    found = declare(named({"pyproject.toml": text}))
    assert found.python_requires == "<4,>=3.9"
    assert found.lines == (
        "alpha<2,>=1.2",
        "beta[x]<0.4,>=0.3 ; (os_name == 'nt')",
        "gamma",
        'delta<0.0.4,>=0.0.3 ; (python_full_version < "3.11")',
        "delta @ git+https://host.example/d@v1",
    )
    assert "here is a local path (../here) and was not installed" in found.notes


def test_tox_helps_only_where_nothing_else_speaks_of_tests() -> None:
    tox = "[testenv]\ndeps =\n    zeta\n    -r x.txt\n    {env:MORE:eta}\n"
    found = declare(named({"tox.ini": tox}))
    assert (found.lines, found.kind) == (("zeta",), Kind.NOTHING)
    assert "no test dependencies are declared; those of tox.ini [testenv] were taken" in found.notes
    assert "zeta" not in declare(named({"tox.ini": tox, "pyproject.toml": PROJECT})).lines


_DIAGRAMS = """\
    [project]
    name = "demo"
    version = "1"
    [project.optional-dependencies]
    diagrams = ["railroad-diagrams", "jinja2"]
    more = ["eta"]
    """


def test_extras_of_tox_are_those_of_the_tests_where_nothing_else_speaks_of_them() -> None:
    tox = "[testenv]\ndeps=pytest\nextras=diagrams, unknown\n"
    found = declare(named({"tox.ini": tox, "pyproject.toml": _DIAGRAMS}))
    assert set(found.lines) == {"railroad-diagrams", "jinja2", "pytest"}
    assert found.extras == ("diagrams",)
    assert "tox.ini [testenv] names the extras: diagrams" in found.notes
    asked = declare(named({"tox.ini": tox, "pyproject.toml": _DIAGRAMS}), extras=["more"])
    assert asked.extras == ("more",)
    assert "jinja2" not in asked.lines


def test_tox_helps_beside_a_requirements_file_of_tools() -> None:
    tox = "[testenv]\ndeps=pytest\nextras=diagrams\n"
    files = {"tox.ini": tox, "pyproject.toml": _DIAGRAMS, "tests/requirements.txt": "coverage==4.4.2\ntox\n"}
    found = declare(named(files))
    assert found.kind is Kind.REQUIREMENTS
    assert set(found.lines) == {"coverage==4.4.2", "tox", "pytest", "railroad-diagrams", "jinja2"}
    with_pytest = declare(named({**files, "tests/requirements.txt": "pytest-xdist\n"}))
    assert set(with_pytest.lines) == {"pytest-xdist"}


@pytest.mark.parametrize(
    "names", [["pylock.toml", "pylock.test.toml"], ["pylock.test.toml", "pylock.dev.toml"], ["pylock.test.toml"]]
)
def test_a_standard_lock_that_is_named_for_tests_wins(names: list[str]) -> None:
    assert declare(named(dict.fromkeys(names, ""))).files == ("pylock.test.toml",)


def test_of_several_standard_locks_for_other_things_none_is_taken() -> None:
    found = declare(named({"pylock.docs.toml": "", "pylock.web.toml": ""}))
    assert found.kind is Kind.NOTHING
    assert any("pylock.docs.toml" in note for note in found.notes)
    assert declare(named({"pylock.docs.toml": ""})).files == ("pylock.docs.toml",)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("pyproject.toml", "[project]\nname = \n", 2),
        ("setup.cfg", "[options]\nx = 1\nbroken\n", 3),
        ("setup.py", "import x\nsetup(\n", 2),
    ],
)
def test_a_broken_file_is_named_with_its_line(name: str, text: str, line: int) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}:{line}: ") as caught:
        declare(named({name: text}))
    assert name in caught.value.next_step


def test_a_broken_group_is_named() -> None:
    with pytest.raises(ConfigError, match=r"\[dependency-groups\] a is not valid"):
        declare(named({"pyproject.toml": '[dependency-groups]\na = [{include-group = "a"}]\n'}))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[build-system]\nbuild-backend = "maturin"\n', "maturin"),
        ('[build-system]\nbuild-backend = "own"\nbackend-path = ["."]\n', "backend of its own"),
        ('[[tool.setuptools.ext-modules]]\nname = "x"\n', "C extensions"),
        ("[tool.hatch.build.hooks.mypyc]\n", "hooks"),
        ('[tool.poetry]\nbuild = "build.py"\n', "build script"),
        ("[tool.hatch.build.hooks.vcs]\n", ""),
        ('[build-system]\nbuild-backend = "hatchling.build"\n', ""),
    ],
)
def test_a_project_that_must_be_built_says_why(text: str, why: str) -> None:
    found = declare(named({"pyproject.toml": text})).needs_build
    assert why in found if why else not found


def test_extensions_in_setup_py_need_a_build() -> None:
    assert declare(named({"setup.py": "setup(ext_modules=cythonize('x.pyx'))"})).needs_build


# --- the digest ------------------------------------------------------------------------------

LOCKED = named({"uv.lock": "a = 1\n", "pyproject.toml": PROJECT, "README.md": "x", "demo/__init__.py": ""})
LISTED = named({"requirements-test.txt": "-r b.txt\n-c c.txt\n", "b.txt": "alpha\n", "c.txt": "alpha<2\n"})
CASES: list[tuple[dict[str, bytes], dict[str, Any], list[str]]] = [
    (LOCKED, {}, ["uv.lock"]),
    (LISTED, {}, ["requirements-test.txt", "b.txt", "c.txt"]),
    (LOCKED, {"install": ["make env"]}, ["uv.lock", "pyproject.toml"]),
    (LISTED | {"ci.sh": b"x"}, {"install": ["sh ./ci.sh"]}, ["ci.sh", "requirements-test.txt"]),
]


@unhurried
@given(case=st.sampled_from(CASES), data=st.data())
def test_any_changed_byte_of_a_dependency_file_changes_the_digest(
    case: tuple[dict[str, bytes], dict[str, Any], list[str]], data: st.DataObject
) -> None:
    files, options, names = case
    name = data.draw(st.sampled_from(names))
    comment = b"\n#" + data.draw(
        st.binary(min_size=1, max_size=3).filter(lambda each: not set(each) & set(b"\r\n\\\0"))
    )
    try:
        changed = declare(files | {name: files[name] + comment}, **options)
    except ConfigError:
        return  # a comment that is no UTF-8
    assert changed.digest != declare(files, **options).digest


@unhurried
@given(files=st.sampled_from([LOCKED, LISTED]), data=st.data())
def test_the_order_of_files_does_not_change_the_digest(files: dict[str, bytes], data: st.DataObject) -> None:
    shuffled = dict(data.draw(st.permutations(list(files.items()))))
    assert declare(shuffled).digest == declare(files).digest


def digest(pyproject: str, **options: Any) -> str:
    return declare(named({"pyproject.toml": pyproject}), **options).digest


def test_a_manifest_changes_the_digest_only_by_what_it_declares() -> None:
    same = [PROJECT.replace('version = "1"', 'version = "2"'), PROJECT + "    [tool.pytest.ini_options]\n"]
    assert {digest(text) for text in same} == {digest(PROJECT)}
    other = [
        PROJECT.replace('"alpha"', '"alpha>1"'),
        PROJECT.replace('"beta"', '"betas"'),
        PROJECT.replace("epsilon>=2", "epsilon>=3"),
        PROJECT.replace('version = "1"', 'requires-python = ">=3.9"'),
    ]
    seen = {digest(text) for text in other} | {digest(PROJECT), digest(PROJECT, groups=["more"])}
    assert len(seen) == len(other) + 2


def test_a_tree_on_disk_shows_what_is_in_it_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("secret")
    root = write_files(
        tmp_path / "t",
        {
            "a/b/c/d.py": "",
            "a/b/c/d/e.py": "",
            ".git/config": "",
            "env/pyvenv.cfg": "",
            "node_modules/x/y": "",
            "s": "x",
        },
    )
    (root / "out").symlink_to("../outside.txt")
    found = OnDisk(root)
    assert set(found) == {"a/b/c/d.py", "s", "out"}
    assert found["a/b/c/d/e.py"] == b""
    assert found["s"] == b"x"
    for name in ("out", "../outside.txt", "a", "gone", "\0"):
        assert name not in found
        with pytest.raises(KeyError):
            found[name]


def test_declarations_are_frozen() -> None:
    found: Declared = declare(LISTED)
    with pytest.raises(AttributeError):
        found.kind = Kind.UV  # type: ignore[misc]
