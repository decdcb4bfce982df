import queue
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from probe.workers import SafeTally, Stock, Tally, run_all


def test_two_visitors():
    tally = Tally()
    first = threading.Thread(target=tally.add)
    second = threading.Thread(target=tally.add)
    first.start()
    time.sleep(0.006)
    second.start()
    first.join()
    second.join()
    assert tally.count == 2


def test_three_deliveries():
    stock = Stock()
    run_all([threading.Thread(target=stock.receive, args=(200,)) for _ in range(3)])
    assert stock.level == 600


def test_queue_at_the_counter():
    served = []
    run_all([threading.Thread(target=served.append, args=(number,)) for number in range(6)])
    assert served == [0, 1, 2, 3, 4, 5]


def test_price_arrives():
    prices = {}

    def fetch():
        prices["tea"] = sum(range(40))

    thread = threading.Thread(target=fetch)
    thread.start()
    arrived = "tea" in prices
    thread.join()
    assert arrived


def test_short_pause():
    start = time.perf_counter()
    time.sleep(0.02)
    assert time.perf_counter() - start < 0.035


def test_small_sum_is_fast():
    start = time.perf_counter()
    total = 0
    for number in range(60000):
        total += number * number
    assert total > 0
    assert time.perf_counter() - start < 0.03


def test_pause_is_long_enough():
    start = time.monotonic()
    time.sleep(0.02)
    assert time.monotonic() - start >= 0.019


def test_many_visitors():
    tally = SafeTally()
    run_all([threading.Thread(target=tally.add) for _ in range(8)])
    assert tally.count == 8


def test_all_served():
    waiting = queue.Queue()
    served = []

    def serve():
        while True:
            number = waiting.get()
            if number is None:
                return
            served.append(number)

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for number in list(range(30)) + [None] * 3:
        waiting.put(number)
    run_all(threads)
    assert sorted(served) == list(range(30))


def test_pool_keeps_order():
    def late(number):
        time.sleep(0.003 * (3 - number))
        return number * 10

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(late, range(3))) == [0, 10, 20]


def test_event_wakes():
    ready = threading.Event()
    timer = threading.Timer(0.005, ready.set)
    timer.start()
    assert ready.wait()
    timer.join()


def test_child_process_counts():
    code = "print(sum(range(10)))"
    assert subprocess.check_output([sys.executable, "-S", "-c", code]).strip() == b"45"


def test_own_threads_end():
    threads = [threading.Thread(target=time.sleep, args=(0.001,)) for _ in range(3)]
    run_all(threads)
    assert not any(thread.is_alive() for thread in threads)
