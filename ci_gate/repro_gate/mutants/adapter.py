"""mutmut's operators, node by node: the only file that knows mutmut.

Belongs here: which of its functions we take, and what we call what they make. Does not belong here: which nodes are
visited (its own rules skip decorated functions, nested classes and module level, and its visitor reads the project's
configuration; neither is used), what is arid, and operators of our own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from encodings import normalize_encoding
from encodings.aliases import aliases
from types import MappingProxyType

import libcst as cst

# Every operator of mutmut 3.8, by the name of its function. One more or fewer fails the contract test.
NAMES: Mapping[str, str] = MappingProxyType(
    {
        "operator_number": "constant",
        "operator_string": "string",
        "operator_name": "constant",
        "operator_assignment": "assignment",
        "operator_augmented_assignment": "assignment",
        "operator_remove_unary_ops": "arithmetic",
        "operator_dict_arguments": "argument",
        "operator_arg_removal": "argument",
        "operator_symmetric_string_methods_swap": "method",
        "operator_unsymmetrical_string_methods_swap": "method",
        "operator_lambda": "return",
        "operator_keywords": "relational",
        "operator_swap_op": "arithmetic",
        "operator_match": "case",
        "operator_if_exp": "condition",
    }
)
_ORDERING = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)
# Names of encodings of text, as Python has them: in other letters they mean the same, so only a misspelt one is a
# mutant. Without its aliases that are plain words ("greek", "us"), which mostly mean something else, and without what
# encodes bytes.
_ENCODINGS = frozenset(
    name
    for alias, codec in aliases.items()
    if not codec.endswith("_codec") and codec != "rot_13"
    for name in (alias, codec)
    if len(name) > 3 and not name.isalpha()
) | {"ascii", "gbk", "idna", "koi8_t", "koi8_u", "punycode", "raw_unicode_escape", "unicode_escape", "utf_8_sig"}


def changes(node: cst.CSTNode) -> Iterator[tuple[str, cst.CSTNode]]:
    """Our name for an operator, and the node that it makes of this one."""
    for kind, name, operator in _table():
        if isinstance(node, kind):
            for mutated in _made(operator, node):
                if not _is_other_case(node, mutated):
                    yield _called(name, node, mutated), _ended(node, mutated)


@functools.cache
def _table() -> tuple[tuple[type, str, Callable[[cst.CSTNode], Iterable[cst.CSTNode]]], ...]:
    # Imported late: it takes as long as the rest of the gate. Its table needs no configuration and reads no file.
    from mutmut.mutation.mutators import mutation_operators

    return tuple((kind, operator.__name__, operator) for kind, operator in mutation_operators)


def _made(operator: Callable[[cst.CSTNode], Iterable[cst.CSTNode]], node: cst.CSTNode) -> list[cst.CSTNode]:
    """What an operator makes.

    Some text is only valid without white space (`if(x)else`), and some numbers have no repr.
    """
    found: list[cst.CSTNode] = []
    try:
        found.extend(operator(node))
    except (cst.CSTValidationError, ValueError, OverflowError):
        pass
    return found


def _ended(node: cst.CSTNode, mutated: cst.CSTNode) -> cst.CSTNode:
    """A statement with the semicolon of the one that it replaces: `break; x` -> `return; x`."""
    if isinstance(node, cst.BaseSmallStatement) and isinstance(node.semicolon, cst.Semicolon):
        return mutated.with_changes(semicolon=node.semicolon)
    return mutated


def _called(name: str, node: cst.CSTNode, mutated: cst.CSTNode) -> str:
    """The name of a kind of mutant, where the operator alone does not say it."""
    match node:
        case cst.ComparisonTarget():
            return "boundary" if isinstance(node.operator, _ORDERING) else "relational"
        case cst.BooleanOperation():
            return "boolean"
        case cst.UnaryOperation() if isinstance(node.operator, cst.Not) and mutated is node.expression:
            return "condition"
        case cst.Break() | cst.Continue():
            return "loop"
        case cst.Name() if node.value not in ("True", "False"):
            return "method"
        case _:
            return NAMES[name]


def _is_other_case(node: cst.CSTNode, mutated: cst.CSTNode) -> bool:
    if not (isinstance(node, cst.SimpleString) and isinstance(mutated, cst.SimpleString)):
        return False
    name = node.raw_value.lower()
    return name == mutated.raw_value.lower() and normalize_encoding(name) in _ENCODINGS
