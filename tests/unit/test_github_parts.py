"""What GitHub is told, without GitHub: commands, budgets, annotations."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from repro_gate.github.annotations import (
    A_LEVEL,
    A_REQUEST,
    A_RUN,
    Annotation,
    chunks,
    of_check,
    ordered,
    printable,
)
from repro_gate.github.budget import within
from repro_gate.github.commands import command, output, stopped
from repro_gate.model import (
    CheckReport,
    Failure,
    Finding,
    Frame,
    GateResult,
    GateVerdict,
    Level,
    ReasonCode,
    Refused,
    Trouble,
    Zone,
)
from repro_gate.report.remarks import Severity
from repro_gate.report.words import visible as printed

TEXTS = st.text(max_size=60)


def parsed(line: str) -> tuple[str, dict[str, str], str]:
    """A runner's own reading of a command."""
    found = re.fullmatch(r"::([a-z-]+)(?: ([^\n]*?))?::([^\n]*)", line)
    assert found is not None, line
    told = dict(pair.split("=", 1) for pair in found[2].split(",")) if found[2] else {}
    return found[1], {name: unescaped(value) for name, value in told.items()}, unescaped(found[3])


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


@given(TEXTS, TEXTS)
def test_a_command_says_what_it_was_given_and_is_one_line(title: str, message: str) -> None:
    line = command("error", message, title=title, line=3)
    assert "\n" not in line
    assert "\r" not in line
    if "::" not in title and not set(title) & set("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"):
        name, told, said = parsed(line)
        assert (name, said) == ("error", message)
        assert told == ({"title": title, "line": "3"} if title else {"line": "3"})


def test_a_message_cannot_begin_a_command_of_its_own() -> None:
    assert command("notice", "x\n::set-output name=a::b") == "::notice::x%0A::set-output name=a::b"


def test_what_stops_commands_is_undone_only_by_its_token() -> None:
    assert stopped("s3cret") == ("::stop-commands::s3cret", "::s3cret::")


@given(st.text())
def test_an_output_cannot_end_before_its_end(value: str) -> None:
    tokens = iter(["a", "b", "c", "d", *map(str, range(100))])
    written = output("name", value, lambda: next(tokens))
    first, rest = written.split("\n", 1)
    delimiter = first.removeprefix("name<<")
    assert rest == f"{value}\n{delimiter}\n"
    assert delimiter not in value


def test_a_value_that_holds_the_delimiter_gets_another_one() -> None:
    tokens = iter(["a", "b"])
    assert output("n", "end-a", lambda: next(tokens)) == "n<<end-b\nend-a\nend-b\n"


@given(st.lists(st.text(alphabet="ab €\U0001f600", max_size=30), max_size=40), st.integers(60, 2000))
def test_what_is_cut_fits_to_the_byte_and_begins_as_the_whole(lines: list[str], most: int) -> None:
    text = "\n".join(lines)
    cut = within(text, most)
    assert len(cut.encode()) <= most
    if cut != text:
        kept, mark, _ = cut.partition("… ")
        assert mark or cut == ""
        assert text.startswith(kept.removesuffix("\n\n"))
        assert not kept.startswith("\n") or text.startswith("\n")


@given(st.integers(40, 400))
def test_a_block_that_was_open_is_closed(most: int) -> None:
    text = "# t\n\n```console\n" + "\n".join(f"$ line {n}" for n in range(60)) + "\n```\nend\n"
    cut = within(text, most)
    assert cut.count("```") % 2 == 0
    assert cut == text or "more lines are in the report" in cut or cut == ""


def test_a_fence_inside_of_a_longer_one_closes_nothing() -> None:
    text = "````text\n```\n" + "x\n" * 100 + "````\n"
    assert "````\n\n… " in within(text, 120)


@st.composite
def pages(draw: st.DrawFn) -> str:
    """Paragraphs, and blocks of code at the top, in lists and in lists of lists, as a renderer writes them."""
    lines: list[str] = []
    for number in range(draw(st.integers(1, 5))):
        depth = draw(st.integers(0, 2))
        lines += [f"{'  ' * level}- item {number}" for level in range(depth)]
        lines += [""] if draw(st.booleans()) else []
        fence = draw(st.sampled_from(["```", "````", "~~~", "~~~~~"]))
        info = draw(st.sampled_from(["", "text"]))
        said = draw(
            st.lists(st.sampled_from(["x", "", "``` no end", "    ```", "- ```", "``", "$ a", "~~"]), max_size=5)
        )
        first = "- " if depth and draw(st.booleans()) else ""
        indent = "  " * (depth + bool(first))
        lines += [f"{'  ' * depth}{first}{fence}{info}", *(f"{indent}{line}" for line in said), f"{indent}{fence}"]
        lines += ["", f"paragraph {number} with ``` in it", ""] if draw(st.booleans()) else [""]
    return "\n".join(lines) + "\n"


@settings(deadline=None)
@given(pages(), st.integers(60, 400))
def test_what_says_that_lines_are_missing_is_a_paragraph_of_its_own(page: str, most: int) -> None:
    cut = within(page, most)
    if cut in (page, ""):
        return
    last = MarkdownIt("commonmark").parse(cut)[-3:]
    assert [(each.type, each.level) for each in last] == [("paragraph_open", 0), ("inline", 1), ("paragraph_close", 0)]
    assert re.fullmatch(r"… \d+ more lines are in the report\.", last[1].content)


def test_a_block_in_a_list_is_closed_in_the_list() -> None:
    """A fence at the margin would begin a block of its own there, and swallow the line that follows."""
    text = "- item\n\n  ```text\n" + "  x\n" * 100 + "  ```\n"
    assert "  x\n  ```\n\n… " in within(text, 120)


