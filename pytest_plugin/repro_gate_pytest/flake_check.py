"""``pytest --repro-flake-check``: a front door to the gate, not a second engine.

The one place where the plugin reaches for the gate, and only when the option was given.
"""

from __future__ import annotations

from typing import Any

import pytest

_OURS = ("--repro-flake-check", "--repro-seed", "--repro-budget", "--repro-capsules")


def hand_over(config: Any) -> int:
    """Run the campaign on what was selected; the result is the exit code.

    Raises pytest.UsageError where only the plugin is installed; all else is refused by the gate.
    """
    try:
        from repro_gate.cli import door
    except ImportError as missing:
        raise pytest.UsageError(
            "--repro-flake-check needs the whole of repro-gate (%s): pip install repro-gate" % missing
        ) from None
    option = config.option
    arguments = list(map(str, config.invocation_params.args))
    return int(
        door.flake_check(
            directory=str(config.invocation_params.dir),
            arguments=strip(arguments),
            runs=_no_number(arguments) or option.repro_flake_check or None,
            seed=option.repro_seed,
            budget=option.repro_budget,
            capsules=option.repro_capsules,
            quiet=option.verbose < 0,
            color=option.color,
        )
    )


def _no_number(arguments: list[str]) -> str | None:
    """The text of ``--repro-flake-check=many``; a word after a space is no number but a path, and not ours."""
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name == "--repro-flake-check" and equals and not value.isdigit():
            return value or "nothing"
    return None


def strip(arguments: list[str]) -> list[str]:
    """The user's arguments without ours (and their values)."""
    kept: list[str] = []
    skip = False
    for position, argument in enumerate(arguments):
        if skip:
            skip = False
            continue
        name, equals, _ = argument.partition("=")
        if name not in _OURS:
            kept.append(argument)
        elif not equals and position + 1 < len(arguments):
            skip = name != "--repro-flake-check" or arguments[position + 1].isdigit()
    return kept
