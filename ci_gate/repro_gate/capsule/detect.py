"""Where in a text a secret seems to be: token shapes, and values that are called a secret.

Each detector is linear in the text, whatever the text: it looks for a fixed word (an anchor) first
and then matches a pattern that either is bounded, or consumes what it has read. Nothing here knows
a value; literal values are ``literals``' task.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """One secret: where, what kind, and (of a known value) the value in its plain form."""

    start: int
    end: int
    kind: str
    value: str | None = None


@dataclass(frozen=True, slots=True)
class _Shape:
    """A token that shows what it is. Group ``v``, where there is one, is the secret in the match."""

    kind: str
    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    inside: re.Pattern[str] | None = None  # what it must look like where it begins in the middle of a word
    run: re.Pattern[str] | None = None  # where it failed, it fails until here, too


_RANDOM = r"(?=[^0-9]{0,200}[0-9])(?=[^a-z]{0,200}[a-z])(?=[^A-Z]{0,200}[A-Z])"  # of what follows the anchor


def _shape(kind: str, anchors: str, pattern: str, inside: str | None = _RANDOM, run: str | None = None) -> _Shape:
    """``inside`` None: never in the middle of a word, where a word may end with the anchor (task-...)."""
    middle = re.compile(inside) if inside is not None else None
    return _Shape(kind, tuple(anchors.split()), re.compile(pattern), middle, re.compile(run) if run else None)


_PEM_GAP = r"""(?:[\s>|"'`,+()]|\\{1,4}[nrt"']|\bE\b){0,40}+"""
_PEM_BODY = (
    rf"(?:{_PEM_GAP}(?:[A-Z][A-Za-z-]{{2,20}}:[ ][^\n\\]{{1,120}}|[A-Za-z0-9+/]{{16,}}+={{0,2}}))+"
    rf"(?:{_PEM_GAP}=?[A-Za-z0-9+/]{{1,15}}={{0,2}}(?={_PEM_GAP}-----END))?"
)

_SHAPES = (
    _shape("pem", "-----BEGIN", rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----(?P<v>{_PEM_BODY})"),
    _shape("aws-key-id", "AKIA ABIA ACCA", r"[A-Z]{4}[A-Z0-9]{16}(?![A-Za-z0-9])", inside=r"[A-Z]{0,15}[0-9]"),
    _shape("aws-key-id", "ASIA", r"ASIA(?=[A-Z]{0,15}[0-9])[A-Z0-9]{16}(?![A-Za-z0-9])", inside=""),
    _shape(
        "aws-secret",
        "AKIA ASIA",
        r"[A-Z]{4}[A-Z0-9]{16}[\s,;:|\"'\\]{1,6}(?![0-9a-f]{40})(?P<v>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        inside="",
    ),
    _shape("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30,}+(?![A-Za-z0-9_])"),
    _shape(
        "github-token",
        "ghs_",
        r"ghs_[A-Za-z0-9]{1,20}_eyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+",
        run=r"[A-Za-z0-9_-]*+",
    ),
    _shape("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{40,}+"),
    _shape(
        "gitlab-token",
        "glpat- gldt- glrt- glptt- glsoat- glcbt- glft- glimt- glagent-",
        r"gl[a-z]{2,5}-[A-Za-z0-9_-]{20,}+(?:\.[A-Za-z0-9]{2}\.[A-Za-z0-9]{6,12})?",
    ),
    _shape("slack-token", "xox", r"xox[abeoprs][.-](?=[A-Za-z-]{0,60}[0-9])[A-Za-z0-9-]{10,}+"),
    _shape("slack-token", "xapp-", r"xapp-(?=[A-Za-z-]{0,60}[0-9])[A-Za-z0-9-]{10,}+"),
    _shape(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<v>[A-Za-z0-9+/_]{20,}+)",
        inside="",
    ),
    _shape("stripe-key", "sk_live_ rk_live_", r"[rs]k_live_[A-Za-z0-9]{10,}+", inside=r"(?=.{20})" + _RANDOM),
    _shape("stripe-key", "whsec_", r"whsec_[A-Za-z0-9]{24,}+={0,2}"),
    _shape("google-key", "AIza", r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _shape("google-key", "GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}+"),
    _shape("google-key", "ya29.", r"ya29\.[A-Za-z0-9_-]{20,}+"),
    _shape("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9_])"),
    _shape("pypi-token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_-]{16,}+"),
    _shape(
        "jwt",
        "eyJ",
        r"eyJ[A-Za-z0-9_-]{5,}+\.(?:eyJ[A-Za-z0-9_-]{3,}+\.[A-Za-z0-9_-]*+|[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+)"
        r"(?:\.[A-Za-z0-9_-]+){0,2}",
        inside=r"[A-Za-z0-9_-]+\.eyJ",  # keyJoin.of_something.in_code
        run=r"[A-Za-z0-9_-]*+",
    ),
    _shape("azure-key", "AccountKey= SharedAccessKey=", r"[A-Za-z]{10,15}=(?P<v>[A-Za-z0-9+/]{40,}+={0,2})", inside=""),
    _shape("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])"),
    _shape("anthropic-key", "sk-ant-", r"sk-ant-[A-Za-z0-9_-]{20,}+"),
    _shape("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"sk-[a-z]+-(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{20,}+"),
    _shape("openai-key", "sk-", r"sk-(?=[A-Za-z]{0,60}[0-9])[A-Za-z0-9]{20,}+(?![A-Za-z0-9_-])", inside=None),
    _shape("vendor-token", "hf_", r"hf_[A-Za-z0-9]{34,40}(?![A-Za-z0-9_])", inside=None),
    _shape("vendor-token", "dop_v1_ doo_v1_", r"do[op]_v1_[a-f0-9]{64}(?![A-Za-z0-9])", inside=""),
    _shape("vendor-token", "dckr_pat_ dckr_oat_", r"dckr_[a-z]at_[A-Za-z0-9_-]{20,}+"),
    _shape("vendor-token", "hvs. hvb.", r"hv[bs]\.(?=[A-Za-z_-]{0,60}[0-9])[A-Za-z0-9_-]{24,}+"),
    _shape("vendor-token", "shpat_ shpss_ shpca_ shppa_", r"shp[a-z]{2}_[a-fA-F0-9]{32}(?![A-Za-z0-9])", inside=""),
    _shape("vendor-token", "lin_api_", r"lin_api_[A-Za-z0-9]{32,}+"),
    _shape("vendor-token", "glsa_", r"glsa_[A-Za-z0-9]{32}_[a-fA-F0-9]{8}(?![A-Za-z0-9])"),
    _shape("vendor-token", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[0-9A-Z]{50,}+", inside=""),
    _shape("vendor-token", "gsk_", r"gsk_[A-Za-z0-9]{40,}+"),
)

_TELEGRAM = re.compile(r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])")

# An escape sequence may come before a token and look like a letter of it: repr's \n, colours, %3D.
_ESCAPE_END = re.compile(r"(?:\\[abefnrtv0]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|%[0-9a-fA-F]{2}|\[[0-9;]{0,10}m)\Z")

# A name that says "what follows is secret". Weak names also say other things: their value must look
# random. ``left`` is what must come before, ``lone`` a left side that makes a weak name strong.
_STRONG_LEFT = re.compile(
    r"(?:access|auth|refresh|api|bearer|session|private|secret|id|bot|github|gitlab|slack)[_-]?\Z"
)
_KEY_LEFT = re.compile(
    r"(?:api|access|private|account|encryption|signing|secret|master|shared|subscription)[_-]?(?:access[_-]?)?\Z"
)
_NAMES = ("password", "passwd", "passphrase", "pwd", "secret", "credential", "token", "auth", "key")
_AFTER_NAME = re.compile(
    r"""(?:s|[_-]?(?:value|text|string|[0-9]{1,2}))?
        (?P<close>\\{0,3}["'])?\]?
        (?:(?P<sep>[ \t]{0,8}(?::[ ]?(?:str|bytes|SecretStr|(?:typing\.)?Optional\[str\]|str[ ]\|[ ]None)[ ]?=
            |=>|:=|[!=]=|=|:)[ \t]{0,8})
          |(?P<flag>[ ]))
        (?:[bBrRuUfF]{0,2}(?P<q>\\{0,3}["'])(?P<quoted>[^\n]{1,2000}?)(?<!\\)(?P=q)
          |(?P<bare>[^\s"'`,;&<>(){}\[\]|\\$*%][^\s"'`,;&<>(){}\[\]|\\]{3,}+))""",
    re.VERBOSE,
)
_PLACEHOLDER = re.compile(r"[*xX.\u2022_-]+|\{.*\}|\$\{?\w+\}?|%.?\(?\w*\)?s?|<.*|\[.*\]|\.\.\.")
_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_NAME_OF_SECRET = re.compile(
    r"[A-Za-z_]*(?:password|passwd|secret|token|pwd|key|credential|auth)[A-Za-z_]*", re.IGNORECASE
)
_FILE = re.compile(r"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w./\\ -]*\.\w{1,8}")
_FOLDER = re.compile(r"(?:~|\.{0,2}|[A-Za-z]:)[/\\].*|~")
_COMMON_WORDS = """true false none null undefined nil optional required string bytes text password passwd secret token
    hidden masked redacted changed missing invalid wrong expired empty default value field input self"""
_COMMON = frozenset(_COMMON_WORDS.split())

_HEADER = re.compile(
    r"""(?i:uthorization)\\{0,3}["']?[ \t]{0,4}[:=,][ \t]{0,4}b?\\{0,3}["']?
        (?P<scheme>(?i:bearer|basic|token|digest|negotiate|apikey)(?:[ ]|%20){1,3})?(?P<v>[A-Za-z0-9._~+/=-]{6,}+)""",
    re.VERBOSE,
)
_BEARER = re.compile(r"bearer (?P<v>[A-Za-z0-9._~+/=-]{20,}+)", re.IGNORECASE)
_USERINFO = re.compile(
    r"""://(?:[^\s/:@"'<>\\?\#]{0,256}:(?P<v>[^\s/@"'<>\\]{1,512})|(?P<user>[A-Za-z0-9_.~-]{20,512}))@"""
)
_NODE_ID_REST = re.compile(r"""\.py::[^\s"']*""")

KINDS = tuple(
    sorted({s.kind for s in _SHAPES} | {"variable", "assignment", "authorization", "url-userinfo", "telegram-token"})
)


def find(text: str) -> list[Span]:
    """All suspected secrets in ``text``, in no order; spans may overlap."""
    found = [*_shapes(text), *_telegram(text)]
    lower = _lower(text)
    named = [*_assignments(text, lower), *_headers(text, lower), *_bearers(text, lower), *_userinfo(text)]
    if named and ".py::" in text:
        named = _outside_node_ids(text, named)
    return found + named


def is_secret_pair(name: str, value: str, *, bare: bool = False) -> bool:
    """Whether a value under this name (a key of a JSON object) is to be taken for a secret.

    ``bare``: the value is written without quotes (a number).
    """
    lower = _lower(name)
    for anchor in _NAMES:
        at = lower.rfind(anchor)
        if at == -1 or not re.fullmatch(r"(?:s|[_-]?(?:value|text|string|[0-9]{1,2}))?", lower[at + len(anchor) :]):
            continue
        strength = _strength(anchor, lower, at)
        if strength and _plausible(anchor, value, strong=strength == "strong", bare=bare):
            return True
    return False


def _lower(text: str) -> str:
    """Lower case with every character in its place: dotted capital I is the one that would become two."""
    return text.replace("\u0130", "I").lower()


def _shapes(text: str) -> Iterator[Span]:
    for shape in _SHAPES:
        for anchor in shape.anchors:
            at = text.find(anchor)
            while at != -1:
                whole = _begins(text, at)
                match = shape.pattern.match(text, at) if whole or shape.inside is not None else None
                if match and (whole or _stands_out(shape, match[0][len(anchor) :])):
                    group = "v" if "v" in match.groupdict() else 0
                    yield Span(match.start(group), match.end(group), shape.kind)
                at = text.find(anchor, match.end() if match else max(at + 1, _run_end(shape, text, at)))


def _stands_out(shape: _Shape, rest: str) -> bool:
    """Whether a token in the middle of a word is so clearly one that it is no part of the word."""
    return shape.inside is not None and shape.inside.match(rest) is not None


def _run_end(shape: _Shape, text: str, at: int) -> int:
    match = shape.run.match(text, at) if shape.run is not None else None
    return match.end() if match else at


def _begins(text: str, at: int) -> bool:
    """Whether a token can begin here: not in the middle of a longer word."""
    if at == 0 or not text[at].isalnum():
        return True
    before = text[at - 1]
    if not (before.isascii() and before.isalnum()):
        return True
    return _ESCAPE_END.search(text[max(0, at - 14) : at]) is not None


def _telegram(text: str) -> Iterator[Span]:
    if ":AA" in text:
        for match in _TELEGRAM.finditer(text):
            yield Span(match.start(), match.end(), "telegram-token")


def _assignments(text: str, lower: str) -> Iterator[Span]:
    for anchor in _NAMES:
        at = lower.find(anchor)
        while at != -1:
            end = at + len(anchor)
            strength = _strength(anchor, lower, at)
            match = _AFTER_NAME.match(text, end) if strength else None
            if match and (match["flag"] is None or _is_flag(lower, at)):
                if _believable(text, match, anchor, strong=strength == "strong"):
                    group = "bare" if match["quoted"] is None else "quoted"
                    yield Span(match.start(group), match.end(group), "assignment")
                end = match.end()
            at = lower.find(anchor, end)


def _strength(anchor: str, lower: str, at: int) -> str:
    """``strong``, ``weak`` or (not a secret's name) nothing."""
    left = lower[max(0, at - 24) : at]
    if anchor == "key":
        return "strong" if _KEY_LEFT.search(left) else ""
    if anchor == "auth":
        return "" if left[-1:].isalpha() else "weak"
    if anchor == "token":
        return "strong" if _STRONG_LEFT.search(left) else "weak"
    return "strong"


def _is_flag(lower: str, at: int) -> bool:
    """Whether the name is (the end of) a command line option."""
    word = lower[max(0, at - 24) : at]
    return re.search(r"(?:^|[\s\"'=])--[a-z-]{0,20}\Z", word) is not None


def _believable(text: str, match: re.Match[str], anchor: str, *, strong: bool) -> bool:
    """Whether what follows a secret's name is its value, and not the code or the prose around it."""
    value: str | None = match["quoted"]
    if value is not None:
        between_strings = match["close"] is None and (value[0] in ")]},:;" or value != value.strip())
        return not between_strings and _plausible(anchor, value, strong=strong, bare=False)
    value = match["bare"]
    spaced = match["flag"] is not None or match["sep"] != match["sep"].strip()
    if spaced and not re.search(r"[0-9]", value):
        return False
    called = text[match.end() : match.end() + 1] in ("(", "[")
    return not called and _plausible(anchor, value.rstrip(".:"), strong=strong, bare=True)


def _plausible(anchor: str, value: str, *, strong: bool, bare: bool) -> bool:
    """Whether a value could be a secret: not a placeholder, not a common word, not code, not a path."""
    if len(value) < 4 or value.casefold() in _COMMON or _PLACEHOLDER.fullmatch(value):
        return False
    if not strong and (len(value) < 16 or not _mixed(value)):
        return False
    if (anchor == "pwd" and _FOLDER.fullmatch(value)) or _FILE.fullmatch(value):
        return False
    code = _DOTTED.fullmatch(value) or _NAME_OF_SECRET.fullmatch(value) or (value.isdecimal() and len(value) < 6)
    return not (bare and code)


def _mixed(value: str) -> bool:
    """Letters and digits, and no space: what tokens look like and words do not."""
    return bool(re.search(r"[0-9]", value) and re.search(r"[A-Za-z]", value) and not re.search(r"\s", value))


def _headers(text: str, lower: str) -> Iterator[Span]:
    at = lower.find("uthorization")
    while at != -1:
        match = _HEADER.match(text, at)
        if match and _header_value(match):
            yield Span(match.start("v"), match.end("v"), "authorization")
        at = lower.find("uthorization", match.end() if match else at + 1)


def _header_value(match: re.Match[str]) -> bool:
    """With a scheme: anything that is not a plain word; without: what looks random."""
    value = match["v"]
    if _PLACEHOLDER.fullmatch(value) or value.casefold() in _COMMON:
        return False
    if match["scheme"] is None:
        return len(value) >= 16 and _mixed(value)
    return len(value) >= 16 or re.search(r"[0-9=]|[a-z][A-Z]", value) is not None


def _bearers(text: str, lower: str) -> Iterator[Span]:
    at = lower.find("bearer ")
    while at != -1:
        match = _BEARER.match(text, at)
        if match and _mixed(match["v"]):
            yield Span(match.start("v"), match.end("v"), "authorization")
        at = lower.find("bearer ", match.end() if match else at + 1)


def _userinfo(text: str) -> Iterator[Span]:
    at = text.find("://")
    while at != -1:
        match = _USERINFO.match(text, at) if text[max(0, at - 1) : at].isalnum() else None
        if match:
            group = "v" if match["v"] is not None else "user"
            value = match[group]
            if not _PLACEHOLDER.fullmatch(value) and (group == "v" or _mixed(value)):
                yield Span(match.start(group), match.end(group), "url-userinfo")
        at = text.find("://", match.end() if match else at + 3)


def _outside_node_ids(text: str, spans: list[Span]) -> list[Span]:
    """Without what lies in a pytest node id: parameters may be called anything."""
    ids = [(match.start(), match.end()) for match in _NODE_ID_REST.finditer(text)]
    kept: list[Span] = []
    number = 0
    for span in sorted(spans, key=lambda s: s.start):
        while number < len(ids) and ids[number][1] <= span.start:
            number += 1
        if not (number < len(ids) and ids[number][0] <= span.start and span.end <= ids[number][1]):
            kept.append(span)
    return kept
