"""What a person sees after a scan: all that matters, literally, and commands that can be pasted."""

from __future__ import annotations

import dataclasses
import io
import shlex
import subprocess
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from repro_gate.errors import ExitCode
from repro_gate.model import (
    CapsuleRef,
    Cause,
    Failure,
    FlakeReport,
    GateVerdict,
    Sandboxing,
    SkippedFile,
    TestVerdict,
    Verdict,
)
from repro_gate.report import words
from repro_gate.report.outcome import Reason, decide, exit_code, summary_line
from repro_gate.report.terminal import Hints, summary, view

# A machine that is busy with something else is no bug.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

FAILURE = Failure(
    phase="call", type="KeyError", bases=(), message="'b'\nmore", chain=(), frames=(), fingerprint="f" * 16
)
CAPSULE = CapsuleRef(
    path=".repro-gate/capsules/capsule-0123456789abcdef.zip",
    id="0123456789abcdef",
    pinned=True,
    determinism="D2",
    replayed=5,
    of=5,
)


def verdict(kind: Verdict, test_id: str = "tests/test_a.py::test_x", **facts: Any) -> TestVerdict:
    clean: dict[str, Any] = {"runs": 20, "failures": 0, "seconds": 0.1}
    return TestVerdict(id=test_id, verdict=kind, **{**clean, **facts})


def flaky(test_id: str = "tests/test_a.py::test_x", **facts: Any) -> TestVerdict:
    usual: dict[str, Any] = {
        "failures": 3,
        "rate": 0.15,
        "interval": (0.052, 0.36),
        "cause": Cause(axis="hash-seed", detail="fails iff hash seed 3"),
        "failure": FAILURE,
        "capsule": CAPSULE,
    }
    return verdict(Verdict.FLAKY, test_id, **{**usual, **facts})


def stable(count: int = 1, **facts: Any) -> list[TestVerdict]:
    return [verdict(Verdict.STABLE, f"t.py::test_{i}", **{"upper_bound": 0.1391, **facts}) for i in range(count)]


def scan(*tests: TestVerdict, **facts: Any) -> FlakeReport:
    usual: dict[str, Any] = {
        "seed": 42,
        "runs": 20,
        "sandbox": Sandboxing(name="bubblewrap", hermetic=True),
        "mode": "fork",
        "mode_reason": "",
        "python": "3.12.1",
        "pytest": "9.0.0",
        "seconds": 12.34,
    }
    return FlakeReport(tests=tests, **{**usual, **facts})


def shown(report: FlakeReport, width: int = 60, hints: Hints | None = None, **options: Any) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width, **options).print(view(report, hints or Hints()), crop=False)
    return stream.getvalue()


def unwrapped(text: str) -> str:
    """The text without spaces and breaks, cells of a table column by column."""
    lines = [line for line in text.splitlines() if line]
    rows = [line.strip("│┃").replace("┃", "│").split("│") for line in lines if line[:1] in "│┃"]
    columns = ["".join(cells) for cells in zip(*rows, strict=True)]
    rest = [line for line in lines if line[:1] not in "│┃┏┡├└"]
    return "".join("".join([*columns, *rest]).split())


# --- verdict and exit code -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (scan(flaky()), (GateVerdict.FAIL, Reason.FLAKY_TESTS, 1)),
        (scan(verdict(Verdict.CONDITION_DEPENDENT)), (GateVerdict.FAIL, Reason.CONDITION_DEPENDENT_TESTS, 1)),
        (scan(flaky(), incomplete="budget"), (GateVerdict.FAIL, Reason.FLAKY_TESTS, 1)),
        (scan(*stable(), incomplete="budget"), (GateVerdict.INCONCLUSIVE, Reason.INCOMPLETE, 3)),
        (scan(incomplete="stopped"), (GateVerdict.INCONCLUSIVE, Reason.INCOMPLETE, 3)),
        (scan(verdict(Verdict.ALWAYS_FAILING), incomplete="x"), (GateVerdict.INCONCLUSIVE, Reason.INCOMPLETE, 3)),
        (scan(verdict(Verdict.NOT_JUDGED)), (GateVerdict.INCONCLUSIVE, Reason.NOTHING_JUDGED, 3)),
        (scan(verdict(Verdict.NOT_JUDGED), *stable()), (GateVerdict.PASS, Reason.NONE_FOUND, 0)),
        (scan(verdict(Verdict.ALWAYS_FAILING), *stable()), (GateVerdict.PASS, Reason.NONE_FOUND, 0)),
        (scan(verdict(Verdict.ALWAYS_FAILING)), (GateVerdict.PASS, Reason.NONE_FOUND, 0)),
        (scan(*stable(3)), (GateVerdict.PASS, Reason.NONE_FOUND, 0)),
        (scan(), (GateVerdict.PASS, Reason.NO_TESTS, 0)),
    ],
)
def test_the_exit_code_follows_from_what_was_found(
    report: FlakeReport, expected: tuple[GateVerdict, Reason, int]
) -> None:
    decision = decide(report)
    assert (decision.verdict, decision.reason, decision.exit_code) == expected
    assert exit_code(report) is ExitCode(expected[2])


