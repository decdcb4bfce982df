"""Head's tests on base's product: exactly the tests, byte for byte, and nothing of the fix."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.change.diff import changes
from repro_gate.change.layout import Layout
from repro_gate.change.overlay import Overlay, apply, layout_between, plan
from repro_gate.change.trees import materialise
from repro_gate.errors import TreeRefused
from tests.conftest import Files
from tests.gitrepo import Repo, Tree, commit_tree, hostile_commit, on_disk

LIMIT = 1 << 30
PYPROJECT = """\
[project]
name = "pkg"
dependencies = ["a"]

[tool.pytest.ini_options]
addopts = "-q"

[tool.other]
x = 1
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo.new(tmp_path / "repo")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    return Repo.new(tmp_path_factory.mktemp("shared") / "repo")


def planned(repo: Repo, base: str, head: str, layout: Layout | None = None) -> Overlay:
    opened = repo.opened
    found = changes(opened, base, head)
    return plan(opened, found, head=head, layout=layout or layout_between(opened, base, head))


def laid(repo: Repo, base: str, overlay: Overlay, target: Path) -> dict[bytes, tuple[str, bytes]]:
    materialise(repo.opened, base, target, max_bytes=LIMIT)
    apply(repo.opened, overlay, target)
    return on_disk(target)


def overlaid(
    repo: Repo, tmp_path: Path, base: Files, head: Files, remove: tuple[str, ...] = ()
) -> tuple[Overlay, Mapping[str, str]]:
    first = repo.commit(base)
    overlay = planned(repo, first, repo.commit(head, remove=remove))
    return overlay, {
        path.decode(): content.decode() for path, (_, content) in laid(repo, first, overlay, tmp_path / "o").items()
    }


def test_tests_and_documentation_go_and_the_product_stays(repo: Repo, tmp_path: Path) -> None:
    _, tree = overlaid(
        repo,
        tmp_path,
        {"pkg/__init__.py": "bug", "pkg/gone.py": "", "tests/test_a.py": "old", "tests/same.py": "same", "README": "1"},
        {
            "pkg/__init__.py": "fix",
            "pkg/new.py": "",
            "pkg/test_inner.py": "inner",
            "tests/test_a.py": "new",
            "tests/data/in.json": "{}",
            "conftest.py": "root",
            "README": "2",
            "docs/use.md": ">>> 1",
            "scripts/run": "",
        },
        remove=("pkg/gone.py",),
    )
    assert tree == {
        "pkg/__init__.py": "bug",
        "pkg/gone.py": "",
        "pkg/test_inner.py": "inner",
        "tests/test_a.py": "new",
        "tests/same.py": "same",
        "tests/data/in.json": "{}",
        "conftest.py": "root",
        "README": "2",
        "docs/use.md": ">>> 1",
    }


def test_deleted_and_renamed_tests_are_not_collected_twice(repo: Repo, tmp_path: Path) -> None:
    _, tree = overlaid(
        repo,
        tmp_path,
        {"tests/old/test_a.py": "a\n" * 9, "tests/test_gone.py": "g", "tests/pkg/__init__.py": ""},
        {"tests/new/test_a.py": "a\n" * 9},
        remove=("tests/old/test_a.py", "tests/test_gone.py", "tests/pkg/__init__.py"),
    )
    assert set(tree) == {"tests/new/test_a.py"}
    assert not (tmp_path / "o/tests/old").exists()
    assert not (tmp_path / "o/tests/pkg").exists()


def test_a_test_that_becomes_product_leaves_base(repo: Repo, tmp_path: Path) -> None:
    _, tree = overlaid(
        repo,
        tmp_path,
        {"tests/util.py": "u\n" * 9, "pkg/__init__.py": ""},
        {"pkg/util.py": "u\n" * 9},
        remove=("tests/util.py",),
    )
    assert set(tree) == {"pkg/__init__.py"}


def test_only_the_pytest_settings_of_a_mixed_file_go(repo: Repo, tmp_path: Path) -> None:
    fixed = PYPROJECT.replace('"a"', '"a>=2"').replace("-q", "-q --strict-markers").replace("x = 1", "x = 2")
    overlay, tree = overlaid(
        repo,
        tmp_path,
        {"pyproject.toml": PYPROJECT, "setup.cfg": "[metadata]\nname = x\n", "tox.ini": "[pytest]\naddopts = -v\n"},
        {
            "pyproject.toml": fixed,
            "setup.cfg": "[metadata]\nname = y\n[tool:pytest]\nmarkers = slow\n",
            "pytest.ini": "[pytest]\n",
        },
        remove=("tox.ini",),
    )
    assert tree["pyproject.toml"] == PYPROJECT.replace("-q", "-q --strict-markers")
    assert tree["setup.cfg"] == "[metadata]\nname = x\n[tool:pytest]\nmarkers = slow\n"
    assert tree["pytest.ini"] == "[pytest]\n"
    assert "tox.ini" not in tree
    assert {each.path for each in overlay.grafts} == {"pyproject.toml", "setup.cfg"}


