"""Correct programs that draw from the operating system: every draw is new, every argument is checked."""

import os
import pickle
import random
import secrets
import tempfile
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from os import urandom
from unittest import mock

import pytest


def test_two_tokens_differ():
    assert secrets.token_hex(16) != secrets.token_hex(16)
    assert secrets.token_urlsafe() != secrets.token_urlsafe()
    assert secrets.token_bytes(16) != secrets.token_bytes(16)


def test_uuid4_is_unique():
    drawn = [uuid.uuid4() for _ in range(10000)]
    assert len(set(drawn)) == 10000
    assert {u.version for u in drawn} == {4}
    assert {u.variant for u in drawn} == {uuid.RFC_4122}


def test_urandom_lengths():
    assert os.urandom(0) == b""
    assert [len(os.urandom(n)) for n in (1, 7, 4096, 100000)] == [1, 7, 4096, 100000]
    assert type(os.urandom(3)) is bytes
    assert len(os.urandom(True)) == 1


def test_urandom_refuses_bad_arguments():
    with pytest.raises(ValueError):
        os.urandom(-1)
    for bad in ("x", 1.0, None, b"1"):
        with pytest.raises(TypeError):
            os.urandom(bad)
    with pytest.raises(TypeError):
        os.urandom()
    with pytest.raises(TypeError):
        os.urandom(1, 2)


def test_urandom_imported_by_name():
    assert urandom(16) != urandom(16)
    assert len(urandom(5)) == 5


def test_urandom_uses_every_byte():
    assert len(set(os.urandom(65536))) == 256


def test_urandom_as_a_class_attribute():
    class Maker:
        draw = os.urandom

    assert len(Maker().draw(8)) == 8


def test_urandom_survives_pickle():
    again = pickle.loads(pickle.dumps(os.urandom))
    assert len(again(8)) == 8


def test_urandom_in_a_map():
    assert [len(b) for b in map(os.urandom, range(5))] == [0, 1, 2, 3, 4]


@pytest.mark.skipif(not hasattr(os, "getrandom"), reason="no getrandom here")
def test_getrandom():
    assert os.getrandom(16) != os.getrandom(16)


@pytest.mark.skipif(not os.path.exists("/dev/urandom"), reason="no /dev/urandom here")
def test_random_device():
    with open("/dev/urandom", "rb") as device:
        assert device.read(16) != device.read(16)


def test_system_random():
    source = random.SystemRandom()
    assert all(0.0 <= source.random() < 1.0 for _ in range(200))
    assert all(10 <= source.randint(10, 20) <= 20 for _ in range(200))
    source.seed(1)
    first = source.random()
    source.seed(1)
    assert source.random() != first
    with pytest.raises(NotImplementedError):
        source.getstate()
    with pytest.raises(ValueError):
        source.getrandbits(-1)


def test_secrets_choice_and_below():
    assert {secrets.choice("ab") for _ in range(200)} == {"a", "b"}
    assert all(0 <= secrets.randbelow(7) < 7 for _ in range(200))
    with pytest.raises(ValueError):
        secrets.randbelow(0)
    with pytest.raises(IndexError):
        secrets.choice([])


def test_secrets_do_not_follow_a_seed():
    random.seed(5)
    first = secrets.token_hex(8), uuid.uuid4()
    random.seed(5)
    second = secrets.token_hex(8), uuid.uuid4()
    assert first[0] != second[0]
    assert first[1] != second[1]


def test_entropy_does_not_move_the_seeded_generator():
    random.seed(5)
    expected = [random.random() for _ in range(3)]
    random.seed(5)
    seen = []
    for _ in range(3):
        secrets.token_hex(8)
        uuid.uuid4()
        os.urandom(8)
        random.Random()
        seen.append(random.random())
    assert seen == expected


def test_temporary_files_are_unique(tmp_path):
    names = [tempfile.mkdtemp(dir=tmp_path) for _ in range(200)]
    assert len(set(names)) == 200
    assert len(list(tmp_path.iterdir())) == 200
    with tempfile.NamedTemporaryFile(dir=tmp_path) as one, tempfile.NamedTemporaryFile(dir=tmp_path) as two:
        assert one.name != two.name


def test_threads_draw_in_parallel():
    start = threading.Barrier(4)

    def draw(_):
        start.wait(30)
        return [uuid.uuid4().hex for _ in range(500)] + [os.urandom(16).hex() for _ in range(500)]

    with ThreadPoolExecutor(4) as pool:
        drawn = [x for part in pool.map(draw, range(4)) for x in part]
    assert len(set(drawn)) == 4000


def test_threads_share_the_global_generator():
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(lambda _: random.random(), range(1000)))
    assert len(set(drawn)) == 1000


def test_patched_urandom_reaches_uuid4_and_is_restored():
    before = os.urandom
    with mock.patch("os.urandom", return_value=bytes(16)):
        assert os.urandom(16) == bytes(16)
        assert str(uuid.uuid4()) == "00000000-0000-4000-8000-000000000000"
    assert os.urandom is before
    assert os.urandom(16) != bytes(16)


def test_patched_token_is_restored():
    before = secrets.token_hex
    with mock.patch("secrets.token_hex", side_effect=["one", "two"]):
        assert [secrets.token_hex(), secrets.token_hex()] == ["one", "two"]
    assert secrets.token_hex is before
    with mock.patch("uuid.uuid4", return_value=uuid.UUID(int=1)):
        assert uuid.uuid4().int == 1
    assert uuid.uuid4().version == 4


def test_patched_entropy_until_teardown(monkeypatch):
    monkeypatch.setattr(os, "urandom", lambda size: b"\x01" * size)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=2))
    assert os.urandom(4) == b"\x01" * 4
    assert uuid.uuid4().int == 2


def test_tls_random_bytes():
    ssl = pytest.importorskip("ssl")
    assert ssl.RAND_bytes(16) != ssl.RAND_bytes(16)
