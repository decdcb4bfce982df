"""Dates and times."""

import calendar
import time
from datetime import datetime, timezone


def order_time(stamp):
    """When an order came in, as the back office shows it."""
    return datetime.fromtimestamp(stamp).strftime("%Y-%m-%d %H:%M")


def utc_iso(stamp):
    """When an order came in, as interfaces want it."""
    return datetime.fromtimestamp(stamp, timezone.utc).isoformat()


def end_of_month(day):
    return day.replace(day=calendar.monthrange(day.year, day.month)[1])


class Stopwatch:
    def __init__(self):
        self._start = time.monotonic()

    def seconds(self):
        return time.monotonic() - self._start
