"""Why a test failed: a reason code by outcome, exception and the zones of its traceback. Pure.

Belongs here: reading one run. Does not belong here: comparing runs (protocol) or deciding what
they prove (verdict). A code that is RIGHT is a failure that the product's behaviour caused; API
codes prove a new name and need the hollow-head check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from repro_gate.gates.fail_to_pass.symbols import Surface
from repro_gate.model import CollectFailure, Failure, Frame, Outcome, ReasonCode, TestRun, Zone

RIGHT = frozenset(
    {
        ReasonCode.ASSERTION,
        ReasonCode.PRODUCT_EXCEPTION,
        ReasonCode.PRODUCT_IN_SETUP,
        ReasonCode.TEST_EXCEPTION,
        # These two only with a product frame, and after a run alone: the protocol asks for both.
        ReasonCode.TIMEOUT,
        ReasonCode.CRASH,
    }
)
API = frozenset({ReasonCode.MISSING_SYMBOL, ReasonCode.SIGNATURE_MISMATCH})

_BY_OUTCOME = {
    Outcome.SKIPPED: ReasonCode.SKIP,
    Outcome.XFAILED: ReasonCode.XFAIL,
    Outcome.XPASSED: ReasonCode.XPASS,
    Outcome.NOT_RUN: ReasonCode.NOT_RUN,
    Outcome.TIMEOUT: ReasonCode.TIMEOUT,
    Outcome.CRASHED: ReasonCode.CRASH,
}
_NETWORK_TEXT = re.compile(
    r"gaierror|Network is unreachable|Temporary failure in name resolution|Name or service not known|"
    r"nodename nor servname|No address associated with hostname|ENETUNREACH|EAI_AGAIN"
)
# A library's own limit of time for a test: on a busy machine it fails whatever the product does.
_TIME_LIMIT = re.compile(r"hypothesis\.errors\.(?:DeadlineExceeded|FailedHealthCheck: .*\bslow\b)")
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError"})
_NO_MODULE = re.compile(r"No module named '(?P<module>[\w.]+)'")
_NO_NAME = re.compile(r"cannot import name '(?P<name>\w+)' from (?:partially initialized module )?'(?P<module>[\w.]+)'")
_NO_ATTRIBUTE = (
    re.compile(r"(?:partially initialized )?module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"<module '(?P<module>[\w.]+)'.*> (?:does not have the|has no) attribute '(?P<name>\w+)'"),
)
_NO_MEMBER = (
    re.compile(r"type object '(?P<owner>[\w.]+)' has no attribute '(?P<name>\w+)'"),
    re.compile(r"<class '(?P<owner>[\w.]+)'> (?:does not have the|has no) attribute '(?P<name>\w+)'"),
    re.compile(r"'(?P<owner>[\w.]+)' object has no attribute '(?P<name>\w+)'"),
    re.compile(r"<(?P<owner>[\w.]+) object at .*> (?:does not have the|has no) attribute '(?P<name>\w+)'"),
)
_NO_GLOBAL = re.compile(r"name '(?P<name>\w+)' is not defined")
_ARGUMENTS = re.compile(
    r"(?P<callee>[\w.<>]+)\(\) (?:got an unexpected keyword|got multiple values|got some positional-only|"
    r"takes |missing \d+ required)"
)
_NO_FIXTURE = re.compile(r"fixture '(?P<name>\w+)' not found")
_TEST_MODULE = re.compile(r"(?:^|\.)(?:tests?|testing|conftest|test_\w+|\w+_test)\.")
# Of a name that the test lacks, of the machine, or a test's word that all is over; any other exception is about a
# value.
_NO_VALUES = frozenset(
    {"NameError", "ImportError", "MemoryError", "SystemError", "_pytest.outcomes.Exit", "bdb.BdbQuit"}
)
_OWN = (Zone.TEST, Zone.PRODUCT)


@dataclass(frozen=True, kw_only=True, slots=True)
class Context:
    """What is known besides the run: the change's names, whether head passes, where head's fixtures are."""

    surface: Surface = field(default_factory=Surface)
    head_passes: bool = True
    fixtures: Mapping[str, str] = field(default_factory=dict)
    is_test: Callable[[str], bool] = lambda _path: True


@dataclass(frozen=True, kw_only=True, slots=True)
class Missing:
    """A name that an exception says is not there; ``module`` is empty where it is not told."""

    module: str = ""
    name: str = ""


def classify(run: TestRun, context: Context) -> ReasonCode | None:
    """The reason code of one run, or None where the test passed."""
    if run.outcome is Outcome.PASSED:
        return None
    if run.outcome.bad and network(run):
        return ReasonCode.NETWORK
    if run.outcome in _BY_OUTCOME:
        return _BY_OUTCOME[run.outcome]
    return _of_failure(run.failure, context) if run.failure is not None else ReasonCode.UNEXPLAINED


def network(run: TestRun) -> bool:
    """Whether a run tried to reach the network: seen by the hook, by the counters, or by its exception."""
    seen = run.evidence
    if seen is not None and (seen.network or seen.unrouted):
        return True
    return ends_by_network(run.failure)


def ends_by_network(failure: Failure | None) -> bool:
    """Whether an exception says that the network was not there; a test that goes on ends by another."""
    return failure is not None and any(
        _NETWORK_TEXT.search(text) for text in (f"{failure.type}: {failure.message}", *failure.chain)
    )


def ends_by_time(failure: Failure | None) -> bool:
    """Whether a limit of time ended a test that pytest reports as failed."""
    return failure is not None and any(
        _TIME_LIMIT.search(text) for text in (f"{failure.type}: {failure.message}", *failure.chain)
    )


def through_product(failure: Failure | None) -> bool:
    """Whether the exception passed through product code that the test called (also T P P P T)."""
    if failure is None:
        return False
    zones = [frame.zone for frame in failure.frames]
    called = zones[zones.index(Zone.TEST) :] if Zone.TEST in zones else zones
    return Zone.PRODUCT in called


def of_collection(failed: CollectFailure, context: Context) -> ReasonCode:
    """The reason code of a file (or conftest) that could not be collected: never a proof in itself."""
    failure = failed.failure
    if failure.type.endswith("UsageError"):
        return ReasonCode.USAGE
    if _is_foreign(failure, context.surface):
        return ReasonCode.ENV
    lacks = any(_is_products(named, context.surface) for named in _named(failed))
    if lacks and not stops_in_product(failed, context):
        return ReasonCode.MISSING_SYMBOL
    return ReasonCode.CONFTEST if failed.node.rpartition("/")[2] == "conftest.py" else ReasonCode.COLLECT


def stops_in_product(failed: CollectFailure, context: Context) -> bool:
    """Whether a test file meets an error of the product while it is imported, and not a name that only head has.

    Modules that import each other are such an error: the name is there, and its module not yet.
    """
    conftest = failed.node.rpartition("/")[2] == "conftest.py"
    if conftest or not through_product(failed.failure) or _is_foreign(failed.failure, context.surface):
        return False
    if any(_is_new(named, context.surface) for named in _named(failed)):
        return False
    return any(each.zone is Zone.PRODUCT and not context.is_test(each.path) for each in failed.failure.frames)


def missing(failure: Failure) -> Missing | None:
    """The name that is missing, by the exception's type and words."""
    kind, text = failure.type, failure.message
    if _is_missing_symbol(failure):
        module, _, name = text.strip().partition(":")
        return Missing(module=module, name=name)
    if kind in _IMPORT_ERRORS or _IMPORT_ERRORS & set(failure.bases):
        if found := _NO_NAME.search(text):
            return Missing(module=found["module"], name=found["name"])
        if found := _NO_MODULE.search(text):
            return Missing(module=found["module"])
    if kind == "AttributeError":
        for pattern in _NO_ATTRIBUTE:
            if found := pattern.search(text):
                return Missing(module=found["module"], name=found["name"])
        for pattern in _NO_MEMBER:
            if found := pattern.search(text):
                return Missing(name=f"{found['owner'].rpartition('.')[2]}.{found['name']}")
    if kind == "NameError" and (found := _NO_GLOBAL.search(text)):
        return Missing(name=found["name"])
    return None


