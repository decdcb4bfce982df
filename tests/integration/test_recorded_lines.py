"""The instrument: what is recorded of lines and branches is what coverage.py measures on the same project."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import iniconfig
import pytest

from repro_gate.errors import CoverageFilesFailed
from repro_gate.gates.coverage import read_rules
from repro_gate.gates.coverage.structure import Structure
from repro_gate.model import ExperimentResult, Mode, Recording, Trace
from repro_gate.pipeline.coverage_files import write_files
from tests.conftest import MakeLab, MakeProject
from tests.conftest import write_files as write_tree

PLAIN = ("-p", "no:randomly")

SHAPES = '''\
"""A docstring."""
import contextlib
import functools
from dataclasses import dataclass, field

LIMIT = 3
if LIMIT > 2:
    KIND = "large"
else:
    KIND = "small"


def decorate(wrapped):
    @functools.wraps(wrapped)
    def inner(*args):
        if args:
            return wrapped(*args)
        return None
    return inner


@decorate
@functools.lru_cache(
    maxsize=4,
)
def decorated(n):
    if n > 1:
        return n
    return -n


def half(n):
    if n > LIMIT:
        n += 1
    return n


def both(n):
    if n > LIMIT:
        n += 1
    else:
        n -= 1
    return n


def several(a, b):
    if (a
            and b):
        return 1
    if a or \\
            b:
        return 2
    while a < 3 and not b:
        a += 1
        if a == 2:
            continue
        if a == 100:
            break
    else:
        a = 7
    return (a if a
            else b)


def loops(items):
    for item in items:
        if item == 2:
            break
    else:
        return "all"
    for item in ():
        print(item)
    for item in items:
        pass
    return [each for each in items if each
            if each > 1]


def stream(n):
    for i in range(n):
        if i % 2:
            yield i
        got = yield
        if got:
            return


async def waits(n):
    async for each in arrives(n):
        if each:
            return each
    async with closing() as one:
        one = await nothing()
    return one


async def arrives(n):
    for i in range(n):
        yield i


@contextlib.asynccontextmanager
async def closing():
    try:
        yield 1
    finally:
        nothing()


async def nothing():
    return None


class Thing:
    """Its docstring."""
    size = 3
    if size > 2:
        big = True

    @property
    def shape(self):
        return self.size

    @staticmethod
    def one(): return 1

    class Inner:
        x: int = 4


class Short(Exception): pass


@dataclass
class Data:
    a: int
    b: list = field(
        default_factory=list,
    )


def tries(n):
    try:
        if n == 1:
            raise KeyError(n)
        if n == 2:
            return "early"
        if n == 5:
            raise Short
    except KeyError as e:
        n = str(e)
    except (ValueError,
            TypeError):
        n = "other"
    else:
        n = 9
    finally:
        n = (n, n)
    return n


def finals(n):
    for i in range(3):
        try:
            if i == n:
                break
            if i > n:
                continue
        finally:
            n = n + 0
    while True:
        try:
            return n
        finally:
            if n > 1:
                n = 0


def withs(n):
    with contextlib.suppress(KeyError):
        if n:
            raise KeyError
    with contextlib.suppress(KeyError), \\
            contextlib.suppress(ValueError):
        if n > 1:
            return 3
    with (
        contextlib.suppress(KeyError) as a,
        contextlib.suppress(ValueError) as b,
    ):
        while n:
            n -= 1
    return n


def matches(x):
    match x:
        case 1:
            return "one"
        case [a, b] if a > b:
            return "pair"
        case {"k": v,
              "l": w}:
            y = v
        case str() | bytes():
            y = 3
        case _:
            y = 4
    match y:
        case 3:
            y = 5
    return y


def excluded(n):
    if n:  # pragma: no cover
        return 1
    if n is None:  # pragma: no branch
        n = 2
    if n == 3:
        raise NotImplementedError
    return n


def nested(n):
    def inside(m):
        if m:
            return m
        return inside(m + 1)
    short = lambda m: m if m else inside(m)
    return short(n) if n > 5 else inside(
        n
    )


def one_line(n):
    if n: return 1
    for _ in range(n): pass
    return 2


def recursive(n):
    try:
        if n > 2:
            return 0
        return 1 + recursive(n + 1)
    finally:
        assert n < 9, "text"


def never():
    if LIMIT:
        return 1


def raises(n):
    while n:
        n = n - 1
        if n == 1:
            raise Short(
                n,
            )


class Headers:
    def called(
        self,
        n=1,
    ): return n

    def typed(self,
              n: int = 1) -> int: return n

    def bare(self,
             n): return n

    size = {
        (1): 2,
    }


def last(
    n,
): return n
'''

TESTS = """\
    import asyncio, sys, threading, unittest
    import pytest
    from pkg import shapes

    def test_half(): shapes.half(9)
    def test_both(): shapes.both(9)
    def test_both_ways(): shapes.both(1)
    def test_decorated(): shapes.decorated(3)
    @pytest.mark.parametrize("a,b", [(0, 0), (1, 1), (0, 1)], ids=["grün", "[日本]", "c"])
    def test_several(a, b): shapes.several(a, b)
    def test_loops():
        shapes.loops([1, 2])
        shapes.loops([1])
    def test_stream(): assert list(shapes.stream(3)) == [None, 1, None, None]
    def test_waits():
        asyncio.run(shapes.waits(2))
        asyncio.run(shapes.waits(1))
    def test_waits_late(): asyncio.run(shapes.waits(0))
    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_tries(n): shapes.tries(n)
    def test_tries_through():
        with pytest.raises(shapes.Short): shapes.tries(5)
    @pytest.mark.parametrize("n", [0, 2])
    def test_finals(n): shapes.finals(n)
    @pytest.mark.parametrize("n", [0, 1])
    def test_withs(n): shapes.withs(n)
    @pytest.mark.parametrize("x", [1, (2, 1), {"k": 1, "l": 2}, "s", None])
    def test_matches(x): shapes.matches(x)
    def test_excluded(): shapes.excluded(0)
    def test_nested(): shapes.nested(0)
    def test_one_line(): shapes.one_line(0)
    def test_recursive(): shapes.recursive(0)
    def test_raises():
        with pytest.raises(shapes.Short): shapes.raises(3)
    def test_headers(): shapes.Headers().called()
    def test_class(): shapes.Thing().shape, shapes.Thing.one(), shapes.Data(1)
    def test_thread():
        thread = threading.Thread(target=shapes.half, args=(1,))
        thread.start()
        thread.join()
    def test_lazy():
        import pkg.lazy
    def test_own_tracer():
        before = sys.gettrace()
        sys.settrace(lambda *_: None)
        sys.settrace(before)
        shapes.half(2)
    class TestSub(unittest.TestCase):
        def test_each(self):
            for n in (1, 9):
                with self.subTest(n=n):
                    shapes.both(n)
