"""Known secret values: which variables hold them, and in what forms they show up in a text."""

from __future__ import annotations

import base64
import fnmatch
import html
import json
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from repro_gate.capsule.detect import Span
from repro_gate.capsule.folded import Folded
from repro_gate.experiment import looks_secret

SHORTEST = 6

_USERINFO = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@]*:([^\s/@]+)@")
# Values so common that replacing them would hide more text than secrets.
_COMMON_WORDS = """true false none null undefined enabled disabled default localhost 127.0.0.1 0.0.0.0 ::1 production staging
    development testing example examples password passwd passphrase secret secrets changeme postgres mysql redis
    mongodb rabbitmq guest admin administrator sqlite memory public private github gitlab actions runner master
    develop release credentials token tokens required optional always unknown string header cookie bearer basic
    digest oauth2 strict verify windows ubuntu debian python3 docker 123456 000000 xxxxxx ******"""
_COMMON = frozenset(_COMMON_WORDS.split())
# Words of the capsule's own format and of every report: a value that is one of them cannot be replaced
# without breaking the file that holds it.
_FORMAT_WORDS = """schema created_at producer version project repository commit tests victim partners pytest_args invocation
    conditions expected outcome fingerprint message cause axis detail others interventions failed determinism not_controlled
    verified pinned sandbox hermetic redaction policy counts provenance signature hash-seed random import-random order
    clock timezone locale listing threads asyncio environment leftovers parallel network collected reversed shuffle
    passed failed error skipped xfailed xpassed timeout crashed not_run setup teardown session seconds failure
    evidence children touched output traceid spanid parentspanid startunixnano starttimeunixnano endtimeunixnano
    attributes status stringvalue intvalue ending controls_held variables interpreter implementation platform machine
    system distributions passing failing measured reason fixed blocked brittle pytest python assert assertionerror
    repro-gate repro_gate repro_gate_pytest bubblewrap function frames phase bases chain overlay removed lenient
    modules symbols import_roots own_environment test_seconds assertion product_exception product_in_setup
    test_exception missing_symbol signature_mismatch"""
VOCABULARY = frozenset(_FORMAT_WORDS.split())
_TOKEN_LIKE = re.compile(r"(?![/.~])(?=.*[0-9])(?=.*[A-Za-z])[A-Za-z0-9_.~+/=-]{24,}")
_PATH = re.compile(r"(?:[A-Za-z]:|~)?(?:[/\\][\w.@+ -]+){2,}[/\\]?")
_RANDOM_PART = re.compile(r"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[\w.+-]{20,}")
_PIECE = 16
_PIECE_OF_RANDOM = 10  # of a beginning that no word has
_BROKEN = 8  # the shortest form that is looked for over line ends
# What many tokens begin with: it gives nothing away.
_PREAMBLE = re.compile(r"(?:[A-Za-z]{2,12}[0-9]{0,2}[_-])*+")
# Where somebody left out the middle or the rest of a text: pytest, reprlib, and our own clipping.
_CUT = re.compile(
    r"\n?(?:\\n)?\[\.{3} \d+ characters (?:left out|cut)[^\]\n]*\](?:\\n)?\n?|\[?\.{3,}+\]?|\*{3,}+|\u2026"
    r"|[<\[(](?:truncated|snip|snipped|cut|omitted|hidden|masked)[>\])]"
)
_LEFT_OVER = 6  # characters of a value beside such a place that give it away
_LEFT_OVER_AT_ENDS = 12  # the same at the ends of a text, which may just be a word
_SHOWN_IN_PART = re.compile(r"""\.\.|\\{0,4}["'`]|\*\*|\u2026|[<\[(](?:\.|[a-z])|$""")


def secret_literals(environ: Mapping[str, str], extra: Iterable[str] = ()) -> dict[str, str]:
    """The values to hide, by where they come from, out of a process's variables.

    That is: variables whose name looks secret or matches one of ``extra`` (names, or patterns with
    ``*``), passwords in URLs of any variable, and secret-looking keys of JSON values.
    """
    patterns = [pattern.upper() for pattern in extra]
    found: dict[str, str] = {}
    for name, value in environ.items():
        if looks_secret(name) or any(fnmatch.fnmatchcase(name.upper(), p) for p in patterns):
            found[name] = value
        for number, match in enumerate(_USERINFO.finditer(value)):
            password = match[1]
            found[f"{name}.url{number}"] = password
            found[f"{name}.url{number}.unquoted"] = urllib.parse.unquote(password)
        for key, nested in _json_secrets(value):
            found[f"{name}.{key}"] = nested
    return found


