"""What options may say, and what the parser of the command line refuses, in the words and with the exit code of every
other error.

Belongs here: from the parser's exceptions to ours, and values that the parser does not know to refuse. Does not belong
here: values of settings, which ``config`` refuses.
"""

from __future__ import annotations

import difflib
from typing import Any

import typer

from repro_gate.errors import UsageError

# typer brings its own click, or uses the installed one, by version: both have this line of classes.
PARSER_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def refused(error: Any) -> UsageError | None:
    """The UsageError that a PARSER_ERROR means; None where no word was given and the help is the answer."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return None
    sentence = str(error.format_message()).strip()
    command = context.command_path if context is not None else "repro-gate"
    next_step = f"See `{command} --help`."
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        sentence = f"There is no option {option}{_meant(option, context)}"
        if command == "repro-gate scan":
            next_step = f"See `{command} --help`; options of pytest go behind ` -- `."
    return UsageError(f"{sentence.rstrip('.')}.".replace("?.", "?"), next_step=next_step)


def _meant(option: str, context: Any) -> str:
    """Did-you-mean from the command's options, or nothing where none is near."""
    known = [name for parameter in context.command.params for name in parameter.opts] if context is not None else []
    near = difflib.get_close_matches(option, [*known, "--help"], n=1)
    return f"; did you mean {near[0]}?" if near else ""


def all_named(gates: list[str] | None) -> str | None:
    """An option that is given twice names the gates of both."""
    return None if gates is None else ",".join(gates)


def one_of(option: str, value: str, allowed: tuple[str, ...]) -> str:
    """The value, where it is one of these. Raises BadParameter."""
    if value not in allowed:
        raise typer.BadParameter(f"must be {' or '.join(allowed)}, not {value!r}", param_hint=option)
    return value
