"""environment: variables, umask and HOME of one of the named environments.

The working directory's name and the host's name are set when a process starts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from repro_gate_pytest import wire
from repro_gate_pytest.axes.base import Axis


class Surroundings(Axis):
    """Axis ``environment``."""

    name = "environment"

    def __init__(self) -> None:
        self._home = os.environ.get("HOME", "")

    def install(self) -> list[str]:
        self._home = os.environ.get("HOME", "")
        return []

    def apply(self, conditions: Mapping[str, Any]) -> None:
        named = wire.ENVIRONMENTS[conditions["environment"]]
        for name, value in named["set"].items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        os.umask(named["umask"])
        home = str(named.get("home", ""))
        if home and os.path.basename(self._home) != home:
            path = os.path.join(self._home, home)
            os.makedirs(path, exist_ok=True)
            os.environ["HOME"] = path
