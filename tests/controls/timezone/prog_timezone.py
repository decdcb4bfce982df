"""Correct programs that compute with moments in any local time zone."""

import calendar
import email.utils
import logging
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import time
import warnings
from datetime import date, datetime, timedelta, timezone

import pytest

MOMENT = datetime(2024, 3, 10, 12, 30, 15, tzinfo=timezone.utc)
STAMP = 1710073815
YEAR_2023 = range(1672531200, 1672531200 + 366 * 86400, 1800)


def test_aware_moment_has_one_timestamp():
    assert MOMENT.timestamp() == STAMP
    assert MOMENT.astimezone().timestamp() == STAMP
    assert MOMENT.astimezone(timezone(timedelta(hours=-3, minutes=-30))) == MOMENT
    assert datetime.fromtimestamp(STAMP, timezone.utc) == MOMENT


def test_timegm_and_gmtime():
    assert calendar.timegm(time.gmtime(STAMP)) == STAMP
    assert time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(STAMP)) == "2024-03-10 12:30:15"
    assert time.gmtime(0)[:6] == (1970, 1, 1, 0, 0, 0)


def test_naive_local_round_trip_all_year():
    assert [s for s in YEAR_2023 if datetime.fromtimestamp(s).timestamp() != s] == []


def test_aware_local_round_trip_all_year():
    assert [s for s in YEAR_2023[::7] if datetime.fromtimestamp(s).astimezone().timestamp() != s] == []


def test_localtime_and_mktime():
    assert time.mktime(time.localtime(STAMP)) == STAMP
    local = time.localtime(STAMP)
    assert calendar.timegm(local) - STAMP == local.tm_gmtoff
    assert datetime.fromtimestamp(STAMP).timetuple()[:6] == local[:6]


def test_offset_of_now_is_sane():
    offset = datetime.now().astimezone().utcoffset()
    assert timedelta(hours=-13) < offset < timedelta(hours=15)
    assert abs(datetime.now().astimezone() - datetime.now(timezone.utc)) < timedelta(seconds=10)


def test_offset_as_text():
    local = MOMENT.astimezone()
    assert datetime.fromisoformat(local.isoformat()) == MOMENT
    text = local.strftime("%Y-%m-%d %H:%M:%S %z")
    assert datetime.strptime(text, "%Y-%m-%d %H:%M:%S %z") == MOMENT


def test_local_date_is_near_the_utc_date():
    assert abs(date.fromtimestamp(STAMP) - MOMENT.date()) <= timedelta(days=1)
    assert date.fromtimestamp(0) in {date(1969, 12, 31), date(1970, 1, 1)}


def test_fixed_zones():
    east, west = timezone(timedelta(hours=5, minutes=45)), timezone(timedelta(hours=-8), "west")
    moments = [datetime(2024, 1, 1, 0, 0, tzinfo=zone) for zone in (west, timezone.utc, east)]
    assert [m.tzinfo for m in sorted(moments)] == [east, timezone.utc, west]
    assert moments[0].tzname() == "west"
    assert moments[0] - moments[2] == timedelta(hours=13, minutes=45)


def test_mail_dates():
    assert email.utils.formatdate(STAMP) == "Sun, 10 Mar 2024 12:30:15 -0000"
    local = email.utils.formatdate(STAMP, localtime=True)
    assert email.utils.parsedate_to_datetime(local).timestamp() == STAMP
    assert email.utils.mktime_tz(email.utils.parsedate_tz("Sun, 10 Mar 2024 12:30:15 +0200")) == STAMP - 7200


def test_log_stamps_in_utc():
    formatter = logging.Formatter("%(asctime)s", "%H:%M")
    formatter.converter = time.gmtime
    record = logging.LogRecord("a", logging.INFO, "f", 1, "text", None, None)
    record.created = STAMP
    assert formatter.format(record) == "12:30"


def test_sqlite_agrees_on_local_time():
    base = sqlite3.connect(":memory:")
    (text,) = base.execute("select datetime(?, 'unixepoch', 'localtime')", (STAMP,)).fetchone()
    base.close()
    assert text == time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(STAMP))


def offsets(_=None):
    return [time.localtime(s).tm_gmtoff for s in (0, STAMP, STAMP + 120 * 86400)]


def test_subprocess_inherits_the_zone():
    code = "import sys, time; print([time.localtime(int(s)).tm_gmtoff for s in sys.argv[1:]])"
    arguments = [str(s) for s in (0, STAMP, STAMP + 120 * 86400)]
    done = subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, timeout=60, check=True)
    assert done.stdout.decode("ascii").strip() == repr(offsets())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_inherits_the_zone(method):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with multiprocessing.get_context(method).Pool(1) as pool:
            assert pool.map(offsets, [0]) == [offsets()]
            pool.close()
            pool.join()


def test_child_with_its_own_zone():
    done = subprocess.run(
        [sys.executable, "-c", "import time; print(time.localtime(0).tm_hour)"],
        env=dict(os.environ, TZ="XXX-7"),
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert int(done.stdout) == 7
