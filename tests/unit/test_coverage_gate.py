"""The coverage gate on simulated tests: what it says of each changed line, and of those that lost their tests."""

from __future__ import annotations

import dataclasses
import difflib
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from repro_gate.gates import coverage
from repro_gate.gates.coverage import ChangedFile, Rules, read_rules
from repro_gate.model import (
    CollectFailure,
    CoverageOfChange,
    GateResult,
    GateVerdict,
    Limits,
    Outcome,
    Recording,
    Side,
    TestRun,
    Trace,
)
from repro_gate.pipeline.instrumented import Instrumented, changed_lines
from tests.unit.simulated_bench import Behaviour, Seen, Sim, SimBench, failure, run

FILE = "pkg/mod.py"
FIRST = "tests/test_mod.py::first"
LIMITS = Limits(test_seconds=1, total_seconds=1)
RULES = read_rules(Path("/nowhere"))


def ran(lines: str, arcs: str = "", path: str = FILE, outcome: Outcome = Outcome.PASSED) -> Behaviour:
    return lambda _seen: run(outcome, lines=(), ran=(Trace(path, lines, arcs),))


def a_test(name: str, head: Behaviour | None, base: Behaviour | None = None) -> Sim:
    return Sim(name=name, head=head, control=base, base=base)


def name_of(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def changed(base: str | None, head: str | None, path: str = FILE, base_path: str = "") -> ChangedFile:
    """A file of these texts; what differs is what a diff by lines says."""
    before, after = (textwrap.dedent(each or "") for each in (base, head))
    removed: set[int] = set()
    added: set[int] = set()
    for tag, a, b, c, d in difflib.SequenceMatcher(
        None, before.split("\n"), after.split("\n"), autojunk=False
    ).get_opcodes():
        if tag != "equal":
            removed.update(range(a + 1, b + 1))
            added.update(range(c + 1, d + 1))
    if base is None:
        added = set(range(1, after.count("\n") + 1))
    return ChangedFile(
        path=path,
        module=name_of(path),
        base_path=base_path or path,
        base=None if base is None else before,
        head=None if head is None else after,
        removed=frozenset(removed if base is not None else ()),
        added=frozenset(added if head is not None else ()),
    )


@dataclass
class World:
    """A change, its tests, and what the gate says."""

    files: Sequence[ChangedFile]
    sims: Sequence[Sim]
    texts: dict[str, str] = field(default_factory=dict)
    at_import: str = ""
    rules: Rules = RULES
    minimum: float = 100.0
    flaky: frozenset[str] = frozenset()
    losing: frozenset[Side] = frozenset()
    failures: Sequence[CollectFailure] = ()

    @property
    def bench(self) -> SimBench:
        traces = (Trace(FILE, self.at_import),) if self.at_import else ()
        failures = {Side.HEAD: self.failures}
        return SimBench(sims=self.sims, import_ran=traces, losing=self.losing, failures=failures)

    def judged(self) -> GateResult:
        subject = coverage.Subject(
            files=tuple(self.files),
            same=coverage.compare(self.files),
            rules=self.rules,
            text_of=self.texts.get,
            module_of=name_of,
            matters=True,
            minimum=self.minimum,
            flaky=self.flaky,
        )
        return coverage.judge(subject, Instrumented(self.bench, LIMITS, lambda: self.flaky, changed_lines(self.files)))


def said(result: GateResult) -> tuple[str, str]:
    return str(result.verdict), str(result.reason)


def measured(result: GateResult) -> CoverageOfChange:
    assert result.coverage is not None
    return result.coverage


def states(result: GateResult) -> dict[int, str]:
    found = measured(result).lines
    assert len({(line.path, line.line) for line in found}) == len(found), "a line is named twice"
    return {line.line: str(line.state) for line in found}


BASE = """\
    def f(x):
        return x
"""
HALF = """\
    def f(x):
        if x:
            x += 1
        return x
"""


def test_a_change_whose_lines_and_branches_run_passes() -> None:
    sims = [a_test("a", ran("2-4", "2>3")), a_test("b", ran("2,4", "2>4"))]
    result = World([changed(BASE, HALF)], sims, at_import="1").judged()
    assert said(result) == ("pass", "covered")
    assert states(result) == {2: "covered", 3: "covered"}
    assert measured(result).percent == 100.0
    assert (measured(result).taken, measured(result).branches) == (2, 2)


def test_a_line_that_no_test_runs_fails_with_its_text() -> None:
    result = World([changed(BASE, HALF)], [a_test("a", ran("2,4", "2>4"))], at_import="1").judged()
    assert said(result) == ("fail", "uncovered_lines")
    assert states(result) == {2: "branch-missed", 3: "uncovered"}
    assert [(each.path, each.line) for each in result.findings] == [(FILE, 3), (FILE, 2)]
    assert result.findings[0].text == "pkg/mod.py:3 (`x += 1`) is run by no test"
    assert [(each.line, each.target) for each in measured(result).uncovered_branches] == [(2, 3)]
    assert result.summary == "0 of 2 changed statements covered (0 %), 1 of 2 branches taken"


def test_a_condition_that_only_ever_goes_one_way_is_half_covered() -> None:
    result = World([changed(BASE, HALF)], [a_test("a", ran("2-4", "2>3"))], at_import="1").judged()
    assert said(result) == ("fail", "uncovered_branches")
    assert states(result) == {2: "branch-missed", 3: "covered"}
    (missed,) = measured(result).uncovered_branches
    assert missed.why == "line 2 didn't jump to line 4 because the condition on line 2 was always true"
    assert measured(result).percent == 50.0


def test_a_project_that_does_not_measure_branches_is_not_asked_for_them(tmp_path: Path) -> None:
    (tmp_path / ".coveragerc").write_text("[run]\nbranch = false\n", encoding="utf-8")
    rules = read_rules(tmp_path)
    assert rules.file == ".coveragerc"
    result = World([changed(BASE, HALF)], [a_test("a", ran("2-4", "2>3"))], at_import="1", rules=rules).judged()
    assert said(result) == ("pass", "covered")


def test_a_branch_without_a_cause_is_told_without_one(tmp_path: Path) -> None:
    (tmp_path / ".coveragerc").write_text("[report]\nexclude_lines = no cover\n", encoding="utf-8")
    head = "class A:\n    def f(\n        self,\n    ) -> int: ...\n\n    B = 1\n"
    rules = read_rules(tmp_path)
    result = World([changed(None, head)], [a_test("a", ran(""))], at_import="1-6", rules=rules).judged()
    assert {each.why for each in measured(result).uncovered_branches} == {
        "line 2 didn't return from function 'f'",
        "line 2 didn't jump to line 6",
    }


def test_a_lower_share_may_be_enough_and_what_is_left_is_still_said() -> None:
    result = World([changed(BASE, HALF)], [a_test("a", ran("2-4", "2>3"))], at_import="1", minimum=50).judged()
    assert said(result) == ("pass", "enough_covered")
    assert [str(each.reason) for each in result.findings] == ["uncovered_branches"]


def test_lines_that_only_run_at_import_count_as_executed() -> None:
    result = World([changed("A = 1\n", "A = 2\nB = 3\n")], [a_test("a", ran(""))], at_import="1-2").judged()
    assert said(result) == ("pass", "covered")
    assert states(result) == {1: "covered", 2: "covered"}


@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED])
def test_coverage_by_a_test_that_failed_does_not_count_and_is_said(outcome: Outcome) -> None:
    sims = [a_test("a", ran("2-4", "2>3,2>4", outcome=outcome))]
    result = World([changed(BASE, HALF)], sims, at_import="1").judged()
    assert said(result) == ("fail", "uncovered_lines")
    assert "only tests that failed or are flaky run it" in result.findings[0].text
    assert result.notes == ("the coverage of tests that failed or are flaky does not count: tests/test_mod.py::a",)


