"""Correct programs that use the event loop itself: callbacks, timers, readers, streams, children, threads."""

import asyncio
import os
import selectors
import signal
import socket
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from unittest import mock

import pytest

LONG = 60
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def test_callbacks_run_in_the_order_registered():
    async def main():
        loop, order = asyncio.get_running_loop(), []
        for number in range(30):
            loop.call_soon(order.append, number)
        done = loop.create_future()
        loop.call_soon(done.set_result, None)
        await done
        return order

    assert asyncio.run(main()) == list(range(30))


def test_callbacks_from_a_thread_run_in_the_order_registered():
    async def main():
        loop, order = asyncio.get_running_loop(), []
        done = loop.create_future()

        def register():
            for number in range(30):
                loop.call_soon_threadsafe(order.append, number)
            loop.call_soon_threadsafe(done.set_result, None)

        thread = threading.Thread(target=register)
        thread.start()
        await asyncio.wait_for(done, LONG)
        thread.join(LONG)
        return order

    assert asyncio.run(main()) == list(range(30))


def test_done_callbacks_run_in_the_order_added():
    async def main():
        order, future = [], asyncio.get_running_loop().create_future()
        for number in range(10):
            future.add_done_callback(lambda f, n=number: order.append((n, f.result())))
        future.set_result("x")
        while len(order) < 10:
            await asyncio.sleep(0)
        return order

    assert asyncio.run(main()) == [(n, "x") for n in range(10)]


def test_timers_that_are_clearly_apart():
    async def main():
        loop, order = asyncio.get_running_loop(), []
        done = loop.create_future()
        start = loop.time()
        loop.call_at(start + 0.09, done.set_result, None)
        loop.call_at(start + 0.06, order.append, "third")
        loop.call_at(start + 0.03, order.append, "second")
        loop.call_soon(order.append, "first")
        cancelled = loop.call_at(start + 0.045, order.append, "never")
        assert cancelled.when() == pytest.approx(start + 0.045, abs=0.01)
        cancelled.cancel()
        assert cancelled.cancelled()
        await done
        return order

    assert asyncio.run(main()) == ["first", "second", "third"]


def test_delays_that_are_clearly_apart():
    async def main():
        loop, order = asyncio.get_running_loop(), []
        done = loop.create_future()
        for number in range(3):
            loop.call_later(0.03 * number, order.append, number)
        loop.call_later(0.09, done.set_result, None)
        await done
        return order

    assert asyncio.run(main()) == [0, 1, 2]


def test_timer_is_not_early():
    async def main():
        loop = asyncio.get_running_loop()
        start, done = loop.time(), loop.create_future()
        loop.call_at(start + 0.03, lambda: done.set_result(loop.time()))
        assert await asyncio.sleep(0.02, "value") == "value"
        return await done - start

    assert 0.025 <= asyncio.run(main()) < 10


def test_loop_time():
    async def main():
        loop = asyncio.get_running_loop()
        read = [loop.time() for _ in range(200)]
        assert read == sorted(read)
        assert abs(loop.time() - time.monotonic()) < 5

    asyncio.run(main())


def test_cancelled_handle_does_not_run():
    async def main():
        loop, ran = asyncio.get_running_loop(), []
        handles = [loop.call_soon(ran.append, n) for n in range(4)]
        handles[1].cancel()
        handles[3].cancel()
        await asyncio.sleep(0.001)
        assert isinstance(handles[0], asyncio.Handle)
        return ran

    assert asyncio.run(main()) == [0, 2]


class Upper(asyncio.Protocol):
    def __init__(self, log):
        self.log = log

    def connection_made(self, transport):
        self.log.append("made")
        self.transport = transport

    def data_received(self, data):
        self.log.append("data")
        self.transport.write(data.upper())

    def eof_received(self):
        self.log.append("eof")

    def connection_lost(self, error):
        self.log.append("lost")
        self.log.append(error)


def test_protocol_callbacks_come_in_order():
    async def main():
        log = []
        server = await asyncio.get_running_loop().create_server(lambda: Upper(log), "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(b"hello")
        assert await asyncio.wait_for(reader.readexactly(5), LONG) == b"HELLO"
        writer.write_eof()
        assert await asyncio.wait_for(reader.read(), LONG) == b""
        writer.close()
        await writer.wait_closed()
        while len(log) < 5:
            await asyncio.sleep(0.001)
        server.close()
        await server.wait_closed()
        return log

    assert asyncio.run(main()) == ["made", "data", "eof", "lost", None]


async def echo(reader, writer):
    while True:
        line = await reader.readline()
        if not line:
            break
        writer.write(line)
        await writer.drain()
    writer.close()


async def talk(reader, writer, number):
    for index in range(10):
        writer.write(b"%d %d\n" % (number, index))
        await writer.drain()
        assert await asyncio.wait_for(reader.readline(), LONG) == b"%d %d\n" % (number, index)
    writer.close()
    await writer.wait_closed()
    return number


def test_echo_server_with_several_clients():
    async def main():
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]

        async def client(number):
            return await talk(*await asyncio.open_connection("127.0.0.1", port), number)

        result = await asyncio.gather(*(client(n) for n in range(5)))
        server.close()
        await server.wait_closed()
        return result

    assert asyncio.run(main()) == [0, 1, 2, 3, 4]


