"""What is written of mutants: JSON by its schema and back, the schema that viewers read, the page, lines, SARIF."""

from __future__ import annotations

import dataclasses
import html
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.errors import EvidenceRefused
from repro_gate.gates.mutation.wording import survivor
from repro_gate.github.annotations import of_check
from repro_gate.model import (
    AccountLine,
    AccountState,
    CheckReport,
    Control,
    ControlKind,
    Finding,
    GateResult,
    GateVerdict,
    Level,
    Mutant,
    MutantOutcome,
    MutantResult,
    MutationReport,
    NotTested,
    Site,
    Untested,
    Way,
)
from repro_gate.model.edit import Edit
from repro_gate.report import (
    as_markdown,
    as_mutation_elements,
    as_sarif,
    check_json,
    check_junit,
    check_terminal,
    mutation_json,
)
from repro_gate.report.reading import read

ROOT = Path(__file__).resolve().parents[2]
OURS = json.loads((ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8"))
THEIRS = json.loads((ROOT / "tests" / "data" / "mutation-testing-report.json").read_text(encoding="utf-8"))
FILE = "pkg/größe.py"
SOURCE = "LIMIT = 3\r\n\r\n\r\ndef f(x):\r\n    return '🐍' if x < LIMIT and x < 9 else 'ü'\r\n"
TESTS = ("tests/test_f.py::test_f[é|1]", "tests/test_f.py::test_g")
HINT = "a value where `x == LIMIT` would tell them apart"


def mutant(name: str, original: str, mutated: str, line: int = 5, **changes: Any) -> Mutant:
    """The first of such snippets, mutated."""
    assert original in SOURCE
    values: dict[str, Any] = {
        "id": name,
        "file": FILE,
        "line": line,
        "end_line": line,
        "operator": "boundary",
        "qualname": "f",
        "original": original,
        "mutated": mutated,
        "nth": 1,
        "site": Site.CALL,
        "text": SOURCE.replace(original, mutated, 1),
        "first_line": 4,
        **changes,
    }
    return Mutant(**values)


SURVIVOR = MutantResult(
    mutant=mutant("0a1b2c3d4e5f", "x < LIMIT", "x <= LIMIT", hint=HINT),
    outcome=MutantOutcome.SURVIVED,
    confirmed=True,
    tests=68,
    selection=TESTS,
)
KILLED = MutantResult(
    mutant=mutant("killed", "x < 9", "x <= 9"),
    outcome=MutantOutcome.KILLED,
    killed_by=TESTS[:1],
    by_new_test=True,
    tests=2,
    selection=TESTS,
)
HUNG = MutantResult(
    mutant=mutant("hung", "and", "or", operator="boolean"),
    outcome=MutantOutcome.TIMEOUT,
    killed_by=TESTS[1:],
    tests=1,
    why="does not end",
    selection=TESTS[1:],
)
UNCLEAR = MutantResult(
    mutant=mutant("unclear", "'🐍'", "''"), outcome=MutantOutcome.INCONCLUSIVE, why="failed once", selection=TESTS
)
LEFT = (
    NotTested(
        mutant=mutant("import", "LIMIT = 3", "LIMIT = 4", line=1, site=Site.IMPORT, qualname="", first_line=0),
        reason=Untested.BUDGET,
        why="the time was over before it",
    ),
    NotTested(mutant=mutant("waived", "'ü'", "None"), reason=Untested.WAIVED, why="equal by design"),
    NotTested(mutant=mutant("uncovered", "return", "yield"), reason=Untested.NOT_COVERED),
)
REPORT = MutationReport(
    tested=(SURVIVOR, KILLED, HUNG, UNCLEAR),
    not_tested=LEFT,
    controls=(
        Control(kind=ControlKind.NULL, file=FILE, way=Way.FORK, tests=2, held=False, exposed=TESTS[:1]),
        Control(kind=ControlKind.MUST_DIE, file=FILE, way=Way.DISK, tests=2, held=True),
    ),
    account=(
        AccountLine(
            file=FILE, line=1, text="LIMIT = 3", state=AccountState.IMPORT_TIME, why="the time was over before it"
        ),
        AccountLine(file=FILE, line=5, text="    return …", state=AccountState.MUTATED),
    ),
    shown=(SURVIVOR.mutant.id,),
    interval=(0.09, 0.99),
    sources={FILE: SOURCE},
    seed="abc",
    seconds=12.5,
)
FINDING = Finding(reason="survived", text=survivor(SURVIVOR), next_step="Add a test.", path=FILE, line=5)


def check(
    report: MutationReport | None = REPORT, verdict: GateVerdict = GateVerdict.FAIL, level: Level = Level.BLOCK
) -> CheckReport:
    other = Finding(reason="more_survivors", text="3 further mutants survived")
    gate = GateResult(
        gate="mutation",
        verdict=verdict,
        reason="survivors",
        findings=(FINDING, other) if report is not None and report.shown else (),
        summary="3 of 5 mutants tested",
        command="repro-gate check",
        mutation=report,
    )
    return CheckReport(
        base="b" * 40, head="a" * 40, how="given", gates=(gate,), levels={"mutation": level}, command="repro-gate check"
    )


def written(of: CheckReport, write: Callable[..., None] = check_json.write) -> str:
    stream = io.StringIO()
    write(of, stream)
    return stream.getvalue()


# --- JSON ------------------------------------------------------------------------------------


@pytest.mark.parametrize("report", [REPORT, MutationReport(), None], ids=["full", "empty", "none"])
def test_the_json_is_what_its_schema_says_and_is_read_back_as_it_was(report: MutationReport | None) -> None:
    text = written(check(report))
    jsonschema.Draft202012Validator(OURS).validate(json.loads(text))
    again = read(text.encode())
    assert isinstance(again, CheckReport)
    assert again.gates == check(report).gates
    assert written(again) == text


def test_the_json_names_each_mutant_with_what_the_issue_of_a_reader_needs() -> None:
    told = json.loads(written(check()))["gates"][0]["mutation"]
    first = told["tested"][0]
    assert {key: first[key] for key in ("id", "file", "line", "original", "mutated", "outcome", "confirmed")} == {
        "id": "0a1b2c3d4e5f",
        "file": FILE,
        "line": 5,
        "original": "x < LIMIT",
        "mutated": "x <= LIMIT",
        "outcome": "survived",
        "confirmed": True,
    }
    assert first["edit"] == {"start": SOURCE.index("< LIMIT") + 1, "end": SOURCE.index("< LIMIT") + 1, "text": "="}
    assert (told["survivors"], told["shown"], told["measured"], told["testable"]) == (["0a1b2c3d4e5f"],) * 2 + (3, 5)
    assert told["tested"][1]["by_new_test"]
    assert told["selections"] == [list(TESTS), list(TESTS[1:])]
    assert [each["reason"] for each in told["not_tested"]] == ["budget", "waived", "not-covered"]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("tested", 0, "outcome"), "fine", "'fine' is not a valid MutantOutcome"),
        (("tested", 0, "selection"), 7, "there is no selection 7"),
        (("tested", 0, "file"), "/etc/passwd", "there is no source of '/etc/passwd'"),
        (("tested", 0, "edit", "end"), 10**6, "are not in a text of"),
        (("tested", 0, "id"), "x; rm", "String should match pattern"),
        (("tested", 0, "more"), 1, "Extra inputs are not permitted"),
        (("not_tested", 0, "reason"), "lazy", "'lazy' is not a valid Untested"),
        (("interval",), [0.1], "at least 2 items"),
        (("account", 0, "line"), 0, "greater than or equal to 1"),
    ],
)
def test_a_strangers_mutants_are_refused_by_name(place: tuple[Any, ...], value: Any, said: str) -> None:
    document = json.loads(written(check()))
    part = document["gates"][0]["mutation"]
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(EvidenceRefused) as refused:
        read(json.dumps(document).encode())
    assert said in str(refused.value)


