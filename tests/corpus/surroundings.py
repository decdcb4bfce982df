"""Changes whose tests run the change and look at something else:
other files, git, a version, a move, a text that is gone.
"""

from __future__ import annotations

from tests.corpus.shape import ALL, FAIL, FIXED, PASS, PRICE, PROJECT, TESTS, Shape, fix, node, with_tests

_ROOT = "import pathlib\n\nROOT = pathlib.Path(__file__).parents[1]\n\n\n"
_BOTH = "    assert total([0, 2]) == 2  # so it is on base\n"
_TEST = "def test_all():\n"
_EXAMPLES = (
    "import doctest\nimport pathlib\n\nfrom shop.price import total\n\n\ndef test_readme():\n"
    "    file = str(pathlib.Path(__file__).parents[1] / 'README.md')\n"
    "    found = doctest.testfile(file, module_relative=False, globs={'total': total})\n"
    "    assert found.failed == 0\n"
)
_BILL = (
    "import pathlib\n\nPLACE = pathlib.Path(__file__).parents[1] / 'templates'\n\n\n"
    "def bill(total):\n    return (PLACE / 'bill.txt').read_text().format(total)\n"
)
_SUMS = "def total(prices):\n    found = 0\n    for price in prices:\n        found += price\n    return found\n"
_MENDED = _SUMS.replace("in prices", "in prices or ()")


def _beside(
    name: str,
    test: str,
    base: str | None = None,
    head: str | None = None,
    file: str = "",
    reason: str = "does_not_exercise",
) -> Shape:
    """A fix whose test calls it where both sides are right, and looks at another file of the change."""
    return Shape(
        name=name,
        row="19",
        verdict=FAIL,
        reason=reason,
        base={file: base} if file else {},
        head=fix(_ROOT + _TEST + test + _BOTH, **({file: head} if file else {})),
        refused={ALL: reason},
    )


