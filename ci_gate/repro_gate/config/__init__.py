"""[tool.repro-gate]: the keys, their defaults, and where each value came from.

Belongs here: reading and checking configuration, of a file, the environment and the command
line. Does not belong here: acting on a value, or parsing command lines (cli).
"""

from repro_gate.config.keys import reference
from repro_gate.config.loading import find_root, load, parse_toml
from repro_gate.config.settings import Settings, Source

__all__ = ["Settings", "Source", "find_root", "load", "parse_toml", "reference"]
