"""A small web shop."""

__version__ = "1.4.0"