def test_characters_are_counted_where_github_counts_characters() -> None:
    text = "€" * 100
    assert within(text, 100, characters=True) == text
    assert within(text, 100) != text


def note(line: int = 1, severity: Severity = Severity.ERROR, path: str = "a.py", message: str = "m") -> Annotation:
    return Annotation(severity=severity, title="t", message=message, path=path, line=line)


def test_those_on_changed_lines_come_first_and_errors_before_all() -> None:
    far, near, file = note(9), note(5), note(7)
    other = note(1, path="b.py")
    warning = note(5, Severity.WARNING)
    changed = {"a.py": frozenset({5})}
    assert ordered([warning, other, far, near, file, near], changed) == (near, far, file, other, warning)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_no_step_prints_more_than_a_runner_shows(errors: int, warnings: int, notices: int) -> None:
    numbers = {Severity.ERROR: errors, Severity.WARNING: warnings, Severity.NOTICE: notices}
    found = [note(line + 1, level) for level, count in numbers.items() for line in range(count)]
    shown = printable(found)
    assert len(shown) <= A_RUN
    for level, count in numbers.items():
        of_level = [each for each in shown if each.severity is level]
        assert len(of_level) == min(count, A_LEVEL)
        if count > A_LEVEL:
            assert of_level[-1].message == f"{count - A_LEVEL + 1} more are in the summary of this job."


@given(st.integers(0, 160))
def test_requests_hold_all_annotations_with_a_place_and_no_more_than_they_may(number: int) -> None:
    found = [*(note(line + 1) for line in range(number)), note(0, path="")]
    parts = list(chunks(found))
    assert [each for part in parts for each in part] == found[:-1]
    assert all(len(part) <= A_REQUEST for part in parts)


def failure(path: str, zone: Zone = Zone.TEST) -> Failure:
    frames = (Frame(zone=zone, path=path, line=12, function="f"),)
    return Failure(phase="call", type="E", bases=(), message="m", chain=(), frames=frames, fingerprint="f")


def check(*gates: GateResult, **more: object) -> CheckReport:
    levels = {gate.gate: Level.BLOCK for gate in gates}
    made: dict[str, object] = {"base": "b", "head": "h", "how": "given", "command": "c", "levels": levels, **more}
    return CheckReport(gates=gates, **made)  # type: ignore[arg-type]


def refused(path: str) -> GateResult:
    refusal = Refused(
        id="tests/test_a.py::test_a", reason=ReasonCode.FAILS_ON_HEAD, why="fails\non head", on_head=failure(path)
    )
    return GateResult(
        gate="fail-to-pass", verdict=GateVerdict.FAIL, reason=ReasonCode.FAILS_ON_HEAD, refused=(refusal,)
    )


def test_a_refusal_stands_where_it_failed_in_the_repository() -> None:
    """Frames are told from its top, ids from the project's directory in it."""
    [found] = of_check(check(refused("packages/one/src/a.py")), {}, "packages/one")
    assert (found.path, found.line, found.severity) == ("packages/one/src/a.py", 12, Severity.ERROR)
    assert "\n" not in found.printed


@pytest.mark.parametrize(
    ("prefix", "path"),
    [
        ("packages/one", "packages/one/tests/test_a.py"),
        ("./packages/one/", "packages/one/tests/test_a.py"),
        (".", "tests/test_a.py"),
        ("", "tests/test_a.py"),
    ],
)
def test_without_a_frame_a_refusal_stands_at_its_test(prefix: str, path: str) -> None:
    [found] = of_check(check(refused("/usr/lib/x.py")), {}, prefix)
    assert (found.path, found.line) == (path, 1)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x.py", "a\n.py", ""])
def test_a_place_outside_of_the_project_is_none(path: str) -> None:
    [found] = of_check(check(refused(path)), {})
    assert (found.path, found.line) == ("tests/test_a.py", 1)


def test_a_gate_that_only_warns_is_no_error() -> None:
    gate = refused("a.py")
    [found] = of_check(check(gate, levels={"fail-to-pass": Level.WARN}), {})
    assert found.severity is Severity.WARNING


def test_what_a_finding_says_of_a_refused_test_is_said_once_and_with_its_next_step() -> None:
    gate = refused("a.py")
    [refusal] = gate.refused
    same = Finding(reason=refusal.reason, text=refusal.why, id=refusal.id, next_step="Do it.")
    other = replace(same, text="another matter")
    [once] = of_check(check(replace(gate, findings=(same,))), {})
    assert once.message == f"{refusal.id}: {refusal.reason}: {printed(refusal.why)} Next: Do it."
    assert len(of_check(check(replace(gate, findings=(other,))), {})) == 2


def test_a_gate_without_findings_is_said_all_the_same_and_trouble_and_policy_too() -> None:
    gate = GateResult(gate="network", verdict=GateVerdict.INCONCLUSIVE, reason=ReasonCode.LOST, summary="s")
    trouble = Trouble(slug="x", text="no daemon", next_step="start it")
    found = of_check(check(gate, trouble=trouble, policy=("p",)), {})
    assert [each.message for each in found] == ["lost: s", "no daemon Next: start it", "p"]


def test_a_pass_says_its_notes_as_notices() -> None:
    finding = Finding(reason=ReasonCode.TIME_BOMB, text="fails in a year", id="tests/test_a.py::test_a")
    gate = GateResult(gate="fail-to-pass", verdict=GateVerdict.PASS, reason=ReasonCode.PROVED, findings=(finding,))
    [found] = of_check(check(gate), {})
    assert (found.severity, found.path) == (Severity.NOTICE, "tests/test_a.py")
