"""Orders, from placing to refund."""

import random
from dataclasses import dataclass, field
from datetime import datetime

from shop import pricing


@dataclass
class Order:
    reference: str
    customer: str
    lines: list = field(default_factory=list)  # (sku, quantity, price of one)
    status: str = "open"

    def total(self):
        return sum(quantity * price for _, quantity, price in self.lines)

    def ship(self):
        if self.status != "open":
            raise ValueError(f"{self.reference} is {self.status}")
        self.status = "shipped"


class OrderBook:
    def __init__(self):
        self._orders = {}

    def place(self, reference, customer, lines):
        order = Order(reference, customer, list(lines))
        self._orders[reference] = order
        return order

    def find(self, reference):
        return self._orders[reference]


def new_reference(prefix="R"):
    """A short reference that customers can say on the phone."""
    return f"{prefix}-{random.randrange(1000):03d}"


def warranty_until(bought):
    """The last day of the warranty of goods bought on that day."""
    return bought.replace(year=bought.year + 1)


def receipt(order):
    """The text of the receipt, dated today."""
    lines = [f"Receipt {order.reference}, {datetime.now():%d.%m.%Y}"]
    for sku, quantity, price in order.lines:
        lines.append(f"{quantity} x {sku} {pricing.money(quantity * price)}")
    lines.append(f"Total {pricing.money(order.total())}")
    return "\n".join(lines)


def refund(order, sku, quantity):
    """What the customer gets back for returning ``quantity`` of ``sku``."""
    for line_sku, bought, price in order.lines:
        if line_sku == sku:
            return bought * price
    raise KeyError(sku)
