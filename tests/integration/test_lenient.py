"""Lenient imports: a suite that names what is not there is collected, and its tests say what they miss."""

from __future__ import annotations

from pathlib import Path

import pytest

from repro_gate.errors import CollectionFailed
from repro_gate.model import ExperimentResult, Lenient, Mode, Outcome
from tests.conftest import MakeLab, MakeProject, outcomes

PLAIN = ("-p", "no:randomly")
PRODUCT = {
    "pkg/__init__.py": "",
    "pkg/core.py": "def old(): return 1\nclass Old: pass\n",
    "pkg/user.py": "import pkg.core\ndef has(): return hasattr(pkg.core, 'new')\n",
}
LENIENT = Lenient(
    modules=frozenset({"pkg.fresh", "pkg.fresh.deep"}),
    symbols=frozenset({"pkg.core:new", "pkg.core:New", "pkg.core:LIMIT", "pkg:fresh"}),
)


def run(lab: MakeLab, root: Path, mode: Mode = Mode.FORK, lenient: Lenient | None = LENIENT) -> ExperimentResult:
    return lab(root, *PLAIN, lenient=lenient).run(mode)


def missing(result: ExperimentResult) -> dict[str, str]:
    """The missing symbol by test, for tests that failed by one."""
    return {
        run.id.partition("::")[2]: run.failure.message
        for run in result.runs
        if run.failure is not None and run.failure.type == "MissingSymbol"
    }


TESTS = """\
    import unittest
    import pytest
    from enum import Enum
    from typing import Optional
    from pkg.core import LIMIT, New, new, old
    import pkg.core as core
    import pkg.fresh
    import pkg.fresh.deep as deep
    from pkg.fresh import thing
    from pkg.user import has

    VALUE = new(1).attribute["key"] + 2
    TABLE = {LIMIT: "a", New: [*thing], "n": len(thing)}
    FLAGS = LIMIT | 4, -LIMIT, LIMIT > 3, not LIMIT, isinstance(LIMIT, int), isinstance(3, New), f"{LIMIT}", range(LIMIT)
    def annotated(x: Optional[New], y: "New" = new()) -> New: return x

    def test_old(): assert old() == 1
    def test_product_sees_nothing(): assert not has()
    def test_call(): assert new() == 1
    def test_attribute(): assert New.field
    def test_of_module(): assert core.new()
    def test_of_new_module(): assert pkg.fresh.thing()
    def test_of_deep_module(): assert deep.other
    def test_compared(): assert 3 < LIMIT
    def test_equal(): assert [LIMIT] == [3]
    def test_isinstance(): assert isinstance(1, New)
    def test_is_one(): assert isinstance(LIMIT, int)
    def test_swallows():
        with pytest.raises(Exception):
            new()
    def test_expects_it():
        with pytest.raises(New):
            old()
    def test_swallows_by_hand():
        try:
            core.new()
        except Exception:
            pass
    def test_local_import():
        from pkg.core import new as local
    def test_unused_value(): assert annotated and TABLE and FLAGS
    def test_value(): assert VALUE.x

    @pytest.mark.parametrize("x", [1, New, new(2), LIMIT])
    def test_parameter(x): assert x is 1 or x.y
    @pytest.mark.parametrize("x", thing)
    def test_parameters(x): assert x.y
    @pytest.mark.parametrize("a, b", thing.CASES)
    def test_pairs(a, b): assert a.y
    @new
    def test_decorated(): pass
    @core.new(retries=3)
    def test_decorated_by_call(): pass
    @pytest.fixture
    @new
    def given(): return 1
    def test_fixture(given): pass
    @pytest.fixture(params=[New])
    def kind(request): return request.param
    def test_fixture_value(kind): kind.make()

    class Derived(New, flag=True): pass
    class Listed(thing.Base, list): pass
    def test_derived(): Derived()
    def test_derived_with_another(): Listed()
    class TestDerived(New):
        def test_inherits(self): self.helper()
        def test_alone(self): pass
    class TestMixed(New, unittest.TestCase):
        def test_unit(self): self.helper()
    @new
    class TestDecorated:
        def test_in_class(self): pass
    @pytest.mark.skipif(not LIMIT, reason="")
    def test_not_skipped(): new()
"""
EXPECTED = {
    "test_call": "pkg.core:new",
    "test_attribute": "pkg.core:New",
    "test_of_module": "pkg.core:new",
    "test_of_new_module": "pkg.fresh:thing",
    "test_of_deep_module": "pkg.fresh.deep:other",
    "test_compared": "pkg.core:LIMIT",
    "test_equal": "pkg.core:LIMIT",
    "test_isinstance": "pkg.core:New",
    "test_is_one": "pkg.core:LIMIT",
    "test_swallows": "pkg.core:new",
    "test_expects_it": "pkg.core:New",
    "test_swallows_by_hand": "pkg.core:new",
    "test_local_import": "pkg.core:new",
    "test_value": "pkg.core:new",
    "test_parameter[New]": "pkg.core:New",
    "test_parameter[x2]": "pkg.core:new",
    "test_parameter[x3]": "pkg.core:LIMIT",
    "test_parameters[x0]": "pkg.fresh:thing",
    "test_pairs[a0-b0]": "pkg.fresh:thing",
    "test_decorated": "pkg.core:new",
    "test_decorated_by_call": "pkg.core:new",
    "test_fixture": "pkg.core:new",
    "test_fixture_value[New]": "pkg.core:New",
    "test_derived": "pkg.core:New",
    "test_derived_with_another": "pkg.fresh:thing",
    "TestDerived::test_inherits": "pkg.core:New",
    "TestMixed::test_unit": "pkg.core:New",
    "TestDecorated::test_in_class": "pkg.core:new",
    "test_not_skipped": "pkg.core:new",
}


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_tests_that_use_what_is_missing_name_it_and_the_others_run(
    project: MakeProject, lab: MakeLab, mode: Mode
) -> None:
    result = run(lab, project({**PRODUCT, "test_it.py": TESTS}), mode)
    assert missing(result) == EXPECTED
    others = {test: outcome for test, outcome in outcomes(result).items() if test not in EXPECTED}
    assert others == dict.fromkeys(
        ["test_old", "test_product_sees_nothing", "test_unused_value", "test_parameter[1]", "TestDerived::test_alone"],
        "passed",
    )
    assert result.controls_held


