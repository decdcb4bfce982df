"""Fingerprints of tests: an edit changes those of the tests it can matter to, and of no other."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from repro_gate.experiment import plugin_root
from repro_gate.sandbox import Interpreter
from tests.conftest import MakeLab, MakeProject, write_files

# Collects many projects, each in a fork: a process for each would cost most of the time.
COLLECT = """\
import json, os, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import pytest
from repro_gate_pytest import facts, failure
class Reader:
    def pytest_collection_finish(self, session):
        root = os.getcwd()
        files = frozenset(str(item.path) for item in session.items if not hasattr(item, "dtest"))
        self.found = {}
        for frame in facts.frames(session, failure.Zones(root, files), root, 3):
            for data in frame["items"]:
                data["fixtures"] = [frame["fixtures"][n] for n in data.get("fixtures", ())]
                data["reads"] = [frame["files"][n] for n in data.get("reads", ())]
                self.found[session.items[data.pop("t")].nodeid] = data
for directory in json.load(sys.stdin):
    read, write = os.pipe()
    if os.fork() == 0:
        os.chdir(directory)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        reader = Reader()
        pytest.main(["-p", "no:cacheprovider", "--collect-only", "--doctest-modules"], plugins=[reader])
        with os.fdopen(write, "w") as pipe:
            json.dump(getattr(reader, "found", None), pipe)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.wait()
    sys.stderr.write(text + "\\n")
