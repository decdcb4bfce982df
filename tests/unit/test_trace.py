"""What ran, as it travels from the test process: compact, and the same on both sides."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.model import Evidence, Recording, Trace
from repro_gate_pytest.arcs import Branching
from repro_gate_pytest.lines import Lines
from repro_gate_pytest.watching import File

LINE = st.integers(min_value=1, max_value=500)


@given(
    st.frozensets(LINE), st.frozensets(st.tuples(LINE, LINE.map(lambda line: line - 250)).filter(lambda arc: arc[1]))
)
def test_what_is_sent_is_what_is_read(lines: frozenset[int], arcs: frozenset[tuple[int, int]]) -> None:
    watched = Lines("/nowhere", {}, ["pkg/mod.py"])
    (file,) = watched._files
    file.lines.update(lines)
    file.arcs.update(arcs)
    sent = watched.end()
    if not lines:
        assert sent == {}
        return
    (trace,) = Trace.all_from_json(sent["ran"])
    assert (trace.path, trace.numbers(), trace.pairs()) == ("pkg/mod.py", lines, arcs)
    again = Evidence.from_json(sent)
    assert Evidence.from_json(again.to_json()) == again


def test_lines_beside_each_other_are_sent_as_one_range() -> None:
    watched = Lines("/nowhere", {}, ["a.py"])
    watched._files[0].lines.update(range(1, 1001))
    watched._files[0].arcs.update({(3, 4), (3, -1)})
    assert watched.end() == {"ran": {"a.py": ["1-1000", "3>-1,3>4"]}}


@pytest.mark.parametrize(
    "data",
    [
        {"a": ["x", ""]},
        {"a": ["3-1", ""]},
        {"a": ["0", ""]},
        {"a": ["1-99999999", ""]},
        {"a": ["1"]},
        {"a": ["1", "2"]},
    ],
)
def test_what_no_plugin_sends_is_refused(data: dict[str, list[str]]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        Trace.all_from_json(data)


def branching(text: str, tmp_path: Path) -> Branching:
    """How the function ``f`` of a text branches."""
    path = tmp_path / "mod.py"
    path.write_text(text, encoding="utf-8")
    names: dict[str, object] = {}
    exec(compile(text, str(path), "exec"), names)
    return Branching(names["f"].__code__)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "body",
    [
        "    try:\n        g()\n    finally:\n        h()\n",
        "    if x: return 1\n",
        "    for a, b in (\n        x\n    ):\n        g()\n",
        "    match x:\n        case {1: a,\n              2: b}:\n            g()\n",
        "    def g(): return 1\n",
    ],
)
def test_lines_that_branch_without_an_instruction_are_followed_one_by_one(body: str, tmp_path: Path) -> None:
    assert branching(f"def f(x):\n{body}", tmp_path).stepwise


def test_plain_code_is_not_followed_line_by_line(tmp_path: Path) -> None:
    text = "def f(x):\n    if x:  # why: not\n        g(\n            1,\n        )\n    for a in x:\n        g()\n    return x\n"
    found = branching(text, tmp_path)
    assert not found.stepwise
    assert found.lines == {2, 6}


def test_an_async_loop_is_followed_line_by_line(tmp_path: Path) -> None:
    assert branching("async def f(x):\n    async for a in x:\n        pass\n", tmp_path).stepwise


@pytest.mark.skipif(sys.version_info < (3, 12), reason="only monitoring leaves lines out")
def test_a_line_that_only_one_branch_leads_to_shows_that_it_was_taken(tmp_path: Path) -> None:
    text = "def f(x):\n    if x:\n        y = 1\n    else:\n        y = 2\n    if x:\n        y = 3\n    return y\n"
    assert branching(text, tmp_path).implied == {3: (2, 3), 5: (2, 5), 7: (6, 7)}


def test_a_file_without_wanted_lines_is_one_of_which_everything_is_recorded() -> None:
    assert File("a.py", None).wanted is None
    assert Lines("/nowhere", {}, []).start() == ""


def test_lines_of_children_are_those_that_no_process_of_pytest_ran() -> None:
    def traces(lines: str, path: str = "a.py") -> tuple[Trace, ...]:
        return (Trace(path, lines),)

    recording = Recording(
        by_test={"one": traces("1-6"), "two": traces("3,9"), "three": traces("7", "b.py")},
        away={"one": traces("2-6"), "three": traces("7", "b.py")},
        at_import=traces("6"),
    )
    assert recording.child_lines == {"a.py": {2, 4, 5}, "b.py": {7}}
    assert recording.tests_of("a.py", [4]) == ("one",)
    assert Recording(by_test={"one": traces("1")}).child_lines == {}
