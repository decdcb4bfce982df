"""Settings. A deployment replaces the values it needs to."""

from pathlib import Path

CURRENCY = "EUR"

# Value added tax in per cent, by country.
VAT = {"AT": 20, "DE": 19, "FR": 20, "LU": 17}

# Where the shop keeps what must outlive the process.
VAR = Path("var")

# Seconds between two pages of an export.
EXPORT_PAUSE = 0.005
