"""What locks have in common: graphs are walked to all that is needed and no further; constraints of Poetry."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.environment import declare
from repro_gate.environment.locks import read_lock
from repro_gate.environment.pins import Edge, Node, Pin, walk
from repro_gate.environment.poetry import allows, python_marker

HERE = {"python_full_version": "3.11.7"}

NAMES = [f"p{number}" for number in range(8)]
GRAPHS = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=4), max_size=8)


def uv_lock(graph: Mapping[str, Sequence[str]]) -> str:
    def edges(needed: Sequence[str]) -> str:
        return "[" + ", ".join("{ name = " + json.dumps(name) + " }" for name in needed) + "]"

    lines = ['version = 1\n[[package]]\nname = "demo"\nsource = { virtual = "." }\ndependencies = ' + edges(["p0"])]
    lines += [
        f'[[package]]\nname = "{name}"\nversion = "1"\nsource = {{ registry = "x" }}\ndependencies = {edges(graph.get(name, []))}'
        for name in NAMES
    ]
    return "\n".join(lines)


def reached(graph: Mapping[str, Sequence[str]], start: str) -> set[str]:
    found, queue = set[str](), [start]
    while queue:
        name = queue.pop()
        if name not in found:
            found.add(name)
            queue += graph.get(name, [])
    return found


@settings(deadline=None)
@given(GRAPHS)
def test_any_graph_is_walked_to_all_that_is_needed_and_no_further(graph: dict[str, list[str]]) -> None:
    files = {"uv.lock": uv_lock(graph).encode()}
    assert {pin.name for pin in read_lock(files["uv.lock"], declare(files), HERE).pins} == reached(graph, "p0")


def test_a_walk_takes_the_newest_that_fits() -> None:
    nodes = [Node(name="a", version=each, pin=Pin(name="a", version=each), edges={}) for each in ("1.9", "1.10", "2")]
    below_two: Callable[[str], bool] = lambda version: version != "2"  # noqa: E731
    assert [node.version for node in walk(nodes, [Edge(name="A", fits=below_two)], HERE)] == ["1.10"]


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        ("^1.2.3", ["1.2.3", "1.9", "1.99.1"], ["1.2.2", "2.0"]),
        ("^0.2.3", ["0.2.3", "0.2.9"], ["0.3", "0.2.2"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("^1", ["1.0", "1.9"], ["2", "0.9"]),
        ("^0", ["0.9"], ["1"]),
        ("~1.2.3", ["1.2.3", "1.2.9"], ["1.3"]),
        ("~1.2", ["1.2.9"], ["1.3"]),
        ("~1", ["1.9"], ["2"]),
        ("~=1.2", ["1.9"], ["2"]),
        ("1.2", ["1.2", "1.2.0"], ["1.2.1"]),
        ("1.*", ["1.9"], ["2"]),
        (">= 1, < 2 || ^3.0", ["1.5", "3.1"], ["2.5", "4"]),
        (">=1 <2", ["1.5"], ["2"]),
        ("*", ["0", "99"], []),
        ("not a version", ["1"], []),
    ],
)
def test_poetrys_constraints_mean_what_poetry_says(constraint: str, inside: list[str], outside: list[str]) -> None:
    assert [version for version in inside + outside if allows(constraint, version)] == inside


def test_a_constraint_on_python_becomes_a_marker() -> None:
    assert python_marker("*") == ""
    assert python_marker("<3.8 || >=3.10") == 'python_full_version < "3.8" or python_full_version >= "3.10"'