@given(st.text("ab<= \n"), st.text("ab<= \n"))
def test_an_edit_makes_the_one_text_of_the_other_and_is_no_longer_than_it_must(before: str, after: str) -> None:
    edit = Edit.between(before, after)
    assert edit.applied(before) == after
    old = before[edit.start : edit.end]
    if old and edit.text:
        assert old[0] != edit.text[0]
        assert old[-1] != edit.text[-1]


@pytest.mark.parametrize("place", [(-1, 0), (2, 1), (0, 9)])
def test_an_edit_of_what_is_not_there_is_refused(place: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="are not in a text of 3"):
        Edit(start=place[0], end=place[1], text="").applied("abc")


# --- mutation testing elements ---------------------------------------------------------------


def elements(report: MutationReport | None = REPORT) -> dict[str, Any]:
    found = json.loads(written(check(report), as_mutation_elements.write))
    jsonschema.Draft7Validator(THEIRS).validate(found)
    return dict(found)


def test_viewers_of_mutants_get_each_of_them_in_the_words_of_their_schema() -> None:
    found = elements()["files"][FILE]
    assert found["source"] == SOURCE
    assert {each["id"]: each["status"] for each in found["mutants"]} == {
        "0a1b2c3d4e5f": "Survived",
        "killed": "Killed",
        "hung": "Timeout",
        "unclear": "Pending",
        "import": "Pending",
        "waived": "Ignored",
        "uncovered": "NoCoverage",
    }
    assert next(each for each in found["mutants"] if each["id"] == "import")["static"]
    assert next(each for each in found["mutants"] if each["id"] == "hung")["statusReason"] == "does not end"


