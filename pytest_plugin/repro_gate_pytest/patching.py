"""Replace functions of the interpreter in place, so that every reference to them follows.

Belongs here: the mechanism. What is replaced by what belongs to the axes. ``from time import
time`` made before us, a builtin stored as a class attribute, and ``time.time is time.time`` all
keep working, since the function object itself stays and only its C method table is exchanged:
its new C function is ``PyObject_Call`` and its new ``self`` the replacement. Whatever is replaced
keeps its name, module, words and signature. Where the layout
is not the expected one (another interpreter, no ctypes) the attribute is replaced instead.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from typing import Any, Callable

try:
    import ctypes
except ImportError:  # a Python built without libffi
    ctypes = None  # type: ignore[assignment]

_KNOWN_LAYOUT = bool(ctypes) and sys.implementation.name == "cpython"

_METH_VARARGS_KEYWORDS = 0x0001 | 0x0002
# Sets of the standard library that hold builtins.
_holders = [os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks, os.supports_effective_ids]
_kept: list[Any] = []  # what C now points to must never be freed
_undo: dict[tuple[int, str], Callable[[], None]] = {}  # by the owner and the name of what was replaced first


class Replacement(types.ModuleType):
    """A callable that takes a builtin's place.

    It is a module object so that pickle still saves the builtin by name, and it does not bind
    when it is stored as a class attribute.
    """

    def __init__(self, original: Any, call: Callable[..., Any]) -> None:
        super().__init__(original.__module__ or "builtins", original.__doc__)
        self.original = original
        self.call = call
        self.__wrapped__ = original

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do what the replacement does."""
        return self.call(*args, **kwargs)


def replace_function(module: types.ModuleType, name: str, make: Callable[[Any], Callable[..., Any]]) -> bool:
    """Replace builtin ``module.name`` by ``make(original)``; True if it was done in place.

    ``make`` is given a function that still does what the builtin did.
    """
    builtin = getattr(module, name)
    _undo.setdefault((id(module), name), _undoing(module, name, builtin))
    if not isinstance(builtin, types.BuiltinFunctionType):
        setattr(module, name, functools.wraps(builtin)(make(builtin)))
        return False
    original = _copy(builtin)
    if original is None:
        setattr(module, name, Replacement(builtin, make(builtin)))
        return False
    _redirect(builtin, Replacement(original, make(original)))
    for known in _holders:  # its hash is another one now
        members = list(known)
        known.clear()
        known.update(members)
    return True


def restore(owner: Any, name: str) -> None:
    """Let what was replaced be what it was, for who keeps the C function itself and calls it as such."""
    undo = _undo.get((id(owner), name))
    if undo is not None:
        undo()


def _undoing(owner: types.ModuleType, name: str, builtin: Any) -> Callable[[], None]:
    fields = _fields(builtin) if isinstance(builtin, types.BuiltinFunctionType) else None
    if fields is None:
        return lambda: setattr(owner, name, builtin)
    table, itself, vectorcall = ctypes.cast(fields.ml, ctypes.c_void_p).value, fields.self, fields.vectorcall

    def undo() -> None:
        fields.ml = ctypes.cast(table, ctypes.POINTER(_MethodDef))  # type: ignore[arg-type]
        fields.self, fields.vectorcall = itself, vectorcall

    return undo


def replace_classmethod(cls: type, name: str, make: Callable[[Any], Callable[..., Any]]) -> bool:
    """Replace the C class method ``cls.name`` by ``make(descriptor)``, called with the class.

    Returns False, having changed nothing, where the type cannot be changed.
    """
    if not _KNOWN_LAYOUT:
        return False
    import gc

    found = gc.get_referents(cls.__dict__)
    if not found or not isinstance(found[0], dict) or name not in found[0]:
        return False
    namespace = found[0]
    builtin = namespace[name]
    replacement = functools.wraps(builtin)(make(builtin))
    replacement.__module__ = getattr(getattr(cls, name), "__module__", None)  # type: ignore[assignment]
    namespace[name] = classmethod(replacement)

    def undo() -> None:
        namespace[name] = builtin
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))

    _undo.setdefault((id(cls), name), undo)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(cls))
    return True


if _KNOWN_LAYOUT:

    class _MethodDef(ctypes.Structure):
        _fields_ = [
            ("name", ctypes.c_char_p),
            ("meth", ctypes.c_void_p),
            ("flags", ctypes.c_int),
            ("doc", ctypes.c_char_p),
        ]

    class _Function(ctypes.Structure):
        """PyCFunctionObject after its object header."""

        _fields_ = [
            ("ml", ctypes.POINTER(_MethodDef)),
            ("self", ctypes.c_void_p),
            ("module", ctypes.c_void_p),
            ("weakrefs", ctypes.c_void_p),
            ("vectorcall", ctypes.c_void_p),
        ]


def _fields(builtin: Any) -> Any:
    """The C fields of a builtin function, or None where they do not look as expected."""
    if not _KNOWN_LAYOUT:
        return None
    fields = _Function.from_address(id(builtin) + object.__basicsize__)
    if fields.self != id(builtin.__self__) or not fields.ml:
        return None
    if fields.ml.contents.name != builtin.__name__.encode():
        return None
    return fields


def _copy(builtin: Any) -> Any:
    """A second function object for the same C function, or None."""
    fields = _fields(builtin)
    if fields is None:
        return None
    new = ctypes.pythonapi.PyCFunction_NewEx
    new.restype = ctypes.py_object
    new.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.py_object]
    table = _MethodDef.from_buffer_copy(fields.ml.contents)
    _kept.append(table)
    return new(ctypes.addressof(table), builtin.__self__, builtin.__module__)


def _redirect(builtin: Any, target: Replacement) -> None:
    fields = _fields(builtin)
    table = _MethodDef.from_buffer_copy(fields.ml.contents)
    table.meth = ctypes.cast(ctypes.pythonapi.PyObject_Call, ctypes.c_void_p).value
    table.flags = _METH_VARARGS_KEYWORDS
    _kept.extend((builtin, table, target, builtin.__self__))
    fields.vectorcall = None
    fields.ml = ctypes.pointer(table)
    fields.self = id(target)
