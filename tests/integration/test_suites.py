"""Suites as people write them: every kind of test, layout and breakage gives its outcome in both modes."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest

from repro_gate.errors import CollectionFailed
from repro_gate.model import Mode
from tests.conftest import MakeLab, MakeProject, TestLab, outcomes

PLAIN = ("-p", "no:randomly")
ONE = "def test_one(): pass\n"


def check(lab: TestLab, expected: dict[str, str], *, controls_held: bool = True) -> None:
    """The same outcomes by fork and in a fresh process."""
    assert lab.collect().ready["fork"] is True
    for mode in Mode:
        result = lab.run(mode)
        assert outcomes(result) == expected, (mode, result.notes, [run.output[-600:] for run in result.runs])
        assert result.controls_held is controls_held


def test_unittest_classes_with_subtests_and_class_setup(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import unittest

        def setUpModule():
            global ready
            ready = True

        class TestOk(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.made = ready
            def test_made(self): self.assertTrue(self.made)
            def test_sub(self):
                for n in range(3):
                    with self.subTest(n=n):
                        self.assertNotEqual(n, 1)
            def test_sub_good(self):
                for n in range(3):
                    with self.subTest(n=n):
                        self.assertGreaterEqual(n, 0)
            @unittest.skip("no")
            def test_skip(self): pass
            @unittest.expectedFailure
            def test_expected(self): self.fail()
            @unittest.expectedFailure
            def test_unexpected(self): pass
            def test_late_skip(self): self.skipTest("late")

        class TestBroken(unittest.TestCase):
            @classmethod
            def setUpClass(cls): raise OSError("class")
            def test_never(self): pass

        class TestAsync(unittest.IsolatedAsyncioTestCase):
            async def test_awaits(self):
                import asyncio
                await asyncio.sleep(0)
    """
    check(
        host_lab(project({"test_u.py": tests}), *PLAIN),
        {
            "TestOk::test_made": "passed",
            "TestOk::test_sub": "failed",
            "TestOk::test_sub_good": "passed",
            "TestOk::test_skip": "skipped",
            "TestOk::test_expected": "xfailed",
            "TestOk::test_unexpected": "failed",
            "TestOk::test_late_skip": "skipped",
            "TestBroken::test_never": "error",
            "TestAsync::test_awaits": "passed",
        },
    )


def test_ids_with_any_characters(project: MakeProject, lab: MakeLab) -> None:
    tests = """\
        import pytest
        ODD = ["a b", "[x]", "ü", "a::b", "a/b", "a\\nb", "\\x00", "", "-k", "☃", "x" * 200, "'\\"", "\\udc80", "a.py::t"]
        @pytest.mark.parametrize("value", ODD, ids=lambda value: value)
        def test_odd(value): assert value in ODD
        @pytest.mark.parametrize("value", ODD)
        def test_one(value): pass
    """
    files = {
        "test_ids.py": tests,
        "pytest.ini": """\
            [pytest]
            disable_test_id_escaping_and_forfeit_all_rights_to_community_support = true
        """,
    }
    one = lab(project(files), *PLAIN)
    facts = one.collect()
    ids = tuple(test for test, _ in facts.tests)
    assert len(ids) == 28
    for mode in Mode:
        result = one.run(mode, tuple(reversed(ids)))
        assert [run.id for run in result.runs] == list(reversed(ids))
        assert {str(run.outcome) for run in result.runs} == {"passed"}


@pytest.mark.parametrize("style", ["auto", "strict"])
def test_asynchronous_tests(project: MakeProject, host_lab: MakeLab, style: str) -> None:
    mark = "@pytest.mark.asyncio\n" if style == "strict" else ""
    tests = textwrap.dedent("""\
        import asyncio, pytest, pytest_asyncio

        @pytest_asyncio.fixture
        async def ready():
            await asyncio.sleep(0)
            yield 7
            await asyncio.sleep(0)

        MARKasync def test_good(ready):
            await asyncio.sleep(0.01)
            assert ready == 7

        MARKasync def test_bad():
            await asyncio.gather(asyncio.sleep(0), asyncio.sleep(0))
            raise ValueError("async")
    """).replace("MARK", mark)
    ini = f"[pytest]\nasyncio_mode = {style}\nasyncio_default_fixture_loop_scope = function\n"
    one = host_lab(project({"test_async.py": tests, "pytest.ini": ini}), *PLAIN, plugins=True)
    check(one, {"test_good": "passed", "test_bad": "failed"})


