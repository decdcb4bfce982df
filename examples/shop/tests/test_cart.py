import pytest

from helpers import cents
from shop.cart import Cart


@pytest.fixture
def cart(catalog):
    return Cart(catalog)


def test_new_cart_is_empty(cart):
    assert len(cart) == 0
    assert cart.net() == 0


def test_adding_twice_adds_up(cart):
    cart.add("TEA-1")
    cart.add("MUG-1")
    cart.add("TEA-1", 2)
    assert cart.lines() == [("TEA-1", 3, 850), ("MUG-1", 1, 1190)]


def test_removing_more_than_there_is(cart):
    cart.add("TEA-1")
    with pytest.raises(ValueError, match="not 2 of TEA-1"):
        cart.remove("TEA-1", 2)
    cart.remove("TEA-1")
    assert cart.lines() == []


def test_total_includes_vat(cart):
    cart.add("TEA-1", 2)
    assert cart.total("AT") == cents("20.40")
