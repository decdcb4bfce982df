"""A test file as a graph: its statements, what each binds, and which names each reads.

Belongs here: syntax trees of one file, and comparing them without positions, comments or layout.
Following a name into another file is for ``reach``.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, Union

_blake2b = hashlib.blake2b
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_IGNORED = frozenset({"kind", "type_comment", "ctx", "type_ignores"})

FunctionNode = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Chain = tuple[str, ...]  # a name and the attributes read from it: helpers.make -> ("helpers", "make")


class Source:
    """One parsed file."""

    def __init__(self, path: str, text: bytes) -> None:
        self.path = path
        self.tree = ast.parse(text)
        self.bindings: dict[str, list[ast.stmt]] = {}
        self.imports: dict[str, tuple[int, str, str]] = {}  # name -> level, module, symbol ("" for a module)
        self.stars: list[tuple[int, str]] = []
        self.imported_modules: list[tuple[int, str]] = []
        self.functions: dict[tuple[str, int], FunctionNode] = {}
        self.classes: dict[str, ast.ClassDef] = {}
        for statement in self.tree.body:
            self._bind(statement, statement)
        self._index(self.tree, "")

    def _bind(self, node: ast.stmt, statement: ast.stmt) -> None:
        """Note what ``node``, at or below the top-level ``statement``, binds in the module."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            self._bind_import(node)
            return
        if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            self.bindings.setdefault(node.name, []).append(statement)
            return
        for name in _stored(node):
            self.bindings.setdefault(name, []).append(statement)
        for child in _children(node):
            if isinstance(child, ast.stmt):
                self._bind(child, statement)
            elif isinstance(child, ast.ExceptHandler):
                for inner in child.body:
                    self._bind(inner, statement)

    def _bind_import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                self.imports[name] = (0, alias.name if alias.asname else name, "")
                self.imported_modules.append((0, alias.name))
            return
        module = node.module or ""
        for alias in node.names:
            if alias.name == "*":
                self.stars.append((node.level, module))
            else:
                self.imports[alias.asname or alias.name] = (node.level, module, alias.name)

    def _index(self, node: ast.AST, prefix: str) -> None:
        for child in _children(node):
            if isinstance(child, _FUNCTIONS):
                first = min([child.lineno, *(decorator.lineno for decorator in child.decorator_list)])
                self.functions[child.name, first] = child
                self._index(child, "%s%s.<locals>." % (prefix, child.name))
            elif isinstance(child, ast.ClassDef):
                self.classes[prefix + child.name] = child
                self._index(child, "%s%s." % (prefix, child.name))
            elif isinstance(child, (ast.stmt, ast.ExceptHandler)):
                self._index(child, prefix)

    def effects(self) -> list[ast.stmt]:
        """Top-level statements that do something besides binding plain names."""
        return [statement for statement in self.tree.body if _acts(statement)]


def _acts(statement: ast.stmt) -> bool:
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.ClassDef, *_FUNCTIONS)):
        return False
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return any(isinstance(part, (ast.Subscript, ast.Attribute)) for t in targets for part in ast.walk(t))
    if isinstance(statement, (ast.If, ast.Try)):
        parts: list[ast.stmt] = [*statement.body, *statement.orelse, *getattr(statement, "finalbody", [])]
        for handler in getattr(statement, "handlers", []):
            parts += handler.body
        return any(_acts(part) for part in parts)
    return not isinstance(statement, ast.Pass)