def test_a_mixed_file_without_a_change_to_pytest_stays(repo: Repo, tmp_path: Path) -> None:
    overlay, tree = overlaid(
        repo, tmp_path, {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace("x = 1", "x = 2")}
    )
    assert (overlay, tree["pyproject.toml"]) == (Overlay(), PYPROJECT)


def test_settings_that_cannot_be_told_from_the_rest_are_left_and_said(repo: Repo, tmp_path: Path) -> None:
    overlay, tree = overlaid(
        repo, tmp_path, {"pyproject.toml": "[tool]\nx = 1\n"}, {"pyproject.toml": "[tool]\nx = 2\npytest.y.z = 2\n"}
    )
    assert tree["pyproject.toml"] == "[tool]\nx = 1\n"
    assert "left as on base" in overlay.notes[0]


def test_what_only_tests_import_goes_along(repo: Repo, tmp_path: Path) -> None:
    overlay, tree = overlaid(
        repo,
        tmp_path,
        {"pkg/__init__.py": "bug = 1\n", "pyproject.toml": PYPROJECT, "tools/unused.py": "", "tests/conftest.py": ""},
        {
            "pkg/__init__.py": "bug = 0\n",
            "pkg/testing.py": "",
            "tools/checks.py": "from tools import deeper\n",
            "tools/deeper.py": "import pkg\n",
            "tools/unused.py": "changed\n",
            "tools/loaded.py": "",
            "plugins/extra.py": "",
            "tests/conftest.py": "pytest_plugins = ['plugins.extra']\n",
            "tests/test_a.py": "import importlib, pkg.testing\nfrom tools.checks import x\n"
            "importlib.import_module('tools.loaded')\n",
        },
    )
    assert set(tree) - {"pyproject.toml", "tests/conftest.py", "tests/test_a.py"} == {
        "pkg/__init__.py",
        "tools/unused.py",
        "tools/checks.py",
        "tools/deeper.py",
        "tools/loaded.py",
        "plugins/extra.py",
    }
    assert (tree["pkg/__init__.py"], tree["tools/unused.py"]) == ("bug = 1\n", "")
    assert overlay.product_support == ("pkg/testing.py",)


def test_where_nothing_tells_the_product_all_that_is_no_test_is_product(repo: Repo, tmp_path: Path) -> None:
    _, tree = overlaid(
        repo, tmp_path, {"app.py": "bug"}, {"app.py": "fix", "helper.py": "", "test_app.py": "import app, helper\n"}
    )
    assert tree == {"app.py": "bug", "test_app.py": "import app, helper\n"}


def test_a_package_of_the_product_that_is_called_testing_stays(repo: Repo, tmp_path: Path) -> None:
    base = {"np/__init__.py": "", "np/testing/__init__.py": "bug", "np/testing/tests/test_x.py": "old"}
    overlay, tree = overlaid(
        repo,
        tmp_path,
        base,
        {"np/testing/__init__.py": "fix", "np/testing/tests/test_x.py": "import np.testing\n"},
    )
    assert tree["np/testing/__init__.py"] == "bug"
    assert tree["np/testing/tests/test_x.py"] == "import np.testing\n"
    assert overlay.product_support == ("np/testing/__init__.py",)


def test_submodules_of_tests_are_left_and_said(repo: Repo, tmp_path: Path) -> None:
    base = commit_tree(repo, {b"tests/sub": ("160000", b"1" * 40)})
    head = commit_tree(repo, {b"tests/sub": ("160000", b"2" * 40), b"tests/a": ("100644", b"a")}, base)
    overlay = planned(repo, base, head)
    assert [entry.path for entry in overlay.writes] == ["tests/a"]
    assert "tests/sub" in overlay.notes[0]


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ({b"tests": ("120000", b"OUTSIDE")}, {b"tests/test_a.py": ("100644", b"new")}),
        ({b"lib": ("120000", b"OUTSIDE")}, {b"lib/tests/test_a.py": ("100644", b"new")}),
        ({b"lib/tests": ("120000", b"OUTSIDE")}, {b"lib/tests/sub/test_a.py": ("100644", b"new")}),
        ({b"tests/data": ("100644", b"file")}, {b"tests/data/x": ("100644", b"new")}),
        ({b"tests/data/x": ("100644", b"old")}, {b"tests/data": ("100644", b"new")}),
        ({b"tests/a": ("100644", b"old")}, {b"tests/a": ("120000", b"OUTSIDE")}),
        ({b"tests/a/keep": ("100644", b"old")}, {b"tests/a": ("120000", b"OUTSIDE")}),
        ({b"conftest.py/x.txt": ("100644", b"old")}, {b"conftest.py": ("100644", b"new")}),
    ],
)
def test_links_folders_and_files_change_places_without_leading_away(
    repo: Repo, tmp_path: Path, base: Tree, head: Tree
) -> None:
    outside = tmp_path / "outside"
    (outside / "sub").mkdir(parents=True)
    (outside / "keep").write_text("keep")
    base, head = (
        {path: (mode, text.replace(b"OUTSIDE", bytes(outside))) for path, (mode, text) in tree.items()}
        for tree in (base, head)
    )
    first = commit_tree(repo, base)
    second = commit_tree(repo, head, first)
    before = on_disk(outside)
    overlay = planned(repo, first, second)
    assert laid(repo, first, overlay, tmp_path / "o") == head
    apply(repo.opened, overlay, tmp_path / "o")
    assert on_disk(tmp_path / "o") == head
    assert on_disk(outside) == before