def wanted(failures: Iterable[CollectFailure]) -> list[tuple[str, str]]:
    """The (module, name) pairs that files could not import."""
    return [(named.module, named.name) for failed in failures for named in _named(failed) if named.module]


def is_signature(failure: Failure, surface: Surface) -> bool:
    """Whether a call does not fit the parameters of a function whose parameters changed."""
    found = _ARGUMENTS.search(failure.message) if failure.type == "TypeError" else None
    if found is None:
        return False
    callee = found["callee"]
    return any(callee == name or callee.endswith(f".{name}") for name in surface.signatures)


def _named(failed: CollectFailure) -> Iterator[Missing]:
    """What a collection error says is missing: by its exception, and by what the plugin found in its causes."""
    own = missing(failed.failure)
    if own is not None:
        yield own
    yield from (Missing(module=module) for module in failed.missing_modules)
    for symbol in failed.missing_symbols:
        module, _, name = symbol.partition(":")
        yield Missing(module=module, name=name)


def _of_failure(failure: Failure, context: Context) -> ReasonCode:
    if _is_missing_symbol(failure):
        return ReasonCode.MISSING_SYMBOL
    if failure.type.endswith("FixtureLookupError"):
        return _fixture(failure, context)
    if failure.type.endswith("UsageError"):
        return ReasonCode.USAGE
    if failure.phase == "collect":
        return of_collection(CollectFailure(node="", failure=failure), context)
    if _is_environment(failure, context.surface):
        return ReasonCode.ENV
    in_call = failure.phase == "call"
    last = _last_own(failure)
    if in_call and _is_assertion(failure) and (last is None or last.zone is Zone.TEST):
        return ReasonCode.ASSERTION
    if through_product(failure):
        return ReasonCode.PRODUCT_EXCEPTION if in_call else ReasonCode.PRODUCT_IN_SETUP
    return _in_test(failure, last, context)


