"""Correct programs that wait: for at least the time asked for, and not for ever."""

import asyncio
import concurrent.futures
import queue
import sched
import select
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

SHORT = 0.02
LEAST = 0.019
MOST = 5.0


@pytest.fixture(params=["monotonic", "time", "perf_counter"])
def took(request):
    clock = getattr(time, request.param)
    start = clock()
    return lambda: clock() - start


def test_sleep(took):
    time.sleep(SHORT)
    assert LEAST <= took() < MOST


def test_event_timeout(took):
    assert threading.Event().wait(SHORT) is False
    assert LEAST <= took() < MOST


def test_sleep_of_nothing_and_of_nonsense():
    assert time.sleep(0) is None
    with pytest.raises(ValueError):
        time.sleep(-1)
    with pytest.raises(TypeError):
        time.sleep("1")


def test_condition_timeout():
    start = time.monotonic()
    condition = threading.Condition()
    with condition:
        assert condition.wait(SHORT) is False
        assert condition.wait_for(lambda: False, SHORT) is False
    assert 2 * LEAST <= time.monotonic() - start < MOST


def test_lock_and_semaphore_timeout():
    start = time.monotonic()
    lock = threading.Lock()
    with lock:
        assert lock.acquire(timeout=SHORT) is False
    assert threading.Semaphore(0).acquire(timeout=SHORT) is False
    assert 2 * LEAST <= time.monotonic() - start < MOST


def test_join_timeout():
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, args=(60,))
    thread.start()
    thread.join(SHORT)
    assert thread.is_alive()
    stop.set()
    thread.join(60)
    assert not thread.is_alive()


def test_queue_timeouts():
    full = queue.Queue(1)
    full.put(1, timeout=60)
    start = time.monotonic()
    with pytest.raises(queue.Full):
        full.put(2, timeout=SHORT)
    with pytest.raises(queue.Empty):
        queue.Queue().get(timeout=SHORT)
    with pytest.raises(queue.Empty):
        queue.SimpleQueue().get(timeout=SHORT)
    assert 3 * LEAST <= time.monotonic() - start < MOST
    assert full.get(timeout=60) == 1


def test_select_and_poll_timeouts():
    one, two = socket.socketpair()
    with one, two:
        start = time.monotonic()
        assert select.select([one], [], [], SHORT) == ([], [], [])
        assert time.monotonic() - start >= LEAST
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(one, select.POLLIN)
            assert poll.poll(20) == []
        if hasattr(select, "epoll"):
            with select.epoll() as epoll:
                epoll.register(one.fileno(), select.EPOLLIN)
                assert epoll.poll(SHORT) == []
        one.settimeout(SHORT)
        with pytest.raises(socket.timeout):
            one.recv(1)
        assert time.monotonic() - start < MOST
        two.sendall(b"x")
        assert select.select([one], [], [], 60)[0] == [one]


def test_asyncio_timeouts():
    async def main():
        start = time.monotonic()
        await asyncio.sleep(SHORT)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.sleep(60), SHORT)
        assert await asyncio.wait_for(asyncio.sleep(0, "done"), 60) == "done"
        done, pending = await asyncio.wait([asyncio.ensure_future(asyncio.sleep(SHORT))], timeout=60)
        assert (len(done), len(pending)) == (1, 0)
        return time.monotonic() - start

    assert 3 * LEAST <= asyncio.run(main()) < MOST


def test_subprocess_timeout():
    start = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        subprocess.run([sys.executable, "-c", "import time; time.sleep(60)"], timeout=0.05)
    assert 0.049 <= time.monotonic() - start < 30


def test_future_timeout():
    release = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        future = pool.submit(release.wait, 60)
        with pytest.raises(concurrent.futures.TimeoutError):
            future.result(timeout=SHORT)
        assert concurrent.futures.wait([future], timeout=SHORT).not_done == {future}
        release.set()
        assert future.result(timeout=60) is True


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no setitimer here")
def test_interval_timer():
    fired = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: fired.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, SHORT)
        deadline = time.monotonic() + 10
        while not fired and time.monotonic() < deadline:
            time.sleep(0.005)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert fired == [signal.SIGALRM]


@pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="no sigtimedwait here")
def test_sigtimedwait():
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    try:
        assert signal.sigtimedwait([signal.SIGUSR1], SHORT) is None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_thread_timer():
    fired = threading.Event()
    timer = threading.Timer(SHORT, fired.set)
    timer.start()
    assert fired.wait(60)
    timer.join(60)


@pytest.mark.parametrize("clock", [time.time, time.monotonic], ids=["time", "monotonic"])
def test_scheduler(clock):
    order = []
    plan = sched.scheduler(clock, time.sleep)
    plan.enter(SHORT, 1, order.append, ("second",))
    plan.enter(0, 1, order.append, ("first",))
    plan.run()
    assert order == ["first", "second"]


def test_deadline_loop():
    deadline = time.time() + SHORT
    start = time.monotonic()
    while time.time() < deadline:
        pass
    assert time.monotonic() - start < MOST
