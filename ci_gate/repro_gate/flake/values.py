"""Which values the axes are moved to. Pure: the date, the machine's locales and zones come in."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from repro_gate.experiment import NON_UTF8

Date = datetime.date
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
WEEKDAYS = ("a Monday", "a Tuesday", "a Wednesday", "a Thursday", "a Friday", "a Saturday", "a Sunday")
_NOON = datetime.time(12)
_WEST_AND_EAST = (
    "America/Los_Angeles",
    "Asia/Kolkata",
    "Pacific/Auckland",
    "Europe/Berlin",
    "Asia/Tokyo",
    "America/New_York",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Instant:
    """A value of the clock axis, what is special about it, and the zone where that is so (or "")."""

    value: str
    label: str
    zone: str = ""

    @property
    def passes(self) -> bool:
        """Whether it passes while a test runs."""
        return self.value.startswith("~")


@dataclass(frozen=True, kw_only=True, slots=True)
class Values:
    """The values besides the neutral one that each axis takes in a campaign."""

    instants: tuple[Instant, ...]
    zones: tuple[str, ...]
    locales: tuple[str, ...]
    environments: tuple[str, ...] = ("terminal", "user", "bare", "extra")
    loads: tuple[str, ...] = ("late",)
    collectors: tuple[str, ...] = ("eager", "jitter", "rare", "jitter")
    orders: tuple[str, ...] = ("shuffle", "reversed", "shuffle", "shuffle-module", "shuffle", "shuffle-class")

    def label(self, clock: str) -> str:
        """What is special about an instant, for people."""
        return next((instant.label for instant in self.instants if instant.value == clock), "moved")


def values(today: Date, installed_locales: Collection[str] = ()) -> Values:
    """The values for a campaign that begins ``today``."""
    return Values(instants=_instants(today), zones=_WEST_AND_EAST, locales=_locales(installed_locales))


def _instants(today: Date) -> tuple[Instant, ...]:
    leap = today.year
    while not _is_leap(leap) or Date(leap, 2, 29) <= today:
        leap += 1
    year_end = Date(today.year, 12, 31)
    month_end = _month_end(today)
    next_day = today + datetime.timedelta(days=1)
    gap, fold = _next(today, 3, 2), _next(today, 11, 1)
    gap_in_europe, fold_in_europe = _next(today, 3, -1), _next(today, 10, -1)
    special = (
        Instant(value=f"{leap}-02-29T12:00:00", label="29 February"),
        Instant(value=f"~{next_day.isoformat()}T00:00:00", label="midnight passing between two readings of the clock"),
        Instant(value=f"{month_end.isoformat()}T12:00:00", label="the last day of a 31-day month"),
        Instant(value=f"{year_end.isoformat()}T23:30:00", label="the last evening of the year"),
        Instant(value=f"{_a_year_on(today).isoformat()}T12:00:00", label="a year from now"),
        Instant(value=f"{gap.isoformat()}T01:59:30", label="summer time beginning", zone="America/New_York"),
        Instant(value=f"~~{next_day.isoformat()}T00:00:00", label="midnight passing after two readings of the clock"),
        Instant(value=f"{fold.isoformat()}T01:30:00", label="the hour that comes twice", zone="America/New_York"),
        Instant(value=f"{gap_in_europe.isoformat()}T13:05:00", label="a day of 23 hours", zone="Europe/Berlin"),
        Instant(value=f"{next_day.isoformat()}T00:20:00", label="just after midnight"),
        Instant(value=f"{_saturday(today).isoformat()}T23:10:52", label="late on a Saturday"),
        Instant(value=f"{gap.isoformat()}T13:05:00", label="a day of 23 hours", zone="America/New_York"),
        Instant(value=f"{_a_year_on(today).year}-01-01T08:00:00", label="the first of January"),
        Instant(value=f"{fold_in_europe.isoformat()}T13:05:00", label="a day of 25 hours", zone="Europe/Berlin"),
        Instant(value="2038-01-20T12:30:00", label="after 2038-01-19"),
        Instant(value=f"{today.isoformat()}T20:10:00", label="the next day in UTC", zone="America/Los_Angeles"),
        Instant(value=f"{next_day.isoformat()}T06:10:00", label="the day before in UTC", zone="Asia/Tokyo"),
    )
    return (*special, *_ordinary(today, special))


def _ordinary(today: Date, known: Collection[Instant]) -> Iterator[Instant]:
    """Days in months, on weekdays and at hours at which none of these falls; each month of the coming year once."""
    dates = [Date.fromisoformat(each.value[:10]) for each in known if not each.passes]
    months, weekdays = {date.month for date in dates}, {date.weekday() for date in dates}
    hours = itertools.cycle((14, 17, 10, 19, 15, 21, 16, 18))
    for month in range(1, 13):
        year, index = divmod(today.year * 12 + today.month - 1 + month, 12)
        first = Date(year, index + 1, 8)
        week = [first + datetime.timedelta(days=days) for days in range(7)]
        unseen = [day for day in week if day.weekday() not in weekdays]
        if index + 1 not in months or (unseen and month == 12):
            day = (unseen or week)[0]
            weekdays.add(day.weekday())
            yield Instant(
                value=f"{day.isoformat()}T{next(hours)}:07:52", label=f"{WEEKDAYS[day.weekday()]} in {MONTHS[index]}"
            )


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _a_year_on(day: Date) -> Date:
    return Date(day.year + 1, day.month, min(day.day, 28))


def _month_end(today: Date) -> Date:
    """The next 31st that is followed by a shorter month (or, failing that, any 31st)."""
    for months in range(1, 13):
        year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
        if month + 1 in (1, 3, 5, 8, 10):
            return Date(year, month + 1, 31)
    raise AssertionError("a year has 31sts")


def _saturday(today: Date) -> Date:
    return today + datetime.timedelta(days=(5 - today.weekday()) % 7 or 7)


def _next(today: Date, month: int, sunday: int) -> Date:
    """The next such Sunday of a month: the second of March and the first of November are New
    York's changes of the clock, the last of March and of October Berlin's."""
    day = _sunday(today.year, month, sunday)
    return day if day > today else _sunday(today.year + 1, month, sunday)


def _sunday(year: int, month: int, n: int) -> Date:
    first = Date(year, month, 1)
    sundays = [first + datetime.timedelta(days=offset) for offset in range(31) if (first.weekday() + offset) % 7 == 6]
    return [day for day in sundays if day.month == month][n - 1 if n > 0 else n]


def _locales(installed: Collection[str]) -> tuple[str, ...]:
    """A text encoding that is not UTF-8, plain C, and one comma-decimal and one non-Latin locale."""
    chosen = [NON_UTF8, "C"]
    names = sorted(installed)
    for wanted in (("de_", "fr_", "es_", "it_", "pl_"), ("tr_", "ru_", "ja_", "zh_", "ar_", "fa_", "hi_")):
        found = [name for name in names if name.lower().startswith(wanted) and "utf" in name.lower()]
        chosen.extend(found[:1])
    return tuple(chosen)
