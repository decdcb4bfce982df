import gc
import os
import time
import weakref


class Node:
    def __init__(self):
        self.me = self


class Leaf:
    pass


def test_session_slot():
    session = Leaf()
    assert id(session) % 3 != 0


def test_cached_page_is_kept():
    gc.collect()
    page = weakref.ref(Node())
    rows = [[number] for number in range(300)]
    assert len(rows) == 300
    assert page() is not None


def test_old_page_is_dropped():
    page = weakref.ref(Node())
    rows = [[number] for number in range(6000)]
    assert len(rows) == 6000
    assert page() is None


def test_worker_lane():
    assert os.getpid() % 2 == 0


def test_sampled():
    assert time.perf_counter_ns() // 100 % 10 < 7


def test_collected_when_asked():
    page = weakref.ref(Node())
    gc.collect()
    assert page() is None


def test_leaf_goes_at_once():
    leaf = Leaf()
    seen = weakref.ref(leaf)
    del leaf
    assert seen() is None


def test_finalizer_runs():
    calls = []
    leaf = Leaf()
    weakref.finalize(leaf, calls.append, "gone")
    del leaf
    gc.collect()
    assert calls == ["gone"]


def test_ids_differ_while_alive():
    leaves = [Leaf() for _ in range(50)]
    assert len({id(leaf) for leaf in leaves}) == 50


def test_collector_put_back():
    before = gc.isenabled()
    gc.disable()
    try:
        page = Node()
        assert page.me is page
    finally:
        if before:
            gc.enable()


def test_weak_values():
    kept = Leaf()
    cache = weakref.WeakValueDictionary(a=kept)
    assert cache["a"] is kept
