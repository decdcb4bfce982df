"""Which files of the tree are tests: those that are called so, and those that the gate names.

Belongs here: one answer for zones, fingerprints and evidence. Does not belong here: what pytest collects.
"""

from __future__ import annotations

from collections.abc import Iterable

from repro_gate_pytest import wire


class _State:
    named: frozenset[str] = frozenset()


def name(paths: Iterable[str]) -> None:
    """These files of the tree are tests, too: by the project's settings, and not by what they are called."""
    _State.named = frozenset(paths)


def is_test(relative: str) -> bool:
    """Whether a file of the tree, by its path there with slashes, is one of tests."""
    return relative in _State.named or wire.TEST_PATH.search(relative) is not None
