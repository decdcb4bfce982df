"""timezone: TZ and tzset."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

from repro_gate_pytest import wire
from repro_gate_pytest.axes.base import Axis

_ZONEINFO = "/usr/share/zoneinfo"


class Zone(Axis):
    """Axis ``timezone``: names of the zone database, or POSIX rules where there is none."""

    name = "timezone"

    def apply(self, conditions: Mapping[str, Any]) -> None:
        zone = conditions["timezone"]
        if zone in wire.ZONES and zone != "UTC" and not os.path.exists(os.path.join(_ZONEINFO, zone)):
            zone = wire.ZONES[zone]
        os.environ["TZ"] = zone
        time.tzset()
