import socket
import threading

import pytest


def _serve(listener):
    while True:
        try:
            peer, _ = listener.accept()
        except OSError:
            return
        with peer:
            data = peer.recv(1024)
            if data == b"stop":
                return
            peer.sendall(data.upper())


@pytest.fixture(scope="module")
def echo():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        thread = threading.Thread(target=_serve, args=(listener,), daemon=True)
        thread.start()
        address = listener.getsockname()
        yield address
        with socket.create_connection(address) as client:
            client.sendall(b"stop")
        thread.join()
