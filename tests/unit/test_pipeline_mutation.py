"""From an instrumented run and settings to what the mutation gate is given."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repro_gate import config
from repro_gate.gates.coverage import ChangedFile
from repro_gate.gates.coverage.sameness import compare
from repro_gate.gates.mutation import Case
from repro_gate.gates.mutation.account import account
from repro_gate.model import Level, Mutant, Outcome, Site, Waiver
from repro_gate.mutants.choose import Choice, choose
from repro_gate.pipeline.mutation import Known, Made, Makers, Touched, case_of, policy_of, same_lines
from tests.unit.simulated_mutants import mutant

PATH = "pkg/mod.py"
TEXT = """\
LIMIT = 3

def f(x):
    return g(
        x,
        [
            LIMIT,
        ],
    )

def g(x, y): return x
"""


@dataclass(frozen=True)
class Recorded:
    """A run in which tests ran lines; only what an interpreter reports is among them."""

    by_test: Mapping[str, frozenset[int]]
    outcomes: Mapping[str, Outcome]
    import_lines: Mapping[str, frozenset[int]]
    child_lines: Mapping[str, frozenset[int]] = field(default_factory=dict)

    def tests_of(self, path: str, lines: Iterable[int]) -> tuple[str, ...]:
        wanted = frozenset(lines)
        return tuple(test for test, ran in self.by_test.items() if path == PATH and wanted & ran)


RECORDED = Recorded(
    by_test={"b": frozenset({4, 5}), "a": frozenset({11})},
    outcomes={"b": Outcome.PASSED, "a": Outcome.PASSED, "c": Outcome.FAILED},
    import_lines={PATH: frozenset({1, 3, 11})},
)
DEEP = mutant("deep", 7, qualname="f", first_line=3)
LIMIT = mutant("limit", 1, site=Site.IMPORT, qualname="", first_line=0)


def made(path: str, text: str, lines: frozenset[int]) -> Made:
    assert (path, text) == (PATH, TEXT)
    return tuple(each for each in (DEEP, LIMIT) if each.line in lines), {2: "docstring or comment"}


def ordered(mutants: Iterable[Mutant], seed: str) -> Choice:
    assert seed == "h" * 40
    return Choice(tuple(sorted(mutants, key=lambda each: each.id, reverse=True)))


def case(*lines: int) -> Case:
    waiver = Waiver(file=PATH, reason="r")
    return case_of(
        [Touched(path=PATH, text=TEXT, lines=frozenset(lines))],
        RECORDED,
        Makers(make=made, order=ordered),
        Known(seconds={"a": 2.0}, new_tests=frozenset({"a"}), flaky=frozenset({"c"}), waivers=(waiver,)),
        seed="h" * 40,
        command="repro-gate check",
        report="report.json",
    )


def test_a_line_of_a_long_statement_is_covered_by_what_ran_any_line_of_it() -> None:
    found = case(1, 2, 7, 11)
    assert found.covering(DEEP) == ("b",)
    assert found.covered == {PATH: frozenset({7, 11})}
    assert (found.statement(DEEP), found.statement(LIMIT)) == (4, 1)


def test_code_that_runs_at_import_is_covered_by_what_runs_any_line_of_its_file() -> None:
    found = case(1, 7)
    assert found.covering(LIMIT) == ("b", "a")
    assert found.runs_at_import(LIMIT)
    assert not found.runs_at_import(DEEP)


def test_lines_that_are_no_new_code_are_not_mutated_and_are_accounted_for() -> None:

    moved = "def long_enough_to_be_known(first, second):\n    return first + second\n"
    file = ChangedFile(
        path=PATH,
        module="pkg.mod",
        base_path=PATH,
        base=moved + "A = 1\nX = 1\n",
        head="A = 1\nX  =  1\nY = 2\n" + moved,
        removed=frozenset({1, 2, 4}),
        added=frozenset({2, 3, 4, 5}),
    )
    found = same_lines(compare([file]), file)
    assert found == {
        2: "whitespace: pkg/mod.py, line 4 of base",
        4: "moved: pkg/mod.py, line 1 of base",
        5: "moved: pkg/mod.py, line 2 of base",
    }
    whole = case_of(
        [Touched(path=PATH, text=TEXT, lines=frozenset({1, 2, 7}), same={7: found[4]})],
        RECORDED,
        Makers(make=made, order=ordered),
        Known(seconds={}),
        seed="h" * 40,
        command="repro-gate check",
        report="",
    )
    assert [each.id for each in whole.mutants] == ["limit"]
    assert [(each.line, str(each.state)) for each in account(whole, (), ())] == [
        (1, "covered-only"),
        (2, "no-operator"),
        (7, "moved"),
    ]


def test_the_makers_order_and_every_changed_line_are_kept() -> None:
    found = case(1, 2, 7)
    assert [each.id for each in found.mutants] == ["limit", "deep"]
    assert found.changed == {PATH: {1: "LIMIT = 3", 2: "", 7: "            LIMIT,"}}
    assert found.unmutated == {PATH: {2: "docstring or comment"}}
    assert (found.seed, found.report, sorted(found.flaky), len(found.waivers)) == (
        "h" * 40,
        "report.json",
        ["c"],
        1,
    )


@pytest.mark.parametrize(
    ("table", "level", "allowed", "score"),
    [
        ("", Level.WARN, None, None),
        ("", Level.BLOCK, 0, None),
        ("allowed-survivors = 2\nmin-mutation-score = 80", Level.BLOCK, 2, 0.8),
        ("allowed-survivors = 2", Level.WARN, 2, None),
    ],
)
def test_a_gate_that_blocks_allows_no_survivor_unless_base_says_so(
    tmp_path: Path, table: str, level: Level, allowed: int | None, score: float | None
) -> None:
    (tmp_path / "repro-gate.toml").write_text(f"{table}\nmutation-budget = 7\nmax-timeouts = 0\n", encoding="utf-8")
    settings = config.load(tmp_path, {}, {})
    policy = policy_of(settings, level, today=datetime.date(2026, 3, 4), clock=lambda: 1.0, memory_bytes=9)
    assert (policy.allowed_survivors, policy.min_score) == (allowed, score)
    assert (policy.budget_seconds, policy.max_timeouts, policy.max_waivers, policy.memory_bytes) == (7.0, 0, 5, 9)


def test_the_mutants_of_a_large_change_are_chosen_file_by_file_and_the_others_held_without_their_texts() -> None:
    files = [Touched(path=f"pkg/{name}.py", text="x = 1\ny = 2\n", lines=frozenset({1, 2})) for name in "abc"]
    asked: list[int] = []

    def make(path: str, text: str, lines: frozenset[int]) -> Made:
        found = tuple(mutant(f"{path}{line}{turn}", line, file=path, text=text) for line in lines for turn in (1, 2))
        return found, {}

    def order(mutants: Iterable[Mutant], seed: str) -> Choice:
        held = tuple(mutants)
        asked.append(len(held))
        return choose(held, seed, 5)

    found = case_of(
        files, RECORDED, Makers(make=make, order=order), Known(seconds={}), seed="s", command="c", report="r"
    )
    assert asked == [4, 8, 9]
    everything = [each for file in files for each in make(file.path, file.text, file.lines)[0]]
    assert found.mutants == choose(everything, "s", 5).chosen
    assert {each.id for each in found.beyond} == {each.id for each in choose(everything, "s", 5).left_out}
    assert {each.text for each in found.beyond} == {""}