def test_that_there_is_no_test_at_all_is_said() -> None:
    result = World([changed(BASE, HALF)], []).judged()
    assert said(result) == ("fail", "uncovered_lines")
    (note,) = result.notes
    assert note.startswith("pytest collects no test on head: name the tests as arguments")


@pytest.mark.parametrize("outcome", [Outcome.XFAILED, Outcome.XPASSED, Outcome.SKIPPED])
def test_coverage_by_a_test_that_did_what_it_should_counts(outcome: Outcome) -> None:
    sims = [a_test("a", ran("2-4", "2>3,2>4", outcome=outcome))]
    assert World([changed(BASE, HALF)], sims, at_import="1").judged().verdict is GateVerdict.PASS


def test_coverage_by_a_test_that_is_known_to_flake_does_not_count() -> None:
    sims = [a_test("a", ran("2-4", "2>3,2>4"))]
    result = World([changed(BASE, HALF)], sims, flaky=frozenset({sims[0].id})).judged()
    assert said(result) == ("fail", "uncovered_lines")


@pytest.mark.parametrize("flaky", [False, True])
def test_what_a_test_that_is_not_believed_set_up_for_others_is_covered_by_them(flaky: bool) -> None:
    """The first test that asks for a fixture of the session runs its lines, and the others find it there."""

    def shares(seen: Seen) -> TestRun:
        return ran("2" if FIRST in seen.before else "2-4", "2>3,2>4")(seen)

    first = a_test("first", ran("2-4", "2>3,2>4", outcome=Outcome.PASSED if flaky else Outcome.FAILED))
    assert first.id == FIRST
    known = frozenset({FIRST}) if flaky else frozenset[str]()
    result = World([changed(BASE, HALF)], [first, a_test("second", shares)], at_import="1", flaky=known).judged()
    assert said(result) == ("pass", "covered")


