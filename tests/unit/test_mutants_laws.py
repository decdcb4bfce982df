"""What holds for every mutant of every file: it compiles, differs in code, and only within its span."""

from __future__ import annotations

import importlib.util
import random
import re
import warnings
from pathlib import Path
from types import CodeType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_gate.model import Mutant, Site
from repro_gate.mutants import Reason, mutants_of
from repro_gate.mutants.compiled import key

# A machine that is busy with something else is no bug.
unhurried = settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.too_slow])

NEWLINE = re.compile(r"\r\n?|\n")
STATEMENTS = (
    "x = 1",
    "x: int = y < 2",
    "x += y; z()",
    "pass",
    "f(x, y=2)",
    "f(\n    x,\n    'é',\n    key=y and z,\n)",
    "del x[0]",
    "assert x <= y, 'no'",
    "raise ValueError('%s' % x)",
    "s = f'{x + 1!r} {y}'",
    "t = [a for a in x if a > 1 if not a]",
    "u = (lambda a=1: a + 1)(x) if x else y",
    "if (n := x) is None:\n    f(n)\nelif x != y:\n    f(y)\nelse:\n    f()",
    "while x:\n    x -= 1\n    if x: break\n    continue",
    "try:\n    f()\nexcept (A, B) as e:\n    raise\nfinally:\n    g()",
    "match x:\n    case [1, *_] if y:\n        f()\n    case {'a': b}:\n        g(b)\n    case _:\n        pass",
    "with f() as g, h:\n    g()",
    "log.info('a', x)",
    "# comment",
    '"""text\n  text"""',
    "for a in range(10): f(a)",
    "x = '''a\n  b''' + \"\"\"c\"\"\"",
    "@deco(1)\ndef inner(a=1):\n    return super().f(a) or x",
    "f(a)[\n    1:\n    2\n] = not x",
)
BLOCKS = (
    "def f(self, a=1, *, b: int = 2):",
    "async def g(a):",
    "class C(B, key=1):",
    "@cache\n@a.b(1)\ndef f(self):",
    "if TYPE_CHECKING or x:",
    "try:\n    import q\nexcept ImportError:",
    "@property\ndef p(self):",
)
RESULTS = ("return x", "return x < y", "yield x + 1", "await f(1)", "nonlocal_()", "x = yield")


@st.composite
def sources(draw: st.DrawFn) -> str:
    """A program of snippets in blocks; not all are valid Python."""

    def block(depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(draw(st.integers(1, 4))):
            if depth < 3 and draw(st.booleans()):
                lines += draw(st.sampled_from(BLOCKS)).split("\n")
                inner = block(depth + 1)
                lines += [indent + line if line else line for line in inner]
            else:
                lines += draw(st.sampled_from(STATEMENTS + (RESULTS if depth else ()))).split("\n")
        return lines

    indent = draw(st.sampled_from(["    ", "\t", "  "]))
    newline = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    end = draw(st.sampled_from(["", newline, newline * 3]))
    return draw(st.sampled_from(["", "\ufeff", "\f", "#!x" + newline])) + newline.join(block(0)) + end


def all_lines(text: str) -> frozenset[int]:
    return frozenset(range(1, len(NEWLINE.split(text)) + 1))


def compiled(text: str) -> CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        code: CodeType = compile(text.removeprefix("\ufeff"), "x", "exec", dont_inherit=True, optimize=0)
        return code


def check(text: str, mutants: tuple[Mutant, ...], why: dict[int, str]) -> None:
    """The laws."""
    lines = NEWLINE.split(text)
    assert len({each.id for each in mutants}) == len(mutants)
    having = {line for each in mutants for line in range(each.line, each.end_line + 1)}
    assert not having & set(why)
    assert having | set(why) == all_lines(text)
    for mutant in mutants:
        mutated = NEWLINE.split(mutant.text)
        assert mutated[: mutant.line - 1] == lines[: mutant.line - 1]
        after = len(lines) - mutant.end_line
        assert mutated[len(mutated) - after :] == lines[len(lines) - after :]
        assert (mutant.first_line > 0) == (mutant.site is Site.CALL)
    if mutants:
        head = key(compiled(text))
        for mutant in mutants:
            assert key(compiled(mutant.text)) != head


@unhurried
@given(sources())
def test_every_mutant_compiles_to_other_code_and_differs_within_its_span(text: str) -> None:
    mutants, why = mutants_of("a.py", text, all_lines(text))
    check(text, mutants, why)
    assert mutants_of("a.py", text, all_lines(text)) == (mutants, why)


@unhurried
@given(sources(), st.data())
def test_the_lines_asked_for_choose_among_mutants_and_change_none(text: str, data: st.DataObject) -> None:
    everything = mutants_of("a.py", text, all_lines(text))[0]
    some = data.draw(st.frozensets(st.sampled_from(sorted(all_lines(text))), min_size=1, max_size=4))
    asked = mutants_of("a.py", text, some)[0]
    assert asked == tuple(each for each in everything if some & set(range(each.line, each.end_line + 1)))


@unhurried
@given(sources(), st.data())
def test_ids_stay_when_unrelated_lines_are_inserted_above(text: str, data: st.DataObject) -> None:
    before = mutants_of("a.py", text, all_lines(text))[0]
    mark, rest = ("\ufeff", text[1:]) if text.startswith("\ufeff") else ("", text)
    newline = data.draw(st.sampled_from(["\n", "\r\n"]))
    above = data.draw(st.lists(st.sampled_from(["# a comment", "", "import unrelated", "def unrelated(): return 0"])))
    moved = mark + "".join(line + newline for line in above) + rest
    after = mutants_of("a.py", moved, all_lines(moved))[0]
    ours = [each for each in after if each.qualname != "unrelated"]
    assert [each.id for each in ours] == [each.id for each in before]
    assert [each.line - len(above) for each in ours] == [each.line for each in before]


@unhurried
@given(st.text(), st.frozensets(st.integers(-2, 9), min_size=1))
def test_no_text_raises(text: str, lines: frozenset[int]) -> None:
    mutants, why = mutants_of("a.py", text, lines)
    assert lines == {line for each in mutants for line in range(each.line, each.end_line + 1) if line in lines} | set(
        why
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["packaging", "pluggy", "_pytest.mark", "rich.table", "tokenize", "dataclasses", "heapq"]
)
def test_real_sources(name: str) -> None:
    """Two files of each, whole; and what the compiler accepts is never called unreadable."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    origin = Path(found.origin)
    beside = sorted(origin.parent.glob("*.py"), key=lambda path: path.stat().st_size)
    paths = [origin, beside[len(beside) // 3]] if found.submodule_search_locations else [origin]
    for path in paths:
        text = path.read_bytes().decode()
        lines = random.Random(name).sample(sorted(all_lines(text)), min(15, len(all_lines(text))))
        mutants, why = mutants_of(path.name, text, frozenset(lines))
        assert not [reason for reason in why.values() if reason not in set(Reason)]
        head = key(compiled(text))
        for mutant in random.Random(name).sample(mutants, min(8, len(mutants))):
            assert key(compiled(mutant.text)) != head
            assert NEWLINE.split(mutant.text)[: mutant.line - 1] == NEWLINE.split(text)[: mutant.line - 1]
