"""What stands in for a missing symbol: it absorbs whatever collection does, and fails a test that uses it.

Belongs here: the stand-in and its behaviour. Whose imports get one is for ``lenient``. In a
running test any use raises MissingSymbol, which is no Exception: ``pytest.raises(Exception)``
must not take it for what the product raised.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Iterator
from typing import Any, Callable, NoReturn

_getframe = sys._getframe
_MOCK_TEST = "pytest_"  # pytest asks objects for an attribute that none can have, to know mocks


class MissingSymbol(BaseException):
    """A test used a product symbol (``pkg.mod:name``) that is not there."""


class State:
    """Whether a test is running."""

    running = False


def _use(symbol: str) -> None:
    if State.running:
        raise MissingSymbol(symbol)


def _fail(symbol: str) -> NoReturn:
    raise MissingSymbol(symbol)


def for_symbol(symbol: str) -> StandIn:
    """The stand-in that a test's import is given. Raises MissingSymbol in a running test."""
    _use(symbol)
    name = symbol.rpartition(":")[2]
    # pytest makes the ids of parameters from the names of classes and functions.
    return StandIn(symbol, "" if name.isupper() else name)


class StandIn:
    """See the module. ``name`` is what a class or function in its place would be named."""

    def __init__(self, symbol: str, name: str = "") -> None:
        object.__setattr__(self, "_repro_symbol", symbol)
        object.__setattr__(self, "_repro_name", name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # isinstance(standin, ...) asks for it
        _use(object.__getattribute__(self, "_repro_symbol"))
        return StandIn

    def __getattr__(self, name: str) -> Any:
        if name == "__name__" and self._repro_name:
            return self._repro_name
        if name.startswith(("__", "_pytest", _MOCK_TEST)) or name == "pytestmark":
            raise AttributeError(name)
        _use(self._repro_symbol)
        return StandIn(self._repro_symbol)

    def __setattr__(self, name: str, value: Any) -> None:
        _use(self._repro_symbol)

    def __delattr__(self, name: str) -> None:
        _use(self._repro_symbol)

    def __repr__(self) -> str:
        return "<missing %s>" % self._repro_symbol

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """During collection another stand-in, or what it decorates, made to fail when it runs."""
        _use(self._repro_symbol)
        if len(args) == 1 and not kwargs and _decorates(args[0]):
            return _decorated(args[0], self._repro_symbol)
        return StandIn(self._repro_symbol)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        _use(self._repro_symbol)
        base = _base_for(self._repro_symbol)
        first = next(other for other in bases if isinstance(other, StandIn))
        return (base,) if first is self else ()  # the same base twice would be an error

    def __instancecheck__(self, instance: Any) -> bool:
        _use(self._repro_symbol)
        return False

    def __subclasscheck__(self, subclass: Any) -> bool:
        _use(self._repro_symbol)
        return False

    def __iter__(self) -> Iterator[Any]:
        _use(self._repro_symbol)
        return iter(_argument_sets(self))

    def __next__(self) -> NoReturn:
        _use(self._repro_symbol)
        raise StopIteration

    def __bool__(self) -> bool:
        _use(self._repro_symbol)
        return True

    def __len__(self) -> int:
        _use(self._repro_symbol)
        return 0

    def __index__(self) -> int:
        _use(self._repro_symbol)
        return 0

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __str__(self) -> str:
        _use(self._repro_symbol)
        return repr(self)

    def __format__(self, spec: str) -> str:
        return str(self)

    def __fspath__(self) -> str:
        return str(self)

    def __eq__(self, other: object) -> bool:
        _use(self._repro_symbol)
        return self is other

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(object.__getattribute__(self, "_repro_symbol"))

    def __contains__(self, item: Any) -> bool:
        _use(self._repro_symbol)
        return False

    def __exit__(self, *exc: object) -> None:
        _use(self._repro_symbol)

    def __await__(self) -> Any:
        _use(self._repro_symbol)
        return iter(())

    def __copy__(self) -> StandIn:
        return self

    def __deepcopy__(self, memo: Any) -> StandIn:
        return self


def _absorb(self: StandIn, *args: Any) -> StandIn:
    _use(self._repro_symbol)
    return StandIn(self._repro_symbol)


_BINARY = [
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "xor",
    "or",
]
for _name in [
    *_BINARY,
    *("r" + name for name in _BINARY),
    *[
        "neg",
        "pos",
        "abs",
        "invert",
        "lt",
        "le",
        "gt",
        "ge",
        "getitem",
        "setitem",
        "delitem",
        "enter",
        "aenter",
        "aexit",
        "aiter",
        "anext",
        "round",
    ],
]:
    setattr(StandIn, "__%s__" % _name, _absorb)


def _decorates(value: Any) -> bool:
    """Whether ``value`` is a function or class that is just being defined, and so not bound to its name yet."""
    if not isinstance(value, (types.FunctionType, type)):
        return False
    caller = _getframe(2)
    return caller.f_locals.get(value.__name__) is not value


def _decorated(value: Any, symbol: str) -> Any:
    """Keeps its name and signature, so that it is collected; its use fails."""
    if isinstance(value, type):
        for name, member in list(vars(value).items()):
            if name.startswith("test") and isinstance(member, types.FunctionType):
                setattr(value, name, _failing(member, symbol))
        if not value.__name__.startswith("Test"):
            _fail_when_made(value, symbol)
        return value
    return _failing(value, symbol)


def _failing(function: Callable[..., Any], symbol: str) -> Callable[..., Any]:
    @functools.wraps(function)
    def missing(*args: Any, **kwargs: Any) -> Any:
        _use(symbol)
        return StandIn(symbol)

    return missing


def _fail_when_made(cls: type, symbol: str) -> None:
    def new(kind: type, *args: Any, **kwargs: Any) -> Any:
        _use(symbol)
        return object.__new__(kind)

    try:
        cls.__new__ = new  # type: ignore[assignment]
    except (AttributeError, TypeError):
        return


@functools.cache
def _base_for(symbol: str) -> type:
    """A base class in place of a missing one. A test class keeps being collectable: no ``__init__``, no ``__new__``."""

    class MissingBase:
        def __init_subclass__(cls, **kwargs: Any) -> None:
            super().__init_subclass__()
            if not cls.__name__.startswith("Test"):
                _fail_when_made(cls, symbol)

        def __getattr__(self, name: str) -> Any:
            if name.startswith(("__", "_pytest", _MOCK_TEST)) or not State.running:
                raise AttributeError(name)
            _fail(symbol)

    return MissingBase


def _argument_sets(value: StandIn) -> list[Any]:
    """What iterating yields: nothing, but one set of arguments where pytest asks for those of a test."""
    frame: types.FrameType | None = _getframe(2)
    if frame is None or not frame.f_code.co_filename.endswith(("/_pytest/mark/structures.py",)):
        return []
    symbol = value._repro_symbol
    while frame is not None and frame.f_code.co_filename.endswith("/_pytest/mark/structures.py"):
        names = frame.f_locals.get("argnames")
        if names is not None:
            count = len(names.split(",")) if isinstance(names, str) else len(names)
            return [StandIn(symbol) if count == 1 else tuple(StandIn(symbol) for _ in range(count))]
        frame = frame.f_back
    return []
