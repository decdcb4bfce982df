"""Correct programs that share a reading of the clock between tests, as sessions, caches and lock files do."""

import os
import time

import pytest

AT_IMPORT = time.time()


@pytest.fixture(scope="module")
def started():
    return time.time()


@pytest.fixture(scope="module")
def token():
    return {"expires": time.time() + 3600}


@pytest.fixture(scope="module")
def lock(tmp_path_factory):
    path = tmp_path_factory.mktemp("lock") / "lock"
    path.write_text("held")
    return path


CACHE = {}


def cached(name):
    value, since = CACHE.get(name, (0, 0.0))
    if time.time() - since > 600:
        value, since = value + 1, time.time()
        CACHE[name] = value, since
    return value


@pytest.mark.parametrize("n", range(3))
def test_a_session_is_not_a_day_long(started, n):
    assert 0 <= time.time() - started < 600


@pytest.mark.parametrize("n", range(3))
def test_a_token_for_an_hour_is_valid_in_the_next_test(token, n):
    assert time.time() < token["expires"]


@pytest.mark.parametrize("n", range(3))
def test_what_was_cached_is_still_there(n):
    assert cached("x") == 1


@pytest.mark.parametrize("n", range(3))
def test_a_lock_is_not_stale(lock, n):
    assert -1 < time.time() - os.stat(lock).st_mtime < 600


@pytest.mark.parametrize("n", range(3))
def test_time_goes_on_since_the_import(n):
    assert time.time() >= AT_IMPORT


def test_a_file_is_not_from_the_future(tmp_path):
    path = tmp_path / "a"
    time.sleep(0.05)
    path.write_text("x")
    made = path.stat().st_mtime
    assert time.time() >= made


def test_a_file_is_not_older_than_what_came_before(tmp_path):
    before = time.time()
    path = tmp_path / "a"
    path.write_text("x")
    assert path.stat().st_mtime >= before - 0.05
