"""What a check still tells when it is cut short."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest
from rich.console import Console

from repro_gate.change import Pair
from repro_gate.change.resolver import How
from repro_gate.cli import checking
from repro_gate.cli.checking import CheckOrder, run_check
from repro_gate.cli.session import Terminal
from repro_gate.config import load
from repro_gate.errors import ExitCode, UsageError
from repro_gate.model import GateResult, GateVerdict, ReasonCode
from repro_gate.model.check import abbreviated
from repro_gate.pipeline import check

PROVED = GateResult(gate="fail-to-pass", verdict=GateVerdict.PASS, reason=ReasonCode.PROVED)


def interrupted_after(
    results: list[GateResult], monkeypatch: pytest.MonkeyPatch, directory: Path, *cut_short: GateResult
) -> tuple[int, str]:
    """Run a check that is interrupted when it has these results: its exit code and what it prints."""

    def gates(run: check._Check) -> None:
        run.results += results
        run.partial += cut_short
        raise KeyboardInterrupt

    pair = Pair(base_sha="b" * 40, head_sha="c" * 40, base_tree="b", head_tree="c", how=next(iter(How)))
    monkeypatch.setattr(check._Check, "all", gates)
    monkeypatch.setattr(checking, "resolve_change", lambda *_: pair)
    monkeypatch.setattr(checking, "settings_of", lambda *_: (load(directory, {}, {}), ()))
    order = CheckOrder(directory=directory, arguments=(), base=None, head=None, gates=None, event=None, overrides={})
    out = io.StringIO()
    code = run_check(order, Terminal(out=Console(file=out), err=Console(file=io.StringIO()), quiet=True), {})
    return code, out.getvalue()


def test_gates_that_were_done_are_told_after_an_interrupt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, text = interrupted_after([PROVED], monkeypatch, tmp_path)
    assert code == ExitCode.INTERRUPTED
    assert "fail-to-pass: pass (proved)" in text
    assert "Interrupted before there was a result of network, flaky, coverage, mutation." in text


def test_what_a_gate_had_found_is_not_said_to_be_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut = dataclasses.replace(PROVED, gate="mutation")
    _, text = interrupted_after([PROVED], monkeypatch, tmp_path, cut)
    assert "Interrupted before mutation was whole and there was a result of network, flaky, coverage." in text


def test_an_interrupt_before_the_first_result_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, text = interrupted_after([], monkeypatch, tmp_path)
    assert code == ExitCode.INTERRUPTED
    assert "Interrupted before there was a result of fail-to-pass, network, flaky, coverage, mutation." in text


def test_a_digest_is_cut_and_a_named_interpreter_is_not() -> None:
    assert abbreviated("3fa9" * 8, 12) == "3fa93fa93fa9"
    assert abbreviated("3.12.4 /usr/bin/python3", 12) == "3.12.4 /usr/bin/python3"


@pytest.mark.parametrize(
    ("base", "asked", "score", "coverage"),
    [
        ("", {}, None, 100.0),
        ("", {"min-mutation-score": "70"}, 70.0, 100.0),
        ("min-mutation-score = 80\nmin-diff-coverage = 60\n", {"min-mutation-score": "70"}, 80.0, 60.0),
        ("min-mutation-score = 80\nmin-diff-coverage = 60\n", {"min-diff-coverage": "75.5"}, 80.0, 75.5),
        ("min-diff-coverage = 60\n", {"min-diff-coverage": "0"}, None, 60.0),
    ],
)
def test_thresholds_from_outside_raise_those_of_base_and_never_lower_them(
    tmp_path: Path, base: str, asked: dict[str, str], score: float | None, coverage: float
) -> None:
    (tmp_path / "repro-gate.toml").write_text(base, encoding="utf-8")
    order = CheckOrder(
        directory=tmp_path, arguments=(), base=None, head=None, gates=None, event=None, overrides={}, floors=asked
    )
    found = checking.raised(load(tmp_path, {}, {}), checking.floors_of(order, {}))
    assert (found.min_mutation_score, found.min_diff_coverage) == (score, coverage)
    repeat = checking.again(order, "b", "h", found, {})
    assert all(f"--{name}={value}" in repeat for name, value in asked.items())


def test_a_check_is_repeated_with_what_variables_set_and_no_option_overrode(tmp_path: Path) -> None:
    environ = {"REPRO_GATE_GATE_COVERAGE": "block", "REPRO_GATE_SANDBOX": "host", "REPRO_GATE_PYTHON": "python3"}
    order = CheckOrder(
        directory=tmp_path,
        arguments=(),
        base=None,
        head=None,
        gates="coverage",
        event=None,
        overrides={"sandbox": "bubblewrap"},
        python="python3.12",
    )
    repeat = checking.again(order, "b", "h", load(tmp_path, order.overrides, environ), environ)
    assert repeat == (
        "REPRO_GATE_GATE_COVERAGE=block repro-gate check --base=b --head=h --gates=coverage --python=python3.12 "
        "--sandbox=bubblewrap"
    )


def test_a_threshold_that_is_none_is_refused_in_the_words_of_its_key(tmp_path: Path) -> None:
    floors = {"min-mutation-score": "most", "min-diff-coverage": None}
    order = CheckOrder(
        directory=tmp_path, arguments=(), base=None, head=None, gates=None, event=None, overrides={}, floors=floors
    )
    with pytest.raises(UsageError, match=r"--min-mutation-score .*percent, from 0 to 100"):
        checking.floors_of(order, {})
