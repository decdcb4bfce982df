"""Give live functions other code, in a fork, before its first test.

Belongs here: finding the functions of one source file that are alive, compiling another text of that
file, and exchanging code. Which text it is, and what it means that a test fails with it, is for the
gate to say. Code that ran already (a module's top level, a generator under way) cannot be exchanged:
then nothing is, and the reason is told.
"""

from __future__ import annotations

import gc
import os
import types
import warnings
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

_open = open  # kept: a conftest may patch any of these
_compile = compile
_realpath, _join = os.path.realpath, os.path.join

_FUNCTION = 0x1 | 0x2  # CO_OPTIMIZED and CO_NEWLOCALS: the bodies of modules and classes have not both
_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200
_KIND = _GENERATOR | _COROUTINE | _ITERABLE_COROUTINE | _ASYNC_GENERATOR
_TYPE_PARAMETERS = "<generic parameters of"  # a scope of its own, which qualified names pass over
_PLACEHOLDER = "repro-gate: what is raised"


class MustDie(BaseException):
    """Raised by code that was made to raise. No ``except Exception`` of the product takes it for its own."""

    def __init__(self) -> None:
        super().__init__("this function was made to raise, to see whether a test notices")


class Refused(Exception):
    """Why the code was not exchanged: no experiment took place."""


class Census:
    """What is alive of each source file when a server begins to fork. It keeps nothing alive.

    ``tree`` is the directory that paths are relative to. Looked for once, and in the server: going
    through all objects writes to all of their pages, which forks share.
    """

    def __init__(self, tree: str) -> None:
        self._tree = tree
        self._by_file: dict[str, list[weakref.ref[Any]]] | None = None

    def take(self) -> None:
        """Look now, unless it is done already."""
        if self._by_file is not None:
            return
        self._by_file = {}
        real: dict[str, str] = {}
        for thing in _everything():
            code = _code_of(thing)
            if code is None:
                continue
            name = code.co_filename
            if name not in real:
                real[name] = _realpath(name)
            self._by_file.setdefault(real[name], []).append(weakref.ref(thing))

    def of(self, path: str) -> list[Any]:
        """The live functions and what is under way of them, of a file by its path below the tree."""
        found = (self._by_file or {}).get(self.place(path), [])
        return [thing for thing in (reference() for reference in found) if thing is not None]

    def place(self, path: str) -> str:
        """Where the file is."""
        return _realpath(_join(self._tree, *path.split("/")))


