"""Of a file with mixed settings each part is told apart, and pytest's part alone is moved."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.change.configuration import NamesOfTests, Parts, graft, names_of_tests, parts_changed

TOML = b"""\
# top
[project]
name = "x"
text = \"\"\"
[tool.pytest.ini_options]
\"\"\"

[tool.pytest.ini_options]
addopts = [
  "-q",
  ["nested"],
]

[tool.ruff]
line-length = 1
"""


@pytest.mark.parametrize(
    ("path", "old", "new", "parts"),
    [
        ("pyproject.toml", b'[project]\nversion="1"', b'[project]\nversion="2"', Parts(other=("project.version",))),
        ("pyproject.toml", b"", b'[project]\ndependencies=["a"]', Parts(dependencies=True)),
        ("pyproject.toml", b"", b'[project.optional-dependencies]\nt=["a"]', Parts(dependencies=True)),
        ("pyproject.toml", b"", b'[dependency-groups]\ndev=["a"]', Parts(dependencies=True)),
        ("pyproject.toml", b"", b'[tool.poetry.group.dev.dependencies]\na="1"', Parts(dependencies=True)),
        ("pyproject.toml", b"", b'[tool.uv]\ndev-dependencies=["a"]', Parts(dependencies=True)),
        ("pyproject.toml", b"", b'[tool.hatch.envs.test]\ndependencies=["a"]', Parts(dependencies=True)),
        ("pyproject.toml", b"", b'[build-system]\nrequires=["a"]', Parts(dependencies=True)),
        ("sub/pyproject.toml", b"", b'[tool.pytest]\naddopts=["-q"]', Parts(pytest=True)),
        ("pyproject.toml", b"", b"[tool.pytest-env]\nA=1", Parts(other=("tool.pytest-env.A",))),
        ("pyproject.toml", b"[a]\nx=1 # one\ny=2", b"[a]\ny=2\nx=1", Parts()),
        ("pyproject.toml", None, b"[tool.ruff]\nx=1", Parts(other=("tool.ruff.x",))),
        ("pyproject.toml", b"x = 1", b"x = ", Parts(pytest=True, dependencies=True, unreadable=True)),
        ("pyproject.toml", b"x = 1", b"\xff", Parts(pytest=True, dependencies=True, unreadable=True)),
        ("setup.cfg", b"", b"[tool:pytest]\naddopts=-q", Parts(pytest=True)),
        ("setup.cfg", b"", b"[pytest]\naddopts=-q", Parts(other=("pytest.addopts",))),
        ("setup.cfg", b"", b"[options]\ninstall_requires =\n  a", Parts(dependencies=True)),
        ("setup.cfg", b"", b"[options.extras_require]\nt = a", Parts(dependencies=True)),
        ("tox.ini", b"[testenv:x]\ndeps=a", b"[testenv:x]\ndeps=b", Parts(dependencies=True)),
        ("tox.ini", b"[pytest]\na=1", b"", Parts(pytest=True)),
        ("tox.ini", b"no section", b"", Parts(pytest=True, dependencies=True, unreadable=True)),
    ],
)
def test_each_part_is_told_apart(path: str, old: bytes | None, new: bytes | None, parts: Parts) -> None:
    assert parts_changed(path, old, new) == parts


def test_pytests_tables_take_their_place_and_the_rest_stays_to_the_byte() -> None:
    head = TOML.replace(b'"-q"', b'"-v"').replace(b'"x"', b'"y"').replace(b"= 1", b"= 2")
    assert graft("pyproject.toml", TOML, head) == TOML.replace(b'"-q"', b'"-v"')


@pytest.mark.parametrize(
    ("path", "base", "head", "expected"),
    [
        ("pyproject.toml", None, b"[a]\nx=1\n[tool.pytest.x]\ny=1\n", b"[tool.pytest.x]\ny=1\n"),
        ("pyproject.toml", b"[a]\nx=1", b"[tool.pytest.x]\ny=1", b"[a]\nx=1\n[tool.pytest.x]\ny=1\n"),
        ("pyproject.toml", b"[a]\nx=1\n[tool.pytest.x]\ny=1\n[b]\nz=1\n", None, b"[a]\nx=1\n[b]\nz=1\n"),
        ("pyproject.toml", b"[ tool . 'pytest'.x ]\ny=1\n", b"[tool.pytest.x]\ny=2\n", b"[tool.pytest.x]\ny=2\n"),
        (
            "pyproject.toml",
            b"a=1\r\n[tool.pytest.x]\r\ny=1\r\n",
            b"[tool.pytest.x]\ny=2\n",
            b"a=1\r\n[tool.pytest.x]\ny=2\n",
        ),
        ("pyproject.toml", b"[tool]\npytest.x.y=1\n", b"[tool.pytest.x]\ny=2\n", None),
        ("pyproject.toml", b"[a]\n", b"broken = ", None),
        (
            "setup.cfg",
            b"[a]\nx=1\n[tool:pytest]\ny=1\n[b]\nz=1\n",
            b"[tool:pytest]\ny =\n  2\n",
            b"[a]\nx=1\n[tool:pytest]\ny =\n  2\n[b]\nz=1\n",
        ),
        ("tox.ini", b"[tox]\nx=1\n", b"[pytest]\ny=1\n[tox]\nx=2\n", b"[tox]\nx=1\n[pytest]\ny=1\n"),
        ("tox.ini", b"broken\n", b"[pytest]\ny=1\n", None),
        ("tox.ini", b"\xff", b"[pytest]\ny=1\n", None),
    ],
)
def test_a_graft_is_right_or_none(path: str, base: bytes | None, head: bytes | None, expected: bytes | None) -> None:
    assert graft(path, base, head) == expected


VALUES = st.sampled_from(
    ['"a"', "1", '["x",\n ["[tool.pytest]"],\n]', '"""\n[tool.pytest.ini_options]\n"""', "{ a = 1 }"]
)
TABLES = st.dictionaries(
    st.sampled_from(["project", "tool.pytest.ini_options", "tool.pytest.other", "tool.a", "tool.pytest-x", "z"]),
    st.dictionaries(st.sampled_from(["k", "'[l]'", "m"]), VALUES, min_size=1, max_size=3),
    max_size=5,
)


@given(TABLES, TABLES)
def test_grafting_tables_takes_pytests_from_head_and_all_else_from_base(
    base: dict[str, dict[str, str]], head: dict[str, dict[str, str]]
) -> None:
    def text(tables: dict[str, dict[str, str]]) -> bytes:
        return "".join(
            f"[{name}]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
            for name, values in tables.items()
        ).encode()

    wanted = {name: values for name, values in base.items() if not name.startswith("tool.pytest.")}
    wanted |= {name: values for name, values in head.items() if name.startswith("tool.pytest.")}
    grafted = graft("pyproject.toml", text(base), text(head))
    assert grafted is not None
    assert tomllib.loads(grafted.decode()) == tomllib.loads(text(wanted).decode())


SAID = NamesOfTests(files=("check_*.py", "two words.py"), folders=("checks", "pkg/*/checks"))
INI = b"python_files = check_*.py\n    'two words.py'\ntestpaths = ./checks/ pkg/*/checks\n"
LISTS = b"python_files = ['check_*.py', 'two words.py']\ntestpaths = ['checks', 'pkg/*/checks']\n"


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({"pytest.ini": b"[pytest]\n" + INI}, SAID),
        ({".pytest.ini": b"[pytest]\n" + INI}, SAID),
        ({"tox.ini": b"[pytest]\n" + INI}, SAID),
        ({"setup.cfg": b"[tool:pytest]\n" + INI}, SAID),
        ({"pytest.toml": b"[pytest]\n" + LISTS}, SAID),
        ({"pyproject.toml": b"[tool.pytest.ini_options]\n" + LISTS}, SAID),
        ({"pyproject.toml": b"[tool.pytest]\n" + LISTS}, SAID),
        ({"pyproject.toml": b"[tool.pytest.ini_options]\ntestpaths = 'checks'\n"}, NamesOfTests(folders=("checks",))),
        # the first that says anything is the one that pytest reads
        ({"pytest.ini": b"", "setup.cfg": b"[tool:pytest]\n" + INI}, NamesOfTests()),
        ({"pyproject.toml": b"[project]\nname = 'x'\n", "setup.cfg": b"[tool:pytest]\n" + INI}, SAID),
        ({"setup.cfg": b"[pytest]\n" + INI}, NamesOfTests()),
        ({"pyproject.toml": b"not toml ["}, NamesOfTests()),
        ({"pytest.ini": b"[pytest]\npython_files = 'open\n"}, NamesOfTests()),
        ({"pyproject.toml": b"[tool.pytest.ini_options]\npython_files = 3\n"}, NamesOfTests()),
        ({}, NamesOfTests()),
    ],
)
def test_where_tests_are_is_read_as_pytest_reads_it(contents: dict[str, bytes], expected: NamesOfTests) -> None:
    assert names_of_tests(contents) == expected