def test_the_summary_line_counts_what_there_is_and_only_that() -> None:
    report = scan(*stable(7), flaky(), verdict(Verdict.NOT_JUDGED), incomplete="budget")
    assert summary_line(report) == "1 flaky, 1 not-judged, 7 stable of 9 tests in 20 runs, 12.3 s (incomplete)."
    assert summary_line(scan(*stable())) == "1 stable of 1 test in 20 runs, 12.3 s."
    assert summary_line(scan()) == "No tests to judge."


# --- the plain summary -----------------------------------------------------------------------


def test_stable_tests_are_one_line_with_the_rate_that_is_excluded() -> None:
    assert "118 stable in 20 runs: p < 13.9 % at 95 % each" in summary(scan(*stable(118)))


def test_stable_tests_of_different_runs_are_given_the_weakest_bound() -> None:
    tests = [*stable(1, runs=59, upper_bound=0.0495), *stable(1, runs=5, upper_bound=0.4507)]
    assert "2 stable in 5 to 59 runs: p < 45.1 % at 95 % each" in summary(scan(*tests))


def test_without_a_bound_none_is_claimed() -> None:
    assert "2 stable in 20 runs" in summary(scan(*stable(1), *stable(1, upper_bound=None)))


def test_the_summary_says_that_always_failing_tests_do_not_make_it_red() -> None:
    remark = "Tests that always fail do not make a scan red: nothing about them is flaky."
    assert remark in summary(scan(verdict(Verdict.ALWAYS_FAILING)))
    assert remark not in summary(scan(flaky()))


def test_the_summary_says_why_a_scan_is_inconclusive() -> None:
    assert "Not one test could be judged: inconclusive." in summary(scan(verdict(Verdict.NOT_JUDGED)))
    early = summary(scan(*stable(), incomplete="the budget of 10 s was spent."))
    assert "Incomplete: the budget of 10 s was spent. Nothing was found until then: inconclusive." in early
    assert "Incomplete: budget." in summary(scan(flaky(), incomplete="budget"))


@pytest.mark.parametrize(("count", "said"), [(1, "1 test"), (2, "2 tests")])
def test_what_passed_and_failed_before_an_interrupt_is_not_called_nothing(count: int, said: str) -> None:
    mixed = [verdict(Verdict.NOT_JUDGED, f"t.py::m{i}", failures=3) for i in range(count)]
    lines = summary(scan(*mixed, *stable(), incomplete="interrupted"))
    assert f"Incomplete: interrupted. {said} passed and failed without being confirmed: inconclusive." in lines
    own = verdict(Verdict.NOT_JUDGED, failures=3, own_doing=True)
    assert "Incomplete: interrupted. Nothing was found until then: inconclusive." in summary(
        scan(own, *stable(), incomplete="interrupted")
    )


def test_directed_runs_are_counted_apart_and_explain_the_stable_line() -> None:
    lines = summary(scan(*stable(1, runs=26), directed_runs=6))
    assert lines[0] == "1 stable of 1 test in 20 varied + 6 directed runs, 12.3 s."
    assert lines[1].startswith("1 stable in 26 runs: ")
    seeded = summary(scan(*stable(1, runs=26), hash_seeds=9))
    assert seeded[1].startswith("1 stable in 26 runs (9 hash seeds): ")


def test_the_summary_says_where_it_ran() -> None:
    host = Sandboxing(name="host", hermetic=False, notes=("the network was reachable",))
    lines = summary(scan(sandbox=host, mode="fresh", mode_reason="threads after collection", notes=("a note",)))
    assert "Python 3.12.1, pytest 9.0.0, sandbox host (not hermetic), fresh mode (threads after collection)." in lines
    assert "Sandbox: the network was reachable" in lines
    assert "Note: a note" in lines
    assert not any("hermetic" in line for line in summary(scan()))


