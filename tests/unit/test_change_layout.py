"""Paths are judged component by component, and product packages are not taken for tests."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.change.configuration import NamesOfTests
from repro_gate.change.layout import (
    Layout,
    is_configuration,
    is_dependency_file,
    is_mixed_file,
    is_named_as_support,
    is_pytest_file,
    layout_of,
)


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.json",
        "test/a.py",
        "pkg/testing/a.py",
        "pkg/tests/deep/x",
        "test_a.py",
        "src/pkg/test_a.py",
        "pkg/a_test.py",
        "conftest.py",
        "a b/conftest.py",
        "tests/__init__.py",
    ],
)
def test_tests_are_tests(path: str) -> None:
    assert Layout().is_test(path)


@pytest.mark.parametrize(
    "path",
    [
        "src/pytest_rerunfailures.py",
        "latest.py",
        "contest/a.py",
        "pkg/attest.py",
        "pkg/testing.py",
        "pkg/tests.py",
        "Tests/a.py",
        "pkg/test_data.json",
        "mytests/a",
        "tests",
        "pkg/my_conftest.py",
        "pkg/_test.pyi",
        "protest/es.py",
    ],
)
def test_what_only_looks_like_a_test_is_none(path: str) -> None:
    assert not Layout().is_test(path)


@given(st.text(st.characters(codec="ascii", exclude_characters="/"), min_size=1), st.sampled_from(["a.py", "x/y.json"]))
def test_a_folder_is_one_of_tests_exactly_by_its_name(name: str, rest: str) -> None:
    assert Layout().is_test(f"{name}/{rest}") == (name in ("test", "tests", "testing"))


@pytest.mark.parametrize(
    ("glob", "path", "expected"),
    [
        ("specs", "specs/a/b.py", True),
        ("specs/", "specs/a.py", True),
        ("*.feature", "deep/x.feature", True),
        ("specs", "myspecs/a.py", False),
        ("check_*.py", "check_a.py", True),
        ("pkg/check_*.py", "other/check_a.py", False),
    ],
)
def test_declared_globs_name_files_or_folders(glob: str, path: str, *, expected: bool) -> None:
    assert Layout(test_globs=(glob,)).is_test(path) is expected


@pytest.mark.parametrize(
    ("paths", "path", "expected"),
    [
        # django.test and numpy.testing: packages of the product without tests of their own.
        (["dj/__init__.py", "dj/test/__init__.py", "dj/test/client.py"], "dj/test/client.py", False),
        (["np/__init__.py", "np/testing/__init__.py", "np/testing/tests/test_a.py"], "np/testing/__init__.py", False),
        (["np/__init__.py", "np/testing/__init__.py", "np/testing/tests/x.py"], "np/testing/tests/x.py", True),
        # ... and a folder of tests inside a package.
        (["p/__init__.py", "p/test/__init__.py", "p/test/test_a.py", "p/test/util.py"], "p/test/util.py", True),
        (["p/__init__.py", "p/test/__init__.py", "p/test/deep/test_a.py"], "p/test/util.py", True),
        (["test/__init__.py", "test/util.py"], "test/util.py", True),
        (["p/__init__.py", "p/tests/__init__.py"], "p/tests/util.py", True),
    ],
)
def test_a_folder_called_testing_is_judged_by_what_is_around_it(paths: list[str], path: str, *, expected: bool) -> None:
    assert layout_of(paths).is_test(path) is expected


SHOP = ("shop/__init__.py", "shop/price.py", "shop/check_price.py", "checks/price.py", "checks/deep/x.json", "other.py")


@pytest.mark.parametrize(
    ("files", "folders", "paths", "tests"),
    [
        (["check_*.py"], [], SHOP, {"shop/check_price.py"}),
        (["shop/check_*"], [], SHOP, {"shop/check_price.py"}),
        (["checks/*_price.py"], [], SHOP, set()),
        (["*.py"], [], SHOP, set()),  # says nothing
        (["*.py"], ["checks"], SHOP, {"checks/price.py", "checks/deep/x.json"}),
        ([], ["./checks/"], SHOP, {"checks/price.py", "checks/deep/x.json"}),
        ([], ["che*"], SHOP, {"checks/price.py", "checks/deep/x.json"}),
        (["check_*.py"], ["shop"], SHOP, {"shop/check_price.py"}),  # beside the code
        (["check_*.py"], ["."], SHOP, {"shop/check_price.py"}),
        ([], ["src"], ("src/shop/a.py", "src/shop/test_a.py"), {"src/shop/test_a.py"}),
        ([], ["src/shop"], ("src/shop/a.py", "src/shop/test_a.py"), {"src/shop/test_a.py"}),
        ([], ["a", "b"], ("a/__init__.py", "b/__init__.py", "c/x.py"), set()),  # every package
        ([], ["a"], ("a/__init__.py", "a/x.py", "a/test_x.py"), {"a/test_x.py"}),  # the only package
        ([], ["code"], ("code/a/__init__.py", "b/__init__.py"), set()),
        # nothing else could be the product
        ([], ["code"], ("code/a.py", "code/test_b.py", "setup.py", "docs/conf.py"), {"code/test_b.py"}),
        ([], ["a", "b"], ("a/x.py", "a/test_y.py", "b/z.py"), {"a/test_y.py"}),
        (["*.py"], ["code"], ("code/a.py", "setup.py"), {"code/a.py"}),
        # a module whose own test stands beside it is code
        ([], ["shop", "more"], (*SHOP, "more/rates.py", "more/test_rates.py"), {"more/test_rates.py"}),
        (
            ["check_*.py"],
            ["more"],
            (*SHOP, "more/rates.py", "more/check_rates.py"),
            {"shop/check_price.py", "more/check_rates.py"},
        ),
        # ... but for one among tests of code elsewhere
        (
            [],
            ["more"],
            (*SHOP, "more/rates.py", "more/test_rates.py", "more/test_prices.py"),
            {"more/rates.py", "more/test_rates.py", "more/test_prices.py"},
        ),
        (
            [],
            ["more"],
            (*SHOP, "more/a.py", "more/test_a.py", "more/b.py", "more/test_b.py", "more/test_both.py"),
            {"more/test_a.py", "more/test_b.py", "more/test_both.py"},
        ),
        ([], ["more"], (*SHOP, "more/rates.py", "more/test_prices.py"), {"more/rates.py", "more/test_prices.py"}),
        (["*.py"], ["more"], (*SHOP, "more/rates.py", "more/test_rates.py"), {"more/rates.py", "more/test_rates.py"}),
    ],
)
def test_pytests_own_settings_say_what_a_test_is(
    files: list[str], folders: list[str], paths: tuple[str, ...], tests: set[str]
) -> None:
    said = NamesOfTests(files=tuple(files), folders=tuple(str(PurePosixPath(each)) for each in folders))
    layout = layout_of(paths, pyproject=b'[project]\nname = "shop"\n', settings=[NamesOfTests(), said])
    assert {path for path in paths if layout.is_test(path)} == tests
    assert not any(layout.is_product(path) for path in tests)


def test_code_below_testpaths_with_its_test_beside_it_is_product() -> None:
    said = [NamesOfTests(folders=("tools", "."))]
    paths = (*SHOP, "tools/rates.py", "tools/test_rates.py", "odd/a.py", "odd/test_a.py")
    assert layout_of(paths, settings=said).product == ("shop", "tools")
    assert layout_of(paths).product == ("shop",)


@pytest.mark.parametrize(
    ("paths", "pyproject", "roots"),
    [
        (["src/pkg/a.py", "src/one.py", "tools/x.py"], "", {"src/pkg", "src/one.py"}),
        (["pkg/__init__.py", "pkg/sub/__init__.py", "tests/__init__.py", "tools/__init__.py"], "", {"pkg"}),
        (["six.py", "other.py"], '[project]\nname = "six"', {"six.py"}),
        (["my_app/main.py", "x/y.py"], '[project]\nname = "My-App"', {"my_app"}),
        (["lib/pkg/a.py", "pkg/a.py"], '[tool.hatch.build.targets.wheel]\npackages = ["lib/pkg", "gone"]', {"lib/pkg"}),
        (["lib/a/b/x.py"], '[tool.setuptools]\npackages = ["a.b"]\npackage-dir = {"" = "lib"}', {"lib/a/b"}),
        (["m.py"], '[tool.setuptools]\npy-modules = ["m"]', {"m.py"}),
        (["code/p/x.py"], '[[tool.poetry.packages]]\ninclude = "p"\nfrom = "code"', {"code/p"}),
        (["app.py"], "", set()),
        (["app.py"], "not toml [", set()),
        (["a/b.py"], '[tool]\nhatch = 3\n[project]\nname = ["x"]', set()),
    ],
)
def test_the_product_is_what_gets_installed(paths: list[str], pyproject: str, roots: set[str]) -> None:
    assert set(layout_of(paths, pyproject=pyproject.encode()).product) == roots


def test_what_the_product_reads_may_stand_beside_it() -> None:
    paths = ("pkg/a.json", "templates/x.html", "locale/de/x.po", "pkg/a.py", "static/tests/a.js", "migrations/a.py")
    known = layout_of(["pkg/__init__.py"])
    assert [path for path in (*paths, "samples/a.json", "templates") if known.is_resource(path)] == [
        *paths[:3],
        "templates",
    ]


def test_documentation_is_prose_beside_the_product() -> None:
    paths = ("README.md", "CHANGES", "docs/a/use.txt", "pkg/docs/help.txt", "pkg/help.md", "docs/conf.py")
    more = (".github/x.md", ".env", "docs/.x", "docs/requirements.txt", "setup.cfg", "data.json")
    known = layout_of(["pkg/__init__.py"])
    assert [path for path in (*paths, *more) if known.is_documentation(path)] == [*paths[:3]]
    unknown = layout_of(["app.py"])
    assert [path for path in (*paths, *more) if unknown.is_documentation(path)] == [*paths[:4]]


def test_product_is_told_from_support_where_something_tells() -> None:
    known = layout_of(["pkg/__init__.py", "pkg/tests/a.py", "tools/x.py"])
    names = ("pkg/a.py", "pkg/data.json", "pkg/tests/a.py", "tools/x.py", "pkgs/x.py")
    assert [known.is_product(name) for name in names] == [True, True, False, False, False]
    programs = ("scripts/x.py", "scripts/x.sh", "scripts/tests/a.py", "bin/deep/x.py", "tools/x.py", "pkg/a.py")
    assert [known.with_programs(["tests/a.py"]).is_product(name) for name in programs] == [
        *(True, False, False, True, False, True)
    ]
    assert [known.with_programs(["scripts/x.py"]).is_product(name) for name in programs] == [*[False] * 5, True]
    unknown = layout_of(["app.py"])
    assert [unknown.is_product(name) for name in ("app.py", "test_app.py")] == [True, False]


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        ("pytest.ini", "pytest configuration"),
        ("sub/.pytest.ini", "pytest configuration"),
        ("pyproject.toml", "mixed configuration"),
        ("sub/tox.ini", "mixed configuration"),
        ("setup.cfg", "mixed configuration"),
        ("setup.py", "dependencies"),
        ("uv.lock", "dependencies"),
        ("sub/poetry.lock", "dependencies"),
        ("pylock.dev.toml", "dependencies"),
        ("requirements-test.txt", "dependencies"),
        ("dev-requirements.txt", "dependencies"),
        ("requirements/ci.txt", "dependencies"),
        ("requirements.py", ""),
        ("my_setup.py", ""),
        ("notes.txt", ""),
        ("pytest.ini/x", ""),
    ],
)
def test_configuration_and_dependency_files_are_known_by_name(path: str, kinds: str) -> None:
    found = {
        "pytest": is_pytest_file(path),
        "mixed": is_mixed_file(path),
        "configuration": is_configuration(path),
        "dependencies": is_dependency_file(path),
    }
    assert {kind for kind, holds in found.items() if holds} == set(kinds.split())


@pytest.mark.parametrize(
    ("path", "expected"),
    [("pkg/testing.py", True), ("pkg/_testing/a.py", True), ("test_utils.py", True), ("pkg/latest.py", False)],
)
def test_support_may_say_so_by_its_name(path: str, *, expected: bool) -> None:
    assert is_named_as_support(path) is expected
