"""Why a changed line has no mutant.

Belongs here: the words. Does not belong here: finding out which applies (arid, generate).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType


class Reason(enum.StrEnum):
    """Why nothing of a line is mutated. A file that cannot be read has a sentence instead."""

    BLANK = "docstring or comment"
    IMPORT = "import"
    PRAGMA = "pragma"
    PRAGMA_NEARBY = "pragma on another line of what would be mutated"
    NO_OPERATOR = "no operator"
    PART = "no operator: the statement has mutants on its other lines"
    SAME = "no operator: every change compiles to the same code, to none, or to that of another mutant"
    TOO_MANY = "no operator: too many mutants for so long a piece of code, and those of other lines came first"
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
    SAYING = "arid: what a module says of itself"


MEANING: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.BLANK: "nothing that runs: also strings that stand alone",
        Reason.IMPORT: "without an import nothing works, and every test says so",
        Reason.PRAGMA: "`# pragma: no mutate -- reason`",
        Reason.PRAGMA_NEARBY: "a mutant of several lines is waived by a comment on any of them",
        Reason.NO_OPERATOR: "no operator applies: `pass`, `with`, the line of a `def`, …",
        Reason.PART: "a line of a longer statement",
        Reason.SAME: "what operators make of it is no valid Python, or the same code as before or as another mutant",
        Reason.TOO_MANY: "a function or statement of thousands of lines: the best mutant of each line first, as many as can be compiled",
        Reason.ABSENT: "the file is shorter",
        Reason.TYPE_CHECKING: "`if TYPE_CHECKING:` does not run; its `else` is mutated",
        Reason.ANNOTATION: "a type checker judges annotations",
        Reason.TYPE: "`TypeVar` and its like, `TypeAlias`, `type X = …`, the type given to `cast`",
        Reason.OVERLOAD: "`@overload` functions are never called",
        Reason.LOGGING: "calls of `debug` to `critical` on what is called `log`, `logger`, `logging` or `getLogger()`, and a logger's name",
        Reason.WARNING: "`warnings.warn(…)`",
        Reason.REPR: "what `__repr__` shows is for people",
        Reason.MESSAGE: "the text of a raised exception or of an assertion, and what fills it in; other arguments are mutated",
        Reason.MAIN: "`if __name__ == '__main__':` does not run under test",
        Reason.UNREACHABLE: "`assert_never(…)` is not reached",
        Reason.ABSTRACT: "methods marked `abstract…`, and `raise NotImplementedError`",
        Reason.PLACEHOLDER: "`...`",
        Reason.EXPORTS: "what `import *` takes is rarely meant by a test; a missing name shows elsewhere",
        Reason.SAYING: "`__version__`, `__author__` and the like: no test is to pin a version",
    }
)


def reference() -> str:
    """The reasons as a table in Markdown."""
    rows = [f"| {reason} | {meaning} |" for reason, meaning in MEANING.items()]
    return "\n".join(["| reason | when, or why |", "|---|---|", *rows]) + "\n"