def _in_test(failure: Failure, last: Frame | None, context: Context) -> ReasonCode:
    """Raised in test code (or below it) with no product frame in between."""
    named = missing(failure)
    if named is not None and _is_products(named, context.surface):
        return ReasonCode.MISSING_SYMBOL
    if is_signature(failure, context.surface):
        return ReasonCode.SIGNATURE_MISMATCH
    if failure.phase != "call":
        conftest = last is not None and last.path.rpartition("/")[2] == "conftest.py"
        return ReasonCode.CONFTEST if conftest else ReasonCode.FIXTURE
    if _is_suites_own(failure) and not any(frame.zone is Zone.PRODUCT for frame in failure.frames):
        return ReasonCode.ASSERTION
    # Head passes with the same test, and only the product differs: a value of it is what the test cannot go on with.
    kinds = {failure.type, *failure.bases}
    if last is not None and last.zone is Zone.TEST and "Exception" in kinds and not _NO_VALUES & kinds:
        return ReasonCode.TEST_EXCEPTION
    return ReasonCode.UNEXPLAINED


def _fixture(failure: Failure, context: Context) -> ReasonCode:
    """A fixture that is not found is the bug itself where head, with the same test files, finds it."""
    found = _NO_FIXTURE.search(failure.message)
    home = context.fixtures.get(found["name"], "") if found else ""
    if found and home and not context.is_test(home) and context.surface.new_name(found["name"]):
        return ReasonCode.MISSING_SYMBOL
    return ReasonCode.PRODUCT_IN_SETUP if context.head_passes else ReasonCode.FIXTURE


def _is_missing_symbol(failure: Failure) -> bool:
    return failure.type.rpartition(".")[2] == "MissingSymbol"


def _is_assertion(failure: Failure) -> bool:
    # `pytest.fail`, "DID NOT RAISE" and "DID NOT WARN" are of the type `Failed`.
    name = failure.type.rpartition(".")[2]
    return name in ("AssertionError", "Failed", "DocTestFailure") or "AssertionError" in failure.bases


def _is_suites_own(failure: Failure) -> bool:
    """An exception class that the suite (or an assertion library) made for its own checks."""
    return _TEST_MODULE.search(failure.type) is not None or "Assertion" in failure.type.rpartition(".")[2]


def _is_products(named: Missing, surface: Surface) -> bool:
    if named.module:
        # Head passes with it, so head has it, even where the syntax does not show how.
        return surface.owns(named.module)
    return surface.new_name(named.name)


def _is_environment(failure: Failure, surface: Surface) -> bool:
    if failure.type == "locale.Error":
        return True
    if failure.type in _IMPORT_ERRORS:
        return _is_foreign(failure, surface)
    # A program that is not there: a bare name that subprocess could not start.
    program = re.search(r"No such file or directory: '([^'/]+)'$", failure.message)
    below = bool(failure.frames) and failure.frames[-1].path.endswith("subprocess.py")
    return failure.type == "FileNotFoundError" and program is not None and below


def _is_foreign(failure: Failure, surface: Surface) -> bool:
    """It asks another distribution, or the standard library, for what this environment lacks."""
    named = missing(failure)
    if named is None or not named.module or surface.owns(named.module):
        return False
    return _TEST_MODULE.search(named.module + ".") is None


def _is_new(named: Missing, surface: Surface) -> bool:
    """Whether head has a name that base has not: a symbol, or a module."""
    return surface.new_name(named.name) or surface.new_module(f"{named.module}.{named.name}".strip("."))


def _last_own(failure: Failure) -> Frame | None:
    own = [frame for frame in failure.frames if frame.zone in _OWN]
    return own[-1] if own else None
