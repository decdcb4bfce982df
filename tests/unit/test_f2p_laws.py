"""Laws of the fail-to-pass gate, over drawn tests: order, controls, and what a proof is."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.model import GateVerdict, Mode, Outcome, ReasonCode, Side
from tests.unit.simulated_bench import Behaviour, Said, Seen, Sim, comes_to, fails, failure, judged, old, passes

Drawn = list[tuple[Behaviour, Behaviour, Behaviour | None, Behaviour]]
BEHAVIOURS = st.sampled_from(
    [
        passes(),
        fails(),
        fails("ValueError", "TP", "x"),
        fails("KeyError", "T", "'k'"),
        fails("ModuleNotFoundError", "T", "No module named 'left_pad'"),
        comes_to(Outcome.SKIPPED),
        comes_to(Outcome.XFAILED),
        comes_to(Outcome.NOT_RUN),
        comes_to(Outcome.CRASHED, failure("crash", "TP", "x")),
        comes_to(Outcome.TIMEOUT, failure("timeout", "", "x")),
        passes(lines=()),
        passes(network=("connect 1.1.1.1:53",)),
    ]
)
SIMS = st.lists(
    st.tuples(BEHAVIOURS, BEHAVIOURS, st.sampled_from([passes(), fails(), None]), BEHAVIOURS), min_size=1, max_size=4
)
CLAIMS = st.builds(Said, is_fix=st.booleans(), is_revert=st.booleans(), is_refactor=st.booleans())


def simulated(drawn: Drawn) -> list[Sim]:
    return [
        Sim(name=f"test_{number}", base=base, head=head, control=control, hollow=hollow)
        for number, (base, head, control, hollow) in enumerate(drawn)
    ]


@settings(max_examples=60, deadline=None)
@given(SIMS, CLAIMS)
def test_the_order_of_results_does_not_matter(drawn: Drawn, claims: Said) -> None:
    sims = simulated(drawn)
    forward, backward = judged(*sims, claims=claims), judged(*reversed(sims), claims=claims, reverse=True)
    assert (forward.verdict, forward.reason, forward.proved) == (backward.verdict, backward.reason, backward.proved)
    assert forward.refused == backward.refused
    assert forward.summary == backward.summary


@settings(max_examples=60, deadline=None)
@given(SIMS, CLAIMS, st.sampled_from([Side.CONTROL, Side.BASE, Side.HEAD]))
def test_nothing_is_certified_where_a_control_failed(drawn: Drawn, claims: Said, side: Side) -> None:
    sims = [old(), *simulated(drawn)]
    result = judged(*sims, claims=claims, forging=frozenset({side}))
    # Head and base as it is are always run; base with head's tests only where there is something to prove.
    assert result.proved == ()
    assert result.verdict is not GateVerdict.PASS
    red = judged(*sims, Sim(name="test_red", control=fails(), base=fails(), changed=False), claims=claims)
    assert red.proved == ()
    assert red.verdict is GateVerdict.INCONCLUSIVE
    assert red.reason is ReasonCode.BASE_BROKEN


@settings(max_examples=60, deadline=None)
@given(SIMS, CLAIMS)
def test_only_what_failed_on_base_and_passed_on_head_is_proved(drawn: Drawn, claims: Said) -> None:
    sims = simulated(drawn)
    result = judged(*sims, claims=claims)
    by_id = {sim.id: sim for sim in sims}
    seen = Seen(
        side=Side.HEAD,
        conditions=__import__("repro_gate.model").model.Conditions(),
        before=(),
        mode=Mode.FORK,
        nth=0,
        seconds=1,
    )
    for proof in result.proved:
        sim = by_id[proof.id]
        assert sim.head is not None
        assert sim.base is not None
        assert sim.head(seen).outcome is Outcome.PASSED
        assert sim.base(seen).outcome.bad