def test_a_run_without_the_failed_tests_is_made_only_where_it_could_tell_more() -> None:
    bench = World([], [a_test("a", ran("2")), a_test("b", ran("2", outcome=Outcome.FAILED))]).bench
    assert Instrumented(bench, LIMITS).head.tests_of(FILE, [2]) == ("tests/test_mod.py::a", "tests/test_mod.py::b")
    assert len(bench.asked) == 1


@pytest.mark.parametrize("children", [(), ("env",)])
def test_a_test_that_fails_by_how_its_child_processes_are_recorded_is_believed_without_that(
    children: tuple[str, ...],
) -> None:
    def looks(seen: Seen) -> TestRun:
        outcome = Outcome.PASSED if seen.nth else Outcome.FAILED
        found = ran("2-4", "2>3,2>4", outcome=outcome)(seen)
        assert found.evidence is not None
        return dataclasses.replace(found, evidence=dataclasses.replace(found.evidence, children=children))

    bench = World([], [a_test("a", looks)]).bench
    head = Instrumented(bench, LIMITS).head
    assert head.outcomes["tests/test_mod.py::a"] is (Outcome.PASSED if children else Outcome.FAILED)
    assert [request.stage.offspring for request in bench.asked] == ([True, False] if children else [True])


@pytest.mark.parametrize("how", ["lost", "timeout", "not_run"])
def test_what_a_cut_run_did_not_cover_is_not_held_against_the_change(how: str) -> None:
    cut = {"lost": Outcome.PASSED, "timeout": Outcome.TIMEOUT, "not_run": Outcome.NOT_RUN}[how]
    sims = [a_test("a", ran("2", "")), a_test("b", ran("", outcome=cut))]
    losing = frozenset({Side.HEAD} if how == "lost" else ())
    result = World([changed(BASE, HALF)], sims, losing=losing).judged()
    assert said(result) == ("inconclusive", "run_not_whole")
    assert result.findings[0].next_step


@pytest.mark.parametrize(("count", "more"), [(1, ""), (3, " (and 2 more files of tests)")])
def test_a_file_of_tests_that_cannot_be_collected_is_named_with_what_it_raised(count: int, more: str) -> None:
    missing = failure("ModuleNotFoundError", message="No module named 'left_pad'\n\nhint", phase="collect")
    failures = [CollectFailure(node=f"tests/test_{number}.py", failure=missing) for number in range(count)]
    world = World([changed(BASE, HALF)], [a_test("a", ran("2", ""))], failures=failures)
    result = world.judged()
    assert said(result) == ("inconclusive", "run_not_whole")
    why = f"tests/test_0.py cannot be collected: ModuleNotFoundError: No module named 'left_pad'{more}"
    assert result.findings[0].text == f"The run of head is not whole: {why}."


def test_a_cut_run_that_covers_everything_is_enough() -> None:
    sims = [a_test("a", ran("2-4", "2>3,2>4")), a_test("b", ran("", outcome=Outcome.TIMEOUT))]
    assert said(World([changed(BASE, HALF)], sims, at_import="1").judged()) == ("pass", "covered")


