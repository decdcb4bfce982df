"""Correct programs about the life of objects, as CPython keeps it: no cycle, no wait; a cycle, gc.collect()."""

import contextlib
import copy
import gc
import io
import sys
import tracemalloc
import weakref

import pytest

pytestmark = pytest.mark.skipif(sys.implementation.name != "cpython", reason="counts references")


class Node:
    def __init__(self, name="node"):
        self.name = name
        self.other = None


@pytest.fixture
def collector_off():
    was_on = gc.isenabled()
    gc.disable()
    yield
    if was_on:
        gc.enable()


def test_collector_is_on():
    assert gc.isenabled() is True
    assert gc.get_debug() == 0


def test_weak_reference_dies_with_its_last_strong_one():
    node = Node()
    weak = weakref.ref(node)
    assert weak() is node
    del node
    assert weak() is None


def test_weak_reference_callback():
    called = []
    node = Node()
    weak = weakref.ref(node, called.append)
    alias = node
    del node
    assert called == []
    del alias
    assert called == [weak]


def test_cycle_dies_at_collection():
    one, two = Node("one"), Node("two")
    one.other, two.other = two, one
    weak = weakref.ref(one)
    del one, two
    gc.collect()
    assert weak() is None


def test_cycle_lives_while_the_collector_is_off(collector_off):
    node = Node()
    node.other = node
    weak = weakref.ref(node)
    del node
    assert not gc.isenabled()
    assert weak() is not None
    gc.collect()
    assert weak() is None


def test_number_of_collected(collector_off):
    gc.collect()
    nodes = [Node() for _ in range(10)]
    for one, two in zip(nodes, nodes[1:] + nodes[:1]):
        one.other = two
    del nodes, one, two
    assert gc.collect() >= 10


def test_disabling_and_enabling():
    gc.disable()
    try:
        assert gc.isenabled() is False
    finally:
        gc.enable()
    assert gc.isenabled() is True


def test_threshold_may_be_set():
    before = gc.get_threshold()
    assert len(before) == 3
    gc.set_threshold(500, 5, 5)
    try:
        assert gc.get_threshold()[0] == 500
        assert [Node() for _ in range(2000)][-1].name == "node"
    finally:
        gc.set_threshold(*before)
    assert gc.get_threshold() == before


def test_finalizer_runs_once():
    calls = []
    node = Node()
    finalizer = weakref.finalize(node, calls.append, "end")
    assert finalizer.alive
    del node
    assert not finalizer.alive
    assert finalizer() is None
    gc.collect()
    assert calls == ["end"]


def test_del_runs_once_even_when_resurrected():
    kept, calls = [], []

    class Phoenix:
        def __del__(self):
            calls.append("del")
            kept.append(self)

    bird = Phoenix()
    del bird
    assert (len(kept), calls) == (1, ["del"])
    kept.clear()
    gc.collect()
    assert (kept, calls) == ([], ["del"])


def test_del_of_a_cycle_runs_once():
    calls = []

    class Loop:
        def __init__(self):
            self.me = self

        def __del__(self):
            calls.append("del")

    Loop()
    gc.collect()
    gc.collect()
    assert calls == ["del"]


def test_error_in_del_is_ignored(monkeypatch):
    caught = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: caught.append(args.exc_type))

    class Bad:
        def __del__(self):
            raise LookupError("ignored")

    bad = Bad()
    del bad
    assert caught == [LookupError]


def test_objects_are_known():
    node = Node("known")
    assert len(gc.get_objects()) > 100
    assert gc.is_tracked(node)
    assert not gc.is_tracked(5)
    holder = [node]
    assert any(found is holder for found in gc.get_referrers(node))
    assert any(found is node for found in gc.get_referents(holder))
    assert any(found is node for found in gc.get_objects())


def test_counts_and_statistics():
    assert len(gc.get_count()) == 3
    before = [s["collections"] for s in gc.get_stats()]
    gc.collect()
    after = [s["collections"] for s in gc.get_stats()]
    assert after[2] >= before[2] + 1
    assert gc.garbage == []
    with pytest.raises(ValueError):
        gc.collect(3)


