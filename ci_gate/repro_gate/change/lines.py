"""Which lines of a Python source can run, and which lines make one statement.

Belongs here: facts about one source text. Does not belong here: what ran (experiment) or what changed (diff).
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterator, Mapping
from types import CodeType, MappingProxyType

from repro_gate.model.lines import bytes_with_line_feeds, ended

# An `except` line is reached or not, whatever the `try` above it does.
_Block = ast.stmt | ast.ExceptHandler
_BLOCKS = (ast.stmt, ast.ExceptHandler)
_SILENT = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
)


def executable_lines(source: bytes) -> frozenset[int]:
    """The lines whose change can change what the program does: no comments, docstrings and blank lines.

    All lines of a statement count, also those that the interpreter reports under another one.
    """
    return frozenset(statements(source))


def statements(source: bytes) -> Mapping[int, frozenset[int]]:
    """For each executable line the lines of its statement: it has run if one of them was reported.

    Of a compound statement it is the header alone. A source that this Python cannot parse has
    one statement per line.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.parse(source)
            reported = frozenset(_reported(compile(module, "<source>", "exec", dont_inherit=True, optimize=0)))
        spoken = _spoken_lines(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError, tokenize.TokenError):
        return MappingProxyType({number: frozenset({number}) for number in _plain_lines(source)})
    found: dict[int, frozenset[int]] = {}
    for node, own in _spans(module):
        lines = own & spoken
        if lines & reported and not _is_docstring(node):
            found.update(dict.fromkeys(lines, lines))
    for inner in ast.walk(module):
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            found.update(_declared(inner, found))
    return MappingProxyType(found)


def _declared(
    function: ast.FunctionDef | ast.AsyncFunctionDef, found: Mapping[int, frozenset[int]]
) -> Iterator[tuple[int, frozenset[int]]]:
    """Lines that say whose a name is: no code is made of them, and they hold from the first statement that runs."""
    names = [node for node in function.body if isinstance(node, ast.Global | ast.Nonlocal)]
    first = next((node.lineno for node in function.body if node not in names and node.lineno in found), None)
    if first is not None:
        for node in names:
            yield from ((line, found[first]) for line in _extent(node))


def _reported(code: CodeType) -> Iterator[int]:
    """The lines that the interpreter can report for a code object and those within."""
    pending = [code]
    while pending:
        current = pending.pop()
        yield from (line for _, _, line in current.co_lines() if line)
        pending.extend(constant for constant in current.co_consts if isinstance(constant, CodeType))


def _spans(module: ast.Module) -> Iterator[tuple[_Block, frozenset[int]]]:
    """Each statement with its lines, without those of the statements within; inner ones last."""
    for node in ast.walk(module):
        if isinstance(node, _BLOCKS):
            lines = set(_extent(node))
            for inner in ast.walk(node):
                if inner is not node and isinstance(inner, _BLOCKS):
                    # What begins on the header's own line does not take that line from it.
                    lines.difference_update(line for line in _extent(inner) if line != node.lineno)
            yield node, frozenset(lines)


def _extent(node: _Block) -> range:
    """The lines of a statement, from its first decorator on."""
    decorators = [each.lineno for each in getattr(node, "decorator_list", ())]
    return range(min([node.lineno, *decorators]), (node.end_lineno or node.lineno) + 1)


def _is_docstring(node: _Block) -> bool:
    """Whether a statement is nothing but a string: a docstring, or a comment written as one."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _spoken_lines(source: bytes) -> frozenset[int]:
    """The lines that hold more than comments and white space."""
    found: set[int] = set()
    for token in tokenize.tokenize(io.BytesIO(bytes_with_line_feeds(source)).readline):
        if token.type not in _SILENT and token.type != tokenize.ENCODING:
            found.update(range(token.start[0], token.end[0] + 1))
    return frozenset(found)


def _plain_lines(source: bytes) -> Iterator[int]:
    for number, line in enumerate(ended(source), start=1):
        text = line.strip()
        if text and not text.startswith(b"#"):
            yield number
