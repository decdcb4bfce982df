"""From a file's text to every small change of it that an operator makes, each with its place and what it replaces.

Belongs here: visiting libcst's tree, names of scopes, and turning a node and its replacement into an edit of the text.
Does not belong here: which changes are mutants (generate), and what an operator does (adapter, operators).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, WhitespaceInclusivePositionProvider

from repro_gate.mutants import adapter, advice, arid, operators
from repro_gate.mutants.operators import Around, Change, shown
from repro_gate.mutants.reasons import Reason
from repro_gate.mutants.source import Edit, Place, Source

LONGEST_CONTEXT = 100  # characters: a constant is shown with what is around it, up to a line
_OPENING = (cst.FunctionDef, cst.ClassDef, cst.ExceptHandler, cst.ExceptStarHandler)
_LEAVES = (cst.BaseNumber, cst.BaseString, cst.Name)
_CONTEXTS = (
    cst.Comparison, cst.BinaryOperation, cst.BooleanOperation, cst.Call, cst.Subscript, cst.Tuple, cst.Dict, cst.List,
    cst.Return, cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Param,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A change of the text that may be a mutant. ``line`` to ``end_line`` is what is really replaced."""

    operator: str
    qualname: str
    line: int
    end_line: int
    original: str
    mutated: str
    edit: Edit
    hint: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AridSpan:
    """Lines on which something is not mutated, and why."""

    line: int
    end_line: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Walked:
    """All candidates of a file in its order, and what was passed over."""

    candidates: tuple[Candidate, ...]
    arid: tuple[AridSpan, ...]


def walk(source: Source, passing: AbstractSet[int] = frozenset(), *, own: bool = True) -> Walked | str:
    """Every candidate of a file, or the sentence that says why libcst cannot read it.

    ``passing``: the ``def`` lines of functions that are not entered, to save time; ``own`` False: mutmut's operators
    alone.
    """
    try:
        module = cst.parse_module(source.plain.characters)
        if module.code != source.plain.characters:
            return "libcst does not give the file back as it is"
        places = MetadataWrapper(module, unsafe_skip_copy=True).resolve(WhitespaceInclusivePositionProvider)
        visitor = _Walk(source, module, places, passing, own)
        module.visit(visitor)
    except RecursionError:
        return "the file is nested too deep"
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        return f"libcst cannot parse the file: {error.message if isinstance(error, cst.ParserSyntaxError) else error}"
    return Walked(tuple(visitor.candidates), tuple(visitor.arid))


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a node is: the nearest definition's name as Python has it, and whether a handler of it is around."""

    qualname: str
    function: bool
    handling: bool = False


