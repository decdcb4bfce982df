"""Changes of what describes code or lies beside it unread:
docstrings, annotations, code objects, files of the package.
"""

from __future__ import annotations

from tests.corpus.shape import ALL, BROKEN, FAIL, FIXED, OLD, PASS, PRICE, TESTS, Shape, fix, node, with_tests

_TEST = "def test_all():\n"
_BOTH = "    assert total([0, 2]) == 2  # so it is on base\n"
_PROGRAM = '''\
"""Sum up %s."""

import argparse


def usage():
    return argparse.ArgumentParser(prog="shop", description=__doc__).format_help()


def main():
    print(usage())


if __name__ == "__main__":
    main()
'''
_SUMS = (
    BROKEN.replace("    return", '    """Sum."""\n    return'),
    FIXED.replace("    return", '    """Sum, with the first."""\n    return'),
)
_ANNOTATED = FIXED.replace("(prices):", "(prices) -> int:", 1)
_WRONG, _RIGHT = _PROGRAM % "prizes", _PROGRAM % "prices"
_HELP = "tests/test_program.py"
_KEEPS = """\
import functools


def counted(function):
    %s
    def inner(*given):
        return function(*given)

    return inner
"""


def _described(name: str, test: str, base: str, head: str) -> Shape:
    """A fix whose test calls it where both sides are right, and looks at how it is described."""
    return Shape(
        name=name,
        row="19",
        verdict=FAIL,
        reason="does_not_exercise",
        base={PRICE: base},
        head={PRICE: head, **with_tests(_TEST + test + _BOTH)},
        refused={ALL: "does_not_exercise"},
    )


def _program(name: str, test: str, reason: str, code: str = "assertion") -> Shape:
    """A word in a docstring is mended, which a program prints, and this is tested."""
    proved = {node("test_help", _HELP): code} if reason == "proved" else {}
    return Shape(
        name=name,
        row="19",
        verdict=PASS if proved else FAIL,
        reason=reason,
        base={"shop/program.py": _WRONG},
        head={"shop/program.py": _RIGHT, _HELP: test},
        proved=proved,
        refused={} if proved else {node("test_help", _HELP): reason},
    )


