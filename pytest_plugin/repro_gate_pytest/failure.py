"""An exception becomes a Failure: phase, type, message, frames by zone, fingerprint.

Belongs here: reading exceptions and making them comparable between machines. The fingerprint is
phase + type + last own frame + message with digits, addresses and temporary paths normalised.
"""

from __future__ import annotations

import hashlib
import os
import re
import sysconfig
import tempfile
import traceback
from typing import Any

from repro_gate_pytest import testfiles, wire

_MOST_FRAMES = 60
_MOST_WRAPPERS = 5
# pytest's warnings for what was raised in a finaliser or a thread; it gives the exception as their cause.
_UNCAUGHT = ("PytestUnraisableExceptionWarning", "PytestUnhandledThreadExceptionWarning")
_MOST_MESSAGE = 4000
_FINGERPRINT_MESSAGE = 300

_realpath = os.path.realpath
_walk_tb = traceback.walk_tb
_blake2b = hashlib.blake2b

_STDLIB = tuple(
    _realpath(path) + os.sep for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")} if path
)
_SITE = tuple(
    _realpath(path) + os.sep for path in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")} if path
)
_OURS = _realpath(os.path.dirname(__file__)) + os.sep

_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_UUID = re.compile(r"\b[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}\b")
_PATH = re.compile(r"(?<![\w.])/(?:[\w.@+~ -]+/)+[\w.@+~-]*")
_DIGITS = re.compile(r"\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def roots() -> dict[str, list[str]]:
    """Where installed packages and the standard library are: what a reader of raw paths needs."""
    return {"site": sorted(_SITE), "stdlib": sorted(_STDLIB), "ours": [_OURS]}


class Zones:
    """Sorts source files into Test, Product, 3rd party and Stdlib, relative to the tree."""

    def __init__(self, root: str, test_files: frozenset[str]) -> None:
        self._root = _realpath(root) + os.sep
        self._tests = frozenset(_realpath(path) for path in test_files)
        self._known: dict[str, tuple[str, str]] = {}

    def place(self, filename: str) -> tuple[str, str]:
        """Zone and displayed path of a source file."""
        found = self._known.get(filename)
        if found is None:
            try:
                found = self._place(filename)
            except Exception:  # a test patched os.path and did not put it back
                return "Product", filename
            self._known[filename] = found
        return found

    def _place(self, filename: str) -> tuple[str, str]:
        if filename.startswith("<"):  # no file: it would be taken for one in the current directory
            if filename.startswith("<frozen"):
                return "Stdlib", filename
            return ("Test" if filename.startswith("<doctest ") else "Product"), filename
        path = _realpath(filename)
        if path.startswith(_OURS):
            return "3rd party", "repro_gate_pytest/" + path[len(_OURS) :]
        for site in _SITE:
            if path.startswith(site):
                return "3rd party", path[len(site) :]
        if path.startswith(self._root):
            relative = path[len(self._root) :]
            if "site-packages/" in relative:
                return "3rd party", relative.partition("site-packages/")[2]
            test = path in self._tests or testfiles.is_test(relative)
            return ("Test" if test else "Product"), relative
        for stdlib in _STDLIB:
            if path.startswith(stdlib):
                return "Stdlib", path[len(stdlib) :]
        return "3rd party", os.path.basename(path)


def describe(exc: BaseException, phase: str, zones: Zones) -> dict[str, Any]:
    """The Failure of an exception, in the wire's shape; of the one within, where a tool wraps it."""
    frames: list[dict[str, Any]] = []
    wrappers: list[str] = []
    while True:
        for frame, line in _walk_tb(exc.__traceback__):
            zone, path = zones.place(frame.f_code.co_filename)
            frames.append({"zone": zone, "path": path, "line": line, "function": frame.f_code.co_name})
        within = _within(exc)
        if within is None or len(wrappers) == _MOST_WRAPPERS:
            break
        wrappers.insert(0, "%s: %s" % (_name(type(exc)), wire.clip(text_of(exc), 500)))
        exc = within
    return _failure(phase, _name(type(exc)), _bases(type(exc)), text_of(exc), [*_chain(exc), *wrappers], frames)


def _within(exc: BaseException) -> BaseException | None:
    """The exception that one of a tool stands for:
    of a doctest, of a group of one kind, where nobody could catch it.
    """
    kind = type(exc).__name__
    if kind == "UnexpectedException":  # doctest's
        return _an_exception((getattr(exc, "exc_info", None) or (None, None))[1])
    if kind in _UNCAUGHT:
        return exc.__cause__
    # pytest's keeper of doctests that go on after a failure, and groups
    inner = getattr(exc, "failures" if kind == "MultipleDoctestFailures" else "exceptions", None)
    several = list(inner) if isinstance(inner, (list, tuple)) else []
    alike = len({type(each) for each in several}) == 1
    return _an_exception(several[0]) if alike and _is_a_group(kind, exc) else None


def _is_a_group(kind: str, exc: BaseException) -> bool:
    return kind == "MultipleDoctestFailures" or "BaseExceptionGroup" in (each.__name__ for each in type(exc).__mro__)


def _an_exception(value: object) -> BaseException | None:
    return value if isinstance(value, BaseException) else None


def describe_text(text: str, phase: str, kind: str = "") -> dict[str, Any]:
    """The Failure of a report that carries no exception: its last line is the message."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return _failure(phase, kind, [], lines[-1].strip() if lines else kind, [], [])


def normalise(message: str) -> str:
    """The first line without what differs from run to run or machine to machine."""
    line = message.strip().split("\n", 1)[0][: 4 * _FINGERPRINT_MESSAGE]
    line = line.replace(_tmp(), "/tmp")
    line = _UUID.sub("<uuid>", line)
    line = _ADDRESS.sub("0x#", line)
    line = _PATH.sub("<path>", line)
    return _DIGITS.sub("#", line)[:_FINGERPRINT_MESSAGE]


def _tmp() -> str:
    try:
        return _realpath(tempfile.gettempdir())
    except Exception:  # a test patched what this rests on
        return "/tmp"


def _failure(
    phase: str, kind: str, bases: list[str], message: str, chain: list[str], frames: list[dict[str, Any]]
) -> dict[str, Any]:
    own = [frame for frame in frames if frame["zone"] in ("Test", "Product")]
    last = "%s:%s" % (own[-1]["path"], own[-1]["function"]) if own else ""
    parts = "\n".join((phase, kind, last, normalise(message)))
    half = _MOST_FRAMES // 2
    if len(frames) > _MOST_FRAMES:
        frames = frames[:half] + frames[-half:]
    return {
        "phase": phase,
        "type": kind,
        "bases": bases,
        "message": wire.clip(message, _MOST_MESSAGE),
        "chain": chain,
        "frames": frames,
        "fingerprint": _blake2b(parts.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
    }


def text_of(exc: BaseException) -> str:
    """``str(exc)``, whatever that does; a doctest's failure says what it got."""
    try:
        if type(exc).__name__ == "DocTestFailure":
            return "expected %r, got %r" % (exc.example.want, exc.got)  # type: ignore[attr-defined]  # doctest's
        return str(exc)
    except BaseException as broken:  # a __str__ of the project that raises is no reason to stop
        return "<str() raised %s>" % type(broken).__name__


def _name(kind: type) -> str:
    module = getattr(kind, "__module__", "")
    if module.startswith("repro_gate_pytest."):
        return kind.__qualname__  # ours stand for something of the project's
    return kind.__qualname__ if module in ("builtins", "") else "%s.%s" % (module, kind.__qualname__)


def _bases(kind: type) -> list[str]:
    return [_name(base) for base in kind.__mro__[1:-1]]


def _chain(exc: BaseException) -> list[str]:
    chain: list[str] = []
    seen = {id(exc)}
    cause: BaseException | None = exc
    while cause is not None and len(chain) < 10:
        following = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
        if following is None or id(following) in seen:
            break
        seen.add(id(following))
        chain.append("%s: %s" % (_name(type(following)), wire.clip(text_of(following), 500)))
        cause = following
    return chain
