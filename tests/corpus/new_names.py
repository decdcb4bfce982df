"""Changes whose tests need a name that base lacks: a new API, or an import and nothing more."""

from __future__ import annotations

from tests.corpus.shape import BROKEN, FAIL, OLD, PASS, PRICE, TESTS, Shape, node, with_tests

SHAPES = (
    Shape(
        name="new-function",
        row="4",
        verdict=PASS,
        reason="new_api",
        title="feat: means",
        head={
            PRICE: BROKEN + "\n\ndef mean(prices):\n    return sum(prices) / len(prices)\n",
            **with_tests(
                "def test_mean():\n    assert mean([1, 3]) == 2\n", old=OLD.replace("total\n", "mean, total\n", 1)
            ),
        },
        proved={node("test_mean"): "missing_symbol"},
    ),
    Shape(
        name="new-module-beside-old-tests",
        row="5",
        verdict=PASS,
        reason="new_api",
        title="feat: taxes",
        head={
            "shop/tax.py": "def tax(price):\n    return price * 20 // 100\n",
            **with_tests("def test_tax():\n    assert tax(100) == 20\n", old="from shop.tax import tax\n" + OLD),
        },
        proved={node("test_tax"): "missing_symbol"},
    ),
    Shape(
        name="new-parameter",
        row="signature change",
        verdict=PASS,
        reason="new_api",
        title="feat: totals with a tax",
        head={
            PRICE: "def total(prices, tax=0):\n    return sum(prices[1:]) + tax\n",
            **with_tests("def test_tax():\n    assert total([1, 2], tax=3) == 5\n"),
        },
        proved={node("test_tax"): "signature_mismatch"},
    ),
    Shape(
        name="import-alone",
        row="4",
        verdict=FAIL,
        reason="import_only",
        title="feat: means",
        head={
            PRICE: BROKEN + "\n\ndef mean(prices):\n    return sum(prices) / len(prices)\n",
            **with_tests("def test_mean():\n    from shop.price import mean\n    assert callable(mean)\n"),
        },
        refused={node("test_mean"): "import_only"},
    ),
    Shape(
        name="renamed-module",
        row="renamed module",
        verdict=FAIL,
        reason="import_only",
        title="fix: a better name",
        head={
            PRICE: None,
            "shop/prices.py": BROKEN,
            TESTS: OLD.replace("shop.price", "shop.prices") + "def test_one():\n    assert total([0, 1]) == 1\n",
        },
        refused={node("test_nothing"): "import_only", node("test_one"): "import_only"},
    ),
)
