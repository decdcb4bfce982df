"""A mutant of a changed line, and what testing it came to."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Site(enum.StrEnum):
    """When a mutant's code runs: in calls (its code object can be exchanged in a fork), or while the module is imported."""

    CALL = "call"
    IMPORT = "import"


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """One small change of one file. ``line`` to ``end_line`` is the span of what is replaced, from 1, as of head.

    ``id`` is made of file, ``qualname`` (``Outer.method``, empty at module level), ``original``, ``mutated`` and
    ``nth`` (its number among equal ones in that function): it stays when lines move. ``text`` is the whole file, mutated;
    ``first_line`` the line at which the outermost function that holds it begins in head's file (its
    ``co_firstlineno``, so decorators count), 0 where ``site`` is IMPORT. ``hint`` says what input tells it from the original.
    """

    id: str
    file: str
    line: int
    end_line: int
    operator: str
    qualname: str
    original: str
    mutated: str
    nth: int
    site: Site
    text: str
    first_line: int = 0
    hint: str = ""


class MutantOutcome(enum.StrEnum):
    """What testing a mutant came to. Only KILLED, SURVIVED and TIMEOUT are measurements."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMEOUT = "timeout"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, kw_only=True, slots=True)
class MutantResult:
    """What became of one mutant. ``killed_by`` are tests that passed without it and failed with it, twice.

    ``by_new_test``: only tests of this change kill it. ``confirmed``: seen on disk in a fresh process. ``tests`` is
    how many tests ran against it, ``why`` a sentence where the outcome needs one.
    """

    mutant: Mutant
    outcome: MutantOutcome
    killed_by: tuple[str, ...] = ()
    by_new_test: bool = False
    confirmed: bool = False
    tests: int = 0
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiver:
    """A mutant, or all on some lines of a file, that a person let live, with the reason. ``expires`` is an ISO date or empty."""

    file: str
    reason: str
    mutant: str = ""
    lines: frozenset[int] = frozenset()
    expires: str = ""
    new: bool = False
