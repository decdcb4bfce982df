import asyncio
import json
import socket
import threading

import pytest

from shop import notify
from shop.orders import Order


@pytest.fixture
def big_order():
    return Order("R-482", "ada", [(f"TEA-{n}", n % 5 + 1, 850 + n) for n in range(250)])


def test_announce_by_mail_and_text_message(big_order):
    outbox = []
    notify.announce(big_order, outbox)
    assert [channel for channel, _ in outbox] == ["mail", "sms"]
    assert outbox[1] == ("sms", "R-482 is on its way")


def test_push_to_phone_and_tablet():
    delivered = []
    asyncio.run(notify.push_all(["phone", "tablet"], delivered))
    assert delivered == ["phone", "tablet"]


def test_push_answers_by_device():
    delivered = []
    answers = asyncio.run(notify.push_all(["phone", "watch", "tablet"], delivered))
    assert answers == ["phone: accepted", "watch: accepted", "tablet: accepted"]
    assert sorted(delivered) == ["phone", "tablet", "watch"]


def test_webhook():
    received = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)

        def serve_one():
            connection, _ = server.accept()
            with connection, connection.makefile("rw", encoding="ascii") as stream:
                received.append(json.loads(stream.readline()))
                stream.write("thanks\n")

        thread = threading.Thread(target=serve_one)
        thread.start()
        try:
            answer = notify.webhook(server.getsockname(), {"order": "R-482", "total": 1290})
        finally:
            thread.join()
    assert answer == "thanks"
    assert received == [{"order": "R-482", "total": 1290}]


@pytest.mark.xfail(reason="the mail server wants ASCII, we do not encode subjects yet")
def test_subject_is_ascii():
    assert notify.subject(Order("R-1", "Käthe")).isascii()
