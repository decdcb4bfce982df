"""Arid code: what no test is expected to pin, and what does not run. It is never mutated.

Belongs here: judging a node by its own shape, and why. Does not belong here: lines (generate), operators.
`print`, `__str__`, `__slots__`, default values and `assert` are behaviour and are mutated; docs/mutants.md says what is
not.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import TypeGuard

import libcst as cst

from repro_gate.mutants.reasons import Reason

Part = tuple[cst.CSTNode, Reason]
_LOGGER = re.compile(r"_*(?:[a-z]+_)?(?:log|logger|logging)", re.IGNORECASE)
_LEVELS = frozenset({"debug", "info", "warning", "warn", "error", "exception", "critical", "fatal", "log"})
_DECLARED = frozenset({"TypeVar", "ParamSpec", "TypeVarTuple", "NewType", "TypeAliasType"})
_GETTERS = frozenset({"getLogger", "get_logger"})
_ABOUT = (
    "authors?|author_email|build|commit_id|contact|contributors|copyright|credits|date|description|docformat|email|homepage"
    "|licen[cs]e|maintainers?|maintainer_email|release|release_?date|revision|status|summary|title|uri|url|version"
    "|version_?(info|tuple)|website"
)
_SAYS = re.compile(f"__({_ABOUT})__")
_ALSO = re.compile(f"_*({_ABOUT})_*")  # what generated files say twice: `__version__ = version = "1.2"`
_TYPING = frozenset({"typing", "t", "typing_extensions"})
# With another number of arguments, or None among them, these only raise TypeError.
_TRIVIAL = frozenset({"len", "isinstance", "issubclass", "cast", "super"})


def parts(node: cst.CSTNode) -> Iterator[Part]:
    """The nodes that are arid because of this one: itself, or some of what it holds."""
    match node:
        case cst.Import() | cst.ImportFrom():
            yield node, Reason.IMPORT
        case cst.Annotation() | cst.TypeParameters():
            yield node, Reason.ANNOTATION
        case cst.Expr():
            yield from _statement(node)
        case cst.Assign() | cst.AnnAssign() | cst.AugAssign():
            yield from _assignment(node)
        case cst.If():
            yield from _block(node)
        case cst.FunctionDef():
            yield from _function(node)
        case cst.Raise(exc=cst.BaseExpression() as exception):
            yield from _raised(node, exception)
        case cst.Assert(msg=cst.BaseExpression() as message):
            yield message, Reason.MESSAGE
        case cst.Call() if last_name(node.func) in _GETTERS:
            yield from ((arg, Reason.LOGGING) for arg in node.args)
        case cst.Call() if _is_of(node.func, "cast", _TYPING) and len(node.args) == 2:
            yield node.args[0], Reason.TYPE
        case _ if type(node).__name__ == "TypeAlias":
            yield node, Reason.TYPE


def keeps_arguments(node: cst.CSTNode) -> cst.Call | None:
    """The call whose arguments are neither dropped nor exchanged:
    of an exception with a message, ``len``, ``getLogger``.
    """
    if isinstance(node, cst.Raise) and isinstance(node.exc, cst.Call):
        return node.exc if any(_is_message(arg.value) for arg in node.exc.args) else None
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in _TRIVIAL:
        return node
    if isinstance(node, cst.Call) and last_name(node.func) in _GETTERS:
        return node
    return None


def last_name(node: cst.CSTNode) -> str:
    """``d`` of ``a.b.d``, ``d`` of ``d``, else nothing."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def is_text(node: cst.CSTNode) -> TypeGuard[cst.BaseString]:
    """Whether a node is a string literal of any kind."""
    return isinstance(node, cst.BaseString)


def decorators(node: cst.FunctionDef | cst.ClassDef) -> set[str]:
    """The last names of a definition's decorators, called or not."""
    found = (each.decorator for each in node.decorators)
    return {last_name(each.func if isinstance(each, cst.Call) else each) for each in found}


