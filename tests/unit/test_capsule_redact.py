"""Secrets out, everything else untouched. Tokens are put together here so that no scanner stumbles over this file."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import random
import re
import reprlib
import string
import time
import urllib.parse
import uuid
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from _pytest._io.saferepr import saferepr
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_gate.capsule.detect import KINDS
from repro_gate.capsule.literals import secret_literals, worth_hiding
from repro_gate.capsule.redact import POLICY, Finding, Redactor, refuse_secrets
from repro_gate.errors import CapsuleRefused, SecretFound

KEY = b"k" * 32
TAG = re.compile(rf"<redacted:(?:{'|'.join(KINDS)}):[0-9a-f]{{8}}>")
DICE = random.Random(20260228)
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
BASE32 = string.ascii_uppercase + "234567"


def some(length: int, alphabet: str = ALNUM) -> str:
    """Random-looking, with a digit and both cases where the alphabet has them, the same in every run."""
    while True:
        text = "".join(DICE.choice(alphabet) for _ in range(length))
        if length < 8 or (any(c.isdigit() for c in text) and any(c.isalpha() for c in text)):
            return text


def redactor(literals: dict[str, str] | None = None) -> Redactor:
    return Redactor(POLICY, KEY, literals or {})


# --- what must go ------------------------------------------------------------------------------

JWT = "ey" + "JhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "ey" + "JzdWIiOiIxMjM0NTY3ODkwIn0." + some(43, URLSAFE)
PEM_LINES = [some(64) for _ in range(6)]
PEM = "-----BEGIN RSA PRIVATE" + " KEY-----\n" + "\n".join(PEM_LINES) + "\n-----END RSA PRIVATE" + " KEY-----\n"
AWS_ID = "AK" + "IA" + some(16, BASE32)
AWS_SECRET = some(40, ALNUM + "+/")

TOKENS = {
    "aws-key-id": [AWS_ID, "AS" + "IA" + some(16, BASE32)],
    "github-token": ["g" + f"h{kind}_" + some(36) for kind in "pousr"]
    + ["github" + "_pat_" + some(22) + "_" + some(59), "gh" + "s_12345_" + JWT],
    "gitlab-token": ["gl" + "pat-" + some(20, URLSAFE), "gl" + "rt-" + some(20, URLSAFE)],
    "slack-token": ["xo" + f"x{kind}-" + "123456789012-1234567890123-" + some(24) for kind in "bpars"]
    + ["xa" + "pp-1-A01234-" + some(40)],
    "stripe-key": [kind + "_li" + "ve_" + some(24) for kind in ("sk", "rk")],
    "google-key": ["AI" + "za" + some(35, URLSAFE), "GOC" + "SPX-" + some(28, URLSAFE)],
    "npm-token": ["np" + "m_" + some(36)],
    "pypi-token": ["py" + "pi-AgEIcHlwaS5vcmc" + some(70, URLSAFE)],
    "jwt": [JWT],
    "sendgrid-key": ["S" + "G." + some(22, URLSAFE) + "." + some(43, URLSAFE)],
    "telegram-token": ["110201543:A" + "A" + some(33, URLSAFE)],
    "openai-key": ["s" + "k-" + some(48), "s" + "k-proj-" + some(64, URLSAFE)],
    "anthropic-key": ["s" + "k-ant-api03-" + some(93, URLSAFE) + "AA"],
    "vendor-token": [
        "h" + "f_" + some(34),
        "do" + "p_v1_" + some(64, "0123456789abcdef"),
        "dc" + "kr_pat_" + some(27, URLSAFE),
        "hv" + "s." + some(60, URLSAFE),
        "shp" + "at_" + some(32, "0123456789abcdef"),
        "lin" + "_api_" + some(40),
        "gl" + "sa_" + some(32) + "_" + some(8, "0123456789abcdef"),
        "AGE-SECRET" + "-KEY-1" + some(58, string.ascii_uppercase + string.digits),
    ],
}
FLAT = [(kind, token) for kind, tokens in TOKENS.items() for token in tokens]

AROUND = [
    "{}",
    "E       AssertionError: assert '{}' == None",
    'token is "{}"\nnext line',
    "a\\n{}\\nb",
    "\x1b[31m{}\x1b[0m",
    "https://example.org/?next=%2F&t={}&x=1",
    "x%3D{}",
    "<b>{}</b>",
    "Headers({{'x': b'{}'}})",
    "({},)",
]


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize(("kind", "token"), FLAT, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(FLAT)])
def test_a_token_by_its_shape_is_replaced_wherever_it_is(kind: str, token: str, around: str) -> None:
    tool = redactor()
    result = tool.redact(around.format(token))
    assert token not in result
    assert not any(piece in result for piece in (token[8:20], token[-8:]))
    prefix, suffix = around.format("\0").split("\0")
    assert result.startswith(prefix)
    assert result.endswith(suffix)
    assert tool.counts.total() == 1
    assert set(tool.counts) == {kind}


SHORT_ANCHORS = ("s" + "k-", "h" + "f_")  # words end so, too


@pytest.mark.parametrize("before", ["x", "9", "TOKEN_", "a-"])
@pytest.mark.parametrize(("kind", "token"), FLAT, ids=[f"{kind}-{number}" for number, (kind, _) in enumerate(FLAT)])
def test_a_token_directly_behind_a_letter_or_a_digit_is_replaced(kind: str, token: str, before: str) -> None:
    in_a_word = before in ("x", "9")
    if in_a_word and token.startswith(SHORT_ANCHORS) and not token.startswith(("s" + "k-ant-", "s" + "k-proj-")):
        pytest.skip("may be a word")
    if before == "9" and kind == "telegram-token":
        pytest.skip("begins with digits itself")
    assert token[8:20] not in redactor().redact(f"is {before}{token}!")


CALLED = [
    ("password=hunter" + "22", "hunter" + "22"),
    ("password=correcthorse" + "battery", "correcthorse" + "battery"),
    ("DB_PASSWORD = 'tr0ub4dor" + "&3'", "tr0ub4dor" + "&3"),
    ('{"password": "correct horse' + ' battery"}', "correct horse" + " battery"),
    ("{'passwd': 's3" + "cr3t!'}", "s3" + "cr3t!"),
    ("pwd: s3cr3t" + "Value", "s3cr3t" + "Value"),
    ("secret=f00dcafe" + "99", "f00dcafe" + "99"),
    ("client_secret=" + "abcDEF123456", "abcDEF123456"),
    ("api_key: '" + "0a1b2c3d4e5f'", "0a1b2c3d4e5f"),
    ("X-Api-Key: " + "0a1b2c3d4e5f", "0a1b2c3d4e5f"),
    ("GET /?api_key=" + "0a1b2c3d4e5f&page=2", "0a1b2c3d4e5f"),
    ("access_token=" + "0a1b2c3d", "0a1b2c3d"),
    ("token=" + "0a1b2c3d4e5f6a7b8c9d", "0a1b2c3d4e5f6a7b8c9d"),
    ("--password hunter" + "22 --verbose", "hunter" + "22"),
    ("password: str = 'hunter" + "22'", "hunter" + "22"),
    ("assert password == 'hunter" + "22'", "hunter" + "22"),
    ("os.environ['DB_PASSWORD'] = 'hunter" + "22'", "hunter" + "22"),
    ('log: \\"password\\": \\"hunter' + '22\\"', "hunter" + "22"),
    ("aws_secret_access_key = " + AWS_SECRET, AWS_SECRET),
    ("'SecretAccessKey': '" + AWS_SECRET + "'", AWS_SECRET),
    ("export AWS_SECRET_ACCESS_KEY=" + AWS_SECRET, AWS_SECRET),
    (AWS_ID + "," + AWS_SECRET, AWS_SECRET),
    ("AccountName=a;Account" + "Key=" + some(86) + "==;EndpointSuffix=x", None),
    ("Authorization: Bearer " + some(30), None),
    ("authorization: bearer " + some(30), None),
    ("Authorization: Basic " + base64.b64encode(b"user:pass").decode(), base64.b64encode(b"user:pass").decode()),
    ("{'Authorization': 'Basic " + base64.b64encode(b"a:bcd").decode() + "'}", base64.b64encode(b"a:bcd").decode()),
    ("[(b'authorization', b'Token " + "0a1b2c3d4e5f" + "')]", "0a1b2c3d4e5f"),
    ("curl -H 'X: Bearer " + some(30) + "'", None),
    ("postgresql://app:p%40ss" + "w0rd@db:5432/x", "p%40ss" + "w0rd"),
    ("connect to redis://:abc" + "123@cache", "abc" + "123"),
    ("git clone https://user:" + "pass@example.org/x.git", "pass@"),
    ("https://" + "0a1b2c3d4e5f6a7b8c9d@example.org/x.git", "0a1b2c3d4e5f6a7b8c9d"),
    ("https://hooks.sl" + "ack.com/services/T0000/B0000/" + "abcdEFGH1234", "T0000/B0000/abcdEFGH1234"),
]


@pytest.mark.parametrize(("text", "secret"), CALLED, ids=range(len(CALLED)))
def test_a_value_that_is_called_a_secret_is_replaced(text: str, secret: str | None) -> None:
    tool = redactor()
    result = tool.redact(text)
    gone = secret or max(re.split(r"[ ;='\"]", text), key=len)
    assert gone not in result
    assert TAG.search(result)
    if not text.startswith(AWS_ID):
        assert result.startswith(text[: text.index(gone)])


@pytest.mark.parametrize("newline", ["\n", "\\n", "\nE   ", "\n> ", "\\\\n", " ", "\r\n", "", '\\n"\n"'])
@pytest.mark.parametrize("whole", [True, False])
def test_a_private_key_is_replaced_line_by_line_and_when_its_end_is_cut_off(newline: str, whole: bool) -> None:
    text = (PEM if whole else PEM[: PEM.index("-----END") - 70]).replace("\n", newline)
    result = redactor().redact(f"before {text} after the key")
    assert not [line for line in PEM_LINES if line[:20] in result]
    assert result.startswith("before -----BEGIN")
    assert result.endswith(" after the key")


# --- what must stay ----------------------------------------------------------------------------

SURVIVORS = [
    hashlib.sha256(b"x").hexdigest(),
    hashlib.sha1(b"x").hexdigest(),
    hashlib.blake2b(b"x", digest_size=8).hexdigest(),
    str(uuid.UUID(int=DICE.getrandbits(128))),
    uuid.UUID(int=DICE.getrandbits(128)).hex,
    f"commit {hashlib.sha1(b'y').hexdigest()} (HEAD -> main)",
    base64.b64encode(DICE.randbytes(3000)).decode(),
    base64.urlsafe_b64encode(DICE.randbytes(3000)).decode(),
    DICE.randbytes(2000).hex(),
    "data:image/png;base64," + base64.b64encode(DICE.randbytes(300)).decode(),
    "tests/test_login.py::TestLogin::test_bad[password=hunter22-token=0a1b2c3d4e5f6a7b8c9d]",
    "FAILED tests/test_a.py::test_b[secret=abcdef12] - AssertionError",
    "tests/test_url.py::test_parse[http://user:pw@host/path]",
    "tests/test_a.py:12: AssertionError",
    "fingerprint 9f86d081884c7d65",
    "<object at 0x7f3a5c2d1e00>",
    "2026-02-28T23:59:59.123456+05:30",
    "http://localhost:8080/path@x",
    "ssh://git@example.org/shop.git",
    "someone.else@example.org wrote: hello",
    "def login(user: str, password: str) -> None:",
    "def login(user, password=None, token=None, secret=''):",
    "password = get_password()",
    "password = self.config.password",
    "login(user=user, password=password)",
    "connect(password=db_password)",
    "connect(password=build2(user), secret=values2[user])",
    "password = fixture",
    "password field2 of the form",
    "secret: nothing to see here",
    "secret = secrets[0]",
    "secrets.token_hex(16)",
    "token = tokens[0]",
    "tokens = tokenize(source); token='IDENT'",
    "Token(type='NUMBER', value='1')",
    "eos_token='</s>', pad_token='[PAD]'",
    "password=***, secret=xxxxxxxx",
    "password={password}&secret=${SECRET}&pwd=%s",
    "password=<hidden>",
    "the secret: a story of two cities",
    "password must be 8 characters",
    "password strength: 12345678",
    "prompt('password: ') or default",
    "assert 'password' in {'user', 'password'}",
    "PWD=/builds/shop\nOLDPWD=/builds",
    "pwd: /builds/shop",
    "private_key=/etc/ssl/private/server.key",
    "credentials: ~/.aws/credentials.json",
    "cache_key=abc12345 sort_key=name primary_key=17 key=value12345",
    "keyboard=qwertz1234",
    "keyJoinTable.customers_of_the_shop.order_items_2026",
    "task-" + hashlib.sha1(b"z").hexdigest(),
    "dark_live_0123456789abcdef",
    "author=Somebody123456789012",
    "GIT_AUTHOR_NAME=Somebody1234567890",
    'WWW-Authenticate: Basic realm="shop"',
    "Authorization header is missing",
    "Bearer token authentication is required for this endpoint",
    "sk-learn-estimators-are-documented-here-in-2026",
    "a-risk-based-assessment-of-the-task-force-12345678901234567890",
    "class='sk-estimator-doc-link sk-toggleable__content'",
    "xoxo-hugs-and-kisses-to-everyone",
    "npm_package_config_registry_of_the_project_2026",
    "SG.configuration_manager.initialize_everything_2026",
    "expected -----BEGIN PRIVATE" + " KEY----- but got nothing of the kind",
    "-----BEGIN CERTIFICATE-----\n" + some(64) + "\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\n" + some(64) + "\n-----END PUBLIC KEY-----",
    "AKIA is a prefix, and so is eyJ",
    "1234567890:not-a-bot",
    "::AAAA:1",
    "gh" + "p_short",
    "ASIA" + "PACIFICOPERATIONX",
    "   \t\n\r\n\u2028\u0130\ud800",
    "",
]


@pytest.mark.parametrize("text", SURVIVORS, ids=range(len(SURVIVORS)))
def test_ordinary_text_survives(text: str) -> None:
    tool = redactor()
    assert tool.redact(text) == text
    assert not tool.counts


# --- known values ------------------------------------------------------------------------------

VALUE = 'p@ss w"or\\d/\u00e9<1>'


@pytest.mark.parametrize(
    "form",
    [
        VALUE,
        json.dumps(VALUE)[1:-1],
        json.dumps(VALUE, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(VALUE))[3:-3],
        repr(VALUE)[1:-1],
        repr(VALUE.encode())[2:-1],
        urllib.parse.quote(VALUE),
        urllib.parse.quote(VALUE, safe=""),
        urllib.parse.quote_plus(VALUE),
        urllib.parse.quote(VALUE, safe="").lower(),
        html.escape(VALUE),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
    ],
)
def test_a_known_value_is_found_in_every_form_and_has_one_tag(form: str) -> None:
    tool = redactor({"DB_PASSWORD": VALUE})
    tag = tool.redact(VALUE)
    assert TAG.fullmatch(tag)
    assert tool.redact(f"x{form}y") == f"x{tag}y"
    assert tool.counts == {"variable": 2}


@pytest.mark.parametrize("before", ["", "a", "ab", "user:", "user2:"])
@pytest.mark.parametrize("after", ["", "\n", ":x"])
def test_a_known_value_is_found_inside_of_base64(before: str, after: str) -> None:
    value = some(20)
    tool = redactor({"DB_PASSWORD": value})
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded = encode((before + value + after).encode()).decode()
        result = tool.redact(encoded)
        assert TAG.search(result)
        assert len(TAG.sub("", result)) <= len(encoded) - len(value)


def test_a_long_value_is_found_when_its_end_or_its_beginning_is_cut_off() -> None:
    value = some(40)
    tool = redactor({"DEPLOY_TOKEN": value})
    assert TAG.fullmatch(tool.redact(value[:30]))
    assert TAG.fullmatch(tool.redact(value[-30:]))
    assert TAG.sub("", tool.redact(f"'{value[:20]}...{value[-17:]}'")) == "'...'"


@pytest.mark.parametrize("length", [20, 40, 90, 400])
@pytest.mark.parametrize("cut", ["...", "\n[... 12 characters left out ...]\n", "…"])
def test_what_is_left_of_a_value_beside_the_place_where_its_middle_was_cut_out_goes(length: int, cut: str) -> None:
    value = some(length)
    for left, right in ((7, 8), (12, 13), (length // 2, 6), (9, 0), (0, 9)):
        tail = value[length - right :] if right else ""
        text = f"assert 'is {value[:left]}{cut}{tail}' == ''"
        kept = redactor({"TOKEN": value}).redact(text)
        assert not any(value[at : at + 6] in kept for at in range(length - 5)), kept
        assert cut.strip() in kept
    assert redactor({"TOKEN": value}).redact("wait ... and see...") == "wait ... and see..."


@pytest.mark.parametrize("shown", [saferepr, reprlib.repr, lambda value: saferepr({"headers": value}, maxsize=60)])
def test_nothing_of_a_value_is_left_in_what_pytest_and_reprlib_shorten(shown: Callable[[str], str]) -> None:
    value = some(300)
    kept = redactor({"TOKEN": value}).redact(f"E   assert {shown(value)} == {shown('x' + value)}")
    assert not any(value[at : at + 6] in kept for at in range(295)), kept


def test_a_value_at_the_end_of_a_text_that_ends_early_is_found_and_a_word_stays() -> None:
    value = some(40)
    assert value[:20] not in redactor({"TOKEN": value}).redact("the header was " + value[:20])
    assert redactor({"KEY": "passed-through-9f3"}).redact("passed") == "passed"


@pytest.mark.parametrize("before", ["", "a", "ab", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_value_in_base64_that_was_wrapped_into_lines_is_found(before: str, encode: Callable[[bytes], bytes]) -> None:
    value = some(120)
    plain = encode((before + value + " and more").encode()).decode()
    for width in (40, 64, 76):
        for end in ("\n", "\r\n", "\n    ", "\\n"):
            wrapped = end.join(plain[at : at + width] for at in range(0, len(plain), width))
            kept = redactor({"TOKEN": value}).redact(f"Authorization: Basic\n{wrapped}\n")
            left = re.sub(r"\s|\\n", "", TAG.sub("", kept))
            assert not any(plain[at : at + 12] in left for at in range(12, 140)), kept


BREAKS = {
    "pytest": "\nE       ",
    "pytest in colours": "\x1b[0m\n\x1b[1m\x1b[31mE       ",
    "diff": "\nE   + ",
    "diff of lists": "',\nE   -  '",
    "list": "', '",
    "list of bytes with ends": "\\n', b'",
    "list in JSON": '", "',
    "literals": "\\n'\n '",
    "continued": "\\\n",
    "quoted-printable": "=\n",
    "escaped twice": "\\\\n",
    "quotation": "\n> ",
}


@pytest.mark.parametrize("between", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("width", [10, 20, 38, 64, 76])
@pytest.mark.parametrize(
    "encode", [base64.b64encode, base64.urlsafe_b64encode, bytes, lambda value: value.hex().encode()]
)
def test_a_value_that_is_broken_over_lines_is_found_whatever_stands_before_them(
    between: str, width: int, encode: Callable[[bytes], bytes]
) -> None:
    value = some(100)
    for head in ("", "a", "ab", "GET / HTTP/1.1 X-Api: "):
        plain = encode(f"{head}{value} and more of it".encode()).decode()
        shown = encode(value.encode()).decode()
        text = between.join(plain[at : at + width] for at in range(0, len(plain), width))
        kept = TAG.sub("", redactor({"TOKEN": value}).redact(f"E   sent:\n'{text}'\n"))
        assert not any(piece in kept.replace(between, "") for piece in (plain[len(plain) // 2 :][:10], shown[40:50])), (
            kept
        )


@pytest.mark.parametrize("between", BREAKS.values(), ids=BREAKS)
def test_a_value_broken_in_two_is_found(between: str) -> None:
    value = some(18)
    assert redactor({"TOKEN": value}).redact(f"x {value[:9]}{between}{value[9:]} y").startswith("x <redacted:variable:")
    assert redactor({"TOKEN": value}).redact(f"x {value[:8]}{between}{value[10:]} y").startswith(f"x {value[:8]}")


AFTER = ["..", "...", "\u2026", "[...]", "***", "<truncated>", "'", '"', "\\'", "(truncated)", ""]


@pytest.mark.parametrize("after", AFTER)
@pytest.mark.parametrize("shown", range(10, 16))
def test_the_beginning_of_a_value_before_a_place_where_it_was_cut_is_found(shown: int, after: str) -> None:
    value = "q7Rk2Lm9Xw" + some(20)
    for known in (value, "correct h0rse, battery"):
        text = f"got '{known[:shown]}{after}"
        assert known[:shown] not in redactor({"TOKEN": known}).redact(text + (" too short" if after else ""))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("test_token_for_the_ci_2026", "getfixturevalue('test_token')"),
        ("MyApplicationSettings2026xyz", "class 'MyApplication' of"),
        ("github" + "_pat_11ABCDEFG0abcdefghij", "begins with 'github" + "_pat_'"),
        ("production-database-2026-eu-west", "'production-d'"),
    ],
)
def test_a_name_that_a_value_begins_with_stays(value: str, text: str) -> None:
    assert redactor({"TOKEN": value}).redact(text) == text


def test_a_value_of_many_lines_is_found_line_by_line() -> None:
    first, second = some(30), some(30)
    tool = redactor({"MY_SECRET": f"{first}\n{second}"})
    result = tool.redact(f"E   {first}\nE   {second}\n")
    assert first not in result
    assert second not in result


def test_overlapping_values_leave_nothing_of_either() -> None:
    tool = redactor({"A_TOKEN": "abcdef12", "B_TOKEN": "ef12ghij"})
    assert TAG.fullmatch(tool.redact("abcdef12ghij"))


def test_a_value_beside_a_token_hides_neither() -> None:
    tool = redactor({"A_TOKEN": "glue" + "value"})
    result = tool.redact("gluevalue" + TOKENS["github-token"][0])
    assert TAG.sub("", result) == ""
    assert set(tool.counts) == {"variable", "github-token"}


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "short",
        "true",
        "False",
        "localhost",
        "password",
        "postgres",
        "aaaaaaaa",
        "failed",
        "hash-seed",
        "/usr/lib/python3",
    ],
)
def test_short_and_everyday_values_are_not_literals(value: str) -> None:
    assert not worth_hiding(value)
    text = f"the {value} of it"
    assert redactor({"MY_TOKEN": value}).redact(text) == text


def test_a_base64_value_is_no_path() -> None:
    assert worth_hiding("/" + some(20) + "/" + some(18))


@pytest.mark.parametrize(
    "name",
    [
        "GITHUB_TOKEN",
        "token",
        "MY_SECRET",
        "DB_PASSWORD",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SMTP_PASSWD",
        "OPENAI_API_KEY",
        "APIKEY",
        "AWS_ACCESS_KEY_ID",
        "SSH_PRIVATE_KEY",
        "SIGNING_KEY",
        "GPG_PASSPHRASE",
        "SENTRY_DSN",
        "BASIC_AUTH",
        "NPM_AUTH",
        "SLACK_WEBHOOK_URL",
        "AZURE_CREDENTIALS",
        "DB_PASS",
        "DB_PASS2",
        "SMTP_PASS_PROD",
        "COMPASS_TOKEN",
        "dbPassword",
        "clientSecret",
        "privateKey",
        "SECRETS",
        "OAUTH2_CLIENT",
        "CONNECTION_STRING",
        "CUSTOM",
    ],
)
def test_a_variable_that_looks_secret_is_a_literal(name: str) -> None:
    assert secret_literals({name: "v4lue-of-it"}, ["cust*"]) == {name: "v4lue-of-it"}


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "GIT_AUTHOR_NAME",
        "TOKENIZERS_PARALLELISM",
        "KEYBOARD",
        "XAUTHORITY",
        "COMPASS",
        "COMPASS_URL",
        "REPRO_GATE_PASS_ENV",
        "REPRO_GATE_REDACT",
        "CI_PASS_THROUGH",
        "PASS_THROUGH",
        "PASSED",
        "TESTS_PASSED",
        "BYPASS_CACHE",
        "BYPASS",
        "PASS_RATE",
        "PASSPORT_COUNTRY",
        "PASSWORDLESS_LOGIN",
        "SECRETARY_EMAIL",
        "COOKIECUTTER_CONFIG",
        "MONKEY",
        "AUTHORS",
        "passThrough",
    ],
)
def test_an_ordinary_variable_is_not(name: str) -> None:
    assert secret_literals({name: "v4lue-of-it"}) == {}


def test_secrets_inside_of_ordinary_variables_are_literals() -> None:
    found = secret_literals(
        {
            "DATABASE_URL": "postgresql://app:p%40ss-word@db/x",
            "SERVICE_ACCOUNT": json.dumps({"user": "robot", "nested": [{"private_key": "v4lue-of-it"}]}),
        }
    )
    assert set(found.values()) == {"p%40ss-word", "p@ss-word", "v4lue-of-it"}


# --- tags --------------------------------------------------------------------------------------


def test_the_same_value_has_the_same_tag_and_another_key_another_tag() -> None:
    token, other = TOKENS["github-token"][:2]
    one, two, three = (redactor().redact(t) for t in (token, f"x {token}", other))
    assert two == f"x {one}"
    assert one != three
    assert Redactor(POLICY, b"another", {}).redact(token) != one


def test_the_tag_is_an_hmac_of_the_value() -> None:
    import hmac

    token = TOKENS["github-token"][0]
    assert (
        redactor().redact(token) == f"<redacted:github-token:{hmac.new(KEY, token.encode(), 'sha256').hexdigest()[:8]}>"
    )


PIECES = st.sampled_from(
    [token for _, token in FLAT]
    + [text for text, _ in CALLED]
    + [
        *("password=", "pwd:", "'", '"', '\\"', " ", "\n", "\\n", "=", ":", "<redacted:", ">", "secret", "-", "_", "."),
        *("<redacted:jwt:01234567>", "lit" + "eral-v4lue", "-----BEGIN PRIVATE" + " KEY-----", "://", "@", "a:b"),
        *("Authorization: Basic ", "Bearer ", "e" + "yJ", "AKIA", "A" * 16, "x.py::t[", "E   ", "0a1b2c3d4e5f6a7b8c9d"),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=5), max_size=12).map("".join)
JSONS = st.recursive(
    TEXTS | st.integers() | st.none() | st.booleans(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS | st.sampled_from(["password", "token", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)
LITERALS = {"MY_TOKEN": "lit" + "eral-v4lue", "OTHER_TOKEN": "redacted", "THIRD_TOKEN": "assignment"}


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_redacting_twice_changes_nothing_more(text: str) -> None:
    tool = redactor(LITERALS)
    once = tool.redact(text)
    counts = dict(tool.counts)
    assert tool.redact(once) == once
    assert tool.counts == counts
    assert not tool.scan({"a.txt": once.encode("utf-8", "surrogatepass")})


@settings(deadline=None, max_examples=100)
@given(JSONS)
def test_what_was_redacted_for_a_file_passes_the_final_scan_of_it(value: Any) -> None:
    tool = redactor(LITERALS)
    text = tool.redact_to_json(value)
    assert tool.scan({"a.json": text.encode("utf-8", "surrogatepass")}) == []
    assert json.loads(tool.redact_to_json(json.loads(text))) == json.loads(text)


@settings(deadline=None)
@given(st.text())
def test_any_text_can_be_redacted(text: str) -> None:
    tool = redactor(LITERALS)
    assert tool.redact(tool.redact(text)) == tool.redact(text)


# --- JSON --------------------------------------------------------------------------------------


def test_json_is_redacted_in_values_keys_and_by_its_keys() -> None:
    token = TOKENS["github-token"][0]
    tool = redactor()
    tag = tool.redact(token)
    result = tool.redact_json(
        {"a": [token, {"b": f"x {token}"}], token: 1, "password": "correct horse", "pin": 1234, "n": None, "f": 1.5}
    )
    assert result["a"] == [tag, {"b": f"x {tag}"}]
    assert result[tag] == 1
    assert TAG.fullmatch(result["password"])
    assert (result["pin"], result["n"], result["f"]) == (1234, None, 1.5)
    assert TAG.fullmatch(tool.redact_json({"password": 12345678})["password"])


def test_a_secret_that_only_its_neighbour_gives_away_is_replaced_in_a_file() -> None:
    text = redactor().redact_to_json({"headers": ["Authorization", "Basic " + "dXNlcjpwYXNz"]})
    assert "dXNlcjpwYXNz" not in text
    assert json.loads(text)["headers"][0] == "Authorization"


def test_a_secret_that_stands_out_of_any_string_is_left_to_the_final_scan() -> None:
    tool = redactor({"PIN_TOKEN": "86420975"})
    text = tool.redact_to_json({"n": 86420975})
    assert json.loads(text) == {"n": 86420975}
    assert tool.scan({"a.json": text.encode()}) == [Finding(member="a.json", kind="variable")]


def test_a_tag_does_not_make_its_neighbourhood_look_random() -> None:
    tool = redactor()
    once = tool.redact_json({"token": "password=correcthorse" + "battery"})
    assert tool.redact_json(once) == once


# --- the final scan ----------------------------------------------------------------------------


def test_the_scan_names_member_and_kind_in_plain_and_in_packed_members() -> None:
    token = TOKENS["github-token"][0].encode()
    value = "lit" + "eral-v4lue"
    escaped = "".join(f"\\u{ord(c):04x}" for c in TOKENS["gitlab-token"][0])
    members = {
        "a.txt": b"x " + token,
        "runs.jsonl.gz": zlib.compress(b'{"ok":1}\n{"x":"' + token + b'"}\n', wbits=31),
        "b.json": f'{{"x":"{escaped}"}}'.encode(),
        "c.bin": b"\xff\xfe" + value.encode() + b"\x00",
        "d.json": b'{"password":"correct horse"}',
        "fine.json": b'{"x":"y"}',
    }
    found = redactor(LITERALS).scan(members)
    assert found == [
        Finding(member="a.txt", kind="github-token"),
        Finding(member="b.json", kind="gitlab-token"),
        Finding(member="c.bin", kind="variable"),
        Finding(member="d.json", kind="assignment"),
        Finding(member="runs.jsonl.gz", kind="github-token"),
    ]
    with pytest.raises(SecretFound) as refusal:
        refuse_secrets(found)
    assert "a.txt (github-token)" in str(refusal.value)
    assert token.decode() not in str(refusal.value)
    refuse_secrets([])


def test_the_scan_counts_nothing_and_tags_are_no_finding() -> None:
    tool = redactor(LITERALS)
    clean = tool.redact_to_json({"x": TOKENS["github-token"][0], "password": "hunter" + "22"})
    before = dict(tool.counts)
    assert tool.scan({"a.json": clean.encode()}) == []
    assert tool.counts == before


def test_a_packed_member_that_is_a_bomb_or_damaged_is_refused() -> None:
    with pytest.raises(CapsuleRefused, match="more than"):
        redactor().scan({"a.gz": zlib.compress(bytes(65 << 20), wbits=31)})
    with pytest.raises(CapsuleRefused, match="damaged"):
        redactor().scan({"a.gz": b"not gzip"})


# --- time --------------------------------------------------------------------------------------

HOSTILE = [
    "e" + "yJ",
    "_e" + "yJ",
    "_e" + "yJ.",
    "e" + "yJaaaaaaaaa.",
    "pwd=",
    "pwd=(",
    'pwd="',
    "pwd=\"pwd='pwd=\\\"pwd=\\'",
    "password:",
    "api_key",
    "-----BEGIN PRIVATE" + " KEY-----",
    "-----BEGIN PRIVATE" + " KEY-----\nAAAAAAAAAAAAAAAAA",
    "E ",
    "\\n",
    "x://a:a",
    "a:",
    "authorization: ",
    "bearer ",
    "xo" + "xb-",
    "s" + "k-",
    ".py::",
    "AK" + "IA",
    "12345678:A" + "A",
    "1",
    "a",
    " ",
    "\u0130",
    "literal-v4lu",
    "literal-v4'",
    "', '",
    "E \n",
    "xgh" + "s_a_e" + "yJ",
    "<redacted:",
]


# After these, a detector could read on and on.
OPENINGS = [("-----BEGIN PRIVATE" + " KEY-----", piece) for piece in ("E ", "\\n", "a", " ")]
OPENINGS += [("password=" + quote, piece) for quote in ("", "'", '\\"') for piece in ("a", " ", "pwd=", "\\")]
HOSTILE_LINES = [*(("", piece) for piece in HOSTILE), *OPENINGS]


def every_third_in_short() -> list[object]:
    """All of them; those that are for the deep run are marked."""
    marks = ((), pytest.mark.deep, pytest.mark.deep)
    return [pytest.param(*line, id=str(number), marks=marks[number % 3]) for number, line in enumerate(HOSTILE_LINES)]


@pytest.mark.parametrize(("opening", "piece"), every_third_in_short())
def test_a_hostile_line_of_a_megabyte_takes_seconds(opening: str, piece: str) -> None:
    line = opening + piece * (1_000_000 // len(piece))
    started = time.process_time()
    redactor(LITERALS).redact(line)
    assert time.process_time() - started < 30
