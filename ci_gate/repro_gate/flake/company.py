"""Which tests could meet: those seen to use one file or port. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from repro_gate.model import TestRun

_PAIRS_AT_MOST = 40
_USERS_AT_MOST = 12  # more: something that everybody reads

Users = Mapping[str, Mapping[str, bool]]


_OWN_TMP = re.compile(r"/pytest-of-|/pytest-\d+/|\.pyc$|/__pycache__/|/\.pytest_cache/")
_WORKER = re.compile(r"/rg-[^/]+/w\d+/")


def shared(run: TestRun) -> dict[str, bool]:
    """Paths and ports by which a test could meet another, and whether it writes them."""
    found: dict[str, bool] = {}
    if run.evidence is None:
        return found
    for entry in run.evidence.files:
        verb, _, path = entry.partition(" ")
        if _OWN_TMP.search(path):
            continue
        name = _WORKER.sub("/", path)
        found[name] = found.get(name, False) or verb == "write"
    for entry in run.evidence.binds:
        found[entry] = True
    return found


def company_of(test: str, users: Users) -> list[str]:
    """The other users of what ``test`` uses."""
    groups = [group for group in users.values() if test in group and 2 <= len(group) <= _USERS_AT_MOST]
    return list(dict.fromkeys(other for group in groups for other in group if other != test))


def pairs(users: Users, without: Collection[str]) -> list[tuple[str, str]]:
    """Pairs of tests that use one thing, at least one of them writing; a bounded number."""
    found: dict[tuple[str, str], None] = {}
    for group in users.values():
        if not 2 <= len(group) <= _USERS_AT_MOST:
            continue
        tests = [test for test in group if test not in without]
        for position, one in enumerate(tests):
            for other in tests[position + 1 :]:
                if group[one] or group[other]:
                    found[(one, other)] = None
    return list(found)[:_PAIRS_AT_MOST]