def test_doctests_in_modules_and_text_files(project: MakeProject, host_lab: MakeLab) -> None:
    files = {
        "mod.py": '''\
            def f():
                """
                >>> f()
                1
                """
                return 1
            def g():
                """
                >>> g()
                3
                """
                return 2
        ''',
        "test_doc.txt": "Text.\n\n>>> 1 + 1\n2\n",
        "test_bad.txt": ">>> 1 + 1\n3\n",
    }
    one = host_lab(project(files), *PLAIN, "--doctest-modules", "--doctest-glob=*.txt")
    check(one, {"mod.f": "passed", "mod.g": "failed", "test_bad.txt": "failed", "test_doc.txt": "passed"})


def test_fixtures_of_every_scope_and_a_teardown_that_fails(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import pytest
        log = []

        @pytest.fixture(scope="session")
        def session():
            log.append("session"); yield; log.append("~session")
        @pytest.fixture(scope="module")
        def module(session):
            log.append("module"); yield; log.append("~module")
        @pytest.fixture(scope="class")
        def klass(module):
            log.append("class"); yield; log.append("~class")
        @pytest.fixture
        def bad():
            yield
            raise RuntimeError("teardown")
        @pytest.fixture
        def worse():
            raise RuntimeError("setup")

        class TestA:
            def test_first(self, klass): assert log == ["session", "module", "class"]
            def test_second(self, klass): assert log == ["session", "module", "class"]
        def test_third(module): assert log[-1] == "~class"
        def test_teardown(bad): pass
        def test_both(bad): assert 0
        def test_setup(worse): pass
    """
    expected = {
        "TestA::test_first": "passed",
        "TestA::test_second": "passed",
        "test_third": "passed",
        "test_teardown": "error",
        "test_both": "failed",
        "test_setup": "error",
    }
    check(host_lab(project({"test_f.py": tests}), *PLAIN), expected)


def test_xfail_and_skip_in_all_their_forms(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import pytest
        @pytest.mark.xfail
        def test_xfails(): assert 0
        @pytest.mark.xfail
        def test_xpasses(): pass
        @pytest.mark.xfail(strict=True)
        def test_strict(): pass
        @pytest.mark.xfail(raises=ValueError)
        def test_other_error(): raise KeyError
        @pytest.mark.xfail(run=False)
        def test_not_run(): raise SystemExit
        def test_imperative(): pytest.xfail("here")
        def test_skips(): pytest.skip("here")
        def test_needs(): pytest.importorskip("no_such_module_at_all")
        @pytest.fixture
        def skipping(): pytest.skip("in setup")
        def test_skipped_in_setup(skipping): pass
        @pytest.mark.skipif(True, reason="yes")
        def test_skipif(): pass
        @pytest.fixture
        def late():
            yield
            pytest.skip("in teardown")
        def test_skipped_in_teardown(late): pass
        @pytest.mark.xfail
        def test_xfails_in_setup(nothing_called_this): pass
    """
    whole = "import pytest\npytest.skip('all of it', allow_module_level=True)\ndef test_never(): pass\n"
    needs = "import pytest\npytest.importorskip('no_such_module_at_all')\ndef test_never(): pass\n"
    expected = {
        "test_xfails": "xfailed",
        "test_xpasses": "xpassed",
        "test_strict": "failed",
        "test_other_error": "failed",
        "test_not_run": "xfailed",
        "test_imperative": "xfailed",
        "test_skips": "skipped",
        "test_needs": "skipped",
        "test_skipped_in_setup": "skipped",
        "test_skipif": "skipped",
        "test_skipped_in_teardown": "skipped",
        "test_xfails_in_setup": "xfailed",
    }
    files = {"test_x.py": tests, "test_whole.py": whole, "test_needs.py": needs}
    check(host_lab(project(files), *PLAIN), expected)


LAYOUTS: dict[str, tuple[dict[str, str], str, tuple[str, ...]]] = {
    "flat": ({"pkg.py": "x = 1\n", "test_a.py": "import pkg\n" + ONE}, "", ()),
    "flat with tests in a folder": ({"pkg.py": "x = 1\n", "tests/test_a.py": "import pkg\n" + ONE}, "", ()),
    "tests in a package": (
        {
            "pkg.py": "x = 1\n",
            "tests/__init__.py": "",
            "tests/test_a.py": "from tests import test_a; import pkg\n" + ONE,
        },
        "",
        (),
    ),
    "src with pythonpath": (
        {
            "src/pkg/__init__.py": "x = 1\n",
            "tests/test_a.py": "import pkg; assert 'src' in pkg.__file__\n" + ONE,
            "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["src"]\ntestpaths = ["tests"]\n',
        },
        "",
        (),
    ),
    "pytest.ini": (
        {"pytest.ini": "[pytest]\npython_files = check_*.py\n", "check_a.py": ONE, "test_b.py": "1/0"},
        "",
        (),
    ),
    "tox.ini": ({"tox.ini": "[pytest]\npython_files = check_*.py\n", "check_a.py": ONE, "test_b.py": "1/0"}, "", ()),
    "setup.cfg": (
        {"setup.cfg": "[tool:pytest]\npython_files = check_*.py\n", "check_a.py": ONE, "test_b.py": "1/0"},
        "",
        (),
    ),
    "pyproject.toml": (
        {
            "pyproject.toml": '[tool.pytest.ini_options]\npython_files = "check_*.py"\n',
            "check_a.py": ONE,
            "test_b.py": "1/0",
        },
        "",
        (),
    ),
    "no configuration": ({"test_a.py": ONE}, "", ()),
    "below the git root": (
        {"lib/pytest.ini": "[pytest]\n", "lib/test_a.py": ONE, "other/test_b.py": "1/0", "top.txt": ""},
        "lib",
        (),
    ),
    "from the git root, one folder": (
        {"lib/pytest.ini": "[pytest]\n", "lib/test_a.py": ONE, "other/test_b.py": "1/0"},
        "",
        ("lib",),
    ),
    "reading a file of the git root": (
        {
            "lib/test_a.py": "import pathlib\ndef test_one(): assert (pathlib.Path(__file__).parent.parent / 'top.txt').exists()\n",
            "top.txt": "",
        },
        "lib",
        (),
    ),
    "a conftest that adds options": (
        {
            "conftest.py": """\
                import pytest
                def pytest_addoption(parser):
                    parser.addoption("--colour", default="red")
                    parser.addini("shape", "", default="round")
                @pytest.fixture
                def colour(pytestconfig): return pytestconfig.getoption("--colour"), pytestconfig.getini("shape")
            """,
            "pytest.ini": "[pytest]\naddopts = --colour=blue\nshape = square\n",
            "test_a.py": "def test_one(colour): assert colour == ('blue', 'square')\n",
        },
        "",
        (),
    ),
    "conftests at several levels": (
        {
            "conftest.py": "import pytest\n@pytest.fixture\ndef level(): return ['top']\n",
            "a/conftest.py": "import pytest\n@pytest.fixture\ndef level(level): return [*level, 'a']\n",
            "a/b/conftest.py": "import pytest\n@pytest.fixture\ndef level(level): return [*level, 'b']\n",
            "a/b/test_a.py": "def test_one(level): assert level == ['top', 'a', 'b']\n",
        },
        "",
        (),
    ),
    "a name with spaces": ({"my tests/test a.py": ONE}, "", ("my tests/test a.py",)),
    "an argument by way of the parent": ({"test_a.py": ONE, "test_b.py": "assert 0\n"}, "", ("../proj/test_a.py",)),
    "an id as argument": ({"test_a.py": ONE + "def test_two(): assert 0\n"}, "", ("test_a.py::test_one",)),
    "names in another script": ({"проект/test_ünï.py": ONE}, "", ()),
}


@pytest.mark.parametrize(
    "lab", ["host", *(pytest.param(name, marks=pytest.mark.deep) for name in ("bubblewrap", "docker"))], indirect=True
)
@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_layouts_and_configuration_files(project: MakeProject, lab: MakeLab, layout: str) -> None:
    files, directory, arguments = LAYOUTS[layout]
    root = project(files)
    if "git root" in layout:
        (root / ".git").mkdir()
    one = lab(root / directory, *PLAIN, *arguments)
    assert one.collect().ready["fork"] is True
    for mode in Mode:
        result = one.run(mode)
        assert [str(run.outcome) for run in result.runs] == ["passed"], (mode, result.notes)
        assert result.controls_held


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if "argument" not in name])
def test_a_part_of_the_suite_is_collected_by_its_files(project: MakeProject, host_lab: MakeLab, layout: str) -> None:
    files, directory, arguments = LAYOUTS[layout]
    root = project(files)
    if "git root" in layout:
        (root / ".git").mkdir()
    one = host_lab(root / directory, *PLAIN, *arguments)
    (known,) = one.collect().tests
    result = one.run(Mode.FRESH, (known[0],), files=(known[1],))
    assert [(run.id, str(run.outcome)) for run in result.runs] == [(known[0], "passed")], result.notes