def _json_secrets(value: str) -> Iterator[tuple[str, str]]:
    if not value.lstrip().startswith("{"):
        return
    try:
        queue = [json.loads(value)]
    except (ValueError, RecursionError):
        return
    while queue:
        item = queue.pop()
        if isinstance(item, list):
            queue.extend(item)
        elif isinstance(item, dict):
            queue.extend(item.values())
            for key, nested in item.items():
                if isinstance(nested, str) and looks_secret(key):
                    yield key, nested


def worth_hiding(value: str) -> bool:
    """Whether a value of a secret-looking variable is a secret: long enough, and not an everyday word."""
    plain = value.strip()
    folded = plain.casefold()
    if len(plain) < SHORTEST or folded in _COMMON or any(folded in word for word in VOCABULARY):
        return False
    if len(set(plain)) == 1:
        return False
    return not _is_path(plain)


def _is_path(value: str) -> bool:
    """A file's name is no secret, and hiding it would eat tracebacks; a random-looking part makes it one."""
    if not _PATH.fullmatch(value):
        return False
    return not any(_RANDOM_PART.fullmatch(part) for part in re.split(r"[/\\]", value))


@dataclass(frozen=True, slots=True)
class _Needle:
    """One form of a value. ``grow`` +1: only its beginning is given, -1: only its end."""

    text: str
    value: str
    grow: int = 0
    whole: str = ""


class Literals:
    """Finds known values in all their forms: plain, quoted, escaped, encoded, cut short, broken over lines."""

    def __init__(self, values: Iterable[str]) -> None:
        needles: dict[tuple[str, int], _Needle] = {}
        for value in sorted({v.strip() for v in values if worth_hiding(v)}, key=lambda v: (-len(v), v)):
            for needle in _needles(value):
                needles.setdefault((needle.text, needle.grow), needle)
        self._needles = tuple(needles.values())
        hidden = dict.fromkeys(needle.value for needle in self._needles)
        self._shown = tuple(dict.fromkeys((form, value) for value in hidden for form in _shown_forms(value)))
        whole = (needle for needle in self._needles if not needle.grow and len(needle.text) >= _BROKEN)
        self._breakable = tuple((needle.text, needle.value) for needle in whole)

    def find(self, text: str) -> list[Span]:
        """Where a known value is; spans may overlap."""
        found = [*self._beside_cuts(text), *self._beginnings(text), *self._over_lines(text)]
        for needle in self._needles:
            at = text.find(needle.text)
            while at != -1:
                start, end = _grown(text, at, needle)
                found.append(Span(start, end, "variable", needle.value))
                at = text.find(needle.text, end)
        return found

    def _beside_cuts(self, text: str) -> Iterator[Span]:
        """What is left of a value before and after ``...``, and at both ends of the text."""
        inside = [(*match.span(), _LEFT_OVER) for match in _CUT.finditer(text)]
        ends = [(0, 0, _LEFT_OVER_AT_ENDS), (len(text), len(text), _LEFT_OVER_AT_ENDS)]
        for start, end, least in [*inside, *ends] if self._shown else ():
            for form, value in self._shown:
                head = _head_before(text[max(0, start - len(form)) : start], form, least)
                if head:
                    yield Span(start - head, start, "variable", value)
                tail = _head_before(text[end : end + len(form)][::-1], form[::-1], least)
                if tail:
                    yield Span(end, end + tail, "variable", value)

    def _beginnings(self, text: str) -> Iterator[Span]:
        """The first characters of a value before a quote, an ellipsis or the end of the text."""
        for form, value in self._shown:
            beginning = form[:_PIECE_OF_RANDOM]
            at = text.find(beginning) if len(form) > _PIECE_OF_RANDOM else -1
            while at != -1:
                end = at + _shared(text[at : at + len(form)], form)
                if _SHOWN_IN_PART.match(text, end) and not _like_words(text[at:end]):
                    yield Span(at, end, "variable", value)
                at = text.find(beginning, end)

    def _over_lines(self, text: str) -> Iterator[Span]:
        """Values that were broken into lines, also in base64 and behind what pytest puts before lines."""
        folded = Folded(text if self._breakable else "")
        for form, value in self._breakable if folded.text else ():
            for start, end in folded.crossing(form):
                yield Span(start, end, "variable", value)


