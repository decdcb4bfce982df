"""The shapes of pull requests and the traps that a grader must not fall into: verdict and reason of each."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from repro_gate.gates.fail_to_pass import Obstacle, Policy, Request, merge_legs, prove
from repro_gate.gates.fail_to_pass.case import GATE
from repro_gate.model import (
    CollectFailure,
    ExperimentResult,
    GateResult,
    GateVerdict,
    Mode,
    Outcome,
    ReasonCode,
    Side,
    TestRun,
)
from tests.unit.simulated_bench import (
    BASE_TEXT,
    FIX,
    HEAD_TEXT,
    NO_FIX,
    POLICY,
    PRODUCT,
    TESTS,
    TODAY,
    Behaviour,
    Said,
    Seen,
    Sim,
    SimBench,
    case,
    comes_to,
    fails,
    failure,
    judged,
    old,
    on_conditions,
    passes,
    product,
    run,
)

PASS, FAIL, NEUTRAL, INCONCLUSIVE = GateVerdict
NEW = "test_new"
NEW_ID = f"{TESTS}::{NEW}"
MISSING = "cannot import name 'g' from 'pkg.mod' (/pkg/mod.py)"
NEW_FUNCTION = case(
    product=(product(head=BASE_TEXT + "def g(x):\n    return x * 2\n", added=frozenset({3, 4}), removed=frozenset()),)
)
NEW_LINES = {"lines": ((PRODUCT, 4),)}


def came_to(result: GateResult, verdict: GateVerdict, reason: str) -> None:
    assert (result.verdict, result.reason) == (verdict, ReasonCode(reason)), result


def why(result: GateResult, test: str = NEW_ID) -> str:
    return next(str(refused.reason) for refused in result.refused if refused.id == test)


def collect_error(kind: str, message: str, zones: str = "T", node: str = TESTS) -> CollectFailure:
    return CollectFailure(node=node, failure=failure(kind, zones, message, phase="collect"))


# --- 1 to 3: proofs and what passes on base ---------------------------------------------------


def test_a_test_that_fails_on_base_and_passes_on_head_is_a_proof() -> None:
    result = judged(old(), Sim(name=NEW))
    came_to(result, PASS, "proved")
    assert [(proof.id, proof.reason, proof.runs) for proof in result.proved] == [(NEW_ID, ReasonCode.ASSERTION, 9)]
    assert result.gate == GATE
    assert result.command == "repro-gate check --base bbbb"
    assert result.summary == (
        "1 new, 1 proved (assertion 1 / product 0 / new-API 0), 9 runs a side, flakes above 28% excluded at 95 %, "
        "hash seeds 0,1,2,3, base bbbbbbbbbbbb, environment eeeeeeeeeeee"
    )


@pytest.mark.parametrize(("claims", "verdict"), [(FIX, FAIL), (NO_FIX, NEUTRAL)])
def test_tests_that_all_pass_on_base(claims: Said, verdict: GateVerdict) -> None:
    came_to(judged(old(), Sim(name=NEW, base=passes()), claims=claims), verdict, "passes_on_base")


def test_a_proof_may_be_accompanied_by_tests_that_pass_on_base() -> None:
    result = judged(Sim(name="test_other", base=passes()), Sim(name=NEW), old())
    came_to(result, PASS, "proved")
    assert why(result, f"{TESTS}::test_other") == "passes_on_base"
    assert result.findings == ()


# --- 4 and 5: new names ------------------------------------------------------------------------


def new_api(hollow: Behaviour) -> GateResult:
    missing = fails("MissingSymbol", "T", "pkg.mod:g")
    return judged(
        old(file="tests/test_a.py"),
        Sim(name=NEW, base=missing, head=passes(**NEW_LINES), hollow=hollow, lenient_only=True),
        change=NEW_FUNCTION,
        failures={Side.BASE: [collect_error("ImportError", MISSING)]},
    )


def test_a_new_name_is_a_proof_if_the_test_fails_without_the_new_bodies() -> None:
    result = new_api(fails())
    came_to(result, PASS, "new_api")
    assert result.proved[0].new_api
    assert result.numbers.proved == {"new-API": 1}


def test_a_new_name_alone_is_no_proof() -> None:
    came_to(new_api(passes()), FAIL, "import_only")


def test_a_hollow_body_that_the_test_only_trips_over_is_tried_with_a_softer_filling() -> None:
    def checks_later(seen: Seen) -> TestRun:
        soft = "MagicMock" in seen.replaced[PRODUCT]
        return (fails() if soft else fails("AttributeError", "T", "'NoneType' object has no attribute 'x'"))(seen)

    def checks_nothing(seen: Seen) -> TestRun:
        soft = "MagicMock" in seen.replaced[PRODUCT]
        return (passes() if soft else fails("AttributeError", "T", "'NoneType' object has no attribute 'x'"))(seen)

    came_to(new_api(checks_later), PASS, "new_api")
    came_to(new_api(checks_nothing), FAIL, "import_only")


def test_a_test_that_only_breaks_without_the_new_bodies_is_undecided() -> None:
    came_to(new_api(fails("KeyError", "T", "'x'")), INCONCLUSIVE, "hollow_unclear")


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("NameError", "name 'helper' is not defined"),
        ("TypeError", "f() missing 1 required positional argument: 'y'"),
        ("AttributeError", "module 'pkg.other' has no attribute 'gone'"),
    ],
)
def test_what_a_body_of_base_lacks_in_heads_module_is_no_check(kind: str, message: str) -> None:
    change = case(product=(product(head="def f(x, y):\n    return x + y\n", added=frozenset({1, 2})),))
    missing = fails("TypeError", "T", "f() takes 1 positional argument but 2 were given")

    def hollow(seen: Seen) -> TestRun:
        soft = "MagicMock" in seen.replaced[PRODUCT]
        return (passes() if soft else fails(kind, "TP", message))(seen)

    came_to(judged(old(), Sim(name=NEW, base=missing, hollow=hollow), change=change), FAIL, "import_only")


def test_a_new_name_without_a_function_behind_it_is_no_proof() -> None:
    constant = case(product=(product(head=BASE_TEXT + "LIMIT = 3\n", added=frozenset({3}), removed=frozenset()),))
    missing = fails("AttributeError", "T", "module 'pkg.mod' has no attribute 'LIMIT'")
    sim = Sim(name=NEW, base=missing, head=passes(lines=((PRODUCT, 3),)), named=passes())
    came_to(judged(old(), sim, change=constant), FAIL, "import_only")
    stumbles = fails("TypeError", "T", "'>' not supported between instances of 'NoValue' and 'int'")
    for checks in (fails(), stumbles):
        came_to(judged(old(), dataclasses.replace(sim, named=checks), change=constant), PASS, "new_api")
    trips = fails("KeyError", "T", "'x'")
    came_to(judged(old(), dataclasses.replace(sim, named=trips), change=constant), FAIL, "import_only")


def test_what_passes_on_base_with_the_new_names_asks_for_nothing_else() -> None:
    """`hasattr`, `getattr` with a default, an import that is tried: they fail on base by an assertion."""
    sim = Sim(name=NEW, head=passes(**NEW_LINES), named=passes())
    came_to(judged(old(), sim, change=NEW_FUNCTION), FAIL, "import_only")
    came_to(judged(old(), dataclasses.replace(sim, named=fails()), change=NEW_FUNCTION), PASS, "proved")
    came_to(judged(old(), Sim(name=NEW, named=passes())), PASS, "proved")  # head adds no name


def test_names_that_no_import_survives_are_tried_with_the_constants_that_calls_make() -> None:
    change = case(product=(product(head=HEAD_TEXT + "T = make()\n", added=frozenset({2, 3})),))

    def needs_the_call(seen: Seen) -> TestRun:
        return run() if "make()" in seen.replaced[PRODUCT] else run(Outcome.NOT_RUN)

    came_to(judged(old(), Sim(name=NEW, named=needs_the_call), change=change), FAIL, "import_only")


def test_names_are_tried_under_the_conditions_that_base_needs_to_fail() -> None:
    change = case(product=(product(head=HEAD_TEXT + "def g(): pass\n", added=frozenset({2, 3})),))

    def in_c(seen: Seen) -> TestRun:
        return fails()(seen) if seen.conditions.locale != "C.UTF-8" else run()

    came_to(judged(old(), Sim(name=NEW, base=in_c, named=in_c), change=change), PASS, "proved")


def test_a_renamed_module_is_no_new_api() -> None:
    text = "def f(x):\n    return x\n"
    renamed = case(
        product=(
            product(base=text, head=None, added=frozenset()),
            product(base=None, head=text, path="pkg/new.py", module="pkg.new", removed=frozenset()),
        )
    )
    missing = fails("ModuleNotFoundError", "T", "No module named 'pkg.new'")
    result = judged(old(), Sim(name=NEW, base=missing, head=passes(lines=(("pkg/new.py", 2),))), change=renamed)
    came_to(result, FAIL, "import_only")


def test_changed_parameters_need_the_hollow_check() -> None:
    change = case(product=(product(head="def f(x, y=1):\n    return x + y\n", added=frozenset({1, 2})),))
    missing = fails("TypeError", "T", "f() got an unexpected keyword argument 'y'")
    came_to(judged(old(), Sim(name=NEW, base=missing), change=change), PASS, "new_api")
    came_to(judged(old(), Sim(name=NEW, base=missing, hollow=passes()), change=change), FAIL, "import_only")


def test_old_tests_of_a_file_that_cannot_be_imported_are_never_proofs() -> None:
    result = judged(
        old(lenient_only=True),
        Sim(name=NEW, base=fails("MissingSymbol", "T", "pkg.mod:g"), head=passes(**NEW_LINES), lenient_only=True),
        change=NEW_FUNCTION,
        failures={Side.BASE: [collect_error("ImportError", MISSING)]},
    )
    assert [proof.id for proof in result.proved] == [NEW_ID]


def test_a_file_that_even_lenient_imports_do_not_save_proves_nothing() -> None:
    result = judged(
        old(file="tests/test_a.py"),
        Sim(name=NEW, base=None),
        change=NEW_FUNCTION,
        failures={Side.BASE: [collect_error("ImportError", MISSING)]},
    )
    came_to(result, FAIL, "import_only")


# --- 6: base is broken --------------------------------------------------------------------------


def test_red_tests_of_base_on_base_make_no_proof() -> None:
    result = judged(old(), Sim(name="test_red", control=fails(), base=fails(), changed=False), Sim(name=NEW))
    came_to(result, INCONCLUSIVE, "base_broken")
    assert result.proved == ()
    assert "test_red" in result.findings[0].text


def test_what_breaks_base_is_told_with_its_last_words_and_long_lists_end() -> None:
    def red(seen: Seen) -> TestRun:
        lines = "\n".join(f"line {number}" for number in range(40))
        return dataclasses.replace(fails(message="assert 1 == 2\n +where")(seen), output=lines)

    many = [Sim(name=f"test_red_{number:02}", control=red, base=red, changed=False) for number in range(30)]
    result = judged(*many, Sim(name=NEW))
    came_to(result, INCONCLUSIVE, "base_broken")
    whole, *each = result.findings
    assert whole.text.endswith("test_red_09 and 20 more")
    assert whole.next_step
    assert [finding.id for finding in each] == [f"{TESTS}::test_red_{number:02}" for number in range(3)]
    assert {finding.text for finding in each} == {"AssertionError: assert 1 == 2"}
    assert each[0].output.startswith("line 25\n")
    assert each[0].output.endswith("line 39")
    assert not each[0].next_step


def test_what_keeps_base_from_being_collected_is_told_in_pytests_own_words() -> None:
    error = dataclasses.replace(collect_error("SyntaxError", "invalid syntax"), text="E   SyntaxError: invalid syntax")
    result = judged(old(), Sim(name=NEW), failures={Side.CONTROL: [error]})
    came_to(result, INCONCLUSIVE, "base_broken")
    assert (result.findings[1].id, result.findings[1].output) == (TESTS, "E   SyntaxError: invalid syntax")


def test_a_test_of_base_that_only_one_seed_makes_fail_breaks_nothing() -> None:
    def coin(seen: Seen) -> TestRun:
        return fails()(seen) if seen.conditions.random == 0 else run()

    result = judged(old(), Sim(name="test_coin", control=coin, base=coin, head=coin, changed=False), Sim(name=NEW))
    came_to(result, PASS, "proved")
    assert any("test_coin" in note for note in result.notes)


def test_a_product_that_does_not_import_on_base_makes_no_proof() -> None:
    error = collect_error("AttributeError", "module 'collections' has no attribute 'Mapping'", "TP")
    broken = judged(Sim(name=NEW, base=None), failures={Side.CONTROL: [error], Side.BASE: [error]})
    came_to(broken, INCONCLUSIVE, "base_broken")
    new_file = judged(old(file="tests/test_a.py"), Sim(name=NEW, base=None), failures={Side.BASE: [error]})
    came_to(new_file, INCONCLUSIVE, "env")


def test_base_that_cannot_be_collected_at_all_makes_no_proof() -> None:
    came_to(judged(old(), Sim(name=NEW), refuses=frozenset({Side.CONTROL})), INCONCLUSIVE, "base_broken")


def test_head_that_cannot_be_collected_fails_unless_base_cannot_either() -> None:
    on_head = judged(old(), Sim(name=NEW), refuses=frozenset({Side.HEAD}))
    came_to(on_head, FAIL, "fails_on_head")
    both = frozenset({Side.HEAD, Side.CONTROL})
    on_both = judged(old(), Sim(name=NEW), refuses=both)
    came_to(on_both, INCONCLUSIVE, "base_broken")
    for result, side in ((on_head, "head"), (on_both, "control")):  # each with the words of its own side
        told = [finding for finding in result.findings if finding.output]
        assert [finding.text for finding in told] == ["PluginValidationError: no such argument"]
        assert told[0].output.startswith(f"conftest.py of {side}")


def test_a_file_that_head_cannot_collect_fails_unless_base_cannot_either() -> None:
    error = collect_error("ModuleNotFoundError", "No module named 'left_pad'", node="tests/test_extra.py")
    came_to(judged(old(), Sim(name=NEW), failures={Side.HEAD: [error]}), FAIL, "fails_on_head")
    result = judged(old(), Sim(name=NEW), failures={Side.HEAD: [error], Side.CONTROL: [error]})
    came_to(result, PASS, "proved")
    assert result.notes[0].startswith("tests/test_extra.py can be collected on neither side")


# --- 7 to 11: head -----------------------------------------------------------------------------


def test_a_test_that_fails_on_head_fails_the_gate() -> None:
    came_to(judged(old(), Sim(name=NEW, head=fails())), FAIL, "fails_on_head")


def test_only_so_many_failures_on_head_are_run_again() -> None:
    bench = SimBench(sims=[Sim(name=f"test_{number:02}", head=fails()) for number in range(30)])
    came_to(prove(case(), bench, FIX, POLICY), FAIL, "fails_on_head")
    assert sum(each.stage.side is Side.HEAD and each.mode is Mode.FRESH for each in bench.asked) == 20


def test_other_reasons_on_both_sides_are_both_shown() -> None:
    result = judged(old(), Sim(name=NEW, base=fails("ValueError", "TP", "a"), head=fails("KeyError", "T", "b")))
    came_to(result, FAIL, "fails_on_head")
    shown = result.refused[0]
    assert shown.on_base is not None
    assert shown.on_head is not None
    assert (shown.on_base.type, shown.on_head.type) == ("ValueError", "KeyError")


def test_a_misspelt_name_fails_on_head() -> None:
    wrong = fails("AttributeError", "T", "module 'pkg.mod' has no attribute 'ff'")
    came_to(judged(old(), Sim(name=NEW, base=wrong, head=wrong)), FAIL, "fails_on_head")


def test_a_missing_fixture_on_both_sides_fails_on_head() -> None:
    gone = fails("_pytest.fixtures.FixtureLookupError", "3", "fixture 'tmp_db' not found", phase="setup")
    came_to(judged(old(), Sim(name=NEW, base=gone, head=gone)), FAIL, "fails_on_head")


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (Outcome.XFAILED, "xfail"),
        (Outcome.XPASSED, "xpass"),
        (Outcome.SKIPPED, "skipped_on_head"),
        (Outcome.NOT_RUN, "not_run"),
    ],
)
def test_what_does_not_pass_on_head_is_no_evidence(outcome: Outcome, reason: str) -> None:
    silent = Sim(name=NEW, head=comes_to(outcome))
    came_to(judged(old(), silent), FAIL, reason)
    came_to(judged(old(), silent, Sim(name="test_proof")), PASS, "proved")


def test_a_skip_on_base_alone_is_not_a_failure_there() -> None:
    came_to(judged(old(), Sim(name=NEW, base=comes_to(Outcome.SKIPPED))), FAIL, "not_run")


def test_removing_an_xfail_mark_with_the_fix_is_a_proof() -> None:
    came_to(judged(old(), Sim(name=NEW, control=comes_to(Outcome.XFAILED))), PASS, "proved")


# --- 12 to 14: not the same every time ----------------------------------------------------------


def once(then: Behaviour, otherwise: Behaviour) -> Behaviour:
    return lambda seen: (then if seen.nth == 0 else otherwise)(seen)


def sometimes(often: int, then: Behaviour, otherwise: Behaviour) -> Behaviour:
    return lambda seen: (then if seen.nth % often == often - 1 else otherwise)(seen)


def test_a_test_that_fails_now_and_then_on_head_is_flaky_on_head() -> None:
    came_to(judged(old(), Sim(name=NEW, head=sometimes(4, fails(), passes()))), FAIL, "flaky_on_head")
    came_to(judged(old(), Sim(name=NEW, head=once(fails(), passes()))), FAIL, "flaky_on_head")


def test_a_test_that_passes_now_and_then_on_base_is_flaky_on_base() -> None:
    came_to(judged(old(), Sim(name=NEW, base=sometimes(4, passes(), fails()))), FAIL, "flaky_on_base")


def test_base_may_pass_now_and_then_if_the_policy_says_so() -> None:
    lenient = Policy(today=TODAY, probabilistic=0.8)
    rare = Sim(name=NEW, base=sometimes(9, passes(), fails()))
    came_to(judged(old(), rare, policy=lenient), PASS, "proved")
    often = Sim(name=NEW, base=sometimes(3, passes(), fails()))
    came_to(judged(old(), often, policy=lenient), FAIL, "flaky_on_base")


def test_a_test_that_fails_for_other_reasons_in_turn_is_flaky_on_base() -> None:
    result = judged(old(), Sim(name=NEW, base=sometimes(4, fails("ValueError", "TP", "x"), fails())))
    came_to(result, FAIL, "flaky_on_base")
    assert "different reasons" in result.refused[0].why


def test_a_test_that_depends_on_the_hash_seed_is_found_by_varied_runs() -> None:
    by_seed = on_conditions(lambda seen: seen.conditions.hash_seed == 2, fails(), passes())
    result = judged(old(), Sim(name=NEW, head=by_seed))
    came_to(result, FAIL, "flaky_on_head")
    assert "hash-seed 2" in result.refused[0].why


def test_a_contradiction_ends_the_rounds_of_a_test_at_once() -> None:
    bench = SimBench(sims=[old(), Sim(name=NEW, head=on_conditions(lambda seen: seen.nth >= 2, fails(), passes()))])
    prove(case(), bench, FIX, POLICY)
    steady = SimBench(sims=[old(), Sim(name=NEW)])
    prove(case(), steady, FIX, POLICY)
    assert len(bench.asked) < len(steady.asked) - 10


@pytest.mark.parametrize("also_on_base", [True, False])
def test_a_test_that_fails_alone_is_order_dependent(*, also_on_base: bool) -> None:
    needs_company = on_conditions(lambda seen: bool(seen.before), passes(), fails())
    first = Sim(name="test_a", control=passes(), base=passes(), changed=False)
    other = Sim(name="test_b")
    test = Sim(name=NEW, head=needs_company, base=fails() if also_on_base else needs_company)
    result = judged(first, other, test)
    # Passing on base in company and failing alone on both sides is no proof either.
    assert why(result) == ("order_dependent" if also_on_base else "passes_on_base")
    assert NEW_ID not in [proof.id for proof in result.proved]


def test_a_test_that_fails_in_file_order_and_passes_alone_is_order_dependent() -> None:
    polluted = on_conditions(lambda seen: bool(seen.before), fails(), passes())
    came_to(judged(Sim(name="test_a", base=passes()), Sim(name=NEW, head=polluted)), FAIL, "order_dependent")


def test_a_test_that_passes_with_bases_product_looks_at_its_surroundings() -> None:
    came_to(judged(old(), Sim(name=NEW, surrounded=passes())), FAIL, "does_not_exercise")
    raised = Sim(name=NEW, base=fails("FileNotFoundError", "TP"), surrounded=passes())
    came_to(judged(old(), raised), FAIL, "does_not_exercise")
    came_to(judged(old(), Sim(name=NEW, surrounded=comes_to(Outcome.NOT_RUN))), PASS, "proved")


def test_the_surroundings_are_heads_and_the_product_and_its_data_are_bases() -> None:
    says = product(BASE_TEXT + '__version__ = "1"\n', HEAD_TEXT + '__version__ = "2"\n')
    change = case(product=(says,), package_data=frozenset({"pkg/rates.json"}))
    bench = SimBench(sims=[old(), Sim(name=NEW)])
    came_to(prove(change, bench, FIX, POLICY), PASS, "proved")
    [stage] = {request.stage for request in bench.asked if request.stage.side is Side.SURROUNDED}
    assert stage.restored == (PRODUCT, "pkg/rates.json")
    assert dict(stage.replaced) == {PRODUCT: BASE_TEXT + "__version__ = '2'\n"}


def test_a_test_that_fails_on_head_in_other_words_looks_at_the_text() -> None:
    result = judged(old(), Sim(name=NEW, reworded=fails()))
    came_to(result, FAIL, "does_not_exercise")
    through_product = Sim(name=NEW, base=fails("ValueError", "TP"), reworded=fails())
    came_to(judged(old(), through_product), PASS, "proved")
    came_to(judged(old(), Sim(name=NEW, reworded=once(fails(), passes()))), PASS, "proved")
    came_to(judged(old(), Sim(name=NEW, reworded=comes_to(Outcome.NOT_RUN))), PASS, "proved")


def test_a_test_of_a_file_that_base_cannot_import_must_need_what_raises() -> None:
    def came(**more: Any) -> GateResult:
        in_set_up = fails("ValueError", "TP", "x", phase="setup")
        sims = [Sim(name=NEW, base=in_set_up, lenient_only=True, **more), old(file="tests/test_other.py")]
        bench = SimBench(sims=sims, failures={Side.BASE: [collect_error("ValueError", "x", "TP")]})
        return prove(case(text=lambda _path: "from pkg.mod import f\n"), bench, FIX, POLICY)

    came_to(came(undaunted=fails("NameError")), PASS, "proved")
    came_to(came(undaunted=comes_to(Outcome.NOT_RUN)), PASS, "proved")
    came_to(came(undaunted=passes()), FAIL, "passes_on_base")


DOCUMENTED = product('"""Prizes."""\n' + BASE_TEXT, '"""Prices."""\n' + HEAD_TEXT)


@pytest.mark.parametrize(
    ("asks", "reason"),
    [(kind, "does_not_exercise") for kind in ("docs", "annotations", "code")] + [("files", "proved")],
)
def test_a_test_that_asks_how_code_is_described_must_not_need_that_alone(asks: str, reason: str) -> None:
    sims = [old(), Sim(name=NEW, asks=frozenset({asks}), described=fails())]
    came_to(
        prove(case(product=(DOCUMENTED,)), SimBench(sims=sims), FIX, POLICY),
        PASS if reason == "proved" else FAIL,
        reason,
    )
    sims = [old(), Sim(name=NEW, asks=frozenset({asks}))]
    came_to(prove(case(product=(DOCUMENTED,)), SimBench(sims=sims), FIX, POLICY), PASS, "proved")


@pytest.mark.parametrize(
    ("asks", "verdict", "reason"),
    [("docs", PASS, "proved"), ("annotations", PASS, "proved"), ("code", FAIL, "does_not_exercise")],
)
def test_who_checks_behaviour_besides_a_description_may_ask_for_both(
    asks: str, verdict: GateVerdict, reason: str
) -> None:
    text = "def f(x) -> int:\n    return x + 1\n"
    both = case(product=(product('"""Prizes."""\n' + BASE_TEXT, '"""Prices."""\n' + text),))
    sims = [old(), Sim(name=NEW, asks=frozenset({asks}), described=fails(), retold=fails())]
    came_to(prove(both, SimBench(sims=sims), FIX, POLICY), verdict, reason)


def test_documentation_that_a_test_reads_may_ask_for_docstrings() -> None:
    def came(text: str) -> GateResult:
        reads = passes(opened=("README.md",))
        sims = [old(), Sim(name=NEW, head=reads, described=fails())]
        change = case(product=(DOCUMENTED,), documents=frozenset({"README.md"}), text=lambda _path: text)
        return prove(change, SimBench(sims=sims), FIX, POLICY)

    came_to(came(">>> f.__doc__\n"), FAIL, "does_not_exercise")
    came_to(came(">>> f(1)\nhelp is in the docs\n"), PASS, "proved")


def test_a_docstring_that_the_product_uses_is_a_change_that_a_test_reaches() -> None:
    def came(**more: Any) -> GateResult:
        sims = [old(), Sim(name=NEW, head=passes(lines=()), base=fails(lines=()), **more)]
        return prove(case(product=(DOCUMENTED,)), SimBench(sims=sims), FIX, POLICY)

    result = came(described=fails())
    came_to(result, PASS, "proved")
    assert result.proved[0].exercise == "the product uses a changed docstring"
    came_to(came(described=fails(), asks=frozenset({"docs"})), FAIL, "does_not_exercise")
    came_to(came(described=passes()), FAIL, "does_not_exercise")


def test_package_data_that_nobody_opens_is_surroundings_to_who_asks_for_files() -> None:
    change = case(package_data=frozenset({"pkg/rates.json"}))

    def restored(**more: Any) -> tuple[str, ...]:
        bench = SimBench(sims=[old(), Sim(name=NEW, **more)])
        came_to(prove(change, bench, FIX, POLICY), PASS, "proved")
        [stage] = {request.stage for request in bench.asked if request.stage.side is Side.SURROUNDED}
        return stage.restored

    files = frozenset({"files"})
    assert restored(asks=files) == (PRODUCT,)
    assert restored() == (PRODUCT, "pkg/rates.json")
    by_a_child = passes(**NEW_LINES, children=("python",))
    assert restored(asks=files, head=by_a_child) == (PRODUCT, "pkg/rates.json")
    assert restored(asks=files, head=passes(**NEW_LINES, opened=("pkg/rates.json",))) == (PRODUCT, "pkg/rates.json")


def test_a_test_that_opens_the_changed_source_looks_at_its_text_whatever_it_runs() -> None:
    came_to(judged(old(), Sim(name=NEW, head=passes(sources=(PRODUCT,)))), FAIL, "does_not_exercise")
    came_to(judged(old(), Sim(name=NEW, head=passes(sources=("pkg/other.py",)))), PASS, "proved")
    raised = Sim(name=NEW, base=fails("ValueError", "TP", sources=(PRODUCT,)))
    came_to(judged(old(), raised), PASS, "proved")


# --- 15 to 17: network --------------------------------------------------------------------------


def test_a_test_that_needs_the_network_is_refused_or_allowed() -> None:
    needs = fails("OSError", "TS", "x", network=("connect 10.0.0.1:80",))
    came_to(judged(old(), Sim(name=NEW, base=needs, head=needs)), FAIL, "network")
    marked = Sim(name=NEW, base=needs, head=needs, network="asks the shop")
    came_to(judged(old(), marked), NEUTRAL, "network_allowed")
    allowed = case(network_allowed=frozenset({NEW_ID}))
    came_to(judged(old(), Sim(name=NEW, base=needs, head=needs), change=allowed), NEUTRAL, "network_allowed")


@pytest.mark.parametrize("seen", [{"network": ("look up example.org",)}, {"unrouted": 2}])
def test_a_swallowed_network_attempt_is_refused(seen: dict[str, Any]) -> None:
    came_to(judged(old(), Sim(name=NEW, head=passes(**seen))), FAIL, "network_attempt")
    came_to(judged(old(), Sim(name=NEW, head=passes(**seen), base=fails(**seen))), FAIL, "network_attempt")
    came_to(judged(old(), Sim(name=NEW, base=fails(**seen))), FAIL, "network_attempt")


def test_a_test_that_ends_by_the_missing_network_on_base_alone_needs_it_there() -> None:
    unreachable = fails("OSError", "TPS", "[Errno 101] Network is unreachable", network=("connect 10.0.0.1:80",))
    came_to(judged(old(), Sim(name=NEW, base=unreachable)), FAIL, "network")


def test_loopback_is_no_network() -> None:
    local = passes(binds=("port 8080",), unrouted=0)
    came_to(judged(old(), Sim(name=NEW, head=local)), PASS, "proved")


def test_an_old_test_of_base_that_needs_the_network_breaks_nothing() -> None:
    needs = fails("OSError", "TS", "[Errno 101] Network is unreachable")
    online = Sim(name="test_online", control=needs, base=needs, head=needs, changed=False)
    came_to(judged(online, Sim(name=NEW)), PASS, "proved")


# --- 18 and 19: the calendar and the change's text ----------------------------------------------


def test_a_time_bomb_is_a_proof_and_a_warning() -> None:
    bomb = on_conditions(lambda seen: seen.conditions.clock.startswith("2027"), fails(), passes())
    result = judged(old(), Sim(name=NEW, head=bomb))
    came_to(result, PASS, "proved")
    assert [(found.reason, found.id) for found in result.findings] == [(ReasonCode.TIME_BOMB, NEW_ID)]


@pytest.mark.parametrize("opened", [(PRODUCT,), (".git/HEAD",), ("pkg.egg-info/PKG-INFO",), ("pyproject.toml",)])
def test_a_test_that_reads_the_text_of_the_change_does_not_exercise_it(opened: tuple[str, ...]) -> None:
    reads = Sim(name=NEW, base=fails(lines=()), head=passes(lines=(), opened=opened))
    result = judged(old(), reads, import_lines={PRODUCT: frozenset({2})})
    came_to(result, FAIL, "does_not_exercise")


def test_a_version_string_is_no_behaviour() -> None:
    version = case(product=(product(base="__version__ = '1'\n", head="__version__ = '2'\n", added=frozenset({1})),))
    reads = Sim(name=NEW, base=fails(lines=()), head=passes(lines=((PRODUCT, 1),)))
    came_to(judged(old(), reads, change=version, import_lines={PRODUCT: frozenset({1})}), FAIL, "does_not_exercise")


# --- 20 to 22: forged outcomes, crashes, hangs ----------------------------------------------------


@pytest.mark.parametrize(
    ("side", "verdict", "reason"),
    [
        (Side.HEAD, FAIL, "tampered"),
        (Side.BASE, FAIL, "tampered"),
        (Side.CONTROL, INCONCLUSIVE, "base_broken"),
    ],
)
def test_a_control_that_does_not_hold_certifies_nothing(side: Side, verdict: GateVerdict, reason: str) -> None:
    result = judged(old(), Sim(name=NEW), forging=frozenset({side}))
    came_to(result, verdict, reason)
    assert result.proved == ()


@pytest.mark.parametrize(
    ("side", "verdict", "reason"),
    [("head", FAIL, "tampered"), ("base", FAIL, "tampered"), ("control", INCONCLUSIVE, "base_broken")],
)
def test_a_report_that_contradicts_what_was_seen_certifies_nothing(
    side: str, verdict: GateVerdict, reason: str
) -> None:
    def forged(then: Behaviour) -> Behaviour:
        said = "reported as passed in call, where E was raised"
        return lambda seen: dataclasses.replace(then(seen), contradiction=said if seen.side == side else "")

    sim = Sim(name=NEW, head=forged(passes()), base=forged(fails()), control=forged(passes()))
    result = judged(old(), sim)
    came_to(result, verdict, reason)
    assert result.proved == ()
    assert "where E was raised" in result.findings[0].text


def test_an_expected_failure_that_was_none_is_no_reproduction_and_hurts_nothing_else() -> None:
    said = "reported as expected to fail, which nothing says"
    forged = dataclasses.replace(run(Outcome.XFAILED), contradiction=said)
    repro = judged(Sim(name=NEW, head=lambda _: forged), change=case(product=()), claims=Said(repro_first=True))
    came_to(repro, FAIL, "tampered")
    came_to(judged(old(), Sim(name=NEW), Sim(name="test_x", head=lambda _: forged)), PASS, "proved")


def test_what_a_hook_raises_on_base_is_no_proof() -> None:
    result = judged(old(), Sim(name=NEW, base=fails(phase="hook", zones="T")))
    came_to(result, FAIL, "fixture")
    assert why(result) == "fixture"


def test_controls_that_do_not_hold_on_base_either_are_not_the_changes_doing() -> None:
    both = judged(old(), Sim(name=NEW), forging=frozenset({Side.HEAD, Side.CONTROL}))
    came_to(both, INCONCLUSIVE, "base_broken")


@pytest.mark.parametrize("side", [Side.HEAD, Side.BASE])
def test_an_experiment_that_is_lost_twice_is_undecided(side: Side) -> None:
    came_to(judged(old(), Sim(name=NEW), losing=frozenset({side})), INCONCLUSIVE, "lost")


@pytest.mark.parametrize(
    ("zones", "verdict", "reason"), [("TP", PASS, "proved"), ("", INCONCLUSIVE, "crash"), ("TS", INCONCLUSIVE, "crash")]
)
def test_a_crash_on_base_needs_a_product_frame(zones: str, verdict: GateVerdict, reason: str) -> None:
    crash = comes_to(Outcome.CRASHED, failure("crash", zones, "signal 11"))
    came_to(judged(old(), Sim(name=NEW, base=crash)), verdict, reason)


def test_a_crash_takes_no_other_test_along() -> None:
    crash = comes_to(Outcome.CRASHED, failure("crash", "", "exit 42"))
    behind = on_conditions(lambda seen: NEW_ID in seen.before, comes_to(Outcome.NOT_RUN), fails())
    result = judged(old(), Sim(name=NEW, base=crash), Sim(name="test_z", base=behind))
    came_to(result, PASS, "proved")
    assert [proof.id for proof in result.proved] == [f"{TESTS}::test_z"]


@pytest.mark.parametrize(("zones", "verdict", "reason"), [("TP", PASS, "proved"), ("TS", INCONCLUSIVE, "timeout")])
def test_a_hang_on_base_needs_a_product_frame(zones: str, verdict: GateVerdict, reason: str) -> None:
    hang = comes_to(Outcome.TIMEOUT, failure("timeout", zones, "more than 10 s"))
    came_to(judged(old(), Sim(name=NEW, base=hang)), verdict, reason)


def test_a_hang_that_does_not_come_again_is_a_busy_machine() -> None:
    hang = comes_to(Outcome.TIMEOUT, failure("timeout", "TP", "x"))
    came_to(judged(old(), Sim(name=NEW, base=once(hang, fails()))), INCONCLUSIVE, "busy")
    came_to(judged(old(), Sim(name=NEW, head=once(hang, passes()))), PASS, "proved")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("hypothesis.errors.FailedHealthCheck", "Input generation is slow: only 8 valid inputs after 2.31 seconds"),
        ("hypothesis.errors.DeadlineExceeded", "Test took 412.00ms, which exceeds the deadline of 200.00ms"),
    ],
)
def test_a_librarys_limit_of_time_is_a_busy_machine(kind: str, words: str) -> None:
    slow = fails(kind, "T", words)
    came_to(judged(old(), Sim(name=NEW, head=slow)), INCONCLUSIVE, "busy")
    came_to(judged(old(), Sim(name=NEW, head=once(slow, passes()))), PASS, "proved")
    other = fails("hypothesis.errors.FailedHealthCheck", "T", "it filters out too much")
    came_to(judged(old(), Sim(name=NEW, head=other)), FAIL, "fails_on_head")


def test_base_is_given_ten_times_what_head_needs() -> None:
    seconds: list[float] = []

    def slow_head(_seen: Seen) -> TestRun:
        return dataclasses.replace(run(), seconds=5.0)

    def base(seen: Seen) -> TestRun:
        seconds.append(seen.seconds)
        return fails()(seen)

    judged(old(), Sim(name=NEW, head=slow_head, base=base))
    assert set(seconds) == {50.0}


# --- 23 to 27: data, conftest, refactoring, tests alone, deleted tests ---------------------------


def test_a_changed_data_file_selects_the_test_with_its_stem() -> None:
    data = case(test_files=frozenset(), test_data=frozenset({"tests/data/comments.py.txt"}))
    named = Sim(name="test_format[comments.py]", control=passes(), base=fails(), changed=False)
    result = judged(
        old(), named, Sim(name="test_format[other]", control=passes(), base=fails(), changed=False), change=data
    )
    came_to(result, PASS, "proved")
    assert [proof.id for proof in result.proved] == [named.id]


def test_a_changed_data_file_selects_the_test_that_reads_it() -> None:
    data = case(test_files=frozenset(), test_data=frozenset({"tests/data/x.json"}))
    reader = Sim(name="test_all", control=passes(), changed=False, head=passes(opened=("tests/data/x.json",)))
    came_to(judged(old(), reader, change=data), PASS, "proved")
    unread = judged(old(), change=data, claims=NO_FIX)
    came_to(unread, NEUTRAL, "not_a_fix")
    assert unread.notes == ("no test was seen to read: tests/data/x.json",)


def test_changed_documentation_chooses_who_reads_it_where_a_fix_has_no_other_test() -> None:
    read = Sim(name=NEW, control=passes(), head=passes(opened=("README.md",)), changed=False)
    change = case(test_files=frozenset(), documents=frozenset({"README.md"}))
    came_to(judged(old(), read, change=change), PASS, "proved")
    came_to(judged(old(), change=change), FAIL, "no_test")
    came_to(judged(old(), read, change=change, claims=NO_FIX), NEUTRAL, "not_a_fix")
    elsewhere = case(test_files=frozenset(), documents=frozenset({"docs/use.md"}))
    came_to(judged(old(), read, change=elsewhere), FAIL, "no_test")


def test_a_changed_conftest_alone_is_neutral() -> None:
    conftest = case(test_files=frozenset({"tests/conftest.py"}))
    through = Sim(name="test_x", control=passes(), base=passes())
    came_to(judged(through, change=conftest, claims=NO_FIX), NEUTRAL, "passes_on_base")


def test_a_refactoring_owes_no_proof() -> None:
    refactor = Said(is_fix=False, is_refactor=True)
    came_to(judged(old(), change=case(test_files=frozenset()), claims=refactor), NEUTRAL, "refactor")
    came_to(judged(old(), Sim(name=NEW, base=passes()), claims=refactor), NEUTRAL, "refactor")


def test_an_old_test_that_the_change_breaks_fails_the_gate() -> None:
    result = judged(old(head=fails()), Sim(name=NEW), claims=Said(is_refactor=True))
    came_to(result, FAIL, "fails_on_head")
    assert result.refused[0].why.startswith("passes on base and fails on head")


def test_a_refactoring_breaks_no_old_test_in_whichever_file() -> None:
    refactor = Said(is_fix=False, is_refactor=True)
    far = "tests/test_far.py"
    broken = old("test_far", file=far, head=fails())
    came_to(judged(old(), broken, change=case(test_files=frozenset()), claims=refactor), FAIL, "fails_on_head")
    red = Sim(name="test_red", file=far, control=fails(), base=fails(), head=fails(), changed=False)
    came_to(judged(old(), red, claims=refactor), NEUTRAL, "refactor")


def test_tests_alone_are_neutral_unless_they_fail() -> None:
    alone = case(product=())
    came_to(judged(old(), Sim(name=NEW), change=alone), NEUTRAL, "tests_only")
    came_to(judged(old(), Sim(name=NEW, head=fails()), change=alone), FAIL, "fails_on_head")


def test_a_reproduction_that_fails_as_expected_each_time_passes() -> None:
    alone, first = case(product=()), Said(is_fix=False, repro_first=True)
    came_to(
        judged(old(), Sim(name=NEW, head=comes_to(Outcome.XFAILED)), change=alone, claims=first), PASS, "repro_only"
    )
    unsure = sometimes(4, comes_to(Outcome.XPASSED), comes_to(Outcome.XFAILED))
    came_to(judged(old(), Sim(name=NEW, head=unsure), change=alone, claims=first), FAIL, "flaky_on_head")


def test_deleted_tests_are_named_and_moved_ones_are_not() -> None:
    gone = Sim(name="test_gone", control=passes(), head=None, base=None)
    result = judged(old(), gone, Sim(name=NEW))
    came_to(result, PASS, "proved")
    assert [found.reason for found in result.findings] == [ReasonCode.TEST_DELETED]
    before = Sim(name="test_m", control=passes(), head=None, base=None, changed=False, file="tests/test_m.py")
    after = Sim(name="test_m", base=passes(), changed=False, file="tests/sub/test_m.py")
    assert judged(before, after, old(), Sim(name=NEW)).findings == ()


# --- 28 to 31: environments, legs, the rest ----------------------------------------------------


def test_base_tests_that_need_base_dependencies_are_controlled_there() -> None:
    pinned = on_conditions(lambda seen: seen.base_environment, passes(), fails())
    test = Sim(name="test_pinned", control=pinned, base=passes(), changed=False)
    result = judged(test, Sim(name=NEW), change=case(dependencies=True))
    came_to(result, PASS, "proved")
    assert [found.reason for found in result.findings] == [ReasonCode.ENV_DELTA]
    came_to(judged(test, Sim(name=NEW)), INCONCLUSIVE, "base_broken")


def test_a_fix_by_a_dependency_is_said_to_be_one() -> None:
    bumped = on_conditions(lambda seen: seen.base_environment, fails("ValueError", "TP3", "x"), passes())
    result = judged(old(), Sim(name=NEW, base=bumped), change=case(product=(), dependencies=True))
    came_to(result, PASS, "dependency")


def test_one_leg_must_prove_and_none_may_contradict() -> None:
    proof = judged(old(), Sim(name=NEW))
    not_here = judged(old(), Sim(name=NEW, base=passes()))
    contradiction = judged(old(), Sim(name=NEW, head=fails()))
    undecided = judged(old(), Sim(name=NEW), losing=frozenset({Side.HEAD}))
    came_to(merge_legs({"3.11": not_here, "3.13": proof}), PASS, "proved")
    assert merge_legs({"3.11": not_here, "3.13": proof}).refused == ()
    came_to(merge_legs({"3.11": contradiction, "3.13": proof}), FAIL, "fails_on_head")
    came_to(merge_legs({"3.11": not_here, "3.13": undecided}), INCONCLUSIVE, "lost")
    came_to(merge_legs({"3.11": not_here}), FAIL, "passes_on_base")
    with pytest.raises(ValueError, match="no legs"):
        merge_legs({})


UNBUILT = case(unbuilt="setup.py builds extensions")
NO_FAST = "No module named 'pkg._fast'"


def test_a_module_that_only_a_build_makes_and_that_neither_side_has_needs_a_build() -> None:
    error = collect_error("ModuleNotFoundError", NO_FAST)
    both = {Side.HEAD: [error], Side.CONTROL: [error]}
    result = judged(Sim(name=NEW, base=None, head=None), old(file="tests/test_a.py"), change=UNBUILT, failures=both)
    came_to(result, INCONCLUSIVE, "needs_build")
    assert "pkg._fast" in result.findings[0].text
    late = fails("ModuleNotFoundError", "T", NO_FAST)
    came_to(judged(Sim(name="t", control=late, base=late, head=late), change=UNBUILT), INCONCLUSIVE, "needs_build")
    alone = judged(Sim(name=NEW, base=None, head=None), change=UNBUILT, failures={Side.HEAD: [error]})
    came_to(alone, INCONCLUSIVE, "needs_build")


def test_what_head_alone_lacks_or_what_is_no_product_needs_no_build() -> None:
    own = collect_error("ModuleNotFoundError", NO_FAST)
    came_to(judged(old(), Sim(name=NEW), change=UNBUILT, failures={Side.HEAD: [own]}), FAIL, "fails_on_head")
    foreign = collect_error("ModuleNotFoundError", "No module named 'numpy'")
    both = {Side.HEAD: [foreign], Side.CONTROL: [foreign]}
    came_to(judged(old(), Sim(name=NEW), change=UNBUILT, failures=both), INCONCLUSIVE, "base_broken")
    built = {Side.HEAD: [own], Side.CONTROL: [own]}
    came_to(judged(old(), Sim(name=NEW), failures=built), INCONCLUSIVE, "base_broken")


def test_an_obstacle_leaves_the_gate_undecided() -> None:
    reason = ReasonCode.DATA_ABSENT
    blocked = case(obstacles=(Obstacle(reason=reason, text="so it is"),))
    result = judged(old(), Sim(name=NEW), change=blocked)
    came_to(result, INCONCLUSIVE, reason)
    assert [(found.text, bool(found.next_step)) for found in result.findings] == [("so it is", True)]


@pytest.mark.parametrize(
    ("claims", "reason"),
    [(Said(is_revert=True), "revert"), (Said(is_fix=False, author_is_bot=True), "bot"), (NO_FIX, "passes_on_base")],
)
def test_reverts_and_bots_owe_no_proof(claims: Said, reason: str) -> None:
    came_to(judged(old(), Sim(name=NEW, base=passes()), claims=claims), NEUTRAL, reason)


def test_a_backport_is_judged_as_any_fix() -> None:
    came_to(judged(old(), Sim(name=NEW), claims=Said(is_fix=True)), PASS, "proved")


def test_a_changed_doctest_of_the_product_is_unsupported() -> None:
    doctest = Sim(name="pkg.mod.f", file=PRODUCT, kind="doctest", base=fails())
    came_to(judged(old(), doctest), NEUTRAL, "unsupported")


def test_nothing_collected_is_a_failure() -> None:
    came_to(judged(), FAIL, "no_items")


def test_a_product_from_another_place_is_not_judged() -> None:
    came_to(judged(old(), Sim(name=NEW), strays=("pkg from site-packages",)), INCONCLUSIVE, "wrong_tree")


@pytest.mark.parametrize(("claims", "verdict", "reason"), [(FIX, FAIL, "no_test"), (NO_FIX, NEUTRAL, "not_a_fix")])
def test_a_change_without_tests(claims: Said, verdict: GateVerdict, reason: str) -> None:
    came_to(judged(old(), change=case(test_files=frozenset()), claims=claims), verdict, reason)


def test_a_change_of_neither_product_nor_tests_is_not_judged() -> None:
    came_to(judged(old(), change=case(product=(), test_files=frozenset())), NEUTRAL, "nothing_to_judge")


# --- further traps -----------------------------------------------------------------------------


def test_unstable_ids_are_never_proofs() -> None:
    unstable = Sim(name="test_now[2026-03-04 10:00]")
    renamed = {unstable.id: f"{TESTS}::test_now[2026-03-04 10:01]"}
    result = judged(old(), unstable, renames=renamed)
    came_to(result, FAIL, "unstable_id")
    came_to(judged(old(), unstable, Sim(name=NEW), renames=renamed), PASS, "proved")


def test_pytest_that_does_not_start_on_base_is_no_proof() -> None:
    came_to(judged(old(), Sim(name=NEW), refuses=frozenset({Side.BASE})), FAIL, "usage")


def test_a_conftest_that_cannot_be_imported_on_base_is_no_proof() -> None:
    error = collect_error("ValueError", "no", node="tests/conftest.py")
    result = judged(old(file="tests/test_a.py"), Sim(name=NEW, base=None), failures={Side.BASE: [error]})
    assert result.verdict is FAIL
    assert result.proved == ()


def test_a_fix_that_shows_only_under_another_encoding_is_found_by_the_ladder() -> None:
    encoding = on_conditions(
        lambda seen: seen.conditions.locale == "non-utf-8",
        fails("UnicodeDecodeError", "TPS", "'ascii' codec"),
        passes(),
    )
    result = judged(old(), Sim(name=NEW, base=encoding))
    came_to(result, PASS, "proved")
    assert result.proved[0].conditions.differences(result.proved[0].conditions.baseline()) == ("locale",)
    came_to(judged(old(), Sim(name=NEW, base=encoding), claims=NO_FIX), NEUTRAL, "passes_on_base")


def test_the_ladder_is_also_climbed_in_files_that_need_lenient_imports() -> None:
    seeded = on_conditions(lambda seen: seen.conditions.hash_seed == 1, fails(), passes())
    result = judged(
        Sim(name=NEW, base=seeded, head=passes(**NEW_LINES), lenient_only=True),
        change=NEW_FUNCTION,
        failures={Side.BASE: [collect_error("ImportError", MISSING)]},
    )
    came_to(result, PASS, "proved")


def test_a_fix_that_shows_only_in_another_order_is_found_by_the_ladder() -> None:
    polluted = on_conditions(lambda seen: f"{TESTS}::test_z" in seen.before, fails(), passes())
    last = Sim(name="test_z", control=passes(), base=passes(), changed=False)
    came_to(judged(Sim(name="test_a", base=polluted), last), PASS, "proved")


def test_the_worst_report_of_a_test_wins() -> None:
    class Twice(SimBench):
        def run(self, requests: Sequence[Request]) -> list[ExperimentResult]:
            return [
                dataclasses.replace(
                    result, runs=(*result.runs, *(dataclasses.replace(run(), id=each.id) for each in result.runs))
                )
                for result in super().run(requests)
            ]

    bench = Twice(sims=[old(), Sim(name=NEW, head=fails(message="subtest"))])
    came_to(prove(case(), bench, FIX, POLICY), FAIL, "fails_on_head")


@pytest.mark.parametrize("child", ["/usr/bin/python3", "/usr/bin/git"])
def test_a_change_that_runs_in_child_processes_needs_the_hollow_check(child: str) -> None:
    base = fails(lines=(), children=(child,))
    outside = passes(lines=(), children=(child,))
    changed = case(product=(product(added=frozenset({1, 2})),))
    result = judged(old(), Sim(name=NEW, base=base, head=outside), change=changed)
    if child.endswith("git"):
        came_to(result, FAIL, "does_not_exercise")
    else:
        came_to(result, PASS, "proved")
        dull = Sim(name=NEW, base=base, head=outside, hollow=passes())
        came_to(judged(old(), dull, change=changed), INCONCLUSIVE, "exercise_unseen")


def test_each_side_is_confirmed_by_a_fresh_process() -> None:
    bench = SimBench(sims=[old(), Sim(name=NEW)])
    prove(case(), bench, FIX, POLICY)
    fresh = {each.stage.side for each in bench.asked if each.mode is Mode.FRESH}
    assert {Side.BASE, Side.HEAD} <= fresh


def test_a_process_that_must_be_started_anew_collects_the_files_of_the_change_alone() -> None:
    bench = SimBench(sims=[Sim(name="test_fix"), old("test_elsewhere", file="tests/test_elsewhere.py")])
    came_to(prove(case(), bench, FIX, POLICY), PASS, "proved")
    files = {
        (request.stage.side, request.experiment.conditions.hash_seed): request.files
        for request in bench.asked
        if request.mode is Mode.FORK
    }
    whole = {(side, 0) for side in (Side.CONTROL, Side.BASE, Side.HEAD)} | {(Side.HEAD, 1)}
    assert {key for key, narrowed in files.items() if not narrowed} == whole
    assert {narrowed for key, narrowed in files.items() if key not in whole} == {(TESTS,)}