def test_one_broken_module_does_not_hide_the_others(project: MakeProject, host_lab: MakeLab) -> None:
    one = host_lab(project({"test_a.py": ONE, "test_b.py": "import nothing_like_this\n" + ONE}), *PLAIN)
    facts = one.collect()
    assert [node for node, _ in facts.errors] == ["test_b.py"]
    assert "nothing_like_this" in facts.errors[0][1]
    assert [run.id for run in one.run(Mode.FRESH).runs] == ["test_a.py::test_one"]


def test_files_that_skip_themselves_are_told_with_the_reason(project: MakeProject, host_lab: MakeLab) -> None:
    files = {
        "test_a.py": ONE,
        "test_opt.py": "import pytest\npytest.importorskip('nosuch')\n" + ONE,
        "sub/test_os.py": "import pytest\npytest.skip('another system', allow_module_level=True)\n" + ONE,
        "test_hash.py": """\
            import os, pytest
            if os.environ['PYTHONHASHSEED'] != '0':
                pytest.skip('sometimes', allow_module_level=True)
            def test_h(): pass
        """,
    }
    one = host_lab(project(files), *PLAIN)
    assert one.collect().skipped == {
        "test_opt.py": "could not import 'nosuch': No module named 'nosuch'",
        "sub/test_os.py": "another system",
    }
    for seed in (0, 0, 1, 2):
        one.run(Mode.FORK, hash_seed=seed)
    one.run(Mode.FRESH, ("test_a.py::test_one",), files=("test_a.py",))
    told = {file.file: (file.reason, file.skipped, file.starts) for file in one.lab.skipped_files.all()}
    assert told == {
        "sub/test_os.py": ("another system", 3, 3),
        "test_hash.py": ("sometimes", 2, 3),
        "test_opt.py": ("could not import 'nosuch': No module named 'nosuch'", 3, 3),
    }


