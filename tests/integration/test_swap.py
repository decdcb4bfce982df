"""Code exchanged in a fork: every shape a function has, with its null mutant, a mutant and the one that must die."""

from __future__ import annotations

import textwrap

import pytest

from repro_gate.experiment import Job
from repro_gate.model import Conditions, Experiment, ExperimentResult, Swap
from tests.conftest import LIMITS, MakeLab, MakeProject
from tests.swaps import swap_of

PLAIN = ("-p", "no:randomly")
FILE = "pkg/shapes.py"

HEAD = textwrap.dedent('''\
    """One function of each shape."""
    import contextlib, dataclasses, enum, functools

    COMMANDS = {}

    class Command:
        def __init__(self, callback):
            self.callback = callback

    def command(name):
        def register(function):
            COMMANDS[name] = Command(function)
            return COMMANDS[name]
        return register

    def logged(function):
        calls = []
        @functools.wraps(function)
        def wrapper(*args, **named):
            calls.append(args)
            return function(*args, **named), len(calls)
        return wrapper

    def plain(n):
        return n + 1

    @logged
    def wrapped(n):
        return n + 2

    @functools.lru_cache(maxsize=None)
    def cached(n):
        return n + 3

    @contextlib.contextmanager
    def manager():
        yield 4

    @command("greet")
    def greet():
        return "5"

    async def coroutine():
        return 6

    async def agen():
        yield 7

    def gen(n):
        while n:
            yield n
            n -= 1

    def adder(n):
        def add(m):
            return n + m
        return add
    add_two = adder(2)

    class Thing:
        factor = 3
        def __init__(self):
            self.value = 10
        @property
        def prop(self):
            return self.value + 11
        @prop.setter
        def prop(self, value):
            self.value = value + 12
        @functools.cached_property
        def once(self):
            return self.value + 13
        @classmethod
        def made(cls):
            return cls.factor + 14
        @staticmethod
        def static():
            return 15
        def method(self):
            return self.value + 16
        class Inner:
            def deep(self):
                return 17
        __add__ = lambda self, other: other + 18
    bound = Thing().method

    class Child(Thing):
        names = []
        def __init__(self):
            super().__init__()
            self.value += 19
        def __init_subclass__(cls, **named):
            super().__init_subclass__(**named)
            Child.names.append(cls.__name__ + "20")

    @dataclasses.dataclass
    class Data:
        a: int
        def __post_init__(self):
            self.b = self.a + 21
        def total(self):
            return self.a + 22

    class Colour(enum.Enum):
        RED = 1
        def shade(self):
            return self.value + 23

    def make():
        class Made:
            def method(self):
                return 24
        return Made
    MADE = make()

    double = lambda n: n * 25
    one, two = lambda n: n + 26, lambda n: n + 27
    same, different = [lambda: 28, lambda n: 28]

    def defaults(a, b=29, *, c=30):
        return a + b + c
    halfway = functools.partial(defaults, b=1)

    def factorial(n):
        return 1 if n < 2 else n * factorial(n - 1)

    @functools.singledispatch
    def describe(thing):
        return "thing"
    @describe.register(int)
    def _(thing):
        return "number"
    @describe.register(str)
    def _(thing):
        return "text"

    def resource():
        yield 31
''')

TESTS = """\
    import asyncio
    import importlib.util
    import pytest
    from pkg import shapes
    from pkg.shapes import *
    from pkg.shapes import _  # as it is the last one

    plain_by_name = shapes.plain
    spec = importlib.util.spec_from_file_location("again", shapes.__file__)
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)

    @pytest.fixture(scope="session")
    def resource_in_use():
        for value in shapes.resource():
            yield value

    async def collected(source):
        return [each async for each in source]

    def test_plain(): assert plain_by_name(1) == shapes.plain(1) == again.plain(1) == 2
    def test_wrapped(): assert wrapped(1) == (3, 1)
    def test_wrapper(): assert wrapped(1) == (3, 1)
    def test_cached(): assert cached(1) == cached(1) == 4
    def test_manager():
        with manager() as value: assert value == 4
    def test_registered(): assert COMMANDS["greet"].callback() == "5"
    def test_coroutine(): assert asyncio.run(coroutine()) == 6
    def test_agen(): assert asyncio.run(collected(agen())) == [7]
    def test_gen(): assert list(gen(2)) == [2, 1]
    def test_closure(): assert add_two(1) == 3
    def test_getter(): assert Thing().prop == 21
    def test_setter():
        thing = Thing()
        thing.prop = 1
        assert thing.value == 13
    def test_once(): assert Thing().once == 23
    def test_classmethod(): assert Thing.made() == 17
    def test_static(): assert Thing.static() == 15
    def test_bound(): assert bound() == 26
    def test_inner_class(): assert Thing.Inner().deep() == 17
    def test_lambda_in_class(): assert Thing() + 1 == 19
    def test_super(): assert Child().value == 29
    def test_init_subclass():
        class New(Child): pass
        assert Child.names == ["New20"]
    def test_post_init(): assert Data(1).b == 22
    def test_dataclass(): assert Data(1).total() == 23
    def test_enum(): assert Colour.RED.shade() == 24
    def test_class_in_function(): assert MADE().method() == 24
    def test_class_made_again(): assert make()().method() == 24
    def test_lambda(): assert double(2) == 50
    def test_second_lambda(): assert (one(0), two(0)) == (26, 27)
    def test_defaults(): assert defaults(1) == 60
    def test_partial(): assert halfway(0) == 31
    def test_recursion(): assert factorial(4) == 24
    def test_dispatch(): assert (describe(1), describe("a"), describe([])) == ("number", "text", "thing")
    def test_session_fixture(resource_in_use): assert resource_in_use == 31
"""