# --- what a line is ---------------------------------------------------------------------------


def test_each_changed_line_has_one_state() -> None:
    head = '''\
    """What it does."""
    # a comment

    def f(
        x,  # a comment in it
        # and one alone
    ):
        """Told."""
        value = (x +
                 1)
        if value:  # pragma: no cover
            return None
        return value
    '''
    result = World([changed(None, head)], [a_test("a", ran("9-10,13"))], at_import="4").judged()
    assert said(result) == ("pass", "covered")
    assert states(result) == {
        **dict.fromkeys((1, 2, 3, 6, 8), "not-executable"),
        **dict.fromkeys((4, 5, 7, 9, 10, 13), "covered"),
        **dict.fromkeys((11, 12), "excluded"),
    }
    assert measured(result).statements == 3


def test_a_line_in_the_middle_of_a_statement_is_judged_by_its_statement() -> None:
    base = "def f():\n    return g(\n        1,\n        2,\n    )\n"
    file = changed(base, base.replace("2,", "3,"))
    assert file.added == {4}
    for lines, state in (("2-4", "covered"), ("1", "uncovered")):
        result = World([file], [a_test("a", ran(lines))]).judged()
        assert states(result) == {4: state}
        assert measured(result).lines[0].statement == 2


@pytest.mark.parametrize("line", ["# title", ""])
def test_a_line_of_a_string_that_looks_like_a_comment_or_a_blank_one_is_code(line: str) -> None:
    base = 'def f():\n    return """\ntext\n"""\n'
    file = changed(base, base.replace("text", line))
    assert file.added == {3}
    for lines, state in (("2-4", "covered"), ("1", "uncovered")):
        assert states(World([file], [a_test("a", ran(lines))]).judged()) == {3: state}


def test_a_change_of_white_space_comments_and_line_breaks_is_no_change() -> None:
    base = "def f(a):\n    return g(a,1)\n\ndef h():\n    x = 1\n    return x\n"
    head = "def f(a):\n    return g(\n        a, 1\n    )\n\ndef h():\n    x = 1  # more\n    return x\n"
    result = World([changed(base, head)], [a_test("a", ran(""))]).judged()
    assert said(result) == ("neutral", "no_code_changed")
    assert set(states(result).values()) == {"whitespace"}
    assert result.summary == "no changed statement that can be measured; other changed lines: 4 whitespace"


def test_a_file_that_is_written_in_another_style_as_a_whole_is_no_change_but_for_what_is() -> None:
    base = "x = 1\n" * 700 + "y = 1\n" + "x = 1\n" * 700
    head = base.replace("x = 1", "x =  1").replace("y = 1", "y = 2")
    everything = frozenset(range(1, 1402))
    file = ChangedFile(
        path=FILE, module="m", base_path=FILE, base=base, head=head, removed=everything, added=everything
    )
    found = states(World([file], []).judged())
    assert found.pop(701) == "uncovered"
    assert set(found.values()) == {"whitespace"}


def test_a_line_that_another_function_had_is_new_in_a_new_one() -> None:
    base = "def f(x):\n    return x + 1\n"
    head = "def g(x):\n    return x+1\n\n\nasync def f(x):\n    if x:\n        return x  + 1\n    return 0\n"
    file = ChangedFile(
        path=FILE,
        module="m",
        base_path=FILE,
        base=base,
        head=head,
        removed=frozenset({1, 2}),
        added=frozenset(range(1, 9)),
    )
    found = states(World([file], [a_test("a", ran("1,5-7"))]).judged())
    assert found[2] == "uncovered"  # in g, run by no test
    assert found[7] == "whitespace"  # in f, as before


def test_a_string_with_other_white_space_is_a_change() -> None:
    result = World([changed("def f():\n    return 'a b'\n", "def f():\n    return 'a  b'\n")], []).judged()
    assert states(result) == {2: "uncovered"}


MOVED = "def moved(number):\n    if number > 100:\n        return number - 100\n    return number + 100\n"
OTHER = "def other():\n    return 1\n"


def test_a_function_that_moved_to_another_file_is_no_change() -> None:
    files = [changed(MOVED + OTHER, OTHER), changed(None, "\n" + MOVED, path="pkg/new.py")]
    result = World(files, []).judged()
    assert {str(line.state) for line in measured(result).lines if line.text} == {"moved"}
    assert said(result) == ("neutral", "no_code_changed")


