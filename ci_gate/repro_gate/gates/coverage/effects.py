"""What a statement does when it is executed: names that it binds and reads, and what else it may set off. Pure.

Belongs here: whether two statements of a module or class may change places. Does not belong here: which ones did
(units). What looks at the order of definitions itself (`__subclasses__`, line numbers) is not seen.
"""

from __future__ import annotations

import ast
import builtins
import enum
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

BUILTINS = frozenset(dir(builtins))
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ACCESSORS = frozenset({"setter", "getter", "deleter"})
# Modules whose classes take subclasses, and whose decorators take functions, without looking at what else there is.
_PLAIN_MODULES = frozenset({"abc", "collections", "contextlib", "dataclasses", "enum", "functools", "typing"})
_PLAIN_CALLS = frozenset(
    {"classmethod", "dict", "frozenset", "list", "object", "property", "range", "re.compile", "set", "staticmethod"}
    | {"threading.Lock", "threading.RLock", "tuple"}
)


class Effect(enum.IntEnum):
    """What executing a statement may set off beside binding names."""

    NOTHING = 0
    LOADS = 1  # imports: in any order among each other
    SUBCLASSES = 2  # a base class may note it
    RUNS = 3  # code that may do anything


@dataclass(frozen=True, kw_only=True)
class Doing:
    """What a statement does; ``defines``: it is a definition or an import, which cannot be read before it is there."""

    binds: frozenset[str]
    reads: frozenset[str]
    effect: Effect
    defines: bool

    @property
    def is_plain(self) -> bool:
        """Whether it is a definition that concerns only those who know a name of it."""
        return self.defines and self.effect is Effect.NOTHING and self.binds.isdisjoint(BUILTINS)


@dataclass(kw_only=True)
class Scope:
    """The names of a module: what each import means, and what each name is bound by.

    ``package`` is what a relative import starts from. ``star``: a name may come from anywhere.
    """

    module: str
    package: str
    bound: dict[str, list[ast.stmt]] = field(default_factory=dict)
    rebound: set[str] = field(default_factory=set)
    star: bool = False
    futures: frozenset[str] = frozenset()

    def meaning(self, name: str) -> tuple[str, ...]:
        """What a name stands for in this module: dotted names, or nothing for a builtin."""
        return tuple(self._by(statement, name) for statement in self.bound.get(name, ()))

    def _by(self, statement: ast.stmt, name: str) -> str:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return dict(targets(statement, self.package)).get(name, "")
        own = f"{self.module}.{name}"
        return own if isinstance(statement, (*_DEFINITIONS, ast.Assign, ast.AnnAssign)) else f"{own} in a block"

    def dotted(self, node: ast.expr) -> str:
        """What an expression like ``functools.wraps`` names, or nothing where that is not certain."""
        if isinstance(node, ast.Attribute):
            above = self.dotted(node.value)
            return f"{above}.{node.attr}" if above else ""
        if not isinstance(node, ast.Name) or self.star or node.id in self.rebound:
            return ""
        meant = self.meaning(node.id)
        if not meant:
            return node.id if node.id in BUILTINS else ""
        return meant[0] if len(meant) == 1 else ""


