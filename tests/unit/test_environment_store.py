"""Environments in the cache: only a finished attempt is found, one maker at a time, old ones go."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from repro_gate.environment import store, sweep
from repro_gate.errors import PrepareFailed

DAY = 86_400


class Clock:
    """Time that passes by being asked for."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "env" / "key"
    made.mkdir(parents=True)
    return made


def test_an_attempt_is_found_only_once_it_is_published(place: Path) -> None:
    attempt = store.new_attempt(place)
    assert store.attempt_of(place) is None
    store.publish(attempt, {"pytest": "9"})
    found = store.attempt_of(place)
    assert found is not None
    assert (found[0], found[1]["pytest"]) == (attempt, "9")


def test_what_was_left_unfinished_is_removed_and_never_found(place: Path) -> None:
    first = store.new_attempt(place)
    (first / "made").mkdir()
    (first / "made").chmod(0o500)
    second = store.new_attempt(place)
    assert store.attempt_of(place) is None
    assert [path for path in place.iterdir() if path.is_dir()] == [second]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"attempt": "7"}', '{"attempt": 7', '{"attempt": "../.."}'])
def test_a_broken_mark_is_no_environment(place: Path, text: str) -> None:
    (place / "ready.json").write_text(text)
    assert store.attempt_of(place) is None


def test_while_one_makes_it_another_waits_and_then_gives_up(place: Path) -> None:
    waited: list[int] = []
    with (
        store.alone(place, seconds=9, clock=Clock(), waiting=lambda: None),
        pytest.raises(PrepareFailed, match="Another process has been making"),
        store.alone(place, seconds=3, clock=Clock(), waiting=lambda: waited.append(1)),
    ):
        pytest.fail("two at once")
    assert waited
    with store.alone(place, seconds=1, clock=Clock(), waiting=lambda: pytest.fail("nobody holds it")):
        pass


def aged(place: Path, days: float, now: float) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    store.publish(store.new_attempt(place), {})
    os.utime(place / "ready.json", (now - days * DAY, now - days * DAY))
    return place


def test_sweeping_takes_what_nobody_used_for_long(tmp_path: Path) -> None:
    now = 2e9
    old, fresh, held = (aged(tmp_path / "env" / name, days, now) for name, days in (("a", 31), ("b", 29), ("c", 99)))
    with store.alone(held, seconds=1, clock=Clock(), waiting=lambda: None):
        assert sweep(tmp_path, days=30, now=now) == ("a",)
    assert not old.exists()
    assert fresh.exists()
    assert held.exists()


def test_using_an_environment_keeps_it(tmp_path: Path) -> None:
    place = aged(tmp_path / "env" / "a", 31, (tmp_path.stat().st_mtime))
    assert store.attempt_of(place) is not None
    assert sweep(tmp_path, days=30, now=tmp_path.stat().st_mtime) == ()


def test_sweeping_an_empty_cache_is_nothing(tmp_path: Path) -> None:
    assert sweep(tmp_path, days=0, now=2e9) == ()