def test_what_a_sandbox_does_not_give_is_told_where_it_may_be_why_a_test_never_passed() -> None:
    minimal = Sandboxing(name="docker", hermetic=True, notes=("no other programs",))
    assert not any("no other programs" in line for line in summary(scan(*stable(), sandbox=minimal)))
    failing = verdict(Verdict.ALWAYS_FAILING, failures=5)
    assert "Sandbox: no other programs" in summary(scan(failing, *stable(), sandbox=minimal))


@pytest.mark.parametrize("width", [60, 140])
def test_the_command_that_repeats_it_is_whole_on_the_last_line_and_the_only_one(width: int) -> None:
    command = "repro-gate scan --seed=42 -- -k '" + "long " * 40 + "'"
    lines = shown(scan(flaky()), width, hints=Hints(again=command)).splitlines()
    assert lines[-1] == f"Repeat: {command}"
    assert sum("seed" in line.replace("hash-seed", "").replace("hash seed", "") for line in lines) == 1


# --- the findings ----------------------------------------------------------------------------


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_a_finding_shows_test_verdict_cause_failure_rate_and_capsule(width: int) -> None:
    text = unwrapped(shown(scan(flaky("tests/test_a.py::TestB::test_x[1-a]")), width))
    for part in (
        "tests/test_a.py::TestB::test_x[1-a]",
        "hash-seed:failsiffhashseed3",
        "KeyError:'b'",
        "15%(5.2to36%)",
        "0123456789abcdef(D2,replays5of5)",
    ):
        assert part in text
    assert "flaky" in text


def test_a_table_is_used_only_where_there_is_room_and_leaves_verdicts_whole() -> None:
    report = scan(verdict(Verdict.CONDITION_DEPENDENT, failures=1))
    assert " condition-dependent " in shown(report, 120)
    assert "│" in shown(report, 120)
    assert "│" not in shown(report, 119)


@pytest.mark.parametrize("width", [60, 200])
def test_where_nothing_is_wrapped_there_are_no_columns_and_no_trailing_spaces(width: int) -> None:
    long = "word " * 60 + "end"
    report = scan(flaky(cause=Cause(axis="order", detail=long)), *stable(), notes=(long,))
    lines = shown(report, width, soft_wrap=True).splitlines()
    assert f"  cause: order: {long}" in lines
    assert f"Note: {long}" in lines
    assert [line for line in lines if line != line.rstrip() or "│" in line] == []


def test_a_test_that_always_fails_shows_its_failure_and_no_cause() -> None:
    lines = shown(scan(verdict(Verdict.ALWAYS_FAILING, failures=20, failure=FAILURE))).splitlines()
    assert lines[:4] == [
        "always-failing",
        "  tests/test_a.py::test_x",
        "  failure: KeyError: 'b'",
        "  failures: 20 of 20",
    ]


def test_a_wrapped_fact_stays_indented() -> None:
    lines = shown(scan(flaky(cause=Cause(axis="order", detail="word " * 40))), 60).splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("  cause: order: word"))
    assert lines[start + 1].startswith("  word")


def test_an_unknown_cause_and_a_missing_rate_are_said_honestly() -> None:
    text = shown(scan(flaky(cause=Cause(axis=None, detail="30 tries"), rate=None, interval=None, capsule=None)))
    assert "cause: no axis alone decides: 30 tries" in text
    assert "failures: 3 of 20" in text
    assert "capsule" not in text
    assert "cause: cause not looked for" in shown(scan(flaky(cause=None)))


def test_victim_and_unpinned_capsule_are_marked() -> None:
    capsule = CapsuleRef(path="c.zip", id="c", pinned=False, determinism="D0", replayed=3, of=5)
    text = shown(scan(flaky(cause=Cause(axis="order", role="victim", detail="after t.py::a"), capsule=capsule)), 90)
    assert "cause: order (victim): after t.py::a" in text
    assert "c (unpinned, D0, replays 3 of 5)" in text


@pytest.mark.parametrize("width", [60, 140])
def test_stable_tests_are_not_listed(width: int) -> None:
    text = shown(scan(flaky(), *stable(3)), width)
    assert "t.py::test_0" not in text
    assert "3 stable" in text


