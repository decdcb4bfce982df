"""Swaps for tests: what a room that makes mutants would hand over, written as one replaced snippet."""

from __future__ import annotations

import ast

from repro_gate.model import Swap


def swap_of(path: str, head: str, qualname: str, old: str = "", new: str = "", *, raising: bool = False) -> Swap:
    """The swap that writes ``new`` for the only ``old`` in head's text; nothing replaced is the null mutant.

    ``qualname`` is that of the outermost function around ``old`` (of the first one so named, without it).
    """
    assert not old or head.count(old) == 1, f"{old!r} is there {head.count(old)} times"
    line = head[: head.index(old)].count("\n") + 1 if old else 0
    return Swap(
        path=path,
        text=head.replace(old, new) if old else head,
        qualname=qualname,
        first_line=_first_line(head, qualname.rpartition(".")[2], line),
        raising=raising,
    )


def _first_line(head: str, name: str, line: int) -> int:
    """Where the function of that name begins that holds the line; decorators count."""
    begins = []
    for node in ast.walk(ast.parse(head)):
        if isinstance(node, ast.Lambda) and name == "<lambda>":
            begins.append((node.lineno, node.end_lineno or 0))
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            begins.append((first, node.end_lineno or 0))
    return min(first for first, last in begins if not line or first <= line <= last)
