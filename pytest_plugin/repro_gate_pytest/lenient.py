"""Lenient imports: test modules may import product symbols that are not there, and say so when they use them.

Belongs here: which imports are forgiven. Only code of tests in the tree is (by its frame), only
for the modules and symbols that the gate names, and not where the code itself handles an
ImportError. Everybody else, the product above all, sees that they are missing. What stands in
for a missing symbol is in ``standin``.
"""

from __future__ import annotations

import ast
import fnmatch
import importlib.util
import os
import sys
import types
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from typing import Any, Callable

from repro_gate_pytest import failure, standin

MissingSymbol = standin.MissingSymbol

_getframe = sys._getframe
_IMPORT_MACHINERY = ("<frozen importlib", importlib.__file__)
_FORGIVING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"})


class LenientImports:
    """A finder for the named modules, and a module ``__getattr__`` for the named symbols."""

    def __init__(self, zones: failure.Zones, modules: Sequence[str], symbols: Sequence[str]) -> None:
        self._zones = zones
        self._missing = frozenset(modules)
        self._symbols: dict[str, set[str]] = {}
        for symbol in symbols:
            module, _, name = symbol.partition(":")
            self._symbols.setdefault(module, set()).add(name)
        self._patterns: list[str] = []
        self._asking: set[str] = set()
        self._guards: dict[str, list[tuple[int, int]]] = {}
        self._tests: dict[str, bool] = {}

    def install(self) -> None:
        """From now on, for modules that are imported from now on."""
        sys.meta_path.insert(0, self)
        for name in self._symbols:
            if name in sys.modules:
                self._soften(sys.modules[name])

    def also(self, patterns: Sequence[str]) -> None:
        """File name patterns of test modules, as pytest is told them."""
        self._patterns = list(patterns)
        self._tests.clear()

    def begin(self) -> None:
        """A test begins: from here a use of what is missing is a failure."""
        standin.State.running = True

    def end(self) -> dict[str, Any]:
        """It is over."""
        standin.State.running = False
        return {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """The other finders' answer with a softened module, or a stand-in where they have none."""
        if name in self._asking or not (name in self._missing or name in self._symbols):
            return None
        self._asking.add(name)
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError, AttributeError):
            spec = None
        finally:
            self._asking.discard(name)
        if spec is None:
            caller = self._forgiven()
            return self._stand_in(name) if name in self._missing and caller else None
        execute = getattr(spec.loader, "exec_module", None)
        if name not in self._symbols or execute is None:
            return None

        def execute_and_soften(module: types.ModuleType) -> None:
            execute(module)
            self._soften(module)

        spec.loader.exec_module = execute_and_soften  # type: ignore[union-attr, method-assign]
        return spec

    def _stand_in(self, name: str) -> ModuleSpec:
        # A package, so that what is imported from below it is asked of us, too.
        return ModuleSpec(name, _StandInLoader(self._answer), is_package=True)  # type: ignore[arg-type]

    def _soften(self, module: types.ModuleType) -> None:
        """Give an existing module a ``__getattr__`` that answers tests for the symbols it lacks."""
        names = self._symbols[module.__name__]
        own: Callable[[str], Any] | None = module.__dict__.get("__getattr__")

        def answer(name: str) -> Any:
            if own is not None:
                try:
                    return own(name)
                except AttributeError:
                    if name not in names:
                        raise
            if name in names and self._forgiven():
                return standin.for_symbol("%s:%s" % (module.__name__, name))
            raise AttributeError("module %r has no attribute %r" % (module.__name__, name))

        if type(module) is types.ModuleType:
            module.__dict__["__getattr__"] = answer

    def _answer(self, module: str, name: str) -> Any:
        """What a module that does not exist gives for an attribute."""
        if name.startswith("__") or not self._forgiven():
            raise AttributeError("module %r has no attribute %r" % (module, name))
        return standin.for_symbol("%s:%s" % (module, name))

    def _forgiven(self) -> bool:
        """Whether the innermost code outside of the import machinery and of ours is a test's, and unguarded."""
        frame: types.FrameType | None = _getframe(1)
        while frame is not None:
            filename = frame.f_code.co_filename
            if filename != __file__ and not filename.startswith(_IMPORT_MACHINERY):
                return self._is_test(filename) and not self._guarded(filename, frame.f_lineno)
            frame = frame.f_back
        return False

    def _is_test(self, filename: str) -> bool:
        known = self._tests.get(filename)
        if known is None:
            zone, relative = self._zones.place(filename)
            named = any(fnmatch.fnmatch(os.path.basename(filename), pattern) for pattern in self._patterns)
            known = zone == "Test" or (zone == "Product" and named and relative != filename)
            self._tests[filename] = known
        return known

    def _guarded(self, filename: str, line: int) -> bool:
        """Whether this line of a module is in a ``try`` that handles the error: it knows what to do without."""
        if standin.State.running:
            return False
        if filename not in self._guards:
            self._guards[filename] = _guarded_lines(filename)
        return any(first <= line <= last for first, last in self._guards[filename])


class _StandInLoader:
    def __init__(self, answer: Callable[[str, str], Any]) -> None:
        self._answer = answer

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__["__getattr__"] = lambda name: self._answer(module.__name__, name)


def _guarded_lines(filename: str) -> list[tuple[int, int]]:
    try:
        with open(filename, "rb") as file:
            tree = ast.parse(file.read())
    except (OSError, SyntaxError, ValueError):
        return []
    return [
        (node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.Try) and any(_forgives(handler) for handler in node.handlers)
    ]


def _forgives(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(isinstance(kind, ast.Name) and kind.id in _FORGIVING for kind in kinds)
