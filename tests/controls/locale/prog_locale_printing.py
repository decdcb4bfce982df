"""Correct programs that print any character while the output is captured, or choose the locale themselves."""

import contextlib
import io
import locale
import os
import sys
import time
from unittest import mock

import pytest

TEXT = "naïve café, Straße, Ελλάδα, 日本語, 🙂"


def test_printing_under_capsys(capsys):
    print(TEXT)
    print(TEXT, file=sys.stderr)
    assert capsys.readouterr() == (TEXT + "\n", TEXT + "\n")


def test_printing_under_capfd(capfd):
    print(TEXT)
    sys.stdout.flush()
    os.write(1, (TEXT + "\n").encode("utf-8"))
    os.write(2, TEXT.encode("utf-8"))
    assert capfd.readouterr() == (TEXT + "\n" + TEXT + "\n", TEXT)


def test_printing_under_capsysbinary(capsysbinary):
    sys.stdout.buffer.write(TEXT.encode("utf-8"))
    assert capsysbinary.readouterr().out == TEXT.encode("utf-8")


def test_printing_into_a_buffer():
    with contextlib.redirect_stdout(io.StringIO()) as out:
        print(TEXT)
    assert out.getvalue() == TEXT + "\n"


def test_printing_ascii_uncaptured():
    print("plain text", ascii(TEXT))


@pytest.mark.parametrize("word", ["é", "日本", "a b", "ß/ẞ", "🙂", "\u202e", ""])
def test_parametrised_characters(word, tmp_path):
    path = tmp_path / "file"
    path.write_text(word, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == word


@pytest.mark.parametrize("word", [pytest.param("x", id="größe"), pytest.param("y", id="日本")])
def test_parametrised_ids(word, tmp_path, request):
    assert request.node.name.startswith("test_parametrised_ids[")
    assert tmp_path.is_dir()
    assert word in "xy"


@pytest.fixture
def chosen_locale():
    before = locale.setlocale(locale.LC_ALL)

    def choose(category, *names):
        for name in names:
            with contextlib.suppress(locale.Error):
                return locale.setlocale(category, name)
        return None

    yield choose
    locale.setlocale(locale.LC_ALL, before)


def test_program_chooses_the_c_locale(chosen_locale):
    assert chosen_locale(locale.LC_ALL, "C") == "C"
    assert locale.localeconv()["decimal_point"] == "."
    assert locale.format_string("%.1f", 2.5) == "2.5"
    assert locale.strcoll("B", "a") < 0
    assert sorted("bAaB", key=locale.strxfrm) == ["A", "B", "a", "b"]


def test_program_chooses_a_comma(chosen_locale):
    if chosen_locale(locale.LC_NUMERIC, "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8") is None:
        assert locale.localeconv()["decimal_point"] == "."
        return
    assert locale.localeconv()["decimal_point"] == ","
    assert locale.atof("2,5") == 2.5
    assert str(2.5) == "2.5"


def test_locale_is_given_back():
    before = locale.setlocale(locale.LC_ALL)
    locale.setlocale(locale.LC_TIME, "C")
    try:
        assert time.strftime("%B", time.gmtime(0)) == "January"
    finally:
        locale.setlocale(locale.LC_ALL, before)
    assert locale.setlocale(locale.LC_ALL) == before


def test_unknown_locale_is_refused():
    with pytest.raises(locale.Error):
        locale.setlocale(locale.LC_ALL, "xx_NOWHERE.UTF-99")


def test_encoding_is_known():
    assert "a".encode(locale.getpreferredencoding(False)) == b"a"
    assert "a".encode(sys.getfilesystemencoding()) == b"a"
    assert sys.getdefaultencoding() == "utf-8"


def test_patched_encoding():
    before = locale.getpreferredencoding
    with mock.patch("locale.getpreferredencoding", return_value="latin-1"):
        assert locale.getpreferredencoding() == "latin-1"
    assert locale.getpreferredencoding is before
