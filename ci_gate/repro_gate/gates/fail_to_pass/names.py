"""Base with head's names: what a test that only looks whether a name is there cannot tell from head. Pure.

Belongs here: one product file's base with the functions, classes, attributes, parameters and
constants that only head has, hollow, and all else as base has it. Does not belong here: head
without its bodies (hollow), and running either. Lines do not keep their numbers.
"""

from __future__ import annotations

import ast
import copy
import io
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from repro_gate.gates.fail_to_pass.hollow import Elsewhere, Filling, is_only_declared, real_body, stand_in
from repro_gate.gates.fail_to_pass.symbols import Function, made_fields, parse, targets

# They name the module's version, authors and exports: saying them is what they do.
_SAYS = re.compile(
    r"__(all|authors?|copyright|date|email|license|title)__$|_{0,2}version(_info|_tuple)?_{0,2}$", re.IGNORECASE
)
_EXPORTS = "__all__"
# Stands for a constant: it equals nothing, and a test that stumbles over it tells its name.
NO_VALUE = "NoValue"
_OBJECT = f"type({NO_VALUE!r}, (), {{}})()"
# Stands for what a module passes on: it can be called, caught and asked for its instances, and none of it leads
# anywhere.
_PASSED_ON = f"type({NO_VALUE!r}, (Exception,), {{'__new__': lambda *_, **__: {_OBJECT}}})"
_Said = (ast.Assign, ast.AnnAssign)
_CLOSED = re.compile(r"Enum|Flag|TypedDict|NamedTuple|Protocol")
# A name that a base class has was there before: overriding it is behaviour.
_STRIP = """\
for _name in {names!r}:
    try:
        if any(_name in vars(_base) for _base in {owner}.__mro__[1:]):
            delattr({owner}, _name)
    except Exception:
        pass
"""
# A class that is made from its fields keeps what it is given: that is what a new field does. It takes it, and no more.
_TAKE = """\
for _name in {names!r}:
    try:
        _fields = list(getattr({owner}, "__dataclass_fields__", ()))
        _fields += [_each.name for _each in getattr({owner}, "__attrs_attrs__", ())]
        if _name in _fields:
            setattr({owner}, _name, property(lambda _self, _kept={kept}: _kept, lambda _self, _value: None))
    except Exception:
        pass
"""
# Named tuples and pydantic's models keep it out of the reach of properties: there it is exchanged once they are made.
_EXCHANGE = """\
def _exchange(_owner, _names, _kept):
    def _new(_cls, *_by, _plain=_owner.__new__, **_named):
        _values = zip(_cls._fields, _plain(_cls, *_by, **_named))
        return tuple.__new__(_cls, [_kept if _name in _names else _value for _name, _value in _values])

    def _init(_self, *_by, _plain=_owner.__init__, **_named):
        _plain(_self, *_by, **_named)
        vars(_self).update(dict.fromkeys(_names & set(vars(_self)), _kept))

    try:
        if issubclass(_owner, tuple):
            _owner.__new__ = staticmethod(_new)
        elif hasattr(_owner, "__pydantic_fields__") or hasattr(_owner, "__fields__"):
            _owner.__init__ = _init
    except Exception:
        pass


_exchange({owner}, frozenset({names!r}), {kept})
del _exchange
"""


def with_names(
    base: str | None,
    head: str | None,
    *,
    keep_calls: bool = False,
    elsewhere: Elsewhere | None = None,
    passed_on: Collection[str] = (),
) -> str | None:
    """Base's source with head's names; None where head adds none, or there is no syntax.

    New constants become objects that equal nothing, and so do names that are ``passed_on`` from another module of base;
    with ``keep_calls`` only what is written as a value, since an import may need the others. What base has
    ``elsewhere`` is as it is there.
    """
    after, before = parse(head), parse(base if base is not None else "")
    if after is None or before is None:
        return None
    plain = ast.dump(before)
    merger = _Merger(_Hollow(keep_calls, elsewhere or Elsewhere(), passed_on))
    before.body = merger.merge(before.body, after.body, "")
    if ast.dump(before) == plain and base is not None:
        return None
    try:
        text = ast.unparse(ast.fix_missing_locations(before)) + "\n"
    except (ValueError, RecursionError):
        return None
    return text if parse(text) is not None else None


