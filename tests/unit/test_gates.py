"""The network and flaky gates: what evidence means for a change, and that their pages say so."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from pathlib import Path

import pytest

from repro_gate.gates import coverage, flaky, network
from repro_gate.gates.fail_to_pass import Collection, Request, Stage
from repro_gate.model import (
    Cause,
    Conditions,
    Ending,
    Evidence,
    ExperimentResult,
    FlakeReport,
    GateVerdict,
    Mode,
    Outcome,
    Sandboxing,
    TestRun,
    TestVerdict,
    Verdict,
)

PAGES = Path(__file__).resolve().parents[2] / "docs" / "gates"
OWN = frozenset({"t::new"})


def seen(test: str, *attempts: str, unrouted: int | None = 0) -> TestRun:
    return TestRun(id=test, outcome=Outcome.PASSED, seconds=0.1, evidence=Evidence(network=attempts, unrouted=unrouted))


class Bench:
    """Answers with the given runs: of all together first, then of each alone."""

    def __init__(self, together: Sequence[TestRun], alone: Sequence[TestRun] = (), *, held: bool = True) -> None:
        self._together = tuple(together)
        self._alone = {run.id: run for run in alone}
        self._held = held
        self.asked: list[tuple[str, ...]] = []

    def expect(self, stage: Stage, conditions: Conditions) -> None:
        pass

    def collect(self, stage: Stage, conditions: Conditions) -> Collection:
        raise AssertionError("the network gate collects nothing")

    def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
        results = []
        for request in requests:
            tests = request.experiment.tests or ()
            self.asked.append(tests)
            alone = request.mode is Mode.FRESH
            runs = tuple(self._alone[test] for test in tests) if alone else self._together
            results.append(
                ExperimentResult(
                    experiment=request.experiment,
                    mode=request.mode,
                    runs=runs,
                    ending=Ending.DONE,
                    controls_held=self._held,
                )
            )
        return results


def judged(bench: Bench, *tests: str, allowed: dict[str, str] | None = None) -> tuple[str, str, list[str]]:
    found = network.judge(
        bench, dict.fromkeys(tests or ("t::new", "t::old"), "t.py"), own=OWN, allowed=allowed or {}, seconds=60
    )
    return str(found.verdict), str(found.reason), [str(finding.reason) for finding in found.findings]


def test_silence_passes_and_without_counters_it_says_that_it_proves_half() -> None:
    assert judged(Bench([seen("t::new"), seen("t::old")])) == ("pass", "quiet", [])
    assert judged(Bench([seen("t::new", unrouted=None)])) == ("pass", "no_counters", [])


def test_an_attempt_of_a_new_test_blocks_though_it_passed_and_an_old_ones_is_shown() -> None:
    both = [seen("t::new", "connect 192.0.2.1:80"), seen("t::old", "look up example.invalid")]
    assert judged(Bench(both)) == ("fail", "network_attempt", ["network_attempt", "not_of_this_change"])
    assert judged(Bench(both[1:])) == ("neutral", "not_of_this_change", ["not_of_this_change"])


def test_an_attempt_that_gives_its_reason_is_let_off() -> None:
    bench = Bench([seen("t::new", "connect 192.0.2.1:80")])
    assert judged(bench, allowed={"t::new": "a mirror"}) == ("neutral", "network_allowed", ["network_allowed"])


def test_packets_that_the_hook_did_not_see_are_looked_for_in_the_test_alone() -> None:
    bench = Bench([seen("t::new", unrouted=2), seen("t::old")], alone=[seen("t::new", unrouted=1)])
    assert judged(bench) == ("fail", "unseen_attempt", ["unseen_attempt"])
    assert bench.asked == [("t::new", "t::old"), ("t::new",)]


def test_packets_that_nobody_owns_are_no_pass_and_no_failure() -> None:
    bench = Bench([seen("t::new", unrouted=2)], alone=[seen("t::new")])
    assert judged(bench) == ("inconclusive", "unattributed", ["unattributed"])


def test_a_run_that_cannot_be_believed_says_nothing() -> None:
    assert judged(Bench([seen("t::new")], held=False)) == ("inconclusive", "lost", ["lost"])
    assert network.judge(Bench([]), {}, own=OWN, allowed={}, seconds=1).verdict is GateVerdict.NEUTRAL


def verdict(test: str, what: Verdict, *, failures: int = 0, axis: str | None = None) -> TestVerdict:
    cause = Cause(axis=axis, detail="d") if axis else None
    return TestVerdict(id=test, verdict=what, runs=20, failures=failures, seconds=1.0, cause=cause)


def campaign(*tests: TestVerdict, incomplete: str = "") -> FlakeReport:
    return FlakeReport(
        seed=1,
        runs=20,
        tests=tests,
        sandbox=Sandboxing(name="bubblewrap", hermetic=True),
        mode="fork",
        mode_reason="",
        python="3.11",
        pytest="9",
        seconds=1.0,
        incomplete=incomplete,
    )


@pytest.mark.parametrize(
    ("report", "said"),
    [
        (None, ("neutral", "nothing_to_judge")),
        (campaign(verdict("t::new", Verdict.STABLE)), ("pass", "none-found")),
        (campaign(verdict("t::new", Verdict.ALWAYS_FAILING, failures=20)), ("pass", "none-found")),
        (campaign(verdict("t::new", Verdict.FLAKY, failures=3, axis="random")), ("fail", "flaky-tests")),
        (
            campaign(verdict("t::new", Verdict.CONDITION_DEPENDENT, failures=3, axis="clock")),
            ("fail", "condition-dependent-tests"),
        ),
        (campaign(verdict("t::old", Verdict.FLAKY, failures=3, axis="random")), ("pass", "none-found")),
        (campaign(verdict("t::new", Verdict.NOT_JUDGED, failures=3)), ("inconclusive", "incomplete")),
        (campaign(verdict("t::new", Verdict.STABLE), incomplete="interrupted"), ("inconclusive", "incomplete")),
        (
            campaign(verdict("t::new", Verdict.FLAKY, failures=1, axis="random"), incomplete="interrupted"),
            ("fail", "flaky-tests"),
        ),
    ],
)
def test_a_campaign_blocks_by_the_changes_own_tests(report: FlakeReport | None, said: tuple[str, str]) -> None:
    found = flaky.judge(report, OWN)
    assert (str(found.verdict), str(found.reason)) == said


@pytest.mark.parametrize(
    ("page", "reasons"), [("network.md", network.Reason), ("flaky.md", flaky.Reason), ("coverage.md", coverage.Reason)]
)
def test_each_reason_has_its_row_with_a_next_step(page: str, reasons: type[enum.StrEnum]) -> None:
    rows = [line for line in (PAGES / page).read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    cells = {line.split("|")[1].strip(" `"): line.split("|")[4].strip() for line in rows}
    assert set(cells) == {reason.value for reason in reasons}
    assert all(cells.values())