"""
FILES = {
    "pkg/__init__.py": "",
    "pkg/shapes.py": SHAPES,
    "pkg/lazy.py": "VALUE = 2\nif VALUE > 3:\n    VALUE = 4\n",
    "pkg/told.py": 'def told(n):\n    """\n    >>> told(1)\n    2\n    """\n    if n:\n        return n + 1\n    return 0\n',
    "pkg/dead.py": "if True:\n    X = 1\ndef f(x):\n    if x:\n        return 1\n",
    "pyproject.toml": '[tool.coverage.report]\nexclude_also = ["raise NotImplementedError"]\n',
    "test_it.py": TESTS,
}
PRODUCT = ("pkg/__init__.py", "pkg/dead.py", "pkg/lazy.py", "pkg/shapes.py", "pkg/told.py")


def recorded(result: ExperimentResult, at_import: tuple[Trace, ...], python: str) -> Recording:
    assert {str(run.outcome) for run in result.runs} == {"passed"}, [run.output[-800:] for run in result.runs]
    return Recording(
        outcomes={run.id: run.outcome for run in result.runs},
        by_test={run.id: run.evidence.ran for run in result.runs if run.evidence is not None},
        at_import=at_import,
        python=python,
    )


def ours(root: Path, recording: Recording, place: Path) -> dict[str, Any]:
    out = place / "ours.json"
    write_files(recording, read_rules(root), root, PRODUCT, {"json": out}, place / "made")
    return measured(json.loads(out.read_text(encoding="utf-8")))


def theirs(root: Path, python: str, place: Path, *arguments: str) -> dict[str, Any]:
    """The same project under coverage.py's own C tracer."""
    environ = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(root), "COVERAGE_CORE": "ctrace"}
    data = f"--data-file={place / 'theirs'}"
    coverage = [python, "-m", "coverage"]
    run = [*coverage, "run", data, "--branch", "--source=pkg", "-m", "pytest", "-q", *arguments]
    done = subprocess.run(run, cwd=root, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    out = place / "theirs.json"
    subprocess.run([*coverage, "json", data, "-q", "-o", str(out)], cwd=root, env=environ, check=True, timeout=60)
    return measured(json.loads(out.read_text(encoding="utf-8")))


def measured(document: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("executed_lines", "missing_lines", "excluded_lines", "executed_branches", "missing_branches")
    return {path: {key: file[key] for key in kept} for path, file in document["files"].items()}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_lines_and_branches_are_those_that_coverage_measures(
    project: MakeProject, host_lab: MakeLab, tmp_path: Path, mode: Mode
) -> None:
    root = project(FILES)
    options = ("--doctest-modules",)
    one = host_lab(root, *PLAIN, *options, record=PRODUCT)
    facts = one.collect()
    recording = recorded(one.run(mode), facts.import_ran, facts.hello["python"])
    assert ours(root, recording, tmp_path) == theirs(root, sys.executable, tmp_path, *options)


@pytest.mark.parametrize("without", [False, True], ids=["as it is", "tracing"])
def test_a_product_that_pytest_itself_imports_is_recorded_from_its_first_line(
    project: MakeProject, host_lab: MakeLab, without: bool
) -> None:
    """As of pluggy, iniconfig and others, whose own projects are tested with them."""
    exceptions = Path(iniconfig.__file__).with_name("exceptions.py").read_text(encoding="utf-8")
    module = Path(iniconfig.__file__).with_name("_parse.py").read_text(encoding="utf-8")
    init = Path(iniconfig.__file__).read_text(encoding="utf-8") + "\n\ndef added(n):\n    return n + 1\n"
    tests = "import iniconfig\ndef test_added(): assert iniconfig.added(1) == 2\n"
    files = {"iniconfig/__init__.py": init, "iniconfig/exceptions.py": exceptions, "iniconfig/_parse.py": module}
    root = project({**files, "test_it.py": tests, "less/sitecustomize.py": NO_TRACER_IN_C})
    last = init.count("\n")
    one = host_lab(root, *PLAIN, record=tuple(files), env={"PYTHONPATH": str(root / "less")} if without else {})
    facts = one.collect()
    recording = recorded(one.run(), facts.import_ran, facts.hello["python"])
    assert recording.tests_of("iniconfig/__init__.py", [last]) == ("test_it.py::test_added",)
    assert last - 1 in recording.import_lines["iniconfig/__init__.py"]


def test_files_for_other_tools_have_what_an_include_of_the_installed_product_means(tmp_path: Path) -> None:
    path, other = "src/pkg/mod.py", "src/pkg/other.py"
    root = write_tree(tmp_path / "p", {path: "A = 1\n", other: "B = 1\n"})
    (root / ".coveragerc").write_text("[run]\ninclude = */site-packages/pkg/mod.py\n", encoding="utf-8")
    recording = Recording(at_import=(Trace(path, "1"), Trace(other, "1")))
    out = tmp_path / "out.json"
    write_files(recording, read_rules(root), root, [path], {"json": out}, tmp_path / "made")
    assert list(json.loads(out.read_text(encoding="utf-8"))["files"]) == [path]
    with pytest.raises(CoverageFilesFailed, match=r"nothing to write .* no file of the product counts by \.coveragerc"):
        write_files(recording, read_rules(root), root, [], {"json": out}, tmp_path / "none")


@pytest.mark.parametrize(
    "rules",
    [
        "[run]\ninclude = pkg/*\n[report]\ninclude = */a*.py\n    pkg/c.py\nomit = pkg/c.py\n",
        "[run]\nsource = pkg\n[report]\ninclude = */a*.py\n",
        "[run]\nsource = pkg.a\n    pkg.a[b]\n    pkg/aXb.py\n",
        "[run]\nomit = pkg/b.py\n    pkg/c.py\n    top.py\n    apart.py\n",
    ],
)
def test_files_for_other_tools_have_exactly_the_files_that_count(tmp_path: Path, rules: str) -> None:
    """Also where what ran is more than that, and a name looks like a pattern that others match."""
    paths = ["pkg/a.py", "pkg/a[b].py", "pkg/aXb.py", "pkg/b.py", "pkg/c.py", "top.py", "apart.py"]
    root = write_tree(tmp_path / "p", dict.fromkeys(paths, "A = 1\n"))
    (root / ".coveragerc").write_text(rules, encoding="utf-8")
    found = read_rules(root)
    counted = [path for path in paths if not found.leaves_out(path, path.removesuffix(".py").replace("/", "."))]
    assert counted == ["pkg/a.py", "pkg/a[b].py", "pkg/aXb.py"]
    recording = Recording(at_import=tuple(Trace(path, "1") for path in paths))
    wanted = {name: tmp_path / f"out.{name}" for name in ("json", "lcov", "xml")}
    write_files(recording, found, root, counted, wanted, tmp_path / "made")
    assert sorted(json.loads(wanted["json"].read_text(encoding="utf-8"))["files"]) == sorted(counted)
    lcov = wanted["lcov"].read_text(encoding="utf-8")
    assert [line[3:] for line in lcov.splitlines() if line.startswith("SF:")] == sorted(counted)
    xml = wanted["xml"].read_text(encoding="utf-8")
    assert sorted(re.findall(r'filename="([^"]+)"', xml)) == sorted(counted)


NO_MONITORING = "import sys\nfor n in range(6): hasattr(sys, 'monitoring') and sys.monitoring.use_tool_id(n, str(n))\n"
NO_TRACER_IN_C = NO_MONITORING + "import importlib.machinery\nimportlib.machinery.EXTENSION_SUFFIXES.clear()\n"


@pytest.mark.parametrize("without", [NO_MONITORING, NO_TRACER_IN_C], ids=["tracing in C", "tracing"])
def test_every_means_records_the_same(project: MakeProject, host_lab: MakeLab, tmp_path: Path, without: str) -> None:
    root = project({**FILES, "less/sitecustomize.py": without})
    found = []
    for environ in ({}, {"PYTHONPATH": str(root / "less")}):
        one = host_lab(root, *PLAIN, record=PRODUCT, env=environ)
        facts = one.collect()
        recording = recorded(one.run(), facts.import_ran, facts.hello["python"])
        found.append(recording)
    structure = Structure(SHAPES, read_rules(root), found[0].python)
    for test in found[0].outcomes:
        (lines, arcs), (others, ways) = (each.ran("pkg/shapes.py", [test]) for each in found)
        assert lines == others, test
        assert structure.analysis(lines, arcs).executed_branch_arcs() == (
            structure.analysis(others, ways).executed_branch_arcs()
        ), test
