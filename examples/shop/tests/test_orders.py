import unittest
from datetime import date

from helpers import cents
from shop import orders
from shop.orders import Order, OrderBook

book = OrderBook()


class ShippingTest(unittest.TestCase):
    def setUp(self):
        self.order = Order("R-7", "ben", [("MUG-1", 2, 1190)])

    def test_open_order_is_shipped(self):
        self.order.ship()
        self.assertEqual(self.order.status, "shipped")

    def test_order_is_shipped_once(self):
        self.order.ship()
        with self.assertRaisesRegex(ValueError, "R-7 is shipped"):
            self.order.ship()


def test_place_order():
    order = book.place("A-17", "ada", [("TEA-1", 2, 850), ("MUG-1", 1, 1190)])
    assert order.status == "open"
    assert order.total() == cents("28.90")


def test_find_order_by_reference():
    assert book.find("A-17").customer == "ada"


def test_references_of_a_busy_hour():
    references = [orders.new_reference() for _ in range(26)]
    assert all(reference.startswith("R-") for reference in references)
    assert len(set(references)) == 26


def test_warranty_lasts_a_year():
    bought = date.today()
    until = orders.warranty_until(bought)
    assert 365 <= (until - bought).days <= 366


def test_receipt_is_dated_today():
    text = orders.receipt(Order("R-8", "ada", [("TEA-2", 1, 1290)]))
    assert text.splitlines()[0] == f"Receipt R-8, {date.today():%d.%m.%Y}"


def test_known_bug_refund_of_a_part_of_a_line():
    order = Order("R-9", "ada", [("TEA-1", 3, 850)])
    assert orders.refund(order, "TEA-1", 1) == cents("8.50")
