"""A Python source's bytes as text and back, in the encoding that it declares (PEP 263).

Belongs here: byte order marks and encodings. Does not belong here: line ends, which stay as they are, and files (tree).
"""

from __future__ import annotations

import codecs
import io
import tokenize

# What cannot be written so is written as Python expects it, so that it is Python that complains.
_NO_ENCODING = (SyntaxError, ValueError, LookupError)


def decoded(data: bytes) -> str:
    """The text, with the byte order mark as its first character where there is one.

    What is not in its declared encoding is no source for Python either: it is read as UTF-8, with U+FFFD for odd bytes.
    """
    try:
        text = data.decode(_declared(data))
        text.encode("utf-8")  # some codecs make half characters, which no report can hold
    except _NO_ENCODING:
        return data.decode("utf-8", "replace")
    return text


def encoded(text: str) -> bytes:
    """The bytes of a text that `decoded` gave, whatever has been edited in it since."""
    data = text.encode("utf-8", "surrogatepass")
    try:
        return text.encode(_declared(data))
    except _NO_ENCODING:
        return data


def _declared(data: bytes) -> str:
    """The encoding's name. A mark is part of the text; the codec that adds one would write a second."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return "utf-8" if data.startswith(codecs.BOM_UTF8) else encoding
