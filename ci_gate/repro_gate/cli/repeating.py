"""The command that repeats what was done: its words, with the variables that were in force in front of them.

Belongs here: what a shell must be given to do the same again. Does not belong here: which options a command has.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping

from repro_gate.capsule import POLICY, Redactor, secret_literals
from repro_gate.config import Settings, Source
from repro_gate.config.keys import KEYS, variable


def as_typed(words: Iterable[str], variables: Iterable[str] = ()) -> str:
    """One line for a shell: ``variables`` are assignments that are quoted already, ``words`` are quoted here."""
    return " ".join([*variables, shlex.join(words)])


def in_force(settings: Settings, environ: Mapping[str, str], given: Iterable[str] = ()) -> tuple[str, ...]:
    """``REPRO_GATE_KEY=value`` for each key that a variable decided, sorted; ``given`` are keys that an option decided.

    The line is printed and goes into reports: a value that holds a secret is named and not shown.
    """
    decided = (key for key in KEYS if settings.source(key) is Source.ENVIRONMENT and key not in set(given))
    values = {name: environ[name].strip() for name in sorted(map(variable, decided))}
    secrets = Redactor(POLICY, b"never shown", secret_literals(environ, settings.redact)) if values else None
    return tuple(
        f'{name}="${name}"' if secrets and secrets.redact(value) != value else f"{name}={_quoted(value)}"
        for name, value in values.items()
    )


def _quoted(value: str) -> str:
    """As a shell reads it. ``$'…'`` for what cannot stand in one printed line, such as the commands of ``install``."""
    if value.isprintable():
        return shlex.quote(value)
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return "$'" + "".join(each if each.isprintable() else _escape(each) for each in escaped) + "'"


def _escape(character: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
