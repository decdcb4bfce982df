import unittest
import zlib

import pytest


def test_badge_line():
    badges = {"new", "sale"}
    assert ", ".join(badges) == "new, sale"


def test_shelves_are_apart():
    shelves = {}
    for product in ("kettle", "teapot"):
        shelves.setdefault(hash(product) % 3, []).append(product)
    assert all(len(products) == 1 for products in shelves.values())


@pytest.mark.parametrize(
    "tags",
    [frozenset(["plain"]), frozenset(["dark", "light", "pale"])],
    ids=["one tag", "three tags [dark::pale]"],
)
def test_last_tag_shown(tags):
    shown = [tag for tag in tags][-1]
    assert shown != "dark"


class ShardCase(unittest.TestCase):
    def test_by_name(self):
        self.assertNotEqual(hash(("order", "4711")) % 4, 0)

    def test_by_checksum(self):
        self.assertEqual(zlib.crc32(b"4711") % 4, zlib.crc32(b"4711") & 3)


def test_badges_sorted():
    assert ", ".join(sorted({"new", "sale", "last"})) == "last, new, sale"


def test_equal_sets():
    assert {"new", "sale"} == {"sale", "new"}
    assert hash(frozenset("ab")) == hash(frozenset("ba"))


def test_insertion_order():
    prices = dict(tea=3, cup=5)
    prices["pot"] = 20
    assert list(prices) == ["tea", "cup", "pot"]


@pytest.mark.parametrize("name", ["mug", "cup"], ids=["caf\u00e9 mug", "a::b [c]"])
def test_price_missing(name):
    prices = {"mug": 700}
    if name == "mug":
        assert prices[name] == 700
    else:
        assert prices[name] == 500