def test_no_tests_at_all_is_an_empty_list_or_a_sentence(project: MakeProject, host_lab: MakeLab) -> None:
    one = host_lab(project({"readme.txt": ""}), *PLAIN)
    facts = one.collect()
    assert facts.tests == []
    assert facts.ready["count"] == 0


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"conftest.py": "raise RuntimeError('broken conftest')\n", "test_a.py": ONE}, "broken conftest"),
        ({"pytest.ini": "[pytest]\naddopts = --no-such-option\n", "test_a.py": ONE}, "no-such-option"),
        ({"conftest.py": "import os\nos._exit(9)\n", "test_a.py": ONE}, "status 9"),
        ({"conftest.py": "import os\nos.kill(os.getpid(), 11)\n", "test_a.py": ONE}, "status -11"),
    ],
    ids=["conftest raises", "unknown option", "conftest exits", "conftest crashes"],
)
def test_a_suite_that_cannot_be_collected_is_told_in_pytests_words(
    project: MakeProject, lab: MakeLab, files: dict[str, str], words: str
) -> None:
    with pytest.raises(CollectionFailed) as failed:
        lab(project(files), *PLAIN).collect()
    assert words in f"{failed.value} {failed.value.details}"


def test_a_collection_that_hangs_is_ended(project: MakeProject, host_lab: MakeLab) -> None:
    one = host_lab(project({"conftest.py": "import time\ntime.sleep(600)\n"}))
    one.lab._collect_seconds = 1.0
    with pytest.raises(CollectionFailed, match="took more than 1 s"):
        one.collect()


def test_duplicate_ids_are_run_as_often_as_they_are_there(project: MakeProject, host_lab: MakeLab) -> None:
    conftest = "def pytest_collection_modifyitems(items): items.extend(items[:1])\n"
    one = host_lab(project({"test_a.py": ONE, "conftest.py": conftest}), *PLAIN)
    assert [str(run.outcome) for run in one.run(Mode.FORK).runs] == ["passed", "passed"]
    assert [str(run.outcome) for run in one.run(Mode.FORK, ("test_a.py::test_one",)).runs] == ["passed"]


