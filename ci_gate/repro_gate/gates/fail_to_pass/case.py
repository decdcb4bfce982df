"""What the gate is given: the change, what it claims, how much may be run, and who runs it.

Belongs here: the gate's inputs as values, and the one protocol it runs things through. A fake
bench and a real one differ in nothing that the policy can see.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from repro_gate.model import (
    CollectFailure,
    Conditions,
    Experiment,
    ExperimentResult,
    ItemFacts,
    Lenient,
    Mode,
    ReasonCode,
    Side,
    Trace,
)

GATE = "fail-to-pass"


class Claimed(Protocol):
    """What the change says of itself (``change.claims`` reads it)."""

    @property
    def is_fix(self) -> bool:
        """It says that it fixes something: then a proof is owed."""

    @property
    def is_revert(self) -> bool:
        """It takes an earlier change back."""

    @property
    def is_refactor(self) -> bool:
        """It says that no behaviour changes."""

    @property
    def repro_first(self) -> bool:
        """It brings a test for a bug that a later change fixes."""

    @property
    def author_is_bot(self) -> bool:
        """No person wrote it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProductFile:
    """A changed Python file of the product; None where it does not exist on that side.

    ``removed`` and ``added`` are the changed lines that can run (whole statements), on base and
    on head.
    """

    path: str
    module: str
    base: str | None = None
    head: str | None = None
    removed: frozenset[int] = frozenset()
    added: frozenset[int] = frozenset()


@dataclass(frozen=True, kw_only=True, slots=True)
class Obstacle:
    """Something that keeps the gate from an answer, found before anything ran."""

    reason: ReasonCode
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A change as the gate sees it. Paths are relative to the tree and posix.

    ``packages`` are the product's own top-level names; ``test_data`` changed files below test
    roots (or matched by a declared glob) that are no Python; ``documents`` changed documentation; ``package_data`` data
    of the product; ``network_allowed`` ids that may use the network; ``narrowed``: only some of head's tests were asked
    for; ``unbuilt`` says why the product must be built where nothing builds it; ``text`` gives the text of a file of
    head.
    """

    base_sha: str
    head_sha: str
    is_test: Callable[[str], bool]
    text: Callable[[str], str | None] = lambda _path: None
    packages: frozenset[str] = frozenset()
    product: tuple[ProductFile, ...] = ()
    package_data: frozenset[str] = frozenset()
    test_files: frozenset[str] = frozenset()
    test_data: frozenset[str] = frozenset()
    documents: frozenset[str] = frozenset()
    test_settings: bool = False
    dependencies: bool = False
    network_allowed: frozenset[str] = frozenset()
    obstacles: tuple[Obstacle, ...] = ()
    narrowed: bool = False
    unbuilt: str = ""
    environment: str = ""
    overlay: str = ""
    command: str = ""

    @property
    def changes_product(self) -> bool:
        """Whether anything that could fix a bug is part of the change."""
        return bool(self.product or self.package_data or self.dependencies)

    @property
    def changes_tests(self) -> bool:
        """Whether tests, or what they read, are part of the change."""
        return bool(self.test_files or self.test_data or self.test_settings)


@dataclass(frozen=True, kw_only=True, slots=True)
class Policy:
    """How much is run and how strict the answer is. ``today`` is the date that clocks move from.

    ``most_confirmed`` failures on head are run again; ``probabilistic`` is the share of runs in
    which base must fail (0: all of them).
    """

    today: datetime.date
    same_seed: int = 3
    varied: int = 5
    most_candidates: int = 200
    most_confirmed: int = 20
    control_sample: int = 10
    probabilistic: float = 0.0
    first_seconds: float = 120.0
    least_seconds: float = 10.0
    head_factor: float = 10.0
    total_seconds: float = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """A tree in a state: a side, names it may lack, files replaced or added, whose environment it runs in.

    ``restored`` are paths that are as on base, or gone as there; ``replaced`` holds paths and texts. ``environment``
    is HEAD unless base's own dependencies are asked for (then BASE). ``recorded``: all lines and branches of the
    product are told, in place of watched lines, unless ``offspring`` is False also those of child processes.
    ``watched`` False: nobody asks for more than outcomes.
    """

    side: Side
    lenient: Lenient | None = None
    restored: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    environment: Side = Side.HEAD
    recorded: bool = False
    offspring: bool = True
    watched: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Collection:
    """What collecting on a stage found. ``strays`` are product modules that came from another place."""

    items: Mapping[str, ItemFacts] = field(default_factory=dict)
    failures: tuple[CollectFailure, ...] = ()
    import_lines: Mapping[str, frozenset[int]] = field(default_factory=dict)
    import_opened: tuple[str, ...] = ()
    strays: tuple[str, ...] = ()
    import_ran: tuple[Trace, ...] = ()
    python: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Request:
    """One experiment on one stage; ``files`` narrow what a fresh process collects."""

    stage: Stage
    experiment: Experiment
    mode: Mode = Mode.FORK
    files: tuple[str, ...] = ()


class Bench(Protocol):
    """Runs what the gate asks for. Lines of the product files are watched on each stage."""

    def expect(self, stage: Stage, conditions: Conditions) -> None:
        """A collection that will be asked for: it may be started beside others."""

    def collect(self, stage: Stage, conditions: Conditions) -> Collection:
        """Collect all selected tests. Raises CollectionFailed where pytest gives no list at all."""

    def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
        """Run the requests, in any order; results in the order of the requests."""