@pytest.mark.parametrize("width", [60, 140])
def test_of_each_verdict_at_most_ten_are_shown_and_the_rest_counted(width: int) -> None:
    tests = [flaky(f"t.py::flaky_{i}_") for i in range(12)]
    tests += [verdict(Verdict.ALWAYS_FAILING, f"t.py::red_{i}_", failures=20, failure=FAILURE) for i in range(11)]
    text = shown(scan(*tests), width, Hints(rest="all are in r.json"))
    assert all(f"flaky_{i}_" in text for i in range(10))
    assert "flaky_10_" not in text
    assert "… and 2 more flaky: all are in r.json" in text
    assert "red_9_" in text
    assert "… and 1 more always-failing: all are in r.json" in text


def test_exactly_ten_leave_nothing_to_count() -> None:
    assert "more" not in shown(scan(*[flaky(f"t.py::flaky_{i}", failure=None) for i in range(10)]))


def test_tests_that_were_not_judged_are_grouped_by_reason() -> None:
    tests = [verdict(Verdict.NOT_JUDGED, f"t.py::db_{i}", detail="skipped: no database") for i in range(13)]
    tests.insert(3, verdict(Verdict.NOT_JUDGED, "t.py::other"))
    lines = shown(scan(*tests)).splitlines()
    start = lines.index("13 not judged: skipped: no database")
    assert lines[start + 1 : start + 11] == [f"  t.py::db_{i}" for i in range(10)]
    assert lines[start + 11] == "  … and 3 more: `--report-json FILE` lists all"
    assert lines[start + 12 : start + 14] == ["1 not judged: no reason given", "  t.py::other"]


def test_many_reasons_are_cut_too() -> None:
    tests = [verdict(Verdict.NOT_JUDGED, f"t.py::a{i}", detail=f"reason {i}") for i in range(12)]
    text = shown(scan(*tests))
    assert "… and 2 more reasons: `--report-json FILE` lists all" in text
    assert "reason 10" not in text


def test_an_empty_scan_is_only_its_summary() -> None:
    assert shown(scan(), 200).splitlines() == summary(scan())


# --- literally, and on lines of their own ----------------------------------------------------

HOSTILE = "t.py::test_x[[bold]red[/bold]-[/]-:smile:-\x1b[31m-\x9b2J-\r\n-\u202e-é漢-\ud800]"


@pytest.mark.parametrize("width", [60, 140])
def test_ids_are_literal_and_control_characters_made_visible(width: int) -> None:
    text = shown(scan(flaky(HOSTILE), verdict(Verdict.NOT_JUDGED, HOSTILE, detail=HOSTILE)), width)
    expected = r"t.py::test_x[[bold]red[/bold]-[/]-:smile:-\x1b[31m-\x9b2J-\r\n-\u202e-é漢-\ud800]"
    assert unwrapped(text).count(expected) >= 3
    assert not set(text) & set("\x1b\x9b\r\u202e\ud800")


@pytest.mark.parametrize("width", [60, 140])
@pytest.mark.parametrize("field", ["detail", "message", "capsule", "note"])
def test_no_text_from_a_test_reaches_the_terminal_raw(width: int, field: str) -> None:
    evil = "[red]\x1b]0;owned\x07\u202e"
    cause = Cause(axis="order", detail=evil if field == "detail" else "")
    failure = Failure(phase="call", type="E", bases=(), message=evil, chain=(), frames=(), fingerprint="")
    capsule = CapsuleRef(path=evil, id=evil, pinned=True, determinism="D0", replayed=5, of=5)
    test = flaky(
        cause=cause,
        failure=failure if field == "message" else None,
        capsule=capsule if field == "capsule" else None,
    )
    text = shown(scan(test, notes=(evil,) if field == "note" else ()), width)
    assert not set(text) & set("\x1b\x07\u202e")
    assert "[red]" in unwrapped(text)


def test_a_coloured_terminal_gets_only_the_escapes_of_our_own_styles() -> None:
    text = shown(scan(flaky(HOSTILE)), 60, force_terminal=True, color_system="standard")
    assert "\x1b[1;31mflaky" in text
    assert "\x1b[31m-" not in text


@pytest.mark.parametrize("width", [60, 140])
def test_the_replay_command_is_whole_on_its_own_line(width: int) -> None:
    capsule = CapsuleRef(path="/tmp/a b/" + "x" * 200 + ".zip", id="i", pinned=True, determinism="D2", replayed=5, of=5)
    test_id = "tests/" + "deep/" * 30 + "test_a.py::test_x"
    lines = shown(scan(flaky(test_id, capsule=capsule)), width).splitlines()
    command = f"repro-gate replay '{capsule.path}'"
    assert lines[lines.index(command) - 1] == f"# {test_id}"


