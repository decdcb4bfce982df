import calendar
import time
from datetime import date, datetime, timedelta, timezone

import pytest

from probe import dates


class TestToday:
    def test_renewal_is_later(self):
        today = date.today()
        assert dates.renewal(today) > today

    def test_next_invoice_is_later(self):
        today = date.today()
        assert dates.next_month(today) > today

    def test_week_label(self):
        today = date.today()
        year, week, _ = today.isocalendar()
        assert dates.week_label(today) == "%d-W%02d" % (year, week)

    def test_average_so_far(self):
        assert dates.daily_average(1000, date.today()) > 0

    def test_certificate_is_valid(self):
        assert date.today() < dates.CERTIFICATE_ENDS


def test_stopwatch():
    start = dates.seconds_of_day(datetime.now())
    time.sleep(0.2)
    end = dates.seconds_of_day(datetime.now())
    assert end > start


def test_leaves_the_same_day():
    now = datetime.now(timezone.utc)
    assert dates.dispatch(now).date() == now.date()


def test_opening_hours_in_vienna(zone):
    zone("CET-1CEST,M3.5.0,M10.5.0/3")
    assert dates.local_day_hours(date.today()) == 24


def test_opening_hours_here():
    assert dates.local_day_hours(date.today()) == 24


def test_epoch_shown():
    assert datetime.fromtimestamp(0) == datetime(1970, 1, 1)


def test_offset_shown():
    stamp = 1767225600
    assert dates.offset_label(stamp) == time.strftime("%z", time.localtime(stamp))


@pytest.mark.parametrize("stamp", [1782000000], ids=["20 June 2026 \u2013 evening"])
def test_day_of_delivery(stamp):
    assert date.fromtimestamp(stamp) == date(2026, 6, 21)


def test_zone_put_back(zone):
    zone("XYZ-5:45")
    assert time.strftime("%z", time.localtime(0)) == "+0545"


def test_zone_west(zone):
    zone("ABC+8")
    assert datetime.fromtimestamp(0).hour == 16


def test_epoch_in_utc():
    assert datetime.fromtimestamp(0, timezone.utc).isoformat() == "1970-01-01T00:00:00+00:00"


def test_timegm():
    assert calendar.timegm((2026, 3, 29, 1, 0, 0)) == 1774746000


@pytest.mark.parametrize("year, days", [(2024, 29), (2026, 28), (2000, 29), (2100, 28)])
def test_february(year, days):
    assert calendar.monthrange(year, 2)[1] == days


def test_month_end_given():
    with pytest.raises(ValueError):
        dates.next_month(date(2026, 1, 31))
    assert dates.next_month(date(2026, 12, 15)) == date(2027, 1, 15)


def test_tomorrow():
    today = date.today()
    assert (today + timedelta(days=1)) - today == timedelta(days=1)


def test_round_trip():
    now = datetime.now(timezone.utc)
    assert datetime.fromisoformat(now.isoformat()) == now
