import time
from datetime import date

import pytest

from shop import clock


def test_order_time():
    assert clock.order_time(1720008000) == "2024-07-03 12:00"


def test_time_for_interfaces():
    assert clock.utc_iso(1720008000) == "2024-07-03T12:00:00+00:00"


@pytest.mark.parametrize(
    ("day", "last"),
    [
        (date(2024, 2, 29), date(2024, 2, 29)),
        (date(2024, 12, 1), date(2024, 12, 31)),
    ],
    ids=str,
)
def test_end_of_month(day, last):
    assert clock.end_of_month(day) == last


def test_stopwatch():
    watch = clock.Stopwatch()
    time.sleep(0.03)
    assert watch.seconds() >= 0.02
