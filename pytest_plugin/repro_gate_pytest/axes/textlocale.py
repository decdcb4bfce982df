"""locale: LC_ALL, and a text encoding that is not UTF-8.

``non-utf-8`` leaves the file system's encoding at UTF-8 and moves only what ``open()`` uses by
default, as on a Windows machine. Plain ``C`` keeps UTF-8 as the text encoding, as Python itself
does when it is started in that locale.
"""

from __future__ import annotations

import contextlib
import locale
import os
from collections.abc import Mapping
from typing import Any

from repro_gate_pytest import wire
from repro_gate_pytest.axes.base import Axis


class TextLocale(Axis):
    """Axis ``locale``: what a start sets, set while running."""

    name = "locale"

    def apply(self, conditions: Mapping[str, Any]) -> None:
        value = conditions["locale"]
        os.environ["LC_ALL"] = os.environ["LANG"] = "C.UTF-8" if value == wire.NON_UTF8 else value
        if value == "C":
            return
        with contextlib.suppress(locale.Error):  # a locale that this machine does not have
            locale.setlocale(locale.LC_CTYPE, "C" if value == wire.NON_UTF8 else value)