SHAPES = (
    _program(
        "help-that-is-a-docstring",
        "from shop.program import usage\n\n\ndef test_help():\n    assert 'Sum up prices' in usage()\n",
        "proved",
    ),
    _program(
        "help-that-is-a-docstring-in-a-process",
        "import subprocess, sys\n\n\ndef test_help():\n"
        "    done = subprocess.run([sys.executable, '-m', 'shop.program'], capture_output=True, text=True)\n"
        "    assert 'Sum up prices' in done.stdout\n",
        "proved",
    ),
    _program(
        "looks-at-a-docstring",
        "from shop import program\n\n\ndef test_help():\n"
        "    assert program.usage()\n    assert 'Sum up prices' in program.__doc__\n",
        "does_not_exercise",
    ),
    _program(
        "has-a-docstring-read-from-the-file",
        "import subprocess, sys\n\nfrom shop import program\n\nREAD = f'print(open({program.__file__!r}).read())'\n\n\n"
        "def test_help():\n"
        "    done = subprocess.run([sys.executable, '-c', READ], capture_output=True, text=True)\n"
        "    assert program.usage()\n    assert 'Sum up prices' in done.stdout\n",
        "does_not_exercise",
    ),
    _described(
        "looks-at-the-docstring-beside-a-fix",
        "    assert 'first' in total.__doc__\n",
        BROKEN.replace("    return", '    """Sum."""\n    return'),
        FIXED.replace("    return", '    """Sum, with the first."""\n    return'),
    ),
    _described(
        "looks-at-names-of-variables",
        "    assert 'whole' in total.__code__.co_varnames\n",
        "def total(prices):\n    found = sum(prices[1:])\n    return found\n",
        "def total(prices):\n    whole = sum(prices)\n    return whole\n",
    ),
    _described(
        "looks-at-the-line-of-a-function",
        "    assert total.__code__.co_firstlineno > 2\n",
        BROKEN,
        "\n\n\n" + FIXED,
    ),
    _described(
        "looks-at-names-in-the-code",
        "    assert 'fsum' in getattr(total, '__code__').co_names\n",
        "import math\n\n\n" + BROKEN,
        "import math\n\n\n" + FIXED.replace("sum(", "math.fsum("),
    ),
    _described(
        "looks-at-annotations",
        "    assert total.__annotations__['return'] is int\n",
        BROKEN.replace("(prices)", "(prices: list)", 1),
        FIXED.replace("(prices):", "(prices: list) -> int:", 1),
    ),
    _described(
        "looks-at-annotations-that-are-text",
        "    assert total.__annotations__['return'] == 'int'\n",
        "from __future__ import annotations\n\n\n" + BROKEN,
        "from __future__ import annotations\n\n\n" + FIXED.replace("(prices):", "(prices: list) -> int:", 1),
    ),
    _described(
        "looks-at-a-docstring-by-a-name-that-is-made",
        "    assert 'first' in getattr(total, f\"__{'doc'}__\")\n",
        *_SUMS,
    ),
    _described(
        "looks-at-all-there-is",
        "    assert any('first' in str(getattr(total, name)) for name in dir(total))\n",
        *_SUMS,
    ),
    _described(
        "looks-at-a-docstring-that-is-gone",
        "    assert not total.__doc__\n",
        _SUMS[0],
        FIXED,
    ),
    _described(
        "looks-at-annotations-by-a-signature",
        "    import inspect\n    assert inspect.signature(total).return_annotation is int\n",
        BROKEN,
        _ANNOTATED,
    ),
    Shape(
        name="checks-a-description-and-the-fix",
        row="19",
        verdict=PASS,
        reason="proved",
        base={PRICE: BROKEN},
        head={
            PRICE: _ANNOTATED.replace("    return", '    """Sum, with the first."""\n    return'),
            **with_tests(
                """\
                import inspect


                def test_docstring():
                    assert total([1, 2]) == 3
                    assert total.__doc__ == "Sum, with the first."

                def test_annotation():
                    assert total([1, 2]) == 3
                    assert inspect.signature(total).return_annotation is int
                """
            ),
        },
        proved={node("test_docstring"): "assertion", node("test_annotation"): "assertion"},
    ),
    Shape(
        name="has-documentation-look-at-a-docstring",
        row="23",
        verdict=FAIL,
        reason="does_not_exercise",
        base={
            PRICE: _SUMS[0],
            "README.md": "    >>> total([0])\n    0\n",
            TESTS: "import doctest, pathlib\n\n" + OLD + "ROOT = pathlib.Path(__file__).parents[1]\n\n\n"
            "def test_readme():\n"
            "    text = str(ROOT / 'README.md')\n"
            "    found = doctest.testfile(text, module_relative=False, globs={'total': total})\n"
            "    assert found.failed == 0\n",
        },
        head={
            PRICE: _SUMS[1],
            "README.md": "    >>> total([0, 2])\n    2\n    >>> total.__doc__\n    'Sum, with the first.'\n",
        },
        refused={node("test_readme"): "does_not_exercise"},
    ),
    Shape(
        name="looks-at-a-file-of-the-package",
        row="19",
        verdict=FAIL,
        reason="does_not_exercise",
        head=fix(
            "import pathlib, shop\n\n\n"
            + _TEST
            + "    assert (pathlib.Path(shop.__file__).parent / 'rates.json').exists()\n"
            + _BOTH,
            **{"shop/rates.json": "{}\n"},
        ),
        refused={ALL: "does_not_exercise"},
    ),
    Shape(
        name="new-file-of-the-package-that-is-read",
        row="19",
        verdict=PASS,
        reason="proved",
        base={
            PRICE: "import pathlib\n\nRATES = pathlib.Path(__file__).with_name('rates.txt')\n\n\n"
            "def total(prices):\n    return sum(prices[1:])\n"
        },
        head={
            PRICE: "import pathlib\n\nRATES = pathlib.Path(__file__).with_name('rates.txt')\n\n\n"
            "def total(prices):\n    return sum(prices) * int(RATES.read_text())\n",
            "shop/rates.txt": "2\n",
            **with_tests(
                "def test_all(tmp_path):\n    assert total([1, 2]) == 6\n    assert not (tmp_path / 'left').exists()\n"
            ),
        },
        proved={ALL: "assertion"},
    ),
    Shape(
        name="decorator-that-keeps-what-describes",
        row="19",
        verdict=PASS,
        reason="proved",
        base={"shop/counted.py": _KEEPS % "pass"},
        head={
            "shop/counted.py": _KEEPS % "@functools.wraps(function)",
            "tests/test_counted.py": """\
                from shop.counted import counted


                @counted
                def one(price: int) -> int:
                    "The only one."
                    return price


                def test_docstring():
                    assert one.__doc__ == "The only one."

                def test_annotations():
                    assert one.__annotations__["return"] in (int, "int")
            """,
        },
        proved={
            node("test_docstring", "tests/test_counted.py"): "assertion",
            node("test_annotations", "tests/test_counted.py"): "test_exception",
        },
    ),
)
