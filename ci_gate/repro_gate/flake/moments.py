"""Moments that tell what a test's dependence on the clock rests on: another clock, an hour, a weekday, a year.

Belongs here: which moments are tried once a moved clock makes a test fail. Which moments a campaign
draws belongs to ``values``, trying them to ``diagnose``. Pure: the time comes in. Values are those of
the clock axis, in the neutral zone (UTC).
"""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from repro_gate.flake.values import MONTHS, WEEKDAYS

Time = datetime.datetime
_WEEKS = (5, 52, 104)
_HOUR = datetime.timedelta(hours=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Way:
    """Moves of the clock in one direction: within this day, and by weeks, to the same weekday and hour."""

    near: str
    far: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """A value of the clock axis, and what is special about it."""

    value: str
    label: str


def benign_ways(now: Time) -> tuple[Way, Way]:
    """Later and earlier. What fails however far the clock goes one way compares it with one that stays."""
    midnight = datetime.datetime.combine(now.date(), datetime.time())
    left = midnight + datetime.timedelta(days=1) - now
    return tuple(  # type: ignore[return-value]
        Way(
            near=_value(now + sign * min(_HOUR, room / 2)),
            far=tuple(_value(now + sign * datetime.timedelta(weeks=weeks)) for weeks in _WEEKS),
        )
        for sign, room in ((1, left), (-1, now - midnight))
    )


def simpler(value: str, now: Time) -> tuple[Moment, ...]:
    """Moments that differ from ``now`` in one part of a value only: its time of day, weekday, year or month."""
    if value.startswith("~"):
        return ()
    there = datetime.datetime.fromisoformat(value)
    found = [Moment(value=_value(datetime.datetime.combine(now.date(), there.time())), label="the time of day")]
    if there.weekday() != now.weekday():
        day = _nearest(now, lambda day: day.weekday() == there.weekday() and day.month == now.month)
        found.append(Moment(value=_value(day), label=WEEKDAYS[there.weekday()]))
    then = now + datetime.timedelta(weeks=round((there.year - now.year) * 365.2425 / 7))
    if there.year != now.year and then.year == there.year:
        found.append(Moment(value=_value(then), label=f"the year {then.year}"))
    if there.month != now.month:
        day = _nearest(
            now, lambda day: (day.year, day.month) == (now.year, there.month) and day.weekday() == now.weekday()
        )
        found.append(Moment(value=_value(day), label=MONTHS[there.month - 1]))
    return tuple(found)


def _nearest(now: Time, wanted: Callable[[Time], bool]) -> Time:
    """The day nearest to ``now``, at the same hour, of which that is true; within a year."""
    days = (now + datetime.timedelta(days=sign * days) for days in range(367) for sign in (1, -1))
    return next(day for day in days if wanted(day))


def _value(moment: Time) -> str:
    return moment.replace(microsecond=0, tzinfo=None).isoformat()
