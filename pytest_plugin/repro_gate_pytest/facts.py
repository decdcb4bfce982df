"""Facts of collected items: where each comes from, and a fingerprint of the code that makes it.

Belongs here: reading pytest's items. A fingerprint covers the test, its marks and class, the
helpers it names in test files, the fixtures it gets, the hooks of conftests above it, and the
values of its parameters; it does not depend on layout, comments, docstrings of tests, the test's
name or its place. The graph of names is ``reach``'s.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
import re
from collections.abc import Iterator
from typing import Any

from repro_gate_pytest import failure, fixtures, origins, sources, wire
from repro_gate_pytest.reach import ALWAYS, Key, Reach, unwrapped

_realpath = os.path.realpath
_blake2b = hashlib.blake2b
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]+")
_MOST_PARAMS = 400
_MEMBERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def frames(
    session: Any, zones: failure.Zones, tree: str, chunk: int, *, with_sources: bool = True
) -> Iterator[dict[str, Any]]:
    """FACTS frames for all items of the session. Without sources, which are known to be the same then, fingerprints are
    of all else.
    """
    reader = _Reader(session, zones, tree, with_sources=with_sources)
    for start in range(0, len(session.items), chunk):
        table = _Table()
        items = [
            dict(reader.facts(item, table), t=start + offset)
            for offset, item in enumerate(session.items[start : start + chunk])
        ]
        yield {"ev": wire.FACTS, "items": items, "fixtures": table.fixtures, "files": table.files}


def _allowed_network(item: Any) -> str:
    """The reason of the mark ``repro_network``, which a test must give to be let off."""
    mark = item.get_closest_marker("repro_network") if hasattr(item, "get_closest_marker") else None
    if mark is None:
        return ""
    reason = mark.kwargs.get("reason") or (mark.args[0] if mark.args else "")
    return wire.clip(str(reason), 300)


class _Table:
    """What many items of a frame share, sent once."""

    def __init__(self) -> None:
        self.fixtures: list[Any] = []
        self.files: list[Any] = []
        self._numbers: dict[Any, int] = {}

    def number(self, entries: list[Any], entry: Any) -> int:
        key = (id(entries), entry)
        if key not in self._numbers:
            self._numbers[key] = len(entries)
            entries.append(entry)
        return self._numbers[key]


class _Code:
    """What all parameters of one function share."""

    def __init__(self) -> None:
        self.keys: set[Key] = set()
        self.places: list[tuple[str, str, int]] = []
        self.span = (0, 0)
        self.text = ""  # of what has no syntax tree
        self.digest = ""
        self.files: list[str] = []
        self.asks: list[str] = []


class _Shape:
    """A class: the unit of all but its functions, and those by name."""

    def __init__(self, key: Key, source: Any = None, members: dict[str, Any] | None = None) -> None:
        self.key = key
        self.source = source
        self.members = members or {}


class _Reader:
    def __init__(self, session: Any, zones: failure.Zones, tree: str, *, with_sources: bool) -> None:
        self._with_sources = with_sources
        self._root = _realpath(tree)
        self._reach = Reach(lambda path: zones.place(path)[0] == "Test")
        self._fixtures = fixtures.Closures(session, self._reach, self._root)
        self._counts: dict[tuple[str, str, str], int] = {}
        self._codes: dict[Any, _Code] = {}
        self._above: dict[str, list[Key]] = {}
        self._shapes: dict[type, list[_Shape]] = {}
        self._mentioned: dict[ast.AST, sources.Mentions] = {}
        self._places: dict[str, tuple[str, str]] = {}
        self._conftests, self._plugins = self._hook_files(session) if with_sources else ([], [])

    def facts(self, item: Any, table: _Table) -> dict[str, Any]:
        """The facts of one item, in the wire's shape."""
        path, relative = self._place(str(getattr(item, "path", "") or ""))
        kind = _kind(item)
        original = _original(item, kind)
        place = (relative, item.nodeid.partition("[")[0].rpartition("::")[0], original)
        index = self._counts[place] = self._counts.get(place, -1) + 1
        code = self._code(item, kind, original, path)
        params, marks = _parameters(item)
        parts = f"{kind}\x1f{code.digest}\x1f{params}\x1f{marks}"
        found: dict[str, Any] = {
            "file": relative,
            "kind": kind,
            "original": original,
            "span": list(code.span),
            "fingerprint": _hash(parts),
        }
        optional = {
            "index": index,
            "params": wire.clip(params, _MOST_PARAMS),
            "fixtures": [table.number(table.fixtures, entry) for entry in code.places],
            "network": _allowed_network(item),
            "asks": code.asks,
            "reads": [table.number(table.files, entry) for entry in code.files],
        }
        found.update((name, value) for name, value in optional.items() if value)
        return found

    def _place(self, file: str) -> tuple[str, str]:
        """The real path of a file, and its path in the tree."""
        if file not in self._places:
            self._places[file] = (_realpath(file), origins.relative(file, self._root)) if file else ("", "")
        return self._places[file]

    def _code(self, item: Any, kind: str, original: str, path: str) -> _Code:
        function = _function_of(item) if kind in ("function", "unittest") else None
        info = getattr(item, "_fixtureinfo", None)
        key = (path, original, id(info), id(unwrapped(function)), getattr(item, "cls", None))
        known = self._codes.get(key) if function is not None else None
        if known is not None:
            return known
        code = _Code()
        if not self._with_sources and function is not None:
            code.digest = _hash("\x1f".join(getattr(info, "names_closure", ())))
            return code
        nodes = self._add_own(code, item, kind, original, path, function)
        asked = {name for node in nodes for name in self._mentions(node).fixtures}
        closure = self._fixtures.of(item, asked)
        code.places = closure.places
        code.keys |= closure.keys
        classes = [node.obj for node in item.listchain() if inspect.isclass(getattr(node, "obj", None))]
        self._add_classes(code, classes, [*nodes, *closure.nodes])
        code.keys.update(self._above_of(path))
        self._finish(code, path)
        self._codes[key] = code
        return code

    def _add_own(self, code: _Code, item: Any, kind: str, original: str, path: str, function: Any) -> list[ast.AST]:
        """The test itself; returns the syntax trees that it is made of."""
        if kind == "doctest":
            _describe_doctest(code, item)
            return []
        if function is None:
            code.text = _content(path) + "\x1f" + item.name
            return []
        found = self._reach.function(function)
        source = self._reach.source(path)
        alone = getattr(item, "cls", None) is None
        if source is not None and (found is None or (alone and (found[0].path, found[1].name) != (path, original))):
            # Made by a call, imported, or rebound: how it came to its name is part of it.
            bound = alone and (original in source.bindings or original in source.imports)
            code.keys.add(("name", path, original) if bound else ("all", path))
        if found is None:
            start = getattr(getattr(unwrapped(function), "__code__", None), "co_firstlineno", 0)
            code.span = (start, start)
            return []
        source, node = found
        decorators = [one for one in node.decorator_list if not sources.plain_parameters(one)]
        code.keys.add(self._reach.body(source, node, decorators))
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        code.span = (first, node.end_lineno or node.lineno)
        return [node]

    def _add_classes(self, code: _Code, classes: list[type], nodes: list[ast.AST]) -> None:
        """Marks, bases and attributes of the test's classes, and the members that its code names."""
        shapes = [shape for cls in classes for base in cls.__mro__ for shape in self._shape(base)]
        code.keys.update(shape.key for shape in shapes)
        wanted = ALWAYS.union(*(self._mentions(node).members for node in nodes))
        done: set[str] = set()
        while wanted:
            following: set[str] = set()
            for shape in shapes:
                for name in wanted & shape.members.keys():
                    node = shape.members[name]
                    if shape.source is not None and node not in nodes:
                        key = ("member", shape.source.path, name, str(node.lineno))
                        code.keys.add(self._reach.add(key, shape.source, [node]))
                        following |= self._mentions(node).members
            done |= wanted
            wanted = frozenset(following) - done

    def _mentions(self, node: ast.AST) -> sources.Mentions:
        known = self._mentioned.get(node)
        if known is None:
            known = self._mentioned[node] = sources.Mentions([node])
        return known

    def _shape(self, cls: type) -> list[_Shape]:
        """A class of a test file (nothing for a builtin one)."""
        if cls not in self._shapes:
            self._shapes[cls] = [] if cls.__module__ == "builtins" else [self._read_class(cls)]
        return self._shapes[cls]

    def _read_class(self, cls: type) -> _Shape:
        path = self._reach.path_of_class(cls)
        source = self._reach.source(path) if path else None
        if source is None:
            return _Shape(("outside", "%s:%s" % (cls.__module__, cls.__qualname__)))
        node = source.classes.get(cls.__qualname__)
        if node is None:  # made by a call
            return _Shape(("all", path))
        members = [one for one in node.body if isinstance(one, _MEMBERS)]
        decorators = [one for one in node.decorator_list if not sources.plain_parameters(one)]
        rest = [one for one in sources.without_docstring(node.body) if not isinstance(one, _MEMBERS)]
        key = ("class", path, node.name, str(node.lineno))
        # Its bases are classes of the lineage themselves: of those only what is named counts.
        named = [base for base in node.bases if isinstance(base, (ast.Name, ast.Attribute))]
        others = [base for base in node.bases if base not in named]
        self._reach.add(key, source, [*decorators, *others, *node.keywords, *rest], named)
        return _Shape(key, source, {one.name: one for one in members})

    def _hook_files(self, session: Any) -> tuple[list[str], list[str]]:
        """Files of hooks in the tree: conftests, which hold below their folder, and plugins, which hold everywhere."""
        conftests: list[str] = []
        plugins: list[str] = []
        for plugin in session.config.pluginmanager.get_plugins():
            file = getattr(plugin, "__file__", None) if inspect.ismodule(plugin) else None
            path = _realpath(file) if isinstance(file, str) else ""
            if path and self._reach.source(path) is not None:
                (conftests if os.path.basename(path) == "conftest.py" else plugins).append(path)
        return sorted(conftests), sorted(plugins)

    def _above_of(self, path: str) -> list[Key]:
        """What holds for every test of a file: its own set-up, packages around it, hooks above it."""
        if path not in self._above:
            keys = self._reach.special(path)
            for conftest in self._conftests:
                if path.startswith(os.path.dirname(conftest) + os.sep):
                    keys += self._reach.hooks(conftest)
            for plugin in self._plugins:
                keys += self._reach.hooks(plugin)
            folder = os.path.dirname(path)
            while folder.startswith(self._root):
                package = os.path.join(folder, "__init__.py")
                if not os.path.exists(package):
                    break
                keys += self._reach.effects(package)
                folder = os.path.dirname(folder)
            self._above[path] = keys
        return self._above[path]

    def _finish(self, code: _Code, path: str) -> None:
        reached = self._reach.closure(code.keys)
        units = [self._reach.unit(key) for key in reached]
        code.digest = _hash("\x1f".join([code.text, *sorted({unit.digest for unit in units})]))
        words = re.findall(r"\w+", code.text)  # of a doctest, which has no syntax tree here
        code.asks = sorted(sources.asking(words).union(*(unit.asks for unit in units)))
        files = {unit.path for unit in units if unit.path and unit.path != path}
        files = {file for file in files if os.path.basename(file) != "conftest.py"}
        code.files = sorted(self._place(file)[1] for file in files)


