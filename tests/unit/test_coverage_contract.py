"""What is used of coverage.py beyond its public interface is there, and does what it is used for."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import coverage
from coverage.config import CoverageConfig
from coverage.env import PYBEHAVIOR
from coverage.files import GlobMatcher
from coverage.misc import join_regex
from coverage.parser import PythonParser
from packaging.requirements import Requirement

from repro_gate.gates.coverage import Rules, read_rules
from repro_gate.gates.coverage.structure import Structure

ROOT = Path(__file__).resolve().parents[2]
TEXT = """\
def f(x):
    if (x and
            x > 1):
        return 1
    with g() as a:
        h(a)
    try:
        k()
    finally:
        m()
"""
RULES = read_rules(Path("/nowhere"))


def test_the_minor_version_is_pinned_and_is_the_one_that_is_tested() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [Requirement(each) for each in pyproject["project"]["optional-dependencies"]["coverage"]]
    (pinned,) = (each.specifier for each in wanted if each.name == "coverage")
    major, minor, *_ = (int(part) for part in coverage.__version__.split("."))
    assert pinned.contains(metadata.version("coverage"))
    assert not pinned.contains(f"{major}.{minor + 1}")
    for name in ("dev.in", "action.in"):
        listed = (ROOT / "requirements" / name).read_text(encoding="utf-8").splitlines()
        assert [Requirement(line).specifier for line in listed if line.startswith("coverage")] == [pinned]


def test_the_parser_tells_statements_ways_out_and_first_lines() -> None:
    parser = PythonParser(text=TEXT, filename="<text>", exclude="no cover")
    parser.parse_source()
    assert parser.statements == {1, 2, 4, 5, 6, 7, 8, 10}
    assert parser.excluded == set()
    assert (parser.first_line(3), parser.multiline_map[3]) == (2, 2)
    assert {arc for arc in parser.arcs() if arc[0] == 2} == {(2, 4), (2, 5)}
    assert parser.exit_counts()[2] == 2
    assert parser.lines_matching("h\\(a\\)") == {6}
    assert parser.translate_lines([3]) == {2}
    assert parser.missing_arc_description(2, 4) == (
        "line 2 didn't jump to line 4 because the condition on line 2 was never true"
    )


def test_an_arc_to_itself_means_the_one_way_out_of_a_line() -> None:
    analysis = Structure(TEXT, RULES).analysis({1, 2, 5, 6, 7, 8, 10}, {(2, 5)})
    assert analysis.executed == {1, 2, 5, 6, 7, 8, 10}
    assert analysis.missing_branch_arcs() == {2: [4]}
    assert analysis.executed_branch_arcs() == {2: [5]}
    assert analysis.branch_stats()[2] == (2, 1)
    assert (1, -1) not in analysis.arcs_missing()


def test_the_end_of_a_with_is_read_as_the_python_that_ran_it_goes_through_it() -> None:
    text = "def f():\n    with (\n        g() as a,\n        h() as b,\n    ):\n        if a:\n            k()\n    return 1\n"
    before = PYBEHAVIOR.exit_with_through_ctxmgr
    for python, last in (("3.11.7", 2), ("3.12.1", 2), ("3.12.6", 3), ("3.13.0", 3)):
        structure = Structure(text, RULES, python)
        missing = structure.analysis({1, 2, 3, 4, 6, 7, 8}, {(6, 7), (6, last)}).missing_branch_arcs()
        assert 6 not in missing, python
    assert PYBEHAVIOR.exit_with_through_ctxmgr is before


def test_the_configuration_has_what_is_read_of_it(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        "[tool.coverage.run]\nbranch = true\nsource = ['a']\nsource_pkgs = ['b']\nsource_dirs = ['c']\ninclude = ['d']\n"
        "omit = ['e']\nplugins = ['f']\n[tool.coverage.report]\nexclude_also = ['g']\nomit = ['h']\npartial_also = ['i']\n",
        encoding="utf-8",
    )
    config = CoverageConfig()
    said: list[str] = []
    assert config.from_file(str(file), said.append, False)
    config.post_process()
    assert (config.branch, config.source, config.source_pkgs, config.source_dirs) == (True, ["a"], ["b"], ["c"])
    assert (config.run_include, config.run_omit, config.report_omit, config.plugins) == (["d"], ["e"], ["h"], ["f"])
    assert "g" in config.exclude_list
    assert "i" in config.partial_list
    assert said == []
    assert read_rules(tmp_path) == Rules(
        exclude=join_regex(config.exclude_list),
        partial=join_regex([*config.partial_list, *config.partial_always_list]),
        source=("a", "b", "c"),
        omit=("e", "h"),
        file="pyproject.toml",
        notes=("plugins of coverage.py are not used: f",),
    )


def test_patterns_match_whole_paths() -> None:
    assert GlobMatcher(["/project/a/*"]).match("/project/a/b.py")
    assert GlobMatcher(["*/b.py"]).match("/project/a/b.py")
    assert not GlobMatcher(["/project/a"]).match("/project/ab.py")
