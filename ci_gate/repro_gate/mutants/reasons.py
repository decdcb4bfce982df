"""Why a changed line has no mutant.

Belongs here: the words. Does not belong here: finding out which applies (arid, generate).
"""

from __future__ import annotations

import enum


class Reason(enum.StrEnum):
    """Why nothing of a line is mutated. A file that cannot be read has a sentence instead."""

    BLANK = "docstring or comment"
    IMPORT = "import"
    PRAGMA = "pragma"
    NO_OPERATOR = "no operator"
    PART = "no operator: the statement has mutants on its other lines"
    SAME = "no operator: every change compiles to the same code, to none, or to that of another mutant"
    ABSENT = "not a line of the file"
    TYPE_CHECKING = "type checking"
    ANNOTATION = "type checking: annotation"
    TYPE = "type checking: declaration or cast"
    OVERLOAD = "type checking: overload"
    LOGGING = "arid: logging"
    WARNING = "arid: warning"
    REPR = "arid: __repr__"
    MESSAGE = "arid: message of an exception"
    MAIN = "arid: main block"
    UNREACHABLE = "arid: assert_never"
    ABSTRACT = "arid: abstract"
    PLACEHOLDER = "arid: placeholder"
    EXPORTS = "arid: __all__"
