"""Correct programs that read the wall clock in several ways: the readings agree, at any date.

time(), localtime() and gmtime() without argument may use a coarser clock: two seconds of tolerance.
Local wall times are compared as timestamps only, as the local clock may jump while a test runs.
"""

import calendar
import datetime as dt
import email.utils
import functools
import pickle
import time
import warnings
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from time import time as imported_time
from unittest import mock

import pytest

CLOSE = 2.0


def moments(before, after):
    """Every whole second that a clock read between before and after may show."""
    return range(int(before) - 2, int(after) + 2)


def test_time_does_not_go_back():
    read = [time.time() for _ in range(1000)]
    assert read == sorted(read)


def test_time_ns_does_not_go_back():
    read = [time.time_ns() for _ in range(1000)]
    assert read == sorted(read)
    assert type(read[0]) is int


def test_time_runs():
    first = time.time()
    deadline = time.monotonic() + 10
    while time.time() == first:
        assert time.monotonic() < deadline


def test_monotonic_does_not_go_back():
    for clock in (time.monotonic, time.perf_counter, time.process_time):
        read = [clock() for _ in range(300)]
        assert read == sorted(read)
    assert time.monotonic_ns() >= 0


def test_all_readings_agree():
    before = time.time()
    read = {
        "time": time.time(),
        "imported": imported_time(),
        "time_ns": time.time_ns() / 1e9,
        "now": datetime.now().timestamp(),
        "now utc": datetime.now(timezone.utc).timestamp(),
        "now tz": datetime.now(tz=timezone(timedelta(hours=5, minutes=45))).timestamp(),
        "module now": dt.datetime.now(dt.timezone.utc).timestamp(),
        "today": datetime.today().timestamp(),
        "astimezone": datetime.now().astimezone().timestamp(),
        "gmtime": calendar.timegm(time.gmtime()),
        "localtime": time.mktime(time.localtime()),
    }
    if hasattr(time, "clock_gettime"):
        read["clock_gettime"] = time.clock_gettime(time.CLOCK_REALTIME)
        read["clock_gettime_ns"] = time.clock_gettime_ns(time.CLOCK_REALTIME) / 1e9
    after = time.time()
    far = {k: v for k, v in read.items() if not before - CLOSE <= v <= after + CLOSE}
    assert not far


@pytest.mark.skipif(not hasattr(time, "clock_gettime"), reason="no clock_gettime here")
def test_monotonic_readings_agree():
    before = time.monotonic()
    read = time.clock_gettime(time.CLOCK_MONOTONIC)
    assert before - 0.1 <= read <= time.monotonic() + 0.1


def test_utcnow_agrees():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        before = time.time()
        naive = datetime.utcnow()
        after = time.time()
    assert naive.tzinfo is None
    assert before - CLOSE <= naive.replace(tzinfo=timezone.utc).timestamp() <= after + CLOSE


def test_strftime_agrees_with_gmtime_and_localtime():
    before = time.time()
    local = time.strftime("%Y-%m-%d %H:%M:%S")
    utc = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
    after = time.time()
    form = "%Y-%m-%d %H:%M:%S"
    assert local in {time.strftime(form, time.localtime(s)) for s in moments(before, after)}
    assert utc in {time.strftime(form, time.gmtime(s)) for s in moments(before, after)}


def test_ctime_and_asctime():
    before = time.time()
    read = {time.ctime(), time.asctime(), time.ctime(None)}
    after = time.time()
    assert read <= {time.asctime(time.localtime(s)) for s in moments(before, after)}


def test_localtime_and_gmtime_of_none():
    before = time.time()
    utc, local = time.gmtime(None), time.localtime(None)
    after = time.time()
    assert calendar.timegm(utc) in moments(before, after)
    assert time.mktime(local) in moments(before, after)
    assert isinstance(local, time.struct_time)
    assert len(local) == 9


def test_today():
    before = time.time()
    days = {date.today(), datetime.now().date(), datetime.today().date()}
    after = time.time()
    assert days <= {date.fromtimestamp(s) for s in (before, after)}


def test_fromtimestamp_of_now():
    now = time.time()
    assert abs(datetime.fromtimestamp(now).timestamp() - now) < 1e-3
    assert abs(datetime.fromtimestamp(now, timezone.utc).timestamp() - now) < 1e-3
    assert abs(time.time() - datetime.fromtimestamp(time.time()).timestamp()) < CLOSE + 5


def test_conversion_of_aware_to_naive_and_back():
    aware = datetime.now(timezone.utc)
    local = aware.astimezone()
    naive = local.replace(tzinfo=None)
    assert local == aware
    assert abs(naive.timestamp() - aware.timestamp()) < 1e-3
    assert datetime.fromisoformat(aware.isoformat()) == aware
    with pytest.raises(TypeError):
        naive < aware  # noqa: B015


def test_bad_arguments():
    for call in (time.localtime, time.gmtime, time.ctime, datetime.now, datetime.fromtimestamp):
        with pytest.raises(TypeError):
            call("x")
    with pytest.raises(TypeError):
        time.time(1)
    with pytest.raises(TypeError):
        time.strftime()
    with pytest.raises(TypeError):
        datetime.now(timezone.utc, timezone.utc)
    with pytest.raises((OverflowError, OSError, ValueError)):
        time.localtime(1e30)


def test_types_of_what_is_returned():
    assert type(datetime.now()) is datetime
    assert type(datetime.now(timezone.utc)) is datetime
    assert type(date.today()) is date
    assert type(time.time()) is float
    assert isinstance(datetime.now(), date)
    assert issubclass(dt.datetime, dt.date)
    assert dt.datetime is datetime
    assert isinstance(datetime(2020, 1, 1), dt.datetime)
    assert datetime.now(tz=None).tzinfo is None
    assert datetime.now(timezone.utc).tzinfo is timezone.utc


