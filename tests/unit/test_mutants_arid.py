"""What is never mutated, beside its neighbours that are."""

from __future__ import annotations

import pytest

from repro_gate.mutants import Reason, mutants_of


def verdict(line: str) -> Reason | list[str]:
    """The reason why a statement of a function has no mutant, or what its mutants are."""
    mutants, why = mutants_of("a.py", f"def f(self, x):\n    {line}\n", frozenset({2}))
    return Reason(why[2]) if why else sorted(f"{each.original} -> {each.mutated}" for each in mutants)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("logger.info('a %s', x + 1)", Reason.LOGGING),
        ("self.log.exception('a')", Reason.LOGGING),
        ("logging.getLogger(__name__).warning(x)", Reason.LOGGING),
        ("_LOG.debug(x)", Reason.LOGGING),
        ("warnings.warn(x, stacklevel=2)", Reason.WARNING),
        ("warn(x)", Reason.WARNING),
        ("assert_never(x)", Reason.UNREACHABLE),
        ("raise NotImplementedError", Reason.ABSTRACT),
        ("raise NotImplementedError('a')", Reason.ABSTRACT),
        ("...", Reason.PLACEHOLDER),
        ("'text'", Reason.BLANK),
        ("import a", Reason.IMPORT),
        ("x: int", Reason.ANNOTATION),
        ("T = typing.TypeVar('T', bound=1)", Reason.TYPE),
        ("A: TypeAlias = list[1]", Reason.TYPE),
        ("__all__ += ['a']", Reason.EXPORTS),
        ("__version__ = '1.2'", Reason.SAYING),
        ("__version__: str = make(1)", Reason.SAYING),
        ("__version__ = version = '1.2'", Reason.SAYING),
        ("__version_tuple__ = version_tuple = (1, 2)", Reason.SAYING),
        ("__releasedate__ = '20240102'", Reason.SAYING),
        ("__status__ = 'Beta'", Reason.SAYING),
        ("__licence__ = 'MIT'", Reason.SAYING),
        ("pass", Reason.NO_OPERATOR),
    ],
)
def test_what_is_arid(line: str, reason: Reason) -> None:
    assert verdict(line) is reason


@pytest.mark.parametrize(
    ("line", "mutants"),
    [
        ("print(x)", ["print(x) -> pass", "print(x) -> print(None)"]),
        ("math.log(x)", ["math.log(x) -> math.log(None)", "math.log(x) -> pass"]),
        ("catalog.info(x)", ["catalog.info(x) -> catalog.info(None)", "catalog.info(x) -> pass"]),
        ("self.warn(x)", ["self.warn(x) -> pass", "self.warn(x) -> self.warn(None)"]),
        ("x = cast('int', x.y)", ["x = cast('int', x.y) -> x = None"]),
        ("x = logging.getLogger(x.name)", ["x = logging.getLogger(x.name) -> x = None"]),
        ("x = sql.cast(1, x)", None),
        ("raise ValueError('a %s' % (x + 1))", ["raise ValueError('a %s' % (x + 1)) -> pass"]),
        ("raise ValueError(f'a {x + 1}')", ["raise ValueError(f'a {x + 1}') -> pass"]),
        ("raise ValueError('{}'.format(1) + x)", ["raise ValueError('{}'.format(1) + x) -> pass"]),
        ("raise Exit(x)", ["Exit(x) -> Exit(None)", "raise Exit(x) -> pass"]),
        ("raise Exit('a', 1)", ["Exit('a', 1) -> Exit('a', 2)", "raise Exit('a', 1) -> pass"]),
        ("assert x, 'a' + 'b'", ["x -> not (x)"]),
        ("if len(x) > 1: pass", ["len(x) > 1 -> len(x) > 2", "len(x) > 1 -> len(x) >= 1", "len(x) > 1 -> not (len(x) > 1)"]),
        ("__slots__ = x", ["__slots__ = x -> __slots__ = None"]),
        ("version = x", ["version = x -> version = None"]),
        ("__version__ = limit = x", ["__version__ = limit = x -> __version__ = limit = None"]),
    ],
)  # fmt: skip
def test_what_is_not(line: str, mutants: list[str] | None) -> None:
    found = verdict(line)
    if mutants is None:
        assert "sql.cast(1, x) -> sql.cast(2, x)" in found
    else:
        assert found == sorted(mutants)


def test_the_else_of_a_block_that_does_not_run_is_mutated() -> None:
    text = (
        "if typing.TYPE_CHECKING:\n    A = 1\nelse:\n    A = 2\nif __name__ == '__main__':\n    f(1)\nelse:\n    g(2)\n"
    )
    mutants, why = mutants_of("a.py", text, frozenset(range(1, 9)))
    assert {each.line for each in mutants} == {4, 8}
    assert why[2] == Reason.TYPE_CHECKING
    assert why[6] == Reason.MAIN


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        ("def __repr__(self):", Reason.REPR),
        ("@abc.abstractmethod\ndef f(self):", Reason.ABSTRACT),
        ("@typing.overload\ndef f(self):", Reason.OVERLOAD),
        ("def __str__(self):", None),
        ("@property\ndef f(self):", None),
    ],
)
def test_functions_that_are_arid_as_a_whole(head: str, reason: Reason | None) -> None:
    line = head.count("\n") + 2
    mutants, why = mutants_of("a.py", f"{head}\n    return 1\n", frozenset({line}))
    assert why.get(line) == reason
    assert bool(mutants) == (reason is None)
