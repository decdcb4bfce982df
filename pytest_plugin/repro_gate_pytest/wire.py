"""The border between the test process and the gate: commands, events, and starting conditions.

Belongs here: names and shapes of what crosses the border, what a process must be *started* with
for given conditions, and what both sides must compute alike (seeded numbers, orders). The gate may import this module
and no other of the plugin. Does not belong here: anything with an effect. Python 3.9 and the standard library only.

A frame is one line of JSON. The test process says HELLO first, with VERSION; a reader that
knows another major version refuses it.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Mapping, Sequence
from typing import Any, Callable

VERSION = 2

# Events, from the test process.
HELLO = "hello"  # v, python, pytest, pid, platform
COLLECTED = "collected"  # tests: [[id, file], ...] (in chunks)
COLLECT_ERROR = "collect-error"  # node, text, f?, modules?, symbols?: the failure, and what it names that is missing
COLLECT_SKIP = "collect-skip"  # node, text: a file that skips itself while it is imported, and why
FACTS = "facts"  # items: [{t, file, kind, ...}], fixtures: [[name, file, line], ...], files: [...] (in chunks)
IMPORTED = "imported"  # lines?: {path: [...]}, ran?: {path: [lines, arcs]}, opened?: [...], origins?: {module: file}: of imports and collection
READY = "ready"  # count, fork: bool, reason: str, plugins: [...], notes: [...]
FORKED = "forked"  # run, pid
EXITED = "exited"  # run, status (as os.waitpid), why: "" | "timeout" | "memory" | "killed"
BEGIN = "begin"  # t: index
RESULT = "result"  # t, o(utcome), s(econds), f(ailure)?, e(vidence)?, x (touched axes)?, out(put)?, c(ontradicts what was seen)?
NOTE = "note"  # text: something the harness saw
SWAPPED = "swapped"  # count, reason: how many functions got the swap's code; of 0, why no test is run
END = "end"  # ran: count of results, so that a lost frame is noticed

# Commands, to a fork server.
# run, lane (0: the judged one), conditions, order, channel, limits: {memory, seconds: of one test},
# swap?: {path, qualname, first_line, raising, text: the name of the file that holds it}
RUN = "run"
KILL = "kill"  # run
QUIT = "quit"

# Indices of the two controls, in place of a test's index.
CONTROL_PASS = -1
CONTROL_FAIL = -2

OUTCOMES = (
    "passed",
    "failed",
    "error",
    "skipped",
    "xfailed",
    "xpassed",
    "timeout",
    "crashed",
    "not_run",
)

# Files of the tree that are tests or their support, by their path below it.
TEST_PATH = re.compile(r"(^|/)(conftest\.py|test_[^/]*\.py|[^/]*_test\.py)$|(^|/)tests?/")

# Exit statuses of a child that means something by them (not used by shells or pytest).
EXIT_CHANNEL_LOST = 83

MAX_OUTPUT = 64_000  # characters of captured output kept per test: head and tail

# Words of a name that say that its value is a secret. DBPASSWORD is one word, and so is COMPASS.
_SECRET_ENDINGS = re.compile(
    r"(?:password|passwd|passphrase|secret|token|credential|cookie|webhook|authorization|(?:api|access|private)key)s?$"
)
_SECRET_WORDS = frozenset(["key", "private", "auth", "oauth", "dsn", "jwt", "signature", "sas", "bearer"])
_SECRET_PAIRS = frozenset({("connection", "string"), ("conn", "str"), ("session", "id")})
# Behind these a password may still be meant; PASS_ENV, PASS_THROUGH and PASS_RATE mean something else.
_AFTER_PASS = frozenset(["prod", "production", "dev", "test", "stage", "staging", "old", "new", "value"])

# Axis -> neutral value. The order is the order in which causes are looked for.
NEUTRAL: dict[str, Any] = {
    "hash-seed": 0,
    "random": 0,
    "import-random": 0,
    "order": "collected",
    "clock": "real",
    "timezone": "UTC",
    "locale": "C.UTF-8",
    "listing": 0,
    "threads": 0,
    "asyncio": 0,
    "load": "none",
    "gc": "default",
    "parallel": 1,
    "leftovers": 0,
    "environment": "fixed",
    "network": "blocked",
}

# Keys whose value a running process cannot take on. (Of the environment only the directory.)
START_ONLY = ("hash-seed", "import-random", "network")

# POSIX rules for machines without a zone database (slim containers).
ZONES: dict[str, str] = {
    "UTC": "UTC0",
    "America/Los_Angeles": "PST8PDT,M3.2.0,M11.1.0",
    "America/New_York": "EST5EDT,M3.2.0,M11.1.0",
    "Europe/Berlin": "CET-1CEST,M3.5.0,M10.5.0/3",
    "Asia/Kolkata": "IST-5:30",
    "Asia/Tokyo": "JST-9",
    "Pacific/Auckland": "NZST-12NZDT,M9.5.0,M4.1.0/3",
    "Pacific/Kiritimati": "LINT-14",
}

# Text encoding other than UTF-8 with a UTF-8 file system, as on Windows: set while running.
NON_UTF8 = "non-utf-8"

# Named environments: variables set (None: removed), umask, a working directory with this name.
ENVIRONMENTS: dict[str, dict[str, Any]] = {
    "fixed": {
        "set": {"USER": "tester", "LOGNAME": "tester", "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
        "umask": 0o022,
    },
    "user": {
        "set": {"USER": "alice", "LOGNAME": "alice", "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
        "umask": 0o077,
        "home": "alice",
        "hostname": "ci-runner-7",
    },
    "terminal": {
        "set": {"USER": "tester", "LOGNAME": "tester", "TERM": "dumb", "COLUMNS": "40", "LINES": "10", "NO_COLOR": "1"},
        "umask": 0o022,
    },
    "path": {
        "set": {"USER": "tester", "LOGNAME": "tester", "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
        "umask": 0o022,
        "directory": "a checkout/with-a-longer-path",
    },
    "extra": {
        "set": {
            "USER": "tester",
            "LOGNAME": "tester",
            "TERM": "xterm-256color",
            "COLUMNS": "200",
            "LINES": "60",
            "CI": "true",
            "DEBUG": "1",
            "EDITOR": "vi",
            "PAGER": "less",
            "ZZ_UNKNOWN_VARIABLE": "set",
        },
        "umask": 0o022,
    },
    "bare": {
        "set": {
            "USER": None,
            "LOGNAME": None,
            "TERM": None,
            "COLUMNS": None,
            "LINES": None,
            "CI": None,
            "EDITOR": None,
            "PAGER": None,
            "SHELL": None,
            "LANGUAGE": None,
            "DEBUG": None,
        },
        "umask": 0o022,
    },
}


_to_json = json.JSONEncoder(separators=(",", ":"), default=repr).encode  # kept: a test may patch json


def encode(frame: Mapping[str, Any]) -> bytes:
    """One frame as one line of ASCII JSON; lone surrogates survive as escapes."""
    return (_to_json(frame) + "\n").encode("ascii")


def decode(line: bytes) -> dict[str, Any]:
    """The frame of one line. Raises ValueError if it is not a JSON object."""
    frame = json.loads(line)
    if not isinstance(frame, dict):
        raise ValueError("a frame must be a JSON object")
    return frame


def start_environment(conditions: Mapping[str, Any], base: Mapping[str, str], home: str, tmp: str) -> dict[str, str]:
    """The variables a process must be started with so that ``conditions`` hold in it.

    ``base`` is what the project's tests may see of the caller's environment; ``home`` and
    ``tmp`` are fresh directories that exist.
    """
    env = dict(base)
    for name, value in ENVIRONMENTS[conditions["environment"]]["set"].items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    env["PYTHONHASHSEED"] = str(conditions["hash-seed"])
    locale = conditions["locale"]
    env["LC_ALL"] = env["LANG"] = "C.UTF-8" if locale == NON_UTF8 else locale
    env["TZ"] = conditions["timezone"]
    env["HOME"] = home
    env["TMPDIR"] = tmp
    return env


def stack_file(channel: str) -> str:
    """Where, beside a run's channel, a test that hangs leaves its stack."""
    return channel + ".stack"