def with_sayings(base: str | None, head: str | None) -> str | None:
    """Base's source with what head's says of its version, authors and the like; None where they say the same.

    What a module exports is behaviour: a star import does it.
    """
    before, after = parse(base), parse(head)
    if before is None or after is None or base is None:
        return None
    twins = {name: each for each in after.body if isinstance(each, _Said) for name in defined(each)}
    lines = list(io.StringIO(base, newline=""))
    told = False
    begin = Counter(each.lineno for each in before.body)
    for old in reversed([each for each in before.body if isinstance(each, _Said) and begin[each.lineno] == 1]):
        names = list(defined(old))
        new = twins.get(names[0]) if names else None
        told_by = new is not None and _EXPORTS not in names and all(map(_SAYS.match, names))
        if new is not None and told_by and ast.dump(new) != ast.dump(old):
            lines[old.lineno - 1 : old.end_lineno] = [ast.unparse(new) + "\n"]
            told = True
    text = "".join(lines)
    return text if told and parse(text) is not None else None


class _Merger:
    def __init__(self, emptier: _Hollow) -> None:
        self._emptier = emptier

    def merge(self, base: Sequence[ast.stmt], head: Sequence[ast.stmt], owner: str) -> list[ast.stmt]:
        """Base's statements, and before the next one that both have, head's new ones."""
        known = {name for statement in base for name in defined(statement)}
        twins = {name: statement for statement in head for name in defined(statement)}
        news: dict[str, list[ast.stmt]] = {}  # by the name that they stand before
        waiting: list[ast.stmt] = []
        for statement in _apart(head, known):
            names = list(defined(statement))
            if names and not known & set(names):
                waiting.append(self._emptier.emptied(statement, owner))
            elif names and waiting:
                shared = next(name for name in names if name in known)
                news.setdefault(shared, []).extend(waiting)
                waiting = []
        merged: list[ast.stmt] = []
        for statement in base:
            names = list(defined(statement))
            for name in names:
                merged += news.pop(name, [])
            if names == [_EXPORTS] and _EXPORTS in twins:
                merged.append(_exporting(statement, twins[_EXPORTS], known))
            else:
                merged += self._changed(statement, twins.get(names[0]) if names else None, owner)
        # An empty body of base says `pass`; what is added does not mind.
        return [*merged, *waiting]

    def _changed(self, base: ast.stmt, head: ast.stmt | None, owner: str) -> Iterator[ast.stmt]:
        """A statement of base, with what head adds inside of it."""
        if isinstance(base, ast.ClassDef) and isinstance(head, ast.ClassDef):
            yield from self._class(base, head, owner)
        elif isinstance(base, Function) and isinstance(head, Function):
            base.args = _parameters(base.args, head.args)
            yield base
        elif isinstance(head, ast.Assign | ast.AnnAssign) and all(map(_SAYS.match, defined(base))):
            yield head
        else:
            yield from _tuple(base, head)

    def _class(self, base: ast.ClassDef, head: ast.ClassDef, owner: str) -> Iterator[ast.stmt]:
        own = {name for statement in base.body for name in defined(statement)}
        new = [name for statement in head.body for name in defined(statement) if name not in own]
        qualified = f"{owner}{base.name}"
        attributes = sorted(_instance(head) - _instance(base) - own - set(new))
        closed = any(_CLOSED.search(ast.unparse(each)) for each in (*base.bases, *base.decorator_list))
        base.body = self.merge(base.body, head.body, f"{qualified}.")
        if attributes and not closed:
            base.body += ast.parse("\n".join(f"{name} = {_OBJECT}" for name in attributes)).body
        yield base
        fixed = [_STRIP, _TAKE] if not closed else []
        for script in [*fixed, _EXCHANGE] if new and not owner and (fixed or _is_tuple(base)) else ():
            yield from ast.parse(script.format(names=tuple(new), owner=qualified, kept=_OBJECT)).body


