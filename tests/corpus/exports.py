"""Changes of what a module passes on from another one, or exports: names with something behind them."""

from __future__ import annotations

from tests.corpus.shape import FAIL, PASS, TESTS, Shape, node

_PRICE = "def total(prices):\n    return sum(prices)\n\n\ndef mean(prices):\n    return sum(prices) / len(prices)\n"
_SHOP = {"shop/price.py": _PRICE, "shop/__init__.py": "from shop.price import total\n"}
_OLD = "import shop\n\n\ndef test_total():\n    assert shop.total([1, 2]) == 3\n\n\n"
_STAR = "def test_star():\n    found = {}\n    exec('from shop import *', found)\n    assert found['mean']([1, 3]) == 2\n\n\n"

SHAPES = (
    Shape(
        name="passes-on-what-base-has-elsewhere",
        row="4",
        verdict=PASS,
        reason="new_api",
        title="fix: the mean is missing from the package",
        base={**_SHOP, TESTS: _OLD},
        head={
            "shop/__init__.py": "from shop.price import mean, total\n",
            TESTS: _OLD
            + "def test_mean():\n    assert shop.mean([1, 3]) == 2\n\n\n"
            + "def test_there():\n    assert hasattr(shop, 'mean')\n\n\n"
            + "def test_callable():\n    assert callable(shop.mean)\n",
        },
        proved={node("test_mean"): "missing_symbol"},
        refused={node("test_there"): "import_only", node("test_callable"): "import_only"},
    ),
    Shape(
        name="passes-on-under-another-name",
        row="4",
        verdict=FAIL,
        reason="import_only",
        title="fix: a better name",
        base={**_SHOP, TESTS: _OLD},
        head={
            "shop/__init__.py": "from shop.price import total as sum_of\n",
            TESTS: "import shop\n\n\ndef test_total():\n    assert shop.sum_of([1, 2]) == 3\n",
        },
        refused={node("test_total"): "import_only"},
    ),
    Shape(
        name="exports-what-was-there",
        row="4",
        verdict=PASS,
        reason="proved",
        title="fix: a star import lacks the mean",
        base={
            **_SHOP,
            "shop/__init__.py": "from shop.price import mean, total\n\n__all__ = ['total']\n",
            TESTS: _OLD,
        },
        head={
            "shop/__init__.py": "from shop.price import mean, total\n\n__all__ = ['mean', 'total']\n",
            TESTS: _OLD + _STAR,
        },
        proved={node("test_star"): "test_exception"},
    ),
    Shape(
        name="exports-what-is-there-and-no-more",
        row="4",
        verdict=PASS,
        reason="proved",
        title="fix: the package exports a name that it lacks",
        base={
            **_SHOP,
            "shop/__init__.py": "from shop.price import total\n\n__all__ = ['median', 'total']\n",
            TESTS: _OLD,
        },
        head={
            "shop/__init__.py": "from shop.price import total\n\n__all__ = ['total']\n",
            TESTS: _OLD + "def test_all():\n    assert [n for n in shop.__all__ if not hasattr(shop, n)] == []\n",
        },
        proved={node("test_all"): "assertion"},
    ),
    Shape(
        name="looks-for-a-new-name-among-the-exports",
        row="4",
        verdict=FAIL,
        reason="import_only",
        title="fix: the median is missing",
        base={**_SHOP, "shop/__init__.py": "from shop.price import total\n\n__all__ = ['total']\n", TESTS: _OLD},
        head={
            "shop/price.py": _PRICE + "\n\ndef median(prices):\n    return sorted(prices)[len(prices) // 2]\n",
            "shop/__init__.py": "from shop.price import median, total\n\n__all__ = ['median', 'total']\n",
            TESTS: _OLD + "def test_all():\n    assert shop.__all__ == ['median', 'total']\n",
        },
        refused={node("test_all"): "import_only"},
    ),
)
