"""A Python source as text and back: the same bytes, and after an edit the same encoding."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_gate.experiment import decoded, encoded

COOKIES = {
    "utf-8": "",
    "latin-1": "# coding: latin-1\n",
    "cp1252": "# -*- coding: cp1252 -*-\n",
    "koi8-r": "#!x\n# vim: fileencoding=koi8-r\n",
}


@given(st.sampled_from(sorted(COOKIES)), st.text(), st.sampled_from(["", "\ufeff"]), st.sampled_from(["\n", "\r\n"]))
def test_there_and_back_are_the_same_bytes(encoding: str, text: str, mark: str, newline: str) -> None:
    inside = "utf-8" if mark else encoding
    source = (mark + COOKIES["utf-8" if mark else encoding] + f"x = {text!r}").replace("\n", newline)
    data = source.encode(inside, "ignore")
    assert encoded(decoded(data)) == data


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "cp1252"])
def test_an_edited_text_is_written_as_its_file_was(encoding: str) -> None:
    cookie = "" if encoding == "utf-8-sig" else f"# coding: {encoding}\n"
    data = (cookie + "x = 'é'\ny = 1\n").encode(encoding)
    found = encoded(decoded(data).replace("y = 1", "y = 2"))
    assert found == (cookie + "x = 'é'\ny = 2\n").encode(encoding)
    value = ast.parse(found).body[0]
    assert ast.unparse(value) == "x = 'é'"


def test_what_is_not_in_its_encoding_is_read_nevertheless() -> None:
    assert decoded(b"x = '\xe9'\n") == "x = '\ufffd'\n"
    assert decoded(b"# coding: no-such\nx = '\xc3\xa9'\n") == "# coding: no-such\nx = 'é'\n"
    assert encoded("# coding: latin-1\nx = '\u20ac'\n") == "# coding: latin-1\nx = '\u20ac'\n".encode()