class _Walk(cst.CSTVisitor):
    def __init__(
        self,
        source: Source,
        module: cst.Module,
        places: Mapping[cst.CSTNode, CodeRange],
        passing: AbstractSet[int],
        own: bool,
    ) -> None:
        super().__init__()
        self.candidates: list[Candidate] = []
        self.arid: list[AridSpan] = []
        self._source = source
        self._module = module
        self._places = places
        self._passing = passing
        self._own = own
        self._above: list[cst.CSTNode] = []
        self._scopes = [Scope("", function=False)]
        self._reasons: dict[int, Reason] = {}
        self._fixed: set[int] = set()

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Whether to go on within a node; what is arid is passed over as a whole."""
        if isinstance(node, cst.FunctionDef) and self._places[node.name].start.line in self._passing:
            return False
        for part, reason in arid.parts(node):
            self._reasons.setdefault(id(part), reason)
        if id(node) in self._reasons:
            self._pass_over(node, self._reasons[id(node)])
            return False
        if (call := arid.keeps_arguments(node)) is not None:
            self._fixed.add(id(call))
        self._change(node)
        self._above.append(node)
        if isinstance(node, _OPENING):
            self._scopes.append(_within(self._scopes[-1], node))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """What was entered is left; libcst also says so of what was passed over."""
        if self._above and self._above[-1] is original_node:
            self._above.pop()
            if isinstance(original_node, _OPENING):
                self._scopes.pop()

    def _pass_over(self, node: cst.CSTNode, reason: Reason) -> None:
        place = self._places.get(node)
        if place is None:
            return
        start, end = _place(place.start), _place(place.end)
        text = self._source.plain.between(start, end)
        line = start[0] + text[: len(text) - len(text.lstrip())].count("\n")
        self.arid.append(AridSpan(line=line, end_line=line + text.strip().count("\n"), reason=reason))

    # --- changes -----------------------------------------------------------------------------

    def _change(self, node: cst.CSTNode) -> None:
        around = Around(self._scopes[-1].qualname, self._scopes[-1].handling, self._code)
        for change in operators.changes(node, around) if self._own else ():
            if id(change.node) not in self._reasons:
                self._add(change)
        for operator, mutated in adapter.changes(node):
            if operator == "argument" and id(node) in self._fixed:
                continue
            whole, new = self._in_context(node, mutated)
            self._add(Change(operator, whole, self._rendered(whole, new), self._hint(operator, node)))

    def _in_context(self, node: cst.CSTNode, mutated: cst.CSTNode) -> tuple[cst.CSTNode, cst.CSTNode]:
        """A part of a comparison is exchanged with the comparison, a constant with what it stands in."""
        context = next((each for each in reversed(self._above) if isinstance(each, _CONTEXTS)), None)
        if isinstance(node, (cst.ComparisonTarget, cst.BaseCompOp)):
            context = self._comparison()
        elif not isinstance(node, _LEAVES) or context is None or len(self._code(context)) > LONGEST_CONTEXT:
            return node, mutated
        return context, context.deep_replace(node, mutated)

    def _comparison(self) -> cst.Comparison:
        """The comparison that a part of one is in."""
        return next(each for each in reversed(self._above) if isinstance(each, cst.Comparison))

    def _hint(self, operator: str, node: cst.CSTNode) -> str:
        """What tells a boundary's two sides apart; nothing for other operators of mutmut."""
        if operator != "boundary" or not isinstance(node, cst.ComparisonTarget):
            return ""
        comparison = self._comparison()
        targets = list(comparison.comparisons)
        at = next(index for index, each in enumerate(targets) if each is node)
        left = targets[at - 1].comparator if at else comparison.left
        return advice.at_boundary(shown(self._code(left)), shown(self._code(node.comparator)))

    def _add(self, change: Change) -> None:
        place = self._places.get(change.node)
        if place is None:
            return
        plain = self._source.plain
        start, end = _place(place.start), _place(place.end)
        if change.back:
            before = plain.between((start[0], 0), start)
            start = (start[0], before.rindex(change.back))
        edit = _narrowed(start, end, plain.between(start, end), change.text)
        if edit is None:
            return
        edit = self._kept_apart(edit)
        old = plain.between(edit.start, edit.end)
        leading = old[: len(old) - len(old.lstrip())].count("\n")
        line = edit.start[0] + leading
        self.candidates.append(
            Candidate(
                operator=change.operator,
                qualname=self._scopes[-1].qualname,
                line=line,
                end_line=line + old.strip().count("\n"),
                original=shown(old),
                mutated=shown(edit.text),
                edit=edit,
                hint=change.hint,
            )
        )

    def _kept_apart(self, edit: Edit) -> Edit:
        """A space where a word would grow into its neighbour: ``if(x)`` -> ``if not (x)``."""
        plain = self._source.plain
        start, end = plain.offset(edit.start), plain.offset(edit.end)
        before, after = plain.characters[max(0, start - 1) : start], plain.characters[end : end + 1]
        first = " " if _in_word(before) and _in_word(edit.text[:1]) else ""
        last = " " if _in_word(after) and _in_word(edit.text[-1:]) else ""
        return Edit(edit.start, edit.end, f"{first}{edit.text}{last}") if first or last else edit

    # --- text --------------------------------------------------------------------------------

    def _code(self, node: cst.CSTNode) -> str:
        """A node as it stands in the file."""
        place = self._places.get(node)
        return "" if place is None else self._source.plain.between(_place(place.start), _place(place.end))

    def _rendered(self, node: cst.CSTNode, mutated: cst.CSTNode) -> str:
        """The mutated node as text. libcst leaves out the indentation of what is around:
        lines that stay are the file's.
        """
        new = self._module.code_for_node(mutated)
        here = self._code(node).split("\n")
        old = self._module.code_for_node(node).split("\n")
        lines = new.split("\n")
        if here == old or len(here) != len(old):
            return new
        same_first, same_last = _shared(old, lines)
        middle = lines[same_first : len(lines) - same_last]
        if same_first:
            at = min(same_first, len(here) - 1)
            indent = here[at].removesuffix(old[at]) if here[at].endswith(old[at]) else ""
            middle = [indent + line for line in middle]
        return "\n".join([*here[:same_first], *middle, *here[len(here) - same_last :]])


def _within(scope: Scope, node: cst.CSTNode) -> Scope:
    """The scope that a definition or an exception handler opens: `Class.method`, `function.<locals>.inner`."""
    if not isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return replace(scope, handling=True)
    before = f"{scope.qualname}.<locals>." if scope.function else f"{scope.qualname}." if scope.qualname else ""
    return Scope(before + node.name.value, function=isinstance(node, cst.FunctionDef))


def _place(position: cst.metadata.CodePosition) -> Place:
    return position.line, position.column


def _in_word(character: str) -> bool:
    return re.match(r"\w", character) is not None


def _shared(old: list[str], new: list[str]) -> tuple[int, int]:
    """How many lines are the same at the beginning, and at the end, but for white space around them."""
    most = min(len(old), len(new))
    first = next((at for at in range(most) if old[at].strip() != new[at].strip()), most)
    last = next((at for at in range(most - first) if old[-1 - at].strip() != new[-1 - at].strip()), most - first)
    return first, last


def _narrowed(start: Place, end: Place, old: str, new: str) -> Edit | None:
    """The edit without the lines that stay as they are; None where all do."""
    if old == new:
        return None
    before, after = old.split("\n"), new.split("\n")
    first, last = _shared(before, after)
    gone, come = len(before) - first - last, after[first : len(after) - last]
    if len(before) == 1 or not gone or not (first or come):
        return Edit(start, end, new)

    def end_of(index: int) -> Place:
        """The end of one of the replaced lines; the first one does not begin its line."""
        return start[0] + index, len(before[index]) + (0 if index else start[1])

    if not come:
        # Whole lines go, and with each the newline before it.
        return Edit(end_of(first - 1), end_of(first + gone - 1), "")
    begin = (start[0] + first, 0) if first else start
    return Edit(begin, end_of(first + gone - 1), "\n".join(come))
