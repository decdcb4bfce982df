"""Base with head's names: the names are there, what they do is not, and all else is base's."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest

from repro_gate.gates.fail_to_pass.hollow import Elsewhere
from repro_gate.gates.fail_to_pass.names import with_names, with_sayings
from repro_gate.gates.fail_to_pass.symbols import made_fields, passed_on, surface
from tests.unit.simulated_bench import product

BASE = """\
\"\"\"Prices.\"\"\"
from __future__ import annotations
LEAST = 1
class Base:
    def close(self):
        return "base"
class Price(Base):
    value = 1
    def __init__(self, value):
        self.value = value
def total(prices, first=1):
    return sum(prices[first:])
"""


def loaded(base: str | None, head: str, **how: Any) -> dict[str, Any]:
    text = with_names(base, head, **how)
    assert text is not None
    space: dict[str, Any] = {"__name__": "shop"}
    exec(compile(text, "shop.py", "exec", dont_inherit=True), space)
    return space


def test_what_only_differs_in_what_it_does_has_no_new_names() -> None:
    head = BASE.replace("LEAST = 1", "LEAST = 0").replace("first=1", "first=0").replace("sum(", "len(")
    assert with_names(BASE, head) is None
    assert with_names(BASE, None) is None
    assert with_names(BASE, "def (") is None


def test_new_functions_do_nothing_and_new_constants_equal_nothing() -> None:
    found = loaded(BASE, BASE + "LIMIT = 10\nasync def wait(): return 1\ndef mean(x):\n    'Doc.'\n    return x\n")
    assert found["mean"](1) is None
    assert found["mean"].__doc__ == "Doc."
    assert inspect.iscoroutinefunction(found["wait"])
    assert found["LIMIT"] != 10
    assert type(found["LIMIT"]).__name__ == "NoValue"
    assert found["total"]([1, 2]) == 2
    assert found["LEAST"] == 1


def test_what_a_module_says_of_itself_is_heads() -> None:
    said = '__version__ = "2"\n__all__ = ["total", "mean"]\n'
    found = loaded('__all__ = ["total"]\n', said)
    assert (found["__version__"], found["__all__"]) == ("2", ["total", "mean"])


def test_new_parameters_change_nothing() -> None:
    found = loaded(BASE, BASE.replace("first=1", "first=0, *more, tax=2, **rest"))
    assert found["total"]([1, 2], tax=5, other=1) == 2
    assert list(inspect.signature(found["total"]).parameters) == ["prices", "first", "more", "tax", "rest"]


def test_new_attributes_and_methods_are_there_and_overriding_is_no_new_name() -> None:
    head = BASE.replace(
        "        self.value = value\n",
        "        self.value = value\n        self.currency = 'EUR'\n"
        "    def close(self):\n        return 'head'\n    def tax(self):\n        return 1\n"
        "    def __eq__(self, other):\n        return True\n",
    )
    price = loaded(BASE, head)["Price"](1)
    assert price.currency != "EUR"
    assert price.tax() is None
    assert price.close() == "base"
    assert (price == loaded(BASE, head)["Price"](1)) is False


def test_a_new_module_is_hollow() -> None:
    head = "from __future__ import annotations\nimport re\nRE = re.compile('x')\nclass N(ValueError):\n    code = 1\n"
    assert issubclass(loaded(None, head)["N"], ValueError)
    assert not hasattr(loaded(None, head)["RE"], "match")
    assert hasattr(loaded(None, head, keep_calls=True)["RE"], "match")
    assert loaded(None, head, keep_calls=True)["N"].code != 1


@pytest.mark.parametrize(
    "added",
    [
        "    try:\n        import nothing\n    except ImportError:\n        nothing = None\n",
        "    if True:\n        def f(self): yield 1\n",
        "    class Inner:\n        x: int = 1\n        def f(self): return 2\n",
        "    @property\n    def p(self): return 1\n    @staticmethod\n    def s(): return 1\n",
        "    a = b = 1\n    c, d = 1, 2\n",
    ],
)
def test_what_is_added_to_a_class_can_be_imported(added: str) -> None:
    with_more = BASE.replace("    value = 1\n", "    value = 1\n" + added)
    assert loaded(BASE, with_more)["Price"](1).value == 1


def test_what_base_has_elsewhere_is_as_it_is_there() -> None:
    moved = (
        'LEAST = 1\nLIMIT = 10\nclass Price:\n    def half(self):\n        return "mended"\ndef new():\n    return 1\n'
    )
    base = 'LEAST = 1\nclass Price:\n    def half(self):\n        return "broken"\n'
    found = loaded(None, moved, elsewhere=Elsewhere.of([(base, None), (None, moved)]))
    assert found["Price"]().half() == "broken"
    assert found["LEAST"] == 1
    assert (found["LIMIT"] == 10, found["new"]()) == (False, None)


def test_bases_product_says_heads_version_and_does_nothing_else_of_it() -> None:
    base = '__version__ = "1"\n__author__ = (\n    "A",\n)\nLEAST = 1\ndef f():\n    return 1\n'
    head = '__version__ = "2"\n__author__ = "A, B"\nLEAST = 2\nMORE = 1\ndef f():\n    return 2\n'
    told = with_sayings(base, head)
    assert told == "__version__ = '2'\n__author__ = 'A, B'\nLEAST = 1\ndef f():\n    return 1\n"
    assert with_sayings(base, base) is None
    assert with_sayings(None, head) is None
    assert with_sayings(base, None) is None
    assert with_sayings('__version__ = "1"; x = 1\n', '__version__ = "2"; x = 1\n') is None


def test_a_new_name_is_exported_and_one_that_was_there_is_as_base_has_it() -> None:
    base = 'from shop.a import f, g\n__all__ = ["f", "lost"]\n'
    head = 'from shop.a import f, g\ndef h():\n    return 1\n__all__ = ["f", "g", "h"]\n'
    text = with_names(base, head)
    assert text is not None
    assert '__all__ = ["f", "h", "lost"]'.replace('"', "'") in text
    # That a star import brings another name is no saying.
    assert with_sayings(base, head) is None


def test_what_a_module_passes_on_leads_nowhere_also_beside_what_base_passes_on() -> None:
    text = with_names("from os import path\n", "from os import path, sep, getcwd\n", passed_on={"sep", "getcwd"})
    assert text is not None
    found: dict[str, Any] = {}
    exec(text, found)
    assert found["path"].join
    assert found["sep"] != "/"
    assert callable(found["getcwd"])
    assert found["getcwd"]() != str(Path.cwd())
    with pytest.raises(AttributeError, match="'NoValue'"):
        _ = found["getcwd"]().parent
    assert not isinstance("x", found["sep"])
    with pytest.raises(ZeroDivisionError):
        _divided(caught=found["sep"])
    kept = with_names("", "from os import sep\n", passed_on={"sep"}, keep_calls=True)
    assert kept == "from os import sep\n"


def _divided(*, caught: type[Exception]) -> None:
    try:
        _ = 1 // 0
    except caught:
        pytest.fail("it catches what it is not")


@pytest.mark.parametrize(
    ("base", "head", "names"),
    [
        ("", "from pkg.a import f\nfrom .b import g as h\nfrom . import c\n", {"f", "h", "c"}),
        ("from .a import f\n", "from .a import f as g\n", set()),
        ("from .a import f\n", "from .a import f, f as g\n", {"f", "g"}),
        ("", "from os import path\nfrom .new import f\nfrom . import new\nimport pkg.a\n", set()),
        ("", "from .mod import old, fresh\n", {"old"}),
    ],
)
def test_what_is_passed_on_is_on_base_under_this_name_or_none(base: str, head: str, names: set[str]) -> None:
    package = product(base, head, path="pkg/__init__.py", module="pkg")
    others = [
        product(None, "def f(): pass\n", path="pkg/new.py", module="pkg.new"),
        product("def old(): pass\n", "def old(): pass\ndef fresh(): pass\n", path="pkg/mod.py", module="pkg.mod"),
    ]
    assert passed_on(package, surface([package, *others], frozenset({"pkg"}))) == names


FIELDS = "import dataclasses\n@dataclasses.dataclass{how}\nclass Price:\n    value: int\n    kind: str = 'net'\n"


@pytest.mark.parametrize("how", ["", "(frozen=True)", "(slots=True)", "(order=True, kw_only=True)"])
def test_a_new_field_is_taken_and_not_kept(how: str) -> None:
    base = FIELDS.format(how=how)
    price = loaded(
        base, base + "    currency: str = 'EUR'\n    notes: list = dataclasses.field(default_factory=list)\n"
    )["Price"]
    given = price(value=1, kind="gross", currency="USD")
    assert (given.value, given.kind) == (1, "gross")
    assert given.currency != "USD"
    assert given.notes != []
    assert given == price(value=1, kind="gross", currency="CHF", notes=[3])
    assert given != price(value=2, kind="gross")
    assert list(inspect.signature(price).parameters) == ["value", "kind", "currency", "notes"]


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("class Price(typing.NamedTuple):\n    value: int\n", "    currency: str = 'EUR'\n"),
        ("class Price(NamedTuple):\n    value: int\n    kind: str = 'net'\n", "    currency: str = 'EUR'\n"),
        ("class Price(pydantic.BaseModel, extra='forbid'):\n    value: int\n", "    currency: str = 'EUR'\n"),
    ],
)
def test_a_new_field_of_a_tuple_or_model_is_taken_and_not_kept(base: str, head: str) -> None:
    base = "import typing\nimport pydantic\nfrom typing import NamedTuple\n" + base
    price = loaded(base, base + head)["Price"]
    given = price(value=1, currency="USD")
    assert given.value == 1
    assert given.currency not in ("USD", "EUR")
    assert given == price(value=1, currency="CHF") == price(value=1)
    assert given != price(value=2, currency="USD")


@pytest.mark.parametrize(
    ("base", "head"),
    [
        ("namedtuple('Price', 'value')", "namedtuple('Price', 'value currency', defaults=['EUR'])"),
        ("namedtuple('Price', ['value'])", "namedtuple('Price', ('value', 'currency'), defaults=['EUR'])"),
        (
            "typing.NamedTuple('Price', [('value', int)])",
            "typing.NamedTuple('Price', [('currency', str), ('value', int)])",
        ),
    ],
)
def test_a_new_field_of_a_tuple_made_by_a_call_is_taken_and_not_kept(base: str, head: str) -> None:
    start = "import typing\nfrom collections import namedtuple\nPrice = "
    price = loaded(f"{start}{base}\n", f"{start}{head}\n")["Price"]
    given = price(value=1, currency="USD")
    assert (given.value, given.currency == "USD") == (1, False)
    assert given == price(value=1, currency="CHF")
    found = surface([product(f"{start}{base}\n", f"{start}{head}\n")], frozenset({"pkg"}))
    assert found.symbols == {"pkg.mod:Price.currency"}
    assert "Price" in found.signatures


@pytest.mark.parametrize(
    "text", ["P = namedtuple('P', x)", "P = namedtuple('P')", "P = f('P', 'x')", "P, Q = 1, 2", "P: int = 1"]
)
def test_what_makes_no_named_tuple_that_can_be_read_has_no_fields(text: str) -> None:
    assert made_fields(ast.parse(text).body[0]) == ()


def test_a_named_tuple_that_loses_a_field_is_as_on_base() -> None:
    start = "from collections import namedtuple\nP = namedtuple"
    assert with_names(f"{start}('P', 'x y')\n", f"{start}('P', 'x z')\n") is None
