"""Changes in trees whose settings say where tests are: helpers beside them, and code with tests beside it."""

from __future__ import annotations

from tests.corpus.shape import BROKEN, FAIL, FIXED, NEW, OLD, PASS, PRICE, TESTS, Files, Shape, node

_CHECKS = {"pytest.ini": "[pytest]\npython_files = check_*.py\ntestpaths = checks\n", TESTS: None}
_CHECK = "checks/check_price.py"
_HELPED = {
    "pytest.ini": "[pytest]\ntestpaths = checks\npythonpath = checks\n",
    TESTS: None,
    "checks/helper.py": "def wanted():\n    return 3\n",
    "checks/test_helper.py": "from helper import wanted\n\n\ndef test_wanted():\n    assert wanted()\n",
}
_LOOKS = """\
import pkgutil

import shop.price


def look(words):
    assert shop.price.total([0, 2]) == 2
    assert words in pkgutil.get_data("shop", "price.py")
"""


def _of(module: str, text: str = "") -> str:
    """The shop's old tests, and more, of another module."""
    return (OLD + text).replace("shop.price", module)


def _beside(
    name: str, settings: str, code: str, module: str, test: str, *, shop: bool = False, more: Files | None = None
) -> Shape:
    """A fix of ``code`` below a folder of ``testpaths``, with its test in the same folder."""
    return Shape(
        name=name,
        row="testpaths",
        verdict=PASS,
        reason="proved",
        shop=shop,
        base={"pytest.ini": settings, code: BROKEN, test: _of(module), **(more or {})},
        head={code: FIXED, test: _of(module, NEW)},
        proved={node("test_all", test): "assertion"},
    )


SHAPES = (
    Shape(
        name="helper-that-looks-at-the-text",
        row="testpaths",
        verdict=FAIL,
        reason="does_not_exercise",
        base={**_CHECKS, "checks/check_old.py": OLD},
        head={
            PRICE: FIXED,
            "checks/helper.py": _LOOKS,
            _CHECK: "from helper import look\n\n\ndef test_all():\n    look(b'sum(prices)')\n",
        },
        refused={node("test_all", _CHECK): "does_not_exercise"},
    ),
    Shape(
        name="helper-that-changes",
        row="testpaths",
        verdict=PASS,
        reason="proved",
        base={
            **_CHECKS,
            "checks/helper.py": "PRICES = [0, 2]\nSUM = 2\n",
            _CHECK: "import helper\nfrom shop.price import total\n\n\n"
            "def test_all():\n    assert total(helper.PRICES) == helper.SUM\n",
        },
        head={PRICE: FIXED, "checks/helper.py": "PRICES = [1, 2]\nSUM = 3\n"},
        proved={node("test_all", _CHECK): "assertion"},
    ),
    Shape(
        name="helper-that-changes-and-has-a-test-of-its-own",
        row="testpaths",
        verdict=FAIL,
        reason="passes_on_base",
        base={**_HELPED, "checks/test_price.py": OLD},
        head={
            PRICE: FIXED,
            "checks/helper.py": "def wanted():\n    return 4\n",
            "checks/test_price.py": "from helper import wanted\n"
            + OLD
            + "def test_all():\n    assert wanted() == 4\n    assert total([0, 2]) == 2\n",
        },
        refused={
            node("test_all", "checks/test_price.py"): "passes_on_base",
            node("test_wanted", "checks/test_helper.py"): "passes_on_base",
        },
    ),
    Shape(
        name="helper-with-a-test-of-its-own-for-the-fix",
        row="testpaths",
        verdict=PASS,
        reason="proved",
        base={**_HELPED, "checks/test_price.py": OLD},
        head={
            PRICE: FIXED,
            "checks/helper.py": "def wanted():\n    return 3\n\n\ndef prices():\n    return [1, 2]\n",
            "checks/test_price.py": "from helper import prices\n"
            + OLD
            + "def test_all():\n    assert total(prices()) == 3\n",
        },
        proved={node("test_all", "checks/test_price.py"): "assertion"},
    ),
    _beside(
        "tests-beside-code",
        "[pytest]\ntestpaths = code\npythonpath = code\n",
        "code/price.py",
        "price",
        "code/test_all.py",
    ),
    _beside(
        "tests-beside-code-in-several-folders",
        "[pytest]\ntestpaths = shop bill\n",
        PRICE,
        "shop.price",
        "shop/test_all.py",
        more={
            "bill/sums.py": "A = 1\n",
            "bill/test_sums.py": "from bill.sums import A\n\n\ndef test_a():\n    assert A\n",
        },
    ),
    _beside(
        "tests-in-folders-below-the-code",
        "[pytest]\ntestpaths = lib\n",
        "lib/shop/price.py",
        "lib.shop.price",
        "lib/shop/tests/test_all.py",
        more={"setup.py": ""},
    ),
    _beside(
        "tests-beside-code-beside-the-package",
        "[pytest]\ntestpaths = tests plugins\n",
        "plugins/rates.py",
        "plugins.rates",
        "plugins/test_rates.py",
        shop=True,
    ),
)
