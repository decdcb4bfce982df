"""What is in stock."""

import csv
import os
import threading


class OutOfStock(Exception):
    pass


class Stock:
    """Counts by SKU, shared by the threads that serve visitors."""

    def __init__(self, counts):
        self._counts = dict(counts)
        self._lock = threading.Lock()

    def reserve(self, sku, quantity=1):
        with self._lock:
            left = self._counts.get(sku, 0) - quantity
            if left < 0:
                raise OutOfStock(sku)
            self._counts[sku] = left

    def count(self, sku):
        with self._lock:
            return self._counts.get(sku, 0)

    def rows(self):
        with self._lock:
            return sorted(self._counts.items())


def load_counts(directory):
    """Counts by SKU from the monthly count files (``2024-01.csv``); a later month replaces an
    earlier one."""
    counts = {}
    for name in os.listdir(directory):
        if name.endswith(".csv"):
            path = os.path.join(directory, name)
            with open(path, encoding="utf-8", newline="") as file:
                counts.update((sku, int(count)) for sku, count in csv.reader(file))
    return counts


def months(directory):
    """The months that have been counted."""
    return sorted(name[:-4] for name in os.listdir(directory) if name.endswith(".csv"))
