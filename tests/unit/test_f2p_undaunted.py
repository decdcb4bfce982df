"""A test file that goes on at what raises: what can be bound is bound, and nothing else changes."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from repro_gate.gates.fail_to_pass.undaunted import undaunted


def bound_by(text: str) -> dict[str, Any]:
    """What the file binds once it goes on."""
    found = undaunted(textwrap.dedent(text))
    assert found is not None
    names: dict[str, Any] = {"__name__": "tests.test_it"}
    exec(compile(found, "test_it.py", "exec"), names)
    return names


def test_what_raises_binds_nothing_and_all_else_is_there() -> None:
    names = bound_by(
        """\
        '''What the file says.'''
        from __future__ import annotations
        import no_such_module
        late = no_such_module.value
        early = 1
        def test_it(given: Unknown):
            return early
        class TestIt:
            '''What the class says.'''
            made = no_such_module.make()
            def test_inside(self):
                return 2
        class Refused(no_such_module.Base):
            pass
        """
    )
    assert names["__doc__"] == "What the file says."
    assert names["TestIt"].__doc__ == "What the class says."
    assert (names["early"], names["test_it"](0), names["TestIt"]().test_inside()) == (1, 1, 2)
    assert not {"no_such_module", "late", "Refused"} & names.keys()
    assert not hasattr(names["TestIt"], "made")


def test_what_ends_a_file_by_intent_ends_it() -> None:
    with pytest.raises(pytest.skip.Exception):
        bound_by("import pytest\npytest.skip('elsewhere', allow_module_level=True)\n")


@pytest.mark.parametrize("text", [None, "", "def broken(:\n", "# nothing\n"])
def test_a_file_without_statements_is_none(text: str | None) -> None:
    assert undaunted(text) is None
