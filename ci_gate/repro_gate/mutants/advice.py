"""What input tells a mutant from the original: one sentence, and only where it is true.

Belongs here: sentences. Does not belong here: finding mutants, or judging whether one matters. Where nothing is
certain there is no hint.
"""

from __future__ import annotations


def at_boundary(left: str, right: str) -> str:
    """``<`` and ``<=`` differ where both sides are equal, and nowhere else; what is done with that may be the same."""
    return f"only a value where `{left} == {right}` can tell them apart"


def returned_nothing(function: str) -> str:
    """The result is None instead."""
    return f"a check of what `{function}` returns here, where that is not None, would tell them apart"


def returned_opposite(function: str) -> str:
    """The result is true where it was false."""
    return f"a check of whether what `{function}` returns here is true would tell them apart"


def negated(condition: str) -> str:
    """A branch is taken where it was not."""
    return f"each run takes the other branch: a check of what depends on `{condition}` would tell them apart"


def kept_opposite(condition: str) -> str:
    """A comprehension keeps what it left out."""
    return f"a check of what is kept by `{condition}` would tell them apart"


def asserted_opposite(condition: str) -> str:
    """An assertion that holds fails."""
    return f"any run in which `{condition}` holds would tell them apart: it now raises AssertionError"


def deleted(statement: str) -> str:
    """A statement is gone."""
    return f"a check of what `{statement}` brings about would tell them apart"


def not_raised() -> str:
    """An exception is not raised."""
    return "a test that gets here and expects this exception would tell them apart"


def swallowed() -> str:
    """A handler no longer raises."""
    return "a test that gets into this handler and expects what it raises would tell them apart"
