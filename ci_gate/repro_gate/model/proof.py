"""What a proof gate says: sides, reason codes, what was proved and what was refused."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from repro_gate.model.conditions import Conditions
from repro_gate.model.coverage import CoverageOfChange
from repro_gate.model.facts import Lenient
from repro_gate.model.mutation import MutationReport
from repro_gate.model.outcome import Failure
from repro_gate.model.verdict import CapsuleRef


class GateVerdict(enum.StrEnum):
    """The verdict of a gate, as in report.json."""

    PASS = "pass"
    FAIL = "fail"
    NEUTRAL = "neutral"
    INCONCLUSIVE = "inconclusive"


class Side(enum.StrEnum):
    """The trees of a proof: base as it is, base with head's tests, head, and those that are made of them.

    HOLLOW: head with hollow bodies; SURROUNDED: base's product, and all else as head has it; NAMED: the same with
    head's names in the product; REWORDED: head in other words; DESCRIBED: head, described as base is; RETOLD: base's
    product, described as head is; UNDAUNTED: base with head's tests, whose files go on where something raises while
    they are imported.
    """

    CONTROL = "control"
    BASE = "base"
    HEAD = "head"
    HOLLOW = "hollow"
    SURROUNDED = "surrounded"
    NAMED = "named"
    REWORDED = "reworded"
    DESCRIBED = "described"
    RETOLD = "retold"
    UNDAUNTED = "undaunted"

    @property
    def origin(self) -> Side:
        """The side whose tree it is made from."""
        if self is Side.UNDAUNTED:
            return Side.BASE
        return self if self in (Side.CONTROL, Side.BASE) else Side.HEAD


class ReasonCode(enum.StrEnum):
    """Why a test failed on base, why it is no proof, and why the gate decided as it did."""

    # What a test's failure on base means.
    ASSERTION = "assertion"
    PRODUCT_EXCEPTION = "product_exception"
    PRODUCT_IN_SETUP = "product_in_setup"
    TEST_EXCEPTION = "test_exception"
    MISSING_SYMBOL = "missing_symbol"
    SIGNATURE_MISMATCH = "signature_mismatch"
    TIMEOUT = "timeout"
    CRASH = "crash"
    ENV = "env"
    NETWORK = "network"
    FIXTURE = "fixture"
    CONFTEST = "conftest"
    USAGE = "usage"
    COLLECT = "collect"
    SKIP = "skip"
    XFAIL = "xfail"
    XPASS = "xpass"
    NOT_RUN = "not_run"
    UNSTABLE_ID = "unstable_id"
    UNEXPLAINED = "unexplained"
    # Why a test proves nothing although it ran.
    PASSES_ON_BASE = "passes_on_base"
    IMPORT_ONLY = "import_only"
    FAILS_ON_HEAD = "fails_on_head"
    FLAKY_ON_HEAD = "flaky_on_head"
    FLAKY_ON_BASE = "flaky_on_base"
    ORDER_DEPENDENT = "order_dependent"
    NETWORK_ATTEMPT = "network_attempt"
    NETWORK_ALLOWED = "network_allowed"
    SKIPPED_ON_HEAD = "skipped_on_head"
    DOES_NOT_EXERCISE = "does_not_exercise"
    EXERCISE_UNSEEN = "exercise_unseen"
    HOLLOW_UNCLEAR = "hollow_unclear"
    BUSY = "busy"
    UNSUPPORTED = "unsupported"
    # What holds for the whole change.
    PROVED = "proved"
    NEW_API = "new_api"
    DEPENDENCY = "dependency"
    REPRO_ONLY = "repro_only"
    NO_TEST = "no_test"
    NO_ITEMS = "no_items"
    NOTHING_TO_JUDGE = "nothing_to_judge"
    TESTS_ONLY = "tests_only"
    REFACTOR = "refactor"
    REVERT = "revert"
    BOT = "bot"
    NOT_A_FIX = "not_a_fix"
    BASE_BROKEN = "base_broken"
    BASE_MOVED = "base_moved"
    NO_BASE = "no_base"
    NEEDS_BUILD = "needs_build"
    DATA_ABSENT = "data_absent"
    WRONG_TREE = "wrong_tree"
    LOST = "lost"
    TAMPERED = "tampered"
    # What a reader should know although it decides nothing.
    TIME_BOMB = "time_bomb"
    TEST_DELETED = "test_deleted"
    ENV_DELTA = "env_delta"


@dataclass(frozen=True, kw_only=True, slots=True)
class Proved:
    """A test that failed on base for the right reason and passed on head, each time.

    ``conditions`` are those under which base fails; ``runs`` counts the failures on base and
    the passes on head together with the alone runs; ``exercise`` says how the change was reached.
    To repeat it: its ``file``, the ``tests`` of its process in order (itself last), what the files may
    lack on base (``lenient``), the limit of a test that hangs there; ``capsule`` holds all of this.
    """

    id: str
    reason: ReasonCode
    failure: Failure | None = None
    conditions: Conditions = field(default_factory=Conditions)
    runs: int = 0
    exercise: str = ""
    new_api: bool = False
    by_dependency: bool = False
    file: str = ""
    tests: tuple[str, ...] = ()
    lenient: Lenient | None = None
    seconds: float = 0.0
    capsule: CapsuleRef | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A test that proves nothing, and why. ``on_base`` and ``on_head`` are what was seen there."""

    id: str
    reason: ReasonCode
    why: str
    on_base: Failure | None = None
    on_head: Failure | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What a reader must act on, or at least know; ``next_step`` says how.

    ``reason`` is a code of its gate's own enumeration. ``output`` are the last lines that a test or pytest wrote, where
    they explain the finding. ``path`` and ``line`` (from 1) are its place in the repository, where it is about code and
    no test.
    """

    reason: str
    text: str
    id: str = ""
    next_step: str = ""
    output: str = ""
    path: str = ""
    line: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Numbers:
    """The one line of numbers. ``runs`` is the least number of runs a side that a proof rests on;
    ``bound`` the rate of flakes that so many clean runs exclude at 95 %."""

    new: int = 0
    proved: Mapping[str, int] = field(default_factory=dict)
    runs: int = 0
    seeds: tuple[int, ...] = ()
    bound: float = 1.0
    base_sha: str = ""
    head_sha: str = ""
    environment: str = ""
    overlay: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateResult:
    """What one gate came to. ``summary`` is the one line of numbers, ``command`` repeats the gate."""

    gate: str
    verdict: GateVerdict
    reason: str
    findings: tuple[Finding, ...] = ()
    proved: tuple[Proved, ...] = ()
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()
    numbers: Numbers = field(default_factory=Numbers)
    summary: str = ""
    command: str = ""
    coverage: CoverageOfChange | None = None
    mutation: MutationReport | None = None
