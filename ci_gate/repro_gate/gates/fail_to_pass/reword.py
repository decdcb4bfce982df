"""Reworded head: head's source in other words that do the same. Pure.

Belongs here: the text edit. Between any two tokens of a line stands one more space, comments are
gone, and each function begins with a statement that does nothing, so text, size and bytecode all
differ; docstrings that differ from base's are the same in escapes. What base said in place of it stands there, too, in
code that never runs: whoever asks that it be gone looks at the text as well. A test that fails on this does so,
whichever way it reads. Lines keep their numbers wherever they can.
"""

from __future__ import annotations

import ast
import io
import tokenize

from repro_gate.gates.fail_to_pass.describe import describable
from repro_gate.gates.fail_to_pass.hollow import is_only_declared, real_body
from repro_gate.gates.fail_to_pass.symbols import Function, functions, parse

_INERT = "__name__"  # of a module: always there, and never empty
_MOST_WORDS = 500
_LAYOUT = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING)
_OPENS = {"FSTRING_START", "TSTRING_START"}
_CLOSES = {"FSTRING_END", "TSTRING_END"}
# Expressions whose bytecode is a mark of its own, but for those with an effect on the function that they stand in.
_PLAIN = (ast.Subscript, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.Call, ast.IfExp, ast.Dict, ast.Set)
_BINDS = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.comprehension, ast.Lambda)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, ast.ClassDef)


def reworded(text: str | None, base: str | None = None) -> str | None:
    """The same in other words, and with base's words in code that never runs; None where this Python cannot read it."""
    if text is None or parse(text) is None:
        return None
    try:
        spaced = _spaced(_respelled(text, base))
        found = _with_inert_statements(spaced, base)
        if parse(found) is None:
            found = _with_inert_statements(spaced, None)
    except (tokenize.TokenError, SyntaxError, IndexError, ValueError, RecursionError):
        return None
    return found if parse(found) is not None else None


def _respelled(text: str, base: str | None) -> str:
    """Each docstring that base has not, in escapes: the same to the program, and not in its text."""
    before = parse(base)
    olds = {ast.get_docstring(node, clean=False) for _, node in describable(before)} if before is not None else set()
    lines = list(io.StringIO(text, newline=""))
    for _, node in describable(ast.parse(text)):
        value, said = ast.get_docstring(node, clean=False), node.body[0] if node.body else None
        if value is None or value in olds or said is None:
            continue
        first, last = said.lineno - 1, (said.end_lineno or said.lineno) - 1
        if lines[last].encode()[said.end_col_offset or 0 :].strip():
            continue  # another statement, or a comment
        indent = lines[first].encode()[: said.col_offset].decode()
        escaped = "".join(f"\\U{ord(letter):08x}" for letter in value)
        lines[first : last + 1] = [f'{indent}"{escaped}"\n', *["\n"] * (last - first)]
    return "".join(lines)


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


def _with_inert_statements(text: str, base: str | None) -> str:
    """A statement that does nothing before the first one of each function: on its line, or on one of its own."""
    tree, before_it = ast.parse(text), parse(base)
    olds = {} if before_it is None else dict(functions(before_it))
    lines = list(io.StringIO(text, newline=""))
    places = []
    for name, function in functions(tree):
        first = real_body(function)[0]
        alone = not isinstance(first, (*_COMPOUND, ast.FunctionDef, ast.AsyncFunctionDef))
        if not is_only_declared(function):
            rows = [first.lineno, *(each.lineno for each in getattr(first, "decorator_list", ()))]
            old = olds.get(name)
            inert = _said_by(old, base or "") if old is not None and _differs(old, function) else _INERT
            places.append((min(rows), first.col_offset, alone, inert))
    for row, column, alone, inert in sorted(places, reverse=True):
        line = lines[row - 1].encode()
        before, after = line[:column].decode(), line[column:].decode()
        indent = before if not before.strip() else ""
        if alone:
            lines[row - 1] = f"{before}{inert}; {after}"
        elif indent:
            lines[row - 1] = f"{indent}{inert}\n{lines[row - 1]}"
    if before_it is not None and ast.dump(before_it) != ast.dump(tree):
        ends = "" if not lines or lines[-1].endswith("\n") else "\n"
        lines.append(f"{ends}{_INERT} or {_INERT}({base!r})\n")
    return "".join(lines)


def _differs(old: Function, new: Function) -> bool:
    return ast.dump(old) != ast.dump(new)


def _said_by(function: Function, text: str) -> str:
    """An expression with the text, constants, names and expressions of a function,
    never evaluated beyond its first word.
    """
    words = [repr(ast.get_source_segment(text, function) or "")]
    for node in ast.walk(function):
        plain = isinstance(node, _PLAIN) and not any(_binds(each) for each in ast.walk(node))
        if plain or isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id != "super"):
            words.append(ast.unparse(node))
        elif isinstance(node, ast.Attribute):
            words.append(f"{_INERT}.{node.attr}")
    return f"{_INERT} or {_INERT}({', '.join(list(dict.fromkeys(words))[:_MOST_WORDS])})"


def _binds(node: ast.AST) -> bool:
    return isinstance(node, _BINDS) or (isinstance(node, ast.Name) and node.id == "super")
