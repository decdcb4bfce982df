"""What two pieces of compiled code have in common, whatever their lines.

Belongs here: comparing code objects. Does not belong here: making them (source), or running them.
"""

from __future__ import annotations

import bisect
import dis
import inspect
from collections.abc import Iterator
from types import CodeType

Key = tuple[object, ...]
# A function whose kind changes cannot be given the other code.
_KIND = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
_NOTHING = frozenset({"NOP", "EXTENDED_ARG", "CACHE"})
_CONSTANT, _NAME = frozenset(dis.hasconst), frozenset(dis.hasname)
_JUMP = frozenset(dis.hasjrel) | frozenset(dis.hasjabs)
# What Python 3.13 notes of a class: the line, and the attributes that its methods assign.
_NOTES = frozenset({"__firstlineno__", "__static_attributes__"})


def key(code: CodeType, without: CodeType | None = None) -> Key:
    """Equal for code that does the same, instruction by instruction; ``without`` leaves one inner code out.

    Docstrings of functions, lines and what the compiler left out (names and constants that no instruction uses,
    the place of a ``pass``) are not part of it.
    """
    if code is without:
        return ("left out",)
    arguments = code.co_argcount + code.co_kwonlyargcount
    stars = bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    return (
        code.co_name,
        code.co_argcount,
        code.co_posonlyargcount,
        code.co_kwonlyargcount,
        code.co_flags,
        code.co_varnames[: arguments + stars],
        *_instructions(code, without),
    )


def swappable(old: CodeType, new: CodeType) -> bool:
    """Whether a live function with the old code can be given the new one.

    What it had closed over before the exchange is looked at there: only if such a function is alive does it matter.
    """
    return old.co_freevars == new.co_freevars and old.co_flags & _KIND == new.co_flags & _KIND


def inner(code: CodeType, path: tuple[str, ...]) -> CodeType | None:
    """The code of the function at a path of names, through classes and scopes of type parameters."""
    for name in path:
        found = next((each for each in _codes(code) if each.co_name == name), None)
        if found is None:
            return None
        code = found
    return code


def reported(code: CodeType) -> frozenset[int]:
    """The lines that a module's code knows, without those of code that no instruction uses."""
    lines: set[int] = set()
    pending = [code]
    while pending:
        code = pending.pop()
        lines.update(line for _, _, line in code.co_lines() if line)
        if any(isinstance(each, CodeType) for each in code.co_consts):
            used = (each.argval for each in dis.get_instructions(code) if each.opcode in _CONSTANT)
            pending.extend(each for each in used if isinstance(each, CodeType))
    return frozenset(lines)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            if each.co_name.startswith("<generic parameters"):
                yield from _codes(each)


def _instructions(code: CodeType, without: CodeType | None) -> tuple[object, object]:
    """The instructions with what they refer to, and the ranges of them that handlers protect."""
    bytecode = dis.Bytecode(code)
    kept = [each for each in bytecode if each.opname not in _NOTHING]
    offsets = [each.offset for each in kept]
    found: list[object] = []
    for each in kept:
        if each.opcode in _JUMP:
            found.append((each.opname, bisect.bisect_left(offsets, each.argval)))
        elif each.opcode in _CONSTANT:
            found.append((each.opname, _constant(each.argval, without)))
        elif each.opcode in _NAME:
            if found and each.argval in _NOTES:
                found[-1] = each.argval
            found.append((each.opname, each.argrepr))
        else:
            found.append((each.opname, each.argval))
    handlers = tuple(
        (*(bisect.bisect_left(offsets, at) for at in (each.start, each.end, each.target)), each.depth, each.lasti)
        for each in getattr(bytecode, "exception_entries", ())
    )
    return tuple(found), handlers


def _constant(value: object, without: CodeType | None) -> object:
    """A constant with its type: 1, 1.0 and True are equal, 0.0 and -0.0 are, and neither may be taken for the other."""
    if isinstance(value, CodeType):
        return key(value, without)
    if isinstance(value, tuple):
        return ("tuple", *(_constant(each, without) for each in value))
    if isinstance(value, frozenset):
        return frozenset(_constant(each, without) for each in value)
    if isinstance(value, slice):
        return ("slice", *(_constant(each, without) for each in (value.start, value.stop, value.step)))
    return (type(value).__name__, repr(value))