# shape: (the outermost function, what is replaced, what by)
SHAPES = {
    "plain": ("plain", "n + 1\n", "n - 1\n"),
    "wrapped": ("wrapped", "n + 2\n", "n - 2\n"),
    "wrapper": ("logged", "calls.append(args)", "pass"),
    "cached": ("cached", "n + 3\n", "n - 3\n"),
    "manager": ("manager", "yield 4\n", "yield 5\n"),
    "registered": ("greet", 'return "5"', 'return ""'),
    "coroutine": ("coroutine", "return 6", "return -6"),
    "agen": ("agen", "yield 7", "yield -7"),
    "gen": ("gen", "n -= 1", "n = 0"),
    "closure": ("adder", "n + m", "n - m"),
    "getter": ("Thing.prop", "self.value + 11", "self.value - 11"),
    "setter": ("Thing.prop", "value + 12", "value - 12"),
    "once": ("Thing.once", "value + 13", "value - 13"),
    "classmethod": ("Thing.made", "factor + 14", "factor - 14"),
    "static": ("Thing.static", "return 15", "return 16"),
    "bound": ("Thing.method", "value + 16", "value - 16"),
    "inner_class": ("Thing.Inner.deep", "return 17", "return 18"),
    "lambda_in_class": ("Thing.<lambda>", "other + 18", "other - 18"),
    "super": ("Child.__init__", "+= 19", "-= 19"),
    "init_subclass": ("Child.__init_subclass__", '"20"', '""'),
    "post_init": ("Data.__post_init__", "self.a + 21", "self.a - 21"),
    "dataclass": ("Data.total", "self.a + 22", "self.a - 22"),
    "enum": ("Colour.shade", "value + 23", "value - 23"),
    "class_in_function": ("make", "return 24", "return 25"),
    "class_made_again": ("make", "return 24", "return 25"),
    "lambda": ("<lambda>", "n * 25", "n + 25"),
    "second_lambda": ("<lambda>", "n + 27", "n - 27"),
    "defaults": ("defaults", "b + c", "b - c"),
    "partial": ("defaults", "b + c", "b - c"),
    "recursion": ("factorial", "n < 2", "n < 3"),
    "dispatch": ("_", '"text"', '""'),
    "session_fixture": ("resource", "yield 31", "yield 32"),
}


def job(test: str, swap: Swap) -> Job:
    experiment = Experiment(tests=(test,), conditions=Conditions(), limits=LIMITS, swap=swap)
    return Job(experiment=experiment)


def ended(result: ExperimentResult) -> str:
    """What the one test came to: how it failed, or that it passed; or why it did not run."""
    (run,) = result.runs
    if not result.swapped:
        return "; ".join(result.notes)
    assert result.controls_held, result.notes
    return run.failure.type.rpartition(".")[2] if run.failure else str(run.outcome)


@pytest.mark.parametrize("filters", ["default", "error"])
def test_each_shape_passes_unchanged_fails_mutated_and_dies_when_made_to(
    project: MakeProject, host_lab: MakeLab, filters: str
) -> None:
    settings = f"[pytest]\nfilterwarnings = {filters}\n"
    lab = host_lab(
        project({FILE: HEAD, "pkg/__init__.py": "", "test_s.py": TESTS, "pytest.ini": settings}),
        *PLAIN,
        env={"PYTHONWARNINGS": filters},
    )
    jobs = {
        name: [
            job(f"test_s.py::test_{name}", swap_of(FILE, HEAD, qualname, old, old)),
            job(f"test_s.py::test_{name}", swap_of(FILE, HEAD, qualname, old, new)),
            job(f"test_s.py::test_{name}", swap_of(FILE, HEAD, qualname, old, old, raising=True)),
        ]
        for name, (qualname, old, new) in SHAPES.items()
    }
    lab.lab.run([each for three in jobs.values() for each in three])
    found = {name: tuple(ended(each.result) for each in three if each.result) for name, three in jobs.items()}
    assert found == dict.fromkeys(SHAPES, ("passed", "AssertionError", "MustDie"))
