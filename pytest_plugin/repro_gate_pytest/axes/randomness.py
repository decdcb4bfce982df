"""random: ``random``, ``os.urandom`` (so uuid4, secrets, tempfile) and ``numpystreams``, each a seeded stream.

A stream, never a constant: two draws differ, two processes differ, a fork differs from its
parent. Each test starts a stream of its own, so its draws do not depend on the tests before it. A
generator that the project has seeded, or whose state it has set (a copy, a pickled one), is its own.
"""

from __future__ import annotations

import _random
import functools
import hashlib
import itertools
import os
import random
import sys
import weakref
from collections.abc import Mapping
from typing import Any, Callable

from repro_gate_pytest import patching
from repro_gate_pytest.axes.base import Axis, number
from repro_gate_pytest.axes.numpystreams import NumpyStreams
from repro_gate_pytest.axes.seeding import Seeds, called_for_project

_blake2b = hashlib.blake2b  # kept, as are the others: a test may patch them
_getstate = random.getstate
_setstate = random.setstate
_next = next


class Randomness(Axis):
    """Axis ``random`` (keys ``random`` for tests and ``import-random`` for imports)."""

    name = "random"

    def __init__(self) -> None:
        self._key = b"imports"
        self._count = itertools.count()
        self._draws = 0
        self._forks = 0
        self._seed = 0
        self._settled = False
        self._seeds = Seeds()
        self._numpy = NumpyStreams(self._seeds)
        self._project_state: Any = None
        self._numbers = itertools.count()
        self._unseeded: weakref.WeakKeyDictionary[random.Random, int] = weakref.WeakKeyDictionary()
        self._entropy: set[int] = set()
        self._global_state: Any | None = None
        self._set_seed: Callable[..., None] = random.Random.seed

    def install(self) -> list[str]:
        import posix  # where the function lives; os re-exports the same object

        notes = []
        if not patching.replace_function(posix, "urandom", self._make_urandom):
            os.urandom = posix.urandom
            random._urandom = posix.urandom  # type: ignore[attr-defined]
            notes.append("os.urandom is seeded only where it is looked up on the os module")
        if hasattr(posix, "getrandom"):
            patching.replace_function(posix, "getrandom", lambda original: lambda size, flags=0: os.urandom(size))
        random.Random.seed = self._make_seed(random.Random.seed)  # type: ignore[method-assign]
        random.Random.getstate = self._make_getstate(random.Random.getstate)  # type: ignore[method-assign]
        random.Random.setstate = self._make_setstate(random.Random.setstate)  # type: ignore[method-assign]
        hidden = getattr(random, "_inst", None)
        if hidden is not None:  # so that a project's own seed and state are seen, and then kept
            random.seed, random.getstate, random.setstate = hidden.seed, hidden.getstate, hidden.setstate
        self._numpy.install()
        os.register_at_fork(before=self._before_fork, after_in_child=self._after_fork)
        return notes

    def apply(self, conditions: Mapping[str, Any]) -> None:
        self._seed = conditions["random"]
        if not self._settled:
            self._restart("imports", conditions["import-random"])
        elif self._project_state is not None:
            _setstate(self._project_state)  # a fork has drawn it anew

    def settle(self) -> None:
        self._settled = True
        self._seeds.imports_are_over()
        if self._seeds.at_import("random"):
            self._project_state = _getstate()
        self._numpy.settle(self._entropy)

    def before_test(self, key: str) -> None:
        self._restart(key, self._seed)
        for generator, index in list(self._unseeded.items()):
            self._set_seed(generator, number(key, self._seed, "unseeded", index))
        _forget_temporary_names()
        self._numpy.reseed_generators(key, self._seed)

    def fixture_begins(self, fixture: int) -> None:
        self._seeds.fixture_begins(fixture)

    def fixture_ready(self) -> None:
        self._seeds.fixture_ready()

    def fixture_gone(self, fixture: int) -> None:
        self._seeds.fixture_gone(fixture)

    def touched(self) -> bool:
        return self._draws > 0 or _getstate() != self._global_state

    def _restart(self, key: str, seed: int) -> None:
        self._key = b"%d:%d" % (number("stream", key), seed)
        self._count = itertools.count()
        self._draws = 0
        self._forks = 0
        self._reseed_globals()

    def _reseed_globals(self) -> None:
        if not self._seeds.owned("random"):
            _seed_hidden(number(self._key, "random"))
        self._numpy.reseed_global(number(self._key, "numpy"))
        self._global_state = _getstate()

    def _make_urandom(self, original: Callable[[int], bytes]) -> Callable[..., bytes]:
        def urandom(*args: Any, **kwargs: Any) -> bytes:
            if kwargs or len(args) != 1 or type(args[0]) is not int or args[0] < 0:
                return original(*args, **kwargs)  # its own error, or an index-like size
            self._draws += 1
            data = self._stream(args[0])
            if not self._settled and args[0] <= 64:
                self._entropy.add(int.from_bytes(data, "big"))
            return data

        return urandom

    def _stream(self, size: int) -> bytes:
        blocks = [_blake2b(b"%s/%d" % (self._key, _next(self._count))).digest() for _ in range(0, size, 64)]
        return b"".join(blocks)[:size]

    def _make_seed(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
            if a is None and type(generator) is random.Random:
                if not self._settled and not _is_hidden(generator):
                    self._unseeded[generator] = next(self._numbers)
                a = int.from_bytes(os.urandom(32), "big")
            else:
                self._take_out(generator)
                if _is_hidden(generator) and self._seeds.watching() and called_for_project():
                    self._seeds.seeded("random")
            original(generator, a, version)

        self._set_seed = original
        return seed

    def _make_getstate(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def getstate(generator: random.Random) -> Any:
            state = original(generator)
            if self._seeds.watching() and self._is_ours(generator):
                self._seeds.lend("random", hash(state), self._unseeded.get(generator))
            return state

        return getstate

    def _make_setstate(self, original: Callable[..., None]) -> Callable[..., None]:
        """Copying and unpickling make a generator without a seed, too, and then set its state."""

        @functools.wraps(original)
        def setstate(generator: random.Random, state: Any) -> None:
            original(generator, state)
            mark = hash(tuple(state))
            if not _is_hidden(generator):
                self._follow(generator, mark)
            elif self._seeds.watching() and called_for_project():
                self._seeds.state_set("random", mark)

        return setstate

    def _is_ours(self, generator: random.Random) -> bool:
        if type(generator) is not random.Random:
            return False
        return generator in self._unseeded or (_is_hidden(generator) and not self._seeds.owned("random"))

    def _follow(self, generator: random.Random, mark: int) -> None:
        """The copy of a generator of ours draws what that one draws; any other state is the project's."""
        lender = self._seeds.lender("random", mark)
        if lender is not None and not self._settled and type(generator) is random.Random:
            self._unseeded[generator] = lender
        elif not self._seeds.lent("random", mark):
            self._take_out(generator)

    def _take_out(self, generator: random.Random) -> None:
        if type(generator) is random.Random:  # another class may not even be hashable
            self._unseeded.pop(generator, None)

    def _before_fork(self) -> None:
        self._forks += 1

    def _after_fork(self) -> None:
        self._key = b"%s>%d" % (self._key, self._forks)
        self._count = itertools.count()
        self._forks = 0
        _seed_hidden(number(self._key, "random"))


def _is_hidden(generator: random.Random) -> bool:
    return generator is getattr(random, "_inst", None)


def _seed_hidden(seed: int) -> None:
    """Seed the generator behind ``random``'s functions, also after the module was reloaded."""
    hidden = getattr(random, "_inst", None)
    if isinstance(hidden, _random.Random):
        _random.Random.seed(hidden, seed)
        hidden.gauss_next = None  # type: ignore[attr-defined]


def _forget_temporary_names() -> None:
    """tempfile makes its generator at first use: each test is to be the first."""
    tempfile = sys.modules.get("tempfile")
    if type(getattr(tempfile, "_name_sequence", None)) is getattr(tempfile, "_RandomNameSequence", ()):
        tempfile._name_sequence = None  # type: ignore[union-attr]
