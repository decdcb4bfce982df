"""Correct programs that stamp, store and expire things with the wall clock."""

import gzip
import http.cookiejar
import http.cookies
import io
import json
import logging
import os
import sqlite3
import tempfile
import time
import urllib.request
import uuid
import warnings
import zipfile
from datetime import date, datetime, timedelta, timezone
from email.message import Message
from email.utils import parsedate_to_datetime

import pytest


class Cache:
    def __init__(self, seconds, clock):
        self.seconds = seconds
        self.clock = clock
        self.data = {}

    def put(self, key, value):
        self.data[key] = (self.clock() + self.seconds, value)

    def get(self, key):
        expires, value = self.data.get(key, (0, None))
        return value if self.clock() < expires else None


@pytest.mark.parametrize("clock", [time.time, time.monotonic], ids=["time", "monotonic"])
def test_cache_with_a_time_to_live(clock):
    long, short = Cache(600, clock), Cache(0.01, clock)
    long.put("a", 1)
    short.put("a", 1)
    time.sleep(0.02)
    assert long.get("a") == 1
    assert short.get("a") is None


def test_token_with_an_expiry():
    token = json.loads(json.dumps({"iat": time.time(), "exp": int(time.time()) + 600}))
    assert token["iat"] <= time.time() < token["exp"]
    until = datetime.now(timezone.utc) + timedelta(minutes=5)
    assert datetime.now(timezone.utc) < until


def test_sqlite_text_stamps():
    now = datetime.now(timezone.utc)
    base = sqlite3.connect(":memory:")
    base.execute("create table log (at text, stamp real)")
    base.execute("insert into log values (?, ?)", (now.isoformat(), now.timestamp()))
    text, stamp = base.execute("select at, stamp from log").fetchone()
    base.close()
    assert datetime.fromisoformat(text) == now
    assert stamp == now.timestamp()


def test_sqlite_adapts_dates():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        base = sqlite3.connect(":memory:", detect_types=sqlite3.PARSE_DECLTYPES)
        base.execute("create table log (at timestamp, day date)")
        now, today = datetime.now(), date.today()
        base.execute("insert into log values (?, ?)", (now, today))
        assert base.execute("select at, day from log").fetchone() == (now, today)
        base.close()


def test_log_record_is_stamped(caplog):
    before = time.time()
    logging.getLogger("clock").warning("hello")
    after = time.time()
    (record,) = caplog.records
    assert before - 0.01 <= record.created <= after + 0.01
    stamp = logging.Formatter("%(asctime)s", "%Y").format(record)
    assert stamp == time.strftime("%Y", time.localtime(record.created))


def test_cookie_morsel_expires_in_the_future():
    cookie = http.cookies.SimpleCookie()
    cookie["a"] = "b"
    cookie["a"]["expires"] = 3600
    before = time.time()
    text = cookie.output(header="")
    stamp = parsedate_to_datetime(text.split("expires=")[1].split(";")[0]).timestamp()
    assert before + 3600 - 3 <= stamp <= time.time() + 3600 + 3


def test_cookie_jar_expiry():
    class Response:
        def info(self):
            headers = Message()
            headers["Set-Cookie"] = "keep=1; Max-Age=600"
            headers["Set-Cookie"] = "drop=1; Max-Age=0"
            return headers

    jar = http.cookiejar.CookieJar()
    jar.extract_cookies(Response(), urllib.request.Request("http://www.example.com/"))
    (cookie,) = list(jar)
    assert cookie.name == "keep"
    assert not cookie.is_expired()
    assert cookie.is_expired(time.time() + 700)


def test_uuid1_is_unique():
    drawn = [uuid.uuid1() for _ in range(1000)]
    assert len(set(drawn)) == 1000
    assert {u.version for u in drawn} == {1}


def test_zip_member_is_stamped():
    before = time.time()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.txt", "text")
    after = time.time()
    with zipfile.ZipFile(buffer) as archive:
        stamp = archive.getinfo("a.txt").date_time
        assert archive.testzip() is None
    assert stamp in {time.localtime(s)[:6] for s in range(int(before) - 3, int(after) + 2)}


def test_gzip_header_is_stamped():
    before = time.time()
    buffer = io.BytesIO()
    with gzip.GzipFile(fileobj=buffer, mode="wb") as stream:
        stream.write(b"text")
    stamp = int.from_bytes(buffer.getvalue()[4:8], "little")
    assert int(before) - 2 <= stamp <= time.time() + 2


def test_later_file_is_not_older(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"1")
    time.sleep(0.02)
    second.write_bytes(b"2")
    assert second.stat().st_mtime_ns >= first.stat().st_mtime_ns
    mtime = first.stat().st_mtime
    os.utime(second, (mtime - 100, mtime - 100))
    assert first.stat().st_mtime > second.stat().st_mtime


def test_mtime_may_be_set(tmp_path):
    path = tmp_path / "file"
    path.touch()
    now = int(time.time())
    os.utime(path, (now, now))
    assert path.stat().st_mtime == now
    os.utime(path, (0, 0))
    assert path.stat().st_mtime == 0


def test_temporary_files_live_and_go():
    with tempfile.TemporaryDirectory() as folder:
        with tempfile.NamedTemporaryFile(dir=folder) as file:
            assert os.path.exists(file.name)
        assert os.listdir(folder) == []
    assert not os.path.exists(folder)


def test_measured_duration_is_not_negative():
    start = time.time()
    total = sum(range(1000))
    assert total == 499500
    assert 0 <= time.time() - start < 60


def test_retry_until_a_deadline():
    attempts = []

    def flaky():
        attempts.append(time.time())
        if len(attempts) < 3:
            raise ConnectionError
        return "ok"

    deadline = time.time() + 60
    while time.time() < deadline:
        try:
            assert flaky() == "ok"
            break
        except ConnectionError:
            time.sleep(0.001)
    assert len(attempts) == 3
    assert attempts == sorted(attempts)