def swap_file(channel: str) -> str:
    """Where, beside a run's channel, the text of its swap is: too long for a pipe that is written at once."""
    return channel + ".swap"


def start_directory(conditions: Mapping[str, Any]) -> str:
    """The name, below a run's own folder, of the working copy under these conditions."""
    return str(ENVIRONMENTS[conditions["environment"]].get("directory", "tree"))


def start_umask(conditions: Mapping[str, Any]) -> int:
    """The umask a process must be started with under these conditions."""
    return int(ENVIRONMENTS[conditions["environment"]]["umask"])


def start_hostname(conditions: Mapping[str, Any]) -> str | None:
    """The host name under these conditions, or None for the sandbox's own."""
    name = ENVIRONMENTS[conditions["environment"]].get("hostname")
    return None if name is None else str(name)


def start_conditions(conditions: Mapping[str, Any]) -> dict[str, Any]:
    """What of ``conditions`` a process must be started with; everything else is neutral.

    A process started for this can be forked into ``conditions``. (A fresh process is started
    for all of them, which also holds while modules are imported.)
    """
    started = dict(NEUTRAL)
    started.update({key: conditions[key] for key in START_ONLY})
    if "directory" in ENVIRONMENTS[conditions["environment"]]:
        started["environment"] = conditions["environment"]
    return started