def test_a_thread_that_starts_at_import_means_no_forks_and_says_so(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import threading
        stop = threading.Event()
        threading.Thread(target=stop.wait, name="the-ticker", daemon=True).start()
        def test_one(): pass
        def test_two(): assert 0
    """
    one = host_lab(project({"test_a.py": tests}), *PLAIN)
    facts = one.collect()
    assert facts.ready["fork"] is False
    assert "the-ticker" in facts.ready["reason"]
    result = one.run(Mode.FRESH)
    assert outcomes(result) == {"test_one": "passed", "test_two": "failed"}
    assert result.controls_held


def test_ids_that_change_from_start_to_start_are_reported_as_not_run(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import os, pytest
        @pytest.mark.parametrize("pid", [os.getpid()])
        def test_changing(pid): pass
        def test_same(): pass
    """
    one = host_lab(project({"test_a.py": tests}), *PLAIN)
    ids = tuple(test for test, _ in one.collect().tests)
    assert [str(run.outcome) for run in one.run(Mode.FORK, ids).runs] == ["passed", "passed"]
    fresh = one.run(Mode.FRESH, ids)
    assert {run.id: str(run.outcome) for run in fresh.runs} == {ids[0]: "not_run", ids[1]: "passed"}


def test_the_tree_is_put_back_between_experiments(project: MakeProject, lab: MakeLab) -> None:
    tests = """\
        import os, pathlib
        def test_finds_everything_as_it_was():
            assert sorted(p.name for p in pathlib.Path("data").iterdir()) == ["a", "b"]
            assert pathlib.Path("data/a").read_text() == "a"
            assert os.listdir(pathlib.Path.home()) == []
            assert not list(pathlib.Path(os.environ["TMPDIR"]).glob("left"))
            pathlib.Path("data/a").write_text("changed")
            pathlib.Path("data/b").unlink()
            pathlib.Path("data/c").write_text("new")
            pathlib.Path.home().joinpath("left").write_text("")
            pathlib.Path(os.environ["TMPDIR"], "left").write_text("")
    """
    root = project({"test_a.py": tests, "data/a": "a", "data/b": "b"})
    one = lab(root, *PLAIN)
    for mode in (Mode.FORK, Mode.FORK, Mode.FRESH, Mode.FORK):
        result = one.run(mode)
        assert [str(run.outcome) for run in result.runs] == ["passed"], [run.output for run in result.runs]
    assert sorted(path.name for path in (root / "data").iterdir()) == ["a", "b"]


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_leftovers_of_a_first_pass_are_there_in_the_second(project: MakeProject, lab: MakeLab, mode: Mode) -> None:
    tests = """\
        import pathlib
        def test_once(): pathlib.Path("left").touch(exist_ok=False)
    """
    one = lab(project({"test_a.py": tests}), *PLAIN)
    assert outcomes(one.run(mode, leftovers=1)) == {"test_once": "failed"}
    assert outcomes(one.run(mode)) == {"test_once": "passed"}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_partners_run_in_the_same_directory_and_are_gone_afterwards(
    project: MakeProject, lab: MakeLab, mode: Mode
) -> None:
    tests = """\
        import pathlib, time
        def test_waits_for_a_partner():
            deadline = time.monotonic() + 20
            while not pathlib.Path("sign").exists():
                assert time.monotonic() < deadline
                time.sleep(0.01)
        def test_partner():
            pathlib.Path("sign").touch()
            while True:
                pathlib.Path("busy").touch()
    """
    one = lab(project({"test_a.py": tests}), *PLAIN)
    result = one.run(
        mode, ("test_a.py::test_waits_for_a_partner",), partners=(("test_a.py::test_partner",),), parallel=2
    )
    assert outcomes(result) == {"test_waits_for_a_partner": "passed"}
    assert result.controls_held


def test_an_editable_installation_of_the_project_leads_to_the_copy(project: MakeProject, lab: MakeLab) -> None:
    root = project(
        {
            "src/pkg_of_ours/__init__.py": "",
            "tests/test_a.py": """\
                import os, sys, pkg_of_ours
                def test_one():
                    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
                    assert pkg_of_ours.__file__.startswith(here + os.sep), sys.path
            """,
        }
    )
    one = lab(root, *PLAIN, env={"PYTHONPATH": str(root / "src")})
    check(one, {"test_one": "passed"})


def test_git_works_in_the_copy(project: MakeProject, lab: MakeLab) -> None:
    root = project(
        {
            "test_a.py": """\
                import subprocess
                def test_clean():
                    command = ["git", "-c", "safe.directory=*", "status", "--porcelain"]
                    done = subprocess.run(command, capture_output=True, text=True)
                    assert (done.returncode, done.stdout) == (0, ""), done
            """,
            ".gitignore": "__pycache__\n.pytest_cache\n",
            "dir/file": "x",
        }
    )
    (root / "link").symlink_to("./dir/file")
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one")
    check(lab(root, *PLAIN), {"test_clean": "passed"})


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)
