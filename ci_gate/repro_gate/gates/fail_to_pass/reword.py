"""Reworded head: head's source in other words that do the same. Pure.

Belongs here: the text edit. Between any two tokens of a line stands one more space, comments are
gone, and each function begins with a statement that does nothing, so text, size and bytecode all
differ. A test that fails on this looks at the text. Lines keep their numbers wherever they can.
"""

from __future__ import annotations

import ast
import io
import tokenize

from repro_gate.gates.fail_to_pass.hollow import is_only_declared, real_body
from repro_gate.gates.fail_to_pass.symbols import functions, parse

_INERT = "__name__"
_LAYOUT = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING)
_OPENS = {"FSTRING_START", "TSTRING_START"}
_CLOSES = {"FSTRING_END", "TSTRING_END"}
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, ast.ClassDef)


def reworded(text: str | None) -> str | None:
    """The same in other words; None where this Python cannot read it."""
    if text is None or parse(text) is None:
        return None
    try:
        found = _with_inert_statements(_spaced(text))
    except (tokenize.TokenError, SyntaxError, IndexError):
        return None
    return found if parse(found) is not None else None


def _spaced(text: str) -> str:
    """One more space before every token that is not the first of its line; no comments but the first two lines'."""
    lines = list(io.StringIO(text, newline=""))
    edits: list[tuple[int, int, int, str]] = []
    inside, line = 0, 0
    for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
        name = tokenize.tok_name[token.exact_type]
        row, column = token.start
        if token.type == tokenize.COMMENT:
            if row > 2:  # an encoding may be there
                edits.append((row, column, token.end[1], ""))
        elif token.type not in _LAYOUT and not inside and row == line:
            edits.append((row, column, column, " "))
        inside += (name in _OPENS) - (name in _CLOSES)
        if token.type not in _LAYOUT:
            line = token.end[0]
    for row, start, end, new in reversed(edits):
        old = lines[row - 1]
        lines[row - 1] = old[:start] + new + old[end:]
    return "".join(lines)


def _with_inert_statements(text: str) -> str:
    """A statement that does nothing before the first one of each function: on its line, or on one of its own."""
    tree = ast.parse(text)
    lines = list(io.StringIO(text, newline=""))
    places = []
    for _, function in functions(tree):
        first = real_body(function)[0]
        alone = not isinstance(first, (*_COMPOUND, ast.FunctionDef, ast.AsyncFunctionDef))
        if not is_only_declared(function):
            rows = [first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))]
            places.append((min(rows), first.col_offset, alone))
    for row, column, alone in sorted(places, reverse=True):
        line = lines[row - 1].encode()
        before, after = line[:column].decode(), line[column:].decode()
        indent = before if not before.strip() else ""
        if alone:
            lines[row - 1] = f"{before}{_INERT}; {after}"
        elif indent:
            lines[row - 1] = f"{indent}{_INERT}\n{lines[row - 1]}"
    return "".join(lines)
