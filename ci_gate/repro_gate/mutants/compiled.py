"""What two pieces of compiled code have in common, whatever their lines.

Belongs here: comparing code objects. Does not belong here: making them (source), or running them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType

Key = tuple[object, ...]
_KIND = (
    inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
)  # a function whose kind changes cannot be given the other code


def key(code: CodeType, without: CodeType | None = None) -> Key:
    """Equal for code that does the same instruction by instruction; ``without`` leaves one inner code out."""
    if code is without:
        return ("left out",)
    return (
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_code,
        code.co_exceptiontable,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        tuple(_constant(each, without) for each in code.co_consts),
    )


def swappable(old: CodeType, new: CodeType) -> bool:
    """Whether a live function with the old code can be given the new one, and what closes over it still fits."""
    return (
        old.co_freevars == new.co_freevars
        and old.co_cellvars == new.co_cellvars
        and old.co_flags & _KIND == new.co_flags & _KIND
    )


def inner(code: CodeType, path: tuple[str, ...]) -> CodeType | None:
    """The code of the function at a path of names, through classes and scopes of type parameters."""
    for name in path:
        found = next((each for each in _codes(code) if each.co_name == name), None)
        if found is None:
            return None
        code = found
    return code


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            if each.co_name.startswith("<generic parameters"):
                yield from _codes(each)


def _constant(value: object, without: CodeType | None) -> object:
    """A constant with its type: 1, 1.0 and True are equal, 0.0 and -0.0 are, and neither may be taken for the other."""
    if isinstance(value, CodeType):
        return key(value, without)
    if isinstance(value, tuple):
        return ("tuple", *(_constant(each, without) for each in value))
    if isinstance(value, frozenset):
        return frozenset(_constant(each, without) for each in value)
    return (type(value).__name__, repr(value))
