"""An interrupt at any moment after the runs loses nothing that was found. The interrupts are injected, never timed."""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import io
import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from repro_gate.cli import scanning
from repro_gate.cli.progress import Bar
from repro_gate.cli.scanning import Order, run_scan
from repro_gate.cli.session import Terminal, guarded
from repro_gate.config import load
from repro_gate.errors import DiskFull
from repro_gate.experiment.skipped import SkippedFiles
from repro_gate.flake.brief import Findings, Silent
from repro_gate.flake.tally import Tally
from repro_gate.flake.trial import Diagnosis
from repro_gate.model import Cause, FlakeReport, TestVerdict, Verdict
from repro_gate.pipeline.request import Effects, Request

pipeline: Any = importlib.import_module("repro_gate.pipeline.scan")  # the package has a function of this name

TESTS = ("test_a.py::test_one", "test_a.py::test_two", "test_a.py::test_three")
FOUND = tuple(
    TestVerdict(
        id=test,
        verdict=Verdict.CONDITION_DEPENDENT,
        runs=9,
        failures=4,
        seconds=0.1,
        cause=Cause(axis="timezone", detail="fails west of Greenwich"),
    )
    for test in TESTS
)


class Moment:
    """A call that is interrupted the ``at``-th time it is made."""

    def __init__(self, at: int = 0, then: Callable[..., Any] = lambda *_, **__: None) -> None:
        self.at = at
        self.then = then
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        if self.calls == self.at:
            raise KeyboardInterrupt
        return self.then(*args, **kwargs)


class OurCampaign:
    """It has run, and found something."""

    def __init__(self, findings: Findings, close: Moment) -> None:
        self.run = lambda: findings
        self.close = close