def test_subclasses():
    class Day(date):
        pass

    class Stamp(datetime):
        def label(self):
            return self.strftime("%Y")

    assert type(Day.today()) is Day
    assert type(Stamp.now()) is Stamp
    assert type(Stamp.now(timezone.utc)) is Stamp
    assert Stamp.now(timezone.utc).label().isdigit()
    assert type(Stamp.fromtimestamp(time.time())) is Stamp


def test_subclass_with_its_own_now():
    class Fixed(datetime):
        @classmethod
        def now(cls, tz=None):
            return cls(2001, 2, 3, tzinfo=tz)

    assert Fixed.now() == datetime(2001, 2, 3)
    assert datetime.now(timezone.utc).year > 2001


def test_singledispatch_on_dates():
    @functools.singledispatch
    def kind(value):
        return "other"

    kind.register(date, lambda value: "date")
    kind.register(datetime, lambda value: "datetime")
    assert (kind(datetime.now()), kind(date.today()), kind(3)) == ("datetime", "date", "other")


def test_pickle_of_moments():
    for value in (datetime.now(), datetime.now(timezone.utc), date.today(), time.localtime()):
        assert pickle.loads(pickle.dumps(value)) == value


def test_pickle_of_clocks():
    for clock in (time.time, time.time_ns, time.monotonic, time.sleep, datetime.now):
        assert callable(pickle.loads(pickle.dumps(clock)))
    assert abs(pickle.loads(pickle.dumps(time.time))() - time.time()) < CLOSE + 5


class Holder:
    now = datetime.now
    utc = staticmethod(functools.partial(datetime.now, timezone.utc))
    clock = time.time
    clock_ns = time.time_ns
    local = time.localtime
    today = date.today


def test_clocks_as_class_attributes():
    holder = Holder()
    assert abs(holder.now().timestamp() - time.time()) < CLOSE + 5
    assert abs(holder.utc().timestamp() - time.time()) < CLOSE + 5
    assert abs(holder.clock() - time.time()) < CLOSE + 5
    assert abs(holder.clock_ns() / 1e9 - time.time()) < CLOSE + 5
    assert abs(time.mktime(holder.local()) - time.time()) < CLOSE + 5
    assert isinstance(holder.today(), date)


@dataclass
class Event:
    created: float = field(default_factory=time.time)
    at: datetime = field(default_factory=datetime.now)
    day: date = field(default_factory=date.today)


def test_clock_as_a_default_factory():
    first, second = Event(), Event()
    assert first.created <= second.created
    assert abs(first.created - time.time()) < CLOSE + 5
    assert type(first.at) is datetime
    assert type(first.day) is date


def test_clock_as_a_default_argument():
    def stamp(clock=time.time, now=datetime.now):
        return clock(), now().timestamp()

    one, two = stamp()
    assert abs(one - two) < CLOSE + 5


def test_partial_of_the_clock():
    assert abs(functools.partial(time.time)() - time.time()) < CLOSE + 5


def test_patched_clock_is_restored():
    before = time.time
    with mock.patch("time.time", return_value=12.5) as fake:
        assert time.time() == 12.5
    assert fake.call_count == 1
    assert time.time is before
    assert time.time() > 12.5


def test_patched_datetime_is_restored():
    with mock.patch(__name__ + ".datetime", wraps=datetime) as fake:
        fake.now.return_value = datetime(2000, 2, 29)
        assert datetime.now().day == 29
    assert datetime is dt.datetime
    assert datetime.now(timezone.utc).year > 2000


def test_patched_clock_until_teardown(monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr(time, "time", lambda: float(next(ticks)))
    assert [time.time(), time.time(), time.time()] == [0.0, 1.0, 2.0]


def test_strftime_and_strptime():
    now = datetime.now(timezone.utc).replace(microsecond=0)
    assert datetime.strptime(now.strftime("%Y-%m-%d %H:%M:%S %z"), "%Y-%m-%d %H:%M:%S %z") == now
    parsed = time.strptime(time.strftime("%Y-%m-%d", time.gmtime(0)), "%Y-%m-%d")
    assert parsed[:3] == (1970, 1, 1)


def add_years(day, years):
    try:
        return day.replace(year=day.year + years)
    except ValueError:
        return day.replace(year=day.year + years, day=28)


def test_calendar_arithmetic_on_any_day():
    today = date.today()
    assert (today + timedelta(days=1)) - today == timedelta(days=1)
    assert (today + timedelta(days=1)).weekday() == (today.weekday() + 1) % 7
    assert 1 <= today.day <= calendar.monthrange(today.year, today.month)[1]
    assert add_years(today, 1) > today
    assert add_years(date(2024, 2, 29), 1) == date(2025, 2, 28)
    assert date.fromisocalendar(*today.isocalendar()) == today
    assert (today.replace(day=1) - timedelta(days=1)).month == (today.month - 2) % 12 + 1


def test_email_dates():
    before = time.time()
    stamps = [
        email.utils.mktime_tz(email.utils.parsedate_tz(email.utils.formatdate())),
        email.utils.parsedate_to_datetime(email.utils.formatdate(localtime=True)).timestamp(),
        email.utils.parsedate_to_datetime(email.utils.formatdate(usegmt=True)).timestamp(),
        email.utils.localtime().timestamp(),
    ]
    after = time.time()
    assert all(before - CLOSE <= s <= after + CLOSE for s in stamps)


def test_clock_info():
    assert time.get_clock_info("time").adjustable
    assert time.get_clock_info("monotonic").monotonic
