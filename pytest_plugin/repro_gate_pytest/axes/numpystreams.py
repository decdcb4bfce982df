"""numpy: its global generator, and generators made without a seed at import, as seeded streams.

Belongs here: what of the axis ``random`` knows numpy. A generator whose state the project has set is
left alone, as far as it can be seen: PCG64 and Philox carry a constant that drawing does not change
and a state does; of other kinds only those are taken that nobody has drawn from.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Hashable
from typing import Any, Callable

from repro_gate_pytest.axes.base import number
from repro_gate_pytest.axes.seeding import NUMPY, Seeds, WhenImported, called_for_project


class NumpyStreams:
    """numpy's part of the axis; does nothing where numpy is not imported."""

    def __init__(self, seeds: Seeds) -> None:
        self._seeds = seeds
        self._seed_global: Callable[[int], None] | None = None
        self._unseeded: list[_Unseeded] = []

    def install(self) -> None:
        """Watch numpy's functions as soon as there are some."""
        sys.meta_path.insert(0, WhenImported(NUMPY, self._watch))

    def settle(self, entropy: set[int]) -> None:
        """Imports are over: know the generators that were made from these draws of os.urandom."""
        numpy_random = sys.modules.get(NUMPY)
        if numpy_random is not None:
            self._unseeded = _made_from_entropy(numpy_random, entropy)

    def reseed_global(self, seed: int) -> None:
        """Start the global stream anew, unless it is the project's."""
        if self._seed_global is not None and not self._seeds.owned(NUMPY):
            with contextlib.suppress(TypeError):  # a test has put a bit generator there that takes no seed
                self._seed_global(seed % 2**32)

    def reseed_generators(self, key: str, seed: int) -> None:
        """Start the others anew, but those whose state was set since."""
        self._unseeded = [one for one in self._unseeded if one.is_ours()]
        for one in self._unseeded:
            one.restart(number(key, seed, "numpy", one.index))

    def _watch(self, numpy_random: Any) -> None:
        """See what the project does to numpy's global generator, and keep the way to seed it."""
        self._seed_global = numpy_random.seed
        for name in ("seed", "set_bit_generator"):
            if hasattr(numpy_random, name):
                setattr(numpy_random, name, self._taking(getattr(numpy_random, name)))
        numpy_random.get_state = self._reading(numpy_random.get_state)
        numpy_random.set_state = self._setting(numpy_random.set_state)

    def _taking(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def take(*args: Any, **kwargs: Any) -> None:
            original(*args, **kwargs)
            if self._seeds.watching() and called_for_project():
                self._seeds.seeded(NUMPY)

        return take

    def _reading(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def get_state(*args: Any, **kwargs: Any) -> Any:
            state = original(*args, **kwargs)
            if self._seeds.watching() and not self._seeds.owned(NUMPY):
                self._seeds.lend(NUMPY, _mark(state))
            return state

        return get_state

    def _setting(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def set_state(state: Any) -> None:
            original(state)
            if self._seeds.watching() and called_for_project():
                self._seeds.state_set(NUMPY, _mark(state))

        return set_state


class _Unseeded:
    """A generator of the project that nobody has given a seed. Copies share an index, and so a stream."""

    def __init__(self, generator: Any, index: int) -> None:
        self._bits = generator.bit_generator
        self._constant = _constant(self._bits.state)
        self.index = index

    def is_ours(self) -> bool:
        """Whether no other state was set, as far as that shows."""
        return _constant(self._bits.state) == self._constant

    def restart(self, seed: int) -> None:
        self._bits.state = type(self._bits)(seed).state
        self._constant = _constant(self._bits.state)


def _made_from_entropy(numpy_random: Any, entropy: set[int]) -> list[_Unseeded]:
    """numpy generators that were seeded from os.urandom at import, and not by a constant or a state."""
    import gc

    found = []
    for thing in gc.get_objects():
        if type(thing) is not numpy_random.Generator:
            continue
        bits = thing.bit_generator
        sequence: Any = getattr(bits, "seed_seq", None) or getattr(bits, "_seed_seq", None)
        if getattr(sequence, "entropy", None) in entropy and _began_with(bits, sequence):
            found.append(((sequence.entropy, tuple(sequence.spawn_key)), thing))
    order = sorted({key for key, _ in found})  # not the collector's
    return [_Unseeded(thing, order.index(key)) for key, thing in found]


def _began_with(bits: Any, sequence: Any) -> bool:
    """Whether the seed of a bit generator is what its state comes from."""
    fresh = type(bits)(sequence).state
    constant = _constant(bits.state)
    return constant == _constant(fresh) if constant is not None else _mark(bits.state) == _mark(fresh)


def _constant(state: dict[str, Any]) -> Hashable:
    """What of a state no draw changes, where there is such a thing."""
    inner = state.get("state")
    if not isinstance(inner, dict):
        return None
    return _mark(inner.get("inc", inner.get("key") if state.get("bit_generator") == "Philox" else None))


def _mark(state: Any) -> Hashable:
    """Equal for equal states, whether as a tuple or as a dictionary of arrays and numbers."""
    if isinstance(state, dict):
        return tuple((name, _mark(state[name])) for name in sorted(state))
    if isinstance(state, (tuple, list)):
        return tuple(_mark(part) for part in state)
    plain: Hashable = state.tobytes() if hasattr(state, "tobytes") else state
    return plain
