"""Which names a change adds to the product, which it moves, and whose parameters it changes. Pure.

Belongs here: comparing two texts of the same product by their syntax. Does not belong here:
what a test makes of a missing name (reasons).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from repro_gate.gates.fail_to_pass.case import ProductFile
from repro_gate.model import Lenient

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True, slots=True)
class Surface:
    """The difference in importable names. Symbols are ``pkg.mod:name`` or ``pkg.mod:Class.name``.

    ``moved`` are symbols and modules of head whose definition base has in another place;
    ``signatures`` qualified names (``f``, ``Class.method``, ``Class``) that take other arguments.
    """

    packages: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    symbols: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    signatures: frozenset[str] = frozenset()

    def owns(self, module: str) -> bool:
        """Whether a module belongs to the product."""
        return module.partition(".")[0] in self.packages

    def new_name(self, name: str) -> bool:
        """Whether head defines this (possibly dotted) name somewhere and base does not."""
        return any(symbol.partition(":")[2] == name for symbol in self.symbols)

    def new_module(self, module: str) -> bool:
        """Whether head has this module and base does not."""
        return any(module == new or new.startswith(module + ".") for new in self.modules)

    def is_moved(self, name: str) -> bool:
        """Whether what has this bare name on head stands elsewhere on base."""
        return any(name in (moved, moved.partition(":")[2]) for moved in self.moved)

    def lenient(self, wanted: Iterable[tuple[str, str]] = ()) -> Lenient:
        """What base may lack. ``wanted`` are (module, name) that tests asked for: a package may
        pass on a new name that one of its modules defines."""
        passed_on = {f"{module}:{name}" for module, name in wanted if name and self.new_name(name)}
        return Lenient(modules=self.modules, symbols=self.symbols | passed_on)


def surface(files: Iterable[ProductFile], packages: frozenset[str]) -> Surface:
    """Compare base and head of the changed product files; the others have the same names on both."""
    files = tuple(files)
    base, head = _defined(files, "base"), _defined(files, "head")
    symbols = frozenset(head) - frozenset(base)
    gone: dict[str, list[str]] = {}
    for name in frozenset(base) - frozenset(head):
        gone.setdefault(base[name], []).append(name)
    moved = {name for name in symbols if any(_last(old) == _last(name) for old in gone.get(head[name], ()))}
    modules = frozenset(file.module for file in files if file.base is None and file.head is not None)
    for module in modules:
        own = {name for name in symbols if name.startswith(module + ":") and "." not in name.partition(":")[2]}
        if own and own <= moved:
            moved.add(module)
    return Surface(
        packages=packages | frozenset(_programs(files, packages)),
        modules=modules,
        symbols=symbols,
        moved=frozenset(moved),
        signatures=frozenset(_signatures(files)),
    )


def passed_on(file: ProductFile, names: Surface) -> frozenset[str]:
    """The names that head's file imports from a module of the product that has them on base, too.

    One that base's file imports under another name, and head's no longer does, is renamed and not passed on.
    """
    base, head = _imported(file, file.base), _imported(file, file.head)
    renamed = {base[name] for name in base.keys() - head.keys()}
    return frozenset(
        name
        for name, (module, symbol) in head.items()
        if (module, symbol) not in renamed
        and names.owns(module)
        and (module == file.module or f"{module}:{symbol}" not in names.symbols)
        and not {module, f"{module}.{symbol}"} & names.modules
    )


def _imported(file: ProductFile, text: str | None) -> dict[str, tuple[str, str]]:
    """What `from … import …` binds in a file, by name: module and symbol."""
    tree = parse(text)
    package = file.module.split(".")
    if not file.path.endswith("__init__.py"):
        package.pop()
    found = {}
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            found.update({alias.asname or alias.name: (module, alias.name) for alias in node.names})
    return found


def _programs(files: Iterable[ProductFile], packages: frozenset[str]) -> Iterator[str]:
    """Names of product outside of its packages: a program is imported from its folder, or from the top."""
    for file in files:
        parts = file.module.split(".")
        if packages and parts[0] not in packages:
            yield from parts


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Every function of a module with its qualified name, outer ones first."""
    yield from _functions(tree, "")


