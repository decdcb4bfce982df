"""random: ``random``, ``os.urandom`` (so uuid4, secrets, tempfile) and numpy, each a seeded stream.

A stream, never a constant: two draws differ, two processes differ, a fork differs from its
parent. Each test starts a stream of its own, so its draws do not depend on the tests before it.
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
from repro_gate_pytest.axes.seeding import NUMPY, Seeds, WhenImported, called_by_project

_blake2b = hashlib.blake2b  # kept, as are the others: a test may patch them
_getstate = random.getstate
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
        self._project_state: Any = None
        self._unseeded: weakref.WeakKeyDictionary[random.Random, int] = weakref.WeakKeyDictionary()
        self._entropy: set[int] = set()
        self._generators: list[Any] = []
        self._global_state: Any | None = None
        self._set_seed: Callable[..., None] = random.Random.seed
        self._seed_numpy: Callable[..., None] | None = None

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
        hidden = getattr(random, "_inst", None)
        if hidden is not None:
            random.seed = hidden.seed  # so that a project's own seed is seen, and then kept
        sys.meta_path.insert(0, WhenImported(NUMPY, self._watch_numpy))
        os.register_at_fork(before=self._before_fork, after_in_child=self._after_fork)
        return notes

    def apply(self, conditions: Mapping[str, Any]) -> None:
        self._seed = conditions["random"]
        if not self._settled:
            self._restart("imports", conditions["import-random"])
        elif self._project_state is not None:
            random.setstate(self._project_state)  # a fork has drawn it anew

    def settle(self) -> None:
        self._settled = True
        self._seeds.imports_are_over()
        if self._seeds.at_import("random"):
            self._project_state = _getstate()
        numpy_random = sys.modules.get(NUMPY)
        if numpy_random is not None:
            self._generators = list(_made_from_entropy(numpy_random, self._entropy))

    def before_test(self, key: str) -> None:
        self._restart(key, self._seed)
        for generator, index in list(self._unseeded.items()):
            self._set_seed(generator, number(key, self._seed, "unseeded", index))
        _forget_temporary_names()
        for index, generator in enumerate(self._generators):
            bits = generator.bit_generator
            bits.state = type(bits)(number(key, self._seed, "numpy", index)).state

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
        if self._seed_numpy is not None and not self._seeds.owned(NUMPY):
            self._seed_numpy(number(self._key, "numpy") % 2**32)
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
        def seed(generator: random.Random, a: Any = None, version: int = 2) -> None:
            if a is None and type(generator) is random.Random:
                if not self._settled and generator is not getattr(random, "_inst", None):
                    self._unseeded[generator] = len(self._unseeded)
                a = int.from_bytes(os.urandom(32), "big")
            else:
                self._unseeded.pop(generator, None)
                if generator is getattr(random, "_inst", None) and called_by_project(1):
                    self._seeds.seeded("random")
            original(generator, a, version)

        self._set_seed = original
        return seed

    def _watch_numpy(self, numpy_random: Any) -> None:
        """See the project's own seeds of numpy's global generator, and keep the way to set ours."""
        original = self._seed_numpy = numpy_random.seed

        @functools.wraps(original)
        def seed(*args: Any, **kwargs: Any) -> None:
            if called_by_project(1):
                self._seeds.seeded(NUMPY)
            original(*args, **kwargs)

        numpy_random.seed = seed

    def _before_fork(self) -> None:
        self._forks += 1

    def _after_fork(self) -> None:
        self._key = b"%s>%d" % (self._key, self._forks)
        self._count = itertools.count()
        self._forks = 0
        _seed_hidden(number(self._key, "random"))


def _seed_hidden(seed: int) -> None:
    """Seed the generator behind ``random``'s functions, also after the module was reloaded."""
    hidden = getattr(random, "_inst", None)
    if isinstance(hidden, _random.Random):
        _random.Random.seed(hidden, seed)
        hidden.gauss_next = None  # type: ignore[attr-defined]


def _made_from_entropy(numpy_random: Any, entropy: set[int]) -> list[Any]:
    """numpy generators that were seeded from os.urandom at import, and not by a constant."""
    import gc

    found = []
    for thing in gc.get_objects():
        if type(thing) is not numpy_random.Generator:
            continue
        sequence = getattr(thing.bit_generator, "seed_seq", None) or getattr(thing.bit_generator, "_seed_seq", None)
        drawn = getattr(sequence, "entropy", None)
        if drawn in entropy:
            found.append((drawn, thing))
    return [thing for _, thing in sorted(found, key=lambda pair: pair[0])]  # not in the collector's order


def _forget_temporary_names() -> None:
    """tempfile makes its generator at first use: each test is to be the first."""
    tempfile = sys.modules.get("tempfile")
    if type(getattr(tempfile, "_name_sequence", None)) is getattr(tempfile, "_RandomNameSequence", ()):
        tempfile._name_sequence = None  # type: ignore[union-attr]