def _kind(item: Any) -> str:
    names = {cls.__name__ for cls in type(item).__mro__}
    if "DoctestItem" in names:
        return "doctest"
    if "TestCaseFunction" in names:
        return "unittest"
    return "function" if "Function" in names else "other"


def _original(item: Any, kind: str) -> str:
    if kind in ("doctest", "other"):
        return str(item.name)
    return str(getattr(item, "originalname", None) or item.name.partition("[")[0])


def _function_of(item: Any) -> Any:
    try:
        return getattr(item, "obj", None)
    except Exception:  # making the instance failed
        return None


def _parameters(item: Any) -> tuple[str, str]:
    """The item's parameters, and the marks that came with them, as text."""
    callspec = getattr(item, "callspec", None)
    if callspec is None:
        return "", ""
    params = ", ".join("%s=%s" % (name, _text(value)) for name, value in sorted(callspec.params.items()))
    return params, "\x1f".join(_text(mark) for mark in callspec.marks)


def _text(value: object) -> str:
    try:
        return _ADDRESS.sub("0x", repr(value))
    except Exception as broken:
        return "<repr() raised %s>" % type(broken).__name__


def _describe_doctest(code: _Code, item: Any) -> None:
    test = getattr(item, "dtest", None)
    docstring = getattr(test, "docstring", None) or ""
    code.text = inspect.cleandoc(docstring)
    first = (getattr(test, "lineno", None) or 0) + 1
    code.span = (first, first + docstring.count("\n"))


def _content(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return _hash(file.read().replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape"))
    except OSError:
        return ""


def _hash(text: str) -> str:
    return _blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
