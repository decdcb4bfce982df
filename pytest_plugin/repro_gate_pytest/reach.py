"""What code of tests reaches: helpers, constants and fixtures in test files, followed from name to name.

Belongs here: following a name through the imports of test files, and a digest of each thing found.
Product code is where following stops: that a test calls it is in the test, what it does is not.
A unit is a statement, a function, or a whole file; digests do not depend on where it stands, so a
file that is moved keeps them.
"""

from __future__ import annotations

import ast
import builtins
import copy
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from repro_gate_pytest import sources
from repro_gate_pytest.sources import FunctionNode, Source

_realpath = os.path.realpath
_BUILTINS = frozenset(dir(builtins))

Key = tuple[str, ...]

# Names that pytest or unittest look for in a test file.
SPECIAL = (
    *("pytestmark", "pytest_plugins", "setup_module", "teardown_module", "setUpModule", "tearDownModule"),
    *("setup_function", "teardown_function", "load_tests"),
)
# ... and in a test class, whatever its tests name.
ALWAYS = frozenset(
    [
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown", "setUpTestData"),
        *("setup_method", "teardown_method", "setup_class", "teardown_class", "setup", "teardown", "__init__"),
        *("run", "runTest", "id", "shortDescription", "__getattr__", "__getattribute__", "__init_subclass__"),
    ]
)


class Unit:
    """Something that can change, the keys of what it names in turn, and what it asks about code and files."""

    __slots__ = ("asks", "digest", "needs", "path")

    def __init__(self, digest: str, needs: Iterable[Key], path: str, asks: frozenset[str] = frozenset()) -> None:
        self.digest = digest
        self.needs = frozenset(needs)
        self.path = path
        self.asks = asks