def looks_secret(name: str) -> bool:
    """Whether the name of a variable (or of a JSON key) says that its value is a secret; none of ours does."""
    if name.upper().startswith("REPRO_GATE_"):
        return False
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    words = [part.lower() for part in parts]
    if any(word in _SECRET_WORDS or _SECRET_ENDINGS.search(word) for word in words):
        return True
    if words[1:] and words[-1] == "pwd":
        return True
    if any(pair in _SECRET_PAIRS for pair in zip(words, words[1:])):
        return True
    return "pass" in words and _AFTER_PASS.issuperset(words[words.index("pass") + 1 :])


def clip(text: str, limit: int = MAX_OUTPUT) -> str:
    """``text`` cut to its head and tail, saying how much is missing."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return "%s\n[... %d characters left out ...]\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def split_lines(buffer: bytes) -> tuple[list[bytes], bytes]:
    """Complete lines of ``buffer``, and the rest."""
    *lines, rest = buffer.split(b"\n")
    return lines, rest


_blake2b = hashlib.blake2b  # kept: a test may patch hashlib


def number(*parts: object) -> int:
    """64 bits that depend on every part and nothing else: equal in every process and version."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(_blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def arrange(ids: Sequence[str], spec: str) -> list[int]:
    """Indices of ``ids`` in the order that ``spec`` says.

    ``collected``, ``reversed``, ``shuffle:SEED`` (every test), ``shuffle-module:SEED`` (modules,
    tests inside as collected), ``shuffle-class:SEED`` (classes inside modules, too). Raises
    ValueError for anything else.
    """
    name, _, seed = spec.partition(":")
    indices = list(range(len(ids)))
    if name == "collected":
        return indices
    if name == "reversed":
        return indices[::-1]
    if name == "shuffle":
        return sorted(indices, key=lambda i: number(seed, "test", ids[i], i))
    if name == "shuffle-module":
        return _by_groups(indices, lambda i: [_module(ids[i])], seed)
    if name == "shuffle-class":
        return _by_groups(indices, lambda i: [_module(ids[i]), _class(ids[i])], seed)
    raise ValueError("unknown order %r" % spec)


def _by_groups(indices: list[int], groups_of: Callable[[int], list[str]], seed: str) -> list[int]:
    ranks: dict[int, list[int]] = {}
    for index in indices:
        ranks[index] = [number(seed, "group", *groups_of(index)[: depth + 1]) for depth in range(len(groups_of(index)))]
    return sorted(indices, key=lambda i: (ranks[i], i))


def _module(test_id: str) -> str:
    return test_id.partition("::")[0]


def _class(test_id: str) -> str:
    return test_id.partition("[")[0].rpartition("::")[0]


# Options that make pytest write or remove files of the caller's choice, or send them elsewhere.
_WRITING = (
    "basetemp",
    "junit",
    "log-file",
    "log_file",
    "debug",
    "pastebin",
    "result-log",
    "html",
    "cov-report",
    "cache_dir",
)


def leaves_checkout(argument: str, root: str) -> bool:
    """Whether an argument of a capsule would lead pytest out of the checkout, or have it write a file.

    ``root`` is where pytest runs, below the checkout. Both replays ask this before they give a
    stranger's arguments to pytest: any part that looks like a path counts, however it is joined.
    """
    pieces = [argument, *re.split(r"[\s=,:;]+", argument)]
    if argument.startswith("-") and not argument.startswith("--"):
        pieces.append(argument[2:])
    for piece in pieces:
        inside = posixpath.normpath(posixpath.join(root, piece.lstrip("@")))
        if posixpath.isabs(piece.lstrip("@")) or inside.startswith("..") or piece.startswith(("@", "~")):
            return True
        if piece.lstrip("-").startswith(_WRITING):
            return True
    return False
