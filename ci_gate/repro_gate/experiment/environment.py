"""What a project's tests may see of the caller's environment."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from repro_gate_pytest import wire

_DROPPED = re.compile(
    r"^(GITHUB_|ACTIONS_|RUNNER_|INPUT_|REPRO_GATE_|COV_CORE_|COVERAGE_|PYTEST_XDIST_|PYTEST_CURRENT_TEST$"
    r"|SSH_|GPG_|DBUS_|XDG_RUNTIME_DIR$|PYTHONHASHSEED$|PYTHONUTF8$|PYTHONCOERCECLOCALE$|LC_|LANG$|LANGUAGE$|TZ$"
    r"|TMPDIR$|TMP$|TEMP$|OLDPWD$|PWD$|_$|HISTFILE$|MAKEFLAGS$|MFLAGS$|MAKELEVEL$|PYTHONSTARTUP$"
    r"|PYTHONPYCACHEPREFIX$)"  # bytecode of another copy, by the same path, size and second
)


def looks_secret(name: str) -> bool:
    """Whether a variable's name says that its value is a secret."""
    return wire.looks_secret(name)


def visible_environment(
    environ: Mapping[str, str], *, user_base: str, allow: Collection[str] = ()
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The variables that tests see, and the names of secret-looking ones that were withheld.

    What an axis sets (locale, zone, hash seed, directories) and what CI and other tools inject is
    left out, unless the project allows it by name.
    """
    visible: dict[str, str] = {}
    withheld = []
    for name, value in environ.items():
        if name in allow:
            visible[name] = value
        elif looks_secret(name):
            withheld.append(name)
        elif not _DROPPED.match(name):
            visible[name] = value
    if user_base:
        visible["PYTHONUSERBASE"] = user_base  # HOME is a fresh one, `pip install --user` is not
    return visible, tuple(sorted(withheld))
