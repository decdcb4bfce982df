import os
import select
import socket

import pytest


def test_shout(echo):
    with socket.create_connection(echo) as client:
        client.sendall(b"hello")
        assert client.recv(100) == b"HELLO"


@pytest.mark.parametrize("word", ["a b", "[c]", "d::e"])
def test_shout_words(echo, word):
    with socket.create_connection(echo) as client:
        client.sendall(word.encode("ascii"))
        assert client.recv(100) == word.upper().encode("ascii")


def test_free_port_differs():
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 0))
        two.bind(("127.0.0.1", 0))
        assert one.getsockname() != two.getsockname()


def test_six():
    try:
        listener = socket.socket(socket.AF_INET6)
        listener.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    with listener:
        listener.listen(1)
        with socket.create_connection(listener.getsockname()[:2]) as client:
            peer, _ = listener.accept()
            with peer:
                peer.sendall(b"six")
            assert client.recv(10) == b"six"


def test_pair():
    left, right = socket.socketpair()
    with left, right:
        left.sendall(b"x")
        assert select.select([right], [], [])[0] == [right]
        assert right.recv(1) == b"x"


def test_pipe():
    read, write = os.pipe()
    os.write(write, b"through")
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert file.read() == b"through"