def test_a_place_counts_lines_and_columns_as_their_viewers_do() -> None:
    found = {each["id"]: each for each in elements()["files"][FILE]["mutants"]}
    first = found["0a1b2c3d4e5f"]
    assert first["replacement"] == "x <= LIMIT"
    # A snake is one character in Python and two in JavaScript.
    assert SOURCE.splitlines()[4].index("x < LIMIT") + 1 == 19
    assert first["location"] == {"start": {"line": 5, "column": 20}, "end": {"line": 5, "column": 29}}
    assert found["killed"]["location"]["start"] == {"line": 5, "column": 34}


def test_tests_are_listed_by_file_with_ids_that_mutants_name() -> None:
    found = elements()
    assert [each["id"] for each in found["testFiles"]["tests/test_f.py"]["tests"]] == list(TESTS)
    named = {
        test
        for each in found["files"][FILE]["mutants"]
        for test in each.get("killedBy", []) + each.get("coveredBy", [])
    }
    assert named == set(TESTS)


@pytest.mark.parametrize("report", [MutationReport(), None])
def test_without_mutants_the_file_is_still_one_of_that_schema(report: MutationReport | None) -> None:
    assert elements(report)["files"] == {}


def test_their_schema_refuses_what_is_none() -> None:
    broken = elements()
    broken["files"][FILE]["mutants"][0]["status"] = "Dead"
    with pytest.raises(jsonschema.ValidationError, match="'Dead' is not one of"):
        jsonschema.Draft7Validator(THEIRS).validate(broken)


# --- people ----------------------------------------------------------------------------------


def test_the_page_tells_of_a_survivor_what_passed_and_what_would_kill_it() -> None:
    page = as_markdown.page(check())
    assert (
        "- `pkg/größe.py` line 5: `x < LIMIT` -> `x <= LIMIT` passed 68 tests (e.g. `tests/test_f.py::test_g`). "
        "**A value where `x == LIMIT` would tell them apart.** ID `0a1b2c3d4e5f`\n"
    ) in page
    assert page.count("x <= LIMIT") == 1
    assert "\n**Next:** Add a test\\.\n" in page
    assert "`more_survivors` 3 further mutants survived\\." in page
    assert "| null | `pkg/größe.py` | fork | 1 test did not pass without a mutant |" in page
    assert "Changed lines: 1 mutated, 1 run at import." in page