class Reach:
    """The test files of one process, read once. ``follow`` says whether a file is one."""

    def __init__(self, follow: Callable[[str], bool]) -> None:
        self._follow = follow
        self._sources: dict[str, Source | None] = {}
        self._units: dict[Key, Unit] = {}
        self._closures: dict[Key, frozenset[Key]] = {}
        self._paths: dict[str, str] = {}  # module name -> file, of files that are followed
        self._names: dict[str, str] = {}  # file -> module name
        self._reals: dict[str, str] = {}
        for name, module in list(sys.modules.items()):
            file = _file_of(module)
            if file and file.endswith(".py") and follow(file):
                self._paths[name] = _realpath(file)
                self._names.setdefault(_realpath(file), name)

    # -- files ------------------------------------------------------------------------------

    def source(self, path: str) -> Source | None:
        """The parsed file, or None where it is not followed or cannot be read."""
        if path not in self._sources:
            self._sources[path] = self._parse(path)
        return self._sources[path]

    def _parse(self, path: str) -> Source | None:
        if not path.endswith(".py") or not self._follow(path):
            return None
        try:
            with open(path, "rb") as file:
                return Source(path, file.read())
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None

    def function(self, function: Any) -> tuple[Source, FunctionNode] | None:
        """Where a function is defined, if that is a test file."""
        code = getattr(unwrapped(function), "__code__", None)
        if code is None:
            return None
        source = self.source(self._real(code.co_filename))
        node = source.functions.get((code.co_name, code.co_firstlineno)) if source else None
        return (source, node) if source is not None and node is not None else None

    def _real(self, filename: str) -> str:
        if filename not in self._reals:
            self._reals[filename] = _realpath(filename)
        return self._reals[filename]

    def path_of_class(self, cls: type) -> str:
        """The file that a class is from, if it is followed."""
        return self._paths.get(cls.__module__, "")

    # -- units ------------------------------------------------------------------------------

    def add(self, key: Key, source: Source, nodes: Iterable[ast.AST], unfollowed: Iterable[ast.AST] = ()) -> Key:
        """Make a unit of nodes of one file; what ``unfollowed`` ones name is left to the caller."""
        if key not in self._units:
            nodes = list(nodes)
            needs, asks = self._needs(source, nodes)
            self._units[key] = Unit(sources.digest([*nodes, *unfollowed]), needs, source.path, asks)
        return key

    def body(self, source: Source, node: FunctionNode, decorators: Iterable[ast.AST], *extra: str) -> Key:
        """The unit of a test or fixture, with these decorators: its name and its docstring may change."""
        key = ("body", source.path, node.name, str(node.lineno), *extra)
        if key not in self._units:
            decorators = list(decorators)
            parts: list[ast.AST] = [*decorators, node.args, *sources.without_docstring(node.body)]
            parts += [node.returns] if node.returns is not None else []
            # Names are read from a whole function, whose scope decides which are its own.
            whole = copy.copy(node)
            whole.decorator_list = decorators  # type: ignore[assignment]
            text = sources.digest(parts, type(node).__name__, *extra)
            needs, asks = self._needs(source, [whole])
            self._units[key] = Unit(text, needs, source.path, asks)
        return key

    def special(self, path: str) -> list[Key]:
        """What of a file concerns each of its tests."""
        source = self.source(path)
        if source is None:
            return []
        found = [("name", path, name) for name in SPECIAL if name in source.bindings or name in source.imports]
        return [*found, *self.effects(path)]

    def effects(self, path: str) -> list[Key]:
        """What importing a file does besides defining things."""
        source = self.source(path)
        statements = source.effects() if source is not None else []
        if source is None or not statements:
            return []
        return [self.add(("effects", path), source, statements)]

    def hooks(self, path: str) -> list[Key]:
        """The hooks of a conftest or plugin file, and what importing it does."""
        source = self.source(path)
        if source is None:
            return []
        names = [name for name in (*source.bindings, *source.imports) if name.startswith(("pytest_", "collect_ignore"))]
        return [*(("name", path, name) for name in names), *self.effects(path)]

    def everything(self, path: str) -> Key:
        """The unit of a whole file."""
        return ("all", path)

    def closure(self, keys: Iterable[Key]) -> set[Key]:
        """These units and all that they reach."""
        found: set[Key] = set()
        for key in keys:
            found |= self._closure(key)
        return found

    def _closure(self, key: Key) -> frozenset[Key]:
        known = self._closures.get(key)
        if known is None:
            seen = {key}
            queue = [key]
            while queue:
                for need in self.unit(queue.pop()).needs:
                    if need in seen:
                        continue
                    if need in self._closures:
                        seen |= self._closures[need]
                    else:
                        seen.add(need)
                        queue.append(need)
            known = self._closures[key] = frozenset(seen)
        return known

    def unit(self, key: Key) -> Unit:
        """The unit of a key."""
        known = self._units.get(key)
        if known is None:
            known = self._units[key] = self._make(key)
        return known

    def _make(self, key: Key) -> Unit:
        if key[0] == "outside":
            return Unit("import " + key[1], (), "", sources.asking(key[1].replace(":", ".").split(".")))
        source = self.source(key[1])
        if source is None:
            return Unit("unread", (), "")
        if key[0] == "all":
            needs = {target for entry in source.imports.values() for target in self._imported(source, *entry)}
            needs |= {target for star in source.stars for target in self._imported(source, *star, "*")}
            return Unit(sources.digest([source.tree]), needs, source.path, sources.asks_of([source.tree]))
        statements = source.bindings.get(key[2], [])
        unique = list({id(statement): statement for statement in statements}.values())
        needs, asks = self._needs(source, unique)
        if key[2] in source.imports:
            needs |= self._imported(source, *source.imports[key[2]])
        elif not unique:
            needs |= self._from_stars(source, key[2])
        return Unit(sources.digest(unique), needs, source.path if unique else "", asks)

    # -- names ------------------------------------------------------------------------------

    def _needs(self, source: Source, nodes: Iterable[ast.AST]) -> tuple[set[Key], frozenset[str]]:
        """The keys of what nodes name, and what they ask about code and files."""
        nodes = list(nodes)
        found: set[Key] = set()
        chains, mentions = sources.reads(nodes), sources.Mentions(nodes)
        for chain in chains:
            found |= self._read(source, chain)
        for entry in mentions.imports:
            found |= self._imported(source, *entry)
        return found, sources.asks(chains, mentions)

    def _read(self, source: Source, chain: sources.Chain) -> set[Key]:
        name = chain[0]
        if name in source.imports:
            found = self._through_module(source, chain)
            if found is None:
                found = self._imported(source, *source.imports[name])
            if name in source.bindings:
                found.add(("name", source.path, name))
            return found
        if name in source.bindings:
            return {("name", source.path, name)}
        return set() if name in _BUILTINS else self._from_stars(source, name)

    def _through_module(self, source: Source, chain: sources.Chain) -> set[Key] | None:
        """What ``helpers.make`` names, where ``helpers`` is a module; None where it is none."""
        level, module, symbol = source.imports[chain[0]]
        absolute = self._absolute(source, level, module)
        if symbol:
            absolute = "%s.%s" % (absolute, symbol) if absolute else symbol
            if absolute not in sys.modules:
                return None
        rest = list(chain[1:])
        while rest and "%s.%s" % (absolute, rest[0]) in sys.modules:
            absolute = "%s.%s" % (absolute, rest.pop(0))
        path = self._paths.get(absolute)
        if path is None:
            return {("outside", absolute)}
        return {("name", path, rest[0])} if rest else {("all", path)}

    def _imported(self, source: Source, level: int, module: str, symbol: str) -> set[Key]:
        absolute = self._absolute(source, level, module)
        below = "%s.%s" % (absolute, symbol) if absolute else symbol
        if symbol and below in self._paths:
            return {("all", self._paths[below])}
        path = self._paths.get(absolute)
        if path is None:
            return {("outside", "%s:%s" % (absolute, symbol))}
        return {("all", path) if symbol in ("", "*") else ("name", path, symbol)}

    def _from_stars(self, source: Source, name: str) -> set[Key]:
        found: set[Key] = set()
        for level, module in source.stars:
            path = self._paths.get(self._absolute(source, level, module))
            if path is not None and path != source.path:
                found.add(("all", path))
        return found

    def _absolute(self, source: Source, level: int, module: str) -> str:
        if not level:
            return module
        package = self._names.get(source.path, "")
        if not source.path.endswith("__init__.py"):
            package = package.rpartition(".")[0]
        for _ in range(level - 1):
            package = package.rpartition(".")[0]
        return "%s.%s" % (package, module) if package and module else package or module


def unwrapped(function: Any) -> Any:
    """The innermost function of bound methods, partials and well-behaved wrappers."""
    for _ in range(100):
        inner = (
            getattr(function, "__func__", None)
            or getattr(function, "__wrapped__", None)
            or (getattr(function, "func", None) if type(function).__name__.startswith("partial") else None)
        )
        if inner is None or inner is function:
            break
        function = inner
    return function


def _file_of(module: Any) -> str:
    try:
        file = object.__getattribute__(module, "__dict__").get("__file__")
    except Exception:  # something else than a module is in sys.modules
        return ""
    return file if isinstance(file, str) else ""
