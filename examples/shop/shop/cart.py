"""The cart of one visitor."""

from shop import pricing


class Cart:
    def __init__(self, catalog):
        self._catalog = catalog
        self._quantities = {}

    def add(self, sku, quantity=1):
        self._catalog.get(sku)
        self._quantities[sku] = self._quantities.get(sku, 0) + quantity

    def remove(self, sku, quantity=1):
        left = self._quantities.get(sku, 0) - quantity
        if left < 0:
            raise ValueError(f"not {quantity} of {sku} in the cart")
        if left:
            self._quantities[sku] = left
        else:
            del self._quantities[sku]

    def lines(self):
        """(sku, quantity, net price of one), in the order of adding."""
        return [(sku, n, self._catalog.get(sku).price) for sku, n in self._quantities.items()]

    def net(self):
        return sum(quantity * price for _, quantity, price in self.lines())

    def total(self, country):
        """What the visitor pays for the goods."""
        return pricing.gross(self.net(), country)

    def __len__(self):
        return sum(self._quantities.values())
