"""coverage.py's tracer in C, as a library: found, loaded beside the project's modules, and tried before it is trusted.

Belongs here: all that is known of it. It is one extension module, ``coverage.tracer``, that imports nothing; it is
loaded alone, so the tested project sees no module that it has not imported. Does not belong here: what is traced
(tracing). How it packs a pair of lines into a number changes with its version: so a function whose lines are known is
traced first, and a tracer that does not tell these lines is left alone.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Sequence
from types import FrameType
from typing import Any, Callable

_LAYOUTS = (28, 20)  # bits of a line's number, from new versions to old
_get_ident = threading.get_ident
_gettrace = sys.gettrace
_settrace = sys.settrace


class Library:
    """A tracer that works. One is started for each thread."""

    def __init__(self, module: Any, bits: int) -> None:
        self._module = module
        self._type = module.CTracer
        self._bits = bits
        self._mask = (1 << bits) - 1
        self._by_thread: dict[int, Any] = {}

    def start(self, seen: dict[str, set[Any]], rules: dict[str, Any], should: Callable[[str, FrameType], Any]) -> None:
        """Trace this thread: what runs of a file goes to its set in ``seen``, packed."""
        tracer = _tracer(self._module, seen, rules, should)
        tracer.start()
        before = self._by_thread.get(_get_ident())
        self._by_thread[_get_ident()] = tracer
        if before is not None:
            before.stop()  # one that goes while it believes to be at work takes the others with it

    def disposition(self, filename: str, wanted: bool) -> Any:
        """The answer to whether a file is traced."""
        return _disposition(self._module, filename, wanted)

    def is_tracer(self, function: Any) -> bool:
        """Whether a trace function is one of these."""
        return isinstance(function, self._type)

    def arc(self, packed: int) -> tuple[int, int]:
        """The lines of a packed pair; a negative one is where a function begins or ends."""
        first, last = packed & self._mask, (packed >> self._bits) & self._mask
        signs = packed >> (2 * self._bits)
        return (-first if signs & 1 else first, -last if signs & 2 else last)


def find(directories: Sequence[str], root: str) -> Library | None:
    """The first tracer that works, from these directories or the interpreter's own coverage.py; not from the tree."""
    if sys.implementation.name != "cpython" or _gettrace() is not None:
        return None
    for place in [*directories, *_installed(root)]:
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = os.path.join(place, "tracer" + suffix)
            library = _load(path) if os.path.exists(path) else None
            if library is not None:
                return library
    return None


def _installed(root: str) -> list[str]:
    try:
        spec = importlib.util.find_spec("coverage")
    except (ImportError, ValueError):
        return []
    places = [os.path.realpath(place) for place in (spec and spec.submodule_search_locations) or ()]
    return [place for place in places if not (place + os.sep).startswith(root + os.sep)]


def _load(path: str) -> Library | None:
    known = sys.modules.get("coverage.tracer")
    try:
        loader = importlib.machinery.ExtensionFileLoader("coverage.tracer", path)
        spec = importlib.util.spec_from_file_location("coverage.tracer", path, loader=loader)
        module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
        loader.exec_module(module)
        return next((found for bits in _LAYOUTS if _tells_the_truth(found := Library(module, bits))), None)
    except Exception:  # of another version, for another machine: whatever is wrong with it, it is not used
        return None
    finally:
        _settrace(None)
        if known is None:
            sys.modules.pop("coverage.tracer", None)


def _tracer(module: Any, seen: Any, rules: Any, should: Any) -> Any:
    tracer = module.CTracer()
    tracer.data = seen
    tracer.trace_arcs = True
    tracer.should_trace = should
    tracer.should_trace_cache = rules
    tracer.warn = tracer.disable_plugin = _ignore
    for name in ("lock_data", "unlock_data"):
        if hasattr(tracer, name):
            setattr(tracer, name, _nothing)
    tracer.concur_id_func = tracer.should_start_context = tracer.switch_context = None
    return tracer


def _disposition(module: Any, filename: str, wanted: bool) -> Any:
    found = module.CFileDisposition()
    found.original_filename = found.canonical_filename = filename
    found.source_filename = filename if wanted else None
    found.trace = wanted
    found.reason = ""
    found.file_tracer = None
    found.has_dynamic_filename = False
    return found


def _ignore(*_words: Any, **_named: Any) -> None:
    """It warns of nothing that we use."""


def _nothing() -> None:
    """Nobody takes a set away while it is filled."""


def _probe(odd: bool) -> int:
    if odd:
        odd = False
    return 3


def _tells_the_truth(library: Library) -> bool:
    """Whether it reports the lines of a known function, as pairs that can be read."""
    seen: dict[str, set[Any]] = {}
    code = _probe.__code__
    library.start(seen, {}, lambda filename, _frame: library.disposition(filename, filename == code.co_filename))
    try:
        _probe(True)
    finally:
        _settrace(None)
    first = code.co_firstlineno
    told = {library.arc(each) for each in seen.get(code.co_filename, ())}
    wanted = {(-first, first + 1), (first + 1, first + 2), (first + 2, first + 3), (first + 3, -first)}
    return wanted <= told
