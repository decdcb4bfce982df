"""Why something could not be collected, and which modules and symbols it names that are not there.

Belongs here: reading exceptions of imports. Whether what is missing ought to be there is for the
gate to judge.
"""

from __future__ import annotations

import re
import types
from typing import Any

from repro_gate_pytest import failure

_CANNOT_IMPORT = re.compile(r"cannot import name '([^']+)' from (?:partially initialized module )?'([^']+)'")
_NO_ATTRIBUTE = re.compile(r"module '([^']+)' has no attribute '([^']+)'")
_NO_MEMBER = re.compile(r"type object '([^']+)' has no attribute '([^']+)'")
_NOT_DEFINED = re.compile(r"name '([^']+)' is not defined")
_MOST = 10


def describe(exc: BaseException, zones: failure.Zones) -> dict[str, Any]:
    """The failure behind a collection error, in the wire's shape, and what it names as missing."""
    cause = decisive(exc)
    modules, symbols = missing(cause)
    found: dict[str, Any] = {"f": failure.describe(cause, "collect", zones)}
    if modules:
        found["modules"] = modules
    if symbols:
        found["symbols"] = symbols
    return found


def node_of(exc: BaseException) -> str:
    """The file that pytest says it could not load, or an empty string."""
    return str(getattr(exc, "path", "") or "")


def missing(exc: BaseException) -> tuple[list[str], list[str]]:
    """Modules, and symbols as ``module:name``, that an exception and its causes name as missing."""
    modules: list[str] = []
    symbols: list[str] = []
    current: BaseException | None = exc
    for _ in range(_MOST):
        if current is None:
            break
        _names(current, modules, symbols)
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return modules, symbols


def decisive(exc: BaseException) -> BaseException:
    """The project's own exception below those that pytest wraps it in."""
    for _ in range(_MOST):
        info = getattr(exc, "excinfo", None)  # ConftestImportFailure of pytest 7
        inner = getattr(exc, "cause", None) or (info[1] if isinstance(info, tuple) and len(info) == 3 else None)
        if type(exc).__name__ == "CollectError":
            inner = exc.__cause__
        if not isinstance(inner, BaseException):
            return exc
        exc = inner
    return exc


def _names(exc: BaseException, modules: list[str], symbols: list[str]) -> None:
    text = failure.text_of(exc)
    if isinstance(exc, ModuleNotFoundError):
        if exc.name:
            _add(modules, exc.name)
    elif isinstance(exc, ImportError):
        match = _CANNOT_IMPORT.search(text)
        if match:
            _add(symbols, "%s:%s" % (match.group(2), match.group(1)))
    elif isinstance(exc, AttributeError):
        _add_attribute(exc, text, symbols)
    elif isinstance(exc, NameError):
        match = _NOT_DEFINED.search(text)
        if match:
            _add(symbols, ":%s" % match.group(1))


def _add_attribute(exc: AttributeError, text: str, symbols: list[str]) -> None:
    owner, name = getattr(exc, "obj", None), getattr(exc, "name", None)  # since Python 3.10
    match, member = _NO_ATTRIBUTE.search(text), _NO_MEMBER.search(text)
    if type(owner) is types.ModuleType and name:
        _add(symbols, "%s:%s" % (owner.__name__, name))
    elif isinstance(owner, type) and name:
        _add(symbols, "%s:%s.%s" % (owner.__module__, owner.__qualname__, name))
    elif match:
        _add(symbols, "%s:%s" % match.groups())
    elif member:
        _add(symbols, ":%s.%s" % member.groups())


def _add(names: list[str], name: str) -> None:
    if name not in names:
        names.append(name)