def exchange(census: Census, swap: Mapping[str, Any]) -> int:
    """Do what the command says; returns how many functions got other code. Raises Refused, having changed nothing.

    ``swap`` has ``path``, ``qualname`` (of the outermost function, or of something within it),
    ``first_line``, ``text`` (the name of the file that holds it) and ``raising``.
    """
    alive = census.of(swap["path"])
    old = _old(alive, str(swap["qualname"]), int(swap["first_line"]))
    known = {id(code): code for outermost in old for code in _with_nested(outermost)}
    raising = bool(swap.get("raising"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the text, which says nothing about the tests
        new = {} if raising else _counterparts(old, swap, census.place(swap["path"]))
        pairs = []
        for thing in alive:
            code = _code_of(thing)
            if code is None or id(code) not in known:
                continue
            if type(thing) is types.FunctionType:
                pairs.append((thing, _raising(code) if raising else _fitting(code, new.get(id(code)))))
            elif not _is_over(thing):
                raise Refused("a call of %s is under way since collection" % code.co_name)
        for function, code in pairs:
            function.__code__ = code
    return len(pairs)


def _everything() -> list[Any]:
    """All objects that the collector knows, also the frozen ones; afterwards these are frozen as before."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        frozen = gc.get_freeze_count()
        gc.unfreeze()
        found = gc.get_objects()
        if frozen:
            gc.freeze()
        return found
    finally:
        if collecting:
            gc.enable()


def _code_of(thing: Any) -> types.CodeType | None:
    """The code of a function, or of a call of one that goes on."""
    kind = type(thing)  # compared by identity: a metaclass may say anything of equality
    if kind is types.FunctionType:
        return thing.__code__  # type: ignore[no-any-return]
    if kind is types.GeneratorType:
        return thing.gi_code  # type: ignore[no-any-return]
    if kind is types.CoroutineType:
        return thing.cr_code  # type: ignore[no-any-return]
    if kind is types.AsyncGeneratorType:
        return thing.ag_code  # type: ignore[no-any-return]
    return None


def _is_over(call: Any) -> bool:
    frames = (getattr(call, name, None) for name in ("gi_frame", "cr_frame", "ag_frame"))
    return all(frame is None for frame in frames)


def _old(alive: list[Any], qualname: str, first_line: int) -> list[types.CodeType]:
    """The code of the outermost function there: one for each time that its module was imported."""
    found: dict[int, types.CodeType] = {}
    for thing in alive:
        code = _code_of(thing)
        if code is not None and code.co_firstlineno == first_line and _is_named(code, qualname):
            found[id(code)] = code
    inner = {id(code) for each in found.values() for code in _with_nested(each) if code is not each}
    outermost = [code for key, code in found.items() if key not in inner]
    if not outermost:
        raise Refused("no live function %s at line %d" % (qualname, first_line))
    return outermost


def _is_named(code: types.CodeType, qualname: str, own: str = "") -> bool:
    """Whether this is the code with that qualified name, or one around it.

    Where code does not know its qualified name (before Python 3.11), its own name is in it.
    """
    own = getattr(code, "co_qualname", own)
    if not own:
        return code.co_name in qualname.split(".")
    return qualname == own or qualname.startswith(own + ".")


def _counterparts(old: list[types.CodeType], swap: Mapping[str, Any], place: str) -> dict[int, types.CodeType | None]:
    """By the identity of each code that is live, its counterpart in the text, None where that is not clear."""
    name, line = str(swap["qualname"]), int(swap["first_line"])
    new = _outermost(_read(swap["text"]), old[0].co_filename, name, line)
    if len(new) == 1:
        positions = [0] * len(old)
    else:  # several on one line: which of them each is, only head's own text says
        before = _outermost(_read(place), old[0].co_filename, name, line)
        if len(before) != len(new):
            raise Refused("the text has %d functions %s at line %d, head %d" % (len(new), name, line, len(before)))
        positions = [_position(code, before) for code in old]
    pairs: dict[int, types.CodeType | None] = {}
    for code, position in zip(old, positions):
        _pair(code, new[position], pairs)
    return pairs


def _read(path: str) -> str:
    try:
        with _open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            return file.read()
    except OSError as broken:
        raise Refused("cannot read the text: %s" % broken) from None


def _outermost(text: str, filename: str, qualname: str, line: int) -> list[types.CodeType]:
    """The outermost functions of that name which begin at that line, in the order of the text."""
    try:
        module = _compile(text, filename, "exec", 0, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as broken:
        raise Refused("the text cannot be compiled: %s" % broken) from None
    functions = _functions(module, "")
    return [code for own, code in functions if code.co_firstlineno == line and _is_named(code, qualname, own)]


def _functions(scope: types.CodeType, prefix: str) -> Iterator[tuple[str, types.CodeType]]:
    """Functions that are in no function, each with its qualified name."""
    for code in _inside(scope):
        if code.co_name.startswith(_TYPE_PARAMETERS):
            yield from _functions(code, prefix)
        elif code.co_flags & _FUNCTION == _FUNCTION:
            yield prefix + code.co_name, code
        else:
            yield from _functions(code, prefix + code.co_name + ".")


def _position(code: types.CodeType, among: list[types.CodeType]) -> int:
    equal = [position for position, other in enumerate(among) if other == code]
    if len(equal) != 1:
        raise Refused("which of several functions %s on one line is meant is not clear" % code.co_name)
    return equal[0]


def _pair(old: types.CodeType, new: types.CodeType, pairs: dict[int, types.CodeType | None]) -> None:
    """Pair two codes and what is nested in them, by name and order among equals."""
    pairs[id(old)] = new
    mine, theirs = _by_name(old), _by_name(new)
    for name, codes in mine.items():
        others = theirs.get(name, [])
        if len(codes) == len(others):
            for code, other in zip(codes, others):
                _pair(code, other, pairs)


def _by_name(code: types.CodeType) -> dict[str, list[types.CodeType]]:
    found: dict[str, list[types.CodeType]] = {}
    for each in _inside(code):
        found.setdefault(each.co_name, []).append(each)
    return found


def _inside(code: types.CodeType) -> list[types.CodeType]:
    return [const for const in code.co_consts if isinstance(const, types.CodeType)]


def _with_nested(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for each in _inside(code):
        yield from _with_nested(each)


def _fitting(old: types.CodeType, new: types.CodeType | None) -> types.CodeType:
    """The new code, if a function object that was made for the old one can have it."""
    name = old.co_name
    if new is None:
        raise Refused("%s, which was made already, has no certain counterpart in the text" % name)
    if old.co_freevars != new.co_freevars:
        raise Refused("%s has other free variables: %s, not %s" % (name, _names(new), _names(old)))
    if (old.co_flags ^ new.co_flags) & _KIND:
        raise Refused("%s is another kind of function (generator, coroutine) in the text" % name)
    return new


def _names(code: types.CodeType) -> str:
    return ", ".join(code.co_freevars) or "none"


def _raising(old: types.CodeType) -> types.CodeType:
    """Code of the same kind and with the same free variables that takes any call and raises: a generator
    and a coroutine when they are first advanced."""
    define = "async def" if old.co_flags & (_COROUTINE | _ASYNC_GENERATOR) else "def"
    free = ", ".join(old.co_freevars)
    tail = "yield" if old.co_flags & (_GENERATOR | _ASYNC_GENERATOR) else ""
    body = "; ".join(part for part in ("raise %r" % _PLACEHOLDER, free, tail) if part)
    source = "def make(%s):\n %s code(*_rg_args, **_rg_named): %s\n" % (free, define, body)
    code = _inside(_inside(_compile(source, old.co_filename, "exec", 0, True))[0])[0]
    return code.replace(
        co_consts=tuple(MustDie if constant == _PLACEHOLDER else constant for constant in code.co_consts),
        co_name=old.co_name,
        co_firstlineno=old.co_firstlineno,
        co_flags=code.co_flags | old.co_flags & _ITERABLE_COROUTINE,
    )
