import unittest

import pytest

from probe import rates, registry
from probe.basket import Basket, Till


def test_net(basket):
    assert basket.net() == 1100


def test_empty_basket_has_no_lines():
    assert Basket().lines == []


class TestTax:
    def test_gross(self, basket):
        assert basket.gross() == 1320

    def test_exempt_customer(self, basket):
        Basket.tax_percent = 0
        assert basket.gross() == basket.net()


class ReceiptCase(unittest.TestCase):
    def test_a_close(self):
        basket = Basket()
        basket.add("pen", 150)
        receipt = Till.close(basket)
        self.assertEqual(receipt["total"], 150)

    def test_b_reprint(self):
        self.assertEqual(Till.last_receipt["lines"], 1)

    def test_c_wrong_sum(self):
        basket = Basket()
        basket.add("pen", 150)
        basket.add("ink", 250)
        self.assertEqual(basket.net(), 450)


def test_promotion_rate(monkeypatch):
    rates.lookup.cache_clear()
    monkeypatch.setitem(rates.RATES, "usd", 110)
    assert rates.lookup("usd") == 110


def test_usual_rate():
    assert rates.lookup("usd") == 125


@pytest.fixture
def fresh_discounts():
    rates.discount.cache_clear()
    yield
    rates.discount.cache_clear()


@pytest.mark.parametrize("level, percent", [("gold", 15), ("silver", 10), ("none", 0)])
def test_discount(fresh_discounts, level, percent):
    assert rates.discount(level) == percent
    assert rates.discount.cache_info().currsize == 1


class TestFormats:
    @pytest.mark.parametrize("count", [2], ids=["csv::json [default]"])
    def test_known(self, count):
        assert len(registry.formats()) == count

    def test_extension(self):
        registry.add_format("xml")
        assert "xml" in registry.formats()


def test_import_writes_rows():
    assert registry.rows_written(["a", "b", "c"]) == 3


def test_import_can_be_dry():
    registry.options["dry_run"] = True
    assert registry.options["dry_run"]


def test_import_can_be_limited():
    registry.options["limit"] = 1
    assert registry.rows_written(["a"]) == 1
