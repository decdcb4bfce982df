"""Hand-known mutants of each construct, where they run, their ids, and why other lines have none."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import pytest

from repro_gate.model import Mutant, Site
from repro_gate.mutants import Reason, generate, identity, mutants_of

CALL, IMPORT = Site.CALL, Site.IMPORT


def on(text: str, *lines: int) -> tuple[Mutant, ...]:
    """The mutants of these lines, or of all."""
    asked = frozenset(lines or range(1, text.count("\n") + 1))
    return mutants_of("pkg/module.py", text, asked)[0]


def reasons(text: str) -> dict[int, str]:
    """Why lines have no mutant."""
    return mutants_of("pkg/module.py", text, frozenset(range(1, text.count("\n") + 1)))[1]


def shown(mutants: Iterable[Mutant]) -> list[str]:
    """Each mutant on a line."""
    return [f"{each.line} {each.operator}: {each.original} -> {each.mutated}".rstrip() for each in mutants]


def sites(mutants: Iterable[Mutant]) -> set[tuple[str, Site, int]]:
    """Where mutants run, and the function that holds them."""
    return {(each.qualname, each.site, each.first_line) for each in mutants}


# --- operators -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("return x", ["return: return x -> return None"]),
        ("return a < b", ["boundary: a < b -> a <= b", "return: return a < b -> return not (a < b)"]),
        ("return isinstance(x, A)", ["return: return isinstance(x, A) -> return not (isinstance(x, A))"]),
        ("return not x", ["condition: not x -> x"]),
        ("return None", []),
        ("return", []),
        ("del x[1]", ["constant: x[1] -> x[2]", "statement: del x[1] -> pass"]),
        ("x += y", ["assignment: x += y -> x = y", "arithmetic: x += y -> x -= y", "statement: x += y -> pass"]),
        ("f()", ["statement: f() -> pass"]),
        ("f(); g()", ["statement: f() -> pass", "statement: g() -> pass"]),
        ("raise x", ["statement: raise x -> pass"]),
        ("assert x", ["condition: x -> not (x)"]),
        ("assert x == y, 'no'", ["relational: x == y -> x != y"]),
        ("if x: y = None", ["condition: x -> not (x)", 'assignment: y = None -> y = ""']),
        ("if(x): f()", ["condition: (x) -> not ((x))", "statement: f() -> pass"]),
        ("while x: f()", ["condition: x -> not (x)", "statement: f() -> pass"]),
        ("if x == y: pass", ["relational: x == y -> x != y"]),
        ("if not x: pass", ["condition: not x -> x"]),
        ("if a is None: pass", ["relational: a is None -> a is not None"]),
        ("if (n := x): pass", ["condition: (n := x) -> not ((n := x))"]),
        ("{k: v for k, v in x if k}", ["condition: k -> not (k)"]),
    ],
)  # fmt: skip
def test_the_mutants_of_a_statement(line: str, expected: list[str]) -> None:
    mutants = on(f"def f(x, y):\n    {line}\n", 2)
    assert sorted(shown(mutants)) == sorted(f"2 {each}" for each in expected)
    assert all(each.site is CALL and each.first_line == 1 for each in mutants)


def test_a_number_is_off_by_one_and_a_comparison_at_its_boundary() -> None:
    assert shown(on("def f(x):\n    if 10 <= x: f(0)\n", 2)) == [
        "2 condition: 10 <= x -> not (10 <= x)",
        "2 boundary: 10 <= x -> 10 < x",
        "2 statement: f(0) -> pass",
        "2 constant: 10 <= x -> 11 <= x",
        "2 constant: f(0) -> f(1)",
        "2 argument: f(0) -> f(None)",
    ]


def test_an_exception_is_swallowed_where_a_handler_raises() -> None:
    text = "def f():\n    try:\n        g()\n    except KeyError:\n        raise\n    except ValueError as e:\n        raise A from e\n"
    assert shown(on(text, 5, 7)) == ["5 exception: raise -> pass", "7 exception: raise A from e -> pass"]


def test_a_function_within_a_handler_does_not_handle() -> None:
    text = "try:\n    f()\nexcept A:\n    def g():\n        raise B\n"
    assert shown(on(text, 5)) == ["5 statement: raise B -> pass"]


def test_decorators_are_removed_but_for_those_without_which_a_definition_is_nonsense() -> None:
    text = (
        "class C:\n    @cache\n    # why\n    @app.route('/x')\n    def f(self): ...\n"
        "    @property\n    def p(self): ...\n    @p.setter\n    def p(self, v): ...\n    @staticmethod\n    def s(): ...\n"
        "    @classmethod\n    def c(cls): ...\n@dataclass\nclass D:\n    x: int\n"
    )
    removed = [each for each in on(text) if each.operator == "decorator"]
    assert shown(removed) == [
        "2 decorator: @cache ->",
        "4 decorator: @app.route('/x') ->",
        "14 decorator: @dataclass ->",
    ]
    assert {each.site for each in removed} == {IMPORT}
    assert removed[1].text.splitlines()[1:5] == ["    @cache", "    # why", "    ", "    def f(self): ..."]


def test_a_case_of_a_match_is_removed_with_its_lines() -> None:
    text = "def f(x):\n    match x:\n        case 1:\n            return 2\n        case _:\n            g(x); x()\n"
    cases = [each for each in on(text) if each.operator == "case"]
    assert shown(cases) == ["3 case: case 1: return 2 ->", "5 case: case _: g(x); x() ->"]
    assert cases[0].text == "def f(x):\n    match x:\n        case _:\n            g(x); x()\n"


# --- where code runs -------------------------------------------------------------------------


def test_decorated_functions_are_mutated_and_begin_at_their_first_decorator() -> None:
    text = "@a\n@b(1)\ndef f(x):\n    return x\n"
    assert sites(on(text, 4)) == {("f", CALL, 1)}
    assert sites(on(text, 2)) == {("f", IMPORT, 0)}


def test_module_level_and_class_bodies_run_at_import() -> None:
    text = "LIMIT = 3\nclass A(B, key=True):\n    x = 1\n    class C:\n        y = 2\n    z = lambda q: q\n"
    assert shown(on(text)) == [
        "1 constant: LIMIT = 3 -> LIMIT = 4",
        "1 assignment: LIMIT = 3 -> LIMIT = None",
        "2 constant: True -> False",
        "3 constant: x = 1 -> x = 2",
        "3 assignment: x = 1 -> x = None",
        "5 constant: y = 2 -> y = 3",
        "5 assignment: y = 2 -> y = None",
        "6 return: lambda q: q -> lambda q: None",
        "6 assignment: z = lambda q: q -> z = None",
    ]
    assert sites(on(text)) == {("", IMPORT, 0), ("A", IMPORT, 0), ("A.C", IMPORT, 0)}


def test_methods_of_nested_classes_and_functions_under_if_and_try_run_in_calls() -> None:
    text = (
        "class A:\n    class B:\n        def m(self):\n            return 1\n"
        "if x:\n    def f():\n        return 2\nelif y:\n    def g():\n        return 3\n"
        "try:\n    def h():\n        return 4\nexcept E:\n    def i():\n        return 5\n"
        "match x:\n    case 1:\n        def j():\n            return 6\n"
    )
    assert sites(each for each in on(text) if each.operator == "return") == {
        ("A.B.m", CALL, 3), ("f", CALL, 6), ("g", CALL, 9), ("h", CALL, 12), ("i", CALL, 15), ("j", CALL, 19),
    }  # fmt: skip


def test_async_generators_closures_and_lambdas_in_functions_belong_to_the_outermost_function() -> None:
    text = (
        "async def a(x):\n    async for i in x:\n        if i: yield i\n    await x(1)\n"
        "def g(n):\n    while n:\n        yield n\n"
        "def outer(n):\n    class K:\n        def m(self):\n            return n\n"
        "    def inner():\n        return lambda: n + 1\n    return inner\n"
    )
    names = {(each.qualname, each.first_line) for each in on(text) if each.site is CALL}
    assert names == {
        ("a", 1), ("g", 5), ("outer", 8), ("outer.<locals>.K.m", 8), ("outer.<locals>.inner", 8),
    }  # fmt: skip


def test_defaults_run_at_import_and_annotations_are_left_alone() -> None:
    text = "def f(a=1, *, b: Literal[1] = 2) -> Literal[3]:\n    return a\n"
    assert shown(on(text, 1)) == ["1 constant: a=1 -> a=2", "1 constant: b: Literal[1] = 2 -> b: Literal[1] = 3"]
    assert sites(on(text, 1)) == {("f", IMPORT, 0)}


def test_properties_dataclasses_and_enums() -> None:
    text = (
        "class E(Enum):\n    A = 1\n    def up(self):\n        return self.value + 1\n"
        "@dataclass\nclass D:\n    x: int = 0\n    y: list = field(default_factory=list)\n"
        "    @property\n    def p(self):\n        return self.x > 3\n    @p.setter\n    def p(self, v):\n        self.x = v\n"
    )
    assert shown(on(text, 2, 7)) == [
        "2 constant: A = 1 -> A = 2",
        "2 assignment: A = 1 -> A = None",
        "7 constant: x: int = 0 -> x: int = 1",
        "7 assignment: x: int = 0 -> x: int = None",
    ]
    assert sites(on(text, 4, 11, 14)) == {("E.up", CALL, 3), ("D.p", CALL, 9), ("D.p", CALL, 12)}
    assert sites(on(text, 2, 7, 8)) == {("E", IMPORT, 0), ("D", IMPORT, 0)}


@pytest.mark.parametrize(
    "body",
    [
        "class A(B):\n    def f(self):\n        return super().f()\n",  # the cell of the class
        "def f():\n    yield 1\n",  # a generator becomes a function
        "async def f():\n    yield 1\n",
    ],
)
def test_what_a_live_function_cannot_be_given_runs_at_import(body: str) -> None:
    gone = [each for each in on(body) if each.mutated in ("return None", "pass")]
    assert IMPORT in {each.site for each in gone}
    assert all(each.first_line == 0 for each in gone if each.site is IMPORT)


@pytest.mark.parametrize(
    ("body", "mutated"),
    [
        ("def f(n):\n    def g(): return n\n    return g\n", "return None"),
        ("def f(n, values):\n    return any(n < value for value in values)\n", "any(None)"),
    ],
)
def test_a_cell_of_the_function_itself_may_go_in_a_call(body: str, mutated: str) -> None:
    """Whoever closed over it already is looked for in the fork, and only then is there no exchange."""
    assert {each.site for each in on(body) if each.mutated == mutated} == {CALL}


def test_a_cell_that_stays_leaves_the_mutant_to_calls() -> None:
    text = "class A(B):\n    def f(self):\n        x = super().f(1)\n        return super().g()\n"
    assert {each.site for each in on(text, 3)} == {CALL}


# --- spans -----------------------------------------------------------------------------------

CALLS = "def f(a):\n    g(\n        a,\n        key=1,\n        other=a < 2,\n    )\n    return a\n"


def test_an_argument_on_a_line_of_its_own_has_that_line() -> None:
    assert shown(on(CALLS, 4)) == [
        "2 statement: g( a, key=1, other=a < 2, ) -> pass",
        "4 constant: key=1 -> key=2",
        "4 argument: key=1 ->",
        "4 argument: key=1 -> key=None",
    ]
    removed = next(each for each in on(CALLS, 4) if not each.mutated)
    assert removed.text == CALLS.replace("        key=1,\n", "")


def test_the_lines_of_a_mutant_are_all_that_differs() -> None:
    for mutant in on(CALLS):
        head, lines = CALLS.split("\n"), mutant.text.split("\n")
        assert lines[: mutant.line - 1] == head[: mutant.line - 1]
        after = len(head) - mutant.end_line
        assert lines[len(lines) - after :] == head[mutant.end_line :]


# --- no mutants ------------------------------------------------------------------------------


def test_equal_code_is_no_mutant_and_equal_mutants_are_one() -> None:
    text = "def f(x):\n    while True:\n        if x: continue\n        x = -(x) if 0 else x\n        ...\n"
    # `not (True)` and False compile alike; the operator of more worth gives its name.
    assert shown(on(text, 2)) == ["2 condition: True -> not (True)"]
    # The last `return None` of a function is what happens anyway.
    assert shown(on("def f(x):\n    g(x)\n    return None\n", 3)) == []


def test_of_two_equal_deletions_one_is_a_mutant() -> None:
    text = "def f(x):\n    g()\n    g()\n"
    assert shown(on(text)) == ["2 statement: g() -> pass"]
    assert reasons(text)[3] == Reason.SAME


@pytest.mark.parametrize(
    "text",
    ["raise x\ny = 1\n", "if 0:\n    y = 1\n", "raise x\ndef f():\n    return 1\n", "def f():\n    return\n    g(1)\n"],
)
def test_what_the_compiler_leaves_out_has_no_mutants(text: str) -> None:
    last = text.count("\n")
    assert mutants_of("a.py", text, frozenset({last})) == ((), {last: str(Reason.SAME)})


def test_of_a_long_table_as_many_lines_get_their_best_mutant_as_can_be_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(generate, "_MOST_COMPILED", 100_000)
    text = "T = {\n" + "".join(f"    'k{row}': {row},\n" for row in range(100)) + "}\n"
    lines = frozenset(range(1, 103))
    mutants, without = mutants_of("a.py", text, lines)
    rows = [each for each in mutants if each.line == each.end_line]
    assert 30 < len(rows) < 100
    assert len({each.line for each in rows}) == len(rows), "no row has two while others have none"
    assert {each.operator for each in rows} == {"constant"}
    assert {reason for line, reason in without.items() if 1 < line < 102} <= {str(Reason.TOO_MANY)}
    # One row of the same table: all that can be made of it.
    alone = mutants_of("a.py", text, frozenset({50}))[0]
    assert sorted(each.operator for each in alone if each.line == 50) == ["constant", "string", "string"]


def test_numbers_that_are_equal_but_of_another_type_are_mutants() -> None:
    assert "2 constant: return 0 -> return 1" in shown(on("def f():\n    return 0\n"))
    assert shown(on("X = True\n")) == ["1 constant: X = True -> X = False", "1 assignment: X = True -> X = None"]


def test_a_line_without_a_mutant_has_a_reason() -> None:
    text = (
        '"""Doc."""\n'  # 1
        "from __future__ import annotations\n"
        "# comment\n"
        "\n"
        "if TYPE_CHECKING:\n"  # 5
        "    import a\n"
        "else:\n"
        "    A = 1\n"
        "T = TypeVar('T')\n"
        "__all__ = ['f']\n"  # 10
        "def f(x):\n"
        "    log.info('x %s', 1)\n"
        "    self._logger.debug(1)\n"
        "    warnings.warn('no')\n"
        "    pass\n"  # 15
        "    with x:\n"
        "        f(  # pragma: no mutate -- slow\n"
        "            1,\n"
        "        )\n"
        "    y = (\n"  # 20
        "        x\n"
        "    )\n"
        "    raise NotImplementedError\n"
        "    assert_never(x)\n"
        "def __repr__(self):\n"  # 25
        "    return 1\n"
        "@abstractmethod\n"
        "def g(): return 1\n"
        "@overload\n"
        "def g(a): ...\n"  # 30
        "if __name__ == '__main__':\n"
        "    f(1)\n"
        "class P: ...\n"
        "raise A(\n"
        "    'message',\n"  # 35
        ")\n"
        "x: int\n"
    )
    found = reasons(text)
    assert {line: Reason(reason) for line, reason in found.items()} == {
        1: Reason.BLANK, 2: Reason.IMPORT, 3: Reason.BLANK, 4: Reason.BLANK, 5: Reason.TYPE_CHECKING,
        6: Reason.TYPE_CHECKING, 7: Reason.NO_OPERATOR, 9: Reason.TYPE, 10: Reason.EXPORTS, 11: Reason.NO_OPERATOR,
        12: Reason.LOGGING, 13: Reason.LOGGING, 14: Reason.WARNING, 15: Reason.NO_OPERATOR, 16: Reason.NO_OPERATOR,
        17: Reason.PRAGMA, 19: Reason.PRAGMA_NEARBY, 23: Reason.ABSTRACT,
        24: Reason.UNREACHABLE, 25: Reason.REPR, 26: Reason.REPR, 27: Reason.ABSTRACT, 28: Reason.ABSTRACT,
        29: Reason.OVERLOAD, 30: Reason.OVERLOAD, 31: Reason.MAIN, 32: Reason.MAIN, 33: Reason.PLACEHOLDER,
        37: Reason.ANNOTATION,
    }  # fmt: skip


def test_every_line_asked_for_has_mutants_or_a_reason_and_not_both() -> None:
    mutants, why = mutants_of("a.py", CALLS, frozenset(range(12)))
    having = {line for each in mutants for line in range(each.line, each.end_line + 1)}
    assert having | set(why) == set(range(12))
    assert not having & set(why)
    assert why[0] == why[9] == Reason.ABSENT


def test_a_pragma_without_a_reason_waives_nothing() -> None:
    assert shown(on("x = f()  # pragma: no mutate\n")) == ["1 assignment: x = f() -> x = None"]
    assert on("x = f()  # pragma: no mutate -- the cache is one\n") == ()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("def f(:\n", "in line 1: invalid syntax"),
        ("print 'a'\n", "in line 1"),
        ("x = '\0'\n", "null bytes"),
        ("def f():\n\tx\n        y\n", "in line 3"),
        ("return 1\n", "'return' outside function"),
        ("x = " + "+".join("1" * 100_000) + "\n", "RecursionError"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_a_reason(text: str, part: str) -> None:
    mutants, why = mutants_of("a.py", text, frozenset({1, 2}))
    assert mutants == ()
    assert set(why) == {1, 2}
    assert why[1].startswith(f"Python {sys.version_info[0]}.{sys.version_info[1]} cannot parse the file")
    assert part in why[1]


def test_no_lines_no_mutants() -> None:
    assert mutants_of("a.py", "x = 1\n", frozenset()) == ((), {})


# --- what texts look like --------------------------------------------------------------------


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_newlines_and_a_byte_order_mark_stay(newline: str, mark: str) -> None:
    text = mark + newline.join(["# -*- coding: latin-1 -*-", "def f(é):", "\treturn (é <", "\t\t'ü')", ""])
    mutants = on(text.replace(newline, "\n"), 3)
    assert shown(mutants)[0] == "3 return: return (é < 'ü') -> return not ((é < 'ü'))"
    same = mutants_of("pkg/module.py", text, frozenset({3}))[0]
    assert [each.id for each in same] == [each.id for each in mutants]
    for ours, plain in zip(same, mutants, strict=True):
        assert ours.text == mark + plain.text.removeprefix(mark).replace("\n", newline)


def test_form_feeds_tabs_and_no_newline_at_the_end() -> None:
    text = "\fX = 1\n\f\nclass A:\n\tdef f(self):\n\t\treturn 1\n\f\n\fdef g(): return 2"
    assert [each.text for each in on(text, 7) if each.operator == "return"] == [text.replace("return 2", "return None")]
    assert [each.text for each in on(text, 1) if each.operator == "constant"] == [text.replace("X = 1", "X = 2")]
    assert sites(on(text, 5)) == {("A.f", CALL, 4)}


def test_f_strings_and_walrus() -> None:
    text = "def f(x):\n    if (n := x.a) and f'{n + 1:>{x}} {x!r}':\n        return f'é{n}'\n"
    assert "2 arithmetic: n + 1 -> n - 1" in shown(on(text, 2))
    assert "2 boolean: (n := x.a) and f'{n + 1:>{x}} {x!r}' -> (n := x.a) or f'{n + 1:>{x}} {x!r}'" in shown(
        on(text, 2)
    )


TYPED = "class A[T: int]:\n    def f[U](self, x: T) -> U:\n        return x + 1\ntype B = list[int]\n"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are of Python 3.12")
def test_type_parameters() -> None:
    assert sites(on(TYPED, 3)) == {("A.f", CALL, 2)}
    assert reasons(TYPED)[4] == Reason.TYPE


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="this Python knows type parameters")
def test_type_parameters_are_a_reason_where_python_does_not_know_them() -> None:
    assert "cannot parse the file in line 1" in mutants_of("a.py", TYPED, frozenset({3}))[1][3]


def test_names_are_mangled_as_in_the_file() -> None:
    text = "class A:\n    def f(self):\n        return self.__x(1)\n"
    assert {each.site for each in on(text)} == {CALL}


# --- ids -------------------------------------------------------------------------------------


def test_an_id_is_made_of_what_it_says() -> None:
    mutant = next(each for each in on("def f(a):\n    return a\n"))
    assert (mutant.qualname, mutant.original, mutant.mutated, mutant.nth) == ("f", "return a", "return None", 1)
    assert mutant.id == identity("pkg/module.py", "f", "return a", "return None", 1)
    assert len(mutant.id) == 12


def test_equal_changes_in_a_function_are_numbered() -> None:
    text = "def f(a):\n    if a: return a\n    g(a)\n    return a\n"
    returns = [each for each in on(text) if each.operator == "return"]
    assert [(each.line, each.nth) for each in returns] == [(2, 1), (4, 2)]
    assert [each.nth for each in on(text, 4)] == [2]


def test_a_getter_and_its_setter_share_a_name_and_no_id() -> None:
    text = (
        "class A:\n    @property\n    def p(self):\n        return self.x\n"
        "    @p.setter\n    def p(self, v):\n        return self.x\n"
    )
    assert [(each.line, each.nth) for each in on(text, 7)] == [(7, 2)]


# --- hints -----------------------------------------------------------------------------------


def test_a_boundary_says_where_it_shows() -> None:
    text = "def f(exp, suffix):\n    return exp < len(suffix) <= (\n        3)\ndef g(a):\n    return a > 1\n"
    assert {each.hint for each in on(text) if each.operator == "boundary"} == {
        "only a value where `exp == len(suffix)` can tell them apart",
        "only a value where `len(suffix) == ( 3)` can tell them apart",
        "only a value where `a == 1` can tell them apart",
    }


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("return x", "a check of what `f` returns here, where that is not None, would tell them apart"),
        ("return x == 1", "a check of whether what `f` returns here is true would tell them apart"),
        ("if x: g()", "each run takes the other branch: a check of what depends on `x` would tell them apart"),
        ("[y for y in x if y]", "a check of what is kept by `y` would tell them apart"),
        ("assert x", "any run in which `x` holds would tell them apart: it now raises AssertionError"),
        ("g( x )", "a check of what `g( x )` brings about would tell them apart"),
        ("raise x", "a test that gets here and expects this exception would tell them apart"),
        ("x = 1", ""),
    ],
)
def test_what_tells_a_mutant_apart(line: str, hint: str) -> None:
    found = on(f"def f(x):\n    {line}\n", 2)
    assert hint in [each.hint for each in found if each.operator in ("return", "condition", "statement", "assignment")]