@posix
def test_unix_socket(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def main():
        server = await asyncio.start_unix_server(echo, "s")
        result = await talk(*await asyncio.open_unix_connection("s"), 7)
        server.close()
        await server.wait_closed()
        return result

    assert asyncio.run(main()) == 7


def test_large_transfer_keeps_its_order():
    payload = b"".join(b"%07d\n" % n for n in range(30000))

    async def send(reader, writer):
        for start in range(0, len(payload), 1000):
            writer.write(payload[start : start + 1000])
            await writer.drain()
        writer.close()

    async def main():
        server = await asyncio.start_server(send, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        data = await asyncio.wait_for(reader.read(-1), LONG)
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()
        return data

    assert asyncio.run(main()) == payload


def test_subprocess():
    async def main():
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "import sys; sys.stdout.write(sys.stdin.read().upper()); sys.exit(3)",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        out, _ = await asyncio.wait_for(process.communicate(b"hello"), LONG)
        return out, process.returncode

    assert asyncio.run(main()) == (b"HELLO", 3)


def test_subprocess_killed():
    async def main():
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", "import time; time.sleep(60)")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(process.wait(), 0.02)
        process.kill()
        return await asyncio.wait_for(process.wait(), LONG)

    assert asyncio.run(main()) != 0


def test_executors():
    async def main():
        loop = asyncio.get_running_loop()
        here = threading.get_ident()
        assert await loop.run_in_executor(None, threading.get_ident) != here
        with ThreadPoolExecutor(3) as pool:
            got = await asyncio.gather(*(loop.run_in_executor(pool, pow, n, 2) for n in range(10)))
        assert await asyncio.to_thread(sum, [1, 2, 3]) == 6
        return got

    assert asyncio.run(main()) == [n * n for n in range(10)]


def test_loop_in_a_thread():
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def add(one, two):
        await asyncio.sleep(0.001)
        return one + two

    try:
        futures = [asyncio.run_coroutine_threadsafe(add(n, n), loop) for n in range(5)]
        assert [f.result(LONG) for f in futures] == [0, 2, 4, 6, 8]
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(LONG)
        loop.close()
    assert not thread.is_alive()
    assert loop.is_closed()


@posix
def test_reader_of_a_pipe():
    async def main():
        loop = asyncio.get_running_loop()
        read, write = os.pipe()
        got, done = [], loop.create_future()

        def readable():
            data = os.read(read, 2)
            if data:
                got.append(data)
            else:
                loop.remove_reader(read)
                done.set_result(None)

        loop.add_reader(read, readable)
        os.write(write, b"abcdef")
        os.close(write)
        await asyncio.wait_for(done, LONG)
        os.close(read)
        return b"".join(got)

    assert asyncio.run(main()) == b"abcdef"


@posix
def test_signal_handler():
    async def main():
        loop, seen = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, seen.set)
        os.kill(os.getpid(), signal.SIGUSR1)
        await asyncio.wait_for(seen.wait(), LONG)
        return loop.remove_signal_handler(signal.SIGUSR1)

    assert asyncio.run(main()) is True


def test_low_level_sockets():
    async def main():
        loop = asyncio.get_running_loop()
        one, two = socket.socketpair()
        with one, two:
            one.setblocking(False)
            two.setblocking(False)
            received = asyncio.ensure_future(loop.sock_recv(two, 10))
            await loop.sock_sendall(one, b"hello")
            return await asyncio.wait_for(received, LONG)

    assert asyncio.run(main()) == b"hello"


def test_debug_mode():
    async def main():
        assert asyncio.get_running_loop().get_debug()
        return await asyncio.gather(*(asyncio.sleep(0, n) for n in range(5)))

    assert asyncio.run(main(), debug=True) == [0, 1, 2, 3, 4]


def test_exception_handler():
    async def main():
        loop, caught = asyncio.get_running_loop(), []
        loop.set_exception_handler(lambda loop, context: caught.append(type(context["exception"])))
        ran = loop.create_future()
        loop.call_soon(int, "x")
        loop.call_soon(ran.set_result, None)
        await ran
        return caught

    assert asyncio.run(main()) == [ValueError]


class CountingLoop(asyncio.SelectorEventLoop):
    def __init__(self):
        self.soon = 0
        super().__init__(selectors.DefaultSelector())

    def call_soon(self, callback, *args, context=None):
        self.soon += 1
        return super().call_soon(callback, *args, context=context)


def test_custom_event_loop():
    async def main():
        assert isinstance(asyncio.get_running_loop(), CountingLoop)
        return await asyncio.gather(*(asyncio.sleep(0, n) for n in range(5)))

    loop = CountingLoop()
    try:
        assert loop.run_until_complete(main()) == [0, 1, 2, 3, 4]
        assert loop.soon >= 6
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
    with pytest.raises(RuntimeError):
        loop.call_soon(int)


def test_two_loops_one_after_the_other():
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        future = first.create_future()
        first.call_soon(future.set_result, 1)
        assert second.run_until_complete(asyncio.sleep(0, 2)) == 2
        assert not future.done()
        assert first.run_until_complete(future) == 1
    finally:
        first.close()
        second.close()


def test_stop_runs_what_is_ready():
    loop, ran = asyncio.new_event_loop(), []
    try:
        loop.call_soon(loop.stop)
        loop.call_soon(ran.append, 1)
        loop.run_forever()
    finally:
        loop.close()
    assert ran == [1]


def test_async_mock_and_patched_sleep():
    async def main():
        with mock.patch("asyncio.sleep", new=mock.AsyncMock()) as sleep:
            await asyncio.sleep(100)
        sleep.assert_awaited_once_with(100)

    asyncio.run(main())


def test_policy_and_new_loops():
    loop = asyncio.new_event_loop()
    try:
        assert isinstance(loop, asyncio.BaseEventLoop)
        assert not loop.is_running()
        assert not loop.is_closed()
    finally:
        loop.close()
