"""Correct programs that always name the encoding, and never depend on the language of the user."""

import configparser
import csv
import decimal
import email.message
import io
import json
import locale
import logging
import os
import re
import sqlite3
import string
import subprocess
import sys
import tempfile
import time
import unicodedata
from datetime import datetime

import pytest

TEXT = "naïve café, Straße, İstanbul, Ελλάδα, 日本語, 🙂"
WORDS = ["zebra", "Apfel", "apfel", "Äpfel", "éclair", "Zoo", "ñandú", "日本"]


def test_text_file_with_encoding(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == TEXT
    assert path.read_bytes() == TEXT.encode()
    with open(path, "a", encoding="utf-8", newline="\n") as stream:
        assert stream.encoding == "utf-8"
        stream.write("\n" + TEXT)
    with open(path, encoding="utf-8") as stream:
        assert [line.rstrip("\n") for line in stream] == [TEXT, TEXT]


def test_file_without_encoding_keeps_ascii(tmp_path):
    path = tmp_path / "plain.txt"
    with open(path, "w") as stream:
        stream.write("plain\nascii\n")
    with open(path) as stream:
        assert stream.read().split() == ["plain", "ascii"]


def test_other_encodings(tmp_path):
    path = tmp_path / "latin"
    path.write_text("naïve", encoding="latin-1")
    assert path.read_bytes() == b"na\xefve"
    with pytest.raises(UnicodeDecodeError):
        path.read_text(encoding="utf-8")
    assert path.read_text(encoding="utf-8", errors="replace") == "na\ufffdve"


def test_json(tmp_path):
    path = tmp_path / "data.json"
    with open(path, "w", encoding="utf-8") as stream:
        json.dump({"text": TEXT, "number": 1.5}, stream, ensure_ascii=False)
    with open(path, encoding="utf-8") as stream:
        assert json.load(stream) == {"text": TEXT, "number": 1.5}
    assert json.dumps({"é": 0.1}) == '{"\\u00e9": 0.1}'


def test_csv(tmp_path):
    path = tmp_path / "data.csv"
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([[TEXT, 1.5], ["ß", 2]])
    with open(path, encoding="utf-8", newline="") as stream:
        assert list(csv.reader(stream)) == [[TEXT, "1.5"], ["ß", "2"]]


def test_temporary_file_and_ini():
    parser = configparser.ConfigParser()
    parser["main"] = {"name": "größe"}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as stream:
        parser.write(stream)
        stream.seek(0)
        again = configparser.ConfigParser()
        again.read_file(stream)
    assert again["main"]["name"] == "größe"


def test_subprocess_text():
    code = "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"
    done = subprocess.run(
        [sys.executable, "-c", code], input=TEXT, stdout=subprocess.PIPE, encoding="utf-8", timeout=60, check=True
    )
    assert done.stdout == TEXT


def test_subprocess_with_its_own_encoding():
    done = subprocess.run(
        [sys.executable, "-c", "print(ascii('\\xe9'), '\\xe9')"],
        env=dict(os.environ, PYTHONIOENCODING="utf-8"),
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == ["'\\xe9'", "é"]


def test_case_and_order_by_code_point():
    assert "ıi straße".upper() == "II STRASSE"
    assert "TITLE IÜ".lower() == "title iü"
    assert "Straße".casefold() == "strasse"
    assert sorted(WORDS) == ["Apfel", "Zoo", "apfel", "zebra", "Äpfel", "éclair", "ñandú", "日本"]
    assert "i".upper() == "I"
    assert b"i\xe9".upper() == b"I\xe9"
    assert unicodedata.normalize("NFD", "é") == "e\u0301"


def test_regular_expressions():
    assert re.findall(r"\w+", "café ñandú 日本") == ["café", "ñandú", "日本"]
    assert re.findall(r"\w+", "café", re.ASCII) == ["caf"]
    assert re.fullmatch("STRASSE|ÄÖ", "äö", re.IGNORECASE)
    assert string.ascii_letters.isalpha()


def test_numbers_have_a_point():
    assert (str(1.5), "%.2f" % 1234.5, f"{1234.5:,.1f}") == ("1.5", "1234.50", "1,234.5")
    assert (float("1.5"), decimal.Decimal("1.5")) == (1.5, 1.5)
    with pytest.raises(ValueError):
        float("1,5")
    assert f"{1234.5:n}" == "1234.5"
    assert locale.localeconv()["decimal_point"] == "."
    base = sqlite3.connect(":memory:")
    assert base.execute("select 1.5 || ''").fetchone() == ("1.5",)
    base.close()


def test_day_names_are_english():
    assert time.strftime("%a %A %b %B", time.gmtime(0)) == "Thu Thursday Jan January"
    assert datetime(2024, 2, 29).strftime("%d %b %Y %p") == "29 Feb 2024 AM"
    assert datetime.strptime("29 Feb 2024", "%d %b %Y").day == 29


def test_error_texts_are_english(tmp_path):
    with pytest.raises(FileNotFoundError, match="No such file or directory"):
        open(tmp_path / "missing", encoding="utf-8")
    assert os.strerror(2) == "No such file or directory"


def test_log_file(tmp_path):
    handler = logging.FileHandler(tmp_path / "log", encoding="utf-8")
    handler.emit(logging.LogRecord("a", logging.INFO, "f", 1, TEXT, None, None))
    handler.close()
    assert (tmp_path / "log").read_text(encoding="utf-8") == TEXT + "\n"


def test_captured_log(caplog):
    logging.getLogger("app").error(TEXT)
    assert caplog.messages == [TEXT]


def test_mail():
    message = email.message.EmailMessage()
    message["Subject"] = "Ελλάδα"
    message.set_content(TEXT)
    again = email.message_from_bytes(message.as_bytes())
    assert again.get_payload(decode=True).decode("utf-8").strip() == TEXT


def test_streams_in_memory():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    stream.write(TEXT)
    stream.flush()
    assert raw.getvalue() == TEXT.encode("utf-8")