@pytest.mark.parametrize("mode", list(Mode), ids=str)
def test_tests_of_a_file_that_cannot_be_imported_fail_by_what_it_raises(
    project: MakeProject, lab: MakeLab, mode: Mode
) -> None:
    files = {
        "pkg/__init__.py": "def refuse(cls): raise ValueError('refused')\n",
        "pkg/circle.py": "from pkg.back import there\nhere = 1\n",
        "pkg/back.py": "from pkg.circle import here\nthere = 1\n",
        "tests/test_class.py": "import pkg\n@pkg.refuse\nclass Own: pass\ndef test_a(): pass\n",
        "tests/test_circle.py": "from pkg.circle import here\ndef test_a(): pass\n",
        "tests/test_fine.py": "def test_a(): pass\n",
    }
    named = [
        "test_class.py::test_a",
        "test_class.py::TestB::test_b[1-x]",
        "test_circle.py::test_a",
        "test_fine.py::test_c",
    ]
    result = run(lab, project(files), mode, Lenient(tests=frozenset(f"tests/{test}" for test in named)))
    failures = {each.id.removeprefix("tests/"): each.failure for each in result.runs if each.failure is not None}
    assert {test: (each.type, each.phase, each.frames[-1].path) for test, each in failures.items()} == {
        "test_class.py::test_a": ("ValueError", "setup", "pkg/__init__.py"),
        "test_class.py::TestB::test_b[1-x]": ("ValueError", "setup", "pkg/__init__.py"),
        "test_circle.py::test_a": ("ImportError", "setup", "pkg/back.py"),
    }
    assert {run.id: run.outcome for run in result.runs if run.failure is None} == {
        "tests/test_fine.py::test_a": Outcome.PASSED
    }
    assert result.controls_held
    assert not any(run.contradiction for run in result.runs)


