"""Who seeds the global generators: a seed or a state that the project sets for several tests is its own.

Belongs here: seeds and states set while modules are imported, or by a fixture of a class, module,
package or session. Tests share such a stream without us, in their order, and so they do with us. A
state that was read from a stream of ours and is put back gives the stream back. Does not belong
here: the streams that are seeded where the project has not (``randomness``, ``numpystreams``).
"""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Hashable
from typing import Any, Callable

from repro_gate_pytest import evidence

NUMPY = "numpy.random"


class Seeds:
    """The generators (by name) that are the project's at the moment."""

    def __init__(self) -> None:
        self._importing = True
        self._at_import: set[str] = set()
        self._setting_up: list[int] = []
        self._by_fixture: dict[int, set[str]] = {}
        self._lent: dict[tuple[str, Hashable], int | None] = {}

    def watching(self) -> bool:
        """Whether what the project sets now is for several tests."""
        return self._importing or bool(self._setting_up)

    def imports_are_over(self) -> None:
        """From here on only fixtures can take a generator over."""
        self._importing = False

    def seeded(self, generator: str) -> None:
        """The project's own code has seeded a generator."""
        if self._importing:
            self._at_import.add(generator)
        elif self._setting_up:
            self._by_fixture.setdefault(self._setting_up[-1], set()).add(generator)

    def lend(self, generator: str, state: Hashable, index: int | None = None) -> None:
        """The project has read the state of a stream of ours:
        the generator ``index`` of this kind, or the global one.
        """
        if self.watching():
            self._lent[generator, state] = index

    def lent(self, generator: str, state: Hashable) -> bool:
        """Whether a state was read from a stream of ours."""
        return (generator, state) in self._lent

    def lender(self, generator: str, state: Hashable) -> int | None:
        """The index of the generator it was read from."""
        return self._lent.get((generator, state))

    def state_set(self, generator: str, state: Hashable) -> None:
        """The project's own code has set the state of a global generator."""
        if not self.lent(generator, state):
            self.seeded(generator)
        elif self._importing:
            self._at_import.discard(generator)
        elif self._setting_up:
            self._by_fixture.get(self._setting_up[-1], set()).discard(generator)

    def at_import(self, generator: str) -> bool:
        """Whether a module of the project seeded it."""
        return generator in self._at_import

    def owned(self, generator: str) -> bool:
        """Whether its stream is the project's."""
        return generator in self._at_import or any(generator in names for names in self._by_fixture.values())

    def fixture_begins(self, fixture: int) -> None:
        """A fixture that lives longer than one test is set up."""
        self._setting_up.append(fixture)

    def fixture_ready(self) -> None:
        """It is set up."""
        self._setting_up.pop()

    def fixture_gone(self, fixture: int) -> None:
        """It is torn down, and with it the claim that it laid to a stream."""
        self._by_fixture.pop(fixture, None)


def called_for_project() -> bool:
    """Whether the project's own code calls, be it through a library; a plugin's hook does so for itself."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not evidence.in_tree(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None


class WhenImported:
    """A finder that calls ``then(module)`` once the module ``name`` has been executed."""

    def __init__(self, name: str, then: Callable[[Any], None]) -> None:
        self._name = name
        self._then = then
        self._asking = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The other finders' answer, with its loader told to call us."""
        if name != self._name or self._asking:
            return None
        self._asking = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._asking = False
        execute = getattr(getattr(spec, "loader", None), "exec_module", None)
        if spec is None or execute is None:
            return None

        def execute_and_tell(module: Any) -> None:
            execute(module)
            self._then(module)

        spec.loader.exec_module = execute_and_tell  # type: ignore[union-attr, method-assign]
        return spec
