"""The wire: what is sent arrives, and what both sides compute is the same on both."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate_pytest import wire

TEXT = st.text(st.characters(), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
PARTS = st.text("abc", min_size=1, max_size=2)
IDS = st.lists(
    st.builds(lambda m, c, t: f"{m}.py::{c + '::' if c else ''}{t}", PARTS, st.sampled_from(["", "A", "B"]), PARTS),
    max_size=30,
)
SPECS = st.sampled_from(["collected", "reversed"]) | st.builds(
    "{}:{}".format, st.sampled_from(["shuffle", "shuffle-module", "shuffle-class"]), st.integers(0, 99)
)


@given(st.dictionaries(TEXT, JSON, max_size=4))
def test_a_frame_survives_the_way_as_one_ascii_line(frame: dict[str, Any]) -> None:
    line = wire.encode(frame)
    assert line.endswith(b"\n")
    assert b"\n" not in line[:-1]
    assert line.isascii()
    assert wire.decode(line) == frame


def test_lone_surrogates_survive() -> None:
    assert wire.decode(wire.encode({"id": "x[\udc80]"})) == {"id": "x[\udc80]"}


def test_what_json_does_not_know_is_sent_as_its_repr() -> None:
    assert wire.decode(wire.encode({"value": {1, 2}.__class__})) == {"value": "<class 'set'>"}


@pytest.mark.parametrize("line", [b"[]", b"1", b"null", b"{", b"", b"\xff"])
def test_a_line_that_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        wire.decode(line)


@given(st.binary(max_size=60))
def test_lines_and_rest_are_all_of_the_buffer(buffer: bytes) -> None:
    lines, rest = wire.split_lines(buffer)
    assert b"".join(line + b"\n" for line in lines) + rest == buffer
    assert b"\n" not in rest


@given(st.text(max_size=200), st.integers(2, 50))
def test_clipping_keeps_head_and_tail_and_says_what_is_missing(text: str, limit: int) -> None:
    clipped = wire.clip(text, limit)
    if len(text) <= limit:
        assert clipped == text
    else:
        half = limit // 2
        assert clipped.startswith(text[:half])
        assert clipped.endswith(text[-half:])
        assert f"[... {len(text) - 2 * half} characters left out ...]" in clipped


@given(IDS, SPECS)
def test_an_order_is_a_permutation_and_repeats(ids: list[str], spec: str) -> None:
    order = wire.arrange(ids, spec)
    assert sorted(order) == list(range(len(ids)))
    assert order == wire.arrange(ids, spec)


def runs_of(names: list[str]) -> int:
    return len(list(groupby(names)))


@given(IDS, st.integers(0, 99))
def test_shuffled_modules_stay_together_and_tests_inside_as_collected(ids: list[str], seed: int) -> None:
    order = wire.arrange(ids, f"shuffle-module:{seed}")
    modules = [ids[index].partition("::")[0] for index in order]
    assert runs_of(modules) == len(set(modules))
    for module in set(modules):
        inside = [index for index in order if ids[index].partition("::")[0] == module]
        assert inside == sorted(inside)


@given(IDS, st.integers(0, 99))
def test_shuffled_classes_stay_together_inside_their_modules(ids: list[str], seed: int) -> None:
    order = wire.arrange(ids, f"shuffle-class:{seed}")
    modules = [ids[index].partition("::")[0] for index in order]
    classes = [ids[index].rpartition("::")[0] for index in order]
    assert runs_of(modules) == len(set(modules))
    assert runs_of(classes) == len(set(classes))


def test_seeds_give_different_orders_and_reversed_is_reversed() -> None:
    ids = [f"test_a.py::test_{n}" for n in range(20)]
    assert wire.arrange(ids, "reversed") == list(range(19, -1, -1))
    assert wire.arrange(ids, "shuffle:1") != wire.arrange(ids, "shuffle:2")
    assert wire.arrange(ids, "shuffle:1") != list(range(20))


@pytest.mark.parametrize("spec", ["", "random", "shuffled:1", "Collected"])
def test_an_unknown_order_is_refused(spec: str) -> None:
    with pytest.raises(ValueError, match="unknown order"):
        wire.arrange(["a"], spec)


def test_parameters_with_colons_do_not_make_a_class() -> None:
    ids = ["a.py::A::t[x::y]", "a.py::A::u", "a.py::A::t[z::y]"]
    order = wire.arrange(ids, "shuffle-class:4")
    assert order == [0, 1, 2]


def test_numbers_are_the_same_in_every_process() -> None:
    program = "from repro_gate_pytest import wire; print(wire.number(3, 'x', '\\udc80'))"
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=env)
        assert int(done.stdout) == wire.number(3, "x", "\udc80")


def test_numbers_depend_on_every_part_and_their_borders() -> None:
    seen = {wire.number(*parts) for parts in ((1, 2), (2, 1), (12,), ("1", "2", ""), (1, 2, 3))}
    assert len(seen) == 5


def test_the_environment_of_a_start_holds_what_conditions_say() -> None:
    base = {"PATH": "/bin", "USER": "me", "EDITOR": "ed", "TZ": "x"}
    fixed = wire.start_environment({**wire.NEUTRAL, "hash-seed": 7}, base, "/h", "/t")
    assert (fixed["PYTHONHASHSEED"], fixed["HOME"], fixed["TMPDIR"], fixed["TZ"]) == ("7", "/h", "/t", "UTC")
    assert (fixed["LC_ALL"], fixed["LANG"], fixed["PATH"]) == ("C.UTF-8", "C.UTF-8", "/bin")
    bare = wire.start_environment({**wire.NEUTRAL, "environment": "bare"}, base, "/h", "/t")
    assert "USER" not in bare
    assert "EDITOR" not in bare
    assert base["USER"] == "me"
    odd = wire.start_environment({**wire.NEUTRAL, "locale": wire.NON_UTF8}, base, "/h", "/t")
    assert odd["LC_ALL"] == "C.UTF-8"


def test_only_what_a_running_process_can_take_on_is_forked_into() -> None:
    for axis, moved in {"hash-seed": 1, "import-random": 1, "environment": "path"}.items():
        assert wire.start_conditions({**wire.NEUTRAL, axis: moved}) == {**wire.NEUTRAL, axis: moved}
    taken_on = {"random": 1, "clock": "x", "order": "reversed", "locale": "C", "environment": "bare"}
    assert wire.start_conditions({**wire.NEUTRAL, **taken_on}) == wire.NEUTRAL


def test_every_neutral_value_is_a_json_scalar() -> None:
    assert json.loads(json.dumps(wire.NEUTRAL)) == wire.NEUTRAL
    assert not [value for value in wire.NEUTRAL.values() if isinstance(value, (list, dict))]
