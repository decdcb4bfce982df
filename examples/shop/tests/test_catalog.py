import gc

import pytest

from shop.catalog import Catalog, Pages, Product


@pytest.mark.parametrize(
    ("words", "skus"),
    [
        ("earl grey", ["TEA-1"]),
        ("[first", ["TEA-2"]),
        ("käse", ["SWE-1"]),
        ("box::", ["BOX-1"]),
    ],
    ids=["two words", "a [bracket]", "käse", "box::large"],
)
def test_search(catalog, words, skus):
    assert [product.sku for product in catalog.search(words)] == skus


def test_tags_in_use(catalog):
    assert catalog.tags() == {"new", "organic", "sale"}


def test_strongest_badge():
    product = Product("MUG-2", "Mug, red", 990, frozenset(["new", "handmade", "sale"]))
    assert product.badge() == "sale"


def test_badge_without_rank():
    product = Product("TEA-3", "Assam", 790, frozenset(["organic", "fairtrade"]))
    assert product.badge() == "organic"


def test_second_visit_does_not_render_again():
    season = Catalog(Product(f"XMAS-{n}", f"Bauble {n}", 250 + n) for n in range(200))
    pages = Pages(season)
    gc.collect()  # pages of other tests
    title = pages.page("XMAS-7").title.text
    overview = season.overview()
    price = pages.page("XMAS-7").price.text
    assert (title, price) == ("Bauble 7", "2.57 EUR")
    assert len(overview) == 200
    assert pages.rendered == 1


def test_page_out_of_use_is_dropped(catalog):
    pages = Pages(catalog)
    pages.page("MUG-1")
    gc.collect()
    assert pages.live() == []