def _head_before(window: str, form: str, least: int) -> int:
    """How many characters at the end of ``window`` are the beginning of ``form``; 0 if fewer than ``least``."""
    beginning = form[:least]
    at = window.find(beginning)
    while at != -1:
        if form.startswith(window[at:]):
            return len(window) - at
        at = window.find(beginning, at + 1)
    return 0


def _grown(text: str, at: int, needle: _Needle) -> tuple[int, int]:
    """What is to be hidden around a hit: of a value that is cut short, all that is there."""
    end = at + len(needle.text)
    if needle.grow > 0:
        return at, at + _shared(text[at : at + len(needle.whole)], needle.whole)
    if needle.grow < 0:
        before = text[max(0, end - len(needle.whole)) : end]
        return end - _shared(before[::-1], needle.whole[::-1]), end
    return at, end


def _shared(one: str, other: str) -> int:
    """How many characters two texts have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (left, right) in pairs if left != right), min(len(one), len(other)))


def _needles(value: str) -> Iterator[_Needle]:
    forms = dict.fromkeys(_forms(value))
    for form in forms:
        yield _Needle(form, value)
    if _TOKEN_LIKE.fullmatch(value):
        yield _Needle(value[: _telling(value)], value, 1, value)
        yield _Needle(value[-_PIECE:], value, -1, value)
    lines = [line.strip() for line in re.split(r"\n|\\n", value)]
    if len(lines) > 1:  # quoted line by line, as in a traceback
        for line in lines:
            if len(line) >= _PIECE and not line.startswith("-----"):
                yield _Needle(line, value)


def _forms(value: str) -> Iterator[str]:
    yield value
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield json.dumps(json.dumps(value))[3:-3]
    yield repr(value)[1:-1]
    yield html.escape(value)
    raw = value.encode("utf-8", "surrogatepass")
    yield repr(raw)[2:-1]
    for safe in ("", "/"):
        quoted = urllib.parse.quote(raw, safe=safe)
        yield quoted
        yield quoted.replace("%20", "+")
        yield re.sub(r"%[0-9A-F]{2}", lambda m: m[0].lower(), quoted)
    yield raw.hex()
    yield raw.hex().upper()
    for before in range(3):
        core = _base64_core(raw, before)
        yield core
        yield core.replace("+", "-").replace("/", "_")


def _shown_forms(value: str) -> Iterator[str]:
    """The forms in which a value is shown to people, and may be cut short."""
    for form in (value, json.dumps(value)[1:-1], repr(value)[1:-1]):
        if len(form) >= _LEFT_OVER:
            yield form


def _telling(value: str) -> int:
    """How many characters of a token's beginning are enough to know it by."""
    preamble = _PREAMBLE.match(value)
    least = max(_PIECE_OF_RANDOM, (preamble.end() if preamble else 0) + _BROKEN)
    return least if least < _PIECE and not _like_words(value[:least]) else _PIECE


def _like_words(beginning: str) -> bool:
    """Whether a beginning may just be a name: letters in few runs of one case, digits only behind them."""
    if re.search(r"[^\w-]|[0-9][A-Za-z]", beginning):
        return False
    return len(re.findall(r"(?=[a-z][A-Z]|[A-Z][a-z])", beginning)) < 4


def _base64_core(raw: bytes, before: int) -> str:
    """The base64 digits that ``raw`` alone decides when ``before`` bytes precede it, modulo 3."""
    encoded = base64.b64encode(b"\0" * before + raw).decode("ascii")
    first = -(-before * 8 // 6)
    last = (before + len(raw)) * 8 // 6
    return encoded[first:last]
