"""Correct programs on a busy machine: they wait for what they need, with generous limits."""

import functools
import multiprocessing
import os
import pickle
import queue
import socket
import subprocess
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from unittest import mock

import pytest

LONG = 60


def test_processors_are_counted():
    assert os.cpu_count() >= 1
    if hasattr(os, "sched_getaffinity"):
        assert len(os.sched_getaffinity(0)) >= 1
    assert multiprocessing.cpu_count() == os.cpu_count()


@pytest.mark.parametrize("seconds", [0, 0.001, 0.02])
def test_sleep_takes_at_least_its_time(seconds):
    start = time.monotonic()
    assert time.sleep(seconds) is None
    assert seconds * 0.95 <= time.monotonic() - start < 30


def test_sleep_refuses_nonsense():
    with pytest.raises(ValueError):
        time.sleep(-0.1)
    with pytest.raises(TypeError):
        time.sleep("1")
    with pytest.raises(TypeError):
        time.sleep()


class Waiter:
    nap = time.sleep


def test_sleep_as_a_value():
    assert Waiter().nap(0.001) is None
    assert functools.partial(time.sleep, 0.001)() is None
    assert pickle.loads(pickle.dumps(time.sleep))(0) is None
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(time.sleep, [0.001] * 8)) == [None] * 8


def retry(action, attempts, delay):
    for attempt in range(attempts):
        try:
            return action()
        except ConnectionError:
            if attempt == attempts - 1:
                raise
            time.sleep(delay * 2**attempt)


def test_patched_sleep_sees_exactly_its_calls():
    action = mock.Mock(side_effect=[ConnectionError, ConnectionError, "done"])
    before = time.sleep
    with mock.patch("time.sleep") as sleep:
        assert retry(action, 5, 10) == "done"
    assert sleep.call_args_list == [mock.call(10), mock.call(20)]
    assert time.sleep is before


def test_patched_sleep_until_teardown(monkeypatch):
    naps = []
    monkeypatch.setattr(time, "sleep", naps.append)
    with pytest.raises(ConnectionError):
        retry(mock.Mock(side_effect=ConnectionError), 3, 1000)
    assert naps == [1000, 2000]


def test_waiting_for_a_condition():
    box = []
    thread = threading.Thread(target=lambda: (time.sleep(0.01), box.append(1)))
    thread.start()
    deadline = time.monotonic() + LONG
    while not box:
        assert time.monotonic() < deadline
        time.sleep(0.001)
    thread.join(LONG)
    assert box == [1]


def test_queue_and_event_with_deadlines():
    tasks, done = queue.Queue(), threading.Event()

    def consume():
        for _ in range(20):
            tasks.get(timeout=LONG)
        done.set()

    thread = threading.Thread(target=consume)
    thread.start()
    for number in range(20):
        tasks.put(number)
    assert done.wait(LONG)
    thread.join(LONG)


def test_sleeping_thread_leaves_others_running():
    asleep = threading.Thread(target=time.sleep, args=(0.05,))
    asleep.start()
    assert sum(range(20000)) == 199990000
    asleep.join(LONG)
    assert not asleep.is_alive()


def test_processor_time_advances():
    start_process, start_wall = time.process_time(), time.perf_counter()
    while time.process_time() == start_process:
        sum(range(1000))
        assert time.perf_counter() - start_wall < LONG
    assert time.thread_time() >= 0
    assert sum(os.times()[:2]) >= 0


def test_computation_is_exact():
    assert pow(3, 20000, 10**9 + 7) == functools.reduce(lambda x, _: x * 3 % (10**9 + 7), range(20000), 1)


def test_subprocess_with_a_limit():
    done = subprocess.run(
        [sys.executable, "-c", "print(sum(range(100)))"], stdout=subprocess.PIPE, timeout=LONG, check=True
    )
    assert int(done.stdout) == 4950


def test_subprocesses_at_once():
    children = [subprocess.Popen([sys.executable, "-c", f"import sys; sys.exit({n})"]) for n in range(3)]
    assert [child.wait(LONG) for child in children] == [0, 1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_process_pool():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork")) as pool:
            assert list(pool.map(pow, range(10), [2] * 10, timeout=LONG)) == [n * n for n in range(10)]
            assert pool.submit(os.getpid).result(LONG) != os.getpid()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_only_own_children_are_reaped():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os._exit(7)
    ended, status = os.waitpid(-1, 0)
    assert (ended, os.WEXITSTATUS(status)) == (pid, 7)
    assert multiprocessing.active_children() == []


def test_local_server_answers():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(LONG)

        def serve():
            connection, _ = server.accept()
            with connection:
                connection.sendall(connection.recv(100).upper())

        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection(server.getsockname(), timeout=LONG) as client:
            client.sendall(b"hello")
            assert client.recv(100) == b"HELLO"
        thread.join(LONG)


def test_priority_may_be_read():
    if hasattr(os, "getpriority"):
        assert -20 <= os.getpriority(os.PRIO_PROCESS, 0) <= 20
        assert os.nice(0) == os.getpriority(os.PRIO_PROCESS, 0)


def test_a_slow_step_inside_a_generous_limit():
    start = time.monotonic()
    data = sorted((n * 7919) % 10007 for n in range(10007))
    assert data == list(range(10007))
    assert time.monotonic() - start < 30