def scope_of(tree: ast.Module, module: str, *, is_package: bool) -> Scope:
    """The names of a parsed module."""
    scope = Scope(module=module, package=module if is_package else module.rpartition(".")[0])
    futures = set[str]()
    for statement in tree.body:
        for name in binds(statement):
            scope.bound.setdefault(name, []).append(statement)
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            futures.update(alias.name for alias in statement.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            scope.rebound.update(node.names)
        scope.star |= isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    scope.futures = frozenset(futures)
    return scope


def targets(statement: ast.Import | ast.ImportFrom, package: str) -> Iterator[tuple[str, str]]:
    """The names that an import binds, and what each stands for."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            first = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (first, first)
        return
    above = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
    source = ".".join(part for part in (*above, statement.module or "") if part)
    for alias in statement.names:
        yield alias.asname or alias.name, f"{source}.{alias.name}"


def binds(statement: ast.AST) -> frozenset[str]:
    """The names that executing a statement binds in its own scope."""
    found = set[str]()
    for node in _executed(statement, into_classes=False):
        if isinstance(node, _DEFINITIONS):
            found.add(node.name)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(name for name, _ in targets(node, ""))
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            found.add(node.rest)
    return frozenset(found)


def doing(statement: ast.stmt, scope: Scope) -> Doing:
    """What executing a statement of this module, or of a class in it, does."""
    reads = {
        node.id
        for node in _executed(statement, into_classes=True, annotations="annotations" not in scope.futures)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    if isinstance(statement, ast.AugAssign):
        reads |= binds(statement)
    return Doing(
        binds=binds(statement),
        reads=frozenset(reads),
        effect=max((_effect(node, scope) for node in _executed(statement, into_classes=True)), default=Effect.NOTHING),
        defines=isinstance(statement, (*_DEFINITIONS, ast.Import, ast.ImportFrom)),
    )


def may_not_change_places(one: Doing, other: Doing, *, in_class: bool) -> bool:
    """Whether it may matter which of two statements comes first.

    A name that is read before it is bound is a NameError as the module is imported, which no test misses; so a call of
    something unknown may stand before or after a definition, unless that one hides a builtin.
    """
    if one.binds & (other.binds | other.reads) or one.reads & other.binds:
        return True
    low, high = sorted((one.effect, other.effect))
    if (high is Effect.RUNS and low is not Effect.NOTHING) or low is Effect.SUBCLASSES:
        return True
    if in_class:  # the order of fields and members is what a dataclass or an enumeration is made of
        return not one.defines and not other.defines
    runs, still = (one, other) if one.effect is Effect.RUNS else (other, one)
    return runs.effect is Effect.RUNS and bool(still.binds) and (not still.defines or bool(still.binds & BUILTINS))


def _executed(node: ast.AST, *, into_classes: bool, annotations: bool = True) -> Iterator[ast.AST]:
    """What of a statement is evaluated when it is executed: of a function what its `def` needs, not its body."""
    yield node
    below: list[ast.AST | None]
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            below = [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]
            if annotations:
                arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                below += [each.annotation for each in (*arguments, node.args.vararg, node.args.kwarg) if each]
                below.append(node.returns)
        case ast.Lambda():
            below = [*node.args.defaults, *node.args.kw_defaults]
        case ast.ClassDef():
            keywords = [keyword.value for keyword in node.keywords]
            below = [*node.decorator_list, *node.bases, *keywords, *(node.body if into_classes else ())]
        case _:
            below = list(ast.iter_child_nodes(node))
    for each in below:
        if each is not None:
            yield from _executed(each, into_classes=into_classes, annotations=annotations)


def _effect(node: ast.AST, scope: Scope) -> Effect:
    match node:
        case ast.ImportFrom(names=[ast.alias(name="*")]) | ast.ImportFrom(module="__future__"):
            return Effect.RUNS
        case ast.Import() | ast.ImportFrom():
            return Effect.LOADS
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            plain = all(_is_plain(each, scope) or _is_accessor(each) for each in node.decorator_list)
            return Effect.NOTHING if plain else Effect.RUNS
        case ast.ClassDef():
            if not all(_is_plain(each, scope) for each in node.decorator_list):
                return Effect.RUNS
            plain = not node.keywords and all(_is_plain_base(each, scope, frozenset()) for each in node.bases)
            return Effect.NOTHING if plain else Effect.SUBCLASSES
        case ast.Call():
            return Effect.NOTHING if _is_plain(node, scope) else Effect.RUNS
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return Effect.RUNS
        case ast.Await() | ast.Delete() | ast.Raise() | ast.Assert() | ast.With() | ast.AsyncWith() | ast.For():
            return Effect.RUNS
        case ast.AugAssign() | ast.While() | ast.Yield() | ast.YieldFrom():
            return Effect.RUNS
        case _:
            return Effect.NOTHING


def _is_plain(node: ast.expr, scope: Scope) -> bool:
    """Whether calling it, or decorating by it, is known to set off nothing else."""
    named = scope.dotted(node.func if isinstance(node, ast.Call) else node)
    return named in _PLAIN_CALLS or _of_library(named)


def _is_accessor(node: ast.expr) -> bool:
    """``@name.setter``: it reads the name, which is a property by then."""
    return isinstance(node, ast.Attribute) and node.attr in _ACCESSORS and isinstance(node.value, ast.Name)


def _is_plain_base(node: ast.expr, scope: Scope, seen: frozenset[str]) -> bool:
    """Whether a base class takes no note of its subclasses: a builtin, one of the library, or such a one of here."""
    if isinstance(node, ast.Subscript):
        node = node.value
    named = scope.dotted(node)
    if _of_library(named) or (named in BUILTINS and isinstance(getattr(builtins, named), type)):
        return True
    if not isinstance(node, ast.Name) or node.id in seen or not named:
        return False
    (here,) = scope.bound[node.id]
    if not isinstance(here, ast.ClassDef) or here.keywords or here.decorator_list:
        return False
    hooked = any(isinstance(each, _FUNCTIONS) and each.name == "__init_subclass__" for each in ast.walk(here))
    return not hooked and all(_is_plain_base(each, scope, seen | {node.id}) for each in here.bases)


def _of_library(named: str) -> bool:
    first, _, rest = named.partition(".")
    return bool(rest) and first in _PLAIN_MODULES and first in sys.stdlib_module_names


def free_names(node: ast.AST) -> Mapping[str, None]:
    """Every name that a definition reads anywhere in it, its own ones among them."""
    return dict.fromkeys(
        each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    )
