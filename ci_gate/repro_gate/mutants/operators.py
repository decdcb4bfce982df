"""What mutmut lacks and what pays: deleted statements, results, negated conditions, swallowed exceptions, decorators.

Belongs here: our own operators, as text for a node. Does not belong here: mutmut's (adapter), arid code, what
compiles (generate), names and worth (worth).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import libcst as cst

from repro_gate.mutants import advice, arid

# Without these a definition is nonsense (its callers no longer fit) or the same when it runs.
KEPT_DECORATORS = frozenset(
    {
        "property", "cached_property", "staticmethod", "classmethod", "setter", "getter", "deleter", "overload",
        "final", "override", "no_type_check", "runtime_checkable", "dataclass_transform", "type_check_only",
    }
)  # fmt: skip
_TRUTHS = frozenset(
    {"isinstance", "issubclass", "any", "all", "bool", "callable", "hasattr", "startswith", "endswith", "is_dir"}
    | {"is_file", "exists", "isdigit", "isalpha", "isidentifier", "isspace", "issubset", "issuperset", "isdisjoint"}
)
_SENTENCES = {cst.Assert: advice.asserted_opposite, cst.CompIf: advice.kept_opposite}
_INVERTIBLE = (cst.Equal, cst.NotEqual, cst.Is, cst.IsNot, cst.In, cst.NotIn)


@dataclass(frozen=True, slots=True)
class Change:
    """A node's text replaced; ``back``: also the text from the last occurrence of this one before the node."""

    operator: str
    node: cst.CSTNode
    text: str
    hint: str = ""
    back: str = ""


@dataclass(frozen=True, slots=True)
class Around:
    """Where a node is: the function's name, and whether an exception handler of it is the nearest block of its kind."""

    function: str
    handling: bool
    code: Callable[[cst.CSTNode], str]


def changes(node: cst.CSTNode, around: Around) -> Iterator[Change]:
    """Our own operators on one node."""
    match node:
        case cst.Expr(value=cst.Call() | cst.Await() | cst.Yield()) | cst.AugAssign() | cst.Del():
            yield Change("statement", node, _instead(node), advice.deleted(shown(around.code(node))))
        case cst.Raise() if around.handling:
            yield Change("exception", node, _instead(node), advice.swallowed())
        case cst.Raise():
            yield Change("statement", node, _instead(node), advice.not_raised())
        case cst.Return(value=cst.BaseExpression() as value):
            yield from _result(node, value, around)
        case cst.If() | cst.While() | cst.IfExp() | cst.CompIf() | cst.Assert():
            yield from _condition(node, node.test, around)
        case cst.Decorator() if _name(node) not in KEPT_DECORATORS and not _name(node).startswith("abstract"):
            yield Change("decorator", node.decorator, "", back="@")


def shown(text: str) -> str:
    """Code on one line, as ids, waivers and sentences have it."""
    return " ".join(text.split()).rstrip(";, ")


def _instead(node: cst.CSTNode) -> str:
    """``pass``, with the semicolon of the statement."""
    semicolon = getattr(node, "semicolon", None)
    return "pass; " if isinstance(semicolon, cst.Semicolon) else "pass"


def _result(node: cst.Return, value: cst.BaseExpression, around: Around) -> Iterator[Change]:
    end = "; " if isinstance(node.semicolon, cst.Semicolon) else ""
    if _is_truth(value):
        if not _is_negated(value):  # mutmut takes the `not` away
            text = f"return not ({around.code(value)}){end}"
            yield Change("return", node, text, advice.returned_opposite(around.function))
    elif not (isinstance(value, cst.Name) and value.value == "None"):
        yield Change("return", node, f"return None{end}", advice.returned_nothing(around.function))


def _condition(node: cst.CSTNode, test: cst.BaseExpression, around: Around) -> Iterator[Change]:
    """``not (test)``, unless another operator makes the same of it."""
    if _is_negated(test) or _is_invertible(test):
        return
    code = around.code(test)
    yield Change("condition", test, f"not ({code})", _SENTENCES.get(type(node), advice.negated)(shown(code)))


def _is_truth(value: cst.BaseExpression) -> bool:
    match value:
        case cst.Comparison() | cst.UnaryOperation(operator=cst.Not()):
            return True
        case cst.Name(value="True" | "False"):
            return True
        case cst.BooleanOperation(left=left, right=right):
            return _is_truth(left) and _is_truth(right)
        case cst.Call(func=function):
            return arid.last_name(function) in _TRUTHS
        case _:
            return False


def _is_invertible(value: cst.BaseExpression) -> bool:
    """Whether exchanging its operator negates a comparison."""
    if not isinstance(value, cst.Comparison) or len(value.comparisons) != 1:
        return False
    return isinstance(value.comparisons[0].operator, _INVERTIBLE)


def _is_negated(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Not)


def _name(node: cst.Decorator) -> str:
    decorator = node.decorator
    return arid.last_name(decorator.func if isinstance(decorator, cst.Call) else decorator)