class ScanOf:
    """A scan whose campaign is over; every later step is a moment that a test may interrupt."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **at: int) -> None:
        self.seen: list[FlakeReport] = []
        diagnoses = {test: Diagnosis(id=test, kind="flaky") for test in TESTS}
        self.findings = Findings(tally=Tally(tmp_path), diagnoses=diagnoses)
        verdicts = Moment(at.get("verdicts", 0), lambda _: FOUND)
        publish = Moment(at.get("publish", 0), lambda *_: (None, ""))
        self.report = Moment(at.get("report", 0), self.seen.append)
        self.close = Moment(at.get("close", 0))
        self.progress = Silent()
        monkeypatch.setattr(self.progress, "phase", Moment(at.get("phase", 0)), raising=False)
        monkeypatch.setattr(self.progress, "advance", Moment(at.get("advance", 0)), raising=False)
        campaign = OurCampaign(self.findings, self.close)
        monkeypatch.setattr(pipeline, "Campaign", lambda *_, **__: campaign)
        monkeypatch.setattr(pipeline.judge, "verdicts", verdicts)
        monkeypatch.setattr(pipeline, "installed_locales", lambda _: [])
        monkeypatch.setattr(pipeline, "distributions", Moment(at.get("distributions", 0), lambda _: ()))
        monkeypatch.setattr(pipeline, "Publisher", lambda **_: SimpleNamespace(publish=publish))
        monkeypatch.setattr(pipeline, "_first_failing_run", lambda *_: 0)
        self.tmp_path = tmp_path

    def run(self) -> FlakeReport:
        request = Request(directory=self.tmp_path, arguments=(), settings=load(self.tmp_path, {}, {}), python="python")
        effects = Effects(
            environ={},
            monotonic=lambda: 1.0,
            now=lambda: datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC),
            random_bytes=bytes,
            cores=1,
            free_memory=lambda: 0,
            engine=lambda: None,  # type: ignore[arg-type, return-value]
            progress=self.progress,
        )
        sandbox = SimpleNamespace(name="host", hermetic=False, notes=tuple)
        project = SimpleNamespace(original=self.tmp_path, subdirectory="", cwd_on_path=True)
        lab: Any = SimpleNamespace(sandbox=sandbox, project=project, skipped_files=SkippedFiles())
        interpreter: Any = SimpleNamespace(version="3.11")
        commit: Any = SimpleNamespace(commit="")
        report: FlakeReport = pipeline.scan_in(lab, request, effects, commit, (), interpreter, self.report)
        return report


@pytest.mark.parametrize(
    ("moment", "call", "unpacked"),
    [
        ("verdicts", 1, 0),
        ("report", 1, 3),
        ("phase", 1, 3),
        ("distributions", 1, 3),
        ("publish", 1, 3),
        ("publish", 2, 2),
        ("publish", 3, 1),
        ("advance", 1, 2),
    ],
)
def test_an_interrupt_before_or_while_capsules_are_packed_loses_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str, call: int, unpacked: int
) -> None:
    report = ScanOf(tmp_path, monkeypatch, **{moment: call}).run()
    assert [test.id for test in report.tests] == list(TESTS)
    assert report.incomplete == "interrupted"
    assert [note for note in report.notes if "packed" in note] == (
        [f"{unpacked} of 3 capsules not packed"] if unpacked else []
    )


def test_a_disk_that_is_full_when_packing_begins_loses_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = ScanOf(tmp_path, monkeypatch)

    def full(_: Any) -> tuple[str, ...]:
        raise DiskFull("No space left.")

    monkeypatch.setattr(pipeline, "distributions", full)
    report = scan.run()
    assert (len(report.tests), report.incomplete) == (3, "No space left.")
    assert report.notes == ("3 of 3 capsules not packed",)


def test_the_last_report_is_told_before_anything_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = ScanOf(tmp_path, monkeypatch, close=1)
    with pytest.raises(KeyboardInterrupt):
        scan.run()
    assert scan.seen[-1].tests == FOUND
    assert not scan.seen[-1].incomplete


# --- at the terminal ---------------------------------------------------------------------------


@pytest.fixture
def door(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Order, Terminal, FlakeReport]:
    """An order for a scan that has one report, and a terminal that can be read."""
    report = ScanOf(tmp_path, monkeypatch).run()
    order = Order(
        directory=tmp_path, arguments=(), overrides={}, door=("repro-gate", "scan"), report_json=tmp_path / "r.json"
    )
    monkeypatch.setattr(scanning, "scan", lambda _request, _effects, on_report: (on_report(report), report)[1])
    consoles = [Console(file=io.StringIO(), width=200) for _ in range(2)]
    return order, Terminal(out=consoles[0], err=consoles[1], quiet=False), report


def code_and_text(order: Order, terminal: Terminal) -> tuple[int, str]:
    code = guarded(lambda: run_scan(order, terminal, {}), terminal.err)
    out: Any = terminal.out.file
    return code, out.getvalue()


def test_an_interrupt_while_the_lab_is_closed_shows_and_writes_what_was_found(
    door: tuple[Order, Terminal, FlakeReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    order, terminal, report = door

    def late(_request: Any, _effects: Any, on_report: Callable[[FlakeReport], None]) -> FlakeReport:
        on_report(report)
        raise KeyboardInterrupt

    monkeypatch.setattr(scanning, "scan", late)
    code, text = code_and_text(order, terminal)
    assert code == 130
    assert all(test in text for test in TESTS)
    assert len(json.loads((order.directory / "r.json").read_bytes())["tests"]) == 3


@pytest.mark.parametrize("moment", ["write_file", "view"])
def test_an_interrupt_while_it_is_written_or_shown_does_both(
    door: tuple[Order, Terminal, FlakeReport], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    order, terminal, _ = door
    at = 2 if moment == "write_file" else 1
    monkeypatch.setattr(scanning, moment, Moment(at, getattr(scanning, moment)))
    code, text = code_and_text(order, terminal)
    assert code == 130
    assert all(test in text for test in TESTS)
    assert len(json.loads((order.directory / "r.json").read_bytes())["tests"]) == 3


class Gone(io.StringIO):
    """A terminal that was closed."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")


def test_a_closed_terminal_costs_no_report(
    door: tuple[Order, Terminal, FlakeReport], monkeypatch: pytest.MonkeyPatch
) -> None:
    order, _, report = door
    stopped = dataclasses.replace(report, incomplete="interrupted")
    monkeypatch.setattr(scanning, "scan", lambda *_, **__: stopped)
    gone = Terminal(out=Console(file=Gone()), err=Console(file=Gone()), quiet=False)
    assert guarded(lambda: run_scan(order, gone, {}), gone.err) == 130
    assert len(json.loads((order.directory / "r.json").read_bytes())["tests"]) == 3
    with Bar(Console(file=Gone()), quiet=False) as bar:
        bar.phase("running", 3)
        bar.advance()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_is_an_interrupt(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    err = Console(file=io.StringIO())

    def asked() -> int:
        os.kill(os.getpid(), number)
        return 0

    try:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        assert guarded(asked, err) == 130
        assert signal.getsignal(number) != signal.SIG_IGN
    finally:
        signal.signal(number, before)


def test_a_closed_terminal_is_nothing_where_that_is_to_be_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)

    def hung_up() -> int:
        os.kill(os.getpid(), signal.SIGHUP)
        return 0

    try:
        assert guarded(hung_up, Console(file=io.StringIO())) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