SHELL_PATHS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


@unhurried
@given(st.lists(SHELL_PATHS, min_size=20, max_size=20))
def test_a_shell_reads_the_path_back_from_the_printed_command(paths: list[str]) -> None:
    commands = [words.replay_command(path) for path in paths]
    assert all(words.visible(command) == command for command in commands)
    script = "repro-gate() { printf '%s\\0' \"$2\"; }\n" + "\n".join(commands)
    read = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    expected = [f"./{path}" if path.startswith("-") else path for path in paths]
    assert read.stdout.decode().split("\0")[:-1] == expected


def test_a_plain_path_is_not_quoted_and_a_dash_is_no_option() -> None:
    assert words.replay_command("a/c-1.zip") == "repro-gate replay a/c-1.zip"
    assert shlex.split(words.replay_command("it's.zip")) == ["repro-gate", "replay", "it's.zip"]
    assert words.replay_command("-x.zip") == "repro-gate replay ./-x.zip"


@unhurried
@given(st.text())
def test_visible_text_is_one_line_without_controls_and_is_stable(text: str) -> None:
    shown_text = words.visible(text)
    assert len(shown_text.splitlines()) <= 1
    assert shown_text.encode("utf-8").decode() == words.visible(shown_text)
    if text.isprintable():
        assert shown_text == text


@unhurried
@given(st.text(), st.integers(1, 40))
def test_a_clipped_text_keeps_head_and_tail_and_says_how_much_is_missing(text: str, limit: int) -> None:
    clipped = words.clip(text, limit)
    if len(text) <= limit:
        assert clipped == text
    else:
        head, _, rest = clipped.partition(f"\n[… {len(text) - limit} characters left out …]\n")
        assert text.startswith(head)
        assert text.endswith(rest)
        assert len(head) + len(rest) == limit


def test_of_a_long_message_the_first_line_is_shown_and_cut() -> None:
    assert words.first_line("\n  \r\n one \rtwo") == "one"
    assert words.first_line(" \n ") == ""
    assert words.first_line("x" * 200) == "x" * 200
    assert words.first_line("x" * 201) == "x" * 199 + "…"


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.1391, "13.9 %"), (0.0495, "4.95 %"), (0.00997, "0.997 %"), (1.0, "100 %"), (0.95, "95.0 %"), (0.9999, "100 %")],
)
def test_bounds_have_three_significant_digits(share: float, text: str) -> None:
    assert words.percent(share) == text


@pytest.mark.parametrize(
    ("rate", "interval", "text"),
    [
        (0.5, (0.3, 0.7), "50 % (30 to 70 %)"),
        (0.004, (0.0005, 0.099), "0.4 % (0.05 to 9.9 %)"),
        (1.0, (0.84, 1.0), "100 % (84 to 100 %)"),
        (0.5, None, "50 % (3 of 20)"),
    ],
)
def test_small_rates_keep_their_digits(rate: float, interval: tuple[float, float] | None, text: str) -> None:
    assert words.rate(flaky(rate=rate, interval=interval)) == text


OPT = SkippedFile(
    file="t/test_opt.py", reason="could not import 'nosuch': No module named 'nosuch'", skipped=9, starts=9
)


def test_files_that_skip_themselves_are_said() -> None:
    assert "Note: 1 file skipped at collection: t/test_opt.py: could not import 'nosuch'\n" in shown(
        scan(*stable(), skipped_files=(OPT,)), width=200
    )
    many = tuple(dataclasses.replace(OPT, file=f"t/test_{number}.py", reason="no display") for number in range(7))
    text = shown(scan(*stable(), skipped_files=many), width=900)
    assert "Note: 7 files skipped at collection: t/test_0.py: no display; " in text
    assert "t/test_4.py: no display; … and 2 more\n" in text


def test_a_file_that_skips_itself_in_some_starts_is_said_to_come_and_go() -> None:
    text = shown(scan(*stable(), skipped_files=(dataclasses.replace(OPT, starts=20, reason="sometimes"),)), width=300)
    assert (
        "Note: 1 file skipped at collection in some starts only, so that ids come and go by run: "
        "t/test_opt.py (in 9 of 20 starts): sometimes\n"
    ) in text