HOSTILE = st.text(st.sampled_from("ab`|\n\r<>&@#[]()!*_\\~$:\x1b\u202e/"), min_size=1, max_size=30)


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_code_breaks_out_of_the_page(original: str, hint: str, test: str) -> None:
    hostile = dataclasses.replace(SURVIVOR.mutant, original=original, mutated=original[::-1], hint=hint)
    result = dataclasses.replace(SURVIVOR, mutant=hostile, selection=(test,))
    page = as_markdown.page(check(dataclasses.replace(REPORT, tested=(result,), controls=())))
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<script" not in page
    (line,) = [line for line in page.splitlines() if line.startswith("- `pkg/")]
    assert line.endswith("ID `0a1b2c3d4e5f`")


def test_lines_and_junit_name_the_place() -> None:
    said = "\n".join(check_terminal.lines(check()))
    assert f"survived: {FILE}:5: `x < LIMIT` -> `x <= LIMIT` passed 68 tests" in said
    assert f"survived: {FILE}:5: `x < LIMIT`" in html.unescape(written(check(), check_junit.write))


# --- beside the lines ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "level", "severity"),
    [
        (GateVerdict.FAIL, Level.BLOCK, "error"),
        (GateVerdict.FAIL, Level.WARN, "warning"),
        (GateVerdict.NEUTRAL, Level.WARN, "warning"),
        (GateVerdict.PASS, Level.BLOCK, "warning"),
    ],
)
def test_a_survivor_stands_beside_its_line(verdict: GateVerdict, level: Level, severity: str) -> None:
    found = of_check(check(verdict=verdict, level=level), {FILE: frozenset({5})})
    here = next(each for each in found if each.path == FILE)
    assert (str(here.severity), here.line, here.title) == (severity, 5, "mutation: surviving mutant")
    assert here.message.endswith("would tell them apart Next: Add a test.")


def sarif(of: CheckReport) -> dict[str, Any]:
    stream = io.StringIO()
    as_sarif.write_check(of, stream, steps={"mutation/survived": "Tell them apart.", "survived": "Nothing."})
    (run,) = json.loads(stream.getvalue())["runs"]
    return dict(run)


def test_sarif_knows_a_survivor_again_when_its_line_moves() -> None:
    run = sarif(check())
    (result,) = run["results"]
    assert (result["ruleId"], result["locations"][0]["physicalLocation"]["region"]) == (
        "mutation/survived",
        {"startLine": 5},
    )
    assert "Tell them apart." in run["tool"]["driver"]["rules"][result["ruleIndex"]]["help"]["text"]
    moved = dataclasses.replace(SURVIVOR, mutant=dataclasses.replace(SURVIVOR.mutant, line=9))
    gate = dataclasses.replace(
        check().gates[0],
        findings=(dataclasses.replace(FINDING, line=9, text=survivor(moved)),),
        mutation=dataclasses.replace(REPORT, tested=(moved,)),
    )
    (again,) = sarif(dataclasses.replace(check(), gates=(gate,)))["results"]
    assert again["partialFingerprints"] == result["partialFingerprints"]
    other = dataclasses.replace(moved, mutant=dataclasses.replace(moved.mutant, id="another"))
    gate = dataclasses.replace(gate, mutation=dataclasses.replace(REPORT, tested=(other,), shown=("another",)))
    (different,) = sarif(dataclasses.replace(check(), gates=(gate,)))["results"]
    assert different["partialFingerprints"] != result["partialFingerprints"]


def test_equal_selections_are_written_once() -> None:
    many = [dataclasses.replace(KILLED, mutant=dataclasses.replace(KILLED.mutant, id=f"m{n}")) for n in range(50)]
    entry = mutation_json.entry(MutationReport(tested=tuple(many), sources={FILE: SOURCE}))
    assert len(entry["selections"]) == 1
    assert {each["selection"] for each in entry["tested"]} == {0}
