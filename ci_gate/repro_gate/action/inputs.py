"""The inputs of ``action.yml`` as they arrive: text in variables, checked once, in the words of their users.

Belongs here: names, forms and refusals of inputs. Does not belong here: what is done with them (jobs).
"""

from __future__ import annotations

import difflib
import enum
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from repro_gate.action.hosts import PATTERN
from repro_gate.errors import UsageError

PREFIX = "INPUT_"
GATES = ("fail-to-pass", "network", "flaky", "coverage", "mutation")
LEVELS = ("block", "warn")
ISOLATIONS = {"auto": None, "docker": "docker", "podman": "docker", "bubblewrap": "bubblewrap", "none": "host"}
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")


class Mode(enum.StrEnum):
    """What a job does."""

    AUTO = "auto"
    GATE = "gate"
    PLAN = "plan"
    SHARD = "shard"
    MERGE = "merge"
    SCAN = "scan"
    REPLAY = "replay"
    REPORT = "report"


class When(enum.StrEnum):
    """When a comment is made."""

    ALWAYS = "always"
    ON_PROBLEM = "on-problem"
    OFF = "off"


@dataclass(frozen=True, kw_only=True, slots=True)
class Inputs:
    """Every input but the token.

    ``time_budget`` is in minutes, ``gates`` are names with levels; empty: the project's policy.
    """

    mode: Mode = Mode.AUTO
    working_directory: str = "."
    python: str = ""
    install: str = ""
    pytest_args: tuple[str, ...] = ()
    seeds: int | None = None
    repeats: int | None = None
    gates: tuple[tuple[str, str], ...] = ()
    min_mutation_score: str = ""
    min_diff_coverage: str = ""
    isolation: str = "auto"
    time_budget: float | None = None
    shard: int | None = None
    shards: str = "1"
    evidence: str = ""
    base_sha: str = ""
    head_sha: str = ""
    capsule_url: str = ""
    capsule_sha256: str = ""
    capsule_hosts: tuple[str, ...] = ()
    run_id: int | None = None
    comment: When = When.ON_PROBLEM
    check_run: bool = False

    @property
    def sandbox(self) -> str | None:
        """The sandbox's own name for ``isolation``, None for what suits the machine."""
        return ISOLATIONS[self.isolation]


def read(environ: Mapping[str, str]) -> Inputs:
    """The inputs. Raises UsageError naming the input, its value and what it may be."""
    given = _Given(environ)
    url, digest = given.text("capsule-url"), given.text("capsule-sha256").lower()
    if url and not url.startswith("https://"):
        raise _wrong("capsule-url", url, "an address that begins with https://")
    if bool(url) != bool(digest):
        missing = "capsule-url" if digest else "capsule-sha256"
        raise UsageError(
            f"The input {missing!r} is missing: a capsule is fetched by address and digest.",
            next_step="Give both `capsule-url` and `capsule-sha256`, as printed where the capsule was made.",
        )
    if digest and not _SHA256.fullmatch(digest):
        raise _wrong("capsule-sha256", digest, "64 hexadecimal digits")
    return Inputs(
        mode=Mode(given.one_of("mode", [*Mode], "auto")),
        working_directory=given.text("working-directory") or ".",
        python=given.text("python"),
        install=given.text("install"),
        pytest_args=given.words("pytest-args"),
        seeds=given.whole("seeds", 2),
        repeats=given.whole("repeats", 1),
        gates=tuple(given.gates()),
        min_mutation_score=given.percent("min-mutation-score"),
        min_diff_coverage=given.percent("min-diff-coverage"),
        isolation=given.one_of("isolation", list(ISOLATIONS), "auto"),
        time_budget=given.minutes("time-budget"),
        shard=given.whole("shard", 0),
        shards=given.shards(),
        evidence=given.text("evidence"),
        base_sha=given.sha("base-sha"),
        head_sha=given.sha("head-sha"),
        capsule_url=url,
        capsule_sha256=digest,
        capsule_hosts=given.hosts("capsule-hosts"),
        run_id=given.whole("run-id", 1),
        comment=When(given.one_of("comment", [*When], "on-problem")),
        check_run=given.one_of("check-run", ["auto", "off"], "off") == "auto",
    )


@dataclass(frozen=True, slots=True)
class _Given:
    environ: Mapping[str, str]

    def text(self, name: str) -> str:
        value = self.environ.get(variable(name), "").strip()
        if "\0" in value:
            raise _wrong(name, value, "text without a NUL")
        return value

    def one_of(self, name: str, allowed: Iterable[str], default: str) -> str:
        value, known = self.text(name) or default, [str(each) for each in allowed]
        if value not in known:
            raise _wrong(name, value, _choice(known), hint(value, known))
        return value

    def whole(self, name: str, least: int) -> int | None:
        value = self.text(name)
        if not value:
            return None
        if not re.fullmatch(r"[0-9]{1,18}", value) or int(value) < least:
            raise _wrong(name, value, f"a whole number, at least {least}")
        return int(value)

    def minutes(self, name: str) -> float | None:
        value = self.text(name)
        if not value:
            return None
        if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,6})?", value) or float(value) <= 0:
            raise _wrong(name, value, "minutes, more than 0")
        return float(value)

    def percent(self, name: str) -> str:
        value = self.text(name)
        if value and not (re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,6})?", value) and float(value) <= 100):
            raise _wrong(name, value, "percent, from 0 to 100")
        return value

    def words(self, name: str) -> tuple[str, ...]:
        value = self.text(name)
        try:
            return tuple(shlex.split(value))
        except ValueError as broken:
            raise _wrong(name, value, f"words as a shell has them ({broken})") from None

    def hosts(self, name: str) -> tuple[str, ...]:
        found = tuple(self.text(name).lower().replace(",", " ").split())
        for each in found:
            if not PATTERN.fullmatch(each):
                raise _wrong(name, each, "names of hosts, such as `files.example.org` or `*.example.org`")
        return found

    def sha(self, name: str) -> str:
        value = self.text(name)
        if value and not _SHA.fullmatch(value):
            raise _wrong(name, value, "the full name of a commit (40 hexadecimal digits)")
        return value

    def shards(self) -> str:
        value = self.text("shards") or "1"
        if value != "auto" and not (re.fullmatch(r"[0-9]{1,3}", value) and 1 <= int(value) <= 256):
            raise _wrong("shards", value, 'a whole number from 1 to 256, or "auto"')
        return value

    def gates(self) -> Iterable[tuple[str, str]]:
        for each in self.text("gates").replace(",", " ").split():
            name, _, level = each.partition(":")
            if name not in GATES:
                raise _wrong("gates", each, f"names of gates ({', '.join(GATES)})", hint(name, GATES))
            if (level or "block") not in LEVELS:
                raise _wrong("gates", each, f"a gate, or a gate with a level ({name}:warn)", hint(level, LEVELS))
            yield name, level


def variable(name: str) -> str:
    """The variable in which ``action.yml`` passes an input on."""
    return PREFIX + name.upper().replace("-", "_")


def hint(value: str, known: Iterable[str]) -> str:
    """Did-you-mean, or nothing where nothing is near."""
    near = difflib.get_close_matches(value.lower(), list(known), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


def _choice(known: list[str]) -> str:
    return "one of " + ", ".join(known)


def _wrong(name: str, value: str, allowed: str, more: str = "") -> UsageError:
    shown = value if len(value) <= 80 else value[:79] + "…"
    return UsageError(
        f"The input {name!r} is {shown!r}; it must be {allowed}{more}",
        next_step="Correct it in the workflow; the README lists every input.",
    )