"""

BASE: dict[str, str] = {
    "pkg/__init__.py": "",
    "pkg/core.py": 'RATE = 2\ndef double(n):\n    """Twice.\n\n    >>> double(2)\n    4\n    """\n    return n * RATE\n',
    "conftest.py": """\
        import pytest
        OPTION = 1
        def pytest_collection_modifyitems(items): items.sort(key=lambda i: OPTION)
        @pytest.fixture
        def number(): return 1
        @pytest.fixture
        def unused(): return 5
    """,
    "tests/__init__.py": "",
    "tests/conftest.py": """\
        import pytest
        from .support import make
        @pytest.fixture
        def number(number): return number + 1
        @pytest.fixture(params=[1, 2])
        def many(request): return request.param
        @pytest.fixture
        def thing(): return make(1)
        @pytest.fixture
        def late(): return 3
        @pytest.fixture
        def marked(request): return 1
    """,
    "tests/support.py": """\
        from pkg.core import double
        SIZE = 4
        STEP = 1
        def make(n): return [n] * SIZE
        def check(value): assert value
        def unrelated(): return STEP
        def recursive(n): return n and other(n)
        def other(n): return n and recursive(n - 1)
    """,
    "tests/starred.py": "A = 1\nB = 2\n",
    "tests/test_a.py": """\
        import pytest
        import tests.support as support
        from pkg.core import double
        from tests import support as s2
        from tests.support import check as verify
        LIMIT = 10
        CASES = [1, 2]
        def helper(n):
            return n + LIMIT
        def shadow(LIMIT):
            return LIMIT
        def test_plain():
            assert double(1) == 2
        def test_helper(): assert helper(1)
        def test_shadowed(): assert shadow(1)
        def test_attribute(): assert support.make(1)
        def test_attribute_of_from(): assert s2.make(1)
        def test_alias(): verify(1)
        def test_bare_module(): assert getattr(support, "SIZE")
        def test_fixture(number): pass
        def test_thing(thing): pass
        def test_many(many): pass
        def test_asks(request): request.getfixturevalue("late")
        def test_recursive(): support.recursive(1)
        def test_local_import():
            from tests.support import SIZE
            assert SIZE
        @pytest.mark.parametrize("n", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
        def test_params(n): assert n
        @pytest.mark.parametrize("n", CASES)
        def test_cases(n): assert n
        @pytest.mark.parametrize("marked", [1], indirect=True)
        def test_indirect(marked): assert marked
        @pytest.mark.parametrize("f", [lambda: 1])
        def test_lambda(f): assert f()
    """,
    "tests/test_star.py": "from tests.starred import *\ndef test_star(): assert A\ndef test_no_star(): assert 1\n",
    "tests/test_marked.py": "import pytest\npytestmark = [pytest.mark.slow]\ndef test_marked(): assert 1\n",
    "tests/test_effects.py": "import os\nos.environ['X'] = '1'\ndef test_effects(): assert 1\n",
    "tests/test_made.py": """\
        def build(n):
            def test(): assert n
            return test
        test_made = build(1)
        test_made_too = build(2)
        def test_beside(): assert 1
    """,
    "tests/test_classes.py": """\
        import pytest, unittest
        class Base:
            SIZE = 1
            def help(self): return self.deep()
            def deep(self): return 1
            def spare(self): return 2
        @pytest.mark.slow
        class TestThing(Base):
            def setup_method(self): self.x = 1
            @pytest.fixture
            def own(self): return self.deep()
            def test_helps(self): assert self.help()
            def test_own(self, own): assert own
            def test_alone(self): assert 1
        class TestOther:
            def test_other(self): assert 1
        class TestUnit(unittest.TestCase):
            def setUp(self): self.y = 1
            def helper(self): return 1
            def test_unit(self): self.helper()
            def test_unit_alone(self): pass
    """,
}
ALL_OF_A = [
    "plain",
    "helper",
    "shadowed",
    "attribute",
    "attribute_of_from",
    "alias",
    "bare_module",
    "fixture",
    "thing",
    "many[1]",
    "many[2]",
    "asks",
    "recursive",
    "local_import",
    "params[1]",
    "params[2]",
    "params[3]",
    "cases[1]",
    "cases[2]",
    "indirect[1]",
    "lambda[<lambda>]",
]

# what is edited, old, new, and the tests (by their names' ends) whose fingerprints change
SUPPORT, A, CLASSES = "tests/support.py", "tests/test_a.py", "tests/test_classes.py"
Case = tuple[str, str, str, str]
CASES: dict[str, Case] = {
    # nothing that matters
    "comment": (A, "return n + LIMIT", "return n + LIMIT  # why", ""),
    "blank lines": (A, "LIMIT = 10\n", "\n\n\nLIMIT = 10\n\n", ""),
    "parentheses and quotes": (A, "return n + LIMIT", "return (n + (LIMIT))", ""),
    "a docstring of a test": (A, "def test_plain():\n", 'def test_plain():\n    "Says."\n', ""),
    "product code": ("pkg/core.py", "RATE = 2", "RATE = 3", ""),
    "a product function's docstring": ("pkg/core.py", "Twice.", "Twice as much.", "double"),
    "a helper nobody uses": (SUPPORT, "STEP = 1", "STEP = 2", "bare_module"),
    "a fixture nobody uses": ("conftest.py", "return 5", "return 6", ""),
    "a member nobody uses": (CLASSES, "return 2", "return 3", ""),
    "a shadowed name": (A, "def shadow(LIMIT):\n    return LIMIT", "def shadow(OTHER):\n    return OTHER", "shadowed"),
    # the test and what it names
    "its body": (A, "assert double(1) == 2", "assert double(1) == 3", "plain"),
    "an operator": (A, "return n + LIMIT", "return n - LIMIT", "helper"),
    "a constant of a helper": (A, "LIMIT = 10", "LIMIT = 11", "helper"),
    "a helper in another file": (SUPPORT, "return [n] * SIZE", "return [n] + SIZE", "attribute attribute_of_from bare_module thing"),
    "its constant": (SUPPORT, "SIZE = 4", "SIZE = 5", "attribute attribute_of_from bare_module local_import thing"),
    "a helper by another name": (SUPPORT, "assert value", "assert not value", "alias bare_module"),
    "helpers in a ring": (SUPPORT, "n and recursive(n - 1)", "n and recursive(n - 2)", "bare_module recursive"),
    "what an import names": (A, "from pkg.core import double", "from pkg.core import RATE as double", "plain"),
    "a starred module": ("tests/starred.py", "B = 2", "B = 3", "test_star.py::test_star"),
    "a factory": ("tests/test_made.py", "assert n", "assert not n", "test_made test_made_too"),
    "a factory's argument": ("tests/test_made.py", "build(2)", "build(3)", "test_made_too"),
    # marks and parameters
    "a decorator": (A, "def test_plain", '@pytest.mark.skipif("0")\ndef test_plain', "plain"),
    "a value": (A, "[1, 2, pytest", "[1, 7, pytest", "params[2] params[7]"),
    "one more value": (A, "[1, 2, pytest", "[1, 2, 7, pytest", "params[7]"),
    "a mark of a value": (A, "pytest.mark.slow)", "pytest.mark.fast)", "params[3]"),
    "a list of cases": (A, "CASES = [1, 2]", "CASES = [1, 2, 3]", "cases[1] cases[2] cases[3]"),
    "a lambda among parameters": (A, "[lambda: 1]", "[lambda: 2]", "lambda[<lambda>]"),
    "a module's mark": ("tests/test_marked.py", "mark.slow", "mark.fast", "test_marked"),
    "what importing a module does": ("tests/test_effects.py", "'1'", "'2'", "test_effects"),
    # fixtures
    "a fixture": ("tests/conftest.py", "return number + 1", "return number + 2", "test_fixture"),
    "the fixture below an override": ("conftest.py", "def number(): return 1", "def number(): return 2", "test_fixture"),
    "an override that hides": ("tests/conftest.py", "def number(number): return number", "def number(): return 1", "test_fixture"),
    "a fixture's value": ("tests/conftest.py", "params=[1, 2]", "params=[1, 3]", "many[2] many[3]"),
    "a fixture's scope": ("tests/conftest.py", "params=[1, 2]", "params=[1, 2], scope='module'", "many[1] many[2]"),
    "a fixture asked for by name": ("tests/conftest.py", "def late(): return 3", "def late(): return 4", "asks"),
    "an indirect fixture": ("tests/conftest.py", "def marked(request): return 1", "def marked(request): return 2", "indirect[1]"),
    "a fixture for all": ("tests/conftest.py", "@pytest.fixture\ndef late", "@pytest.fixture(autouse=True)\ndef late", "*tests/"),
    # hooks
    "a hook's constant": ("conftest.py", "OPTION = 1", "OPTION = 2", "*"),
    "what a conftest does": ("tests/conftest.py", "import pytest\n", "import pytest\nprint(1)\n", "*tests/"),
    "what a package does": ("tests/__init__.py", "", "print(1)\n", "*tests/"),
    # classes
    "a class's mark": (CLASSES, "mark.slow", "mark.fast", "helps own TestThing::test_alone"),
    "a class constant": (CLASSES, "SIZE = 1", "SIZE = 2", "helps own TestThing::test_alone"),
    "a method two calls away": (CLASSES, "def deep(self): return 1", "def deep(self): return 2", "helps own"),
    "a set-up": (CLASSES, "self.x = 1", "self.x = 2", "helps own TestThing::test_alone"),
    "a base": (CLASSES, "class TestOther:", "class TestOther(Base):", "test_other"),
    "a fixture of a class": (CLASSES, "def own(self): return self.deep()", "def own(self): return 1", "own"),
    "a unittest's set-up": (CLASSES, "self.y = 1", "self.y = 2", "test_unit test_unit_alone"),
    "a unittest's helper": (CLASSES, "def helper(self): return 1", "def helper(self): return 2", "test_unit"),
}  # fmt: skip


def dedented(files: Mapping[str, str], directory: Path) -> dict[str, str]:
    write_files(directory, files)
    return {name: (directory / name).read_text(encoding="utf-8") for name in files}


def collect(python: str, directories: list[Path]) -> list[dict[str, Any]]:
    done = subprocess.run(
        [python, "-c", COLLECT, str(plugin_root())],
        input=json.dumps([str(directory) for directory in directories]),
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},  # most of the time, for so many starts
    )
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith(("{", "null"))]


Collected = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def collected(interpreter: Interpreter, tmp_path_factory: pytest.TempPathFactory) -> Collected:
    """Items of the base project (key ``""``) and of each edited one."""
    base = dedented(BASE, tmp_path_factory.mktemp("base"))
    directories = {"": tmp_path_factory.mktemp("facts")}
    write_files(directories[""], base)
    for label, (file, old, new, _) in CASES.items():
        directories[label] = tmp_path_factory.mktemp("facts")
        assert old in base[file], label
        edited = base[file].replace(old, new, 1) if old else new
        write_files(directories[label], {**base, file: edited})
    write_files(
        directories.setdefault("moved", tmp_path_factory.mktemp("facts")),
        {
            **{name: text for name, text in base.items() if name != CLASSES},
            "tests/deep/__init__.py": "",
            "tests/deep/test_moved.py": "\n\n\n" + base[CLASSES],
        },
    )
    return dict(zip(directories, collect(interpreter.executable, list(directories.values())), strict=True))


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    assert before
    assert after
    return {
        test
        for test in before.keys() | after.keys()
        if before.get(test, {}).get("fingerprint") != after.get(test, {}).get("fingerprint")
    }


@pytest.mark.parametrize("label", list(CASES))
def test_an_edit_changes_the_fingerprints_of_the_tests_it_matters_to(collected: Collected, label: str) -> None:
    before, after = collected[""], collected[label]
    ends = CASES[label][3].split()
    every = before.keys() | after.keys()
    if ends and ends[0].startswith("*"):
        expected = {test for test in every if test.startswith(ends[0][1:])}
    else:
        expected = {
            test for test in every for end in ends if test.endswith((f"::{end}", f"::test_{end}", f".{end}", f"/{end}"))
        }
        assert len(expected) == len(ends), (expected, sorted(every))
    assert changed(before, after) == expected


def test_equal_trees_have_equal_facts_wherever_they_stand(
    collected: Collected, interpreter: Interpreter, tmp_path: Path
) -> None:
    write_files(tmp_path / "elsewhere", dedented(BASE, tmp_path / "x"))
    assert collect(interpreter.executable, [tmp_path / "elsewhere"]) == [collected[""]]
    assert {data["original"] for test, data in collected[""].items() if "test_a.py" in test} == {
        f"test_{name.partition('[')[0]}" for name in ALL_OF_A
    }


def test_a_moved_file_keeps_the_fingerprints_of_its_tests(collected: Collected) -> None:
    moved = {
        test.partition("::")[2]: data["fingerprint"]
        for test, data in collected["moved"].items()
        if test.startswith("tests/deep/")
    }
    before = {
        test.partition("::")[2]: data["fingerprint"] for test, data in collected[""].items() if test.startswith(CLASSES)
    }
    assert before
    assert moved == before


def test_facts_say_where_a_test_is_and_what_it_gets(collected: Collected) -> None:
    items = collected[""]
    fixture = items["tests/test_a.py::test_fixture"]
    assert fixture["fixtures"] == [["number", "conftest.py", 5], ["number", "tests/conftest.py", 4]]
    assert (fixture["file"], fixture["kind"], fixture["original"]) == ("tests/test_a.py", "function", "test_fixture")
    assert items["tests/test_a.py::test_plain"]["span"] == [12, 13]
    assert items["tests/test_a.py::test_attribute"]["reads"] == ["tests/support.py"]
    assert items["tests/test_a.py::test_thing"]["reads"] == ["tests/support.py"]
    assert items["tests/test_a.py::test_plain"]["reads"] == []
    last = items["tests/test_a.py::test_params[3]"]
    assert (last["params"], last["index"], last["span"]) == ("n=3", 2, [28, 29])
    assert items["tests/test_classes.py::TestUnit::test_unit"]["kind"] == "unittest"
    doctest = items["pkg/core.py::pkg.core.double"]
    assert (doctest["kind"], doctest["file"], doctest["span"]) == ("doctest", "pkg/core.py", [3, 7])


def test_facts_come_with_a_collection_that_asks_for_them(project: MakeProject, lab: MakeLab) -> None:
    files = {
        **BASE,
        "data/case.json": "{}",
        "tests/test_read.py": "open('data/case.json').read()\ndef test_r(): pass\n",
    }
    root = project({**files, "json.py/x": ""})
    found = lab(root, "-p", "no:randomly", facts=True).collect()
    assert set(found.items) == {test for test, _ in found.tests}
    item = found.items["tests/test_a.py::test_thing"]
    assert item.fixtures == (("thing", "tests/conftest.py", 8),)
    assert item.reads_modules == ("tests/support.py",)
    assert found.import_opened == ("data/case.json",)
    assert found.origins["pkg.core"] == "pkg/core.py"
    assert found.origins["tests.support"] == "tests/support.py"
    assert "os" not in found.origins
    assert lab(root, "-p", "no:randomly").collect().items == {}


def test_a_product_that_comes_from_elsewhere_is_told_by_its_file(project: MakeProject, host_lab: MakeLab) -> None:
    elsewhere = project({"shop/__init__.py": ""}, name="installed")
    root = project({"src/shop/__init__.py": "", "test_s.py": "import shop\ndef test_s(): pass\n"})
    found = host_lab(root, "-p", "no:randomly", facts=True, env={"PYTHONPATH": str(elsewhere)}).collect()
    assert found.origins["shop"] == str(elsewhere / "shop" / "__init__.py")


def test_what_a_test_asks_of_code_and_files_is_told_through_its_helpers(
    interpreter: Interpreter, tmp_path: Path
) -> None:
    write_files(
        tmp_path,
        {
            "pkg.py": "def f():\n    'F.'\n    return f.__doc__\n",
            "test_it.py": """\
                import inspect, os, pathlib, pydoc
                from inspect import getdoc as words
                import pkg
                def said(thing): return thing.__doc__
                def there(): return os.path.exists("x")
                def test_plain(): assert pkg.f() == "F."
                def test_by_helper(): assert said(pkg.f)
                def test_by_name(): assert getattr(pkg.f, "__doc__")
                def test_by_import(): assert words(pkg.f)
                def test_by_module(): assert pydoc.plain(pkg.f)
                def test_shown(): help(pkg.f)
                def test_help_of_another(): assert pkg.help or not pkg
                def test_code(): assert pkg.f.__code__.co_names
                def test_annotations(): assert not inspect.get_annotations(pkg.f)
                def test_annotations_with_all(): assert inspect.signature(pkg.f)
                def test_another_signature(): assert pkg.signature or not pkg
                def test_imported_inside():
                    import builtins
                    builtins.help(pkg.f)
                def test_made_name(): assert getattr(pkg.f, "__" + "doc" + "__")
                def test_all_there_is(): assert vars(pkg)
                def test_members(): assert inspect.getmembers(pkg.f)
                def test_files(): assert there() and said
            """,
            "test_doc.py": "def f():\n    '>>> import pkg; pkg.f.__doc__'\n",
        },
    )
    [found] = collect(interpreter.executable, [tmp_path])
    assert {test.rpartition("::")[2]: set(item.get("asks", ())) for test, item in found.items()} == {
        "test_plain": set(),
        "test_by_helper": {"docs"},
        "test_by_name": {"docs"},
        "test_by_import": {"docs"},
        "test_by_module": {"docs"},
        "test_shown": {"docs"},
        "test_help_of_another": set(),
        "test_code": {"code"},
        "test_annotations": {"annotations"},
        "test_annotations_with_all": {"annotations"},
        "test_another_signature": set(),
        "test_imported_inside": {"docs"},
        "test_made_name": {"docs"},
        "test_all_there_is": {"docs"},
        "test_members": {"docs"},
        "test_files": {"docs", "files"},
        "test_doc.f": {"docs"},
    }
