"""locale, the part a running process takes on: a text encoding that is not UTF-8.

LC_ALL itself is set when a process starts. ``non-utf-8`` leaves the file system's encoding at
UTF-8 and moves only what ``open()`` uses by default, as on a Windows machine.
"""

from __future__ import annotations

import locale
from collections.abc import Mapping
from typing import Any

from repro_gate_pytest import wire
from repro_gate_pytest.axes.base import Axis


class TextLocale(Axis):
    """Axis ``locale``."""

    name = "locale"

    def apply(self, conditions: Mapping[str, Any]) -> None:
        if conditions["locale"] == wire.NON_UTF8:
            locale.setlocale(locale.LC_CTYPE, "C")