class _Hollow(ast.NodeTransformer):
    """Takes bodies out of functions and values out of constants, but for those that base has elsewhere."""

    def __init__(self, keep_calls: bool, elsewhere: Elsewhere, passed_on: Collection[str]) -> None:
        self._keep_calls = keep_calls
        self._elsewhere = elsewhere
        self._passed_on = frozenset() if keep_calls else frozenset(passed_on)
        self._owner = ""

    def emptied(self, statement: ast.stmt, owner: str) -> ast.stmt:
        """A new statement of head, in the class ``owner`` (``Outer.``) or none, without what it does."""
        self._owner = owner
        found = self.visit(copy.deepcopy(statement))
        assert isinstance(found, ast.stmt)
        return found

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self._owner = self._owner, f"{self._owner}{node.name}."
        self.generic_visit(node)
        self._owner = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        old = self._elsewhere.body_of(self._owner + node.name, node)
        if not old:
            return _emptied(node)
        body = real_body(node)
        kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
        try:
            standing = ast.parse(f"{kind} f():\n    " + "\n    ".join(old)).body[0]
        except SyntaxError:  # a string of several lines, or an await
            return _emptied(node)
        assert isinstance(standing, Function)
        node.body = [*node.body[: len(node.body) - len(body)], *standing.body]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        names = list(defined(node))
        if len(names) != 1 or names[0] not in self._passed_on:
            return node
        return ast.parse(f"{names[0]} = {_PASSED_ON}").body[0]

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        if ast.dump(node) in self._elsewhere.constants:
            return node
        plain = all(isinstance(target, ast.Name) for target in node.targets)  # else it is taken apart
        if plain and not all(map(_SAYS.match, defined(node))):
            node.value = self._value(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if ast.dump(node) in self._elsewhere.constants:
            return node
        if node.value is not None and not all(map(_SAYS.match, defined(node))):
            node.value = self._value(node.value)
        return node

    def _value(self, value: ast.expr) -> ast.expr:
        try:
            ast.literal_eval(value)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            if self._keep_calls:
                return value
        return ast.parse(_OBJECT, mode="eval").body


def _is_tuple(owner: ast.ClassDef) -> bool:
    return any(ast.unparse(each).rpartition(".")[2] == "NamedTuple" for each in owner.bases)


def _tuple(base: ast.stmt, head: ast.stmt | None) -> Iterator[ast.stmt]:
    """A statement of base; head's where that makes the same named tuple with more fields, which keep nothing."""
    olds, all_of_it = made_fields(base), made_fields(head) if head is not None else ()
    new = tuple(name for name in all_of_it if name not in olds)
    if head is None or not olds or not new or not set(olds) <= set(all_of_it):
        yield base
        return
    (owner,) = defined(base)
    yield head
    yield from ast.parse(_EXCHANGE.format(names=new, owner=owner, kept=_OBJECT)).body


def _apart(statements: Iterable[ast.stmt], known: set[str]) -> Iterator[ast.stmt]:
    """The statements, with each import of several names taken apart where some of them are new."""
    for statement in statements:
        if not isinstance(statement, ast.Import | ast.ImportFrom) or known.issuperset(defined(statement)):
            yield statement
            continue
        for alias in statement.names:
            single = copy.copy(statement)
            single.names = [alias]
            yield single


def _exporting(base: ast.stmt, head: ast.stmt, known: set[str]) -> ast.stmt:
    """Head's `__all__` as far as it follows from new names: what base has is exported where base does so."""
    before, after = _listed(base), _listed(head)
    if before is None or after is None:
        return head
    told = [name for name in after if name in before or name not in known]
    told += [name for name in before if name not in told]
    if told == after:
        return head
    found = copy.deepcopy(head)
    assert isinstance(found, ast.Assign | ast.AnnAssign)
    found.value = ast.parse(repr(told), mode="eval").body
    return found


def _listed(statement: ast.stmt) -> list[str] | None:
    """The names that a plain `__all__` lists."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    return [each.value for each in value.elts if isinstance(each, ast.Constant) and isinstance(each.value, str)]


def defined(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement binds in its module or class, also below `if`, `try` and `with`."""
    if isinstance(statement, Function | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        return  # it must stay where it is
    elif isinstance(statement, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    elif isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        yield from targets(statement)
    elif isinstance(statement, ast.If | ast.Try | ast.With):
        for child in ast.iter_child_nodes(statement):
            inner = child.body if isinstance(child, ast.ExceptHandler) else [child]
            yield from (name for each in inner if isinstance(each, ast.stmt) for name in defined(each))


def _instance(owner: ast.ClassDef) -> set[str]:
    """The attributes that methods set on their first argument."""
    found = set()
    for method in (each for each in owner.body if isinstance(each, Function) and each.args.args):
        me = method.args.args[0].arg
        for node in (each for each in ast.walk(method) if isinstance(each, ast.Attribute)):
            mine = isinstance(node.value, ast.Name) and node.value.id == me
            if mine and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return found


def _emptied(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
    if not is_only_declared(function):
        body = real_body(function)
        kind = "async def" if isinstance(function, ast.AsyncFunctionDef) else "def"
        standing = ast.parse(f"{kind} f():\n    {stand_in(function, Filling.NOTHING)}").body[0]
        assert isinstance(standing, Function)
        function.body = [*function.body[: len(function.body) - len(body)], *standing.body]
    return function


def _parameters(base: ast.arguments, head: ast.arguments) -> ast.arguments:
    """Base's parameters with their defaults, and head's new ones behind them, by name alone."""
    own = set(_named(base))
    found = copy.deepcopy(base)
    for arg in _named(head).values():
        if arg.arg in own:
            continue
        if arg is head.vararg and found.vararg is None:
            found.vararg = arg
        elif arg is head.kwarg and found.kwarg is None:
            found.kwarg = arg
        elif arg not in (head.vararg, head.kwarg):
            found.kwonlyargs.append(ast.arg(arg=arg.arg))
            found.kw_defaults.append(ast.Constant(value=None))
    return found


def _named(arguments: ast.arguments) -> dict[str, ast.arg]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    return {each.arg: each for each in every}
