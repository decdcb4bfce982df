"""Which whole units of a change are as they were in another place: definitions and top-level statements. Pure.

Belongs here: pairing the units of both sides, and when a place means nothing. Does not belong here: lines (sameness),
and what a statement does (effects).

A unit is a statement of a module or class body: a function, method, class, import, assignment. It is the same if its
syntax tree is, and

- within its module or class: it changed places with none that it may not change places with;
- from one module to another: it is the one binding of its name in both, gone in the first and not there before in the
  second, its definition calls nothing unknown, and each name in it stands for the same in both.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from repro_gate.gates.coverage.effects import (
    BUILTINS,
    Doing,
    Effect,
    Scope,
    doing,
    free_names,
    may_not_change_places,
    scope_of,
)
from repro_gate.model.lines import with_line_feeds

_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# What these give depends on the module that they stand in.
_OF_ITS_PLACE = frozenset(
    {"__builtins__", "__doc__", "__file__", "__loader__", "__name__", "__package__", "__path__", "__spec__"}
    | {"dir", "eval", "exec", "globals", "locals", "vars"}
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Moved:
    """A unit that is the same on both sides: its files, and its first and last lines there."""

    base_path: str
    path: str
    was: tuple[int, int]
    now: tuple[int, int]


@dataclass(frozen=True)
class _Unit:
    node: ast.stmt
    scope: Scope

    @cached_property
    def tree(self) -> str:
        return ast.dump(self.node)

    @cached_property
    def doing(self) -> Doing:
        return doing(self.node, self.scope)

    @property
    def name(self) -> str:
        """Its one name, or nothing."""
        return next(iter(self.doing.binds)) if len(self.doing.binds) == 1 else ""

    @property
    def lines(self) -> tuple[int, int]:
        first = min([self.node.lineno, *(each.lineno for each in getattr(self.node, "decorator_list", ()))])
        return first, self.node.end_lineno or first

    @property
    def header(self) -> tuple[int, int]:
        """The lines of a class before its body."""
        assert isinstance(self.node, ast.ClassDef)
        return self.lines[0], _Unit(self.node.body[0], self.scope).lines[0] - 1

    def is_class_like(self, other: _Unit) -> bool:
        """Whether both are classes that differ in their bodies alone."""
        mine, theirs = self.node, other.node
        if not isinstance(mine, ast.ClassDef) or not isinstance(theirs, ast.ClassDef):
            return False
        above = [[*map(ast.dump, (*each.decorator_list, *each.bases, *each.keywords))] for each in (mine, theirs)]
        return above[0] == above[1] and mine.name == theirs.name


_Pair = tuple[int, int]


class Module:
    """One side of a file, parsed; without units where it is not there or no Python."""

    def __init__(self, path: str, module: str, text: str | None) -> None:
        self.path = path
        try:
            tree = ast.parse(with_line_feeds((text or "").removeprefix("\ufeff")))
            self.scope = scope_of(tree, module, is_package=path.endswith("__init__.py"))
            self.units = _units(tree.body, self.scope)
            _ = [(unit.tree, unit.doing) for unit in self.units]
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self.scope, self.units = Scope(module=module, package=""), []

    def only(self, name: str) -> _Unit | None:
        """The unit that binds a name, if it is the only one, and nothing binds it anew."""
        found = [unit for unit in self.units if name in unit.doing.binds]
        once = len(found) == 1 and found[0].name == name and name not in self.scope.rebound
        return found[0] if once and not self.scope.star else None


def _units(body: Sequence[ast.stmt], scope: Scope) -> list[_Unit]:
    return [_Unit(each, scope) for each in body]


def within(base: Module, head: Module) -> Iterator[Moved]:
    """The units of a file that are the same in another or the same order, and headers of classes that differ inside."""
    for was, now in _kept(base.units, head.units, in_class=False):
        yield Moved(
            base_path=base.path,
            path=head.path,
            was=was.lines if was.tree == now.tree else was.header,
            now=now.lines if was.tree == now.tree else now.header,
        )


def _kept(base: Sequence[_Unit], head: Sequence[_Unit], *, in_class: bool) -> Iterator[tuple[_Unit, _Unit]]:
    """Units of one body that changed places with none that matters; of a class that differs, those in it."""
    equal = list(_equal(base, head))
    changed = list(_changed(base, head, equal))
    both = [(base[one], head[other]) for one, other in (*equal, *changed)]
    places = [*equal, *changed]
    concerned = _Concerned(both)
    for mine, (was, now) in enumerate(both):
        crossed = (
            other
            for other in concerned.by(mine)
            if (places[mine][0] - places[other][0]) * (places[mine][1] - places[other][1]) < 0
        )
        stays = not any(
            may_not_change_places(one.doing, each.doing, in_class=in_class)
            for other in crossed
            for each in both[other]
            for one in (was, now)
        )
        if stays and (was.tree == now.tree or was.is_class_like(now)):
            yield was, now
    for one, other in changed:
        yield from _in_class(base[one], head[other])


class _Concerned:
    """Which pairs of units a pair may not change places with at all: of a plain definition, those that know its names.

    Else each of a thousand functions would be held against each other one.
    """

    def __init__(self, pairs: Sequence[tuple[_Unit, _Unit]]) -> None:
        self._pairs = pairs
        self._binding: dict[str, set[int]] = {}
        self._reading: dict[str, set[int]] = {}
        for place, pair in enumerate(pairs):
            for unit in pair:
                for name in unit.doing.binds:
                    self._binding.setdefault(name, set()).add(place)
                for name in unit.doing.reads:
                    self._reading.setdefault(name, set()).add(place)

    def by(self, place: int) -> Iterable[int]:
        """The places of pairs to look at for one of them."""
        doings = [unit.doing for unit in self._pairs[place]]
        if not all(each.is_plain for each in doings):
            return range(len(self._pairs))
        found = set[int]()
        for each in doings:
            found.update(*(self._binding.get(name, ()) for name in each.binds | each.reads))
            found.update(*(self._reading.get(name, ()) for name in each.binds))
        return found


def _in_class(was: _Unit, now: _Unit) -> Iterator[tuple[_Unit, _Unit]]:
    if isinstance(was.node, ast.ClassDef) and isinstance(now.node, ast.ClassDef):
        yield from _kept(_units(was.node.body, was.scope), _units(now.node.body, now.scope), in_class=True)


def _equal(base: Sequence[_Unit], head: Sequence[_Unit]) -> Iterator[_Pair]:
    """Places of units with the same tree, in order; of as many on either side, so that it is certain which is which."""
    old, new = _by_tree(base), _by_tree(head)
    for tree, places in new.items():
        if len(old.get(tree, ())) == len(places):
            yield from zip(old[tree], places, strict=True)


def _by_tree(units: Sequence[_Unit]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        found.setdefault(unit.tree, []).append(place)
    return found


def _changed(base: Sequence[_Unit], head: Sequence[_Unit], equal: Iterable[_Pair]) -> Iterator[_Pair]:
    """Places of definitions of one name that are not the same."""
    taken = list(equal)
    old = _by_name(base, {pair[0] for pair in taken})
    new = _by_name(head, {pair[1] for pair in taken})
    yield from ((old[name], new[name]) for name in new if name in old)


def _by_name(units: Sequence[_Unit], taken: set[int]) -> dict[str, int]:
    return {
        unit.node.name: place
        for place, unit in enumerate(units)
        if place not in taken and isinstance(unit.node, _Definition)
    }


def between(pairs: Sequence[tuple[Module, Module]]) -> Iterator[Moved]:
    """The units that went from one file of a change to another; ``pairs`` are both sides of each file."""
    relocated = list(_relocated(pairs))
    formerly = {f"{there.scope.module}.{name}": f"{here.scope.module}.{name}" for here, there, name in relocated}
    for here, there, name in relocated:
        was, now = here.only(name), there.only(name)
        assert was is not None
        assert now is not None
        same = [(was, now)] if was.tree == now.tree else list(_in_class(was, now))
        for old, new in same:
            if new.doing.effect < Effect.RUNS and _means_the_same(new, here.scope, there.scope, formerly):
                yield Moved(base_path=here.path, path=there.path, was=old.lines, now=new.lines)


def _relocated(pairs: Sequence[tuple[Module, Module]]) -> Iterator[tuple[Module, Module, str]]:
    """Names that one file lost and another one got: each once."""
    lost: dict[str, list[Module]] = {}
    for base, head in pairs:
        for unit in base.units:
            gone = not any(not isinstance(each.node, ast.ImportFrom) for each in _binding(head, unit.name))
            if _can_go(unit) and gone and base.only(unit.name):
                lost.setdefault(unit.name, []).append(base)
    for base, head in pairs:
        for unit in head.units:
            sources = lost.get(unit.name, [])
            if not _can_go(unit) or head.only(unit.name) is None or not sources:
                continue
            here = next((each for each in sources if each.only(unit.name).tree == unit.tree), sources[0])  # type: ignore[union-attr]
            origin = f"{here.scope.module}.{unit.name}"
            before = base.scope.meaning(unit.name)
            if base.path != here.path and all(each == origin for each in before) and not base.scope.star:
                sources.remove(here)
                yield here, head, unit.name


def _binding(module: Module, name: str) -> list[_Unit]:
    return [unit for unit in module.units if name in unit.doing.binds]


def _can_go(unit: _Unit) -> bool:
    """Whether it is a definition or the assignment of one name, and hides no builtin."""
    return (
        isinstance(unit.node, _Definition | ast.Assign | ast.AnnAssign)
        and unit.name != ""
        and unit.name not in BUILTINS | _OF_ITS_PLACE
    )


def _means_the_same(unit: _Unit, here: Scope, there: Scope, formerly: dict[str, str]) -> bool:
    """Whether each name in a unit stands for the same in both modules."""
    names = free_names(unit.node)
    if here.star or there.star or here.futures != there.futures or not _OF_ITS_PLACE.isdisjoint(names):
        return False
    if any(
        isinstance(node, ast.Global | ast.Import | ast.ImportFrom) and _is_local(node) for node in ast.walk(unit.node)
    ):
        return False
    return all(tuple(formerly.get(each, each) for each in there.meaning(name)) == here.meaning(name) for name in names)


def _is_local(node: ast.AST) -> bool:
    """Whether it says something that depends on the module: its globals, or a relative import."""
    return isinstance(node, ast.Global) or bool(getattr(node, "level", 0))