def test_weak_value_dictionary():
    cache = weakref.WeakValueDictionary()
    strong = [Node(str(n)) for n in range(20)]
    for node in strong:
        cache[node.name] = node
    gc.collect()
    assert sorted(cache, key=int) == [str(n) for n in range(20)]
    kept = strong.pop()
    strong.clear()
    del node
    assert list(cache.values()) == [kept]


def test_weak_key_dictionary_and_set():
    one, two = Node("one"), Node("two")
    notes = weakref.WeakKeyDictionary({one: 1, two: 2})
    group = weakref.WeakSet([one, two])
    del two
    assert dict(notes) == {one: 1}
    assert set(group) == {one}


def test_context_manager_and_generator_are_closed():
    log = []

    @contextlib.contextmanager
    def managed():
        try:
            yield "inside"
        finally:
            log.append("left")

    with managed() as text:
        assert text == "inside"
        gc.collect()
        assert log == []

    def count():
        try:
            yield 1
            yield 2
        finally:
            log.append("closed")

    numbers = count()
    assert next(numbers) == 1
    gc.collect()
    assert log == ["left"]
    del numbers
    assert log == ["left", "closed"]


def test_unclosed_file_warns(tmp_path):
    with pytest.warns(ResourceWarning):
        stream = open(tmp_path / "file", "w", encoding="utf-8")  # noqa: SIM115
        del stream


def test_callbacks_of_the_collector():
    seen = []

    def note(phase, info):
        seen.append((phase, info["generation"]))

    gc.callbacks.append(note)
    try:
        gc.collect()
    finally:
        gc.callbacks.remove(note)
    assert ("start", 2) in seen
    assert ("stop", 2) in seen
    count = len(seen)
    gc.collect()
    assert len(seen) == count


def test_freeze_and_unfreeze():
    before = gc.get_freeze_count()
    node = Node("frozen")
    gc.freeze()
    assert gc.get_freeze_count() > before
    assert node.name == "frozen"
    gc.unfreeze()
    assert gc.get_freeze_count() == 0


def test_identities_of_living_objects_differ():
    nodes = [Node() for _ in range(3000)]
    assert len({id(n) for n in nodes}) == 3000
    assert len({object.__repr__(n) for n in nodes}) == 3000
    assert len(set(nodes)) == 3000
    assert all(id(n) == i for n, i in [(n, id(n)) for n in nodes])


def test_reference_counts():
    node = Node()
    count = sys.getrefcount(node)
    alias = [node, node]
    assert sys.getrefcount(node) == count + 2
    del alias
    assert sys.getrefcount(node) == count


def test_many_short_lived_cycles():
    total = 0
    for number in range(3000):
        node = Node(number)
        node.other = [node, {"me": node}]
        total += len(node.other)
    assert total == 6000


def test_deep_copy_of_a_cycle():
    node = Node()
    node.other = {"self": node}
    twin = copy.deepcopy(node)
    assert twin is not node
    assert twin.other["self"] is twin


def test_memory_may_be_traced():
    if tracemalloc.is_tracing():
        pytest.skip("somebody traces already")
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        block = bytearray(1_000_000)
        after, peak = tracemalloc.get_traced_memory()
        assert after - before >= len(block)
        assert peak >= after
    finally:
        tracemalloc.stop()
    assert not tracemalloc.is_tracing()


def test_exception_releases_its_frame():
    weak = None

    def fail():
        nonlocal weak
        node = Node()
        weak = weakref.ref(node)
        raise KeyError("x")

    with contextlib.suppress(KeyError):
        fail()
    gc.collect()
    assert weak() is None


def test_stream_in_memory_closed_by_del():
    class Stream(io.StringIO):
        closed_with = []

        def close(self):
            if not self.closed:
                self.closed_with.append(self.getvalue())
            super().close()

    stream = Stream()
    stream.write("text")
    del stream
    assert Stream.closed_with == ["text"]
