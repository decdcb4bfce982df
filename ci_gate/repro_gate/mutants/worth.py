"""The operators by name, and which of their mutants a reviewer acts on first.

Belongs here: names, what each does, their order. Does not belong here: doing it (adapter, operators).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# In the order of their worth under a budget: what reviewers act on first.
OPERATORS: Mapping[str, str] = MappingProxyType(
    {
        "relational": "`==` and `!=`, `is` and `is not`, `in` and `not in`, each for the other",
        "boolean": "`and` for `or`, `or` for `and`",
        "return": "`return x` returns None, or `not x` where x is a comparison or another truth value; a lambda returns None",
        "condition": "the condition of `if`, `while`, `assert`, a ternary or a comprehension negated; a ternary forced to one side",
        "boundary": "`<` and `<=`, `>` and `>=`, each for the other",
        "statement": "an expression statement, an augmented assignment, `del` or `raise` does nothing",
        "exception": "a `raise` in an exception handler does nothing: the exception is swallowed",
        "constant": "a number plus one, True for False, False for True",
        "arithmetic": "`+` for `-`, `*` for `/`, `//` for `/`, `&` for `|` and the like; `~` dropped",
        "assignment": "None assigned instead; `+=` becomes `=`",
        "loop": "`break` becomes `return`, `continue` becomes `break`",
        "case": "one `case` of a `match` removed",
        "decorator": "a decorator removed",
        "method": "a method of strings for its counterpart (`lower` and `upper`, `find` and `rfind`); `deepcopy` becomes `copy`",
        "argument": "an argument of a call removed, or None instead",
        "string": "a string with other content or in other letters",
    }
)
_RANKS = {name: at for at, name in enumerate(OPERATORS)}


def rank(operator: str) -> int:
    """An operator's place in the order, from 0. Raises KeyError for one that there is not."""
    return _RANKS[operator]


def reference() -> str:
    """The operators as a table in Markdown."""
    rows = [f"| `{name}` | {what} |" for name, what in OPERATORS.items()]
    return "\n".join(["| operator | what it does |", "|---|---|", *rows]) + "\n"
