"""Workflow commands and the files of a step, as GitHub's toolkit writes them. Pure.

Belongs here: escaping, and what keeps output of tests from being taken for a command. Does not belong here:
what is said.
"""

from __future__ import annotations

from collections.abc import Callable

_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_PROPERTY = {**_DATA, ":": "%3A", ",": "%2C"}
_TO_DATA = str.maketrans(_DATA)
_TO_PROPERTY = str.maketrans(_PROPERTY)


def command(name: str, message: str = "", **properties: object) -> str:
    """One command on one line; properties that are None or empty are left out."""
    told = ",".join(
        f"{key}={str(value).translate(_TO_PROPERTY)}" for key, value in properties.items() if value not in (None, "")
    )
    return f"::{name}{' ' if told else ''}{told}::{message.translate(_TO_DATA)}"


def stopped(token: str) -> tuple[str, str]:
    """What stops the runner from reading commands, and what lets it read them again: only who knows ``token`` can."""
    return f"::stop-commands::{token}", f"::{token}::"


def output(name: str, value: str, token: Callable[[], str]) -> str:
    """What to append to the file in GITHUB_OUTPUT; a value of any form cannot end before its end."""
    delimiter = f"end-{token()}"
    while delimiter in value:
        delimiter = f"end-{token()}"
    return f"{name}<<{delimiter}\n{value}\n{delimiter}\n"
