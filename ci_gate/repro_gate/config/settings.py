"""The settings that the rest of the program sees, and where each came from.

Belongs here: the frozen result. Does not belong here: reading or checking it (loading, keys).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from repro_gate.config.keys import DEFAULTS, variable, written


class Source(enum.StrEnum):
    """Where a value came from; a later one wins."""

    DEFAULT = "default"
    FILE = "file"
    ENVIRONMENT = "environment"
    COMMAND_LINE = "command line"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Every key with its value (seconds, MiB, names); ``keys.Schema`` says what each means.

    Paths are seen from the root unless absolute. ``file`` is the name of the file that was
    read, or empty; ``notes`` are things to tell the user that are no errors.
    """

    runs: int
    budget: float | None
    seed: int | None
    sandbox: Literal["auto", "docker", "bubblewrap", "host"]
    image: str | None
    jobs: int | None
    test_timeout: float
    collect_timeout: float
    memory_limit: int
    python: str | None
    invocation: Literal["python -m pytest", "pytest"]
    pytest_args: tuple[str, ...]
    install: tuple[str, ...]
    extras: tuple[str, ...]
    groups: tuple[str, ...]
    env_cache: str | None
    exclude: tuple[str, ...]
    max_tree_mib: int
    pass_env: tuple[str, ...]
    redact: tuple[str, ...]
    network: Literal["blocked", "allowed"]
    gate_fail_to_pass: Literal["off", "warn", "block"]
    gate_network: Literal["off", "warn", "block"]
    gate_flaky: Literal["off", "warn", "block"]
    gate_coverage: Literal["off", "warn", "block"]
    min_diff_coverage: float
    gate_mutation: Literal["off", "warn", "block"]
    mutation_engine: Literal["repro-gate", "mutmut"]
    allowed_survivors: int | None
    min_mutation_score: float | None
    mutation_budget: float
    max_waivers: int
    max_timeouts: int
    test_globs: tuple[str, ...]
    axes: tuple[str, ...]
    without_axes: tuple[str, ...]
    capsules: str
    replays: int
    keep_runs: str | None
    sources: Mapping[str, Source] = field(default_factory=dict, hash=False)
    file: str = ""
    notes: tuple[str, ...] = ()

    @property
    def varied(self) -> tuple[str, ...]:
        """The axes to vary: ``axes`` less ``without_axes``."""
        return tuple(axis for axis in self.axes if axis not in self.without_axes)

    def source(self, name: str) -> Source:
        """Where the value of a key (hyphenated or not) came from. Raises KeyError for no key."""
        key = name.replace("_", "-")
        if key not in DEFAULTS:
            raise KeyError(name)
        return self.sources.get(key, Source.DEFAULT)

    def explain(self) -> list[str]:
        """One line per key: its value and where that came from."""
        return [
            f"{name} = {written(getattr(self, name.replace('-', '_')))}  ({self._origin(name)})" for name in DEFAULTS
        ]

    def _origin(self, name: str) -> str:
        match self.source(name):
            case Source.DEFAULT:
                return "default"
            case Source.FILE:
                return self.file
            case Source.ENVIRONMENT:
                return variable(name)
            case Source.COMMAND_LINE:
                return f"--{name}"