def test_without_it_nothing_is_collected_and_the_cause_names_the_symbol(
    project: MakeProject, host_lab: MakeLab
) -> None:
    files = {
        **PRODUCT,
        "test_symbol.py": "from pkg.core import new\ndef test_a(): pass\n",
        "test_module.py": "import pkg.fresh\ndef test_a(): pass\n",
        "test_attribute.py": "import pkg.core\nX = pkg.core.new\ndef test_a(): pass\n",
        "test_name.py": "X = new\ndef test_a(): pass\n",
        "test_class.py": "from pkg.core import Old\nX = Old.new\ndef test_a(): pass\n",
        "test_syntax.py": "def test_a(:\n",
        "pkg/broken.py": "import no_such_thing\n",
        "test_product.py": "import pkg.broken\ndef test_a(): pass\n",
        "test_fine.py": "def test_a(): pass\n",
    }
    facts = host_lab(project(files), *PLAIN).collect()
    assert facts.tests == [("test_fine.py::test_a", "test_fine.py")]
    causes = {cause.node: cause for cause in facts.error_causes}
    # Before Python 3.10 the error does not say whose attribute it was.
    assert causes.pop("test_class.py").missing_symbols in {("pkg.core:Old.new",), (":Old.new",)}
    assert {node: (*cause.missing_modules, *cause.missing_symbols) for node, cause in causes.items()} == {
        "test_symbol.py": ("pkg.core:new",),
        "test_module.py": ("pkg.fresh",),
        "test_attribute.py": ("pkg.core:new",),
        "test_name.py": (":new",),
        "test_syntax.py": (),
        "test_product.py": ("no_such_thing",),
    }
    failure = causes["test_product.py"].failure
    assert (failure.type, failure.phase, failure.frames[-1].path) == ("ModuleNotFoundError", "collect", "pkg/broken.py")
    zones = [str(frame.zone) for frame in failure.frames if frame.zone in ("Test", "Product")]
    assert zones == ["Test", "Product"]
    assert causes["test_syntax.py"].failure.type == "SyntaxError"


@pytest.mark.parametrize("lenient", [None, LENIENT], ids=["strict", "lenient"])
def test_a_conftest_that_misses_a_symbol_is_told_like_a_test_module(
    project: MakeProject, host_lab: MakeLab, lenient: Lenient | None
) -> None:
    files = {
        **PRODUCT,
        "sub/conftest.py": "from pkg.core import new\n",
        "sub/test_sub.py": "def test_a(): pass\n",
        "test_fine.py": "def test_a(): pass\n",
    }
    facts = host_lab(project(files), *PLAIN, lenient=lenient).collect()
    causes = [cause.missing_symbols for cause in facts.error_causes]
    assert causes == ([] if lenient else [("pkg.core:new",)])
    assert ("sub/test_sub.py::test_a" in dict(facts.tests)) is (lenient is not None)


def test_a_conftest_at_the_root_that_fails_ends_pytest_and_is_told_all_the_same(
    project: MakeProject, host_lab: MakeLab
) -> None:
    files = {**PRODUCT, "conftest.py": "from pkg.core import new\n", "test_fine.py": "def test_a(): pass\n"}
    root = project(files)
    one = host_lab(root, *PLAIN)
    with pytest.raises(CollectionFailed):
        one.collect()
    assert [cause.missing_symbols for cause in one.lab.last_causes] == [("pkg.core:new",)]
    frame = one.lab.last_causes[0].failure.frames[-1]
    assert (str(frame.zone), frame.path) == ("Test", "conftest.py")
    assert [test for test, _ in host_lab(root, *PLAIN, lenient=LENIENT).collect().tests] == ["test_fine.py::test_a"]


def test_only_what_is_named_is_forgiven(project: MakeProject, host_lab: MakeLab) -> None:
    files = {
        **PRODUCT,
        "test_other_symbol.py": "from pkg.core import other\ndef test_a(): pass\n",
        "test_other_module.py": "import pkg.other\ndef test_a(): pass\n",
        "test_third_party.py": "import no_such_thing\ndef test_a(): pass\n",
    }
    facts = host_lab(project(files), *PLAIN, lenient=LENIENT).collect()
    assert {node for node, _ in facts.errors} == set(files) - set(PRODUCT)