def parse(text: str | None) -> ast.Module | None:
    """The syntax of a source, or None where there is none that this Python can read."""
    if text is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Function]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            yield prefix + child.name, child
            yield from _functions(child, f"{prefix}{child.name}.<locals>.")
        elif isinstance(child, ast.ClassDef):
            yield from _functions(child, f"{prefix}{child.name}.")
        else:
            yield from _functions(child, prefix)


def _defined(files: Iterable[ProductFile], side: str) -> dict[str, str]:
    """Symbol -> the text of its definition, without positions."""
    found: dict[str, str] = {}
    for file in files:
        tree = parse(file.head if side == "head" else file.base)
        if tree is not None:
            found.update({f"{file.module}:{name}": definition for name, definition in _names(tree.body, "")})
    return found


def _names(body: Iterable[ast.stmt], prefix: str) -> Iterator[tuple[str, str]]:
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + statement.name, ast.dump(statement)
            if isinstance(statement, ast.ClassDef) and not prefix:
                yield from _names(statement.body, f"{statement.name}.")
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            for alias in statement.names:
                yield prefix + (alias.asname or alias.name.partition(".")[0]), ast.dump(statement)
        elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            for target in targets(statement):
                yield prefix + target, ast.dump(statement)
                yield from ((f"{prefix}{target}.{name}", name) for name in made_fields(statement) if not prefix)
        elif isinstance(statement, (ast.If, ast.Try, ast.With)):
            yield from _names(_inner(statement), prefix)


def _inner(statement: ast.If | ast.Try | ast.With) -> Iterator[ast.stmt]:
    yield from statement.body
    if isinstance(statement, ast.If | ast.Try):
        yield from statement.orelse
    if isinstance(statement, ast.Try):
        yield from statement.finalbody
        for handler in statement.handlers:
            yield from handler.body


def targets(statement: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    """The plain names that an assignment binds."""
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _signatures(files: Iterable[ProductFile]) -> Iterator[str]:
    for file in files:
        base, head = parse(file.base), parse(file.head)
        if base is None or head is None:
            continue
        before = {name: ast.dump(function.args) for name, function in functions(base)}
        for name, function in functions(head):
            if name in before and before[name] != ast.dump(function.args):
                yield name
                if name.endswith((".__init__", ".__new__")):
                    yield name.rpartition(".")[0]
        # A class that is made from its fields (dataclass, attrs, NamedTuple) takes what they say.
        fields = dict(_fields(base))
        for name, now in _fields(head):
            if name in fields and fields[name] != now:
                yield from (name, f"{name}.__init__", f"{name}.__new__")


def _fields(tree: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name, tuple(name for each in node.body for name in _field(each))
        elif isinstance(node, ast.Assign) and made_fields(node):
            yield from ((target, made_fields(node)) for target in targets(node))


def made_fields(statement: ast.stmt) -> tuple[str, ...]:
    """The fields of a named tuple that a call makes (``P = namedtuple("P", "x y")``), or none."""
    if not isinstance(statement, ast.Assign) or [type(each) for each in statement.targets] != [ast.Name]:
        return ()
    call = statement.value
    if not isinstance(call, ast.Call) or len(call.args) < 2:
        return ()
    if ast.unparse(call.func).rpartition(".")[2] not in ("namedtuple", "NamedTuple"):
        return ()
    try:
        fields = ast.literal_eval(call.args[1])
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        pairs = call.args[1].elts if isinstance(call.args[1], ast.List | ast.Tuple) else []
        firsts = [each.elts[0] for each in pairs if isinstance(each, ast.Tuple) and each.elts]
        fields = [each.value for each in firsts if isinstance(each, ast.Constant)]
    listed = fields.replace(",", " ").split() if isinstance(fields, str) else fields
    return tuple(map(str, listed)) if isinstance(listed, list | tuple) else ()


def _field(statement: ast.stmt) -> Iterator[str]:
    """The name of an annotated field, or of one that a call makes (``x = attr.ib()``)."""
    by_call = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)
    if isinstance(statement, ast.AnnAssign | ast.Assign) and (by_call or isinstance(statement, ast.AnnAssign)):
        yield from targets(statement)


def _last(name: str) -> str:
    return name.rpartition(":")[2].rpartition(".")[2]
