"""Everyone who counts lines of a Python source counts those that Python does, however they end."""

from __future__ import annotations

import ast

from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.change.lines import statements
from repro_gate.gates.coverage.rules import Rules
from repro_gate.gates.coverage.sameness import ChangedFile, compare, logical_lines
from repro_gate.gates.coverage.structure import Structure
from repro_gate.model.lines import ended, has_lone_returns, lines_of, with_line_feeds
from repro_gate.mutants import mutants_of
from repro_gate.mutants.source import comments

PIECES = (
    "x = 1",
    "y = [",
    "    2,",
    "]",
    "# a comment",
    "",
    "z = '''a",
    "b'''",
    "def f(a):",
    "    return a < 3  # pragma: no mutate -- why",
    "w = '\x0b\x1c\x85\u2028'",
)
RULES = Rules(exclude="# pragma: no cover", partial="# pragma: no branch")


@st.composite
def written(draw: st.DrawFn) -> str:
    """A program whose lines end in each of the three ways; not all are valid."""
    lines = draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8))
    return "".join(line + draw(st.sampled_from(["\n", "\r", "\r\n"])) for line in lines)


@settings(deadline=None)
@given(written())
def test_what_is_said_of_lines_is_said_of_them_with_line_feeds_too(text: str) -> None:
    plain = with_line_feeds(text)
    assert "\r" not in plain
    assert lines_of(text) == plain.split("\n")
    assert b"".join(ended(text.encode())) == text.encode()
    assert len(ended(text.encode())) == len(lines_of(text)) - 1
    assert statements(text.encode()) == statements(plain.encode())
    assert [(each.first, each.last, each.key) for each in logical_lines(text)] == [
        (each.first, each.last, each.key) for each in logical_lines(plain)
    ]
    assert comments(text) == comments(plain)
    lines = frozenset(range(1, len(lines_of(text)) + 1))
    found, why = mutants_of("m.py", text, lines)
    same, also = mutants_of("m.py", plain, lines)
    assert [(each.id, each.line, each.end_line) for each in found] == [
        (each.id, each.line, each.end_line) for each in same
    ]
    assert why == also
    try:
        tree = ast.parse(text.encode())
    except SyntaxError:
        return
    assert {node.lineno for node in tree.body} <= set(statements(text.encode())) | {1}
    structure, theirs = Structure(text, RULES), Structure(plain, RULES)
    assert (structure.statements, structure.spoken) == (theirs.statements, theirs.spoken)


@settings(deadline=None)
@given(written())
def test_a_file_whose_line_ends_alone_change_holds_no_new_code(text: str) -> None:
    before = with_line_feeds(text)
    lines = frozenset(range(1, len(lines_of(text))))
    file = ChangedFile(path="m.py", module="m", base_path="m.py", base=before, head=text, removed=lines, added=lines)
    same = compare([file])
    for each in logical_lines(text):
        origin = same.origin("m.py", each.first)
        assert origin is not None
        assert (origin.line, origin.moved) == (each.first, False)


def test_a_return_before_a_line_feed_is_not_alone() -> None:
    assert not has_lone_returns(b"a\r\nb\r\n")
    assert has_lone_returns(b"a\r\nb\rc\r\n")
    assert has_lone_returns(b"a\r")
