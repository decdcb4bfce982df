"""What k failures in n runs say, exactly and by the standard library alone.

Belongs here: pure numbers in, numbers out. Does not belong here: verdicts and their wording.
Rates, bounds and confidences are fractions from 0 to 1.
"""

from __future__ import annotations

import functools
import math
from statistics import NormalDist

# A relative change of 1e-12 is far below what is printed, and above the noise of lgamma.
_HALVINGS = 60


@functools.lru_cache(maxsize=4096)
def upper_bound(failures: int, runs: int, confidence: float = 0.95) -> float:
    """The failure rate that is excluded with this confidence: exact one-sided Clopper-Pearson.

    The smallest p at which so few failures have a probability of at most 1 - confidence; 1.0
    where nothing ran or everything failed. Raises ValueError on impossible counts.
    Source: Clopper & Pearson 1934, Biometrika 26.
    """
    _check_counts(failures, runs)
    _check_fraction("confidence", confidence)
    if failures == runs:
        return 1.0
    low, high = failures / runs, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _binomial_cdf(failures, runs, middle) > 1 - confidence:
            low = middle
        else:
            high = middle
    return high


def wilson(failures: int, runs: int, confidence: float = 0.95) -> tuple[float, float]:
    """The two-sided score interval of a rate, for display; (0, 1) where nothing ran.

    Raises ValueError on impossible counts. Source: Wilson 1927, JASA 22.
    """
    _check_counts(failures, runs)
    _check_fraction("confidence", confidence)
    if runs == 0:
        return 0.0, 1.0
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    rate = failures / runs
    scale = 1 + z * z / runs
    centre = (rate + z * z / (2 * runs)) / scale
    half = z * math.sqrt(rate * (1 - rate) / runs + z * z / (4 * runs * runs)) / scale
    # At the ends the formula is exact and only rounding moves it off 0 or 1.
    low = 0.0 if failures == 0 else centre - half
    high = 1.0 if failures == runs else centre + half
    return low, high


def runs_needed(rate: float, confidence: float = 0.95) -> int:
    """The runs after which a failure of this rate has been seen at least once, with this confidence.

    Raises ValueError for a rate outside (0, 1].
    """
    _check_fraction("confidence", confidence)
    if rate == 1:
        return 1
    _check_fraction("rate", rate)
    exact = math.log1p(-confidence) / math.log1p(-rate)
    # 2.0000000000000004 is 2: do not let rounding ask for one run more.
    return max(1, math.ceil(exact * (1 - 1e-12)))


def rates_differ(failed_a: int, of_a: int, failed_b: int, of_b: int, alpha: float = 0.01) -> bool:
    """Whether a's failure rate is higher than b's: Fisher's exact one-sided test at level alpha.

    Raises ValueError on impossible counts. Source: Fisher 1935, The Design of Experiments.
    """
    _check_counts(failed_a, of_a)
    _check_counts(failed_b, of_b)
    _check_fraction("alpha", alpha)
    failed = failed_a + failed_b
    # Of all ways to spread the failures over the runs, those with at least as many in a.
    extreme = sum(
        math.comb(of_a, in_a) * math.comb(of_b, failed - in_a) for in_a in range(failed_a, min(failed, of_a) + 1)
    )
    return extreme / math.comb(of_a + of_b, failed) <= alpha


def _binomial_cdf(failures: int, runs: int, rate: float) -> float:
    """P(at most ``failures`` of ``runs``) for 0 < rate < 1, by logarithms so that nothing overflows."""
    log_rate, log_rest = math.log(rate), math.log1p(-rate)
    return math.fsum(
        math.exp(
            math.lgamma(runs + 1)
            - math.lgamma(k + 1)
            - math.lgamma(runs - k + 1)
            + k * log_rate
            + (runs - k) * log_rest
        )
        for k in range(failures + 1)
    )


def _check_counts(failures: int, runs: int) -> None:
    if not 0 <= failures <= runs:
        raise ValueError(f"{failures} failures in {runs} runs cannot be")


def _check_fraction(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} must lie between 0 and 1, not {value}")
