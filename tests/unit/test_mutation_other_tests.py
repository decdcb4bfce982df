"""Mutants with which other tests are collected: ids may be made of the product's own values."""

from __future__ import annotations

import pytest

from repro_gate.model import Mode, Outcome, Site
from tests.unit.simulated_mutants import Behaviour, Judged, Seen, catches, judged, mutant

OTHER = "tests/test_other.py::test_other"
ONE, TWO, THREE = (f"tests/test_sizes.py::test_fits[{size}]" for size in (1, 2, 3))
LIMIT = mutant("limit", 1, site=Site.IMPORT, qualname="", first_line=0)
HEAD_TESTS = (OTHER, ONE, TWO)


def other_tests(came: Behaviour, *there: str, new: frozenset[str] = frozenset()) -> Judged:
    """With the mutant these tests are there, of which ``THREE`` behaves so; it is none of head's."""
    tests = {**dict.fromkeys(HEAD_TESTS, catches()), THREE: came}
    return judged(
        tests,
        LIMIT,
        outcomes=dict.fromkeys(HEAD_TESTS, Outcome.PASSED),
        covering=lambda _mutant: (ONE, TWO),
        bench={"collects": {"": HEAD_TESTS, "raises": HEAD_TESTS, "limit": there}},
        new_tests=new,
    )


@pytest.mark.parametrize("new", [frozenset(), frozenset({ONE, TWO})], ids=["old tests", "tests of the change"])
def test_a_test_that_comes_with_it_and_fails_notices_it(new: frozenset[str]) -> None:
    found = other_tests(catches("limit"), OTHER, ONE, THREE, new=new)
    assert found.outcomes == {"limit": "killed"}
    assert (found.of("limit").killed_by, found.of("limit").by_new_test) == ((THREE,), bool(new))


def test_what_every_test_that_is_left_passes_survives_the_whole_suite() -> None:
    found = other_tests(catches(), OTHER, ONE, THREE)
    assert found.outcomes == {"limit": "survived"}
    asked = [each for batch in found.bench.asked for each in batch if each.experiment.tests is None]
    assert asked
    assert all(each.mode is Mode.FRESH for each in asked)
    assert [each.files for each in asked][-1] == (), "at last the suite, as it is for everybody"


def test_a_test_that_comes_and_is_skipped_has_nothing_to_say() -> None:
    assert other_tests(lambda _seen: Outcome.SKIPPED, OTHER, ONE, THREE).outcomes == {"limit": "survived"}


def test_a_failure_of_one_that_comes_and_goes_is_no_kill() -> None:
    def once(seen: Seen) -> Outcome:
        return Outcome.FAILED if seen.nth == 1 else Outcome.PASSED

    found = other_tests(once, OTHER, ONE, THREE)
    assert found.outcomes == {"limit": "inconclusive"}


def test_where_no_test_is_left_nothing_is_known() -> None:
    found = other_tests(catches())
    assert found.outcomes == {"limit": "inconclusive"}
    assert found.of("limit").why == "no test is left with it"


def test_a_test_that_fails_without_it_as_well_does_not_tell() -> None:
    broken = judged(
        {OTHER: lambda _seen: Outcome.FAILED, ONE: catches(), TWO: catches()},
        LIMIT,
        outcomes={OTHER: Outcome.FAILED, ONE: Outcome.PASSED, TWO: Outcome.PASSED},
        covering=lambda _mutant: (ONE, TWO),
        bench={"collects": {"limit": (OTHER, ONE)}},
    )
    assert broken.outcomes == {"limit": "survived"}
