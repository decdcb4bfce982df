import random

import pytest

from helpers import cents
from shop import cache, config, pricing


@pytest.mark.parametrize(
    ("net", "country", "total"),
    [(850, "DE", 1012), (1290, "LU", 1509)],
)
def test_gross(net, country, total):
    assert pricing.gross(net, country) == total


def test_reduced_rate_applies_at_once(monkeypatch):
    cache.clear()
    monkeypatch.setitem(config.VAT, "AT", 10)
    assert pricing.gross(cents("10"), "AT") == cents("11")


def test_draw_does_not_depend_on_the_order_of_entry():
    customers = ["ada", "ben", "cleo", "dora", "emil"]
    winner = pricing.draw_winner(customers, random.Random(42))
    assert winner in customers
    assert pricing.draw_winner(set(customers), random.Random(42)) == winner
