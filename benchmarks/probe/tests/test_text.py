import io
import locale
import subprocess
import sys
import unittest
from pathlib import Path

import pytest

MENU = "cr\u00e8me br\u00fbl\u00e9e"


@pytest.mark.parametrize("text", ["plain", MENU], ids=["plain", MENU])
def test_menu_read_back(tmp_path, text):
    path = tmp_path / "menu.txt"
    path.write_bytes(text.encode("utf-8"))
    assert path.read_text() == text


def test_names_are_written(tmp_path):
    with open(str(tmp_path / "names.txt"), "w") as file:
        file.write("\u0141ukasz, \u5c71\u7530, \u0130pek\n")
    assert (tmp_path / "names.txt").stat().st_size > 10


def test_child_text():
    code = "import sys; sys.stdout.buffer.write('\\u20ac 5'.encode('utf-8'))"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout == "\u20ac 5"


def test_price_shown():
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, "")
        assert locale.format_string("%.2f", 1.5) == "1.50"
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)


def test_encoding_given(tmp_path):
    path = tmp_path / "menu.txt"
    path.write_text(MENU, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == MENU


def test_locale_put_back():
    before = locale.setlocale(locale.LC_ALL)
    try:
        locale.setlocale(locale.LC_ALL, "C")
        assert locale.localeconv()["decimal_point"] == "."
    finally:
        locale.setlocale(locale.LC_ALL, before)


def test_child_bytes():
    code = "import sys; sys.stdout.buffer.write('\\u20ac'.encode('utf-8'))"
    assert subprocess.check_output([sys.executable, "-c", code]).decode("utf-8") == "\u20ac"


def test_child_status():
    assert subprocess.call([sys.executable, "-S", "-c", "raise SystemExit(3)"]) == 3


class CaseCase(unittest.TestCase):
    def test_upper(self):
        self.assertEqual("stra\u00dfe".upper(), "STRASSE")

    def test_wrapper(self):
        wrapper = io.TextIOWrapper(io.BytesIO(MENU.encode("latin-1")), encoding="latin-1")
        self.assertEqual(wrapper.read(), MENU)

    @unittest.skip("no printer here")
    def test_print(self):
        self.fail("printed")


@pytest.mark.xfail(reason="titles with apostrophes")
def test_title():
    assert "the cook's".title() == "The Cook's"


@pytest.mark.xfail(strict=True, reason="was wrong once")
def test_swapcase():
    assert "aB".swapcase() == "Ab"


@pytest.mark.skipif(sys.version_info < (3, 50), reason="a later Python")
def test_later():
    assert False


def test_source_is_utf8():
    assert Path(__file__).read_bytes().decode("utf-8").startswith("import io")
