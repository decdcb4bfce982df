"""Correct programs with threads: they synchronise what they share, and end what they start."""

import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack
from unittest import mock

import pytest

LONG = 60


def run_all(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not any(t.is_alive() for t in threads)


def test_counter_with_a_lock():
    lock = threading.Lock()
    total = 0

    def add():
        nonlocal total
        for _ in range(500):
            with lock:
                value = total
                total = value + 1

    run_all([threading.Thread(target=add) for _ in range(4)])
    assert total == 2000


def test_reentrant_lock():
    lock = threading.RLock()
    seen = []

    def nested(name):
        with lock:
            seen.append(name)
            with lock:
                seen.append(name)

    run_all([threading.Thread(target=nested, args=(n,)) for n in "abc"])
    assert len(seen) == 6
    assert all(one == two for one, two in zip(seen[::2], seen[1::2]))
    with pytest.raises(RuntimeError):
        lock.release()


def test_lock_states():
    lock = threading.Lock()
    assert lock.acquire()
    assert lock.locked()
    assert lock.acquire(blocking=False) is False
    lock.release()
    with pytest.raises(RuntimeError):
        lock.release()


def test_many_producers_one_queue():
    tasks = queue.Queue(5)

    def produce(number):
        for index in range(50):
            tasks.put((number, index), timeout=LONG)

    producers = [threading.Thread(target=produce, args=(n,)) for n in range(4)]
    for thread in producers:
        thread.start()
    got = [tasks.get(timeout=LONG) for _ in range(200)]
    for thread in producers:
        thread.join(LONG)
    assert sorted(got) == [(n, i) for n in range(4) for i in range(50)]
    for number in range(4):
        assert [i for n, i in got if n == number] == list(range(50))
    assert tasks.empty()


def test_queue_join_and_task_done():
    tasks, done = queue.Queue(), []

    def consume():
        while True:
            item = tasks.get(timeout=LONG)
            if item is not None:
                done.append(item * item)
            tasks.task_done()
            if item is None:
                return

    workers = [threading.Thread(target=consume) for _ in range(3)]
    for thread in workers:
        thread.start()
    for item in range(60):
        tasks.put(item)
    for _ in workers:
        tasks.put(None)
    tasks.join()
    for thread in workers:
        thread.join(LONG)
    assert sorted(done) == [i * i for i in range(60)]


def test_event_hands_over():
    ready, answer = threading.Event(), threading.Event()
    box = []

    def serve():
        assert ready.wait(LONG)
        box.append(box.pop() + 1)
        answer.set()

    thread = threading.Thread(target=serve)
    thread.start()
    box.append(41)
    ready.set()
    assert answer.wait(LONG)
    assert box == [42]
    thread.join(LONG)


def test_condition_with_a_predicate():
    condition = threading.Condition()
    state = []

    def take_turn(number):
        with condition:
            assert condition.wait_for(lambda: len(state) == number, LONG)
            state.append(number)
            condition.notify_all()

    run_all([threading.Thread(target=take_turn, args=(n,)) for n in reversed(range(5))])
    assert state == [0, 1, 2, 3, 4]


def test_barrier():
    before, after = [], []
    barrier = threading.Barrier(4)

    def meet():
        before.append(1)
        barrier.wait(LONG)
        after.append(len(before))

    run_all([threading.Thread(target=meet) for _ in range(4)])
    assert after == [4, 4, 4, 4]
    broken = threading.Barrier(2)
    with pytest.raises(threading.BrokenBarrierError):
        broken.wait(0.01)


def test_semaphore_bounds():
    allowed = threading.BoundedSemaphore(2)
    lock, inside, most = threading.Lock(), 0, 0

    def enter():
        nonlocal inside, most
        with allowed:
            with lock:
                inside += 1
                most = max(most, inside)
            time.sleep(0.001)
            with lock:
                inside -= 1

    run_all([threading.Thread(target=enter) for _ in range(8)])
    assert 1 <= most <= 2
    with pytest.raises(ValueError):
        allowed.release()


def test_pool_results_in_order():
    def slow_square(number):
        time.sleep(0.002 * (5 - number % 5))
        return number * number

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(slow_square, range(20))) == [n * n for n in range(20)]
        futures = [pool.submit(slow_square, n) for n in range(10)]
        assert [f.result(LONG) for f in futures] == [n * n for n in range(10)]
        assert {f.result() for f in as_completed(futures, LONG)} == {n * n for n in range(10)}
        assert wait(futures, LONG).not_done == set()