def test_what_was_taken_away_once_has_moved_once() -> None:
    copies = [changed(None, MOVED, path=f"pkg/{name}.py") for name in ("new", "newer")]
    result = World([changed(MOVED + OTHER, OTHER), *copies], []).judged()
    assert [str(line.state) for line in measured(result).lines if line.text] == ["moved"] * 4 + ["uncovered"] * 4


def test_a_line_that_is_like_one_elsewhere_has_not_moved() -> None:
    base = "def f():\n    return 1\n\ndef g():\n    a = 1\n"
    head = "def f():\n    a = 1\n\ndef g():\n    pass\n"
    assert states(World([changed(base, head)], []).judged())[2] == "uncovered"


# --- lost lines -------------------------------------------------------------------------------

TWO = "def f():\n    return 1\n\ndef g():\n    return 2\n"


def lost(result: GateResult) -> list[tuple[str, int, tuple[str, ...]]]:
    return [
        (each.path, each.line, tuple(test.partition("::")[2] for test in each.tests)) for each in measured(result).lost
    ]


def test_a_line_whose_only_test_is_deleted_is_lost() -> None:
    sims = [a_test("kept", ran("2"), ran("2")), a_test("gone", None, ran("5"))]
    result = World([], sims, texts={FILE: TWO}, at_import="1,4").judged()
    assert said(result) == ("fail", "lost_coverage")
    assert lost(result) == [(FILE, 5, ("gone",))]
    assert "base's tests ran it (tests/test_mod.py::gone)" in result.findings[0].text
    assert (result.findings[0].path, result.findings[0].line) == (FILE, 5)


def test_a_line_that_another_test_runs_now_is_not_lost() -> None:
    sims = [a_test("kept", ran("2,5"), ran("2")), a_test("gone", None, ran("5"))]
    assert lost(World([], sims, texts={FILE: TWO}, at_import="1,4").judged()) == []


def test_lines_are_followed_through_the_change_above_them() -> None:
    file = changed(TWO, "import os\n\n\n" + TWO)
    sims = [a_test("kept", ran("5"), ran("2")), a_test("gone", None, ran("5"))]
    result = World([file], sims, at_import="1,4,7").judged()
    assert lost(result) == [(FILE, 8, ("gone",))]
    assert measured(result).lost[0].base_line == 5


def test_a_function_that_moved_keeps_its_claim_to_tests() -> None:
    files = [changed(MOVED + OTHER, OTHER), changed(None, MOVED, path="pkg/new.py")]
    sims = [a_test("a", ran("", path="pkg/new.py"), ran("2-4", "2>3,2>4"))]
    assert lost(World(files, sims, at_import="1").judged()) == [
        ("pkg/new.py", line, tests) for line, tests in ((1, ()), (2, ("a",)), (3, ("a",)), (4, ("a",)))
    ]


def test_a_way_that_only_a_deleted_test_took_is_lost() -> None:
    both, one = ran("2-4", "2>3,2>4"), ran("2-4", "2>3")
    sims = [a_test("kept", one, one), a_test("gone", None, ran("2,4", "2>4"))]
    result = World([], sims, texts={FILE: textwrap.dedent(HALF)}, at_import="1").judged()
    assert said(result) == ("fail", "lost_coverage")
    assert lost(result) == [(FILE, 2, ("gone",))]
    assert (
        measured(result).lost[0].branch
        == "line 2 didn't jump to line 4 because the condition on line 2 was always true"
    )
    assert "1 unchanged branch lost" in result.summary
    assert "line lost" not in result.summary
    assert "(tests/test_mod.py::gone)" in result.findings[0].text
    kept = World([], [a_test("kept", both, one)], texts={FILE: textwrap.dedent(HALF)}, at_import="1").judged()
    assert lost(kept) == []


def test_a_way_that_comes_and_goes_by_itself_is_not_lost() -> None:
    texts = {FILE: textwrap.dedent(HALF)}
    turns = [ran("2-4", "2>3"), ran("2-4", "2>3,2>4")]
    sims = [
        a_test("kept", lambda seen: turns[min(seen.nth, 1)](seen), ran("2-4", "2>3")),
        a_test("gone", None, ran("2,4", "2>4")),
    ]
    assert lost(World([], sims, texts=texts, at_import="1").judged()) == []


