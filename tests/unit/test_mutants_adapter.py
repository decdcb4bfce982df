"""What we take of mutmut: its operators, each by name, without its configuration or the project's files."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
import textwrap
from pathlib import Path

import libcst as cst
import pytest
from mutmut.mutation.mutators import mutation_operators

from repro_gate.mutants import OPERATORS, adapter, mutants_of


def made(code: str, kind: type[cst.CSTNode]) -> list[tuple[str, str]]:
    """The names and the text of what mutmut makes of the first node of a kind."""
    module = cst.parse_module(code)
    nodes: list[cst.CSTNode] = [module]
    found: list[cst.CSTNode] = []
    while nodes:
        node = nodes.pop(0)
        found += [node] if isinstance(node, kind) else []
        nodes[:0] = node.children
    return [(name, module.code_for_node(mutated)) for name, mutated in adapter.changes(found[0])]


def test_the_version_is_the_one_whose_operators_are_known() -> None:
    assert importlib.metadata.version("mutmut").startswith("3.8.")


def test_every_operator_of_mutmut_has_a_name_of_ours_and_no_other() -> None:
    assert {operator.__name__ for _, operator in mutation_operators} == set(adapter.NAMES)
    assert set(adapter.NAMES.values()) <= set(OPERATORS)


@pytest.mark.parametrize(
    ("code", "kind", "expected"),
    [
        ("a < b", cst.ComparisonTarget, [("boundary", " <= b")]),
        ("a >= b", cst.ComparisonTarget, [("boundary", " > b")]),
        ("a == b", cst.ComparisonTarget, [("relational", " != b")]),
        ("a is b", cst.Is, [("relational", " is not ")]),
        ("a not in b", cst.NotIn, [("relational", " in ")]),
        ("a and b", cst.BooleanOperation, [("boolean", "a or b")]),
        ("7", cst.Integer, [("constant", "8")]),
        ("0.5", cst.Float, [("constant", "1.5")]),
        ("True", cst.Name, [("constant", "False")]),
        ("not a", cst.UnaryOperation, [("condition", "a")]),
        ("~a", cst.UnaryOperation, [("arithmetic", "a")]),
        ("-a", cst.UnaryOperation, [("arithmetic", "+a")]),
        ("a // b", cst.BinaryOperation, [("arithmetic", "a / b")]),
        ("x += 1", cst.AugAssign, [("assignment", "x = 1"), ("arithmetic", "x -= 1")]),
        ("x = 1", cst.Assign, [("assignment", "x = None")]),
        ("x = None", cst.Assign, [("assignment", 'x = ""')]),
        ("x: int", cst.AnnAssign, []),
        ("lambda: 1", cst.Lambda, [("return", "lambda: None")]),
        ("for a in b: break; c", cst.Break, [("loop", "return; ")]),
        ("for a in b: continue", cst.Continue, [("loop", "break")]),
        ("f(a)", cst.Call, [("argument", "f(None)")]),
        ("a.lower()", cst.Call, [("method", "a.upper()")]),
        ('"Ab"', cst.SimpleString, [("string", '"XXAbXX"'), ("string", '"ab"'), ("string", '"AB"')]),
        ('"utf-8"', cst.SimpleString, [("string", '"XXutf-8XX"')]),
        ("a if(b)else c", cst.IfExp, []),
        ("a if b else c", cst.IfExp, [("condition", "a if (b) and False else c"), ("condition", "a if (b) or True else c")]),
    ],
)  # fmt: skip
def test_what_mutmut_makes_of_a_node(code: str, kind: type[cst.CSTNode], expected: list[tuple[str, str]]) -> None:
    assert made(code + "\n", kind) == expected


@pytest.mark.parametrize(
    "name", ["IDNA", "utf-8-sig", "utf-16le", "Shift_JIS", "windows-1252", "us-ascii", "koi8-r", "big5"]
)
def test_a_name_of_an_encoding_is_not_written_in_other_letters(name: str) -> None:
    """It would mean the same: `"a".encode("IDNA") == "a".encode("idna")`."""
    assert made(f'"{name}"\n', cst.SimpleString) == [("string", f'"XX{name}XX"')]


@pytest.mark.parametrize("word", ["greek", "hex", "us", "u8", "base64", "rot13", "utf-8 text", "größe"])
def test_what_is_or_may_be_no_name_of_an_encoding_of_text_is(word: str) -> None:
    assert ("string", f'"{word.upper()}"') in made(f'"{word}"\n', cst.SimpleString)


def test_a_case_is_removed_from_a_match_that_has_another() -> None:
    code = "match a:\n    case 1: b\n    case 2: c\n"
    assert made(code, cst.Match) == [
        ("case", "match a:\n    case 2: c\n"),
        ("case", "match a:\n    case 1: b\n"),
    ]


def test_nothing_of_the_project_is_read_and_the_directory_stays(tmp_path: Path) -> None:
    """A configuration that mutmut would refuse is in the working directory, and nothing is written there."""
    (tmp_path / "pyproject.toml").write_text("[tool.mutmut]\nnonsense = [\n")
    program = textwrap.dedent(
        """
        import os, sys
        import repro_gate.mutants
        assert "mutmut" not in sys.modules and "libcst" not in sys.modules
        opened = []
        sys.addaudithook(lambda name, given: opened.append(str(given[0])) if name == "open" else None)
        before = os.getcwd()
        mutants, _ = repro_gate.mutants.mutants_of("a.py", "x = 1\\n", frozenset({1}))
        assert len(mutants) == 2 and "mutmut.mutation.mutators" in sys.modules
        assert os.getcwd() == before
        assert not [path for path in opened if "pyproject" in path or "setup.cfg" in path]
        """
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=120)
    assert [path.name for path in tmp_path.iterdir()] == ["pyproject.toml"]


def test_with_mutmut_as_the_engine_there_are_its_operators_alone() -> None:
    text = "def f(a, b):\n    log(a)\n    if a:\n        return a + b\n    return a < b\n"
    lines = frozenset(range(1, 6))
    ours, _ = mutants_of("a.py", text, lines)
    theirs, why = mutants_of("a.py", text, lines, own=False)
    assert {each.id for each in theirs} < {each.id for each in ours}
    left_out = {(each.operator, each.mutated) for each in ours} - {(each.operator, each.mutated) for each in theirs}
    assert left_out == {
        ("statement", "pass"),
        ("condition", "not (a)"),
        ("return", "return None"),
        ("return", "return not (a < b)"),
    }
    assert why == {1: "no operator", 3: "no operator"}