def test_product_code_that_misses_it_fails_as_ever(project: MakeProject, host_lab: MakeLab) -> None:
    files = {
        **PRODUCT,
        "pkg/needs.py": "from pkg.core import new\n",
        "pkg/optional.py": "try:\n    import pkg.fresh\nexcept ImportError:\n    fresh = None\n",
        "test_needs.py": "import pkg.needs\ndef test_a(): pass\n",
        "test_optional.py": "import pkg.optional\ndef test_a(): assert pkg.optional.fresh is None\n",
    }
    lab = host_lab(project(files), *PLAIN, lenient=LENIENT)
    assert [node for node, _ in lab.collect().errors] == ["test_needs.py"]
    assert outcomes(lab.run()) == {"test_a": "passed"}


def test_a_test_module_that_handles_the_absence_is_left_to_it(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        import pytest
        try:
            from pkg.core import new
        except ImportError:
            new = None
        try:
            import pkg.fresh as fresh
        except (ImportError, OSError):
            fresh = None
        fresh_too = None
        @pytest.mark.skipif(new is None, reason="old product")
        def test_new(): new()
        def test_fresh(): assert fresh is None
        def test_skips(): pytest.importorskip("pkg.fresh")
    """
    result = run(host_lab, project({**PRODUCT, "test_it.py": tests}))
    assert outcomes(result) == {"test_new": "skipped", "test_fresh": "passed", "test_skips": "skipped"}


def test_targets_of_patches_that_are_missing_are_named_by_the_error(project: MakeProject, host_lab: MakeLab) -> None:
    tests = """\
        from unittest import mock
        import pkg.fresh
        def test_symbol():
            with mock.patch("pkg.core.new"): pass
        def test_module():
            with mock.patch("pkg.fresh.thing"): pass
        def test_monkeypatch(monkeypatch): monkeypatch.setattr("pkg.core.new", 1)
        def test_deep(monkeypatch): monkeypatch.setattr("pkg.fresh.thing", 1)
    """
    result = run(host_lab, project({**PRODUCT, "test_it.py": tests}))
    told = {run.id.partition("::")[2]: run.failure.message if run.failure else "" for run in result.runs}
    assert "new" in told["test_symbol"]
    assert "pkg.core" in told["test_symbol"]
    assert "thing" in told["test_module"]
    assert "pkg.fresh" in told["test_module"]
    assert "new" in told["test_monkeypatch"]
    assert "thing" in told["test_deep"]


def test_helpers_and_conftests_of_the_tree_are_forgiven_too(project: MakeProject, host_lab: MakeLab) -> None:
    files = {
        **PRODUCT,
        "tests/conftest.py": """\
            import pytest
            from pkg.core import new
            from tests.helper import made
            @pytest.fixture
            def ready(): return new()
        """,
        "tests/__init__.py": "",
        "tests/helper.py": "from pkg.fresh import thing\ndef made(): return thing()\n",
        "tests/test_it.py": """\
            from tests.helper import made
            def test_ready(ready): pass
            def test_made(): made()
            def test_fine(): pass
        """,
        "pytest.ini": "[pytest]\npython_files = check_*.py test_*.py\n",
        "check_odd.py": "from pkg.core import new\ndef test_odd(): new()\n",
    }
    result = run(host_lab, project(files))
    assert missing(result) == {"test_ready": "pkg.core:new", "test_made": "pkg.fresh:thing", "test_odd": "pkg.core:new"}
    assert outcomes(result)["test_fine"] == "passed"


def test_a_module_with_its_own_getattr_keeps_it(project: MakeProject, host_lab: MakeLab) -> None:
    files = {
        "pkg/__init__.py": "",
        "pkg/core.py": "def __getattr__(name):\n    if name == 'lazy': return 5\n    raise AttributeError(name)\n",
        "test_it.py": """\
            from pkg.core import lazy, new
            def test_lazy(): assert lazy == 5
            def test_new(): new()
            def test_other():
                import pkg.core
                assert not hasattr(pkg.core, "other")
        """,
    }
    result = run(host_lab, project(files))
    assert outcomes(result) == {"test_lazy": "passed", "test_new": "failed", "test_other": "passed"}
    assert missing(result) == {"test_new": "pkg.core:new"}
