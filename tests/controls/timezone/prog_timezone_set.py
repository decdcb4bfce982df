"""Correct programs that choose the time zone themselves, and give it back."""

import os
import time
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from unittest import mock

import pytest

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="needs tzset")

EASTERN = "EST5EDT,M3.2.0,M11.1.0"
SUMMER = 1720000000


@pytest.fixture
def zone():
    patch = pytest.MonkeyPatch()

    def choose(name):
        if name is None:
            patch.delenv("TZ", raising=False)
        else:
            patch.setenv("TZ", name)
        time.tzset()

    yield choose
    patch.undo()
    time.tzset()


@contextmanager
def local_zone(name):
    with mock.patch.dict(os.environ, {"TZ": name}):
        time.tzset()
        yield
    time.tzset()


def test_fixture_chooses_a_zone(zone):
    zone(EASTERN)
    assert time.tzname == ("EST", "EDT")
    assert (time.timezone, time.altzone, time.daylight) == (18000, 14400, 1)
    assert time.strftime("%Z %z", time.localtime(SUMMER)) == "EDT -0400"
    zone("UTC0")
    assert time.localtime(SUMMER)[:6] == time.gmtime(SUMMER)[:6]


@pytest.mark.parametrize("name, hour", [("AAA-5:30", 5), ("BBB+3", 21), ("UTC", 0), ("<+14>-14", 14)])
def test_parametrised_zone(zone, name, hour):
    zone(name)
    assert time.localtime(0).tm_hour == hour
    assert datetime.fromtimestamp(0).hour == hour


def test_zone_is_given_back():
    before = time.tzname, time.localtime(SUMMER), os.environ.get("TZ")
    with local_zone("XYZ-9"):
        assert time.tzname[0] == "XYZ"
        assert datetime.fromtimestamp(0).hour == 9
    assert (time.tzname, time.localtime(SUMMER), os.environ.get("TZ")) == before


def test_zone_may_be_unset(zone):
    zone(None)
    assert "TZ" not in os.environ
    assert time.mktime(time.localtime(SUMMER)) == SUMMER


def test_gap_and_fold(zone):
    zone(EASTERN)
    early, late = datetime(2024, 11, 3, 1, 30), datetime(2024, 11, 3, 1, 30, fold=1)
    assert late.timestamp() - early.timestamp() == 3600
    gap = datetime(2024, 3, 10, 2, 30)
    assert datetime.fromtimestamp(gap.timestamp()) == datetime(2024, 3, 10, 3, 30)


def test_until_teardown(monkeypatch, request):
    monkeypatch.setenv("TZ", "ABC-2")
    request.addfinalizer(time.tzset)
    request.addfinalizer(monkeypatch.undo)
    time.tzset()
    assert datetime.now().astimezone().utcoffset() == timedelta(hours=2)


def test_zoneinfo():
    zoneinfo = pytest.importorskip("zoneinfo")
    try:
        berlin = zoneinfo.ZoneInfo("Europe/Berlin")
        kathmandu = zoneinfo.ZoneInfo("Asia/Kathmandu")
    except zoneinfo.ZoneInfoNotFoundError:
        pytest.skip("no time zone data here")
    noon = datetime(2024, 7, 1, 12, tzinfo=berlin)
    assert noon.utcoffset() == timedelta(hours=2)
    assert noon.astimezone(kathmandu).strftime("%H:%M") == "15:45"
    assert (noon + timedelta(days=180)).utcoffset() == timedelta(hours=1)
    assert datetime.now(berlin).tzinfo is berlin
    assert abs(datetime.now(kathmandu) - datetime.now(timezone.utc)) < timedelta(seconds=10)