def _statement(node: cst.Expr) -> Iterator[Part]:
    value = node.value
    if is_text(value):
        yield node, Reason.BLANK
    elif isinstance(value, cst.Ellipsis):
        yield node, Reason.PLACEHOLDER
    elif isinstance(value, cst.Call):
        if _logs(value.func):
            yield node, Reason.LOGGING
        elif _is_of(value.func, "warn", ("warnings",)):
            yield node, Reason.WARNING
        elif _is_of(value.func, "assert_never", _TYPING):
            yield node, Reason.UNREACHABLE


def _raised(node: cst.Raise, exception: cst.BaseExpression) -> Iterator[Part]:
    call = exception if isinstance(exception, cst.Call) else None
    if last_name(call.func if call else exception) == "NotImplementedError":
        yield node, Reason.ABSTRACT
    elif call:
        yield from ((arg, Reason.MESSAGE) for arg in call.args if _is_message(arg.value))


def _is_of(function: cst.CSTNode, name: str, modules: Collection[str]) -> bool:
    """Whether a function is called ``name``, alone or as an attribute of one of these modules."""
    if isinstance(function, cst.Attribute):
        return function.attr.value == name and last_name(function.value) in modules
    return isinstance(function, cst.Name) and function.value == name


def _logs(function: cst.CSTNode) -> bool:
    """``log.info``, ``self._logger.debug``, ``logging.getLogger(__name__).error``."""
    if not isinstance(function, cst.Attribute) or function.attr.value not in _LEVELS:
        return False
    receiver = function.value
    if isinstance(receiver, cst.Call):
        return last_name(receiver.func) in _GETTERS
    return _LOGGER.fullmatch(last_name(receiver)) is not None


def _assignment(node: cst.Assign | cst.AnnAssign | cst.AugAssign) -> Iterator[Part]:
    targets = [each.target for each in node.targets] if isinstance(node, cst.Assign) else [node.target]
    names = {each.value for each in targets if isinstance(each, cst.Name)}
    if "__all__" in names:
        yield node, Reason.EXPORTS
    elif any(map(_SAYS.fullmatch, names)) and all(map(_ALSO.fullmatch, names)):
        yield node, Reason.SAYING
    elif _declares_type(node):
        yield node, Reason.TYPE


def _declares_type(node: cst.Assign | cst.AnnAssign | cst.AugAssign) -> bool:
    if isinstance(node, cst.AnnAssign) and last_name(node.annotation.annotation) == "TypeAlias":
        return True
    return isinstance(node.value, cst.Call) and last_name(node.value.func) in _DECLARED


def _block(node: cst.If) -> Iterator[Part]:
    """A block that does not run, or not under test; its ``else`` does."""
    if last_name(node.test) == "TYPE_CHECKING":
        yield node.test, Reason.TYPE_CHECKING
        yield node.body, Reason.TYPE_CHECKING
    elif _asks_for_main(node.test):
        yield node.test, Reason.MAIN
        yield node.body, Reason.MAIN


def _asks_for_main(test: cst.BaseExpression) -> bool:
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1:
        return False
    sides = (test.left, test.comparisons[0].comparator)
    names = any(isinstance(side, cst.Name) and side.value == "__name__" for side in sides)
    return names and any(isinstance(side, cst.SimpleString) and side.raw_value == "__main__" for side in sides)


def _function(node: cst.FunctionDef) -> Iterator[Part]:
    marks = decorators(node)
    if "overload" in marks:
        yield node, Reason.OVERLOAD
    elif any(mark.startswith("abstract") for mark in marks):
        yield node, Reason.ABSTRACT
    elif node.name.value == "__repr__":
        yield node, Reason.REPR


def _is_message(node: cst.BaseExpression) -> bool:
    """A literal, also joined, filled by ``%`` or ``+``, or by a method: ``"{}".format(x)``, ``" ".join(y)``."""
    match node:
        case cst.BinaryOperation(left=left, right=right, operator=cst.Add() | cst.Modulo()):
            return _is_message(left) or _is_message(right)
        case cst.Call(func=cst.Attribute(value=value)):
            return _is_message(value)
        case _:
            return is_text(node)