def test_a_way_to_a_line_that_is_lost_is_told_by_the_line() -> None:
    sims = [a_test("kept", ran("2,4", "2>4"), None), a_test("gone", None, ran("2-4", "2>3"))]
    result = World([], sims, texts={FILE: textwrap.dedent(HALF)}, at_import="1").judged()
    assert [(each.line, each.branch) for each in measured(result).lost] == [(3, "")]


def test_a_deleted_line_is_not_lost() -> None:
    sims = [a_test("a", ran("2"), ran("2,5"))]
    assert lost(World([changed(TWO, TWO[: TWO.index("def g")])], sims, at_import="1").judged()) == []


@pytest.mark.parametrize("source", ["pkg", "src", "src/pkg", "."])
def test_what_is_lost_of_a_package_below_src_is_inside_of_the_source_that_names_it(tmp_path: Path, source: str) -> None:
    (tmp_path / ".coveragerc").write_text(f"[run]\nsource = {source}\n", encoding="utf-8")
    path = "src/pkg/mod.py"
    sims = [a_test("gone", None, ran("5", path=path))]
    result = World([], sims, texts={path: TWO}, rules=read_rules(tmp_path)).judged()
    assert lost(result) == [(path, 5, ("gone",))]


def by_turns(lines: Iterable[str]) -> Behaviour:
    told = list(lines)

    def behave(seen: Seen) -> TestRun:
        return ran(told[min(seen.nth, len(told) - 1)])(seen)

    return behave


@pytest.mark.parametrize(
    ("on_base", "on_head"), [(["2,5", "2"], ["2"]), (["2,5"], ["2", "2,5"])], ids=["flaky on base", "flaky on head"]
)
def test_coverage_that_comes_and_goes_is_nobodys_loss(on_base: list[str], on_head: list[str]) -> None:
    sims = [a_test("a", by_turns(on_head), by_turns(on_base))]
    result = World([], sims, texts={FILE: TWO}, at_import="1,4").judged()
    assert lost(result) == []
    assert said(result) == ("neutral", "no_code_changed")


def test_only_the_tests_that_ran_a_lost_line_run_again_on_base() -> None:
    sims = [a_test("a", ran("2"), ran("2")), a_test("b", None, ran("5"))]
    world = World([], sims, texts={FILE: TWO}, at_import="1,4")
    bench = world.bench
    subject = coverage.Subject(
        files=(), same=coverage.compare(()), rules=RULES, text_of=world.texts.get, module_of=name_of, matters=True
    )
    coverage.judge(subject, Instrumented(bench, LIMITS))
    asked = [(request.stage.side, request.experiment.tests) for request in bench.asked]
    a, b = (sim.id for sim in sims)
    assert asked == [(Side.HEAD, (a,)), (Side.CONTROL, (a, b)), (Side.CONTROL, (b,)), (Side.HEAD, (a,))]
    assert all(request.stage.recorded for request in bench.asked)


def test_a_change_that_touches_nothing_that_runs_starts_nothing() -> None:
    bench = SimBench(sims=[])
    subject = coverage.Subject(
        files=(),
        same=coverage.compare(()),
        rules=RULES,
        text_of=World([], []).texts.get,
        module_of=name_of,
        matters=False,
    )
    assert said(coverage.judge(subject, Instrumented(bench, LIMITS))) == ("neutral", "nothing_to_judge")
    assert bench.asked == []


def test_a_byte_order_mark_is_no_code() -> None:
    file = changed("\ufeffA = 1\nB = 1\n", "\ufeffA = 1\nB = 2\n")
    result = World([file], [], at_import="1-2").judged()
    assert (said(result), states(result)) == (("pass", "covered"), {2: "covered"})


def test_a_file_that_this_python_cannot_read_is_said() -> None:
    result = World([changed("A = 1\n", "A = = 1\n")], []).judged()
    assert said(result) == ("inconclusive", "unreadable")
    assert "pkg/mod.py was not measured" in result.findings[0].text