def digest(nodes: Iterable[ast.AST], *extra: str) -> str:
    """A hash of what the nodes say, without where and how they are written."""
    parts: list[str] = list(extra)
    for node in nodes:
        _write(node, parts)
        parts.append("\x1e")
    return _blake2b("\x1f".join(parts).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _write(node: Any, parts: list[str]) -> None:
    if isinstance(node, ast.AST):
        parts.append(type(node).__name__)
        for field in node._fields:
            value = getattr(node, field, None)
            if value is None or field in _IGNORED:
                if field == "value" and isinstance(node, ast.Constant):
                    parts.append("None")
                continue
            parts.append(field)
            _write(value, parts)
    elif isinstance(node, list):
        parts.append("[")
        for element in node:
            _write(element, parts)
        parts.append("]")
    else:
        parts.append(type(node).__name__)
        parts.append(repr(node))


def without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    """A body without the sentence that describes it."""
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return body[1:]
    return body


def reads(nodes: Iterable[ast.AST]) -> frozenset[Chain]:
    """The free names that nodes read, each with the attributes that are read from it."""
    found: set[Chain] = set()
    for node in nodes:
        _reads(node, frozenset(), found)
    return frozenset(found)


# What a test may ask about code and files instead of running the one and having the other read.
_ASKS = {
    # The last ones show whatever there is, docstrings among it.
    "docs": (
        *("__doc__", "getdoc", "pydoc", "render_doc"),
        *("__dict__", "getmembers", "getmembers_static", "attrgetter", "__getattribute__"),
    ),
    "annotations": (
        *("__annotations__", "get_annotations", "get_type_hints", "annotation", "return_annotation"),
        *("__signature__", "getfullargspec"),
    ),
    "code": ("__code__", "getsourcelines", "findsource", "get_instructions", "Bytecode", "dis", "disassemble"),
    "files": (
        *("exists", "isfile", "isdir", "is_file", "is_dir", "is_resource", "stat", "lstat", "getsize", "access"),
        *("listdir", "scandir", "iterdir", "glob", "iglob", "rglob", "walk", "files", "contents"),
    ),
}
_SHOWING = frozenset({"help", "vars", "dir"})
# Of these modules alone: others have something of the name, too.
_ASKED_OF = {"inspect": (frozenset({"signature", "Signature"}), "annotations"), "builtins": (_SHOWING, "docs")}
_KINDS = {name: kind for kind, names in _ASKS.items() for name in names}


class Mentions:
    """What a piece of code mentions besides the names it reads, found in one walk.

    ``members`` are attribute names and plain strings: what may name a member of a class.
    ``fixtures`` are names given to ``getfixturevalue`` as they stand, ``imports`` level, module and
    symbol (empty for the module itself); ``by_any_name``: an attribute is read whose name is made as the code runs.
    """

    __slots__ = ("by_any_name", "fixtures", "imports", "members")

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        members: set[str] = set()
        self.by_any_name = False
        self.fixtures: set[str] = set()
        self.imports: set[tuple[int, str, str]] = set()
        queue = list(nodes)
        while queue:
            node = queue.pop()
            if isinstance(node, ast.Attribute):
                members.add(node.attr)
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str) and node.value.isidentifier():
                    members.add(node.value)
                continue
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Import):
                self.imports.update((0, alias.name, "") for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                self.imports.update((node.level, node.module or "", alias.name) for alias in node.names)
            queue += _children(node)
        self.members = frozenset(members)

    def _call(self, call: ast.Call) -> None:
        if isinstance(call.func, ast.Name) and call.func.id == "getattr" and len(call.args) > 1:
            self.by_any_name |= not isinstance(call.args[1], ast.Constant)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "getfixturevalue" and call.args:
            first = call.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                self.fixtures.add(first.value)


def asks(chains: Iterable[Chain], mentions: Mentions) -> frozenset[str]:
    """What code asks for by what it reads and mentions; see ``asking``."""
    named = {name for chain in chains for name in chain}
    named.update(name for _, *names in mentions.imports for name in names)
    shown = mentions.by_any_name or any(len(chain) == 1 and chain[0] in _SHOWING for chain in chains)
    shows = frozenset(["docs"]) if shown else frozenset()
    return asking(named | mentions.members) | shows


def asking(names: Iterable[str]) -> frozenset[str]:
    """What such names ask for: ``docs``, ``annotations``, ``code`` (objects) or ``files`` (which are there)."""
    names = set(names)
    kinds = {"code" if name.startswith("co_") else _KINDS.get(name, "") for name in names}
    kinds.update(kind for module, (asked, kind) in _ASKED_OF.items() if module in names and names & asked)
    return frozenset(kinds - {""})


def asks_of(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """The same of syntax trees."""
    nodes = list(nodes)
    return asks(reads(nodes), Mentions(nodes))


def _children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below; several times as fast as ``ast.iter_child_nodes``, which matters here."""
    found: list[ast.AST] = []
    for value in node.__dict__.values():
        if value.__class__ is list:
            found += [element for element in value if isinstance(element, ast.AST)]
        elif isinstance(value, ast.AST) and value.__dict__:  # contexts and operators hold nothing
            found.append(value)
    return found


def plain_parameters(decorator: ast.AST) -> bool:
    """Whether it is a ``parametrize`` of literals alone: then each item's own values say all of it."""
    if not isinstance(decorator, ast.Call):
        return False
    chain = _chain(decorator.func) if isinstance(decorator.func, ast.Attribute) else None
    if chain is None or chain[-2:] != ("mark", "parametrize"):
        return False
    return all(_literal(part) for part in (*decorator.args, *decorator.keywords))


def without_plain_parameters(decorator: ast.expr) -> list[ast.AST]:
    """A fixture's decorator without ``params`` that are literals: each item's own value says it."""
    if not isinstance(decorator, ast.Call):
        return [decorator]
    keep = [word for word in decorator.keywords if word.arg not in ("params", "ids") or not _literal(word)]
    return [decorator.func, *decorator.args, *keep]


def _literal(node: ast.AST) -> bool:
    return all(
        not isinstance(inner, (ast.Name, ast.Lambda, ast.JoinedStr, *_COMPREHENSIONS))
        or (isinstance(inner, ast.Name) and inner.id == "pytest")
        for inner in ast.walk(node)
    )


def _reads(node: ast.AST, bound: frozenset[str], found: set[Chain]) -> None:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in bound:
            found.add((node.id,))
        return
    if isinstance(node, ast.Attribute):
        chain = _chain(node)
        if chain is not None:
            if chain[0] not in bound:
                found.add(chain)
            return
    if isinstance(node, _SCOPES):
        _reads_scope(node, bound, found)
        return
    if isinstance(node, _COMPREHENSIONS):
        inner = bound | {name for generator in node.generators for name in _stored(generator.target)}
        for child in _children(node):
            _reads(child, inner, found)
        return
    for child in _children(node):
        _reads(child, bound, found)


def _reads_scope(node: Any, bound: frozenset[str], found: set[Chain]) -> None:
    arguments = node.args
    outside: list[ast.AST] = [*arguments.defaults, *(d for d in arguments.kw_defaults if d is not None)]
    outside += getattr(node, "decorator_list", [])
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    outside += [one.annotation for one in every if one.annotation is not None]
    if getattr(node, "returns", None) is not None:
        outside.append(node.returns)
    for part in outside:
        _reads(part, bound, found)
    body = node.body if isinstance(node.body, list) else [node.body]
    own, shared = _locals(body)
    inner = (bound | own | {one.arg for one in every}) - shared
    for statement in body:
        _reads(statement, inner, found)


def _locals(body: list[Any]) -> tuple[set[str], set[str]]:
    """The names that a function's body binds for itself, and those it declares global."""
    own: set[str] = set()
    shared: set[str] = set()
    queue: list[ast.AST] = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, ast.Global):
            shared.update(node.names)
        elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
            own.add(node.name)
            continue
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            own.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            own.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            own.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, (ast.Lambda, *_COMPREHENSIONS)):
            continue
        queue.extend(_children(node))
    return own, shared


def _stored(node: ast.AST) -> Iterator[str]:
    """Names that a node binds by itself, not by the statements below it."""
    queue: list[ast.AST] = [node]
    while queue:
        current = queue.pop()
        if isinstance(current, ast.Name) and isinstance(current.ctx, (ast.Store, ast.Del)):
            yield current.id
        elif type(current).__name__ in ("MatchAs", "MatchStar") and getattr(current, "name", None):
            yield str(getattr(current, "name", ""))
        queue.extend(
            child for child in _children(current) if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.Lambda))
        )


def _chain(node: ast.Attribute) -> Chain | None:
    names = [node.attr]
    current: ast.AST = node.value
    while isinstance(current, ast.Attribute):
        names.append(current.attr)
        current = current.value
    if not isinstance(current, ast.Name):
        return None
    return (current.id, *reversed(names))
