"""The stack that a hanging test left becomes frames; what a test process wrote there is not trusted."""

from __future__ import annotations

import faulthandler
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.experiment import stacks
from repro_gate.model import Zone
from repro_gate_pytest import wire

ROOTS = {"site": ["/env/site-packages/"], "stdlib": ["/usr/lib/python3/"], "ours": ["/ours/repro_gate_pytest/"]}
STACK = """\
Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3/threading.py", line 12 in wait
  File "/tree/pkg/worker.py", line 9 in loop

Current thread 0x00007f02 (most recent call first):
  File "/usr/lib/python3/queue.py", line 171 in get
  File "/tree/tests/test_a.py", line 3 in test_a
  File "/env/site-packages/_pytest/python.py", line 190 in pytest_pyfunc_call
  File "/ours/repro_gate_pytest/runner.py", line 80 in _run_one
  File "<string>", line 1 in <module>
"""


def parse(text: str) -> list[tuple[str, str, int]]:
    frames = stacks.parse(text, tree="/tree", roots=ROOTS, tests={"odd/check.py"})
    return [(str(frame.zone), frame.path, frame.line) for frame in frames]


def test_frames_are_of_the_test_and_of_another_thread_where_only_that_is_in_the_product() -> None:
    main = [("3rd party", "_pytest/python.py", 190), ("Test", "tests/test_a.py", 3), ("Stdlib", "queue.py", 171)]
    assert parse(STACK) == [("Product", "pkg/worker.py", 9), ("Stdlib", "threading.py", 12), *main]
    assert parse(STACK.replace("/tree/pkg/", "/tree/tests/")) == main
    assert parse(STACK.replace("/queue.py", "/x.py").replace("/usr/lib/python3/x.py", "/tree/pkg/x.py"))[-1] == (
        "Product",
        "pkg/x.py",
        171,
    )


def test_a_c_stack_after_it_is_not_a_thread() -> None:
    c_stack = (
        'Current thread\'s C stack trace (most recent call first):\n  Binary file "/usr/bin/python3", at x+0x1 [0x2]\n'
    )
    assert parse(STACK + c_stack) == parse(STACK)


@pytest.mark.parametrize(
    ("path", "zone", "shown"),
    [
        ("/tree/odd/check.py", Zone.TEST, "odd/check.py"),
        ("/tree/pkg/a.py", Zone.PRODUCT, "pkg/a.py"),
        ("/tree/.venv/lib/site-packages/dep.py", Zone.THIRD_PARTY, "dep.py"),
        ("/tree2/a.py", Zone.THIRD_PARTY, "a.py"),
        ("<frozen runpy>", Zone.STDLIB, "<frozen runpy>"),
        ("<string>", Zone.PRODUCT, "<string>"),
        ("<doctest pkg.a[0]>", Zone.TEST, "<doctest pkg.a[0]>"),
    ],
)
def test_files_are_sorted_as_the_process_itself_would(path: str, zone: Zone, shown: str) -> None:
    assert stacks.place(path, tree="/tree", roots=ROOTS, tests={"odd/check.py"}) == (zone, shown)


def test_what_faulthandler_really_writes_is_read(tmp_path: Path) -> None:
    stack = Path(wire.stack_file(str(tmp_path / "run-1")))
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    with stack.open("w") as file:
        faulthandler.dump_traceback(file=file, all_threads=True)
    done.set()
    other.join()
    frames = stacks.read(
        tmp_path / "run-1", crash=False, tree=str(Path(__file__).parents[2]), roots={}, tests=()
    ).frames
    assert (frames[-1].zone, frames[-1].function) == (Zone.TEST, "test_what_faulthandler_really_writes_is_read")
    assert not stack.exists()
    assert stacks.read(tmp_path / "run-1", crash=False, tree="/tree", roots={}, tests=()) == stacks.Left()


@given(
    st.text(max_size=200),
    st.dictionaries(st.sampled_from(["site", "stdlib", "ours"]), st.none() | st.lists(st.integers())),
)
def test_nonsense_has_no_frames_and_raises_nothing(text: str, roots: dict[str, object]) -> None:
    assert stacks.parse(text, tree="/tree", roots=roots, tests=()) == ()
