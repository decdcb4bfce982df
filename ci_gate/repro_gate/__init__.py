"""repro-gate: reproducibility as the condition for merging."""

__version__ = "0.1.0"
