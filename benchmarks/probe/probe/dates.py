import time
from datetime import date, datetime, timedelta, timezone

CERTIFICATE_ENDS = date(2027, 5, 15)


def next_month(day):
    return day.replace(year=day.year + day.month // 12, month=day.month % 12 + 1)


def renewal(day):
    return day.replace(year=day.year + 1)


def week_label(day):
    return day.strftime("%Y-W%V")


def daily_average(total, day):
    """Average over the complete days of this year."""
    complete = day.timetuple().tm_yday - 1
    return total / complete


def local_day_hours(day):
    start = time.mktime((day.year, day.month, day.day, 0, 0, 0, 0, 0, -1))
    end = time.mktime((day.year, day.month, day.day + 1, 0, 0, 0, 0, 0, -1))
    return (end - start) / 3600


def dispatch(now=None):
    now = now or datetime.now(timezone.utc)
    return now + timedelta(hours=2)


def offset_label(stamp):
    """The zone's offset as +HHMM."""
    seconds = time.localtime(stamp).tm_gmtoff
    sign = "-" if seconds < 0 else "+"
    return "%s%02d00" % (sign, abs(seconds) // 3600)


def seconds_of_day(moment):
    return moment.hour * 3600 + moment.minute * 60 + moment.second + moment.microsecond / 1e6
