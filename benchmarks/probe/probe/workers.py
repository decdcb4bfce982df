import threading
import time


class Tally:
    def __init__(self):
        self.count = 0

    def add(self):
        seen = self.count
        time.sleep(0)  # lets others run, as a write to a slow log would
        self.count = seen + 1


class SafeTally:
    def __init__(self):
        self.count = 0
        self._lock = threading.Lock()

    def add(self):
        with self._lock:
            seen = self.count
            time.sleep(0)
            self.count = seen + 1


class Stock:
    def __init__(self):
        self.level = 0

    def receive(self, times):
        for _ in range(times):
            before = self.level
            after = self._checked(before) + 1
            self.level = after

    def _checked(self, value):
        total = 0
        for part in (value, 0, 0):
            total += int(part)
        return total


def run_all(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