def test_a_hostile_path_is_refused_before_anything_is_written(repo: Repo, tmp_path: Path) -> None:
    base = repo.commit({"a": "a"})
    blob = repo.git("hash-object", "-w", "--stdin", question=b"x")
    folder = repo.git("rev-parse", f"{hostile_commit(repo, ('100644', 'test_x.py', blob))}^{{tree}}")
    head = hostile_commit(repo, ("40000", "..", folder))
    with pytest.raises(TreeRefused):
        planned(repo, base, head)
    (tmp_path / "t").mkdir()
    with pytest.raises(TreeRefused):
        apply(repo.opened, Overlay(deletes=("../x",)), tmp_path / "t")


PATHS = st.sampled_from(
    [
        b"a",
        b"pkg/m.py",
        b"pkg/tests/x",
        b"tests/t.bin",
        b"tests/d/e",
        b"test_q.py",
        b"d/conftest.py",
        b"latest.py",
        b"tests",
    ]
)
CONTENTS = st.tuples(st.sampled_from(["100644", "100755", "120000"]), st.binary(min_size=1, max_size=6)).filter(
    lambda content: b"\0" not in content[1]
)
TREES = (
    st.dictionaries(PATHS, CONTENTS, max_size=7)
    .map(lambda tree: {path: what for path, what in tree.items() if path != b"tests" or len(tree) < 3})
    .filter(lambda tree: not any(path.startswith(other + b"/") for path in tree for other in tree))
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, TREES)
def test_an_overlay_of_everything_makes_head_out_of_base(
    shared: Repo, tmp_path_factory: pytest.TempPathFactory, base: Tree, head: Tree
) -> None:
    first = commit_tree(shared, base)
    second = commit_tree(shared, head, first)
    overlay = planned(shared, first, second, Layout(test_globs=("*",)))
    target = tmp_path_factory.mktemp("t")
    assert laid(shared, first, overlay, target) == head
    apply(shared.opened, overlay, target)
    assert on_disk(target) == head


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES, TREES)
def test_each_path_is_heads_if_it_is_a_test_and_else_bases(
    shared: Repo, tmp_path_factory: pytest.TempPathFactory, base: Tree, head: Tree
) -> None:
    base, head = ({path: what for path, what in tree.items() if path != b"tests"} for tree in (base, head))
    first = commit_tree(shared, base)
    overlay = planned(shared, first, commit_tree(shared, head, first), Layout())
    wanted = {path: what for path, what in base.items() if not Layout().is_test(path.decode())}
    wanted |= {path: what for path, what in head.items() if Layout().is_test(path.decode())}
    assert laid(shared, first, overlay, tmp_path_factory.mktemp("t")) == wanted


def test_the_digest_names_the_contents_and_not_the_order(repo: Repo) -> None:
    base = repo.commit({"tests/a": "1", "tests/b": "1", "pyproject.toml": PYPROJECT})
    head = repo.commit(
        {"tests/c": "2", "tests/b": "2", "pyproject.toml": PYPROJECT.replace("-q", "-v")}, remove=("tests/a",)
    )
    overlay = planned(repo, base, head)
    shuffled = list(overlay.writes)
    random.Random(1).shuffle(shuffled)
    assert dataclasses.replace(overlay, writes=tuple(shuffled), notes=("x",)).digest == overlay.digest
    others = [
        Overlay(),
        dataclasses.replace(overlay, deletes=()),
        dataclasses.replace(overlay, grafts=()),
        dataclasses.replace(overlay, writes=overlay.writes[1:]),
        dataclasses.replace(overlay, writes=tuple(dataclasses.replace(each, sha="0" * 40) for each in overlay.writes)),
    ]
    assert len({overlay.digest, *(other.digest for other in others)}) == 6
