"""The fixtures that an item really gets: its closure, overridden ones only where they are asked for.

Belongs here: pytest's fixture manager, read and never changed.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable
from typing import Any

from repro_gate_pytest import origins, sources
from repro_gate_pytest.reach import Key, Reach, unwrapped

_realpath = os.path.realpath


class Closure:
    """Fixtures of the tree: their places, the units they are, their syntax trees."""

    def __init__(self) -> None:
        self.places: list[tuple[str, str, int]] = []
        self.keys: set[Key] = set()
        self.nodes: list[ast.AST] = []


class _Definition:
    def __init__(self, path: str, line: int, key: Key, node: ast.AST | None, asked: frozenset[str]) -> None:
        self.path = path
        self.line = line
        self.key = key
        self.node = node
        self.asked = asked


class Closures:
    """Fixtures are read once each."""

    def __init__(self, session: Any, reach: Reach, root: str) -> None:
        self._manager: Any = getattr(session, "_fixturemanager", None)
        self._reach = reach
        self._root = root
        self._known: dict[int, _Definition] = {}
        self._kept: list[Any] = []  # so that an id is not given twice

    def of(self, item: Any, asked: Iterable[str]) -> Closure:
        """The closure of an item, and of what its code asks for by name while it runs."""
        closure = Closure()
        info = getattr(item, "_fixtureinfo", None)
        named = dict(getattr(info, "name2fixturedefs", None) or {})
        queue = [*(getattr(info, "names_closure", None) or named), *sorted(asked)]
        seen: set[str] = set()
        while queue:
            name = queue.pop(0)
            if name in seen or name == "request":
                continue
            seen.add(name)
            definitions = named.get(name) or self._look_up(item, name)
            for fixture in _used(name, definitions):
                queue += [other for other in fixture.argnames if other not in seen]
                definition = self._definition(name, fixture)
                if definition is None:
                    continue
                queue += sorted(definition.asked)
                closure.keys.add(definition.key)
                if definition.node is not None:
                    closure.nodes.append(definition.node)
                closure.places.append((name, definition.path, definition.line))
        closure.places.sort()
        return closure

    def _look_up(self, item: Any, name: str) -> Any:
        for node in (item, item.nodeid):  # pytest 8 takes the node, before that it was the id
            try:
                return self._manager.getfixturedefs(name, node) or ()
            except Exception:  # of the other version
                continue
        return ()

    def _definition(self, name: str, fixture: Any) -> _Definition | None:
        """Where it is defined, or None where that is not in a test file of the tree."""
        known = self._known.get(id(fixture))
        if known is None:
            known = self._known[id(fixture)] = self._read(name, fixture)
            self._kept.append(fixture)
        return known if known.path else None

    def _read(self, name: str, fixture: Any) -> _Definition:
        function = unwrapped(fixture.func)
        found = self._reach.function(function)
        if found is not None:
            source, node = found
            decorators = [part for one in node.decorator_list for part in sources.without_plain_parameters(one)]
            key = self._reach.body(source, node, decorators, name)
            path = origins.relative(source.path, self._root)
            return _Definition(path, node.lineno, key, node, frozenset(sources.Mentions([node]).fixtures))
        code = getattr(function, "__code__", None)
        path = _realpath(code.co_filename) if code is not None else ""
        if code is not None and self._reach.source(path) is not None:
            whole = self._reach.everything(path)
            return _Definition(origins.relative(path, self._root), code.co_firstlineno, whole, None, frozenset())
        return _Definition("", 0, ("outside", "fixture:" + name), None, frozenset())


def _used(name: str, definitions: Any) -> list[Any]:
    """The definition that holds, and those it overrides as far as each asks for the one before."""
    found = []
    for fixture in reversed(list(definitions or ())):
        found.append(fixture)
        if name not in fixture.argnames:
            break
    return found
