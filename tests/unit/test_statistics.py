"""The numbers that verdicts rest on, against the published tables and by their properties."""

from __future__ import annotations

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.flake.statistics import rates_differ, runs_needed, upper_bound, wilson

# A machine that is busy with something else is no bug.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def counts(draw: st.DrawFn, most: int = 200) -> tuple[int, int]:
    runs = draw(st.integers(1, most))
    return draw(st.integers(0, runs)), runs


CONFIDENCES = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999])


@pytest.mark.parametrize(
    ("failures", "runs", "bound"),
    [
        (0, 20, 0.1391),
        (0, 50, 0.0582),
        (0, 59, 0.0495),
        (0, 100, 0.0295),
        (0, 170, 0.0175),
        (0, 299, 0.00997),
        (0, 300, 0.00994),
        # Not zero failures: tables of the exact binomial limit.
        (1, 10, 0.3942),
        (3, 20, 0.3437),
        (19, 20, 0.9974),
    ],
)
def test_the_upper_bound_is_that_of_the_published_table(failures: int, runs: int, bound: float) -> None:
    assert upper_bound(failures, runs) == pytest.approx(bound, abs=0.5 * 10 ** -(5 if bound < 0.01 else 4))


def test_nothing_run_and_everything_failed_exclude_nothing() -> None:
    assert upper_bound(0, 0) == 1.0
    assert upper_bound(7, 7) == 1.0
    assert wilson(0, 0) == (0.0, 1.0)


@unhurried
@given(counts(), CONFIDENCES)
def test_at_the_bound_so_few_failures_are_exactly_as_rare_as_asked(count: tuple[int, int], confidence: float) -> None:
    failures, runs = count
    bound = upper_bound(failures, runs, confidence)
    if failures < runs:
        chance = math.fsum(math.comb(runs, k) * bound**k * (1 - bound) ** (runs - k) for k in range(failures + 1))
        assert chance == pytest.approx(1 - confidence, rel=1e-6)


@unhurried
@given(st.integers(1, 5000), CONFIDENCES)
def test_without_failures_the_bound_is_the_closed_form(runs: int, confidence: float) -> None:
    assert upper_bound(0, runs, confidence) == pytest.approx(1 - (1 - confidence) ** (1 / runs), rel=1e-9)


@unhurried
@given(counts(), CONFIDENCES)
def test_the_bound_rises_with_failures_and_falls_with_clean_runs(count: tuple[int, int], confidence: float) -> None:
    failures, runs = count
    bound = upper_bound(failures, runs, confidence)
    assert upper_bound(failures, runs + 1, confidence) < bound
    assert upper_bound(failures + 1, runs + 1, confidence) >= bound


@unhurried
@given(counts(), st.tuples(CONFIDENCES, CONFIDENCES))
def test_more_confidence_never_excludes_more(count: tuple[int, int], confidences: tuple[float, float]) -> None:
    low, high = sorted(confidences)
    assert upper_bound(*count, low) <= upper_bound(*count, high)


def test_the_wilson_interval_is_that_of_the_published_values() -> None:
    assert wilson(0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=5e-5)
    assert wilson(1, 10) == pytest.approx((0.0179, 0.4042), abs=5e-5)
    assert wilson(20, 20) == pytest.approx((0.8389, 1.0), abs=5e-5)


@unhurried
@given(counts(), CONFIDENCES)
def test_the_wilson_interval_holds_the_rate_and_mirrors(count: tuple[int, int], confidence: float) -> None:
    failures, runs = count
    low, high = wilson(failures, runs, confidence)
    assert 0 <= low <= failures / runs <= high <= 1
    assert low < high
    assert wilson(runs - failures, runs, confidence) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(
    ("rate", "at_95", "at_99"),
    [(0.5, 5, 7), (0.3, 9, 13), (0.1, 29, 44), (0.05, 59, 90), (0.02, 149, 228), (0.01, 299, 459), (1.0, 1, 1)],
)
def test_the_runs_needed_are_those_of_the_published_table(rate: float, at_95: int, at_99: int) -> None:
    assert (runs_needed(rate), runs_needed(rate, 0.95), runs_needed(rate, 0.99)) == (at_95, at_95, at_99)


def test_rounding_does_not_ask_for_one_run_more() -> None:
    assert runs_needed(0.5, 0.75) == 2
    assert runs_needed(0.1, 0.271) == 3


@unhurried
@given(st.floats(1e-4, 1.0), CONFIDENCES)
def test_the_runs_needed_are_enough_and_one_fewer_is_not(rate: float, confidence: float) -> None:
    runs = runs_needed(rate, confidence)
    slack = 1e-9
    assert (1 - rate) ** runs <= (1 - confidence) * (1 + slack)
    assert runs == 1 or (1 - rate) ** (runs - 1) > (1 - confidence) * (1 - slack)


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ((5, 5), (0, 5), True),  # p = 1/252
        ((4, 4), (0, 4), False),  # p = 1/70
        ((5, 5), (1, 5), False),  # p = 6/252
        ((10, 10), (2, 10), True),
        ((10, 20), (3, 20), False),  # p = 0.020
        ((3, 20), (10, 20), False),  # the other way round
        ((0, 0), (5, 5), False),
        ((0, 9), (0, 9), False),
    ],
)
def test_fishers_test_decides_as_computed_by_hand(a: tuple[int, int], b: tuple[int, int], differ: bool) -> None:
    assert rates_differ(*a, *b) is differ


def test_the_level_is_inclusive_at_the_exact_p_value() -> None:
    assert rates_differ(4, 4, 0, 4, alpha=1 / 70)
    assert not rates_differ(4, 4, 0, 4, alpha=1 / 70 - 1e-9)


@unhurried
@given(counts(60), counts(60), st.sampled_from([0.01, 0.05, 0.2]))
def test_two_rates_are_never_each_higher_than_the_other(a: tuple[int, int], b: tuple[int, int], alpha: float) -> None:
    assert not (rates_differ(*a, *b, alpha) and rates_differ(*b, *a, alpha))
    if rates_differ(*a, *b, alpha):
        assert a[0] / a[1] > b[0] / b[1]


@pytest.mark.parametrize(("failures", "runs"), [(-1, 3), (4, 3), (0, -1)])
def test_impossible_counts_are_refused(failures: int, runs: int) -> None:
    with pytest.raises(ValueError, match="cannot be"):
        upper_bound(failures, runs)
    with pytest.raises(ValueError, match="cannot be"):
        wilson(failures, runs)
    with pytest.raises(ValueError, match="cannot be"):
        rates_differ(1, 2, failures, runs)


@pytest.mark.parametrize("fraction", [0.0, 1.0, -0.1, 95.0, math.nan])
def test_a_confidence_that_is_no_fraction_is_refused(fraction: float) -> None:
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        upper_bound(0, 20, fraction)
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        runs_needed(0.5, fraction)


@pytest.mark.parametrize("rate", [0.0, 1.1, math.nan])
def test_a_rate_that_never_shows_is_refused(rate: float) -> None:
    with pytest.raises(ValueError, match="rate must lie between 0 and 1"):
        runs_needed(rate, 0.95)
