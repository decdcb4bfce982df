"""Moments that differ from now in one thing, whatever now is."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from repro_gate.flake.moments import benign_ways, simpler
from repro_gate.flake.values import values

Time = datetime.datetime
times = st.datetimes(min_value=Time.min.replace(year=2000), max_value=Time.min.replace(year=2037))
NEW_YEAR, LEAP, LAST = (
    Time.fromisoformat(t) for t in ("2027-01-01T00:00:00", "2028-02-29T23:59:59", "2026-12-31T23:59:59")
)


def whenever(test: Callable[[Time], None]) -> Callable[[], None]:
    """At any time, and where a day, a month or a year turns."""
    return given(times)(example(NEW_YEAR)(example(LEAP)(example(LAST)(test))))


def parsed(value: str) -> Time:
    return Time.fromisoformat(value)


@whenever
def test_benign_moves_go_one_way_each_to_the_same_weekday_and_hour(now: Time) -> None:
    now = now.replace(microsecond=0)
    later, earlier = benign_ways(now)
    assert all(parsed(each) > now for each in later.far)
    assert all(parsed(each) < now for each in earlier.far)
    assert now <= parsed(later.near)
    assert parsed(earlier.near) <= now
    for moment in map(parsed, (*later.far, *earlier.far)):
        assert (moment.weekday(), moment.time()) == (now.weekday(), now.time())
    assert {parsed(way.near).date() for way in (later, earlier)} == {now.date()}


@whenever
def test_a_simpler_moment_has_one_thing_of_the_value_and_the_rest_of_now(now: Time) -> None:
    now = now.replace(microsecond=0)
    for instant in values(now.date()).instants:
        for moment in simpler(instant.value, now):
            there, value = parsed(moment.value), parsed(instant.value)
            if moment.label == "the time of day":
                assert (there.date(), there.time()) == (now.date(), value.time())
                continue
            assert there.time() == now.time()
            if moment.label.startswith("a "):
                assert (there.weekday(), there.month, there.year) == (value.weekday(), now.month, now.year)
            elif moment.label.startswith("the year"):
                assert (there.year, there.weekday()) == (value.year, now.weekday())
            else:
                assert (there.month, there.year, there.weekday()) == (value.month, now.year, now.weekday())


def test_an_instant_that_passes_has_no_simpler_one() -> None:
    assert simpler("~2026-12-01T00:00:00", NEW_YEAR) == ()


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        ("2028-02-29T12:00:00", ["the time of day", "a Tuesday", "the year 2028", "February"]),
        ("2026-12-31T23:30:00", ["the time of day", "a Thursday", "December"]),
        ("2026-11-30T00:20:00", ["the time of day"]),
    ],
)
def test_the_likeliest_comes_first(value: str, labels: list[str]) -> None:
    assert [moment.label for moment in simpler(value, parsed("2026-11-30T03:00:00"))] == labels