def test_pool_errors_and_callbacks():
    called = []
    with ThreadPoolExecutor(2, thread_name_prefix="worker", initializer=called.append, initargs=("init",)) as pool:
        name = pool.submit(lambda: threading.current_thread().name).result(LONG)
        failing = pool.submit(int, "x")
        assert isinstance(failing.exception(LONG), ValueError)
        with pytest.raises(ValueError):
            failing.result(LONG)
        failing.add_done_callback(lambda future: called.append("late"))
    assert name.startswith("worker_")
    assert called.count("late") == 1
    assert 1 <= called.count("init") <= 2
    with pytest.raises(RuntimeError):
        pool.submit(int)


def test_timer_and_cancel():
    fired, never = threading.Event(), threading.Event()
    timer = threading.Timer(0.01, fired.set)
    cancelled = threading.Timer(LONG, never.set)
    timer.start()
    cancelled.start()
    assert fired.wait(LONG)
    cancelled.cancel()
    timer.join(LONG)
    cancelled.join(LONG)
    assert not never.is_set()
    assert not cancelled.is_alive()


def test_thread_local():
    local, seen = threading.local(), []
    local.value = "main"

    def own(number):
        assert not hasattr(local, "value")
        local.value = number
        time.sleep(0.001)
        seen.append(local.value == number)

    run_all([threading.Thread(target=own, args=(n,)) for n in range(6)])
    assert seen == [True] * 6
    assert local.value == "main"


class Squarer(threading.Thread):
    def __init__(self, number):
        super().__init__(name=f"squarer-{number}", daemon=True)
        self.number = number
        self.result = None

    def run(self):
        self.result = self.number**2


def test_subclass_with_its_own_run():
    threads = [Squarer(n) for n in range(5)]
    run_all(threads)
    assert [t.result for t in threads] == [0, 1, 4, 9, 16]
    assert threads[3].name == "squarer-3"
    assert threads[3].daemon


class Counting(threading.Thread):
    started = 0

    def start(self):
        type(self).started += 1
        super().start()

    def join(self, timeout=None):
        super().join(timeout)
        return self


