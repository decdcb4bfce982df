"""Products, and the pages that show them."""

import weakref
from dataclasses import dataclass

from shop import pricing

# Tags that are worth a badge, the strongest with the highest rank.
BADGE_RANK = {"last-chance": 3, "sale": 2, "new": 1}


@dataclass(frozen=True)
class Product:
    sku: str
    name: str
    price: int
    tags: frozenset = frozenset()

    def badge(self):
        """The one tag that is printed on the product's tile."""
        return max(self.tags, key=lambda tag: BADGE_RANK.get(tag, 0), default=None)


class Row:
    """One line of the overview."""

    def __init__(self, product):
        self.sku = product.sku
        self.text = f"{product.name}, {pricing.money(product.price)}"


class Catalog:
    def __init__(self, products=()):
        self._products = {product.sku: product for product in products}

    def get(self, sku):
        return self._products[sku]

    def search(self, words):
        """Products whose name contains ``words``, in any case, by name."""
        needle = words.casefold()
        found = [p for p in self._products.values() if needle in p.name.casefold()]
        return sorted(found, key=lambda p: p.name)

    def tags(self):
        """Every tag in use."""
        return {tag for product in self._products.values() for tag in product.tags}

    def overview(self):
        return [Row(product) for product in self._products.values()]


class Block:
    """Part of a page; it knows its page, for links and for the breadcrumb."""

    def __init__(self, page, text):
        self.page = page
        self.text = text


class Page:
    def __init__(self, product):
        self.title = Block(self, product.name)
        self.price = Block(self, pricing.money(product.price))


class Pages:
    """Renders product pages. Pages that are still in use somewhere are not rendered again."""

    def __init__(self, catalog):
        self._catalog = catalog
        self._live = weakref.WeakValueDictionary()
        self.rendered = 0

    def page(self, sku):
        page = self._live.get(sku)
        if page is None:
            page = Page(self._catalog.get(sku))
            self._live[sku] = page
            self.rendered += 1
        return page

    def live(self):
        return sorted(self._live)
