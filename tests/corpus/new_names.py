"""Changes whose tests need a name that base lacks: a new API, or an import and nothing more."""

from __future__ import annotations

from tests.corpus.shape import BROKEN, FAIL, OLD, PASS, PRICE, TESTS, Shape, node, with_tests

_PRICES = """\
LEAST = 1


class Price:
    value = 0

    def __init__(self, value):
        self.value = value


class Prices(list):
    pass


def total(prices):
    return sum(prices[1:])
"""
_FIELDS = """\
from shop.price import Price


def test_default():
    assert Price(value=1).currency == "EUR"

def test_given():
    assert Price(value=1, currency="USD").currency == "USD"

def test_equal():
    assert Price(value=1, currency="USD") != Price(value=1, currency="EUR")

def test_takes():
    assert Price(value=1, currency="USD")

def test_field():
    assert "currency" in Price.%s
"""


def _field(
    name: str, price: str, fields: str, codes: dict[str, str], *, before: str = "", reason: str = "new_api"
) -> Shape:
    """A class that is made from its fields gets one more; ``before`` is how base writes it."""
    head = price + "    currency: str = 'EUR'\n" if not before else price
    return Shape(
        name=name,
        row="signature change",
        verdict=PASS,
        reason=reason,
        title="feat: currencies",
        base={PRICE: f"{before or price}\n\n{BROKEN}"},
        head={PRICE: f"{head}\n\n{BROKEN}", **with_tests(_FIELDS % fields)},
        proved={node("test_default"): "missing_symbol", **{node(test): code for test, code in codes.items()}},
        refused={node("test_takes"): "import_only", node("test_field"): "import_only"},
    )


_BY_ARGUMENT = {"test_given": "signature_mismatch", "test_equal": "signature_mismatch"}
_TUPLE = "import collections\n\nPrice = collections.namedtuple('Price', 'value')\n"

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
    Shape(
        name="new-names-that-tests-only-look-for",
        row="4",
        verdict=FAIL,
        reason="import_only",
        title="fix: means and taxes",
        base={PRICE: _PRICES},
        head={
            PRICE: """\
                LIMIT = 10


                class Price:
                    def __init__(self, value):
                        self.value = value
                        self.currency = "EUR"

                    def with_tax(self):
                        pass


                def total(prices, tax=0):
                    return sum(prices[1:])


                def mean(prices):
                    pass
                """,
            "shop/tax.py": "def tax(price):\n    pass\n",
            **with_tests(
                """\
                import inspect

                from shop import price

                try:
                    from shop.tax import tax
                except ImportError:
                    tax = None


                def test_has():
                    assert hasattr(price, "mean")

                def test_gets():
                    assert callable(getattr(price, "mean", None)) and getattr(price, "LIMIT", None)

                def test_lists():
                    assert "with_tax" in dir(price.Price)

                def test_imports():
                    assert tax is not None

                def test_parameters():
                    assert "tax" in inspect.signature(total).parameters

                def test_attribute():
                    assert hasattr(price.Price(1), "currency")
                """
            ),
        },
        refused=dict.fromkeys(
            map(node, ("test_has", "test_gets", "test_lists", "test_imports", "test_parameters", "test_attribute")),
            "import_only",
        ),
    ),
    Shape(
        name="new-names-beside-what-they-do",
        row="4",
        verdict=PASS,
        reason="proved",
        title="fix: means and taxes",
        base={PRICE: _PRICES},
        head={
            PRICE: """\
                LEAST = 0


                def _all(prices):
                    return list(prices)


                class Price:
                    def __init__(self, value):
                        self.value = value
                        self.currency = "EUR"

                    def __eq__(self, other):
                        return self.value == other.value


                class Prices(list):
                    def sort(self):
                        pass


                def total(prices, tax=0):
                    return sum(_all(prices)) + tax


                def mean(prices):
                    return sum(prices) / len(prices)
                """,
            **with_tests(
                """\
                from shop import price


                def test_all():
                    assert total([1, 2]) == 3

                def test_least():
                    assert price.LEAST == 0

                def test_equal():
                    assert price.Price(1) == price.Price(1)

                def test_order():
                    prices = price.Prices([2, 1])
                    prices.sort()
                    assert prices == [2, 1]

                def test_mean():
                    mean = getattr(price, "mean", None)
                    assert mean is not None and mean([1, 3]) == 2

                def test_currency():
                    assert getattr(price.Price(1), "currency", None) == "EUR"
                """
            ),
        },
        proved=dict.fromkeys(
            map(node, ("test_all", "test_least", "test_equal", "test_order", "test_mean", "test_currency")), "assertion"
        ),
    ),
    Shape(
        name="missing-import-added",
        row="1",
        verdict=PASS,
        reason="proved",
        base={PRICE: "def total(prices):\n    return math.fsum(prices) if prices else 0\n"},
        head={
            PRICE: "import math\n\nEXACT = True\n\n\ndef total(prices):\n    return math.fsum(prices) if prices else 0\n",
            **with_tests("def test_all():\n    assert total([1, 2]) == 3\n"),
        },
        proved={node("test_all"): "product_exception"},
    ),
    Shape(
        name="new-constants-by-value",
        row="module constant",
        verdict=PASS,
        reason="new_api",
        title="feat: limits",
        base={PRICE: _PRICES},
        head={
            PRICE: _PRICES.replace("LEAST = 1", "LEAST = 1\nLIMIT = 10").replace(
                "    value = 0", "    value = 0\n    most = 99"
            ),
            **with_tests(
                """\
                from shop import price


                def test_limit():
                    assert price.LIMIT == 10

                def test_most():
                    assert price.Price.most > 50

                def test_there():
                    assert price.LIMIT
                """
            ),
        },
        proved={node("test_limit"): "missing_symbol", node("test_most"): "missing_symbol"},
        refused={node("test_there"): "import_only"},
    ),
    _field(
        "new-field-of-a-named-tuple",
        "from typing import NamedTuple\n\n\nclass Price(NamedTuple):\n    value: int\n",
        "_fields",
        _BY_ARGUMENT,
    ),
    _field(
        "new-field-of-a-named-tuple-by-call",
        _TUPLE.replace("'value'", "['value', 'currency'], defaults=['EUR']"),
        "_fields",
        _BY_ARGUMENT,
        before=_TUPLE,
    ),
    _field(
        "new-field-of-a-model",
        "import pydantic\n\n\nclass Price(pydantic.BaseModel, extra='forbid'):\n    value: int\n",
        "model_fields",
        {"test_given": "test_exception", "test_equal": "test_exception"},
        reason="proved",
    ),
)