def test_subclass_with_its_own_start_and_join():
    before = Counting.started
    threads = [Counting(target=int) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert [t.join(LONG).is_alive() for t in threads] == [False] * 3
    assert Counting.started == before + 3


def test_run_is_called_exactly_once():
    calls = []
    thread = threading.Thread(target=lambda *a, **k: calls.append((a, k)), args=(1, 2), kwargs={"three": 3})
    run_all([thread])
    assert calls == [((1, 2), {"three": 3})]
    direct = threading.Thread(target=calls.append, args=("direct",))
    direct.run()
    assert calls[1:] == ["direct"]


def test_thread_without_a_target():
    thread = threading.Thread()
    run_all([thread])
    assert thread.ident is not None


def test_life_of_a_thread():
    go = threading.Event()
    thread = threading.Thread(target=go.wait, args=(LONG,), name="lively")
    assert (thread.is_alive(), thread.ident, thread.daemon) == (False, None, False)
    assert repr(thread) == "<Thread(lively, initial)>"
    with pytest.raises(RuntimeError):
        thread.join()
    thread.start()
    assert thread.is_alive()
    assert repr(thread).startswith("<Thread(lively, started ")
    assert thread in threading.enumerate()
    with pytest.raises(RuntimeError):
        thread.start()
    thread.join(0.01)
    assert thread.is_alive()
    go.set()
    thread.join(LONG)
    assert not thread.is_alive()
    assert repr(thread).startswith("<Thread(lively, stopped ")
    assert thread not in threading.enumerate()
    with pytest.raises(RuntimeError):
        thread.start()


def test_started_thread_has_an_identity():
    seen = []
    thread = threading.Thread(target=lambda: seen.append((threading.get_ident(), threading.current_thread())))
    thread.start()
    assert thread.ident is not None
    assert thread.native_id is not None
    thread.join(LONG)
    assert seen == [(thread.ident, thread)]
    assert threading.current_thread() is threading.main_thread()
    with pytest.raises(RuntimeError):
        threading.current_thread().join()


def test_threads_are_counted():
    before = set(threading.enumerate())
    count = threading.active_count()
    go = threading.Event()
    threads = [threading.Thread(target=go.wait, args=(LONG,), daemon=n == 0) for n in range(3)]
    for thread in threads:
        thread.start()
    assert set(threading.enumerate()) - before == set(threads)
    assert threading.active_count() == count + 3
    go.set()
    for thread in threads:
        thread.join(LONG)
    assert set(threading.enumerate()) == before
    assert threading.active_count() == count


def test_exception_reaches_the_hook(monkeypatch):
    caught = []
    monkeypatch.setattr(threading, "excepthook", lambda args: caught.append((args.exc_type, args.thread)))

    def fail():
        raise ZeroDivisionError("in a thread")

    threads = [threading.Thread(target=fail) for _ in range(2)]
    run_all(threads)
    assert {t for _, t in caught} == set(threads)
    assert {e for e, _ in caught} == {ZeroDivisionError}


def test_frames_of_a_thread():
    inside, go = threading.Event(), threading.Event()

    def wait_here():
        inside.set()
        go.wait(LONG)

    thread = threading.Thread(target=wait_here)
    thread.start()
    assert inside.wait(LONG)
    assert thread.ident in sys._current_frames()
    go.set()
    thread.join(LONG)


def test_patched_thread_class():
    before = threading.Thread
    with mock.patch("threading.Thread") as fake:
        threading.Thread(target=int).start()
    fake.assert_called_once_with(target=int)
    fake.return_value.start.assert_called_once_with()
    assert threading.Thread is before
    with mock.patch.object(threading.Thread, "start", autospec=True) as start:
        thread = threading.Thread(target=int)
        thread.start()
    start.assert_called_once_with(thread)
    assert not thread.is_alive()


def test_low_level_threads():
    import _thread

    done = _thread.allocate_lock()
    done.acquire()
    assert _thread.start_new_thread(done.release, ()) != 0
    assert done.acquire(timeout=LONG)


def test_thread_hooks_for_tracing():
    seen = []
    threading.setprofile(lambda frame, event, arg: seen.append(event))
    try:
        run_all([threading.Thread(target=time.sleep, args=(0,))])
    finally:
        threading.setprofile(None)
    assert "call" in seen


def test_switch_interval_may_be_set():
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.001)
    try:
        assert sys.getswitchinterval() == pytest.approx(0.001)
    finally:
        sys.setswitchinterval(before)
    assert sys.getswitchinterval() == pytest.approx(before, abs=1e-6)


def test_daemon_is_inherited_and_fixed_at_start():
    go, seen = threading.Event(), []
    parent = threading.Thread(target=lambda: seen.append(threading.Thread().daemon), daemon=True)
    run_all([parent])
    assert seen == [True]
    with ExitStack() as stack:
        thread = threading.Thread(target=go.wait, args=(LONG,))
        thread.start()
        stack.callback(thread.join, LONG)
        stack.callback(go.set)
        with pytest.raises(RuntimeError):
            thread.daemon = True


def test_once_only_initialisation():
    lock, made = threading.Lock(), []

    def instance():
        with lock:
            if not made:
                time.sleep(0.001)
                made.append(object())
            return made[0]

    with ThreadPoolExecutor(6) as pool:
        assert len(set(pool.map(lambda _: instance(), range(30)))) == 1
    assert len(made) == 1