# --- rules ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".coveragerc", "[run]\nomit = pkg/mod.py\n"),
        ("setup.cfg", "[coverage:run]\nomit = pkg/m*\n"),
        ("tox.ini", "[coverage:report]\nomit = */mod.py\n"),
        ("pyproject.toml", '[tool.coverage.run]\nsource = ["other"]\n'),
        ("pyproject.toml", '[tool.coverage.run]\nsource_pkgs = ["pkg.other"]\n'),
        ("pyproject.toml", '[tool.coverage.report]\ninclude = ["other/*"]\n'),
    ],
)
def test_files_that_the_project_leaves_out_do_not_count(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    result = World([changed(BASE, HALF)], [a_test("a", ran(""))], rules=read_rules(tmp_path)).judged()
    assert said(result) == ("neutral", "no_code_changed")
    assert states(result) == {2: "excluded", 3: "excluded"}
    assert name in measured(result).lines[0].why


@pytest.mark.parametrize("source", ["pkg", "./pkg", ".", "pkg/", "pkg.mod"])
def test_files_inside_of_the_source_count(tmp_path: Path, source: str) -> None:
    (tmp_path / "pyproject.toml").write_text(f'[tool.coverage.run]\nsource = ["{source}"]\n', encoding="utf-8")
    assert read_rules(tmp_path).leaves_out(FILE, "pkg.mod") == ""


@pytest.mark.parametrize(
    ("include", "counts"),
    [
        ("*/site-packages/pkg/*", True),
        ("pkg/*\n  */lib/python*/site-packages/pkg/mod.py", True),
        ("*/site-packages/other/*", False),
        ("pkg/*", False),
    ],
)
def test_an_include_may_mean_the_place_where_the_product_would_be_installed(
    tmp_path: Path, include: str, counts: bool
) -> None:
    (tmp_path / ".coveragerc").write_text(f"[run]\ninclude =\n  {include}\n", encoding="utf-8")
    rules = read_rules(tmp_path)
    assert (rules.leaves_out("src/pkg/mod.py", "pkg.mod") == "") is counts
    assert "include" in rules.leaves_out("scripts/release.py", "scripts.release")


def test_an_omit_of_what_is_installed_means_what_others_have_made(tmp_path: Path) -> None:
    (tmp_path / ".coveragerc").write_text("[run]\nomit = */site-packages/*\n", encoding="utf-8")
    assert read_rules(tmp_path).leaves_out("src/pkg/__init__.py", "pkg") == ""


def test_rules_of_a_project_in_a_subdirectory_speak_of_its_own_files(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / ".coveragerc").write_text("[run]\nsource = pkg\nomit = pkg/gone.py\n", encoding="utf-8")
    rules = read_rules(tmp_path, "sub")
    assert rules.leaves_out("sub/pkg/mod.py", "pkg.mod") == ""
    assert "omit" in rules.leaves_out("sub/pkg/gone.py", "pkg.gone")
    assert "source" in rules.leaves_out("other/mod.py", "other.mod")


def test_plugins_of_coverage_are_not_loaded_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / ".coveragerc").write_text("[run]\nplugins = evil_plugin\n", encoding="utf-8")
    assert read_rules(tmp_path).notes == ("plugins of coverage.py are not used: evil_plugin",)


def test_a_share_that_is_less_than_all_is_never_rounded_up() -> None:
    head = "def f(x):\n" + "".join(f"    a{n} = x\n" for n in range(2000))
    result = World([changed(None, head)], [a_test("a", ran("2-2000"))], at_import="1").judged()
    assert "2000 of 2001 changed statements covered (99.9 %)" in result.summary


def test_which_tests_ran_a_line_can_be_asked_of_a_recording() -> None:
    recording = Recording(
        by_test={"a": (Trace(FILE, "1-3", "1>2"),), "b": (Trace(FILE, "3"),)}, at_import=(Trace(FILE, "9"),)
    )
    assert recording.tests_of(FILE, [3]) == ("a", "b")
    assert recording.tests_of(FILE, [2, 7]) == ("a",)
    assert recording.tests_of("other.py", [1]) == ()
    assert recording.import_lines == {FILE: frozenset({9})}
    assert recording.ran(FILE) == (frozenset({1, 2, 3, 9}), frozenset({(1, 2)}))
    assert recording.ran(FILE, ["b"]) == (frozenset({3, 9}), frozenset())