SHAPES = (
    _beside(
        "looks-at-a-sample",
        "    assert (ROOT / 'samples' / 'a.json').exists()\n",
        head="[1, 2]\n",
        file="samples/a.json",
    ),
    _beside(
        "looks-at-the-changelog",
        "    assert '1.1' in (ROOT / 'CHANGELOG.md').read_text()\n",
        base="1.0\n",
        head="1.1\n1.0\n",
        file="CHANGELOG.md",
        reason="passes_on_base",
    ),
    _beside(
        "looks-at-the-version-in-pyproject",
        "    assert 'version = \"1.1\"' in (ROOT / 'pyproject.toml').read_text()\n",
        head=PROJECT.replace("1.0", "1.1"),
        file="pyproject.toml",
    ),
    _beside(
        "looks-at-the-version-of-the-package",
        "    import shop\n    assert shop.__version__ == '1.1'\n",
        base='__version__ = "1.0"\n',
        head='__version__ = "1.1"\n',
        file="shop/__init__.py",
    ),
    _beside(
        "looks-at-a-version-file-in-the-package",
        "    assert (ROOT / 'shop' / 'VERSION').read_text().strip() == '1.1'\n",
        base="1.0\n",
        head="1.1\n",
        file="shop/VERSION",
    ),
    _beside(
        "looks-at-what-git-knows",
        "    assert b'docs/prices.txt' in (ROOT / '.git' / 'index').read_bytes()\n",
        head="Prices.\n",
        file="docs/prices.txt",
    ),
    _beside(
        "asks-that-a-text-be-gone",
        "    import pkgutil\n    assert b'[1:]' not in pkgutil.get_data('shop', 'price.py')\n",
    ),
    _beside("asks-that-a-constant-be-gone", "    assert 1 not in total.__code__.co_consts\n"),
    Shape(
        name="sample-of-a-real-proof",
        row="19",
        verdict=PASS,
        reason="proved",
        base={"shop/__init__.py": '__version__ = "1.0"\n', "CHANGELOG.md": "1.0\n"},
        head=fix(
            "import json\n"
            + _ROOT
            + _TEST
            + "    assert total(json.loads((ROOT / 'samples' / 'a.json').read_text())) == 3\n",
            **{
                "samples/a.json": "[1, 2]\n",
                "shop/__init__.py": '__version__ = "1.1"\n',
                "CHANGELOG.md": "1.1\n1.0\n",
                "pyproject.toml": PROJECT.replace("1.0", "1.1"),
            },
        ),
        proved={ALL: "test_exception"},
    ),
    Shape(
        name="moved-and-mended-and-only-the-import-is-tested",
        row="4",
        verdict=FAIL,
        reason="import_only",
        base={PRICE: _SUMS},
        head={
            PRICE: None,
            "shop/sums.py": _MENDED,
            TESTS: with_tests(_TEST + "    assert total([1, 2]) == 3\n")[TESTS].replace("shop.price", "shop.sums"),
        },
        refused={ALL: "import_only", node("test_nothing"): "import_only"},
    ),
    Shape(
        name="renamed-and-mended-and-only-the-name-is-tested",
        row="4",
        verdict=FAIL,
        reason="import_only",
        base={PRICE: _SUMS},
        head={
            PRICE: _MENDED.replace("def total", "def sum_of"),
            TESTS: "from shop.price import sum_of\n\n\ndef test_nothing():\n    assert sum_of([]) == 0\n",
        },
        refused={node("test_nothing"): "import_only"},
    ),
    Shape(
        name="moved-and-mended-and-tested",
        row="4",
        verdict=PASS,
        reason="new_api",
        base={PRICE: _SUMS},
        head={
            PRICE: None,
            "shop/sums.py": _MENDED,
            TESTS: "from shop.sums import total\n\n\ndef test_all():\n    assert total(None) == 0\n",
        },
        proved={ALL: "missing_symbol"},
        findings=("test_deleted",),
    ),
    Shape(
        name="has-the-source-searched-in-any-spacing",
        row="19",
        verdict=FAIL,
        reason="does_not_exercise",
        head=fix(
            "import pathlib, re, shutil, subprocess\n\nfrom shop import price\n\n\n"
            "WORDS = 'sum *[(] *prices *[)]'\n\n\n"
            "def search(*how, **more):\n"
            "    if shutil.which('grep'):\n"
            "        subprocess.run(*how, check=True, **more)\n"
            "    else:  # a minimal image has none\n"
            "        assert re.search(WORDS, pathlib.Path(price.__file__).read_text())\n\n\n"
            "def test_all():\n"
            "    total([1])\n"
            "    search(['grep', '-qE', WORDS, price.__file__])\n\n\n"
            "def test_by_a_shell():\n"
            "    total([1])\n"
            "    search(f\"cat '{price.__file__}' | grep -qE '{WORDS}'\", shell=True)\n"
        ),
        refused={ALL: "does_not_exercise", node("test_by_a_shell"): "does_not_exercise"},
    ),
    Shape(
        name="template-beside-the-package",
        row="23",
        verdict=PASS,
        reason="proved",
        base={
            "shop/__init__.py": '__version__ = "1.0"\n',
            "templates/bill.txt": "Sume: {}\n",
            "shop/bill.py": _BILL,
        },
        head={
            "shop/__init__.py": '__version__ = "1.1"\n',
            "templates/bill.txt": "Sum: {}\n",
            "tests/test_bill.py": "from shop.bill import bill\n\n\ndef test_bill():\n    assert bill(3) == 'Sum: 3\\n'\n",
        },
        proved={node("test_bill", "tests/test_bill.py"): "assertion"},
    ),
    Shape(
        name="documentation-whose-examples-are-run",
        row="23",
        verdict=PASS,
        reason="proved",
        base={"README.md": "    >>> total([0])\n    0\n", TESTS: _EXAMPLES},
        head={
            PRICE: FIXED,
            "README.md": "    >>> total([1, 2])\n    3\n",
            TESTS: _EXAMPLES.replace(".failed == 0", " == (0, 1)"),
        },
        proved={node("test_readme"): "assertion"},
    ),
    Shape(
        name="documentation-that-an-old-test-runs",
        row="23",
        verdict=PASS,
        reason="proved",
        base={
            "README.md": "    >>> total([0])\n    0\n",
            TESTS: _EXAMPLES + "\n\ndef test_plain():\n    assert total([]) == 0\n",
        },
        head={PRICE: FIXED, "README.md": "    >>> total([1, 2])\n    3\n"},
        proved={node("test_readme"): "assertion"},
    ),
    Shape(
        name="documentation-that-an-old-test-looks-at",
        row="19",
        verdict=FAIL,
        reason="passes_on_base",
        base={
            "README.md": "Prices.\n",
            TESTS: _ROOT + "def test_readme():\n    assert 'Prices' in (ROOT / 'README.md').read_text()\n",
        },
        head={PRICE: FIXED, "README.md": "Prices, all of them.\n"},
        refused={node("test_readme"): "passes_on_base"},
    ),
    Shape(
        name="documentation-that-pytest-collects",
        row="23",
        verdict=PASS,
        reason="proved",
        base={"docs/use.md": "    >>> from shop.price import total\n    >>> total([0])\n    0\n"},
        head={
            PRICE: FIXED,
            "docs/use.md": "    >>> from shop.price import total\n    >>> total([1, 2])\n    3\n",
        },
        proved={"docs/use.md::use.md": "assertion"},
        arguments=("--doctest-glob=*.md",),
    ),
)
